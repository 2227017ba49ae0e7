//! The format's side of core's contract.

use std::sync::Arc;

use kymo_core::model::timeline::TimelineView;
use kymo_core::{
    Ability, Confidence, Context, Dataset, Demo, Destination, DumpRequest, Finding, Format,
    FormatInfo, Part, Probe, RecordSink, Recording, Repaired, Result, Section, Source, Summary,
    Table, Written,
};

use crate::model::Timeline;
use crate::spec::{MAGIC, VERSION};
use crate::types::{LogFile, TaskExecution};
use crate::{Reader, check, demo, dump, extract, from_timeline, repair, tables};

/// The format.
#[derive(Debug, Clone, Copy)]
pub struct Bbbin;

static INFO: FormatInfo = FormatInfo {
    name: "bbbin",
    title: "BBBin (log sets)",
    about: "event logs of real-time systems: tasks, messages and states, merged and indexed",
    extensions: &["bin", "bbbin"],
    dialects: &["version 10"],
    abilities: &[Ability::Write, Ability::Repair, Ability::Extract, Ability::TakeTimelines],
    dump_styles: &[],
};

impl Format for Bbbin {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn sniff(&self, probe: &Probe<'_>) -> Option<Confidence> {
        if probe.is_directory {
            None
        } else if probe.head.starts_with(&MAGIC.to_be_bytes()) {
            Some(Confidence::Magic)
        } else {
            // Many other formats are called `.bin`.
            let is_ours = probe.has_extension(&["bbbin"]) || probe.path.ends_with("logset.bin");
            is_ours.then_some(Confidence::Name)
        }
    }

    fn open(&self, source: &Source, context: &Context<'_>) -> Result<Box<dyn Dataset>> {
        Ok(Box::new(LogSet(Reader::open(source, context)?)))
    }

    fn check(&self, source: &Source, context: &Context<'_>) -> Result<Vec<Finding>> {
        Ok(check::check(&*Reader::salvage(source, context)?, context))
    }

    fn salvage(&self, source: &Source, context: &Context<'_>) -> Result<Box<dyn Dataset>> {
        Ok(Box::new(LogSet(Reader::salvage(source, context)?)))
    }

    fn repair(&self, source: &Source, to: &Destination, context: &Context<'_>) -> Result<Repaired> {
        repair::repair(source, to, context)
    }

    fn rewrite(&self, source: &Source, to: &Destination, context: &Context<'_>) -> Result<()> {
        repair::rewrite(source, to, context)
    }

    fn extract(
        &self,
        sources: &[Source],
        part: &Part,
        to: &Destination,
        context: &Context<'_>,
    ) -> Result<Written> {
        extract::extract(sources, part, to, context)
    }

    fn write_timeline(
        &self,
        timeline: Arc<dyn TimelineView>,
        to: &Destination,
        _context: &Context<'_>,
    ) -> Result<Written> {
        from_timeline::write(timeline, to)
    }

    fn demo(&self) -> Result<Vec<Demo>> {
        demo::demo()
    }
}

/// An open file.
struct LogSet(Arc<Reader>);

impl Dataset for LogSet {
    fn summary(&self) -> Summary {
        summary(&self.0)
    }

    fn findings(&self) -> Vec<Finding> {
        self.0.findings()
    }

    fn recordings(&self) -> Vec<Recording> {
        let recording =
            |of: &LogFile| Recording { kind: "log file", name: of.name.clone(), bytes: None };
        self.0.definitions().log_files.iter().map(recording).collect()
    }

    fn tables(&self) -> Vec<Arc<dyn Table>> {
        tables::tables(&self.0)
    }

    fn table(&self, name: &str) -> Option<Arc<dyn Table>> {
        let fixed = self.tables().into_iter().find(|table| table.name() == name);
        fixed.or_else(|| tables::type_table(&self.0, name))
    }

    fn dump(&self, request: &DumpRequest, sink: &mut dyn RecordSink) -> Result<()> {
        dump::dump(&self.0, request, sink)
    }

    fn timeline(&self) -> Option<Arc<dyn TimelineView>> {
        Some(Arc::new(Timeline::new(Arc::clone(&self.0))))
    }
}

/// Rows that are listed one by one.
const ROWS_MAX: usize = 64;

fn summary(reader: &Reader) -> Summary {
    let mut summary = Summary { dialect: format!("version {VERSION}"), ..Summary::default() };
    let definitions = reader.definitions();
    summary.fact("events", reader.num_events());
    if let (Some(first), Some(last)) = (reader.blocks().first(), reader.blocks().last()) {
        let (first, last) = (first.first_timestamp, last.last_timestamp);
        let words = format!("nanoseconds, from {first} to {last}");
        summary.detailed("duration", last.saturating_sub(first), words);
    }
    summary.fact("log files", definitions.log_files.len());
    summary.fact("types", definitions.types.len());
    summary.fact("artifacts", definitions.artifacts.len());
    summary.fact("blocks", reader.blocks().len());
    if let Some(statistics) = reader.statistics() {
        summary.fact("task switches", statistics.num_task_switches);
    }
    let row = |of: &LogFile| (of.name.clone(), log_file_words(of));
    let rows = definitions.log_files.iter().map(row);
    summary.sections.push(Section::new("log files", rows, ROWS_MAX));
    let rows = busiest(reader.task_executions()).into_iter();
    let rows = rows.map(|of| execution_row(reader, of));
    summary.sections.push(Section::new("task executions", rows, ROWS_MAX));
    summary
}

fn log_file_words(of: &LogFile) -> String {
    format!("log file {}, {} bytes, imported by {}", of.id.0, of.size, of.importer)
}

/// Those that ran longest come first.
fn busiest(executions: &[TaskExecution]) -> Vec<&TaskExecution> {
    let mut executions: Vec<_> = executions.iter().collect();
    executions.sort_by(|a, b| b.task_exec.total_cmp(&a.task_exec));
    executions
}

fn execution_row(reader: &Reader, of: &TaskExecution) -> (String, String) {
    let name = tables::task_name(reader, of.log_file, of.task);
    let name = name.unwrap_or_else(|| format!("task {}", of.task.0));
    (name, format!("{} %, in log file {}", of.task_exec, of.log_file.0))
}
