//! Messages about a conversion: what was lost, and what had to be copied.

use std::collections::HashSet;
use std::path::Path;

use kymo_core::shortened;
use kymo_export::arrays::{Converted, Loss};
use serde_json::json;

use super::super::Args;
use super::{Input, StrictRefusal, joined_files};
use crate::inputs;
use crate::render::escaped;
use crate::session::{Outcome, Session};

/// Losses of one kind of a file that are said one by one; `--json` has all.
const LOSSES_SHOWN: usize = 3;

/// Greatest length of a message about a loss that is shown in full.
const LINE_BYTES_MAX: usize = 240;

/// Names that are listed in a line.
const NAMES_SHOWN: usize = 3;

/// Says what was lost, and what that means for the exit code.
pub(super) fn report(
    session: &mut Session,
    args: &Args,
    input: &Input<'_>,
    output: &Path,
    converted: &Converted,
) -> anyhow::Result<Outcome> {
    let losses = &converted.losses;
    if args.arrays.json {
        let lost = losses
            .iter()
            .map(|loss| json!({ "kind": loss.kind.name(), "path": loss.path, "loss": loss.what }));
        let mut object = json!({
            "input": input.name,
            "joined": joined_files(input.parts),
            "output": converted.is_written.then(|| inputs::display(output)),
            "written": converted.is_written,
            "order": args.order().name(),
            "arrays": converted.arrays,
            "attributes": converted.attributes,
            "losses": lost.collect::<Vec<_>>(),
            "copied": converted.copied,
            "findings": input.findings(),
        });
        if let (false, Some(object)) = (converted.is_written, object.as_object_mut()) {
            object.insert("error".to_owned(), StrictRefusal.to_string().into());
        }
        session.out.json(&object)?;
    } else {
        report_losses(session, &input.name, losses);
        report_copied(session, &input.name, &converted.copied);
    }
    if !converted.is_written {
        input.report(session);
        return Err(StrictRefusal.into());
    }
    Ok(if losses.is_empty() { Outcome::Done } else { Outcome::Findings })
}

/// Says the first losses of each kind, and how many more there are.
fn report_losses(session: &mut Session, name: &str, losses: &[Loss]) {
    let mut kinds: Vec<_> = losses.iter().map(|loss| loss.kind).collect();
    let mut seen = HashSet::new();
    kinds.retain(|kind| seen.insert(*kind));
    for kind in kinds {
        let alike = losses.iter().filter(|loss| loss.kind == kind);
        for loss in alike.clone().take(LOSSES_SHOWN) {
            // Of names that fill a page, the first line will do.
            let is_long = loss.what.len() > LINE_BYTES_MAX;
            let what = if is_long { shortened(&loss.what) } else { loss.what.as_str().into() };
            let text = format!("{}: {what}", shortened(&loss.path));
            session.report.remark(name, escaped(&text));
        }
        let more = alike.count().saturating_sub(LOSSES_SHOWN);
        if more > 0 {
            let text = format_args!("and {more} more like that; --json lists all");
            session.report.remark(name, text);
        }
    }
}

/// Says which arrays could not stay where they are.
fn report_copied(session: &mut Session, name: &str, copied: &[String]) {
    if copied.is_empty() {
        return;
    }
    let names: Vec<_> = copied.iter().take(NAMES_SHOWN).map(|path| shortened(path)).collect();
    let more = match copied.len().saturating_sub(NAMES_SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let text =
        format!("copied, for HDF5 cannot refer to it as it lies: {}{more}", names.join(", "));
    session.report.remark(name, escaped(&text));
}
