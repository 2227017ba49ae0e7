//! Messages as a sequence diagram: a line down for each end, an arrow for each message.

use std::io::Write;

use kymo_model::timeline::{Clock, DisplayTime, TimeNs, TimelineView, TrackId};
use kymo_query::{Analysis, Sequence, elapsed, took};

use super::end_label;
use crate::output::Output;
use crate::picture::{Anchor, Color, Picture};
use crate::render::columns::{GAP, width_of};
use crate::render::pad::{self, Spaces};
use crate::render::{escaped, measure, style};

/// Places between two lines in the terminal, at the least and at the most.
const COLUMN: (usize, usize) = (10, 28);

/// Places between two lines where there is no room for more.
const COLUMN_NARROW: usize = 5;

/// Places for how long messages took, with the gap before: `  -5.000 ms`.
const TOOK: usize = GAP + 9;

/// Lines that there is room for, beside times that take some places; two at the least.
pub(super) fn ends_max(out: &Output, most: usize, lead: usize) -> usize {
    out.columns().map_or(most, |places| (room(places, lead) / COLUMN.0).clamp(2, most))
}

/// The places for lines beside times, and how long messages took.
fn room(places: usize, lead: usize) -> usize {
    places.saturating_sub(lead + GAP + TOOK)
}

const LINE: Color = [170, 170, 170];
const ARROW: Color = [31, 99, 173];
const LOST: Color = [190, 60, 60];

/// The first line of a picture, the distance to the next, the first arrow, and the next.
const LEFT: f64 = 360.0;
const STEP: f64 = 190.0;
const TOP: f64 = 70.0;
const ROW: f64 = 26.0;

/// Content of a chart.
pub(in crate::commands) struct Chart<'a> {
    analysis: &'a Analysis,
    clock: Option<Clock>,
    /// Senders and receivers, in the order in which they come in.
    ends: Vec<Option<TrackId>>,
    arrows: Vec<Arrow>,
}

/// A message between two ends, by their places.
struct Arrow {
    from: usize,
    to: usize,
    name: String,
    left: Option<TimeNs>,
    arrived: Option<TimeNs>,
    is_lost: bool,
}

impl Arrow {
    /// Returns the time at which the message left; where that is not known, the time at which it
    /// arrived.
    fn time(&self) -> TimeNs {
        self.left.or(self.arrived).unwrap_or(TimeNs(0))
    }

    /// Returns the duration of the message. It has a sign where the message arrived before it left,
    /// and a question mark where the time of arrival is not recorded.
    fn took(&self) -> String {
        match (self.left, self.arrived) {
            (Some(left), Some(arrived)) => took(left, arrived).map_or_else(
                || format!("-{}", measure::duration(elapsed(arrived, left))),
                measure::duration,
            ),
            (Some(_), None) if self.is_lost => "lost".to_owned(),
            (Some(_), None) => "?".to_owned(),
            _ => "unsent".to_owned(),
        }
    }
}

impl<'a> Chart<'a> {
    pub(in crate::commands) fn new(
        sequence: &Sequence,
        analysis: &'a Analysis,
        timeline: &dyn TimelineView,
    ) -> Self {
        let mut ends = Vec::new();
        let mut place = |end: Option<TrackId>| {
            let known = ends.iter().position(|known| *known == end);
            known.unwrap_or_else(|| {
                ends.push(end);
                ends.len() - 1
            })
        };
        let arrows = sequence.transfers().map(|transfer| Arrow {
            from: place(transfer.from),
            to: place(transfer.to),
            name: escaped(&transfer.name).into_owned(),
            left: transfer.left,
            arrived: transfer.arrived,
            is_lost: transfer.is_lost,
        });
        let arrows = arrows.collect();
        let first = sequence.transfers().next().and_then(|transfer| transfer.from.or(transfer.to));
        let first = first.and_then(|track| analysis.tracks().get(track.0));
        let clock = first.and_then(|track| timeline.clocks().get(track.clock?.0).cloned());
        Self { analysis, clock, ends, arrows }
    }

