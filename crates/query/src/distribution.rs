//! The spread of many numbers in little memory.

use std::collections::BTreeMap;

/// So many numbers are kept as they are; beyond that, percentiles are within one percent.
const EXACT_MAX: usize = 1024;

/// Between a number and its double there are so many steps, as a power of two.
const STEP_BITS: u32 = 7;

/// The spread of numbers: how many, the smallest, the mean, percentiles, the largest.
///
/// Of very many tasks most do something once or twice: one number takes no room of its own, nor do
/// three that are less than 2³², and few take not much more than they are.
#[derive(Debug, Clone, Default)]
pub struct Distribution(Storage);

/// Numbers of a distribution, as they are kept.
#[derive(Debug, Clone, Default)]
enum Storage {
    #[default]
    Nothing,
    One(u64),
    Two([u32; 2]),
    Three([u32; 3]),
    FewNumbers(Box<FewNumbers>),
    Histogram(Box<Histogram>),
}

/// Several numbers, as they came.
#[derive(Debug, Clone)]
struct FewNumbers(Vec<u64>);

/// Many numbers.
#[derive(Debug, Clone)]
struct Histogram {
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
    /// Count of numbers at each step.
    steps: BTreeMap<u32, u64>,
}

impl Distribution {
    /// No numbers.
    pub(crate) const NOTHING: Self = Self(Storage::Nothing);

    /// Adds a number.
    #[inline]
    pub fn add(&mut self, number: u64) {
        match &mut self.0 {
            Storage::Histogram(many) => many.add(number),
            Storage::FewNumbers(few) if few.0.len() < EXACT_MAX => few.0.push(number),
            Storage::FewNumbers(few) => {
                let mut many = Histogram::from_few(&few.0);
                many.add(number);
                self.0 = Storage::Histogram(Box::new(many));
            }
            Storage::Nothing => self.0 = Storage::One(number),
            Storage::One(_) | Storage::Two(_) | Storage::Three(_) => self.add_to_few(number),
        }
    }

    /// One more where there are one, two or three.
    fn add_to_few(&mut self, number: u64) {
        let small = u32::try_from(number);
        self.0 = match (&self.0, small) {
            (Storage::One(first), Ok(number)) if u32::try_from(*first).is_ok() => {
                Storage::Two([u32::try_from(*first).unwrap_or_default(), number])
            }
            (Storage::Two([first, second]), Ok(number)) => {
                Storage::Three([*first, *second, number])
            }
            _ => {
                Storage::FewNumbers(Box::new(FewNumbers(self.numbers().chain([number]).collect())))
            }
        };
    }

    /// The numbers as they came, where they are kept so.
    fn numbers(&self) -> impl Iterator<Item = u64> {
        let (one, small, few): (Option<u64>, &[u32], &[u64]) = match &self.0 {
            Storage::Nothing | Storage::Histogram(_) => (None, &[], &[]),
            Storage::One(number) => (Some(*number), &[], &[]),
            Storage::Two(numbers) => (None, numbers, &[]),
            Storage::Three(numbers) => (None, numbers, &[]),
            Storage::FewNumbers(few) => (None, &[], &few.0),
        };
        one.into_iter().chain(small.iter().copied().map(u64::from)).chain(few.iter().copied())
    }

    /// Returns the number of numbers.
    #[must_use]
    pub fn count(&self) -> u64 {
        match &self.0 {
            Storage::Nothing => 0,
            Storage::One(_) => 1,
            Storage::Two(_) => 2,
            Storage::Three(_) => 3,
            Storage::FewNumbers(few) => few.0.len() as u64,
            Storage::Histogram(many) => many.count,
        }
    }

    /// All of them together.
    #[must_use]
    pub fn sum(&self) -> u128 {
        match &self.0 {
            Storage::Histogram(many) => many.sum,
            _ => self.numbers().map(u128::from).sum(),
        }
    }

    /// The smallest and the largest.
    fn range(&self) -> Option<(u64, u64)> {
        match &self.0 {
            Storage::Histogram(many) => Some((many.min, many.max)),
            _ => Some((self.numbers().min()?, self.numbers().max()?)),
        }
    }

    /// The smallest.
    #[must_use]
    pub fn min(&self) -> Option<u64> {
        Some(self.range()?.0)
    }

    /// The largest.
    #[must_use]
    pub fn max(&self) -> Option<u64> {
        Some(self.range()?.1)
    }

    /// The mean, rounded down.
    #[must_use]
    pub fn mean(&self) -> Option<u64> {
        u64::try_from(self.sum().checked_div(u128::from(self.count()))?).ok()
    }

    /// The number that so many percent of all are not larger than.
    #[must_use]
    pub fn percentile(&self, percent: u8) -> Option<u64> {
        if let Storage::Histogram(many) = &self.0 {
            return many.percentile(percent);
        }
        let mut sorted: Vec<_> = self.numbers().collect();
        sorted.sort_unstable();
        let rank = rank(sorted.len() as u64, percent)?;
        sorted.get(usize::try_from(rank - 1).ok()?).copied()
    }
}

/// Returns the rank, from 1 and in ascending order, of the number that so many percent of all are
/// not larger than.
fn rank(count: u64, percent: u8) -> Option<u64> {
    let wanted = u128::from(count) * u128::from(percent.min(100));
    Some(u64::try_from(wanted.div_ceil(100)).ok()?.max(1))
}

