//! Integration tests of `formats/hpcdb`: one program, so that it is built and linked once.
#![allow(
    clippy::expect_used,
    clippy::float_cmp,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    dead_code,
    unreachable_pub,
    reason = "tests may fail loudly"
)]

mod checking;
mod conformance;
mod described;
mod drafts;
mod figures;
mod hostile;
mod independent;
mod kept;
#[path = "support/made.rs"]
mod made;
mod memory;
mod more_figures;
mod odd;
mod on_top;
mod repairing;
mod reported;
mod rules;
mod scopes;
mod styles;
mod support;
mod writing;
