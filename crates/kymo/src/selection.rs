//! Steps and parts of arrays as one types them.

use std::ops::Range;
use std::str::FromStr;

use kymo_core::Error;
use kymo_model::arrays::{Selection, Variable};

use crate::failure::Failure;
use crate::render::escaped;

/// One step, or a range of them; negative numbers count from the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Steps {
    start: Option<i64>,
    end: Option<i64>,
    is_range: bool,
}

impl FromStr for Steps {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |text: &str| {
            let parsed = text.trim().parse::<i64>();
            parsed.map_err(|_| format!("{text} is no step such as 3, -1 or 2..5"))
        };
        let optional = |text: &str| match text {
            "" => Ok(None),
            text => number(text).map(Some),
        };
        match text.split_once("..") {
            None => Ok(Self { start: Some(number(text)?), end: None, is_range: false }),
            Some((start, end)) => {
                let (start, end) = (optional(start)?, optional(end)?);
                let is_backward = |(start, end): (i64, i64)| {
                    start.is_negative() == end.is_negative() && end < start
                };
                if start.zip(end).is_some_and(is_backward) {
                    return Err("it ends before it begins; 2..5 means 2, 3 and 4".to_owned());
                }
                Ok(Self { start, end, is_range: true })
            }
        }
    }
}

impl Steps {
    /// Returns the steps of a variable that are meant.
    fn resolve(self, total: u64) -> Result<Range<u64>, Failure> {
        let place = |step: i64| match u64::try_from(step) {
            Ok(step) => Some(step),
            Err(_) => total.checked_sub(step.unsigned_abs()),
        };
        let start = place(self.start.unwrap_or(0));
        let end = match self.end {
            Some(end) => place(end),
            None if self.is_range => Some(total),
            None => start.and_then(|start| start.checked_add(1)),
        };
        match (start, end) {
            (Some(start), Some(end)) if start <= end && end <= total => Ok(start..end),
            (Some(start), Some(end)) if end < start && start <= total => {
                let why = format!("the steps end at {end}, before they begin at {start}");
                Err(Failure::new(why))
            }
            _ => {
                let why = match total {
                    1 => "it has one step, 0".to_owned(),
                    total => format!("it has {total} steps, 0 to {}", total.saturating_sub(1)),
                };
                Err(Failure::new(why))
            }
        }
    }
}

/// Returns the steps of a variable that are meant: all where none were typed.
pub(crate) fn steps_of(variable: &Variable, typed: Option<Steps>) -> Result<Range<u64>, Failure> {
    let refused = |why| Failure::new(format!("{}: {why}", escaped(&variable.path)));
    let wanted = typed.map(|steps| steps.resolve(variable.steps));
    wanted.unwrap_or(Ok(0..variable.steps)).map_err(refused)
}

/// A part of an array as one types it. What was not typed is not spoken of.
pub(crate) fn select(shape: &[u64], start: &[i64], count: &[i64]) -> Result<Selection, Error> {
    let found = Selection::from_range(shape, start, count);
    let (typed, what) = match (start, count) {
        (start, []) => (start, "start"),
        ([], count) => (count, "count"),
        _ => return found,
    };
    found.map_err(|error| {
        let is_refused = |(dimension, typed): (usize, &i64)| {
            let length = shape.get(dimension).copied()?;
            let fits = match (what, u64::try_from(*typed)) {
                (_, Ok(typed)) => typed <= length,
                ("start", Err(_)) => typed.unsigned_abs() <= length,
                _ => *typed == -1,
            };
            (!fits).then_some((dimension, *typed, length))
        };
        let found = typed.iter().enumerate().find_map(is_refused);
        match found.filter(|_| typed.len() == shape.len()) {
            Some((dimension, typed, length)) => Error::Request(format!(
                "{what} {typed} does not fit dimension {dimension}, which has {length}"
            )),
            None => error,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn among(text: &str, total: u64) -> Option<Range<u64>> {
        text.parse::<Steps>().unwrap().resolve(total).ok()
    }

    #[test]
    fn steps_read_as_one_types_them() {
        assert_eq!(among("3", 5), Some(3..4));
        assert_eq!(among("-1", 5), Some(4..5));
        assert_eq!(among("1..3", 5), Some(1..3));
        assert_eq!(among("2..", 5), Some(2..5));
        assert_eq!(among("..-1", 5), Some(0..4));
        assert_eq!(among("..", 0), Some(0..0));
    }

    #[test]
    fn steps_that_are_not_there_are_refused() {
        for text in ["5", "-6", "3..7", "4..-4", "-1..1"] {
            assert_eq!(among(text, 5), None, "{text}");
        }
        assert!("three".parse::<Steps>().is_err());
        assert!("1..x".parse::<Steps>().is_err());
        assert!("4..2".parse::<Steps>().unwrap_err().starts_with("it ends before it begins"));
        let why = "4..-4".parse::<Steps>().unwrap().resolve(5).unwrap_err().to_string();
        assert_eq!(why, "the steps end at 1, before they begin at 4");
    }

    #[test]
    fn what_was_not_typed_is_not_spoken_of() {
        let refused =
            |start: &[i64], count: &[i64]| select(&[2, 3], start, count).unwrap_err().to_string();
        assert_eq!(refused(&[0, 5], &[]), "start 5 does not fit dimension 1, which has 3");
        assert_eq!(refused(&[], &[3, 1]), "count 3 does not fit dimension 0, which has 2");
        let both = "start 0 and count 3 do not fit dimension 0, which has 2";
        assert_eq!(refused(&[0, 0], &[3, 1]), both);
        assert_eq!(refused(&[1], &[]), "1 starts given for 2 dimensions");
        assert_eq!(select(&[2], &[-1], &[]).unwrap().count, [1]);
    }
}
