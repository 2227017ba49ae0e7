//! `kymo report`: one page with everything that can be said of a recording.

mod arrays;
mod page;
mod profile;
mod streams;

use std::io::Write;
use std::path::PathBuf;
use std::slice;

use kymo_core::refuse_overlap;
use kymo_query::{Analysis, Load, Messages, Pass, Sched, States, Wakeups};

use super::assert::RuleResults;
use super::assert::rules::RulesFile;
use super::messages::chart::Chart;
use super::messages::{ENDS_MAX, FoundMessages, not_drawn};
use super::sched::Times;
use super::{gantt, load};
use crate::cli::OpenArgs;
use crate::moment::MOMENTS;
use crate::outlet;
use crate::picture::{self, svg};
use crate::render::{measure, numbers};
use crate::scope::{EventNeeds, Scope, ScopeArgs};
use crate::session::{OpenedFile, Outcome, Session};
use page::Page;

/// Write a page about a recording: overview, loads, response times, messages, states, a Gantt
/// chart, and where rules do not hold.
///
/// Of a profile it has the metrics, a flame graph, the functions that spent most, and threads; of streams
/// without tasks how many events there are, how often, over time, and which names or messages are most
/// frequent; of arrays the range of each variable.
///
/// The page is one file of HTML that needs nothing else, no script and no network.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("\
EXAMPLES
  kymo report trace -o report.html
  kymo report trace -o report.html --rules rules.toml    with what does not hold
  kymo report trace -o part.html --since +1s --until +2s

{MOMENTS}

EXIT STATUS
  0 done, 1 failed, 2 bad usage or rules, 3 done, with findings or rules that do not hold"))]
pub(crate) struct Args {
    /// The file or directory to read; `-` is standard input.
    #[arg(value_name = "FILE")]
    input: PathBuf,

    /// The page to write; `-` is standard output.
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,

    /// A file of rules; `kymo help assert` shows what it looks like. `-` is standard input.
    #[arg(long, value_name = "RULES")]
    rules: Option<PathBuf>,

    /// Greatest number of rows that a table has; 0 shows all.
    #[arg(short, long, default_value = "30", value_name = "ROWS")]
    number: usize,

    /// Replace OUT if it exists.
    #[arg(short, long)]
    force: bool,

    #[command(flatten)]
    scope: ScopeArgs,

    #[command(flatten)]
    open: OpenArgs,
}

/// Rows and cells of the chart.
const CHART: (usize, usize) = (40, 1000);

/// Messages of the sequence diagram.
const TRANSFERS: usize = 30;

/// Marks of loads over time.
const PARTS: usize = 24;

pub(crate) fn run(session: &mut Session, args: &Args) -> anyhow::Result<Outcome> {
    let inputs = vec![Ok(args.input.clone())];
    let rules = args.rules.as_ref().map(|path| RulesFile::read(path, slice::from_ref(&args.input)));
    let rules = rules.transpose()?;
    if let Some(rules) = &args.rules {
        let refused = refuse_overlap(rules, &args.output);
        refused.map_err(|error| outlet::about(&args.output, error))?;
    }
    session.each_dataset(inputs, &args.open, |session, opened| {
        // What is asked of events is refused where there are none.
        let has_events = opened.timeline().is_some();
        let needs_events = rules.is_some() || !args.scope.is_all();
        let scope = (has_events || needs_events).then(|| args.scope.resolve(opened)).transpose()?;
        let mut page = Page::new(&opened.name);
        overview(&mut page, opened, scope.as_ref());
        let mut rest = Page::part();
        let mut outcome = Outcome::Done;
        if let Some(scope) = &scope {
            outcome = figures(&mut rest, session, args, opened, scope)?;
            // What is wrong stands before all figures.
            if let Some(rules) = &rules {
                outcome = outcome.max(violations(&mut page, session, args, opened, scope, rules)?);
            }
            page.remarks(&scope.messages());
        }
        let has_figures = !rest.is_empty();
        if !has_figures {
            contents(&mut rest, opened);
        }
        // Calls of functions may be there beside tasks and messages.
        outcome = outcome.max(profile::add(&mut rest, session, args, opened)?);
        if !has_figures {
            if let Some(scope) = &scope {
                streams::add(&mut rest, args, scope)?;
            }
            arrays::add(&mut rest, args, opened.dataset.arrays())?;
        }
        let findings = opened.dataset.findings();
        page.findings(&findings);
        page.append(&rest);
        let bytes = page.finish().into_bytes();
        if args.output.as_os_str() == "-" {
            session.out.write_all(&bytes)?;
        } else {
            picture::write(&opened.source, &args.output, args.force, &bytes)?;
        }
        Ok(outcome.max(session.findings(opened)))
    })
}

