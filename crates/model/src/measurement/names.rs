//! Names of threads: logical ids that were not given are made up.

use std::collections::HashMap;

use super::{KnownIds, MeasuredId};
use crate::profile::{IdKind, IdPart, Thread};

/// Returns the names of threads in a profile. Logical ids that were not given count from 0. Their
/// order is that of all that names the threads, and not that in which threads come: the same
/// threads get the same ids wherever they are shown.
#[must_use]
pub fn thread_names(threads: &[Vec<MeasuredId>]) -> Vec<Thread> {
    let mut order: Vec<_> = threads.iter().zip(0_usize..).collect();
    order.sort();
    let mut naming = InventedNames::default();
    let mut names = vec![Thread::default(); threads.len()];
    for (ids, index) in order {
        if let Some(name) = names.get_mut(index) {
            *name = naming.thread(ids);
        }
    }
    names
}

/// Names that were made up so far.
#[derive(Default)]
struct InventedNames {
    within: Counting,
    overall: Counting,
    prefixes: HashMap<(Prefix, IdKind, u64), Prefix>,
}

/// Number of the list of ids that encloses a thing, so that a long list is not kept for each of its
/// parts. 0 is the number of none.
type Prefix = usize;

impl InventedNames {
    fn thread(&mut self, measured: &[MeasuredId]) -> Thread {
        let mut prefix = 0;
        let part = |id: &MeasuredId| {
            let kind = id.kind.clone();
            let physical = Some(id.physical);
            let (logical, physical) = match id.given {
                KnownIds::Logical => (id.logical, None),
                KnownIds::Both => (id.logical, physical),
                KnownIds::PhysicalWithin => {
                    (self.within.number(prefix, &kind, id.physical), physical)
                }
                KnownIds::PhysicalOverall => (self.overall.number(0, &kind, id.physical), physical),
            };
            let next = self.prefixes.len() + 1;
            prefix = *self.prefixes.entry((prefix, kind.clone(), logical)).or_insert(next);
            IdPart { kind, logical, physical }
        };
        Thread { ids: measured.iter().map(part).collect() }
    }
}

/// Numbers things in the order in which they come, for each place that they are in.
#[derive(Default)]
struct Counting {
    known: HashMap<(Prefix, IdKind), HashMap<u64, u64>>,
}

impl Counting {
    fn number(&mut self, prefix: Prefix, kind: &IdKind, physical: u64) -> u64 {
        let known = self.known.entry((prefix, kind.clone())).or_default();
        let next = known.len() as u64;
        *known.entry(physical).or_insert(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(kind: &'static str, number: u64, given: KnownIds) -> MeasuredId {
        MeasuredId { kind: IdKind(kind.into()), physical: number, logical: number, given }
    }

    #[test]
    fn ids_that_were_not_given_count_from_0_within_what_encloses_them() {
        use KnownIds::{Logical, PhysicalWithin};
        let tuple = |host, core| {
            let node = id("NODE", host, PhysicalWithin);
            vec![node, id("CORE", core, PhysicalWithin), id("THREAD", 7, Logical)]
        };
        // Host 80 is before host 90, wherever its thread comes.
        let threads = thread_names(&[tuple(90, 41), tuple(90, 40), tuple(80, 41), tuple(90, 40)]);
        let texts: Vec<_> = threads.iter().map(ToString::to_string).collect();
        assert_eq!(texts[0], "NODE 1 [0x5a] / CORE 1 [0x29] / THREAD 7");
        assert_eq!(texts[1], "NODE 1 [0x5a] / CORE 0 [0x28] / THREAD 7");
        assert_eq!(texts[2], "NODE 0 [0x50] / CORE 0 [0x29] / THREAD 7");
        assert_eq!(texts[3], texts[1]);
    }

    #[test]
    fn ids_that_count_overall_are_the_same_whatever_encloses_them() {
        use KnownIds::{Both, PhysicalOverall, PhysicalWithin};
        let stream = |host, stream| {
            vec![id("NODE", host, PhysicalWithin), id("GPUSTREAM", stream, PhysicalOverall)]
        };
        let threads = thread_names(&[stream(1, 9), stream(2, 8), stream(2, 9)]);
        let numbers: Vec<_> = threads.iter().map(|thread| thread.id("GPUSTREAM")).collect();
        assert_eq!(numbers, [Some(0), Some(1), Some(0)]);
        let given = thread_names(&[vec![id("RANK", 3, Both)]]);
        assert_eq!(given[0].to_string(), "RANK 3 [0x3]");
    }

    #[test]
    fn a_tuple_of_very_many_ids_is_named_all_the_same() {
        let ids = vec![id("NODE", 5, KnownIds::PhysicalWithin); 65535];
        let threads = thread_names(&[ids]);
        assert!(threads[0].ids.iter().all(|part| part.logical == 0));
        assert_eq!(threads[0].ids.len(), 65535);
    }
}
