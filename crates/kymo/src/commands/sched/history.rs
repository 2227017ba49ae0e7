//! Every stretch that a task ran, a line each.

use std::io::{self, Write};

use kymo_model::timeline::{Clock, DisplayTime, TimeNs, TrackId};
use kymo_query::{Buckets, CpuId, History, TaskRun, Tasks};
use serde_json::json;

use crate::output::Output;
use crate::render::columns::{GAP, width_of};
use crate::render::fit::NAME_MIN;
use crate::render::grid::{GridArgs, Look};
use crate::render::listing::more_rows;
use crate::render::streamed::{Column, REST, Streamed};
use crate::render::{escaped, measure, rows, style};
use crate::scope::{EventNeeds, Scope};
use crate::session::{OpenedFile, Outcome, Session};

/// Writes every stretch as it ends, at most so many; nothing writes all.
pub(super) fn print(
    session: &mut Session,
    opened: &OpenedFile,
    scope: &Scope,
    how: GridArgs,
    most: usize,
) -> anyhow::Result<Outcome> {
    let mut analysis = scope.analysis(EventNeeds::Activities)?;
    let tracks = (0..analysis.tracks().len()).map(TrackId);
    let is_meant: Vec<_> = tracks.map(|track| analysis.is_selected_itself(track)).collect();
    let clocks = scope.timeline.clocks();
    let places = session.out.columns();
    let times = Times::new(scope, places);
    let columns = columns(times.width, analysis.tasks(), places.is_some());
    let table = Streamed::new(&columns, LESSER, places);
    let (out, file) = (&mut session.out, opened.name.as_str());
    let mut lines = Lines { out, how, file, clocks: &clocks, times, table: &table };
    lines.header()?;
    let (mut count, mut written) = (0, Ok(()));
    let mut take = |turn: TaskRun, tasks: &Tasks| {
        let is_meant = is_meant.get(turn.stretch.track.0).copied().unwrap_or(false);
        if tasks.is_idle(turn.stretch.task) || !is_meant {
            return;
        }
        count += 1;
        if written.is_ok() && (most == 0 || count <= most) {
            written = lines.write_run(&turn, tasks);
        }
    };
    let short = analysis.run(&mut [&mut History::new(&mut take)])?;
    written?;
    if how.is_text() {
        table.end(&mut session.out)?;
        more_rows(&mut session.out, if most > 0 { count.saturating_sub(most) } else { 0 })?;
    }
    Ok(scope.report_diagnostics(session, opened, &analysis, &short))
}

/// The names that CSV begins with.
const CSV: &str =
    "file,time_ns,recording,cpu,wait_ns,delay_ns,run_ns,is_cut,priority,task_id,task,label";

/// Columns that tell less than others, the least first.
const LESSER: &[&str] = &["priority", "delay", "wait", "cpu", "run", "until"];

/// The places that the name of a processor takes in a terminal at the most.
const CPU_MAX: usize = 24;

/// Width of a duration: `≥12.34 ms`.
const DURATION: usize = 9;

/// Notation of timestamps.
struct Times {
    /// The moment that they are counted from, and how it is shown, where a terminal has no room for
    /// them as they are.
    first: Option<(TimeNs, String)>,
    /// The places that they take.
    width: usize,
}

impl Times {
    fn new(scope: &Scope, places: Option<usize>) -> Self {
        let Ok(Buckets { start, end, .. }) = scope.buckets(1) else {
            return Self { first: None, width: 0 };
        };
        let [first, last] = [start, end].map(|time| scope.shown(time).to_string());
        let width = width_of(&first).max(width_of(&last));
        if places.is_none_or(|places| width + DURATION + NAME_MIN + 2 * GAP <= places) {
            return Self { first: None, width };
        }
        Self { width: width_of(&measure::seconds_after(start, end)), first: Some((start, first)) }
    }

    fn shown(&self, clock: Option<&Clock>, time: TimeNs) -> String {
        let after = self.first.as_ref().map(|(first, _)| measure::seconds_after(*first, time));
        after.unwrap_or_else(|| DisplayTime::on_clock(clock, time).to_string())
    }
}

