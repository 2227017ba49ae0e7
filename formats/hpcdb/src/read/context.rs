//! The tree of contexts in `meta.db`, read where it lies.

use std::ops::Range;

use kymo_core::bytes::{Cursor, ReadError, ReadResult};

use super::meta::{Meta, Roots, some};
use crate::spec::{
    CALLEE_HAS_SOURCE, CONTEXT_BYTES, DRAFT_CONTEXT_BYTES, HAS_FUNCTION, HAS_POINT, HAS_SOURCE,
    IS_CALL_SOURCE_LINE, IS_CALLEE, LEXICAL_FUNCTION, RELATION_CALL, RELATION_LEXICAL,
};
use crate::types::{Context, Entry};

/// Name of the root in the first drafts that stands for doing nothing.
pub(crate) const NO_ACTIVITY: &str = "no activity";

impl Meta {
    /// Bytes of a context without its flexible words.
    pub(crate) fn context_bytes(&self) -> u64 {
        if self.is_draft { DRAFT_CONTEXT_BYTES } else { CONTEXT_BYTES }
    }

    /// Returns the greatest number of contexts that the file can hold.
    pub(crate) fn contexts_max(&self) -> u64 {
        self.part.len() / self.context_bytes()
    }

    /// Appends where the entry points are.
    pub(crate) fn root_offsets(&self, to: &mut Vec<u64>) -> ReadResult<()> {
        match &self.roots {
            Roots::Entries(table) => to.extend(table.offsets()),
            Roots::Contexts(range) => self.sibling_offsets(range.clone(), to)?,
        }
        Ok(())
    }

    /// Returns true if an entry point is at an offset.
    pub(crate) fn is_root(&self, offset: u64) -> bool {
        match &self.roots {
            Roots::Entries(table) => table.is_record_start(offset),
            Roots::Contexts(range) => range.contains(&offset),
        }
    }

    /// Appends where each context of an array is.
    pub(crate) fn sibling_offsets(
        &self,
        mut range: Range<u64>,
        to: &mut Vec<u64>,
    ) -> ReadResult<()> {
        while !range.is_empty() {
            let size = self.sibling_bytes(&range)?;
            to.push(range.start);
            range.start += size;
        }
        Ok(())
    }

    /// Returns the length of the first context of an array.
    pub(crate) fn sibling_bytes(&self, range: &Range<u64>) -> ReadResult<u64> {
        let (at, left) = (range.start, range.end - range.start);
        let mut cursor = self.part.cursor("context", at)?;
        cursor.skip("context", 0x17)?;
        let words: u64 = cursor.u8("number of flexible words")?.into();
        let size = self.context_bytes() + 8 * words;
        if size > left {
            let why = format!("needs {size} bytes, and {left} are left of its array");
            return Err(ReadError::invalid("context", at, why));
        }
        Ok(size)
    }

    /// Returns the range of the children of an entry point or a context, which is the first thing
    /// it gives.
    pub(crate) fn children_of(&self, offset: u64) -> ReadResult<Range<u64>> {
        self.children(&mut self.part.cursor("context", offset)?, offset)
    }

    /// The entry point or context at an offset.
    pub(crate) fn node(&self, offset: u64) -> ReadResult<Context> {
        match &self.roots {
            Roots::Entries(table) if table.is_record_start(offset) => self.entry(offset),
            Roots::Contexts(range) if range.contains(&offset) => {
                let context = self.context(offset)?;
                let entry = Some(self.draft_entry(&context)?);
                Ok(Context { entry, ..context })
            }
            _ => self.context(offset),
        }
    }

    fn entry(&self, offset: u64) -> ReadResult<Context> {
        let mut cursor = self.part.cursor("entry point", offset)?;
        let children = self.children(&mut cursor, offset)?;
        let ctx_id = cursor.u32("ctxId")?;
        let entry_point = cursor.u16("entryPoint")?;
        cursor.skip("gap", 2)?;
        let name = cursor.u64("entry point name")?;
        let name = self.part.text("entry point name", name)?.into_owned();
        Ok(Context {
            offset,
            size: cursor.offset() - offset,
            children,
            ctx_id,
            relation: RELATION_CALL,
            lexical_type: LEXICAL_FUNCTION,
            propagation: 0,
            function: None,
            source: None,
            point: None,
            call: None,
            is_call_line: false,
            entry: Some(Entry { entry_point, name }),
        })
    }

