//! The texts of boxes: what was spent, and not the whole numbers that boxes are drawn by.

use std::io::{self, Write};

use crate::render::measure;

const TITLE: &str = "<title>";
const END: &str = "</title>";

/// Writes a picture whose texts have values instead of those multiplied by a scale.
pub(super) fn write_with_values(drawn: &str, scale: f64, out: &mut dyn Write) -> io::Result<()> {
    let mut rest = drawn;
    while let Some((before, from)) = rest.split_once(TITLE) {
        let (title, behind) = from.split_once(END).unwrap_or((from, ""));
        write!(out, "{before}{TITLE}{}{END}", value_title(title, scale))?;
        rest = behind;
    }
    out.write_all(rest.as_bytes())
}

/// `main (1,500 sec, 75.00%)` with what 1,500 stands for.
fn value_title(title: &str, scale: f64) -> String {
    let value = || {
        let (name, from) = title.rsplit_once(" (")?;
        let (number, behind) = from.split_once(' ')?;
        let number: f64 = number.replace(',', "").parse().ok()?;
        Some(format!("{name} ({} {behind}", measure::value(number / scale)))
    };
    // What has no number is no box.
    value().unwrap_or_else(|| title.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_what_was_spent() {
        let drawn = "<svg><title>all (2,500 sec, 100%)</title><g><title>f (int) (1,750 sec, 70.00%)\
                     </title></g><title>Search</title></svg>";
        let mut out = Vec::new();
        write_with_values(drawn, 1000.0, &mut out).unwrap();
        let expected = "<svg><title>all (2.500 sec, 100%)</title><g><title>f (int) (1.750 sec, \
                        70.00%)</title></g><title>Search</title></svg>";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
