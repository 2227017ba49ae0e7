//! A field as shapes: a line or a heat map, with axes.

use super::field::{Dimension, Field, TICKS};
use crate::picture::axis::Axis;
use crate::picture::{Anchor, BLACK, Color, Picture, Shape, WHITE, raster};

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 600.0;

const LEFT: f64 = 100.0;
const TOP: f64 = 50.0;
const BOTTOM: f64 = 60.0;
/// On the right of a line there is nothing, of a heat map its colours.
const RIGHT: f64 = 30.0;
const RIGHT_OF_MAP: f64 = 130.0;

/// Number of pixels of a heat map across and down. It has no more cells than that, so that each is
/// seen.
pub(super) const MAP_PIXELS: (u64, u64) = (670, 490);

const GRID: Color = [224, 224, 224];
const LINE: Color = [31, 99, 173];
/// Colour where there is no number.
const NOTHING: Color = WHITE;

/// The picture of a field.
pub(super) fn picture(field: &Field) -> Picture {
    let mut scene = Scene(Picture::new(WIDTH, HEIGHT));
    let is_map = field.rows.is_some();
    let right = WIDTH - if is_map { RIGHT_OF_MAP } else { RIGHT };
    let frame = Frame { left: LEFT, top: TOP, right, bottom: HEIGHT - BOTTOM };
    let (low, high) = field.values();
    let values = Axis::new(low, high);
    if let Some(rows) = &field.rows {
        scene.map(&frame, field, values);
        scene.colors(&frame, values);
        if let Some(shared) = field.shared(usize::MAX, usize::MAX) {
            scene.0.text((WIDTH - 10.0, frame.bottom + 40.0), Anchor::End, &shared);
        }
        scene.axes(&frame, &field.columns, Some(rows), values);
    } else {
        scene.axes(&frame, &field.columns, None, values);
        scene.line(&frame, field, values);
    }
    let middle = (f64::midpoint(frame.left, frame.right), TOP / 2.0);
    scene.0.text(middle, Anchor::Middle, &field.title);
    scene.0
}

/// A picture that is being drawn.
struct Scene(Picture);

impl Scene {
    /// The frame, round numbers on two sides, and what they count. Rows go down, values up.
    fn axes(&mut self, f: &Frame, columns: &Dimension, rows: Option<&Dimension>, values: Axis) {
        let is_map = rows.is_some();
        let x = columns.axis();
        for (number, text) in columns.ticks() {
            let at = f.left + x.place(number) * (f.right - f.left);
            if !is_map {
                self.0.line(&[(at, f.top), (at, f.bottom)], GRID);
            }
            self.0.line(&[(at, f.bottom), (at, f.bottom + 5.0)], BLACK);
            self.0.text((at, f.bottom + 16.0), Anchor::Middle, &text);
        }
        // The edge of a map is around it: every cell is seen.
        let around = if is_map { 1.0 } else { 0.0 };
        let edge = Frame { left: f.left - around, top: f.top - around, ..*f };
        let y = rows.map_or(values, Dimension::axis);
        for (number, text) in rows.map_or_else(|| y.ticks(TICKS), Dimension::ticks) {
            let place = y.place(number) * (f.bottom - f.top);
            let at = if is_map { f.top + place } else { f.bottom - place };
            if !is_map {
                self.0.line(&[(f.left, at), (f.right, at)], GRID);
            }
            self.0.line(&[(f.left - 5.0, at), (edge.left, at)], BLACK);
            self.0.text((f.left - 9.0, at), Anchor::End, &text);
        }
        self.0.line(&edge.outline(), BLACK);
        let below = (f64::midpoint(f.left, f.right), f.bottom + 40.0);
        self.0.text(below, Anchor::Middle, &columns.label);
        let name = rows.map_or("", |rows| &rows.label);
        self.0.text((f.left, f.top - 12.0), Anchor::End, name);
    }

