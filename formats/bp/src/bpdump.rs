//! The text that the old `bpdump` printed, byte for byte, faults included.
//!
//! Old scripts parse it. Its faults: no value *and no newline* for the types it did not know,
//! and for rank 1 a second dimension that was never set (0 here).

use std::borrow::Cow;
use std::io::Write;

use kymo_core::bytes::Endian;
use kymo_core::{DumpRequest, Flow, RecordSink, Result, Value};

use crate::Reader;
use crate::read::scalar_value;
use crate::spec::{self, Datatype};
use crate::types::{Dimension, Dimensions, Element, ElementKind, Payload};

/// The name of the style.
pub(crate) const STYLE: &str = "bpdump";

const RULE: &[u8] = b"-----------------------\n";

/// Prints a file as the old tool did; with a variable, as it did with `-d`.
pub(crate) fn dump(
    reader: &Reader,
    file: &str,
    request: &DumpRequest,
    sink: &mut dyn RecordSink,
) -> Result<()> {
    let variable = request.variable.as_deref();
    let mut out = Vec::new();
    if let Some(variable) = variable {
        writeln!(out, "{variable} {file}")?;
    }
    let mut out = Out { text: out, sink, flow: Flow::More };
    for element in reader.elements() {
        print(&mut out, reader.endian(), &element, variable)?;
        if out.flow == Flow::Stop {
            return Ok(());
        }
    }
    out.send()
}

/// Text on its way to the sink, a little at a time: an array may be large.
struct Out<'s> {
    text: Vec<u8>,
    sink: &'s mut dyn RecordSink,
    flow: Flow,
}

impl Out<'_> {
    const TEXT_BYTES: usize = 1 << 16;

    fn send(&mut self) -> Result<()> {
        self.flow = self.sink.text(&self.text)?;
        self.text.clear();
        Ok(())
    }

    fn send_much(&mut self) -> Result<()> {
        if self.text.len() < Self::TEXT_BYTES { Ok(()) } else { self.send() }
    }
}

fn print(
    out: &mut Out<'_>,
    endian: Endian,
    element: &Element<'_>,
    variable: Option<&str>,
) -> Result<()> {
    let text = &mut out.text;
    text.extend_from_slice(b"element size: ");
    put(text, element.length);
    text.push(b'\n');
    let tag = element.kind.map_or(spec::DIR_TAG, ElementKind::to_tag);
    text.extend_from_slice(tag_name(tag).as_bytes());
    text.push(b' ');
    text.extend_from_slice(c_string(element.name));
    text.extend_from_slice(b"\n\tPath: ");
    text.extend_from_slice(c_string(element.path));
    text.push(b'\n');
    if let Some(payload) = &element.payload {
        text.extend_from_slice(b"\tType: ");
        text.extend_from_slice(type_name(payload.datatype).as_bytes());
        text.extend_from_slice(b" (");
        put(text, payload.datatype.0);
        text.extend_from_slice(b")\n");
        match payload.dimensions {
            None => print_value(text, endian, element)?,
            Some(_) => print_dataset(out, endian, element, payload, variable)?,
        }
    }
    out.text.extend_from_slice(RULE);
    out.send_much()
}

fn print_value(out: &mut Vec<u8>, endian: Endian, element: &Element<'_>) -> Result<()> {
    out.extend_from_slice(b"\tValue: ");
    let datatype = element.payload.as_ref().map(|payload| payload.datatype);
    match (datatype, scalar_value(element, endian)) {
        (Some(Datatype::INT | Datatype::LONGLONG), Value::Int(value)) => {
            put(out, value);
            out.push(b'\n');
        }
        (Some(Datatype::FLOAT), Value::Float32(value)) => writeln!(out, "{}", f(value.into()))?,
        (Some(Datatype::DOUBLE), Value::Float(value)) => writeln!(out, "{}", g(value))?,
        (Some(Datatype::UCHAR), Value::UInt(value)) => writeln!(out, "{value}")?,
        (Some(Datatype::COMPLEX), Value::Complex([re, im])) => {
            writeln!(out, "{} {}", f(re), f(im))?;
        }
        (Some(Datatype::STRING), _) => {
            let bytes = element.payload.as_ref().map_or(&[][..], |payload| payload.bytes);
            out.extend_from_slice(if bytes.is_empty() { b"(null)" } else { c_string(bytes) });
            out.push(b'\n');
        }
        // The others were not known to the old tool: no value, no newline.
        _ => {}
    }
    Ok(())
}