fn overview(page: &mut Page, opened: &OpenedFile, scope: Option<&Scope>) {
    let summary = opened.dataset.summary();
    let title = opened.format.info().title;
    let format = match summary.dialect.as_str() {
        "" => title.to_owned(),
        dialect => format!("{title}, {dialect}"),
    };
    let mut rows = vec![
        ("file".to_owned(), opened.name.clone()),
        ("format".to_owned(), format),
        ("size".to_owned(), numbers::size(opened.size_bytes())),
    ];
    if let Some(scope) = scope {
        let streams = scope.timeline.tracks().len() as u64;
        rows.push(("streams".to_owned(), numbers::grouped(streams)));
        if let Ok(buckets) = scope.buckets(1) {
            rows.push(("from".to_owned(), scope.shown(buckets.start).to_string()));
            rows.push(("to".to_owned(), scope.shown(buckets.end).to_string()));
        }
    }
    page.facts(&rows);
}

/// Writes what the file states about itself, as `kymo info` has it.
fn contents(page: &mut Page, opened: &OpenedFile) {
    let summary = opened.dataset.summary();
    let rows = summary.facts.iter().map(|fact| {
        let value = numbers::fact(&fact.value);
        let detail =
            if fact.detail.is_empty() { String::new() } else { format!(" ({})", fact.detail) };
        (fact.name.to_owned(), value + &detail)
    });
    let rows: Vec<_> = rows.collect();
    if !rows.is_empty() {
        page.heading("Contents");
        page.facts(&rows);
    }
    for section in summary.sections.iter().filter(|section| !section.rows.is_empty()) {
        page.caption(section.title);
        let rows: Vec<_> =
            section.rows.iter().map(|row| (row.name.clone(), row.text.clone())).collect();
        page.facts(&rows);
        if section.more > 0 {
            page.remarks(&[format!("{} more", numbers::grouped(section.more as u64))]);
        }
    }
}

/// Everything that is worked out on one way through the events, and the chart on another.
fn figures(
    page: &mut Page,
    session: &mut Session,
    args: &Args,
    opened: &OpenedFile,
    scope: &Scope,
) -> anyhow::Result<Outcome> {
    // What the chart needs is gone before the figures of all tasks are there.
    gantt(page, session, opened, scope)?;
    let mut load = scope.buckets(PARTS).map_or_else(|_| Load::new(), Load::with_buckets);
    let (mut sched, mut states) = (Sched::new(), States::new());
    let (mut messages, mut wakeups) = (Messages::new(), Wakeups::new());
    let mut analysis = scope.analysis(EventNeeds::Everything)?;
    let passes: &mut [&mut dyn Pass] =
        &mut [&mut load, &mut sched, &mut messages, &mut wakeups, &mut states];
    let mut outcome = scope.run(session, opened, &mut analysis, passes)?;
    loads(page, args, scope, &mut load, &analysis);
    let table = super::sched::table(&sched, &analysis, |task| task.stretch_ns.sum(), args.number);
    page.section("Response times", table, args.number);
    for (times, title) in Times::TITLES.iter().filter(|(times, _)| times.has_any(&sched)) {
        let table = times.table(&sched, &analysis, |task| task.stretch_ns.sum(), args.number);
        page.section(title, table, args.number);
    }
    let table = super::states::table(&states, &analysis);
    let found = FoundMessages::from_analysis(analysis, messages, wakeups);
    outcome = outcome.max(found.report_caveats(session, opened, scope));
    sequence(page, session, args, opened, scope, &found)?;
    page.section("States", table, args.number);
    Ok(outcome)
}

