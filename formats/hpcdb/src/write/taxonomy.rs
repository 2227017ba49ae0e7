//! `metrics/default.yaml`: how metrics are shown.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use kymo_model::profile::{
    ComputedMetric, Expression, Metric, MetricId, MetricScope, Operation, Statistic,
};

/// Scopes of formulas: the inclusive one, the exclusive one of loops, the exclusive one.
const SCOPES: [MetricScope; 3] =
    [MetricScope::Execution, MetricScope::Lexical, MetricScope::Function];

/// The scope of a metric that stands for one of these: itself, if the metric has it. What has no
/// exclusive one for functions is shown by what was measured at the very context.
fn shown(metric: &Metric, reach: MetricScope) -> Option<MetricScope> {
    let has = |reach: &MetricScope| metric.reaches.contains(reach);
    let instead = Some(MetricScope::Point).filter(|_| reach == MetricScope::Function);
    Some(reach).filter(has).or(instead.filter(has))
}

/// Returns the name of a scope.
fn scope_name(reach: MetricScope) -> &'static str {
    match reach {
        MetricScope::Point => "point",
        MetricScope::Function => "function",
        MetricScope::Lexical => "lex_aware",
        MetricScope::Execution => "execution",
    }
}

/// The text of the file.
pub(super) fn taxonomy(
    metrics: &[Metric],
    computed: &[ComputedMetric],
    statistics: &[Statistic],
) -> String {
    // A list of nothing is said to be one: without, YAML takes it for no list.
    let none = if metrics.is_empty() || statistics.is_empty() { " []" } else { "" };
    let mut text = format!("version: 0\ninputs:{none}\n");
    let metrics = listed(metrics);
    for listed in &metrics {
        inputs(&mut text, listed, statistics);
    }
    let mut roots = String::new();
    // Formulas are of sums.
    let can_compute = statistics.contains(&Statistic::Sum);
    let computed = computed.iter().filter(|one| can_compute && !one.metric.is_input);
    for (listed, id) in metrics.iter().zip((0..).map(MetricId)) {
        for computed in computed.clone().filter(|one| one.before == Some(id)) {
            computed_root(&mut roots, computed, &metrics);
        }
        if !listed.metric.is_input {
            root(&mut roots, listed, statistics);
        }
    }
    for computed in computed.filter(|one| one.before.is_none()) {
        computed_root(&mut roots, computed, &metrics);
    }
    let none = if roots.is_empty() { " []" } else { "" };
    let _ = write!(text, "roots:{none}\n{roots}");
    text
}

/// A metric, and what its anchors begin with.
struct ListedMetric<'a> {
    metric: &'a Metric,
    anchor: String,
}

/// Metrics with anchors that differ. That is the name, as hpcprof has it, and a number behind it where
/// one before it has the same name and another description.
fn listed(metrics: &[Metric]) -> Vec<ListedMetric<'_>> {
    let names: HashSet<&str> = metrics.iter().map(|metric| metric.name.as_str()).collect();
    let mut counts: HashMap<&str, u64> = HashMap::new();
    let anchor = |metric: &'_ Metric, count: &mut u64| loop {
        *count += 1;
        let anchor = format!("{}-{count}", metric.name);
        if *count == 1 {
            break metric.name.clone();
        } else if !names.contains(anchor.as_str()) {
            break anchor;
        }
    };
    let listed = metrics.iter().map(|metric| {
        let anchor = anchor(metric, counts.entry(&metric.name).or_default());
        ListedMetric { metric, anchor }
    });
    listed.collect()
}

