//! Content of streams: number of events, their first and last time, and the most frequent names or
//! messages.

use std::collections::HashMap;
use std::sync::Arc;

use kymo_model::timeline::{
    Clock, Content, DisplayTime, TimelineView, Track, TrackId, TrackKind, TrackStatistics, Tracks,
};
use kymo_query::Buckets;

use super::Args;
use super::page::{Cell, Page};
use crate::picture::axis::{self, Axis};
use crate::picture::{Anchor, BLACK, Color, Picture, svg};
use crate::render::{escaped, numbers, value};
use crate::scope::Scope;

/// Streams that are drawn, and how many cells each has.
const LANES_MAX: usize = 16;
const CELLS: usize = 240;

/// Messages or names that are counted, one by one; the rest are told together.
const WORDINGS_MAX: usize = 1 << 14;

/// So much of a message is looked at.
const WORDING_CHARS: usize = 160;

const LEFT: f64 = 230.0;
const WIDTH: f64 = 940.0;
const RIGHT: f64 = 70.0;
const TOP: f64 = 12.0;
const LANE: f64 = 34.0;
const BAR: f64 = 28.0;
const BOTTOM: f64 = 56.0;

const COUNTS: Color = [86, 140, 190];
const NUMBERS: Color = [200, 90, 20];
const GRID: Color = [228, 228, 228];

/// Adds the streams of a timeline.
pub(super) fn add(page: &mut Page, args: &Args, scope: &Scope) -> anyhow::Result<()> {
    let timeline = &scope.timeline;
    let (tracks, clocks) = (timeline.tracks(), timeline.clocks());
    let tallies = Arc::clone(timeline).tallies(scope.window())?;
    let mut busiest: Vec<_> =
        tallies.iter().enumerate().filter(|(_, item)| item.events > 0).collect();
    busiest.sort_by_key(|(id, tally)| (u64::MAX - tally.events, *id));
    table(page, args, &busiest, &tracks, &clocks);
    let mut found = StreamFindings::new(scope, &busiest, &tracks);
    let mut events = Arc::clone(timeline).events(scope.window())?;
    while let Some(event) = events.next()? {
        found.take(event.track, event.time.map(|time| time.0), &event.content);
    }
    drop(events);
    if let Some(picture) = found.picture(scope, &tracks) {
        page.heading("Events over time");
        page.caption(
            "Bars are how many events there are, each stream by a scale of its own; lines are the numbers \
             of streams that have such.",
        );
        page.svg(&svg::text(&picture)?);
        if busiest.len() > LANES_MAX {
            let more = busiest.len() - LANES_MAX;
            page.remarks(&[numbers::count(more as u64, "stream not drawn", "streams not drawn")]);
        }
    }
    found.wordings.add(page, args);
    Ok(())
}

/// Writes the number of events of each stream, their first and last time, and their rate.
fn table(
    page: &mut Page,
    args: &Args,
    busiest: &[(usize, &TrackStatistics)],
    tracks: &Tracks,
    clocks: &[Clock],
) {
    let row = |(id, tally): &(usize, &TrackStatistics)| {
        let track = tracks.get(*id);
        let clock = track.and_then(|track| clocks.get(track.clock?.0));
        let shown = |time| DisplayTime::on_clock(clock, time).to_string();
        let (from, to) = tally.times.map(|(from, to)| (shown(from), shown(to))).unzip();
        let span = tally.times.map(|(from, to)| from.0.abs_diff(to.0));
        let [min, max] = tally
            .numbers
            .as_ref()
            .map_or([String::new(), String::new()], |numbers| numbers.each_ref().map(value));
        vec![
            Cell::Number(numbers::grouped(tally.events)),
            Cell::Number(span.and_then(|ns| rate(tally.events, ns)).unwrap_or_default()),
            Cell::Text(from.unwrap_or_default()),
            Cell::Text(to.unwrap_or_default()),
            Cell::Number(min),
            Cell::Number(max),
            Cell::Text(track.map_or("", |track| track.kind.name()).to_owned()),
            Cell::Text(track.map(|track| track.name.clone()).unwrap_or_default()),
        ]
    };
    let heads = [
        ("events", true),
        ("a second", true),
        ("from", false),
        ("to", false),
        ("smallest", true),
        ("largest", true),
        ("kind", false),
        ("stream", false),
    ];
    page.listed("Streams", &heads, &busiest.iter().map(row).collect::<Vec<_>>(), args.number);
}

