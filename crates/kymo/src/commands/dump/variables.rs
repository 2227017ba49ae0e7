//! The values of variables, or of a part of them.

use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

use kymo_core::model::arrays::{
    ArraysView, Chunks, Order, Selection, Step, Variable, VariableId, VariableKind,
};
use serde_json::{Value, json};

use super::Args;
use crate::failure::{Failure, quoted};
use crate::masks::Masks;
use crate::render::array::{self, ArrayText};
use crate::render::{escaped, style};
use crate::session::{Opened, Session};

/// Values that are held at once.
const CHUNK_VALUES: u64 = 1 << 16;

/// Near misses that a message lists.
const SUGGESTIONS_MAX: usize = 5;

/// One variable whose values are wanted.
struct Wanted<'a> {
    view: Arc<dyn ArraysView>,
    id: VariableId,
    variable: Variable,
    args: &'a Args,
    file: Option<&'a str>,
}

/// Prints the values of every variable that is wanted.
pub(super) fn dump(
    session: &mut Session,
    args: &Args,
    opened: &Opened,
    file: Option<&str>,
) -> anyhow::Result<()> {
    let Some(view) = opened.dataset.arrays() else {
        let why = format!("files of format {} have no variables", opened.format.info().title);
        return Err(Failure::new(why).hint("leave out -d").into());
    };
    let mut is_first = true;
    for path in &args.variable {
        for id in find(view.as_ref(), path, &opened.name)? {
            if !std::mem::take(&mut is_first) && !args.json {
                writeln!(session.out)?;
            }
            let wanted =
                Wanted { variable: view.variable(id), view: Arc::clone(&view), id, args, file };
            wanted.print(session)?;
        }
    }
    Ok(())
}

/// The variables that a path or a glob means.
fn find(view: &dyn ArraysView, path: &str, file: &str) -> anyhow::Result<Vec<VariableId>> {
    let exact = view.find(path);
    if !exact.is_empty() {
        return Ok(exact);
    }
    let is_glob = path.contains(['*', '?', '[', '{']);
    let ids = || (0..view.variable_count()).map(VariableId);
    if is_glob {
        let masks = Masks::new(&[path])?;
        let matching: Vec<_> = ids().filter(|id| masks.matches(&view.variable(*id).path)).collect();
        if !matching.is_empty() {
            return Ok(matching);
        }
    }
    let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    let near = ids().map(|id| view.variable(id).path);
    let near = near.filter(|path| !name.is_empty() && path.to_lowercase().contains(&name));
    let near: Vec<_> = near.take(SUGGESTIONS_MAX).map(|path| escaped(&path).into_owned()).collect();
    let hint = if near.is_empty() {
        format!("`kymo ls {}` lists the variables", quoted(file))
    } else {
        format!("there is {}", near.join(", "))
    };
    let failure = Failure::new(format!("there is no variable {}", escaped(path)));
    Err(failure.hint(hint).into())
}

impl Wanted<'_> {
    fn print(&self, session: &mut Session) -> anyhow::Result<()> {
        let steps = self.steps()?;
        let is_scalar = self.variable.kind == VariableKind::Scalar;
        if is_scalar && !self.args.json {
            return self.print_scalars(session, steps);
        }
        for step in steps {
            let found = self.view.step(self.id, step)?;
            let selection = Selection::of(&found.shape, &self.args.start, &self.args.count)
                .map_err(|error| Failure::new(format!("{}: {error}", self.path())))?;
            if self.args.json {
                self.print_json(session, step, found, &selection)?;
            } else {
                self.print_step(session, step, found, &selection)?;
            }
        }
        Ok(())
    }

    fn steps(&self) -> anyhow::Result<Range<u64>> {
        let total = self.variable.steps;
        match self.args.step {
            None => Ok(0..total),
            Some(steps) => {
                let refused = |why| Failure::new(format!("{}: {why}", self.path()));
                Ok(steps.among(total).map_err(refused)?)
            }
        }
    }

    fn path(&self) -> String {
        escaped(&self.variable.path).into_owned()
    }

    fn order(&self) -> Order {
        self.args.order.into()
    }

    fn chunks(&self, step: Step, selection: &Selection) -> kymo_core::Result<Chunks> {
        let data_type = self.variable.data_type.clone();
        let view = Arc::clone(&self.view);
        Chunks::new(view, data_type, step, selection, self.order(), CHUNK_VALUES)
    }

    /// Prints a scalar's steps as if the step were its one dimension.
    fn print_scalars(&self, session: &mut Session, steps: Range<u64>) -> anyhow::Result<()> {
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
        for step in steps {
            let found = self.view.step(self.id, step)?;
            for chunk in self.chunks(found, &Selection::all(&[]))? {
                text.values(&chunk?.values)?;
            }
        }
        Ok(text.finish()?)
    }

    fn print_step(
        &self,
        session: &mut Session,
        number: u64,
        step: Step,
        selection: &Selection,
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
        self.print_header(session, &about.join(", "))?;
        let order = self.order();
        let mut text = ArrayText::new(&mut session.out, selection, order, 2, self.args.text);
        for chunk in self.chunks(step, selection)? {
            text.values(&chunk?.values)?;
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
        let head = head.to_string();
        session.out.write_all(head.strip_suffix('}').unwrap_or_default().as_bytes())?;
        session.out.write_all(b",\"values\":[")?;
        for chunk in self.chunks(step, selection)? {
            let chunk = chunk?;
            array::json_values(&mut session.out, &chunk.values, chunk.position == 0)?;
        }
        Ok(session.out.write_all(b"]}\n")?)
    }
}