/// Writes the description of how a metric is shown that is computed from others.
fn computed_root(text: &mut String, computed: &ComputedMetric, metrics: &[ListedMetric<'_>]) {
    let ComputedMetric { metric, format, has_share, formula, .. } = computed;
    name_and_description(text, metric);
    if !format.is_empty() {
        let _ = writeln!(text, "    format: {}", serde_json::Value::from(format.as_str()));
    }
    let render = if *has_share { "[number, percent]" } else { "[number]" };
    let _ =
        writeln!(text, "    variants:\n      \"\":\n        render: {render}\n        formula:");
    formulas(text, metric, |reach| written_formula(formula, metrics, reach));
}

/// The formulas of what a metric has, each made of a scope. What has no value of its own for loops
/// has that of functions there.
fn formulas(text: &mut String, metric: &Metric, formula: impl Fn(MetricScope) -> Option<String>) {
    let [inclusive, custom, standard] = SCOPES.map(formula);
    let is_shown = |reach| shown(metric, reach).is_some();
    if let (true, Some(inclusive)) = (is_shown(MetricScope::Execution), inclusive) {
        let _ = writeln!(text, "          inclusive:\n            standard: {inclusive}");
    }
    if let (true, Some(standard)) = (is_shown(MetricScope::Function), standard) {
        let custom = custom.as_ref().unwrap_or(&standard);
        let _ = writeln!(text, "          exclusive:\n            custom: {custom}");
        let _ = writeln!(text, "            standard: {standard}");
    }
}

/// A formula in flow style, of the sums of metrics in a scope; nothing where one has none.
fn written_formula(
    formula: &Expression,
    metrics: &[ListedMetric<'_>],
    reach: MetricScope,
) -> Option<String> {
    match formula {
        Expression::Number(number) => Some(number.to_string()),
        Expression::Metric(id) => {
            let metric = usize::try_from(id.0).ok().and_then(|at| metrics.get(at));
            let alias = |metric: &ListedMetric<'_>| alias(metric, Statistic::Sum, reach);
            metric.map_or_else(|| Some("0".to_owned()), alias)
        }
        Expression::Apply(operation, expressions) => {
            let this_map =
                expressions.iter().map(|expression| written_formula(expression, metrics, reach));
            let names: Vec<_> = this_map.collect::<Option<_>>()?;
            // A star by itself would be an alias.
            let name = match operation {
                Operation::Multiply => "\"*\"",
                other => other.name(),
            };
            Some(format!("{{{name}: [{}]}}", names.join(", ")))
        }
    }
}

fn name_and_description(text: &mut String, metric: &Metric) {
    let described = if metric.description.is_empty() { &metric.name } else { &metric.description };
    let (name, described) = (quoted(&metric.name), quoted(described));
    let _ = writeln!(text, "  - name: {name}\n    description: {described}");
    if !metric.is_shown {
        text.push_str("    visible by default: false\n");
    }
}

/// The statistics of a metric, each under the anchor that formulas know it by.
fn inputs(text: &mut String, listed: &ListedMetric<'_>, statistics: &[Statistic]) {
    let name = quoted(&listed.metric.name);
    for reach in SCOPES.into_iter().filter_map(|reach| shown(listed.metric, reach)) {
        let scope = scope_name(reach);
        for statistic in statistics {
            let (formula, combine, _) = written(*statistic);
            let anchor = anchor(listed, *statistic, scope);
            let _ = writeln!(text, "  - &{anchor}\n    metric: {name}\n    scope: {scope}");
            let _ = writeln!(text, "    formula: {formula}\n    combine: {combine}");
        }
    }
}

/// Writes the description of how a metric is shown.
fn root(text: &mut String, listed: &ListedMetric<'_>, statistics: &[Statistic]) {
    name_and_description(text, listed.metric);
    let none = if statistics.is_empty() { " {}" } else { "" };
    let _ = writeln!(text, "    variants:{none}");
    for variant in VARIANTS.iter().filter(|variant| variant.can_be_made_of(statistics)) {
        let render = if variant.name == "Sum" { "[number, percent]" } else { "[number]" };
        let name = variant.name;
        let _ = writeln!(text, "      {name}:\n        render: {render}\n        formula:");
        formulas(text, listed.metric, |reach| variant.formula(listed, reach));
    }
}

/// One way to look at a metric.
struct Variant {
    name: &'static str,
    /// The statistics it is made of, by their places in the formula.
    this_statistics: &'static [Statistic],
    /// Formula that computes it; `{0}` is the first statistic.
    formula: &'static str,
}

impl Variant {
    fn can_be_made_of(&self, statistics: &[Statistic]) -> bool {
        self.this_statistics.iter().all(|statistic| statistics.contains(statistic))
    }

    fn formula(&self, listed: &ListedMetric<'_>, reach: MetricScope) -> Option<String> {
        let mut formula = self.formula.to_owned();
        for (statistic, place) in self.this_statistics.iter().zip(0..) {
            let alias = alias(listed, *statistic, reach)?;
            formula = formula.replace(&format!("{{{place}}}"), &alias);
        }
        Some(formula)
    }
}

const VARIANTS: [Variant; 6] = [
    Variant { name: "Sum", this_statistics: &[Statistic::Sum], formula: "{0}" },
    Variant {
        name: "Mean",
        this_statistics: &[Statistic::Sum, Statistic::Count],
        formula: "{/: [{0}, {1}]}",
    },
    Variant {
        name: "StdDev",
        this_statistics: &[Statistic::Sum, Statistic::Count, Statistic::Squares],
        formula: "{sqrt: [{-: [{/: [{2}, {1}]}, {^: [{/: [{0}, {1}]}, 2]}]}]}",
    },
    Variant {
        name: "CfVar",
        this_statistics: &[Statistic::Sum, Statistic::Count, Statistic::Squares],
        formula: "{/: [{sqrt: [{-: [{/: [{2}, {1}]}, {^: [{/: [{0}, {1}]}, 2]}]}]}, {/: [{0}, {1}]}]}",
    },
    Variant { name: "Min", this_statistics: &[Statistic::Min], formula: "{0}" },
    Variant { name: "Max", this_statistics: &[Statistic::Max], formula: "{0}" },
];

/// Returns the spelling of a statistic: its formula, the way it is combined, and the formula in
/// anchors.
fn written(statistic: Statistic) -> (&'static str, &'static str, &'static str) {
    match statistic {
        Statistic::Count => ("1", "sum", "[1]"),
        Statistic::Sum => ("$$", "sum", "[0x0]"),
        Statistic::Squares => ("($$^2)", "sum", "([0x0]^2)"),
        Statistic::Min => ("$$", "min", "[0x0]"),
        Statistic::Max => ("$$", "max", "[0x0]"),
    }
}

/// Returns the alias that stands for a statistic in a formula; `None` where the metric does not
/// reach so far.
fn alias(listed: &ListedMetric<'_>, statistic: Statistic, reach: MetricScope) -> Option<String> {
    let reach = shown(listed.metric, reach)?;
    Some(format!("*{}", anchor(listed, statistic, scope_name(reach))))
}

/// An anchor as hpcprof makes them. `[0x0]` is how it prints `$$`.
fn anchor(listed: &ListedMetric<'_>, statistic: Statistic, scope: &str) -> String {
    let (_, combine, formula) = written(statistic);
    let mut anchor = String::new();
    for character in format!("{}-{combine}-{formula}-{scope}", listed.anchor).chars() {
        match character {
            'A'..='Z' | 'a'..='z' | '0'..='9' | '-' | '_' => anchor.push(character),
            other => {
                let _ = write!(anchor, "x{:x}_", u32::from(other));
            }
        }
    }
    anchor
}

/// A text that YAML takes for a text. What JSON quotes, YAML reads.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " ()_-/.".contains(c);
    let begins_plain = text.starts_with(|c: char| c.is_ascii_alphabetic());
    // Old versions of YAML take these for something else in any case of letters.
    let words = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let is_word = words.iter().any(|word| text.eq_ignore_ascii_case(word));
    if begins_plain && !is_word && !text.ends_with(' ') && text.chars().all(is_plain) {
        return text.to_owned();
    }
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_what_hpcprof_writes_of_one_metric() {
        let expected = "\
version: 0
inputs:
  - &CPUTIMEx20_x28_secx29_-sum-x5b_0x0x5d_-execution
    metric: CPUTIME (sec)
    scope: execution
    formula: $$
    combine: sum
  - &CPUTIMEx20_x28_secx29_-sum-x5b_0x0x5d_-lex_aware
    metric: CPUTIME (sec)
    scope: lex_aware
    formula: $$
    combine: sum
  - &CPUTIMEx20_x28_secx29_-sum-x5b_0x0x5d_-function
    metric: CPUTIME (sec)
    scope: function
    formula: $$
    combine: sum
roots:
  - name: CPUTIME (sec)
    description: CPUTIME (sec)
    variants:
      Sum:
        render: [number, percent]
        formula:
          inclusive:
            standard: *CPUTIMEx20_x28_secx29_-sum-x5b_0x0x5d_-execution
          exclusive:
            custom: *CPUTIMEx20_x28_secx29_-sum-x5b_0x0x5d_-lex_aware
            standard: *CPUTIMEx20_x28_secx29_-sum-x5b_0x0x5d_-function
";
        assert_eq!(taxonomy(&[Metric::named("CPUTIME (sec)")], &[], &[Statistic::Sum]), expected);
        assert_eq!(taxonomy(&[], &[], &[]), "version: 0\ninputs: []\nroots: []\n");
        let bare =
            "version: 0\ninputs: []\nroots:\n  - name: X\n    description: X\n    variants: {}\n";
        assert_eq!(taxonomy(&[Metric::named("X")], &[], &[]), bare);
    }

    /// Checks that a metric that was measured in fewer scopes is shown by those.
    #[test]
    fn scopes_that_a_metric_does_not_have_are_in_no_formula() {
        let reaches = vec![MetricScope::Point, MetricScope::Function, MetricScope::Execution];
        let metric = Metric { reaches, ..Metric::named("m") };
        let shown = taxonomy(&[metric], &[], &[Statistic::Sum]);
        assert!(!shown.contains("lex_aware"), "{shown}");
        assert!(shown.contains("            custom: *m-sum-x5b_0x0x5d_-function\n"), "{shown}");
        let metric = Metric { reaches: vec![MetricScope::Execution], ..Metric::named("m") };
        let shown = taxonomy(&[metric], &[], &[Statistic::Sum]);
        assert!(!shown.contains("exclusive") && shown.contains("inclusive"), "{shown}");
    }

    /// hpcrun has metrics that are inclusive only: what they have besides is of the very context.
    #[test]
    fn what_has_no_scope_of_functions_is_shown_by_what_was_measured_at_the_very_context() {
        let reaches = vec![MetricScope::Point, MetricScope::Execution];
        let metric = Metric { reaches, ..Metric::named("m") };
        let expected = "\
version: 0
inputs:
  - &m-sum-x5b_0x0x5d_-execution
    metric: m
    scope: execution
    formula: $$
    combine: sum
  - &m-sum-x5b_0x0x5d_-point
    metric: m
    scope: point
    formula: $$
    combine: sum
roots:
  - name: m
    description: m
    variants:
      Sum:
        render: [number, percent]
        formula:
          inclusive:
            standard: *m-sum-x5b_0x0x5d_-execution
          exclusive:
            custom: *m-sum-x5b_0x0x5d_-point
            standard: *m-sum-x5b_0x0x5d_-point
";
        assert_eq!(taxonomy(&[metric], &[], &[Statistic::Sum]), expected);
    }

    #[test]
    fn names_that_yaml_would_take_for_something_else_are_quoted() {
        assert_eq!(quoted("PAGE-FAULTS"), "PAGE-FAULTS");
        assert_eq!(quoted("GINS: SIMD"), "\"GINS: SIMD\"");
        for word in ["true", "True", "FALSE", "Null", "NO", "off", "Y", "n"] {
            assert_eq!(quoted(word), format!("\"{word}\""));
        }
        assert_eq!(quoted("Yonder"), "Yonder");
        assert_eq!(quoted("a\n\"b\""), r#""a\n\"b\"""#);
        assert_eq!(quoted(""), "\"\"");
    }

    #[test]
    fn metrics_of_one_name_have_anchors_that_differ() {
        let described = |name: &str, description: &str| Metric {
            description: description.to_owned(),
            ..Metric::named(name)
        };
        let metrics = [described("A", "one"), described("A", "two"), described("A-2", "")];
        let shown = taxonomy(&metrics, &[], &[Statistic::Sum]);
        for (anchor, description) in [("A", "one"), ("A-3", "two"), ("A-2", "A-2")] {
            let name = format!("{anchor}-sum-x5b_0x0x5d_-execution");
            assert_eq!(shown.matches(&format!("&{name}\n")).count(), 1, "{shown}");
            let root = shown.split(&format!("description: {description}\n")).nth(1).unwrap();
            assert!(root.split("name:").next().unwrap().contains(&format!("*{name}\n")), "{shown}");
        }
    }

    #[test]
    fn what_is_computed_only_for_other_formulas_is_not_shown() {
        let computed = |name: &str, is_input: bool| ComputedMetric {
            metric: Metric { is_input, ..Metric::named(name) },
            format: String::new(),
            has_share: false,
            formula: Expression::Number(1.0),
            before: None,
        };
        let both = [computed("Shown", false), computed("Hidden", true)];
        let shown = taxonomy(&[], &both, &[Statistic::Sum]);
        assert!(shown.contains("roots:\n  - name: Shown\n"), "{shown}");
        assert!(!shown.contains("Hidden"), "{shown}");
    }

    #[test]
    fn a_metric_that_is_not_shown_says_so() {
        let metric = Metric { is_shown: false, ..Metric::named("GINS") };
        assert!(
            taxonomy(&[metric], &[], &[Statistic::Sum])
                .contains("    visible by default: false\n    variants:")
        );
    }

    #[test]
    fn what_statistics_allow_is_shown() {
        use Statistic::{Count, Max, Min, Squares, Sum};
        let shown = taxonomy(&[Metric::named("m")], &[], &[Count, Sum, Squares, Min, Max]);
        for variant in ["Sum", "Mean", "StdDev", "CfVar", "Min", "Max"] {
            assert!(shown.contains(&format!("\n      {variant}:\n")), "{shown}");
        }
        let mean = "{/: [*m-sum-x5b_0x0x5d_-execution, *m-sum-x5b_1x5d_-execution]}";
        assert!(shown.contains(mean), "{shown}");
    }
}
