//! The format's side of core's contract.

use kymo_core::{Context, Finding, Probe, Result, Source};
use kymo_lines::{LinesDataset, Reader, kernel};
use kymo_model::{Confidence, Dataset, Format, FormatInfo};

use crate::read::{is_script, script};

/// The format.
#[derive(Debug, Clone, Copy)]
pub struct Perf;

static INFO: FormatInfo = FormatInfo {
    name: "perf",
    title: "perf script",
    about: "events of Linux as perf script prints them: switches, wakeups, interrupts, others",
    extensions: &["perf"],
    dialects: &["any fields of -F with time and event", "microseconds or --ns"],
    abilities: &[],
    dump_styles: &[],
};

impl Format for Perf {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn sniff(&self, probe: &Probe<'_>) -> Option<Confidence> {
        is_script(probe.head).then_some(Confidence::Plausible)
    }

    fn open(&self, source: &Source, context: &Context<'_>) -> Result<Box<dyn Dataset>> {
        let grammar = script(&source.bytes()?);
        Ok(Box::new(LinesDataset(Reader::open(source, 0, grammar, context)?)))
    }

    fn check(&self, source: &Source, context: &Context<'_>) -> Result<Vec<Finding>> {
        let grammar = script(&source.bytes()?);
        kymo_lines::check(source, Ok((grammar, 0)), context, kernel::unbalanced)
    }
}
