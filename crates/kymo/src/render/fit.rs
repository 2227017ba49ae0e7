//! Columns of a table that have room on a terminal, and their widths.

use super::columns::GAP;

/// A column of names keeps so many places while there are figures that can be left out.
pub(crate) const NAME_MIN: usize = 16;

/// Space that a column asks for.
#[derive(Debug, Clone, Copy)]
pub(super) struct ColumnRequest {
    /// The places that its longest cell takes.
    pub(super) width: usize,
    /// True if it says what a row is of. Without that the figures of the row are of nothing: such a
    /// column is made narrower, and never left out.
    pub(super) is_name: bool,
}

impl ColumnRequest {
    fn least(self) -> usize {
        if self.is_name { self.width.min(NAME_MIN) } else { self.width }
    }
}

/// The places of each column, and nothing for those that are left out to fit all of them in. Columns
/// that tell least are told first.
pub(super) fn fit(
    columns: &[ColumnRequest],
    least_telling: &[usize],
    places: usize,
) -> Vec<Option<usize>> {
    let mut kept: Vec<_> = columns.iter().map(|column| Some(column.least())).collect();
    let mut next = least_telling.iter();
    while used_width(&kept) > places {
        let Some(out) = next.next() else { break };
        if let Some(column) = kept.get_mut(*out) {
            *column = None;
        }
    }
    let is_name = |at: usize| columns.get(at).is_some_and(|column| column.is_name);
    let names: Vec<_> = columns.iter().filter(|column| column.is_name).collect();
    let least: usize = names.iter().map(|column| column.least()).sum();
    let room = places.saturating_sub(used_width(&kept).saturating_sub(least));
    let most = widest(names.iter().map(|column| column.width).collect(), room);
    for (at, column) in kept.iter_mut().enumerate().filter(|(at, _)| is_name(*at)) {
        *column = columns.get(at).map(|wanted| wanted.width.min(most));
    }
    kept
}

/// The places that columns and the gaps between them take.
fn used_width(columns: &[Option<usize>]) -> usize {
    let widths: usize = columns.iter().flatten().sum();
    widths + GAP * columns.iter().flatten().count().saturating_sub(1)
}

/// Returns the greatest width of columns that share some places: places that narrow columns do not
/// need are for the others.
fn widest(mut widths: Vec<usize>, mut places: usize) -> usize {
    widths.sort_unstable();
    let count = widths.len();
    for (at, width) in widths.into_iter().enumerate() {
        let share = places / (count - at);
        if width > share {
            return share.max(1);
        }
        places -= width;
    }
    usize::MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(width: usize) -> ColumnRequest {
        ColumnRequest { width, is_name: false }
    }

    fn name(width: usize) -> ColumnRequest {
        ColumnRequest { width, is_name: true }
    }

    #[test]
    fn figures_are_left_out_in_their_order_and_names_never() {
        // 8 + 8 + 8 + 20 and three gaps are 50 places.
        let columns = [figure(8), figure(8), figure(8), name(20)];
        assert_eq!(fit(&columns, &[1, 2, 0], 50), [Some(8), Some(8), Some(8), Some(20)]);
        // Names are made narrower first, down to 16.
        assert_eq!(fit(&columns, &[1, 2, 0], 46), [Some(8), Some(8), Some(8), Some(16)]);
        assert_eq!(fit(&columns, &[1, 2, 0], 45), [Some(8), None, Some(8), Some(20)]);
        assert_eq!(fit(&columns, &[1, 2, 0], 30), [Some(8), None, None, Some(20)]);
        assert_eq!(fit(&columns, &[1, 2, 0], 9), [None, None, None, Some(9)]);
        assert_eq!(fit(&columns, &[1, 2, 0], 0), [None, None, None, Some(1)]);
    }

    #[test]
    fn what_short_names_do_not_need_is_for_long_ones() {
        let columns = [name(4), name(40), name(30)];
        assert_eq!(fit(&columns, &[], 78), [Some(4), Some(40), Some(30)]);
        // 4 and two gaps leave 50 for two.
        assert_eq!(fit(&columns, &[], 58), [Some(4), Some(25), Some(25)]);
    }
}
