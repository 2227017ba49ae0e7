//! The format's side of core's contract.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use kymo_core::{Context, Destination, Finding, Probe, Result, Severity, Source};
use kymo_model::measurement::MeasurementView;
use kymo_model::profile::ProfileView;
use kymo_model::structure::Structure;
use kymo_model::timeline::{TimelineView, Window};
use kymo_model::{
    Capability, Confidence, Dataset, Demo, DumpRequest, Format, FormatInfo, RecordSink, Recording,
    RepairReport, Summary, Table,
};

use crate::measured::MeasuredThreads;
use crate::measurement::{Measurement, Mode, PROFILE, TRACE, has_extension};
use crate::model::{Model, missing_module_names, structure_of, symbols_of, words};
use crate::spec::{MAGIC_DESCRIBED, MAGIC_PROFILE, MAGIC_TRACE};
use crate::timeline::Timeline;
use crate::{check, demo, dump, hpcproftt, repair, summary, tables};

/// The format.
#[derive(Debug, Clone, Copy)]
pub struct Hpcrun;

static INFO: FormatInfo = FormatInfo {
    name: "hpcrun",
    title: "HPCToolkit measurements",
    about: "calling-context profiles and traces of threads, in files or a directory",
    extensions: &[PROFILE, TRACE],
    dialects: &[
        "profiles 02.00 as described",
        "02.00b, 03.00b, 04.00b",
        "traces 01.00b, 01.01b",
        "measurement directories with structure files",
    ],
    abilities: &[Capability::Write, Capability::Repair],
    dump_styles: &[hpcproftt::STYLE],
};

impl Format for Hpcrun {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn sniff(&self, probe: &Probe<'_>) -> Option<Confidence> {
        if probe.is_directory {
            return sniff_directory(probe);
        }
        if is_magic(probe.head) {
            return Some(Confidence::Magic);
        }
        probe.has_extension(INFO.extensions).then_some(Confidence::Name)
    }

    fn open(&self, source: &Source, context: &Context<'_>) -> Result<Box<dyn Dataset>> {
        OpenMeasurement::open(source, context, Mode::Strict)
    }

    fn check(&self, source: &Source, context: &Context<'_>) -> Result<Vec<Finding>> {
        check::check(source, context)
    }

