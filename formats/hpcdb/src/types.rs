//! Types that readers return. Values stay in the files; these give their places.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::spec::COMBINE_SUM;

/// Layout, of those that all call themselves 4.0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Layout {
    /// The description of early 2022: big-endian.
    Described,
    /// Of April 2022: contexts of 24 bytes.
    April2022,
    /// Of May 2022: as released, but profiles without flags.
    May2022,
    /// As released.
    Released,
}

impl Layout {
    /// The word a person reads.
    #[must_use]
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Described => "the described draft, big-endian",
            Self::April2022 => "draft of April 2022",
            Self::May2022 => "draft of May 2022",
            Self::Released => "released layout",
        }
    }
}

/// Records of one size, one after another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Strided {
    /// Offset of the first.
    pub(crate) pointer: u64,
    /// Number of records.
    pub(crate) count: u64,
    /// From one to the next.
    pub(crate) stride: u64,
}

impl Strided {
    /// Returns the offset of a record; `None` beyond the last.
    #[must_use]
    pub(crate) fn offset_of(&self, index: u64) -> Option<u64> {
        let offset = index.checked_mul(self.stride)?.checked_add(self.pointer)?;
        (index < self.count).then_some(offset)
    }

    /// Returns true if a record begins at an offset.
    #[must_use]
    pub(crate) fn is_record_start(&self, offset: u64) -> bool {
        let Some(distance) = offset.checked_sub(self.pointer) else { return false };
        distance.is_multiple_of(self.stride.max(1)) && distance / self.stride.max(1) < self.count
    }

    /// Returns the offset of each record.
    pub(crate) fn offsets(self) -> impl Iterator<Item = u64> + Send {
        (0..self.count).filter_map(move |index| self.offset_of(index))
    }
}

/// A metric, as its table has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Metric {
    /// Offset of its record.
    pub(crate) offset: u64,
    /// Its name.
    pub(crate) name: String,
    /// The kinds of values that threads have.
    pub(crate) instances: Vec<ScopeInstance>,
    /// The kinds of values that the summary has.
    pub(crate) statistics: Vec<Statistic>,
}

impl Metric {
    /// The kinds of values of threads that the summary has the sum of.
    pub(crate) fn sums(&self) -> Vec<SummedScope> {
        let instances: HashMap<_, _> = self
            .instances
            .iter()
            .map(|scope_instance| (&scope_instance.scope, scope_instance.prop_metric_id))
            .collect();
        let sums = self.statistics.iter().filter(|statistic| statistic.is_sum());
        let sums = sums.filter_map(|Statistic { scope, stat_metric_id, .. }| {
            let instance = *instances.get(scope)?;
            Some(SummedScope { scope: Arc::clone(scope), instance, statistic: *stat_metric_id })
        });
        sums.collect()
    }
}

/// A kind of value that threads have and the summary has the sum of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SummedScope {
    scope: Arc<str>,
    /// Id by which values of threads name it.
    pub(crate) instance: u16,
    /// Id by which values of the summary name it.
    pub(crate) statistic: u16,
}

impl SummedScope {
    /// Returns true if the sum is what the threads come to. Of loops the summary has another
    /// `lex_aware` value than threads have.
    pub(crate) fn equals_thread_sum(&self) -> bool {
        &*self.scope != "lex_aware"
    }
}

/// A kind of value that threads have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScopeInstance {
    /// Offset of its record.
    pub(crate) offset: u64,
    /// The name of the propagation scope.
    pub(crate) scope: Arc<str>,
    /// Id by which values name it.
    pub(crate) prop_metric_id: u16,
}

/// A kind of value that the summary has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Statistic {
    /// Offset of its record.
    pub(crate) offset: u64,
    /// The name of the propagation scope.
    pub(crate) scope: Arc<str>,
    /// Formula that is applied to each thread's value, `$$`.
    pub(crate) formula: Arc<str>,
    /// Code of the way in which the results are combined.
    pub(crate) combine: u8,
    /// Id by which values name it.
    pub(crate) stat_metric_id: u16,
}

impl Statistic {
    /// Returns true if it is the sum of what threads have.
    pub(crate) fn is_sum(&self) -> bool {
        self.combine == COMBINE_SUM && &*self.formula == "$$"
    }
}

