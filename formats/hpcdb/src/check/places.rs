//! Places of things in files: arrays and texts in the section that is theirs, values and traces in
//! none, and all of it aligned as the description requires.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use kymo_core::bytes::ReadResult;

use super::DatabaseCheck;
use crate::read::{
    CONTEXT, CctDb, FILES, FUNCTIONS, GENERAL, ID_NAMES, METRICS, MODULES, Meta, Part, ProfileDb,
    Roots, STRINGS, TEXT_MAX, TraceDb,
};
use crate::spec::{ELEMENT_BYTES, ID_BYTES, PROFILE_INDEX_BYTES, PROFILE_VALUE_BYTES};
use crate::types::Strided;
use crate::walk::TreeWalk;

/// Checks where things lie in every file.
pub(super) fn check(checking: &mut DatabaseCheck) {
    let database = Arc::clone(&checking.database);
    if let Some(meta) = &database.meta {
        // What cannot be read is found elsewhere.
        let _ = small(checking, meta);
        names(checking, meta);
        contexts(checking, meta);
    }
    if let Some(file) = &database.profile {
        profiles(checking, file);
    }
    if let Some(file) = &database.cct {
        context_infos(checking, file);
    }
    if let Some(file) = &database.trace {
        traces(checking, file);
    }
}

impl DatabaseCheck {
    /// Says that something lies outside of the section that should hold it.
    fn inside(&mut self, part: &Part, section: usize, what: &str, at: u64, range: Range<u64>) {
        let Ok(section) = part.section(section) else { return };
        let holds = section.range();
        if range.start < holds.start || range.end > holds.end {
            let (name, start) = (section.name, range.start);
            let message = format!("{what}: {start:#x} is not within section {name}");
            self.error(part, "section-bounds", at, message);
        }
    }

    /// Says that something lies within a section and should not.
    fn outside(&mut self, part: &Part, what: &str, at: u64, range: Range<u64>) {
        let crossed = part.sections.iter().find(|section| {
            let section = section.range();
            !range.is_empty() && range.start < section.end && section.start < range.end
        });
        if let Some(section) = crossed {
            let message = format!("{what}: {:#x} is within section {}", range.start, section.name);
            self.error(part, "section-bounds", at, message);
        }
    }

    /// Says which arrays lie on top of each other; each comes with where the file lists it.
    fn check_overlaps(&mut self, part: &Part, mut arrays: Vec<(Range<u64>, u64)>) {
        arrays.retain(|(range, _)| !range.is_empty());
        arrays.sort_unstable_by_key(|(range, at)| (range.start, range.end, *at));
        for pair in arrays.windows(2) {
            let [(one, _), (next, at)] = pair else { continue };
            if one.end > next.start {
                let (end, start) = (one.end, next.start);
                let message =
                    format!("an array from {start:#x} on begins within another, before {end:#x}");
                self.error(part, "array-overlap", *at, message);
            }
        }
    }

    fn text(&mut self, part: &Part, section: usize, what: &'static str, at: u64, pointer: u64) {
        match part.text_end(what, pointer) {
            Ok(Some(end)) => {
                self.inside(part, section, what, at, pointer..end);
                if let Some(wrong) = part.not_utf8(pointer..end) {
                    let message = format!("{what}: it is no UTF-8, and not shown as it is");
                    self.warning(part, "text-encoding", wrong, message);
                }
            }
            Ok(None) => {
                let message = format!("{what}: only its first {TEXT_MAX} bytes are read");
                self.warning(part, "long-text", at, message);
            }
            // That it has no end is said where it is read.
            Err(_) => {}
        }
    }

    fn table(&mut self, part: &Part, section: usize, what: &str, table: Strided) {
        let at = part.section(section).map_or(0, |section| section.pointer);
        let end = table.pointer.saturating_add(table.count.saturating_mul(table.stride));
        if table.count > 0 {
            self.inside(part, section, what, at, table.pointer..end);
            self.aligned(part, what, at, table.pointer, 8);
        }
    }
}

