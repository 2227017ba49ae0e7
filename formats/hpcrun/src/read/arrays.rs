//! Nodes and values, read in place: there can be many millions of them.

use std::ops::Range;

use bytes::Bytes;
use kymo_core::bytes::{Cursor, Endian, ReadResult};

use crate::spec::{INDEX_BYTES, VALUE_BYTES};
use crate::types::{Epoch, Lush, MetricValue, Node};

/// Layout of the fields of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NodeLayout {
    /// True if ids are signed, the sign telling leaves.
    pub is_signed: bool,
    /// The bytes of the logical instruction pointer, where there is one.
    pub lip_bytes: Option<u16>,
    /// True if there is a load module beside the address.
    pub has_module: bool,
    /// True if there are flags.
    pub has_flags: bool,
    /// Number of values at the end.
    pub metrics: u32,
}

impl NodeLayout {
    /// The bytes of a node. All are of the same size.
    #[must_use]
    pub fn size(&self) -> u64 {
        let lush = self.lip_bytes.map_or(0, |bytes| 4 + u64::from(bytes));
        let module = if self.has_module { 2 } else { 0 };
        16 + lush + module + u64::from(self.has_flags) + 8 * u64::from(self.metrics)
    }
}

impl Node {
    /// Reads the fields that the layout has, but for the values of metrics.
    pub fn read(cursor: &mut Cursor<'_>, layout: &NodeLayout) -> ReadResult<Self> {
        let mut node = Self::default();
        if layout.is_signed {
            let (id, parent) = (cursor.i32("node id")?, cursor.i32("parent id")?);
            (node.id, node.is_leaf) = (id.unsigned_abs(), id < 0);
            (node.parent, node.parent_is_leaf) = (parent.unsigned_abs(), parent < 0);
        } else {
            (node.id, node.parent) = (cursor.u32("node id")?, cursor.u32("parent id")?);
        }
        let assoc = layout.lip_bytes.map(|_| cursor.u32("lush association")).transpose()?;
        if layout.has_module {
            node.lm_id = cursor.u16("load module id")?;
        }
        node.ip = cursor.u64("instruction pointer")?;
        if let (Some(assoc), Some(bytes)) = (assoc, layout.lip_bytes) {
            let lip = cursor.bytes("logical instruction pointer", bytes.into())?.to_vec();
            node.lush = Some(Lush { assoc, lip });
        }
        if layout.has_flags {
            node.flags = Some(cursor.u8("node flags")?);
        }
        Ok(node)
    }
}

/// A run of items of the same size. It may be let go while nobody looks at its items: what is left
/// is where they are, and how many.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    bytes: Bytes,
    /// Number of bytes, held or not.
    length: usize,
    offset: u64,
    item_bytes: usize,
    endian: Endian,
}

impl Run {
    /// The whole items among these bytes, the first of which is at `offset` of the file.
    pub(crate) fn new(bytes: Bytes, offset: u64, item_bytes: usize, endian: Endian) -> Self {
        let length = bytes.len();
        Self { bytes, length, offset, item_bytes: item_bytes.max(1), endian }
    }

    /// Lets the items go.
    fn release(&mut self) {
        self.bytes = Bytes::new();
    }

    /// Holds the items again, of the file that they are in.
    fn hold(&mut self, file: &Bytes) {
        let start = usize::try_from(self.offset).ok();
        let range = start.and_then(|start| Some(start..start.checked_add(self.length)?));
        let range = range.filter(|range| range.end <= file.len());
        self.bytes = range.map(|range| file.slice(range)).unwrap_or_default();
    }

    /// Returns true if the items are held. Nothing may look at those that are not.
    fn is_held(&self) -> bool {
        self.bytes.len() == self.length
    }

    pub(crate) fn empty(endian: Endian) -> Self {
        Self::new(Bytes::new(), 0, 1, endian)
    }

    pub(crate) fn len(&self) -> usize {
        self.length / self.item_bytes
    }

    pub(crate) fn endian(&self) -> Endian {
        self.endian
    }

    pub(crate) fn offset_of(&self, index: usize) -> u64 {
        let bytes = (index as u64).saturating_mul(self.item_bytes as u64);
        self.offset.saturating_add(bytes)
    }

    /// A cursor at the start of an item, that ends with it.
    pub(crate) fn cursor(&self, index: usize) -> Option<Cursor<'_>> {
        Some(Cursor::with_offset(self.item(index)?, self.offset_of(index), self.endian))
    }

    /// The bytes of an item.
    pub(crate) fn item(&self, index: usize) -> Option<&[u8]> {
        debug_assert!(self.is_held(), "items were let go");
        let start = index.checked_mul(self.item_bytes)?;
        self.bytes.get(start..start.checked_add(self.item_bytes)?)
    }

    /// The items of a range, as many as there are.
    pub(crate) fn items(&self, range: Range<usize>) -> std::slice::ChunksExact<'_, u8> {
        self.bytes(range).chunks_exact(self.item_bytes)
    }

    /// The bytes of the items of a range, as many as there are.
    pub(crate) fn bytes(&self, range: Range<usize>) -> &[u8] {
        debug_assert!(self.is_held(), "items were let go");
        let end = range.end.min(self.len());
        let bytes = range.start.min(end) * self.item_bytes..end * self.item_bytes;
        self.bytes.get(bytes).unwrap_or_default()
    }
}

