//! Types to bytes, in the same order as `read`.

mod build;
mod directory;
mod primitive;
mod sparse;
mod trace;

use std::io::{self, Write};

use kymo_core::bytes::Sink;

use crate::read::{NodeLayout, Profile, Values};
use crate::types::{Dialect, Epoch, LoadModule, Metric};

pub use build::ProfileBuilder;
pub use directory::{DirectoryWriter, ThreadFile};
pub use trace::TraceWriter;

/// A sink is handed on when it holds this much.
const CHUNK_BYTES: usize = 1 << 16;

/// Writes a profile in the layout that its header tells.
///
/// What was read of 04.00b with sections in order, of 02.00b, and of 02.00 as described, comes
/// out as the same bytes.
pub fn write_profile(profile: &Profile, out: &mut impl Write) -> io::Result<()> {
    match profile.header.dialect {
        Dialect::Shipped0400 => sparse::write(profile, out),
        _ => write_epochs(profile, out),
    }
}

fn write_epochs(profile: &Profile, out: &mut impl Write) -> io::Result<()> {
    let dialect = profile.header.dialect;
    let mut sink = Sink::new(profile.header.endian);
    profile.header.write(&mut sink)?;
    if dialect == Dialect::Described {
        sink.u32(count(profile.epochs.len())?);
    }
    for epoch in &profile.epochs {
        write_epoch(epoch, dialect, &mut sink, out)?;
    }
    out.write_all(sink.as_slice())
}

fn write_epoch(
    epoch: &Epoch,
    dialect: Dialect,
    sink: &mut Sink,
    out: &mut impl Write,
) -> io::Result<()> {
    epoch.header.clone().unwrap_or_default().write(sink, dialect)?;
    Metric::write_table(&epoch.metrics, sink)?;
    LoadModule::write_map(&epoch.load_modules, sink, dialect)?;
    match dialect {
        Dialect::Described => sink.u32(count(epoch.nodes.len())?),
        _ => sink.u64(epoch.nodes.len() as u64),
    }
    let layout = layout_of(epoch, dialect);
    let metrics = epoch.metrics.len();
    for (index, node) in epoch.nodes.iter().enumerate() {
        node.write(sink, &layout)?;
        if matches!(epoch.values, Values::Dense) {
            let range = index * metrics..(index + 1) * metrics;
            epoch.values.each(&epoch.nodes, range, |value| sink.u64(value.bits));
        }
        flush(sink, out)?;
    }
    Ok(())
}

/// The layout of nodes; an epoch that was cut before its nodes has none of its own.
fn layout_of(epoch: &Epoch, dialect: Dialect) -> NodeLayout {
    let has_module = dialect != Dialect::Described;
    NodeLayout { is_signed: true, has_module, ..*epoch.nodes.layout() }
}

/// Hands on what a sink holds, once it is worth while.
fn flush(sink: &mut Sink, out: &mut impl Write) -> io::Result<()> {
    if sink.len() >= CHUNK_BYTES {
        out.write_all(sink.as_slice())?;
        sink.clear();
    }
    Ok(())
}

/// A count of four bytes.
fn count(length: usize) -> io::Result<u32> {
    u32::try_from(length).map_err(|_| too_large("a list has more than four bytes can count"))
}

fn too_large(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}
