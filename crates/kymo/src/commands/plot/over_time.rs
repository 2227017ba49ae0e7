//! The numbers of a stream, drawn over time.

use std::ops::Range;
use std::sync::Arc;

use kymo_model::timeline::{
    Content, DisplayTime, Event, TimeNs, TimelineView, Track, TrackId, TrackKind, Window,
};

use super::Args;
use super::field::{Dimension, Field};
use crate::failure::Failure;
use crate::moment;
use crate::picture::axis::shown;
use crate::render::{escaped, numbers};
use crate::scope;
use crate::tracks;

/// Number of numbers, and their spread.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Moments {
    count: u64,
    mean: f64,
    /// The sum of squares of the distances from the mean.
    squares: f64,
}

impl Moments {
    #[allow(clippy::cast_precision_loss, reason = "a mean has fewer digits")]
    fn add(&mut self, value: f64) {
        self.count += 1;
        let before = value - self.mean;
        self.mean += before / self.count as f64;
        self.squares += before * (value - self.mean);
    }

    /// The deviation of the numbers there are, not of what they may be a sample of.
    #[allow(clippy::cast_precision_loss, reason = "a deviation has fewer digits")]
    fn deviation(&self) -> f64 {
        (self.squares / self.count.max(1) as f64).sqrt()
    }

    /// Returns the text that a person reads.
    pub(super) fn to_text(self) -> String {
        let count = numbers::count(self.count, "value", "values");
        format!("{count}, mean {}, deviation {}", shown(self.mean), shown(self.deviation()))
    }
}

/// The stream that a name means, and how many others have that name.
pub(super) fn find(timeline: &dyn TimelineView, name: &str) -> Result<(TrackId, usize), Failure> {
    let all = timeline.tracks();
    let named = |(_, track): &(usize, &Track)| track.name == name;
    let mut ids = all.iter().enumerate().filter(named).map(|(id, _)| TrackId(id));
    let has_numbers = |track: &&Track| track.kind == TrackKind::Counter && !track.is_clock();
    match ids.next() {
        Some(id) => Ok((id, ids.count())),
        None if all.iter().any(|track| has_numbers(&track)) => {
            Err(tracks::missing(name, all.iter().filter(has_numbers)))
        }
        None => Err(Failure::new("it has neither arrays nor streams of numbers to draw")),
    }
}

/// Reads the numbers of a stream.
pub(super) fn read(
    timeline: &Arc<dyn TimelineView>,
    id: TrackId,
    args: &Args,
) -> anyhow::Result<Field> {
    let tracks = timeline.tracks();
    let name = tracks.get(id.0).map_or("", |track| &track.name);
    let has_times = tracks.get(id.0).is_some_and(|track| track.clock.is_some());
    let mut line = if has_times { over_time(timeline, id, args)? } else { in_order(timeline, id)? };
    name.clone_into(&mut line.field.title);
    let window = Window { tracks: Some(vec![id]), ..line.window.clone() };
    let mut events = Arc::clone(timeline).events(&window)?;
    while let Some(event) = events.next()? {
        line.take(&event);
    }
    if line.moments.count == 0 {
        let why = format!("{} has no number that could be drawn", escaped(name));
        return Err(Failure::new(why).hint("`kymo dump --stream` shows what it has").into());
    }
    Ok(line.finish())
}

/// A line that is being drawn.
struct Line {
    field: Field,
    window: Window,
    /// Range from beginning to end; `None` where numbers have an order and no time.
    range: Option<Range<i64>>,
    /// Number of events.
    place: u64,
    /// The number that counts until there is another.
    held: Option<f64>,
    /// Cells before this one have what they ever get of numbers that are held.
    reached: usize,
    moments: Moments,
}

/// A line over the time of a recording that is asked for.
fn over_time(timeline: &Arc<dyn TimelineView>, id: TrackId, args: &Args) -> anyhow::Result<Line> {
    let only = [id];
    let (from, until) = moment::resolve_range(args.since, args.until, timeline, Some(&only))?;
    let all = moment::range_of(timeline, Some(&only))?;
    let end = all.end().0.saturating_add(1);
    let start = from.map_or(all.start().0, |from| from.0.max(all.start().0));
    let range = start..until.map_or(end, |until| until.0.min(end));
    if range.is_empty() {
        return Err(Failure::new(scope::nothing_in_range(timeline, &all, (from, until))).into());
    }
    let clock = timeline.tracks().get(id.0).and_then(|track| track.clock);
    let clock = clock.and_then(|clock| timeline.clocks().get(clock.0).cloned());
    let start = DisplayTime::on_clock(clock.as_ref(), TimeNs(range.start));
    let columns = Dimension::time_axis(start, range.end.abs_diff(range.start));
    let mut line = Line::new(columns, Window { from, until, ..Window::default() }, Some(range));
    line.held = from.map(|from| value_before(timeline, id, from)).transpose()?.flatten();
    Ok(line)
}

