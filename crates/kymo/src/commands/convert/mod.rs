//! `kymo convert`: a table of a file as text, its arrays for other tools, or a recording in
//! another format.

mod arrays;
mod lost;
mod part;
mod recording;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;

use clap::builder::{PossibleValue, PossibleValuesParser};
use kymo_core::{Destination, Error, Progress};
use kymo_export::tables::Target;
use kymo_model::arrays::{ArraysView, Variable};
use kymo_model::table::{Filter, Scan};
use kymo_model::{Format, Table};

use super::dump::StorageOrder;
use crate::cli::OpenArgs;
use crate::failure::{Failure, quoted};
use crate::inputs;
use crate::losses::{self, Missing};
use crate::outlet::{self, Outlet};
use crate::progress::Bars;
use crate::render::escaped;
use crate::report::Report;
use crate::selection::Steps;
use crate::session::{Named, OpenedFile, Outcome, Session};
use crate::variables;

use part::Part;

/// Rows of a batch.
const BATCH_ROWS: usize = 8192;

/// The column of a variable's table that has its values.
const VALUE: &str = "value";

/// Convert a table of a file, or the values of a variable, to JSON lines or CSV; all its arrays
/// to HDF5 and the like; or a whole recording to another format.
///
/// The target is told by the output's extension, or by --to. For JSON lines and CSV the table is
/// the first of the file unless --table names another, or a variable by its path; `kymo ls -t`
/// lists tables. With `--table all`, or a directory as OUT, every table becomes a file in a
/// directory.
///
/// Arrays keep their groups, types and attributes. Steps become the first dimension where they
/// have the same shape, and numbered arrays where they have not. Several files, or a directory
/// of them, become as many files in the directory OUT.
///
/// The output appears whole or not at all. What a target cannot hold is said on standard error.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
EXAMPLES
  kymo convert run.bp run.csv                            the first table as CSV
  kymo convert run.bp phi.csv --table /fields/phi        the values of a variable
  kymo convert run.bp last.csv --table phi --step -1     of its last step
  kymo convert run.bp - --to jsonl --columns path,kind   some columns to standard output
  kymo convert run.bp big.jsonl --filter 'payload_bytes>=1000' --filter kind=dataset
  kymo convert run.bp tables/ --to csv                   every table, a file each
  kymo convert run.bp run.h5                             all arrays, for h5py and others
  kymo convert run.bp run.h5 --link                      the same, with the values left in run.bp
  kymo convert runs/ out/ --to hdf5                      a whole directory of files
  kymo convert run.rtc run.mcap                          a recording in another format
  kymo convert run.rtc temp.csv --table temp             one stream of it as CSV

EXIT STATUS
  0 done, 1 failed, 2 bad usage, 3 done, with findings or losses")]
pub(crate) struct Args {
    /// The file to read; `-` is standard input. For arrays, several files and directories.
    #[arg(value_name = "IN", required = true)]
    inputs: Vec<PathBuf>,

    /// The file or directory to write; `-` is standard output. Devices and named pipes are
    /// written to.
    #[arg(value_name = "OUT")]
    output: PathBuf,

    /// Target to convert to, instead of the one that the extension of OUT gives.
    #[arg(long, value_name = "TARGET", value_parser = target_names())]
    to: Option<String>,

    /// The table, a variable by its path, or `all`. A table that every format has, such as `slices`
    /// or `metric_values`, is `common.NAME` where the format has another of that name.
    #[arg(short, long, value_name = "NAME")]
    table: Option<String>,

    /// The columns, in the order wanted.
    #[arg(short, long, value_name = "A,B,…", value_delimiter = ',')]
    columns: Vec<String>,

    /// Only rows that meet a condition: = != < <= > >=. May be given again.
    #[arg(long, value_name = "CONDITION")]
    filter: Vec<String>,

    /// At most so many rows.
    #[arg(short = 'n', long, value_name = "N")]
    limit: Option<u64>,

    /// Of a variable: the first index in each dimension; negative ones count from the end.
    #[arg(long, value_name = "I,J,…", requires = "table", value_delimiter = ',')]
    #[arg(allow_hyphen_values = true)]
    start: Vec<i64>,

    /// Of a variable: how many in each dimension; -1 goes to the end.
    #[arg(long, value_name = "N,M,…", requires = "table", value_delimiter = ',')]
    #[arg(allow_hyphen_values = true)]
    count: Vec<i64>,

