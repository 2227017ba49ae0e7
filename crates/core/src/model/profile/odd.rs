//! What no program does: values and contexts do not belong together then.

use super::question::Spent;
use super::{PathTree, Question};
use crate::Result;

/// What sums may differ by because they are added up in another order.
const ROUNDING: f64 = 1e-6;

/// What no program does: a part is more than the whole, or all parts come to something else. Where
/// something can be less than nothing, a part can be more than the whole. What is no number is not
/// compared.
#[derive(Default)]
pub(super) struct Odd {
    has_negative: bool,
    found: Option<String>,
}

impl Odd {
    /// Looks at what something spent.
    pub(super) fn look(
        &mut self,
        Spent { inclusive, exclusive }: Spent,
        total: f64,
        name: impl FnOnce() -> Result<String>,
    ) -> Result<()> {
        self.has_negative |= exclusive < 0.0 || inclusive < 0.0;
        if self.found.is_some() {
            return Ok(());
        }
        if is_above(inclusive, total) {
            self.found = Some(format!("{} spent more than all entry points together", name()?));
        } else if is_above(exclusive, inclusive) {
            self.found =
                Some(format!("{} spent more itself than with all that it called", name()?));
        }
        Ok(())
    }

    /// Compares what everything that was called spent itself with what entry points spent.
    pub(super) fn compare(&mut self, own: f64, total: f64) {
        if self.found.is_none() && (is_above(own, total) || is_above(total, own)) {
            self.found = Some(format!(
                "what was called spent {} itself, and all entry points together {}",
                shown(own),
                shown(total)
            ));
        }
    }

    pub(super) fn text(self) -> Option<String> {
        self.found.filter(|_| !self.has_negative)
    }
}

/// What is odd about a tree of paths. From the side of callers what a node has inclusive of calls may
/// be part of another: an inlined copy is one, and a function by itself.
pub(super) fn of_tree(tree: &PathTree, own: f64, is_from_callers: bool) -> Option<String> {
    let mut odd = Odd::default();
    for node in &tree.nodes {
        let (inclusive, exclusive) = (node.inclusive, node.exclusive);
        let exclusive = if is_from_callers { exclusive.min(inclusive) } else { exclusive };
        let spent = Spent { inclusive, exclusive };
        odd.look(spent, tree.total, || Ok(tree.label(node).to_owned())).ok()?;
    }
    odd.compare(own, tree.total);
    odd.text()
}

impl Question<'_> {
    /// What is odd about what threads spent in one place, in a sentence without full stop: together
    /// more than everything.
    ///
    /// # Errors
    /// When what was spent in all cannot be read.
    pub fn odd_threads(&self, spent: &[f64]) -> Result<Option<String>> {
        let is_odd = is_above(spent.iter().sum(), self.total()?);
        let is_odd = is_odd && spent.iter().all(|value| *value >= 0.0);
        Ok(is_odd.then(|| "threads spent more there than all entry points together".to_owned()))
    }
}

fn is_above(part: f64, whole: f64) -> bool {
    part - whole > ROUNDING * whole.abs()
}

/// A value with as many digits as are sure.
fn shown(value: f64) -> String {
    let rounded: f64 = format!("{value:.6e}").parse().unwrap_or(value);
    rounded.to_string()
}
