//! `metrics/default.yaml`: how metrics are shown, and those that are computed from others.
//!
//! Formulas of sums over threads are evaluated. What is computed of counts, squares, the least or
//! the most of threads is left out: core's profile has sums.

mod formula;
mod yaml;

use std::collections::HashMap;
use std::sync::Arc;

use kymo_core::model::profile::{Derived, Formula, Metric, MetricId, Reach};

use formula::{ExprId, Formulas};
use yaml::{Document, NodeId};

/// How deep metrics may lie below each other.
const LEVELS_MAX: usize = 32;

/// What a taxonomy says.
#[derive(Debug, Default)]
pub(crate) struct Taxonomy {
    formulas: Arc<Formulas>,
    inputs: Vec<Input>,
    shown: Vec<Shown>,
}

/// A stored statistic that formulas use.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Input {
    metric: String,
    scope: String,
    /// Whether it is the sum of what threads have.
    is_sum: bool,
}

/// A way to look at a metric.
#[derive(Debug)]
struct Shown {
    name: String,
    description: String,
    is_visible: bool,
    inclusive: Option<ExprId>,
    exclusive: Option<ExprId>,
}

impl Taxonomy {
    /// Reads a taxonomy.
    pub(crate) fn read(text: &str, nodes_max: u64) -> Result<Self, String> {
        let document = Document::read(text, nodes_max)?;
        let Some(root) = document.root() else { return Ok(Self::default()) };
        if let Some(version) = document.get_text(root, "version").filter(|text| *text != "0") {
            return Err(format!("version {version} is not known"));
        }
        let mut formulas = Formulas::default();
        let mut inputs = Vec::new();
        for node in document.get(root, "inputs").map_or(&[][..], |list| document.items(list)) {
            let text = |key| document.get_text(*node, key);
            let (Some(metric), Some(scope)) = (text("metric"), text("scope")) else {
                return Err("an input without metric or scope".to_owned());
            };
            let is_sum = text("formula").is_none_or(|formula| formula == "$$")
                && text("combine").is_none_or(|combine| combine == "sum");
            formulas.input(*node, inputs.len());
            inputs.push(Input { metric: metric.to_owned(), scope: scope.to_owned(), is_sum });
        }
        let mut shown = Vec::new();
        let mut pending: Vec<(NodeId, usize)> = Vec::new();
        let roots = document.get(root, "roots").map_or(&[][..], |list| document.items(list));
        pending.extend(roots.iter().rev().map(|node| (*node, 0)));
        let mut left = nodes_max;
        while let Some((node, level)) = pending.pop() {
            // Aliases could make many of few.
            left = left.checked_sub(1).ok_or("there are too many metrics")?;
            variants(&document, node, &mut formulas, &mut shown);
            if level < LEVELS_MAX {
                let children = document.get(node, "children").map(|list| document.items(list));
                let below = children.unwrap_or_default().iter().rev();
                pending.extend(below.map(|child| (*child, level + 1)));
            }
        }
        Ok(Self { formulas: Arc::new(formulas), inputs, shown })
    }

    /// Describes stored metrics as the taxonomy does.
    pub(crate) fn describe(&self, metrics: &mut [Metric]) {
        for shown in &self.shown {
            let input = shown.inclusive.and_then(|id| self.formulas.as_input(id));
            let Some(input) = input.and_then(|input| self.inputs.get(input)) else { continue };
            let metric = metrics.iter_mut().find(|metric| metric.name == input.metric);
            if let (Some(metric), true) = (metric, input.is_sum && shown.name == input.metric) {
                metric.description.clone_from(&shown.description);
                metric.is_shown = shown.is_visible;
            }
        }
    }

    /// The metrics that are computed from stored ones.
    pub(crate) fn derived(&self, metrics: &[Metric]) -> Vec<Derived> {
        self.shown.iter().filter_map(|shown| self.derive(shown, metrics)).collect()
    }

    fn derive(&self, shown: &Shown, metrics: &[Metric]) -> Option<Derived> {
        let is_stored = shown.inclusive.is_some_and(|id| self.formulas.as_input(id).is_some());
        if is_stored || (shown.inclusive.is_none() && shown.exclusive.is_none()) {
            return None;
        }
        let sides = [(shown.inclusive, "execution"), (shown.exclusive, "function")];
        // Which metric each input is of, and its place among those that are needed.
        let mut places: HashMap<usize, usize> = HashMap::new();
        let mut needed: Vec<MetricId> = Vec::new();
        for (formula, scope) in sides {
            for index in formula.map(|id| self.formulas.inputs(id)).unwrap_or_default() {
                let input = self.inputs.get(index)?;
                if input.scope != scope || !input.is_sum {
                    return None;
                }
                let metric = metrics.iter().position(|metric| metric.name == input.metric)?;
                let metric = MetricId(u32::try_from(metric).ok()?);
                let place = needed.iter().position(|known| *known == metric);
                places.insert(index, place.unwrap_or(needed.len()));
                if place.is_none() {
                    needed.push(metric);
                }
            }
        }
        let metric = Metric {
            description: shown.description.clone(),
            is_shown: shown.is_visible,
            reaches: vec![Reach::Function, Reach::Execution],
            ..Metric::named(shown.name.clone())
        };
        let (inclusive, exclusive) = (shown.inclusive, shown.exclusive);
        let formulas = Arc::clone(&self.formulas);
        let formula = Arc::new(Computed { formulas, places, inclusive, exclusive });
        Some(Derived { metric, inputs: needed, formula })
    }
}

