//! `kymo trace`: what threads did when.

use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use anstyle::{AnsiColor, Style};
use kymo_model::profile::{IDLE, ProfileView, ThreadId, Traced, TracedLine, traced};
use kymo_model::timeline::{Track, TrackId, TrackKind, Tracks, Window};
use serde_json::json;

use crate::cli::OpenArgs;
use crate::failure::{Failure, quoted};
use crate::moment::{self, Moment};
use crate::profiles::{self, ThreadArgs};
use crate::render::rows::{RowArgs, Rows};
use crate::render::{escaped, measure, numbers, style};
use crate::session::{OpenedFile, Outcome, Session};

/// Position of a thread among others.
type Order = (Option<u64>, Option<u64>, Vec<u64>);

/// Letters for the functions that have a letter of their own.
const LETTERS: &str = "abcdefghijklmnopqrstuvwxyz";

/// Number of functions that are listed by themselves.
const NUMBER: usize = 10;

/// Width of a strip if there is no terminal.
const WIDTH: usize = 64;

/// Least width of a strip.
const WIDTH_MIN: usize = 16;

/// Colours in which letters are painted, one after another.
const COLORS: [AnsiColor; 6] = [
    AnsiColor::Red,
    AnsiColor::Green,
    AnsiColor::Yellow,
    AnsiColor::Blue,
    AnsiColor::Magenta,
    AnsiColor::Cyan,
];

/// Show what each thread did when, and how long it was in which function.
///
/// Time goes from left to right. Each letter of a line is the function that took most of that
/// stretch of time; `*` is one without a letter, `.` is idle, a blank is before the first sample or
/// after the last. A sample lasts until the next one of its thread. In recordings of calls, a function
/// lasts from its call to its return.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("\
EXAMPLES
  kymo trace hpctoolkit-app-database               the innermost functions
  kymo trace --depth 2 hpctoolkit-app-database     two calls below the entry point
  kymo trace --since +1s --until +2s DATABASE      one second of it
  kymo trace --json DATABASE                       one JSON object a thread and function

{}

EXIT STATUS
  0 done, 1 unreadable or no traces, 2 bad usage, 3 read, with findings", moment::MOMENTS))]
pub(crate) struct Args {
    /// Files or directories.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Calls below the entry point; the innermost function where it is left out.
    #[arg(short, long, value_name = "CALLS")]
    depth: Option<usize>,

    /// Number of functions to list: those that took longest. 0 lists all, which --json and --csv do
    /// by themselves; otherwise it is 10.
    #[arg(short, long, value_name = "ROWS")]
    number: Option<usize>,

    /// Not before this moment.
    #[arg(long, value_name = "MOMENT", allow_hyphen_values = true)]
    since: Option<Moment>,

    /// Before this moment.
    #[arg(long, value_name = "MOMENT", allow_hyphen_values = true)]
    until: Option<Moment>,

    #[command(flatten)]
    threads: ThreadArgs,

    #[command(flatten)]
    rows: RowArgs,

    #[command(flatten)]
    open: OpenArgs,
}

pub(crate) fn run(session: &mut Session, args: &Args) -> anyhow::Result<Outcome> {
    let inputs = session.expand(&args.files, &args.open.format);
    let mut is_first = true;
    let mut rows = args.rows.rows();
    session.each_dataset(inputs, &args.open, |session, opened| {
        let width = width(session);
        let (tracks, found, doubts) = read(args, opened, width)?;
        if found.lines.is_empty() {
            return report_no_samples(session, opened, rows.is_none());
        }
        if let Some(rows) = &mut rows {
            print_rows(session, args, rows, opened, &tracks, &found)?;
        } else {
            profiles::begin(session, &mut is_first)?;
            print(session, args, opened, &tracks, &found)?;
        }
        if found.clocks > 1 {
            let _ = session.out.flush();
            let text = format!(
                "threads are on {} clocks that began at different times: each line shows all the time of its own",
                found.clocks
            );
            session.report.remark(&opened.name, text);
        }
        let outcome = report_backward_times(session, opened, &found);
        let outcome = outcome.max(profiles::report_caveats(session, opened, &doubts));
        let outcome = outcome.max(report_unknown_contexts(session, opened, &found));
        Ok(outcome.max(session.findings(opened)))
    })
}

