//! A Gantt chart as shapes.

use std::collections::BTreeMap;

use kymo_model::timeline::{DisplayTime, TimeNs};
use kymo_query::{Arrow, Buckets, Row, RowKind, elapsed};

use super::{DrawnChart, LOST};
use crate::picture::axis::{self, Axis};
use crate::picture::{Anchor, BLACK, Color, Picture};
use crate::render::escaped;

const LEFT: f64 = 210.0;
const TOP: f64 = 50.0;
const WIDTH: f64 = 1000.0;
const ROW: f64 = 20.0;
const BAR: f64 = 13.0;
const RIGHT: f64 = 30.0;
const BOTTOM: f64 = 60.0;

const GRID: Color = [224, 224, 224];
const RELEASE: Color = [120, 120, 120];
const ARROW: Color = [190, 60, 60];

/// Colours that also the colour-blind tell apart (Okabe and Ito), and more for larger machines.
const COLORS: [Color; 16] = [
    [0, 114, 178],
    [230, 159, 0],
    [0, 158, 115],
    [204, 121, 167],
    [86, 180, 233],
    [213, 94, 0],
    [150, 140, 20],
    [94, 60, 153],
    [120, 80, 40],
    [90, 90, 90],
    [160, 200, 60],
    [190, 30, 80],
    [0, 90, 80],
    [140, 150, 220],
    [60, 40, 90],
    [220, 150, 130],
];

/// Number of steps in which colours get pale: cells of one colour are one box.
const SHADES: u64 = 4;

pub(super) fn picture(drawn: &DrawnChart, title: &str) -> Picture {
    let rows = drawn.gantt.rows();
    let bottom = TOP + place(rows.len()) * ROW;
    let notes = drawn.omission_notes("");
    let height = bottom + BOTTOM + place(notes.len()) * ROW;
    let mut picture = Picture::new(LEFT + WIDTH + RIGHT, height + place(key_rows(drawn)) * ROW);
    key(&mut picture, drawn, bottom + BOTTOM);
    axis(&mut picture, drawn, bottom);
    let states = drawn.states().into_iter().enumerate().map(|(place, name)| (name, place));
    let places: BTreeMap<_, _> = states.collect();
    for (index, row) in rows.iter().enumerate() {
        let top = TOP + place(index) * ROW;
        let name = escaped(&drawn.name(row.kind)).into_owned();
        picture.name((LEFT - 8.0, top + ROW / 2.0), Anchor::End, &name, 25);
        bars(&mut picture, row, top, drawn.gantt.buckets(), &state_colors(row, &places));
    }
    for arrow in drawn.gantt.arrows() {
        message(&mut picture, drawn, arrow);
    }
    let height = height + place(key_rows(drawn)) * ROW;
    for (index, note) in notes.iter().rev().enumerate() {
        let y = height - ROW * (place(index) + 0.5);
        picture.text((LEFT, y), Anchor::Start, note);
    }
    picture.name((LEFT, TOP / 2.0), Anchor::Start, &escaped(title), 110);
    picture
}

/// Number of colours in a row of the key.
const KEYS: usize = 5;

/// States that the key has at the most.
const STATES_MAX: usize = 15;

/// Returns the colour of each processor, and of each state. An entry that has no colour is hatched.
fn keys(drawn: &DrawnChart) -> Vec<(Option<Color>, &str)> {
    let cpus = drawn.cpus().into_iter().map(|(cpu, name)| (Some(color(cpu, SHADES)), name));
    let states = drawn.states().into_iter().take(STATES_MAX).enumerate();
    let states = states.map(|(place, name)| (Some(color(state_color(place), SHADES)), name));
    let lost = drawn.gantt.has_unknown().then_some((None, LOST));
    cpus.chain(states).chain(lost).collect()
}

fn key_rows(drawn: &DrawnChart) -> usize {
    keys(drawn).len().div_ceil(KEYS)
}

