//! Variables: type, path, shape, and on request the smallest and the largest value.

use std::io::Write;
use std::sync::Arc;

use kymo_core::Progress;
use kymo_export::tables::values::Cells;
use kymo_model::arrays::{ArraysView, Statistics, Variable, VariableId, VariableKind, statistics};
use serde_json::{Map, Value, json};

use super::Args;
use super::attributes::{Attributes, Described};
use crate::losses;
use crate::masks::Masks;
use crate::output::Output;
use crate::render::columns::width_of;
use crate::render::{escaped, pad, style, value};
use crate::session::{Outcome, Session};

/// A longer path takes the room it needs and leaves its line unaligned.
const PATH_MAX: usize = 60;

/// Part of a file that is to be listed, and the way to list it.
pub(super) struct Listing<'a> {
    pub(super) view: &'a Arc<dyn ArraysView>,
    pub(super) masks: &'a Masks,
    /// Name of the file in messages.
    pub(super) name: &'a str,
    /// The file where every line names it.
    pub(super) file: Option<&'a str>,
    pub(super) args: &'a Args,
}

/// A line of the listing for a person.
struct Line {
    kind: String,
    path: String,
    rest: String,
}

impl Listing<'_> {
    /// Lists variables in the order of the file, with their attributes if wanted. Tells how many
    /// lines there are, and what was lost on the way.
    pub(super) fn print(&self, session: &mut Session) -> anyhow::Result<(u64, Outcome)> {
        let wants_attributes = self.args.attributes || self.args.attributes_only;
        let mut attributes = if wants_attributes {
            Attributes::new(self.view.attributes())
        } else {
            Attributes::default()
        };
        let lines = if self.args.json {
            self.print_json(session, &mut attributes)?
        } else if self.args.long || self.args.stats || wants_attributes {
            self.print_long(session, &mut attributes)?
        } else {
            self.print_paths(&mut session.out)?
        };
        Ok((lines, self.report_losses(session)))
    }

    /// Says whose values are rounded, of those whose values are shown.
    fn report_losses(&self, session: &mut Session) -> Outcome {
        let Args { long, stats, attributes, attributes_only, json, .. } = self.args;
        if *attributes_only || !(*stats || (!json && (*long || *attributes))) {
            return Outcome::Done;
        }
        let _ = session.out.flush();
        let shown = self.variables().filter(|(_, variable)| *stats || is_one_value(variable));
        let losses = shown.map(|(_, variable)| {
            losses::rounding(&mut session.report, self.name, self.view.as_ref(), &variable)
        });
        losses.max().unwrap_or(Outcome::Done)
    }

    fn print_paths(&self, out: &mut Output) -> anyhow::Result<u64> {
        let mut lines = 0;
        for (_, variable) in self.variables() {
            writeln!(out, "{}", escaped(&variable.path))?;
            lines += 1;
        }
        Ok(lines)
    }

    fn print_long(&self, session: &mut Session, found: &mut Attributes) -> anyhow::Result<u64> {
        let mut lines = Vec::new();
        if !self.args.attributes_only {
            self.begin(session);
            for (id, variable) in self.variables() {
                lines.push(self.line(id, &variable)?);
                session.bars.advance_to(id.0 as u64);
                let described = found.take(&variable.path).into_iter();
                lines.extend(described.map(|attribute| line_of(&attribute)));
            }
        }
        let rest = found.take_selected(self.masks, self.args.attributes_only);
        lines.extend(rest.iter().map(line_of));
        print_lines(&mut session.out, &lines)?;
        Ok(lines.len() as u64)
    }

    fn line(&self, id: VariableId, variable: &Variable) -> anyhow::Result<Line> {
        let mut rest = shape(variable);
        if is_one_value(variable) {
            rest.push_str(&self.scalar(id)?);
        } else if self.args.stats
            && let Some(found) = statistics(self.view, id)?
        {
            rest.push_str(&range(&found));
        }
        Ok(Line {
            kind: variable.type_name.to_string(),
            path: escaped(&variable.path).into_owned(),
            rest,
        })
    }

    /// The value of a scalar that was written once.
    fn scalar(&self, id: VariableId) -> anyhow::Result<String> {
        let step = self.view.step(id, 0)?;
        let Some(block) = step.blocks.first() else {
            return Ok(String::new());
        };
        let array = self.view.read_block(block.id, 0..1)?;
        let cells = Cells::new(&array)?;
        let mut text = b" = ".to_vec();
        if !cells.is_empty() {
            cells.write_quoted(0, &mut text);
        }
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    fn print_json(&self, session: &mut Session, found: &mut Attributes) -> anyhow::Result<u64> {
        let mut lines = 0;
        if !self.args.attributes_only {
            self.begin(session);
            for (id, variable) in self.variables() {
                session.bars.advance_to(id.0 as u64);
                let described = found.take(&variable.path);
                let object = self.json(id, &variable, &described)?;
                session.out.json(&object)?;
                lines += 1;
            }
        }
        for attribute in found.take_selected(self.masks, self.args.attributes_only) {
            let mut object = self.object();
            object.insert("attribute".to_owned(), json!(attribute.full_path()));
            object.extend(attribute.json());
            session.out.json(&Value::Object(object))?;
            lines += 1;
        }
        Ok(lines)
    }

    fn json(
        &self,
        id: VariableId,
        variable: &Variable,
        described: &[Described],
    ) -> anyhow::Result<Value> {
        let mut object = self.object();
        let mut put = |key: &str, value: Value| drop(object.insert(key.to_owned(), value));
        put("path", json!(variable.path));
        put("type", json!(variable.type_name));
        put("kind", json!(variable.kind.name()));
        put("rank", json!(variable.rank));
        put("steps", json!(variable.steps));
        put("blocks", json!(variable.blocks));
        put("min_shape", json!(variable.min_shape));
        put("max_shape", json!(variable.max_shape));
        if self.args.stats
            && let Some(found) = statistics(self.view, id)?
        {
            put("min", json!(found.min));
            put("max", json!(found.max));
            put("nan", json!(found.nan));
        }
        if self.args.attributes {
            let described = described.iter().map(|found| Value::Object(found.json()));
            put("attributes", described.collect());
        }
        Ok(Value::Object(object))
    }

    /// Shows progress where every value is read.
    fn begin(&self, session: &Session) {
        if self.args.stats {
            session.bars.begin_items("reading variables", self.view.variable_count() as u64);
        }
    }

    fn object(&self) -> Map<String, Value> {
        let file = self.file.map(|file| ("file".to_owned(), json!(file)));
        file.into_iter().collect()
    }

    /// The variables that are wanted.
    fn variables(&self) -> impl Iterator<Item = (VariableId, Variable)> {
        let ids = (0..self.view.variable_count()).map(VariableId);
        let all = ids.map(|id| (id, self.view.variable(id)));
        all.filter(|(_, variable)| self.masks.matches(&variable.path))
    }
}

