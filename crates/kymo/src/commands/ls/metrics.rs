//! Metrics of profiles, each once: what was measured.

use std::io::Write;
use std::sync::Arc;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use kymo_model::Table;
use kymo_model::table::Scan;
use serde_json::{Map, json};

use super::Args;
use crate::masks::Masks;
use crate::render::columns::Columns;
use crate::render::{escaped, style};
use crate::session::{OpenedFile, Session};

/// The table that has a row for each metric of each recording.
const TABLE: &str = "metrics";
/// Its column of names, by either name, and that of descriptions, where there are some.
const NAMES: [&str; 2] = ["name", "metric"];
const DESCRIPTIONS: &str = "description";

/// Lists the metrics of a file that match, and tells how many there are.
pub(super) fn list(
    session: &mut Session,
    opened: &OpenedFile,
    masks: &Masks,
    file: Option<&str>,
    args: &Args,
) -> anyhow::Result<u64> {
    let table = opened.dataset.tables().into_iter().find(|table| table.name() == TABLE);
    let mut metrics = table.map(|table| metrics(&table)).transpose()?.unwrap_or_default();
    metrics.retain(|[name, _]| masks.matches(name));
    let mut columns = Columns::default().styled(&[style::KIND]);
    for [name, description] in &metrics {
        if args.json {
            session.out.json(&json_of(name, description, file))?;
        } else if args.long || args.stats || args.attributes {
            let cells = [name, description].map(|text| escaped(text).into_owned());
            let [name, description] = cells;
            let description = if description == name { String::new() } else { description };
            columns.row(["metric".to_owned(), name, description]);
        } else {
            writeln!(session.out, "{}", escaped(name))?;
        }
    }
    columns.print(&mut session.out)?;
    Ok(metrics.len() as u64)
}

/// Names and descriptions, in the order of the table: recordings of a run have the same.
fn metrics(table: &Arc<dyn Table>) -> anyhow::Result<Vec<[String; 2]>> {
    let schema = table.schema();
    let names = NAMES.iter().find_map(|name| schema.index_of(name).ok());
    let Some(names) = names else { return Ok(Vec::new()) };
    let descriptions = schema.index_of(DESCRIPTIONS).ok();
    let columns = std::iter::once(names).chain(descriptions).collect();
    let scan = Scan { columns: Some(columns), ..Scan::default() };
    let mut found: Vec<[String; 2]> = Vec::new();
    let mut known = std::collections::HashSet::new();
    for batch in Arc::clone(table).scan(&scan)? {
        let batch = batch?;
        for row in 0..batch.num_rows() {
            let text = |column: &Arc<dyn Array>| {
                let texts = column.as_string_opt::<i32>().filter(|texts| texts.is_valid(row));
                texts.map(|texts| texts.value(row).to_owned()).unwrap_or_default()
            };
            let mut columns = batch.columns().iter().map(text);
            let (name, description) = (columns.next(), columns.next());
            if let Some(name) = name.filter(|name| known.insert(name.clone())) {
                found.push([name, description.unwrap_or_default()]);
            }
        }
    }
    Ok(found)
}

fn json_of(name: &str, description: &str, file: Option<&str>) -> serde_json::Value {
    let mut object = Map::new();
    object.extend(file.map(|file| ("file".to_owned(), json!(file))));
    object.insert("metric".to_owned(), json!(name));
    object.insert("description".to_owned(), json!(description));
    serde_json::Value::Object(object)
}
