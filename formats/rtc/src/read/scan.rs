//! One pass over all of a file.

use std::sync::Arc;

use kymo_core::bytes::{Endian, Limits, ReadErrorKind};
use kymo_core::{Context, Error, Result};
use kymo_rtc_wire::crc::Polynomial;
use kymo_rtc_wire::read::{self, Checksum, Damage, DamageKind, Frame, Item, View, Walker};
use kymo_rtc_wire::spec::id;

use super::tally::{FileStatistics, Statistics};
use super::tracker::{Catalog, CompletedItem, Open, Tracker};
use crate::types::{Session, Unit, UnitChecksum};

/// Number of bytes after which progress is reported.
const PROGRESS_BYTES: u64 = 8 << 20;

/// Results of one pass.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    pub sessions: Vec<Session>,
    pub units: Vec<Unit>,
    pub catalog: Arc<Catalog>,
    /// The streams in the order in which the file defines them.
    pub defined: Vec<usize>,
    /// The clock of each stream.
    pub clocks: Vec<Option<usize>>,
    /// Of each stream.
    pub statistics: Vec<Statistics>,
    pub problems: Vec<Problem>,
    /// Problems that were not kept one by one.
    pub problems_beyond: u64,
    pub frames: u64,
    pub messages: u64,
    pub polynomial: Option<Polynomial>,
    /// Bytes that could not be read, or are missing.
    pub lost_bytes: u64,
    /// Offset at which reading ended.
    pub end: u64,
    /// True if something else was said of a stream first, which does not count.
    has_replaced: bool,
}

/// Kind of what comes after a message that has no end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Continuation {
    /// Frames that were lost.
    Loss,
    /// The end of a session, whether or not its writer ended it.
    End,
}

/// Problem: something that could not be read as it should.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Problem {
    /// Bytes that were passed over.
    Damage(Damage),
    /// A message without an end.
    Unfinished { offset: u64, stream: usize, bytes: u64, after: Continuation },
    /// A message that is too long, or of which only the end is there.
    LeftOut { offset: u64, stream: usize, bytes: u64 },
    /// The limits allow no more: the rest was not read.
    Limit { offset: u64, found: u64, limit: u64 },
    /// The text that describes streams is damaged.
    Meta { offset: u64 },
    /// A byte of that text was changed, and is read as it was.
    Mended { offset: u64 },
    /// Contradiction: the description of a stream differs from that in another Unit.
    Contradiction { offset: u64, id: u32 },
    /// A message whose beginning may be missing.
    MayLackBeginning { offset: u64, stream: usize },
}

impl Problem {
    pub(crate) fn unfinished(open: &Open, after: Continuation) -> Self {
        let Open { offset, stream, length, .. } = *open;
        Self::Unfinished { offset, stream, bytes: length, after }
    }

    pub(crate) fn omitted_message(open: &Open) -> Self {
        let Open { offset, stream, length, .. } = *open;
        Self::LeftOut { offset, stream, bytes: length }
    }

    pub(crate) fn may_miss_beginning(completed: &CompletedItem) -> Self {
        Self::MayLackBeginning { offset: completed.offset, stream: completed.stream }
    }

    /// Returns the problem of a Meta or meta that a frame ends.
    pub(crate) fn from_meta(frame: &Frame, walker: &Walker) -> Option<Self> {
        let is_meta = matches!(frame.id, id::META | id::MINOR_META) && !frame.more;
        let (told, offset) = (walker.definitions(), frame.position);
        let is_mended =
            !told.streams.is_empty() && told.streams.iter().all(|definition| definition.is_proven);
        match told.contradicted {
            _ if !is_meta => None,
            Some(id) => Some(Self::Contradiction { offset, id }),
            None if told.is_sound => None,
            None if is_mended => Some(Self::Mended { offset }),
            None => Some(Self::Meta { offset }),
        }
    }
}

/// Learns of a Unit; of one whose beginning is missing, what was read ahead.
pub(crate) fn begin_unit(tracker: &mut Tracker, unit: &read::Unit, walker: &Walker) {
    let session = usize::try_from(unit.session).unwrap_or(usize::MAX);
    if session != tracker.session() {
        tracker.begin_session(session);
    }
    let starts_with_marker =
        unit.ruler.is_none_or(|ruler| u64::try_from(ruler.marker) == Ok(unit.position));
    if !starts_with_marker {
        tracker.define(unit.position, walker);
    }
}

