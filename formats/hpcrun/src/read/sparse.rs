//! The sparse layout, 04.00b: sections, and a footer that says where they are.

use kymo_core::bytes::{Cursor, ReadError, ReadResult};
use kymo_core::{Finding, Severity};

use super::arrays::{NodeLayout, Nodes, Run, Sparse, Values};
use super::{PartOfProfile, ProfileReader, primitive, stored_count, too_many};
use crate::spec::{FOOTER_BYTES, FOOTER_MAGIC, INDEX_BYTES, VALUE_BYTES};
use crate::types::{Dialect, Epoch, Footer, Header, Id, IdKind, LoadMap};

/// The layout of nodes since 2021-11; before that they had no flags.
pub(super) fn node_layout(has_flags: bool) -> NodeLayout {
    NodeLayout { has_module: true, has_flags, ..NodeLayout::default() }
}

impl<'a> ProfileReader<'a> {
    /// Reads every section that the footer names, or looks for them where there is no footer.
    pub(super) fn sparse(&mut self) {
        let empty = self.empty();
        self.profile.epochs.push(empty);
        match self.footer() {
            Ok(footer) => {
                self.profile.footer = Some(footer);
                self.sections(&footer);
                if !self.profile.losses.is_empty() {
                    self.recover_instead();
                }
            }
            Err(error) => {
                self.fault("footer", error);
                self.recover();
            }
        }
    }

    /// The one epoch, before anything of it is read.
    pub(super) fn empty(&self) -> Epoch {
        Epoch {
            offset: 0,
            header: None,
            metrics: Vec::new(),
            load_modules: LoadMap::default(),
            nodes: Nodes::new(bytes::Bytes::new(), 0, node_layout(true), self.endian),
            values: Values::Sparse(Sparse::empty(self.endian)),
        }
    }

    fn footer(&self) -> ReadResult<Footer> {
        let size = self.bytes.len() as u64;
        let start = size.saturating_sub(FOOTER_BYTES);
        let mut cursor = self.cursor(start);
        let mut footer = Footer { offset: start, ..Footer::default() };
        for section in &mut footer.sections {
            *section = (cursor.u64("start of a section")?, cursor.u64("end of a section")?);
        }
        footer.footer_start = cursor.u64("start of the footer")?;
        let at = cursor.offset();
        if cursor.u64("magic of the footer")? != FOOTER_MAGIC {
            let why = "it is not HPCRUNsm: the file was not finished, or its end is missing";
            return Err(ReadError::invalid("magic of the footer", at, why));
        }
        Ok(footer)
    }

    fn sections(&mut self, footer: &Footer) {
        let footer_start = (self.bytes.len() as u64).saturating_sub(FOOTER_BYTES);
        if footer.footer_start != footer_start {
            let told = footer.footer_start;
            let why = format!("it says to begin at {told:#x}, and begins at {footer_start:#x}");
            self.warn("footer-start", footer_start + 0x60, why);
        }
        for (index, (start, end)) in footer.sections.into_iter().enumerate() {
            let at = footer_start + 16 * index as u64;
            if start > end || end > footer_start {
                let why = format!("from {start:#x} to {end:#x} is no part of the file");
                self.fault("section", ReadError::invalid("bounds of a section", at, why));
                if let Some(part) = PartOfProfile::SECTIONS.get(index) {
                    self.lose(*part, at, 0, None);
                }
                continue;
            }
            let mut cursor = self.cursor_in(start, end);
            let faults = self.profile.faults.len();
            self.section(index, &mut cursor);
            if cursor.remaining() > 0 && self.profile.faults.len() == faults {
                let name = Footer::NAMES.get(index).copied().unwrap_or_default();
                let why = format!("{} bytes of {name} are left over", cursor.remaining());
                self.warn("section-size", cursor.offset(), why);
            }
        }
    }

