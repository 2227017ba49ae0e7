//! The text that the old `bpdump` printed, byte for byte, faults included.
//!
//! Old scripts parse it. There were three of them, and each printed other words. Their faults, such
//! as values that were never set, are named in `docs/formats/bp.md`.

use std::borrow::Cow;
use std::io::Write;

use kymo_core::bytes::Endian;
use kymo_core::{Result, Value};
use kymo_model::{DumpRequest, Flow, RecordSink};

use crate::Reader;
use crate::read::scalar_value;
use crate::spec::{self, Datatype, Dialect};
use crate::types::{Dimension, Dimensions, Element, ElementKind, Payload};

/// The names of the styles: the tool that the file's dialect tells, and each of the tools.
pub(crate) const STYLES: &[&str] =
    &["bpdump", "bpdump-2008-06-04", "bpdump-2008-07-11", "bpdump-2008-07-15"];

const RULE: &[u8] = b"-----------------------\n";

/// An old tool, by its date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tool {
    /// It came with both writers of 2008-06-04.
    V2008_06_04,
    V2008_07_11,
    V2008_07_15,
}

impl Tool {
    /// Finds the tool that a style names, for a file of a dialect; most files fit several
    /// dialects and then have none.
    pub(crate) fn from_style(style: &str, dialect: Option<Dialect>) -> Option<Self> {
        match style {
            "bpdump" => Some(dialect.map_or(Self::V2008_07_11, Self::from_dialect)),
            "bpdump-2008-06-04" => Some(Self::V2008_06_04),
            "bpdump-2008-07-11" => Some(Self::V2008_07_11),
            "bpdump-2008-07-15" => Some(Self::V2008_07_15),
            _ => None,
        }
    }

    fn from_dialect(dialect: Dialect) -> Self {
        match dialect {
            Dialect::V2008_06_04 | Dialect::V2008_06_04LongLong => Self::V2008_06_04,
            Dialect::V2008_07_11 => Self::V2008_07_11,
            Dialect::V2008_07_15 => Self::V2008_07_15,
        }
    }
}

/// Prints a file as an old tool did; with a variable, as it did with `-d`.
pub(crate) fn dump(
    tool: Tool,
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
    let mut out = DumpText { text: out, sink, flow: Flow::More };
    let mut printer =
        Printer { tool, endian: reader.endian(), variable, buffer: Buffer::default() };
    for element in reader.elements() {
        printer.print(&mut out, &element)?;
        if out.flow == Flow::Stop {
            return Ok(());
        }
    }
    out.send()
}

/// Text on its way to the sink, a little at a time: an array may be large.
struct DumpText<'s> {
    text: Vec<u8>,
    sink: &'s mut dyn RecordSink,
    flow: Flow,
}

impl DumpText<'_> {
    const TEXT_BYTES: usize = 1 << 16;

    fn send(&mut self) -> Result<()> {
        self.flow = self.sink.text(&self.text)?;
        self.text.clear();
        Ok(())
    }

    fn send_if_large(&mut self) -> Result<()> {
        if self.text.len() < Self::TEXT_BYTES { Ok(()) } else { self.send() }
    }
}

/// The start of the buffer that the old tool read payloads into.
///
/// It was never cleared. The tool of 2008-06-04 read eight bytes of a `long long` of four, and so
/// four of a payload before.
#[derive(Default)]
struct Buffer([u8; 8]);

impl Buffer {
    /// Reads a payload over the one before; strings got a NUL.
    fn fill(&mut self, payload: &Payload<'_>) {
        let nul = (payload.datatype == Datatype::STRING).then_some(&0);
        for (to, from) in self.0.iter_mut().zip(payload.bytes.iter().chain(nul)) {
            *to = *from;
        }
    }

    fn long_long(&self, endian: Endian) -> i64 {
        match endian {
            Endian::Little => i64::from_le_bytes(self.0),
            Endian::Big => i64::from_be_bytes(self.0),
        }
    }
}

/// Prints elements one after the other.
struct Printer<'r> {
    tool: Tool,
    endian: Endian,
    variable: Option<&'r str>,
    buffer: Buffer,
}

