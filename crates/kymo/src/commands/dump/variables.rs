//! The values of variables, or of a part of them.

use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

use kymo_model::arrays::{
    ArraysView, Chunks, Order, Selection, Step, Variable, VariableId, VariableKind,
};
use serde_json::{Value, json};

use super::Args;
use crate::failure::Failure;
use crate::losses::{self, Missing};
use crate::render::array::{self, ArrayText};
use crate::render::{escaped, numbers, style};
use crate::selection::{select, steps_of};
use crate::session::{OpenedFile, Outcome, Session};

/// Values that are held at once.
const CHUNK_VALUES: u64 = 1 << 16;

/// Variables without the wanted step that are named one by one.
const LACKING_MAX: usize = 5;

/// One variable whose values are wanted.
struct SelectedVariable<'a> {
    view: Arc<dyn ArraysView>,
    id: VariableId,
    variable: Variable,
    args: &'a Args,
    /// Range of its steps that are wanted.
    steps: Range<u64>,
    file: Option<&'a str>,
}

/// Prints the values of every variable that is wanted.
pub(super) fn dump(
    session: &mut Session,
    args: &Args,
    opened: &OpenedFile,
    file: Option<&str>,
) -> anyhow::Result<Outcome> {
    let Some(view) = opened.dataset.arrays() else {
        let why = format!("files of format {} have no variables", opened.format.info().title);
        return Err(Failure::new(why).hint("leave out -d").into());
    };
    let mut is_first = true;
    let mut outcome = Outcome::Done;
    for path in &args.variable {
        let (ids, is_glob) = crate::variables::find(view.as_ref(), path, &opened.name)?;
        let mut lacking = Vec::new();
        let total = ids.len();
        for id in ids {
            let variable = view.variable(id);
            let steps = match steps_of(&variable, args.step) {
                Ok(steps) => steps,
                Err(failure) if is_glob => {
                    lacking.push(failure);
                    continue;
                }
                Err(failure) => return Err(failure.into()),
            };
            if !std::mem::take(&mut is_first) && !args.json {
                writeln!(session.out)?;
            }
            let wanted =
                SelectedVariable { variable, view: Arc::clone(&view), id, args, steps, file };
            let missing = wanted.print(session)?;
            outcome = outcome.max(wanted.report_losses(session, opened, missing));
        }
        outcome = outcome.max(report_missing_steps(session, opened, path, &lacking, total)?);
    }
    Ok(outcome)
}

/// Says which of the variables that a glob means lack the steps that are wanted.
fn report_missing_steps(
    session: &mut Session,
    opened: &OpenedFile,
    glob: &str,
    lacking: &[Failure],
    total: usize,
) -> anyhow::Result<Outcome> {
    if lacking.is_empty() {
        return Ok(Outcome::Done);
    }
    if lacking.len() == total {
        let variables = numbers::count(total as u64, "variable", "variables");
        let why = format!("none of the {variables} that {} means has the step", escaped(glob));
        return Err(Failure::new(why).into());
    }
    session.out.flush()?;
    for failure in lacking.iter().take(LACKING_MAX) {
        session.report.remark(&opened.name, format_args!("{failure}; passed over"));
    }
    if lacking.len() > LACKING_MAX {
        let more = lacking.len() - LACKING_MAX;
        session.report.remark(&opened.name, format_args!("and {more} more without the step"));
    }
    Ok(Outcome::Findings)
}

