//! Clocks that give traces their times: the time of day, or a clock of a host that has a zero of
//! its own.

use std::collections::HashMap;

use kymo_model::timeline::{Clock, ClockId};

use crate::measurement::Part;

/// Zero that a clock counts from.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Zero {
    Epoch,
    /// A moment of its own, as since a host was started; hosts are not started together.
    Own {
        host: String,
    },
}

impl Zero {
    /// Returns the zero that the times of a recording count from. An empty trace has none.
    fn from_part(part: &Part) -> Option<Self> {
        let trace = part.trace.as_ref().filter(|trace| !trace.is_empty())?;
        if trace.is_since_epoch() {
            return Some(Self::Epoch);
        }
        let host = part.profile.as_ref().and_then(|profile| profile.header.value("host-id"));
        Some(Self::Own { host: host.unwrap_or_default().into_owned() })
    }

    fn name(&self) -> String {
        match self {
            Self::Epoch => "time".to_owned(),
            Self::Own { host } if host.is_empty() => "clock".to_owned(),
            Self::Own { host } => format!("clock of {host}"),
        }
    }
}

/// The clocks of traces, each once.
#[derive(Debug)]
pub(crate) struct Clocks {
    list: Vec<Clock>,
    by_zero: HashMap<Zero, ClockId>,
}

impl Clocks {
    /// Those of all recordings; there is one in any case.
    pub(crate) fn from_recordings(recordings: &[Part]) -> Self {
        let mut clocks = Self { list: Vec::new(), by_zero: HashMap::new() };
        for (recording, part) in recordings.iter().enumerate() {
            if let Some(zero) = Zero::from_part(part) {
                clocks.add(zero, recording);
            }
        }
        if clocks.list.is_empty() {
            clocks.add(Zero::Epoch, 0);
        }
        clocks
    }

    fn add(&mut self, zero: Zero, recording: usize) {
        if !self.by_zero.contains_key(&zero) {
            let (name, since_epoch) = (zero.name(), zero == Zero::Epoch);
            self.by_zero.insert(zero, ClockId(self.list.len()));
            self.list.push(Clock { name, recording, since_epoch });
        }
    }

    pub(crate) fn list(&self) -> &[Clock] {
        &self.list
    }

    /// The clock of a recording's trace; an empty one is on any.
    pub(crate) fn part_clock(&self, part: &Part) -> ClockId {
        let known = Zero::from_part(part).and_then(|zero| self.by_zero.get(&zero));
        known.copied().unwrap_or(ClockId(0))
    }
}
