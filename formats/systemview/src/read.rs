//! Bytes to packets. All are gone through when a recording is opened, since each says only how long
//! after the one before it was.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use bytes::Bytes;
use kymo_core::bytes::{ReadError, ReadErrorKind, ReadResult};
use kymo_core::model::timeline::TimeNs;
use kymo_core::{Context, Finding, Result, Severity, Source};

use crate::described::{Described, Kind};
use crate::spec::{self, Parameter};

/// Places where the target lost events that are listed one by one.
const OVERFLOWS_LISTED: usize = 100;

/// An open recording.
#[derive(Debug)]
pub struct Reader {
    bytes: Bytes,
    version: String,
    packets: Vec<Packet>,
    cores: u32,
    /// Ticks in a second, of each core, and the byte that says so.
    frequencies: HashMap<u32, (u64, u64)>,
    /// Names of tasks by their numbers.
    pub(crate) tasks: HashMap<u64, String>,
    /// The first priority of each task, by its number.
    priorities: HashMap<u64, i64>,
    /// Names of interrupts by their numbers.
    pub(crate) interrupts: HashMap<u64, String>,
    described: Described,
    findings: Vec<Finding>,
}

/// An event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// Its first byte.
    pub offset: u64,
    /// The core it is of.
    pub core: u32,
    /// What it is.
    pub id: u32,
    /// When it was, in ticks since the first packet of its core; the largest number means later than
    /// that.
    pub ticks: u64,
    /// Where its parameters begin and end.
    pub(crate) payload: (u64, u64),
}

