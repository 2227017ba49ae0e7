//! Values that reach each context from below it, a thread and a metric at a time.

use kymo_core::{Invariant as _, Result};
use kymo_model::profile::{MetricId, MetricScope};

use crate::links::Links;
use crate::names::{index, number};
use crate::rows::HasContext;
use crate::tree::GLOBAL;

/// Values that a thread measured at the very context.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SelfValue {
    pub(crate) context: u32,
    pub(crate) metric: MetricId,
    pub(crate) value: f64,
}

/// Values of a thread for a metric in each scope.
pub(crate) type Reached = [f64; MetricScope::ALL.len()];

/// Values that reach a context.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Row {
    pub(crate) context: u32,
    pub(crate) is_loop: bool,
    pub(crate) reached: Reached,
}

impl HasContext for Row {
    fn context(&self) -> u32 {
        self.context
    }
}

impl Row {
    /// Returns the value of a thread in a scope. hpcprof (`compat`) leaves nothing out of loops
    /// there.
    pub(crate) fn thread_values(&self, reach: MetricScope, compat: bool) -> f64 {
        let [point, function, lexical, execution] = self.reached;
        match reach {
            MetricScope::Point => point,
            MetricScope::Lexical if self.is_loop && compat => function,
            MetricScope::Function => function,
            MetricScope::Lexical => lexical,
            MetricScope::Execution => execution,
        }
    }
}

/// A context that something reaches.
#[derive(Debug, Clone, Copy)]
struct Sums {
    own: f64,
    function: f64,
    /// As `function`, without what is in loops.
    outside_loops: f64,
    execution: f64,
    /// The place of the context above; its own at the top.
    above: u32,
    is_lexical: bool,
    is_loop: bool,
}

/// Room for one metric of one thread.
#[derive(Debug, Default)]
pub(crate) struct Propagation {
    /// The place among the sums of each context, from 1; 0 where it has none.
    places: Vec<u32>,
    sums: Vec<Sums>,
    /// Contexts with their places.
    touched: Vec<(u32, u32)>,
}

impl Propagation {
    /// Adds up values of one metric. Gives what reaches each context, in their order.
    pub(crate) fn run(
        &mut self,
        links: &Links,
        own: impl Iterator<Item = (u32, f64)>,
    ) -> Result<Vec<Row>> {
        self.places.resize(links.count().max(self.places.len()), 0);
        for (context, value) in own {
            let place = self.touch(links, context);
            let sums = place.and_then(|place| self.sums.get_mut(index(place)));
            sums.or_broken("a context with a value has no sums")?.own += value;
        }
        self.touched.sort_unstable();
        for (_, place) in self.touched.iter().rev() {
            raise(&mut self.sums, *place)?;
        }
        let rows = self.touched.iter().filter_map(|(context, place)| {
            let sums = self.sums.get(index(*place))?;
            let lexical = if sums.is_loop { sums.outside_loops } else { sums.function };
            let reached = [sums.own, sums.function, lexical, sums.execution];
            Some(Row { context: *context, is_loop: sums.is_loop, reached })
        });
        let rows = rows.collect();
        for (context, _) in self.touched.drain(..) {
            if let Some(place) = self.places.get_mut(index(context)) {
                *place = 0;
            }
        }
        self.sums.clear();
        Ok(rows)
    }

    /// Gives a context and all above it a place, and tells its own.
    fn touch(&mut self, links: &Links, context: u32) -> Option<u32> {
        let own = self.places.get(index(context)).copied()?;
        if own != 0 {
            return Some(own - 1);
        }
        let first = number(self.sums.len());
        let mut at = context;
        loop {
            let place = self.places.get_mut(index(at))?;
            if *place != 0 {
                // The last one that was new hangs below one that was not.
                let above = *place - 1;
                if let Some(last) = self.sums.last_mut() {
                    last.above = above;
                }
                return Some(first);
            }
            let link = links.get(at)?;
            let own = number(self.sums.len());
            *place = own + 1;
            self.touched.push((at, own));
            self.sums.push(Sums {
                own: 0.0,
                function: 0.0,
                outside_loops: 0.0,
                execution: 0.0,
                above: if at == GLOBAL { own } else { own + 1 },
                is_lexical: link.is_lexical,
                is_loop: link.is_loop,
            });
            if at == GLOBAL {
                return Some(first);
            }
            at = link.parent;
        }
    }
}

/// Adds its own value to what came from below, and hands that on to the context above.
fn raise(sums: &mut [Sums], place: u32) -> Result<()> {
    let own = sums.get_mut(index(place)).or_broken("a context has no sums")?;
    own.function += own.own;
    own.outside_loops += own.own;
    own.execution += own.own;
    let own = *own;
    if own.above == place {
        return Ok(());
    }
    let above =
        sums.get_mut(index(own.above)).or_broken("the context above another has no sums")?;
    above.execution += own.execution;
    if own.is_lexical {
        above.function += own.function;
        if !own.is_loop {
            above.outside_loops += own.outside_loops;
        }
    }
    Ok(())
}
