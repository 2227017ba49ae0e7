//! Measurements: what a recorder kept of each thread, before anything is known of its addresses.
//!
//! A recorder writes down where a thread was by addresses, in a tree of its own for each thread.
//! What makes a profile of that looks addresses up, merges the trees and adds up values; it needs
//! to know nothing of the files. One thread is read at a time.

mod names;

use std::path::PathBuf;
use std::sync::Arc;

pub use names::thread_names;

use super::profile::{ComputedMetric, IdKind, Metric, Parts};
use super::structure::Structure;
use super::timeline::TimeNs;
use kymo_core::{Finding, Progress, Result};

/// The threads of a measurement.
pub trait MeasurementView: Send + Sync {
    /// The directory that relative paths of modules are below.
    fn directory(&self) -> Option<PathBuf>;

    /// Returns the number of threads; their numbers count from 0.
    fn thread_count(&self) -> usize;

    /// Returns the recorder's name for a thread: the names of its files begin with it.
    fn name(&self, thread: usize) -> String;

    /// The file that a thread is recorded in, as findings name it.
    fn file(&self, thread: usize) -> String;

    /// Returns the name of the program that a thread is of, where that was recorded.
    fn program(&self, thread: usize) -> Option<String>;

    /// Returns the ids that name a thread. Cheap: nothing else of it is read.
    fn ids(&self, thread: usize) -> Vec<MeasuredId>;

    /// About how many bytes there are of a thread, to tell how far the work is.
    fn size_bytes(&self, thread: usize) -> u64;

    /// Paths of all modules that some thread may have been in.
    fn modules(&self) -> Vec<String>;

    /// Reads all of a thread but its samples.
    fn thread(&self, thread: usize) -> Result<MeasuredThread>;

    /// Returns the node at which a thread was from each timestamp on, in order of time. A sample
    /// may name a node that the thread does not have.
    fn samples(&self, thread: usize) -> Result<Samples<'_>>;

    /// The same in parts, where nothing has to be put in order for it.
    fn samples_in_parts(&self, thread: usize) -> Option<SamplesInParts<'_>> {
        let _ = thread;
        None
    }

    /// Returns the name of a frame that is no code. It is a placeholder, or an entry or idleness
    /// where it hangs below something, and is neither.
    fn placeholder(&self, frame: Frame) -> String;

    /// The structure of modules that are wanted by their paths, as far as it lies beside the
    /// measurement, and what of it could not be read.
    fn structure(
        &self,
        is_wanted: &IsWanted<'_>,
        progress: &dyn Progress,
    ) -> (Structure, Vec<Finding>);
}

/// Tells whether a module is wanted, by its path; several threads may ask.
pub type IsWanted<'a> = dyn Fn(&str) -> bool + Sync + 'a;

/// Samples of a thread, one after another.
pub type Samples<'a> = Box<dyn Iterator<Item = MeasuredSample> + Send + 'a>;

/// Samples of a thread, in parts that follow each other.
pub type SamplesInParts<'a> = Box<dyn Parts<MeasuredSample> + 'a>;

/// Node at which a thread was from a timestamp on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MeasuredSample {
    /// From when on.
    pub time: TimeNs,
    /// The number that the recorder gave the node.
    pub node: u32,
    /// True if it means what was called there, and not the instruction.
    pub is_of_call: bool,
}

/// One part of what names a thread, as it was recorded.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct MeasuredId {
    /// Kind of thing that it numbers.
    pub kind: IdKind,
    /// The number the system knows it by.
    pub physical: u64,
    /// The number that counts from 0.
    pub logical: u64,
    /// Numbers of the id that count.
    pub given: KnownIds,
}

/// Numbers of an id that were given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KnownIds {
    /// Both.
    Both,
    /// The logical one has to be made up: it counts within what encloses it.
    PhysicalWithin,
    /// The logical one has to be made up: it counts through all of its kind.
    PhysicalOverall,
    /// There is only the logical one.
    Logical,
}

/// Recorded data of a thread.
#[derive(Debug, Clone, Default)]
pub struct MeasuredThread {
    /// Metrics that were measured.
    pub metrics: Vec<MeasuredMetric>,
    /// Metrics that are computed from those: formulas name metrics that have values, by their
    /// index.
    pub computed: Vec<ComputedMetric>,
    /// Paths of modules, which nodes name by their index. Threads of one process may share them.
    pub modules: Arc<[String]>,
    /// The nodes of its tree, each after the one above it.
    pub nodes: Vec<MeasuredNode>,
    /// Node for each number of the recorder.
    pub numbers: NodeNumbers,
    /// Values that were measured, and the nodes at which they were.
    pub values: Vec<MeasuredValue>,
    /// Finding that nodes are in modules which are not listed: they are reported as unknown code.
    pub unlisted: Option<Finding>,
    /// Findings about anything else that is wrong with it, and what was passed over.
    pub findings: Vec<Finding>,
}

