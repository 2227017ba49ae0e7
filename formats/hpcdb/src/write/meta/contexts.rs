//! The section of contexts.

use kymo_core::bytes::Sink;
use kymo_core::{Error, Result};
use kymo_model::profile::{Relation, Scope};

use super::super::file::{FileWriter, Form};
use super::texts::Texts;
use super::{Codes, MetaWriter, Places, WrittenContext};
use crate::spec::{
    CALLEE_HAS_SOURCE, ENTRY_BYTES, HAS_FUNCTION, HAS_POINT, HAS_SOURCE, IS_CALL_SOURCE_LINE,
    IS_CALLEE, RELATION_CALL, RELATION_LEXICAL,
};

/// Names of entry points, and functions that stand for them in the described draft.
pub(super) const DESCRIBED_ROOTS: [(&str, &str); 3] = [
    ("main thread", "<program root>"),
    ("application thread", "<thread root>"),
    ("no activity", "<no activity>"),
];

impl MetaWriter {
    /// The name of a function as it is written.
    pub(super) fn function_name<'a>(&self, index: u64, name: &'a str) -> &'a str {
        if !self.form.is_described() || !self.entries.contains(&index) {
            return name;
        }
        DESCRIBED_ROOTS.iter().find(|(entry, _)| *entry == name).map_or(name, |(_, root)| root)
    }

    /// Children before those above them, entry points last.
    pub(super) fn write_contexts(
        &mut self,
        out: &mut FileWriter,
        texts: &Texts,
        places: &Places,
    ) -> Result<(u64, u64)> {
        let start = out.position();
        out.zeros(0x10)?;
        for index in (0..self.contexts.len()).rev() {
            let Some(context) = self.contexts.get(index) else { continue };
            let first = out.position();
            for child in &context.children {
                if let Some(child) = self.contexts.get(*child) {
                    out.put(self.record_of(child, places)?.as_slice())?;
                }
            }
            let size = out.position() - first;
            if let (Some(context), true) = (self.contexts.get_mut(index), size > 0) {
                context.array = (size, first);
            }
        }
        let first = out.position();
        let entries: Vec<_> =
            self.contexts.iter().filter(|context| context.node.scope == Scope::Entry).collect();
        for entry in &entries {
            let record = if self.form.is_described() {
                self.record_of(entry, places)?
            } else {
                self.entry(entry, texts)
            };
            out.put(record.as_slice())?;
        }
        let mut section = self.form.sink();
        if self.form.is_described() {
            section.u64(out.position() - first);
            section.u64(first);
        } else {
            let count = u16::try_from(entries.len());
            section.u64(first);
            section.u16(count.map_err(|_| Error::request("there are too many entry points"))?);
            section.u8(u8::try_from(ENTRY_BYTES).unwrap_or(32));
        }
        out.fill(start, section.as_slice())?;
        Ok((out.position() - start, start))
    }

    fn entry(&self, entry: &WrittenContext, texts: &Texts) -> Sink {
        let mut record = self.form.sink();
        record.u64(entry.array.0);
        record.u64(entry.array.1);
        record.u32(entry.number);
        record.u16(entry.codes.entry_point);
        record.u16(0);
        record.u64(texts.interned_offset(self.name_of(&entry.node)));
        record
    }

    /// A context, with pointers to its function, file and module.
    fn record_of(&self, context: &WrittenContext, places: &Places) -> Result<Sink> {
        let Codes { relation, lexical_type, propagation, .. } = context.codes;
        let (mut flags, words) = words(self.form, context, places)?;
        let mut record = self.form.sink();
        record.u64(context.array.0);
        record.u64(context.array.1);
        record.u32(context.number);
        if self.form.is_described() {
            flags = flags << 1 | if relation == RELATION_LEXICAL { 0 } else { IS_CALLEE };
            let is_call_line =
                context.codes.is_call_line.unwrap_or_else(|| self.has_calls(context));
            flags |= if is_call_line { IS_CALL_SOURCE_LINE } else { 0 };
            record.u16(flags);
        } else {
            record.u8(u8::try_from(flags).unwrap_or(0));
            record.u8(relation);
        }
        record.u8(lexical_type);
        record.u8(u8::try_from(words.len() / 8).unwrap_or(0));
        if !self.form.is_described() {
            record.u16(propagation);
            record.bytes(&[0; 6]);
        }
        record.bytes(words.as_slice());
        Ok(record)
    }

    /// Returns true if a context is a line in which calls of those below it stand.
    fn has_calls(&self, context: &WrittenContext) -> bool {
        let is_call = |child: &usize| {
            let child = self.contexts.get(*child);
            child.is_some_and(|child| child.node.relation != Relation::Lexical)
        };
        context.node.scope == Scope::Line && context.children.iter().any(is_call)
    }
}

/// The flexible words of a context, and the flags that say which they are.
fn words(form: Form, context: &WrittenContext, places: &Places) -> Result<(u16, Sink)> {
    let (node, relation) = (&context.node, context.codes.relation);
    let mut words = form.sink();
    let mut flags = 0;
    if form.is_described() && relation != RELATION_LEXICAL {
        // A call stands in the line above, unless another was read. The line shares the word.
        let call = context.codes.call;
        words.u8(if call.is_some() { 2 } else { 1 });
        words.u8(relation - RELATION_CALL);
        words.u16(if call.is_some() { CALLEE_HAS_SOURCE } else { 0 });
        words.u32(call.map_or(0, |(_, line)| line));
        if let Some((file, _)) = call {
            words.u64(places.files.offset_of(file.0));
        }
    }
    if let Some(function) = node.function {
        flags |= HAS_FUNCTION;
        words.u64(places.function(function)?);
    }
    if let Some((file, line)) = node.source {
        flags |= HAS_SOURCE;
        words.u64(places.files.offset_of(file.0));
        words.u32(line);
        words.u32(0);
    }
    if let Some((module, offset)) = node.point {
        flags |= HAS_POINT;
        words.u64(places.modules.offset_of(module.0));
        words.u64(offset);
    }
    Ok((flags, words))
}
