//! `metrics/default.yaml`: how metrics are shown, and those that are computed from others.

mod formula;
mod shown;
mod yaml;

use std::collections::HashMap;
use std::sync::Arc;

use kymo_core::model::profile::{
    Column, Derived, Formula, Input, Metric, MetricId, Reach, Side, Statistic,
};

use crate::model::{reach_of, statistic_of};
use formula::{Formulas, Needed};
use shown::{Shown, read_shown};
use yaml::{Document, NodeId};

/// What a taxonomy says.
#[derive(Debug, Default)]
pub(crate) struct Taxonomy {
    formulas: Arc<Formulas>,
    inputs: Vec<Named>,
    shown: Vec<Shown>,
}

/// A stored statistic that formulas use. What we do not know has no value.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Named {
    metric: String,
    reach: Option<Reach>,
    statistic: Option<Statistic>,
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
            formulas.input(*node, inputs.len());
            inputs.push(input(&document, *node)?);
        }
        // Aliases could make many of few.
        let shown = read_shown(&document, root, document.len(), &mut formulas)?;
        Ok(Self { formulas: Arc::new(formulas), inputs, shown })
    }

    /// Describes stored metrics as the taxonomy does.
    pub(crate) fn describe(&self, metrics: &mut [Metric]) {
        for shown in self.shown.iter().filter(|shown| self.is_stored(shown)) {
            if let Some(metric) = metrics.iter_mut().find(|metric| metric.name == shown.name) {
                metric.description.clone_from(&shown.description);
                metric.is_shown = shown.is_visible;
            }
        }
    }

    /// Whether something shown is a stored metric as it is, under its own name.
    fn is_stored(&self, shown: &Shown) -> bool {
        let input = shown.inclusive.standard.and_then(|id| self.formulas.as_input(id));
        input.and_then(|input| self.inputs.get(input)).is_some_and(|input| {
            input.statistic == Some(Statistic::Sum) && input.metric == shown.name
        })
    }

    /// The metrics that are computed from stored ones.
    pub(crate) fn derived(&self, metrics: &[Metric]) -> Vec<Derived> {
        let computed = self.shown.iter().filter(|shown| !self.is_stored(shown));
        computed.filter_map(|shown| self.derive(shown, metrics)).collect()
    }

    fn derive(&self, shown: &Shown, metrics: &[Metric]) -> Option<Derived> {
        let (inclusive, exclusive) = (shown.inclusive, shown.exclusive);
        let sides = [inclusive.standard, exclusive.standard, inclusive.custom, exclusive.custom];
        let sides = sides.map(|side| Some(self.formulas.needed(side?)));
        // Which input of the taxonomy is at which place.
        let mut places: HashMap<usize, usize> = HashMap::new();
        let mut inputs: Vec<Input> = Vec::new();
        for index in sides.iter().flatten().flat_map(|side| self.formulas.inputs(side)) {
            let input = self.input(index, metrics)?;
            let place = inputs.iter().position(|known| *known == input);
            places.insert(index, place.unwrap_or(inputs.len()));
            if place.is_none() {
                inputs.push(input);
            }
        }
        let metric = Metric {
            description: shown.description.clone(),
            is_shown: shown.is_visible,
            reaches: vec![Reach::Function, Reach::Execution],
            ..Metric::named(shown.name.clone())
        };
        let (formulas, is_any) = (Arc::clone(&self.formulas), sides.iter().any(Option::is_some));
        let formula = Arc::new(Computed { formulas, places, sides });
        is_any.then_some(Derived { metric, inputs, formula })
    }

    /// A stored statistic, by the metrics that there are.
    fn input(&self, index: usize, metrics: &[Metric]) -> Option<Input> {
        let named = self.inputs.get(index)?;
        let metric = metrics.iter().position(|metric| metric.name == named.metric)?;
        let metric = MetricId(u32::try_from(metric).ok()?);
        Some(Input { column: Column { metric, reach: named.reach? }, statistic: named.statistic? })
    }
}

fn input(document: &Document, node: NodeId) -> Result<Named, String> {
    let text = |key| document.get_text(node, key);
    let (Some(metric), Some(scope)) = (text("metric"), text("scope")) else {
        return Err("an input without metric or scope".to_owned());
    };
    let (formula, combine) = (text("formula").unwrap_or("$$"), text("combine").unwrap_or("sum"));
    let (metric, reach) = (metric.to_owned(), reach_of(scope));
    Ok(Named { metric, reach, statistic: statistic_of(formula, combine) })
}