/// The value of a parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Given {
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
        let mut reader = Self {
            version: header.version.clone(),
            packets: Vec::new(),
            cores: 0,
            frequencies: HashMap::new(),
            tasks: HashMap::new(),
            priorities: HashMap::new(),
            interrupts: HashMap::new(),
            described: Described::default(),
            findings: Vec::new(),
            bytes,
        };
        let limit = context.limits.items_max;
        let size = reader.bytes.len();
        for (core, stream) in (0..).zip(header.streams(size)) {
            reader.cores = core + 1;
            if let Err(error) = stream.has_room(size) {
                let mut finding = Finding::unreadable("unreadable", &error);
                finding.message = format!("core {core}: {}", finding.message);
                reader.findings.push(finding);
            } else if let Err(error) = reader.stream(core, &stream, limit) {
                reader.findings.push(Finding::unreadable("unreadable", &error));
            }
        }
        reader.notice();
        Ok(Arc::new(reader))
    }

    /// Reads the packets of a core, up to one that cannot be read.
    fn stream(&mut self, core: u32, stream: &Stream, limit: u64) -> ReadResult<()> {
        let bytes = self.bytes.clone();
        let end = stream.end.min(bytes.len());
        let part = bytes.get(..end).unwrap_or_default();
        let mut at = stream.start;
        // Zeros before the first packet are there for the host to find it.
        at += zeros(part, at);
        let (first, mut ticks) = (at, 0_u64);
        while at < end {
            no_hole(part, at)?;
            if self.packets.len() as u64 >= limit {
                let found = limit.saturating_add(1);
                return Err(ReadErrorKind::OverLimit { found, limit }.at("packets", at as u64));
            }
            let mut cursor = Cursor { bytes: part, at };
            let id = cursor.small("event id")?;
            let payload = cursor.payload(id)?;
            let delta = cursor.number("time")?;
            // How long before the first packet the clock was at zero does not matter.
            ticks = if at == first { 0 } else { ticks.saturating_add(delta) };
            let packet = Packet { offset: at as u64, core, id, ticks, payload };
            // Where the next core begins is not known, so that it may be here.
            if id == spec::INIT && stream.end > bytes.len() && self.frequency(core).is_some() {
                let is_start = |id| matches!(id, spec::NOP | spec::TRACE_START);
                while self.packets.pop_if(|packet| is_start(packet.id)).is_some() {}
                let why = "another recording begins here: it may be of the next core";
                return Err(ReadError::invalid("packets of a core", at as u64, why));
            }
            at = cursor.at;
            self.learn(&packet);
            self.packets.push(packet);
        }
        Ok(())
    }

    /// Keeps what an event says of names and times.
    fn learn(&mut self, packet: &Packet) {
        let given = match packet.id {
            spec::TASK_INFO | spec::SYSDESC | spec::INIT | spec::MODULEDESC => {
                owned(self.given(packet))
            }
            _ => return,
        };
        match (packet.id, &given[..]) {
            (spec::TASK_INFO, [Given::Number(tid), Given::Number(priority), Given::Text(name)]) => {
                self.tasks.insert(*tid, name.clone());
                if let Ok(priority) = i64::try_from(*priority) {
                    self.priorities.entry(*tid).or_insert(priority);
                }
            }
            (spec::INIT, [Given::Number(frequency), ..]) => {
                self.frequencies.entry(packet.core).or_insert((*frequency, packet.offset));
            }
            (spec::MODULEDESC, [_, Given::Number(offset), Given::Text(text)]) => {
                self.described.module(*offset, text);
            }
            (spec::SYSDESC, [Given::Text(text)]) => {
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
    pub(crate) fn told_tasks(&self) -> Vec<(u64, &str, Option<i64>)> {
        let tasks = self.tasks.iter();
        let mut tasks: Vec<_> =
            tasks.map(|(tid, name)| (*tid, name.as_str(), self.priority(*tid))).collect();
        tasks.sort_unstable();
        tasks
    }

    /// Notes what is odd about the whole.
    fn notice(&mut self) {
        if self.packets.is_empty() && self.findings.is_empty() {
            let message = "there are no packets: nothing was recorded, or the end is missing";
            self.findings.push(Finding::whole(Severity::Warning, "empty", message.to_owned()));
        }
        let unknown = (0..self.cores).find(|core| self.frequency(*core).is_none());
        if let (Some(core), false) = (unknown, self.packets.is_empty()) {
            let init = self.frequencies.get(&core).map(|(_, offset)| *offset);
            let why = init.map_or("has no INIT", |_| "has an INIT with 0 ticks in a second");
            let message = format!("core {core} {why}, so that times are not known");
            let finding = Finding::whole(Severity::Warning, "no-frequency", message);
            self.findings.push(Finding { offset: init, ..finding });
        }
        self.notice_late();
        self.notice_overflows();
    }

    /// Notes that times are too late to be told.
    fn notice_late(&mut self) {
        let is_late = |packet: &&Packet| {
            let init = self.frequencies.get(&packet.core);
            let is_known = init.is_some_and(|(hz, offset)| *hz > 0 && *offset <= packet.offset);
            is_known && self.time_ns(packet).is_none()
        };
        let mut late = self.packets.iter().filter(is_late);
        let Some(Packet { offset, ticks, .. }) = late.next().copied() else { return };
        let often = match late.count() {
            0 => String::new(),
            others => format!(" ({} times)", others + 1),
        };
        let message = format!(
            "{ticks} ticks are beyond what 64 bits of nanoseconds hold: it has no time{often}"
        );
        self.findings.push(Finding::at(Severity::Warning, "time-range", offset, message));
    }

    /// Notes where the target lost events: the first places one by one, and the others together.
    fn notice_overflows(&mut self) {
        let lost = self.packets.iter().filter(|packet| packet.id == spec::OVERFLOW);
        let lost: Vec<_> = lost.map(|packet| (packet.offset, self.lost_at(packet))).collect();
        let (listed, others) = lost.split_at(lost.len().min(OVERFLOWS_LISTED));
        for (offset, count) in listed {
            let message = format!("the target had no room here: {count} events are lost");
            self.findings.push(Finding::at(Severity::Warning, "overflow", *offset, message));
        }
        if let Some((offset, _)) = others.first() {
            let count = others.iter().fold(0_u64, |sum, (_, count)| sum.saturating_add(*count));
            let message = format!(
                "the target had no room here and at {} places after it: {count} events are lost",
                others.len() - 1
            );
            self.findings.push(Finding::at(Severity::Warning, "overflow", *offset, message));
        }
    }

    fn lost_at(&self, overflow: &Packet) -> u64 {
        match self.given(overflow).first() {
            Some((_, Given::Number(count))) => *count,
            _ => 0,
        }
    }

    /// The version that the text at the start names.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// All packets, core by core.
    #[must_use]
    pub fn packets(&self) -> &[Packet] {
        &self.packets
    }

    /// How many cores there are.
    #[must_use]
    pub fn cores(&self) -> u32 {
        self.cores
    }

    /// Ticks in a second.
    #[must_use]
    pub fn frequency(&self, core: u32) -> Option<u64> {
        Some(self.frequencies.get(&core)?.0).filter(|frequency| *frequency > 0)
    }

    /// When an event was, in nanoseconds since the first packet. Before the core says how fast it
    /// ticks, only the first is known.
    #[must_use]
    pub fn time_ns(&self, packet: &Packet) -> Option<i64> {
        match packet.ticks {
            0 => return Some(0),
            u64::MAX => return None,
            _ => {}
        }
        self.frequencies.get(&packet.core).filter(|(_, offset)| *offset <= packet.offset)?;
        let frequency = u128::from(self.frequency(packet.core)?);
        i64::try_from(u128::from(packet.ticks) * 1_000_000_000 / frequency).ok()
    }

    /// The first and the last moment.
    pub(crate) fn time_range(&self) -> Option<RangeInclusive<TimeNs>> {
        let times = || self.packets.iter().filter_map(|packet| self.time_ns(packet));
        Some(TimeNs(times().min()?)..=TimeNs(times().max()?))
    }

    /// What is wrong.
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

    /// The name of an event: `TASK_START_EXEC`, or `event 512` where nobody names it.
    pub(crate) fn name(&self, id: u32) -> Cow<'_, str> {
        let described = || self.described.get(id).map(|event| event.name.as_str());
        let name = spec::event(id).map(|(name, _)| name).or_else(described);
        name.map_or_else(|| format!("event {id}").into(), Into::into)
    }

    /// The parameters of an event: by the protocol where it knows them, by who described the event,
    /// and else as numbers without a name.
    pub(crate) fn given(&self, packet: &Packet) -> Vec<(&str, Given)> {
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
        if let Ok(Given::Numbers(numbers)) = cursor.parameter(Kind::Rest) {
            given.extend(numbers.into_iter().map(|number| ("", Given::Number(number))));
        }
        given
    }
}

/// How many bytes from a place on are zero.
fn zeros(part: &[u8], at: usize) -> usize {
    part.get(at..).unwrap_or_default().iter().take_while(|byte| **byte == 0).count()
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
fn owned(given: Vec<(&str, Given)>) -> Vec<Given> {
    given.into_iter().map(|(_, value)| value).collect()
}

/// The text at the start.
#[derive(Debug)]
struct Header {
    end: usize,
    version: String,
    /// Where the packets of each core begin, counted from the end of the text.
    offsets: Vec<usize>,
}

impl Header {
    fn read(bytes: &[u8]) -> ReadResult<Self> {
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
            return Err(ReadError::invalid("header", 0, "it names no version of SystemView"));
        };
        let offset = |line: &String| {
            let (_, rest) = line.split_once("Offset Core")?;
            rest.split_whitespace().nth(1)?.parse().ok()
        };
        let offsets: Vec<usize> = lines.iter().filter_map(offset).collect();
        Ok(Self { end, version: version.trim().to_owned(), offsets })
    }

    /// Where the packets of each core begin and end; what the text says may be beyond the file, or
    /// go back.
    fn streams(&self, size: usize) -> Vec<Stream> {
        let offsets = if self.offsets.is_empty() { &[0][..] } else { &self.offsets };
        let mut latest = 0;
        let stream = |offset: &usize| {
            let start = self.end.saturating_add(*offset);
            let goes_back = start < latest;
            latest = if start <= size { latest.max(start) } else { latest };
            Stream { start, end: size, goes_back }
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

/// Where the packets of a core are.
#[derive(Debug)]
struct Stream {
    start: usize,
    end: usize,
    /// A core before it begins later: its packets would count again.
    goes_back: bool,
}

impl Stream {
    /// Whether there can be packets of its own.
    fn has_room(&self, size: usize) -> ReadResult<()> {
        let (what, start) = ("packets of a core", self.start as u64);
        if self.start > size {
            let needed = start.saturating_sub(size as u64);
            return Err(ReadErrorKind::Short { needed, left: 0 }.at(what, size as u64));
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
        let byte = byte
            .ok_or_else(|| ReadErrorKind::Short { needed: 1, left: 0 }.at(what, self.at as u64))?;
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
    fn parameter(&mut self, kind: Kind) -> ReadResult<Given> {
        match kind {
            Kind::Number => self.number("parameter").map(Given::Number),
            Kind::Text => self.text().map(Given::Text),
            Kind::Rest => {
                let mut numbers = Vec::new();
                while self.at < self.bytes.len()
                    && let Ok(number) = self.number("parameter")
                {
                    numbers.push(number);
                }
                Ok(Given::Numbers(numbers))
            }
        }
    }

    /// A text; its length is a byte, or 255 and two bytes.
    fn text(&mut self) -> ReadResult<String> {
        let length = match self.byte("text length")? {
            255 => {
                let low = self.byte("text length")?;
                usize::from(low) | usize::from(self.byte("text length")?) << 8
            }
            length => usize::from(length),
        };
        let text = self.take(length, "text")?;
        Ok(String::from_utf8_lossy(text).into_owned())
    }

    fn take(&mut self, length: usize, what: &'static str) -> ReadResult<&[u8]> {
        let (start, left) = (self.at, self.bytes.len() - self.at);
        let end = self.at.checked_add(length).filter(|end| *end <= self.bytes.len());
        let (needed, left) = (length as u64, left as u64);
        let end =
            end.ok_or_else(|| ReadErrorKind::Short { needed, left }.at(what, start as u64))?;
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
                Parameter::Text(_) => drop(self.text()?),
            }
        }
        Ok((start, self.at as u64))
    }
}
