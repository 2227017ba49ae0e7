//! Bytes to types.
//!
//! Opening reads everything but the events: the header, what is defined, and the index. Events
//! are decoded as they are asked for.

mod artifacts;
mod definitions;
mod event;
mod findings;
mod header;
mod index;
mod recordings;
mod values;
mod walk;

use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use bytes::Bytes;
use foldhash::fast::RandomState;
use kymo_core::bytes::{Cursor, Endian, Limits, ReadError, ReadErrorKind, ReadResult};
use kymo_core::{Context, Finding, Result, Severity, Source, Value};
use kymo_model::timeline::{TimeNs, Window};

use crate::spec::{ArtifactClass, CLOCK_TYPE, MADE_TYPE, MAGIC, REPAIRER, Section, VERSION};
use crate::types::{
    Artifact, ArtifactId, Block, CustomType, DeclaredArtifact, Definitions, IndexHeader,
    LocatedEvent, LogFile, LogFileId, Statistics, TaskExecution, TypeId,
};
use artifacts::Artifacts;
use definitions::{Budget, SectionItems, artifact, count, custom_type, list, log_file};
use event::event;
use findings::ReadFindings;
use index::{Index, Span, index, statistics, task_execution};
use recordings::Recordings;

pub(crate) use header::Header;
pub use values::values;
pub(crate) use values::{
    CUSTOM_SIZE, DecodedValues, UNKNOWN_TYPE, misfit, no_type, unusual_value_count,
};
pub(crate) use walk::Walk;

/// The rule that times go up.
pub(crate) const ORDER: &str = "order";

/// The rule that a file has one log set.
pub(crate) const ANOTHER: &str = "another-log-set";

/// The rule that the index is what the events are.
pub(crate) const INDEX: &str = "index";

/// The rule that there are as many events as the file says elsewhere.
pub(crate) const NUM_EVENTS: &str = "num-events";

/// The rule that log files of events are there.
pub(crate) const UNKNOWN_LOG_FILE: &str = "unknown-log-file";

/// The rule of what was declared by `repair` alone, and what it says.
pub(crate) const MADE_UP: &str = "made-up";
pub(crate) const MADE_UP_WHY: &str = "`kymo repair` declared tasks, states or log files that nothing else did: their names are made up, \
     and which of them are idle, interrupts or processors is not known";

/// An open file. Cheap to open: events are read when they are asked for.
#[derive(Debug)]
pub struct Reader {
    bytes: Bytes,
    limits: Limits,
    log_files: Vec<LogFile>,
    types: Vec<CustomType>,
    artifacts: Artifacts,
    log_file_ids: HashMap<LogFileId, usize, RandomState>,
    recordings: Recordings,
    is_since_epoch: bool,
    type_ids: HashMap<(LogFileId, TypeId), usize, RandomState>,
    /// Ranges of sections, by their first byte.
    sections: Vec<(Section, Range<u64>)>,
    num_events: u64,
    index: Index,
    /// True if blocks are where the index says.
    is_index_sound: bool,
    /// True if, besides, their times go up, so that a timestamp can be looked up.
    is_ascending: bool,
    /// True if an event was seen that is earlier than the one before it, or not at the time that
    /// the index gives.
    is_misleading: AtomicBool,
    spans: Vec<Span>,
    task_executions: Vec<TaskExecution>,
    statistics: Option<Statistics>,
    noticed: ReadFindings,
    /// Of each byte, whether it begins an event that was read. Room for that is made once, as some
    /// tests measure what reading takes.
    #[cfg(test)]
    touched: Vec<AtomicBool>,
}

impl Reader {
    /// Opens a file whose structure is sound.
    ///
    /// # Errors
    ///
    /// When something other than an event cannot be read.
    pub fn open(source: &Source, context: &Context<'_>) -> Result<Arc<Self>> {
        let mut opening = Opening::new(source.bytes()?, context.limits);
        let header = Header::read(&opening.bytes)?;
        opening.read(&header);
        match opening.faults.into_iter().next() {
            Some((_, fault)) => Err(fault.into()),
            None => Ok(Arc::new(opening.reader)),
        }
    }