    fn names(&self) -> Vec<String> {
        let names = self.ends.iter().map(|end| end_label(self.analysis, *end));
        names.map(|name| escaped(&name).into_owned()).collect()
    }

    fn time(&self, time: TimeNs) -> String {
        DisplayTime::on_clock(self.clock.as_ref(), time).to_string()
    }

    /// Draws it with characters. Times are when messages leave; where there is no room for them, how
    /// long after the first.
    pub(super) fn print(&self, out: &mut Output) -> anyhow::Result<()> {
        let (bold, faint) = (out.paint().style(style::TITLE), out.paint().style(style::FAINT));
        let mut times: Vec<_> = self.arrows.iter().map(|arrow| self.time(arrow.time())).collect();
        let names = self.names();
        let is_narrow = |places| room(places, widest(&times)) < names.len() * COLUMN.0;
        if out.columns().is_some_and(is_narrow)
            && let Some(first) = self.arrows.first().map(Arrow::time)
        {
            times = self
                .arrows
                .iter()
                .map(|arrow| measure::seconds_after(first, arrow.time()))
                .collect();
            writeln!(out, "{faint}after {}{faint:#}", self.time(first))?;
        }
        let lead = widest(&times);
        let width = self.width(&names, out.columns().map(|places| room(places, lead)));
        let head = |name: &String| pad::left(&measure::fitted_middle(name, width - 1), width);
        let heads = names.iter().map(head).collect::<Vec<_>>().concat();
        writeln!(out, "{}{bold}{}{bold:#}", Spaces(lead + GAP), heads.trim_end())?;
        for (arrow, time) in self.arrows.iter().zip(times) {
            let (took, drawn) = (arrow.took(), drawn(arrow, names.len(), width));
            let time = pad::right(&time, lead);
            writeln!(out, "{faint}{time}{faint:#}  {drawn}  {faint}{took}{faint:#}")?;
        }
        Ok(())
    }

    /// Returns the distance between lines: as names need it, or as there is room for.
    fn width(&self, names: &[String], room: Option<usize>) -> usize {
        let widest = names.iter().map(|name| width_of(name) + 2);
        let widest = widest.chain(self.arrows.iter().map(|arrow| width_of(&arrow.name) + 5)).max();
        let wanted = widest.unwrap_or(0).clamp(COLUMN.0, COLUMN.1);
        let room = room.map_or(wanted, |room| room / names.len().max(1));
        wanted.min(room.max(COLUMN_NARROW))
    }

    /// Draws it as a picture. Arrows are one below the other, whatever the time between them.
    pub(in crate::commands) fn picture(&self) -> Picture {
        let place = |index: usize| f64::from(u32::try_from(index).unwrap_or(u32::MAX));
        let names = self.names();
        let bottom = TOP + place(self.arrows.len()) * ROW;
        let mut picture = Picture::new(LEFT + place(names.len()) * STEP, bottom + 20.0);
        for (index, name) in names.iter().enumerate() {
            let x = LEFT + place(index) * STEP;
            picture.line(&[(x, 45.0), (x, bottom)], LINE);
            picture.name((x, 28.0), Anchor::Middle, name, 18);
        }
        for (row, arrow) in self.arrows.iter().enumerate() {
            let y = TOP + place(row) * ROW;
            let (from, to) = (LEFT + place(arrow.from) * STEP, LEFT + place(arrow.to) * STEP);
            picture.text((LEFT - 60.0, y), Anchor::End, &self.time(arrow.time()));
            draw(&mut picture, arrow, (from, to), y);
        }
        picture
    }
}

/// The places that the longest of some texts takes.
fn widest(texts: &[String]) -> usize {
    texts.iter().map(|text| width_of(text)).max().unwrap_or(0)
}