/// Says that there are traces, and no sample in them. Where that is no damage, threads had nothing to
/// sample.
fn report_no_samples(
    session: &mut Session,
    opened: &OpenedFile,
    is_for_people: bool,
) -> anyhow::Result<Outcome> {
    if is_for_people {
        writeln!(session.out, "{}: no samples", opened.name)?;
    }
    let _ = session.out.flush();
    if opened.dataset.findings().is_empty() {
        let text = "its traces have no samples; `kymo top` shows what its profile has";
        session.report.remark(&opened.name, text.to_owned());
    }
    Ok(session.findings(opened))
}

/// Says that times are wrong because samples are not in the order of time.
fn report_backward_times(session: &mut Session, opened: &OpenedFile, found: &Traced) -> Outcome {
    if found.backwards == 0 {
        return Outcome::Done;
    }
    let _ = session.out.flush();
    let samples = numbers::count(found.backwards, "sample is", "samples are");
    let text = format!("{samples} before the one before, so that some times are wrong");
    session.report.remark(&opened.name, text);
    Outcome::Findings
}

/// Says that samples are of contexts that are not there.
fn report_unknown_contexts(session: &mut Session, opened: &OpenedFile, found: &Traced) -> Outcome {
    if found.unknown == 0 {
        return Outcome::Done;
    }
    let _ = session.out.flush();
    let contexts = numbers::count(found.unknown as u64, "context that is", "contexts that are");
    let text = format!("samples are of {contexts} not in the tree: do its files belong together?");
    session.report.remark(&opened.name, text);
    Outcome::Findings
}

/// Returns the number of functions that are listed, of so many.
fn listed(number: usize, all: usize) -> usize {
    if number == 0 { all } else { number.min(all) }
}

/// Returns the width of a strip: half of the terminal, so that names have room.
fn width(session: &Session) -> usize {
    session.out.columns().map_or(WIDTH, |columns| (columns / 2).max(WIDTH_MIN))
}

/// The tracks, where threads were, and what does not fit in that.
type Read = (Tracks, Traced, Vec<String>);

fn read(args: &Args, opened: &OpenedFile, width: usize) -> anyhow::Result<Read> {
    let (mut profile, mut timeline) = (opened.dataset.profile(), opened.timeline());
    if profile.is_none()
        && let Some(calls) = profiles::calls_of(opened)?
    {
        (profile, timeline) = (Some(calls.profile()), Some(calls.samples()));
    }
    let tracks = timeline.as_ref().map(|timeline| timeline.tracks()).unwrap_or_default();
    let (Some(view), Some(timeline)) = (profile, timeline) else {
        if tracks.iter().any(|track| track.kind == TrackKind::Samples) {
            let failure = Failure::new("there is no profile in it to tell what its samples are of");
            let hint = "put the profiles beside the traces; `kymo dump --stream '*'` shows samples";
            let is_part = opened.dataset.is_part();
            return Err(failure.hint(if is_part { profiles::PART } else { hint }).into());
        }
        let failure = Failure::new("there are no traces of calling contexts in it");
        return Err(failure.hint(profiles::elsewhere_hint(opened)).into());
    };
    let names = match args.threads.thread_set(view.as_ref())? {
        None => None,
        Some(threads) => {
            let name = |id| Ok(view.thread(id)?.to_string());
            Some(threads.iter().map(name).collect::<kymo_core::Result<HashSet<_>>>()?)
        }
    };
    let is_meant = |track: &Track| {
        let is_named = names.as_ref().is_none_or(|names| names.contains(track.thread()));
        track.kind == TrackKind::Samples && is_named
    };
    let chosen = tracks.iter().enumerate().filter(|(_, track)| is_meant(track));
    let chosen: Vec<_> = chosen.map(|(id, _)| TrackId(id)).collect();
    if chosen.is_empty() {
        return Err(Failure::new("no thread that is asked for has a trace").into());
    }
    let (from, until) = moment::resolve_range(args.since, args.until, &timeline, Some(&chosen))?;
    let window = Window { tracks: Some(chosen.clone()), from, until, last: None };
    let mut found = traced(view.as_ref(), &Arc::clone(&timeline), &window, args.depth, width)?;
    let is_part = from.is_some() || until.is_some();
    if found.lines.is_empty() && is_part && moment::range_of(&timeline, Some(&chosen)).is_ok() {
        let failure = Failure::new("no thread has samples from --since to --until");
        let hint = format!("`kymo ls -s {}` says when there are some", quoted(&opened.name));
        return Err(failure.hint(hint).into());
    }
    let orders = orders(view.as_ref())?;
    let name = |line: &TracedLine| tracks.get(line.track.0).map(Track::thread);
    found.lines.sort_by_key(|line| (name(line).and_then(|name| orders.get(name)), line.track));
    Ok((tracks, found, view.caveats()))
}

