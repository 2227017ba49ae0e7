//! A flat profile: what was spent in each function, module, file or line, wherever it was called.

use super::labels::{Key, Label, Labels, Reading, Spent};
use super::{Context, ModuleId, Question, Relation, Scope, Step, Walk, base_name};
use crate::Result;

/// What a flat profile has a row for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum By {
    /// Functions of one name, inlined or not. Code without a name counts by its address.
    Function,
    /// Lines of source. What no line is known of counts by what is known.
    Line,
    /// The files that functions are defined in.
    File,
    /// Programs and libraries.
    Module,
}

/// A flat profile.
#[derive(Debug, Clone, PartialEq)]
pub struct Flat {
    /// What all entry points spent together.
    pub total: f64,
    /// In no order.
    pub rows: Vec<FlatRow>,
}

/// What was spent in one function, module, file or line.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FlatRow {
    /// What it is called.
    pub label: String,
    /// What it spent with all that it called; calls of itself count once.
    pub inclusive: f64,
    /// What it spent itself.
    pub exclusive: f64,
}

/// Sums up what was spent, wherever it was called.
///
/// Reads each context once, and holds what the rows need.
///
/// # Errors
/// When the profile cannot be read.
pub fn flat(question: &Question<'_>, by: By) -> Result<Flat> {
    flat_of(&Reading::sums(question), by)
}

/// A flat profile of any statistic over threads.
pub(super) fn flat_of(values: &Reading<'_>, by: By) -> Result<Flat> {
    let labels = Labels::of_view(values.view());
    let mut summing = Summing { values, by, labels, rows: Vec::new(), open: Vec::new() };
    let mut total = 0.0;
    for step in Walk::new(values.view())? {
        match step? {
            Step::Enter(context, depth) => {
                let spent = values.spent(&context)?;
                if depth == 0 {
                    values.combine(&mut total, spent.inclusive);
                }
                summing.enter(&context, spent)?;
            }
            Step::Leave(context, _) => summing.leave(&context)?,
        }
    }
    Ok(Flat { total, rows: summing.finish() })
}

struct Summing<'a> {
    values: &'a Reading<'a>,
    by: By,
    labels: Labels,
    rows: Vec<Row>,
    /// The contexts on the way to where we are.
    open: Vec<Open>,
}

#[derive(Clone, Copy, Default)]
struct Row {
    spent: Spent,
    /// How many contexts of this row we are within.
    within: u32,
}

struct Open {
    label: Option<Label>,
    scope: Scope,
    /// What it spent itself, less what was counted for contexts within it.
    own: f64,
    /// What it spent itself.
    exclusive: f64,
}

impl Summing<'_> {
    fn enter(&mut self, context: &Context, spent: Spent) -> Result<()> {
        let is_part = self.is_part_of_line(context);
        if context.relation == Relation::Lexical
            && !is_part
            && self.values.statistic.is_added()
            && let Some(above) = self.open.last_mut()
        {
            above.own -= spent.exclusive;
        }
        let label = if is_part { None } else { self.label(context)? };
        let values = self.values;
        if let Some(row) = self.row(label) {
            if row.within == 0 {
                values.combine(&mut row.spent.inclusive, spent.inclusive);
            }
            row.within += 1;
        }
        let own = if is_part { 0.0 } else { spent.exclusive };
        self.open.push(Open { label, scope: context.scope, own, exclusive: spent.exclusive });
        Ok(())
    }

    /// Whether a context is an instruction of the line above it, which counts for both.
    fn is_part_of_line(&self, context: &Context) -> bool {
        let is_line = |open: &Open| open.scope == Scope::Line;
        self.by == By::Line
            && context.scope == Scope::Instruction
            && !context.is_frame()
            && self.open.last().is_some_and(is_line)
    }

    fn leave(&mut self, context: &Context) -> Result<()> {
        let Some(Open { label, own, exclusive, .. }) = self.open.pop() else { return Ok(()) };
        let exclusive = if self.by == By::Line { rest(own, exclusive) } else { exclusive };
        let counts = self.by == By::Line || context.is_frame();
        if counts && exclusive != 0.0 {
            let label = match label {
                Some(label) => label,
                None => self.label_without(context)?,
            };
            let values = self.values;
            if let Some(row) = self.row(Some(label)) {
                values.combine(&mut row.spent.exclusive, exclusive);
            }
        }
        if let Some(row) = self.row(label) {
            row.within -= 1;
        }
        Ok(())
    }

    fn row(&mut self, label: Option<Label>) -> Option<&mut Row> {
        self.rows.resize_with(self.labels.len(), Row::default);
        self.rows.get_mut(label?.0)
    }

    /// The row that a context counts for with all that it called.
    fn label(&mut self, context: &Context) -> Result<Option<Label>> {
        let view = self.values.view();
        if self.by == By::Line {
            let is_place = matches!(context.scope, Scope::Line | Scope::Instruction);
            return is_place.then(|| self.labels.of_context(view, context)).transpose();
        }
        if !context.is_frame() {
            return Ok(None);
        }
        let function = || context.function.map(|id| view.function(id)).transpose();
        match self.by {
            By::Function | By::Line => self.labels.of_context(view, context).map(Some),
            By::Module => {
                let of_point = context.point.map(|(module, _)| module);
                let module = function()?.and_then(|function| function.module).or(of_point);
                module.map(|module| self.module(module)).transpose()
            }
            By::File => {
                let of_source = context.source.map(|(file, _)| file);
                let file = function()?.and_then(|function| function.file).or(of_source);
                let label = |file| self.labels.of(Key::File(file), || view.file(file));
                file.map(label).transpose()
            }
        }
    }

    fn module(&mut self, module: ModuleId) -> Result<Label> {
        let view = self.values.view();
        self.labels.of(Key::Module(module), || Ok(base_name(&view.module(module)?).to_owned()))
    }

    /// The row for what a context spent itself, where it has no module, file or line.
    fn label_without(&mut self, context: &Context) -> Result<Label> {
        let none = match self.by {
            By::Module => "<no module>",
            By::File => "<no file>",
            By::Function | By::Line => return self.labels.of_context(self.values.view(), context),
        };
        self.labels.of(Key::Unknown(Scope::Other), || Ok(none.to_owned()))
    }

    fn finish(mut self) -> Vec<FlatRow> {
        self.row(None);
        let texts = self.labels.into_texts();
        let rows = texts.iter().zip(self.rows).filter_map(|(label, row)| {
            let Spent { inclusive, exclusive } = row.spent;
            let is_some = inclusive != 0.0 || exclusive != 0.0;
            is_some.then(|| FlatRow { label: label.to_owned(), inclusive, exclusive })
        });
        rows.collect()
    }
}

