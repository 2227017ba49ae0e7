//! The files that the cases run on, made byte by byte and without our own writer.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};

/// How much there is of a thread.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    /// The number of the thread.
    pub(crate) thread: u32,
    pub(crate) nodes: u32,
    pub(crate) metrics: u16,
}

/// How many children a node has at most.
const CHILDREN: u32 = 8;

/// Ids of nodes are odd, as a trace may refer to any of them.
fn id(node: u32) -> u32 {
    13 + 2 * node
}

/// A file that knows how far it is, and where its sections are.
struct Sections {
    out: BufWriter<File>,
    position: u64,
    bounds: Vec<u64>,
}

impl Sections {
    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes)?;
        self.position += bytes.len() as u64;
        Ok(())
    }

    fn text(&mut self, text: &str) -> Result<()> {
        self.put(&u32::try_from(text.len())?.to_be_bytes())?;
        self.put(text.as_bytes())
    }

    fn section(&mut self, fill: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        self.bounds.push(self.position);
        fill(self)?;
        self.bounds.push(self.position);
        while !self.position.is_multiple_of(1024) {
            self.put(&[0])?;
        }
        Ok(())
    }
}

/// Makes a file unless it is there, so that it appears whole or not at all.
fn make(path: &Path, fill: impl FnOnce(BufWriter<File>) -> Result<()>) -> Result<()> {
    if path.exists() {
        return Ok(());
    }
    let unfinished = path.with_extension("unfinished");
    let out = File::create(&unfinished).with_context(|| unfinished.display().to_string())?;
    fill(BufWriter::with_capacity(1 << 20, out))?;
    Ok(fs::rename(unfinished, path)?)
}

/// A tree whose nodes have a value of each metric.
pub(crate) fn make_profile(path: &Path, shape: Shape) -> Result<()> {
    make(path, |out| {
        let mut file = Sections { out, position: 0, bounds: Vec::new() };
        file.section(|file| {
            file.put(b"HPCRUN-profile____04.00b")?;
            file.put(&1_u32.to_be_bytes())?;
            file.text("program-name")?;
            file.text("generated")
        })?;
        file.section(|file| {
            file.put(&1_u32.to_be_bytes())?;
            file.put(&1_u16.to_be_bytes())?;
            file.text("/opt/generated")?;
            file.put(&1_u64.to_be_bytes())
        })?;
        file.section(|file| nodes(file, shape))?;
        file.section(|file| metrics(file, shape))?;
        file.section(|file| {
            file.put(&[0, 1, 0, 3])?;
            file.text("THREAD")
        })?;
        file.section(|file| values(file, shape))?;
        let start = file.position;
        for bound in file.bounds.clone() {
            file.put(&bound.to_be_bytes())?;
        }
        file.put(&start.to_be_bytes())?;
        file.put(b"HPCRUNsm")?;
        Ok(file.out.flush()?)
    })
}

fn nodes(file: &mut Sections, shape: Shape) -> Result<()> {
    file.put(&u64::from(shape.nodes).to_be_bytes())?;
    for node in 0..shape.nodes {
        let parent = node.checked_sub(1).map_or(0, |before| id(before / CHILDREN));
        file.put(&id(node).to_be_bytes())?;
        file.put(&parent.to_be_bytes())?;
        let is_root = node == 0;
        file.put(&u16::from(!is_root).to_be_bytes())?;
        let address = (0x1000 + u64::from(node) % 65536).to_be_bytes();
        file.put(if is_root { b"^Primary" } else { &address })?;
        file.put(&[1])?;
    }
    Ok(())
}

fn metrics(file: &mut Sections, shape: Shape) -> Result<()> {
    file.put(&u32::from(shape.metrics).to_be_bytes())?;
    for metric in 0..shape.metrics {
        file.text(&format!("metric {metric}"))?;
        file.text("")?;
        file.put(&[1, 0, 2, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0])?;
        file.put(&1_u64.to_be_bytes())?;
        file.text("")?;
        file.text("")?;
        file.put(&[0; 20])?;
    }
    Ok(())
}

fn values(file: &mut Sections, shape: Shape) -> Result<()> {
    // One thread, by its logical number alone.
    file.put(&1_u16.to_be_bytes())?;
    file.put(&(3_u16 | 3 << 14).to_be_bytes())?;
    file.put(&u64::from(shape.thread).to_be_bytes())?;
    file.put(&u64::from(shape.thread).to_be_bytes())?;
    let count = u64::from(shape.nodes) * u64::from(shape.metrics);
    file.put(&count.to_be_bytes())?;
    file.put(&shape.nodes.to_be_bytes())?;
    for node in 0..shape.nodes {
        for metric in 0..shape.metrics {
            file.put(&(f64::from(node % 1000) / 1000.0 + f64::from(metric)).to_be_bytes())?;
            file.put(&metric.to_be_bytes())?;
        }
    }
    for node in 0..shape.nodes {
        file.put(&id(node).to_be_bytes())?;
        file.put(&(u64::from(node) * u64::from(shape.metrics)).to_be_bytes())?;
    }
    file.put(b"end!")?;
    file.put(&count.to_be_bytes())
}

/// Records, one each microsecond, that name so many nodes in turn.
pub(crate) fn make_trace(path: &Path, records: u64, nodes: u64) -> Result<()> {
    make(path, |mut out| {
        out.write_all(b"HPCRUN-trace______01.01b")?;
        out.write_all(&0_u64.to_be_bytes())?;
        for record in 0..records {
            let time = 1_700_000_000_000_000_000 + record * 1000;
            out.write_all(&time.to_be_bytes())?;
            out.write_all(&id(u32::try_from(record % nodes)?).to_be_bytes())?;
        }
        Ok(out.flush()?)
    })
}