/// Returns the positions of threads among others, by their names.
fn orders(view: &dyn ProfileView) -> kymo_core::Result<HashMap<String, Order>> {
    let ids = (0..).map(ThreadId).take(view.thread_count());
    ids.map(|id| view.thread(id).map(|thread| (thread.to_string(), profiles::order(&thread))))
        .collect()
}

/// Functions, the one that took longest first, each with how long.
fn functions_by_time(found: &Traced) -> Vec<(usize, u64)> {
    let mut spent = vec![0_u64; found.functions.len()];
    for (function, lasted) in found.lines.iter().flat_map(|line| &line.spent) {
        if let Some(to) = spent.get_mut(*function) {
            *to = to.saturating_add(*lasted);
        }
    }
    let mut spent: Vec<_> = spent.into_iter().enumerate().filter(|(_, ns)| *ns > 0).collect();
    let name = |function: usize| found.functions.get(function);
    spent.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| name(a.0).cmp(&name(b.0))));
    spent
}

fn seconds(ns: u64) -> f64 {
    std::time::Duration::from_nanos(ns).as_secs_f64()
}

/// Legend of the letters that stand for each function in strips.
struct Legend {
    /// By function.
    letters: Vec<Option<(char, Style)>>,
}

impl Legend {
    fn new(found: &Traced, spent: &[(usize, u64)]) -> Self {
        let mut letters = vec![None; found.functions.len()];
        let colors = COLORS.into_iter().cycle().map(AnsiColor::on_default);
        let name = |function: usize| found.functions.get(function).map_or("", String::as_str);
        let (idle, busy): (Vec<usize>, Vec<usize>) =
            spent.iter().map(|(function, _)| *function).partition(|id| name(*id) == IDLE);
        let idle = idle.into_iter().map(|function| (function, ('.', style::FAINT)));
        for (function, sign) in idle.chain(busy.into_iter().zip(LETTERS.chars().zip(colors))) {
            if let Some(letter) = letters.get_mut(function) {
                *letter = Some(sign);
            }
        }
        Self { letters }
    }

    fn sign(&self, function: Option<usize>) -> (char, Style) {
        let Some(function) = function else { return (' ', Style::new()) };
        self.letters.get(function).copied().flatten().unwrap_or(('*', Style::new()))
    }
}