    /// Returns the entry point for a root of the drafts, by the name of its function.
    fn draft_entry(&self, root: &Context) -> ReadResult<Entry> {
        let function = root.function.map(|pointer| self.function(pointer)).transpose()?;
        let name = function.and_then(|function| function.name);
        let (entry_point, name) = match name.as_deref() {
            Some("<program root>") => (1, "main thread"),
            Some("<thread root>") => (2, "application thread"),
            Some("<no activity>") => (0, NO_ACTIVITY),
            _ => (0, "unknown entry"),
        };
        Ok(Entry { entry_point, name: name.to_owned() })
    }

    fn children(&self, cursor: &mut Cursor<'_>, offset: u64) -> ReadResult<Range<u64>> {
        let size = cursor.u64("szChildren")?;
        let pointer = cursor.u64("pChildren")?;
        if size == 0 {
            // The pointer means nothing then.
            return Ok(0..0);
        }
        self.part.check_range("children", offset, pointer, size)?;
        Ok(pointer..pointer.saturating_add(size))
    }

    fn context(&self, offset: u64) -> ReadResult<Context> {
        let mut cursor = self.part.cursor("context", offset)?;
        let children = self.children(&mut cursor, offset)?;
        let ctx_id = cursor.u32("ctxId")?;
        let (mut flags, mut relation) = if self.part.is_described() {
            (cursor.u16("flags")?, None)
        } else {
            (cursor.u8("flags")?.into(), Some(cursor.u8("relation")?))
        };
        let lexical_type = cursor.u8("lexicalType")?;
        let words: u64 = cursor.u8("nFlexWords")?.into();
        let mut propagation = None;
        if !self.is_draft {
            propagation = Some(cursor.u16("propagation")?);
            cursor.skip("gap", 6)?;
        }
        let mut flex = cursor.part("flex", 8 * words)?;
        let size = cursor.offset() - offset;
        // The described draft has a bit of its own first, and keeps the call in the words.
        let (mut call, mut is_call_line) = (None, false);
        if relation.is_none() {
            let called = described_call(&mut flex, flags)?;
            (relation, call) = (Some(called.0), called.1);
            is_call_line = flags & IS_CALL_SOURCE_LINE != 0;
            flags >>= 1;
        }
        let function = if flags & HAS_FUNCTION == 0 { 0 } else { flex.u64("function")? };
        let mut source = None;
        if flags & HAS_SOURCE != 0 {
            let (file, line) = (flex.u64("file")?, flex.u32("line")?);
            flex.skip("gap", 4)?;
            source = some(file).map(|file| (file, line));
        }
        let mut point = None;
        if flags & HAS_POINT != 0 {
            let (module, offset) = (flex.u64("module")?, flex.u64("offset")?);
            point = some(module).map(|module| (module, offset));
        }
        let relation = relation.unwrap_or(RELATION_CALL);
        Ok(Context {
            offset,
            size,
            children,
            ctx_id,
            relation,
            lexical_type,
            // The first drafts do not say it: what lies within something flows to it.
            propagation: propagation.unwrap_or((relation == RELATION_LEXICAL).into()),
            function: some(function),
            source,
            point,
            call,
            is_call_line,
            entry: None,
        })
    }
}

/// The relation in the described draft, and where the call stands; they begin the flexible words
/// where there is a call.
fn described_call(flex: &mut Cursor<'_>, flags: u16) -> ReadResult<(u8, Option<(u64, u32)>)> {
    if flags & IS_CALLEE == 0 {
        return Ok((RELATION_LEXICAL, None));
    }
    let words = flex.clone().u8("nCalleeFlexWords")?;
    let mut call = flex.part("callee", 8 * u64::from(words.max(1)))?;
    call.skip("nCalleeFlexWords", 1)?;
    let call_type = call.u8("callType")?;
    let has_place = call.u16("calleeFlags")? & CALLEE_HAS_SOURCE != 0;
    // The line shares the first word.
    let line = call.u32("callLine")?;
    let file = if has_place { some(call.u64("callFile")?) } else { None };
    // A call is 0 there and one that was inlined 1; what is not known is not known after this.
    Ok((call_type.saturating_add(RELATION_CALL), file.map(|file| (file, line))))
}
