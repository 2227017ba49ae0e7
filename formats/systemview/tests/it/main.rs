//! Integration tests of `formats/systemview`: one program, so that it is built and linked once.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    dead_code,
    unreachable_pub,
    reason = "tests may fail loudly"
)]

mod blinky;
mod conformance;
mod large;
mod real;
mod support;
