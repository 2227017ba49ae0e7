//! Spaces that fill a column. The standard formatter panics on widths over 65,535.

use std::fmt::{Display, Formatter, Result};

use super::columns::width_of;

/// The widest that a column gets. A longer text moves what follows it to the right, so that one name
/// of a damaged file does not make every line as long as itself.
pub(crate) const WIDTH_MAX: usize = 512;

/// So many spaces.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spaces(pub(crate) usize);

impl Display for Spaces {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        const BLOCK: &str = "                                ";
        (0..self.0 / BLOCK.len()).try_for_each(|_| f.write_str(BLOCK))?;
        f.write_str(BLOCK.get(..self.0 % BLOCK.len()).unwrap_or(BLOCK))
    }
}

/// The spaces that fill a column behind or before a text.
pub(crate) fn padding(text: &str, width: usize) -> Spaces {
    Spaces(width.min(WIDTH_MAX).saturating_sub(width_of(text)))
}

/// A text at the left of its column.
pub(crate) fn left(text: &str, width: usize) -> String {
    format!("{text}{}", padding(text, width))
}

/// A text at the right of its column.
pub(crate) fn right(text: &str, width: usize) -> String {
    format!("{}{text}", padding(text, width))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_filled_up_to_their_width_and_no_further_than_the_widest() {
        assert_eq!((left("añb", 5), right("añb", 5)), ("añb  ".to_owned(), "  añb".to_owned()));
        assert_eq!(left("long", 2), "long");
        assert_eq!(Spaces(70_000).to_string().len(), 70_000);
        assert_eq!(left("a", 70_000).len(), WIDTH_MAX);
        let name = "n".repeat(70_000);
        assert_eq!(right(&name, 70_000), name);
    }
}
