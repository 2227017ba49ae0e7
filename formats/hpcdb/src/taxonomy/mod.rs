//! `metrics/default.yaml`: how metrics are shown, and those that are computed from others.

mod allowance;
mod formula;
mod infix;
mod shown;
mod yaml;

use std::collections::HashMap;
use std::sync::Arc;

use kymo_model::profile::{
    Column, Derived, Formula, Input, Metric, MetricId, MetricScope, Side, Statistic,
};

use crate::model::{scope_of, statistic_of};
use allowance::Allowance;
use formula::{Formulas, Needed};
use infix::excerpt;
use shown::{MetricView, Unusable, read_shown};
use yaml::{Document, NodeId};

/// Content of a taxonomy.
#[derive(Debug, Default)]
pub(crate) struct Taxonomy {
    formulas: Arc<Formulas>,
    inputs: Vec<StoredStatistic>,
    shown: Vec<MetricView>,
    unusable: Unusable,
}

/// A stored statistic that formulas use. What we do not know has no value.
#[derive(Debug, Clone, PartialEq, Eq)]
struct StoredStatistic {
    metric: String,
    reach: Option<MetricScope>,
    statistic: Option<Statistic>,
    /// The line it is in.
    line: usize,
}

impl Taxonomy {
    /// Reads a taxonomy.
    pub(crate) fn read(text: &str, nodes_max: u64) -> Result<Self, String> {
        let document = Document::read(text, nodes_max)?;
        let Some(root) = document.root() else { return Ok(Self::default()) };
        if let Some(version) = document.get_text(root, "version").filter(|text| *text != "0") {
            return Err(format!("version {version} is not known"));
        }
        let (mut formulas, mut allowance) = (Formulas::default(), Allowance::from_text(text));
        let mut inputs = Vec::new();
        for node in document.get(root, "inputs").map_or(&[][..], |list| document.items(list)) {
            formulas.input(*node, inputs.len());
            let input = input(&document, *node)?;
            allowance.take(input.metric.len() + document.pairs(*node).len())?;
            inputs.push(input);
        }
        let mut unusable = Unusable::default();
        let shown = read_shown(&document, root, allowance, &mut formulas, &mut unusable)?;
        Ok(Self { formulas: Arc::new(formulas), inputs, shown, unusable })
    }

    /// Returns what cannot be used of it, each with its line: formulas, what they are computed
    /// from, and names that stored metrics have.
    pub(crate) fn unusable(&self, metrics: &[Metric]) -> Vec<(usize, String)> {
        let places = places(metrics);
        let mut found = self.unusable.found.clone();
        for input in &self.inputs {
            let why = match input {
                _ if !places.contains_key(&input.metric) => {
                    format!("there is no metric {}", excerpt(&input.metric))
                }
                StoredStatistic { reach: None, .. } => "its scope is not known".to_owned(),
                StoredStatistic { statistic: None, .. } => "its statistic is not known".to_owned(),
                _ => continue,
            };
            let line = input.line;
            found.push((line, format!("line {line}: {why}: what needs it is not computed")));
        }
        found
    }

    /// Describes stored metrics as the taxonomy does.
    pub(crate) fn describe(&self, metrics: &mut [Metric]) {
        let places = places(metrics);
        for shown in self.shown.iter().filter(|shown| self.is_stored(shown)) {
            let place = places.get(&shown.name).copied();
            if let Some(metric) = place.and_then(|place| metrics.get_mut(place)) {
                metric.description.clone_from(&shown.description);
                metric.is_shown = shown.is_visible;
            }
        }
    }

    /// Returns true if something shown is a stored metric as it is, under its own name. It may be
    /// shown exclusive of calls alone.
    fn is_stored(&self, shown: &MetricView) -> bool {
        let formula = shown.inclusive.standard.or(shown.exclusive.standard);
        let input = formula.and_then(|id| self.formulas.as_input(id));
        input.and_then(|input| self.inputs.get(input)).is_some_and(|input| {
            input.statistic == Some(Statistic::Sum) && input.metric == shown.name
        })
    }

    /// Returns the metrics that can be computed from those that there are.
    pub(crate) fn resolve(&self, metrics: &[Metric]) -> Resolved {
        let places = places(metrics);
        let input = |named: &StoredStatistic| {
            let metric = MetricId(u32::try_from(*places.get(&named.metric)?).ok()?);
            let column = Column { metric, reach: named.reach? };
            Some(Input { column, statistic: named.statistic? })
        };
        let inputs: Vec<_> = self.inputs.iter().map(input).collect();
        let known =
            self.formulas.computable(|index| inputs.get(index).is_some_and(Option::is_some));
        let is_computed = |shown: &MetricView| {
            let sides = shown.sides().into_iter().flatten();
            let mut is_known = sides.map(|side| known.get(side.index()) == Some(&true)).peekable();
            !self.is_stored(shown) && is_known.peek().is_some() && is_known.all(|known| known)
        };
        let shown = self.shown.iter().enumerate().filter(|(_, shown)| is_computed(shown));
        let computed = shown.map(|(index, _)| index).collect();
        Resolved { inputs, computed }
    }

