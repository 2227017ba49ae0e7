//! Bytes to types: metadata, then packets, then events as they are asked for.

mod cursor;
mod decode;
mod header;
mod index;
mod known;
mod layout;
mod losses;
mod merge;
mod packets;
mod skip;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use kymo_core::bytes::{Limits, ReadError, ReadErrorKind};
use kymo_core::{Context, Error, Finding, Result, Severity, Source};

use decode::State;

pub(crate) use cursor::{Taken, TrackCursor};
pub(crate) use decode::Visitor;
pub(crate) use known::Known;
pub(crate) use layout::{Layouts, Node};
pub(crate) use merge::{Chosen, Merged};
pub use packets::Packet;

use crate::metadata;
use crate::spec;
use crate::types::Trace;

/// An open trace.
#[derive(Debug)]
pub struct Reader {
    trace: Trace,
    layouts: Layouts,
    files: Vec<File>,
    packets: Vec<Packet>,
    tracks: Vec<Track>,
    /// What is wrong, by file and offset; it grows as events are read.
    findings: Mutex<BTreeMap<Place, Finding>>,
    limits: Limits,
}

/// Where something is wrong: reading it again finds the same once.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// Of the whole trace, by rule.
    Whole(&'static str),
    /// A file that is not there.
    Named(String),
    /// A stream, by rule.
    Track(usize, &'static str),
    /// A byte of a file.
    At(usize, u64),
}

/// A file of events.
#[derive(Debug)]
pub struct File {
    /// Its name within the trace.
    pub name: PathBuf,
    bytes: Bytes,
}

impl File {
    /// How long it is.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.bytes.len() as u64
    }
}

/// Packets of one stream: those of one kind that were written on one processor, or else in one
/// file.
#[derive(Debug, Clone)]
pub struct Track {
    /// The name of its first file.
    pub name: String,
    /// Its kind of stream.
    pub stream: u64,
    /// The processor it was written on.
    pub cpu: Option<u64>,
    /// Its packets in the order of their times.
    pub(crate) packets: Vec<usize>,
}

impl Reader {
    /// Reads the metadata and finds all packets. The file `metadata` by itself is a trace without
    /// streams.
    ///
    /// # Errors
    /// When it is no trace, or the metadata cannot be understood.
    pub fn open(source: &Source, context: &Context<'_>) -> Result<Arc<Self>> {
        let (trace, layouts) = describe(source, context)?;
        let mut reader = Self {
            trace,
            layouts,
            files: Vec::new(),
            packets: Vec::new(),
            tracks: Vec::new(),
            findings: Mutex::default(),
            limits: context.limits,
        };
        let names = if source.is_directory() { source.entries()? } else { Vec::new() };
        let mut state = State::default();
        for name in names {
            reader.file(source, name, &mut state);
        }
        if source.is_directory() {
            index::compare(&reader, source)?;
        }
        reader.find_tracks();
        losses::find(&reader);
        Ok(Arc::new(reader))
    }

    /// Takes note of a file whose events are not there.
    fn lacks(&self, name: &Path, message: impl Into<String>) {
        let file = name.display().to_string();
        let message = message.into();
        let mut finding = Finding::whole(Severity::Warning, "missing-file", message);
        finding.file = Some(file.clone());
        self.add(Place::Named(file), finding);
    }

    /// Finds the packets of a file; why it cannot be read is a finding.
    fn file(&mut self, source: &Source, name: PathBuf, state: &mut State) {
        let is_hidden = name.to_string_lossy().starts_with('.');
        if is_hidden || name == Path::new(spec::METADATA_FILE) {
            return;
        }
        let child = source.child(&name, &self.limits);
        if child.as_ref().is_ok_and(|child| child.as_ref().is_some_and(Source::is_directory)) {
            return;
        }
        let nowhere = || Error::request("it is a link that leads nowhere");
        let bytes = child.and_then(|child| child.ok_or_else(nowhere)?.bytes());
        let file = self.files.len();
        match bytes {
            Ok(bytes) => {
                if bytes.is_empty() {
                    self.lacks(&name, "it is empty: no packet was written, or all are lost");
                }
                self.files.push(File { name, bytes });
                self.find_packets(file, state);
            }
            Err(error) => {
                self.files.push(File { name, bytes: Bytes::new() });
                self.report(file, &ReadError::invalid("file", 0, error.to_string()));
            }
        }
    }

    /// Goes from packet to packet. What is no packet ends its file.
    fn find_packets(&mut self, file: usize, state: &mut State) {
        let Some(bytes) = self.files.get(file).map(|file| file.bytes.clone()) else { return };
        let mut offset = 0;
        while offset < bytes.len() as u64 {
            if self.packets.len() as u64 >= self.limits.items_max {
                let why = format!("more than {} packets", self.limits.items_max);
                return self.report(file, &ReadError::invalid("packets", offset, why));
            }
            match packets::read(&self.trace, &self.layouts, state, &bytes, (file, offset)) {
                Ok(packet) if packet.bytes > 0 => {
                    if let Some(size) = packet.cut_from {
                        let (needed, left) = (size, packet.bytes);
                        let kind = ReadErrorKind::Short { needed, left };
                        self.report(file, &kind.at("packet", offset));
                    }
                    offset += packet.bytes;
                    self.packets.push(packet);
                }
                Ok(_) => {
                    return self.report(file, &ReadError::invalid("packet", offset, "it is empty"));
                }
                Err(error) => return self.report(file, &error),
            }
        }
    }