fn key(picture: &mut Picture, drawn: &DrawnChart, top: f64) {
    for (index, (color, name)) in keys(drawn).into_iter().enumerate() {
        let x = LEFT + place(index % KEYS) * (WIDTH / place(KEYS));
        let y = top + place(index / KEYS) * ROW;
        let (at, size) = ((x, y - BAR / 2.0), (BAR, BAR));
        match color {
            Some(color) => picture.rect(at, size, color),
            None => picture.hatched(at, size, LOST),
        }
        picture.name((x + BAR + 6.0, y), Anchor::Start, &escaped(name), 22);
    }
}

/// Colours of states come from the end, for those of processors come from the begin.
fn state_color(place: usize) -> usize {
    COLORS.len() - 1 - place % COLORS.len()
}

/// The colour of each state of a row, by its place there.
fn state_colors(row: &Row, places: &BTreeMap<&str, usize>) -> Vec<usize> {
    let place = |state: &String| places.get(state.as_str()).copied().unwrap_or(0);
    row.states.iter().map(|state| state_color(place(state))).collect()
}

/// Round times below, counted from the first moment, which is named.
fn axis(picture: &mut Picture, drawn: &DrawnChart, bottom: f64) {
    let buckets = drawn.gantt.buckets();
    let span = elapsed(buckets.start, buckets.begin(buckets.count));
    let (axis, name) = Axis::time_axis(span);
    for (number, text) in axis.ticks(10) {
        let x = LEFT + axis.place(number) * WIDTH;
        picture.line(&[(x, TOP), (x, bottom)], GRID);
        picture.text((x, bottom + 14.0), Anchor::Middle, &text);
    }
    picture.line(&[(LEFT, bottom), (LEFT + WIDTH, bottom)], BLACK);
    let start = DisplayTime { time: buckets.start, since_epoch: drawn.since_epoch };
    let label = axis::unit_after_start(name, start);
    picture.text((LEFT + WIDTH / 2.0, bottom + 38.0), Anchor::Middle, &label);
}

/// Boxes for cells of one colour, and marks for releases.
fn bars(picture: &mut Picture, row: &Row, top: f64, buckets: Buckets, of_states: &[usize]) {
    let width = WIDTH / place(row.cells.len().max(1));
    let mut start = 0;
    for index in 0..row.cells.len() {
        let look = CellLook::from_cell(row, index, buckets);
        if CellLook::from_cell(row, index + 1, buckets) == look {
            continue;
        }
        let (x, length) = (LEFT + place(start) * width, place(index + 1 - start) * width);
        let (at, size) = ((x, top + (ROW - BAR) / 2.0), (length, BAR));
        match look {
            Some(CellLook::Filled(shade, what)) => {
                let color = color(of_states.get(what).copied().unwrap_or(what), shade);
                picture.rect(at, size, color);
                label(picture, row, (what, color), (x, top + ROW / 2.0), length);
            }
            Some(CellLook::Lost) => picture.hatched(at, size, LOST),
            Some(CellLook::Empty) | None => {}
        }
        start = index + 1;
    }
    for cell in &row.releases {
        let (x, y) = (LEFT + place(*cell) * width, top + ROW - 1.0);
        picture.line(&[(x, y), (x, y - 3.0)], RELEASE);
    }
}

/// Look of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CellLook {
    Empty,
    /// Darkness of the cell, and what most of it is filled with.
    Filled(u64, usize),
    /// Most of it is not known.
    Lost,
}

impl CellLook {
    fn from_cell(row: &Row, cell: usize, buckets: Buckets) -> Option<Self> {
        let (ns, what) = row.cells.get(cell).copied()?;
        Some(match shade(ns, buckets.length_ns(cell)) {
            _ if row.is_unknown(cell) => Self::Lost,
            0 => Self::Empty,
            shade => Self::Filled(shade, what),
        })
    }
}

/// Returns the darkness of a cell that is filled for so long of its length.
fn shade(ns: u64, length_ns: u64) -> u64 {
    let shades = (u128::from(ns) * u128::from(SHADES)).div_ceil(u128::from(length_ns.max(1)));
    u64::try_from(shades).unwrap_or(SHADES).min(SHADES)
}

