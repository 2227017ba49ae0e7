//! What is said of a database that was made.

use std::io::Write;
use std::path::Path;

use kymo_core::model::profile::base_name;
use kymo_prof::Merged;
use serde_json::json;

use crate::inputs;
use crate::render::{escaped, numbers};
use crate::session::Session;

/// Modules without names that are listed one by one.
const MODULES_SHOWN: usize = 5;

/// Prints a summary.
pub(super) fn print(
    session: &mut Session,
    is_json: bool,
    output: &Path,
    merged: &Merged,
) -> anyhow::Result<()> {
    if is_json {
        return print_json(session, output, merged);
    }
    if session.report.is_quiet() {
        return Ok(());
    }
    let [threads, contexts, listed, values, samples] =
        [merged.threads, merged.contexts, merged.listed, merged.values, merged.samples]
            .map(numbers::grouped);
    let out = &mut session.out;
    writeln!(out, "{}", escaped(&inputs::display(output)))?;
    writeln!(out, "  threads   {threads}")?;
    writeln!(out, "  contexts  {listed} listed, {contexts} in all")?;
    writeln!(out, "  values    {values}")?;
    writeln!(out, "  samples   {samples}")?;
    let phases = merged.phases.iter();
    let phases = phases.map(|phase| format!("{} {:.3} s", phase.name, phase.took.as_secs_f64()));
    writeln!(out, "  time      {}", phases.collect::<Vec<_>>().join(", "))?;
    if !merged.unknown.is_empty() {
        let mut unknown = merged.unknown.clone();
        unknown.sort_by(|(a, many), (b, more)| more.cmp(many).then_with(|| a.cmp(b)));
        let shown = unknown.iter().take(MODULES_SHOWN);
        let shown = shown.map(|(path, _)| escaped(base_name(path)).into_owned());
        let more = unknown.len().saturating_sub(MODULES_SHOWN);
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        let shown = shown.collect::<Vec<_>>().join(", ");
        writeln!(out, "  no names  {shown}{more}: nothing tells of their addresses")?;
    }
    Ok(())
}

fn print_json(session: &mut Session, output: &Path, merged: &Merged) -> anyhow::Result<()> {
    let phases = merged.phases.iter();
    let phases =
        phases.map(|phase| json!({ "phase": phase.name, "seconds": phase.took.as_secs_f64() }));
    let unknown = merged.unknown.iter();
    let unknown = unknown.map(|(path, count)| json!({ "module": path, "addresses": count }));
    Ok(session.out.json(&json!({
        "database": inputs::display(output),
        "threads": merged.threads,
        "contexts": merged.contexts,
        "listed": merged.listed,
        "values": merged.values,
        "samples": merged.samples,
        "phases": phases.collect::<Vec<_>>(),
        "without_names": unknown.collect::<Vec<_>>(),
    }))?)
}