impl Scan {
    /// Goes through a file. What is over the limits is refused.
    pub(crate) fn new(bytes: &[u8], known: Arc<Catalog>, context: &Context<'_>) -> Result<Self> {
        let scan = Self::salvage(bytes, known, context);
        let over = scan.problems.iter().find_map(|problem| match problem {
            Problem::Limit { offset, found, limit } => Some((*offset, *found, *limit)),
            _ => None,
        });
        let Some((offset, found, limit)) = over else { return Ok(scan) };
        let error = ReadErrorKind::OverLimit { found, limit };
        Err(Error::Read(error.error_at("Units and streams", offset)))
    }

    /// Goes through a file. What is over the limits is left out, which is a problem of its own.
    pub(crate) fn salvage(bytes: &[u8], known: Arc<Catalog>, context: &Context<'_>) -> Self {
        let scan = Self::single_pass(bytes, known, context);
        if !scan.has_replaced {
            return scan;
        }
        // What was said of a stream first was wrong, and messages before were read as it said.
        Self::single_pass(bytes, Arc::clone(&scan.catalog), context)
    }

    fn single_pass(bytes: &[u8], known: Arc<Catalog>, context: &Context<'_>) -> Self {
        let mut pass = Pass {
            scan: Self::default(),
            tracker: Tracker::knowing(known, &context.limits),
            walker: Walker::new(),
            limits: context.limits,
            tally: FileStatistics::default(),
            has_index: false,
        };
        let view = View::from_file(bytes);
        context.progress.begin("reading", view.end());
        let mut told = 0;
        while let Ok(item) = pass.walker.next(&view) {
            if item == Item::End {
                break;
            }
            let position = pass.walker.position();
            if let Err((found, limit)) = pass.take(item, &view) {
                // It is kept whatever else was found.
                pass.scan.problems.push(Problem::Limit { offset: position, found, limit });
                return pass.finish(position);
            }
            if pass.walker.position().saturating_sub(told) > PROGRESS_BYTES {
                told = pass.walker.position();
                context.progress.advance_to(told);
            }
        }
        context.progress.end();
        pass.finish(view.end())
    }
}

impl Scan {
    /// Says of streams that they are hidden, now that every Index was read.
    fn note_hidden(&mut self) {
        let hidden = self.statistics.iter().enumerate().filter(|(_, item)| item.is_hidden());
        for (index, _) in hidden {
            if let Some(stream) = Arc::make_mut(&mut self.catalog).streams.get_mut(index) {
                stream.is_hidden = true;
            }
        }
    }
}

/// Within the limits, or how many there are and how many there may be.
type Within = std::result::Result<(), (u64, u64)>;

struct Pass {
    scan: Scan,
    tracker: Tracker,
    walker: Walker,
    limits: Limits,
    tally: FileStatistics,
    /// True if the last index is that of the Unit.
    has_index: bool,
}

impl Pass {
    fn take(&mut self, item: Item, view: &View<'_>) -> Within {
        match item {
            Item::Unit(unit) => self.unit(&unit)?,
            Item::Frame(frame) => self.frame(&frame, view)?,
            Item::Checksum(checksum) => self.checksum(&checksum),
            Item::Damage(damage) => self.damage(&damage),
            Item::Streams(offset) => {
                self.tracker.define(offset, &self.walker);
                self.within_limits()?;
            }
            Item::End => {}
        }
        Ok(())
    }

    fn unit(&mut self, unit: &read::Unit) -> Within {
        self.end_unit(unit.position);
        let session = usize::try_from(unit.session).unwrap_or(usize::MAX);
        if session >= self.scan.sessions.len() {
            self.end_session(unit.position);
            self.tally.has_lost = unit.count != Some(0);
            self.scan.sessions.push(Session {
                start: unit.position,
                end: unit.position,
                first_count: unit.count,
                ruler: unit.ruler,
                endian: None,
                crc: Some(Polynomial::Ieee),
                is_ended: false,
            });
        }
        self.scan.units.push(Unit {
            session,
            offset: unit.position,
            end: unit.position,
            count: unit.count,
            frames: 0,
            lost_bytes: 0,
            checksum: UnitChecksum::Absent,
        });
        begin_unit(&mut self.tracker, unit, &self.walker);
        self.within_limits()
    }

    /// Checks the limits: Units and streams are what is kept of a file.
    fn within_limits(&self) -> Within {
        let found = (self.scan.units.len() + self.tracker.streams().len()) as u64;
        let limit = self.limits.items_max;
        if found <= limit { Ok(()) } else { Err((found, limit)) }
    }

    fn end_unit(&mut self, position: u64) {
        if let Some(unit) = self.scan.units.last_mut() {
            unit.end = position;
        }
    }

