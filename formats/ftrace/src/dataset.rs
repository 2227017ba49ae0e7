//! The format's side of core's contract.

use kymo_core::{Confidence, Context, Dataset, Finding, Format, FormatInfo, Probe, Result, Source};
use kymo_lines::{LinesDataset, Read, Reader, kernel};

use crate::TRACE;
use crate::read::read;

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
        // With the subsystem before its name an event is one of perf.
        let is_event =
            |line: &str| matches!(read(line), Read::Event(event) if !event.name.contains(':'));
        kymo_lines::first_line(probe.head, read).filter(|line| is_event(line))?;
        Some(Confidence::Plausible)
    }

    fn open(&self, source: &Source, context: &Context<'_>) -> Result<Box<dyn Dataset>> {
        Ok(Box::new(LinesDataset(Reader::open(source, 0, TRACE, context)?)))
    }

    fn check(&self, source: &Source, context: &Context<'_>) -> Result<Vec<Finding>> {
        kymo_lines::check(source, Ok((TRACE, 0)), context, kernel::unbalanced)
    }
}
