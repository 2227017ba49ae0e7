//! Bytes to packets. All are gone through when a recording is opened, since each says only how long
//! after the one before it was. None is kept: they are read again from places between them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use bytes::Bytes;
use kymo_core::bytes::{ReadError, ReadErrorKind, ReadResult};
use kymo_core::{Context, Finding, Result, Severity, Source};
use kymo_model::timeline::TimeNs;
use memchr::memmem;

use crate::described::{EventDescriptions, Kind};
use crate::index::{Core, CoreClock, Place};
use crate::spec::{self, Parameter};
use crate::survey::Survey;

/// Text in place of the version where there is no text at the start.
const CAPTURED: &str = "captured without a text";

/// Packets that come before INIT in a capture, at the most: it is the second one that targets send.
const BEFORE_INIT_MAX: usize = 4;

/// The first lines of the text at the start.
const HEADER_START: &[u8] = b";\n; Version";

/// Bytes between two tellings of progress.
const PROGRESS_BYTES: usize = 4 << 20;

/// An open recording.
#[derive(Debug)]
pub struct Reader {
    bytes: Bytes,
    version: String,
    cores: Vec<Core>,
    pub(crate) survey: Survey,
    /// Names of tasks by their numbers.
    pub(crate) tasks: HashMap<u64, String>,
    /// The first priority of each task, by its number.
    priorities: HashMap<u64, i64>,
    /// Names of interrupts by their numbers.
    pub(crate) interrupts: HashMap<u64, String>,
    described: EventDescriptions,
    findings: Vec<Finding>,
}

/// An event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// Its first byte.
    pub offset: u64,
    /// The core it is of.
    pub core: u32,
    /// Number of the event.
    pub id: u32,
    /// Time of the event, in ticks since the first packet of its core; the largest number means
    /// later than that.
    pub ticks: u64,
    /// Start and end of its parameters.
    pub(crate) payload: (u64, u64),
}

/// The value of a parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ParameterValue {
    Number(u64),
    Text(String),
    Numbers(Vec<u64>),
}

impl Reader {
    /// Goes through all packets.
    ///
    /// # Errors
    /// When the text at its start is not that of a recording.
    pub fn open(source: &Source, context: &Context<'_>) -> Result<Arc<Self>> {
        let bytes = source.bytes()?;
        let header = Header::read(&bytes)?;
        let next = another(&bytes, header.end);
        let bytes = next.map_or_else(|| bytes.clone(), |end| bytes.slice(..end));
        let mut reader = Self {
            version: header.version.clone(),
            cores: Vec::new(),
            survey: Survey::default(),
            tasks: HashMap::new(),
            priorities: HashMap::new(),
            interrupts: HashMap::new(),
            described: EventDescriptions::default(),
            findings: Vec::new(),
            bytes,
        };
        let size = reader.bytes.len();
        context.progress.begin("reading", size as u64);
        for (core, stream) in (0..).zip(header.streams(size)) {
            let mut index = Core::new(stream.start.min(size));
            let read = match stream.has_room(size) {
                Ok(()) => reader.stream(core, &stream, &mut index, context),
                Err(error) => {
                    let mut finding = Finding::unreadable("unreadable", &error);
                    finding.message = format!("core {core}: {}", finding.message);
                    reader.findings.push(finding);
                    Ok(())
                }
            };
            if let Err(error) = read {
                index.is_cut = true;
                reader.findings.push(Finding::unreadable("unreadable", &error));
            }
            reader.cores.push(index);
        }
        context.progress.end();
        if let Some(offset) = next {
            let why = "another recording begins here, and is not read: a file has one";
            let finding =
                Finding::at_offset(Severity::Error, "another-recording", offset as u64, why);
            reader.findings.push(finding);
        }
        reader.check_recording();
        Ok(Arc::new(reader))
    }

