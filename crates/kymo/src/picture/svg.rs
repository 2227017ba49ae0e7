//! A picture as SVG, with its texts as text.

use std::fmt::Write;

use super::raster;
use super::{Anchor, Color, HATCH, HATCH_STEP, HATCHED, Picture, Shape};

/// The picture as a file.
pub(crate) fn text(picture: &Picture) -> anyhow::Result<String> {
    let Picture { width, height, shapes } = picture;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" font-size=\"14\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n"
    );
    for shape in shapes {
        draw(shape, &mut out)?;
    }
    out.push_str("</svg>\n");
    Ok(out)
}

fn draw(shape: &Shape, out: &mut String) -> anyhow::Result<()> {
    match shape {
        Shape::Line { points, color } => {
            let points: Vec<_> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
            let (points, color) = (points.join(" "), hex(*color));
            writeln!(out, "<polyline points=\"{points}\" fill=\"none\" stroke=\"{color}\"/>")?;
        }
        Shape::Rect { at: (x, y), size: (width, height), color } => {
            let color = hex(*color);
            writeln!(
                out,
                "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" \
                 fill=\"{color}\"/>"
            )?;
        }
        Shape::Hatched { at, size, title } => hatched(out, *at, *size, title)?,
        Shape::Text { at: (x, y), anchor, text, whole, color } => {
            let anchor = match anchor {
                Anchor::Start => "start",
                Anchor::Middle => "middle",
                Anchor::End => "end",
            };
            let (text, color) = (escaped(text), hex(*color));
            let title = whole.as_ref().map(|whole| format!("<title>{}</title>", escaped(whole)));
            let title = title.unwrap_or_default();
            writeln!(
                out,
                "<text x=\"{x:.1}\" y=\"{y:.1}\" dy=\"0.35em\" text-anchor=\"{anchor}\" \
                 fill=\"{color}\">{title}{text}</text>"
            )?;
        }
        Shape::Image { at: (x, y), size: (width, height), columns, pixels } => {
            let png = base64(&raster::encode(*columns, &pixels.concat())?);
            writeln!(
                out,
                "<image x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" \
                 preserveAspectRatio=\"none\" style=\"image-rendering:pixelated\" \
                 href=\"data:image/png;base64,{png}\"/>"
            )?;
        }
    }
    Ok(())
}

/// A box with lines from its upper right to its lower left. They go on in the box beside it.
fn hatched(
    out: &mut String,
    (x, y): (f64, f64),
    (width, height): (f64, f64),
    title: &str,
) -> anyhow::Result<()> {
    let (back, line) = (hex(HATCHED), hex(HATCH));
    write!(
        out,
        "<g><title>{}</title><rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" \
         height=\"{height:.1}\" fill=\"{back}\"/><path stroke=\"{line}\" d=\"",
        escaped(title)
    )?;
    let (step, right, bottom) = (f64::from(HATCH_STEP), x + width, y + height);
    // On a line, across and down are the same in all.
    let mut sum = ((x + y) / step).ceil() * step;
    while sum < right + bottom {
        let (upper, lower) = ((sum - y).min(right), (sum - bottom).max(x));
        write!(out, "M{upper:.1} {:.1}L{lower:.1} {:.1}", sum - upper, sum - lower)?;
        sum += step;
    }
    writeln!(out, "\"/></g>")?;
    Ok(())
}

fn hex([red, green, blue]: Color) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// A text without what XML takes for its own, or does not take.
pub(crate) fn escaped(text: &str) -> String {
    let is_none = |c: char| c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}');
    let text: String = text.chars().map(|c| if is_none(c) { '\u{fffd}' } else { c }).collect();
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let at = |index: usize| u32::from(three.get(index).copied().unwrap_or(0));
        let word = at(0) << 16 | at(1) << 8 | at(2);
        for (place, shift) in [18, 12, 6, 0].into_iter().enumerate() {
            let digit = usize::try_from(word >> shift & 63).ok().and_then(|at| DIGITS.get(at));
            let is_there = place <= three.len();
            text.push(digit.filter(|_| is_there).map_or('=', |digit| char::from(*digit)));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_as_rfc_4648_shows_it() {
        let known =
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")];
        for (bytes, text) in known {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn lines_across_a_box_end_at_its_edges() {
        let mut picture = Picture::new(20.0, 20.0);
        picture.hatched((2.0, 3.0), (10.0, 4.0), "lost & gone");
        let text = text(&picture).unwrap();
        assert!(text.contains("<title>lost &amp; gone</title>"), "{text}");
        // The sums of its corners are 5 and 19: lines of 6, 12 and 18.
        assert!(
            text.contains("d=\"M3.0 3.0L2.0 4.0M9.0 3.0L5.0 7.0M12.0 6.0L11.0 7.0\""),
            "{text}"
        );
    }

    #[test]
    fn a_name_that_lacks_its_middle_has_a_title() {
        let mut picture = Picture::new(20.0, 20.0);
        picture.name((1.0, 2.0), Anchor::Start, "worker<1>", 9);
        picture.name((1.0, 2.0), Anchor::Start, "worker<10>", 9);
        let text = text(&picture).unwrap();
        assert!(text.contains(">worker&lt;1&gt;</text>"), "{text}");
        assert!(text.contains("><title>worker&lt;10&gt;</title>work…&lt;10&gt;</text>"), "{text}");
    }

    #[test]
    fn texts_are_no_markup() {
        assert_eq!(escaped("a<b>&\0"), "a&lt;b&gt;&amp;\u{fffd}");
        // Production 2 of XML 1.0 has no U+FFFE and no U+FFFF, and has what is beside them.
        assert_eq!(
            escaped("\u{fffd}\u{fffe}\u{ffff}\u{10000}"),
            "\u{fffd}\u{fffd}\u{fffd}\u{10000}"
        );
    }
}