    /// Reads a section, by its place in the footer.
    fn section(&mut self, index: usize, cursor: &mut Cursor<'a>) {
        match index {
            0 => {
                let magic = Header::magic_bytes(Dialect::Shipped0400);
                match cursor.skip("magic", magic) {
                    Ok(()) => drop(self.header(cursor)),
                    Err(error) => {
                        let at = (cursor.offset(), 0, None);
                        self.is_whole(PartOfProfile::HEADER, Some(error), at);
                    }
                }
            }
            1 => drop(self.load_modules(cursor)),
            2 => self.nodes_of_section(cursor),
            3 => drop(self.metrics(cursor)),
            4 => drop(self.id_kinds(cursor)),
            _ => self.values(cursor),
        }
    }

    /// Reads the load map, and says whether it is whole.
    pub(super) fn load_modules(&mut self, cursor: &mut Cursor<'a>) -> bool {
        let (at, told) = (cursor.offset(), stored_count(cursor));
        self.note_count(at, "load_modules", told);
        let read = primitive::shipped_module;
        let (modules, stop) = primitive::load_modules(cursor, &self.limits, read);
        let read = modules.len();
        self.edit(|epoch| epoch.load_modules = modules.into());
        self.is_whole(PartOfProfile::LOAD_MODULES, stop, (at, read, told))
    }

    /// Reads the metric table, and says whether it is whole.
    pub(super) fn metrics(&mut self, cursor: &mut Cursor<'a>) -> bool {
        let (at, told) = (cursor.offset(), stored_count(cursor));
        self.note_count(at, "metrics", told);
        let dialect = Dialect::Shipped0400;
        let (metrics, stop) = primitive::metrics(cursor, dialect, true, &self.limits);
        let read = metrics.len();
        self.edit(|epoch| epoch.metrics = metrics);
        self.is_whole(PartOfProfile::METRICS, stop, (at, read, told))
    }

    /// Reads the dictionary of id kinds, and says whether it is whole.
    pub(super) fn id_kinds(&mut self, cursor: &mut Cursor<'a>) -> bool {
        let at = cursor.offset();
        let told = cursor.clone().u16("number of id kinds").ok().map(u64::from);
        self.note_count(at, "id_kinds", told);
        self.profile.id_kinds.clear();
        let mut read = || {
            let count = cursor.u16("number of id kinds")?;
            for _ in 0..count {
                self.profile.id_kinds.push(IdKind::read(cursor)?);
            }
            Ok(())
        };
        let stop = read().err();
        let read = self.profile.id_kinds.len();
        self.is_whole(PartOfProfile::ID_KINDS, stop, (at, read, told))
    }

    fn nodes_of_section(&mut self, cursor: &mut Cursor<'a>) {
        let at = cursor.offset();
        let count = match cursor.u64("number of nodes") {
            Ok(count) => count,
            Err(error) => {
                self.is_whole(PartOfProfile::NODES, Some(error), (at, 0, None));
                return;
            }
        };
        self.note_count(at, "nodes", Some(count));
        // The size of a node is not said; it is what divides the section.
        let left = cursor.remaining();
        let size = left.checked_div(count).unwrap_or(19);
        if matches!(size, 18 | 19) {
            return self.nodes(cursor, at, count, size == 19);
        }
        let why = format!("{count} nodes in {left} bytes, of 18 or 19");
        let error = ReadError::invalid("number of nodes", at, why);
        // Where the number is wrong, the size of the section may still tell.
        let start = cursor.offset();
        let fits = |size: &u64| {
            left.is_multiple_of(*size) && self.nodes_make_sense(start, left / size, *size == 19)
        };
        if let Some(size) = [19, 18].into_iter().find(fits) {
            self.fault(PartOfProfile::NODES.rule, error);
            self.nodes(cursor, at, left / size, size == 19);
        } else {
            self.is_whole(PartOfProfile::NODES, Some(error), (at, 0, Some(count)));
        }
    }

    /// Takes as many nodes as there are, of the number that is said at `at`.
    pub(super) fn nodes(&mut self, cursor: &mut Cursor<'a>, at: u64, count: u64, flags: bool) {
        self.note_count(at, "nodes", Some(count));
        let layout = node_layout(flags);
        let (left, items_max) = (cursor.remaining(), self.limits.items_max);
        let read = (left / layout.size()).min(items_max).min(count);
        let offset = cursor.offset();
        let nodes = self.take(cursor, "nodes", read * layout.size()).unwrap_or_default();
        let nodes = Nodes::new(nodes, offset, layout, self.endian);
        let kept = nodes.len();
        self.edit(|epoch| epoch.nodes = nodes);
        let over = || too_many("number of nodes", at, count, layout.size(), left, items_max);
        let stop = (count > read).then(over);
        self.is_whole(PartOfProfile::NODES, stop, (at, kept, Some(count)));
    }