/// A propagation scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PropagationScope {
    /// Offset of its record, or in the drafts of the first that names it.
    pub(crate) offset: u64,
    /// Its name.
    pub(crate) name: String,
    /// Its type: 0 custom, 1 point, 2 execution, 3 transitive.
    pub(crate) scope_type: u8,
    /// Its bit in the propagation of contexts.
    pub(crate) propagation_index: u8,
}

/// A function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Function {
    /// Its name, where it has one.
    pub(crate) name: Option<String>,
    /// The pointer to its module.
    pub(crate) module: Option<u64>,
    /// Its entry in the module.
    pub(crate) offset: u64,
    /// The pointer to its file.
    pub(crate) file: Option<u64>,
    /// The line of its definition.
    pub(crate) line: u32,
}

/// An entry point, or a context: a node of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Context {
    /// Offset of its record.
    pub(crate) offset: u64,
    /// Length of its record.
    pub(crate) size: u64,
    /// Range of its children.
    pub(crate) children: Range<u64>,
    /// Id by which values name it.
    pub(crate) ctx_id: u32,
    /// Code of its relation to its parent.
    pub(crate) relation: u8,
    /// Code of its kind in the source.
    pub(crate) lexical_type: u8,
    /// Transitive scopes that flow from it to its parent: a bit each.
    pub(crate) propagation: u16,
    /// The pointer to its function.
    pub(crate) function: Option<u64>,
    /// The pointer to its file, and the line.
    pub(crate) source: Option<(u64, u32)>,
    /// The pointer to its module, and the offset.
    pub(crate) point: Option<(u64, u64)>,
    /// Place of the call that led to it, as the pointer to the file and the line. Only the
    /// described draft gives it.
    pub(crate) call: Option<(u64, u32)>,
    /// True if calls below it stand in its line, unless they say another. Only the described draft
    /// says it.
    pub(crate) is_call_line: bool,
    /// Entry point that it is.
    pub(crate) entry: Option<Entry>,
}

/// Code and name of an entry point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Its code: 0 unknown, 1 main thread, 2 application thread.
    pub(crate) entry_point: u16,
    /// Name of the entry point.
    pub(crate) name: String,
}

/// Values of one profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Profile {
    /// Its place in the list.
    pub(crate) index: u64,
    /// Offset of its record.
    pub(crate) offset: u64,
    /// Number of its values.
    pub(crate) n_values: u64,
    /// Offset of its values.
    pub(crate) values: u64,
    /// Number of contexts that have values.
    pub(crate) n_ctxs: u64,
    /// Offset of the index of contexts.
    pub(crate) ctx_indices: u64,
    /// Offset of its identifiers; the summary has none.
    pub(crate) id_tuple: Option<u64>,
    /// True if it is the summary.
    pub(crate) is_summary: bool,
}

/// One part of what names a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Id {
    /// An index into the names of kinds.
    pub(crate) kind: u16,
    /// True if the physical number is another than the logical.
    pub(crate) is_physical: bool,
    /// The number that counts from 0.
    pub(crate) logical: u32,
    /// The number the system knows it by.
    pub(crate) physical: u64,
}

/// Values of one context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CtxInfo {
    /// Its place in the list, which is its number.
    pub(crate) index: u64,
    /// Offset of its record.
    pub(crate) offset: u64,
    /// Number of its values.
    pub(crate) n_values: u64,
    /// Offset of its values.
    pub(crate) values: u64,
    /// Number of metrics that have values.
    pub(crate) n_metrics: u64,
    /// Offset of the index of metrics.
    pub(crate) metric_indices: u64,
}

/// A trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Trace {
    /// Offset of its record.
    pub(crate) offset: u64,
    /// Index of the profile that it is of.
    pub(crate) prof_index: u32,
    /// Offset at which its elements begin.
    pub(crate) start: u64,
    /// Number of its elements.
    pub(crate) count: u64,
    /// Bytes that are too few for another.
    pub(crate) rest: u64,
}

/// Context at which a thread was from a timestamp on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Element {
    /// In nanoseconds since the Epoch.
    pub(crate) timestamp: u64,
    /// The context; 0 is none.
    pub(crate) ctx_id: u32,
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