fn print_dataset(
    out: &mut Out<'_>,
    endian: Endian,
    element: &Element<'_>,
    payload: &Payload<'_>,
    variable: Option<&str>,
) -> Result<()> {
    let text = &mut out.text;
    let dimensions = || payload.dimensions.iter().flat_map(|dimensions| dimensions.iter());
    let rank = payload.dimensions.map_or(0, Dimensions::rank);
    text.extend_from_slice(b"\tRanks: ");
    put(text, rank);
    text.push(b'\n');
    for (index, dimension) in dimensions().enumerate() {
        print_dimension(text, index, dimension);
    }
    let Some(variable) = variable else {
        return Ok(());
    };
    write!(text, "\t{variable}: ")?;
    text.extend_from_slice(c_string(element.name));
    text.push(b'\n');
    if c_string(element.name) == variable.as_bytes() {
        let bound = |index: usize| dimensions().nth(index).map_or(0, |d| d.local_bound);
        writeln!(text, "\tdata.dump: 1\nMy Value: ")?;
        writeln!(text, "DIMS: dims[{}][{}]", bound(0), bound(1))?;
        writeln!(text, "ranks={rank}")?;
        print_values(out, endian, payload)?;
    }
    Ok(())
}

fn print_dimension(text: &mut Vec<u8>, index: usize, dimension: Dimension) {
    let Dimension { local_bound, global_bound, global_offset } = dimension;
    text.extend_from_slice(b"\t\tDim(");
    put(text, index);
    text.extend_from_slice(if global_bound == 0 { b"): " } else { b") l:g:o: " });
    put(text, local_bound);
    if global_bound != 0 {
        text.push(b':');
        put(text, global_bound);
        text.push(b':');
        put(text, global_offset);
    }
    text.push(b'\n');
}

/// Prints a whole number; there are several to each of millions of elements.
fn put(text: &mut Vec<u8>, number: impl itoa::Integer) {
    text.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// Reads a number of `N` bytes in the file's order, least significant byte first.
fn rows<const N: usize>(bytes: &[u8], endian: Endian) -> impl Iterator<Item = [u8; N]> {
    bytes.as_chunks::<N>().0.iter().map(move |row| {
        let mut row = *row;
        if endian == Endian::Big {
            row.reverse();
        }
        row
    })
}

fn print_values(out: &mut Out<'_>, endian: Endian, payload: &Payload<'_>) -> Result<()> {
    /// Values printed before what was printed is sent on.
    const VALUES: usize = 4096;
    let each = match payload.datatype {
        Datatype::CHAR | Datatype::UCHAR => 1,
        Datatype::INT | Datatype::FLOAT => 4,
        Datatype::LONGLONG | Datatype::DOUBLE => 8,
        Datatype::COMPLEX => 16,
        _ => return Ok(()),
    };
    for (index, bytes) in payload.bytes.chunks(each * VALUES).enumerate() {
        print_some(&mut out.text, endian, payload.datatype, bytes, index * VALUES)?;
        out.send_much()?;
        if out.flow == Flow::Stop {
            break;
        }
    }
    Ok(())
}

/// Prints values, the first of which has the given number.
fn print_some(
    text: &mut Vec<u8>,
    endian: Endian,
    datatype: Datatype,
    bytes: &[u8],
    first: usize,
) -> Result<()> {
    match datatype {
        Datatype::INT => {
            rows(bytes, endian).try_for_each(|row| write!(text, "{} ", i32::from_le_bytes(row)))?;
        }
        Datatype::LONGLONG => {
            rows(bytes, endian).try_for_each(|row| write!(text, "{} ", i64::from_le_bytes(row)))?;
        }
        Datatype::FLOAT => {
            for (index, row) in rows(bytes, endian).enumerate() {
                write!(text, "({}: {}) ", first + index, e(f32::from_le_bytes(row).into()))?;
            }
        }
        Datatype::DOUBLE => {
            for (index, row) in rows(bytes, endian).enumerate() {
                write!(text, "({}: {}) ", first + index, e(f64::from_le_bytes(row)))?;
            }
        }
        Datatype::COMPLEX => {
            let mut parts = rows(bytes, endian).map(f64::from_le_bytes);
            while let (Some(re), Some(im)) = (parts.next(), parts.next()) {
                write!(text, "({} {}) ", f(re), f(im))?;
            }
        }
        _ => text.extend(bytes.iter().flat_map(|&byte| [byte, b' '])),
    }
    Ok(())
}

/// What C takes a run of bytes for: up to the first NUL.
fn c_string(bytes: &[u8]) -> &[u8] {
    bytes.split(|&byte| byte == 0).next().unwrap_or_default()
}

fn tag_name(tag: u32) -> &'static str {
    match tag {
        spec::GRP_TAG => "Group",
        spec::DST_TAG => "Dataset",
        spec::SCR_TAG => "Scalar",
        spec::DIR_TAG => "Path",
        spec::DSTATRN_TAG => "Data attribute numeric",
        spec::DSTATRS_TAG => "Data attribute string",
        spec::GRPATRN_TAG => "Group attribute numeric",
        spec::GRPATRS_TAG => "Group attribute string",
        _ => "(error)",
    }
}

