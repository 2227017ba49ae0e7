//! Integration tests of `crates/rtc-wire`: one program, so that it is built and linked once.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    dead_code,
    unreachable_pub,
    reason = "tests may fail loudly"
)]

mod damaged;
mod faults;
mod independent;
mod messages;
mod once;
mod real_files;
mod resume;
mod round_trip;
mod ruler;
mod sessions;
mod walker;
