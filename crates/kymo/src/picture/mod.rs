//! Pictures as shapes, and how they become SVG or PNG.

pub(crate) mod axis;
pub(crate) mod raster;
pub(crate) mod svg;

use std::io::Write;
use std::path::Path;

use kymo_core::{Destination, Source};

use crate::failure::Failure;
use crate::render::measure;
use crate::session::{Named, OpenedFile, Outcome, Session};
use crate::{inputs, outlet};

/// Red, green and blue.
pub(crate) type Color = [u8; 3];

pub(crate) const BLACK: Color = [34, 34, 34];
pub(crate) const WHITE: Color = [255, 255, 255];

/// A hatched box, the lines on it, and how far these are apart, across and down.
const HATCHED: Color = [222, 222, 222];
const HATCH: Color = [130, 130, 130];
const HATCH_STEP: u8 = 6;

/// Position of a text relative to its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// Something to draw. Later ones cover earlier ones.
#[derive(Debug)]
pub(crate) enum Shape {
    /// A line through points.
    Line { points: Vec<(f64, f64)>, color: Color },
    /// A box, by its left upper corner.
    Rect { at: (f64, f64), size: (f64, f64), color: Color },
    /// A grey box with lines across, and what it means.
    Hatched { at: (f64, f64), size: (f64, f64), title: &'static str },
    /// A text whose middle is at a height, and the whole of it where that is more.
    Text { at: (f64, f64), anchor: Anchor, text: String, whole: Option<String>, color: Color },
    /// Cells of colours, row after row from the top.
    Image { at: (f64, f64), size: (f64, f64), columns: usize, pixels: Vec<Color> },
}

/// Drawing that is being made.
#[derive(Debug)]
pub(crate) struct Picture {
    /// Its size, in units of its own, which are pixels in PNG.
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) shapes: Vec<Shape>,
}

impl Picture {
    pub(crate) fn new(width: f64, height: f64) -> Self {
        Self { width, height, shapes: Vec::new() }
    }

    pub(crate) fn text(&mut self, at: (f64, f64), anchor: Anchor, text: &str) {
        let text = text.to_owned();
        self.shapes.push(Shape::Text { at, anchor, text, whole: None, color: BLACK });
    }

    /// A name in so many places, without its middle where it is longer.
    pub(crate) fn name(&mut self, at: (f64, f64), anchor: Anchor, name: &str, places: usize) {
        let text = measure::fitted_middle(name, places);
        let whole = (text != name).then(|| name.to_owned());
        self.shapes.push(Shape::Text { at, anchor, text, whole, color: BLACK });
    }

    /// A text on a colour that it can be read on.
    pub(crate) fn text_on(&mut self, back: Color, at: (f64, f64), anchor: Anchor, text: &str) {
        let color = if is_dark(back) { WHITE } else { BLACK };
        let text = text.to_owned();
        self.shapes.push(Shape::Text { at, anchor, text, whole: None, color });
    }

    pub(crate) fn line(&mut self, points: &[(f64, f64)], color: Color) {
        self.shapes.push(Shape::Line { points: points.to_vec(), color });
    }

    pub(crate) fn rect(&mut self, at: (f64, f64), size: (f64, f64), color: Color) {
        self.shapes.push(Shape::Rect { at, size, color });
    }

    pub(crate) fn hatched(&mut self, at: (f64, f64), size: (f64, f64), title: &'static str) {
        self.shapes.push(Shape::Hatched { at, size, title });
    }

    /// A line with a head at its end.
    pub(crate) fn arrow(&mut self, from: (f64, f64), to: (f64, f64), color: Color) {
        let (across, down) = (to.0 - from.0, to.1 - from.1);
        let length = across.hypot(down).max(1e-9);
        let (x, y) = (across / length * 6.0, down / length * 6.0);
        let back = (to.0 - x, to.1 - y);
        self.line(&[from, to], color);
        let wings = [(back.0 - y / 2.0, back.1 + x / 2.0), (back.0 + y / 2.0, back.1 - x / 2.0)];
        self.line(&[wings[0], to, wings[1]], color);
    }
}

/// Returns true if white is easier to read on a colour than black, by its luminance as WCAG 2 has
/// it.
fn is_dark(color: Color) -> bool {
    let [red, green, blue] = color.map(|part| {
        let part = f64::from(part) / 255.0;
        if part <= 0.040_45 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
    });
    // There the contrast to both is the same: 1.05 / (y + 0.05) = (y + 0.05) / 0.05.
    0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.179
}

/// File type of a picture.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    Png,
    Svg,
}

impl Kind {
    /// Returns the file type that the name of an output asks for; on standard output it is SVG.
    pub(crate) fn from_path(output: &Path) -> anyhow::Result<Self> {
        if output.as_os_str() == "-" {
            return Ok(Self::Svg);
        }
        let extension = output.extension().and_then(|text| text.to_str()).unwrap_or_default();
        match extension.to_ascii_lowercase().as_str() {
            "png" => Ok(Self::Png),
            "svg" => Ok(Self::Svg),
            _ => {
                let failure = Failure::usage("pictures are .png or .svg");
                Err(Named::error(inputs::display(output), failure))
            }
        }
    }

    /// Returns true if a picture has letters that this kind of file shows as question marks.
    pub(crate) fn is_missing_letters(self, picture: &Picture) -> bool {
        let mut texts = picture.shapes.iter().filter_map(|shape| match shape {
            Shape::Text { text, .. } => Some(text),
            _ => None,
        });
        matches!(self, Self::Png) && texts.any(|text| raster::is_missing_letters(text))
    }

    /// The picture as a file.
    pub(crate) fn bytes(self, picture: &Picture) -> anyhow::Result<Vec<u8>> {
        match self {
            Self::Png => raster::png(picture),
            Self::Svg => Ok(svg::text(picture)?.into_bytes()),
        }
    }
}

/// Writes a picture of a file, also on standard output. Tells whether all letters are in it.
pub(crate) fn put(
    session: &mut Session,
    opened: &OpenedFile,
    output: &Path,
    force: bool,
    (kind, picture): (Kind, &Picture),
) -> anyhow::Result<Outcome> {
    let bytes = kind.bytes(picture)?;
    if output.as_os_str() == "-" {
        session.out.write_all(&bytes)?;
    } else {
        write(&opened.source, output, force, &bytes)?;
    }
    if !kind.is_missing_letters(picture) {
        return Ok(Outcome::Done);
    }
    let text = "letters that PNG has no font for are question marks; .svg has all";
    session.report.remark(&opened.name, text);
    Ok(Outcome::Findings)
}

/// Writes a file that was made of a source: whole, or not at all.
pub(crate) fn write(
    source: &Source,
    output: &Path,
    force: bool,
    bytes: &[u8],
) -> anyhow::Result<()> {
    let about = |error| outlet::about(output, error);
    let to = Destination::new(output, force).made_from(std::slice::from_ref(source));
    let mut file = to.file().map_err(about)?;
    file.write_all(bytes).map_err(|error| outlet::blamed(output, error.into()))?;
    file.commit().map_err(about)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_white_on_dark_colours_and_black_on_others() {
        // Luminances by WCAG 2: dark purple 0.023, blue 0.157; orange 0.426, and pale blue 0.400.
        assert!([[60, 40, 90], [0, 114, 178], BLACK].into_iter().all(is_dark));
        assert!(![[230, 159, 0], [86, 180, 233], WHITE].into_iter().any(is_dark));
    }
}