    /// The metrics that are computed from stored ones.
    pub(crate) fn derived(&self, resolved: &Resolved) -> Vec<Metric> {
        resolved.computed.iter().filter_map(|index| self.shown.get(*index)).map(metric_of).collect()
    }

    /// Returns the computation of one of those.
    ///
    /// Formulas may share all of their parts: what each is made of is looked for when it is asked
    /// for, and not kept for all.
    pub(crate) fn derive(&self, resolved: &Resolved, place: usize) -> Option<Derived> {
        let shown = self.shown.get(*resolved.computed.get(place)?)?;
        let sides = shown.sides().map(|side| Some(self.formulas.needed(side?)));
        // Which input of the taxonomy is at which place.
        let mut places: HashMap<usize, usize> = HashMap::new();
        let mut known: HashMap<Input, usize> = HashMap::new();
        let mut inputs: Vec<Input> = Vec::new();
        for index in sides.iter().flatten().flat_map(|side| self.formulas.inputs(side)) {
            let input = *resolved.inputs.get(index)?.as_ref()?;
            let place = *known.entry(input).or_insert_with(|| {
                inputs.push(input);
                inputs.len() - 1
            });
            places.insert(index, place);
        }
        let formula = Arc::new(Computed { formulas: Arc::clone(&self.formulas), places, sides });
        Some(Derived { metric: metric_of(shown), inputs, formula })
    }
}

/// Result of a taxonomy for the metrics that there are.
#[derive(Debug)]
pub(crate) struct Resolved {
    /// The inputs, where they are there.
    inputs: Vec<Option<Input>>,
    /// The indices of what is shown and computed.
    computed: Vec<usize>,
}

/// The places of metrics by their names; of several, of the first.
fn places(metrics: &[Metric]) -> HashMap<String, usize> {
    metrics.iter().enumerate().rev().map(|(place, metric)| (metric.name.clone(), place)).collect()
}

/// Returns the computed metric as core describes it.
fn metric_of(shown: &MetricView) -> Metric {
    let named = Metric::named(shown.name.clone());
    let percent = shown.is_percent.then(|| "%".to_owned());
    Metric {
        unit: percent.or(named.unit.clone()),
        description: shown.description.clone(),
        is_shown: shown.is_visible,
        has_share: shown.has_share,
        reaches: vec![MetricScope::Function, MetricScope::Execution],
        ..named
    }
}

fn input(document: &Document, node: NodeId) -> Result<StoredStatistic, String> {
    let text = |key| document.get_text(node, key);
    let (Some(metric), Some(scope)) = (text("metric"), text("scope")) else {
        return Err("an input without metric or scope".to_owned());
    };
    let (formula, combine) = (text("formula").unwrap_or("$$"), text("combine").unwrap_or("sum"));
    let (metric, reach) = (metric.to_owned(), scope_of(scope));
    let (statistic, line) = (statistic_of(formula, combine), document.line(node));
    Ok(StoredStatistic { metric, reach, statistic, line })
}

