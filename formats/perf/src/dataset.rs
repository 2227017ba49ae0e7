//! The format's side of core's contract.

use kymo_core::{Confidence, Context, Dataset, Finding, Format, FormatInfo, Probe, Result, Source};
use kymo_lines::{LinesDataset, Read, Reader, kernel};

use crate::SCRIPT;
use crate::read::read;

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
        let is_event = |line: &str| matches!(read(line), Read::Event(_));
        kymo_lines::first_line(probe.head, read).filter(|line| is_event(line))?;
        Some(Confidence::Plausible)
    }

    fn open(&self, source: &Source, context: &Context<'_>) -> Result<Box<dyn Dataset>> {
        Ok(Box::new(LinesDataset(Reader::open(source, 0, SCRIPT, context)?)))
    }

    fn check(&self, source: &Source, context: &Context<'_>) -> Result<Vec<Finding>> {
        kymo_lines::check(source, Ok((SCRIPT, 0)), context, kernel::unbalanced)
    }
}