fn type_name(datatype: Datatype) -> Cow<'static, str> {
    Cow::Borrowed(match datatype {
        Datatype::CHAR => "character",
        Datatype::INT => "integer",
        Datatype::LONGLONG => "long",
        Datatype::FLOAT => "real",
        Datatype::DOUBLE => "double",
        Datatype::STRING => "string",
        Datatype::COMPLEX => "complex",
        Datatype::UCHAR => "byte",
        Datatype(code) => return Cow::Owned(format!("(unknown: {code})")),
    })
}

/// C's `nan`, `-nan`, `inf` and `-inf`.
fn special(value: f64) -> Option<String> {
    let sign = if value.is_sign_negative() { "-" } else { "" };
    let name = match value {
        _ if value.is_nan() => "nan",
        _ if value.is_infinite() => "inf",
        _ => return None,
    };
    Some(format!("{sign}{name}"))
}

/// C's `%f`.
fn f(value: f64) -> String {
    special(value).unwrap_or_else(|| format!("{value:.6}"))
}

/// C's `%e`.
fn e(value: f64) -> String {
    special(value).unwrap_or_else(|| {
        let (mantissa, exponent) = scientific(value, 6);
        exponential(&mantissa, exponent)
    })
}

/// C's `%g`.
fn g(value: f64) -> String {
    special(value).unwrap_or_else(|| {
        let (mantissa, exponent) = scientific(value, 5);
        if (-4..6).contains(&exponent) {
            let decimals = usize::try_from(5 - exponent).unwrap_or(0);
            trimmed(&format!("{value:.decimals$}")).to_owned()
        } else {
            exponential(trimmed(&mantissa), exponent)
        }
    })
}

/// The digits and the exponent of ten of a number, so many digits after the point.
fn scientific(value: f64, decimals: usize) -> (String, i32) {
    let text = format!("{value:.decimals$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    (mantissa.to_owned(), exponent.parse().unwrap_or(0))
}

fn exponential(mantissa: &str, exponent: i32) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
}

/// Without zeros at the end of the decimals, nor a point that nothing follows.
fn trimmed(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `printf` of the GNU C library prints.
    #[test]
    fn numbers_are_printed_as_c_does() {
        assert_eq!(f(3.141_592_74), "3.141593");
        assert_eq!(e(0.0), "0.000000e+00");
        assert_eq!(e(-0.75), "-7.500000e-01");
        assert_eq!(e(1e-300), "1.000000e-300");
        assert_eq!(g(-2.718_28e-100), "-2.71828e-100");
        assert_eq!(g(0.1), "0.1");
        assert_eq!(g(100_000.0), "100000");
        assert_eq!(g(1_000_000.0), "1e+06");
        assert_eq!(g(0.000_123_456_7), "0.000123457");
        assert_eq!(g(0.000_012_3), "1.23e-05");
        assert_eq!(g(-0.0), "-0");
        assert_eq!(g(f64::from_bits(0xFFF8 << 48)), "-nan");
        assert_eq!(f(f64::NEG_INFINITY), "-inf");
    }
}