    /// Reads the packets of a core, up to one that cannot be read.
    fn stream(
        &mut self,
        core: u32,
        stream: &Stream,
        index: &mut Core,
        context: &Context<'_>,
    ) -> ReadResult<()> {
        let bytes = self.bytes.clone();
        let end = stream.end.min(bytes.len());
        let part = bytes.get(..end).unwrap_or_default();
        // Zeros before the first packet are there for the host to find it.
        let clock = CoreClock::assuming(context.ticks_per_second);
        *index = Core::new(stream.start + zeros(part, stream.start)).with_clock(clock);
        let (mut place, mut told) = (index.end(), 0);
        // Where the next core begins may not be known, so that packets that begin one are not sure.
        let mut sure = (place, index.clock, self.survey.late);
        while place.at < end {
            if stream.is_captured && is_unused(part, place.at) {
                let message = "the rest is zeros: room of the buffer that was not used yet";
                let finding =
                    Finding::at_offset(Severity::Note, "unused", place.at as u64, message);
                self.findings.push(finding);
                return Ok(());
            }
            if stream.is_captured
                && place.packets > 0
                && is_capture(part.get(place.at..).unwrap_or_default())
            {
                let message = "another recording begins here, and is not read: a file has one";
                let offset = place.at as u64;
                let finding =
                    Finding::at_offset(Severity::Error, "another-recording", offset, message);
                self.findings.push(finding);
                return Ok(());
            }
            no_hole(part, place.at)?;
            let packet = place.packet(part, core)?;
            let is_unsure = stream.end > bytes.len();
            if packet.id == spec::INIT && is_unsure && index.clock.is_recorded() {
                index.truncate_after(sure.0);
                (index.clock.last, self.survey.late) = (sure.1.last, sure.2);
                let why = "another recording begins here: it may be of the next core";
                return Err(ReadError::invalid("packets of a core", packet.offset, why));
            }
            self.update_names(&packet, index);
            let number = self.number(&packet);
            self.survey.add_packet(&packet, number, &mut index.clock);
            let limit = context.limits.items_max;
            if self.survey.tasks.len() as u64 > limit {
                let found = limit.saturating_add(1);
                return Err(
                    ReadErrorKind::OverLimit { found, limit }.error_at("tasks", packet.offset)
                );
            }
            index.reach(place);
            if is_unsure && !matches!(packet.id, spec::NOP | spec::TRACE_START) {
                sure = (place, index.clock, self.survey.late);
            }
            if place.at.saturating_sub(told) > PROGRESS_BYTES {
                told = place.at;
                context.progress.advance_to(told as u64);
            }
        }
        Ok(())
    }

    /// Keeps what an event says of names and times.
    fn update_names(&mut self, packet: &Packet, index: &mut Core) {
        let given = match packet.id {
            spec::TASK_INFO | spec::SYSDESC | spec::INIT | spec::MODULEDESC => {
                owned(self.given(packet))
            }
            _ => return,
        };
        match (packet.id, &given[..]) {
            (
                spec::TASK_INFO,
                [
                    ParameterValue::Number(tid),
                    ParameterValue::Number(priority),
                    ParameterValue::Text(name),
                ],
            ) => {
                self.tasks.insert(*tid, name.clone());
                if let Ok(priority) = i64::try_from(*priority) {
                    self.priorities.entry(*tid).or_insert(priority);
                }
            }
            (spec::INIT, [ParameterValue::Number(frequency), ..]) => {
                index.clock.set_frequency(*frequency, packet.offset);
            }
            (spec::MODULEDESC, [_, ParameterValue::Number(offset), ParameterValue::Text(text)]) => {
                self.described.module(*offset, text);
            }
            (spec::SYSDESC, [ParameterValue::Text(text)]) => {
                self.described.system(text);
                let named =
                    text.split(',').filter_map(|part| part.strip_prefix("I#")?.split_once('='));
                let named =
                    named.filter_map(|(number, name)| Some((number.parse().ok()?, name.into())));
                self.interrupts.extend(named);
            }
            _ => {}
        }
    }

    /// The priority that a task has to begin with.
    pub(crate) fn priority(&self, tid: u64) -> Option<i64> {
        self.priorities.get(&tid).copied()
    }

    /// The tasks that `TASK_INFO` tells of, whether they ran or not: number, name, and the priority to
    /// begin with.
    pub(crate) fn listed_tasks(&self) -> Vec<(u64, &str, Option<i64>)> {
        let tasks = self.tasks.iter();
        let mut tasks: Vec<_> =
            tasks.map(|(tid, name)| (*tid, name.as_str(), self.priority(*tid))).collect();
        tasks.sort_unstable();
        tasks
    }