/// How a metric is computed.
#[derive(Debug)]
struct Computed {
    formulas: Arc<Formulas>,
    places: HashMap<usize, usize>,
    inclusive: Option<ExprId>,
    exclusive: Option<ExprId>,
}

impl Formula for Computed {
    fn evaluate(&self, reach: Reach, inputs: &[Option<f64>]) -> Option<f64> {
        let formula = match reach {
            Reach::Execution => self.inclusive?,
            Reach::Function => self.exclusive?,
            Reach::Point | Reach::Lexical => return None,
        };
        let input = |index| inputs.get(*self.places.get(&index)?).copied().flatten();
        self.formulas.evaluate(formula, input)
    }
}

/// Takes every variant of a metric that has formulas.
fn variants(document: &Document, node: NodeId, formulas: &mut Formulas, shown: &mut Vec<Shown>) {
    let text = |key| document.get_text(node, key);
    let (Some(name), Some(list)) = (text("name"), document.get(node, "variants")) else { return };
    let description = text("description").or(text("short description")).unwrap_or(name);
    let is_visible = text("visible by default") != Some("false");
    for (variant, how) in document.pairs(list) {
        let Some(formula) = document.get(*how, "formula") else { continue };
        let mut side = |key| {
            let side = document.get(formula, key)?;
            let standard = document.get(side, "standard");
            // Without a map of its own, it is the formula itself.
            let is_map = standard.is_some() || document.get(side, "custom").is_some();
            formulas.read(document, if is_map { standard? } else { side })
        };
        let (inclusive, exclusive) = (side("inclusive"), side("exclusive"));
        let name = match document.text(*variant) {
            None | Some("" | "Sum") => name.to_owned(),
            Some(variant) => format!("{name}:{variant}"),
        };
        let description = description.to_owned();
        shown.push(Shown { name, description, is_visible, inclusive, exclusive });
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;

    /// What is explained beside each database that we write.
    #[test]
    fn the_example_that_is_written_is_a_taxonomy() {
        let text = include_str!("../write/texts/METRICS.yaml.ex");
        let taxonomy = Taxonomy::read(text, 10_000).unwrap();
        let names: Vec<_> = taxonomy.shown.iter().map(|shown| shown.name.as_str()).collect();
        assert_eq!(names, ["Time", "Time:Mean", "Half of it"]);
        let metrics = [Metric::named("CPUTIME (sec)")];
        let derived = taxonomy.derived(&metrics);
        // The mean is of a count, which is no sum of what threads have.
        let [half] = derived.as_slice() else { panic!("{derived:?}") };
        assert_eq!(
            (half.metric.name.as_str(), half.inputs.as_slice()),
            ("Half of it", &[MetricId(0)][..])
        );
        assert_eq!(half.formula.evaluate(Reach::Execution, &[Some(3.0)]), Some(1.5));
        assert_eq!(half.formula.evaluate(Reach::Function, &[None]), None);
    }

    #[test]
    fn what_is_no_taxonomy_is_refused() {
        assert!(Taxonomy::read("version: 7", 100).is_err());
        assert!(Taxonomy::read("inputs: [{metric: x}]", 100).is_err());
        assert!(Taxonomy::read("a: [", 100).is_err());
        assert!(Taxonomy::read("", 100).unwrap().shown.is_empty());
        assert!(Taxonomy::read("just a text", 100).unwrap().shown.is_empty());
    }

    #[test]
    fn whatever_is_cut_or_changed_there_is_an_answer() {
        let text = include_str!("../write/texts/METRICS.yaml.ex");
        let metrics = [Metric::named("CPUTIME (sec)")];
        let answer = |text: &str| {
            if let Ok(taxonomy) = Taxonomy::read(text, 10_000) {
                for derived in taxonomy.derived(&metrics) {
                    derived.formula.evaluate(Reach::Execution, &[Some(1.0)]);
                }
            }
        };
        for at in (0..text.len()).step_by(7).filter(|at| text.is_char_boundary(*at)) {
            answer(&text[..at]);
            for other in ["[", "{", "*", "&", ":", "\n", "\t", "'", "-", "!", "|", "%"] {
                let mut changed = text.to_owned();
                changed.replace_range(at..=at, other);
                answer(&changed);
            }
        }
    }

    #[test]
    fn metrics_that_aliases_make_many_of_are_refused() {
        let mut text = String::from("a: &a0 {name: x}\n");
        for level in 1..30 {
            let below = level - 1;
            let _ = writeln!(text, "a{level}: &a{level} {{children: [*a{below}, *a{below}]}}");
        }
        text.push_str("roots: [*a29]\n");
        assert_eq!(Taxonomy::read(&text, 1000).unwrap_err(), "there are too many metrics");
    }
}
