//! Integration tests of `crates/prof`: one program, so that it is built and linked once.
#![allow(
    clippy::float_cmp,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    dead_code,
    unreachable_pub,
    reason = "tests may fail loudly"
)]

mod gpu;
mod limits;
mod naive;
mod support;
