//! Profiles: what was measured, in which calling context, by which thread.
//!
//! A *metric* is what was measured. A *calling context* is a path from an entry point of the
//! program down to a place in it; contexts make a tree. A *thread* is one profile of a run: a
//! thread of a process, a stream of a GPU. Values are sparse: most threads have none in most
//! contexts.
//!
//! A format reads contexts and values where they lie; [`CallTree`] holds them in memory for
//! formats that have a tree for each thread, and merges those by path.

mod builder;
mod changes;
mod computed;
mod derived;
mod derived_paths;
mod filtered;
#[cfg(test)]
mod fixture;
mod flat;
mod inconsistencies;
mod labels;
mod names;
mod paths;
mod pattern;
mod per_thread;
mod question;
mod sink;
mod slots;
mod stack;
mod threads;
mod top_rows;
mod traces;
mod tree;
mod walk;

pub use builder::CallTreeBuilder;
pub use changes::{PathChange, PathChanges, path_changes};
pub use computed::{ComputedMetric, Expression, Operation};
pub use derived::{Derived, Formula, Input, Side, flat_derived, per_thread_derived};
pub use derived_paths::{bottom_up_derived, top_down_derived};
pub use filtered::{PathFilter, filtered};
pub use flat::{FlatGrouping, FlatProfile, FlatRow, Place, flat};
pub use names::{CALLS, PATH_NAME_MAX, base_name, beginning, path_text};
pub use paths::{Detail, PathNode, PathTree, bottom_up, top_down};
pub use pattern::NamePattern;
pub use per_thread::{SpentScope, per_thread};
pub use question::{MetricQuery, callee_totals};
pub use sink::{Parts, ProfileSink, SinkValue, Statistic, SummaryValue, SunkSample, copy_profile};
pub use threads::{IdKind, IdPart, Thread, ThreadSet};
pub use top_rows::{TopRows, flat_most};
pub use traces::{IDLE, Traced, TracedLine, traced};
pub use tree::{CallTree, Node};
pub use walk::{Step, Walk};

use std::borrow::Cow;

use kymo_core::{Error, Result};

/// A metric's index in its view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MetricId(pub u32);

/// A thread's index in its view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadId(pub u32);

/// Id by which a format finds a context. Not the number that a recording gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContextId(pub u64);

/// Contexts side by side, none of which is held: where the next of them is, and where there are none
/// any more, as the view counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Siblings {
    /// Position of the next sibling.
    pub next: u64,
    /// End of the siblings. None is left where the next would be here or beyond.
    pub end: u64,
}

impl Siblings {
    /// Returns true if none is left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.next >= self.end
    }
}

/// The number that a recording gives a context: what samples and values name it by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContextNumber(pub u64);

impl ContextNumber {
    /// The number of what no value and no sample names.
    pub const NONE: Self = Self(u64::MAX);
}

/// Id by which a format finds a function. Several may have the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FunctionId(pub u64);

/// Id by which a format finds a source file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u64);

/// Id by which a format finds a module, such as a program or a library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModuleId(pub u64);

/// Values of a view, one after another.
pub type Values<'a, T> = Box<dyn Iterator<Item = Result<T>> + 'a>;

/// The profile of a dataset.
///
/// Nothing here asks a format to hold contexts or values in memory.
pub trait ProfileView: Send + Sync {
    /// Returns the metrics that were measured; ids count from 0. Few.
    fn metrics(&self) -> Vec<Metric>;

    /// Metrics that are computed from those; none of them has values of its own.
    fn derived(&self) -> Vec<Metric> {
        Vec::new()
    }

    /// Returns the computation of one of them, by its place among them.
    fn derive(&self, _place: usize) -> Option<Derived> {
        None
    }

    /// Returns the number of threads; ids count from 0.
    fn thread_count(&self) -> usize;

    /// Returns the description of a thread.
    fn thread(&self, id: ThreadId) -> Result<Thread>;

    /// Returns true if values of a thread were lost, so that what it spent is not known.
    fn is_incomplete(&self, _thread: ThreadId) -> bool {
        false
    }

