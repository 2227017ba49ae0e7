//! Activities of tasks, functions and state machines.

use std::borrow::Cow;
use std::fmt;

use super::{TimeNs, TrackId};

/// Activity of a task, an interrupt, a function or a state machine at a timestamp.
///
/// Stretches of time are told by their two ends, so that a recording can be read as it comes: a
/// range of time may have the one and not the other.
#[derive(Debug, Clone, PartialEq)]
pub enum Activity<'a> {
    /// A stretch begins: a task runs, a function is called.
    Begin {
        /// Name of the stretch, where the track does not give it.
        name: Option<Cow<'a, str>>,
        /// The priority it has from here on.
        priority: Option<i64>,
        /// Time at which it will be over, where that is recorded beforehand. There may be no end of
        /// it then.
        ends: Option<TimeNs>,
    },
    /// The stretch that began last on the track ends.
    End,
    /// The innermost stretch of a name ends, and with it those within whose own ends are missing.
    /// Where none of the name is under way, nothing ends.
    EndOf {
        /// Name that it had when it began, or as much of that as an end knows
        /// ([`interrupt_key`](crate::kernel::interrupt_key)).
        name: Cow<'a, str>,
    },
    /// There is something to do.
    Release {
        /// Longest duration that it may take, in nanoseconds.
        budget_ns: Option<i64>,
        /// Track where it was released: that of a processor, whose running task did it, or that of
        /// the task itself.
        by: Option<TrackId>,
    },
    /// It is done.
    Complete {
        /// Time that was left, in nanoseconds; less than nothing where it was late.
        remaining_ns: Option<i64>,
    },
    /// A message leaves.
    Send(Message<'a>),
    /// A message arrives.
    Receive(Message<'a>),
    /// A state begins, and stays until the next.
    Enter {
        /// Name of the state.
        state: Cow<'a, str>,
        /// Time at which the transition to it was over.
        settled: Option<TimeNs>,
    },
    /// From here on something is missing: what it would tell is not known until it is told again.
    Gap(Missing),
}

/// Kind of data that is missing where there is a gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Missing {
    /// Changes of the running task on the processor that the track is or is of. Everything else is
    /// there.
    Switches,
    /// Events of that processor, and of all that is beneath it.
    Events,
    /// Events of any track of the recording.
    AllEvents,
}

impl Missing {
    /// All there are.
    const ALL: [Self; 3] = [Self::Switches, Self::Events, Self::AllEvents];

    /// Returns what a word is for.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|missing| missing.name() == word)
    }

    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Switches => "switches",
            Self::Events => "events",
            Self::AllEvents => "all events",
        }
    }
}

/// One end of a message between two tracks. The same message has the same name, tracks and times
/// at both ends, as far as they are known.
#[derive(Debug, Clone, PartialEq)]
pub struct Message<'a> {
    /// Its name.
    pub name: Cow<'a, str>,
    /// The track of the other end.
    pub peer: Option<TrackId>,
    /// Time at the other end.
    pub peer_time: Option<TimeNs>,
}

/// Writes the text that a person reads: `begin, priority 20`, `send SAMPLE`.
impl fmt::Display for Activity<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Begin { name, priority, .. } => {
                f.write_str("begin")?;
                name.iter().try_for_each(|name| write!(f, " {name}"))?;
                priority.iter().try_for_each(|priority| write!(f, ", priority {priority}"))
            }
            Self::End => f.write_str("end"),
            Self::EndOf { name } => write!(f, "end {name}"),
            Self::Release { budget_ns, .. } => {
                f.write_str("release")?;
                budget_ns.iter().try_for_each(|budget| write!(f, ", budget {budget} ns"))
            }
            Self::Complete { remaining_ns } => {
                f.write_str("complete")?;
                remaining_ns.iter().try_for_each(|left| write!(f, ", {left} ns left"))
            }
            Self::Send(message) => write!(f, "send {}", message.name),
            Self::Receive(message) => write!(f, "receive {}", message.name),
            Self::Enter { state, .. } => write!(f, "enter {state}"),
            Self::Gap(missing) => write!(f, "gap, {} are missing", missing.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn activities_read_well() {
        let shown = |activity: Activity<'_>| activity.to_string();
        let (name, priority) = (Some("main".into()), None);
        assert_eq!(shown(Activity::Begin { name, priority, ends: None }), "begin main");
        let (name, priority) = (None, Some(-3));
        assert_eq!(shown(Activity::Begin { name, priority, ends: None }), "begin, priority -3");
        assert_eq!(shown(Activity::EndOf { name: "main".into() }), "end main");
        assert_eq!(
            shown(Activity::Release { budget_ns: Some(5), by: None }),
            "release, budget 5 ns"
        );
        assert_eq!(shown(Activity::Complete { remaining_ns: None }), "complete");
        let message = Message { name: "PING".into(), peer: None, peer_time: None };
        assert_eq!(shown(Activity::Send(message)), "send PING");
        assert_eq!(shown(Activity::Enter { state: "open".into(), settled: None }), "enter open");
        assert_eq!(shown(Activity::Gap(Missing::Events)), "gap, events are missing");
    }
}