/// A metric of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeasuredMetric {
    /// Metric that was measured.
    pub metric: Metric,
    /// True if its values belong to what was called at a node, and not to the instruction.
    pub is_of_call: bool,
    /// Kind of thing that it counts, where that helps to find out who called whom.
    pub counts: Option<Counts>,
    /// Amount that each recorded value stands for; values are multiplied with it when reported.
    pub period: u64,
    /// True if values were recorded as real numbers, and not as counts.
    pub is_real: bool,
}

/// Kind of thing that a metric counts in code whose callers nobody records, such as that of a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Counts {
    /// Number of times that kernels ran.
    Calls,
    /// Number of times that they ran while they were measured.
    MeasuredCalls,
    /// Samples of instructions.
    Instructions,
}

/// A node of a thread's tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MeasuredNode {
    /// The index of the node above; its own index where there is none.
    pub above: u32,
    /// Frame that the node stands for.
    pub frame: Frame,
}

/// Frame that a node stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Frame {
    /// The whole program.
    Root,
    /// Nothing went on.
    Idle,
    /// Place where the main thread enters.
    MainEntry,
    /// Place where any other thread enters.
    ThreadEntry,
    /// Place where unwinding came to an end that it could not explain.
    UnknownEntry,
    /// Code that is in no module.
    UnknownCode,
    /// Something that is no code, by the code that the recorder gives it.
    Placeholder(u64),
    /// An instruction.
    Code {
        /// The index of the module.
        module: u32,
        /// Offset in the module.
        offset: u64,
        /// True if the node above is known to have called it. Of samples of a GPU it is not.
        is_called: bool,
    },
}

/// A value of a thread.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasuredValue {
    /// The index of the node.
    pub node: u32,
    /// The index of the metric. Those that are computed have no values: what is told of them is
    /// passed over.
    pub metric: u32,
    /// Amount, in the unit of the metric.
    pub value: f64,
}

/// Finds the index of a node by the number that the recorder gave it.
#[derive(Debug, Clone, Default)]
pub struct NodeNumbers {
    /// Indices for numbers that are close together: the index by the number less the first.
    close: Vec<u32>,
    first: u32,
    /// Numbers that are not close together, with their indices, by number.
    apart: Vec<(u32, u32)>,
    /// Number of numbers.
    count: usize,
}

impl NodeNumbers {
    /// No node.
    const NONE: u32 = u32::MAX;

    /// The numbers of nodes in the order of their indices. Of several with one number the first
    /// counts.
    #[must_use]
    pub fn new(numbers: impl Iterator<Item = u32> + Clone) -> Self {
        let (mut first, mut last, mut count) = (u32::MAX, 0, 0_u64);
        for number in numbers.clone() {
            (first, last, count) = (first.min(number), last.max(number), count + 1);
        }
        if count == 0 {
            return Self::default();
        }
        let pairs = numbers.zip(0..Self::NONE);
        // Never much more than the pairs would take.
        let span = u64::from(last - first) + 1;
        match usize::try_from(span) {
            Ok(length) if span / 4 <= count => {
                let mut close = vec![Self::NONE; length];
                let mut count = 0;
                for (number, index) in pairs {
                    let slot = usize::try_from(number - first).ok();
                    if let Some(slot) = slot.and_then(|slot| close.get_mut(slot)) {
                        count += usize::from(*slot == Self::NONE);
                        *slot = index.min(*slot);
                    }
                }
                Self { close, first, apart: Vec::new(), count }
            }
            _ => {
                let mut apart: Vec<_> = pairs.collect();
                apart.sort_unstable();
                apart.dedup_by_key(|(number, _)| *number);
                let count = apart.len();
                Self { close: Vec::new(), first, apart, count }
            }
        }
    }

    /// Returns the number of numbers: fewer than nodes where several nodes have one.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// The index of the node with a number.
    #[must_use]
    pub fn find(&self, number: u32) -> Option<u32> {
        let slot = number.checked_sub(self.first).and_then(|slot| usize::try_from(slot).ok());
        if let Some(index) = slot.and_then(|slot| self.close.get(slot)) {
            return Some(*index).filter(|index| *index != Self::NONE);
        }
        let at = self.apart.binary_search_by_key(&number, |(number, _)| *number).ok()?;
        self.apart.get(at).map(|(_, index)| *index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_found_by_its_number_whether_numbers_are_close_or_apart() {
        for numbers in [vec![], vec![7], vec![12, 14, 13, 12], vec![1, u32::MAX, 5, 1]] {
            let found = NodeNumbers::new(numbers.iter().copied());
            let distinct: std::collections::BTreeSet<_> = numbers.iter().collect();
            assert_eq!(found.count(), distinct.len(), "{numbers:?}");
            for wanted in [0, 1, 2, 5, 7, 12, 13, 14, 15, u32::MAX - 1, u32::MAX] {
                let expected = numbers.iter().position(|number| *number == wanted);
                let expected = expected.map(|index| u32::try_from(index).unwrap());
                assert_eq!(found.find(wanted), expected, "{wanted} in {numbers:?}");
            }
        }
    }
}
