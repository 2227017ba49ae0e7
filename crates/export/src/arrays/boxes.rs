//! A run of values in storage order as boxes of their array.

/// A part of an array: the first index and the length in each dimension, slowest first.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) start: Vec<usize>,
    pub(crate) count: Vec<usize>,
    /// Number of values of the box.
    pub(crate) values: usize,
}

/// The boxes that a run of values is made of, in order: at most two for each dimension but the
/// slowest, and one in the middle.
pub(crate) fn boxes(shape: &[usize], first: usize, values: usize) -> Vec<Part> {
    let mut parts = Vec::new();
    let (mut at, mut left) = (first, values);
    while left > 0 {
        let Some(part) = largest(shape, at, left) else {
            break;
        };
        at += part.values;
        left -= part.values;
        parts.push(part);
    }
    parts
}

/// The largest box that starts at a value and is one run in storage.
fn largest(shape: &[usize], at: usize, values_max: usize) -> Option<Part> {
    let mut start = vec![0; shape.len()];
    let mut rest = at;
    for (index, &length) in start.iter_mut().zip(shape).rev() {
        *index = rest.checked_rem(length)?;
        rest /= length;
    }
    let mut count = vec![1; shape.len()];
    let mut values = 1_usize;
    let dimensions = count.iter_mut().zip(shape).zip(&start).rev();
    for ((count, &length), &index) in dimensions {
        let many = (length - index).min(values_max / values);
        *count = many.max(1);
        values *= *count;
        // A dimension that is not taken whole ends the run.
        if *count < length {
            break;
        }
    }
    Some(Part { start, count, values })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_across_rows_is_an_end_a_middle_and_a_start() {
        let parts = boxes(&[4, 3], 1, 9);
        let expected = [([0, 1], [1, 2], 2), ([1, 0], [2, 3], 6), ([3, 0], [1, 1], 1)];
        let found = parts.iter().map(|p| (p.start.as_slice(), p.count.as_slice(), p.values));
        assert!(found.eq(expected.iter().map(|(s, c, v)| (&s[..], &c[..], *v))), "{parts:?}");
    }

    #[test]
    fn boxes_follow_each_other_whatever_the_run() {
        let shape = [2, 3, 1, 4];
        for first in 0..24 {
            for values in 0..=24 - first {
                let mut at = first;
                for part in boxes(&shape, first, values) {
                    let flat = part.start.iter().zip(&shape).fold(0, |sum, (i, n)| sum * n + i);
                    assert_eq!(flat, at);
                    assert_eq!(part.count.iter().product::<usize>(), part.values);
                    assert!(
                        part.start
                            .iter()
                            .zip(&part.count)
                            .zip(&shape)
                            .all(|((s, c), n)| s + c <= *n)
                    );
                    at += part.values;
                }
                assert_eq!(at, first + values);
            }
        }
    }

    #[test]
    fn a_scalar_is_one_box_and_nothing_is_none() {
        assert_eq!(boxes(&[], 0, 1).len(), 1);
        assert_eq!(boxes(&[0, 3], 0, 0), []);
        assert_eq!(boxes(&[0, 3], 0, 1), []);
    }
}