    /// Opens what can be read of a file, and says what cannot.
    ///
    /// # Errors
    ///
    /// When the source is a directory.
    pub fn salvage(source: &Source, context: &Context<'_>) -> Result<Arc<Self>> {
        let mut opening = Opening::new(source.bytes()?, context.limits);
        match Header::read(&opening.bytes) {
            Ok(header) => opening.read(&header),
            Err(fault) => opening.reader.add_finding(Finding::unreadable("header", &fault)),
        }
        for (section, fault) in &opening.faults {
            opening.reader.add_finding(Finding::unreadable(section.rule(), fault));
        }
        Ok(Arc::new(opening.reader))
    }

    /// Log files, types and artifacts, all of them, to be written again.
    #[must_use]
    pub fn definitions(&self) -> Definitions {
        let (log_files, types) = (self.log_files.clone(), self.types.clone());
        let artifacts = self.artifacts().map(Artifact::from).collect();
        Definitions { log_files, types, artifacts, ..Definitions::default() }
    }

    /// The logs that were imported.
    #[must_use]
    pub fn log_files(&self) -> &[LogFile] {
        &self.log_files
    }

    /// The types of values.
    #[must_use]
    pub fn types(&self) -> &[CustomType] {
        &self.types
    }

    /// Returns the artifacts that events are about, in the order of the file.
    pub fn artifacts(&self) -> impl Iterator<Item = DeclaredArtifact<'_>> {
        (0..self.artifact_count()).filter_map(|place| self.artifact_at(place))
    }

    /// Returns the number of artifacts.
    #[must_use]
    pub fn artifact_count(&self) -> usize {
        self.artifacts.len()
    }

    /// An artifact by its place among them.
    pub(crate) fn artifact_at(&self, place: usize) -> Option<DeclaredArtifact<'_>> {
        self.artifacts.get(place, &self.bytes)
    }

    /// Returns the number of events as given by the file.
    #[must_use]
    pub fn num_events(&self) -> u64 {
        self.num_events
    }

    /// The head of the index.
    #[must_use]
    pub fn index_header(&self) -> &IndexHeader {
        &self.index.header
    }

    /// The blocks of the index.
    #[must_use]
    pub fn blocks(&self) -> &[Block] {
        &self.index.blocks
    }

    /// Returns the run times of tasks as given by the file.
    #[must_use]
    pub fn task_executions(&self) -> &[TaskExecution] {
        &self.task_executions
    }

    /// The statistics, as the file says.
    #[must_use]
    pub fn statistics(&self) -> Option<&Statistics> {
        self.statistics.as_ref()
    }

    /// Every event in the order of the file.
    pub fn events(&self) -> impl Iterator<Item = LocatedEvent<'_>> {
        let mut walk = self.walk();
        std::iter::from_fn(move || walk.next(self))
    }

    /// The events of a time: the index says which blocks to look at.
    pub fn events_in_window<'a>(
        &'a self,
        window: &'a Window,
    ) -> impl Iterator<Item = LocatedEvent<'a>> {
        let mut walk = Walk::new(self.spans_in_window(window));
        std::iter::from_fn(move || walk.next(self))
            .filter(|found| window.holds(Some(TimeNs(found.event.timestamp))))
    }

    /// The event at an offset.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn event_at(&self, offset: u64) -> ReadResult<LocatedEvent<'_>> {
        #[cfg(test)]
        self.touch(offset);
        let (event, _) = event(self.slice(offset, self.size_bytes()), offset)?;
        Ok(LocatedEvent { offset, event })
    }

    /// A type by its id, which is of a log file.
    #[must_use]
    pub fn custom_type(&self, log_file: LogFileId, id: TypeId) -> Option<&CustomType> {
        self.types.get(*self.type_ids.get(&(log_file, id))?)
    }

    /// An artifact by its class and id, which is of a log file.
    #[must_use]
    pub fn artifact(
        &self,
        log_file: LogFileId,
        class: ArtifactClass,
        id: ArtifactId,
    ) -> Option<DeclaredArtifact<'_>> {
        self.artifacts.find((log_file, class, id), &self.bytes)
    }

    /// Returns the findings so far.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        self.noticed.findings(&self.limits)
    }

    /// The values of an event or an artifact as a JSON object, as text; as bytes where they are
    /// not of their type, which is noticed.
    ///
    /// # Errors
    ///
    /// When there are more bytes than the limits allow.
    pub fn custom_value(
        &self,
        log_file: LogFileId,
        id: TypeId,
        bytes: &[u8],
        offset: u64,
    ) -> ReadResult<Value> {
        let (found, limit) = (bytes.len() as u64, self.limits.value_bytes_max);
        if found > limit {
            let over = ReadErrorKind::OverLimit { found, limit };
            return Err(over.error_at("total-custom-field-size", offset));
        }
        let this_custom_type = self.custom_type(log_file, id);
        if bytes.is_empty()
            && this_custom_type.is_none_or(|this_custom_type| this_custom_type.fields.is_empty())
        {
            return Ok(Value::Null);
        }
        let decoded = self
            .decoded((log_file, id), bytes, offset)
            .filter(|decoded_values| decoded_values.are_whole);
        let object = decoded.map(|decoded| object(decoded.of, &decoded.values).into());
        Ok(object.unwrap_or_else(|| bytes.to_vec().into()))
    }

    /// A log file's place in the list of log files.
    pub(crate) fn log_file_place(&self, id: LogFileId) -> Option<usize> {
        self.log_file_ids.get(&id).copied()
    }

    /// The recordings: what they are called, and whether they have several log files.
    pub(crate) fn recordings(&self) -> &[(String, bool)] {
        &self.recordings.named
    }

    /// The recording that a log file is of.
    pub(crate) fn recording_of(&self, id: LogFileId) -> Option<usize> {
        self.recordings.of_places.get(self.log_file_place(id)?).copied()
    }

    /// Returns true if times count from the Epoch: every log file says so, by an artifact of ours.
    pub(crate) fn is_since_epoch(&self) -> bool {
        self.is_since_epoch
    }

    pub(crate) fn spans(&self) -> &[Span] {
        &self.spans
    }

    pub(crate) fn sections(&self) -> &[(Section, Range<u64>)] {
        &self.sections
    }

    pub(crate) fn size_bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    pub(crate) fn is_index_sound(&self) -> bool {
        self.is_index_sound
    }

    pub(crate) fn walk(&self) -> Walk {
        Walk::new(0..self.spans.len())
    }

    /// Returns true if the times of blocks go up, as far as the index tells.
    pub(crate) fn is_ascending(&self) -> bool {
        self.is_ascending
    }

    /// The spans that may have events of a window: all of them, where the index cannot tell.
    ///
    /// The index has the times of the first and the last event of a block as written. So blocks at
    /// the ends of the window and beside them are looked at: where times go back within one, or did so
    /// in whatever was read before, they may do so anywhere. Where times go up, and the index leaves out a
    /// block that has events of the window, it is wrong of one of these, too.
    pub(crate) fn spans_in_window(&self, window: &Window) -> Range<usize> {
        let all = 0..self.spans.len();
        let is_known_useless = !self.is_ascending || self.is_misleading.load(Relaxed);
        if window.from.is_none() && window.until.is_none() || is_known_useless {
            return all;
        }
        let within = self.index.blocks_in_window(window);
        let begin = window.from.map(|_| [within.start.checked_sub(1), Some(within.start)]);
        let end = window.until.map(|_| [within.end.checked_sub(1), Some(within.end)]);
        let mut ends = begin.into_iter().chain(end).flatten().flatten();
        if ends.all(|number| self.is_as_indexed(number)) { within } else { all }
    }

    /// Returns true if times go up within a span, from and to what the index says. Where they do
    /// not, that is noticed.
    fn is_as_indexed(&self, span: usize) -> bool {
        Walk::new(span..span + 1).is_as_indexed(self)
    }

    /// Returns true if times go up from event to event, as the index says; goes through all of
    /// them.
    pub(crate) fn is_as_indexed_throughout(&self) -> bool {
        self.walk().is_as_indexed(self)
    }

    /// Returns true if the events of a block begin and end when the index says, where that is known
    /// of them.
    fn is_block(&self, number: usize, first: Option<i64>, last: Option<i64>) -> bool {
        let Some(block) = self.blocks().get(number).filter(|_| self.is_index_sound) else {
            return true;
        };
        let is_said = first.is_none_or(|time| time == block.first_timestamp)
            && last.is_none_or(|time| time == block.last_timestamp);
        if !is_said {
            self.notice_misleading(block);
        }
        is_said
    }

    /// The first and the last time: from the index, where its times go up, and else from the
    /// events. The index has the times of the first and the last event of a block as written, so that
    /// the blocks at the ends are looked at.
    pub(crate) fn time_range(&self) -> Option<RangeInclusive<i64>> {
        let blocks = self.blocks();
        if let (true, [first, ..], [.., last]) = (self.is_ascending, blocks, blocks)
            && self.is_as_indexed(0)
            && self.is_as_indexed(self.spans.len().saturating_sub(1))
            && !self.is_misleading.load(Relaxed)
        {
            return Some(first.first_timestamp..=last.last_timestamp);
        }
        self.events().map(|found| found.event.timestamp).fold(None, |range, time| {
            let range = range.unwrap_or(time..=time);
            Some(time.min(*range.start())..=time.max(*range.end()))
        })
    }

    /// The bytes between two places, as far as they are there.
    #[inline]
    pub(crate) fn slice(&self, start: u64, end: u64) -> &[u8] {
        let place = |offset| usize::try_from(offset).unwrap_or(usize::MAX);
        self.bytes.get(place(start)..place(end)).unwrap_or_default()
    }

    #[cfg(test)]
    fn touch(&self, offset: u64) {
        let touched = usize::try_from(offset).ok().and_then(|offset| self.touched.get(offset));
        if let Some(is_touched) = touched {
            is_touched.store(true, Relaxed);
        }
    }

    /// Notices that times go back; where they do so first is enough.
    #[cold]
    pub(crate) fn notice_disorder(&self, offset: u64) {
        self.is_misleading.store(true, Relaxed);
        let message = "an event is earlier than one before it: where times go back, ranges may \
                       lack events and figures may be wrong (`kymo merge --sort` sorts)";
        self.notice_once(ORDER, 0, offset, || message.to_owned());
    }

    /// Notices that the index has other times than the events of a block; the first that is looked at is told.
    #[cold]
    fn notice_misleading(&self, block: &Block) {
        self.is_misleading.store(true, Relaxed);
        self.noticed.first(&self.limits, (INDEX, 0), block.offset, || {
            let Block { first_timestamp, last_timestamp, .. } = block;
            format!(
                "the index says that a block goes from {first_timestamp} to {last_timestamp} ns, and \
                 its events do not: ranges are found without the index"
            )
        });
    }

    /// Returns true if `repair` declared something that nothing else did.
    pub(crate) fn is_made_up(&self) -> bool {
        let is_made = |log_file: &LogFile| log_file.importer == REPAIRER;
        self.log_files().iter().any(is_made)
            || self.types().iter().any(|custom_type| custom_type.is_own_type(MADE_TYPE))
    }

    /// Notices that what tasks and log files are called, and what else was said of them, is lost.
    pub(crate) fn notice_made_up(&self) {
        let finding = || Finding::for_whole_file(Severity::Warning, MADE_UP, MADE_UP_WHY);
        self.noticed.keep(&self.limits, (MADE_UP, 0), Severity::Warning, finding);
    }

    /// Notices that events are of a log file that is not there; the first of each is enough.
    #[cold]
    pub(crate) fn notice_unknown_log(&self, log: LogFileId, offset: u64) {
        let number = u64::from(log.0.cast_unsigned());
        self.notice_once(UNKNOWN_LOG_FILE, number, offset, || {
            format!("there is no log file {}: its events are on no track", log.0)
        });
    }

    fn notice_once(
        &self,
        rule: &'static str,
        number: u64,
        offset: u64,
        message: impl FnOnce() -> String,
    ) {
        let finding = || Finding::at_offset(Severity::Warning, rule, offset, message());
        self.noticed.keep(&self.limits, (rule, number), Severity::Warning, finding);
    }

    /// Keeps a finding, unless the same was found before.
    pub(crate) fn add_finding(&self, finding: Finding) {
        let key = (finding.rule, finding.offset.unwrap_or(u64::MAX));
        self.noticed.keep(&self.limits, key, finding.severity, || finding);
    }
}