    /// Of a variable: the step, or steps: 3, -1 for the last, 2..5 for 2, 3 and 4.
    #[arg(long, value_name = "STEPS", requires = "table", allow_hyphen_values = true)]
    step: Option<Steps>,

    /// Dimension of a variable that varies fastest: the last (c, which is assumed) or the first
    /// (fortran).
    #[arg(long, value_enum)]
    order: Option<StorageOrder>,

    #[command(flatten)]
    arrays: arrays::Options,

    /// Replace OUT if it exists.
    #[arg(short, long)]
    force: bool,

    #[command(flatten)]
    open: OpenArgs,
}

impl Args {
    /// Returns the order: the dimension that varies fastest, or is taken to.
    fn order(&self) -> StorageOrder {
        self.order.unwrap_or(StorageOrder::C)
    }

    /// Returns true if a part of a variable is wanted, which other tables do not have.
    fn wants_part(&self) -> bool {
        !self.start.is_empty() || !self.count.is_empty() || self.step.is_some()
    }

    /// Returns true if one table is wanted, or some of its rows or columns.
    fn wants_table(&self) -> bool {
        let is_part = !self.columns.is_empty() || !self.filter.is_empty() || self.limit.is_some();
        self.table.is_some() || is_part
    }
}

fn target_names() -> PossibleValuesParser {
    let value = |name, about| PossibleValue::new(name).help(about);
    let tables = kymo_export::tables::targets().iter();
    let tables = tables.map(|target| value(target.name(), target.about()));
    let arrays = kymo_export::arrays::targets().iter();
    // People know these by their extensions as well: `--to h5`.
    let arrays = arrays.map(|target| {
        let others = target.extensions().iter().copied().filter(|it| *it != target.name());
        value(target.name(), target.about()).aliases(others)
    });
    let formats = recording::formats().map(Format::info);
    let formats = formats.map(|info| value(info.name, info.title));
    PossibleValuesParser::new(tables.chain(arrays).chain(formats).collect::<Vec<_>>())
}

pub(crate) fn run(session: &mut Session, args: &Args) -> anyhow::Result<Outcome> {
    let target = match ConvertTarget::from_args(args)? {
        ConvertTarget::Arrays(target) => return arrays::run(session, args, target),
        target => target,
    };
    let [input] = args.inputs.as_slice() else {
        let failure = Failure::usage("several files are converted only to targets for arrays");
        return Err(failure.hint("name one file, or another target with --to").into());
    };
    let name = inputs::display(input);
    let about = |error: anyhow::Error| match error.downcast::<Named>() {
        Ok(named) => anyhow::Error::new(named),
        Err(error) => Named::error(name.as_str(), error),
    };
    args.arrays.refuse().map_err(|failure| about(failure.into()))?;
    let result = session.with_dataset(input, &args.open, |session, opened| {
        opened
            .source
            .refuse_output(&args.output)
            .map_err(|error| outlet::about(&args.output, error))?;
        refuse_unread(session, opened)?;
        let converted = match target {
            ConvertTarget::Recording(format) => recording::convert(session, args, opened, format),
            ConvertTarget::Table(target) => to_table(session, args, opened, target),
            // It is another command.
            ConvertTarget::Arrays(target) => return arrays::run(session, args, target),
        };
        let outcome = converted.map_err(|error| outlet::blamed(&args.output, error))?;
        Ok(outcome.max(session.findings(opened)))
    });
    result.map_err(about)
}

/// Refuses a recording of which nothing could be read: there is nothing to convert. One that is sound
/// and has nothing in it is converted.
fn refuse_unread(session: &mut Session, opened: &OpenedFile) -> anyhow::Result<()> {
    if Outcome::from_findings(&opened.dataset.findings()) == Outcome::Done {
        return Ok(());
    }
    let first = Scan { limit: Some(1), ..Scan::default() };
    for table in opened.dataset.tables() {
        for batch in table.scan(&first)? {
            if batch?.num_rows() > 0 {
                return Ok(());
            }
        }
    }
    session.findings(opened);
    let failure = Failure::new("nothing of it could be read, so nothing is written");
    Err(failure.hint("what is wrong with it is said above; --from names another format").into())
}

fn to_table(
    session: &mut Session,
    args: &Args,
    opened: &OpenedFile,
    target: &dyn Target,
) -> anyhow::Result<Outcome> {
    let is_all = args.table.as_deref() == Some("all");
    match Outlet::open(session, &args.output)? {
        Outlet::Stream => to_stream(session, args, opened, target),
        Outlet::File if !is_all => to_file(session, args, opened, target),
        Outlet::File | Outlet::Directory => to_directory(session, args, opened, target),
    }
}

