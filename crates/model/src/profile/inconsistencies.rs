//! Oddities that no program causes: values and contexts do not belong together then.

use super::question::{ContextReader, MeasuredScopes, Spent};
use super::{Context, ContextId, MetricQuery, PathTree, ProfileView, Statistic};
use kymo_core::Result;

/// Share by which sums may differ because they are added up in another order.
const ROUNDING: f64 = 1e-6;

/// Oddity that no program causes: a part is more than the whole, all parts come to something else,
/// or a measured value is infinite or no number. Where something can be less than nothing, a part
/// can be more than the whole.
#[derive(Default)]
pub(super) struct Inconsistencies {
    has_negative: bool,
    found: Option<String>,
    /// The same of values that are infinite, or no number.
    no_number: Option<String>,
}

impl Inconsistencies {
    /// Looks at what something spent.
    pub(super) fn check(
        &mut self,
        spent: Spent,
        measured: MeasuredScopes,
        total: f64,
        name: impl FnOnce() -> Result<String>,
    ) -> Result<()> {
        let Spent { inclusive, exclusive } = spent;
        if !measured.is_finite(spent) {
            if self.no_number.is_none() {
                self.no_number = Some(format!("{} has {NO_NUMBER}", name()?));
            }
            return Ok(());
        }
        self.has_negative |= exclusive < 0.0 || inclusive < 0.0;
        if self.found.is_some() {
            return Ok(());
        }
        if exceeds(inclusive, total) {
            self.found = Some(format!("{} spent more than all entry points together", name()?));
        } else if exceeds(exclusive, inclusive) {
            self.found =
                Some(format!("{} spent more itself than with all that it called", name()?));
        }
        Ok(())
    }

    /// Compares what everything that was called spent itself with what entry points spent.
    pub(super) fn compare(&mut self, own: f64, measured: MeasuredScopes, total: f64) {
        let all = Spent { inclusive: total, exclusive: own };
        if self.no_number.is_none() && !measured.is_finite(all) {
            self.no_number = Some(format!("something has {NO_NUMBER}"));
        }
        if self.found.is_none() && (exceeds(own, total) || exceeds(total, own)) {
            self.found = Some(format!(
                "what was called spent {} itself, and all entry points together {}",
                shown(own),
                shown(total)
            ));
        }
    }

    /// Takes into account that something spent more than what called it.
    pub(super) fn outgrown(
        &mut self,
        outgrown: ExcessOverParent,
        view: &dyn ProfileView,
    ) -> Result<()> {
        self.has_negative |= outgrown.has_negative;
        if let (None, Some(first)) = (&self.found, outgrown.first) {
            let name = view.label(&view.context(first)?)?;
            self.found = Some(format!("{name} spent more than what called it"));
        }
        Ok(())
    }

    pub(super) fn text(self) -> Option<String> {
        self.no_number.or(self.found.filter(|_| !self.has_negative))
    }
}

/// Description of a value that nothing can be compared with.
const NO_NUMBER: &str = "a value that is infinite, or no number";

/// The first context that spent more, with all that it called, than the one above it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct ExcessOverParent {
    first: Option<ContextId>,
    has_negative: bool,
}

impl ExcessOverParent {
    /// Looks at what a context spent and the one above it, where there is one.
    pub(super) fn check(
        &mut self,
        values: &ContextReader<'_>,
        context: &Context,
        spent: f64,
        above: Option<f64>,
    ) {
        if values.measured.inclusive && values.statistic == Statistic::Sum {
            self.has_negative |= spent < 0.0;
            let is_it = self.first.is_none() && above.is_some_and(|above| exceeds(spent, above));
            self.first = self.first.or(is_it.then_some(context.id));
        }
    }
}

/// Describes what is odd about a tree of paths. From the side of callers, the inclusive value of a
/// node may be part of another: an inlined copy is one, and a function by itself.
pub(super) fn tree_inconsistency(
    tree: &PathTree,
    values: &ContextReader<'_>,
    is_from_callers: bool,
) -> Result<Option<String>> {
    let (mut odd, measured) = (Inconsistencies::default(), values.measured);
    for node in &tree.nodes {
        let (inclusive, mut exclusive) = (node.inclusive, node.exclusive);
        if is_from_callers && exclusive.is_finite() && exclusive > inclusive {
            exclusive = inclusive;
        }
        let spent = Spent { inclusive, exclusive };
        odd.check(spent, measured, tree.total, || Ok(tree.label(node).to_owned()))?;
    }
    let own = if measured.exclusive { tree.own } else { f64::NAN };
    odd.compare(own, measured, tree.total);
    odd.outgrown(tree.outgrown, values.view())?;
    Ok(odd.text())
}

impl MetricQuery<'_> {
    /// Describes what is odd about the values that threads spent in one place, in a sentence
    /// without full stop: together more than everything, or one of them no number.
    ///
    /// # Errors
    /// When what was spent in all cannot be read.
    pub fn thread_inconsistency(&self, spent: &[f64]) -> Result<Option<String>> {
        if spent.iter().any(|value| !value.is_finite()) {
            return Ok(Some(format!("a thread has {NO_NUMBER}")));
        }
        let is_odd = exceeds(spent.iter().sum(), self.total()?);
        let is_odd = is_odd && spent.iter().all(|value| *value >= 0.0);
        Ok(is_odd.then(|| "threads spent more there than all entry points together".to_owned()))
    }
}

fn exceeds(part: f64, whole: f64) -> bool {
    part - whole > ROUNDING * whole.abs()
}

/// A value with as many digits as are sure.
fn shown(value: f64) -> String {
    let rounded: f64 = format!("{value:.6e}").parse().unwrap_or(value);
    rounded.to_string()
}
