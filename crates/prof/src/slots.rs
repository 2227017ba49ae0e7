//! Room for numbers that are found again by a number of their own.

use std::ops::Range;

use kymo_model::profile::MetricScope;

use crate::names::index;
use crate::propagation::Reached;

/// Slots that are made room for together.
const SLOTS_OF_PAGE: usize = 1 << 12;

/// Slots of so many statistics each, for every reach. None ever moves.
#[derive(Debug)]
pub(crate) struct Slots {
    /// Number of statistics of a slot.
    width: usize,
    pages: Vec<Vec<Reached>>,
    next: u32,
}

impl Slots {
    pub(crate) fn new(width: usize) -> Self {
        Self { width, pages: Vec::new(), next: 0 }
    }

    /// A slot that nobody has, of zeros.
    pub(crate) fn next(&mut self) -> u32 {
        let slot = self.next;
        self.next += 1;
        if index(slot) / SLOTS_OF_PAGE >= self.pages.len() {
            // The last page may stay half empty, so that it is no larger than it has to be.
            self.pages.push(Vec::new());
        }
        if let Some(page) = self.pages.last_mut() {
            page.resize(page.len() + self.width, [0.0; MetricScope::ALL.len()]);
        }
        slot
    }

    /// The statistics of a slot.
    pub(crate) fn get(&self, slot: u32) -> impl Iterator<Item = &Reached> {
        let page = self.pages.get(index(slot) / SLOTS_OF_PAGE);
        page.and_then(|page| page.get(self.places(slot))).unwrap_or_default().iter()
    }

    /// The same, to be changed.
    pub(crate) fn slot_mut(&mut self, slot: u32) -> impl Iterator<Item = &mut Reached> {
        let places = self.places(slot);
        let page = self.pages.get_mut(index(slot) / SLOTS_OF_PAGE);
        page.and_then(|page| page.get_mut(places)).unwrap_or_default().iter_mut()
    }

    /// Returns the positions of the statistics of a slot in its page.
    fn places(&self, slot: u32) -> Range<usize> {
        let start = index(slot) % SLOTS_OF_PAGE * self.width;
        start..start + self.width
    }
}
