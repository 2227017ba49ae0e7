//! Contexts with a slot each, in order: what takes contexts of one thread after another, and costs no
//! more than they are, however far apart their numbers lie.

use crate::rows::HasContext;

/// A context, and the slot where its numbers are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry {
    pub(crate) context: u32,
    pub(crate) slot: u32,
}

impl HasContext for Entry {
    fn context(&self) -> u32 {
        self.context
    }
}

/// Entries in runs, each in order of contexts, and each at least twice as long as the next: few, and
/// each entry was merged into a longer run few times. Contexts that are new come after all others as
/// a rule, so that there is one run.
#[derive(Debug, Default)]
pub(crate) struct Runs(Vec<Vec<Entry>>);

impl Runs {
    /// Begins to look for contexts that come in order.
    pub(crate) fn search(&self) -> Search<'_> {
        Search { left: self.0.iter().map(Vec::as_slice).collect(), new: Vec::new() }
    }

    /// Adds entries of contexts that were not there.
    pub(crate) fn add(&mut self, mut new: Vec<Entry>) {
        if new.is_empty() {
            return;
        }
        let last = |run: &Vec<Entry>| run.last().map(|entry| entry.context);
        if let Some(run) = self.0.first_mut() {
            let after = new.partition_point(|entry| Some(entry.context) < last(run));
            run.extend(new.drain(after..));
        }
        self.0.extend(Some(new).filter(|new| !new.is_empty()));
        while let [.., before, last] = self.0.as_slice() {
            if before.len() >= 2 * last.len() {
                break;
            }
            self.merge_last();
        }
    }

    /// All entries in order.
    pub(crate) fn merged(&mut self) -> &[Entry] {
        while self.0.len() > 1 {
            self.merge_last();
        }
        self.0.first().map_or(&[], Vec::as_slice)
    }

    /// Merges the last two runs.
    fn merge_last(&mut self) {
        let last = self.0.pop().unwrap_or_default();
        if let Some(before) = self.0.last_mut() {
            before.extend(last);
            // Two runs that follow each other are merged in time in proportion to their length.
            before.sort();
        }
    }
}

/// Looks for contexts that come in order.
pub(crate) struct Search<'a> {
    /// Rest of each run.
    left: Vec<&'a [Entry]>,
    /// Entries of contexts that were not found.
    new: Vec<Entry>,
}

impl Search<'_> {
    /// The slot of a context. One that has none gets the next.
    pub(crate) fn find(&mut self, context: u32, next: impl FnOnce() -> u32) -> u32 {
        for run in &mut self.left {
            *run = from(run, context);
            if let Some(found) = run.first().filter(|entry| entry.context == context) {
                return found.slot;
            }
        }
        let slot = next();
        self.new.push(Entry { context, slot });
        slot
    }

    pub(crate) fn into_new(self) -> Vec<Entry> {
        self.new
    }
}

/// A run from a context on. Looks near its beginning first: the next context is close as a rule.
fn from(run: &[Entry], context: u32) -> &[Entry] {
    let is_before = |entry: &Entry| entry.context < context;
    let mut reach = 1;
    while run.get(reach - 1).is_some_and(is_before) {
        reach *= 2;
    }
    // What is before half of the reach was looked at, and is before the context.
    let near = run.get(reach / 2..reach.min(run.len())).unwrap_or_default();
    run.get(reach / 2 + near.partition_point(is_before)..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn contexts_keep_their_slots_in_whatever_order_threads_bring_them() {
        let threads: [Vec<u32>; 6] = [
            (0..100).step_by(10).collect(),
            (0..100).collect(),
            vec![7],
            (1000..1100).chain([5000]).collect(),
            vec![3, 500, 1050, 4999, 9000],
            (0..10_000).step_by(7).collect(),
        ];
        let (mut runs, mut known, mut next) = (Runs::default(), BTreeMap::new(), 0);
        for contexts in threads {
            let mut search = runs.search();
            for context in contexts {
                let slot = search.find(context, || next);
                assert_eq!(*known.entry(context).or_insert(slot), slot, "{context}");
                next = next.max(slot + 1);
            }
            let new = search.into_new();
            runs.add(new);
            assert!(runs.0.windows(2).all(|two| two[0].len() >= 2 * two[1].len()));
        }
        let expected: Vec<_> =
            known.into_iter().map(|(context, slot)| Entry { context, slot }).collect();
        assert_eq!(runs.merged(), expected);
    }

    #[test]
    fn a_run_is_searched_from_its_beginning() {
        let run: Vec<_> = (0..100).map(|n| Entry { context: 2 * n, slot: n }).collect();
        for context in 0..202 {
            let found = from(&run, context).first().map(|entry| entry.context);
            assert_eq!(found, Some(context.next_multiple_of(2)).filter(|at| *at < 200));
        }
        assert!(from(&[], 1).is_empty());
    }
}
