//! Metrics that a recorder computes from others, as it tells them.

use super::{Metric, MetricId};

/// A metric that has no values of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct ComputedMetric {
    /// Name and scope of the metric.
    pub metric: Metric,
    /// Format in which a number of it is shown, as `printf` has it; may be empty.
    pub format: String,
    /// True if it is also shown as a share of the whole.
    pub has_share: bool,
    /// Formula of the metric.
    pub formula: Expression,
    /// The metric that it is listed before; nothing at the end.
    pub before: Option<MetricId>,
}

/// Expression that computes a metric.
#[derive(Debug, Clone, PartialEq)]
pub enum Expression {
    /// A number.
    Number(f64),
    /// Value of another metric.
    Metric(MetricId),
    /// Something done to others.
    Apply(Operation, Vec<Expression>),
}

/// Operation on numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// The sum.
    Add,
    /// The difference.
    Subtract,
    /// The product.
    Multiply,
    /// The quotient.
    Divide,
    /// The power.
    Power,
    /// The smallest.
    Min,
    /// The largest.
    Max,
}

impl Operation {
    /// The sign or the word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Power => "^",
            Self::Min => "min",
            Self::Max => "max",
        }
    }
}

impl Expression {
    /// The same of other metrics; nothing where one has none.
    #[must_use]
    pub fn map_metrics(&self, other: &dyn Fn(MetricId) -> Option<MetricId>) -> Option<Self> {
        Some(match self {
            Self::Number(number) => Self::Number(*number),
            Self::Metric(metric) => Self::Metric(other(*metric)?),
            Self::Apply(operation, expressions) => {
                let expressions: Option<_> =
                    expressions.iter().map(|expression| expression.map_metrics(other)).collect();
                Self::Apply(*operation, expressions?)
            }
        })
    }
}