impl SelectedVariable<'_> {
    /// Prints the values, and counts those that are not there.
    fn print(&self, session: &mut Session) -> anyhow::Result<Missing> {
        let is_scalar = self.variable.kind == VariableKind::Scalar;
        if is_scalar && !self.args.json {
            return self.print_scalars(session);
        }
        let mut missing = Missing::default();
        for step in self.steps.clone() {
            let found = self.view.step(self.id, step)?;
            let selection = select(&found.shape, &self.args.start, &self.args.count)
                .map_err(|error| Failure::new(format!("{}: {error}", self.path())))?;
            if self.args.json {
                self.print_json(session, step, found, &selection, &mut missing)?;
            } else {
                self.print_step(session, step, found, &selection, &mut missing)?;
            }
        }
        Ok(missing)
    }

    fn report_losses(
        &self,
        session: &mut Session,
        opened: &OpenedFile,
        missing: Missing,
    ) -> Outcome {
        // What is said about values stands below them.
        let _ = session.out.flush();
        let report = &mut session.report;
        let rounding = losses::rounding(report, &opened.name, self.view.as_ref(), &self.variable);
        rounding.max(missing.report(report, &opened.name, &self.variable.path))
    }

    fn path(&self) -> String {
        escaped(&self.variable.path).into_owned()
    }

    fn order(&self) -> Order {
        self.args.order.into()
    }

    /// Makes the reader of the values. It may refuse, so it is made before anything is printed.
    fn chunks(&self, step: Step, selection: &Selection) -> Result<Chunks, Failure> {
        let data_type = self.variable.data_type.clone();
        let view = Arc::clone(&self.view);
        let chunks = Chunks::new(view, data_type, step, selection, self.order(), CHUNK_VALUES);
        chunks.map_err(|error| {
            let failure = Failure::new(format!("{}: {error}", self.path()));
            failure.hint("--start and --count select a part")
        })
    }

    /// Prints a scalar's steps as if the step were its one dimension.
    fn print_scalars(&self, session: &mut Session) -> anyhow::Result<Missing> {
        let steps = self.steps.clone();
        let shape = match self.variable.steps {
            1 => "scalar".to_owned(),
            steps => format!("{steps}*scalar"),
        };
        self.print_header(session, &shape)?;
        let is_one = self.variable.steps == 1;
        let selection = Selection {
            start: if is_one { vec![] } else { vec![steps.start] },
            count: if is_one { vec![] } else { vec![steps.end - steps.start] },
        };
        let mut text = ArrayText::new(&mut session.out, &selection, Order::C, 2, self.args.text);
        let mut missing = Missing::default();
        for step in steps {
            let found = self.view.step(self.id, step)?;
            for chunk in self.chunks(found, &Selection::all(&[]))? {
                let values = chunk?.values;
                missing.add(&values);
                text.values(&values)?;
            }
        }
        text.finish()?;
        Ok(missing)
    }

    fn print_step(
        &self,
        session: &mut Session,
        number: u64,
        step: Step,
        selection: &Selection,
        missing: &mut Missing,
    ) -> anyhow::Result<()> {
        let mut about = vec![array::shape(&step.shape)];
        if self.variable.steps > 1 {
            about.push(format!("step {number} of {}", self.variable.steps));
        }
        if selection.count != step.shape {
            let part = array::shape(&selection.count);
            let start: Vec<_> = selection.start.iter().map(u64::to_string).collect();
            about.push(format!("{part} from ({})", start.join(",")));
        }
        if self.variable.rank > 1 {
            about.push(format!("{} order assumed", array::order_name(self.order())));
        }
        let chunks = self.chunks(step, selection)?;
        self.print_header(session, &about.join(", "))?;
        let order = self.order();
        let mut text = ArrayText::new(&mut session.out, selection, order, 2, self.args.text);
        for chunk in chunks {
            let values = chunk?.values;
            missing.add(&values);
            text.values(&values)?;
        }
        Ok(text.finish()?)
    }

    fn print_header(&self, session: &mut Session, about: &str) -> anyhow::Result<()> {
        let paint = session.out.paint();
        let (kind, bold) = (paint.style(style::KIND), paint.style(style::TITLE));
        let (type_name, path) = (&self.variable.type_name, self.path());
        writeln!(session.out, "{kind}{type_name}{kind:#}  {bold}{path}{bold:#}  {about}")?;
        Ok(())
    }

    fn print_json(
        &self,
        session: &mut Session,
        number: u64,
        step: Step,
        selection: &Selection,
        missing: &mut Missing,
    ) -> anyhow::Result<()> {
        let mut head = json!({
            "path": self.variable.path,
            "type": self.variable.type_name,
            "step": number,
            "steps": self.variable.steps,
            "shape": step.shape,
            "start": selection.start,
            "count": selection.count,
            "order": array::order_name(self.order()).to_lowercase(),
        });
        if let (Some(file), Value::Object(fields)) = (self.file, &mut head) {
            fields.shift_insert(0, "file".to_owned(), json!(file));
        }
        let chunks = self.chunks(step, selection)?;
        let head = head.to_string();
        session.out.write_all(head.strip_suffix('}').unwrap_or_default().as_bytes())?;
        session.out.write_all(b",\"values\":[")?;
        for chunk in chunks {
            let chunk = chunk?;
            missing.add(&chunk.values);
            array::json_values(&mut session.out, &chunk.values, chunk.position == 0)?;
        }
        Ok(session.out.write_all(b"]}\n")?)
    }
}
