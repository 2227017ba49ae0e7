//! Packets of all cores in the order of their times, and what only later ones tell.

use std::collections::HashMap;
use std::sync::Arc;

use crate::index::Place;
use crate::read::Packet;
use crate::{Reader, spec};

/// So many packets are looked at ahead of where one is.
const AHEAD_MAX: u64 = 1 << 16;

/// Packets of all cores in the order of their times. Those without a time come when it is their turn
/// on their core.
#[derive(Debug, Clone)]
pub(crate) struct Ordered {
    reader: Arc<Reader>,
    /// Cores that have packets left, in their order.
    heads: Vec<Head>,
    /// Number of packets that were given.
    pub(crate) count: u64,
    /// The latest time of those.
    pub(crate) latest: Option<i64>,
}

/// The next packet of a core.
#[derive(Debug, Clone)]
struct Head {
    next: TimedPacket,
    place: Place,
}

/// A packet and when it was.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimedPacket {
    pub(crate) packet: Packet,
    pub(crate) time: Option<i64>,
    /// True if packets of its core are missing after it: an `OVERFLOW` comes next, or something
    /// that cannot be read.
    pub(crate) is_cut: bool,
}

impl Head {
    fn read(reader: &Reader, core: u32, mut place: Place) -> Option<Self> {
        let packet = reader.packet(core, &mut place)?;
        let time = reader.time_ns(&packet);
        Some(Self { next: TimedPacket { packet, time, is_cut: false }, place })
    }
}

impl Ordered {
    pub(crate) fn new(reader: Arc<Reader>) -> Self {
        let head = |core| Head::read(&reader, core, reader.place_before(core, 0));
        let heads = (0..reader.cores()).filter_map(head).collect();
        Self { reader, heads, count: 0, latest: None }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.heads.is_empty()
    }

    /// Gives no more.
    pub(crate) fn stop(&mut self) {
        self.heads.clear();
    }

    pub(crate) fn next(&mut self) -> Option<TimedPacket> {
        let heads = self.heads.iter().enumerate();
        let (at, head) = heads.min_by_key(|(_, head)| head.next.time)?;
        let mut next = head.next;
        let core = next.packet.core;
        let after = Head::read(&self.reader, core, head.place);
        next.is_cut = match &after {
            Some(after) => after.next.packet.id == spec::OVERFLOW,
            None => self.reader.is_cut(core),
        };
        match (after, self.heads.get_mut(at)) {
            (Some(head), Some(this_head)) => *this_head = head,
            _ => drop(self.heads.remove(at)),
        }
        self.count += 1;
        self.latest = self.latest.max(next.time);
        Some(next)
    }
}

/// Finds where a task is made ready, and then begins to run where it is believed to: it had stopped by
/// then. What comes of it is looked for ahead, and no further than [`AHEAD_MAX`].
#[derive(Debug, Clone)]
pub(crate) struct Lookahead {
    packets: Ordered,
    running: HashMap<u32, AssumedTask>,
    /// Packets that make ready a task that had stopped, by their first byte, each with the core that
    /// it is believed to run on.
    stopped: HashMap<u64, u32>,
}

/// A task that is believed to run.
#[derive(Debug, Clone)]
struct AssumedTask {
    tid: u64,
    /// Time at which it was made ready last, and the byte that records that.
    ready: Option<(Option<i64>, u64)>,
}

impl Lookahead {
    pub(crate) fn new(packets: Ordered) -> Self {
        Self { packets, running: HashMap::new(), stopped: HashMap::new() }
    }

    /// Returns the number of packets that are known of what is to come.
    pub(crate) fn confirmed_count(&self) -> usize {
        self.stopped.len()
    }

    /// The core that a task is believed to run on and does not, where a packet makes it ready. Packets
    /// are asked for in their order, by how many were given when this one was.
    pub(crate) fn stopped(&mut self, packet: &Packet, count: u64) -> Option<u32> {
        while self.packets.count < count && self.step() {}
        let until = count.saturating_add(AHEAD_MAX);
        while self.is_open(packet.offset) && self.packets.count < until && self.step() {}
        for assumed_task in self.running.values_mut() {
            assumed_task.ready = assumed_task.ready.filter(|(_, offset)| *offset != packet.offset);
        }
        self.stopped.remove(&packet.offset)
    }

    /// Returns true if it is not known yet what comes of a task that is made ready.
    fn is_open(&self, ready: u64) -> bool {
        self.running
            .values()
            .any(|assumed_task| assumed_task.ready.is_some_and(|(_, offset)| offset == ready))
    }

    fn step(&mut self) -> bool {
        let Some(TimedPacket { packet, time, is_cut }) = self.packets.next() else { return false };
        let tid = self.packets.reader.number(&packet);
        match (packet.id, tid) {
            (spec::TASK_START_EXEC, Some(tid)) => {
                let before = self.running.insert(packet.core, AssumedTask { tid, ready: None });
                let ready = before
                    .filter(|before| before.tid == tid)
                    .and_then(|assumed_task| assumed_task.ready);
                self.stopped.extend(ready.map(|(_, offset)| (offset, packet.core)));
            }
            (spec::TASK_START_EXEC | spec::IDLE | spec::TASK_STOP_EXEC, _) => {
                self.running.remove(&packet.core);
            }
            (spec::TASK_START_READY, Some(tid)) => {
                // Each core may tell of it: the first counts.
                for assumed_task in self.running.values_mut().filter(|item| item.tid == tid) {
                    if assumed_task.ready.is_none_or(|(told, _)| told != time) {
                        assumed_task.ready = Some((time, packet.offset));
                    }
                }
            }
            _ => {}
        }
        if is_cut {
            self.running.remove(&packet.core);
        }
        true
    }
}
