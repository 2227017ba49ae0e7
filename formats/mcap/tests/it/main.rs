//! Integration tests of `formats/mcap`: one program, so that it is built and linked once.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    unreachable_pub,
    reason = "tests may fail loudly"
)]

mod conformance;
mod reading;
mod samples;
mod timeline;
