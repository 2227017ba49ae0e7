//! The Ruler Trace Container, frame by frame, in memory.
//!
//! Needs `alloc` and nothing else, so that small systems can link it. What it does not do: files,
//! threads, time. `kymo-recorder` adds those for programs that record, `kymo-rtc` reads files.

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