    /// Reads who the thread is, its values and their index.
    pub(super) fn values(&mut self, cursor: &mut Cursor<'a>) {
        let at = cursor.offset();
        let mut told = None;
        if let Err(error) = self.try_values(cursor, &mut told) {
            let kept =
                self.profile.epochs.first().map_or(0, |epoch| epoch.values.len(&epoch.nodes));
            self.is_whole(PartOfProfile::VALUES, Some(error), (at, kept, told));
        }
    }

    fn try_values(&mut self, cursor: &mut Cursor<'a>, told: &mut Option<u64>) -> ReadResult<()> {
        self.profile.id_tuple_offset = cursor.offset();
        let ids = cursor.u16("length of the id tuple")?;
        self.note_count(self.profile.id_tuple_offset, "ids", Some(ids.into()));
        for _ in 0..ids {
            self.profile.id_tuple.push(Id::read(cursor)?);
        }
        let items_max = self.limits.items_max;
        let value_bytes = VALUE_BYTES as u64;
        let at = cursor.offset();
        let counted = cursor.u64("number of values")?;
        *told = Some(counted);
        self.note_count(at, "values", Some(counted));
        let nodes_at = cursor.offset();
        let entries = u64::from(cursor.u32("number of nodes with values")?) + 1;
        self.note_count(nodes_at, "nodes with values", Some(entries - 1));
        let left = cursor.remaining();
        let fits = |count: &u64| *count <= items_max.min(left / value_bytes);
        let mut count = counted;
        if !fits(&count) {
            let error = too_many("number of values", at, count, value_bytes, left, items_max);
            // Where the number is wrong, the size of the section may still tell.
            let rest = left.checked_sub(entries * INDEX_BYTES as u64);
            let rest = rest.filter(|rest| rest.is_multiple_of(value_bytes));
            let Some(fitting) = rest.map(|rest| rest / value_bytes).filter(fits) else {
                return Err(error);
            };
            self.fault(PartOfProfile::VALUES.rule, error);
            count = fitting;
        }
        let offset = cursor.offset();
        let values = self.take(cursor, "values", count * value_bytes)?;
        let values = Run::new(values, offset, VALUE_BYTES, self.endian);
        let (left, entry_bytes) = (cursor.remaining(), INDEX_BYTES as u64);
        let room = (left / entry_bytes).min(items_max.saturating_add(1));
        let offset = cursor.offset();
        let index = self.take(cursor, "index", entries.min(room) * entry_bytes)?;
        let sparse = Sparse::new(values, Run::new(index, offset, INDEX_BYTES, self.endian));
        let is_whole = entries <= room;
        if is_whole {
            self.judge_index(&sparse, entries, count);
        }
        self.edit(|epoch| epoch.values = Values::Sparse(sparse));
        if is_whole {
            return Ok(());
        }
        Err(too_many(
            "number of nodes with values",
            nodes_at,
            entries,
            entry_bytes,
            left,
            items_max,
        ))
    }

    /// Says when the index loses values: nobody knows which nodes they belong to.
    fn judge_index(&mut self, sparse: &Sparse, entries: u64, count: u64) {
        let lost = count - sparse.len() as u64;
        if lost == 0 && sparse.nodes() as u64 + 1 >= entries {
            return;
        }
        // The first entry that is not in order.
        let at = sparse.entry_offset(sparse.ordered());
        let at = at.min(self.bytes.len() as u64);
        let why = format!("its starts do not ascend from here on: {lost} values have no node");
        let finding = Finding::at_offset(Severity::Error, "index-order", at, why);
        self.profile.losses.push(finding.clone());
        self.profile.findings.push(finding);
    }

    fn edit(&mut self, change: impl FnOnce(&mut Epoch)) {
        if let Some(epoch) = self.profile.epochs.first_mut() {
            change(epoch);
        }
    }
}
