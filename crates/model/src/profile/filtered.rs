//! A profile with some of its paths, or without some of its functions.

use std::collections::HashMap;

use super::labels::{Label, Labels};
use super::{
    CallTree, CallTreeBuilder, Column, Context, ContextId, FileId, Function, FunctionId, Metric,
    MetricId, MetricQuery, MetricScope, ModuleId, NamePattern, Node, Scope, Step, Thread, ThreadId,
    Walk,
};
use kymo_core::Result;
use kymo_core::bytes::Limits;

/// Filter for paths that count, and for functions that are shown on them.
#[derive(Debug, Clone, Default)]
pub struct PathFilter {
    /// Only paths through one of these functions count.
    pub focus: Vec<NamePattern>,
    /// Paths through one of these functions do not count.
    pub ignore: Vec<NamePattern>,
    /// These functions are not shown: what they spent is their callers'.
    pub hide: Vec<NamePattern>,
}

impl PathFilter {
    /// Returns true when all paths count and all functions are shown.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.focus.is_empty() && self.ignore.is_empty() && self.hide.is_empty()
    }
}

/// Result of a filter for a function.
#[derive(Clone, Copy)]
struct Verdict {
    is_focus: bool,
    is_ignored: bool,
    is_hidden: bool,
}

/// A context on the way to where the walk is.
struct Open {
    /// Context that is shown; `None` where it is hidden.
    shown: Option<Context>,
    /// Its context in the new tree, once something was spent at it or below.
    made: Option<ContextId>,
    counts: bool,
    /// Value spent at the very context: at first with what lies within it.
    value: f64,
    /// The same with what lies within it, to tell what is left from what rounding leaves.
    whole: f64,
}

/// Share of a sum up to which a rest may be a rounding error.
const ROUNDING: f64 = 1e-12;

/// The contexts of a question that a filter lets through, as a profile of one thread and the one
/// metric. What was spent in a hidden function is its caller's; entry points are always shown.
///
/// # Errors
/// When the profile cannot be read.
pub fn filtered(
    question: &MetricQuery<'_>,
    metric: Metric,
    filter: &PathFilter,
    limits: &Limits,
) -> Result<CallTree> {
    let reach = [MetricScope::Function, MetricScope::Execution]
        .into_iter()
        .find(|reach| question.has_scope(*reach));
    let mut filtering =
        PathFilterWalk::new(question, metric, reach.unwrap_or(MetricScope::Point), limits)?;
    let mut walk = Walk::new(question.view)?;
    while let Some(step) = walk.next() {
        match step? {
            Step::Enter(context, _) => {
                let verdict = filtering.verdict(&context, filter)?;
                filtering.enter(&context, verdict, filter.focus.is_empty())?;
                if verdict.is_ignored {
                    walk.prune()?;
                }
            }
            Step::Leave(..) => filtering.leave()?,
        }
    }
    question.view.remarks().into_iter().for_each(|text| filtering.builder.remark(text));
    question.view.caveats().into_iter().for_each(|text| filtering.builder.add_caveat(text));
    Ok(filtering.builder.finish())
}

struct PathFilterWalk<'a> {
    question: &'a MetricQuery<'a>,
    column: Column,
    labels: Labels<'a>,
    /// Results of the filter for labels, by their number.
    known: Vec<Option<Verdict>>,
    builder: CallTreeBuilder,
    thread: ThreadId,
    metric: MetricId,
    open: Vec<Open>,
    functions: HashMap<FunctionId, FunctionId>,
    files: HashMap<FileId, FileId>,
    modules: HashMap<ModuleId, ModuleId>,
}

impl<'a> PathFilterWalk<'a> {
    fn new(
        question: &'a MetricQuery<'a>,
        metric: Metric,
        reach: MetricScope,
        limits: &Limits,
    ) -> Result<Self> {
        let mut builder = CallTreeBuilder::new(limits);
        let metric = builder.metric(metric)?;
        let thread = builder.thread(Thread::default())?;
        let column = Column { metric: question.metric, reach };
        let labels = Labels::for_view(question.view);
        Ok(Self {
            question,
            column,
            labels,
            known: Vec::new(),
            builder,
            thread,
            metric,
            open: Vec::new(),
            functions: HashMap::new(),
            files: HashMap::new(),
            modules: HashMap::new(),
        })
    }

    /// Returns the result of the filter for a context: functions have names, and entry points are
    /// no functions.
    fn verdict(&mut self, context: &Context, filter: &PathFilter) -> Result<Verdict> {
        if !context.is_frame() || context.scope == Scope::Entry {
            return Ok(Verdict { is_focus: false, is_ignored: false, is_hidden: false });
        }
        let label = self.labels.context_label(context)?;
        self.known.resize(self.known.len().max(self.labels.len()), None);
        if let Some(verdict) = self.known.get(label.0).copied().flatten() {
            return Ok(verdict);
        }
        let is_among = |patterns: &[NamePattern], label: Label| {
            patterns.iter().any(|pattern| self.labels.matches(label, pattern))
        };
        let verdict = Verdict {
            is_focus: is_among(&filter.focus, label),
            is_ignored: is_among(&filter.ignore, label),
            is_hidden: is_among(&filter.hide, label),
        };
        if let Some(known) = self.known.get_mut(label.0) {
            *known = Some(verdict);
        }
        Ok(verdict)
    }