/// Returns the columns that a person reads. Processors take as many places as their names do.
fn columns(until: usize, tasks: &Tasks, is_terminal: bool) -> [Column; 7] {
    let cpus = (0..tasks.cpu_count()).filter_map(|cpu| tasks.cpu(CpuId(cpu)));
    let cpu = cpus.map(|cpu| width_of(&escaped(&cpu.name))).max().unwrap_or(0);
    let cpu = if is_terminal { cpu.min(CPU_MAX) } else { cpu };
    [
        ("until", Look::Count, until.max("until".len())),
        ("wait", Look::Duration, DURATION),
        ("delay", Look::Duration, DURATION),
        ("run", Look::Duration, DURATION),
        ("priority", Look::Count, 8),
        ("cpu", Look::Plain, cpu.max("cpu".len())),
        ("task", Look::Name, REST),
    ]
}

/// Writes lines of stretches.
struct Lines<'a> {
    out: &'a mut Output,
    how: GridArgs,
    file: &'a str,
    clocks: &'a [Clock],
    times: Times,
    table: &'a Streamed<'a>,
}

impl Lines<'_> {
    fn header(&mut self) -> io::Result<()> {
        if self.how.json {
            return Ok(());
        }
        if self.how.csv {
            return writeln!(self.out, "{CSV}");
        }
        let paint = self.out.paint();
        let (bold, faint) = (paint.style(style::TITLE), paint.style(style::FAINT));
        writeln!(self.out, "{bold}{}{bold:#}", self.file)?;
        if let Some((_, first)) = &self.times.first {
            writeln!(self.out, "{faint}after {first}{faint:#}")?;
        }
        self.table.header(self.out)
    }

    fn write_run(&mut self, turn: &TaskRun, tasks: &Tasks) -> io::Result<()> {
        let TaskRun { stretch, run_ns, is_cut, wait_ns, delay_ns, priority } = *turn;
        let on = tasks.cpu(stretch.cpu);
        let cpu = on.map_or("", |cpu| cpu.name.as_str());
        let (recording, task_id) = (tasks.recording(stretch.task), tasks.task_id(stretch.task));
        let (task, label) = (tasks.name(stretch.task), tasks.label(stretch.task));
        let times = [wait_ns, delay_ns, run_ns];
        if self.how.json {
            let [wait, delay, run] = times;
            return self.out.json(&json!({
                "file": self.file, "time_ns": stretch.until.0, "recording": recording, "cpu": cpu,
                "wait_ns": wait, "delay_ns": delay, "run_ns": run, "is_cut": is_cut,
                "priority": priority, "task_id": task_id, "task": task, "label": label,
            }));
        }
        if self.how.csv {
            let number = |ns: Option<u64>| ns.map_or(String::new(), |ns| ns.to_string());
            let [wait, delay, run] = times.map(number);
            let (time, recording) = (stretch.until.0.to_string(), recording.to_string());
            let plain =
                |number: Option<i64>| number.map_or(String::new(), |value| value.to_string());
            let (priority, id, is_cut) = (plain(priority), plain(task_id), is_cut.to_string());
            let when = [self.file, &time, &recording, cpu, &wait, &delay, &run];
            return csv(self.out, &[&when[..], &[&is_cut, &priority, &id, task, &label]].concat());
        }
        let clock = on.and_then(|cpu| self.clocks.get(cpu.clock?.0));
        let time = self.times.shown(clock, stretch.until);
        let [wait, delay, run] =
            times.map(|ns| ns.map_or_else(|| "-".to_owned(), measure::duration));
        let run = if is_cut { format!("≥{run}") } else { run };
        let priority = priority.map_or_else(|| "-".to_owned(), |priority| priority.to_string());
        let (cpu, task) = (escaped(cpu).into_owned(), escaped(&label).into_owned());
        self.table.row(self.out, &[time, wait, delay, run, priority, cpu, task])
    }
}

fn csv(out: &mut Output, cells: &[&str]) -> io::Result<()> {
    let mut line = Vec::new();
    for (at, cell) in cells.iter().enumerate() {
        if at > 0 {
            line.push(b',');
        }
        rows::write_cell(cell.as_bytes(), &mut line);
    }
    line.push(b'\n');
    out.write_all(&line)
}
