//! Steps as one types them.

use std::ops::Range;
use std::str::FromStr;

use crate::failure::Failure;

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
                Ok(Self { start: optional(start)?, end: optional(end)?, is_range: true })
            }
        }
    }
}

impl Steps {
    /// Which of a variable's steps are meant.
    pub(super) fn among(self, total: u64) -> Result<Range<u64>, Failure> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn among(text: &str, total: u64) -> Option<Range<u64>> {
        text.parse::<Steps>().unwrap().among(total).ok()
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
        for text in ["5", "-6", "3..7", "4..2"] {
            assert_eq!(among(text, 5), None, "{text}");
        }
        assert!("three".parse::<Steps>().is_err());
        assert!("1..x".parse::<Steps>().is_err());
    }
}
