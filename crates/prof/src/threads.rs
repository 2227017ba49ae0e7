//! Threads in a stable order, with ids that count from 0.

use std::collections::HashMap;
use std::sync::Arc;

use kymo_core::model::measurement::{GivenIds, MeasuredId, MeasurementView};
use kymo_core::model::profile::{IdKind, IdPart, Thread};

/// A thread of one of several measurements.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Found {
    ids: Vec<MeasuredId>,
    pub(crate) name: String,
    /// Which measurement, and which thread of it.
    pub(crate) measurement: u32,
    pub(crate) thread: usize,
}

/// All threads, ordered by what names them and not by the order in which they were found.
pub(crate) fn ordered(views: &[Arc<dyn MeasurementView>]) -> Vec<Found> {
    let mut found = Vec::new();
    for (view, measurement) in views.iter().zip(0..) {
        for thread in 0..view.thread_count() {
            let (ids, name) = (view.ids(thread), view.name(thread));
            found.push(Found { ids, name, measurement, thread });
        }
    }
    found.sort();
    found
}

/// What names each thread in the profile: logical ids that were not given are made up in order.
pub(crate) fn named(found: &[Found]) -> Vec<Thread> {
    let mut within = Counting::default();
    let mut overall = Counting::default();
    let thread = |found: &Found| {
        let mut ids: Vec<IdPart> = Vec::with_capacity(found.ids.len());
        for id in &found.ids {
            let kind = id.kind.clone();
            let (logical, physical) = match id.given {
                GivenIds::Logical => (id.logical, None),
                GivenIds::Both => (id.logical, Some(id.physical)),
                GivenIds::PhysicalWithin => {
                    let prefix = ids.iter().map(|part| (part.kind.clone(), part.logical)).collect();
                    (within.number(prefix, &kind, id.physical), Some(id.physical))
                }
                GivenIds::PhysicalOverall => {
                    (overall.number(Vec::new(), &kind, id.physical), Some(id.physical))
                }
            };
            ids.push(IdPart { kind, logical, physical });
        }
        Thread { ids }
    };
    found.iter().map(thread).collect()
}

/// Numbers things in the order in which they come, for each place that they are in.
#[derive(Default)]
struct Counting {
    known: HashMap<(Prefix, IdKind), HashMap<u64, u64>>,
}

/// What encloses a thing: kinds and numbers, from the outermost in.
type Prefix = Vec<(IdKind, u64)>;

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

    fn id(kind: &'static str, number: u64, given: GivenIds) -> MeasuredId {
        MeasuredId { kind: IdKind(kind.into()), physical: number, logical: number, given }
    }

    fn found(ids: Vec<MeasuredId>) -> Found {
        Found { ids, name: String::new(), measurement: 0, thread: 0 }
    }

    #[test]
    fn ids_that_were_not_given_count_from_0_within_what_encloses_them() {
        use GivenIds::{Logical, PhysicalOverall, PhysicalWithin};
        let tuple = |host, core| {
            let node = id("NODE", host, PhysicalWithin);
            found(vec![node, id("CORE", core, PhysicalWithin), id("THREAD", 7, Logical)])
        };
        let threads = named(&[tuple(90, 40), tuple(90, 41), tuple(80, 41), tuple(90, 40)]);
        let texts: Vec<_> = threads.iter().map(ToString::to_string).collect();
        assert_eq!(texts[0], "NODE 0 [0x5a] / CORE 0 [0x28] / THREAD 7");
        assert_eq!(texts[1], "NODE 0 [0x5a] / CORE 1 [0x29] / THREAD 7");
        assert_eq!(texts[2], "NODE 1 [0x50] / CORE 0 [0x29] / THREAD 7");
        assert_eq!(texts[3], texts[0]);
        let stream = |host, stream| {
            found(vec![id("NODE", host, PhysicalWithin), id("GPUSTREAM", stream, PhysicalOverall)])
        };
        let threads = named(&[stream(1, 9), stream(2, 8), stream(2, 9)]);
        let numbers: Vec<_> = threads.iter().map(|thread| thread.id("GPUSTREAM")).collect();
        assert_eq!(numbers, [Some(0), Some(1), Some(0)]);
    }
}
