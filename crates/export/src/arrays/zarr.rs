//! Zarr version 3: a directory with JSON for every group and array, and a file a chunk.
//!
//! Chunks are stored as they are: each is one run of the array's values, so that they can be
//! written as values come, and a plain file is the whole of the format. A library for it would
//! be a hundred crates for these lines.

use std::fs::{self, File};
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use kymo_core::{Error, Result, create_below};
use kymo_model::arrays::volume;
use serde_json::{Value, json};

use crate::arrays::pieces::{look_at, piece_bytes};
use crate::arrays::plan::{Array, DimensionNames, Plan, Rules, kept_name, shortened};
use crate::arrays::{ArrayReader, Kind, Target, json};

/// Bytes of a chunk at most, unless one value is larger.
const CHUNK_BYTES: u64 = 4 << 20;

static RULES: Rules = Rules {
    name: node_name,
    attribute,
    rank_max: 63,
    has_groups: true,
    pads_text: false,
    streams_text: true,
    attributes_max: usize::MAX,
};

/// A name that a node, and a file, may have. A backslash leads into a group, as readers have it.
fn node_name(name: &str) -> String {
    let kept = kept_name(name).replace('\\', "_");
    let kept = match kept.as_str() {
        "zarr.json" => format!("_{kept}"),
        _ if kept.bytes().all(|byte| byte == b'.') => format!("_{kept}"),
        // Names that start so are the specification's own.
        _ if kept.starts_with("__") => format!("x{kept}"),
        _ => kept,
    };
    shortened(kept)
}

/// A name that an attribute may have: xarray reads some in its own way, and nothing of the array
/// where they have another.
fn attribute(name: &str) -> String {
    match name {
        "_FillValue" | "_ARRAY_DIMENSIONS" => format!("{name}_"),
        _ => name.to_owned(),
    }
}

/// Zarr version 3.
#[derive(Debug)]
pub(crate) struct Zarr;

impl Target for Zarr {
    fn name(&self) -> &'static str {
        "zarr"
    }

    fn about(&self) -> &'static str {
        "Zarr version 3: a directory"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["zarr"]
    }

    fn is_directory(&self) -> bool {
        true
    }

    fn rules(&self) -> &'static Rules {
        &RULES
    }

    fn write(&self, plan: &Plan, reading: &mut ArrayReader<'_>, to: &Path) -> Result<()> {
        for group in &plan.groups {
            let attributes = json::attributes(&group.path, &group.attributes, &mut reading.losses);
            let node = json!({ "zarr_format": 3, "node_type": "group", "attributes": attributes });
            write_node(to, &group.path, &node)?;
        }
        let mut names = plan.dimension_names.clone();
        for array in &plan.arrays {
            let folder = to.join(&array.path);
            let attributes = json::attributes(&array.path, &array.attributes, &mut reading.losses);
            let grid = Grid::from_array(array);
            write_node(to, &array.path, &grid.node(array, &attributes, &mut names))?;
            if matches!(array.kind, Kind::Text(_)) {
                write_texts(&grid, array, reading, &folder)?;
            } else {
                write_chunks(&grid, array, reading, &folder)?;
            }
        }
        Ok(())
    }
}

fn write_node(root: &Path, path: &str, node: &Value) -> Result<()> {
    create_below(root, path.as_ref())?;
    let text = format!("{node:#}\n");
    fs::write(root.join(path).join("zarr.json"), text).map_err(Error::io("write a file"))
}

/// Grid that cuts an array into chunks.
struct Grid {
    shape: Vec<u64>,
    /// The lengths of a chunk: ones, then a part of one dimension, then whole dimensions.
    chunk: Vec<u64>,
    /// The bytes of a cell.
    width: u64,
}

impl Grid {
    fn from_array(array: &Array) -> Self {
        let mut shape = array.shape.clone();
        let mut width = array.kind.width() as u64;
        if let Kind::Bytes(bytes) = array.kind {
            shape.push(bytes as u64);
            width = 1;
        }
        let is_text = matches!(array.kind, Kind::Text(_));
        let mut left = if is_text { u64::MAX } else { (CHUNK_BYTES / width.max(1)).max(1) };
        let mut chunk = vec![1; shape.len()];
        for (part, &length) in chunk.iter_mut().zip(&shape).rev() {
            *part = length.clamp(1, left.max(1));
            left = if *part < length { 1 } else { left / *part };
        }
        Self { shape, chunk, width }
    }

    fn node(&self, array: &Array, attributes: &Value, names: &mut DimensionNames) -> Value {
        let bytes = json!([{ "name": "bytes", "configuration": { "endian": "little" } }]);
        let (data_type, fill, codecs) = match array.kind {
            Kind::Signed(bytes_each) => (format!("int{}", bytes_each * 8), json!(0), bytes),
            Kind::Unsigned(bytes_each) => (format!("uint{}", bytes_each * 8), json!(0), bytes),
            Kind::Float(bytes_each) => (format!("float{}", bytes_each * 8), json!("NaN"), bytes),
            Kind::Complex(part) => (format!("complex{}", part * 16), json!(["NaN", "NaN"]), bytes),
            Kind::Text(_) => ("string".to_owned(), json!(""), json!([{ "name": "vlen-utf8" }])),
            Kind::Bytes(_) => ("uint8".to_owned(), json!(0), bytes),
        };
        let mut dimensions = array.dimensions.clone();
        if let Kind::Bytes(length) = array.kind {
            dimensions.push(names.name(&format!("byte_{length}"), 0));
        }
        json!({
            "zarr_format": 3,
            "node_type": "array",
            "shape": self.shape,
            "data_type": data_type,
            "chunk_grid": { "name": "regular", "configuration": { "chunk_shape": self.chunk } },
            "chunk_key_encoding": { "name": "default", "configuration": { "separator": "/" } },
            "fill_value": fill,
            "codecs": codecs,
            "attributes": attributes,
            "dimension_names": dimensions,
        })
    }

