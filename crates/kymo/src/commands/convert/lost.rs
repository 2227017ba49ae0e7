//! Losses of a table that is written as text.

use kymo_core::Severity;
use serde_json::{Value, json};

use super::{Args, ChosenTable, WrittenTable};
use crate::inputs;
use crate::session::{OpenedFile, Outcome, Session};

/// Losses of a table, for programs and for strictness.
pub(super) struct TableLosses {
    losses: Vec<Value>,
    table: String,
    rows: u64,
    has_faults: bool,
}

impl TableLosses {
    /// Ask once all rows are written.
    pub(super) fn new(opened: &OpenedFile, chosen: &ChosenTable, written: &WrittenTable) -> Self {
        let table = chosen.table.name().to_owned();
        let mut losses = Vec::new();
        let mut add = |kind: &str, what: &str| {
            losses.push(json!({ "kind": kind, "path": table, "loss": what }));
        };
        if let Some(what) = written.missing.text() {
            add("missing", &what);
        }
        let variable_view = chosen.variable_view.as_ref();
        if variable_view.is_some_and(|(view, variable)| variable.rounds && view.has_rounded()) {
            add("rounded", "values are rounded to double precision");
        }
        if let Some(what) = chosen.recoded {
            add("changed", what);
        }
        if chosen.outcome != Outcome::Done {
            add("left-out", "other variables of the same path are left out");
        }
        let faults = opened.dataset.findings();
        let has_faults = faults.iter().any(|finding| finding.severity > Severity::Note);
        Self { losses, table, rows: written.rows, has_faults }
    }

    /// Returns true if everything is as it was.
    pub(super) fn is_nothing(&self) -> bool {
        self.losses.is_empty() && !self.has_faults
    }

    /// Prints one object, with the same names as for arrays.
    pub(super) fn print(
        &self,
        session: &mut Session,
        args: &Args,
        opened: &OpenedFile,
        is_written: bool,
    ) -> anyhow::Result<()> {
        Ok(session.out.json(&json!({
            "input": opened.name,
            "output": inputs::display(&args.output),
            "written": is_written,
            "order": args.order().name(),
            "table": self.table,
            "rows": self.rows,
            "losses": self.losses,
            "findings": opened.dataset.findings(),
        }))?)
    }
}
