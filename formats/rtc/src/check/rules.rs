//! Rules across frames: indices, Metas, platform, padding, clocks, names and values.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use kymo_core::{Finding, Findings, Severity, shortened};
use kymo_rtc_wire::read::{Frame, Item, Walker};
use kymo_rtc_wire::spec::id;

use super::indices::Indices;
use crate::Reader;
use crate::read::Tracker;
use crate::types::{ClockRole, Stream};

/// Looks at every rule that reading does not depend on.
pub(super) fn check(reader: &Reader, findings: &mut Findings) {
    let mut rules =
        Rules { reader, findings, indices: Indices::default(), unit: None, unfit: HashSet::new() };
    rules.walk();
    rules.streams();
}

struct Rules<'a> {
    reader: &'a Reader,
    findings: &'a mut Findings,
    indices: Indices,
    /// Start of the Unit, while it has no Meta.
    unit: Option<u64>,
    /// Streams of which a value was told of.
    unfit: HashSet<usize>,
}

impl Rules<'_> {
    fn push(&mut self, severity: Severity, rule: &'static str, offset: u64, message: String) {
        self.findings.push(Finding::at_offset(severity, rule, offset, message));
    }

    fn walk(&mut self) {
        let view = self.reader.view();
        let mut walker = Walker::new().without_checksums();
        let known = Arc::clone(&self.reader.scan().catalog);
        let mut tracker = Tracker::knowing(known, self.reader.limits());
        let end = self.reader.scan().end;
        let mut session = 0;
        while walker.position() < end
            && let Ok(item) = walker.next(&view)
        {
            match item {
                Item::Frame(frame) => {
                    let completed = tracker.frame(&frame, &view, &walker);
                    tracker.take_omitted();
                    self.frame(&frame, frame.bytes(&view), &walker);
                    if let Some(completed) = completed {
                        let message = tracker.message(&completed, &frame, &view);
                        self.value(message.stream, message.offset, message.payload);
                    }
                }
                Item::Unit(unit) => {
                    self.end_of_unit();
                    if unit.session != session || unit.count.is_some_and(|count| count > 0) {
                        self.first_count(unit.session != session, unit.position, unit.count);
                    }
                    if unit.session != session {
                        self.indices = Indices::default();
                    }
                    session = unit.session;
                    self.unit = unit.ruler.map(|_| unit.position);
                    crate::read::begin_unit(&mut tracker, &unit, &walker);
                }
                Item::Damage(damage) => {
                    self.indices.lose();
                    self.unit = None;
                    if damage.loses_frames() {
                        tracker.drop_open();
                    }
                }
                Item::Streams(offset) => tracker.define(offset, &walker),
                Item::Checksum(_) => {}
                Item::End => break,
            }
        }
    }

    /// A session counts its Units from 0; what a later one says of earlier ones is not there.
    fn first_count(&mut self, is_new: bool, offset: u64, count: Option<u64>) {
        let is_first = is_new || offset == 0;
        if is_first && count.is_some_and(|count| count > 0) {
            self.indices.lose();
        }
    }

    /// A Unit that was followed by another has a Meta.
    fn end_of_unit(&mut self) {
        if let Some(offset) = self.unit.take() {
            let message = "the Unit has no Meta that says what its streams are".into();
            self.push(Severity::Warning, "meta", offset, message);
        }
    }

    fn frame(&mut self, frame: &Frame, payload: &[u8], walker: &Walker) {
        match frame.id {
            id::PADDING if payload.iter().any(|byte| *byte != 0) => {
                let message = "padding that is not all zeros".into();
                self.push(Severity::Note, "padding", frame.position, message);
            }
            id::MAJOR_INDEX | id::MINOR_INDEX => {
                if let Some(finding) = self.indices.index(frame, walker.index_payload()) {
                    self.findings.push(finding);
                }
            }
            id::META if !frame.more => {
                self.unit = None;
                let described = walker.definitions().streams.iter().map(|stream| stream.id);
                if let Some(finding) = self.indices.meta(described) {
                    self.findings.push(finding);
                }
            }
            id::PLATFORM if ![[1, 2, 3, 4], [4, 3, 2, 1]].iter().any(|word| word == payload) => {
                let message = "the platform frame tells no byte order".into();
                self.push(Severity::Warning, "platform", frame.position, message);
            }
            value if value >= id::FIRST_USER => self.indices.frame(frame),
            _ => {}
        }
    }

    /// A value that is not what its stream's format says; of each stream the first is told of. It
    /// is what was recorded, and nothing is wrong with the file.
    fn value(&mut self, index: usize, offset: u64, payload: &[u8]) {
        if self.unfit.contains(&index) {
            return;
        }
        let Some(stream) = self.reader.streams().get(index) else { return };
        if let Some(fault) = self.reader.decode_payload(payload, stream).fault {
            self.unfit.insert(index);
            let message = format!("a message of {}: {fault}", shortened(&stream.name));
            self.push(Severity::Note, "value", offset, message);
        }
    }

    /// Checks what streams state about themselves and about each other.
    fn streams(&mut self) {
        let scan = self.reader.scan();
        let mut names: HashMap<(usize, &str), (&Stream, bool)> = HashMap::new();
        for (stream, statistics) in scan.catalog.streams.iter().zip(&scan.statistics) {
            let is_set = stream.is_clock() && statistics.messages > 0;
            let before = names.insert((stream.session, stream.name.as_str()), (stream, is_set));
            if let Some((first, is_first_set)) = before {
                let name = shortened(&stream.name);
                let message =
                    format!("stream {} has the name of stream {}, {name}", stream.id, first.id);
                // Which of two clocks a stream means, another reader may see otherwise.
                let are_clocks = is_set && is_first_set;
                let severity = if are_clocks { Severity::Warning } else { Severity::Note };
                self.push(severity, "name", stream.offset, message);
            }
        }
        for (index, stream) in scan.catalog.streams.iter().enumerate() {
            let (ClockRole::On(clock) | ClockRole::Delta(clock)) = &stream.clock else { continue };
            if scan.clocks.get(index).is_none_or(Option::is_none) {
                let (name, clock) = (shortened(&stream.name), shortened(clock));
                let message = format!("the clock of {name}, {clock}, is not there or is no clock");
                self.push(Severity::Note, "clock", stream.offset, message);
            }
        }
        for (stream, statistics) in scan.catalog.streams.iter().zip(&scan.statistics) {
            let name = shortened(&stream.name);
            if let Some(offset) = statistics.went_back {
                let message = format!("the clock {name} goes back");
                let is_said = stream.may_go_back();
                let severity = if is_said { Severity::Note } else { Severity::Warning };
                self.push(severity, "clock", offset, message);
            }
            if let Some(offset) = statistics.unfit {
                let message = format!("what the clock {name} shows is no time");
                self.push(Severity::Note, "time", offset, message);
            }
        }
    }
}
