//! A picture as PNG: shapes as pixels.

use font8x8::legacy::{BASIC_LEGACY, GREEK_LEGACY, LATIN_LEGACY};

use super::{Anchor, Color, HATCH, HATCH_STEP, HATCHED, Picture, Shape};

/// A letter is so many pixels wide and high.
const LETTER: usize = 8;

/// The picture as a file.
pub(crate) fn png(picture: &Picture) -> anyhow::Result<Vec<u8>> {
    let mut canvas = Canvas::new(pixel(picture.width), pixel(picture.height));
    for shape in &picture.shapes {
        canvas.draw(shape);
    }
    encode(canvas.width, &canvas.pixels.concat())
}

/// Pixels of red, green and blue, row after row, as PNG.
pub(crate) fn encode(width: usize, pixels: &[u8]) -> anyhow::Result<Vec<u8>> {
    let height = pixels.len() / 3 / width.max(1);
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, u32::try_from(width)?, u32::try_from(height)?);
    encoder.set_color(png::ColorType::Rgb);
    encoder.write_header()?.write_image_data(pixels)?;
    Ok(out)
}

struct Canvas {
    width: usize,
    height: usize,
    pixels: Vec<Color>,
}

impl Canvas {
    fn new(width: usize, height: usize) -> Self {
        Self { width, height, pixels: vec![[255; 3]; width * height] }
    }

    fn set(&mut self, x: usize, y: usize, color: Color) {
        if x < self.width
            && y < self.height
            && let Some(pixel) = self.pixels.get_mut(y * self.width + x)
        {
            *pixel = color;
        }
    }

    fn draw(&mut self, shape: &Shape) {
        match shape {
            Shape::Line { points, color } => {
                for pair in points.windows(2) {
                    if let [from, to] = pair {
                        self.line(*from, *to, *color);
                    }
                }
            }
            Shape::Rect { at, size, color } => self.rect(*at, *size, *color),
            Shape::Hatched { at, size, .. } => self.hatched(*at, *size),
            Shape::Text { at, anchor, text, color, .. } => self.text(*at, *anchor, text, *color),
            Shape::Image { at, size, columns, pixels } => self.image(*at, *size, *columns, pixels),
        }
    }

    fn line(&mut self, from: (f64, f64), to: (f64, f64), color: Color) {
        let (across, down) = (to.0 - from.0, to.1 - from.1);
        // No step is longer than a pixel, so that none is left out.
        let steps = pixel(across.abs().max(down.abs()).ceil()).max(1);
        for step in 0..=steps {
            // A hair more, lest a product that is rounded down leaves its pixel out.
            let along = |from: f64, way: f64| pixel(from + way * place(step) / place(steps) + 1e-6);
            self.set(along(from.0, across), along(from.1, down), color);
        }
    }

    /// Letters of eight by eight pixels; those that the font lacks are question marks.
    fn text(&mut self, (x, y): (f64, f64), anchor: Anchor, text: &str, color: Color) {
        let width = place(text.chars().count() * LETTER);
        let left = match anchor {
            Anchor::Start => x,
            Anchor::Middle => x - width / 2.0,
            Anchor::End => x - width,
        };
        let (left, top) = (pixel(left), pixel(y - 4.0));
        for (at, letter) in text.chars().enumerate() {
            let glyph = glyph(letter).or_else(|| glyph('?'));
            for (row, bits) in glyph.into_iter().flatten().enumerate() {
                for column in (0..LETTER).filter(|column| bits >> column & 1 == 1) {
                    self.set(left + at * LETTER + column, top + row, color);
                }
            }
        }
    }

    fn rect(&mut self, at: (f64, f64), size: (f64, f64), color: Color) {
        self.fill(at, size, |_, _| color);
    }

    /// A box with lines from its upper right to its lower left. They go on in the box beside it.
    fn hatched(&mut self, at: (f64, f64), size: (f64, f64)) {
        let is_line = |x: usize, y: usize| (x + y).is_multiple_of(HATCH_STEP.into());
        self.fill(at, size, |x, y| if is_line(x, y) { HATCH } else { HATCHED });
    }

    fn fill(&mut self, at: (f64, f64), size: (f64, f64), color: impl Fn(usize, usize) -> Color) {
        let (left, top) = (pixel(at.0), pixel(at.1));
        // What is there is seen, however thin.
        let right = pixel(at.0 + size.0).max(left + 1).min(self.width);
        let bottom = pixel(at.1 + size.1).max(top + 1).min(self.height);
        for y in top..bottom {
            for x in left..right {
                self.set(x, y, color(x, y));
            }
        }
    }

