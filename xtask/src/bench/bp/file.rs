//! The file that the cases run on, made byte by byte and without our own writer.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};

/// How often every variable is written.
const STEPS: u32 = 143_750;

/// How many elements the file has: one of each variable a step.
pub(crate) const ELEMENTS: u64 = 1_150_000;

/// What is written in each step.
const VARIABLES: [Variable; 8] = [
    Variable::scalar("istep", Kind::Int),
    Variable::scalar("time", Kind::Double),
    Variable::scalar("nparticles", Kind::Int),
    Variable::array("potential", "/fields", Kind::Double, 256),
    Variable::array("density", "/fields", Kind::Double, 256),
    Variable::array("temperature", "/fields", Kind::Float, 256),
    Variable::array("weight", "/particles", Kind::Float, 256),
    Variable::array("id", "/particles", Kind::Int, 200),
];

/// Tags and datatypes of the specification, those used here.
const SCR_TAG: u32 = 3;
const DST_TAG: u32 = 2;
const DIR_TAG: u32 = 4;
const VAL_TAG: u32 = 5;
const DSTVAL_TAG: u32 = 6;

/// A type of values, with its number in the specification.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Int = 2,
    Float = 5,
    Double = 6,
}

/// One variable: a scalar, or an array of one dimension.
#[derive(Debug)]
struct Variable {
    name: &'static str,
    path: &'static str,
    kind: Kind,
    length: Option<u32>,
}

impl Variable {
    const fn scalar(name: &'static str, kind: Kind) -> Self {
        Self { name, path: "/", kind, length: None }
    }

    const fn array(name: &'static str, path: &'static str, kind: Kind, length: u32) -> Self {
        Self { name, path, kind, length: Some(length) }
    }

    /// The element that holds this variable's values of one step.
    fn element(&self, step: u32) -> Result<Vec<u8>> {
        let payload = self.payload(step);
        let payload_bytes = u32::try_from(payload.len())?;
        let mut element = vec![0; 4];
        let tag = if self.length.is_some() { DST_TAG } else { SCR_TAG };
        for (tag, text) in [(tag, self.name), (DIR_TAG, self.path)] {
            put(&mut element, &[tag, u32::try_from(text.len())?]);
            element.extend_from_slice(text.as_bytes());
        }
        match self.length {
            // One dimension: its local bound, its global bound, its offset.
            Some(length) => put(&mut element, &[DSTVAL_TAG, payload_bytes, 1, length, 0, 0]),
            None => put(&mut element, &[VAL_TAG, payload_bytes]),
        }
        put(&mut element, &[self.kind as u32]);
        element.extend_from_slice(&payload);
        let element_bytes = u32::try_from(element.len())?;
        let (length, _) = element.split_at_mut(4);
        length.copy_from_slice(&element_bytes.to_le_bytes());
        Ok(element)
    }

    /// Values that differ from step to step.
    fn payload(&self, step: u32) -> Vec<u8> {
        let numbers = (0..self.length.unwrap_or(1)).map(|index| step.wrapping_add(index));
        match self.kind {
            Kind::Int => numbers.flat_map(u32::to_le_bytes).collect(),
            Kind::Float => numbers.flat_map(|n| from_u16(n).to_le_bytes()).collect(),
            Kind::Double => numbers.flat_map(|n| (f64::from(n) * 0.001).to_le_bytes()).collect(),
        }
    }
}

/// A number below one, of the lower half of `n`.
fn from_u16(n: u32) -> f32 {
    let [low, high, ..] = n.to_le_bytes();
    f32::from(u16::from_le_bytes([low, high])) / 65_536.0
}

fn put(element: &mut Vec<u8>, words: &[u32]) {
    element.extend(words.iter().flat_map(|word| word.to_le_bytes()));
}

/// Makes the file, unless one of the right size is there.
pub(crate) fn make(path: &Path) -> Result<()> {
    let mut step_bytes = 0;
    for variable in &VARIABLES {
        step_bytes += u64::try_from(variable.element(0)?.len())?;
    }
    let size_bytes = step_bytes * u64::from(STEPS);
    if fs::metadata(path).is_ok_and(|found| found.len() == size_bytes) {
        return Ok(());
    }
    eprintln!("making {}: {ELEMENTS} elements, {size_bytes} bytes", path.display());
    write(path).with_context(|| path.display().to_string())
}

fn write(path: &Path) -> Result<()> {
    let temporary = path.with_extension("tmp");
    let mut out = BufWriter::with_capacity(1 << 20, File::create(&temporary)?);
    for step in 0..STEPS {
        for variable in &VARIABLES {
            out.write_all(&variable.element(step)?)?;
        }
    }
    out.into_inner()?.sync_all()?;
    fs::rename(temporary, path)?;
    Ok(())
}
