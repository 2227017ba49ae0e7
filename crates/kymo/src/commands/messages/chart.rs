//! Messages as a sequence diagram: a line down for each end, an arrow for each message.

use std::io::Write;

use kymo_analyse::{Analysis, Sequence, elapsed};
use kymo_core::model::timeline::{Clock, Shown, TimeNs, TimelineView, TrackId};

use super::end_name;
use crate::output::Output;
use crate::picture::{Anchor, Color, Picture};
use crate::render::columns::width_of;
use crate::render::{escaped, measure, style};

/// Places between two lines in the terminal, at the least and at the most.
const COLUMN: (usize, usize) = (10, 28);

const LINE: Color = [170, 170, 170];
const ARROW: Color = [31, 99, 173];

/// What a chart shows.
pub(super) struct Chart<'a> {
    analysis: &'a Analysis,
    clock: Option<Clock>,
    /// Who sends and receives, in the order in which they come in.
    ends: Vec<Option<TrackId>>,
    arrows: Vec<Arrow>,
}

/// A message between two ends, by their places.
struct Arrow {
    from: usize,
    to: usize,
    name: String,
    left: Option<TimeNs>,
    arrived: TimeNs,
}

impl<'a> Chart<'a> {
    pub(super) fn new(
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
        let arrows = sequence.sent().iter().map(|sent| Arrow {
            from: place(sent.from),
            to: place(Some(sent.to)),
            name: escaped(&sent.name).into_owned(),
            left: sent.left,
            arrived: sent.arrived,
        });
        let arrows = arrows.collect();
        let first = sequence.sent().first().and_then(|sent| analysis.tracks().get(sent.to.0));
        let clock = first.and_then(|track| timeline.clocks().get(track.clock?.0).cloned());
        Self { analysis, clock, ends, arrows }
    }

    fn names(&self) -> Vec<String> {
        let names = self.ends.iter().map(|end| end_name(self.analysis, *end));
        names.map(|name| escaped(name).into_owned()).collect()
    }

    fn time(&self, time: TimeNs) -> String {
        Shown::on(self.clock.as_ref(), time).to_string()
    }

    /// Draws it with characters.
    pub(super) fn print(&self, out: &mut Output) -> anyhow::Result<()> {
        let names = self.names();
        let widest = names.iter().map(|name| width_of(name) + 2);
        let widest = widest.chain(self.arrows.iter().map(|arrow| width_of(&arrow.name) + 5)).max();
        let width = widest.unwrap_or(0).clamp(COLUMN.0, COLUMN.1);
        let lead = self.arrows.iter().map(|arrow| self.time(arrow.arrived).len()).max();
        let lead = lead.unwrap_or(0);
        let (bold, faint) = (out.paint().style(style::TITLE), out.paint().style(style::FAINT));
        let heads =
            names.iter().map(|name| format!("{:<width$}", measure::fitted(name, width - 2)));
        let heads = heads.collect::<Vec<_>>().concat();
        writeln!(out, "{:lead$}  {bold}{}{bold:#}", "", heads.trim_end())?;
        for arrow in &self.arrows {
            let time = self.time(arrow.arrived);
            let took = arrow.left.map(|left| measure::duration(elapsed(left, arrow.arrived)));
            let took = took.map_or(String::new(), |took| format!("  {took}"));
            let drawn = drawn(arrow, names.len(), width);
            writeln!(out, "{faint}{time:>lead$}{faint:#}  {drawn}{faint}{took}{faint:#}")?;
        }
        Ok(())
    }

    /// Draws it as a picture. Arrows are one below the other, whatever the time between them.
    pub(super) fn picture(&self) -> Picture {
        const LEFT: f64 = 240.0;
        const STEP: f64 = 170.0;
        const ROW: f64 = 26.0;
        let place = |index: usize| f64::from(u32::try_from(index).unwrap_or(u32::MAX));
        let names = self.names();
        let bottom = 70.0 + place(self.arrows.len()) * ROW;
        let mut picture = Picture::new(LEFT + place(names.len()) * STEP, bottom + 20.0);
        for (index, name) in names.iter().enumerate() {
            let x = LEFT + place(index) * STEP;
            picture.line(&[(x, 45.0), (x, bottom)], LINE);
            picture.text((x, 28.0), Anchor::Middle, &measure::fitted(name, 20));
        }
        for (row, arrow) in self.arrows.iter().enumerate() {
            let y = 70.0 + place(row) * ROW;
            let (from, to) = (LEFT + place(arrow.from) * STEP, LEFT + place(arrow.to) * STEP);
            picture.text((LEFT - 90.0, y), Anchor::End, &self.time(arrow.arrived));
            if arrow.from == arrow.to {
                picture.line(&[(from, y - 6.0), (from + 24.0, y - 6.0), (from + 24.0, y)], ARROW);
                picture.arrow((from + 24.0, y), (to, y), ARROW);
                picture.text((from + 30.0, y), Anchor::Start, &measure::fitted(&arrow.name, 16));
            } else {
                picture.arrow((from, y), (to, y), ARROW);
                let middle = (f64::midpoint(from, to), y - 9.0);
                picture.text(middle, Anchor::Middle, &measure::fitted(&arrow.name, 20));
            }
        }
        picture
    }
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
    let name = measure::fitted(&arrow.name, width - 4);
    if low == high {
        set(low + 1, '◀');
        name.chars().enumerate().for_each(|(at, c)| set(low + 3 + at, c));
    } else {
        (low + 1..high).for_each(|at| set(at, '─'));
        let is_right = arrow.from < arrow.to;
        set(if is_right { high - 1 } else { low + 1 }, if is_right { '▶' } else { '◀' });
        let start = (low + high).saturating_sub(width_of(&name)) / 2;
        name.chars().enumerate().for_each(|(at, c)| set(start + at, c));
    }
    cells.into_iter().collect::<String>().trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrows_go_from_line_to_line() {
        let arrow =
            |from, to| Arrow { from, to, name: "PING".to_owned(), left: None, arrived: TimeNs(0) };
        assert_eq!(drawn(&arrow(0, 1), 2, 10), "│──PING──▶│");
        assert_eq!(drawn(&arrow(2, 1), 3, 10), "│         │◀─PING───│");
        assert_eq!(drawn(&arrow(1, 1), 2, 10), "│         │◀ PING");
    }
}