/// Values under their names, as a JSON object.
pub(crate) fn object(custom_type: &CustomType, values: &[Value]) -> String {
    let mut text = String::from("{");
    for (field, value) in custom_type.fields.iter().zip(values) {
        let separator = if text.len() > 1 { "," } else { "" };
        // Serializing what is no map with odd keys cannot fail.
        let name = serde_json::to_string(&field.name).unwrap_or_default();
        let value = serde_json::to_string(value).unwrap_or_default();
        let _ = write!(text, "{separator}{name}:{value}");
    }
    text.push('}');
    text
}

/// A file that is being opened.
struct Opening {
    bytes: Bytes,
    reader: Reader,
    budget: Budget,
    faults: Vec<(Section, ReadError)>,
}

impl Opening {
    fn new(bytes: Bytes, limits: Limits) -> Self {
        let reader = Reader {
            bytes: bytes.clone(),
            limits,
            log_files: Vec::new(),
            types: Vec::new(),
            artifacts: Artifacts::default(),
            log_file_ids: HashMap::default(),
            recordings: Recordings::default(),
            is_since_epoch: false,
            type_ids: HashMap::default(),
            sections: Vec::new(),
            num_events: 0,
            index: Index::default(),
            is_index_sound: false,
            is_ascending: false,
            is_misleading: AtomicBool::new(false),
            spans: Vec::new(),
            task_executions: Vec::new(),
            statistics: None,
            noticed: ReadFindings::default(),
            #[cfg(test)]
            touched: std::iter::repeat_with(AtomicBool::default).take(bytes.len()).collect(),
        };
        Self { bytes, reader, budget: Budget::new(limits.items_max), faults: Vec::new() }
    }

