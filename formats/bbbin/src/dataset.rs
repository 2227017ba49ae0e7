//! The format's side of core's contract.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use kymo_core::{Context, Destination, Finding, Probe, Result, Severity, Source};
use kymo_model::timeline::{ClassWord, DisplayTime, TimeNs, TimelineView};
use kymo_model::{
    Capability, Confidence, Dataset, Demo, DumpRequest, ExtractRequest, Format, FormatInfo,
    RecordSink, Recording, RepairReport, Section, Summary, Table, WriteReport,
};

use crate::model::{Timeline, WORDS, undeclared_name};
use crate::spec::{ArtifactClass, MAGIC, VERSION};
use crate::types::{DeclaredArtifact, LogFile, TaskExecution};
use crate::utf8::{self, RecodedSink, RecodedTable, RecodedTimeline, Recoding};
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
    abilities: &[
        Capability::Write,
        Capability::Repair,
        Capability::Extract,
        Capability::TakeTimelines,
    ],
    dump_styles: &[],
};

impl Format for Bbbin {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn class_words(&self) -> &'static [ClassWord] {
        WORDS
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
        Ok(Box::new(LogSet::new(Reader::open(source, context)?, context)))
    }

    fn check(&self, source: &Source, context: &Context<'_>) -> Result<Vec<Finding>> {
        let reader = Reader::salvage(source, context)?;
        let mut findings = check::check(&reader, context);
        findings.extend(context.is_utf8.then(|| utf8::check(&reader)).flatten());
        Ok(findings)
    }

    fn salvage(&self, source: &Source, context: &Context<'_>) -> Result<Box<dyn Dataset>> {
        Ok(Box::new(LogSet::new(Reader::salvage(source, context)?, context)))
    }

    fn repair(
        &self,
        source: &Source,
        to: &Destination,
        context: &Context<'_>,
    ) -> Result<RepairReport> {
        repair::repair(source, to, context)
    }

    fn rewrite(&self, source: &Source, to: &Destination, context: &Context<'_>) -> Result<()> {
        repair::rewrite(source, to, context)
    }

    fn extract(
        &self,
        sources: &[Source],
        part: &ExtractRequest,
        to: &Destination,
        context: &Context<'_>,
    ) -> Result<WriteReport> {
        extract::extract(sources, part, to, context)
    }

    fn write_timeline(
        &self,
        timeline: Arc<dyn TimelineView>,
        to: &Destination,
        context: &Context<'_>,
    ) -> Result<WriteReport> {
        let timeline: Arc<dyn TimelineView> = if context.is_utf8 {
            Arc::new(RecodedTimeline { timeline, recoding: Recoding::Write })
        } else {
            timeline
        };
        from_timeline::write(&timeline, to)
    }

    fn demo(&self) -> Result<Vec<Demo>> {
        demo::demo()
    }
}

/// An open file.
struct LogSet {
    reader: Arc<Reader>,
    /// Way in which texts are read as UTF-8, where they are, and whether some were not UTF-8.
    utf8: Option<(Recoding, Arc<AtomicBool>)>,
}

impl LogSet {
    fn new(reader: Arc<Reader>, context: &Context<'_>) -> Self {
        let utf8 = context.is_utf8.then(|| {
            let lost = Arc::new(AtomicBool::new(false));
            (Recoding::Read(Arc::clone(&lost)), lost)
        });
        Self { reader, utf8 }
    }

    fn recoding(&self) -> Option<&Recoding> {
        self.utf8.as_ref().map(|(recoding, _)| recoding)
    }

    /// A table with its texts as they are asked for.
    fn shown(&self, table: Arc<dyn Table>) -> Arc<dyn Table> {
        match self.recoding() {
            None => table,
            Some(recoding) => RecodedTable::wrap(table, recoding),
        }
    }
}

impl Dataset for LogSet {
    fn summary(&self) -> Summary {
        let mut summary = summary(&self.reader);
        if let Some(recoding) = self.recoding() {
            recoding.summary(&mut summary);
        }
        summary
    }

    fn findings(&self) -> Vec<Finding> {
        let mut findings = self.reader.findings();
        findings.extend(self.utf8.as_ref().and_then(|(_, lost)| utf8::finding(lost)));
        findings.extend(nameless(&self.reader));
        findings
    }

    fn recordings(&self) -> Vec<Recording> {
        let recording = |(name, are_several): &(String, bool)| {
            let name = self.recoding().map_or_else(|| name.clone(), |to| to.text(name));
            let kind = if *are_several { "log files" } else { "log file" };
            Recording { kind, name, bytes: None }
        };
        self.reader.recordings().iter().map(recording).collect()
    }

    fn tables(&self) -> Vec<Arc<dyn Table>> {
        tables::tables(&self.reader).into_iter().map(|table| self.shown(table)).collect()
    }

    fn dump(&self, request: &DumpRequest, sink: &mut dyn RecordSink) -> Result<()> {
        match self.recoding() {
            None => dump::dump(&self.reader, request, sink),
            Some(recoding) => {
                let mut sink = RecodedSink { sink, recoding: recoding.clone() };
                dump::dump(&self.reader, request, &mut sink)
            }
        }
    }

