//! The format's side of core's contract.

use std::sync::Arc;

use kymo_core::{Context, Error, Finding, Probe, Result, Source};
use kymo_model::timeline::TimelineView;
use kymo_model::{
    Confidence, Dataset, DumpRequest, Format, FormatInfo, RecordSink, Section, Summary, Table,
};

use crate::model::Timeline;
use crate::read::is_capture;
use crate::{Reader, spec, tables};

/// The format.
#[derive(Debug, Clone, Copy)]
pub struct SystemView;

static INFO: FormatInfo = FormatInfo {
    name: "systemview",
    title: "SEGGER SystemView",
    about: "tasks and interrupts of real-time operating systems, as their target records them",
    extensions: &["svdat"],
    dialects: &["one core", "several cores in one file", "captures without the text at the start"],
    abilities: &[],
    dump_styles: &[],
};

impl Format for SystemView {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn sniff(&self, probe: &Probe<'_>) -> Option<Confidence> {
        let head = probe.head.get(..probe.head.len().min(256))?;
        let has_signature = || head.windows(spec::SIGNATURE.len()).any(|at| at == spec::SIGNATURE);
        if head.starts_with(b";") && has_signature() {
            return Some(Confidence::Magic);
        }
        is_capture(probe.head).then_some(Confidence::Plausible)
    }

    fn open(&self, source: &Source, context: &Context<'_>) -> Result<Box<dyn Dataset>> {
        Ok(Box::new(SystemViewDataset(Reader::open(source, context)?)))
    }

    fn check(&self, source: &Source, context: &Context<'_>) -> Result<Vec<Finding>> {
        match Reader::open(source, context) {
            Ok(reader) => Ok(reader.findings().to_vec()),
            Err(Error::Read(error)) => Ok(vec![Finding::unreadable("unreadable", &error)]),
            Err(error) => Err(error),
        }
    }
}

/// Tasks that are listed one by one.
const ROWS_MAX: usize = 64;

/// An open recording.
struct SystemViewDataset(Arc<Reader>);

impl Dataset for SystemViewDataset {
    fn summary(&self) -> Summary {
        let reader = &self.0;
        let dialect = kymo_core::shortened(reader.version()).into_owned();
        let mut summary = Summary { dialect, ..Summary::default() };
        summary.fact("events", reader.count());
        summary.fact("cores", u64::from(reader.cores()));
        summary.fact("tasks", reader.survey.task_count());
        summary.fact("interrupts", reader.survey.interrupt_count());
        if let Some(frequency) = reader.frequency(0) {
            summary.fact("ticks in a second", frequency);
        }
        if let Some(times) = reader.time_range() {
            summary.span(&times, false);
        }
        let rows = reader.listed_tasks().into_iter().map(|(tid, name, priority)| {
            let priority = priority.map_or_else(String::new, |value| format!("priority {value}, "));
            (kymo_core::shortened(name).into_owned(), format!("{priority}task {tid}"))
        });
        summary.sections.push(Section::new("tasks", rows, ROWS_MAX));
        summary
    }

    fn findings(&self) -> Vec<Finding> {
        self.0.findings().to_vec()
    }

    fn tables(&self) -> Vec<Arc<dyn Table>> {
        tables::tables(&self.0)
    }

    fn dump(&self, _request: &DumpRequest, sink: &mut dyn RecordSink) -> Result<()> {
        tables::dump(&self.0, sink)
    }

    fn timeline(&self) -> Option<Arc<dyn TimelineView>> {
        Some(Arc::new(Timeline::new(Arc::clone(&self.0))))
    }
}
