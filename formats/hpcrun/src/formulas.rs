//! Formulas of a table of metrics, each of metrics that have values: one that names a computed
//! metric is computed by the formula of that.

use std::fmt;

use kymo_model::profile::{Expression, MetricId};

use crate::formula;
use crate::types::Metric;

/// Greatest number of parts of a formula that others were put into, and greatest number of parts of
/// all of these together. A few short formulas that name each other can have any number.
const PARTS_MAX: usize = 1 << 10;
const PARTS_OF_ALL_MAX: usize = 1 << 18;

/// Reason why a metric cannot be computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FormulaError {
    /// It is no formula.
    Unreadable,
    /// It names a metric that is not there.
    Nothing(u32),
    /// It names one that cannot be computed, or itself.
    Uncomputed(u32),
    /// It has very many parts, with those of the formulas that it names.
    Large,
}

impl fmt::Display for FormulaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable => f.write_str("is no formula that can be read"),
            Self::Nothing(number) => write!(f, "names #{number}, and there is no such metric"),
            Self::Uncomputed(number) => write!(f, "names #{number}, which cannot be computed"),
            Self::Large => f.write_str("has too many parts with the formulas that it names"),
        }
    }
}

/// Returns the formula of each metric of a table; `None` where it has values.
pub(crate) fn formulas(metrics: &[Metric]) -> Vec<Option<Result<Expression, FormulaError>>> {
    let mut all = Formulas { found: metrics.iter().map(Formula::from_metric).collect(), parts: 0 };
    for metric in 0..metrics.len() {
        all.compute(metric);
    }
    let found = all.found.into_iter().map(|formula| match formula {
        Formula::Values => None,
        Formula::Told(_) | Formula::Open => Some(Err(FormulaError::Unreadable)),
        Formula::Computed(computed) => Some(computed),
    });
    found.collect()
}

/// State of the formula of a metric.
enum Formula {
    /// It has values.
    Values,
    /// Its formula was read, and nothing put into it.
    Told(Expression),
    /// Those that it names are looked at.
    Open,
    Computed(Result<Expression, FormulaError>),
}

impl Formula {
    fn from_metric(metric: &Metric) -> Self {
        if !metric.is_computed() {
            return Self::Values;
        }
        match formula::parse(&metric.formula.to_string(), 0) {
            Some(formula) => Self::Told(formula),
            None => Self::Computed(Err(FormulaError::Unreadable)),
        }
    }
}

struct Formulas {
    found: Vec<Formula>,
    /// Number of parts of those that others were put into.
    parts: usize,
}

/// A formula that waits for those that it names.
struct PendingFormula {
    metric: usize,
    formula: Expression,
    names: std::vec::IntoIter<u32>,
}

impl Formulas {
    /// Computes a metric and all that it names, without recursion: any number of them may hang
    /// together.
    fn compute(&mut self, metric: usize) {
        let mut waiting: Vec<PendingFormula> = self.open(metric).into_iter().collect();
        while let Some(last) = waiting.last_mut() {
            if let Some(name) = last.names.next() {
                waiting.extend(self.open(index(name)));
            } else if let Some(PendingFormula { metric, formula, .. }) = waiting.pop() {
                let computed = self.put_in(formula);
                if let Some(found) = self.found.get_mut(metric) {
                    *found = Formula::Computed(computed);
                }
            }
        }
    }

    /// Begins with a formula that was not looked at.
    fn open(&mut self, metric: usize) -> Option<PendingFormula> {
        let found = self.found.get_mut(metric).filter(|found| matches!(found, Formula::Told(_)))?;
        let Formula::Told(formula) = std::mem::replace(found, Formula::Open) else { return None };
        let mut names = Vec::new();
        each_metric(&formula, &mut |name| names.push(name));
        Some(PendingFormula { metric, formula, names: names.into_iter() })
    }

    /// Puts the formulas of the metrics that are named in their places.
    fn put_in(&mut self, formula: Expression) -> Result<Expression, FormulaError> {
        let (mut parts, mut is_changed, mut wrong) = (count(&formula), false, None);
        each_metric(&formula, &mut |name| match self.found.get(index(name)) {
            Some(Formula::Values) => {}
            Some(Formula::Computed(Ok(other))) => {
                is_changed = true;
                parts = parts.saturating_add(count(other));
            }
            Some(_) => wrong = wrong.or(Some(FormulaError::Uncomputed(name))),
            None => wrong = wrong.or(Some(FormulaError::Nothing(name))),
        });
        match wrong {
            Some(wrong) => return Err(wrong),
            None if !is_changed => return Ok(formula),
            None => {}
        }
        let all = self.parts.saturating_add(parts);
        if parts > PARTS_MAX || all > PARTS_OF_ALL_MAX {
            return Err(FormulaError::Large);
        }
        self.parts = all;
        Ok(self.replaced(formula))
    }

