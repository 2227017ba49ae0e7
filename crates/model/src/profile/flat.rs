//! A flat profile: what was spent in each function, module, file or line, wherever it was called.

use super::inconsistencies::ExcessOverParent;
use super::labels::{Label, Labels};
use super::question::{ContextReader, MeasuredScopes, Spent};
use super::stack::Stack;
use super::{Context, MetricQuery, Relation, Scope, Step, Walk};
use kymo_core::Result;

/// Kind of row in a flat profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FlatGrouping {
    /// Functions of one name, inlined or not. Code without a name counts by its address.
    Function,
    /// Lines of source. What no line is known of counts by what is known.
    Line,
    /// Files of source, by what lines say; what no line is known of counts for the file that its
    /// function is defined in.
    File,
    /// Programs and libraries.
    Module,
}

/// A flat profile.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FlatProfile {
    /// Total that all entry points spent together.
    pub total: f64,
    /// In no order, unless the most are asked for.
    pub rows: Vec<FlatRow>,
    /// Number of further rows.
    pub more: usize,
    /// Description of something that no program does, in a sentence without full stop: values and
    /// contexts do not belong together then. Only looked for where the most are asked for.
    pub odd: Option<String>,
}

/// Values spent in one function, module, file or line.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FlatRow {
    /// Label of the row.
    pub label: String,
    /// Value that it spent with all that it called; calls of itself count once.
    pub inclusive: f64,
    /// Value that it spent itself.
    pub exclusive: f64,
    /// The file or module that it is of, where it has one. Only known of rows in no order.
    pub place: Option<Place>,
}

/// Place of a row that is named by the path of a file or module.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Place {
    /// The path.
    pub path: String,
    /// Text of the row around the whole path: how it begins, and how it goes on behind the path.
    pub around: [String; 2],
}

/// Sums up what was spent, wherever it was called.
///
/// Reads each context once, and holds what the rows need.
///
/// # Errors
/// When the profile cannot be read.
pub fn flat(question: &MetricQuery<'_>, by: FlatGrouping) -> Result<FlatProfile> {
    let mut labels = Labels::for_view(question.view);
    let FlatSums { total, rows, .. } =
        flat_statistic(&ContextReader::sums(question), by, &mut labels)?;
    let shown = labels.shown();
    let row = |(label, spent): (Label, Spent)| {
        let Spent { inclusive, exclusive } = spent;
        let (name, place) = (shown.get(label)?.into_owned(), labels.place(label)?);
        Ok(FlatRow { label: name, inclusive, exclusive, place })
    };
    let rows = rows.into_iter().map(row).collect::<Result<_>>()?;
    Ok(FlatProfile { total, rows, ..FlatProfile::default() })
}

/// Sums over contexts.
pub(super) struct FlatSums {
    /// Total that all entry points spent together.
    pub(super) total: f64,
    /// Value that everything that was called spent itself, where values are added up; NaN where
    /// that is not measured.
    pub(super) own: f64,
    /// Parts of the rest that are measured: those that are numbers.
    pub(super) measured: MeasuredScopes,
    pub(super) outgrown: ExcessOverParent,
    /// Values of each label that spent something.
    pub(super) rows: Vec<(Label, Spent)>,
}

/// A flat profile of any statistic over threads. It ends early where there are more labels than are
/// held.
pub(super) fn flat_statistic(
    values: &ContextReader<'_>,
    by: FlatGrouping,
    labels: &mut Labels<'_>,
) -> Result<FlatSums> {
    let rows = Vec::with_capacity(labels.expected());
    let (open, outgrown) = <_>::default();
    let mut summing = FlatSummation { values, by, labels, rows, open, outgrown };
    let (mut total, mut own) = (0.0, 0.0);
    for step in Walk::new(values.view())? {
        match step? {
            Step::Enter(context, depth) => {
                let spent = values.spent(&context)?;
                if depth == 0 {
                    values.combine(&mut total, spent.inclusive);
                }
                if context.is_frame() {
                    own += spent.exclusive;
                }
                summing.enter(&context, spent)?;
                if summing.labels.is_overfull() {
                    break;
                }
            }
            Step::Leave(..) => summing.leave()?,
        }
    }
    let (total, measured, outgrown) = (values.total(total, own), values.measured, summing.outgrown);
    let own = if measured.exclusive { own } else { f64::NAN };
    Ok(FlatSums { total, own, measured, outgrown, rows: summing.finish() })
}

struct FlatSummation<'a, 'b, 'v> {
    values: &'a ContextReader<'a>,
    by: FlatGrouping,
    labels: &'b mut Labels<'v>,
    rows: Vec<Row>,
    /// The contexts on the way to where we are.
    open: Stack<Open, 5>,
    outgrown: ExcessOverParent,
}

#[derive(Clone, Copy, Default)]
struct Row {
    spent: Spent,
    /// Number of open contexts of this row.
    within: u32,
    /// True if the row is there also for what it spent with all that it called. If false, it is
    /// there only for what no line, file or module is known of.
    is_place: bool,
}

