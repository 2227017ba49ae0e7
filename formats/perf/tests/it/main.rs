//! Integration tests of `formats/perf`: one program, so that it is built and linked once.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    unreachable_pub,
    reason = "tests may fail loudly"
)]

mod conformance;
mod layouts;