    /// A line from the smallest to the largest number of each cell; none where there is none.
    fn line(&mut self, f: &Frame, field: &Field, values: Axis) {
        let width = (f.right - f.left) / count(field.cells.len());
        let mut points = Vec::new();
        for (at, cell) in field.cells.iter().enumerate() {
            if cell.is_empty() {
                self.0.line(&std::mem::take(&mut points), LINE);
                continue;
            }
            let x = f.left + (count(at) + 0.5) * width;
            let y = |number| f.bottom - values.place(number) * (f.bottom - f.top);
            points.push((x, y(cell.min)));
            if cell.max > cell.min {
                points.push((x, y(cell.max)));
            }
        }
        // One number alone is a short line.
        if let [(x, y)] = points[..] {
            points = vec![(x - 4.0, y), (x + 4.0, y)];
        }
        self.0.line(&points, LINE);
    }

    fn map(&mut self, f: &Frame, field: &Field, values: Axis) {
        let middle = field.middle();
        let color = |cell: &super::field::Cell| {
            cell.extreme(middle).map_or(NOTHING, |value| viridis(values.place(value)))
        };
        self.0.shapes.push(Shape::Image {
            at: (f.left, f.top),
            size: (f.right - f.left, f.bottom - f.top),
            columns: field.columns.cells(),
            pixels: field.cells.iter().map(color).collect(),
        });
    }

    /// Draws the key of colours and their numbers.
    fn colors(&mut self, f: &Frame, values: Axis) {
        let bar = Frame { left: f.right + 20.0, right: f.right + 40.0, ..*f };
        let pixels = (0..256_u16).rev().map(|n| viridis(f64::from(n) / 255.0)).collect();
        let size = (bar.right - bar.left, bar.bottom - bar.top);
        self.0.shapes.push(Shape::Image { at: (bar.left, bar.top), size, columns: 1, pixels });
        self.0.line(&bar.outline(), BLACK);
        for (number, text) in values.ticks(TICKS) {
            let at = bar.bottom - values.place(number) * (bar.bottom - bar.top);
            self.0.line(&[(bar.right, at), (bar.right + 5.0, at)], BLACK);
            self.0.text((bar.right + 9.0, at), Anchor::Start, &text);
        }
    }
}

/// Frame in which values are drawn.
#[derive(Debug, Clone, Copy)]
struct Frame {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

impl Frame {
    fn outline(&self) -> [(f64, f64); 5] {
        let Self { left, top, right, bottom } = *self;
        [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)]
    }
}

#[allow(clippy::cast_precision_loss, reason = "there are a few thousand cells at most")]
fn count(cells: usize) -> f64 {
    cells as f64
}

/// The colours of matplotlib's map of that name, dark to light, which also the colour-blind and
/// printers tell apart: a few of them, and what is between.
pub(super) fn viridis(place: f64) -> Color {
    const STOPS: [Color; 9] = [
        [68, 1, 84],
        [71, 44, 122],
        [59, 81, 139],
        [44, 113, 142],
        [33, 144, 141],
        [39, 173, 129],
        [92, 200, 99],
        [170, 220, 50],
        [253, 231, 37],
    ];
    let along = place.clamp(0.0, 1.0) * 8.0;
    let stops = STOPS.windows(2).zip(0_u8..);
    let between =
        stops.filter_map(|(pair, n)| Some((pair.first()?, pair.get(1)?, along - f64::from(n))));
    let found = between.filter(|(_, _, share)| *share >= 0.0).last();
    found.map_or([0; 3], |(from, to, share)| {
        let mut color = [0; 3];
        for (color, (from, to)) in color.iter_mut().zip(from.iter().zip(to)) {
            let mixed = f64::from(*from) + (f64::from(*to) - f64::from(*from)) * share.min(1.0);
            *color = raster::byte(mixed);
        }
        color
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_has_as_many_pixels_as_cells_at_most() {
        let size = (WIDTH - RIGHT_OF_MAP - LEFT, HEIGHT - TOP - BOTTOM);
        let pixels = |size: f64| raster::pixel(size) as u64;
        assert_eq!(MAP_PIXELS, (pixels(size.0), pixels(size.1)));
    }

    #[test]
    fn colours_go_from_dark_to_light() {
        assert_eq!(viridis(0.0), [68, 1, 84]);
        assert_eq!(viridis(1.0), [253, 231, 37]);
        assert_eq!(viridis(0.5), [33, 144, 141]);
    }
}
