//! The format's side of core's contract.

use std::sync::Arc;

use kymo_core::{Context, Destination, Finding, Probe, Result, Source, Value};
use kymo_model::profile::{Metric, ProfileView};
use kymo_model::timeline::TimelineView;
use kymo_model::{
    Capability, Confidence, Dataset, DumpRequest, Format, FormatInfo, RecordSink, RepairReport,
    Row, Section, Summary, Table,
};

use crate::model::{Profiles, Timeline};
use crate::read::{Database, Trust, kind_of};
use crate::spec::FileKind;
use crate::walk::TreeWalk;
use crate::{check, repair, rewrite, rows, tables, yaml};

/// The format.
#[derive(Debug, Clone, Copy)]
pub struct HpcDb;

static INFO: FormatInfo = FormatInfo {
    name: "hpcdb",
    title: "HPCToolkit database",
    about: "profiles of calling contexts, and traces, as hpcprof writes them",
    extensions: &["db"],
    dialects: &[
        "4.0 as released",
        "4.0 as of May 2022",
        "4.0 as of April 2022",
        "4.0 as described, big-endian",
    ],
    abilities: &[Capability::Write, Capability::Repair],
    dump_styles: &[yaml::STYLE],
};

/// Metrics that a summary lists.
const METRICS_MAX: usize = 32;

impl Format for HpcDb {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn sniff(&self, probe: &Probe<'_>) -> Option<Confidence> {
        if !probe.is_directory {
            return kind_of(probe.head).map(|_| Confidence::Magic);
        }
        // Any of its files will do: the others may be what is missing.
        let is_there = |kind: &FileKind| {
            let head = probe.file_head(kind.name(), 16);
            head.is_some_and(|head| kind_of(&head) == Some(*kind))
        };
        FileKind::ALL.iter().any(is_there).then_some(Confidence::Magic)
    }

    fn open(&self, source: &Source, context: &Context<'_>) -> Result<Box<dyn Dataset>> {
        HpcDbDataset::open(source, context, Trust::Strict)
    }

    fn check(&self, source: &Source, context: &Context<'_>) -> Result<Vec<Finding>> {
        check::check(source, context)
    }

    fn salvage(&self, source: &Source, context: &Context<'_>) -> Result<Box<dyn Dataset>> {
        HpcDbDataset::open(source, context, Trust::Salvage)
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
        rewrite::rewrite(source, to, context)
    }
}

/// An open database, or one file of it.
struct HpcDbDataset {
    database: Arc<Database>,
    is_directory: bool,
}

impl HpcDbDataset {
    fn open(source: &Source, context: &Context<'_>, trust: Trust) -> Result<Box<dyn Dataset>> {
        let database = Arc::new(Database::open(source, context, trust)?);
        Ok(Box::new(Self { database, is_directory: source.is_directory() }))
    }
}

impl Dataset for HpcDbDataset {
    fn summary(&self) -> Summary {
        summary(&self.database)
    }

    fn findings(&self) -> Vec<Finding> {
        self.database.findings()
    }

    fn tables(&self) -> Vec<Arc<dyn Table>> {
        tables::tables(&self.database)
    }

    fn dump(&self, request: &DumpRequest, sink: &mut dyn RecordSink) -> Result<()> {
        if request.style.as_deref() == Some(yaml::STYLE) {
            return yaml::dump(&self.database, self.is_directory, sink);
        }
        tables::dump(&self.database, request, sink)
    }

    fn profile(&self) -> Option<Arc<dyn ProfileView>> {
        Some(Arc::new(Profiles::new(Arc::clone(&self.database))?))
    }

    fn is_part(&self) -> bool {
        !self.is_directory
    }

    fn timeline(&self) -> Option<Arc<dyn TimelineView>> {
        Some(Arc::new(Timeline::new(Arc::clone(&self.database))?))
    }
}

