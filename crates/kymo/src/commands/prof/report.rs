//! Report about a database that was made.

use std::cmp::Reverse;
use std::io::Write;
use std::path::Path;

use kymo_model::profile::base_name;
use kymo_prof::{MergedProfile, UnnamedModule};
use serde_json::json;

use crate::inputs;
use crate::render::{escaped, numbers};
use crate::session::Session;

use super::input_findings::InputFindings;

/// Modules without names that are listed.
const MODULES_SHOWN: usize = 100;

/// Files of threads without a value that are listed.
const FILES_SHOWN: usize = 3;

/// Prints a summary.
pub(super) fn print(
    session: &mut Session,
    is_json: bool,
    output: &Path,
    merged: &MergedProfile,
    said: &InputFindings,
) -> anyhow::Result<()> {
    if is_json {
        return print_json(session, output, merged, said);
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
    print_without_values(session, merged)?;
    print_unnamed(session, merged)
}

/// Threads that nothing was sampled of, or whose values were lost before.
fn print_without_values(session: &mut Session, merged: &MergedProfile) -> anyhow::Result<()> {
    let files = &merged.without_values;
    if files.is_empty() {
        return Ok(());
    }
    let [count, threads] = [files.len() as u64, merged.threads].map(numbers::grouped);
    let shown: Vec<_> = files.iter().take(FILES_SHOWN).map(|file| escaped(file)).collect();
    let more = files.len().saturating_sub(FILES_SHOWN) as u64;
    let more = match more {
        0 => String::new(),
        more => format!(", and {} more: --json lists all", numbers::grouped(more)),
    };
    let shown = shown.join(", ");
    Ok(writeln!(session.out, "  no value  {count} of {threads} threads: {shown}{more}")?)
}

/// Modules of which less is known than could be, those with most addresses first, and why. Those of
/// one folder that lack the same are told together.
fn print_unnamed(session: &mut Session, merged: &MergedProfile) -> anyhow::Result<()> {
    let mut unnamed: Vec<_> = merged.unnamed.iter().collect();
    unnamed.sort_by_key(|module| (Reverse(module.addresses), &module.module));
    let more = unnamed.len().saturating_sub(MODULES_SHOWN);
    unnamed.truncate(MODULES_SHOWN);
    let mut before = "no names";
    for lacking in together(unnamed) {
        let [addresses, asked] = [lacking.addresses, lacking.asked].map(numbers::grouped);
        let modules = lacking.modules();
        let (modules, why) = (escaped(&modules), escaped(lacking.why));
        writeln!(session.out, "  {before:<8}  {addresses} of {asked} in {modules}: {why}")?;
        before = "";
    }
    if more > 0 {
        let more = numbers::count(more as u64, "more module", "more modules");
        writeln!(session.out, "  {before:<8}  and some in {more}: --json lists all")?;
    }
    if !merged.unnamed.is_empty() {
        let hint = "-R FROM=TO says where modules are, -S names structure files";
        writeln!(session.out, "  {before:<8}  ({hint})")?;
    }
    Ok(())
}

/// Modules of one folder that lack the same.
struct IncompleteModules<'a> {
    folder: &'a str,
    why: &'a str,
    names: Vec<&'a str>,
    addresses: u64,
    asked: u64,
}

impl IncompleteModules<'_> {
    /// The path of one, or those of several as shells write them.
    fn modules(&self) -> String {
        match &self.names[..] {
            [name] => format!("{}{name}", self.folder),
            names => format!("{}{{{}}}", self.folder, names.join(",")),
        }
    }
}

/// Puts modules together, in the order of the first of each folder and reason.
fn together(unnamed: Vec<&UnnamedModule>) -> Vec<IncompleteModules<'_>> {
    let mut found: Vec<IncompleteModules<'_>> = Vec::new();
    for UnnamedModule { module, addresses, asked, why, .. } in unnamed {
        let (folder, name) = module.split_at(module.len() - base_name(module).len());
        let place = found.iter().position(|one| (one.folder, one.why) == (folder, why.as_str()));
        let place = place.unwrap_or_else(|| {
            let (names, addresses, asked) = (Vec::new(), 0, 0);
            found.push(IncompleteModules { folder, why, names, addresses, asked });
            found.len() - 1
        });
        if let Some(lacking) = found.get_mut(place) {
            lacking.names.push(name);
            lacking.addresses += addresses;
            lacking.asked += asked;
        }
    }
    found
}

fn print_json(
    session: &mut Session,
    output: &Path,
    merged: &MergedProfile,
    said: &InputFindings,
) -> anyhow::Result<()> {
    let phases = merged.phases.iter();
    let phases =
        phases.map(|phase| json!({ "phase": phase.name, "seconds": phase.took.as_secs_f64() }));
    let unnamed = merged.unnamed.iter().map(|module| {
        let UnnamedModule { module, addresses, asked, why, is_damaged } = module;
        json!({
            "module": module,
            "addresses": addresses,
            "of": asked,
            "why": why,
            "is_damaged": is_damaged,
        })
    });
    Ok(session.out.json(&json!({
        "database": inputs::display(output),
        "threads": merged.threads,
        "threads_without_values": merged.without_values,
        "contexts": merged.contexts,
        "listed": merged.listed,
        "values": merged.values,
        "samples": merged.samples,
        "phases": phases.collect::<Vec<_>>(),
        "without_names": unnamed.collect::<Vec<_>>(),
        "findings": said.json(),
    }))?)
}
