//! SEGGER `SystemView`: what real-time operating systems record of tasks and interrupts, read only.
//!
//! A recording is a few lines of text and then packets, one for each event, of numbers with as many
//! bytes as they need. The layout in words: `docs/formats/systemview.md`.
//!
//! ```
//! use kymo_core::{Context, Source};
//!
//! // The time of the first packet is unknown; the next is 16 ticks later.
//! let mut bytes = b"; Version SEGGER SystemViewer V2.42\n;\n".to_vec();
//! bytes.extend([10, 0, 24, 4, 40, 0, 0, 0, 16, 4, 7, 8]);
//! let source = Source::from_bytes("run.svdat", bytes);
//! let reader = kymo_systemview::Reader::open(&source, &Context::default())?;
//! let packets: Vec<_> = reader.packets().collect();
//! let ids: Vec<_> = packets.iter().map(|packet| packet.id).collect();
//! assert_eq!(ids, [10, 24, 4]);
//! assert_eq!(reader.time_ns(&packets[2]), Some(600_000_000));
//! # Ok::<(), kymo_core::Error>(())
//! ```

mod dataset;
mod described;
mod index;
mod model;
mod order;
mod read;
mod spec;
mod survey;
mod tables;

pub use dataset::SystemView;
pub use read::{Packet, Reader};