    /// Notes what is odd about the whole.
    fn check_recording(&mut self) {
        let is_empty = self.count() == 0;
        if is_empty && self.findings.is_empty() {
            let message = "there are no packets: nothing was recorded, or the end is missing";
            self.findings.push(Finding::for_whole_file(
                Severity::Warning,
                "empty",
                message.to_owned(),
            ));
        }
        let unknown = (0_u32..).zip(&self.cores).find(|(_, core)| core.clock.frequency().is_none());
        if let (Some((core, index)), false) = (unknown, is_empty) {
            let init = index.clock.init.map(|(_, offset)| offset);
            let why = init.map_or("has no INIT", |_| "has an INIT with 0 ticks in a second");
            let message = format!(
                "core {core} {why}, so that times are not known (--frequency says how many ticks a \
                 second has)"
            );
            let finding = Finding::for_whole_file(Severity::Warning, "no-frequency", message);
            self.findings.push(Finding { offset: init, ..finding });
        }
        self.findings.extend(self.survey.findings());
    }

    /// The version that the text at the start names.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// All packets, core by core.
    pub fn packets(&self) -> impl Iterator<Item = Packet> + '_ {
        (0..self.cores()).flat_map(|core| self.packets_of(core, 0))
    }

    /// All packets from one on, by its number.
    pub(crate) fn packets_from(&self, first: u64) -> impl Iterator<Item = Packet> + '_ {
        let mut before = 0;
        let firsts: Vec<_> = (0..self.cores())
            .zip(&self.cores)
            .map(|(core, index)| {
                let of_core = first.saturating_sub(before);
                before += index.end().packets;
                (core, of_core)
            })
            .collect();
        firsts.into_iter().flat_map(|(core, first)| self.packets_of(core, first))
    }

    fn packets_of(&self, core: u32, first: u64) -> impl Iterator<Item = Packet> + '_ {
        let mut place = self.place_before(core, first);
        let packets = std::iter::from_fn(move || {
            loop {
                let number = place.packets;
                let packet = self.packet(core, &mut place)?;
                if number >= first {
                    return Some(packet);
                }
            }
        });
        packets.fuse()
    }

    /// The last place that is kept before a packet of a core, by its number.
    pub(crate) fn place_before(&self, core: u32, packet: u64) -> Place {
        self.core(core).map(|core| core.place_before(packet)).unwrap_or_default()
    }

    /// Reads the packet of a core at a place, and goes on to the next.
    pub(crate) fn packet(&self, core: u32, place: &mut Place) -> Option<Packet> {
        let end = self.core(core)?.end();
        let is_there = place.packets < end.packets;
        if !is_there {
            return None;
        }
        let packet = place.packet(self.bytes.get(..end.at)?, core);
        // Only a file that is written to meanwhile can be another, and whoever reads says that it was.
        debug_assert!(packet.is_ok(), "a packet that was read cannot be read again: {packet:?}");
        packet.ok()
    }

    fn core(&self, core: u32) -> Option<&Core> {
        self.cores.get(usize::try_from(core).ok()?)
    }

    /// Returns true if not all packets of a core can be read.
    pub(crate) fn is_cut(&self, core: u32) -> bool {
        self.core(core).is_some_and(|core| core.is_cut)
    }

    /// Returns the number of packets.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.cores.iter().map(|core| core.end().packets).sum()
    }

    /// Returns the number of cores.
    #[must_use]
    pub fn cores(&self) -> u32 {
        u32::try_from(self.cores.len()).unwrap_or(u32::MAX)
    }

    /// Ticks in a second.
    #[must_use]
    pub fn frequency(&self, core: u32) -> Option<u64> {
        self.core(core)?.clock.frequency()
    }

    /// Returns the time of an event, in nanoseconds since the first packet. Before the core gives
    /// the speed of its ticks, only the time of the first is known.
    #[must_use]
    pub fn time_ns(&self, packet: &Packet) -> Option<i64> {
        self.core(packet.core)?.clock.time_ns(packet.ticks, packet.offset)
    }

    /// The first and the last moment. The first packet of each core is at zero.
    pub(crate) fn time_range(&self) -> Option<RangeInclusive<TimeNs>> {
        let last = |core: &Core| core.clock.time_ns(core.clock.last?, u64::MAX);
        let last = self.cores.iter().filter_map(last).max()?;
        Some(TimeNs(0)..=TimeNs(last))
    }

    /// Returns the findings.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The bytes of an event's parameters.
    pub(crate) fn payload(&self, packet: &Packet) -> &[u8] {
        let (start, end) = packet.payload;
        let range = usize::try_from(start).ok().zip(usize::try_from(end).ok());
        range.and_then(|(start, end)| self.bytes.get(start..end)).unwrap_or_default()
    }

    /// The first parameter of an event whose first one is a number.
    pub(crate) fn number(&self, packet: &Packet) -> Option<u64> {
        let mut cursor = Cursor { bytes: self.payload(packet), at: 0 };
        cursor.number("parameter").ok()
    }

    /// The name of an event: `TASK_START_EXEC`, or `event 512` where nobody names it.
    pub(crate) fn name(&self, id: u32) -> Cow<'_, str> {
        let described = || self.described.get(id).map(|event| event.name.as_str());
        let name = spec::event(id).map(|(name, _)| name).or_else(described);
        name.map_or_else(|| format!("event {id}").into(), Into::into)
    }

    /// The parameters of an event: by the protocol where it knows them, by who described the event,
    /// and else as numbers without a name.
    pub(crate) fn given(&self, packet: &Packet) -> Vec<(&str, ParameterValue)> {
        let mut cursor = Cursor { bytes: self.payload(packet), at: 0 };
        let mut given = Vec::new();
        if let Some((_, parameters)) = spec::event(packet.id) {
            for parameter in parameters {
                let (name, kind) = match parameter {
                    Parameter::Number(name) => (*name, Kind::Number),
                    Parameter::Text(name) => (*name, Kind::Text),
                };
                let Ok(value) = cursor.parameter(kind) else { break };
                given.push((name, value));
            }
            return given;
        }
        let event = self.described.get(packet.id);
        for (name, kind) in event.map_or(&[][..], |event| &event.parameters) {
            let Ok(value) = cursor.parameter(*kind) else { break };
            given.push((name, value));
        }
        if let Ok(ParameterValue::Numbers(numbers)) = cursor.parameter(Kind::Rest) {
            given.extend(numbers.into_iter().map(|number| ("", ParameterValue::Number(number))));
        }
        given
    }
}

