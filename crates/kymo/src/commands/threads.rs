//! `kymo threads`: how work is spread over threads.

use std::collections::HashSet;
use std::io::Write;
use std::path::PathBuf;

use kymo_core::Invariant as _;
use kymo_model::profile::{CALLS, ContextNumber, NamePattern, SpentScope, Thread, ThreadId};
use serde_json::json;

use crate::cli::OpenArgs;
use crate::failure::Failure;
use crate::profiles::{ProfileArgs, ProfileQuery, begin, distinct_thread_names};
use crate::render::rows::{RowArgs, Rows};
use crate::render::{escaped, measure, numbers, style};
use crate::session::{OpenedFile, Outcome, Session};

/// Length of the bar of the thread that spent most.
const BAR: u32 = 24;

/// Show what each thread spent: in all, in one function, or in one calling context.
///
/// Values are inclusive of calls. Imbalance is how much more than the mean the thread that spent
/// most has: 0% is even, 100% is twice the mean. Threads of a kind that has no value of the metric at
/// all, such as streams of a GPU in a time of the host, are left out, which is said. `-` is a thread whose values were lost, or one that
/// a computed metric has no value for, such as a mean of nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
EXAMPLES
  kymo threads hpctoolkit-app-database                  what each thread spent
  kymo threads --function solve hpctoolkit-app-database what each spent in one function
  kymo threads --path 'main > solve' DATABASE           in solve where main called it
  kymo threads --rank 0-3 --json DATABASE               some of them, one JSON object each

EXIT STATUS
  0 done, 1 unreadable or no profile, 2 bad usage, 3 read, with findings")]
pub(crate) struct Args {
    /// Files or directories.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Only what was spent in functions of this name: a whole name, with or without the module in
    /// brackets, or a part of names; a pattern such as `Calc*`; a regular expression between slashes.
    #[arg(short, long, value_name = "NAME", group = "within")]
    function: Option<String>,

    /// Only what was spent in what names lead to, one below another, with ` > ` between them.
    /// Functions, loops and lines have names; what stands between may be left out.
    #[arg(long, value_name = "NAMES", group = "within")]
    path: Option<String>,

    /// Only what was spent in the context of this number, which `kymo dump` tells.
    #[arg(long, value_name = "NUMBER", group = "within")]
    context: Option<u64>,

    #[command(flatten)]
    profile: ProfileArgs,

    #[command(flatten)]
    rows: RowArgs,

    #[command(flatten)]
    open: OpenArgs,
}

impl Args {
    /// The names of the path that is asked for.
    fn names(&self) -> Vec<String> {
        let names = self.path.iter().flat_map(|path| path.split(CALLS));
        names.map(|name| name.trim().to_owned()).collect()
    }

    /// Returns the place in which the time or other value that is asked for was spent.
    fn spent_scope<'a>(
        &self,
        function: Option<&'a NamePattern>,
        names: &'a [String],
    ) -> SpentScope<'a> {
        match (function, self.context) {
            (Some(function), _) => SpentScope::Function(function),
            (None, Some(number)) => SpentScope::Context(ContextNumber(number)),
            (None, None) if names.is_empty() => SpentScope::All,
            (None, None) => SpentScope::Path(names),
        }
    }

    /// The same in words; nothing where all is asked for.
    fn place(&self) -> Option<String> {
        let number = self.context.map(|number| format!("context {number}"));
        let name = self.function.as_ref().or(self.path.as_ref());
        number.or_else(|| Some(escaped(name?).into_owned()))
    }
}

pub(crate) fn run(session: &mut Session, args: &Args) -> anyhow::Result<Outcome> {
    let inputs = session.expand(&args.files, &args.open.format);
    let mut is_first = true;
    let mut for_programs = args.rows.rows();
    session.each_dataset(inputs, &args.open, |session, opened| {
        let asked = args.profile.query_any(opened)?;
        asked.require_inclusive("which threads are compared by")?;
        let mut spent = rows(&asked, args)?;
        let others = take_other_kinds(&asked, args, &mut spent)?;
        if let Some(rows) = &mut for_programs {
            print_rows(session, rows, opened, &asked, &spent)?;
        } else {
            begin(session, &mut is_first)?;
            print(session, args, opened, &asked, &spent)?;
        }
        report_other_kinds(session, opened, &asked, &others);
        report_unknown(session, opened, &asked);
        let odd = inconsistency(args, &asked, &spent)?;
        let is_nothing = spent.iter().all(|one| one.value == 0.0);
        Ok(asked.report(session, opened, is_nothing, odd.as_deref()))
    })
}

