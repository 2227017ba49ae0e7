//! The format's side of core's contract.

use std::sync::Arc;

use kymo_core::bytes::Endian;
use kymo_core::{Context, Destination, Error, Finding, Probe, Result, Source};
use kymo_model::arrays::ArraysView;
use kymo_model::{
    Capability, Confidence, Dataset, Demo, DumpRequest, Format, FormatInfo, RecordSink,
    RepairReport, Section, Summary, Table,
};

use crate::model::Arrays;
use crate::read::{End, is_plausible_start};
use crate::spec::Dialect;
use crate::types::ElementKind;
use crate::{Reader, bpdump, check, demo, dump, repair, tables};

/// The format.
#[derive(Debug, Clone, Copy)]
pub struct Bp;

static INFO: FormatInfo = FormatInfo {
    name: "bp",
    title: "BP (binary-pack)",
    about: "arrays, scalars and attributes written by simulation codes in 2008",
    extensions: &["bp"],
    dialects: &[
        "2008-06-04",
        "2008-06-04 with long long",
        "2008-07-11",
        "2008-07-15",
        "little- and big-endian",
    ],
    abilities: &[Capability::Write, Capability::Repair],
    dump_styles: bpdump::STYLES,
};

impl Format for Bp {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn sniff(&self, probe: &Probe<'_>) -> Option<Confidence> {
        let starts_well = |endian| is_plausible_start(probe.head, endian);
        if probe.is_directory {
            None
        } else if starts_well(Endian::Little) || starts_well(Endian::Big) {
            Some(Confidence::Plausible)
        } else {
            probe.has_extension(INFO.extensions).then_some(Confidence::Name)
        }
    }

    fn open(&self, source: &Source, context: &Context<'_>) -> Result<Box<dyn Dataset>> {
        Ok(BpDataset::boxed(Reader::open(source, context)?, source))
    }

    fn check(&self, source: &Source, context: &Context<'_>) -> Result<Vec<Finding>> {
        let reader = Reader::salvage(source, context)?;
        Ok(check::check(&reader, &context.limits))
    }

    fn salvage(&self, source: &Source, context: &Context<'_>) -> Result<Box<dyn Dataset>> {
        Ok(BpDataset::boxed(Reader::salvage(source, context)?, source))
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

/// An open file.
struct BpDataset {
    reader: Arc<Reader>,
    file: String,
}

impl BpDataset {
    fn boxed(reader: Arc<Reader>, source: &Source) -> Box<dyn Dataset> {
        Box::new(Self { reader, file: source.path().display().to_string() })
    }
}

impl Dataset for BpDataset {
    fn summary(&self) -> Summary {
        summary(&self.reader)
    }

    fn findings(&self) -> Vec<Finding> {
        self.reader.findings().to_vec()
    }

    fn tables(&self) -> Vec<Arc<dyn Table>> {
        tables::tables(&self.reader)
    }

    fn dump(&self, request: &DumpRequest, sink: &mut dyn RecordSink) -> Result<()> {
        let Some(style) = request.style.as_deref() else {
            return dump::dump(&self.reader, request, sink);
        };
        let Some(tool) = bpdump::Tool::from_style(style, self.reader.grouping().dialect()) else {
            let styles = bpdump::STYLES.join(", ");
            return Err(Error::request(format!("BP has no style {style}; it has {styles}")));
        };
        bpdump::dump(tool, &self.reader, &self.file, request, sink)
    }

    fn arrays(&self) -> Option<Arc<dyn ArraysView>> {
        Some(Arc::new(Arrays::new(Arc::clone(&self.reader))))
    }
}

/// More types than any writer has; a damaged file may seem to have thousands.
const DATATYPES_MAX: usize = 32;

fn summary(reader: &Reader) -> Summary {
    let grouping = reader.grouping();
    let variables = grouping.variables();
    let steps = variables.iter().map(crate::model::VariableElements::steps).max().unwrap_or(0);
    let mut summary = Summary { dialect: reader.endian().name().into(), ..Summary::default() };
    summary.detailed("elements", reader.len(), words(grouping.counts()));
    summary.fact("variables", variables.len());
    summary.fact("groups", grouping.groups());
    if steps > 1 {
        let detail = "a name written again; the file does not say whether by time or by process";
        summary.detailed("steps at most", steps, detail);
    }
    summary.fact("attributes", grouping.attributes().len());
    summary.detailed("payload", grouping.payload_bytes(), "bytes of values");
    summary.fact("element sizes", sizes(reader));
    summary.fact("end of file", end(reader.end()));
    summary.fact("array order", "not recorded; C is assumed (--order fortran)");
    let types = grouping.value_types();
    let rows = types.iter().map(|value_type| {
        let bytes = match value_type.bytes {
            0 => "text".to_owned(),
            bytes => format!("{bytes} bytes"),
        };
        (value_type.datatype.name().into_owned(), bytes)
    });
    summary.sections.push(Section::new("datatypes", rows, DATATYPES_MAX));
    summary
}

/// "128 scalars, 16 datasets"
fn words(counts: impl Iterator<Item = (ElementKind, u64)>) -> String {
    let some = counts.filter(|(_, count)| *count > 0);
    let each = some.map(|(kind, count)| match (count, kind.name().split_once(' ')) {
        (1, _) => format!("1 {}", kind.name()),
        (count, None) => format!("{count} {}s", kind.name()),
        (count, Some((what, "attribute (number)"))) => {
            format!("{count} {what} attributes (number)")
        }
        (count, Some((what, _))) => format!("{count} {what} attributes (string)"),
    });
    each.collect::<Vec<_>>().join(", ")
}

/// Returns the writers that made the types as large as they are.
fn sizes(reader: &Reader) -> String {
    let fitting = reader.grouping().dialects();
    match fitting.as_slice() {
        [] => "those of several writers".into(),
        [only] => format!("as the writer of {} has them", only.name()),
        all if all.len() == Dialect::ALL.len() => "the same with every writer".into(),
        several => {
            let names: Vec<_> = several.iter().map(|dialect| dialect.name()).collect();
            format!("as the writers of {} have them", names.join(", "))
        }
    }
}

fn end(end: End) -> &'static str {
    match end {
        End::Clean => "after the last element",
        End::ZeroWord { .. } => "a length of zero, as an appending writer leaves it",
        End::Trailing { .. } => "a few zero bytes after the last element",
    }
}