    fn replaced(&self, formula: Expression) -> Expression {
        match formula {
            Expression::Number(number) => Expression::Number(number),
            Expression::Metric(metric) => match self.found.get(index(metric.0)) {
                Some(Formula::Computed(Ok(other))) => other.clone(),
                _ => Expression::Metric(metric),
            },
            Expression::Apply(operation, expressions) => {
                let expressions =
                    expressions.into_iter().map(|expression| self.replaced(expression)).collect();
                Expression::Apply(operation, expressions)
            }
        }
    }
}

/// The same with metrics that are counted from another number on.
pub(crate) fn counted_from(formula: &Expression, first: u32) -> Option<Expression> {
    formula.map_metrics(&|metric| Some(MetricId(metric.0.checked_add(first)?)))
}

fn each_metric(formula: &Expression, take: &mut dyn FnMut(u32)) {
    match formula {
        Expression::Number(_) => {}
        Expression::Metric(metric) => take(metric.0),
        Expression::Apply(_, expressions) => {
            for expression in expressions {
                each_metric(expression, take);
            }
        }
    }
}

/// Counts the parts of a formula.
fn count(formula: &Expression) -> usize {
    match formula {
        Expression::Number(_) | Expression::Metric(_) => 1,
        Expression::Apply(_, expressions) => 1 + expressions.iter().map(count).sum::<usize>(),
    }
}

fn index(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::MetricFlags;

    /// A table of formulas; an empty one is a metric with values.
    fn found(texts: &[&str]) -> Vec<Option<Result<Expression, FormulaError>>> {
        let flags = MetricFlags::raw(true);
        let metric = |text: &&str| Metric { formula: (*text).into(), ..Metric::new("A", flags) };
        formulas(&texts.iter().map(metric).collect::<Vec<_>>())
    }

    #[test]
    fn a_formula_of_a_formula_is_one_of_metrics_with_values() {
        let found = found(&["", "#2 + 1", "#0 * 2", "#3", "#5", "#4", "#9", "#6", "1 +"]);
        let told = |text| Some(Ok(formula::parse(text, 0).unwrap()));
        assert_eq!(found[..3], [None, told("(#0 * 2) + 1"), told("#0 * 2")]);
        // One that names itself, and two that name each other.
        let wrong = |why: FormulaError| Some(Err(why));
        assert_eq!(found[3], wrong(FormulaError::Uncomputed(3)));
        assert_eq!(
            found[4..6],
            [wrong(FormulaError::Uncomputed(5)), wrong(FormulaError::Uncomputed(4))]
        );
        assert_eq!(
            found[6..8],
            [wrong(FormulaError::Nothing(9)), wrong(FormulaError::Uncomputed(6))]
        );
        assert_eq!(found[8], wrong(FormulaError::Unreadable));
    }

    #[test]
    fn formulas_that_name_each_other_grow_no_larger_than_they_may() {
        // Each has the one before it twice: 2^n of the first.
        let texts: Vec<_> = (0..64).map(|number| format!("#{number} + #{number}")).collect();
        let texts: Vec<_> = std::iter::once("").chain(texts.iter().map(String::as_str)).collect();
        let found = found(&texts);
        let is_computed = found.iter().skip(1).map(|found| matches!(found, Some(Ok(_))));
        assert_eq!(is_computed.filter(|is| *is).count(), 8);
        assert_eq!(
            found[9..11],
            [Some(Err(FormulaError::Large)), Some(Err(FormulaError::Uncomputed(9)))]
        );
    }

    #[test]
    fn any_number_of_formulas_may_hang_together() {
        let texts: Vec<_> = (1..100_000).map(|number| format!("#{number}")).collect();
        let texts: Vec<_> = texts.iter().map(String::as_str).chain([""]).collect();
        let found = found(&texts);
        assert_eq!(found[0], Some(Ok(Expression::Metric(MetricId(99_999)))));
    }
}
