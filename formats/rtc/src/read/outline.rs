//! Outline of a file, from a few of its units: sessions, streams and clocks.
//!
//! A session's Units lie at multiples of their size, so that the last one is found by halves. Its
//! Meta tells the next id that is free: when every id below it was seen defined somewhere, no
//! stream is missing. Where that cannot be had, or anything is damaged, there is no outline, and
//! going through all of the file tells.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use kymo_core::bytes::{Endian, Limits};
use kymo_rtc_wire::read::{
    Begin, Damage, DamageKind, Definition, IndexedStream, Item, Lookup, Place, Ruler, Streams,
    View, Walker, is_marker, major_index,
};
use kymo_rtc_wire::spec::{MARKER_BYTES, id};

use super::tracker::{Catalog, Tracker};
use crate::types::Stream;

/// Ids that are looked for one by one.
const IDS_MAX: u32 = 1 << 16;

/// Number of Metas that are searched for streams that the last one leaves out.
const METAS_MAX: usize = 64;

/// Number of bytes that are searched for streams that the last Unit leaves out; beyond that all of
/// the file may as well be.
const BACK_BYTES_MAX: u64 = 16 << 20;

/// The bytes of a platform frame.
const PLATFORM: u64 = 5;

/// Number of units before one that are read where it can be read in several ways.
const UNITS_BACK_MAX: u64 = 8;

/// Number of places that are tried for the earlier position of the stream that a unit opens with.
const PLACES_BACK_MAX: usize = 4;

/// A file as a few of its units show it.
#[derive(Debug)]
pub(crate) struct Outline {
    pub sessions: Vec<Ticks>,
    pub catalog: Arc<Catalog>,
    /// The clock of each stream.
    pub clocks: Vec<Option<usize>>,
}

/// A session: where its Units and units are.
#[derive(Debug)]
pub(crate) struct Ticks {
    pub number: usize,
    pub start: u64,
    pub end: u64,
    pub ruler: Ruler,
    pub endian: Option<Endian>,
    /// Lengths of the frames of its streams.
    pub streams: Streams,
}

/// A tick by its number in the session: of a Unit, or of a unit within one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Tick(pub u64);

impl Outline {
    /// Looks at the first unit and the last Unit of each session.
    pub(crate) fn new(view: &View<'_>, limits: &Limits) -> Option<Self> {
        let mut outline = Self { sessions: vec![], catalog: Arc::default(), clocks: vec![] };
        let mut position = 0;
        while position < view.end() {
            let number = outline.sessions.len();
            let (ticks, streams) = Survey::new(view, number, position)?.finish()?;
            position = ticks.end;
            let catalog = Arc::get_mut(&mut outline.catalog)?;
            for stream in streams {
                catalog.add(stream);
            }
            outline.sessions.push(ticks);
            let found = outline.catalog.streams.len() + outline.sessions.len();
            if found as u64 > limits.items_max {
                return None;
            }
        }
        outline.find_clocks(limits);
        Some(outline)
    }

    fn find_clocks(&mut self, limits: &Limits) {
        let mut tracker = Tracker::knowing(Arc::clone(&self.catalog), limits);
        for session in &self.sessions {
            tracker.begin_session(session.number);
        }
        self.clocks = tracker.all_clocks();
    }
}

impl Ticks {
    /// Returns the number of ticks of a Unit.
    fn ticks_per_unit(&self) -> u64 {
        let (major, minor) = (self.ruler.major, self.ruler.minor.max(1));
        // The last tick leaves room for a checksum.
        let data = major.saturating_sub(MARKER_BYTES as u64 + 5 + 1);
        data / minor + 1
    }

    /// Returns the offset of a tick: a Unit's Marker, or an index.
    pub(crate) fn position(&self, tick: Tick) -> u64 {
        let (unit, part) = (tick.0 / self.ticks_per_unit(), tick.0 % self.ticks_per_unit());
        let marker = self.start + unit * self.ruler.major;
        if part == 0 { marker } else { marker + MARKER_BYTES as u64 + part * self.ruler.minor }
    }

    /// The last tick at a position or before it.
    pub(crate) fn tick_at(&self, position: u64) -> Tick {
        let from_start = position.saturating_sub(self.start);
        let (unit, within) = (from_start / self.ruler.major, from_start % self.ruler.major);
        let part = within.saturating_sub(MARKER_BYTES as u64) / self.ruler.minor;
        Tick(unit * self.ticks_per_unit() + part.min(self.ticks_per_unit() - 1))
    }