/// How a metric is computed.
#[derive(Debug)]
struct Computed {
    formulas: Arc<Formulas>,
    places: HashMap<usize, usize>,
    /// In the order of [`Side`].
    sides: [Option<Needed>; 4],
}

impl Formula for Computed {
    fn evaluate(&self, side: Side, inputs: &[Option<f64>]) -> Option<f64> {
        let [inclusive, exclusive, inclusive_at, exclusive_at] = &self.sides;
        let formula = match side {
            Side::Inclusive => inclusive,
            Side::Exclusive => exclusive,
            Side::InclusiveAt => inclusive_at,
            Side::ExclusiveAt => exclusive_at,
        };
        let formula = formula.as_ref()?;
        let input = |index| inputs.get(*self.places.get(&index)?).copied().flatten();
        self.formulas.evaluate(formula, input)
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
        let metrics = [Metric::named("CPUTIME (sec)")];
        let derived = taxonomy.derived(&metrics);
        let names: Vec<_> = derived.iter().map(|derived| derived.metric.name.as_str()).collect();
        assert_eq!(names, ["Time", "Time:Mean", "Half of it"]);
        let half = &derived[2];
        let reaches: Vec<_> = half.inputs.iter().map(|input| input.column.reach).collect();
        assert_eq!(reaches, [Reach::Execution, Reach::Function]);
        assert_eq!(half.formula.evaluate(Side::Inclusive, &[Some(3.0), None]), Some(1.5));
        assert_eq!(half.formula.evaluate(Side::Exclusive, &[Some(3.0), None]), None);
        // A place in the tree has another formula where the taxonomy has one.
        let inputs = [Some(3.0), Some(2.0), Some(1.0)];
        let time = |side| derived[0].formula.evaluate(side, &inputs);
        assert_eq!((time(Side::Exclusive), time(Side::ExclusiveAt)), (Some(2.0), Some(1.0)));
        let mean = &derived[1];
        let statistics: Vec<_> = mean.inputs.iter().map(|input| input.statistic).collect();
        assert_eq!(statistics, [Statistic::Sum, Statistic::Count]);
        assert_eq!(mean.formula.evaluate(Side::Inclusive, &[Some(3.0), Some(2.0)]), Some(1.5));
    }

    /// `Stalls` is what both of its children come to, `Main stall` what the first has.
    const CHILDREN: &str = "
inputs:
  - &a {metric: a, scope: execution}
  - &b {metric: b, scope: execution}
roots:
  - name: Stalls
    variants:
      Sum: {formula: sum}
      Mean: {formula: sum, child variant: [None of them, Sum]}
      Other: {formula: sum}
    children: &children
      - name: a
        variants: {Sum: {formula: {inclusive: *a}}}
      - name: Twice b
        variants: {Sum: {formula: {inclusive: {custom: {'*': [2, *b]}}}}}
  - name: Main stall
    variants: {Sum: {formula: first}}
    children: *children
";

    #[test]
    fn metrics_are_made_of_the_metrics_below_them() {
        let taxonomy = Taxonomy::read(CHILDREN, 1000).unwrap();
        let derived = taxonomy.derived(&["a", "b"].map(Metric::named));
        let names: Vec<_> = derived.iter().map(|derived| derived.metric.name.as_str()).collect();
        // `a` is stored under that name, and no child has a variant `Other`.
        assert_eq!(names, ["Stalls", "Stalls:Mean", "Twice b", "Main stall", "Twice b"]);
        let of = |index: usize, side, inputs: &[Option<f64>]| {
            derived[index].formula.evaluate(side, inputs)
        };
        for stalls in [0, 1] {
            assert_eq!(of(stalls, Side::InclusiveAt, &[Some(1.0), Some(2.0)]), Some(5.0));
            // A child without a value adds nothing; without any there is none.
            assert_eq!(of(stalls, Side::InclusiveAt, &[Some(1.0), None]), Some(1.0));
            assert_eq!(of(stalls, Side::InclusiveAt, &[None, None]), None);
            // The second child has no formula for rows: `standard` is null.
            assert_eq!(of(stalls, Side::Inclusive, &[Some(1.0), Some(2.0)]), Some(1.0));
            assert_eq!(of(stalls, Side::Exclusive, &[Some(1.0), Some(2.0)]), None);
        }
        assert_eq!(of(3, Side::Inclusive, &[Some(7.0)]), Some(7.0));
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
                    derived.formula.evaluate(Side::Inclusive, &[Some(1.0)]);
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
