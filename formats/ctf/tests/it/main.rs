//! Integration tests of `formats/ctf`: one program, so that it is built and linked once.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    unreachable_pub,
    reason = "tests may fail loudly"
)]

mod conformance;
mod control;
mod field;
mod hostile;
mod names;
mod real;
mod translated;
mod version2;