/// Says that values of threads were lost.
fn report_unknown(session: &mut Session, opened: &OpenedFile, asked: &ProfileQuery) {
    let lost = asked.incomplete();
    if lost > 0 {
        let _ = session.out.flush();
        let threads = numbers::count(lost, "thread", "threads");
        let text = format!("values of {threads} were lost: what was spent is unknown and left out");
        session.report.remark(&opened.name, text);
    }
}

/// Takes out the threads of kinds none of which has a value of the metric anywhere, while others
/// have: it is not measured there, and zeros would make work look uneven.
fn take_other_kinds(
    asked: &ProfileQuery,
    args: &Args,
    spent: &mut Vec<Spent>,
) -> anyhow::Result<Vec<Spent>> {
    let in_all = match args.place() {
        Some(_) => asked.per_thread(SpentScope::All)?,
        None => Vec::new(),
    };
    let has_value = |one: &Spent| {
        let index = usize::try_from(one.index).ok();
        let value = index.and_then(|index| in_all.get(index)).unwrap_or(&one.value);
        *value != 0.0 || asked.is_incomplete(ThreadId(one.index))
    };
    let kinds = |one: &Spent| one.thread.kinds().map(str::to_owned).collect::<Vec<_>>();
    let measured: HashSet<_> = spent.iter().filter(|one| has_value(one)).map(kinds).collect();
    if measured.is_empty() {
        return Ok(Vec::new());
    }
    Ok(spent.extract_if(.., |one| !measured.contains(&kinds(one))).collect())
}

/// Says which threads are left out since the metric is not measured in their kind.
fn report_other_kinds(
    session: &mut Session,
    opened: &OpenedFile,
    asked: &ProfileQuery,
    others: &[Spent],
) {
    let Some(first) = others.first() else { return };
    let _ = session.out.flush();
    let (have, name) = (if others.len() == 1 { "has" } else { "have" }, &asked.described.name);
    let threads = numbers::count(others.len() as u64, "thread", "threads");
    let (name, first) = (escaped(name), first.thread.to_string());
    let text = format!("{threads} of a kind without {name} {have} no row: {}", escaped(&first));
    let more = if others.len() > 1 { " and others" } else { "" };
    session.report.remark(&opened.name, format_args!("{text}{more}"));
}

/// Describes what is odd about the values that threads spent: more in one place than there is, or a
/// value that is no number.
fn inconsistency(
    args: &Args,
    asked: &ProfileQuery,
    spent: &[Spent],
) -> anyhow::Result<Option<String>> {
    let known = spent.iter().filter(|one| !asked.is_incomplete(ThreadId(one.index)));
    let known: Vec<_> = known.map(|one| one.value).collect();
    let is_looked_at = args.place().is_some() || known.iter().any(|value| !value.is_finite());
    Ok(if is_looked_at { asked.thread_inconsistency(&known)? } else { None })
}

/// Values that a thread spent.
struct Spent {
    /// Its place in the file, which tells threads of one name apart.
    index: u32,
    thread: Thread,
    value: f64,
}

/// Each thread, and what it spent; no number where that is not known.
fn rows(asked: &ProfileQuery, args: &Args) -> anyhow::Result<Vec<Spent>> {
    let function = args.function.as_deref().map(|text| asked.pattern(text)).transpose()?;
    let spent = asked.per_thread(args.spent_scope(function.as_ref(), &args.names()))?;
    if asked.derived.is_some() && spent.iter().all(|value| value.is_nan()) {
        let name = escaped(&asked.described.name);
        let why = format!("{name} has no inclusive value, which threads are compared by");
        return Err(Failure::new(why).hint("`kymo top` shows it by function").into());
    }
    if let (Some(place), true) = (args.place(), spent.iter().all(|value| *value == 0.0)) {
        let failure = Failure::new(format!("nothing was spent in {place}"));
        let hint = if args.function.is_some() {
            "`kymo top -n 0` lists the functions"
        } else {
            "`kymo tree` shows the calling contexts"
        };
        return Err(failure.hint(hint).into());
    }
    let value = |id: ThreadId| match spent.get(usize::try_from(id.0).ok()?) {
        _ if asked.is_incomplete(id) => Some(f64::NAN),
        found => found.copied(),
    };
    let threads = asked.threads()?.into_iter();
    let spent = |(id, thread): (ThreadId, Thread)| {
        let value = value(id).or_broken("a thread has no value")?;
        Ok(Spent { index: id.0, thread, value })
    };
    threads.map(spent).collect()
}

