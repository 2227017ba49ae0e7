//! Bytes to types: metadata, then packets, then events as they are asked for.

mod cursor;
mod decode;
mod header;
mod index;
mod known;
mod layout;
mod losses;
mod merge;
mod order;
mod packet_reader;
mod packets;
mod possible;
mod repeated;
mod session;
mod steps;
mod untimed;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use kymo_core::bytes::{Limits, ReadError, ReadErrorKind};
use kymo_core::{Context, Error, Finding, Findings, Invariant as _, Result, Severity, Source};
use memchr::memmem;

use decode::State;
use possible::TickRange;

pub(crate) use decode::{DecodeRequest, Real, Visitor};
pub(crate) use known::KnownField;
pub(crate) use layout::{EventLayout, Layouts, Node, NodeId, StreamLayout};
pub(crate) use merge::{EventSelection, Merged, Next, reach_ns, times_ns};
pub(crate) use packet_reader::{DecodedEvent, Gap, sweep, sweep_with_gaps};
pub use packets::Packet;
pub(crate) use session::{has_streams, head as session_head};

use crate::metadata;
use crate::spec;
use crate::types::{Clock, Role, Trace};

/// An open trace, or all traces of a session.
#[derive(Debug)]
pub struct Reader {
    parts: Vec<Part>,
    /// The clocks of all parts; one that several have is one.
    clocks: Vec<Clock>,
    files: Vec<File>,
    packets: Vec<Packet>,
    tracks: Vec<Track>,
    /// Findings, by file and offset; they grow as events are read.
    findings: Mutex<ReadFindings>,
    limits: Limits,
}

/// The rule that there is something in a trace.
const EMPTY: &str = "empty";

/// The rule that a folder of a session is there once.
const LINKED: &str = "linked";

/// Clocks that another is compared with: those of a session are few.
const CLOCKS_COMPARED: usize = 64;