    /// Returns remarks that are good to know about its values, in sentences without full stop.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns doubts about the source of its values: something in it does not fit, so that values
    /// may be wrong. They are sentences without full stop.
    fn caveats(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the greatest possible number of contexts. [`Walk`] stops a tree that has more: it
    /// has cycles.
    fn contexts_max(&self) -> u64;

    /// Returns true if what cannot be read is left out, and all else is wanted.
    fn is_salvaged(&self) -> bool {
        false
    }

    /// Says that some of what is below a context was reached before, or is more than there can be.
    /// It fails unless that is left out.
    fn on_cycle(&self, _below: ContextId) -> Result<()> {
        Err(Error::request("the tree of contexts leads round in circles: some are reached twice"))
    }

    /// Numbers below this have one context each, and those that are come by are remembered; 0 where
    /// no two can have the same.
    fn numbers_max(&self) -> u64 {
        0
    }

    /// Says that a context has the number of another, and with it its values: it is left out.
    fn on_duplicate(&self, _context: &Context) -> Result<()> {
        Ok(())
    }

    /// Returns the greatest number of bytes that the names of contexts can take, each once. Where
    /// there are more, they lie on top of each other, and a report ends.
    fn labels_max(&self) -> u64 {
        u64::MAX
    }

    /// Returns the error that names take more than that. It names the function that was one too
    /// many, where it is one.
    fn overlapping_names(&self, _of: Option<FunctionId>) -> Error {
        let why = "names come to more than the file has room for: they lie on top of each other";
        Error::request(why)
    }

    /// Appends the entry points.
    fn roots(&self, to: &mut Vec<ContextId>) -> Result<()>;

    /// The contexts directly below one.
    fn children(&self, context_id: ContextId) -> Result<Siblings>;

    /// Takes the first of contexts side by side; nothing where none is left.
    fn next_sibling(&self, siblings: &mut Siblings) -> Result<Option<ContextId>>;

    /// Returns the description of a context.
    fn context(&self, id: ContextId) -> Result<Context>;

    /// The context of a number, if it is one of the tree. May have to look through all of it
    /// the first time.
    fn find(&self, number: ContextNumber) -> Result<Option<ContextId>>;

    /// Returns the description of a function, or the name of an entry point or a placeholder.
    fn function(&self, id: FunctionId) -> Result<Function>;

    /// The name of a function, which may lie in a file that is mapped; empty where it has none.
    fn function_name(&self, id: FunctionId) -> Result<Cow<'_, str>> {
        Ok(self.function(id)?.name.into())
    }

    /// The path of a source file.
    fn file(&self, id: FileId) -> Result<String>;

    /// The path of a module.
    fn module(&self, id: ModuleId) -> Result<String>;

    /// The values of a context, summed over all threads or over some; 0 where there is none.
    /// `to` is as long as `columns`.
    fn sums(
        &self,
        context: &Context,
        columns: &[Column],
        threads: Option<&ThreadSet>,
        to: &mut [f64],
    ) -> Result<()>;

    /// A statistic of the values of a context, over all threads or over some; 0 where there is
    /// none. `to` is as long as `columns`.
    fn statistics(
        &self,
        statistic: Statistic,
        context: &Context,
        columns: &[Column],
        threads: Option<&ThreadSet>,
        to: &mut [f64],
    ) -> Result<()> {
        statistics_of_threads(self, statistic, context, columns, threads, to)
    }

