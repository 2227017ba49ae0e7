//! Integration tests of `formats/hpcrun`: one program, so that it is built and linked once.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    dead_code,
    unreachable_pub,
    reason = "tests may fail loudly"
)]

mod assembled;
mod beside;
mod conformance;
mod damage;
mod described;
mod directory;
mod figures;
mod kept;
mod listings;
mod missing;
mod opened;
mod real;
mod repair;
mod rules;
mod samples;
mod times;
