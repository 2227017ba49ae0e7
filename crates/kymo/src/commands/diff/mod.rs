//! `kymo diff`: what two files hold otherwise.

mod arrays;
mod attributes;
mod exact;
mod profiles;
mod same_paths;
mod sides;
mod values;

use std::io::Write;
use std::path::{Path, PathBuf};

use kymo_core::{Finding, Progress, Severity};
use serde_json::{Value, json};

use crate::cli::OpenArgs;
use crate::failure::Failure;
use crate::inputs;
use crate::profiles::{report_caveats, view_of};
use crate::render::escaped;
use crate::render::rows::{RowArgs, Rows};
use crate::session::{Named, OpenedFile, Outcome, Session};

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

    /// Distance that numbers may be apart and still count as the same. With --exact, sums that are
    /// apart by less than a billionth of them always count as the same: adding up in another order
    /// causes that.
    #[arg(short, long, value_name = "X", default_value_t = 0.0, value_parser = tolerance)]
    tolerance: f64,

    /// Compare profiles by path: every metric, context, value of a thread, statistic and sample, the
    /// title, when traces begin and end, and how metrics are shown; whether each is sound, as `kymo
    /// check` tells it, so that values that it has twice are the same. Each cause is told once: a
    /// path that only one has without what is below it, a value without the sums that differ
    /// because it does. --json and --csv list every difference.
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
    /// Subject of the difference: the path of a variable or an attribute, or the name of a
    /// function.
    pub(super) path: String,
    /// Description of the difference, for a person.
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

/// Takes a difference.
type Take<'a> = &'a mut dyn FnMut(Difference) -> anyhow::Result<()>;

/// Remark that is good to know about one of the files.
struct Remark {
    /// Number of the side: 0 or 1.
    side: usize,
    text: String,
    /// True if its values may be wrong.
    is_doubt: bool,
}

/// Greatest number of bytes of a path that is reported; of a longer path the last names are kept.
const PATH_BYTES_MAX: usize = 1 << 14;

/// Share by which sums may differ because they are added up in another order.
const ROUNDING: f64 = 1e-9;

/// Returns true if two values of profiles are apart by more than rounding and the tolerance. A
/// value that is infinite, or no number, is only the same as itself.
fn is_apart(tolerance: f64, one: f64, other: f64) -> bool {
    if one.is_finite() && other.is_finite() {
        return (one - other).abs() > tolerance.max(one.abs().max(other.abs()) * ROUNDING);
    }
    one.to_bits() != other.to_bits() && !(one.is_nan() && other.is_nan())
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
            let (mut rows, mut outcome) = (args.rows.rows(), Outcome::Done);
            let remarks = if args.exact {
                let rows = args.rows.rows();
                let unsound = [unsound(session, one)?, unsound(session, other)?];
                let (sides, out) = ([one, other], &mut session.out);
                if exact::print(sides, &unsound, args.tolerance, rows, out)? {
                    outcome = Outcome::Findings;
                }
                Vec::new()
            } else {
                differences(args, one, other, &mut |difference| {
                    outcome = Outcome::Findings;
                    print(session, rows.as_mut(), &difference)
                })?
            };
            let _ = session.out.flush();
            for Remark { side, text, is_doubt } in remarks {
                let opened_file = if side == 0 { one } else { other };
                if is_doubt {
                    outcome = outcome.max(report_caveats(session, opened_file, &[text]));
                } else {
                    session.report.remark(&opened_file.name, text);
                }
            }
            Ok(outcome.max(session.findings(one)).max(session.findings(other)))
        });
        compared.map_err(|error| about(&args.other, error))
    });
    compared.map_err(|error| about(&args.one, error))
}

/// Returns the contradictions in a recording: one that has the same thing twice may have it in two
/// ways.
fn unsound(session: &Session, opened: &OpenedFile) -> anyhow::Result<Vec<Finding>> {
    let mut found = opened.format.check(&opened.source, &session.context())?;
    session.bars.end();
    found.retain(|finding| finding.severity == Severity::Error);
    Ok(found)
}

/// Compares what both files have, and gives each difference as soon as it is found: there may be very
/// many.
fn differences(
    args: &Args,
    one: &OpenedFile,
    other: &OpenedFile,
    take: Take<'_>,
) -> anyhow::Result<Vec<Remark>> {
    if let (Some(one), Some(other)) = (one.dataset.arrays(), other.dataset.arrays()) {
        arrays::differences(&one, &other, args.tolerance)?.into_iter().try_for_each(take)?;
        return Ok(Vec::new());
    }
    if let (Some(one), Some(other)) = (view_of(one)?, view_of(other)?) {
        let (is_for_programs, views) = (args.rows.rows().is_some(), [&one, &other]);
        let mut remarks =
            args.profiles.differences(views, args.tolerance, is_for_programs, take)?;
        for (side, view) in views.into_iter().enumerate() {
            let doubts = view.caveats().into_iter();
            remarks.extend(doubts.map(|text| Remark { side, text, is_doubt: true }));
        }
        return Ok(remarks);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_is_no_difference() {
        assert!(!is_apart(0.0, 1.0, 1.0 + 1e-12));
        assert!(is_apart(0.0, 1.0, 1.1));
        assert!(!is_apart(0.5, 1.0, 1.1));
        assert!(!is_apart(0.0, 0.0, 0.0));
    }

    #[test]
    fn what_is_infinite_or_no_number_is_the_same_as_nothing_else() {
        let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
        for (place, one) in odd.into_iter().enumerate() {
            assert!(is_apart(1e300, one, 1.0) && is_apart(1e300, 1.0, one), "{one}");
            for (other_place, other) in odd.into_iter().enumerate() {
                assert_eq!(is_apart(0.0, one, other), place != other_place, "{one} {other}");
            }
        }
        assert!(!is_apart(0.0, f64::NAN, -f64::NAN));
    }
}