impl Printer<'_> {
    fn print(&mut self, out: &mut DumpText<'_>, element: &Element<'_>) -> Result<()> {
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
            text.extend_from_slice(type_name(payload.datatype, self.tool).as_bytes());
            text.extend_from_slice(b" (");
            put(text, payload.datatype.0);
            text.extend_from_slice(b")\n");
            match payload.dimensions {
                None => self.print_scalar(text, element, payload)?,
                Some(dimensions) => self.print_dataset(out, element, payload, dimensions)?,
            }
        }
        out.text.extend_from_slice(RULE);
        out.send_if_large()
    }

    fn print_scalar(
        &mut self,
        text: &mut Vec<u8>,
        element: &Element<'_>,
        payload: &Payload<'_>,
    ) -> Result<()> {
        self.buffer.fill(payload);
        match self.tool {
            Tool::V2008_06_04 => self.print_typed_value(text, element, payload),
            Tool::V2008_07_11 | Tool::V2008_07_15 => self.print_value(text, element, payload),
        }
    }

    /// Prints the value of a scalar behind the word for its type.
    ///
    /// The tool did not know the types that are left out: no value, and no line.
    fn print_typed_value(
        &self,
        text: &mut Vec<u8>,
        element: &Element<'_>,
        payload: &Payload<'_>,
    ) -> Result<()> {
        match (payload.datatype, scalar_value(element, self.endian)) {
            (Datatype::INT, Value::Int(value)) => writeln!(text, "\t(int): {value}")?,
            (Datatype::LONGLONG, Value::Int(_)) => {
                writeln!(text, "\t(long): {}", self.buffer.long_long(self.endian))?;
            }
            (Datatype::FLOAT, Value::Float32(value)) => {
                writeln!(text, "\t(float): {}", f(value.into()))?;
            }
            (Datatype::DOUBLE, Value::Float(value)) => writeln!(text, "\t(double): {}", f(value))?,
            (Datatype::UCHAR, Value::UInt(value)) => writeln!(text, "\t(byte): {value}")?,
            (Datatype::COMPLEX, Value::Complex([re, im])) => {
                writeln!(text, "\t(complex): {} {}", f(re), f(im))?;
            }
            (Datatype::STRING, _) => {
                text.extend_from_slice(b"\t(char): ");
                text.extend_from_slice(c_string(payload.bytes));
                text.push(b'\n');
            }
            _ => {}
        }
        Ok(())
    }

    /// Prints the value of a scalar.
    ///
    /// The tools did not know the types that are left out: no value, and no newline.
    fn print_value(
        &self,
        text: &mut Vec<u8>,
        element: &Element<'_>,
        payload: &Payload<'_>,
    ) -> Result<()> {
        text.extend_from_slice(b"\tValue: ");
        match (payload.datatype, scalar_value(element, self.endian)) {
            (Datatype::INT | Datatype::LONGLONG, Value::Int(value)) => {
                put(text, value);
                text.push(b'\n');
            }
            (Datatype::FLOAT, Value::Float32(value)) => writeln!(text, "{}", f(value.into()))?,
            (Datatype::DOUBLE, Value::Float(value)) => writeln!(text, "{}", g(value))?,
            (Datatype::UCHAR, Value::UInt(value)) => writeln!(text, "{value}")?,
            (Datatype::COMPLEX, Value::Complex([re, im])) => {
                writeln!(text, "{} {}", f(re), f(im))?;
            }
            (Datatype::COMPLEX, Value::Complex32([re, im])) => {
                writeln!(text, "{} {}", f(re.into()), f(im.into()))?;
            }
            (Datatype::DOUBLE_COMPLEX, Value::Complex([re, im]))
                if self.tool == Tool::V2008_07_15 =>
            {
                writeln!(text, "{} {}", f(re), f(im))?;
            }
            (Datatype::STRING, _) => {
                let bytes = payload.bytes;
                text.extend_from_slice(if bytes.is_empty() { b"(null)" } else { c_string(bytes) });
                text.push(b'\n');
            }
            _ => {}
        }
        Ok(())
    }

    fn print_dataset(
        &mut self,
        out: &mut DumpText<'_>,
        element: &Element<'_>,
        payload: &Payload<'_>,
        dimensions: Dimensions<'_>,
    ) -> Result<()> {
        let text = &mut out.text;
        let rank = dimensions.rank();
        text.extend_from_slice(b"\tRanks: ");
        put(text, rank);
        text.push(b'\n');
        match self.tool {
            Tool::V2008_06_04 => print_dimensions_twice(text, dimensions)?,
            Tool::V2008_07_11 | Tool::V2008_07_15 => {
                for (index, dimension) in dimensions.iter().enumerate() {
                    print_dimension(text, index, dimension);
                }
            }
        }
        let Some(variable) = self.variable else {
            return Ok(());
        };
        self.buffer.fill(payload);
        write!(text, "\t{variable}: ")?;
        text.extend_from_slice(c_string(element.name));
        text.push(b'\n');
        if c_string(element.name) == variable.as_bytes() {
            let bound = |index: usize| dimensions.iter().nth(index).map_or(0, |d| d.local_bound);
            writeln!(text, "\tdata.dump: 1\nMy Value: ")?;
            writeln!(text, "DIMS: dims[{}][{}]", bound(0), bound(1))?;
            writeln!(text, "ranks={rank}")?;
            print_values(out, self.endian, payload, self.tool)?;
        }
        Ok(())
    }
}

