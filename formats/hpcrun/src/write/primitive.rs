//! The parts that all layouts are made of: strings, pairs, headers, metrics, load modules, nodes.

use std::io;

use kymo_core::bytes::Sink;

use super::{count, too_large};
use crate::read::NodeLayout;
use crate::spec;
use crate::types::{
    Dialect, EpochHeader, Header, Id, IdKind, LoadModule, Metric, MetricFlags, Node, NvPair, Place,
    Str,
};

impl Str {
    /// Writes its length in four bytes, and its bytes.
    pub fn write(&self, sink: &mut Sink) -> io::Result<()> {
        sink.u32(count(self.0.len())?);
        sink.bytes(&self.0);
        Ok(())
    }
}

impl NvPair {
    /// Writes the name and the value.
    pub fn write(&self, sink: &mut Sink) -> io::Result<()> {
        self.name.write(sink)?;
        self.value.write(sink)
    }
}

/// Writes a list of pairs.
fn nv_pairs(pairs: &[NvPair], sink: &mut Sink) -> io::Result<()> {
    sink.u32(count(pairs.len())?);
    pairs.iter().try_for_each(|pair| pair.write(sink))
}

impl Header {
    /// Writes the magic and the pairs.
    pub fn write(&self, sink: &mut Sink) -> io::Result<()> {
        sink.bytes(self.dialect.magic());
        sink.bytes(self.dialect.version().as_bytes());
        sink.u8(spec::endian_letter(self.endian));
        nv_pairs(&self.nv, sink)
    }
}

impl EpochHeader {
    /// Writes the tag and what follows it, in the order of the layout.
    pub fn write(&self, sink: &mut Sink, dialect: Dialect) -> io::Result<()> {
        sink.bytes(spec::EPOCH_TAG);
        sink.u64(self.flags);
        if dialect == Dialect::Described {
            sink.u32(self.ra_distance);
            sink.u64(self.granularity);
        } else {
            sink.u64(self.granularity);
            sink.u32(self.ra_distance);
        }
        nv_pairs(&self.nv, sink)
    }
}

impl Metric {
    /// Writes a metric table.
    pub fn write_table(metrics: &[Self], sink: &mut Sink) -> io::Result<()> {
        sink.u32(count(metrics.len())?);
        metrics.iter().try_for_each(|metric| metric.write(sink))
    }

    /// Writes a metric, in the layout that its flags are of.
    pub fn write(&self, sink: &mut Sink) -> io::Result<()> {
        self.name.write(sink)?;
        let flags = match self.flags {
            MetricFlags::Described(flags) => {
                sink.u64(flags);
                sink.u64(self.period);
                return Ok(());
            }
            MetricFlags::Shipped(flags) | MetricFlags::Packed(flags) => flags,
        };
        self.description.write(sink)?;
        sink.bytes(&flags);
        sink.u64(self.period);
        self.formula.write(sink)?;
        self.format.write(sink)?;
        if let Some(sampling) = self.sampling {
            sink.u16(sampling.is_frequency);
            sink.u16(sampling.is_multiplexed);
            sink.f64(sampling.mean_threshold);
            sink.u64(sampling.samples);
        }
        Ok(())
    }
}

impl LoadModule {
    /// Writes a load map.
    pub fn write_map(modules: &[Self], sink: &mut Sink, dialect: Dialect) -> io::Result<()> {
        sink.u32(count(modules.len())?);
        modules.iter().try_for_each(|module| module.write(sink, dialect))
    }

    /// Writes a load module; as described with its place, which is 0 where it is not known.
    pub fn write(&self, sink: &mut Sink, dialect: Dialect) -> io::Result<()> {
        if dialect == Dialect::Described {
            let place = self.place.unwrap_or(Place { load_addr: 0, load_offset: 0 });
            sink.u64(place.load_addr);
            sink.u64(place.load_offset);
            self.path.write(sink)?;
            let why = "flags of a load module need more than four bytes";
            sink.u32(u32::try_from(self.flags).map_err(|_| too_large(why))?);
        } else {
            let why = "the id of a load module needs more than two bytes";
            sink.u16(u16::try_from(self.id).map_err(|_| too_large(why))?);
            self.path.write(sink)?;
            sink.u64(self.flags);
        }
        Ok(())
    }
}

impl Node {
    /// Writes the fields that the layout has, but for the values of metrics.
    pub fn write(&self, sink: &mut Sink, layout: &NodeLayout) -> io::Result<()> {
        if layout.is_signed {
            sink.i32(signed(self.id, self.is_leaf)?);
            sink.i32(signed(self.parent, self.parent_is_leaf)?);
        } else {
            sink.u32(self.id);
            sink.u32(self.parent);
        }
        if layout.lip_bytes.is_some() {
            sink.u32(self.lush.as_ref().map_or(0, |lush| lush.assoc));
        }
        if layout.has_module {
            sink.u16(self.lm_id);
        }
        sink.u64(self.ip);
        if let Some(bytes) = layout.lip_bytes {
            let lip = self.lush.as_ref().map_or(&[][..], |lush| &lush.lip);
            let zeros = std::iter::repeat(&0);
            lip.iter().chain(zeros).take(bytes.into()).for_each(|byte| sink.u8(*byte));
        }
        if layout.has_flags {
            sink.u8(self.flags.unwrap_or(spec::NODE_UNWOUND));
        }
        Ok(())
    }
}

/// An id whose sign says whether it is a leaf's.
fn signed(id: u32, is_leaf: bool) -> io::Result<i32> {
    let id = if is_leaf { -i64::from(id) } else { i64::from(id) };
    i32::try_from(id).map_err(|_| too_large("the id of a node needs more than 31 bits"))
}

impl IdKind {
    /// Writes the number and the name.
    pub fn write(&self, sink: &mut Sink) -> io::Result<()> {
        sink.u16(self.kind);
        self.name.write(sink)
    }
}

impl Id {
    /// Writes the kind and both numbers.
    pub fn write(self, sink: &mut Sink) {
        sink.u16(self.kind);
        sink.u64(self.physical);
        sink.u64(self.logical);
    }
}