    /// Every statistic over all threads that is kept, of each context; nothing where such are
    /// computed when they are asked for. Contexts may be named that the tree leaves out.
    fn stored_statistics(&self) -> Option<Values<'_, SummaryValue>> {
        None
    }

    /// Every value of a context, of each thread.
    fn context_values(&self, context: &Context) -> Result<Values<'_, ThreadValue>>;

    /// Every value of a thread, of each context. Contexts may be named that the tree leaves out;
    /// their values are part of those of the context above.
    fn thread_values(&self, thread: ThreadId) -> Result<Values<'_, ContextValue>>;

    /// Adds to what each thread spent, in the order of threads: what it measured in some contexts
    /// and all that they called. None of them lies below another.
    fn add_inclusive(&self, metric: MetricId, contexts: &[Context], to: &mut [f64]) -> Result<()> {
        inclusive_by_context(self, metric, contexts, to)
    }

    /// Returns the totals that all entry points spent together, of each metric that is measured
    /// inclusive of calls.
    fn totals(&self, threads: Option<&ThreadSet>) -> Result<Vec<f64>> {
        let count = u32::try_from(self.metrics().len()).unwrap_or(u32::MAX);
        let column = |metric| Column { metric: MetricId(metric), reach: MetricScope::Execution };
        let columns: Vec<_> = (0..count).map(column).collect();
        let (mut totals, mut sums) = (vec![0.0; columns.len()], vec![0.0; columns.len()]);
        let mut roots = Vec::new();
        self.roots(&mut roots)?;
        for root in roots {
            self.sums(&self.context(root)?, &columns, threads, &mut sums)?;
            totals.iter_mut().zip(&sums).for_each(|(total, sum)| *total += sum);
        }
        Ok(totals)
    }

    /// The context that stands for all entry points together, where there is one. It is none of the
    /// tree.
    fn whole_context(&self) -> Option<Context> {
        None
    }

    /// Returns the label of a context for a person: the function's name, or the place.
    fn label(&self, context: &Context) -> Result<String> {
        names::label(self, context)
    }
}

/// Adds to what each thread spent, from the values of each context.
///
/// # Errors
/// When they cannot be read.
pub fn inclusive_by_context<V: ProfileView + ?Sized>(
    view: &V,
    metric: MetricId,
    contexts: &[Context],
    to: &mut [f64],
) -> Result<()> {
    let column = Column { metric, reach: MetricScope::Execution };
    for context in contexts {
        for value in view.context_values(context)? {
            let value = value?;
            let index = usize::try_from(value.thread.0).unwrap_or(usize::MAX);
            if let (true, Some(to)) = (value.column == column, to.get_mut(index)) {
                *to += value.value;
            }
        }
    }
    Ok(())
}

/// A statistic of the values of a context, from those that threads have.
///
/// # Errors
/// When they cannot be read.
pub fn statistics_of_threads<V: ProfileView + ?Sized>(
    view: &V,
    statistic: Statistic,
    context: &Context,
    columns: &[Column],
    threads: Option<&ThreadSet>,
    to: &mut [f64],
) -> Result<()> {
    if statistic == Statistic::Sum {
        return view.sums(context, columns, threads, to);
    }
    to.fill(0.0);
    for found in view.context_values(context)? {
        let ThreadValue { thread, column, value } = found?;
        let is_meant = threads.is_none_or(|threads| threads.contains(thread));
        let wanted = columns.iter().zip(&mut *to).filter(|(wanted, _)| **wanted == column);
        for (_, to) in wanted.filter(|_| is_meant) {
            statistic.combine(to, statistic.apply(value));
        }
    }
    Ok(())
}

/// Metric that was measured.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Metric {
    /// Its name: `CPUTIME (sec)`.
    pub name: String,
    /// Unit in which it counts, where that is known: `sec`.
    pub unit: Option<String>,
    /// Description of the metric, in a sentence; may be empty.
    pub description: String,
    /// Scopes of its values; the kinds that are stored or computed for it.
    pub reaches: Vec<MetricScope>,
    /// Formula that computes it from others, where there is one.
    pub formula: Option<String>,
    /// True if a list shows it without being asked.
    pub is_shown: bool,
    /// True if it is there for others to be computed from, and never shown by itself.
    pub is_input: bool,
    /// True if values are also shown as shares of the whole.
    pub has_share: bool,
}

impl Metric {
    /// A metric with all reaches, and the unit that stands in parentheses at the end of its name.
    #[must_use]
    pub fn named(name: impl Into<String>) -> Self {
        let name = name.into();
        let unit = name.strip_suffix(')').and_then(|rest| Some(rest.rsplit_once('(')?.1));
        let unit = unit.filter(|unit| !unit.is_empty()).map(str::to_owned);
        let (reaches, is_shown, has_share) = (MetricScope::ALL.to_vec(), true, true);
        Self { name, unit, reaches, is_shown, has_share, ..Self::default() }
    }
}

