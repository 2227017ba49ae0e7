//! `kymo info`: what a file is, how big, how healthy.

use std::io::Write;
use std::path::{Path, PathBuf};

use kymo_core::{Finding, Severity};
use kymo_model::{Recording, Row, Summary};
use serde_json::{Map, Value, json};

use crate::cli::OpenArgs;
use crate::failure;
use crate::inputs;
use crate::output::Output;
use crate::render::columns::{Columns, width_of};
use crate::render::{alike, escaped, numbers, style};
use crate::session::{OpenedFile, Outcome, Session};

/// Recordings and findings that are listed one by one.
const LISTED_MAX: usize = 20;

/// Say what files are: format, dialect, size, contents, health.
///
/// Only headers are read where a format has them, so this is quick on files of any size; what has
/// to be counted is. In a directory, every recording is looked at. Notes are known quirks of the
/// program that wrote a file: a sound file may have them. `kymo check` applies every rule.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
EXAMPLES
  kymo info run.bp               what is it, how big, how healthy
  kymo info archive/             every recording in a directory
  zcat run.bp.gz | kymo info -   from standard input
  kymo info --json *.bp          one JSON object a file
  kymo info --salvage cut.bp     what can still be read of a damaged file

EXIT STATUS
  0 no fault found, 1 a file could not be read, 2 bad usage, 3 read, but something is wrong in it")]
pub(crate) struct Args {
    /// Files or directories; `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Print one JSON object a file.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    open: OpenArgs,
}

pub(crate) fn run(session: &mut Session, args: &Args) -> anyhow::Result<Outcome> {
    let inputs = session.expand(&args.files, &args.open.format);
    if args.json {
        for (path, error) in inputs.iter().filter_map(|input| input.as_ref().err()) {
            session.out.json(&json_of_error(path, error))?;
        }
    }
    let mut is_first = true;
    session.each(inputs, |session, path| {
        let result = session.with_dataset(path, &args.open, |session, opened| {
            if args.json {
                session.out.json(&json_of(opened))?;
            } else {
                if !std::mem::take(&mut is_first) {
                    writeln!(session.out)?;
                }
                print(&mut session.out, opened)?;
            }
            Ok(Outcome::from_findings(&opened.dataset.findings()))
        });
        if let (true, None, Err(error)) = (args.json, session.out.failure(), &result) {
            session.out.json(&json_of_error(path, error))?;
        }
        result
    })
}

fn print(out: &mut Output, opened: &OpenedFile) -> anyhow::Result<()> {
    let summary = opened.dataset.summary();
    let bold = out.paint().style(style::TITLE);
    let title = opened.format.info().title;
    let mut dialect = match summary.dialect.as_str() {
        "" => String::new(),
        dialect => format!(", {dialect}"),
    };
    let width = width_of(&format!("{}: {title}{dialect}", opened.name));
    // What has no room in the first line is the first fact.
    let below = out.columns().is_some_and(|columns| width > columns) && !dialect.is_empty();
    if below {
        dialect.clear();
    }
    writeln!(out, "{bold}{}{bold:#}: {title}{dialect}", opened.name)?;
    facts(opened, &summary, below).print(out)?;
    for section in summary.sections.iter().filter(|section| !section.rows.is_empty()) {
        print_title(out, section.title)?;
        let mut columns = Columns::indented(4);
        for row in &section.rows {
            columns.row([escaped(&row.name).into_owned(), escaped(&row.text).into_owned()]);
        }
        columns.print(out)?;
        print_more(out, section.more)?;
    }
    print_recordings(out, &opened.dataset.recordings())?;
    let findings = opened.dataset.findings();
    print_findings(out, "findings", &findings, matters)?;
    print_findings(out, "notes", &findings, |finding| !matters(finding))
}

fn matters(finding: &Finding) -> bool {
    finding.severity >= Severity::Warning
}

fn print_title(out: &mut Output, title: &str) -> anyhow::Result<()> {
    let kind = out.paint().style(style::KIND);
    Ok(writeln!(out, "  {kind}{title}{kind:#}")?)
}

fn facts(opened: &OpenedFile, summary: &Summary, with_dialect: bool) -> Columns {
    let mut columns = Columns::indented(2).styled(&[style::KIND]);
    if with_dialect {
        columns.row(["dialect".to_owned(), escaped(&summary.dialect).into_owned()]);
    }
    columns.row(["size".to_owned(), numbers::size(opened.size_bytes())]);
    for fact in &summary.facts {
        let value = numbers::fact(&fact.value);
        let text = match escaped(&fact.detail) {
            detail if detail.is_empty() => value,
            detail => format!("{value} ({detail})"),
        };
        columns.row([fact.name.to_owned(), text]);
    }
    columns.row(["health".to_owned(), health(&opened.dataset.findings())]);
    columns
}