    /// Reads every section but the events, which it only locates.
    fn read(&mut self, header: &Header) {
        self.reader.log_files = self.listed(header, Section::LogFiles, "num-log-files", log_file);
        self.reader.types = self.listed(header, Section::Types, "num-types", custom_type);
        self.read_index(header);
        self.locate_events(header);
        let offset = |declared_artifact: DeclaredArtifact<'_>| declared_artifact.offset;
        let offsets = self.listed(header, Section::Artifacts, "num-artifacts", |cursor, budget| {
            artifact(cursor, budget).map(offset)
        });
        self.reader.artifacts = Artifacts::new(offsets, &self.bytes);
        self.reader.task_executions =
            self.listed(header, Section::TaskExecutions, "num-task-execs", task_execution);
        self.read_statistics(header);
        self.miss_events();
        self.miss_another();
        self.reader.sections.sort_by_key(|(_, bytes)| bytes.start);
        self.faults.sort_by_key(|(section, _)| *section);
        self.scope();
    }

    /// Reads a section of items; what cannot be read is a fault.
    fn listed<T>(
        &mut self,
        header: &Header,
        section: Section,
        what: &'static str,
        item: impl FnMut(&mut Cursor<'_>, &mut Budget) -> ReadResult<T>,
    ) -> Vec<T> {
        let bytes = self.bytes.clone();
        let Some((start, cursor)) = self.begin(header, section, &bytes) else { return Vec::new() };
        let listed = list(cursor, what, &mut self.budget, item);
        self.end(section, start, listed)
    }

    /// Returns the start of a section, if it can be there.
    fn begin<'a>(
        &mut self,
        header: &Header,
        section: Section,
        bytes: &'a [u8],
    ) -> Option<(u64, Cursor<'a>)> {
        match header.start(section) {
            Ok(start) => {
                let place = usize::try_from(start).unwrap_or(usize::MAX);
                let rest = bytes.get(place..).unwrap_or_default();
                Some((start, Cursor::with_offset(rest, start, Endian::Big)))
            }
            Err(fault) => {
                self.faults.push((section, fault));
                None
            }
        }
    }