/// Events a second between the first and the last.
#[allow(clippy::cast_precision_loss, reason = "a rate has three digits")]
fn rate(events: u64, span_ns: u64) -> Option<String> {
    let between = events.checked_sub(1).filter(|between| *between > 0 && span_ns > 0)?;
    Some(axis::shown(significant(between as f64 / (span_ns as f64 / 1e9))))
}

/// A number of three digits.
fn significant(number: f64) -> f64 {
    format!("{number:.2e}").parse().unwrap_or(number)
}

/// Facts that one way through all events finds.
struct StreamFindings {
    buckets: Option<Buckets>,
    /// The place of a stream's lane, by its track.
    places: HashMap<TrackId, usize>,
    lanes: Vec<Lane>,
    wordings: Wordings,
}

/// Part of a stream that is drawn.
struct Lane {
    track: TrackId,
    counts: Vec<u32>,
    /// The smallest and the largest number of each cell, of a stream of numbers.
    numbers: Vec<Option<(f64, f64)>>,
}

impl StreamFindings {
    fn new(scope: &Scope, busiest: &[(usize, &TrackStatistics)], tracks: &Tracks) -> Self {
        let clock = |id: usize| tracks.get(id).and_then(|track| track.clock);
        // Times of one clock can be compared: that of the stream that has most.
        let first = busiest.iter().find_map(|(id, _)| clock(*id));
        let drawn = busiest.iter().map(|(id, _)| *id).filter(|id| clock(*id) == first);
        let drawn = drawn.take(LANES_MAX).filter(|_| first.is_some());
        let buckets = scope.buckets(CELLS).ok();
        let cells = buckets.map_or(0, |buckets| buckets.count);
        let lanes: Vec<_> = drawn
            .map(|id| {
                let is_numbers =
                    tracks.get(id).is_some_and(|this_track| this_track.kind == TrackKind::Counter);
                let numbers = if is_numbers { vec![None; cells] } else { Vec::new() };
                Lane { track: TrackId(id), counts: vec![0; cells], numbers }
            })
            .collect();
        let places = lanes.iter().enumerate().map(|(place, lane)| (lane.track, place)).collect();
        Self { buckets, places, lanes, wordings: Wordings::new(scope.timeline.as_ref()) }
    }

    fn take(&mut self, track: TrackId, time: Option<i64>, content: &Content<'_>) {
        if let Content::Text(text) = content {
            self.wordings.add_text(text);
        }
        let lane = self.places.get(&track).and_then(|place| self.lanes.get_mut(*place));
        let (Some(lane), Some(buckets), Some(time)) = (lane, &self.buckets, time) else { return };
        let Some(cell) = cell_of(buckets, time) else { return };
        if let Some(count) = lane.counts.get_mut(cell) {
            *count = count.saturating_add(1);
        }
        let number = match content {
            Content::Value(value) => value.as_f64().filter(|number| number.is_finite()),
            _ => None,
        };
        if let (Some(number), Some(known)) = (number, lane.numbers.get_mut(cell)) {
            let (min, max) = known.unwrap_or((number, number));
            *known = Some((min.min(number), max.max(number)));
        }
    }