impl Place {
    /// Reads the packet here, and goes on behind it.
    fn packet(&mut self, part: &[u8], core: u32) -> ReadResult<Packet> {
        let mut cursor = Cursor { bytes: part, at: self.at };
        let id = cursor.small("event id")?;
        let payload = cursor.payload(id)?;
        let delta = cursor.number("time")?;
        // How long before the first packet the clock was at zero does not matter.
        let ticks = if self.packets == 0 { 0 } else { self.ticks.saturating_add(delta) };
        let offset = self.at as u64;
        *self = Self { at: cursor.at, ticks, packets: self.packets + 1 };
        Ok(Packet { offset, core, id, ticks, payload })
    }
}

/// Finds the start of another recording, as where two files were put together: the text that begins
/// one.
fn another(bytes: &[u8], start: usize) -> Option<usize> {
    let rest = bytes.get(start..).unwrap_or_default();
    memmem::find_iter(rest, HEADER_START).map(|at| start + at).find(|at| {
        let line = bytes.get(*at..bytes.len().min(at + spec::HEADER_MAX)).unwrap_or_default();
        let line = line.get(HEADER_START.len()..).unwrap_or_default();
        let end = line.iter().position(|byte| *byte == b'\n').unwrap_or(0);
        memmem::find(line.get(..end).unwrap_or_default(), spec::SIGNATURE).is_some()
    })
}

/// Counts the zero bytes from a place on.
fn zeros(part: &[u8], at: usize) -> usize {
    part.get(at..).unwrap_or_default().iter().take_while(|byte| **byte == 0).count()
}

/// Returns true if all bytes from a place on are zero, and more than the host needs to find a
/// packet.
fn is_unused(part: &[u8], at: usize) -> bool {
    let zeros = zeros(part, at);
    zeros > spec::SYNC_BYTES && at + zeros == part.len()
}