    pub(crate) fn last_tick(&self) -> Tick {
        self.tick_at(self.end.saturating_sub(1))
    }

    /// Returns the end of the unit of a tick.
    pub(crate) fn end_of(&self, tick: Tick) -> u64 {
        self.position(Tick(tick.0 + 1)).min(self.end)
    }

    /// The tick of a tick's Unit.
    pub(crate) fn unit_of(&self, tick: Tick) -> Tick {
        Tick(tick.0 - tick.0 % self.ticks_per_unit())
    }

    fn lookup<'a>(&self, view: &View<'a>, tick: Tick) -> Option<Lookup<'a>> {
        let position = self.position(tick);
        let is_unit = self.unit_of(tick) == tick;
        Lookup::read(view, if is_unit { position + MARKER_BYTES as u64 } else { position })
    }

    /// Returns the entry for a stream in the indices at a tick: its last position before.
    pub(crate) fn find(&self, view: &View<'_>, tick: Tick, id: u32) -> Option<IndexedStream> {
        let mut listed = self.lookup(view, tick)?.find(id)?;
        let unit = self.unit_of(tick);
        if listed == IndexedStream::Absent && unit != tick {
            listed = self.lookup(view, unit)?.find(id)?;
        }
        match listed {
            IndexedStream::At(at) if at < self.start || at >= self.position(tick) => None,
            listed => Some(listed),
        }
    }

    /// A walk from a tick on.
    pub(crate) fn walker(&self, view: &View<'_>, tick: Tick) -> Walker {
        let here = self.walker_at(view, tick, None);
        let Err(rest) = first_begins(here.clone(), view) else { return here };
        // What the unit begins with can be read in several ways: the frames before it tell, best
        // from where the stream last was.
        let begun = rest.into_iter().flat_map(|id| self.places_before(view, tick, id));
        let begun = begun.take(PLACES_BACK_MAX).map(|frame| self.walker_from(view, frame));
        let earlier = (1..=UNITS_BACK_MAX).map_while(|back| Some(Tick(tick.0.checked_sub(back)?)));
        let earlier = earlier.flat_map(|from| {
            let named = self.first_named(view, from);
            let from_named = named.map(|frame| self.walker_at(view, from, Some(frame)));
            from_named.into_iter().chain([self.walker_at(view, from, None)])
        });
        let is_sure = |walker: &Walker| first_begins(walker.clone(), view).is_ok();
        let arrived = |walker| arrive(walker, view, self.position(tick)).filter(is_sure);
        begun.chain(earlier).find_map(arrived).unwrap_or(here)
    }

    /// Returns the positions of a stream before a tick as given by indices, from unit to unit.
    fn places_before<'a>(
        &'a self,
        view: &'a View<'_>,
        tick: Tick,
        id: u32,
    ) -> impl Iterator<Item = u64> + 'a {
        let before = move |tick| match self.find(view, tick, id)? {
            IndexedStream::At(frame) => Some(frame),
            IndexedStream::Absent | IndexedStream::Never => None,
        };
        std::iter::successors(before(tick), move |frame| before(self.tick_at(*frame)))
    }

    /// The first frame that the index after a unit names, but for the one that opens the unit.
    fn first_named(&self, view: &View<'_>, tick: Tick) -> Option<u64> {
        let rest = self.data_start(view, tick)? + 1..self.end_of(tick);
        let index = self.lookup(view, Tick(tick.0 + 1))?;
        let users = index.places().filter(|(id, at)| *id >= id::FIRST_USER && rest.contains(at));
        users.map(|(_, at)| at).min()
    }

    /// The stream of fixed length with the rest of whose message a unit opens.
    pub(crate) fn opens_with_rest(&self, view: &View<'_>, tick: Tick) -> Option<u32> {
        let (id, begin) = first_begins(self.walker(view, tick), view).ok()?;
        (begin == Begin::Continuation).then_some(id)
    }

    /// A walk from a frame on that an index names, where that is not the first of its unit.
    pub(crate) fn walker_from(&self, view: &View<'_>, frame: u64) -> Walker {
        let tick = self.tick_at(frame);
        let is_later = self.data_start(view, tick).is_some_and(|start| start < frame);
        self.walker_at(view, tick, is_later.then_some(frame))
    }

    /// Returns the offset of the first frame of a unit that can be one of a stream: after the
    /// index, or after the platform of a Unit.
    fn data_start(&self, view: &View<'_>, tick: Tick) -> Option<u64> {
        if self.unit_of(tick) != tick {
            return Some(self.lookup(view, tick)?.end());
        }
        match self.lookup(view, Tick(tick.0 + 1))?.find(id::PLATFORM)? {
            IndexedStream::At(platform) if platform > self.position(tick) => {
                Some(platform + PLATFORM)
            }
            _ => None,
        }
    }

    fn walker_at(&self, view: &View<'_>, tick: Tick, frame: Option<u64>) -> Walker {
        let count = tick.0 / self.ticks_per_unit();
        let marker = self.start + count * self.ruler.major;
        let ruler = Ruler { marker: i64::try_from(marker).unwrap_or(i64::MAX), ..self.ruler };
        let (session, tick) = (self.number as u64, self.position(tick));
        let is_big_endian = self.endian.map(|endian| endian == Endian::Big);
        let place = Place { session, ruler, count, tick, frame };
        Walker::in_session(view, &place, self.streams.clone(), is_big_endian)
    }
}

