//! Formulas of metrics: `#N` is the metric of that number.

use kymo_model::profile::{Expression, MetricId, Operation};

/// Greatest depth of nested parentheses.
const DEPTH_MAX: usize = 32;

/// Greatest number of signs of a formula: each nests what is before it. Those of hpcrun have a few
/// dozen.
const SIGNS_MAX: usize = 1024;

/// Reads a formula; nothing where it is none. `first` is the number of the first metric.
pub(crate) fn parse(text: &str, first: u32) -> Option<Expression> {
    let mut reading = FormulaParser { text, first, depth: 0, signs: 0 };
    let found = reading.sum()?;
    reading.text.trim_start().is_empty().then_some(found)
}

struct FormulaParser<'a> {
    text: &'a str,
    first: u32,
    depth: usize,
    /// Number of signs that were met.
    signs: usize,
}

impl FormulaParser<'_> {
    fn take(&mut self, sign: &str) -> bool {
        let rest = self.text.trim_start().strip_prefix(sign);
        self.text = rest.unwrap_or(self.text);
        rest.is_some()
    }

    fn sum(&mut self) -> Option<Expression> {
        let signs = [("+", Operation::Add), ("-", Operation::Subtract)];
        self.chain(&signs, Self::product)
    }

    fn product(&mut self) -> Option<Expression> {
        let signs = [("*", Operation::Multiply), ("/", Operation::Divide)];
        self.chain(&signs, Self::power)
    }

    fn power(&mut self) -> Option<Expression> {
        self.chain(&[("^", Operation::Power)], Self::value)
    }

    /// Values with signs of one rank between them, from the left.
    fn chain(
        &mut self,
        signs: &[(&str, Operation)],
        part: fn(&mut Self) -> Option<Expression>,
    ) -> Option<Expression> {
        let mut found = part(self)?;
        while let Some((_, operation)) = signs.iter().find(|(sign, _)| self.take(sign)) {
            self.signs += 1;
            if self.signs > SIGNS_MAX {
                return None;
            }
            found = Expression::Apply(*operation, vec![found, part(self)?]);
        }
        Some(found)
    }

    fn value(&mut self) -> Option<Expression> {
        for (name, operation) in [("min(", Operation::Min), ("max(", Operation::Max)] {
            if self.take(name) {
                let mut expressions = vec![self.nested()?];
                while self.take(",") {
                    expressions.push(self.nested()?);
                }
                return self.take(")").then_some(Expression::Apply(operation, expressions));
            }
        }
        if self.take("(") {
            let found = self.nested()?;
            return self.take(")").then_some(found);
        }
        let is_metric = self.take("#");
        let text = self.text.trim_start();
        let is_part = |c: char| c.is_ascii_digit() || (!is_metric && c == '.');
        let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
        let (digits, rest) = text.split_at(end);
        self.text = rest;
        if is_metric {
            let number = digits.parse::<u32>().ok()?.checked_add(self.first)?;
            return Some(Expression::Metric(MetricId(number)));
        }
        digits.parse().ok().map(Expression::Number)
    }

    fn nested(&mut self) -> Option<Expression> {
        self.depth += 1;
        let found = if self.depth <= DEPTH_MAX { self.sum() } else { None };
        self.depth -= 1;
        found
    }
}

#[cfg(test)]
mod tests {
    use Operation::{Add, Divide, Max, Min, Multiply};

    use super::*;

    fn apply(operation: Operation, expressions: &[Expression]) -> Expression {
        Expression::Apply(operation, expressions.to_vec())
    }

    /// Those that hpcrun writes, with what hpcprof makes of them.
    #[test]
    fn formulas_bind_as_usual_and_from_the_left() {
        let metric = |number| Expression::Metric(MetricId(number));
        let [zero, hundred] = [0.0, 100.0].map(Expression::Number);
        let share = apply(Divide, &[apply(Multiply, &[hundred.clone(), metric(27)]), metric(26)]);
        let cut = apply(Min, &[hundred.clone(), apply(Max, &[zero, share])]);
        assert_eq!(parse("min(100, max(0, 100*#27/#26))", 0), Some(cut));
        let [one, two] = [(5, 5), (6, 5)].map(|(a, b)| apply(Divide, &[metric(a), metric(b)]));
        assert_eq!(parse("(#5/#5) + (#6/#5)", 0), Some(apply(Add, &[one, two])));
        assert_eq!(parse(" #3 ", 4), Some(metric(7)));
    }

    #[test]
    fn what_is_no_formula_is_none() {
        let deep = "(".repeat(100_000);
        for text in ["", "#", "#1 +", "1 2", "min(1", "$$", "#99999999999", deep.as_str(), "()"] {
            assert_eq!(parse(text, 0), None, "{text:.20}");
        }
    }

    #[test]
    fn a_formula_of_very_many_signs_is_none() {
        let ones = |signs| format!("1{}", "+1".repeat(signs));
        let is_read = |signs| parse(&ones(signs), 0).is_some();
        assert!(is_read(SIGNS_MAX) && !is_read(SIGNS_MAX + 1) && !is_read(400_000));
        // They are counted for the formula as a whole.
        let part = ones(SIGNS_MAX / 2);
        assert!(parse(&format!("min({part},{part})"), 0).is_some());
        assert_eq!(parse(&format!("min({part},{part},{part})"), 0), None);
    }
}