/// Returns true if a file begins as a capture of what a target sends: with the zeros that the host
/// finds the first packet by, a few packets that the protocol knows, and an INIT whose four numbers
/// fill it.
pub(crate) fn is_capture(head: &[u8]) -> bool {
    if zeros(head, 0) != spec::SYNC_BYTES {
        return false;
    }
    let mut place = Place { at: spec::SYNC_BYTES, ..Place::default() };
    for _ in 0..=BEFORE_INIT_MAX {
        let Ok(packet) = place.packet(head, 0) else { return false };
        if packet.id == spec::INIT {
            return is_init(head, packet.payload);
        }
        if spec::event(packet.id).is_none() {
            return false;
        }
    }
    false
}

/// Returns true if the parameters of an INIT are what they are to be, and tell how fast the clock
/// ticks.
fn is_init(head: &[u8], (start, end): (u64, u64)) -> bool {
    let range = usize::try_from(start).ok().zip(usize::try_from(end).ok());
    let payload = range.and_then(|(start, end)| head.get(start..end)).unwrap_or_default();
    let mut cursor = Cursor { bytes: payload, at: 0 };
    let numbers: Option<Vec<_>> = (0..4).map(|_| cursor.number("parameter").ok()).collect();
    let is_all = cursor.at == payload.len();
    numbers.is_some_and(|numbers| is_all && numbers.first().is_some_and(|frequency| *frequency > 0))
}

/// Sees that there are no more zeros than the host needs to find the next packet, which are NOPs that
/// take no time. More are what a file system leaves for what was not written: where in a packet and
/// when the recording goes on behind them is not known.
fn no_hole(part: &[u8], at: usize) -> ReadResult<()> {
    let zeros = zeros(part, at);
    if zeros <= spec::SYNC_BYTES {
        return Ok(());
    }
    let why = format!("{zeros} bytes are zero: what stood there is lost, and the rest is not read");
    Err(ReadError::invalid("packets of a core", at as u64, why))
}

/// Values without the names of parameters.
fn owned(given: Vec<(&str, ParameterValue)>) -> Vec<ParameterValue> {
    given.into_iter().map(|(_, value)| value).collect()
}

/// The text at the start.
#[derive(Debug)]
struct Header {
    end: usize,
    version: String,
    /// Offsets at which the packets of each core begin, counted from the end of the text.
    offsets: Vec<usize>,
    /// True if there is no text: the output of a target was captured, or its memory was.
    is_captured: bool,
}

impl Header {
    fn read(bytes: &[u8]) -> ReadResult<Self> {
        if zeros(bytes, 0) >= spec::SYNC_BYTES {
            let (version, offsets) = (CAPTURED.to_owned(), Vec::new());
            return Ok(Self { end: 0, version, offsets, is_captured: true });
        }
        let (mut end, mut lines) = (0, Vec::new());
        while bytes.get(end) == Some(&b';') {
            let rest = bytes.get(end..bytes.len().min(spec::HEADER_MAX)).unwrap_or_default();
            let length = rest.iter().position(|byte| *byte == b'\n');
            let length = length
                .ok_or_else(|| ReadError::invalid("header", end as u64, "a line does not end"))?;
            lines
                .push(String::from_utf8_lossy(rest.get(..length).unwrap_or_default()).into_owned());
            end += length + 1;
        }
        let version = lines.iter().find_map(|line| line.split_once("Version"));
        let Some((_, version)) = version else {
            let why = "it names no version of SystemView, and it does not begin with the zeros that \
                       come before the first packet of a capture";
            return Err(ReadError::invalid("header", 0, why));
        };
        let offset = |line: &String| {
            let (_, rest) = line.split_once("Offset Core")?;
            rest.split_whitespace().nth(1)?.parse().ok()
        };
        let offsets: Vec<usize> = lines.iter().filter_map(offset).collect();
        Ok(Self { end, version: version.trim().to_owned(), offsets, is_captured: false })
    }

    /// Returns the start and end of the packets of each core; the places in the text may be beyond
    /// the file, or go back.
    fn streams(&self, size: usize) -> Vec<Stream> {
        let offsets = if self.offsets.is_empty() { &[0][..] } else { &self.offsets };
        let mut latest = 0;
        let stream = |offset: &usize| {
            let start = self.end.saturating_add(*offset);
            let goes_back = start < latest;
            latest = if start <= size { latest.max(start) } else { latest };
            Stream { start, end: size, goes_back, is_captured: self.is_captured }
        };
        let mut streams: Vec<_> = offsets.iter().map(stream).collect();
        let mut end = size;
        for stream in streams.iter_mut().rev().filter(|stream| !stream.goes_back) {
            stream.end = end;
            // One that begins beyond the file ends those before it only where no other does.
            let is_end = stream.start <= size || end >= size;
            end = if is_end { stream.start } else { end };
        }
        streams
    }
}