/// Prints all dimensions, and all of them again, as the tool of 2008-06-04 did.
///
/// It asked `printf` for six numbers and gave it four. The last two were what the call before left
/// in a register: the conversion it had last, `d`, or `u` right after the line of ranks; and zero.
fn print_dimensions_twice(text: &mut Vec<u8>, dimensions: Dimensions<'_>) -> Result<()> {
    let mut left_over = b'u';
    for label in ["Global Dim", "Dim"] {
        for (index, dimension) in dimensions.iter().enumerate() {
            let Dimension { local_bound, global_bound, global_offset } = dimension;
            writeln!(
                text,
                "\t\t{label}({index}): {local_bound}({global_bound}):{global_offset}({left_over}):0"
            )?;
            left_over = b'd';
        }
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

fn print_values(
    out: &mut DumpText<'_>,
    endian: Endian,
    payload: &Payload<'_>,
    tool: Tool,
) -> Result<()> {
    /// Values printed before what was printed is sent on.
    const VALUES: usize = 4096;
    let is_single = tool == Tool::V2008_07_15 && payload.datatype == Datatype::COMPLEX;
    let each = match payload.datatype {
        Datatype::CHAR | Datatype::UCHAR => 1,
        Datatype::INT | Datatype::FLOAT => 4,
        Datatype::LONGLONG | Datatype::DOUBLE => 8,
        Datatype::COMPLEX if is_single => 8,
        Datatype::COMPLEX => 16,
        Datatype::DOUBLE_COMPLEX if tool == Tool::V2008_07_15 => 16,
        _ => return Ok(()),
    };
    for (index, bytes) in payload.bytes.chunks(each * VALUES).enumerate() {
        let text = &mut out.text;
        if is_single {
            print_pairs(text, rows(bytes, endian).map(|row| f32::from_le_bytes(row).into()))?;
        } else {
            print_some(text, endian, payload.datatype, bytes, index * VALUES)?;
        }
        out.send_if_large()?;
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
        Datatype::COMPLEX | Datatype::DOUBLE_COMPLEX => {
            print_pairs(text, rows(bytes, endian).map(f64::from_le_bytes))?;
        }
        _ => text.extend(bytes.iter().flat_map(|&byte| [byte, b' '])),
    }
    Ok(())
}

/// Prints complex numbers, given by their parts.
fn print_pairs(text: &mut Vec<u8>, mut parts: impl Iterator<Item = f64>) -> Result<()> {
    while let (Some(re), Some(im)) = (parts.next(), parts.next()) {
        write!(text, "({} {}) ", f(re), f(im))?;
    }
    Ok(())
}

/// Returns the part of a run of bytes that C reads: up to the first NUL.
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

fn type_name(datatype: Datatype, tool: Tool) -> Cow<'static, str> {
    Cow::Borrowed(match datatype {
        Datatype::CHAR => "character",
        Datatype::INT => "integer",
        Datatype::LONGLONG => "long",
        Datatype::FLOAT => "real",
        Datatype::DOUBLE => "double",
        Datatype::STRING => "string",
        Datatype::COMPLEX => "complex",
        Datatype::UCHAR => "byte",
        Datatype::DOUBLE_COMPLEX if tool == Tool::V2008_07_15 => "double complex",
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

    /// Checks that numbers are printed as `printf` of the GNU C library prints them.
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
