//! Analyses of what tasks, messages and state machines of a timeline did.
//!
//! An [`Analysis`] goes through the events of a timeline once, whatever the format, and hands each
//! to some [`Pass`]es: [`Load`] (who used the processors), [`Sched`] (response times),
//! [`History`] (every stretch), [`Messages`] (latencies), [`States`] (time per state), [`Gantt`] (what a picture shows). What
//! they hold grows with tasks and pairs of them, not with events. [`Calls`] makes a profile of the
//! calls of functions.
//!
//! ```
//! use kymo_query::Distribution;
//!
//! let mut response_ns = Distribution::default();
//! for ns in [1_200, 900, 4_000, 1_100] {
//!     response_ns.add(ns);
//! }
//! assert_eq!((response_ns.min(), response_ns.max()), (Some(900), Some(4_000)));
//! assert_eq!(response_ns.percentile(50), Some(1_100));
//! ```

#[cfg(test)]
mod adjoining;
mod analysis;
mod bounds;
mod calls;
mod default_metric;
mod distribution;
#[cfg(test)]
mod fixture;
mod gantt;
mod history;
mod idle;
mod labels;
mod load;
mod messages;
mod nest;
mod own;
mod resolver;
mod rules;
mod sched;
mod slot;
mod states;
mod switches;
mod tables;
mod tasks;
mod window_state;

pub use analysis::{
    Analysis, Diagnostics, InitialState, InterruptChange, InterruptEvent, Omission, Pass,
    ResolvedEvent, RunChange, RunSlice,
};
pub use bounds::Bounds;
pub use calls::Calls;
pub use default_metric::default_metric;
pub use distribution::Distribution;
pub use gantt::{Arrow, Gantt, Row, RowKind};
pub use history::{History, TaskRun};
pub use idle::is_idle_name;
pub use labels::Labels;
pub use load::{BucketTimes, Buckets, CpuLoad, InterruptLoad, Load, TaskLoad, UnknownLoad};
pub use messages::{
    DeliveredMessage, LatencyCaveats, Messages, Pair, PairKey, Sequence, Transfer, Wakeups,
};
pub use rules::{Demand, EventSelector, Matcher, Number, Rule, Rules, VacuousRule, Violation};
pub use sched::{Completed, Jobs, Open, Progress, Release, Sched, TaskSched};
pub use states::{MachineStates, StateTime, States};
pub use tables::{Description, Recorded, common_tables, descriptions, recording_id};
pub use tasks::{Cpu, CpuId, Task, TaskId, Tasks};

use kymo_model::timeline::TimeNs;

/// Returns the duration from one time to another; `None` where it was over before it began. That
/// happens with clocks that do not agree, and with times that go back.
#[must_use]
pub fn took(left: TimeNs, arrived: TimeNs) -> Option<u64> {
    (left <= arrived).then(|| elapsed(left, arrived))
}

/// Nanoseconds from one moment to a later one; none where it is not later.
#[must_use]
pub fn elapsed(from: TimeNs, to: TimeNs) -> u64 {
    if to > from { to.0.abs_diff(from.0) } else { 0 }
}
