//! Integration tests of `crates/kymo`: one program, so that it is built and linked once.
#![allow(
    clippy::expect_used,
    clippy::float_cmp,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    dead_code,
    unreachable_pub,
    reason = "tests may fail loudly"
)]

mod advice;
mod analyses;
mod arrays;
mod arrays_damage;
mod arrays_limits;
mod arrays_names;
mod arrays_outputs;
mod babeltrace;
mod bbbin;
mod calls;
mod cli;
mod conversions;
mod databases;
mod diff;
mod every_command;
mod following;
mod golden;
mod loops;
mod measured;
mod memory;
mod numbers;
mod outputs;
mod pages;
mod plot;
mod prof;
mod prof_modules;
mod prof_options;
mod prof_refused;
mod prof_strange;
mod recordings;
mod streams;
mod support;
mod timehist;
mod values;
