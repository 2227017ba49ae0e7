//! Writing profiles: what takes one piece by piece, and how any view is handed to it.

use std::collections::HashMap;
use std::io::Read;

use super::{
    Column, ComputedMetric, Context, ContextNumber, FileId, Function, FunctionId, Metric, MetricId,
    ModuleId, Node, ProfileView, Step, Thread, ThreadId, Walk,
};
use crate::timeline::TimeNs;
use kymo_core::Result;

/// Takes a profile: names and contexts, each after those it names, and threads one at a time.
///
/// Values may name contexts that come later. A writer needs to hold the tree and the values of one
/// thread, and no more.
pub trait ProfileSink {
    /// Says which statistics over all threads there will be, before anything else. A sink that is
    /// not told so makes sums of what threads have.
    fn statistics(&mut self, statistics: &[Statistic]) -> Result<()> {
        let _ = statistics;
        Ok(())
    }

    /// Returns the greatest number of metrics, with the statistics that there will be.
    fn metrics_max(&self) -> usize {
        usize::MAX
    }

    /// Takes a metric; ids count from 0.
    fn metric(&mut self, metric: &Metric) -> Result<MetricId>;

    /// Takes a metric that is computed from those that come before it or after it. A sink that keeps
    /// none passes it over.
    fn computed(&mut self, computed: &ComputedMetric) -> Result<()> {
        let _ = computed;
        Ok(())
    }

    /// Takes a module by its path.
    fn module(&mut self, path: &str) -> Result<ModuleId>;

    /// Takes a source file by its path.
    fn file(&mut self, path: &str) -> Result<FileId>;

    /// Takes the text of a source file that was taken before. A sink that keeps no sources passes
    /// it over.
    fn source(&mut self, file: FileId, text: &mut dyn Read) -> Result<()> {
        let _ = (file, text);
        Ok(())
    }

    /// Takes a function, whose module and file were taken before.
    fn function(&mut self, function: &Function) -> Result<FunctionId>;

    /// Takes a context under a number that is not 0 and that no other has, after the one above.
    fn context(
        &mut self,
        parent: Option<ContextNumber>,
        number: ContextNumber,
        node: &Node,
    ) -> Result<()>;

    /// Says which threads there are, before the first of them. Tells of which the names have no
    /// room as they are, and what became of them.
    fn threads(&mut self, threads: &[Thread]) -> Result<Vec<(ThreadId, String)>>;

    /// Says, after the last thread, that of those it was told of only some are there. Nothing was told
    /// of the others. These are named again: names count threads. A sink that keeps no list of
    /// threads passes it over.
    fn keep_only_threads(&mut self, threads: &[(ThreadId, Thread)]) -> Result<()> {
        let _ = threads;
        Ok(())
    }

    /// Takes the values of a thread, in any order. They may name contexts that the tree leaves
    /// out. 0 stands for the whole program.
    fn values(
        &mut self,
        thread: ThreadId,
        values: &mut dyn Iterator<Item = Result<SinkValue>>,
    ) -> Result<()>;

    /// Takes the values of a thread in order of contexts, metrics and reaches, none of them 0. It may
    /// ask for their parts on several threads.
    fn values_in_parts(&mut self, thread: ThreadId, values: &dyn Parts<SinkValue>) -> Result<()> {
        let mut all = Vec::new();
        (0..values.count())
            .for_each(|part| values.read_part(part, &mut |value| all.push(Ok(value))));
        self.values(thread, &mut all.into_iter())
    }

    /// Takes where a thread was from each moment on, in order of time; no context is idle. Tells how
    /// many it kept: idle is said once, however often it was sampled.
    fn samples(
        &mut self,
        thread: ThreadId,
        samples: &mut dyn Iterator<Item = Result<SunkSample>>,
    ) -> Result<u64>;

    /// The same of samples in parts. It may ask for them on several threads.
    fn samples_in_parts(
        &mut self,
        thread: ThreadId,
        samples: &dyn Parts<SunkSample>,
    ) -> Result<u64> {
        let part = |part| {
            let mut told = Vec::new();
            samples.read_part(part, &mut |sample| told.push(Ok(sample)));
            told
        };
        self.samples(thread, &mut (0..samples.count()).flat_map(part))
    }

    /// Takes the first and the last moment that were recorded of a thread, after its samples: also
    /// where it is not known where the thread was then. A sink that keeps none passes it over.
    fn moments(&mut self, first: TimeNs, last: TimeNs) -> Result<()> {
        let _ = (first, last);
        Ok(())
    }

    /// Takes the statistics over all threads, in order of contexts, metrics, statistics and
    /// reaches, after the last thread. It may ask for their parts on several threads.
    fn summary(&mut self, values: &dyn Parts<SummaryValue>) -> Result<()> {
        let _ = values;
        Ok(())
    }
}

/// Context at which a thread was from a timestamp on; no context is idle.
pub type SunkSample = (TimeNs, Option<ContextNumber>);

/// Things in parts that follow each other. Several threads may ask at once, each for another part.
pub trait Parts<T>: Sync {
    /// Returns the number of parts.
    fn count(&self) -> usize;

    /// Tells what is in a part, in order. Each part is asked for once.
    fn read_part(&self, part: usize, take: &mut dyn FnMut(T));
}

/// Statistic that is computed of a column over all threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Statistic {
    /// Number of threads that have the metric there.
    Count,
    /// The sum of values.
    Sum,
    /// The sum of the squares of values.
    Squares,
    /// The smallest value.
    Min,
    /// The largest value.
    Max,
}

