//! What reaches each context from below it, a thread and a metric at a time.

use kymo_core::model::profile::{Reach, Relation};

use crate::names::{index, number};
use crate::tree::{Context, GLOBAL, Scope};

/// What a thread measured at the very context.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Own {
    pub(crate) context: u32,
    pub(crate) metric: u32,
    pub(crate) value: f64,
}

/// What reaches a context.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Sums {
    own: f64,
    function: f64,
    /// As `function`, without what is in loops.
    outside_loops: f64,
    execution: f64,
}

/// How a context takes part in propagation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Link {
    pub(crate) parent: u32,
    pub(crate) is_lexical: bool,
    pub(crate) is_loop: bool,
    /// Whether it is part of the line above it.
    pub(crate) is_elided: bool,
}

impl Link {
    pub(crate) fn of(context: &Context) -> Self {
        Self {
            parent: context.parent,
            is_lexical: context.key.relation == Relation::Lexical,
            is_loop: matches!(context.key.scope, Scope::Loop(_)),
            is_elided: context.key.is_elided(),
        }
    }
}

impl Sums {
    /// The value of a reach, as it is right: a loop lexically without the loops within it.
    pub(crate) fn reach(&self, reach: Reach, is_loop: bool) -> f64 {
        match reach {
            Reach::Point => self.own,
            Reach::Lexical if is_loop => self.outside_loops,
            Reach::Function | Reach::Lexical => self.function,
            Reach::Execution => self.execution,
        }
    }
}

/// The tree as far as propagation needs it, and room for one metric of one thread.
#[derive(Debug, Default)]
pub(crate) struct Propagation {
    links: Vec<Link>,
    /// The place among the sums of each context, from 1; 0 where it has none.
    places: Vec<u32>,
    touched: Vec<u32>,
    sums: Vec<Sums>,
}

impl Propagation {
    /// Takes contexts that are new in the tree.
    pub(crate) fn grow(&mut self, links: &[Link]) {
        self.links.extend_from_slice(links);
        self.places.resize(self.links.len(), 0);
    }

    /// How a context hangs in the tree.
    pub(crate) fn link(&self, context: u32) -> Option<&Link> {
        self.links.get(index(context))
    }

    /// Adds up values of one metric, and hands what reaches each context to `take`, in ascending
    /// order of contexts.
    pub(crate) fn run(
        &mut self,
        own: impl Iterator<Item = (u32, f64)>,
        mut take: impl FnMut(u32, bool, &Sums),
    ) {
        for (context, value) in own {
            self.touch(context);
            if let Some(sums) = self.sums_of(context) {
                sums.own += value;
            }
        }
        self.touched.sort_unstable();
        let touched = std::mem::take(&mut self.touched);
        for context in touched.iter().rev() {
            self.raise(*context);
        }
        for context in &touched {
            let is_loop = self.link(*context).is_some_and(|link| link.is_loop);
            if let Some(sums) = self.sums_of(*context) {
                take(*context, is_loop, sums);
            }
        }
        for context in &touched {
            if let Some(place) = self.places.get_mut(index(*context)) {
                *place = 0;
            }
        }
        self.touched = touched;
        self.touched.clear();
        self.sums.clear();
    }

    /// Gives a context and all above it a place.
    fn touch(&mut self, mut context: u32) {
        while let Some(place) = self.places.get_mut(index(context)).filter(|place| **place == 0) {
            self.sums.push(Sums::default());
            self.touched.push(context);
            *place = number(self.sums.len());
            context = self.links.get(index(context)).map_or(GLOBAL, |link| link.parent);
        }
    }

    fn sums_of(&mut self, context: u32) -> Option<&mut Sums> {
        let place = self.places.get(index(context)).copied()?;
        self.sums.get_mut(index(place.checked_sub(1)?))
    }

    /// Adds its own value to what came from below, and hands that on to the context above.
    fn raise(&mut self, context: u32) {
        let Some(sums) = self.sums_of(context) else { return };
        sums.function += sums.own;
        sums.outside_loops += sums.own;
        sums.execution += sums.own;
        let sums = *sums;
        let Some(link) = self.links.get(index(context)).copied() else { return };
        if context == GLOBAL {
            return;
        }
        if let Some(above) = self.sums_of(link.parent) {
            above.execution += sums.execution;
            if link.is_lexical {
                above.function += sums.function;
                if !link.is_loop {
                    above.outside_loops += sums.outside_loops;
                }
            }
        }
    }
}