    fn picture(&self, scope: &Scope, tracks: &Tracks) -> Option<Picture> {
        let buckets = self.buckets.filter(|buckets| buckets.end > buckets.start)?;
        if self.lanes.is_empty() {
            return None;
        }
        let bottom = TOP + count(self.lanes.len()) * LANE;
        let mut picture = Picture::new(LEFT + WIDTH + RIGHT, bottom + BOTTOM);
        time_axis(&mut picture, scope, &buckets, bottom);
        for (place, lane) in self.lanes.iter().enumerate() {
            let base = TOP + count(place) * LANE + BAR + 3.0;
            let name = tracks.get(lane.track.0).map_or("", |track: &Track| &track.name);
            picture.name((LEFT - 8.0, base - BAR / 2.0), Anchor::End, &escaped(name), 28);
            lane.draw(&mut picture, base);
        }
        Some(picture)
    }
}

/// The cell that a time is in.
fn cell_of(buckets: &Buckets, time: i64) -> Option<usize> {
    let is_within = (buckets.start.0..=buckets.end.0).contains(&time);
    let cell = time.abs_diff(buckets.start.0) / buckets.width_ns;
    let cell = usize::try_from(cell).ok()?.min(buckets.count.saturating_sub(1));
    is_within.then_some(cell)
}

impl Lane {
    fn draw(&self, picture: &mut Picture, base: f64) {
        let cell = WIDTH / count(self.counts.len().max(1));
        let left = |place: usize| LEFT + count(place) * cell;
        picture.line(&[(LEFT, base), (LEFT + WIDTH, base)], GRID);
        let values = self.numbers.iter().flatten();
        let ends = values.fold(None, |ends: Option<(f64, f64)>, (min, max)| {
            let (low, high) = ends.unwrap_or((*min, *max));
            Some((low.min(*min), high.max(*max)))
        });
        let Some((low, high)) = ends else {
            let most = self.counts.iter().copied().max().unwrap_or(0).max(1);
            for (place, events) in self.counts.iter().enumerate().filter(|(_, n)| **n > 0) {
                let height = (f64::from(*events) / f64::from(most) * BAR).max(1.0);
                picture.rect((left(place), base - height), (cell.max(1.0), height), COUNTS);
            }
            let most = numbers::grouped(most.into());
            picture.text((LEFT + WIDTH + 6.0, base - BAR / 2.0), Anchor::Start, &most);
            return;
        };
        let axis = Axis::new(low, high);
        let at = |number: f64| base - axis.place(number) * BAR;
        let mut points = Vec::new();
        for (place, (min, max)) in
            self.numbers.iter().enumerate().filter_map(|(place, pair)| Some((place, (*pair)?)))
        {
            let x = left(place) + cell / 2.0;
            points.push((x, at(min)));
            if max > min {
                points.push((x, at(max)));
            }
        }
        if let [(x, y)] = points[..] {
            points = vec![(x - 3.0, y), (x + 3.0, y)];
        }
        picture.line(&points, NUMBERS);
        let side = LEFT + WIDTH + 6.0;
        picture.text((side, base - BAR + 3.0), Anchor::Start, &axis::shown(significant(high)));
        if high > low {
            picture.text((side, base - 3.0), Anchor::Start, &axis::shown(significant(low)));
        }
    }
}

fn time_axis(picture: &mut Picture, scope: &Scope, buckets: &Buckets, bottom: f64) {
    let (axis, unit) = Axis::time_axis(buckets.start.0.abs_diff(buckets.end.0));
    for (number, text) in axis.ticks(8) {
        let x = LEFT + axis.place(number) * WIDTH;
        picture.line(&[(x, TOP), (x, bottom)], GRID);
        picture.text((x, bottom + 16.0), Anchor::Middle, &text);
    }
    picture.line(&[(LEFT, bottom), (LEFT + WIDTH, bottom)], BLACK);
    let below = axis::unit_after_start(unit, scope.shown(buckets.start));
    picture.text((LEFT + WIDTH / 2.0, bottom + 38.0), Anchor::Middle, &below);
}

#[allow(clippy::cast_precision_loss, reason = "there are a few hundred at most")]
fn count(places: usize) -> f64 {
    places as f64
}