/// Items that are read in place, and may be let go meanwhile.
pub(crate) trait InPlace {
    /// Gives each run.
    fn each_run(&mut self, take: &mut dyn FnMut(&mut Run));

    /// Lets all items go.
    fn release(&mut self) {
        self.each_run(&mut Run::release);
    }

    /// Holds all items again, of the file that they are in.
    fn hold(&mut self, file: &Bytes) {
        self.each_run(&mut |run| run.hold(file));
    }
}

impl InPlace for Epoch {
    fn each_run(&mut self, take: &mut dyn FnMut(&mut Run)) {
        take(&mut self.nodes.run);
        if let Values::Sparse(sparse) = &mut self.values {
            take(&mut sparse.values);
            take(&mut sparse.index);
        }
    }
}

/// The nodes of an epoch, in the order of the file.
#[derive(Debug, Clone)]
pub struct Nodes {
    run: Run,
    layout: NodeLayout,
}

impl Nodes {
    pub(crate) fn new(bytes: Bytes, offset: u64, layout: NodeLayout, endian: Endian) -> Self {
        let size = usize::try_from(layout.size()).unwrap_or(usize::MAX);
        Self { run: Run::new(bytes, offset, size, endian), layout }
    }

    /// Returns the number of items.
    #[must_use]
    pub fn len(&self) -> usize {
        self.run.len()
    }

    /// Returns true if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the layout of the fields of a node.
    #[must_use]
    pub fn layout(&self) -> &NodeLayout {
        &self.layout
    }

    /// A node by its place.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<Node> {
        Node::read(&mut self.run.cursor(index)?, &self.layout).ok()
    }

    /// Returns the offset of a node in the file.
    #[must_use]
    pub fn offset_of(&self, index: usize) -> u64 {
        self.run.offset_of(index)
    }

    /// All nodes in order.
    pub fn iter(&self) -> impl Iterator<Item = Node> + Clone + '_ {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// The values at the end of a node, those of metrics that layouts without sparse values have.
    fn metrics(&self, index: usize) -> impl Iterator<Item = (u64, u64)> + '_ {
        let mut cursor = self.run.cursor(index);
        let skipped = self.layout.size() - 8 * u64::from(self.layout.metrics);
        let skipped = cursor.as_mut().map(|cursor| cursor.skip("node", skipped).is_ok());
        let count = if skipped == Some(true) { self.layout.metrics } else { 0 };
        (0..count).filter_map(move |_| {
            let cursor = cursor.as_mut()?;
            Some((cursor.offset(), cursor.u64("metric value").ok()?))
        })
    }
}

/// Place of the values of metrics at nodes.
#[derive(Debug, Clone)]
pub enum Values {
    /// In the nodes: one for each metric, zeros too.
    Dense,
    /// In a section of their own, with an index.
    Sparse(Sparse),
}

impl Values {
    /// Returns the number of values.
    #[must_use]
    pub fn len(&self, nodes: &Nodes) -> usize {
        match self {
            Self::Dense => nodes.len() * nodes.layout.metrics as usize,
            Self::Sparse(sparse) => sparse.len(),
        }
    }

    /// Some values, in the order of the file.
    #[must_use]
    pub fn read(&self, nodes: &Nodes, range: Range<usize>) -> Vec<MetricValue> {
        let mut values = Vec::with_capacity(range.len().min(self.len(nodes)));
        self.each(nodes, range, |value| values.push(value));
        values
    }

    /// Gives some values, in the order of the file.
    pub fn each(&self, nodes: &Nodes, range: Range<usize>, mut take: impl FnMut(MetricValue)) {
        match self {
            Self::Dense => dense(nodes, range, take),
            Self::Sparse(sparse) => sparse.each(range, &mut take),
        }
    }
}

fn dense(nodes: &Nodes, range: Range<usize>, mut take: impl FnMut(MetricValue)) {
    let metrics = nodes.layout.metrics as usize;
    let Some(first) = range.start.checked_div(metrics) else { return };
    let mut index = first.saturating_mul(metrics);
    for at in first..nodes.len() {
        if index >= range.end {
            return;
        }
        let node = nodes.get(at).map_or(0, |node| node.id);
        for (metric, (offset, bits)) in nodes.metrics(at).enumerate() {
            if range.contains(&index) {
                let metric = u16::try_from(metric).unwrap_or(u16::MAX);
                take(MetricValue { offset, node, metric, bits });
            }
            index += 1;
        }
    }
}

