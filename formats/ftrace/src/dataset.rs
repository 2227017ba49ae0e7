//! The format's side of core's contract.

use kymo_core::{Context, Finding, Probe, Result, Source};
use kymo_lines::{LinesDataset, Reader, kernel};
use kymo_model::{Confidence, Dataset, Format, FormatInfo};

use crate::read::{is_trace, trace};

/// The format.
#[derive(Debug, Clone, Copy)]
pub struct Ftrace;

static INFO: FormatInfo = FormatInfo {
    name: "ftrace",
    title: "ftrace",
    about: "events of Linux as tracefs and trace-cmd report print them: switches, wakeups, interrupts",
    extensions: &["ftrace"],
    dialects: &["tracefs, with and without flags, latency columns and TGID", "trace-cmd report"],
    abilities: &[],
    dump_styles: &[],
};

impl Format for Ftrace {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn sniff(&self, probe: &Probe<'_>) -> Option<Confidence> {
        if probe.head.starts_with(b"# tracer: ") {
            return Some(Confidence::Magic);
        }
        is_trace(probe.head).then_some(Confidence::Plausible)
    }

    fn open(&self, source: &Source, context: &Context<'_>) -> Result<Box<dyn Dataset>> {
        Ok(Box::new(LinesDataset(Reader::open(source, 0, trace(&source.bytes()?), context)?)))
    }

    fn check(&self, source: &Source, context: &Context<'_>) -> Result<Vec<Finding>> {
        let grammar = trace(&source.bytes()?);
        kymo_lines::check(source, Ok((grammar, 0)), context, kernel::unbalanced)
    }
}
