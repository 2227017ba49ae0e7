//! Variables, with the smallest and the largest value of each.

use std::sync::Arc;

use kymo_model::arrays::{ArraysView, VariableId, statistics};

use super::Args;
use super::page::{Cell, Page};
use crate::commands::ls;
use crate::render::{numbers, value};

/// Variables whose values are all read for their range.
const READ_MAX: usize = 1000;

/// Adds the variables of a file, where it has any.
pub(super) fn add(
    page: &mut Page,
    args: &Args,
    view: Option<Arc<dyn ArraysView>>,
) -> anyhow::Result<()> {
    let Some(view) = view else { return Ok(()) };
    let count = view.variable_count();
    let shown = if args.number == 0 { count } else { count.min(args.number) };
    let mut rows = Vec::new();
    for id in (0..shown).map(VariableId) {
        let variable = view.variable(id);
        let found = if id.0 < READ_MAX { statistics(&view, id)? } else { None };
        let [min, max] = match &found {
            Some(found) => {
                [&found.min, &found.max].map(|this_value| Cell::Number(value(this_value)))
            }
            None => [Cell::Number(String::new()), Cell::Number(String::new())],
        };
        let nan = found.filter(|found| found.nan > 0);
        rows.push(vec![
            Cell::Text(variable.path.clone()),
            Cell::Text(variable.type_name.to_string()),
            Cell::Text(ls::shape(&variable)),
            min,
            max,
            Cell::Number(nan.map_or(String::new(), |found| numbers::grouped(found.nan))),
        ]);
    }
    let heads = [
        ("variable", false),
        ("type", false),
        ("shape", false),
        ("smallest", true),
        ("largest", true),
        ("NaN", true),
    ];
    page.listed("Variables", &heads, &rows, 0);
    if shown < count {
        page.remarks(&[format!("{} more", numbers::grouped((count - shown) as u64))]);
    }
    Ok(())
}