/// The first frame of a stream that a walk comes to, and whether it begins a message. Where there
/// is doubt, the stream of whose message it may be the rest.
fn first_begins(
    mut walker: Walker,
    view: &View<'_>,
) -> std::result::Result<(u32, Begin), Option<u32>> {
    loop {
        match walker.next(view) {
            Ok(Item::Frame(frame)) if frame.id >= id::FIRST_USER => {
                return Ok((frame.id, frame.begin));
            }
            Ok(Item::Damage(Damage { why: DamageKind::Rest(id), .. })) => return Err(Some(id)),
            Ok(Item::Damage(_) | Item::Streams(_)) => return Err(None),
            Ok(Item::End) | Err(_) => return Ok((id::NUL, Begin::Start)),
            Ok(Item::Frame(_) | Item::Unit(_) | Item::Checksum(_)) => {}
        }
    }
}

/// The walk when it comes to a place, if nothing is in the way.
fn arrive(mut walker: Walker, view: &View<'_>, position: u64) -> Option<Walker> {
    while walker.position() < position {
        match walker.next(view).ok()? {
            Item::Frame(_) | Item::Unit(_) | Item::Checksum(_) => {}
            Item::Damage(_) | Item::Streams(_) | Item::End => return None,
        }
    }
    (walker.position() == position).then_some(walker)
}

/// A session that is being looked at.
struct Survey<'a> {
    view: &'a View<'a>,
    ticks: Ticks,
    found: Vec<Stream>,
    /// Description that was given for each stream.
    said: HashMap<u32, String>,
    /// True if another description was given for one, or a description had to be mended.
    is_doubtful: bool,
    next_free: Option<u32>,
}

impl<'a> Survey<'a> {
    /// Looks at the first unit of a session, or as many as its Meta takes.
    fn new(view: &'a View<'a>, number: usize, start: u64) -> Option<Self> {
        if !is_marker(view, start) || major_index(view, start)?.count != 0 {
            return None;
        }
        let mut walker = Walker::from_position(start).without_checksums();
        walker.next(view).ok()?;
        let (ruler, streams) = (walker.ruler()?, Streams::new());
        let ticks = Ticks { number, start, end: view.end(), ruler, endian: None, streams };
        let (found, said, is_doubtful, next_free) = (vec![], HashMap::new(), false, None);
        let mut survey = Self { view, ticks, found, said, is_doubtful, next_free };
        // The Meta of many streams is longer than a unit.
        for tick in (0..survey.ticks.ticks_per_unit()).map(Tick) {
            survey.walk(&mut walker, survey.ticks.end_of(tick))?;
            if survey.next_free.is_some() {
                break;
            }
        }
        Some(survey)
    }

    /// Takes in what a walk meets, up to a place or to the next session; then that is the end.
    fn walk(&mut self, walker: &mut Walker, until: u64) -> Option<()> {
        while walker.position() < until {
            match walker.next(self.view).ok()? {
                Item::Frame(frame) if matches!(frame.id, id::META | id::MINOR_META) => {
                    if !frame.more {
                        self.learn(frame.position, walker);
                    }
                }
                Item::Frame(frame) if frame.id == id::PLATFORM => {
                    let endian = |is_big| if is_big { Endian::Big } else { Endian::Little };
                    self.ticks.endian = walker.is_big_endian().map(endian);
                }
                Item::Unit(unit) if unit.position > self.ticks.start => {
                    let is_of_session = self.is_in_place(unit.position, unit.count);
                    if !is_of_session && unit.count == Some(0) {
                        self.ticks.end = unit.position;
                        return Some(());
                    }
                    is_of_session.then_some(())?;
                }
                Item::Damage(_) | Item::Streams(_) => return None,
                Item::End => break,
                Item::Frame(_) | Item::Unit(_) | Item::Checksum(_) => {}
            }
        }
        Some(())
    }