impl Histogram {
    fn from_few(few: &[u64]) -> Self {
        let mut many = Self { count: 0, sum: 0, min: u64::MAX, max: 0, steps: BTreeMap::new() };
        for number in few {
            many.add(*number);
        }
        many
    }

    fn add(&mut self, number: u64) {
        self.count += 1;
        self.sum += u128::from(number);
        (self.min, self.max) = (self.min.min(number), self.max.max(number));
        *self.steps.entry(step_of(number)).or_default() += 1;
    }

    fn percentile(&self, percent: u8) -> Option<u64> {
        let rank = rank(self.count, percent)?;
        let mut passed = 0;
        let found = self.steps.iter().find(|(_, count)| {
            passed += **count;
            passed >= rank
        });
        found.map(|(step, _)| number_at(*step).clamp(self.min, self.max))
    }
}

/// The step of a number: its place among powers of two, and its next few bits.
fn step_of(number: u64) -> u32 {
    let Some(power) = number.checked_ilog2() else { return 0 };
    let bits = if power > STEP_BITS {
        number >> (power - STEP_BITS)
    } else {
        number << (STEP_BITS - power)
    };
    let fraction = u32::try_from(bits & ((1 << STEP_BITS) - 1)).unwrap_or(0);
    ((power + 1) << STEP_BITS) | fraction
}

/// The smallest number of a step.
fn number_at(step: u32) -> u64 {
    let Some(power) = (step >> STEP_BITS).checked_sub(1) else { return 0 };
    let bits = u64::from(step & ((1 << STEP_BITS) - 1)) | 1 << STEP_BITS;
    if power > STEP_BITS { bits << (power - STEP_BITS) } else { bits >> (STEP_BITS - power) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_numbers_are_told_as_they_are() {
        let mut few = Distribution::default();
        assert_eq!((few.mean(), few.percentile(50), few.max()), (None, None, None));
        for number in [30, 10, 20, 40] {
            few.add(number);
        }
        assert_eq!((few.count(), few.sum(), few.mean()), (4, 100, Some(25)));
        assert_eq!(
            (few.min(), few.percentile(0), few.percentile(25)),
            (Some(10), Some(10), Some(10))
        );
        assert_eq!((few.percentile(50), few.percentile(95)), (Some(20), Some(40)));
    }

    #[test]
    fn one_number_takes_no_room_of_its_own() {
        let mut one = Distribution::default();
        one.add(7);
        assert!(matches!(one.0, Storage::One(7)) && size_of::<Distribution>() == 16);
        assert_eq!((one.count(), one.sum(), one.mean()), (1, 7, Some(7)));
        assert_eq!((one.min(), one.max(), one.percentile(95)), (Some(7), Some(7), Some(7)));
    }

    #[test]
    fn two_or_three_numbers_take_no_room_of_their_own_unless_they_are_large() {
        let item = |numbers: &[u64]| {
            let mut found = Distribution::default();
            for number in numbers {
                found.add(*number);
            }
            let middle = found.percentile(50);
            (found.count(), found.sum(), found.min(), middle, found.max(), found.0)
        };
        let (small, large) = (u64::from(u32::MAX), 1 << 32);
        let (count, sum, min, middle, max, kept) = item(&[9, small, 4]);
        assert_eq!((count, sum, min, middle), (3, u128::from(small) + 13, Some(4), Some(9)));
        assert!(max == Some(small) && matches!(kept, Storage::Three([9, u32::MAX, 4])));
        assert!(matches!(item(&[9, 4]).5, Storage::Two([9, 4])));
        let kept_as_they_are =
            [&[9, large][..], &[large, 9], &[1, 2, large], &[1, 2, 3, 4]].map(|numbers| {
                let (count, sum, min, _, max, kept) = item(numbers);
                assert_eq!(
                    (count, sum),
                    (numbers.len() as u64, numbers.iter().map(|n| u128::from(*n)).sum())
                );
                assert_eq!(
                    (min, max),
                    (numbers.iter().min().copied(), numbers.iter().max().copied())
                );
                matches!(kept, Storage::FewNumbers(few) if few.0 == numbers)
            });
        assert_eq!(kept_as_they_are, [true; 4]);
    }

    #[test]
    fn many_numbers_are_told_within_a_percent() {
        let mut many = Distribution::default();
        (1..=100_000).for_each(|number| many.add(number));
        for percent in [1, 50, 95, 99] {
            let (exact, found) = (u64::from(percent) * 1000, many.percentile(percent).unwrap());
            assert!(found.abs_diff(exact) * 100 <= exact, "{percent}: {found}");
        }
        assert_eq!((many.max(), many.mean()), (Some(100_000), Some(50_000)));
        let Storage::Histogram(many) = many.0 else { panic!("{many:?}") };
        assert!(many.steps.len() < 17 << STEP_BITS);
    }

    #[test]
    fn every_number_has_a_step_that_is_not_above_it() {
        for number in [0, 1, 2, 3, 127, 128, 129, 1 << 40, u64::MAX] {
            let at = number_at(step_of(number));
            assert!(at <= number && number - at <= number >> STEP_BITS, "{number} {at}");
        }
    }
}
