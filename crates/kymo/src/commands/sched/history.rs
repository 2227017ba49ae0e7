//! Every stretch that a task ran, a line each.

use std::io::{self, Write};

use kymo_analyse::{History, Tasks, Turn};
use kymo_core::model::timeline::{Clock, Shown, TrackId};
use serde_json::json;

use crate::output::Output;
use crate::render::grid::GridArgs;
use crate::render::listing::more_rows;
use crate::render::{escaped, measure, rows, style};
use crate::scope::{Reading, Scope};
use crate::session::{Opened, Outcome, Session};

/// Writes every stretch as it ends, at most so many; nothing writes all.
pub(super) fn print(
    session: &mut Session,
    opened: &Opened,
    scope: &Scope,
    how: GridArgs,
    most: usize,
) -> anyhow::Result<Outcome> {
    let mut analysis = scope.analysis(Reading::Activities)?;
    let is_meant: Vec<_> =
        analysis.tracks().iter().enumerate().map(|(id, _)| analysis.means(TrackId(id))).collect();
    let clocks = scope.timeline.clocks();
    let mut lines = Lines { out: &mut session.out, how, file: &opened.name, clocks: &clocks };
    lines.header()?;
    let (mut count, mut written) = (0, Ok(()));
    let mut take = |turn: Turn, tasks: &Tasks| {
        let is_meant = is_meant.get(turn.stretch.track.0).copied().unwrap_or(false);
        if tasks.is_idle(turn.stretch.task) || !is_meant {
            return;
        }
        count += 1;
        if written.is_ok() && (most == 0 || count <= most) {
            written = lines.turn(&turn, tasks);
        }
    };
    let short = analysis.run(&mut [&mut History::new(&mut take)])?;
    written?;
    if how.is_text() && most > 0 {
        more_rows(&mut session.out, count.saturating_sub(most))?;
    }
    Ok(scope.tell(session, opened, &analysis, &short))
}

/// The names that CSV begins with.
const CSV: &str = "file,time_ns,recording,cpu,wait_ns,delay_ns,run_ns,is_cut,priority,task_id,task";

/// Writes lines of stretches.
struct Lines<'a> {
    out: &'a mut Output,
    how: GridArgs,
    file: &'a str,
    clocks: &'a [Clock],
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
        let (time, wait, delay, run) = ("until", "wait", "delay", "run");
        let heads =
            format!("{time:>15}  {wait:>10}  {delay:>10}  {run:>10}  priority  cpu     task");
        writeln!(self.out, "{faint}{heads}{faint:#}")
    }

    fn turn(&mut self, turn: &Turn, tasks: &Tasks) -> io::Result<()> {
        let Turn { stretch, run_ns, is_cut, wait_ns, delay_ns, priority } = *turn;
        let on = tasks.cpu(stretch.cpu);
        let cpu = on.map_or("", |cpu| cpu.name.as_str());
        let Some(of) = tasks.get(stretch.task) else { return Ok(()) };
        let task = of.name.as_str();
        let times = [wait_ns, delay_ns, run_ns];
        if self.how.json {
            let [wait, delay, run] = times;
            return self.out.json(&json!({
                "file": self.file, "time_ns": stretch.until.0, "recording": of.recording, "cpu": cpu,
                "wait_ns": wait, "delay_ns": delay, "run_ns": run, "is_cut": is_cut,
                "priority": priority, "task_id": of.task_id, "task": task,
            }));
        }
        if self.how.csv {
            let number = |ns: Option<u64>| ns.map_or(String::new(), |ns| ns.to_string());
            let [wait, delay, run] = times.map(number);
            let (time, recording) = (stretch.until.0.to_string(), of.recording.to_string());
            let plain = |number: Option<i64>| number.map_or(String::new(), |of| of.to_string());
            let (priority, id, is_cut) = (plain(priority), plain(of.task_id), is_cut.to_string());
            let when = [self.file, &time, &recording, cpu, &wait, &delay, &run];
            return csv(self.out, &[&when[..], &[&is_cut, &priority, &id, task]].concat());
        }
        let clock = on.and_then(|cpu| self.clocks.get(cpu.clock?.0));
        let time = Shown::on(clock, stretch.until).to_string();
        let [wait, delay, run] =
            times.map(|ns| ns.map_or_else(|| "-".to_owned(), measure::duration));
        let run = if is_cut { format!("≥{run}") } else { run };
        let priority = priority.map_or_else(|| "-".to_owned(), |priority| priority.to_string());
        let (cpu, task) = (escaped(cpu), escaped(task));
        let times = format!("{time:>15}  {wait:>10}  {delay:>10}  {run:>10}");
        writeln!(self.out, "{times}  {priority:>8}  {cpu:<6}  {task}")
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
