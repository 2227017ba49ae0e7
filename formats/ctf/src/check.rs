//! Rules across records: every event is decoded, times do not go back, who stops is who ran.
//!
//! What the tracer lost is found when a trace is opened.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use kymo_core::{Finding, Severity};

use crate::Reader;
use crate::model::Switches;
use crate::read::{Place, Taken, TrackCursor};

/// What cannot be read.
pub(crate) const UNREADABLE: &str = "unreadable";

const TIME_ORDER: &str = "time-order";
const UNBALANCED: &str = "unbalanced-switch";

/// Applies every rule.
pub(crate) fn check(reader: &Arc<Reader>) -> Vec<Finding> {
    let mut switches = Switches::new(reader);
    let mut unbalanced = Unbalanced::default();
    for (number, track) in reader.tracks().iter().enumerate() {
        let mut cursor = TrackCursor::new(reader, track.packets.clone());
        let mut latest = i64::MIN;
        while let Some(taken) = cursor.take(reader, &mut switches) {
            let Some(time) = taken.head.time_ns else { continue };
            if time < latest {
                let message = format!("time goes back by {} ns", latest.abs_diff(time));
                tell(reader, &taken, TIME_ORDER, message);
            }
            latest = latest.max(time);
            if let Some((stops, runs)) = switches.switch() {
                unbalanced.see(reader, number, &taken, (stops, runs));
            }
        }
    }
    unbalanced.tell(reader);
    reader.findings()
}

fn tell(reader: &Reader, taken: &Taken<'_>, rule: &'static str, message: String) {
    let (file, offset) = (taken.packet.file, taken.offset);
    let mut finding = Finding::at(Severity::Warning, rule, offset, message);
    finding.file = Some(reader.file_name(file));
    reader.add(Place::At(file, offset), finding);
}

/// Switches that stop another task than was running, of each stream: all switches of a processor
/// are in one, in the order of their times.
#[derive(Default)]
struct Unbalanced {
    running: HashMap<usize, i64, RandomState>,
    /// The first of a stream, and how many there are.
    found: HashMap<usize, (u64, Finding)>,
}

impl Unbalanced {
    fn see(&mut self, reader: &Reader, track: usize, taken: &Taken<'_>, (stops, runs): (i64, i64)) {
        let before = self.running.insert(track, runs);
        if before.is_none_or(|before| before == stops) {
            return;
        }
        let (count, _) = self.found.entry(track).or_insert_with(|| {
            let cpu = taken.packet.cpu.map_or_else(String::new, |cpu| format!(" on cpu {cpu}"));
            let message = format!("a switch{cpu} stops another task than was running");
            let offset = taken.offset;
            let mut finding = Finding::at(Severity::Warning, UNBALANCED, offset, message);
            finding.file = Some(reader.file_name(taken.packet.file));
            (0, finding)
        });
        *count += 1;
    }

    fn tell(self, reader: &Reader) {
        for (track, (count, mut finding)) in self.found {
            if count > 1 {
                finding.message = format!("{} ({count} times)", finding.message);
            }
            reader.add(Place::Track(track, UNBALANCED), finding);
        }
    }
}
