//! NetCDF-4: an HDF5 file with named dimensions, as xarray and `ncdump` read it.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use kymo_core::Result;
use rust_hdf5::{DatatypeMessage, H5Dataset, H5File};

use crate::arrays::hdf5::{self, Cells, TextAttributes, failed};
use crate::arrays::plan::{
    Array, Attribute, Content, DimensionNames, Plan, Rules, kept_name, shortened,
};
use crate::arrays::{ArrayReader, Kind, Loss, LossKind, Target};

/// Names of attributes that the library uses itself.
const RESERVED: [&str; 12] = [
    "CLASS",
    "NAME",
    "DIMENSION_LIST",
    "REFERENCE_LIST",
    "DIMENSION_LABELS",
    "_ARRAY_DIMENSIONS",
    "_Encoding",
    "_FillValue",
    "_NCProperties",
    "_Netcdf4Coordinates",
    "_Netcdf4Dimid",
    "_nc3_strict",
];

static RULES: Rules = Rules {
    name,
    attribute,
    rank_max: hdf5::RANK_MAX,
    has_groups: true,
    pads_text: true,
    streams_text: true,
    attributes_max: hdf5::ATTRIBUTES_MAX,
};

/// A name as the library takes it: it starts with a letter, a digit or a line, has no control
/// characters and does not end in a space.
fn name(name: &str) -> String {
    let mut kept: String =
        kept_name(name).chars().map(|c| if c.is_ascii_control() { '_' } else { c }).collect();
    let is_start = |c: char| c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii();
    if !kept.starts_with(is_start) {
        kept.insert(0, '_');
    }
    if kept.ends_with(' ') {
        kept.push('_');
    }
    shortened(kept)
}

fn attribute(text: &str) -> String {
    let kept = name(text);
    if RESERVED.contains(&kept.as_str()) { format!("{kept}_") } else { kept }
}

/// NetCDF-4.
#[derive(Debug)]
pub(crate) struct NetCdf;

impl Target for NetCdf {
    fn name(&self) -> &'static str {
        "netcdf"
    }

    fn about(&self) -> &'static str {
        "NetCDF-4, for xarray and ncdump"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["nc", "nc4", "cdf"]
    }

    fn rules(&self) -> &'static Rules {
        &RULES
    }

    fn write(&self, plan: &Plan, reading: &mut ArrayReader<'_>, to: &Path) -> Result<()> {
        let mut names = plan.dimension_names.clone();
        let mut shaped: Vec<_> =
            plan.arrays.iter().map(|array| ShapedArray::from_array(array, &mut names)).collect();
        share(&mut shaped, &mut names);
        let mut held = plan.groups.clone();
        for group in &mut held {
            let path = format!("/{}", group.path);
            group.attributes = plain(&path, &group.attributes, &mut reading.losses);
        }
        hdf5::create(to, true, |file| {
            let dimensions = Dimensions::create(file, &shaped)?;
            hdf5::create_groups(file, &held, TextAttributes::Fixed)?;
            shaped.iter().try_for_each(|array| array.write(file, &dimensions, reading, to))
        })
    }
}

/// An array as NetCDF has it: characters and parts of numbers are one more dimension.
struct ShapedArray<'a> {
    array: &'a Array,
    cells: Cells,
    names: Vec<String>,
}

impl<'a> ShapedArray<'a> {
    fn from_array(array: &'a Array, dimensions: &mut DimensionNames) -> Self {
        let mut names = array.dimensions.clone();
        let mut free = |name: String| dimensions.name(&name, 0);
        let cells = Cells::from_array(array);
        let cells = match array.kind {
            Kind::Complex(part) => {
                names.push(free("ri".to_owned()));
                cells.split(Kind::Float(part), 2)
            }
            Kind::Text(bytes) => {
                names.push(free(format!("char_{bytes}")));
                cells.characters(bytes)
            }
            Kind::Bytes(bytes) => {
                names.push(free(format!("byte_{bytes}")));
                cells
            }
            _ => cells,
        };
        Self { array, cells, names }
    }

