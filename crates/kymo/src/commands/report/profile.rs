//! Use of time: metrics, a flame graph, functions and threads.

use kymo_model::profile::{FlatGrouping, FlatRow, Metric, SpentScope, ThreadId, TopRows};

use super::Args;
use super::page::{Cell, Page};
use crate::commands::flame;
use crate::profiles::{ProfileArgs, ProfileQuery, report_caveats, view_of};
use crate::render::{measure, numbers};
use crate::session::{OpenedFile, Outcome, Session};

/// Adds the profile of a file, where it has one.
pub(super) fn add(
    page: &mut Page,
    session: &mut Session,
    args: &Args,
    opened: &OpenedFile,
) -> anyhow::Result<Outcome> {
    let Some(view) = view_of(opened)? else { return Ok(Outcome::Done) };
    let doubts = view.caveats();
    page.remarks(&doubts);
    let outcome = report_caveats(session, opened, &doubts);
    metrics(page, &view.metrics(), &view.totals(None)?, args.number);
    let asked = match ProfileArgs::default().query(opened) {
        Ok(asked) => asked,
        // A profile without a value has its metrics and nothing else to show.
        Err(why) => {
            page.remarks(&[format!("there is no more to show of its profile: {why}")]);
            return Ok(outcome);
        }
    };
    if let Some(drawn) = flame::markup(&asked)? {
        page.heading("Flame graph");
        let name = &asked.described.name;
        page.caption(&format!(
            "A box for each path, as wide as the {name} that was spent there and below; the pointer on one \
             shows how much."
        ));
        page.flame(&drawn);
    }
    functions(page, args, &asked)?;
    threads(page, args, &asked)?;
    page.remarks(&asked.remarks());
    Ok(outcome)
}

/// All metrics that have values, and what was spent of each.
fn metrics(page: &mut Page, metrics: &[Metric], totals: &[f64], rows_max: usize) {
    let mut rows: Vec<_> = metrics.iter().zip(totals).filter(|(_, total)| **total != 0.0).collect();
    rows.sort_by(|(_, a), (_, b)| b.abs().total_cmp(&a.abs()));
    let row = |(metric, total): (&Metric, &f64)| {
        let unit = metric.unit.clone().unwrap_or_default();
        vec![
            Cell::Number(measure::value_text(*total)),
            Cell::Text(unit),
            Cell::Text(metric.name.clone()),
            Cell::Text(metric.description.clone()),
        ]
    };
    let heads = [("in all", true), ("unit", false), ("metric", false), ("", false)];
    page.listed("Metrics", &heads, &rows.into_iter().map(row).collect::<Vec<_>>(), rows_max);
}

/// The functions that spent most themselves.
fn functions(page: &mut Page, args: &Args, asked: &ProfileQuery) -> anyhow::Result<()> {
    let number = Some(args.number).filter(|number| *number > 0);
    let found = asked.flat(FlatGrouping::Function, TopRows { number, is_inclusive: false })?;
    let row = |row: &FlatRow| {
        vec![
            Cell::Number(measure::value_text(row.exclusive)),
            Cell::Share(row.exclusive / found.total),
            Cell::Number(measure::value_text(row.inclusive)),
            Cell::Share(row.inclusive / found.total),
            Cell::Text(row.label.clone()),
        ]
    };
    let rows: Vec<_> = found.rows.iter().map(row).collect();
    let heads =
        [("exclusive", true), ("", true), ("inclusive", true), ("", true), ("function", false)];
    let (metric, total) = (&asked.described.name, asked.total_in_words(found.total));
    let title = format!("Functions by {metric}");
    let is_any = !rows.is_empty();
    page.listed(&title, &heads, &rows, 0);
    if is_any {
        let more = match found.more {
            0 => String::new(),
            more => format!("; {} more", numbers::grouped(more as u64)),
        };
        page.remarks(&[format!("{total}, {}{more}", asked.threads_in_words())]);
    }
    Ok(())
}

/// Writes the values that each thread spent; those that spent most come first.
fn threads(page: &mut Page, args: &Args, asked: &ProfileQuery) -> anyhow::Result<()> {
    let all = asked.threads()?;
    if all.len() < 2 || asked.require_inclusive("").is_err() {
        return Ok(());
    }
    let spent = asked.per_thread(SpentScope::All)?;
    let item = |id: ThreadId| {
        let value = usize::try_from(id.0).ok().and_then(|index| spent.get(index)).copied();
        value.filter(|_| !asked.is_incomplete(id)).unwrap_or(f64::NAN)
    };
    let mut rows: Vec<_> = all.iter().map(|(id, thread)| (item(*id), thread.to_string())).collect();
    // What is not known comes last.
    rows.sort_by(|(a, _), (b, _)| b.is_nan().cmp(&a.is_nan()).reverse().then(b.total_cmp(a)));
    let most = rows.iter().map(|(value, _)| *value).fold(0.0, f64::max);
    let row = |(value, name): (f64, String)| {
        vec![Cell::Number(measure::value_text(value)), Cell::Share(value / most), Cell::Text(name)]
    };
    let heads = [("spent", true), ("of the most", true), ("thread", false)];
    page.listed("Threads", &heads, &rows.into_iter().map(row).collect::<Vec<_>>(), args.number);
    Ok(())
}