/// Messages as a table and as a sequence diagram.
fn sequence(
    page: &mut Page,
    session: &mut Session,
    args: &Args,
    opened: &OpenedFile,
    scope: &Scope,
    found: &FoundMessages,
) -> anyhow::Result<()> {
    let table = found.table();
    if table.len() == 0 {
        return Ok(());
    }
    let wakeups = "Wakeups: from who woke a task to when it ran";
    page.section(if found.is_wakeups() { wakeups } else { "Messages" }, table, args.number);
    let (sequence, ends_left_out) = found.sequence(session, opened, scope, TRANSFERS, ENDS_MAX)?;
    page.caption("The first between those that have most, in the order in which they left:");
    let chart = Chart::new(&sequence, &found.analysis, scope.timeline.as_ref());
    page.svg(&svg::text(&chart.picture())?);
    let left_out = not_drawn(&sequence, ends_left_out, ENDS_MAX).into_iter().map(|(text, _)| text);
    page.remarks(&left_out.collect::<Vec<_>>());
    Ok(())
}

fn gantt(
    page: &mut Page,
    session: &mut Session,
    opened: &OpenedFile,
    scope: &Scope,
) -> anyhow::Result<()> {
    let drawn = gantt::DrawnChart::new(session, opened, scope, CHART.0, CHART.1)?;
    let Some((drawn, _)) = drawn else { return Ok(()) };
    page.heading("Tasks over time");
    // The picture says what is not drawn.
    page.svg(&svg::text(&drawn.picture(""))?);
    Ok(())
}

fn loads(page: &mut Page, args: &Args, scope: &Scope, loads: &mut Load, analysis: &Analysis) {
    let tasks = analysis.tasks();
    let cpus = load::cpus(loads, analysis, scope);
    if cpus.is_empty() {
        return;
    }
    page.heading("Loads");
    for cpu in &cpus {
        let name = tasks.cpu(cpu.cpu).map_or("", |cpu| &cpu.name);
        page.caption(&load::heading(tasks, cpu, scope));
        let table = load::Table::new(name, (cpu, load::is_one(cpu, tasks)), loads);
        page.table(table.grid(tasks, args.number), args.number);
    }
    if let Some(text) = load::idle_by_name(&cpus, scope, analysis) {
        page.caption(&text);
    }
}

fn violations(
    page: &mut Page,
    session: &mut Session,
    args: &Args,
    opened: &OpenedFile,
    scope: &Scope,
    rules: &RulesFile,
) -> anyhow::Result<Outcome> {
    let checked = RuleResults::new(session, opened, scope, rules)?;
    page.heading("Rules");
    let broken = checked.broken();
    let rules = numbers::count(checked.rules() as u64, "rule", "rules");
    let times = numbers::count(broken, "violation", "violations");
    page.caption(&format!("{rules}, {times}"));
    let told = if args.number == 0 { checked.violations.len() } else { args.number };
    let rows = checked.violations.iter().take(told).map(|violation| {
        let cells = [checked.name(violation), &checked.time(violation), &checked.label(violation)];
        let mut row = cells.map(str::to_owned).to_vec();
        row.push(violation.message(measure::duration));
        row
    });
    if broken > 0 {
        page.rows(&["rule", "time", "stream", "what"], rows);
    }
    page.remarks(&checked.omitted_violations(told));
    page.remarks(&checked.vacuous());
    Ok(checked.report(session, opened))
}
