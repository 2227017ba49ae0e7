//! `metrics/default.yaml`: how metrics are shown.

use std::fmt::Write;

use kymo_core::model::profile::Metric;

use crate::spec::{COMBINE_SUM, combine_name};

/// Scopes of formulas: the inclusive one, the exclusive one of loops, the exclusive one.
const SCOPES: [&str; 3] = ["execution", "lex_aware", "function"];

/// The text of the file.
pub(super) fn taxonomy(metrics: &[Metric]) -> String {
    let mut text = String::from("version: 0\n");
    list(&mut text, "inputs", metrics, input);
    list(&mut text, "roots", metrics, root);
    text
}

/// A key with a part for each metric.
fn list(text: &mut String, key: &str, metrics: &[Metric], part: impl Fn(&mut String, &Metric)) {
    let none = if metrics.is_empty() { " []" } else { "" };
    let _ = writeln!(text, "{key}:{none}");
    for metric in metrics {
        part(text, metric);
    }
}

/// The statistics of a metric, each under the anchor that formulas know it by.
fn input(text: &mut String, metric: &Metric) {
    let name = quoted(&metric.name);
    let combine = combine_name(COMBINE_SUM);
    for scope in SCOPES {
        let anchor = anchor(metric, scope);
        let _ = writeln!(text, "  - &{anchor}\n    metric: {name}\n    scope: {scope}");
        let _ = writeln!(text, "    formula: $$\n    combine: {combine}");
    }
}

/// How a metric is shown.
fn root(text: &mut String, metric: &Metric) {
    let described = if metric.description.is_empty() { &metric.name } else { &metric.description };
    let [execution, lex_aware, function] = SCOPES.map(|scope| anchor(metric, scope));
    let hidden = if metric.is_shown { "" } else { "    visible by default: false\n" };
    let _ = write!(
        text,
        "  - name: {}
    description: {}
{hidden}    variants:
      Sum:
        render: [number, percent]
        formula:
          inclusive:
            standard: *{execution}
          exclusive:
            custom: *{lex_aware}
            standard: *{function}
",
        quoted(&metric.name),
        quoted(described),
    );
}

/// An anchor as hpcprof makes them. `[0x0]` is how it prints `$$`.
fn anchor(metric: &Metric, scope: &str) -> String {
    let mut anchor = String::new();
    for character in format!("{}-sum-[0x0]-{scope}", metric.name).chars() {
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
        assert_eq!(taxonomy(&[Metric::named("CPUTIME (sec)")]), expected);
        assert_eq!(taxonomy(&[]), "version: 0\ninputs: []\nroots: []\n");
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
        assert!(taxonomy(&[metric]).contains("    visible by default: false\n    variants:"));
    }
}