    fn image(&mut self, at: (f64, f64), size: (f64, f64), columns: usize, pixels: &[Color]) {
        let columns = columns.max(1);
        let rows = pixels.len() / columns;
        let (left, top) = (pixel(at.0), pixel(at.1));
        let (width, height) = (pixel(size.0), pixel(size.1));
        for y in 0..height {
            for x in 0..width {
                let cell = (y * rows / height) * columns + x * columns / width;
                if let Some(&color) = pixels.get(cell) {
                    self.set(left + x, top + y, color);
                }
            }
        }
    }
}

/// Sign where a text is cut: three points, which the font lacks.
const ELLIPSIS: [u8; LETTER] = [0, 0, 0, 0, 0, 0, 0b0100_1001, 0];

/// The rows of a letter: of ASCII, Latin-1 and Greek, with what units are written in.
fn glyph(letter: char) -> Option<&'static [u8; LETTER]> {
    // These are the same to the eye: the signs of the micrometre, the ohm and the ångström.
    let letter = match letter {
        '…' => return Some(&ELLIPSIS),
        '\u{3bc}' => '\u{b5}',
        '\u{2126}' => '\u{3a9}',
        '\u{212b}' => '\u{c5}',
        other => other,
    };
    let code = usize::try_from(u32::from(letter)).ok()?;
    let pages: [(usize, &'static [[u8; LETTER]]); 3] =
        [(0, &BASIC_LEGACY), (0xa0, &LATIN_LEGACY), (0x390, &GREEK_LEGACY)];
    let found = pages.into_iter().find_map(|(first, page)| page.get(code.checked_sub(first)?));
    found.filter(|rows| letter == ' ' || letter == '\u{a0}' || rows.iter().any(|row| *row != 0))
}

/// Returns true if a text has letters that there are no pixels for.
pub(crate) fn is_missing_letters(text: &str) -> bool {
    text.chars().any(|letter| glyph(letter).is_none())
}

#[allow(clippy::cast_precision_loss, reason = "a picture has a few thousand pixels")]
fn place(pixel: usize) -> f64 {
    pixel as f64
}

/// The pixel of a place; what is left of the picture is its edge.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is clamped")]
pub(crate) fn pixel(place: f64) -> usize {
    place.clamp(0.0, 1e6) as usize
}

/// A part of a colour.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is clamped")]
pub(crate) fn byte(part: f64) -> u8 {
    part.round().clamp(0.0, 255.0) as u8
}

#[cfg(test)]
mod tests {
    use super::super::BLACK;
    use super::*;

    #[test]
    fn a_line_has_no_gaps_whatever_its_length() {
        for length in 1..1000_u16 {
            let mut canvas = Canvas::new(1200, 1);
            canvas.line((100.0, 0.0), (100.0 + f64::from(length), 0.0), BLACK);
            let drawn = canvas.pixels.iter().filter(|pixel| **pixel == BLACK).count();
            assert_eq!(drawn, usize::from(length) + 1);
        }
    }

    #[test]
    fn a_line_of_many_short_parts_has_no_gaps() {
        let mut canvas = Canvas::new(200, 1);
        let points = (0..100).map(|n| (f64::from(n) * 1.9, 0.0)).collect();
        canvas.draw(&Shape::Line { points, color: BLACK });
        assert!(canvas.pixels[..=188].iter().all(|pixel| *pixel == BLACK));
    }

    #[test]
    fn a_hatched_box_has_a_line_every_six_pixels() {
        let mut canvas = Canvas::new(14, 2);
        canvas.draw(&Shape::Hatched { at: (1.0, 0.0), size: (12.0, 2.0), title: "" });
        let lines = |row: usize| {
            let row = canvas.pixels[row * 14..][..14].iter().enumerate();
            row.filter(|(_, color)| **color == HATCH).map(|(x, _)| x).collect::<Vec<_>>()
        };
        assert_eq!([lines(0), lines(1)], [vec![6, 12], vec![5, 11]]);
        let boxed = canvas.pixels.iter().filter(|color| **color == HATCHED).count();
        assert_eq!(boxed, 2 * 12 - 4);
    }

    #[test]
    fn the_letters_of_units_have_pixels() {
        assert!(!is_missing_letters("Δφ [µm² °C], Å Ω μ α×β a b"));
        assert!(
            ["日本", "a\u{1}"].into_iter().all(is_missing_letters) && !is_missing_letters("cut…")
        );
        // Of the micro sign, not a question mark.
        assert_ne!(glyph('µ'), glyph('?'));
    }

    #[test]
    fn what_is_drawn_beyond_the_picture_is_not() {
        let mut canvas = Canvas::new(4, 2);
        canvas.line((-9.0, 0.0), (99.0, 0.0), BLACK);
        canvas.text((3.0, 1.0), Anchor::Start, "\u{3c6}x", BLACK);
        canvas.image((2.0, 1.0), (9.0, 9.0), 1, &[[1, 2, 3]]);
        assert!(canvas.pixels[..2].iter().all(|pixel| *pixel == BLACK));
        assert_eq!(canvas.pixels[7], [1, 2, 3]);
    }
}