/// Scope of a metric: how far up the tree a value counts (the propagation scope).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MetricScope {
    /// At the very context it was measured in.
    Point,
    /// Up to the function: what it did itself, without calls. This is "exclusive".
    Function,
    /// As [`MetricScope::Function`], but a loop without the loops within it.
    Lexical,
    /// Up to the entry point. This is "inclusive".
    Execution,
}

impl MetricScope {
    /// Every reach, in the order of the HPCToolkit database.
    pub const ALL: [Self; 4] = [Self::Point, Self::Function, Self::Lexical, Self::Execution];

    /// The word a person reads.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Point => "point",
            Self::Function => "function",
            Self::Lexical => "lexical",
            Self::Execution => "execution",
        }
    }
}

/// One kind of value: a metric, and how far it reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Column {
    /// The metric.
    pub metric: MetricId,
    /// Scope of its values.
    pub reach: MetricScope,
}

/// A value of a context.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ThreadValue {
    /// Thread that measured it.
    pub thread: ThreadId,
    /// Column that was measured.
    pub column: Column,
    /// Measured value.
    pub value: f64,
}

/// A value of a thread.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContextValue {
    /// Context at which it was measured.
    pub context: ContextNumber,
    /// Column that was measured.
    pub column: Column,
    /// Measured value.
    pub value: f64,
}

/// A place in the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Context {
    /// Id by which to find it.
    pub id: ContextId,
    /// The number the recording gives it.
    pub number: ContextNumber,
    /// Kind of the context.
    pub scope: Scope,
    /// Relation to the context above.
    pub relation: Relation,
    /// The function, or what an entry point or a placeholder is called.
    pub function: Option<FunctionId>,
    /// The file and the line, which is 0 where it is not known.
    pub source: Option<(FileId, u32)>,
    /// The module and the offset in it.
    pub point: Option<(ModuleId, u64)>,
}

impl Context {
    /// Returns true if it begins something that was called: its own work stops at it. What lies
    /// within it lexically belongs to it.
    #[must_use]
    pub fn is_frame(&self) -> bool {
        self.relation != Relation::Lexical || self.scope == Scope::Entry
    }
}

/// Kind of a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Entry point: the place where a program or a thread begins.
    Entry,
    /// A function, called or inlined.
    Function,
    /// A loop.
    Loop,
    /// A line of source.
    Line,
    /// An instruction.
    Instruction,
    /// Placeholder for something that is no code, such as waiting.
    Placeholder,
    /// Something that the format names and we do not know.
    Other,
}

impl Scope {
    /// All of them, in their order.
    pub const ALL: [Self; 7] = [
        Self::Entry,
        Self::Function,
        Self::Loop,
        Self::Line,
        Self::Instruction,
        Self::Placeholder,
        Self::Other,
    ];

    /// The word a person reads.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Entry => "entry",
            Self::Function => "function",
            Self::Loop => "loop",
            Self::Line => "line",
            Self::Instruction => "instruction",
            Self::Placeholder => "placeholder",
            Self::Other => "other",
        }
    }
}

/// Relation of a context to the one above.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Relation {
    /// It lies within it in the source.
    Lexical,
    /// It was called from there.
    Call,
    /// It was called from there, and the compiler put its code in place.
    Inlined,
}

impl Relation {
    /// The word a person reads.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Lexical => "lexical",
            Self::Call => "call",
            Self::Inlined => "inlined",
        }
    }
}

/// Description of a function.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Function {
    /// Its name; empty where it has none.
    pub name: String,
    /// Module that its code is in.
    pub module: Option<ModuleId>,
    /// Its entry in the module; 0 where it is not known.
    pub offset: u64,
    /// File that it is defined in.
    pub file: Option<FileId>,
    /// The line of the definition; 0 where it is not known.
    pub line: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_is_what_stands_in_parentheses_at_the_end() {
        assert_eq!(Metric::named("CPUTIME (sec)").unit.as_deref(), Some("sec"));
        assert_eq!(Metric::named("GINS").unit, None);
        assert_eq!(Metric::named("odd ()").unit, None);
        assert_eq!(Metric::named(")").unit, None);
    }
}
