//! Feeds bytes to the format that `KYMO_FORMAT` names; `cargo xtask fuzz` builds and runs it.
#![no_main]
#![allow(clippy::print_stderr, reason = "there is nobody else to say which format is missing")]

use std::env;
use std::process;
use std::sync::LazyLock;

use kymo_core::Format;
use libfuzzer_sys::fuzz_target;

static FORMAT: LazyLock<&'static dyn Format> = LazyLock::new(|| {
    let name = env::var("KYMO_FORMAT").unwrap_or_default();
    kymo_registry::by_name(&name).unwrap_or_else(|| {
        eprintln!("KYMO_FORMAT must name a format of the registry, not `{name}`");
        process::exit(2)
    })
});

fuzz_target!(|bytes: &[u8]| kymo_conformance::survive(*FORMAT, bytes));
