//! Survey of all packets: facts about tasks, interrupts and cores, never about each packet.

use std::collections::{BTreeMap, HashMap, HashSet};

use foldhash::fast::RandomState;
use kymo_core::{Finding, Severity};
use kymo_model::kernel::OpenInterrupts;

use crate::index::CoreClock;
use crate::read::Packet;
use crate::spec;

/// Places where the target lost events that are listed one by one.
const OVERFLOWS_LISTED: usize = 100;

/// Contents of a recording.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    /// Tasks that something is told of, each with the core that tells it.
    pub(crate) tasks: HashSet<(u32, u64), RandomState>,
    /// Cores that have nothing to do at times.
    pub(crate) idle: HashSet<u32, RandomState>,
    /// Interrupts that come.
    interrupts: HashSet<u64, RandomState>,
    /// True if tasks are said to stop by themselves; some systems do not tell.
    pub(crate) tells_completion: bool,
    /// The last packet of each core that says who runs: its first byte.
    last_switches: HashMap<u32, u64, RandomState>,
    /// The first packet that is too late to have a time.
    pub(crate) late: Option<LatePackets>,
    /// What runs on each core, tasks and interrupts.
    running: HashMap<u32, Running, RandomState>,
    unended: BTreeMap<u32, Unended>,
    overflows: Vec<Overflow>,
    other_overflows: Option<Overflow>,
}

/// Packets that are too late to have a time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LatePackets {
    offset: u64,
    ticks: u64,
    count: u64,
}

/// What runs on a core.
#[derive(Debug, Default)]
struct Running {
    /// What was switched to last: a task by its number, or nothing to do.
    switched_to: Option<(u32, Option<u64>)>,
    interrupts: OpenInterrupts,
}

/// Interrupts of a core that come again before they ended.
#[derive(Debug, Clone, Copy)]
struct Unended {
    offset: u64,
    number: u64,
    count: u64,
}

/// Places where the target had no room for events.
#[derive(Debug, Clone, Copy)]
struct Overflow {
    offset: u64,
    places: u64,
    lost: u64,
}

impl Survey {
    /// Takes a packet, whose first parameter may be a number.
    pub(crate) fn add_packet(
        &mut self,
        packet: &Packet,
        number: Option<u64>,
        clock: &mut CoreClock,
    ) {
        self.add_time(packet, clock);
        self.see_interrupt(packet, number);
        let core = packet.core;
        match packet.id {
            spec::TASK_START_EXEC | spec::TASK_START_READY | spec::TASK_STOP_READY => {
                self.tasks.extend(number.map(|tid| (core, tid)));
            }
            spec::IDLE => drop(self.idle.insert(core)),
            spec::ISR_ENTER => self.interrupts.extend(number),
            spec::OVERFLOW => self.overflow(packet.offset, number.unwrap_or(0)),
            _ => {}
        }
        if matches!(packet.id, spec::TASK_STOP_EXEC | spec::TASK_STOP_READY) {
            self.tells_completion = true;
        }
        if matches!(packet.id, spec::TASK_START_EXEC | spec::IDLE | spec::TASK_STOP_EXEC) {
            self.last_switches.insert(core, packet.offset);
        }
    }

    fn add_time(&mut self, packet: &Packet, clock: &mut CoreClock) {
        let Packet { offset, ticks, .. } = *packet;
        if clock.is_late(ticks) {
            let late = self.late.get_or_insert(LatePackets { offset, ticks, count: 0 });
            late.count += 1;
        } else if ticks == 0 || clock.frequency().is_some() {
            clock.last = Some(ticks);
        }
    }

    /// An interrupt does not interrupt itself: where one comes again, its end is missing. Where
    /// another task begins to run, none is under way.
    fn see_interrupt(&mut self, packet: &Packet, number: Option<u64>) {
        let Packet { core, offset, .. } = *packet;
        let on = self.running.entry(core).or_default();
        match packet.id {
            spec::ISR_ENTER => {
                let number = number.unwrap_or(0);
                if on.interrupts.begin(&number.to_string()) {
                    let first = Unended { offset, number, count: 0 };
                    self.unended.entry(core).or_insert(first).count += 1;
                }
            }
            spec::ISR_EXIT | spec::ISR_TO_SCHEDULER => on.interrupts.end(None),
            spec::TASK_START_EXEC | spec::IDLE => {
                let next = Some((packet.id, number.filter(|_| packet.id != spec::IDLE)));
                if on.switched_to != next {
                    on.switched_to = next;
                    on.interrupts.leave();
                }
            }
            spec::TASK_STOP_EXEC => on.switched_to = None,
            // What ended and began meanwhile is not known.
            spec::OVERFLOW => *on = Running::default(),
            _ => {}
        }
    }

    fn overflow(&mut self, offset: u64, lost: u64) {
        if self.overflows.len() < OVERFLOWS_LISTED {
            self.overflows.push(Overflow { offset, places: 1, lost });
            return;
        }
        let none = Overflow { offset, places: 0, lost: 0 };
        let others = self.other_overflows.get_or_insert(none);
        others.places += 1;
        others.lost = others.lost.saturating_add(lost);
    }

    /// Returns true if no packet after it says who runs on its core.
    pub(crate) fn is_last_switch(&self, packet: &Packet) -> bool {
        self.last_switches.get(&packet.core) == Some(&packet.offset)
    }

    /// Returns the number of tasks that have events.
    pub(crate) fn task_count(&self) -> usize {
        self.tasks.iter().map(|(_, tid)| tid).collect::<HashSet<_>>().len()
    }

    /// Returns the number of interrupts that come.
    pub(crate) fn interrupt_count(&self) -> usize {
        self.interrupts.len()
    }

    /// Returns the findings about what is odd: times that are not known, and places where the
    /// target lost events. The first places are listed one by one, and the others together.
    pub(crate) fn findings(&self) -> Vec<Finding> {
        let listed = self.overflows.iter().map(|Overflow { offset, lost, .. }| {
            let message = format!("the target had no room here: {lost} events are lost");
            Finding::at_offset(Severity::Warning, "overflow", *offset, message)
        });
        let others = self.other_overflows.map(|Overflow { offset, places, lost }| {
            let message = format!(
                "the target had no room here and at {} places after it: {lost} events are lost",
                places - 1
            );
            Finding::at_offset(Severity::Warning, "overflow", offset, message)
        });
        let unended = self.unended.iter().map(|(core, unended)| unended.finding(*core));
        self.late
            .map(LatePackets::finding)
            .into_iter()
            .chain(listed)
            .chain(others)
            .chain(unended)
            .collect()
    }
}

impl Unended {
    fn finding(self, core: u32) -> Finding {
        let Self { offset, number, count } = self;
        let often = if count > 1 { format!(" ({count} times)") } else { String::new() };
        let message = format!(
            "on core {core}, interrupt {number} comes again before it ended: events are missing{often}"
        );
        Finding::at_offset(Severity::Warning, "unended-interrupt", offset, message)
    }
}

impl LatePackets {
    fn finding(self) -> Finding {
        let Self { offset, ticks, count } = self;
        let often = if count > 1 { format!(" ({count} times)") } else { String::new() };
        let message = format!(
            "{ticks} ticks are beyond what 64 bits of nanoseconds hold: it has no time{often}"
        );
        Finding::at_offset(Severity::Warning, "time-range", offset, message)
    }
}