/// An arrow with its name and how long it took. What does not arrive ends in a cross.
fn draw(picture: &mut Picture, arrow: &Arrow, (from, to): (f64, f64), y: f64) {
    let label = format!("{} {}", measure::fitted_middle(&arrow.name, 14), arrow.took());
    if arrow.from == arrow.to {
        picture.line(&[(from, y - 6.0), (from + 24.0, y - 6.0), (from + 24.0, y)], ARROW);
        picture.arrow((from + 24.0, y), (to, y), ARROW);
        return picture.text((from + 30.0, y), Anchor::Start, &label);
    }
    if arrow.is_lost {
        let end = to + if from < to { -8.0 } else { 8.0 };
        picture.line(&[(from, y), (end, y)], LOST);
        picture.line(&[(end - 4.0, y - 4.0), (end + 4.0, y + 4.0)], LOST);
        picture.line(&[(end - 4.0, y + 4.0), (end + 4.0, y - 4.0)], LOST);
    } else {
        picture.arrow((from, y), (to, y), ARROW);
    }
    // Beside the line it leaves, where no other line goes through it.
    let middle = from + if from < to { STEP / 2.0 } else { -STEP / 2.0 };
    picture.text((middle, y - 9.0), Anchor::Middle, &label);
}

/// A message between the lines of all ends: `│──PING───▶│`.
fn drawn(arrow: &Arrow, ends: usize, width: usize) -> String {
    let mut cells = vec![' '; ends * width];
    for cell in cells.iter_mut().step_by(width) {
        *cell = '│';
    }
    let mut set = |at: usize, c: char| {
        if let Some(cell) = cells.get_mut(at) {
            *cell = c;
        }
    };
    let (low, high) = (arrow.from.min(arrow.to) * width, arrow.from.max(arrow.to) * width);
    let name = measure::fitted_middle(&arrow.name, width - 4);
    if low == high {
        set(low + 1, if arrow.is_lost { '✗' } else { '◀' });
        name.chars().enumerate().for_each(|(at, c)| set(low + 3 + at, c));
    } else {
        (low + 1..high).for_each(|at| set(at, '─'));
        let is_right = arrow.from < arrow.to;
        let head = match arrow.is_lost {
            true => '✗',
            false if is_right => '▶',
            false => '◀',
        };
        set(if is_right { high - 1 } else { low + 1 }, head);
        let start = (low + high).saturating_sub(width_of(&name)) / 2;
        name.chars().enumerate().for_each(|(at, c)| set(start + at, c));
    }
    cells.into_iter().collect::<String>().trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_terminal_has_room_for_two_lines_at_the_least() {
        let ends = |places, lead| {
            let mut found = 0;
            Output::captured(places, |out| {
                found = ends_max(out, 10, lead);
                Ok(())
            });
            found
        };
        // Beside 13 for times and 13 for what messages took, 80 have room for five of 10.
        assert_eq!([ends(None, 13), ends(Some(200), 13), ends(Some(80), 13)], [10, 10, 5]);
        // With dates there is none in 40.
        assert_eq!([ends(Some(60), 13), ends(Some(40), 30), ends(Some(1), 30)], [3, 2, 2]);
    }

    #[test]
    fn arrows_go_from_line_to_line() {
        let arrow = |from, to| Arrow {
            from,
            to,
            name: "PING".to_owned(),
            left: Some(TimeNs(0)),
            arrived: Some(TimeNs(5)),
            is_lost: false,
        };
        assert_eq!(drawn(&arrow(0, 1), 2, 10), "│──PING──▶│");
        assert_eq!(drawn(&arrow(2, 1), 3, 10), "│         │◀─PING───│");
        assert_eq!(drawn(&arrow(1, 1), 2, 10), "│         │◀ PING");
        let untimed = Arrow { arrived: None, ..arrow(0, 1) };
        let found = (drawn(&untimed, 2, 10), untimed.took());
        assert_eq!(found, ("│──PING──▶│".to_owned(), "?".to_owned()));
        let lost = Arrow { is_lost: true, ..untimed };
        assert_eq!((drawn(&lost, 2, 10).as_str(), lost.took().as_str()), ("│──PING──✗│", "lost"));
        let backwards = Arrow { left: Some(TimeNs(9)), ..arrow(0, 1) };
        assert_eq!((arrow(0, 1).took(), backwards.took()), ("5 ns".to_owned(), "-4 ns".to_owned()));
    }
}