    fn enter(&mut self, context: &Context, verdict: Verdict, counts_all: bool) -> Result<()> {
        let MetricQuery { view, threads, .. } = *self.question;
        let mut value = [0.0];
        view.sums(context, &[self.column], threads, &mut value)?;
        let [value] = value;
        let is_within = self.column.reach == MetricScope::Execution || !context.is_frame();
        let (mut is_hidden, mut counts) = (verdict.is_hidden, counts_all || verdict.is_focus);
        if let Some(above) = self.open.last_mut() {
            if is_within {
                above.value -= value;
            }
            counts |= above.counts;
            // The loops and lines of a hidden function are hidden with it.
            is_hidden |= !context.is_frame() && above.shown.is_none();
        }
        counts &= !verdict.is_ignored;
        let shown = (!is_hidden).then_some(*context);
        self.open.push(Open { shown, made: None, counts, value, whole: value });
        Ok(())
    }

    /// Adds what was spent at the context that the walk leaves.
    fn leave(&mut self) -> Result<()> {
        let spent = self.open.last().filter(|open| {
            open.counts && open.value != 0.0 && open.value.abs() > open.whole.abs() * ROUNDING
        });
        if let Some(value) = spent.map(|open| open.value)
            && let Some(context) = self.make_path()?
        {
            self.builder.add(self.thread, context, self.metric, value);
        }
        self.open.pop();
        Ok(())
    }

    /// Makes the contexts on the way to where the walk is, and returns the last that is shown.
    fn make_path(&mut self) -> Result<Option<ContextId>> {
        let mut open = std::mem::take(&mut self.open);
        let mut above = None;
        for open in &mut open {
            let Some(context) = &open.shown else { continue };
            if open.made.is_none() {
                let node = self.node(context)?;
                open.made = Some(self.builder.child(above, node)?);
            }
            above = open.made;
        }
        self.open = open;
        Ok(above)
    }

    /// A context of the profile as one of the new tree.
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
        Ok(Node { function, source, point, ..Node::new(context.scope, context.relation) })
    }

    fn function(&mut self, id: FunctionId) -> Result<FunctionId> {
        if let Some(known) = self.functions.get(&id) {
            return Ok(*known);
        }
        let Function { name, module, offset, file, line } = self.question.view.function(id)?;
        let module = module.map(|module| self.module(module)).transpose()?;
        let file = file.map(|file| self.file(file)).transpose()?;
        let made = self.builder.function(Function { name, module, offset, file, line });
        self.functions.insert(id, made);
        Ok(made)
    }

    fn file(&mut self, id: FileId) -> Result<FileId> {
        if let Some(known) = self.files.get(&id) {
            return Ok(*known);
        }
        let made = self.builder.file(self.question.view.file(id)?);
        self.files.insert(id, made);
        Ok(made)
    }

    fn module(&mut self, id: ModuleId) -> Result<ModuleId> {
        if let Some(known) = self.modules.get(&id) {
            return Ok(*known);
        }
        let made = self.builder.module(self.question.view.module(id)?);
        self.modules.insert(id, made);
        Ok(made)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Detail, PathNode, ProfileView, fixture, top_down};
    use super::*;

    fn patterns(names: &[&str]) -> Vec<NamePattern> {
        names.iter().map(|name| NamePattern::new(name).unwrap()).collect()
    }

    /// The functions of a tree with their depth and what they spent, inclusive and exclusive.
    fn paths(filter: &PathFilter) -> Vec<String> {
        let tree = fixture::tree();
        let question = MetricQuery { view: &tree, metric: MetricId(0), threads: None };
        let metric = tree.metrics()[0].clone();
        let tree = filtered(&question, metric, filter, &Limits::default()).unwrap();
        let question = MetricQuery { view: &tree, metric: MetricId(0), threads: None };
        let found = top_down(&question, Detail::Functions, 40).unwrap();
        let line = |node: &PathNode| {
            let PathNode { depth, inclusive, exclusive, .. } = node;
            format!("{depth} {} {inclusive} {exclusive}", found.label(node))
        };
        found.nodes.iter().map(line).collect()
    }

    #[test]
    fn without_a_filter_all_is_as_it_was() {
        let tree = fixture::tree();
        let question = MetricQuery { view: &tree, metric: MetricId(0), threads: None };
        let found = top_down(&question, Detail::Functions, 40).unwrap();
        let all = paths(&PathFilter::default());
        assert_eq!(all.len(), found.nodes.len());
        assert!(all[0].ends_with(" 15 0"), "{all:?}");
    }

    #[test]
    fn focus_keeps_the_paths_through_a_function() {
        let found = paths(&PathFilter { focus: patterns(&["work"]), ..PathFilter::default() });
        assert!(found[0].ends_with(" 7 0"), "{found:?}");
    }

    #[test]
    fn what_is_ignored_is_gone_and_what_is_hidden_is_its_callers() {
        let ignored = paths(&PathFilter { ignore: patterns(&["work"]), ..PathFilter::default() });
        assert!(ignored[0].ends_with(" 8 0"), "{ignored:?}");
        let hidden = paths(&PathFilter { hide: patterns(&["work"]), ..PathFilter::default() });
        assert!(hidden[0].ends_with(" 15 0"), "{hidden:?}");
        assert!(!hidden.iter().any(|path| path.contains("work")), "{hidden:?}");
    }
}
