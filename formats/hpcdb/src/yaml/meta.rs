//! `meta.db`.

use std::collections::HashMap;
use std::sync::Arc;

use kymo_core::{Error, Result};

use super::Printing;
use super::names::{self, context_text, function_text, short_path};
use super::out::{Remarks, text};
use crate::read::{Database, Meta};
use crate::types::{Context, Metric, PropagationScope, Strided};
use crate::walk::TreeWalk;

/// Greatest depth of contexts: each level is moved to the right, so that a chain takes the square
/// of its length.
const LEVELS_MAX: u64 = 10_000;

/// Records that are pointed to, each with its number.
#[derive(Default)]
struct Anchors {
    scopes: HashMap<String, usize>,
    records: HashMap<u64, usize>,
    count: usize,
}

impl Anchors {
    fn new(database: &Arc<Database>, meta: &Meta) -> Result<Self> {
        let mut anchors = Self::default();
        for metric in &meta.metrics {
            metric.instances.iter().for_each(|scope_instance| anchors.scope(&scope_instance.scope));
            metric.statistics.iter().for_each(|statistic| anchors.scope(&statistic.scope));
        }
        for offset in meta.functions.offsets() {
            let function = meta.part.with_file(meta.function(offset))?;
            anchors.record(function.module);
            anchors.record(function.file);
        }
        for (context, _, depth) in TreeWalk::new(Arc::clone(database)) {
            if depth > LEVELS_MAX {
                let why = format!("contexts lie more than {LEVELS_MAX} levels deep");
                return Err(Error::request(format!("{why}, and this style moves each level")));
            }
            if context.entry.is_none() {
                anchors.record(context.function);
                anchors.record(context.source.map(|(file, _)| file));
                anchors.record(context.call.map(|(file, _)| file));
                anchors.record(context.point.map(|(module, _)| module));
            }
        }
        Ok(anchors)
    }

    fn scope(&mut self, name: &str) {
        if !self.scopes.contains_key(name) {
            self.count += 1;
            self.scopes.insert(name.to_owned(), self.count);
        }
    }

    fn record(&mut self, pointer: Option<u64>) {
        if let Some(pointer) = pointer
            && !self.records.contains_key(&pointer)
        {
            self.count += 1;
            self.records.insert(pointer, self.count);
        }
    }

    /// Returns the alias by which a record is pointed to.
    fn alias(&self, pointer: Option<u64>) -> Option<String> {
        self.records.get(&pointer?).map(|number| format!("*id{number:03}"))
    }

    fn alias_of_scope(&self, name: &str) -> Option<String> {
        self.scopes.get(name).map(|number| format!("*id{number:03}"))
    }
}

/// The first line of a record in a list. What has an anchor is set off like the first.
fn item(tag: &str, anchor: Option<usize>, remarks: &mut Remarks, remark: &str) -> String {
    let next = remarks.next(remark);
    match anchor {
        Some(number) => format!("- &id{number:03} !{tag}{}", Remarks::default().next(remark)),
        None => format!("- !{tag}{next}"),
    }
}