    /// Returns true if a Unit is where its number says.
    fn is_in_place(&self, position: u64, count: Option<u64>) -> bool {
        let distance = position.checked_sub(self.ticks.start);
        count.is_some_and(|count| count.checked_mul(self.ticks.ruler.major) == distance)
    }

    fn learn(&mut self, offset: u64, walker: &Walker) {
        let definitions = walker.definitions();
        let is_mended = definitions.streams.iter().any(|found| found.is_proven);
        self.is_doubtful |= is_mended || definitions.contradicted.is_some();
        self.next_free = definitions.next_free;
        for definition in definitions.streams.iter().filter(|found| found.id >= id::FIRST_USER) {
            self.define(offset, definition);
        }
    }

    fn define(&mut self, offset: u64, definition: &Definition) {
        if definition.is_whole {
            let said = self.said.entry(definition.id).or_insert_with(|| definition.text.clone());
            self.is_doubtful |= *said != definition.text;
        }
        if definition.is_whole && !self.ticks.streams.is_described(definition.id) {
            self.ticks.streams.define(definition.id, definition.length);
            self.found.push(Stream::new(self.ticks.number, offset, definition));
        }
    }

    /// Looks at the last Unit, and for streams that it leaves out.
    fn finish(mut self) -> Option<(Ticks, Vec<Stream>)> {
        let last = self.last_unit();
        let first = self.found.len();
        self.walk(&mut self.ticks.walker(self.view, last), self.view.end())?;
        let next_free = self.next_free.filter(|next| *next <= IDS_MAX)?;
        self.look_back(last, next_free);
        let is_missing = |id: &u32| !self.ticks.streams.is_described(*id);
        if self.is_doubtful || (id::FIRST_USER..next_free).any(|id| is_missing(&id)) {
            return None;
        }
        // Those that the first unit defines come in its order, and others in that of their ids.
        self.found.get_mut(first..)?.sort_by_key(|stream| stream.id);
        Some((self.ticks, self.found))
    }

    /// The last Unit that is in its place.
    fn last_unit(&self) -> Tick {
        let (start, major) = (self.ticks.start, self.ticks.ruler.major);
        let is_there = |count: u64| {
            let position = start + count * major;
            let index = major_index(self.view, position);
            index.is_some_and(|index| index.count == count) && is_marker(self.view, position)
        };
        let (mut low, mut high) = (0, (self.view.end() - start) / major);
        while low < high {
            let middle = high - (high - low) / 2;
            if is_there(middle) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        Tick(low * self.ticks.ticks_per_unit())
    }

    /// Looks for streams that the last Unit does not describe: in the Unit where each was last,
    /// and in earlier Metas.
    fn look_back(&mut self, last: Tick, next_free: u32) -> Option<()> {
        // A Unit is gone through once, however many streams were last in it.
        let mut units: BTreeMap<Tick, u64> = BTreeMap::new();
        let index = self.ticks.lookup(self.view, last)?;
        let here = self.ticks.start..self.ticks.position(last);
        for (id, at) in index.places().filter(|(_, at)| here.contains(at)) {
            if (id::FIRST_USER..next_free).contains(&id) && !self.ticks.streams.is_described(id) {
                let unit = self.ticks.unit_of(self.ticks.tick_at(at));
                let end = units.entry(unit).or_default();
                *end = at.saturating_add(1).max(*end);
            }
        }
        let bytes = units.iter().map(|(unit, end)| end.saturating_sub(self.ticks.position(*unit)));
        if bytes.sum::<u64>() > BACK_BYTES_MAX {
            return None;
        }
        for (unit, end) in units {
            self.walk(&mut self.ticks.walker(self.view, unit), end)?;
        }
        let mut unit = last;
        for _ in 0..METAS_MAX {
            let mut ids = id::FIRST_USER..next_free;
            if ids.all(|id| self.ticks.streams.is_described(id)) {
                break;
            }
            let IndexedStream::At(meta) = self.ticks.find(self.view, unit, id::META)? else {
                break;
            };
            unit = self.ticks.unit_of(self.ticks.tick_at(meta));
            self.walk(&mut self.ticks.walker(self.view, unit), self.ticks.end_of(unit))?;
        }
        Some(())
    }
}
