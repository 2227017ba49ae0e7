//! `kymo report`: one page with everything that can be said of a recording.

mod page;

use std::path::PathBuf;

use kymo_analyse::{Load, Messages, Sched, States};
use kymo_core::model::timeline::Shown;

use super::assert::{self, Checked};
use super::gantt::Drawn;
use crate::cli::OpenArgs;
use crate::moment::MOMENTS;
use crate::picture::{self, svg};
use crate::render::grid::{Grid, GridArgs};
use crate::render::numbers;
use crate::scope::{Scope, ScopeArgs};
use crate::session::{Opened, Outcome, Session};
use page::Page;

/// Write a page about a recording: overview, loads, response times, messages, states, a Gantt
/// chart, and where rules do not hold.
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

    /// The page to write.
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,

    /// A file of rules; `kymo help assert` shows what it looks like.
    #[arg(long, value_name = "RULES")]
    rules: Option<PathBuf>,

    /// How many rows a table has at the most; 0 shows all.
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

/// Marks of loads over time.
const PARTS: usize = 24;

pub(crate) fn run(session: &mut Session, args: &Args) -> anyhow::Result<Outcome> {
    let inputs = vec![Ok(args.input.clone())];
    session.each_dataset(inputs, &args.open, |session, opened| {
        let scope = args.scope.of(opened)?;
        let mut page = Page::new(&opened.name);
        overview(&mut page, opened, &scope);
        figures(&mut page, session, args, opened, &scope)?;
        let outcome = match &args.rules {
            Some(path) => violations(&mut page, session, opened, &scope, path)?,
            None => Outcome::Done,
        };
        let findings = opened.dataset.findings();
        page.findings(&findings);
        let bytes = page.finish().into_bytes();
        picture::write(&opened.source, &args.output, args.force, &bytes)?;
        Ok(outcome.max(session.findings(opened)))
    })
}

fn overview(page: &mut Page, opened: &Opened, scope: &Scope) {
    let summary = opened.dataset.summary();
    let (info, timeline) = (opened.format.info(), &scope.timeline);
    let mut rows = vec![
        ("file".to_owned(), opened.name.clone()),
        ("format".to_owned(), format!("{}, {}", info.title, summary.dialect)),
        ("size".to_owned(), numbers::size(opened.source.size_bytes())),
        ("streams".to_owned(), numbers::grouped(timeline.tracks().len() as u64)),
    ];
    if let Ok(buckets) = scope.buckets(1) {
        let since_epoch = timeline.clocks().first().is_some_and(|clock| clock.since_epoch);
        let shown = |time| Shown { time, since_epoch }.to_string();
        rows.push(("from".to_owned(), shown(buckets.start)));
        rows.push(("to".to_owned(), shown(buckets.begin(1))));
    }
    page.facts(&rows);
}

/// Everything that is worked out on one way through the events, and the chart on another.
fn figures(
    page: &mut Page,
    session: &mut Session,
    args: &Args,
    opened: &Opened,
    scope: &Scope,
) -> anyhow::Result<()> {
    let mut load = scope.buckets(PARTS).map_or_else(|_| Load::new(), Load::over);
    let (mut sched, mut messages) = (Sched::new(), Messages::new());
    let mut states = States::until(scope.until());
    let passes: &mut [&mut dyn kymo_analyse::Pass] =
        &mut [&mut load, &mut sched, &mut messages, &mut states];
    let analysis = scope.run(session, opened, passes)?;
    let tasks = analysis.tasks();
    if let Ok(drawn) = Drawn::new(session, opened, scope, CHART.0, CHART.1) {
        page.heading("Tasks over time");
        page.svg(&svg::text(&drawn.picture(""))?);
        drawn.say_left_out(session, opened);
    }
    let cpus = load.cpus(tasks);
    if !cpus.is_empty() {
        page.heading("Loads");
    }
    for cpu in &cpus {
        let name = tasks.cpu(cpu.cpu).map_or("", |cpu| &cpu.name);
        page.caption(&super::load::heading(name, cpu));
        let how = GridArgs::default();
        page.table(super::load::table(name, cpu, &load, tasks, how), args.number);
    }
    let mut section = |title: &str, grid: Grid| {
        if grid.len() > 0 {
            page.heading(title);
            page.table(grid, args.number);
        }
    };
    section("Response times", super::sched::table(&sched, tasks, |task| task.stretch_ns.sum()));
    section("Messages", super::messages::table(&messages, &analysis));
    section("States", super::states::table(&states, &analysis));
    Ok(())
}

fn violations(
    page: &mut Page,
    session: &mut Session,
    opened: &Opened,
    scope: &Scope,
    path: &std::path::Path,
) -> anyhow::Result<Outcome> {
    let checked = Checked::new(session, opened, scope, assert::rules::read(path)?)?;
    page.heading("Rules");
    let broken = checked.violations.len() as u64 + checked.more;
    let rules = numbers::count(checked.rules() as u64, "rule", "rules");
    let times = numbers::count(broken, "violation", "violations");
    page.caption(&format!("{rules}, {times}"));
    let rows = checked.violations.iter().map(|violation| {
        let cells = [checked.name(violation), &checked.time(violation), checked.stream(violation)];
        let mut row = cells.map(str::to_owned).to_vec();
        row.push(violation.message.clone());
        row
    });
    if broken > 0 {
        page.rows(&["rule", "time", "stream", "what"], rows);
    }
    let outcome = if broken > 0 { Outcome::Findings } else { Outcome::Done };
    Ok(outcome.max(checked.say_idle(session, opened)))
}
