//! `metrics/default.yaml`: how metrics are shown.

use std::fmt::Write;

use kymo_core::model::profile::{
    Computed, Expression, Metric, MetricId, Operation, Reach, Statistic,
};

/// Scopes of formulas: the inclusive one, the exclusive one of loops, the exclusive one.
const SCOPES: [&str; 3] = ["execution", "lex_aware", "function"];

/// The text of the file.
pub(super) fn taxonomy(
    metrics: &[Metric],
    computed: &[Computed],
    statistics: &[Statistic],
) -> String {
    let none = if metrics.is_empty() { " []" } else { "" };
    let mut text = format!("version: 0\ninputs:{none}\n");
    for metric in metrics {
        inputs(&mut text, metric, statistics);
    }
    let _ = writeln!(text, "roots:{none}");
    // Formulas are of sums.
    let can_compute = statistics.contains(&Statistic::Sum);
    for (metric, id) in metrics.iter().zip((0..).map(MetricId)) {
        for computed in computed.iter().filter(|one| can_compute && one.before == Some(id)) {
            computed_root(&mut text, computed, metrics);
        }
        if !metric.is_input {
            root(&mut text, metric, statistics);
        }
    }
    for computed in computed.iter().filter(|one| can_compute && one.before.is_none()) {
        computed_root(&mut text, computed, metrics);
    }
    text
}

/// How a metric is shown that is computed from others.
fn computed_root(text: &mut String, computed: &Computed, metrics: &[Metric]) {
    let Computed { metric, format, has_share, formula, .. } = computed;
    name_and_description(text, metric);
    if !format.is_empty() {
        let _ = writeln!(text, "    format: {}", serde_json::Value::from(format.as_str()));
    }
    let render = if *has_share { "[number, percent]" } else { "[number]" };
    let _ =
        writeln!(text, "    variants:\n      \"\":\n        render: {render}\n        formula:");
    let [inclusive, custom, standard] =
        SCOPES.map(|scope| written_formula(formula, metrics, scope));
    let reaches = |reach| metric.reaches.contains(&reach);
    if reaches(Reach::Execution) {
        let _ = writeln!(text, "          inclusive:\n            standard: {inclusive}");
    }
    if reaches(Reach::Function) {
        let _ = writeln!(text, "          exclusive:\n            custom: {custom}");
        let _ = writeln!(text, "            standard: {standard}");
    }
}

/// A formula in flow style, of the sums of metrics in a scope.
fn written_formula(formula: &Expression, metrics: &[Metric], scope: &str) -> String {
    match formula {
        Expression::Number(number) => number.to_string(),
        Expression::Metric(id) => {
            let metric = usize::try_from(id.0).ok().and_then(|at| metrics.get(at));
            let alias = |metric| format!("*{}", anchor(metric, Statistic::Sum, scope));
            metric.map_or_else(|| "0".to_owned(), alias)
        }
        Expression::Apply(operation, of) => {
            let of: Vec<_> = of.iter().map(|of| written_formula(of, metrics, scope)).collect();
            // A star by itself would be an alias.
            let name = match operation {
                Operation::Multiply => "\"*\"",
                other => other.name(),
            };
            format!("{{{name}: [{}]}}", of.join(", "))
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
fn inputs(text: &mut String, metric: &Metric, statistics: &[Statistic]) {
    let name = quoted(&metric.name);
    for scope in SCOPES {
        for statistic in statistics {
            let (formula, combine, _) = written(*statistic);
            let anchor = anchor(metric, *statistic, scope);
            let _ = writeln!(text, "  - &{anchor}\n    metric: {name}\n    scope: {scope}");
            let _ = writeln!(text, "    formula: {formula}\n    combine: {combine}");
        }
    }
}

/// How a metric is shown.
fn root(text: &mut String, metric: &Metric, statistics: &[Statistic]) {
    name_and_description(text, metric);
    text.push_str("    variants:\n");
    for variant in VARIANTS.iter().filter(|variant| variant.can_be_made_of(statistics)) {
        let [inclusive, custom, standard] = SCOPES.map(|scope| variant.formula(metric, scope));
        let render = if variant.name == "Sum" { "[number, percent]" } else { "[number]" };
        let _ = write!(
            text,
            "      {}:
        render: {render}
        formula:
          inclusive:
            standard: {inclusive}
          exclusive:
            custom: {custom}
            standard: {standard}
",
            variant.name
        );
    }
}

/// One way to look at a metric.
struct Variant {
    name: &'static str,
    /// The statistics it is made of, by their places in the formula.
    of: &'static [Statistic],
    /// What it is; `{0}` is the first statistic.
    formula: &'static str,
}

impl Variant {
    fn can_be_made_of(&self, statistics: &[Statistic]) -> bool {
        self.of.iter().all(|statistic| statistics.contains(statistic))
    }

    fn formula(&self, metric: &Metric, scope: &str) -> String {
        let mut formula = self.formula.to_owned();
        for (statistic, place) in self.of.iter().zip(0..) {
            let alias = format!("*{}", anchor(metric, *statistic, scope));
            formula = formula.replace(&format!("{{{place}}}"), &alias);
        }
        formula
    }
}

const VARIANTS: [Variant; 6] = [
    Variant { name: "Sum", of: &[Statistic::Sum], formula: "{0}" },
    Variant { name: "Mean", of: &[Statistic::Sum, Statistic::Count], formula: "{/: [{0}, {1}]}" },
    Variant {
        name: "StdDev",
        of: &[Statistic::Sum, Statistic::Count, Statistic::Squares],
        formula: "{sqrt: [{-: [{/: [{2}, {1}]}, {^: [{/: [{0}, {1}]}, 2]}]}]}",
    },
    Variant {
        name: "CfVar",
        of: &[Statistic::Sum, Statistic::Count, Statistic::Squares],
        formula: "{/: [{sqrt: [{-: [{/: [{2}, {1}]}, {^: [{/: [{0}, {1}]}, 2]}]}]}, {/: [{0}, {1}]}]}",
    },
    Variant { name: "Min", of: &[Statistic::Min], formula: "{0}" },
    Variant { name: "Max", of: &[Statistic::Max], formula: "{0}" },
];

/// How a statistic is written: its formula, how it is combined, and the formula in anchors.
fn written(statistic: Statistic) -> (&'static str, &'static str, &'static str) {
    match statistic {
        Statistic::Count => ("1", "sum", "[1]"),
        Statistic::Sum => ("$$", "sum", "[0x0]"),
        Statistic::Squares => ("($$^2)", "sum", "([0x0]^2)"),
        Statistic::Min => ("$$", "min", "[0x0]"),
        Statistic::Max => ("$$", "max", "[0x0]"),
    }
}

/// An anchor as hpcprof makes them. `[0x0]` is how it prints `$$`.
fn anchor(metric: &Metric, statistic: Statistic, scope: &str) -> String {
    let (_, combine, formula) = written(statistic);
    let mut anchor = String::new();
    for character in format!("{}-{combine}-{formula}-{scope}", metric.name).chars() {
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
    let is_word = matches!(text, "true" | "false" | "null" | "yes" | "no" | "on" | "off");
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
    }

    #[test]
    fn names_that_yaml_would_take_for_something_else_are_quoted() {
        assert_eq!(quoted("PAGE-FAULTS"), "PAGE-FAULTS");
        assert_eq!(quoted("GINS: SIMD"), "\"GINS: SIMD\"");
        assert_eq!(quoted("true"), "\"true\"");
        assert_eq!(quoted("a\n\"b\""), r#""a\n\"b\"""#);
        assert_eq!(quoted(""), "\"\"");
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