    fn write(
        &self,
        file: &H5File,
        dimensions: &Dimensions,
        reading: &mut ArrayReader<'_>,
        to: &Path,
    ) -> Result<()> {
        let Self { array, cells, names } = self;
        let dataset = cells.create(file, &array.path)?;
        cells.write(&dataset, array, reading, to)?;
        dimensions.attach(&dataset, names)?;
        if matches!(array.kind, Kind::Complex(_)) {
            let what = "stored with a last dimension of 2: the real and the imaginary part";
            reading.losses.push(Loss::new(LossKind::Reshaped, &array.source, what));
        }
        let mut held = plain(&array.source, &array.attributes, &mut reading.losses);
        if matches!(array.kind, Kind::Text(_)) {
            // Without it, readers take characters for bytes.
            let content = Content::Text("utf-8".to_owned());
            held.push(Attribute { name: "_Encoding".to_owned(), content });
        }
        hdf5::add_to_dataset(&dataset, &held, TextAttributes::Fixed)
    }
}

/// Arrays of one dimension at most. The library lists them all beside the dimension, and goes
/// through that list for every array that is added to it.
const SHARED_MAX: u32 = 1024;

/// Names dimensions of many arrays anew for every so many.
fn share(arrays: &mut [ShapedArray<'_>], dimensions: &mut DimensionNames) {
    let mut counts: HashMap<String, u32> = HashMap::new();
    for name in arrays.iter_mut().flat_map(|shaped| &mut shaped.names) {
        let used = counts.entry(name.clone()).or_insert(0);
        let part = *used / SHARED_MAX + 1;
        *used += 1;
        if part > 1 {
            *name = dimensions.name(&format!("{name}_part{part}"), 0);
        }
    }
}

/// Attributes without complex numbers, which become two numbers.
fn plain(path: &str, held: &[Attribute], losses: &mut Vec<Loss>) -> Vec<Attribute> {
    let mut plain = held.to_vec();
    for attribute in &mut plain {
        if let Content::Number(Kind::Complex(part), bytes)
        | Content::Numbers(Kind::Complex(part), bytes) = &attribute.content
        {
            attribute.content = Content::Numbers(Kind::Float(*part), bytes.clone());
            let label = format!("{path} attribute {}", attribute.name);
            let what = "stored as numbers: real and imaginary parts";
            losses.push(Loss::new(LossKind::Changed, label, what));
        }
    }
    plain
}

/// The dimensions of a file, each a dataset in its root.
struct Dimensions(HashMap<String, H5Dataset>);

impl Dimensions {
    fn create(file: &H5File, arrays: &[ShapedArray<'_>]) -> Result<Self> {
        let mut lengths = BTreeMap::new();
        for shaped in arrays {
            let pairs = shaped.names.iter().cloned().zip(shaped.cells.shape.iter().copied());
            lengths.extend(pairs);
        }
        let mut made = HashMap::new();
        for (id, (name, length)) in (0_i32..).zip(lengths) {
            let dataset = dimension(file, &name, length, id).map_err(failed)?;
            made.insert(name, dataset);
        }
        Ok(Self(made))
    }

    fn attach(&self, dataset: &H5Dataset, names: &[String]) -> Result<()> {
        for (axis, name) in names.iter().enumerate() {
            if let Some(scale) = self.0.get(name) {
                dataset.attach_scale(axis, scale).map_err(failed)?;
            }
        }
        Ok(())
    }
}

/// A dimension that is no variable, in the words that the library knows it by.
fn dimension(file: &H5File, name: &str, length: usize, id: i32) -> rust_hdf5::Result<H5Dataset> {
    let builder = file.new_dataset::<f32>().shape([length]);
    let builder = match length {
        // A dimension of no length is one that could still grow.
        0 => builder.chunk(&[1]).max_shape(&[None]),
        _ => builder,
    };
    let dataset = builder.create(name)?;
    let text = format!("This is a netCDF dimension but not a netCDF variable.{length:10}");
    dataset.set_scale(Some(&text))?;
    dataset.set_attr_typed(
        "_Netcdf4Dimid",
        DatatypeMessage::i32_type(),
        id.to_le_bytes().to_vec(),
    )?;
    Ok(dataset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_as_the_library_takes_them() {
        assert_eq!(name("phi"), "phi");
        assert_eq!(name("(x) "), "_(x) _");
        assert_eq!(name("a\tb"), "a_b");
        assert_eq!(name("φ"), "φ");
        assert_eq!(attribute("_FillValue"), "_FillValue_");
        assert_eq!(attribute("_ARRAY_DIMENSIONS"), "_ARRAY_DIMENSIONS_");
        assert_eq!(attribute("units"), "units");
    }
}