/// The number that counts already when a range begins.
fn value_before(
    timeline: &Arc<dyn TimelineView>,
    id: TrackId,
    from: TimeNs,
) -> anyhow::Result<Option<f64>> {
    let until = Some(from);
    let window = Window { tracks: Some(vec![id]), from: None, until, last: Some(1) };
    let mut events = Arc::clone(timeline).events(&window)?;
    Ok(events.next()?.as_ref().and_then(number).filter(|number| number.is_finite()))
}

/// A line of numbers that have no times.
fn in_order(timeline: &Arc<dyn TimelineView>, id: TrackId) -> anyhow::Result<Line> {
    let window = Window { tracks: Some(vec![id]), ..Window::default() };
    let tallies = Arc::clone(timeline).tallies(&window)?;
    let count = tallies.get(id.0).map_or(0, |tally| tally.events);
    Ok(Line::new(Dimension::new("event", 0, count), window, None))
}

fn number(event: &Event<'_>) -> Option<f64> {
    let Content::Value(value) = &event.content else { return None };
    value.as_f64()
}

impl Line {
    fn new(columns: Dimension, window: Window, range: Option<Range<i64>>) -> Self {
        let field = Field::line(String::new(), columns);
        let moments = Moments::default();
        Self { field, window, range, place: 0, held: None, reached: 0, moments }
    }

    fn take(&mut self, event: &Event<'_>) {
        let place = match (&self.range, event.time) {
            (Some(range), Some(time)) if range.contains(&time.0) => time.0.abs_diff(range.start),
            (Some(_), _) => {
                self.field.missing += 1;
                return;
            }
            (None, _) => self.place,
        };
        self.place += 1;
        match number(event) {
            Some(number) if number.is_finite() => self.put(self.field.columns.cell(place), number),
            Some(_) => self.field.special += 1,
            None => self.field.missing += 1,
        }
    }

    fn put(&mut self, cell: usize, number: f64) {
        self.hold(cell);
        self.field.cells.get_mut(cell).into_iter().for_each(|cell| cell.add(number));
        self.moments.add(number);
        self.held = Some(number);
    }

    /// Puts the held value into all cells up to one. Where times go back, those cells are filled
    /// already.
    fn hold(&mut self, cell: usize) {
        if self.range.is_none() || cell < self.reached {
            return;
        }
        let cells = self.field.cells.get_mut(self.reached..=cell);
        if let (Some(held), Some(cells)) = (self.held, cells) {
            for cell in cells {
                cell.add(held);
            }
        }
        self.reached = cell + 1;
    }

    fn finish(mut self) -> Field {
        self.hold(self.field.cells.len().saturating_sub(1));
        self.field.moments = Some(self.moments);
        self.field
    }
}

#[cfg(test)]
mod tests {
    use super::super::field::Cell;
    use super::*;

    fn values(line: &Line) -> Vec<Option<(f64, f64)>> {
        let told = |cell: &Cell| (!cell.is_empty()).then_some((cell.min, cell.max));
        line.field.cells.iter().map(told).collect()
    }

    #[test]
    fn a_number_counts_until_there_is_another() {
        let start = DisplayTime { time: TimeNs(0), since_epoch: false };
        let mut line = Line::new(Dimension::time_axis(start, 6), Window::default(), Some(0..6));
        line.put(1, 5.0);
        line.put(3, 7.0);
        // Where time goes back, the number is where it was, and nothing is drawn again.
        line.put(2, 1.0);
        assert_eq!(values(&line)[0], None);
        assert_eq!(values(&line)[1..4], [Some((5.0, 5.0)), Some((1.0, 5.0)), Some((5.0, 7.0))]);
        line.hold(5);
        assert_eq!(values(&line)[4..], [Some((1.0, 1.0)); 2]);
    }

    #[test]
    fn the_spread_of_numbers_is_that_of_those_there_are() {
        // Of 2, 4, 4, 4, 5, 5, 7 and 9 the mean is 5, and the squares of distances add up to 32.
        let mut moments = Moments::default();
        for value in [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0] {
            moments.add(value);
        }
        assert_eq!(moments.to_text(), "8 values, mean 5, deviation 2");
    }
}