/// What is left of a value when parts are taken off, or nothing where that is only rounding.
fn rest(own: f64, exclusive: f64) -> f64 {
    const ROUNDING: f64 = 1e-9;
    if own.abs() > exclusive.abs() * ROUNDING { own } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::super::{CallTree, MetricId, ThreadId, ThreadSet, fixture};
    use super::*;

    fn rows(tree: &CallTree, by: By, threads: Option<&ThreadSet>) -> Vec<(String, f64, f64)> {
        let flat = flat(&Question { view: tree, metric: MetricId(0), threads }, by).unwrap();
        flat.rows.into_iter().map(|row| (row.label, row.inclusive, row.exclusive)).collect()
    }

    fn row(label: &str, inclusive: f64, exclusive: f64) -> (String, f64, f64) {
        (label.to_owned(), inclusive, exclusive)
    }

    #[test]
    fn a_function_that_calls_itself_counts_once() {
        let tree = fixture::tree();
        let expected =
            [row("<main thread>", 15.0, 0.0), row("main", 15.0, 8.0), row("work", 7.0, 7.0)];
        assert_eq!(rows(&tree, By::Function, None), expected);
    }

    #[test]
    fn what_no_line_is_known_of_counts_by_function() {
        let tree = fixture::tree();
        let expected = [
            row("a.c:3", 7.0, 0.0),
            row("a.c:10", 5.0, 5.0),
            row("work", 0.0, 2.0),
            row("main", 0.0, 8.0),
        ];
        assert_eq!(rows(&tree, By::Line, None), expected);
    }

    #[test]
    fn instructions_count_for_their_line() {
        let tree = fixture::instructions();
        // Both instructions of line 3 spent 1 and 2, the call below the second 4; an instruction
        // of the function without a line spent 8.
        let expected = [row("a.c:3", 7.0, 3.0), row("work", 0.0, 4.0), row("a.out+0x30", 8.0, 8.0)];
        assert_eq!(rows(&tree, By::Line, None), expected);
    }

    #[test]
    fn what_no_module_is_known_of_is_said() {
        let tree = fixture::tree();
        assert_eq!(rows(&tree, By::Module, None), [row("<no module>", 0.0, 15.0)]);
        assert_eq!(rows(&tree, By::File, None), [row("<no file>", 0.0, 15.0)]);
    }

    #[test]
    fn threads_can_be_chosen() {
        let tree = fixture::tree();
        let second: ThreadSet = [ThreadId(1)].into_iter().collect();
        let expected =
            [row("<main thread>", 1.0, 0.0), row("main", 1.0, 0.0), row("work", 1.0, 1.0)];
        assert_eq!(rows(&tree, By::Function, Some(&second)), expected);
    }
}
