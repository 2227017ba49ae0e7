//! Tables and their columns.

use std::io::Write;
use std::sync::Arc;

use kymo_model::Table;
use serde_json::{Value, json};

use super::Args;
use crate::render::columns::{Columns, width_of, wrapped};
use crate::render::{numbers, style};
use crate::session::{OpenedFile, Session};

/// Lists the fixed tables of a file, with their columns where they were asked for.
pub(super) fn list(
    session: &mut Session,
    opened: &OpenedFile,
    file: Option<&str>,
    args: &Args,
) -> anyhow::Result<()> {
    let tables = opened.dataset.tables();
    if !args.json && !args.tables && !args.long {
        return print_names(session, &tables);
    }
    for table in tables {
        if args.json {
            session.out.json(&json_of(table.as_ref(), file))?;
        } else {
            print(session, table.as_ref())?;
        }
    }
    if !args.json && args.tables {
        let names: Vec<_> =
            opened.common_tables().iter().map(|table| table.name().to_owned()).collect();
        let width = session.out.columns().unwrap_or(usize::MAX);
        let line = format!("common tables, of every format (docs/tables.md): {}", names.join(", "));
        writeln!(session.out, "{}", wrapped(&line, width).join("\n  "))?;
    }
    Ok(())
}

/// A line for each table.
fn print_names(session: &mut Session, tables: &[Arc<dyn Table>]) -> anyhow::Result<()> {
    let mut columns = Columns::default().styled(&[style::TITLE]);
    for table in tables {
        let rows = table.row_count().map(|rows| numbers::count(rows, "row", "rows"));
        columns.row([table.name().to_owned(), rows.unwrap_or_default(), table.about().to_owned()]);
    }
    Ok(columns.print(&mut session.out)?)
}

fn print(session: &mut Session, table: &dyn Table) -> anyhow::Result<()> {
    let bold = session.out.paint().style(style::TITLE);
    let rows = table.row_count().map(|rows| format!("  {}", numbers::count(rows, "row", "rows")));
    let (name, about) = (table.name(), table.about());
    let head = format!("{name}{}: ", rows.unwrap_or_default());
    let room = session.out.columns().map(|columns| columns.saturating_sub(width_of(&head)));
    let about = match room.filter(|room| width_of(about) > *room) {
        // What has no room beside the name is below it.
        Some(_) => {
            let width =
                session.out.columns().map_or(usize::MAX, |columns| columns.saturating_sub(4));
            format!("\n    {}", wrapped(about, width).join("\n    "))
        }
        None => about.to_owned(),
    };
    let head = head.strip_prefix(name).unwrap_or_default();
    writeln!(session.out, "{bold}{name}{bold:#}{head}{about}")?;
    let mut columns = Columns::indented(2).styled(&[style::KIND]);
    for field in table.schema().fields() {
        let null = if field.is_nullable() { "may be null" } else { "" };
        let data_type = field.data_type().to_string();
        columns.row([data_type, field.name().clone(), null.to_owned()]);
    }
    Ok(columns.print(&mut session.out)?)
}

fn json_of(table: &dyn Table, file: Option<&str>) -> Value {
    let schema = table.schema();
    let columns = schema.fields().iter().map(|field| {
        json!({
            "name": field.name(),
            "type": field.data_type().to_string(),
            "nullable": field.is_nullable(),
        })
    });
    let columns: Vec<_> = columns.collect();
    let mut object = json!({
        "table": table.name(),
        "about": table.about(),
        "rows": table.row_count(),
        "columns": columns,
    });
    if let (Some(file), Value::Object(fields)) = (file, &mut object) {
        fields.shift_insert(0, "file".to_owned(), json!(file));
    }
    object
}
