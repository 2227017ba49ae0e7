//! Arrays: groups, n-d variables with steps and blocks, attributes, slices.
//!
//! A *variable* has a path and one type. It has *steps*: the same variable written again and
//! again, each time perhaps with another shape. A step has *blocks*: the parts that processes
//! wrote, each at its place in the step's shape; a step that one process wrote has one block.

mod assembly;
#[cfg(test)]
mod fixture;
mod joined;
mod statistics;
mod table;

use std::borrow::Cow;
use std::ops::Range;

use arrow_array::ArrayRef;
use arrow_schema::DataType;

use kymo_core::bytes::Endian;
use kymo_core::{Error, Result, Value};

pub use assembly::{Chunk, Chunks, unravel};
pub use joined::JoinedArrays;
pub use statistics::{Statistics, statistics};
pub use table::VariableTable;

/// Bytes that the values of all attributes of a view take, at most.
pub const ATTRIBUTES_BYTES_MAX: u64 = 8 << 20;

/// A variable's index in its view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VariableId(pub usize);

/// A block's number in its format's own counting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BlockId(pub u64);

/// The arrays of a dataset.
pub trait ArraysView: Send + Sync {
    /// Returns the number of variables; their ids count from 0 in the order of the file.
    fn variable_count(&self) -> usize;

    /// Returns the description of a variable.
    fn variable(&self, id: VariableId) -> Variable;

    /// The shape and the blocks of one step.
    fn step(&self, id: VariableId, step: u64) -> Result<Step>;

    /// Reads some values of a block, by their position in storage.
    fn read_block(&self, block: BlockId, values: Range<u64>) -> Result<ArrayRef>;

    /// Returns the number of values of a block that may be asked for in one
    /// [`read_block`](Self::read_block).
    ///
    /// A format whose values may be large, such as texts, says so here; all must go otherwise.
    fn values_per_read(&self, _block: BlockId) -> u64 {
        u64::MAX
    }

    /// The values of a block as they lie in the file: one after the other from the block's
    /// offset, each of them just as its type has it. Nothing where they do not.
    fn stored(&self, _block: BlockId) -> Option<Stored<'_>> {
        None
    }

    /// The values of a block of text, or of a type that nobody knows, as they lie in the file.
    /// Nothing for any other block.
    fn raw(&self, _block: BlockId) -> Option<Raw<'_>> {
        None
    }

    /// Returns the number of times so far that some values that were read together had to be
    /// rounded. The format's type is wider than any of ours, and a value needed it.
    fn rounded(&self) -> u64 {
        0
    }

    /// Returns true if a value that was read so far was rounded.
    fn has_rounded(&self) -> bool {
        self.rounded() > 0
    }

    /// Some values of a block of a variable that [`rounds`](Variable::rounds), as decimal text to
    /// the last digit. Nothing for any other block.
    fn decimals(&self, _block: BlockId, _values: Range<u64>) -> Result<Option<ArrayRef>> {
        Ok(None)
    }

    /// The paths of groups that the file names by themselves, in its order.
    fn groups(&self) -> Vec<String> {
        Vec::new()
    }

    /// Every attribute, in the order of the file. Their values take
    /// [`ATTRIBUTES_BYTES_MAX`] at most; those beyond are [`unread`](Attribute::unread).
    fn attributes(&self) -> Vec<Attribute>;

    /// The variables of a path. There are several where a writer changed a variable's type.
    ///
    /// A path without a leading `/`, or a bare name that only one path ends in, will do.
    fn find(&self, path: &str) -> Vec<VariableId>;
}

/// Description of a variable.
#[derive(Debug, Clone, PartialEq)]
pub struct Variable {
    /// The whole path: `/fields/temperature`.
    pub path: String,
    /// True if the path is no UTF-8 in the file, and was read as Latin-1.
    pub is_recoded: bool,
    /// The format's word for its type: `double`.
    pub type_name: Cow<'static, str>,
    /// The type that values are read as.
    pub data_type: DataType,
    /// True if reading may round values: the format's type is wider than any of ours.
    pub rounds: bool,
    /// Way in which the parts make a whole.
    pub kind: VariableKind,
    /// Number of dimensions.
    pub rank: usize,
    /// The least length of each dimension over all steps.
    pub min_shape: Vec<u64>,
    /// The greatest length of each dimension over all steps. Mostly the same.
    pub max_shape: Vec<u64>,
    /// Number of times that it was written.
    pub steps: u64,
    /// Number of blocks of all its steps.
    pub blocks: u64,
}

impl Variable {
    /// Returns the description that a view gives of a variable that it does not have.
    #[must_use]
    pub fn none() -> Self {
        Self {
            path: String::new(),
            is_recoded: false,
            type_name: "".into(),
            data_type: DataType::Null,
            rounds: false,
            kind: VariableKind::Scalar,
            rank: 0,
            min_shape: Vec::new(),
            max_shape: Vec::new(),
            steps: 0,
            blocks: 0,
        }
    }
}

/// Ways in which the parts of a variable make a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VariableKind {
    /// One value a step.
    Scalar,
    /// An array that says nothing of a larger one.
    Local,
    /// Blocks that say their place in a larger array.
    Global,
}

impl VariableKind {
    /// The word a person reads.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Local => "local",
            Self::Global => "global",
        }
    }
}

/// One writing of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The length of each dimension, as the file lists them.
    pub shape: Vec<u64>,
    /// The parts that were written, in the order of the file.
    pub blocks: Vec<Block>,
}