/// Target to convert to.
#[derive(Clone, Copy)]
enum ConvertTarget {
    /// A table as text.
    Table(&'static dyn Target),
    /// All arrays, or one of them.
    Arrays(&'static dyn kymo_export::arrays::Target),
    /// The recording in another format.
    Recording(&'static dyn Format),
}

impl ConvertTarget {
    fn from_args(args: &Args) -> anyhow::Result<Self> {
        let extension = args.output.extension().and_then(|extension| extension.to_str());
        let found = match (args.to.as_deref(), extension) {
            (Some(name), _) => Self::by_name(name).or_else(|| Self::by_extension(name)),
            (None, Some(extension)) => Self::by_extension(extension),
            (None, None) => None,
        };
        found.ok_or_else(|| {
            let tables = kymo_export::tables::targets().iter().map(|target| target.name());
            let arrays = kymo_export::arrays::targets().iter().map(|target| target.name());
            let formats = recording::formats().map(|format| format.info().name);
            let names: Vec<_> = tables.chain(arrays).chain(formats).collect();
            let failure = Failure::usage("its name does not tell what to convert to");
            let failure = failure.hint(format!("--to names it: {}", names.join(", ")));
            Named::error(inputs::display(&args.output), failure)
        })
    }

    fn by_name(name: &str) -> Option<Self> {
        let table = kymo_export::tables::by_name(name).map(Self::Table);
        let arrays = || kymo_export::arrays::by_name(name).map(Self::Arrays);
        table.or_else(arrays).or_else(|| recording::by_name(name).map(Self::Recording))
    }

    fn by_extension(extension: &str) -> Option<Self> {
        let table = kymo_export::tables::by_extension(extension).map(Self::Table);
        let arrays = || kymo_export::arrays::by_extension(extension).map(Self::Arrays);
        table.or_else(arrays).or_else(|| recording::by_extension(extension).map(Self::Recording))
    }
}

fn to_stream(
    session: &mut Session,
    args: &Args,
    opened: &OpenedFile,
    target: &dyn Target,
) -> anyhow::Result<Outcome> {
    if args.arrays.is_strict() || args.arrays.is_json() {
        let failure = Failure::usage("--strict and --json need an output that is a file");
        return Err(failure.hint("name a file as OUT").into());
    }
    let chosen = choose(session, args, opened)?;
    let scan = scan(args, chosen.table.as_ref())?;
    let Session { out, bars, .. } = session;
    let written = write(&chosen, &scan, target, out, bars)?;
    out.flush()?;
    Ok(finish(session, args, opened, &chosen, written.missing))
}

/// The output, made from the one input.
fn destination(args: &Args, opened: &OpenedFile) -> Destination {
    Destination::new(&args.output, args.force).made_from(std::slice::from_ref(&opened.source))
}

fn to_file(
    session: &mut Session,
    args: &Args,
    opened: &OpenedFile,
    target: &dyn Target,
) -> anyhow::Result<Outcome> {
    let to = destination(args, opened);
    let about = |error| outlet::about(&args.output, error);
    to.check().map_err(about)?;
    let chosen = choose(session, args, opened)?;
    let scan = scan(args, chosen.table.as_ref())?;
    let mut file = to.file().map_err(about)?;
    let written = write(&chosen, &scan, target, &mut file, &session.bars)?;
    opened.source.verify()?;
    let lost = lost::TableLosses::new(opened, &chosen, &written);
    let is_kept = !args.arrays.is_strict() || lost.is_nothing();
    if is_kept {
        file.commit().map_err(about)?;
    }
    if args.arrays.is_json() {
        lost.print(session, args, opened, is_kept)?;
    }
    let outcome = finish(session, args, opened, &chosen, written.missing);
    if is_kept { Ok(outcome) } else { Err(arrays::StrictRefusal.into()) }
}

/// Says what was lost, and what else one could have had.
fn finish(
    session: &mut Session,
    args: &Args,
    opened: &OpenedFile,
    chosen: &ChosenTable,
    missing: Missing,
) -> Outcome {
    let has_variables = || opened.dataset.arrays().is_some_and(|view| view.variable_count() > 0);
    if args.table.is_none() && session.report.is_watched() && has_variables() {
        let table = chosen.table.name();
        let hint = format!("this is the table {table}; --table VARIABLE gives values");
        session.report.hint(&hint);
    }
    let (report, name) = (&mut session.report, &opened.name);
    let lost = missing.report(report, name, chosen.table.name());
    let rounded = chosen
        .variable_view
        .as_ref()
        .map(|(view, variable)| losses::rounding(report, name, view.as_ref(), variable));
    let recoded = chosen.report_recoded(report, name);
    chosen.outcome.max(lost).max(rounded.unwrap_or(Outcome::Done)).max(recoded)
}

/// Writes every fixed table into a directory, a file each.
fn to_directory(
    session: &mut Session,
    args: &Args,
    opened: &OpenedFile,
    target: &dyn Target,
) -> anyhow::Result<Outcome> {
    if args.arrays.is_strict() || args.arrays.is_json() {
        let failure = Failure::usage("--strict and --json are for one table");
        return Err(failure.hint("--table names it; tables are written whole").into());
    }
    let is_all = args.table.as_deref().is_none_or(|table| table == "all");
    if !is_all || !args.columns.is_empty() || !args.filter.is_empty() || args.wants_part() {
        let failure = Failure::usage("into a directory go all tables, whole");
        return Err(failure.hint("name a file for one table, or for a part of it").into());
    }
    let extension = target.extensions().first().copied().unwrap_or_default();
    let name = |table: &dyn Table| format!("{}.{extension}", table.name());
    let tables = opened.dataset.tables();
    let names: Vec<_> = tables.iter().map(|table| name(table.as_ref())).collect();
    let about = |error| outlet::about(&args.output, error);
    let to = outlet::own_directory(destination(args, opened), &names).map_err(about)?;
    let directory = to.directory().map_err(about)?;
    let mut outcome = Outcome::Done;
    for table in tables {
        let path = directory.path().join(name(table.as_ref()));
        let file = File::create(path).map_err(Error::io("create a file"));
        let mut file = BufWriter::with_capacity(1 << 18, file.map_err(about)?);
        let scan = scan(args, table.as_ref())?;
        let chosen = ChosenTable::fixed(table, opened);
        write(&chosen, &scan, target, &mut file, &session.bars)?;
        outcome = outcome.max(chosen.report_recoded(&mut session.report, &opened.name));
        file.flush().map_err(Error::io("write a file")).map_err(about)?;
    }
    opened.source.verify()?;
    directory.commit().map_err(about)?;
    Ok(outcome)
}

/// Amount of a table that was written.
struct WrittenTable {
    rows: u64,
    missing: Missing,
}

/// Writes the rows of a table. Of a variable, says how many values are not there.
fn write(
    chosen: &ChosenTable,
    scan: &Scan,
    target: &dyn Target,
    out: &mut dyn Write,
    bars: &Bars,
) -> anyhow::Result<WrittenTable> {
    let table = &chosen.table;
    let schema = scan.output_schema(&table.schema())?;
    let values = if chosen.variable_view.is_some() { schema.index_of(VALUE).ok() } else { None };
    let mut missing = Missing::default();
    let mut writer = target.writer(&schema, out)?;
    bars.begin_items("converting", chosen.rows.min(scan.limit.unwrap_or(u64::MAX)));
    let mut rows = 0;
    for batch in Arc::clone(table).scan(scan)? {
        let batch = batch?;
        writer.write(&batch)?;
        if let Some(values) = values {
            missing.add(batch.column(values));
        }
        rows += batch.num_rows() as u64;
        bars.advance_to(rows);
    }
    bars.end();
    writer.finish()?;
    Ok(WrittenTable { rows, missing })
}

/// The table that is wanted, and what converting it means for the exit code.
struct ChosenTable {
    table: Arc<dyn Table>,
    /// Greatest number of rows that it has.
    rows: u64,
    /// The variable whose values they are, where they are one's.
    variable_view: Option<(Arc<dyn ArraysView>, Variable)>,
    /// Part that is stored as UTF-8 and is not UTF-8 in the file.
    recoded: Option<&'static str>,
    outcome: Outcome,
}

impl ChosenTable {
    fn fixed(table: Arc<dyn Table>, opened: &OpenedFile) -> Self {
        let rows = table.row_count().unwrap_or(0);
        let view = opened.dataset.arrays();
        let recoded = view.and_then(|view| losses::recoded_table(view.as_ref(), table.name()));
        Self { table, rows, variable_view: None, recoded, outcome: Outcome::Done }
    }

    /// Says that texts are in another encoding than in the file, where they are.
    fn report_recoded(&self, report: &mut Report, file: &str) -> Outcome {
        match self.recoded {
            Some(what) => {
                report.remark(file, format_args!("{}: {what}", escaped(self.table.name())));
                Outcome::Findings
            }
            None => Outcome::Done,
        }
    }
}

fn choose(session: &mut Session, args: &Args, opened: &OpenedFile) -> anyhow::Result<ChosenTable> {
    let tables = opened.dataset.tables();
    let fixed = match args.table.as_deref() {
        None => tables.first(),
        Some("all") => {
            let failure = Failure::usage("all tables do not fit into one output");
            return Err(failure.hint("name a directory as OUT").into());
        }
        Some(name) => {
            let own = name.strip_prefix(opened.format.info().name);
            let own = own.and_then(|rest| rest.strip_prefix('.')).unwrap_or(name);
            tables.iter().find(|table| table.name() == own)
        }
    };
    if let Some(table) = fixed {
        if args.wants_part() {
            let why = format!("{} is no variable", table.name());
            let failure = Failure::usage(why);
            return Err(failure.hint("--start, --count and --step are for variables").into());
        }
        return Ok(ChosenTable::fixed(Arc::clone(table), opened));
    }
    let name = args.table.as_deref().unwrap_or_default();
    let of_stream = || opened.dataset.table(name).map(|table| ChosenTable::fixed(table, opened));
    let found = variable(session, args, opened, name)?.or_else(of_stream);
    found.or_else(|| common(name, opened)).ok_or_else(|| {
        let names: Vec<_> = tables.iter().map(|table| table.name().to_owned()).collect();
        let why = format!("there is no table or variable {}", escaped(name));
        let near = opened.dataset.arrays().and_then(|view| variables::near(view.as_ref(), name));
        let listed = match near {
            Some(near) => format!("variables: {near}"),
            None => format!("`kymo ls {}` lists what else has one", quoted(&opened.name)),
        };
        Failure::new(why).hint(format!("tables: {}; {listed}", names.join(", "))).into()
    })
}

/// A table that every format has: by its name, or as `common.NAME` where the format has another of
/// that name.
fn common(name: &str, opened: &OpenedFile) -> Option<ChosenTable> {
    let name = name.strip_prefix("common.").unwrap_or(name);
    let table = opened.common_tables().into_iter().find(|table| table.name() == name)?;
    Some(ChosenTable::fixed(table, opened))
}

fn variable(
    session: &mut Session,
    args: &Args,
    opened: &OpenedFile,
    name: &str,
) -> anyhow::Result<Option<ChosenTable>> {
    let Some(view) = opened.dataset.arrays() else {
        return Ok(None);
    };
    let found = view.find(name);
    let Some(&id) = found.first() else {
        return variables::ambiguous(view.as_ref(), name, "a path")
            .map_or(Ok(None), |failure| Err(failure.into()));
    };
    let variable = view.variable(id);
    let mut outcome = Outcome::Done;
    if let [id, others @ ..] = found.as_slice()
        && !others.is_empty()
    {
        let name = &opened.name;
        outcome =
            variables::report_other_types(session, name, view.as_ref(), *id, others, "converted");
    }
    let part = Part::new(&view, id, args)?;
    let rows = part.rows()?;
    let recoded = losses::recoded_text(view.as_ref(), id, &variable)?;
    let variable_view = Some((view, variable));
    Ok(Some(ChosenTable { table: part.table(), rows, variable_view, recoded, outcome }))
}

fn scan(args: &Args, table: &dyn Table) -> anyhow::Result<Scan> {
    let schema = table.schema();
    let column = |name: &String| {
        let found = schema.index_of(name);
        found.map_err(|_| {
            let names: Vec<_> = schema.fields().iter().map(|field| field.name().as_str()).collect();
            let failure = Failure::usage(format!("there is no column {}", escaped(name)));
            failure.hint(format!("there are {}", names.join(", ")))
        })
    };
    let columns = args.columns.iter().map(column).collect::<Result<Vec<_>, _>>()?;
    let filter = |text: &String| {
        let parsed = Filter::parse(&schema, text);
        parsed.map_err(|error| Failure::usage(error.to_string()))
    };
    let filters = args.filter.iter().map(filter);
    Ok(Scan {
        columns: (!columns.is_empty()).then_some(columns),
        filters: filters.collect::<Result<_, _>>()?,
        limit: args.limit,
        batch_rows: BATCH_ROWS,
    })
}
