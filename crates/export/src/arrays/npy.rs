//! `NumPy`: one array as .npy, all of them as .npz.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

use kymo_core::{Error, Result};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::arrays::pieces::Place;
use crate::arrays::plan::{Array, Plan, Rules, kept_name, shortened};
use crate::arrays::{ArrayReader, Kind, Loss, LossKind, Target, json};

/// Name of the file in an .npz that holds the attributes of all arrays and groups.
const ATTRIBUTES: &str = "attributes.json";

static RULES: Rules = Rules {
    name: file_name,
    attribute: str::to_owned,
    rank_max: 63,
    has_groups: false,
    pads_text: true,
    streams_text: false,
    attributes_max: usize::MAX,
};

/// A name that leads nowhere else when it is unpacked, is not that of the attributes, and does not
/// end as that of the file in it, which `NumPy` takes for the array without the ending.
fn file_name(name: &str) -> String {
    match name {
        ".." => "__".to_owned(),
        ATTRIBUTES => format!("_{ATTRIBUTES}"),
        _ if name.strip_suffix(".npy").is_some() => shortened(kept_name(&format!("{name}_"))),
        _ => shortened(kept_name(name)),
    }
}

/// One array.
#[derive(Debug)]
pub(crate) struct Npy;

impl Target for Npy {
    fn name(&self) -> &'static str {
        "npy"
    }

    fn about(&self) -> &'static str {
        "NumPy: one array"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["npy"]
    }

    fn is_one_array(&self) -> bool {
        true
    }

    fn rules(&self) -> &'static Rules {
        &RULES
    }

    fn write(&self, plan: &Plan, reading: &mut ArrayReader<'_>, to: &Path) -> Result<()> {
        let [array] = plan.arrays.as_slice() else {
            return Err(refused(plan));
        };
        let groups = plan.groups.iter().map(|it| (format!("/{}", it.path), &it.attributes));
        let held = groups.chain([(array.source.clone(), &array.attributes)]);
        for (path, attribute) in
            held.flat_map(|(path, all)| all.iter().map(move |it| (path.clone(), it)))
        {
            let label = format!("{path} attribute {}", attribute.name);
            let what = "left out: .npy has no attributes";
            reading.losses.push(Loss::new(LossKind::LeftOut, label, what));
        }
        let mut out = BufWriter::new(open(to)?);
        write_array(array, reading, to, &mut out)?;
        Ok(out.flush()?)
    }
}

/// Returns the error for a plan that does not have exactly one array.
fn refused(plan: &Plan) -> Error {
    let losses = || plan.losses.iter().map(Loss::to_string).collect::<Vec<_>>();
    let why = match plan.arrays.as_slice() {
        [] => format!("there is nothing to write: {}", losses().join(", ")),
        [first, .., last] if first.data_type != last.data_type => {
            format!("it is {} arrays of several types; .npz holds them", plan.arrays.len())
        }
        all => format!("its {} steps have different shapes; .npz holds them", all.len()),
    };
    Error::request(why)
}

/// All arrays.
#[derive(Debug)]
pub(crate) struct Npz;

impl Target for Npz {
    fn name(&self) -> &'static str {
        "npz"
    }

    fn about(&self) -> &'static str {
        "NumPy: all arrays, and their attributes as JSON"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["npz"]
    }

    fn rules(&self) -> &'static Rules {
        &RULES
    }

    fn write(&self, plan: &Plan, reading: &mut ArrayReader<'_>, to: &Path) -> Result<()> {
        let mut out = ZipWriter::new(Silent::new(open(to)?));
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
        let options = options.large_file(true);
        for array in &plan.arrays {
            out.start_file(format!("{}.npy", array.path), options).map_err(failed)?;
            write_array(array, reading, to, &mut out)?;
        }
        if plan.attribute_count() > 0 {
            out.start_file(ATTRIBUTES, options).map_err(failed)?;
            let all = json::all_attributes(plan, &mut reading.losses);
            out.write_all(format!("{all:#}\n").as_bytes())?;
        }
        out.finish().map_err(failed)?.finish()
    }
}

/// The file of an archive. Once writing to it has failed it takes everything and writes nothing:
/// whatever is dropped the library tries to finish, and says on standard error that it could not.
struct Silent {
    file: BufWriter<File>,
    /// Position at which it is, or would be.
    position: u64,
    has_failed: bool,
}

impl Silent {
    fn new(file: File) -> Self {
        Self { file: BufWriter::new(file), position: 0, has_failed: false }
    }

    /// Does something with the file, or what stands for it once something has failed.
    fn attempt<T>(
        &mut self,
        instead: T,
        work: impl FnOnce(&mut BufWriter<File>) -> io::Result<T>,
    ) -> io::Result<T> {
        if self.has_failed {
            return Ok(instead);
        }
        let done = work(&mut self.file);
        let is_final = |error: &io::Error| error.kind() != io::ErrorKind::Interrupted;
        self.has_failed = done.as_ref().is_err_and(is_final);
        done
    }