    fn salvage(&self, source: &Source, context: &Context<'_>) -> Result<Box<dyn Dataset>> {
        OpenMeasurement::open(source, context, Mode::Salvage)
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

    fn demo(&self) -> Result<Vec<Demo>> {
        demo::demo()
    }
}

fn is_magic(head: &[u8]) -> bool {
    head.starts_with(MAGIC_DESCRIBED)
        || head.starts_with(MAGIC_PROFILE)
        || head.starts_with(MAGIC_TRACE)
}

/// A directory is ours when a profile or a trace is in it.
fn sniff_directory(probe: &Probe<'_>) -> Option<Confidence> {
    let is_ours = |name: &Path| has_extension(name, PROFILE) || has_extension(name, TRACE);
    let names: Vec<_> = probe.entries().filter(|name| is_ours(name)).collect();
    let is_one = |name: &std::path::PathBuf| {
        let head = probe.file_head(name, MAGIC_PROFILE.len() as u64);
        head.is_some_and(|head| is_magic(&head))
    };
    if names.iter().any(is_one) {
        Some(Confidence::Magic)
    } else {
        (!names.is_empty()).then_some(Confidence::Name)
    }
}

/// An open measurement.
pub(crate) struct OpenMeasurement {
    pub(crate) measurement: Arc<Measurement>,
    /// The same with what lies beside a single profile, which names and samples come from.
    beside: OnceLock<(Arc<Measurement>, Vec<Finding>)>,
    /// Made when it is first asked for: that reads all values.
    model: OnceLock<std::result::Result<Model, Finding>>,
    /// Reasons why modules have no names, once they were asked for.
    lacking: OnceLock<Vec<Finding>>,
    /// Values that are no numbers, once they were added up.
    no_numbers: OnceLock<Vec<Finding>>,
    /// Oddities of samples, as far as they were read.
    noted: Mutex<Noted>,
}

/// Number of samples of a recording that break a rule, and the first byte of them.
type Noted = BTreeMap<(usize, &'static str), (u64, u64)>;

/// All that is said of a measurement when everything in it is read.
pub(crate) fn all_findings(measurement: Arc<Measurement>) -> Vec<Finding> {
    let dataset = HpcrunDataset(Arc::new(OpenMeasurement::new(measurement)));
    let _ = dataset.summary();
    let _ = dataset.profile();
    if let Some(timeline) = dataset.timeline() {
        // An error is said by who asks for events.
        if let Ok(mut events) = timeline.events(&Window::default()) {
            while let Ok(Some(_)) = events.next() {}
        }
    }
    dataset.findings()
}

impl OpenMeasurement {
    fn open(source: &Source, context: &Context<'_>, mode: Mode) -> Result<Box<dyn Dataset>> {
        let opened = Self::new(Measurement::open(source, context, mode)?);
        Ok(Box::new(HpcrunDataset(Arc::new(opened))))
    }

    fn new(measurement: Arc<Measurement>) -> Self {
        Self {
            measurement,
            beside: OnceLock::new(),
            model: OnceLock::new(),
            lacking: OnceLock::new(),
            no_numbers: OnceLock::new(),
            noted: Mutex::default(),
        }
    }

    /// Returns what was opened, with what lies beside a single profile: its trace, and structure
    /// files.
    pub(crate) fn with_companions(&self) -> &Arc<Measurement> {
        &self.beside.get_or_init(|| self.measurement.with_companions()).0
    }

    /// Notes how many samples of a recording break a rule; the same may be read again.
    pub(crate) fn note(&self, recording: usize, rule: &'static str, count: u64, first: u64) {
        // What is counted stays right whoever panicked meanwhile.
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        let known = noted.entry((recording, rule)).or_insert((0, first));
        *known = (known.0.max(count), known.1.min(first));
    }

    /// Returns the findings about the samples that were read.
    fn sample_findings(&self) -> Vec<Finding> {
        let noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        let found = noted.iter().filter_map(|((recording, rule), (count, first))| {
            let part = self.with_companions().recordings.get(*recording)?;
            // A trace by itself is no worse for it; `no-profile` says where one is missing.
            if *rule == "trace-node" && part.profile.is_none() {
                return None;
            }
            let finding = Finding::at_offset(Severity::Warning, rule, *first, words(rule, *count));
            Some(self.with_companions().in_file(&part.name, TRACE, vec![finding]))
        });
        found.flatten().collect()
    }

    /// Returns the findings about times of traces, as far as they were looked at.
    fn time_findings(&self) -> Vec<Finding> {
        let measurement = self.beside.get().map_or(&self.measurement, |(beside, _)| beside);
        let found = measurement.recordings.iter().filter_map(|part| {
            let trace = part.trace.as_ref()?;
            let (count, first) = trace.known_times()?.meaningless?;
            let (rule, why) = ("trace-time", words("trace-time", count));
            let finding = Finding::at_offset(Severity::Warning, rule, trace.offset_of(first), why);
            Some(measurement.in_file(&part.name, TRACE, vec![finding]))
        });
        found.flatten().collect()
    }

    /// The merged profile, unless it is over the limits.
    pub(crate) fn model(&self) -> Option<&Model> {
        let model = self.model.get_or_init(|| {
            let model = Model::new(self.with_companions());
            model.map_err(|error| {
                Finding::for_whole_file(Severity::Error, "profile", error.to_string())
            })
        });
        model.as_ref().ok()
    }
}

struct HpcrunDataset(Arc<OpenMeasurement>);

impl Dataset for HpcrunDataset {
    fn summary(&self) -> Summary {
        let measurement = &self.0.measurement;
        self.0.lacking.get_or_init(|| {
            let (symbols, none) = (symbols_of(measurement), Structure::default());
            let lacking_any = !missing_module_names(measurement, &symbols, &none).is_empty();
            // Structure files are read only where they may make up for it.
            let structure = lacking_any.then(|| structure_of(measurement).0);
            structure
                .map_or_else(Vec::new, |found| missing_module_names(measurement, &symbols, &found))
        });
        let (summary, no_numbers) = summary::summary(measurement);
        self.0.no_numbers.get_or_init(|| no_numbers);
        summary
    }

    fn findings(&self) -> Vec<Finding> {
        let mut findings = self.0.measurement.findings.clone();
        match self.0.model.get() {
            Some(Ok(model)) => findings.extend(model.findings.iter().cloned()),
            Some(Err(finding)) => findings.push(finding.clone()),
            None => {
                let known = self.0.lacking.get().into_iter().chain(self.0.no_numbers.get());
                findings.extend(known.flatten().cloned());
            }
        }
        findings.extend(self.0.beside.get().into_iter().flat_map(|(_, beside)| beside).cloned());
        findings.extend(self.0.time_findings());
        findings.extend(self.0.sample_findings());
        findings
    }

    fn recordings(&self) -> Vec<Recording> {
        let recordings = &self.0.measurement.recordings;
        let recording = |part: &crate::measurement::Part| {
            let epochs = part.profile.as_ref().map_or(0, |profile| profile.epochs.len());
            let kind = if epochs > 1 { "epoch" } else { "thread" };
            Recording { kind, name: part.name.clone(), bytes: None }
        };
        recordings.iter().map(recording).collect()
    }

    fn tables(&self) -> Vec<Arc<dyn Table>> {
        tables::tables(&self.0.measurement)
    }

    fn dump(&self, request: &DumpRequest, sink: &mut dyn RecordSink) -> Result<()> {
        dump::dump(&self.0.measurement, request, sink)
    }

    fn timeline(&self) -> Option<Arc<dyn TimelineView>> {
        let timeline = Timeline::new(Arc::clone(&self.0))?;
        Some(Arc::new(timeline))
    }

    fn measurement(&self) -> Option<Arc<dyn MeasurementView>> {
        let measured = MeasuredThreads::new(&self.0.measurement)?;
        Some(Arc::new(measured))
    }

    fn profile(&self) -> Option<Arc<dyn ProfileView>> {
        let has_one = self.0.measurement.recordings.iter().any(|part| part.epoch().is_some());
        let model = self.0.model().filter(|_| has_one)?;
        Some(Arc::clone(&model.tree) as Arc<dyn ProfileView>)
    }
}