/// Titles, names of kinds, and metrics.
fn small(checking: &mut DatabaseCheck, meta: &Meta) -> ReadResult<()> {
    let part = &meta.part;
    let at = part.section(GENERAL)?.pointer;
    let mut cursor = part.cursor("General", at)?;
    checking.text(part, GENERAL, "title", at, cursor.u64("title")?);
    checking.text(part, GENERAL, "description", at + 8, cursor.u64("description")?);
    let at = part.section(ID_NAMES)?.pointer;
    let names = part.cursor("names", at)?.u64("names")?;
    let table = Strided { pointer: names, count: meta.id_names.len() as u64, stride: 8 };
    checking.table(part, ID_NAMES, "the list of names", table);
    for at in table.offsets() {
        let name = part.cursor("name", at)?.u64("name")?;
        checking.text(part, ID_NAMES, "name of a kind", at, name);
    }
    metrics(checking, meta)
}

/// Metrics with what they are made of.
fn metrics(checking: &mut DatabaseCheck, meta: &Meta) -> ReadResult<()> {
    let part = &meta.part;
    let field = |at: u64, field: u64| -> ReadResult<u64> {
        let mut cursor = part.cursor("metric", at)?;
        cursor.skip("metric", field)?;
        cursor.u64("metric")
    };
    let listed: BTreeSet<_> = meta.scopes.iter().map(|scope| scope.offset).collect();
    // In the drafts each metric has scopes of its own, and no list of them.
    let formula = if meta.is_draft { 0 } else { 8 };
    for metric in &meta.metrics {
        checking.text(part, METRICS, "metric name", metric.offset, field(metric.offset, 0)?);
        let instances = metric.instances.iter().map(|scope_instance| scope_instance.offset);
        let statistics = metric.statistics.iter().map(|statistic| statistic.offset);
        for at in instances.clone().chain(statistics.clone()) {
            checking.inside(part, METRICS, "a scope or a summary", metric.offset, at..at + 16);
            if !meta.is_draft && !listed.contains(&field(at, 0)?) {
                let message = "a propagation scope that is none of the list";
                checking.error(part, "pointer", at, message);
            }
        }
        for at in statistics {
            checking.text(part, METRICS, "formula", at, field(at, formula)?);
        }
    }
    for scope in &meta.scopes {
        let at = scope.offset;
        checking.inside(part, METRICS, "a scope", at, at..at + 16);
        checking.text(part, METRICS, "name of a scope", at, field(at, 0)?);
    }
    Ok(())
}

/// Modules, files and functions with their texts.
fn names(checking: &mut DatabaseCheck, meta: &Meta) {
    let part = &meta.part;
    checking.table(part, MODULES, "the list of modules", meta.modules);
    checking.table(part, FILES, "the list of files", meta.files);
    checking.table(part, FUNCTIONS, "the list of functions", meta.functions);
    let pointer = |at: u64, field: u64| -> ReadResult<u64> {
        let mut cursor = part.cursor("text", at)?;
        cursor.skip("text", field)?;
        cursor.u64("text")
    };
    for (table, field, what) in [
        (meta.modules, 8, "path of a module"),
        (meta.files, 8, "path of a file"),
        (meta.functions, 0, "name of a function"),
    ] {
        for at in table.offsets() {
            match pointer(at, field) {
                Ok(text) if text != 0 || field != 0 => {
                    checking.text(part, STRINGS, what, at, text);
                }
                _ => {}
            }
        }
    }
}

/// Entry points and children of contexts.
fn contexts(checking: &mut DatabaseCheck, meta: &Meta) {
    let part = &meta.part;
    match &meta.roots {
        Roots::Entries(table) => checking.table(part, CONTEXT, "the list of entry points", *table),
        Roots::Contexts(range) => {
            let at = part.section(CONTEXT).map_or(0, |section| section.pointer);
            checking.inside(part, CONTEXT, "the list of roots", at, range.clone());
        }
    }
    for (context, ..) in TreeWalk::new(Arc::clone(&checking.database)) {
        let (at, children) = (context.offset, context.children);
        if !meta.is_draft && context.entry.is_some() {
            let name = part.cursor("entry point", at).and_then(|mut cursor| {
                cursor.skip("entry point", 0x18)?;
                cursor.u64("entry point name")
            });
            if let Ok(name) = name {
                checking.text(part, STRINGS, "name of an entry point", at, name);
            }
        }
        if !children.is_empty() {
            checking.inside(part, CONTEXT, "a list of children", at, children.clone());
            checking.aligned(part, "a list of children", at, children.start, 8);
        }
    }
}

