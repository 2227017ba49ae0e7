//! Rules across records: every event is decoded, who stops is who ran, and interrupts end before they
//! come again.
//!
//! What the tracer lost is found when a trace is opened, and times that go back by whoever reads
//! events.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use foldhash::fast::RandomState;
use kymo_core::{Finding, Severity};
use kymo_model::kernel::{KernelEvent, OpenInterrupts};

use crate::Reader;
use crate::model::Switches;
use crate::notices::EventNotices;
use crate::read::{DecodedEvent, Place, sweep};

/// Rule for parts that cannot be read.
pub(crate) const UNREADABLE: &str = "unreadable";

const UNBALANCED: &str = "unbalanced-switch";

const UNENDED: &str = "unended-interrupt";

/// Applies every rule.
pub(crate) fn check(reader: &Arc<Reader>) -> Vec<Finding> {
    let mut switches = Switches::new(reader);
    for (number, track) in reader.tracks().iter().enumerate() {
        let mut balance = Balance::new(reader);
        let (mut marks, mut nowhere) = (EventNotices::for_texts(), EventNotices::for_processors());
        let _ = sweep(reader, &track.packets, &mut switches, |taken, switches| {
            if switches.is_broken {
                marks.add(reader, number, taken);
            }
            if switches.is_missing_cpu(taken.packet) {
                nowhere.add(reader, number, taken);
            } else if taken.head.time_ns.is_some() {
                balance.take(reader, taken, switches);
            }
            ControlFlow::Continue(())
        });
        balance.unbalanced.report(reader, number);
        balance.unended.report(reader, number);
        marks.report(reader);
        nowhere.report(reader);
    }
    reader.findings()
}

/// Running tasks of the processors of a stream, and what does not fit to them. All switches of a
/// processor are in one stream, in the order of their times, and so are its interrupts.
struct Balance {
    cpus: HashMap<u64, Running, RandomState>,
    /// So many processors are followed, as many as have tracks: events may name any number.
    most: usize,
    unbalanced: RepeatedFinding,
    unended: RepeatedFinding,
}

/// Running task of a processor, and its interrupts.
#[derive(Default)]
struct Running {
    task: Option<i64>,
    interrupts: OpenInterrupts,
}

impl Balance {
    fn new(reader: &Reader) -> Self {
        let most = usize::try_from(reader.limits().items_max).unwrap_or(usize::MAX);
        let (unbalanced, unended) = (RepeatedFinding::default(), RepeatedFinding::default());
        Self { cpus: HashMap::default(), most, unbalanced, unended }
    }

    /// Who runs on a processor; nothing of those beyond the limit, which the survey tells of.
    fn running(&mut self, cpu: u64) -> Option<&mut Running> {
        if self.cpus.len() >= self.most && !self.cpus.contains_key(&cpu) {
            return None;
        }
        Some(self.cpus.entry(cpu).or_default())
    }

    #[inline]
    fn take(&mut self, reader: &Reader, taken: &DecodedEvent<'_>, switches: &Switches) {
        let Some(cpu) = switches.cpu(taken.packet) else { return };
        if let Some((stops, runs)) = switches.switch() {
            let Some(on) = self.running(cpu) else { return };
            on.interrupts.leave();
            if let Some(before) = on.task.replace(runs).filter(|before| *before != stops) {
                let what = || format!("task {stops} stops while task {before} runs");
                self.unbalanced.add(|| missing(reader, taken, cpu, UNBALANCED, &what()));
            }
        } else if let Some((event, name)) = switches.interrupt() {
            let Some(on) = self.running(cpu) else { return };
            if on.update_interrupts(event, name.as_deref()) {
                let what = || format!("{} comes again before it ended", name.unwrap_or_default());
                self.unended.add(|| missing(reader, taken, cpu, UNENDED, &what()));
            }
        }
    }
}

impl Running {
    /// Takes the begin or the end of an interrupt. Tells whether one begins that did not end.
    fn update_interrupts(&mut self, event: KernelEvent, name: Option<&str>) -> bool {
        let begins = matches!(event, KernelEvent::Irq | KernelEvent::SoftIrq);
        if !begins {
            self.interrupts.end(name);
        }
        name.is_some_and(|name| begins && self.interrupts.begin(name))
    }
}

/// Something is missing between an event and one before.
fn missing(
    reader: &Reader,
    taken: &DecodedEvent<'_>,
    cpu: u64,
    rule: &'static str,
    what: &str,
) -> Finding {
    let message = format!("on cpu {cpu}, {what}: events are missing");
    let mut finding = Finding::at_offset(Severity::Warning, rule, taken.offset, message);
    finding.file = Some(reader.file_name(taken.packet.file));
    finding
}

/// Fault that is found again and again in a stream: the first time, and the number of times.
#[derive(Default)]
struct RepeatedFinding {
    first: Option<Finding>,
    count: u64,
}

impl RepeatedFinding {
    fn add(&mut self, finding: impl FnOnce() -> Finding) {
        self.first.get_or_insert_with(finding);
        self.count += 1;
    }

    fn report(self, reader: &Reader, track: usize) {
        let Some(mut finding) = self.first else { return };
        if self.count > 1 {
            finding.message = format!("{} ({} times)", finding.message, self.count);
        }
        reader.add(Place::Track(track, finding.rule), finding);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Events may name any processor: no more are followed than have tracks.
    #[test]
    fn processors_are_followed_within_a_limit() {
        let (unbalanced, unended) = (RepeatedFinding::default(), RepeatedFinding::default());
        let mut balance = Balance { cpus: HashMap::default(), most: 2, unbalanced, unended };
        let is_followed: Vec<_> =
            [7, u64::MAX, 3, 7].map(|cpu| balance.running(cpu).is_some()).to_vec();
        assert_eq!((is_followed, balance.cpus.len()), (vec![true, true, false, true], 2));
    }
}