/// Returns true if a listing shows the value itself.
fn is_one_value(variable: &Variable) -> bool {
    variable.kind == VariableKind::Scalar && variable.steps == 1
}

/// The shape in the manner of bpls: `scalar`, `5*{2, 3}`, `{4, 6} global, 4 blocks`.
pub(in crate::commands) fn shape(variable: &Variable) -> String {
    let steps = match variable.steps {
        1 => String::new(),
        steps => format!("{steps}*"),
    };
    if variable.kind == VariableKind::Scalar {
        return format!("{steps}scalar");
    }
    let lengths = variable.min_shape.iter().zip(&variable.max_shape);
    let lengths: Vec<_> = lengths
        .map(|(min, max)| if min == max { min.to_string() } else { format!("{min}..{max}") })
        .collect();
    let blocks = match (variable.kind, variable.blocks) {
        (VariableKind::Global, 1) => " global, 1 block".to_owned(),
        (VariableKind::Global, blocks) => format!(" global, {blocks} blocks"),
        _ => String::new(),
    };
    format!("{steps}{{{}}}{blocks}", lengths.join(", "))
}

fn range(found: &Statistics) -> String {
    let nan = match found.nan {
        0 => String::new(),
        nan => format!(" ({nan} NaN)"),
    };
    format!(" = {} / {}{nan}", value(&found.min), value(&found.max))
}

fn line_of(attribute: &Described) -> Line {
    Line {
        kind: attribute.type_name().to_owned(),
        path: escaped(&attribute.full_path()).into_owned(),
        rest: attribute.text(),
    }
}

fn print_lines(out: &mut Output, lines: &[Line]) -> anyhow::Result<()> {
    let kind_width = lines.iter().map(|line| width_of(&line.kind)).max().unwrap_or(0);
    let paths = lines.iter().map(|line| width_of(&line.path));
    let path_width = paths.filter(|width| *width <= PATH_MAX).max().unwrap_or(0);
    let kind_style = out.paint().style(style::KIND);
    for Line { kind, path, rest } in lines {
        let gap = pad::padding(kind, kind_width);
        write!(out, "{kind_style}{kind}{kind_style:#}{gap}  ")?;
        writeln!(out, "{}  {rest}", pad::left(path, path_width))?;
    }
    Ok(())
}