fn profiles(checking: &mut DatabaseCheck, file: &ProfileDb) {
    let (part, database) = (&file.part, Arc::clone(&checking.database));
    checking.table(part, 0, "the list of profiles", file.profiles);
    let mut arrays = Vec::new();
    for index in 0..file.profiles.count {
        let Some(Some(profile)) = database.ok_or_note(part, file.profile(index)) else { continue };
        let at = profile.offset;
        let values = profile.n_values.saturating_mul(PROFILE_VALUE_BYTES);
        let values = profile.values..profile.values.saturating_add(values);
        checking.outside(part, "values", at, values.clone());
        checking.aligned(part, "values", at, profile.values, 2);
        let indices = profile.n_ctxs.saturating_mul(PROFILE_INDEX_BYTES);
        let indices = profile.ctx_indices..profile.ctx_indices.saturating_add(indices);
        checking.outside(part, "an index", at, indices.clone());
        arrays.extend([(values, at), (indices, at)]);
        checking.aligned(part, "an index", at, profile.ctx_indices, 4);
        let ids = database.ok_or_note(part, file.ids(&profile)).unwrap_or_default();
        block(checking, part, at);
        if let Some(tuple) = profile.id_tuple {
            checking.aligned(part, "an id tuple", at, tuple, 8);
            let size = if part.is_described() { 2 } else { 8 } + ID_BYTES * ids.len() as u64;
            checking.inside(part, 1, "an id tuple", at, tuple..tuple.saturating_add(size));
        }
    }
    checking.check_overlaps(part, arrays);
}

/// In the described draft a record leads to the block that says where its values are.
fn block(checking: &mut DatabaseCheck, part: &Part, at: u64) {
    if !part.is_described() {
        return;
    }
    let pointer = part.cursor("value block", at).and_then(|mut cursor| cursor.u64("value block"));
    if let Ok(pointer) = pointer {
        checking.aligned(part, "a value block", at, pointer, 8);
        checking.outside(part, "a value block", at, pointer..pointer.saturating_add(32));
    }
}

fn context_infos(checking: &mut DatabaseCheck, file: &CctDb) {
    let (part, database) = (&file.part, Arc::clone(&checking.database));
    checking.table(part, 0, "the list of contexts", file.contexts);
    let mut arrays = Vec::new();
    for index in 0..file.contexts.count {
        let Some(Some(context)) = database.ok_or_note(part, file.context(index)) else { continue };
        let (at, values) = (context.offset, file.value_offset(&context, context.n_values));
        let values = context.values..values;
        checking.outside(part, "values", at, values.clone());
        let indices = context.metric_indices..file.index_offset(&context, context.n_metrics);
        checking.outside(part, "an index", at, indices.clone());
        block(checking, part, at);
        if context.n_values > 0 {
            checking.aligned(part, "values", at, context.values, 2);
            let bytes = if part.is_described() { 4 } else { 2 };
            checking.aligned(part, "an index", at, context.metric_indices, bytes);
        }
        arrays.extend([(values, at), (indices, at)]);
    }
    checking.check_overlaps(part, arrays);
}

fn traces(checking: &mut DatabaseCheck, file: &TraceDb) {
    let (part, database) = (&file.part, Arc::clone(&checking.database));
    checking.table(part, 0, "the list of traces", file.traces);
    let mut arrays = Vec::new();
    for index in 0..file.traces.count {
        let Some(Some(trace)) = database.ok_or_note(part, file.trace(index)) else { continue };
        let end = trace.start.saturating_add(trace.count.saturating_mul(ELEMENT_BYTES));
        checking.outside(part, "a trace", trace.offset, trace.start..end);
        if trace.count > 0 {
            checking.aligned(part, "a trace", trace.offset, trace.start, 8);
        }
        arrays.push((trace.start..end, trace.offset));
    }
    checking.check_overlaps(part, arrays);
}