/// The name of a state, where there is room for it.
fn label(
    picture: &mut Picture,
    row: &Row,
    (what, color): (usize, Color),
    at: (f64, f64),
    length: f64,
) {
    if let (RowKind::States(_), Some(name)) = (row.kind, row.states.get(what)) {
        let name = escaped(name);
        if place(name.chars().count()) * 8.5 + 6.0 < length {
            picture.text_on(color, (at.0 + 3.0, at.1), Anchor::Start, &name);
        }
    }
}

fn color(what: usize, shade: u64) -> Color {
    let full = COLORS.get(what % COLORS.len()).copied().unwrap_or(BLACK);
    full.map(|part| {
        let pale = u64::from(255 - part) * (SHADES - shade) * 3 / (SHADES * 4);
        part.saturating_add(u8::try_from(pale).unwrap_or(0))
    })
}

fn message(picture: &mut Picture, drawn: &DrawnChart, arrow: &Arrow) {
    let buckets = drawn.gantt.buckets();
    let span = elapsed(buckets.start, buckets.begin(buckets.count)).max(1);
    let x = |time: TimeNs| {
        let after = ratio(elapsed(buckets.start, time), span);
        LEFT + (after - ratio(elapsed(time, buckets.start), span)) * WIDTH
    };
    let y = |row: usize| TOP + (place(row) + 0.5) * ROW;
    let (from, to) = ((x(arrow.left), y(arrow.from)), (x(arrow.arrived), y(arrow.to)));
    let Some((from, end)) = clipped(from, to) else { return };
    if end == to {
        picture.arrow(from, to, ARROW);
    } else {
        // It arrives outside.
        picture.line(&[from, end], ARROW);
    }
}

/// The part of a line that is between the left and the right border.
fn clipped(from: (f64, f64), to: (f64, f64)) -> Option<((f64, f64), (f64, f64))> {
    const BORDERS: std::ops::RangeInclusive<f64> = LEFT..=LEFT + WIDTH;
    let (left, right) = (from.0.min(to.0), from.0.max(to.0));
    if right < *BORDERS.start() || left > *BORDERS.end() {
        return None;
    }
    let within = |point: (f64, f64)| {
        if BORDERS.contains(&point.0) {
            return point;
        }
        let x = point.0.clamp(*BORDERS.start(), *BORDERS.end());
        (x, from.1 + (to.1 - from.1) * ((x - from.0) / (to.0 - from.0)))
    };
    Some((within(from), within(to)))
}

#[allow(clippy::cast_precision_loss, reason = "a picture shows fewer digits")]
fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

#[allow(clippy::cast_precision_loss, reason = "there are a few thousand at most")]
fn place(index: usize) -> f64 {
    index as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_at_the_borders_where_they_cross_them() {
        let end = LEFT + WIDTH;
        let (from, to) = ((LEFT + 5.0, 50.0), (LEFT + 90.0, 90.0));
        assert_eq!(clipped(from, to), Some((from, to)));
        // Each has a quarter of its way outside, in time and so in height.
        let (before, after) = ((LEFT - 10.0, 50.0), (end + 10.0, 90.0));
        assert_eq!(clipped(before, (LEFT + 30.0, 90.0)).unwrap().0, (LEFT, 60.0));
        assert_eq!(clipped((end - 30.0, 50.0), after).unwrap().1, (end, 80.0));
        // One that arrives before it left goes back over the border.
        assert_eq!(clipped((LEFT + 30.0, 50.0), (LEFT - 10.0, 90.0)).unwrap().1, (LEFT, 80.0));
        let through = clipped((LEFT - 500.0, 0.0), (end + 500.0, 200.0));
        assert_eq!(through, Some(((LEFT, 50.0), (end, 150.0))));
        assert_eq!(clipped((LEFT - 20.0, 50.0), before), None);
        assert_eq!(clipped(after, (end + 20.0, 50.0)), None);
    }

    #[test]
    fn what_ran_for_a_part_of_a_cell_is_paler() {
        assert_eq!(color(0, SHADES), [0, 114, 178]);
        assert!(color(0, 1).iter().zip(color(0, SHADES)).all(|(pale, full)| *pale >= full));
        assert_eq!(color(COLORS.len(), 2), color(0, 2));
    }
}