pub(crate) fn summary(database: &Arc<Database>) -> Summary {
    let mut summary = Summary { dialect: database.layout().to_string(), ..Summary::default() };
    let parts: Vec<_> = database.parts().map(|part| part.kind.name()).collect();
    summary.fact("files", parts.join(", "));
    if let Some(meta) = &database.meta {
        summary.fact("title", kymo_core::shortened(&meta.title).into_owned());
        let is_written = !meta.description.is_empty() && !meta.description.starts_with("TODO");
        if is_written {
            let description = kymo_core::shortened(&meta.description).into_owned();
            summary.fact("description", description);
        }
        summary.fact("contexts", TreeWalk::new(Arc::clone(database)).count());
        summary.fact("functions", meta.functions.count);
        summary.fact("source files", meta.files.count);
        summary.fact("modules", meta.modules.count);
    }
    if let Some(file) = &database.profile {
        summary.fact("profiles", file.profiles.count);
        let values = database.ok_or_note(&file.part, rows::value_count(file));
        summary.fact("values", values.map_or(Value::Null, Value::from));
    }
    if database.trace.is_some() {
        traces(database, &mut summary);
    }
    if let Some(view) = Profiles::new(Arc::clone(database)) {
        summary.sections.push(metrics(&view));
        summary.sections.extend(computed(&view));
    }
    summary
}

fn traces(database: &Arc<Database>, summary: &mut Summary) {
    let (mut samples, mut first, mut last) = (0_u64, u64::MAX, 0);
    let mut traced = 0_u64;
    for row in rows::traces(database).filter(|row| row.samples > 0) {
        traced += 1;
        samples = samples.saturating_add(row.samples);
        first = first.min(row.first.unwrap_or(u64::MAX));
        last = last.max(row.last.unwrap_or(0));
    }
    summary.fact("traces", traced);
    summary.fact("samples", samples);
    if let Some(span) = last.checked_sub(first) {
        let (whole, rest) = (span / 1_000_000_000, span % 1_000_000_000);
        let words = format!("{whole}.{rest:09} s");
        let told = database.trace.as_ref().and_then(|trace| trace.moments);
        match told {
            Some((first, last)) => {
                let moments = vec![Value::from(first), Value::from(last)];
                summary.exact("trace span", words, ("told moments", Value::List(moments)));
            }
            None => summary.fact("trace span", words),
        }
    }
}

/// Lists the total of each metric over all threads; nothing where that cannot be read.
fn metrics(view: &Profiles) -> Section {
    let totals = view.totals(None).inspect_err(|error| view.note(error)).unwrap_or_default();
    let metrics = view.metrics();
    for (metric, total) in metrics.iter().zip(&totals).filter(|(_, total)| !total.is_finite()) {
        view.note_total(&metric.name, *total);
    }
    let mut spent: Vec<_> = metrics.iter().zip(totals).filter(|(_, total)| *total != 0.0).collect();
    // Times first, then what has another unit, then counts; of each what there is most of.
    spent.sort_by(|(one, most), (other, more)| {
        let rank = |metric: &Metric| match metric.unit.as_deref() {
            Some("sec" | "s") => (0, String::new()),
            Some(unit) => (1, unit.to_owned()),
            None => (2, String::new()),
        };
        rank(one).cmp(&rank(other)).then_with(|| more.total_cmp(most))
    });
    let row = |(metric, total): (&Metric, f64)| {
        let name = kymo_core::shortened(&metric.name).into_owned();
        let values = vec![("total", Value::from(total))];
        Row { name, text: Value::from(total).to_string(), values }
    };
    let rows: Vec<_> = spent.into_iter().map(row).collect();
    Section::new("metrics, over all threads", rows, METRICS_MAX)
}

/// Metrics that are computed from those, as `-m` names them.
fn computed(view: &Profiles) -> Option<Section> {
    let derived = view.derived();
    let shortened = |text: &str| kymo_core::shortened(text).into_owned();
    let row = |metric: &Metric| {
        let (name, text) = (shortened(&metric.name), shortened(&metric.description));
        let values = vec![("description", Value::from(text.as_str()))];
        Row { name, text, values }
    };
    let rows: Vec<_> = derived.iter().map(row).collect();
    let title = "metrics that are computed from others";
    (!rows.is_empty()).then(|| Section::new(title, rows, METRICS_MAX))
}
