//! Integration tests of `formats/bbbin`: one program, so that it is built and linked once.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    dead_code,
    unreachable_pub,
    reason = "tests may fail loudly"
)]

mod bytes;
mod conformance;
mod parts;
mod round_trip;
mod samples;
mod support;
mod tables;
mod timeline;
mod written;