#[derive(Clone, Copy)]
struct Open {
    label: Option<Label>,
    kind: Kind,
    /// Value that it spent itself, less what was counted for contexts within it.
    own: f64,
    /// Value that it spent itself.
    exclusive: f64,
    /// Value that it spent with all that it called.
    inclusive: f64,
}

/// Facts that are needed about a context when it is left, or while another is below it.
#[derive(Clone, Copy)]
struct Kind {
    is_frame: bool,
    is_line: bool,
}

impl From<Open> for [u64; 5] {
    fn from(Open { label, kind, own, exclusive, inclusive }: Open) -> Self {
        let label = label.map_or(u64::MAX, |label| label.0 as u64);
        let kind = u64::from(kind.is_frame) << 1 | u64::from(kind.is_line);
        [label, kind, own.to_bits(), exclusive.to_bits(), inclusive.to_bits()]
    }
}

impl From<[u64; 5]> for Open {
    fn from([label, kind, own, exclusive, inclusive]: [u64; 5]) -> Self {
        let label = Some(label).filter(|label| *label != u64::MAX);
        Self {
            // The one that stands for nothing has no row either.
            label: label.and_then(|label| usize::try_from(label).ok()).map(Label),
            kind: Kind { is_frame: kind & 2 != 0, is_line: kind & 1 != 0 },
            own: f64::from_bits(own),
            exclusive: f64::from_bits(exclusive),
            inclusive: f64::from_bits(inclusive),
        }
    }
}

impl FlatSummation<'_, '_, '_> {
    fn enter(&mut self, context: &Context, spent: Spent) -> Result<()> {
        let is_part = self.is_part_of_line(context)?;
        let above = self.open.last_mut()?.copied();
        let spent_above = above.map(|above| above.inclusive);
        self.outgrown.check(self.values, context, spent.inclusive, spent_above);
        if context.relation == Relation::Lexical
            && !is_part
            && self.values.statistic.is_added()
            && let Some(above) = self.open.last_mut()?
        {
            above.own -= spent.exclusive;
        }
        let around = above.and_then(|above| above.label);
        let found = if is_part { None } else { self.label(context, around)? };
        let values = self.values;
        if let Some((label, is_place)) = found
            && let Some(row) = self.row(label)
        {
            if row.within == 0 {
                values.combine(&mut row.spent.inclusive, spent.inclusive);
            }
            row.within += 1;
            row.is_place |= is_place;
        }
        let own = if is_part { 0.0 } else { spent.exclusive };
        let label = found.map(|(label, _)| label);
        let kind = Kind { is_frame: context.is_frame(), is_line: context.scope == Scope::Line };
        let Spent { inclusive, exclusive } = spent;
        self.open.push(Open { label, kind, own, exclusive, inclusive })
    }

    /// Returns true if a context is an instruction of the line above it, which counts for both.
    fn is_part_of_line(&mut self, context: &Context) -> Result<bool> {
        let may_be = self.by == FlatGrouping::Line && context.scope == Scope::Instruction;
        if !may_be || context.is_frame() {
            return Ok(false);
        }
        Ok(self.open.last_mut()?.is_some_and(|open| open.kind.is_line))
    }

    fn leave(&mut self) -> Result<()> {
        let Some(Open { label, kind, own, exclusive, .. }) = self.open.pop()? else {
            return Ok(());
        };
        let is_by_line = matches!(self.by, FlatGrouping::Line | FlatGrouping::File);
        let exclusive = if is_by_line { remainder(own, exclusive) } else { exclusive };
        let counts = is_by_line || kind.is_frame;
        let values = self.values;
        if let Some(row) = label.and_then(|label| self.row(label)) {
            if counts && exclusive != 0.0 {
                values.combine(&mut row.spent.exclusive, exclusive);
            }
            row.within -= 1;
        }
        Ok(())
    }

    fn row(&mut self, label: Label) -> Option<&mut Row> {
        if self.rows.len() < self.labels.len() {
            self.rows.resize_with(self.labels.len(), Row::default);
        }
        self.rows.get_mut(label.0)
    }

    /// The row that a context counts for with all that it called, and whether that is a place of
    /// the kind that is asked for. What has no line, file or module has a row for what it spent
    /// itself; what lies in something of a file has that file, unless it has another.
    fn label(&mut self, context: &Context, around: Option<Label>) -> Result<Option<(Label, bool)>> {
        let (view, is_frame) = (self.values.view(), context.is_frame());
        let function = |is_wanted: bool| {
            let function = context.function.filter(|_| is_wanted);
            function.map(|id| view.function(id)).transpose()
        };
        let (found, none) = match self.by {
            FlatGrouping::Line => {
                let is_place = matches!(context.scope, Scope::Line | Scope::Instruction);
                return Ok(Some((self.labels.context_label(context)?, is_place)));
            }
            FlatGrouping::Function | FlatGrouping::Module if !is_frame => return Ok(None),
            FlatGrouping::Function => return Ok(Some((self.labels.context_label(context)?, true))),
            FlatGrouping::Module => {
                let of_point = context.point.map(|(module, _)| module);
                let module = function(true)?.and_then(|function| function.module).or(of_point);
                let label = module.map(|module| self.labels.module_label(module)).transpose()?;
                (label, "<no module>")
            }
            FlatGrouping::File => {
                let of_source = context.source.map(|(file, _)| file);
                let file = function(is_frame)?.and_then(|function| function.file).or(of_source);
                let label = file.map(|file| self.labels.file_label(file)).transpose()?;
                (label, "<no file>")
            }
        };
        Ok(match (found, around) {
            (Some(label), _) => Some((label, true)),
            (None, Some(around)) if !is_frame => Some((around, false)),
            (None, _) => Some((self.labels.named(none)?, false)),
        })
    }

    fn finish(self) -> Vec<(Label, Spent)> {
        let is_some = |row: &Row| {
            let Spent { inclusive, exclusive } = row.spent;
            exclusive != 0.0 || (row.is_place && inclusive != 0.0)
        };
        let rows = self.rows.into_iter().enumerate().filter(|(_, row)| is_some(row));
        rows.map(|(index, row)| (Label(index), row.spent)).collect()
    }
}

