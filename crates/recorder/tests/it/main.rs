//! Integration tests of `crates/recorder`: one program, so that it is built and linked once.
#![allow(
    clippy::cast_possible_truncation,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    dead_code,
    unreachable_pub,
    unsafe_code,
    reason = "tests may fail loudly"
)]

mod c;
mod ffi;
mod header;
#[path = "../../../rtc-wire/tests/it/independent/mod.rs"]
mod independent;
mod killed;
mod recorder;
mod shared;
