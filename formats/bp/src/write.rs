//! Writing: elements to bytes, one after the other, holding none of them.

use std::io::Write;

use kymo_core::bytes::{Endian, Sink};
use kymo_core::{Context, Error, Result, Source, Tail};

use crate::Reader;
use crate::longdouble::LongDouble;
use crate::read::End;
use crate::spec::{self, Datatype, Dialect};
use crate::types::{Dimension, Element, ElementKind, Payload};

/// Values encoded at once.
const CHUNK_VALUES: usize = 8192;

/// Options for writing a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// The byte order. The format leaves it to the writer; nearly all files are little-endian.
    pub endian: Endian,
    /// Dialect whose sizes of types are used.
    pub dialect: Dialect,
}

impl Default for Options {
    fn default() -> Self {
        Self { endian: Endian::Little, dialect: Dialect::default() }
    }
}

/// Values to be written; each list is of the specification's type of that name.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the specification's own names")]
pub enum Data<'a> {
    Char(&'a [i8]),
    Short(&'a [i16]),
    Int(&'a [i32]),
    Long(&'a [i64]),
    LongLong(&'a [i64]),
    Float(&'a [f32]),
    Double(&'a [f64]),
    LongDouble(&'a [LongDouble]),
    Pointer(&'a [u64]),
    /// One string: the value of a scalar or an attribute.
    String(&'a str),
    Complex(&'a [[f64; 2]]),
    /// Only the dialect of 2008-07-15 has it.
    DoubleComplex(&'a [[f64; 2]]),
    UChar(&'a [u8]),
    UShort(&'a [u16]),
    UInt(&'a [u32]),
    ULong(&'a [u64]),
    ULongLong(&'a [u64]),
    /// Bytes in the byte order of the file, of any type and size.
    Raw {
        datatype: Datatype,
        element_bytes: u64,
        bytes: &'a [u8],
    },
}

impl Data<'_> {
    /// The datatype.
    #[must_use]
    pub fn datatype(&self) -> Datatype {
        match self {
            Self::Char(_) => Datatype::CHAR,
            Self::Short(_) => Datatype::SHORT,
            Self::Int(_) => Datatype::INT,
            Self::Long(_) => Datatype::LONG,
            Self::LongLong(_) => Datatype::LONGLONG,
            Self::Float(_) => Datatype::FLOAT,
            Self::Double(_) => Datatype::DOUBLE,
            Self::LongDouble(_) => Datatype::LONGDOUBLE,
            Self::Pointer(_) => Datatype::POINTER,
            Self::String(_) => Datatype::STRING,
            Self::Complex(_) => Datatype::COMPLEX,
            Self::DoubleComplex(_) => Datatype::DOUBLE_COMPLEX,
            Self::UChar(_) => Datatype::UCHAR,
            Self::UShort(_) => Datatype::USHORT,
            Self::UInt(_) => Datatype::UINT,
            Self::ULong(_) => Datatype::ULONG,
            Self::ULongLong(_) => Datatype::ULONGLONG,
            Self::Raw { datatype, .. } => *datatype,
        }
    }

    /// Returns the number of values.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Char(values) => values.len(),
            Self::Short(values) => values.len(),
            Self::Int(values) => values.len(),
            Self::Long(values) | Self::LongLong(values) => values.len(),
            Self::Float(values) => values.len(),
            Self::Double(values) => values.len(),
            Self::LongDouble(values) => values.len(),
            Self::Pointer(values) | Self::ULong(values) | Self::ULongLong(values) => values.len(),
            Self::String(_) => 1,
            Self::Complex(values) | Self::DoubleComplex(values) => values.len(),
            Self::UChar(values) => values.len(),
            Self::UShort(values) => values.len(),
            Self::UInt(values) => values.len(),
            Self::Raw { element_bytes, bytes, .. } => {
                let each = usize::try_from(*element_bytes).unwrap_or(usize::MAX).max(1);
                bytes.len() / each
            }
        }
    }

    /// Returns true if there are no values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Refuses values that do not fit a dialect, before anything of them is written.
    fn check(&self, dialect: Dialect) -> Result<()> {
        match (self, self.element_bytes(dialect)?) {
            (Self::Long(values) | Self::LongLong(values), 4) => narrow::<_, i32>(values).map(drop),
            (Self::ULong(values) | Self::ULongLong(values), 4) => {
                narrow::<_, u32>(values).map(drop)
            }
            (Self::Complex(values), 8) => {
                values.as_flattened().iter().try_for_each(|&part| single(part))
            }
            (Self::Raw { bytes, .. }, each)
                if each == 0 || !(bytes.len() as u64).is_multiple_of(each) =>
            {
                let why = format!("{} bytes are no values of {each} bytes", bytes.len());
                Err(Error::Request(why))
            }
            _ => Ok(()),
        }
    }

    /// Returns the number of bytes of one value in a dialect.
    fn element_bytes(&self, dialect: Dialect) -> Result<u64> {
        match self {
            Self::String(text) => Ok(text.len() as u64),
            Self::Raw { element_bytes, .. } => Ok(*element_bytes),
            _ => dialect.size_of(self.datatype()).ok_or_else(|| {
                let (name, dialect) = (self.datatype().name(), dialect.name());
                Error::request(format!("the dialect of {dialect} has no type {name}"))
            }),
        }
    }
}

/// Writes a file element by element, holding none of them.
///
/// A file needs no end: what was written so far is a valid file after every call.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    options: Options,
    header: Sink,
    /// True if the file ends with a length of zero.
    zero_word: bool,
}

impl<W: Write> Writer<W> {
    /// Starts a file.
    pub fn new(out: W, options: Options) -> Self {
        Self { out, options, header: Sink::new(options.endian), zero_word: false }
    }

    /// Ends the file with a length of zero, as some writers do.
    #[must_use]
    pub fn with_zero_word(mut self) -> Self {
        self.zero_word = true;
        self
    }

    /// Writes a single value.
    pub fn scalar(&mut self, path: &str, name: &str, value: Data<'_>) -> Result<()> {
        self.value(ElementKind::Scalar, path, name, value)
    }

    /// Writes a value that describes a dataset or a scalar, by the path and name of that.
    pub fn dataset_attribute(&mut self, path: &str, name: &str, value: Data<'_>) -> Result<()> {
        let kind = match value.datatype() {
            Datatype::STRING => ElementKind::DatasetAttributeString,
            _ => ElementKind::DatasetAttributeNumber,
        };
        self.value(kind, path, name, value)
    }

    /// Writes a value that describes a group.
    pub fn group_attribute(&mut self, path: &str, name: &str, value: Data<'_>) -> Result<()> {
        let kind = match value.datatype() {
            Datatype::STRING => ElementKind::GroupAttributeString,
            _ => ElementKind::GroupAttributeNumber,
        };
        self.value(kind, path, name, value)
    }

    /// Writes a group by itself. Groups need none: paths make them.
    pub fn group(&mut self, path: &str, name: &str) -> Result<()> {
        self.names(ElementKind::Group, path.as_bytes(), name.as_bytes())?;
        self.emit_header(0)
    }

    /// Writes an array, or a part of a global one.
    pub fn dataset(
        &mut self,
        path: &str,
        name: &str,
        dimensions: &[Dimension],
        values: Data<'_>,
    ) -> Result<()> {
        let volume = volume(dimensions)?;
        if values.len() as u64 != volume {
            let why = format!("{path}/{name} takes {volume} values, {} given", values.len());
            return Err(Error::Request(why));
        }
        values.check(self.options.dialect)?;
        let mut dataset = self.begin_dataset(path, name, dimensions, &values)?;
        dataset.write(values)?;
        dataset.finish()
    }

    /// Starts an array whose values come in pieces; `like` gives their type.
    pub fn begin_dataset(
        &mut self,
        path: &str,
        name: &str,
        dimensions: &[Dimension],
        like: &Data<'_>,
    ) -> Result<DatasetWriter<'_, W>> {
        if matches!(like, Data::String(_)) {
            let why = "the length of a string is its own; arrays of strings are written as Raw";
            return Err(Error::request(why));
        }
        let each = like.element_bytes(self.options.dialect)?;
        let volume = volume(dimensions)?;
        let size = volume.checked_mul(each).filter(|size| i32::try_from(*size).is_ok());
        let size = size.ok_or_else(|| too_large(path, name))?;
        self.names(ElementKind::Dataset, path.as_bytes(), name.as_bytes())?;
        self.dataset_header(size, dimensions, like.datatype())?;
        self.emit_header(size)?;
        Ok(DatasetWriter { datatype: like.datatype(), each, left: volume, writer: self })
    }

    /// Writes an element as it was read, in this file's byte order.
    pub fn copy(&mut self, element: &Element<'_>, endian: Endian) -> Result<()> {
        let Some(kind) = element.kind else {
            return Err(Error::request("an element of no kind cannot be written"));
        };
        self.names(kind, element.path, element.name)?;
        let Some(payload) = &element.payload else {
            return self.emit_header(0);
        };
        match payload.dimensions {
            None => self.value_header(payload.stated_bytes, payload.datatype)?,
            Some(dimensions) => {
                let dimensions: Vec<_> = dimensions.iter().collect();
                self.dataset_header(payload.stated_bytes, &dimensions, payload.datatype)?;
            }
        }
        self.emit_header(payload.bytes.len() as u64)?;
        self.copy_bytes(payload, element.element_bytes, endian)
    }

    fn copy_bytes(&mut self, payload: &Payload<'_>, each: u64, endian: Endian) -> Result<()> {
        let unit = usize::try_from(payload.datatype.unit_bytes(each)).unwrap_or(1).max(1);
        if endian == self.options.endian || unit == 1 {
            return self.emit(payload.bytes);
        }
        for chunk in payload.bytes.chunks(unit * CHUNK_VALUES) {
            let mut swapped = chunk.to_vec();
            swapped.chunks_exact_mut(unit).for_each(<[u8]>::reverse);
            self.emit(&swapped)?;
        }
        Ok(())
    }

    /// Ends the file and hands back the output.
    pub fn finish(mut self) -> Result<W> {
        if self.zero_word {
            self.emit(&[0; 4])?;
        }
        self.out.flush().map_err(Error::io("write the output"))?;
        Ok(self.out)
    }

    fn value(&mut self, kind: ElementKind, path: &str, name: &str, value: Data<'_>) -> Result<()> {
        if value.len() != 1 {
            let why = format!("{path}/{name} takes one value, {} given", value.len());
            return Err(Error::Request(why));
        }
        let size = value.element_bytes(self.options.dialect)?;
        value.check(self.options.dialect)?;
        self.names(kind, path.as_bytes(), name.as_bytes())?;
        self.value_header(size, value.datatype())?;
        self.emit_header(size)?;
        self.encode(value)
    }

    /// Starts an element's header: kind, name and path.
    fn names(&mut self, kind: ElementKind, path: &[u8], name: &[u8]) -> Result<()> {
        self.header.clear();
        for (tag, text) in [(kind.to_tag(), name), (spec::DIR_TAG, path)] {
            let length = i32::try_from(text.len())
                .map_err(|_| Error::request("a name or path beyond 2 GiB"))?;
            self.header.u32(tag);
            self.header.i32(length);
            self.header.bytes(text);
        }
        Ok(())
    }

    fn value_header(&mut self, size: u64, datatype: Datatype) -> Result<()> {
        self.header.u32(spec::VAL_TAG);
        self.header.i32(size_word(size)?);
        self.header.u32(datatype.0);
        Ok(())
    }

    fn dataset_header(
        &mut self,
        size: u64,
        dimensions: &[Dimension],
        datatype: Datatype,
    ) -> Result<()> {
        let rank = u32::try_from(dimensions.len()).ok();
        let rank = rank.filter(|rank| u64::from(*rank) <= spec::RANK_MAX);
        self.header.u32(spec::DSTVAL_TAG);
        self.header.i32(size_word(size)?);
        self.header.u32(rank.ok_or_else(|| Error::request("too many dimensions"))?);
        for dimension in dimensions {
            self.header.i32(dimension.local_bound);
            self.header.i32(dimension.global_bound);
            self.header.i32(dimension.global_offset);
        }
        self.header.u32(datatype.0);
        Ok(())
    }

    /// Writes the length word, which counts itself and the payload, and the header.
    fn emit_header(&mut self, payload_bytes: u64) -> Result<()> {
        let length = spec::LENGTH_BYTES + self.header.len() as u64 + payload_bytes;
        let length = size_word(length)?;
        let word = match self.options.endian {
            Endian::Little => length.to_le_bytes(),
            Endian::Big => length.to_be_bytes(),
        };
        self.emit(&word)?;
        let header = self.header.as_slice();
        self.out.write_all(header).map_err(Error::io("write the output"))
    }

    fn emit(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).map_err(Error::io("write the output"))
    }

    /// Writes values in this file's byte order and sizes.
    fn encode(&mut self, values: Data<'_>) -> Result<()> {
        let dialect = self.options.dialect;
        let each = values.element_bytes(dialect)?;
        match values {
            Data::Char(values) => self.numbers(values, |sink, &value| sink.i8(value)),
            Data::Short(values) => self.numbers(values, |sink, &value| sink.i16(value)),
            Data::Int(values) => self.numbers(values, |sink, &value| sink.i32(value)),
            Data::Long(values) | Data::LongLong(values) if each == 4 => {
                let narrow: Vec<i32> = narrow(values)?;
                self.numbers(&narrow, |sink, &value| sink.i32(value))
            }
            Data::Long(values) | Data::LongLong(values) => {
                self.numbers(values, |sink, &value| sink.i64(value))
            }
            Data::Float(values) => self.numbers(values, |sink, &value| sink.f32(value)),
            Data::Double(values) => self.numbers(values, |sink, &value| sink.f64(value)),
            Data::LongDouble(values) => self.numbers(values, |sink, value| match sink.endian() {
                Endian::Little => sink.bytes(&value.0),
                Endian::Big => sink.bytes(&value.0.iter().rev().copied().collect::<Vec<_>>()),
            }),
            Data::ULong(values) | Data::ULongLong(values) if each == 4 => {
                let narrow: Vec<u32> = narrow(values)?;
                self.numbers(&narrow, |sink, &value| sink.u32(value))
            }
            Data::Pointer(values) | Data::ULong(values) | Data::ULongLong(values) => {
                self.numbers(values, |sink, &value| sink.u64(value))
            }
            Data::String(text) => self.emit(text.as_bytes()),
            Data::Complex(values) if each == 8 =>
            {
                #[allow(clippy::cast_possible_truncation, reason = "the dialect's complex is so")]
                self.numbers(values, |sink, [re, im]| {
                    sink.f32(*re as f32);
                    sink.f32(*im as f32);
                })
            }
            Data::Complex(values) | Data::DoubleComplex(values) => {
                self.numbers(values, |sink, [re, im]| {
                    sink.f64(*re);
                    sink.f64(*im);
                })
            }
            Data::UChar(values) => self.emit(values),
            Data::UShort(values) => self.numbers(values, |sink, &value| sink.u16(value)),
            Data::UInt(values) => self.numbers(values, |sink, &value| sink.u32(value)),
            Data::Raw { bytes, .. } => self.emit(bytes),
        }
    }

    fn numbers<T>(&mut self, values: &[T], put: impl Fn(&mut Sink, &T)) -> Result<()> {
        for chunk in values.chunks(CHUNK_VALUES) {
            self.header.clear();
            for value in chunk {
                put(&mut self.header, value);
            }
            self.out.write_all(self.header.as_slice()).map_err(Error::io("write the output"))?;
        }
        Ok(())
    }
}

/// An array being written in pieces. Finish it, or the file ends short.
#[derive(Debug)]
#[must_use = "without all its values the element is cut"]
pub struct DatasetWriter<'w, W> {
    writer: &'w mut Writer<W>,
    datatype: Datatype,
    each: u64,
    left: u64,
}

impl<W: Write> DatasetWriter<'_, W> {
    /// Writes the next values.
    pub fn write(&mut self, values: Data<'_>) -> Result<()> {
        let dialect = self.writer.options.dialect;
        if values.datatype() != self.datatype || values.element_bytes(dialect)? != self.each {
            return Err(Error::request("values of another type than the dataset's"));
        }
        values.check(dialect)?;
        let Some(left) = self.left.checked_sub(values.len() as u64) else {
            let why = format!("{} values where {} are left", values.len(), self.left);
            return Err(Error::Request(why));
        };
        self.left = left;
        self.writer.encode(values)
    }

    /// Checks that every value came.
    pub fn finish(self) -> Result<()> {
        if self.left > 0 {
            return Err(Error::request(format!("{} values are missing", self.left)));
        }
        Ok(())
    }
}

impl Writer<Tail> {
    /// Appends to a file, in its own byte order and sizes. What is appended counts from
    /// [`commit`](Self::commit) on; a crash before leaves the file as it was.
    pub fn append(source: &Source, context: &Context<'_>) -> Result<Self> {
        let reader = Reader::open(source, context)?;
        if let Some(finding) = reader.findings().iter().find(|f| f.rule == "data-after-end") {
            return Err(Error::request(format!("{}: repair the file first", finding.message)));
        }
        let (start, zero_word) = match reader.end() {
            End::Clean => (source.size_bytes(), false),
            End::ZeroWord { offset } => (offset, true),
            End::Trailing { offset } => (offset, false),
        };
        let dialects = reader.grouping().dialects();
        let dialect = if dialects.contains(&Dialect::default()) {
            Dialect::default()
        } else {
            dialects.first().copied().unwrap_or_default()
        };
        let options = Options { endian: reader.endian(), dialect };
        let writer = Self::new(Tail::open(source.path(), start)?, options);
        Ok(if zero_word { writer.with_zero_word() } else { writer })
    }

    /// Makes what was appended part of the file.
    pub fn commit(self) -> Result<()> {
        self.finish()?.commit()
    }
}

fn volume(dimensions: &[Dimension]) -> Result<u64> {
    let product = dimensions.iter().try_fold(1_u64, |product, dimension| {
        product.checked_mul(u64::try_from(dimension.local_bound).ok()?)
    });
    product.ok_or_else(|| Error::request("a negative bound, or too many values"))
}

/// A size as the file states it, in a signed word.
fn size_word(size: u64) -> Result<i32> {
    i32::try_from(size).map_err(|_| {
        Error::request(format!("an element of {size} bytes: 2 GiB is the format's limit"))
    })
}

fn too_large(path: &str, name: &str) -> Error {
    Error::request(format!("{path}/{name} is beyond 2 GiB, the format's limit for an element"))
}

/// A part of a complex number that must fit the dialect's single precision.
fn single(part: f64) -> Result<()> {
    #[allow(
        clippy::cast_possible_truncation,
        reason = "whether that loses anything is the question"
    )]
    let narrow = f64::from(part as f32);
    if narrow.to_bits() == part.to_bits() || part.is_nan() {
        return Ok(());
    }
    let why =
        "does not fit the single precision this dialect gives complex; DoubleComplex holds it";
    Err(Error::request(format!("{part} {why}")))
}

/// Numbers that must fit the dialect's narrower type.
fn narrow<W: Copy + std::fmt::Display, N: TryFrom<W>>(values: &[W]) -> Result<Vec<N>> {
    let fit = |&value: &W| {
        N::try_from(value).map_err(|_| {
            Error::request(format!("{value} does not fit the 4 bytes this dialect gives the type"))
        })
    };
    values.iter().map(fit).collect()
}