/// Position of the packets of a core.
#[derive(Debug)]
struct Stream {
    start: usize,
    end: usize,
    /// A core before it begins later: its packets would count again.
    goes_back: bool,
    /// True if it has no text before it.
    is_captured: bool,
}

impl Stream {
    /// Returns true if there can be packets of its own.
    fn has_room(&self, size: usize) -> ReadResult<()> {
        let (what, start) = ("packets of a core", self.start as u64);
        if self.start > size {
            let needed = start.saturating_sub(size as u64);
            return Err(ReadErrorKind::Short { needed, left: 0 }.error_at(what, size as u64));
        }
        if self.goes_back {
            let why = "they begin before those of the core before, and so are not read";
            return Err(ReadError::invalid(what, start, why));
        }
        Ok(())
    }
}

/// Reads numbers and texts.
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    fn byte(&mut self, what: &'static str) -> ReadResult<u8> {
        let byte = self.bytes.get(self.at).copied();
        let byte = byte.ok_or_else(|| {
            ReadErrorKind::Short { needed: 1, left: 0 }.error_at(what, self.at as u64)
        })?;
        self.at += 1;
        Ok(byte)
    }

    /// A number of seven bits a byte, the lowest first.
    fn number(&mut self, what: &'static str) -> ReadResult<u64> {
        let (start, mut number) = (self.at, 0_u64);
        for shift in (0..63).step_by(7) {
            let byte = self.byte(what)?;
            number |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(ReadError::invalid(what, start as u64, "it has more than nine bytes"))
    }

    fn small(&mut self, what: &'static str) -> ReadResult<u32> {
        let start = self.at;
        let number = self.number(what)?;
        u32::try_from(number).map_err(|_| ReadError::invalid(what, start as u64, "it is too large"))
    }

    /// The value of a parameter.
    fn parameter(&mut self, kind: Kind) -> ReadResult<ParameterValue> {
        match kind {
            Kind::Number => self.number("parameter").map(ParameterValue::Number),
            Kind::Text => self.text().map(ParameterValue::Text),
            Kind::Rest => {
                let mut numbers = Vec::new();
                while self.at < self.bytes.len()
                    && let Ok(number) = self.number("parameter")
                {
                    numbers.push(number);
                }
                Ok(ParameterValue::Numbers(numbers))
            }
        }
    }

    fn text(&mut self) -> ReadResult<String> {
        self.text_bytes().map(|text| String::from_utf8_lossy(text).into_owned())
    }

    /// A text; its length is a byte, or 255 and two bytes.
    fn text_bytes(&mut self) -> ReadResult<&[u8]> {
        let length = match self.byte("text length")? {
            255 => {
                let low = self.byte("text length")?;
                usize::from(low) | usize::from(self.byte("text length")?) << 8
            }
            length => usize::from(length),
        };
        self.take(length, "text")
    }

    fn take(&mut self, length: usize, what: &'static str) -> ReadResult<&[u8]> {
        let (start, left) = (self.at, self.bytes.len() - self.at);
        let end = self.at.checked_add(length).filter(|end| *end <= self.bytes.len());
        let (needed, left) = (length as u64, left as u64);
        let end =
            end.ok_or_else(|| ReadErrorKind::Short { needed, left }.error_at(what, start as u64))?;
        self.at = end;
        Ok(self.bytes.get(start..end).unwrap_or_default())
    }

    /// Passes over the parameters of an event. Tells where they are.
    fn payload(&mut self, id: u32) -> ReadResult<(u64, u64)> {
        if id >= spec::SIZED {
            let length = self.number("payload length")?;
            let start = self.at as u64;
            let length = usize::try_from(length).unwrap_or(usize::MAX);
            self.take(length, "payload")?;
            return Ok((start, self.at as u64));
        }
        let start = self.at as u64;
        for parameter in spec::event(id).map_or(&[][..], |(_, parameters)| parameters) {
            match parameter {
                Parameter::Number(_) => drop(self.number("parameter")?),
                Parameter::Text(_) => drop(self.text_bytes()?),
            }
        }
        Ok((start, self.at as u64))
    }
}
