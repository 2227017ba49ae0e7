//! Integration tests of `formats/rtc`: one program, so that it is built and linked once.
#![allow(
    clippy::cast_possible_truncation,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    unreachable_pub,
    reason = "tests may fail loudly"
)]

mod check;
mod conformance;
mod damage;
mod gaps;
mod hidden;
mod joins;
mod losses;
mod manifest;
mod metas;
mod parts;
mod shifts;
mod times;
mod touched;
mod unknown;