    fn end_session(&mut self, position: u64) {
        let last = self.scan.units.last();
        let is_ended = last.is_some_and(|unit| unit.checksum != UnitChecksum::Absent);
        self.unfinished(Continuation::End);
        let number = self.scan.sessions.len().saturating_sub(1);
        let mut units = self.scan.units.iter().rev().take_while(|unit| unit.session == number);
        let whole = units.clone().count();
        if whole > 1 && units.all(|unit| unit.checksum == UnitChecksum::Absent) {
            self.scan.sessions.iter_mut().rev().take(1).for_each(|session| session.crc = None);
        }
        if let Some(session) = self.scan.sessions.last_mut() {
            session.end = position;
            session.is_ended = is_ended;
        }
    }

    fn unfinished(&mut self, after: Continuation) {
        let open = match after {
            Continuation::Loss => self.tracker.lose_frames(),
            Continuation::End => self.tracker.drop_open(),
        };
        for open in &open {
            self.problem(Problem::unfinished(open, after));
        }
    }

    fn problem(&mut self, problem: Problem) {
        if self.scan.problems.len() <= self.limits.findings_max {
            self.scan.problems.push(problem);
        } else {
            self.scan.problems_beyond += 1;
        }
    }

    fn frame(&mut self, frame: &Frame, view: &View<'_>) -> Within {
        self.scan.frames += 1;
        if let Some(unit) = self.scan.units.last_mut() {
            unit.frames += 1;
        }
        let known = self.tracker.streams().len();
        let completed = self.tracker.frame(frame, view, &self.walker);
        for open in self.tracker.take_omitted() {
            self.problem(Problem::omitted_message(&open));
        }
        if self.tracker.streams().len() > known {
            self.within_limits()?;
        }
        if let Some(problem) = Problem::from_meta(frame, &self.walker) {
            self.problem(problem);
        }
        match frame.id {
            id::MAJOR_INDEX | id::MINOR_INDEX => self.has_index = frame.id == id::MAJOR_INDEX,
            id::META if !frame.more && self.has_index => {
                self.tally.index(&self.walker, &self.tracker);
            }
            _ => {}
        }
        if frame.id == id::PLATFORM
            && let Some(session) = self.scan.sessions.last_mut()
        {
            let endian = |is_big| if is_big { Endian::Big } else { Endian::Little };
            session.endian = self.walker.is_big_endian().map(endian);
        }
        self.tally.frame(frame, completed.as_ref(), &mut self.tracker);
        let Some(completed) = completed else { return Ok(()) };
        self.scan.messages += 1;
        if completed.may_lack_beginning {
            self.problem(Problem::may_miss_beginning(&completed));
        }
        Ok(())
    }

    fn checksum(&mut self, checksum: &Checksum) {
        let state = match checksum.polynomial {
            _ if checksum.is_unchecked => UnitChecksum::Unchecked,
            Some(polynomial) if checksum.is_early => UnitChecksum::HoldsEarly(polynomial),
            Some(polynomial) => UnitChecksum::Holds(polynomial),
            None => UnitChecksum::Wrong,
        };
        self.scan.polynomial = checksum.polynomial.or(self.scan.polynomial);
        if let (Some(session), Some(_)) = (self.scan.sessions.last_mut(), checksum.polynomial) {
            session.crc = checksum.polynomial;
        }
        if let Some(unit) = self.scan.units.last_mut() {
            unit.checksum = state;
        }
    }

    fn damage(&mut self, damage: &Damage) {
        if damage.loses_frames() {
            self.unfinished(Continuation::Loss);
            self.tally.has_lost = true;
        }
        self.problem(Problem::Damage(*damage));
        let missing = if let DamageKind::Missing(bytes) = damage.why { bytes } else { 0 };
        let lost = (damage.end - damage.start).saturating_add(missing);
        self.scan.lost_bytes = self.scan.lost_bytes.saturating_add(lost);
        if let Some(unit) = self.scan.units.last_mut() {
            unit.lost_bytes = unit.lost_bytes.saturating_add(lost);
        }
    }

    fn finish(mut self, end: u64) -> Scan {
        self.end_unit(end);
        self.end_session(end);
        self.scan.end = end;
        self.scan.has_replaced = self.tracker.has_replaced();
        self.tally.reach(self.tracker.streams().len());
        self.scan.statistics = self.tally.statistics;
        self.scan.clocks = self.tracker.all_clocks();
        self.scan.defined = self.tracker.known_streams().to_vec();
        self.scan.catalog = Arc::clone(self.tracker.catalog());
        self.scan.note_hidden();
        self.scan
    }
}