    fn timeline(&self) -> Option<Arc<dyn TimelineView>> {
        let timeline = Arc::new(Timeline::new(Arc::clone(&self.reader)));
        Some(match self.recoding() {
            None => timeline,
            Some(recoding) => Arc::new(RecodedTimeline { timeline, recoding: recoding.clone() }),
        })
    }
}

/// Says that tasks are called by their numbers alone, as `repair` calls those whose artifacts are lost.
fn nameless(reader: &Reader) -> Option<Finding> {
    let is_task = |declared_artifact: &DeclaredArtifact<'_>| {
        declared_artifact.kind.class() == ArtifactClass::Task
    };
    let mut tasks = reader.artifacts().filter(is_task).peekable();
    tasks.peek()?;
    let message = "tasks have numbers in place of names: what they are called, and which of them run \
                   when there is nothing to do, is not known";
    let is_nameless = tasks.all(|declared_artifact| {
        declared_artifact.name.to_string() == undeclared_name(declared_artifact.id)
    });
    is_nameless.then(|| Finding::for_whole_file(Severity::Note, "artifacts", message))
}

/// Rows that are listed one by one.
const ROWS_MAX: usize = 64;

fn summary(reader: &Reader) -> Summary {
    let mut summary = Summary { dialect: format!("version {VERSION}"), ..Summary::default() };
    summary.fact("events", reader.num_events());
    if let Some((first, last, how)) = span(reader) {
        summary.span(&(TimeNs(first)..=TimeNs(last)), reader.is_since_epoch());
        if let Some(fact) = summary.facts.last_mut() {
            how.clone_into(&mut fact.detail);
        }
    }
    summary.fact("log files", reader.log_files().len());
    summary.fact("types", reader.types().len());
    summary.fact("artifacts", reader.artifact_count());
    summary.fact("blocks", reader.blocks().len());
    if let Some(statistics) = reader.statistics() {
        summary.fact("task switches", statistics.num_task_switches);
    }
    let row = |log_file: &LogFile| (log_file.name.clone(), log_file_words(log_file));
    let rows = reader.log_files().iter().map(row);
    summary.sections.push(Section::new("log files", rows, ROWS_MAX));
    let rows = executions(reader).into_iter().map(Executions::row);
    summary.sections.push(Section::new("task executions", rows, ROWS_MAX));
    summary
}

/// Logs of up to so many events are gone through for their first and last time.
const EVENTS_MAX: u64 = 100_000;

/// The first and the last time, and how they are known. The index has those of the first and the
/// last event as written; without a look at events there is no more to tell.
fn span(reader: &Reader) -> Option<(i64, i64, &'static str)> {
    if reader.num_events() <= EVENTS_MAX {
        let times = || reader.events().map(|found| found.event.timestamp);
        return Some((times().min()?, times().max()?, ""));
    }
    let (first, last) = (reader.blocks().first()?, reader.blocks().last()?);
    let (first, last) = (first.first_timestamp, last.last_timestamp);
    let switches = reader.statistics().filter(|item| item.num_task_switches > 0);
    let are_within = switches.is_none_or(|this_statistics| {
        first <= this_statistics.first_task_duration && this_statistics.last_task_duration <= last
    });
    let how = match (reader.is_index_sound(), reader.is_ascending() && are_within) {
        (true, true) => "as the index has it",
        (true, false) => "as written: times go back",
        (false, _) => "as the index has it, which is not as the events are",
    };
    Some((first, last, how))
}

fn log_file_words(log_file: &LogFile) -> String {
    let time =
        match (log_file.imported_at_ms, log_file.imported_at_ms.checked_mul(1_000_000).map(TimeNs))
        {
            (0, _) => String::new(),
            (_, Some(time)) => format!(" at {}", DisplayTime { time, since_epoch: true }),
            (ms, None) => format!(" {ms} ms after the Epoch"),
        };
    format!(
        "log file {}, {} bytes, imported by {}{time}",
        log_file.id.0, log_file.size, log_file.importer
    )
}

/// Run times of the tasks of one name.
struct Executions<'a> {
    name: String,
    first: &'a TaskExecution,
    count: u64,
    /// Percent of the time of all log files.
    share: f64,
}

impl Executions<'_> {
    fn row(self) -> (String, String) {
        let Self { name, first, count, share } = self;
        let text = match count {
            1 => format!("{} %, in log file {}", first.task_exec, first.log_file.0),
            // Each has two digits behind the point, and so does their sum.
            _ => format!("{} %, {count} tasks of this name", (share * 100.0).round() / 100.0),
        };
        (name, text)
    }
}

/// Tasks by their names: those that ran longest come first.
fn executions(reader: &Reader) -> Vec<Executions<'_>> {
    let mut named: BTreeMap<String, Executions<'_>> = BTreeMap::new();
    for task_execution in reader.task_executions() {
        let name = tables::task_name(reader, task_execution.log_file, task_execution.task);
        let name = name.unwrap_or_else(|| undeclared_name(task_execution.task));
        let none = Executions { name: name.clone(), first: task_execution, count: 0, share: 0.0 };
        let known = named.entry(name).or_insert(none);
        known.count += 1;
        known.share += task_execution.task_exec;
    }
    let mut executions: Vec<_> = named.into_values().collect();
    executions.sort_by(|a, b| b.share.total_cmp(&a.share));
    executions
}
