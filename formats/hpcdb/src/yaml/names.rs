//! Meanings of numbers and pointers, as remarks give them.

use std::collections::HashMap;
use std::sync::Arc;

use kymo_core::Result;
use kymo_core::bytes::ReadResult;

use crate::model::thread_of;
use crate::read::{Database, Meta};
use crate::spec::combine_name;
use crate::types::{Context, Function};
use crate::walk::TreeWalk;

/// Meanings of numbers and pointers.
pub(super) struct Names {
    database: Arc<Database>,
    /// Positions of contexts, by their numbers.
    contexts: Vec<(u32, u64)>,
    metrics: HashMap<u64, String>,
    statistics: HashMap<u64, String>,
}

impl Names {
    pub(super) fn new(database: &Arc<Database>) -> Self {
        let mut names = Self {
            database: Arc::clone(database),
            contexts: Vec::new(),
            metrics: HashMap::new(),
            statistics: HashMap::new(),
        };
        for metric in database.meta.iter().flat_map(|meta| &meta.metrics) {
            for scope_instance in &metric.instances {
                let text = format!("{}  #{}", scope_instance.scope, scope_instance.prop_metric_id);
                names.metrics.insert(scope_instance.prop_metric_id.into(), text);
            }
            for statistic in &metric.statistics {
                let (combine, id) = (combine_name(statistic.combine), statistic.stat_metric_id);
                let text =
                    format!("{combine} / '{}' / {}  #{id}", statistic.formula, statistic.scope);
                names.statistics.insert(id.into(), text);
            }
        }
        let walk = TreeWalk::new(Arc::clone(database));
        names.contexts = walk.map(|(context, ..)| (context.ctx_id, context.offset)).collect();
        names.contexts.sort_unstable();
        names
    }

    /// A kind of value of the summary, or of another profile.
    pub(super) fn metric(&self, id: u64, is_summary: bool) -> Option<&str> {
        let names = if is_summary { &self.statistics } else { &self.metrics };
        names.get(&id).map(String::as_str)
    }

    /// A context by its number; nothing where it is not listed.
    pub(super) fn context(&self, number: u64) -> Result<Option<String>> {
        let Some(meta) = &self.database.meta else { return Ok(None) };
        if number == 0 {
            return Ok(Some("<root>".to_owned()));
        }
        let found = self.contexts.binary_search_by_key(&number, |(id, _)| u64::from(*id)).ok();
        let Some((_, offset)) = found.and_then(|index| self.contexts.get(index)) else {
            return Ok(None);
        };
        let node = meta.part.with_file(meta.node(*offset))?;
        meta.part.with_file(context_text(meta, &node)).map(Some)
    }

    /// Returns the name of a profile; nothing for the summary.
    pub(super) fn profile(&self, index: u64) -> Result<Option<String>> {
        let Some(file) = &self.database.profile else { return Ok(None) };
        let ids = match file.part.with_file(file.profile(index))? {
            Some(profile) => file.part.with_file(file.ids(&profile))?,
            None => Vec::new(),
        };
        let name = || thread_of(&self.database, &ids).to_string();
        Ok((!ids.is_empty()).then(name))
    }
}

/// A context: how it was reached, what it is, and where.
pub(super) fn context_text(meta: &Meta, context: &Context) -> ReadResult<String> {
    let number = context.ctx_id;
    if let Some(entry) = &context.entry {
        let kind = entry_kind(entry.entry_point).unwrap_or("<unknown>");
        return Ok(format!("{} (= {kind})  #{number}", entry.name));
    }
    let mut places = Vec::new();
    if let Some(pointer) = context.function {
        places.push(meta.function(pointer)?.name.unwrap_or_default());
    }
    if let Some((file, line)) = context.source {
        places.push(format!("{}:{line}", short_path(&meta.path("file path", file)?)));
    }
    if let Some((module, offset)) = context.point {
        places.push(format!("{}+{offset:#x}", short_path(&meta.path("module path", module)?)));
    }
    let relation = relation(context.relation).unwrap_or("<unknown>");
    let kind = lexical_type(context.lexical_type).unwrap_or("<unknown>");
    let bits: Vec<_> = (0..16)
        .filter(|bit| context.propagation >> bit & 1 == 1)
        .map(|bit| bit.to_string())
        .collect();
    let flows = if bits.is_empty() { String::new() } else { format!(" ^M[{}]", bits.join(", ")) };
    Ok(format!("-{relation}> [{kind}] {}  #{number}{flows}", places.join(" ")))
}

/// A function, and where it is.
pub(super) fn function_text(meta: &Meta, function: &Function) -> ReadResult<String> {
    let mut parts = vec![function.name.clone().unwrap_or_default()];
    if let Some(file) = function.file {
        let path = meta.path("file path", file)?;
        parts.push(format!("{}:{}", short_path(&path), function.line));
    }
    if let Some(module) = function.module {
        let path = meta.path("module path", module)?;
        parts.push(format!("{}+{:#x}", short_path(&path), function.offset));
    }
    parts.push("[]".to_owned());
    Ok(parts.join(" "))
}

/// The last part of a path, with its slash.
pub(super) fn short_path(path: &str) -> &str {
    path.rfind('/').and_then(|at| path.get(at..)).unwrap_or(path)
}

pub(super) fn entry_kind(entry_point: u16) -> Option<&'static str> {
    ["unknown_entry", "main_thread", "application_thread"].get(usize::from(entry_point)).copied()
}

pub(super) fn relation(relation: u8) -> Option<&'static str> {
    ["lexical", "call", "inlined_call"].get(usize::from(relation)).copied()
}

pub(super) fn lexical_type(lexical_type: u8) -> Option<&'static str> {
    ["function", "loop", "line", "instruction"].get(usize::from(lexical_type)).copied()
}

pub(super) fn scope_type(scope_type: u8) -> Option<&'static str> {
    ["custom", "point", "execution", "transitive"].get(usize::from(scope_type)).copied()
}

pub(super) fn combine(combine: u8) -> Option<&'static str> {
    ["sum", "min", "max"].get(usize::from(combine)).copied()
}