impl Statistic {
    /// Returns the contribution of one thread's value to the statistic.
    #[must_use]
    pub fn apply(self, value: f64) -> f64 {
        match self {
            Self::Count => 1.0,
            Self::Squares => value * value,
            Self::Sum | Self::Min | Self::Max => value,
        }
    }

    /// Returns true if parts of it are added up.
    #[must_use]
    pub fn is_added(self) -> bool {
        !matches!(self, Self::Min | Self::Max)
    }

    /// Takes in what another thread or another context has; 0 is nothing yet.
    pub fn combine(self, to: &mut f64, value: f64) {
        *to = match self {
            Self::Min if *to != 0.0 && value != 0.0 => to.min(value),
            Self::Max if *to != 0.0 && value != 0.0 => to.max(value),
            // One of the two is nothing.
            Self::Min | Self::Max | Self::Count | Self::Sum | Self::Squares => *to + value,
        };
    }
}

/// A statistic over all threads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SummaryValue {
    /// Context at which it was measured.
    pub context: ContextNumber,
    /// Column that was measured.
    pub column: Column,
    /// Statistic that is computed of it.
    pub statistic: Statistic,
    /// Value of the statistic.
    pub value: f64,
}

/// A value that a sink takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SinkValue {
    /// Context at which it was measured.
    pub context: ContextNumber,
    /// Column that was measured.
    pub column: Column,
    /// Measured value.
    pub value: f64,
}

/// Hands metrics, the tree, threads and values of a view to a sink. Samples are of a timeline,
/// and left to the caller.
///
/// # Errors
/// When the view cannot be read, or the sink cannot take it.
pub fn copy_profile(view: &dyn ProfileView, to: &mut dyn ProfileSink) -> Result<()> {
    for metric in view.metrics() {
        to.metric(&metric)?;
    }
    let (modules, files, functions) = <_>::default();
    let mut names = Names { view, to, modules, files, functions };
    let mut above: Vec<ContextNumber> = Vec::new();
    let mut free = None;
    for step in Walk::new(view)? {
        match step? {
            // What was measured outside of all entry points is among the values of 0.
            Step::Enter(context, _) if context.number == WHOLE => above.push(WHOLE),
            Step::Enter(context, _) => {
                let node = names.node(&context)?;
                let number = match context.number {
                    ContextNumber::NONE => next_free(view, &mut free)?,
                    number => number,
                };
                names.to.context(above.last().copied(), number, &node)?;
                above.push(number);
            }
            Step::Leave(..) => drop(above.pop()),
        }
    }
    let ids = || (0..).map(ThreadId).take(view.thread_count());
    let threads = ids().map(|id| view.thread(id)).collect::<Result<Vec<_>>>()?;
    to.threads(&threads)?;
    for id in ids() {
        let mut values = view.thread_values(id)?.map(|value| {
            let super::ContextValue { context, column, value } = value?;
            Ok(SinkValue { context, column, value })
        });
        to.values(id, &mut values)?;
    }
    Ok(())
}

/// A number that no context has, for one that has none: no value is of it.
fn next_free(view: &dyn ProfileView, free: &mut Option<u64>) -> Result<ContextNumber> {
    let next = if let Some(next) = *free {
        next
    } else {
        let mut highest = 0;
        for step in Walk::new(view)? {
            if let Step::Enter(context, _) = step?
                && context.number != ContextNumber::NONE
            {
                highest = highest.max(context.number.0);
            }
        }
        highest.saturating_add(1)
    };
    *free = Some(next.saturating_add(1));
    Ok(ContextNumber(next))
}

/// The number that stands for the whole program.
const WHOLE: ContextNumber = ContextNumber(0);

/// Names that the sink knows by now, each with what the view calls it.
struct Names<'a> {
    view: &'a dyn ProfileView,
    to: &'a mut dyn ProfileSink,
    modules: HashMap<ModuleId, ModuleId>,
    files: HashMap<FileId, FileId>,
    functions: HashMap<FunctionId, FunctionId>,
}

impl Names<'_> {
    fn node(&mut self, context: &Context) -> Result<Node> {
        let function = context.function.map(|id| self.function(id)).transpose()?;
        let source = match context.source {
            Some((file, line)) => Some((self.file(file)?, line)),
            None => None,
        };
        let point = match context.point {
            Some((module, offset)) => Some((self.module(module)?, offset)),
            None => None,
        };
        let (scope, relation) = (context.scope, context.relation);
        Ok(Node { scope, relation, function, source, point })
    }

    fn function(&mut self, id: FunctionId) -> Result<FunctionId> {
        if let Some(&known) = self.functions.get(&id) {
            return Ok(known);
        }
        let mut function = self.view.function(id)?;
        function.module = function.module.map(|id| self.module(id)).transpose()?;
        function.file = function.file.map(|id| self.file(id)).transpose()?;
        let taken = self.to.function(&function)?;
        self.functions.insert(id, taken);
        Ok(taken)
    }

    fn file(&mut self, id: FileId) -> Result<FileId> {
        if let Some(&known) = self.files.get(&id) {
            return Ok(known);
        }
        let taken = self.to.file(&self.view.file(id)?)?;
        self.files.insert(id, taken);
        Ok(taken)
    }

    fn module(&mut self, id: ModuleId) -> Result<ModuleId> {
        if let Some(&known) = self.modules.get(&id) {
            return Ok(known);
        }
        let taken = self.to.module(&self.view.module(id)?)?;
        self.modules.insert(id, taken);
        Ok(taken)
    }
}
