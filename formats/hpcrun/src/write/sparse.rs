//! The sparse layout, 04.00b: sections at multiples of 1024, and a footer.

use std::io::{self, Write};

use kymo_core::bytes::Sink;

use super::{count, flush, too_large};
use crate::read::{NodeLayout, Profile, Values};
use crate::spec::{FOOTER_MAGIC, INDEX_END, SECTION_ALIGNMENT};
use crate::types::{Header, Id, IdKind, LoadModule, Metric, Node};

/// Everything that goes into a file of this layout, wherever it comes from.
pub(super) trait Contents {
    fn header(&self) -> &Header;
    fn load_modules(&self) -> &[LoadModule];
    fn layout(&self) -> NodeLayout;
    fn node_count(&self) -> usize;
    fn nodes(&self) -> Box<dyn Iterator<Item = Node> + '_>;
    fn metrics(&self) -> &[Metric];
    fn id_kinds(&self) -> &[IdKind];
    fn id_tuple(&self) -> &[Id];
    fn value_count(&self) -> usize;
    /// Gives the bits and the metric of each value.
    fn values(&self, take: &mut dyn FnMut(u64, u16));
    /// For each node that has values, its id and the first of them.
    fn index(&self) -> Vec<(u32, u64)>;
}

impl Contents for Profile {
    fn header(&self) -> &Header {
        &self.header
    }

    fn load_modules(&self) -> &[LoadModule] {
        self.epochs.first().map_or(&[], |epoch| &epoch.load_modules)
    }

    fn layout(&self) -> NodeLayout {
        self.epochs.first().map(|epoch| *epoch.nodes.layout()).unwrap_or_default()
    }

    fn node_count(&self) -> usize {
        self.epochs.first().map_or(0, |epoch| epoch.nodes.len())
    }

    fn nodes(&self) -> Box<dyn Iterator<Item = Node> + '_> {
        Box::new(self.epochs.iter().take(1).flat_map(|epoch| epoch.nodes.iter()))
    }

    fn metrics(&self) -> &[Metric] {
        self.epochs.first().map_or(&[], |epoch| &epoch.metrics)
    }

    fn id_kinds(&self) -> &[IdKind] {
        &self.id_kinds
    }

    fn id_tuple(&self) -> &[Id] {
        &self.id_tuple
    }

    fn value_count(&self) -> usize {
        self.epochs.first().map_or(0, |epoch| epoch.values.len(&epoch.nodes))
    }

    fn values(&self, take: &mut dyn FnMut(u64, u16)) {
        if let Some(epoch) = self.epochs.first() {
            let all = 0..epoch.values.len(&epoch.nodes);
            epoch.values.each(&epoch.nodes, all, |value| take(value.bits, value.metric));
        }
    }

    fn index(&self) -> Vec<(u32, u64)> {
        match self.epochs.first().map(|epoch| &epoch.values) {
            Some(Values::Sparse(sparse)) => {
                (0..sparse.nodes()).filter_map(|index| sparse.entry(index)).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// Writes the sections in the usual order.
pub(super) fn write(contents: &dyn Contents, out: &mut impl Write) -> io::Result<()> {
    let mut file = File::new(contents.header(), out);
    file.section(|sink, _| contents.header().write(sink))?;
    file.section(|sink, _| {
        LoadModule::write_map(contents.load_modules(), sink, contents.header().dialect)
    })?;
    file.section(|sink, out| {
        sink.u64(contents.node_count() as u64);
        let layout = contents.layout();
        contents.nodes().try_for_each(|node| {
            node.write(sink, &layout)?;
            flush(sink, out)
        })
    })?;
    file.section(|sink, _| Metric::write_table(contents.metrics(), sink))?;
    file.section(|sink, _| {
        sink.u16(short(contents.id_kinds().len())?);
        contents.id_kinds().iter().try_for_each(|kind| kind.write(sink))
    })?;
    file.section(|sink, out| write_values(contents, sink, out))?;
    file.footer()
}

fn write_values<W: Write>(
    contents: &dyn Contents,
    sink: &mut Sink,
    out: &mut CountedOutput<'_, W>,
) -> io::Result<()> {
    sink.u16(short(contents.id_tuple().len())?);
    contents.id_tuple().iter().for_each(|id| id.write(sink));
    let index = contents.index();
    let values = contents.value_count() as u64;
    sink.u64(values);
    sink.u32(count(index.len())?);
    let mut written = Ok(());
    contents.values(&mut |bits, metric| {
        sink.u64(bits);
        sink.u16(metric);
        if written.is_ok() {
            written = flush(sink, out);
        }
    });
    written?;
    for (node, start) in index.into_iter().chain([(INDEX_END, values)]) {
        sink.u32(node);
        sink.u64(start);
        flush(sink, out)?;
    }
    Ok(())
}

/// A count of two bytes.
fn short(length: usize) -> io::Result<u16> {
    u16::try_from(length).map_err(|_| too_large("a list has more than two bytes can count"))
}

/// Output that knows how far it is.
struct CountedOutput<'w, W> {
    out: &'w mut W,
    position: u64,
}

impl<W: Write> Write for CountedOutput<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.position += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// A file being written, section after section.
struct File<'w, W> {
    sink: Sink,
    out: CountedOutput<'w, W>,
    bounds: Vec<(u64, u64)>,
}

impl<'w, W: Write> File<'w, W> {
    fn new(header: &Header, out: &'w mut W) -> Self {
        let out = CountedOutput { out, position: 0 };
        Self { sink: Sink::new(header.endian), out, bounds: Vec::new() }
    }

    fn section(
        &mut self,
        fill: impl FnOnce(&mut Sink, &mut CountedOutput<'w, W>) -> io::Result<()>,
    ) -> io::Result<()> {
        let start = self.out.position;
        fill(&mut self.sink, &mut self.out)?;
        self.send()?;
        let end = self.out.position;
        self.bounds.push((start, end));
        let gap = end.next_multiple_of(SECTION_ALIGNMENT) - end;
        (0..gap).for_each(|_| self.sink.u8(0));
        self.send()
    }

    fn footer(mut self) -> io::Result<()> {
        for (start, end) in &self.bounds {
            self.sink.u64(*start);
            self.sink.u64(*end);
        }
        self.sink.u64(self.out.position);
        self.sink.u64(FOOTER_MAGIC);
        self.send()
    }

    fn send(&mut self) -> io::Result<()> {
        self.out.write_all(self.sink.as_slice())?;
        self.sink.clear();
        Ok(())
    }
}