    fn end<T>(&mut self, section: Section, start: u64, listed: SectionItems<T>) -> Vec<T> {
        self.reader.sections.push((section, start..listed.end));
        self.faults.extend(listed.fault.map(|fault| (section, fault)));
        listed.items
    }

    fn read_index(&mut self, header: &Header) {
        let bytes = self.bytes.clone();
        let section = Section::EventIndex;
        let Some((start, cursor)) = self.begin(header, section, &bytes) else { return };
        match index(cursor, &mut self.budget) {
            Ok((header, listed)) => {
                self.reader.index.header = header;
                self.reader.index.blocks = self.end(section, start, listed);
            }
            Err(fault) => self.faults.push((section, fault)),
        }
    }

    /// Finds out where the events are: in the blocks of the index, where that fits.
    fn locate_events(&mut self, header: &Header) {
        let bytes = self.bytes.clone();
        let Some((start, mut cursor)) = self.begin(header, Section::Events, &bytes) else { return };
        let stated = count(&mut cursor, "num-events");
        let (first, size_bytes) = (start + 8, bytes.len() as u64);
        let is_index_read = !self.faults.iter().any(|(section, _)| *section == Section::EventIndex);
        let located = self.reader.index.located(first, size_bytes).filter(|_| is_index_read);
        let num_events = match (stated, located) {
            (Ok(stated), Some(located)) if stated < located => {
                let message = format!(
                    "num-events is {stated}, and the index knows where {located} events are: those \
                     are read"
                );
                let finding = Finding::at_offset(Severity::Warning, NUM_EVENTS, start, message);
                self.reader.add_finding(finding);
                located
            }
            (Ok(stated), _) => stated,
            (Err(fault), located) => {
                self.faults.push((Section::Events, fault));
                let Some(located) = located else { return };
                located
            }
        };
        let reader = &mut self.reader;
        reader.num_events = num_events;
        let disagreement = reader.index.disagreement(num_events, first, size_bytes);
        reader.is_index_sound = is_index_read && disagreement.is_none();
        reader.is_ascending = reader.is_index_sound && reader.index.is_ascending();
        if reader.is_index_sound {
            reader.spans = reader.index.spans();
        } else {
            let span = Span { start: first, end: size_bytes, events: num_events, is_exact: false };
            reader.spans = vec![span];
        }
        if let (true, Some((offset, why))) = (is_index_read, disagreement) {
            let message = format!("{why}: the index is not used");
            let finding = Finding::for_whole_file(Severity::Warning, INDEX, message);
            reader.add_finding(Finding { offset, ..finding });
        }
        let end = reader.spans.last().filter(|span| span.is_exact).map_or(first, |span| span.end);
        reader.sections.push((Section::Events, start..end));
    }

