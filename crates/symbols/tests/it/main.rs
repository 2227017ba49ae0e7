//! Integration tests of `crates/symbols`: one program, so that it is built and linked once.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::unwrap_used,
    unreachable_pub,
    reason = "tests may fail loudly"
)]

mod programs;
