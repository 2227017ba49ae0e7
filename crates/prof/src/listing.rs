//! Names and contexts of the merged tree go to the sink.

use std::collections::HashSet;

use kymo_core::{Progress, Result};
use kymo_model::profile::{
    ContextNumber, FileId, Function, FunctionId, ModuleId, Node, ProfileSink, Relation, Scope,
};

use crate::lookup::{Lookup, OpenSource};
use crate::names::{Record, index};
use crate::tree::{self, GLOBAL, Tree};

/// After how many contexts it is told how far it is.
const TOLD_AT_ONCE: u32 = 1 << 14;

/// Hands names and contexts to the sink, and tells how many contexts are listed.
pub(crate) fn send_contexts(
    tree: &Tree,
    lookup: &Lookup<'_>,
    sources: Option<&OpenSource<'_>>,
    sink: &mut dyn ProfileSink,
    progress: &dyn Progress,
) -> Result<u64> {
    let names = &lookup.names;
    let mut told = SinkIds::default();
    let used = used_modules(lookup);
    for ((path, _), number) in names.modules.items().iter().zip(0..) {
        let is_used = used.contains(&number);
        told.modules.push(is_used.then(|| sink.module(path)).transpose()?);
    }
    for path in names.files.items() {
        let file = sink.file(path)?;
        if let Some(mut text) = sources.and_then(|open| open(path)) {
            sink.source(file, &mut text)?;
        }
        told.files.push(file);
    }
    for record in &names.functions {
        let function = sink.function(&told.function(record))?;
        told.functions.push((function, record.is_placeholder));
    }
    let mut listed = 0;
    let count = tree.contexts().len();
    progress.begin_items("listing", count as u64);
    for (context, id) in tree.contexts().iter().zip(0_u32..).skip(1) {
        if id.is_multiple_of(TOLD_AT_ONCE) {
            progress.advance_to(id.into());
            progress.note(&|| format!("{id} of {count} contexts"));
        }
        if context.key.is_elided() {
            continue;
        }
        let parent = tree.listed(context.parent);
        let parent = (parent != GLOBAL).then_some(ContextNumber(parent.into()));
        let node = told.node(lookup, context.key, sink)?;
        sink.context(parent, ContextNumber(id.into()), &node)?;
        listed += 1;
    }
    progress.end();
    Ok(listed)
}

/// The modules that something is in. Programs load many more.
fn used_modules(lookup: &Lookup<'_>) -> HashSet<u32> {
    let names = &lookup.names;
    let of_functions = names.functions.iter().filter_map(|function| function.module);
    let entries = names.loops.items().iter().filter_map(|found| found.entry);
    let points = lookup.points().iter();
    let others = entries.map(|(module, _)| module).chain(points.map(|(module, _)| *module));
    of_functions.chain(others).collect()
}

/// Ids that the sink has for things, by our numbers.
#[derive(Default)]
struct SinkIds {
    /// Nothing where no context is in them.
    modules: Vec<Option<ModuleId>>,
    files: Vec<FileId>,
    functions: Vec<(FunctionId, bool)>,
}

impl SinkIds {
    fn module(&self, number: u32) -> Option<ModuleId> {
        self.modules.get(index(number)).copied().flatten()
    }

    fn file(&self, number: u32) -> Option<FileId> {
        self.files.get(index(number)).copied()
    }

    fn function(&self, record: &Record) -> Function {
        Function {
            name: record.name.clone(),
            module: record.module.and_then(|module| self.module(module)),
            offset: record.entry,
            file: record.file.and_then(|file| self.file(file)),
            line: record.line,
        }
    }

    fn node(
        &self,
        lookup: &Lookup<'_>,
        key: tree::Key,
        sink: &mut dyn ProfileSink,
    ) -> Result<Node> {
        let bare = |scope| Node::new(scope, key.relation);
        let source = |file, line| self.file(file).map(|file| (file, line));
        Ok(match key.scope {
            tree::Scope::Global | tree::Scope::Unknown => bare(Scope::Function),
            tree::Scope::Entry(entry) => {
                let name = entry.name().to_owned();
                let function = sink.function(&Function { name, ..Function::default() })?;
                Node { function: Some(function), ..Node::new(Scope::Entry, Relation::Call) }
            }
            tree::Scope::Function(function) => {
                let found = self.functions.get(index(function)).copied();
                let is_placeholder = found.is_some_and(|(_, is_placeholder)| is_placeholder);
                let scope = if is_placeholder { Scope::Placeholder } else { Scope::Function };
                Node { function: found.map(|(id, _)| id), ..bare(scope) }
            }
            tree::Scope::Loop(number) => {
                let found = lookup.names.loops.items().get(index(number));
                let entry = found.and_then(|found| found.entry);
                let point = entry.and_then(|(module, at)| Some((self.module(module)?, at)));
                let source = found.and_then(|found| source(found.file?, found.line));
                Node { source, point, ..bare(Scope::Loop) }
            }
            tree::Scope::Line { file, line } => {
                Node { source: source(file, line), ..bare(Scope::Line) }
            }
            tree::Scope::Point(point) => {
                let found = lookup.points().get(index(point)).copied();
                let point = found.and_then(|(module, at)| Some((self.module(module)?, at)));
                Node { point, ..bare(Scope::Instruction) }
            }
        })
    }
}