fn print(
    session: &mut Session,
    args: &Args,
    opened: &OpenedFile,
    asked: &ProfileQuery,
    spent: &[Spent],
) -> anyhow::Result<()> {
    let out = &mut session.out;
    let is_terminal = out.is_terminal();
    let paint = out.paint();
    let (bold, faint) = (paint.style(style::TITLE), paint.style(style::FAINT));
    let this_name = args.place().map_or(String::new(), |place| format!(" in {place}"));
    let metric = escaped(&asked.described.name);
    let spread = ThreadSpread::from_values(spent.iter().map(|one| one.value));
    let most = spread.most;
    writeln!(out, "{bold}{}{bold:#}: {metric}{this_name}, {}", opened.name, spread.text())?;
    let room = out.columns().map_or(usize::MAX, |columns| columns.saturating_sub(39).max(16));
    let names = spent.iter().map(|one| (one.thread.to_string(), one.index.into())).collect();
    for (Spent { value, .. }, name) in spent.iter().zip(distinct_thread_names(names)) {
        let share = if most > 0.0 { value / most } else { 0.0 };
        let bar = measure::bar(share, BAR, is_terminal);
        let value = measure::value_text(*value);
        let name = measure::fitted_end(&escaped(&name), room);
        writeln!(out, "{value:>11}  {faint}{bar:<24}{faint:#}  {name}")?;
    }
    asked.print_others(out)?;
    Ok(())
}

/// The least, the mean and the most that threads spent.
struct ThreadSpread {
    least: f64,
    mean: f64,
    most: f64,
}

impl ThreadSpread {
    fn from_values(values: impl Iterator<Item = f64> + Clone) -> Self {
        let values = values.filter(|value| !value.is_nan());
        let count = f64::from(u32::try_from(values.clone().count()).unwrap_or(u32::MAX));
        let mean = values.clone().sum::<f64>() / count.max(1.0);
        let least = values.clone().fold(f64::INFINITY, f64::min);
        let least = if least.is_finite() { least } else { 0.0 };
        Self { least, mean, most: values.fold(0.0, f64::max) }
    }

    /// Returns how much more than the mean the thread that spent most has, in percent.
    fn imbalance(&self) -> f64 {
        if self.mean == 0.0 { 0.0 } else { (self.most / self.mean - 1.0) * 100.0 }
    }

    fn text(&self) -> String {
        let [least, mean, most] = [self.least, self.mean, self.most].map(measure::value);
        let imbalance = self.imbalance();
        format!("least {least}, mean {mean}, most {most}, imbalance {imbalance:.1}%")
    }
}

fn print_rows(
    session: &mut Session,
    rows: &mut Rows,
    opened: &OpenedFile,
    asked: &ProfileQuery,
    spent: &[Spent],
) -> anyhow::Result<()> {
    let spread = ThreadSpread::from_values(spent.iter().map(|one| one.value));
    for Spent { index, thread, value } in spent {
        let object = json!({
            "file": opened.name,
            "metric": asked.described.name,
            "thread": thread.to_string(),
            "value": value,
            "index": index,
            "least": spread.least,
            "mean": spread.mean,
            "most": spread.most,
            "imbalance_percent": spread.imbalance(),
        });
        rows.row(&mut session.out, &object)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_says_how_uneven_it_is() {
        let spread = |values: &[f64]| ThreadSpread::from_values(values.iter().copied()).text();
        assert_eq!(spread(&[1.0, 3.0]), "least 1, mean 2, most 3, imbalance 50.0%");
        assert_eq!(spread(&[]), "least 0, mean 0, most 0, imbalance 0.0%");
    }
}