/// Messages that differ in their numbers alone, or events of one name.
struct Wordings {
    /// True if events have fields, so that texts may begin with the names of events.
    have_fields: bool,
    /// Number of texts that do.
    named: u64,
    counts: HashMap<String, u64>,
    others: u64,
}

impl Wordings {
    fn new(timeline: &dyn TimelineView) -> Self {
        let have_fields = timeline.has_fields();
        Self { have_fields, named: 0, counts: HashMap::new(), others: 0 }
    }

    fn add_text(&mut self, text: &str) {
        let name = named(text).filter(|_| self.have_fields);
        self.named += u64::from(name.is_some());
        let wording = name.map_or_else(|| wording(text), str::to_owned);
        if let Some(count) = self.counts.get_mut(&wording) {
            *count += 1;
        } else if self.counts.len() < WORDINGS_MAX {
            self.counts.insert(wording, 1);
        } else {
            self.others += 1;
        }
    }

    fn add(self, page: &mut Page, args: &Args) {
        let all = self.counts.values().sum::<u64>() + self.others;
        let mut rows: Vec<_> = self.counts.into_iter().collect();
        rows.sort_by(|(a, most), (b, more)| more.cmp(most).then_with(|| a.cmp(b)));
        let row = |(text, count): (String, u64)| {
            vec![
                Cell::Number(numbers::grouped(count)),
                Cell::Share(self::share(count, all)),
                Cell::Text(text),
            ]
        };
        let (title, head) = if self.named * 2 > all {
            ("Events by name", "event")
        } else {
            ("Most frequent messages", "message, # for numbers")
        };
        let heads = [("times", true), ("", true), (head, false)];
        page.listed(title, &heads, &rows.into_iter().map(row).collect::<Vec<_>>(), args.number);
        if self.others > 0 {
            page.remarks(&[format!("{} of other wordings", numbers::grouped(self.others))]);
        }
    }
}

#[allow(clippy::cast_precision_loss, reason = "a share has three digits")]
fn share(part: u64, all: u64) -> f64 {
    part as f64 / all.max(1) as f64
}

/// The name that a text begins with, as those of tracers do.
fn named(text: &str) -> Option<&str> {
    let name = text.split_once(": ").map(|(name, _)| name).or_else(|| text.strip_suffix(':'));
    let is_of_name = |c: char| c.is_alphanumeric() || "_:./-<>".contains(c);
    name.filter(|name| !name.is_empty() && name.chars().all(is_of_name))
}

/// A message without its numbers, and no more of it than tells it from others.
fn wording(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    let mut found = String::new();
    let mut characters = line.chars().take(WORDING_CHARS).peekable();
    while let Some(character) = characters.next() {
        if !character.is_ascii_digit() {
            found.push(character);
            continue;
        }
        found.push('#');
        while characters
            .next_if(|next| next.is_ascii_digit() || matches!(next, '.' | '_'))
            .is_some()
        {}
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_that_differ_in_numbers_are_one() {
        assert_eq!(wording("request 17 took 2.50 ms"), wording("request 4 took 12.7 ms"));
        assert_eq!(wording("  a12b\nmore"), "a#b");
        assert_ne!(wording("opened"), wording("closed"));
        assert_eq!(wording(&"x".repeat(500)).len(), WORDING_CHARS);
    }

    #[test]
    fn rates_are_between_the_first_and_the_last_event() {
        // Eleven events in a second are one every tenth of it.
        assert_eq!(rate(11, 1_000_000_000).as_deref(), Some("10"));
        assert_eq!(rate(3, 3_000_000_000).as_deref(), Some("0.667"));
        assert_eq!((rate(1, 5), rate(7, 0), rate(0, 0)), (None, None, None));
    }

    #[test]
    fn names_stand_before_what_events_say() {
        assert_eq!(named("sched:sched_switch: prev=1"), Some("sched:sched_switch"));
        assert_eq!([named("INIT"), named("x:")], [None, Some("x")]);
        assert_eq!([named("cannot open: no such file"), named("{\"x\": 1}")], [None, None]);
    }
}