    fn find_tracks(&mut self) {
        let mut known: BTreeMap<(u64, Option<u64>, usize), usize> = BTreeMap::new();
        for (index, packet) in self.packets.iter().enumerate() {
            let file = if packet.cpu.is_some() { 0 } else { packet.file };
            let next = self.tracks.len();
            let track = *known.entry((packet.stream, packet.cpu, file)).or_insert(next);
            if track == next {
                let name = self.files.get(packet.file).map(|file| file.name.to_string_lossy());
                let name = name.unwrap_or_default().into_owned();
                let (stream, cpu) = (packet.stream, packet.cpu);
                self.tracks.push(Track { name, stream, cpu, packets: Vec::new() });
            }
            if let Some(track) = self.tracks.get_mut(track) {
                track.packets.push(index);
            }
        }
        // Files that are written to in turn may begin with the later packets.
        let packets = &self.packets;
        for track in &mut self.tracks {
            track.packets.sort_by_key(|index| packets.get(*index).and_then(|packet| packet.times));
        }
    }

    /// What the metadata says.
    #[must_use]
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    pub(crate) fn layouts(&self) -> &Layouts {
        &self.layouts
    }

    /// The files of events, in the order of their names.
    #[must_use]
    pub fn files(&self) -> &[File] {
        &self.files
    }

    /// All packets, file by file.
    #[must_use]
    pub fn packets(&self) -> &[Packet] {
        &self.packets
    }

    /// The streams.
    #[must_use]
    pub fn tracks(&self) -> &[Track] {
        &self.tracks
    }

    /// The bytes of a packet, which are shared.
    fn packet_bytes(&self, packet: &Packet) -> Bytes {
        let range = || {
            let start = usize::try_from(packet.offset).ok()?;
            let end = start.checked_add(usize::try_from(packet.bytes).ok()?)?;
            let bytes = &self.files.get(packet.file)?.bytes;
            (end <= bytes.len()).then(|| bytes.slice(start..end))
        };
        range().unwrap_or_default()
    }

    /// The name of a file of events.
    pub(crate) fn file_name(&self, file: usize) -> String {
        self.files.get(file).map(|file| file.name.display().to_string()).unwrap_or_default()
    }

    /// How many events can be read; goes through all of them.
    #[must_use]
    pub fn count(&self) -> u64 {
        let counts = self.tracks.iter().map(|track| {
            let mut cursor = TrackCursor::new(self, track.packets.clone());
            std::iter::from_fn(|| cursor.take(self, &mut ())).map(|_| 1).sum::<u64>()
        });
        counts.sum()
    }

    /// The times of the first and the last event, in nanoseconds. Reads only packets at the ends
    /// of streams.
    pub(crate) fn time_range(&self) -> Option<(i64, i64)> {
        let ends = self.tracks.iter().filter_map(|track| {
            let first = TrackCursor::new(self, track.packets.clone()).head()?.time_ns?;
            let latest = |packet: &usize| {
                let mut cursor = TrackCursor::new(self, vec![*packet]);
                let times = std::iter::from_fn(|| cursor.take(self, &mut ()));
                times.filter_map(|taken| taken.head.time_ns).max()
            };
            let last = track.packets.iter().rev().find_map(latest)?;
            // Of a damaged trace the last packet may be of an earlier time.
            Some((first.min(last), last.max(first)))
        });
        ends.reduce(|all, next| (all.0.min(next.0), all.1.max(next.1)))
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The bytes of a file from one to another.
    pub(crate) fn bytes(&self, file: usize, range: (u64, u64)) -> &[u8] {
        let (start, end) = range;
        let range = usize::try_from(start).ok().zip(usize::try_from(end).ok());
        let file = self.files.get(file);
        let bytes = range.and_then(|(start, end)| file?.bytes.get(start..end));
        bytes.unwrap_or_default()
    }

    /// Takes note of what cannot be read.
    pub(crate) fn report(&self, file: usize, error: &ReadError) {
        let key = Place::At(file, error.offset);
        let mut finding = Finding::unreadable(crate::check::UNREADABLE, error);
        finding.file = self.files.get(file).map(|file| file.name.display().to_string());
        self.add(key, finding);
    }

    pub(crate) fn add(&self, key: Place, finding: Finding) {
        let mut findings = self.findings.lock().unwrap_or_else(PoisonError::into_inner);
        if findings.len() < self.limits.findings_max {
            findings.insert(key, finding);
        }
    }

    /// What is wrong as far as was read, in the order of files.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        let findings = self.findings.lock().unwrap_or_else(PoisonError::into_inner);
        findings.values().cloned().collect()
    }
}

/// Reads the metadata of a trace.
fn describe(source: &Source, context: &Context<'_>) -> Result<(Trace, Layouts)> {
    let read = |bytes: &[u8]| {
        let trace = metadata::read(bytes)?;
        let kinds: usize = trace.streams.values().map(|stream| stream.events.len()).sum();
        let found = (kinds + trace.clocks.len() + trace.environment.len()) as u64;
        let limit = context.limits.items_max;
        if found > limit {
            return Err(ReadErrorKind::OverLimit { found, limit }.at("blocks of the metadata", 0));
        }
        let layouts = Layouts::new(&trace)?;
        Ok((trace, layouts))
    };
    if !source.is_directory() {
        return read(&source.bytes()?).map_err(Error::Read);
    }
    let metadata = source.child(Path::new(spec::METADATA_FILE), &context.limits)?;
    let metadata = metadata.ok_or_else(|| {
        Error::request("there is no file `metadata` in it, so it is no CTF trace")
    })?;
    let within = |error| Error::ReadIn { file: spec::METADATA_FILE.into(), error };
    read(&metadata.bytes()?).map_err(within)
}