/// Returns the rest of a value when parts are taken off, or zero where the rest is only rounding.
pub(super) fn remainder(own: f64, exclusive: f64) -> f64 {
    const ROUNDING: f64 = 1e-9;
    // What is no number stays that.
    if own.abs() <= exclusive.abs() * ROUNDING { 0.0 } else { own }
}

#[cfg(test)]
mod tests {
    use super::super::{CallTree, MetricId, ThreadId, ThreadSet, fixture};
    use super::*;

    fn rows(
        tree: &CallTree,
        by: FlatGrouping,
        threads: Option<&ThreadSet>,
    ) -> Vec<(String, f64, f64)> {
        let flat = flat(&MetricQuery { view: tree, metric: MetricId(0), threads }, by).unwrap();
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
        assert_eq!(rows(&tree, FlatGrouping::Function, None), expected);
    }

    #[test]
    fn what_no_line_is_known_of_counts_by_function() {
        let tree = fixture::tree();
        let expected = [
            row("main", 15.0, 8.0),
            row("a.c:3", 7.0, 0.0),
            // Of the inner call no line is known; with it, the outer one spent 7.
            row("work", 7.0, 2.0),
            row("a.c:10", 5.0, 5.0),
        ];
        assert_eq!(rows(&tree, FlatGrouping::Line, None), expected);
    }

    #[test]
    fn instructions_count_for_their_line() {
        let tree = fixture::instructions();
        // Both instructions of line 3 spent 1 and 2, the call below the second 4; an instruction
        // of the function without a line spent 8.
        let expected = [row("a.c:3", 7.0, 3.0), row("work", 4.0, 4.0), row("a.out+0x30", 8.0, 8.0)];
        assert_eq!(rows(&tree, FlatGrouping::Line, None), expected);
    }

    #[test]
    fn what_no_module_is_known_of_is_said() {
        let tree = fixture::tree();
        assert_eq!(rows(&tree, FlatGrouping::Module, None), [row("<no module>", 15.0, 15.0)]);
    }

    /// No function says where it is defined. Of the 15, 5 were spent in line 10, which line 3 called
    /// with 2 more; 8 and 2 were spent in no line.
    #[test]
    fn files_have_what_their_lines_have() {
        let tree = fixture::tree();
        let expected = [row("<no file>", 15.0, 10.0), row("/src/a.c", 7.0, 5.0)];
        assert_eq!(rows(&tree, FlatGrouping::File, None), expected);
        // Instructions without a line count for the function, those within a line for its file.
        let tree = fixture::instructions();
        assert_eq!(
            rows(&tree, FlatGrouping::File, None),
            [row("<no file>", 15.0, 12.0), row("/src/a.c", 7.0, 3.0)]
        );
    }

    #[test]
    fn threads_can_be_chosen() {
        let tree = fixture::tree();
        let second: ThreadSet = [ThreadId(1)].into_iter().collect();
        let expected =
            [row("<main thread>", 1.0, 0.0), row("main", 1.0, 0.0), row("work", 1.0, 1.0)];
        assert_eq!(rows(&tree, FlatGrouping::Function, Some(&second)), expected);
    }

    /// Two lines of one number, in files of one name; two modules of one name, with one address.
    #[test]
    fn files_and_modules_of_one_name_are_told_apart() {
        let tree = fixture::same_names();
        let expected = [
            row("a/u.c:1", 1.0, 1.0),
            row("b/u.c:1", 2.0, 2.0),
            row("p/prog+0x10", 4.0, 4.0),
            row("q/prog+0x10", 8.0, 8.0),
        ];
        assert_eq!(rows(&tree, FlatGrouping::Line, None), expected);
        let modules =
            [row("<no module>", 15.0, 3.0), row("p/prog", 4.0, 4.0), row("q/prog", 8.0, 8.0)];
        assert_eq!(rows(&tree, FlatGrouping::Module, None), modules);
    }
}