fn health(findings: &[Finding]) -> String {
    let wrong = findings.iter().filter(|finding| matters(finding));
    let wrong: Vec<_> = wrong.map(|finding| finding.severity).collect();
    match numbers::severities(&wrong) {
        counts if counts.is_empty() => {
            "no fault found in the structure (kymo check applies every rule)".to_owned()
        }
        counts => counts,
    }
}

fn print_recordings(out: &mut Output, recordings: &[Recording]) -> anyhow::Result<()> {
    if recordings.len() < 2 {
        return Ok(());
    }
    print_title(out, "recordings")?;
    let mut columns = Columns::indented(4);
    for (index, recording) in recordings.iter().enumerate().take(LISTED_MAX) {
        let bytes = recording.bytes.as_ref();
        let bytes = bytes.map_or(String::new(), |range| {
            let length = range.end.saturating_sub(range.start);
            format!("at {:#x}, {}", range.start, numbers::count(length, "byte", "bytes"))
        });
        let kind = format!("{} {index}", recording.kind);
        columns.row([kind, escaped(&recording.name).into_owned(), bytes]);
    }
    columns.print(out)?;
    print_more(out, recordings.len().saturating_sub(LISTED_MAX))
}

fn print_findings(
    out: &mut Output,
    title: &str,
    findings: &[Finding],
    wanted: impl Fn(&Finding) -> bool,
) -> anyhow::Result<()> {
    let findings = alike::worst_first(findings.iter().filter(|finding| wanted(finding)));
    if findings.is_empty() {
        return Ok(());
    }
    print_title(out, title)?;
    let paint = out.paint();
    let mut columns = Columns::indented(4);
    for alike in findings.iter().take(LISTED_MAX) {
        columns.row([alike::text(*alike, paint)]);
    }
    columns.print(out)?;
    let more: u64 = findings.iter().skip(LISTED_MAX).map(|(_, count)| count).sum();
    print_more(out, usize::try_from(more).unwrap_or(usize::MAX))
}

fn print_more(out: &mut Output, more: usize) -> anyhow::Result<()> {
    if more > 0 {
        writeln!(out, "    … and {more} more")?;
    }
    Ok(())
}

fn json_of(opened: &OpenedFile) -> Value {
    let summary = opened.dataset.summary();
    let mut facts = Map::new();
    let mut details = Map::new();
    for fact in &summary.facts {
        facts.insert(key(fact.name), json!(fact.value));
        facts.extend(fact.exact.as_ref().map(|(name, value)| (key(name), json!(value))));
        if !fact.detail.is_empty() {
            details.insert(key(fact.name), json!(fact.detail));
        }
    }
    let (mut sections, mut left_out) = (Map::new(), Map::new());
    for section in &summary.sections {
        let rows: Vec<_> = section.rows.iter().map(json_of_row).collect();
        sections.insert(key(section.title), json!(rows));
        if section.more > 0 {
            left_out.insert(key(section.title), json!(section.more));
        }
    }
    let recordings = opened.dataset.recordings();
    let recordings: Vec<_> = recordings.iter().map(json_of_recording).collect();
    json!({
        "file": opened.name,
        "format": opened.format.info().name,
        "size_bytes": opened.size_bytes(),
        "dialect": summary.dialect,
        "facts": facts,
        "details": details,
        "sections": sections,
        "left_out": left_out,
        "recordings": recordings,
        "health": json_of_health(&opened.dataset.findings()),
        "findings": opened.dataset.findings(),
    })
}

/// A name as programs type it: `bytes_lost`.
fn key(name: &str) -> String {
    name.to_lowercase().replace(' ', "_")
}

/// A row with its values, or with its text where it has none.
fn json_of_row(row: &Row) -> Value {
    let mut object = Map::new();
    object.insert("name".to_owned(), json!(row.name));
    if row.values.is_empty() {
        object.insert("value".to_owned(), json!(row.text));
    }
    object.extend(row.values.iter().map(|(name, value)| ((*name).to_owned(), json!(value))));
    Value::Object(object)
}

/// Opening a file looks at its structure: that nothing is found does not make it sound.
fn json_of_health(findings: &[Finding]) -> &'static str {
    match findings.iter().map(|finding| finding.severity).max() {
        Some(Severity::Error) => "errors",
        Some(Severity::Warning) => "warnings",
        _ => "unchecked",
    }
}

fn json_of_error(path: &Path, error: &anyhow::Error) -> Value {
    json!({"file": inputs::display(path), "error": failure::message(error)})
}

fn json_of_recording(recording: &Recording) -> Value {
    let bytes = recording.bytes.as_ref();
    json!({
        "kind": recording.kind,
        "name": recording.name,
        "offset": bytes.map(|range| range.start),
        "size_bytes": bytes.map(|range| range.end.saturating_sub(range.start)),
    })
}