/// A part of a step that lies in one run in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Id by which to read it.
    pub id: BlockId,
    /// Its first index in each dimension of the step.
    pub start: Vec<u64>,
    /// Its length in each dimension.
    pub count: Vec<u64>,
    /// Its first byte in the file.
    pub offset: u64,
}

/// The values of a block as they lie in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stored<'a> {
    /// The byte order of each value.
    pub endian: Endian,
    /// All values, without anything between them. Nothing is aligned.
    pub bytes: &'a [u8],
}

/// Texts, or values of a type that nobody knows, as they lie in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Raw<'a> {
    /// All values, one after the other. Text need not be UTF-8; it is Latin-1 then.
    pub bytes: &'a [u8],
    /// Number of bytes of each.
    pub each: usize,
}

/// Dimension that varies fastest in storage, where the file does not give it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// The last, as C programs have it.
    #[default]
    C,
    /// The first, as Fortran programs have it.
    Fortran,
}

impl Order {
    /// Puts one number a dimension from the file's order into storage order (slowest first),
    /// or back.
    #[must_use]
    pub fn turn<T>(self, mut dimensions: Vec<T>) -> Vec<T> {
        if self == Self::Fortran {
            dimensions.reverse();
        }
        dimensions
    }
}

/// A name and a value that describe a variable or a group.
#[derive(Debug, Clone, PartialEq)]
pub struct Attribute {
    /// Object that it describes.
    pub target: Target,
    /// The path of what it describes.
    pub path: String,
    /// Its name.
    pub name: String,
    /// The format's word for its type.
    pub type_name: Cow<'static, str>,
    /// Type in which its value is stored, where that has an Arrow type.
    pub data_type: Option<DataType>,
    /// Its value; null where that is [`unread`](Self::unread).
    pub value: Value,
    /// Number of bytes of a value that was not read, because there are too many.
    pub unread: Option<u64>,
    /// True if its path, its name or its text is no UTF-8 in the file, and was read as Latin-1.
    pub is_recoded: bool,
    /// Its first byte in the file.
    pub offset: u64,
}

/// Object that an attribute describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Target {
    /// A variable that is there.
    Variable,
    /// A group.
    Group,
    /// A variable that is not there.
    Nothing,
}

/// A box of a step's shape, in the order the file lists dimensions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// The first index in each dimension.
    pub start: Vec<u64>,
    /// Number of values in each dimension.
    pub count: Vec<u64>,
}

impl Selection {
    /// Everything.
    #[must_use]
    pub fn all(shape: &[u64]) -> Self {
        Self { start: vec![0; shape.len()], count: shape.to_vec() }
    }

    /// A box as one types it: a negative start counts from the end, a count of −1 goes to the
    /// end, and what is left out means everything.
    pub fn from_range(shape: &[u64], start: &[i64], count: &[i64]) -> Result<Self> {
        let rank = shape.len();
        for (given, what) in [(start, "starts"), (count, "counts")] {
            if !given.is_empty() && given.len() != rank {
                let why = format!("{} {what} given for {rank} dimensions", given.len());
                return Err(Error::Request(why));
            }
        }
        let mut selection = Self::all(shape);
        let outputs = selection.start.iter_mut().zip(&mut selection.count);
        for (dimension, ((first, many), &length)) in outputs.zip(shape).enumerate() {
            let start = start.get(dimension).copied().unwrap_or(0);
            let count = count.get(dimension).copied().unwrap_or(-1);
            (*first, *many) = range_of(length, start, count).ok_or_else(|| {
                Error::Request(format!(
                    "start {start} and count {count} do not fit dimension {dimension}, \
                     which has {length}"
                ))
            })?;
        }
        Ok(selection)
    }

    /// Returns the number of values in the box; saturates.
    #[must_use]
    pub fn len(&self) -> u64 {
        volume(&self.count)
    }

    /// Returns true if the box is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Returns the range in a dimension for a start and a count, if they fit.
fn range_of(length: u64, start: i64, count: i64) -> Option<(u64, u64)> {
    let first = match u64::try_from(start) {
        Ok(start) => start,
        Err(_) => length.checked_sub(start.unsigned_abs())?,
    };
    let left = length.checked_sub(first)?;
    let many = match u64::try_from(count) {
        Ok(count) => count,
        Err(_) if count == -1 => left,
        Err(_) => return None,
    };
    (many <= left).then_some((first, many))
}

/// Returns the number of values in a box of these lengths; saturates.
#[must_use]
pub fn volume(lengths: &[u64]) -> u64 {
    lengths.iter().fold(1, |product, &length| product.saturating_mul(length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selection_reads_as_one_types_it() {
        let shape = [10, 20];
        let all = Selection::from_range(&shape, &[], &[]).unwrap();
        assert_eq!(all, Selection::all(&shape));
        let some = Selection::from_range(&shape, &[2, -5], &[3, -1]).unwrap();
        assert_eq!(some, Selection { start: vec![2, 15], count: vec![3, 5] });
    }

    #[test]
    fn a_selection_beyond_the_shape_is_refused_with_the_dimension() {
        let error = Selection::from_range(&[10, 20], &[0, 18], &[1, 5]).unwrap_err();
        assert_eq!(error.to_string(), "start 18 and count 5 do not fit dimension 1, which has 20");
        assert!(Selection::from_range(&[10], &[1, 2], &[]).is_err());
        assert!(Selection::from_range(&[10], &[-11], &[]).is_err());
        assert!(Selection::from_range(&[10], &[i64::MIN], &[i64::MIN]).is_err());
    }
}