/// Sparse values and their index.
#[derive(Debug, Clone)]
pub struct Sparse {
    values: Run,
    /// For each node that has values: its id and the first of them. What follows the last of
    /// these in the file says where its values end.
    index: Run,
    /// Entries of the index that can be used: their starts ascend, and so does the next.
    usable: usize,
    /// Number of values that belong to a node.
    length: usize,
}

impl Sparse {
    /// Takes as many entries of the index as are in order; the rest of the values has no node.
    pub(crate) fn new(values: Run, index: Run) -> Self {
        let mut sparse = Self { values, index, usable: 0, length: 0 };
        sparse.usable = sparse.ordered().saturating_sub(1);
        let end = if sparse.usable == 0 { 0 } else { sparse.start(sparse.usable) };
        sparse.length = end.min(sparse.values.len());
        sparse
    }

    pub(crate) fn empty(endian: Endian) -> Self {
        Self { values: Run::empty(endian), index: Run::empty(endian), usable: 0, length: 0 }
    }

    /// Returns the number of entries of the index that are in order, the last of which gives the
    /// end of the values.
    pub(crate) fn ordered(&self) -> usize {
        let mut last = 0;
        let ascends = |start: &u64| {
            let fits = *start >= last && *start <= self.values.len() as u64;
            last = *start;
            fits
        };
        let starts = self.index.items(0..usize::MAX);
        let starts = starts.map(|entry| read_entry(entry, self.index.endian()).1);
        let first = self.entry(0).is_none_or(|(_, start)| start == 0);
        if first { starts.take_while(ascends).count() } else { 0 }
    }

    /// Returns the number of values that belong to a node.
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Returns true if no value belongs to a node.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of nodes that the index has values for, as far as it is in order.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.usable
    }

    /// Returns the number of entries of the index, in order or not, with the one that marks its
    /// end.
    #[must_use]
    pub fn entries(&self) -> usize {
        self.index.len()
    }

    /// An entry of the index: the node, and the first of its values.
    #[must_use]
    pub fn entry(&self, index: usize) -> Option<(u32, u64)> {
        self.index
            .items(index..index.saturating_add(1))
            .next()
            .map(|e| read_entry(e, self.index.endian()))
    }

    /// Returns the offset of an entry of the index in the file.
    #[must_use]
    pub fn entry_offset(&self, index: usize) -> u64 {
        self.index.offset_of(index)
    }

    fn start(&self, index: usize) -> usize {
        let start = self.entry(index).map(|(_, start)| usize::try_from(start));
        start.and_then(Result::ok).unwrap_or(usize::MAX)
    }

    /// The entry that a value belongs to: the last that starts at it or before.
    fn entry_of(&self, value: usize) -> usize {
        let (mut low, mut high) = (0, self.usable);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.start(middle) <= value {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low.saturating_sub(1)
    }

    fn each(&self, range: Range<usize>, take: &mut impl FnMut(MetricValue)) {
        let range = range.start..range.end.min(self.len());
        if range.is_empty() {
            return;
        }
        let mut entry = self.entry_of(range.start);
        let mut node = self.entry(entry).map_or(0, |(node, _)| node);
        let mut end = self.start(entry + 1);
        let endian = self.values.endian();
        for (at, item) in range.clone().zip(self.values.items(range)) {
            while at >= end && entry + 1 < self.usable {
                entry += 1;
                node = self.entry(entry).map_or(0, |(node, _)| node);
                end = self.start(entry + 1);
            }
            let (bits, metric) = read_value(item, endian);
            take(MetricValue { offset: self.values.offset_of(at), node, metric, bits });
        }
    }
}

fn read_value(item: &[u8], endian: Endian) -> (u64, u16) {
    let Some(item) = item.first_chunk::<VALUE_BYTES>() else { return (0, 0) };
    let [b0, b1, b2, b3, b4, b5, b6, b7, m0, m1] = *item;
    let bits = [b0, b1, b2, b3, b4, b5, b6, b7];
    match endian {
        Endian::Big => (u64::from_be_bytes(bits), u16::from_be_bytes([m0, m1])),
        Endian::Little => (u64::from_le_bytes(bits), u16::from_le_bytes([m0, m1])),
    }
}

fn read_entry(item: &[u8], endian: Endian) -> (u32, u64) {
    let Some(item) = item.first_chunk::<INDEX_BYTES>() else { return (0, 0) };
    let [n0, n1, n2, n3, s0, s1, s2, s3, s4, s5, s6, s7] = *item;
    let (node, start) = ([n0, n1, n2, n3], [s0, s1, s2, s3, s4, s5, s6, s7]);
    match endian {
        Endian::Big => (u32::from_be_bytes(node), u64::from_be_bytes(start)),
        Endian::Little => (u32::from_le_bytes(node), u64::from_le_bytes(start)),
    }
}
