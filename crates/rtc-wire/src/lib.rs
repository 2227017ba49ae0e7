//! The Ruler Trace Container, frame by frame, in memory.
//!
//! Needs `alloc` and nothing else, so that small systems can link it. What it does not do: files,
//! threads, time. `kymo-recorder` adds those for programs that record, `kymo-rtc` reads files.
//!
//! ```
//! use kymo_rtc_wire::meta::StreamMeta;
//! use kymo_rtc_wire::read::{Item, View, Walker};
//! use kymo_rtc_wire::write::{Options, Writer};
//!
//! let mut writer = Writer::new(Vec::new(), Options::new());
//! let log = writer.add(&StreamMeta::new("log").format("utf-8"))?;
//! writer.write(log, b"started")?;
//! let file = writer.finish()?;
//!
//! let (view, mut walker) = (View::from_file(&file), Walker::new());
//! while let Ok(item) = walker.next(&view) {
//!     match item {
//!         Item::Frame(frame) if frame.id == log.id() => {
//!             assert_eq!(frame.bytes(&view), b"started");
//!         }
//!         Item::End => break,
//!         _ => {}
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![no_std]

extern crate alloc;
#[cfg(any(feature = "std", test, doctest))]
extern crate std;

pub mod crc;
pub mod index;
pub mod leb128;
pub mod meta;
pub mod read;
pub mod spec;
pub mod write;
