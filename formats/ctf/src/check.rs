//! Rules across records: every event is decoded, who stops is who ran.
//!
//! What the tracer lost is found when a trace is opened, and times that go back by whoever reads
//! events.

use std::ops::ControlFlow;
use std::sync::Arc;

use kymo_core::{Finding, Severity};

use crate::Reader;
use crate::marks::Marks;
use crate::model::Switches;
use crate::read::{Place, Taken, sweep};

/// What cannot be read.
pub(crate) const UNREADABLE: &str = "unreadable";

const UNBALANCED: &str = "unbalanced-switch";

/// Applies every rule.
pub(crate) fn check(reader: &Arc<Reader>) -> Vec<Finding> {
    let mut switches = Switches::new(reader);
    for (number, track) in reader.tracks().iter().enumerate() {
        let (mut unbalanced, mut running) = (Repeated::default(), None);
        let mut marks = Marks::default();
        let _ = sweep(reader, &track.packets, &mut switches, |taken, switches| {
            if switches.is_broken {
                marks.see(reader, number, taken);
            }
            if taken.head.time_ns.is_some()
                && let Some((stops, runs)) = switches.switch()
                && let Some(before) = running.replace(runs).filter(|before| *before != stops)
            {
                unbalanced.see(|| stops_another(reader, taken, stops, before));
            }
            ControlFlow::Continue(())
        });
        unbalanced.tell(reader, number);
        marks.tell(reader);
    }
    reader.findings()
}

/// All switches of a processor are in one stream, in the order of their times.
fn stops_another(reader: &Reader, taken: &Taken<'_>, stops: i64, before: i64) -> Finding {
    let cpu = taken.packet.cpu.map_or_else(String::new, |cpu| format!("on cpu {cpu}, "));
    let message = format!("{cpu}task {stops} stops while task {before} runs: events are missing");
    let mut finding = Finding::at(Severity::Warning, UNBALANCED, taken.offset, message);
    finding.file = Some(reader.file_name(taken.packet.file));
    finding
}

/// What is wrong again and again in a stream: the first time, and how often.
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