fn print(
    session: &mut Session,
    args: &Args,
    opened: &OpenedFile,
    tracks: &[Track],
    found: &Traced,
) -> anyhow::Result<()> {
    let out = &mut session.out;
    let paint = out.paint();
    let (bold, faint) = (paint.style(style::TITLE), paint.style(style::FAINT));
    let samples: u64 = found.lines.iter().map(|line| line.samples).sum();
    let samples = numbers::count(samples, "sample", "samples");
    let threads = numbers::count(found.lines.len() as u64, "thread", "threads");
    let span = measure::value(seconds(found.span_ns));
    writeln!(out, "{bold}{}{bold:#}: {samples} of {threads} in {span} s", opened.name)?;
    let spent = functions_by_time(found);
    let legend = Legend::new(found, &spent);
    let total: u64 = spent.iter().fold(0, |total, (_, ns)| total.saturating_add(*ns));
    writeln!(out, "{faint}{:>13}  {:>6}    function{faint:#}", "time (sec)", "")?;
    let listed = listed(args.number.unwrap_or(NUMBER), spent.len());
    let columns = out.columns();
    let room = |taken| columns.map_or(usize::MAX, |columns| columns.saturating_sub(taken).max(16));
    for (function, ns) in spent.iter().take(listed) {
        let (letter, color) = legend.sign(Some(*function));
        let color = paint.style(color);
        let share = measure::share(seconds(*ns), seconds(total));
        let (time, name) = (measure::value(seconds(*ns)), name(found, *function));
        let name = measure::fitted(&name, room(25));
        writeln!(out, "{time:>13}  {share:>6}  {color}{letter} {name}{color:#}")?;
    }
    let more = spent.len() - listed;
    if more > 0 {
        writeln!(out, "{faint}{:>21}  {more} more (-n 0 shows all){faint:#}", "…")?;
    }
    let place = |line: &TracedLine| u64::try_from(line.track.0).unwrap_or(u64::MAX);
    let names = found.lines.iter().map(|line| (track_name(tracks, line).to_owned(), place(line)));
    for (line, name) in found.lines.iter().zip(profiles::distinct_thread_names(names.collect())) {
        let name = measure::fitted_end(&escaped(&name), room(line.strip.len() + 4));
        let strip = strip(line, &legend, |style| paint.style(style));
        writeln!(out, "|{strip}|  {name}")?;
    }
    Ok(())
}

/// A strip of letters. Neighbours of one colour are painted together.
fn strip(line: &TracedLine, legend: &Legend, paint: impl Fn(Style) -> Style) -> String {
    use std::fmt::Write;
    let mut strip = String::new();
    let signs: Vec<_> = line.strip.iter().map(|function| legend.sign(*function)).collect();
    for run in signs.chunk_by(|a, b| a.1 == b.1) {
        let color = paint(run.first().map_or(Style::new(), |(_, style)| *style));
        let letters: String = run.iter().map(|(letter, _)| *letter).collect();
        let _ = write!(strip, "{color}{letters}{color:#}");
    }
    strip
}

fn name(found: &Traced, function: usize) -> std::borrow::Cow<'_, str> {
    escaped(found.functions.get(function).map_or("", String::as_str))
}

fn track_name<'a>(tracks: &'a [Track], line: &TracedLine) -> &'a str {
    tracks.get(line.track.0).map_or("", |track| track.name.as_str())
}

fn print_rows(
    session: &mut Session,
    args: &Args,
    rows: &mut Rows,
    opened: &OpenedFile,
    tracks: &[Track],
    found: &Traced,
) -> anyhow::Result<()> {
    let spent = functions_by_time(found);
    let listed = listed(args.number.unwrap_or(0), spent.len());
    let listed: HashSet<usize> = spent.iter().take(listed).map(|(function, _)| *function).collect();
    for line in &found.lines {
        let total: u64 = line.spent.iter().fold(0, |total, (_, ns)| total.saturating_add(*ns));
        for (function, ns) in line.spent.iter().filter(|(function, _)| listed.contains(function)) {
            let object = json!({
                "file": opened.name,
                "thread": tracks.get(line.track.0).map_or("", Track::thread),
                "function": found.functions.get(*function),
                "time_ns": ns,
                "total_ns": total,
                "track": line.track.0,
            });
            rows.row(&mut session.out, &object)?;
        }
    }
    Ok(())
}
