//! Tables and their columns.

use std::io::Write;

use kymo_core::Table;
use serde_json::{Value, json};

use crate::render::columns::Columns;
use crate::render::{numbers, style};
use crate::session::{Opened, Session};

/// Lists the fixed tables of a file.
pub(super) fn list(
    session: &mut Session,
    opened: &Opened,
    file: Option<&str>,
    json: bool,
) -> anyhow::Result<()> {
    for table in opened.dataset.tables() {
        if json {
            session.out.json(&json_of(table.as_ref(), file))?;
        } else {
            print(session, table.as_ref())?;
        }
    }
    Ok(())
}

fn print(session: &mut Session, table: &dyn Table) -> anyhow::Result<()> {
    let bold = session.out.paint().style(style::TITLE);
    let rows = table.row_count().map(|rows| format!("  {}", numbers::count(rows, "row", "rows")));
    let (name, about) = (table.name(), table.about());
    writeln!(session.out, "{bold}{name}{bold:#}{}: {about}", rows.unwrap_or_default())?;
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