    fn finish(mut self) -> Result<()> {
        if self.has_failed {
            return Err(Error::request("the output could not be written"));
        }
        Ok(self.file.flush()?)
    }
}

impl Write for Silent {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.attempt(bytes.len(), |file| file.write(bytes))?;
        self.position = self.position.saturating_add(written as u64);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.attempt((), BufWriter::flush)
    }
}

impl Seek for Silent {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let instead = match to {
            SeekFrom::Start(position) => position,
            SeekFrom::Current(by) | SeekFrom::End(by) => self.position.saturating_add_signed(by),
        };
        self.position = self.attempt(instead, |file| file.seek(to))?;
        Ok(self.position)
    }
}

fn open(path: &Path) -> Result<File> {
    OpenOptions::new().write(true).open(path).map_err(Error::io("write the output"))
}

fn failed(error: zip::result::ZipError) -> Error {
    match error {
        zip::result::ZipError::Io(error) => Error::Io { action: "write the output", error },
        other => Error::request(format!("a zip file cannot hold it: {other}")),
    }
}

/// Writes an array behind all else in a file.
fn write_array(
    array: &Array,
    reading: &mut ArrayReader<'_>,
    to: &Path,
    out: &mut dyn Write,
) -> Result<()> {
    out.write_all(&header(array))?;
    let mut place = Place::new(to);
    reading.each_encoded(array, |first, bytes| {
        if let Kind::Text(width) = array.kind {
            return Ok(out.write_all(&wide(bytes, width))?);
        }
        place.cut(first, bytes, 1, |_, piece| Ok(out.write_all(piece)?))
    })
}

/// Returns the header before the values: version 1.0 of the format.
fn header(array: &Array) -> Vec<u8> {
    let mut shape = array.shape.clone();
    let descr = match array.kind {
        Kind::Signed(1) => "|i1".to_owned(),
        Kind::Unsigned(1) => "|u1".to_owned(),
        Kind::Signed(bytes) => format!("<i{bytes}"),
        Kind::Unsigned(bytes) => format!("<u{bytes}"),
        Kind::Float(bytes) => format!("<f{bytes}"),
        Kind::Complex(part) => format!("<c{}", part * 2),
        Kind::Text(characters) => format!("<U{characters}"),
        Kind::Bytes(bytes) => {
            shape.push(bytes as u64);
            "|u1".to_owned()
        }
    };
    let mut lengths: Vec<_> = shape.iter().map(u64::to_string).collect();
    if lengths.len() == 1 {
        lengths.push(String::new());
    }
    let lengths = lengths.join(", ");
    let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({lengths}), }}");
    // The values start at a multiple of 64 bytes.
    let padded = (text.len() + 11).next_multiple_of(64) - 10;
    let length = u16::try_from(padded).unwrap_or(u16::MAX);
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
    bytes.resize(padded + 9, b' ');
    bytes.push(b'\n');
    bytes
}

/// Texts of so many bytes as texts of as many characters of four bytes.
fn wide(bytes: &[u8], width: usize) -> Vec<u8> {
    let mut wide = Vec::with_capacity(bytes.len() * 4);
    for text in bytes.chunks(width.max(1)) {
        let end = wide.len() + width * 4;
        let text = String::from_utf8_lossy(text);
        wide.extend(text.chars().flat_map(|character| u32::from(character).to_le_bytes()));
        wide.resize(end, 0);
    }
    wide
}

#[cfg(test)]
mod tests {
    use arrow_schema::DataType;
    use kymo_model::arrays::VariableId;

    use super::*;

    fn array(kind: Kind, shape: &[u64]) -> Array {
        Array {
            path: "x".to_owned(),
            source: "/x".to_owned(),
            variable: VariableId(0),
            data_type: DataType::Int8,
            rounds: false,
            steps: 0..1,
            block: None,
            is_stepped: false,
            kind,
            shape: shape.to_vec(),
            dimensions: Vec::new(),
            attributes: Vec::new(),
        }
    }

    #[test]
    fn values_start_at_a_multiple_of_64_bytes() {
        for shape in [&[][..], &[3], &[3, 4], &[1_000_000_007; 9]] {
            let header = header(&array(Kind::Float(8), shape));
            assert_eq!(header.len() % 64, 0);
            let length = u16::from_le_bytes([header[8], header[9]]);
            assert_eq!(usize::from(length), header.len() - 10);
            assert_eq!(header.last(), Some(&b'\n'));
        }
        let text = String::from_utf8_lossy(&header(&array(Kind::Complex(4), &[5]))).into_owned();
        assert!(text.contains("{'descr': '<c8', 'fortran_order': False, 'shape': (5, ), }"));
    }

    #[test]
    fn characters_take_four_bytes() {
        assert_eq!(
            wide("ä\0b\0\0".as_bytes(), 3),
            [0xE4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, b'b', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
        );
    }
}
