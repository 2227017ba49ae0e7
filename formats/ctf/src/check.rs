//! Rules across records: every event is decoded, times do not go back, who stops is who ran.
//!
//! What the tracer lost is found when a trace is opened.

use std::ops::ControlFlow;
use std::sync::Arc;

use kymo_core::{Finding, Severity};

use crate::Reader;
use crate::model::Switches;
use crate::read::{Place, Taken, sweep};

/// What cannot be read.
pub(crate) const UNREADABLE: &str = "unreadable";

const TIME_ORDER: &str = "time-order";
const UNBALANCED: &str = "unbalanced-switch";

/// Applies every rule.
pub(crate) fn check(reader: &Arc<Reader>) -> Vec<Finding> {
    let mut switches = Switches::new(reader);
    for (number, track) in reader.tracks().iter().enumerate() {
        let (mut back, mut unbalanced) = (Repeated::default(), Repeated::default());
        let (mut latest, mut running) = (i64::MIN, None);
        let _ = sweep(reader, &track.packets, &mut switches, |taken, switches| {
            let Some(time) = taken.head.time_ns else { return ControlFlow::Continue(()) };
            if time < latest {
                back.see(|| goes_back(reader, taken, latest));
            }
            latest = latest.max(time);
            if let Some((stops, runs)) = switches.switch()
                && let Some(before) = running.replace(runs).filter(|before| *before != stops)
            {
                unbalanced.see(|| stops_another(reader, taken, stops, before));
            }
            ControlFlow::Continue(())
        });
        back.tell(reader, number);
        unbalanced.tell(reader, number);
    }
    reader.findings()
}

fn goes_back(reader: &Reader, taken: &Taken<'_>, latest: i64) -> Finding {
    let by = taken.head.time_ns.map_or(0, |time| latest.abs_diff(time));
    warning(reader, taken, TIME_ORDER, format!("time goes back by {by} ns"))
}

/// All switches of a processor are in one stream, in the order of their times.
fn stops_another(reader: &Reader, taken: &Taken<'_>, stops: i64, before: i64) -> Finding {
    let cpu = taken.packet.cpu.map_or_else(String::new, |cpu| format!("on cpu {cpu}, "));
    let message = format!("{cpu}task {stops} stops while task {before} runs: events are missing");
    warning(reader, taken, UNBALANCED, message)
}

fn warning(reader: &Reader, taken: &Taken<'_>, rule: &'static str, message: String) -> Finding {
    let mut finding = Finding::at(Severity::Warning, rule, taken.offset, message);
    finding.file = Some(reader.file_name(taken.packet.file));
    finding
}

/// What is wrong again and again in a stream: the first time, and how often. One wrong time makes
/// all that come after it too early.
#[derive(Default)]
struct Repeated {
    first: Option<Finding>,
    count: u64,
}

impl Repeated {
    fn see(&mut self, finding: impl FnOnce() -> Finding) {
        self.first.get_or_insert_with(finding);
        self.count += 1;
    }

    fn tell(self, reader: &Reader, track: usize) {
        let Some(mut finding) = self.first else { return };
        if self.count > 1 {
            finding.message = format!("{} ({} times)", finding.message, self.count);
        }
        reader.add(Place::Track(track, finding.rule), finding);
    }
}