    /// The chunk that starts at a cell: its file in the folder of the array, and how many of its
    /// bytes are in the array.
    fn chunk_at(&self, cell: u64) -> (PathBuf, u64) {
        let mut keys = Vec::with_capacity(self.shape.len());
        let mut rest = cell;
        let mut cells = 1;
        for (&length, &part) in self.shape.iter().zip(&self.chunk).rev() {
            let index = rest.checked_rem(length).unwrap_or(0);
            rest = rest.checked_div(length).unwrap_or(0);
            keys.push((index / part).to_string());
            cells *= part.min(length - index);
        }
        let path = PathBuf::from("c");
        (keys.iter().rev().fold(path, |path, key| path.join(key)), cells * self.width)
    }

    fn chunk_bytes(&self) -> u64 {
        volume(&self.chunk).saturating_mul(self.width)
    }
}

/// Writes numbers, a chunk after the other.
fn write_chunks(
    grid: &Grid,
    array: &Array,
    reading: &mut ArrayReader<'_>,
    folder: &Path,
) -> Result<()> {
    let fill = match array.kind {
        // Each is a cell.
        Kind::Bytes(_) => vec![0],
        kind => kind.fill(),
    };
    let mut writer = Chunks { grid, folder, fill, cell: 0, open: None };
    reading.each_encoded(array, |_, bytes| writer.add(bytes))
}

/// Writes values to a chunk until it is full.
struct Chunks<'a> {
    grid: &'a Grid,
    folder: &'a Path,
    fill: Vec<u8>,
    /// The first cell of the next chunk.
    cell: u64,
    open: Option<Chunk>,
}

/// A chunk that is being written.
struct Chunk {
    file: BufWriter<File>,
    /// Number of bytes of values received so far.
    at: u64,
    /// Number of bytes still to receive.
    left: usize,
}

impl Chunks<'_> {
    fn add(&mut self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let mut chunk = match self.open.take() {
                Some(chunk) => chunk,
                None => self.next()?,
            };
            let length = piece_bytes(bytes.len().min(chunk.left), chunk.at, 1);
            let (taken, rest) = bytes.split_at(length);
            look_at(taken);
            chunk.file.write_all(taken)?;
            chunk.at += taken.len() as u64;
            chunk.left -= taken.len();
            bytes = rest;
            match chunk.left {
                0 => chunk.file.flush()?,
                _ => self.open = Some(chunk),
            }
        }
        Ok(())
    }

    /// Starts a chunk. One at the edge of the array is as large as any other: what is beyond
    /// comes last, for a chunk is one run.
    fn next(&mut self) -> Result<Chunk> {
        let (path, values_bytes) = self.grid.chunk_at(self.cell);
        let mut file = create(self.folder, &path)?;
        let beyond = self.grid.chunk_bytes() - values_bytes;
        if beyond > 0 {
            file.seek(SeekFrom::Start(values_bytes))?;
            for _ in 0..beyond / self.fill.len().max(1) as u64 {
                file.write_all(&self.fill)?;
            }
            file.rewind()?;
        }
        self.cell += values_bytes / self.grid.width;
        Ok(Chunk { file, at: 0, left: usize::try_from(values_bytes).unwrap_or(usize::MAX) })
    }
}

/// Creates a file at a path in a folder that is there.
fn create(folder: &Path, path: &Path) -> Result<BufWriter<File>> {
    create_below(folder, path.parent().unwrap_or(path))?;
    let file = File::create(folder.join(path)).map_err(Error::io("create a file"))?;
    Ok(BufWriter::new(file))
}

/// Writes texts, all in one chunk: how many, then each with its length.
fn write_texts(
    grid: &Grid,
    array: &Array,
    reading: &mut ArrayReader<'_>,
    folder: &Path,
) -> Result<()> {
    if array.is_empty() {
        return Ok(());
    }
    let (path, _) = grid.chunk_at(0);
    let mut file = create(folder, &path)?;
    file.write_all(&count(array.len())?)?;
    reading.each_text(array, |text| {
        file.write_all(&count(text.len() as u64)?)?;
        Ok(file.write_all(text)?)
    })?;
    Ok(file.flush()?)
}

fn count(number: u64) -> Result<[u8; 4]> {
    let number = u32::try_from(number).map_err(|_| Error::request("too many texts for Zarr"))?;
    Ok(number.to_le_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_elsewhere_or_are_too_long_become_others() {
        assert_eq!(node_name(".."), "_..");
        assert_eq!(node_name("..."), "_...");
        assert_eq!(node_name("a\\b"), "a_b");
        assert_eq!(node_name("__x"), "x__x");
        assert_eq!(node_name("phi"), "phi");
        assert!(node_name(&"é".repeat(200)).len() < 256);
    }

    #[test]
    fn chunks_follow_on_each_other() {
        let grid = Grid { shape: vec![2, 5, 3], chunk: vec![1, 2, 3], width: 8 };
        let mut cell = 0;
        let mut found = Vec::new();
        while cell < 30 {
            let (path, bytes) = grid.chunk_at(cell);
            found.push(path.display().to_string());
            cell += bytes / 8;
        }
        assert_eq!(cell, 30);
        let expected = ["0/0/0", "0/1/0", "0/2/0", "1/0/0", "1/1/0", "1/2/0"];
        assert_eq!(found, expected.map(|key| format!("c/{key}")));
    }
}
