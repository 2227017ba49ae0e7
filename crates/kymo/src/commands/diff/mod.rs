//! `kymo diff`: what two files hold otherwise.

mod arrays;
mod attributes;
mod exact;
mod profiles;
mod same_paths;
mod sides;
mod unlisted;
mod values;

use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::cli::OpenArgs;
use crate::failure::Failure;
use crate::inputs;
use crate::profiles::view_of;
use crate::render::escaped;
use crate::render::rows::{RowArgs, Rows};
use crate::session::{Named, Opened, Outcome, Session};

/// Compare two files: which variables, attributes and values differ, or what functions spent.
///
/// Prints one line for each difference, and nothing when there is none. Of values it says how
/// many differ, the largest difference and where it is. The files may be of different formats. Of
/// profiles it says which functions or paths spent more or less, by their names, so that they may
/// be of two builds of a program; the largest change comes first.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
EXAMPLES
  kymo diff old.bp new.bp                     everything that differs
  kymo diff old.bp new.bp --tolerance 1e-9    but not by less than that
  kymo diff DATABASE NEWER -m cycles -n 10    the ten functions that changed most
  kymo diff DATABASE NEWER --by path          the paths that did
  kymo diff --exact a-database b-database     profiles by path, every value

EXIT STATUS
  0 the same, 1 failed, 2 bad usage, 3 different")]
pub(crate) struct Args {
    /// The one file; `-` is standard input.
    #[arg(value_name = "A")]
    one: PathBuf,

    /// The other file.
    #[arg(value_name = "B")]
    other: PathBuf,

    /// How far numbers may be apart and still count as the same. With --exact, sums that are apart by
    /// less than a billionth of them always do: adding up in another order makes that of them.
    #[arg(short, long, value_name = "X", default_value_t = 0.0, value_parser = tolerance)]
    tolerance: f64,

    /// Compare profiles by path: every metric, context, value of a thread, statistic and sample.
    #[arg(long, conflicts_with_all = ["by", "inclusive", "metric", "number"])]
    exact: bool,

    #[command(flatten)]
    rows: RowArgs,

    #[command(flatten)]
    open: OpenArgs,

    #[command(flatten)]
    profiles: profiles::ProfilesArgs,
}

fn tolerance(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number >= 0.0 && number.is_finite() => Ok(number),
        _ => Err("it is no number from 0 on".to_owned()),
    }
}

/// Something that is otherwise in the other file.
#[derive(Debug)]
pub(super) struct Difference {
    /// What it is about: the path of a variable or an attribute, the name of a function.
    pub(super) path: String,
    /// What is different, for a person.
    pub(super) what: String,
    /// The same for a program.
    pub(super) details: Value,
    /// As a row of a table for a person, where it is one of many.
    pub(super) row: Option<Row>,
}

/// A row of a table, and what stands before the first of them and behind the last.
#[derive(Debug, Default)]
pub(super) struct Row {
    pub(super) heading: Option<String>,
    pub(super) cells: String,
    pub(super) rest: Option<String>,
}

impl Difference {
    fn new(path: impl Into<String>, what: impl Into<String>, details: Value) -> Self {
        Self { path: path.into(), what: what.into(), details, row: None }
    }
}

pub(crate) fn run(session: &mut Session, args: &Args) -> anyhow::Result<Outcome> {
    let about = |path: &Path, error: anyhow::Error| match error.downcast::<Named>() {
        Ok(named) => anyhow::Error::new(named),
        Err(error) => Named::error(inputs::display(path), error),
    };
    let compared = session.with_dataset(&args.one, &args.open, |session, one| {
        let compared = session.with_dataset(&args.other, &args.open, |session, other| {
            let found = differences(args, one, other)?;
            let mut rows = args.rows.rows();
            for difference in &found {
                print(session, rows.as_mut(), difference)?;
            }
            let outcome = if found.is_empty() { Outcome::Done } else { Outcome::Findings };
            Ok(outcome.max(session.findings(one)).max(session.findings(other)))
        });
        compared.map_err(|error| about(&args.other, error))
    });
    compared.map_err(|error| about(&args.one, error))
}

/// Compares what both files have.
fn differences(args: &Args, one: &Opened, other: &Opened) -> anyhow::Result<Vec<Difference>> {
    if args.exact {
        return exactly(args, one, other);
    }
    if let (Some(one), Some(other)) = (one.dataset.arrays(), other.dataset.arrays()) {
        return Ok(arrays::differences(&one, &other, args.tolerance)?);
    }
    if let (Some(one), Some(other)) = (view_of(one)?, view_of(other)?) {
        let is_for_programs = args.rows.rows().is_some();
        return args.profiles.differences(&one, &other, args.tolerance, is_for_programs);
    }
    let names = [one, other].map(|opened| opened.format.info().title).join(" and ");
    let failure = Failure::new(format!("{names} have nothing that could be compared"));
    let hint = if one.dataset.is_part() || other.dataset.is_part() {
        "one of them is one file of several: name their directory"
    } else {
        "files with arrays can be, and files with profiles"
    };
    Err(failure.hint(hint).into())
}

/// Compares profiles by path.
fn exactly(args: &Args, one: &Opened, other: &Opened) -> anyhow::Result<Vec<Difference>> {
    let mut paths = exact::Paths::new();
    let mut side = |opened: &Opened| -> anyhow::Result<exact::Side> {
        let side = exact::Side::new(opened, &mut paths)?;
        let title = opened.format.info().title;
        let failure = || Failure::new(format!("{title} have no profile that could be compared"));
        side.ok_or_else(|| Named::error(&opened.name, failure()))
    };
    let (one, other) = (side(one)?, side(other)?);
    Ok(exact::differences(&one, &other, &paths, args.tolerance)?)
}

fn print(
    session: &mut Session,
    rows: Option<&mut Rows>,
    difference: &Difference,
) -> anyhow::Result<()> {
    let Difference { path, what, details, row } = difference;
    let Some(rows) = rows else {
        let path = profiles::shown(path);
        let Some(Row { heading, cells, rest }) = row else {
            return Ok(writeln!(session.out, "{}: {}", escaped(&path), escaped(what))?);
        };
        let out = &mut session.out;
        heading.iter().try_for_each(|heading| writeln!(out, "{heading}"))?;
        writeln!(out, "{cells}  {}", escaped(&path))?;
        return Ok(rest.iter().try_for_each(|rest| writeln!(out, "{rest}"))?);
    };
    let mut object = json!({ "path": path, "difference": what });
    // What differs of arrays is of many kinds: of these, only the words fit into columns.
    let is_left_out = rows.is_csv() && details.get("metric").is_none();
    let details = details.as_object().filter(|_| !is_left_out);
    if let (Some(object), Some(details)) = (object.as_object_mut(), details) {
        object.extend(details.clone());
    }
    Ok(rows.row(&mut session.out, &object)?)
}
