//! The Ruler Trace Container, frame by frame, in memory.
//!
//! Needs `alloc` and nothing else, so that small systems can link it. What it does not do: files,
//! threads, time. `kymo-recorder` adds those for programs that record, `kymo-rtc` reads files.

#![no_std]

extern crate alloc;

pub mod crc;
pub mod index;
pub mod leb128;
pub mod spec;
