//! The sparse layout, 04.00b: sections, and a footer that says where they are.

use kymo_core::bytes::{Cursor, ReadError, ReadErrorKind, ReadResult};

use super::arrays::{NodeLayout, Nodes, Run, Sparse, Values};
use super::{Reading, primitive};
use crate::spec::{FOOTER_BYTES, FOOTER_MAGIC, INDEX_BYTES, VALUE_BYTES};
use crate::types::{Dialect, Epoch, Footer, Header};

/// The layout of nodes since 2021-11; before that they had no flags.
pub(super) fn node_layout(has_flags: bool) -> NodeLayout {
    NodeLayout { has_module: true, has_flags, ..NodeLayout::default() }
}

impl<'a> Reading<'a> {
    /// Reads every section that the footer names, or looks for them where there is no footer.
    pub(super) fn sparse(&mut self) {
        let nodes = Nodes::new(bytes::Bytes::new(), 0, node_layout(true), self.endian);
        self.profile.epochs.push(Epoch {
            offset: 0,
            header: None,
            metrics: Vec::new(),
            load_modules: Vec::new(),
            nodes,
            values: Values::Sparse(Sparse::empty(self.endian)),
        });
        match self.footer() {
            Ok(footer) => {
                self.profile.footer = Some(footer);
                self.sections(&footer);
            }
            Err(error) => {
                self.fault("footer", error);
                self.recover();
            }
        }
    }

    fn footer(&self) -> ReadResult<Footer> {
        let size = self.bytes.len() as u64;
        let start = size.saturating_sub(FOOTER_BYTES);
        let mut cursor = self.cursor(start);
        let mut footer = Footer::default();
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
                continue;
            }
            let mut cursor = self.within(start, end);
            self.section(index, &mut cursor);
            if cursor.remaining() > 0 && self.profile.faults.is_empty() {
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
                    Err(error) => self.fault("header", error),
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
        let what = "number of load modules";
        let read = primitive::load_module;
        let (modules, stop) = primitive::list(cursor, what, &self.limits, 14, read);
        self.edit(|epoch| epoch.load_modules = modules);
        self.is_whole("loadmap", stop)
    }

    /// Reads the metric table, and says whether it is whole.
    pub(super) fn metrics(&mut self, cursor: &mut Cursor<'a>) -> bool {
        let metric =
            |cursor: &mut Cursor<'_>| primitive::metric(cursor, Dialect::Shipped0400, true);
        let (metrics, stop) =
            primitive::list(cursor, "number of metrics", &self.limits, 60, metric);
        self.edit(|epoch| epoch.metrics = metrics);
        self.is_whole("metric-table", stop)
    }

    /// Reads the dictionary of id kinds, and says whether it is whole.
    pub(super) fn id_kinds(&mut self, cursor: &mut Cursor<'a>) -> bool {
        let mut read = || {
            let count = cursor.u16("number of id kinds")?;
            for _ in 0..count {
                self.profile.id_kinds.push(primitive::id_kind(cursor)?);
            }
            Ok(())
        };
        let read = read();
        self.is_whole("id-tuple-dictionary", read.err())
    }

    fn nodes_of_section(&mut self, cursor: &mut Cursor<'a>) {
        let at = cursor.offset();
        let count = match cursor.u64("number of nodes") {
            Ok(count) => count,
            Err(error) => return self.fault("cct", error),
        };
        // The size of a node is not said; it is what divides the section.
        let size = cursor.remaining().checked_div(count).unwrap_or(19);
        match size {
            18 | 19 => self.nodes(cursor, at, count, size == 19),
            _ => {
                let why = format!("{count} nodes in {} bytes, of 18 or 19", cursor.remaining());
                self.fault("cct", ReadError::invalid("number of nodes", at, why));
            }
        }
    }

    /// Takes as many nodes as there are, of the number that is said at `at`.
    pub(super) fn nodes(&mut self, cursor: &mut Cursor<'a>, at: u64, count: u64, flags: bool) {
        let layout = node_layout(flags);
        let room = (cursor.remaining() / layout.size()).min(self.limits.items_max);
        let offset = cursor.offset();
        let length = count.min(room) * layout.size();
        match self.take(cursor, "nodes", length) {
            Ok(nodes) => {
                let nodes = Nodes::new(nodes, offset, layout, self.endian);
                self.edit(|epoch| epoch.nodes = nodes);
            }
            Err(error) => self.fault("cct", error),
        }
        if count > room {
            let over = ReadErrorKind::OverLimit { found: count, limit: room };
            self.fault("cct", over.at("number of nodes", at));
        }
    }

    /// Reads who the thread is, its values and their index.
    pub(super) fn values(&mut self, cursor: &mut Cursor<'a>) {
        if let Err(error) = self.try_values(cursor) {
            self.fault("sparse", error);
        }
    }

    fn try_values(&mut self, cursor: &mut Cursor<'a>) -> ReadResult<()> {
        self.profile.id_tuple_offset = cursor.offset();
        for _ in 0..cursor.u16("length of the id tuple")? {
            self.profile.id_tuple.push(primitive::id(cursor)?);
        }
        let items_max = self.limits.items_max;
        let value_bytes = VALUE_BYTES as u64;
        let at = cursor.offset();
        let count = cursor.u64("number of values")?;
        let nodes_at = cursor.offset();
        let entries = u64::from(cursor.u32("number of nodes with values")?) + 1;
        let limit = items_max.min(cursor.remaining() / value_bytes);
        if count > limit {
            let over = ReadErrorKind::OverLimit { found: count, limit };
            return Err(over.at("number of values", at));
        }
        let offset = cursor.offset();
        let values = self.take(cursor, "values", count * value_bytes)?;
        let values = Run::new(values, offset, VALUE_BYTES, self.endian);
        let room = (cursor.remaining() / INDEX_BYTES as u64).min(items_max.saturating_add(1));
        let offset = cursor.offset();
        let index = self.take(cursor, "index", entries.min(room) * INDEX_BYTES as u64)?;
        let sparse = Sparse::new(values, Run::new(index, offset, INDEX_BYTES, self.endian));
        self.judge_index(&sparse, entries.min(room), count);
        self.edit(|epoch| epoch.values = Values::Sparse(sparse));
        if entries > room {
            let over = ReadErrorKind::OverLimit { found: entries - 1, limit: room };
            return Err(over.at("number of nodes with values", nodes_at));
        }
        Ok(())
    }

    /// Says when the index loses values: nobody knows which nodes they belong to.
    fn judge_index(&mut self, sparse: &Sparse, entries: u64, count: u64) {
        let lost = count - sparse.len() as u64;
        if lost > 0 || sparse.nodes() as u64 + 1 < entries {
            let at = sparse.entry_offset(sparse.nodes()).min(self.bytes.len() as u64);
            let why = format!("its starts do not ascend from here on: {lost} values have no node");
            let severity = kymo_core::Severity::Error;
            let finding = kymo_core::Finding::at(severity, "index-order", at, why);
            self.profile.findings.push(finding);
        }
    }

    fn edit(&mut self, change: impl FnOnce(&mut Epoch)) {
        if let Some(epoch) = self.profile.epochs.first_mut() {
            change(epoch);
        }
    }

    fn is_whole(&mut self, rule: &'static str, stop: Option<ReadError>) -> bool {
        let is_whole = stop.is_none();
        if let Some(error) = stop {
            self.fault(rule, error);
        }
        is_whole
    }
}