impl Printing<'_> {
    pub(super) fn meta(&mut self) -> Result<()> {
        let database = Arc::clone(self.database);
        let Some(at) = self.begin("meta", "!meta.db/v4", database.meta.is_some())? else {
            return Ok(());
        };
        let Some(meta) = &database.meta else { return Ok(()) };
        let anchors = Anchors::new(&database, meta)?;
        self.out.line(at, "general: !meta.db/v4/GeneralProperties")?;
        self.out.field(at + 2, "title", Some(text(&meta.title)))?;
        self.out.field(at + 2, "description", Some(text(&meta.description)))?;
        self.out.line(at, "id_names: !meta.db/v4/IdentifierNames")?;
        self.out.list(at + 2, "names", "[]", meta.id_names.is_empty())?;
        for name in &meta.id_names {
            self.out.line(at + 2, format_args!("- {}", text(name)))?;
        }
        self.out.line(at, "metrics: !meta.db/v4/PerformanceMetrics")?;
        self.out.list(at + 2, "scopes", "[]", meta.scopes.is_empty())?;
        let mut remarks = Remarks::default();
        for scope in &meta.scopes {
            self.scope(at + 2, scope, &anchors, &mut remarks)?;
        }
        self.out.list(at + 2, "metrics", "[]", meta.metrics.is_empty())?;
        for metric in &meta.metrics {
            self.metric(at + 2, metric, &anchors)?;
        }
        self.modules_and_files(at, meta, &anchors)?;
        self.functions(at, meta, &anchors)?;
        self.contexts(at, meta, &anchors)
    }

    fn scope(
        &mut self,
        at: usize,
        scope: &PropagationScope,
        anchors: &Anchors,
        remarks: &mut Remarks,
    ) -> Result<()> {
        let kind = names::scope_type(scope.scope_type);
        let bit = match kind {
            Some("transitive") => format!(" bit/{}", scope.propagation_index),
            _ => String::new(),
        };
        let remark = format!("{} [{}]{bit}", scope.name, kind.unwrap_or("<unknown>"));
        let anchor = anchors.scopes.get(&scope.name).copied();
        self.out.line(at, item("meta.db/v4/PropagationScope", anchor, remarks, &remark))?;
        self.out.field(at + 2, "scope_name", Some(text(&scope.name)))?;
        self.out.choice(at + 2, "type", "meta.db/v4/PropagationScope.Type", kind)?;
        self.out.field(at + 2, "propagation_index", Some(scope.propagation_index))
    }

    fn metric(&mut self, at: usize, metric: &Metric, anchors: &Anchors) -> Result<()> {
        self.out.line(at, "- !meta.db/v4/Metric")?;
        self.out.field(at + 2, "name", Some(text(&metric.name)))?;
        self.out.list(at + 2, "scope_insts", "[]", metric.instances.is_empty())?;
        let mut remarks = Remarks::default();
        for scope_instance in &metric.instances {
            let remark =
                self.names.metric(scope_instance.prop_metric_id.into(), false).unwrap_or_default();
            let item = item("meta.db/v4/PropagationScopeInstance", None, &mut remarks, remark);
            self.out.line(at + 2, item)?;
            self.out.field(at + 4, "scope", anchors.alias_of_scope(&scope_instance.scope))?;
            self.out.field(at + 4, "prop_metric_id", Some(scope_instance.prop_metric_id))?;
        }
        self.out.list(at + 2, "summaries", "[]", metric.statistics.is_empty())?;
        let mut remarks = Remarks::default();
        for statistic in &metric.statistics {
            let remark =
                self.names.metric(statistic.stat_metric_id.into(), true).unwrap_or_default();
            let item = item("meta.db/v4/SummaryStatistic", None, &mut remarks, remark);
            self.out.line(at + 2, item)?;
            self.out.field(at + 4, "scope", anchors.alias_of_scope(&statistic.scope))?;
            self.out.field(at + 4, "formula", Some(text(&statistic.formula)))?;
            let combine = names::combine(statistic.combine);
            self.out.choice(at + 4, "combine", "meta.db/v4/SummaryStatistic.Combine", combine)?;
            self.out.field(at + 4, "stat_metric_id", Some(statistic.stat_metric_id))?;
        }
        Ok(())
    }

    fn modules_and_files(&mut self, at: usize, meta: &Meta, anchors: &Anchors) -> Result<()> {
        self.out.line(at, "modules: !meta.db/v4/LoadModules")?;
        self.out.list(at + 2, "modules", "[]", meta.modules.count == 0)?;
        self.paths(at + 2, "Module", meta, meta.modules, anchors)?;
        self.out.line(at, "files: !meta.db/v4/SourceFiles")?;
        self.out.list(at + 2, "files", "[]", meta.files.count == 0)?;
        self.paths(at + 2, "File", meta, meta.files, anchors)
    }

    fn paths(
        &mut self,
        at: usize,
        kind: &str,
        meta: &Meta,
        records: Strided,
        anchors: &Anchors,
    ) -> Result<()> {
        let mut remarks = Remarks::default();
        for offset in records.offsets() {
            let path = meta.part.with_file(meta.path("path", offset))?;
            // Flags of modules have garbage in them.
            let is_copied = kind == "File" && meta.part.with_file(meta.is_copied(offset))?;
            let flags = if is_copied { "copied" } else { "" };
            let remark = format!("{} [{flags}]", short_path(&path));
            let anchor = anchors.records.get(&offset).copied();
            let tag = format!("meta.db/v4/{kind}");
            self.out.line(at, item(&tag, anchor, &mut remarks, &remark))?;
            self.out.field(at + 2, "flags", Some(format_args!("!{tag}.Flags [{flags}]")))?;
            self.out.field(at + 2, "path", Some(text(&path)))?;
        }
        Ok(())
    }

    fn functions(&mut self, at: usize, meta: &Meta, anchors: &Anchors) -> Result<()> {
        self.out.line(at, "functions: !meta.db/v4/Functions")?;
        self.out.list(at + 2, "functions", "[]", meta.functions.count == 0)?;
        let mut remarks = Remarks::default();
        for offset in meta.functions.offsets() {
            let function = meta.part.with_file(meta.function(offset))?;
            let remark = meta.part.with_file(function_text(meta, &function))?;
            let anchor = anchors.records.get(&offset).copied();
            let item = item("meta.db/v4/Function", anchor, &mut remarks, &remark);
            self.out.line(at + 2, item)?;
            let name = function.name.as_deref().unwrap_or_default();
            self.out.field(at + 4, "name", Some(text(name)))?;
            self.out.field(at + 4, "module", anchors.alias(function.module))?;
            self.out.field(at + 4, "offset", function.module.map(|_| function.offset))?;
            self.out.field(at + 4, "file", anchors.alias(function.file))?;
            self.out.field(at + 4, "line", function.file.map(|_| function.line))?;
            self.out.line(at + 4, "flags: !meta.db/v4/Function.Flags []")?;
        }
        Ok(())
    }

    fn contexts(&mut self, at: usize, meta: &Meta, anchors: &Anchors) -> Result<()> {
        self.out.line(at, "context: !meta.db/v4/ContextTree")?;
        let mut walk = TreeWalk::new(Arc::clone(self.database)).peekable();
        self.out.list(at + 2, "entry_points", "[]", walk.peek().is_none())?;
        // The remarks of the siblings on the way to where we are.
        let mut open: Vec<Remarks> = Vec::new();
        for (context, _, depth) in walk {
            let depth = usize::try_from(depth).unwrap_or(usize::MAX);
            open.truncate(depth + 1);
            if open.len() <= depth {
                open.push(Remarks::default());
            }
            let Some(remarks) = open.last_mut() else { continue };
            let remark = meta.part.with_file(context_text(meta, &context))?;
            let at = at + 2 + 2 * depth;
            let kind = if context.entry.is_some() { "EntryPoint" } else { "Context" };
            let item = item(&format!("meta.db/v4/{kind}"), None, remarks, &remark);
            self.out.line(at, item)?;
            self.context(at + 2, &context, anchors)?;
            if self.out.is_done() {
                break;
            }
        }
        Ok(())
    }

    fn context(&mut self, at: usize, context: &Context, anchors: &Anchors) -> Result<()> {
        self.out.field(at, "ctx_id", Some(context.ctx_id))?;
        if let Some(entry) = &context.entry {
            let kind = names::entry_kind(entry.entry_point);
            self.out.choice(at, "entry_point", "meta.db/v4/EntryPoint.EntryPoint", kind)?;
            self.out.field(at, "pretty_name", Some(text(&entry.name)))?;
            return self.out.list(at, "children", "[]", context.children.is_empty());
        }
        let flags = [
            ("has_function", context.function.is_some()),
            ("has_point", context.point.is_some()),
            ("has_srcloc", context.source.is_some()),
        ];
        let flags: Vec<_> =
            flags.iter().filter(|(_, is_set)| *is_set).map(|(flag, _)| *flag).collect();
        let flags = flags.join(", ");
        self.out.line(at, format_args!("flags: !meta.db/v4/Context.Flags [{flags}]"))?;
        let relation = names::relation(context.relation);
        self.out.choice(at, "relation", "meta.db/v4/Context.Relation", relation)?;
        let kind = names::lexical_type(context.lexical_type);
        self.out.choice(at, "lexical_type", "meta.db/v4/Context.LexicalType", kind)?;
        self.out.field(at, "propagation", Some(context.propagation))?;
        self.out.field(at, "function", anchors.alias(context.function))?;
        self.out.field(at, "file", anchors.alias(context.source.map(|(file, _)| file)))?;
        self.out.field(at, "line", context.source.map(|(_, line)| line))?;
        self.out.field(at, "module", anchors.alias(context.point.map(|(module, _)| module)))?;
        self.out.field(at, "offset", context.point.map(|(_, offset)| offset))?;
        if let Some((file, line)) = context.call {
            self.out.field(at, "call_file", anchors.alias(Some(file)))?;
            self.out.field(at, "call_line", Some(line))?;
        }
        self.out.list(at, "children", "[]", context.children.is_empty())
    }
}