    fn read_statistics(&mut self, header: &Header) {
        let bytes = self.bytes.clone();
        let section = Section::Statistics;
        let Some((start, cursor)) = self.begin(header, section, &bytes) else { return };
        match statistics(cursor) {
            Ok(statistics) => {
                self.reader.statistics = Some(statistics);
                self.reader.sections.push((section, start..start + section.bytes_min()));
            }
            Err(fault) => self.faults.push((section, fault)),
        }
    }

    /// Notices that there were events: each switch that STATISTICS count is one. Where zeros stand for
    /// what was not written, the file says that it has none.
    fn miss_events(&self) {
        let Reader { statistics, num_events, sections, .. } = &self.reader;
        let switches = statistics.map_or(0, |this_statistics| this_statistics.num_task_switches);
        let events = sections.iter().find(|(section, _)| *section == Section::Events);
        if let (0, 1.., Some((_, bytes))) = (*num_events, switches, events) {
            let message =
                format!("there are no events, and STATISTICS count {switches} task switches: lost");
            self.reader.add_finding(Finding::at_offset(
                Severity::Error,
                NUM_EVENTS,
                bytes.start,
                message,
            ));
        }
    }

    /// Notices that another log set begins behind this one, as where two files were put together.
    fn miss_another(&self) {
        let Reader { sections, is_index_sound, .. } = &self.reader;
        let end = sections.iter().map(|(_, bytes)| bytes.end).max();
        let is_known = *is_index_sound && sections.len() == Section::ALL.len();
        let Some(end) = end.filter(|_| is_known) else { return };
        let start = [MAGIC.to_be_bytes(), VERSION.to_be_bytes()].concat();
        if self.reader.slice(end, self.reader.size_bytes()).starts_with(&start) {
            let message = "another log set begins here, and is not read: a file has one";
            self.reader.add_finding(Finding::at_offset(Severity::Error, ANOTHER, end, message));
        }
    }

    /// Makes log files and types findable. Of several with one id, the first counts.
    fn scope(&mut self) {
        let reader = &mut self.reader;
        for (place, this_log_file) in reader.log_files.iter().enumerate() {
            reader.log_file_ids.entry(this_log_file.id).or_insert(place);
        }
        reader.recordings = Recordings::new(&reader.log_files);
        for (place, this_custom_type) in reader.types.iter().enumerate() {
            reader
                .type_ids
                .entry((this_custom_type.log_file, this_custom_type.id))
                .or_insert(place);
        }
        let says = |declared_artifact: &DeclaredArtifact<'_>| {
            let custom_type =
                reader.custom_type(declared_artifact.log_file, declared_artifact.custom_type);
            custom_type.is_some_and(|this_custom_type| this_custom_type.is_own_type(CLOCK_TYPE))
                && declared_artifact.custom == [1]
        };
        let clocks =
            reader.artifacts().filter(says).map(|declared_artifact| declared_artifact.log_file);
        let clocks: HashSet<_> = clocks.collect();
        let logs = &reader.log_files;
        reader.is_since_epoch = !logs.is_empty() && logs.iter().all(|log| clocks.contains(&log.id));
    }
}
