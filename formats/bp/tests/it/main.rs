//! Integration tests of `formats/bp`: one program, so that it is built and linked once.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    unreachable_pub,
    reason = "tests may fail loudly"
)]

mod bpdump;
mod conformance;
mod damage;
mod manifest;
mod model;
mod write;