/// Computation of a metric.
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

    fn size(&self) -> usize {
        self.sides.iter().flatten().map(|side| self.formulas.size_of(side)).sum()
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;

    fn derived(taxonomy: &Taxonomy, metrics: &[Metric]) -> Vec<Derived> {
        let resolved = taxonomy.resolve(metrics);
        let derive = |place| taxonomy.derive(&resolved, place).unwrap();
        (0..taxonomy.derived(&resolved).len()).map(derive).collect()
    }

    /// Checks the example that is explained beside each database that we write.
    #[test]
    fn the_example_that_is_written_is_a_taxonomy() {
        let text = include_str!("../write/texts/METRICS.yaml.ex");
        let taxonomy = Taxonomy::read(text, 10_000).unwrap();
        let metrics = [Metric::named("CPUTIME (sec)")];
        let derived = derived(&taxonomy, &metrics);
        let names: Vec<_> = derived.iter().map(|derived| derived.metric.name.as_str()).collect();
        assert_eq!(names, ["Time", "Time:Mean", "Half of it"]);
        let half = &derived[2];
        let reaches: Vec<_> = half.inputs.iter().map(|input| input.column.reach).collect();
        assert_eq!(reaches, [MetricScope::Execution, MetricScope::Function]);
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
        let derived = derived(&taxonomy, &["a", "b"].map(Metric::named));
        let names: Vec<_> = derived.iter().map(|derived| derived.metric.name.as_str()).collect();
        // `a` is stored under that name, and no child has a variant `Other`.
        assert_eq!(names, ["Stalls", "Stalls:Mean", "Twice b", "Main stall", "Twice b"]);
        let item = |index: usize, side, inputs: &[Option<f64>]| {
            derived[index].formula.evaluate(side, inputs)
        };
        for stalls in [0, 1] {
            assert_eq!(item(stalls, Side::InclusiveAt, &[Some(1.0), Some(2.0)]), Some(5.0));
            // A child without a value adds nothing; without any there is none.
            assert_eq!(item(stalls, Side::InclusiveAt, &[Some(1.0), None]), Some(1.0));
            assert_eq!(item(stalls, Side::InclusiveAt, &[None, None]), None);
            // The second child has no formula for rows: `standard` is null.
            assert_eq!(item(stalls, Side::Inclusive, &[Some(1.0), Some(2.0)]), Some(1.0));
            assert_eq!(item(stalls, Side::Exclusive, &[Some(1.0), Some(2.0)]), None);
        }
        assert_eq!(item(3, Side::Inclusive, &[Some(7.0)]), Some(7.0));
    }

    #[test]
    fn a_stored_metric_may_be_shown_exclusive_alone() {
        let text = "
inputs: [&a {metric: a, scope: function}]
roots: [{name: a, description: own, variants: {Sum: {formula: {exclusive: {standard: *a}}}}}]
";
        let taxonomy = Taxonomy::read(text, 1000).unwrap();
        let mut metrics = [Metric::named("a")];
        assert_eq!(derived(&taxonomy, &metrics).len(), 0);
        taxonomy.describe(&mut metrics);
        assert_eq!(metrics[0].description, "own");
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
                for derived in derived(&taxonomy, &metrics) {
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
        assert_eq!(Taxonomy::read(&text, 1000).unwrap_err(), "its aliases make too much of it");
    }

    /// Checks that much output made of few bytes by aliases is refused: variants, names, sums of
    /// children, names of variants.
    #[test]
    fn what_aliases_make_much_of_is_refused() {
        let many = |each: &str| each.repeat(3000);
        let mut variants = String::new();
        for name in 0..3000 {
            let _ = write!(variants, "{name}: *w, ");
        }
        let word = "x".repeat(10_000);
        for text in [
            format!(
                "w: &w {{formula: 1}}\nv: &v {{{variants}}}\nroots: [{}]\n",
                many("{variants: *v},")
            ),
            format!(
                "n: &n {{name: {word}, variants: {{a: {{formula: {{inclusive: 1}}}}}}}}\nroots: [{}]",
                many("*n, ")
            ),
            format!(
                "w: &w {{formula: sum, child variant: a}}\nc: &c {{variants: {{a: {{formula: \
                 {{inclusive: 1}}}}}}}}\nroots: [{{children: [{}], variants: {{{variants}}}}}]\n",
                many("*c, "),
            ),
            format!(
                "w: &w {{formula: first, child variant: [{}]}}\nc: &c {{variants: {{a: {{formula: \
                 1}}}}}}\nroots: [{{children: [*c], variants: {{{variants}}}}}]\n",
                many("z, "),
            ),
        ] {
            let error = Taxonomy::read(&text, 1 << 20).unwrap_err();
            assert_eq!(error, "its aliases make too much of it", "{}", &text[..40]);
        }
    }

    /// A thousand metrics of one formula, or of formulas that share all but one part: what each is
    /// made of is held for the one that is asked for.
    #[test]
    fn metrics_that_share_a_formula_do_not_hold_it_each() {
        let parts = "1, ".repeat(10_000);
        for formula in ["*f", "{+: [*f, 1]}"] {
            let mut text = format!("f: &f {{+: [{parts}]}}\nroots:\n");
            for name in 0..1000 {
                let _ = writeln!(
                    text,
                    "- {{name: a{name}, variants: {{Sum: {{formula: {{inclusive: {formula}}}}}}}}}"
                );
            }
            let used = allocation_counter::measure(|| {
                let taxonomy = Taxonomy::read(&text, 1 << 20).unwrap();
                let resolved = taxonomy.resolve(&[]);
                assert_eq!(taxonomy.derived(&resolved).len(), 1000);
                let last = taxonomy.derive(&resolved, 999).unwrap();
                let value = last.formula.evaluate(Side::Inclusive, &[]).unwrap();
                assert!((10_000.0..=10_001.0).contains(&value), "{value}");
            });
            // Ten million parts would be 80 MB for each side.
            let most = 64 * text.len() as u64 + (8 << 20);
            assert!(used.bytes_max < most, "{}", used.bytes_max);
        }
    }

    #[test]
    fn what_is_hidden_is_not_shown_by_itself_and_shares_are_shown_where_it_says_so() {
        let text = "
inputs: [&a {metric: a, scope: execution}]
how: &how {formula: {inclusive: {+: [*a, 1]}}}
roots:
  - name: one
    variants: {Sum: {<<: *how, render: hidden}, Mean: {<<: *how, render: [number, hidden]}}
  - <<: {name: other}
    variants: {Sum: {<<: *how, render: [number, percent]}}
";
        let taxonomy = Taxonomy::read(text, 1000).unwrap();
        let found = derived(&taxonomy, &[Metric::named("a")]);
        let found = found.iter().map(|one| &one.metric);
        let found: Vec<_> =
            found.map(|one| (one.name.as_str(), one.is_shown, one.has_share)).collect();
        let expected = [("one", false, false), ("one:Mean", false, false), ("other", true, true)];
        assert_eq!(found, expected);
    }
}
