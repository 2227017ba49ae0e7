//! Rules across records: every event is decoded, who stops is who ran, and interrupts end before they
//! come again.
//!
//! What the tracer lost is found when a trace is opened, and times that go back by whoever reads
//! events.

use std::ops::ControlFlow;
use std::sync::Arc;

use kymo_core::model::kernel::{KernelEvent, UnderWay};
use kymo_core::{Finding, Severity};

use crate::Reader;
use crate::marks::Marks;
use crate::model::Switches;
use crate::read::{Place, Taken, sweep};

/// What cannot be read.
pub(crate) const UNREADABLE: &str = "unreadable";

const UNBALANCED: &str = "unbalanced-switch";

const UNENDED: &str = "unended-interrupt";

/// Applies every rule.
pub(crate) fn check(reader: &Arc<Reader>) -> Vec<Finding> {
    let mut switches = Switches::new(reader);
    for (number, track) in reader.tracks().iter().enumerate() {
        let (mut balance, mut marks) = (Balance::default(), Marks::default());
        let _ = sweep(reader, &track.packets, &mut switches, |taken, switches| {
            if switches.is_broken {
                marks.see(reader, number, taken);
            }
            if taken.head.time_ns.is_some() {
                balance.take(reader, taken, switches);
            }
            ControlFlow::Continue(())
        });
        balance.unbalanced.tell(reader, number);
        balance.unended.tell(reader, number);
        marks.tell(reader);
    }
    reader.findings()
}

/// Who runs on the processor of a stream, and what does not fit to that. All switches of a processor
/// are in one stream, in the order of their times, and so are its interrupts.
#[derive(Default)]
struct Balance {
    running: Option<i64>,
    interrupts: UnderWay,
    unbalanced: Repeated,
    unended: Repeated,
}

impl Balance {
    #[inline]
    fn take(&mut self, reader: &Reader, taken: &Taken<'_>, switches: &Switches) {
        if let Some((stops, runs)) = switches.switch() {
            self.interrupts.leave();
            if let Some(before) = self.running.replace(runs).filter(|before| *before != stops) {
                let what = || format!("task {stops} stops while task {before} runs");
                self.unbalanced.see(|| missing(reader, taken, UNBALANCED, &what()));
            }
        } else if let Some((event, name)) = switches.interrupt() {
            self.interrupt(reader, taken, event, name.as_deref());
        }
    }

    fn interrupt(
        &mut self,
        reader: &Reader,
        taken: &Taken<'_>,
        event: KernelEvent,
        name: Option<&str>,
    ) {
        let begins = matches!(event, KernelEvent::Irq | KernelEvent::SoftIrq);
        match name {
            Some(name) if begins => {
                if self.interrupts.begins(name) {
                    let what = format!("{name} comes again before it ended");
                    self.unended.see(|| missing(reader, taken, UNENDED, &what));
                }
            }
            None if begins => {}
            name => self.interrupts.ends(name),
        }
    }
}

/// Something is missing between an event and one before.
fn missing(reader: &Reader, taken: &Taken<'_>, rule: &'static str, what: &str) -> Finding {
    let cpu = taken.packet.cpu.map_or_else(String::new, |cpu| format!("on cpu {cpu}, "));
    let message = format!("{cpu}{what}: events are missing");
    let mut finding = Finding::at(Severity::Warning, rule, taken.offset, message);
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