/// Place of a fault: reading it again finds the same once.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// Of the whole trace, by rule.
    Whole(&'static str),
    /// A file that is not there.
    Named(String),
    /// A clock.
    Clock(usize),
    /// A stream, by rule.
    Track(usize, &'static str),
    /// A packet, by rule.
    Packet(usize, &'static str),
    /// A byte of a file.
    At(usize, u64),
}

/// Findings as far as was read, each place once however often it is read.
#[derive(Debug, Default)]
struct ReadFindings {
    kept: BTreeMap<Place, Finding>,
    /// Places of faults that are more than are kept.
    beyond: BTreeSet<Place>,
    /// Number of those.
    counted: Findings,
    /// Number of times that the times of each stream are known to go back.
    back: BTreeMap<usize, u64>,
    /// Number of times that something else is known to be wrong again and again.
    repeated: BTreeMap<Place, u64>,
}

impl ReadFindings {
    fn add(&mut self, place: Place, finding: Finding, most: usize) {
        if self.kept.len() < most || self.kept.contains_key(&place) {
            self.kept.insert(place, finding);
        } else if self.beyond.insert(place) {
            self.counted.push(finding);
        }
    }

    /// In the order of files, and last how much more there is.
    fn all(&self) -> Vec<Finding> {
        self.kept.values().cloned().chain(self.counted.clone().into_vec()).collect()
    }
}

/// A trace.
#[derive(Debug)]
pub struct Part {
    /// Folder within what was opened; empty where that is the trace itself.
    pub folder: PathBuf,
    /// Content of its metadata.
    pub trace: Trace,
    pub(crate) layouts: Layouts,
    /// The places of its clocks among those of all parts.
    pub(crate) clocks: Vec<usize>,
}

/// A file of events.
#[derive(Debug)]
pub struct File {
    /// Its name within what was opened.
    pub name: PathBuf,
    /// The trace it is of.
    pub part: usize,
    bytes: Bytes,
    /// Its name as it is shown.
    shown: String,
}

impl File {
    fn new(name: PathBuf, part: usize, bytes: Bytes) -> Self {
        let shown = name.display().to_string();
        Self { name, part, bytes, shown }
    }

    /// Its name as it is shown.
    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }

    /// Returns its length.
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
    /// The trace it is of; the first, where it goes on in another.
    pub part: usize,
    /// Its kind of stream.
    pub stream: u64,
    /// The processor it was written on.
    pub cpu: Option<u64>,
    /// Its packets in the order of their times.
    pub(crate) packets: Vec<usize>,
    /// True if they are in several files.
    pub(crate) has_files: bool,
}

impl Reader {
    /// Reads the metadata and finds all packets: of a trace, or of all traces below the directory of
    /// a session. The file `metadata` by itself is a trace without streams.
    ///
    /// # Errors
    /// When it is no trace, or the metadata cannot be understood.
    pub fn open(source: &Source, context: &Context<'_>) -> Result<Arc<Self>> {
        let mut reader = Self {
            parts: Vec::new(),
            clocks: Vec::new(),
            files: Vec::new(),
            packets: Vec::new(),
            tracks: Vec::new(),
            findings: Mutex::default(),
            limits: context.limits,
        };
        let mut failed = None;
        let session = session::find(source, &context.limits)?;
        session.again.iter().for_each(|folder| reader.note_duplicate_folder(folder));
        for (folder, trace) in session.traces {
            match reader.part(folder, &trace) {
                Err(Error::ReadIn { file, error }) => {
                    // Of a session the other traces are read.
                    reader.warn_unreadable_trace(&file, &error);
                    failed.get_or_insert(Error::ReadIn { file, error });
                }
                result => result?,
            }
        }
        if let (true, Some(failed)) = (reader.parts.is_empty(), failed) {
            return Err(failed);
        }
        if reader.packets.is_empty() && source.is_directory() {
            reader.warn_missing_packets();
        }
        reader.find_tracks()?;
        for index in losses::find(&reader) {
            reader.mark_loss_after(index)?;
        }
        Ok(Arc::new(reader))
    }

    /// Takes note that events are missing after a packet.
    fn mark_loss_after(&mut self, packet: usize) -> Result<()> {
        self.packet_mut(packet)?.lacks_next = true;
        Ok(())
    }

    /// Reads a trace.
    fn part(&mut self, folder: PathBuf, source: &Source) -> Result<()> {
        let trace = describe(source, &folder, &self.limits)?;
        let clocks: Vec<_> = trace.clocks.iter().map(|clock| self.clock_place(clock)).collect();
        for (clock, place) in
            trace.clocks.iter().zip(&clocks).filter(|(item, _)| item.frequency == 0)
        {
            let metadata = source.is_directory().then(|| folder.join(spec::METADATA_FILE));
            self.warn_missing_frequency(clock, *place, metadata.as_deref());
        }
        let first_kind = self.parts.last().map_or(0, |part| part.layouts.kinds);
        let layouts = Layouts::new(&trace, first_kind, &clocks);
        let layouts = layouts.map_err(|error| in_metadata(source, &folder, error))?;
        let part = self.parts.len();
        self.parts.push(Part { folder, trace, layouts, clocks });
        if !source.is_directory() {
            return Ok(());
        }
        let mut state = State::default();
        for name in source.entries()? {
            self.file(source, part, &name, &mut state)?;
        }
        index::compare(self, source, part)
    }

    /// The place of a clock; it is added unless it is known.
    fn clock_place(&mut self, clock: &Clock) -> usize {
        let mut known = self.clocks.iter().take(CLOCKS_COMPARED);
        let known = known.position(|known| known == clock);
        known.unwrap_or_else(|| {
            self.clocks.push(clock.clone());
            self.clocks.len() - 1
        })
    }

    /// The name of a file of a trace within what was opened.
    fn relative_path(&self, part: usize, name: &Path) -> PathBuf {
        self.parts.get(part).map_or_else(|| name.to_owned(), |part| part.folder.join(name))
    }

    /// Takes note of a trace whose metadata cannot be read.
    fn warn_unreadable_trace(&self, file: &Path, error: &ReadError) {
        let file = file.display().to_string();
        let mut finding = Finding::unreadable(crate::check::UNREADABLE, error);
        finding.file = Some(file.clone());
        self.add(Place::Named(file), finding);
    }

    /// Takes note of a clock that tells no times.
    fn warn_missing_frequency(&self, clock: &Clock, place: usize, metadata: Option<&Path>) {
        let name = kymo_core::shortened(&clock.name);
        let message = format!("freq of the clock {name} is no number above 0: times are not known");
        let mut finding = Finding::for_whole_file(Severity::Warning, "clock", message);
        finding.file = metadata.map(|file| file.display().to_string());
        self.add(Place::Clock(place), finding);
    }

    /// Takes note of a folder that is another by another name.
    fn note_duplicate_folder(&self, folder: &Path) {
        let message = "a link leads to a folder that is read by another name".to_owned();
        let mut finding = Finding::for_whole_file(Severity::Note, LINKED, message);
        let file = folder.display().to_string();
        finding.file = Some(file.clone());
        self.add(Place::Named(file), finding);
    }

    /// Takes note that there is nothing but metadata.
    fn warn_missing_packets(&self) {
        let message = "there are no packets: nothing was recorded, or the streams are missing";
        let finding = Finding::for_whole_file(Severity::Warning, EMPTY, message.to_owned());
        self.add(Place::Whole(EMPTY), finding);
    }

    /// Takes note of a file whose events are not there.
    fn warn_missing_events(&self, name: &Path, message: impl Into<String>) {
        let file = name.display().to_string();
        let message = message.into();
        let mut finding = Finding::for_whole_file(Severity::Warning, "missing-file", message);
        finding.file = Some(file.clone());
        self.add(Place::Named(file), finding);
    }

    /// Takes note of an index that cannot be relied on. Nothing else is read by it.
    fn warn_unreliable_index(&self, name: &Path, message: &str) {
        let file = name.display().to_string();
        let mut finding = Finding::for_whole_file(Severity::Warning, "index", message);
        finding.file = Some(file.clone());
        self.add(Place::Named(file), finding);
    }

    /// Finds the packets of a file; why it cannot be read is a finding.
    fn file(&mut self, source: &Source, part: usize, name: &Path, state: &mut State) -> Result<()> {
        let is_hidden = name.to_string_lossy().starts_with('.');
        if is_hidden || name == Path::new(spec::METADATA_FILE) {
            return Ok(());
        }
        let child = source.child(name, &self.limits);
        if child.as_ref().is_ok_and(|child| child.as_ref().is_some_and(Source::is_directory)) {
            return Ok(());
        }
        let nowhere = || Error::request("it is a link that leads nowhere");
        let bytes = child.and_then(|child| child.ok_or_else(nowhere)?.bytes());
        let (file, name) = (self.files.len(), self.relative_path(part, name));
        match bytes {
            Ok(bytes) => {
                if bytes.is_empty() {
                    self.warn_missing_events(
                        &name,
                        "it is empty: no packet was written, or all are lost",
                    );
                }
                self.files.push(File::new(name, part, bytes));
                self.find_packets(file, part, state)?;
            }
            Err(error) => {
                self.files.push(File::new(name, part, Bytes::new()));
                self.report(file, &ReadError::invalid("file", 0, error.to_string()));
            }
        }
        Ok(())
    }

    /// Finds the packets of a file. What is no packet ends it, and events are missing then.
    fn find_packets(&mut self, file: usize, value: usize, state: &mut State) -> Result<()> {
        let first = self.packets.len();
        let passed = match self.pass_packets(file, value, state) {
            Err(Error::Read(error)) => Err(error),
            passed => Ok(passed?),
        };
        if let Err(error) = passed {
            if self.packets.len() == first && self.is_foreign(file, value) {
                self.leaves_foreign(file);
                return Ok(());
            }
            self.report(file, &error);
            if let Some(last) = self.packets.len().checked_sub(1).filter(|last| *last >= first) {
                self.mark_loss_after(last)?;
            }
        }
        Ok(())
    }

    /// Returns true if nothing in a file is of the trace that it lies beside. In a channel that is
    /// damaged, some packet still has its magic or its UUID; in one that was never written, all is
    /// zero.
    fn is_foreign(&self, file: usize, value: usize) -> bool {
        let (Some(file), Some(part)) = (self.files.get(file), self.parts.get(value)) else {
            return false;
        };
        let has_magic = part.layouts.header_fields.bits(Role::Magic).is_some();
        let has = |bytes: &[u8]| memmem::find(&file.bytes, bytes).is_some();
        has_magic
            && !spec::PACKET_SIGNATURES.iter().any(|magic| has(magic))
            && !part.trace.uuid.is_some_and(|uuid| has(&uuid))
            && file.bytes.iter().any(|byte| *byte != 0)
    }

    /// Takes note of a file that is not of the trace.
    fn leaves_foreign(&self, file: usize) {
        let message = "it is no stream of this trace, as no packet of one is in it: it is not read";
        let mut finding = Finding::for_whole_file(Severity::Warning, "foreign-file", message);
        let name = self.file_name(file);
        finding.file = Some(name.clone());
        self.add(Place::Named(name), finding);
    }

    /// Goes from packet to packet.
    fn pass_packets(&mut self, file: usize, value: usize, state: &mut State) -> Result<()> {
        let known = self.files.get(file).or_broken("packets are of a file that was opened")?;
        let bytes = known.bytes.clone();
        let mut offset = 0;
        while offset < bytes.len() as u64 {
            if self.packets.len() as u64 >= self.limits.items_max {
                let why = format!("more than {} packets", self.limits.items_max);
                return Err(ReadError::invalid("packets", offset, why).into());
            }
            let part = self.parts.get(value).or_broken("packets are of a trace that was opened")?;
            let packet = packets::read(part, state, &bytes, (value, file, offset))?;
            if packet.bytes == 0 {
                return Err(ReadError::invalid("packet", offset, "it is empty").into());
            }
            if let Some(needed) = packet.cut_from {
                let kind = ReadErrorKind::Short { needed, left: packet.bytes };
                self.report(file, &kind.error_at("packet", offset));
            }
            offset += packet.bytes;
            self.packets.push(packet);
        }
        Ok(())
    }

    fn find_tracks(&mut self) -> Result<()> {
        let mut known: BTreeMap<(usize, u64, Option<u64>, usize), usize> = BTreeMap::new();
        let wholes = self.wholes();
        for (index, packet) in self.packets.iter_mut().enumerate() {
            let file = if packet.cpu.is_some() { 0 } else { packet.file };
            let whole = wholes.get(packet.part).copied().unwrap_or(packet.part);
            let next = self.tracks.len();
            let track = *known.entry((whole, packet.stream, packet.cpu, file)).or_insert(next);
            if track == next {
                let name = self.files.get(packet.file).map(|file| file.name.to_string_lossy());
                let name = name.unwrap_or_default().into_owned();
                let Packet { part, stream, cpu, .. } = *packet;
                let packets = Vec::new();
                self.tracks.push(Track { name, part, stream, cpu, packets, has_files: false });
            }
            packet.track = track;
            let track = self.tracks.get_mut(track);
            track
                .ok_or(Error::Broken("a packet is of a stream that is not there"))?
                .packets
                .push(index);
        }
        self.place_packets()?;
        repeated::remove_repeated(self);
        Ok(())
    }

    /// Puts the packets of each track in the order of their times: files that are written to in turn
    /// may begin with the later ones.
    fn place_packets(&mut self) -> Result<()> {
        let mut tracks = std::mem::take(&mut self.tracks);
        for track in &mut tracks {
            for (index, told) in untimed::find(self, &track.packets) {
                self.packet_mut(index)?.told = Some(told);
            }
            let times = |index: &usize| self.packets.get(*index).and_then(|packet| packet.times);
            let mut files = track.packets.iter().filter_map(|index| self.packets.get(*index));
            let first = files.next().map(|packet| packet.file);
            track.has_files = files.any(|packet| Some(packet.file) != first);
            track.packets.sort_by_cached_key(|index| (times_ns(self, *index), times(index)));
        }
        for TickRange { index, ticks, late_max } in possible::find(&self.packets, &tracks) {
            let packet = self.packet_mut(index)?;
            (packet.possible, packet.late_max) = (ticks, late_max);
        }
        self.tracks = tracks;
        Ok(())
    }

    /// A packet by its index, which is ours.
    fn packet_mut(&mut self, index: usize) -> Result<&mut Packet> {
        self.packets.get_mut(index).or_broken("a stream has a packet that is not there")
    }

    /// For each trace the first that has its UUID: a session that was rotated has one in several
    /// parts.
    fn wholes(&self) -> Vec<usize> {
        let mut known = BTreeMap::new();
        let whole = |(place, part): (usize, &Part)| match part.trace.uuid {
            Some(uuid) => *known.entry(uuid).or_insert(place),
            None => place,
        };
        self.parts.iter().enumerate().map(whole).collect()
    }

    /// The traces, in the order of their folders.
    #[must_use]
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The clocks of all traces.
    #[must_use]
    pub fn clocks(&self) -> &[Clock] {
        &self.clocks
    }

    #[inline]
    pub(crate) fn layouts(&self, part: usize) -> Option<&Layouts> {
        self.parts.get(part).map(|part| &part.layouts)
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
        self.files.get(file).map(|file| file.shown.clone()).unwrap_or_default()
    }

    /// Counts the events that can be read; goes through all of them.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.extent().0
    }

    /// Counts the events that can be read, and finds the times of the first and the last of each
    /// stream, in nanoseconds. Goes through all of them.
    pub(crate) fn extent(&self) -> (u64, Vec<Option<(i64, i64)>>) {
        let mut count = 0;
        let mut times = |track: &Track| {
            let (mut first, mut last) = (i64::MAX, i64::MIN);
            let _ = sweep(self, &track.packets, &mut (), |taken, ()| {
                count += 1;
                if let Some(time) = taken.head.time_ns {
                    (first, last) = (first.min(time), last.max(time));
                }
                ControlFlow::Continue(())
            });
            (first <= last).then_some((first, last))
        };
        let times = self.tracks.iter().map(&mut times).collect();
        (count, times)
    }

    /// The clock that a stream has its times from, by its place. What does not say so has that of its
    /// trace, which is one or is not known.
    pub(crate) fn clock_of(&self, track: &Track) -> Option<usize> {
        let part = self.parts.get(track.part)?;
        let layout = part.layouts.place(track.stream).and_then(|at| part.layouts.stream(at));
        let own = layout.and_then(|stream| stream.clock);
        own.or_else(|| part.clocks.first().copied())
    }

    /// The bytes of all packets.
    pub(crate) fn packet_bytes_sum(&self) -> u64 {
        self.packets.iter().fold(0, |sum, packet| sum.saturating_add(packet.bytes))
    }

    /// The times of the first and the last event of each stream, in nanoseconds. Reads only packets at
    /// the ends of streams.
    pub(crate) fn time_ranges(&self) -> Vec<Option<(i64, i64)>> {
        let ends = self.tracks.iter().map(|track| {
            let first = self.first_time(&track.packets)?;
            let last = track.packets.iter().rev().find_map(|packet| self.latest(*packet))?;
            // Of a damaged trace the last packet may be of an earlier time.
            Some((first.min(last), last.max(first)))
        });
        ends.collect()
    }

    /// The time of the first event that has one.
    fn first_time(&self, packets: &[usize]) -> Option<i64> {
        let mut first = None;
        let _ = sweep(self, packets, &mut (), |taken, ()| {
            first = taken.head.time_ns;
            if first.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        first
    }

    /// The time of the latest event of a packet.
    fn latest(&self, packet: usize) -> Option<i64> {
        let mut latest = None;
        let _ = sweep(self, &[packet], &mut (), |taken, ()| {
            latest = latest.max(taken.head.time_ns);
            ControlFlow::Continue(())
        });
        latest
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Takes note of what cannot be read.
    pub(crate) fn report(&self, file: usize, error: &ReadError) {
        let key = Place::At(file, error.offset);
        let mut finding = Finding::unreadable(crate::check::UNREADABLE, error);
        finding.file = self.files.get(file).map(|file| file.shown.clone());
        self.add(key, finding);
    }

    /// Takes note of what is wrong at a place, unless something of it is known.
    fn add_first(&self, key: Place, finding: Finding) {
        let mut findings = self.findings.lock().unwrap_or_else(PoisonError::into_inner);
        if !findings.kept.contains_key(&key) {
            findings.add(key, finding, self.limits.findings_max);
        }
    }

    pub(crate) fn add(&self, key: Place, finding: Finding) {
        self.lock_findings().add(key, finding, self.limits.findings_max);
    }

    /// Takes note of what is wrong again and again in a stream. Who reads a part of it knows of some
    /// only.
    pub(crate) fn repeats(&self, track: usize, first: &Finding, count: u64) {
        let place = Place::Track(track, first.rule);
        let mut findings = self.lock_findings();
        let known = findings.repeated.entry(place.clone()).or_default();
        if count <= *known {
            return;
        }
        *known = count;
        let mut finding = first.clone();
        if count > 1 {
            finding.message = format!("{} ({count} times)", finding.message);
        }
        findings.add(place, finding, self.limits.findings_max);
    }

    fn lock_findings(&self) -> MutexGuard<'_, ReadFindings> {
        self.findings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the findings as far as was read, in the order of files.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        self.lock_findings().all()
    }
}

/// Reads the metadata of a trace, which is in a folder of what was opened.
fn describe(source: &Source, folder: &Path, limits: &Limits) -> Result<Trace> {
    let bytes = if source.is_directory() {
        let metadata = source.child(Path::new(spec::METADATA_FILE), limits)?;
        let metadata = metadata.ok_or_else(|| {
            let name = spec::METADATA_FILE;
            Error::request(format!(
                "`{name}` is missing, which describes the streams of a CTF trace"
            ))
        })?;
        metadata.bytes()?
    } else {
        let bytes = source.bytes()?;
        if spec::is_stream(&bytes) {
            let why = "this is a stream of a CTF trace: name the directory it is in";
            return Err(ReadError::invalid("metadata", 0, why).into());
        }
        bytes
    };
    let trace = metadata::read(&bytes).map_err(|error| {
        // What follows makes no sense where already the first bytes are wrong.
        let why = "it does not begin as metadata of CTF does";
        let is_begun = spec::is_metadata(&bytes);
        let error = if is_begun { error } else { ReadError::invalid("signature", 0, why) };
        in_metadata(source, folder, error)
    })?;
    let kinds: usize = trace.streams.values().map(|stream| stream.events.len()).sum();
    let found = (kinds + trace.clocks.len() + trace.environment.len()) as u64;
    let limit = limits.items_max;
    if found > limit {
        let error = ReadErrorKind::OverLimit { found, limit }.error_at("blocks of the metadata", 0);
        return Err(in_metadata(source, folder, error));
    }
    Ok(trace)
}

/// Returns the reason why metadata cannot be read, with its file where that is not what was opened.
fn in_metadata(source: &Source, folder: &Path, error: ReadError) -> Error {
    if source.is_directory() {
        return Error::ReadIn { file: folder.join(spec::METADATA_FILE), error };
    }
    Error::Read(error)
}
