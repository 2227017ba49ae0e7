//! RTC (Ruler Trace Container): streams, clocks and annotations in a file that stays readable
//! when either end of it is missing.
//!
//! The file is like a ruler: at places one can work out, there is a Marker, an Index of where each
//! stream was last, and the Meta that says what the streams are. The layout in words:
//! `docs/formats/rtc.md`. Frames are read and written by `kymo-rtc-wire`.
//!
//! ```
//! use kymo_core::{Context, Source};
//! use kymo_rtc::Reader;
//! use kymo_rtc_wire::meta::StreamMeta;
//! use kymo_rtc_wire::write::{Options, Writer};
//!
//! let mut writer = Writer::new(Vec::new(), Options::new());
//! let level = writer.add(&StreamMeta::new("level").length(2).format("uint16le"))?;
//! writer.write(level, &7_u16.to_le_bytes())?;
//! let bytes = writer.finish()?;
//!
//! let source = Source::from_bytes("tank.rtc", bytes);
//! let reader = Reader::open(&source, &Context::default())?;
//! let mut messages = reader.messages();
//! let message = messages.next().expect("one was written");
//! assert_eq!(reader.decode(&message).value, 7_u16.into());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod check;
mod dataset;
mod decode;
mod demo;
mod dump;
mod extract;
mod follow;
mod from_timeline;
mod kept;
mod model;
mod names;
mod read;
mod repair;
mod summary;
mod tables;
mod types;
mod write;

pub use dataset::Rtc;
pub use decode::{DecodedPayload, Decoder, Decoders};
pub use kymo_rtc_wire::spec;
pub use read::{Messages, Reader};
pub use types::{ClockRole, Message, OwnedMessage, Session, Stream, Unit, UnitChecksum};
