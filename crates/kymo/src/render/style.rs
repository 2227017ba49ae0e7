//! Colours, and the look of findings.

use anstyle::{AnsiColor, Style};
use kymo_core::{Finding, Severity};
use serde_json::{Map, Value, json};

use crate::output::Paint;

/// Style of the subject of a block.
pub(crate) const TITLE: Style = Style::new().bold();
/// The kind of a thing, before its name.
pub(crate) const KIND: Style = AnsiColor::Cyan.on_default();
/// Style of text that one may pass over.
pub(crate) const FAINT: Style = Style::new().dimmed();
/// Style of a result that one hopes for.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// The word before advice.
pub(crate) const HINT: Style = AnsiColor::Cyan.on_default();
/// Style of something that failed.
pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
/// Style of something that spent a good part.
const WARM: Style = AnsiColor::Yellow.on_default();
/// Style of something that spent most.
const HOT: Style = AnsiColor::Red.on_default();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const NOTE: Style = AnsiColor::Blue.on_default();

/// The colour of a severity.
pub(crate) fn severity_style(severity: Severity) -> Style {
    match severity {
        Severity::Error => ERROR,
        Severity::Warning => WARNING,
        Severity::Note => NOTE,
    }
}

/// The colour of a share: what spent much stands out.
pub(crate) fn share_style(part: f64, total: f64) -> Style {
    match (part / total).abs() {
        share if share >= 0.2 => HOT,
        share if share >= 0.05 => WARM,
        _ => Style::new(),
    }
}

/// A finding for a program.
pub(crate) fn finding_json(name: &str, finding: &Finding) -> Value {
    let mut object = Map::new();
    object.insert("file".to_owned(), json!(name));
    if let Value::Object(fields) = json!(finding) {
        for (key, value) in fields {
            // The file within a directory must not be taken for the directory.
            let key = if key == "file" { "part".to_owned() } else { key };
            object.insert(key, value);
        }
    }
    Value::Object(object)
}

/// A finding in a line: `error element-length at 0x26: message`.
pub(crate) fn finding(finding: &Finding, paint: Paint) -> String {
    let style = paint.style(severity_style(finding.severity));
    let severity = finding.severity.name();
    let file = finding.file.as_ref();
    let file = file.map_or(String::new(), |file| format!(" in {}", super::escaped(file)));
    let at = finding.offset.map_or(String::new(), |offset| format!(" at {offset:#x}"));
    let message = super::escaped(&finding.message);
    format!("{style}{severity}{style:#} {}{file}{at}: {message}", finding.rule)
}
