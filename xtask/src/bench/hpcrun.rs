//! HPCToolkit measurements: a profile of ten million nodes, a trace of a hundred million records.

pub(crate) mod file;

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::bench::{Case, Setup, command_line};

/// What the table alone does not say.
pub(crate) const NOTES: &str = "\
## HPCToolkit measurements\n\n\
The profile is 04.00b with 10 million nodes and four values in each, 710 MB. `info` adds up \
all values; `check` applies every rule to all nodes and values; `top` builds the tree of all nodes, \
with every value, and adds it up. The trace has 100 million records, \
1.2 GB; `check` reads each of them, and so does `ls -s`, which counts them. In the directory each of \
20 million records is looked up among a million nodes; `trace` goes through them twice, as events of \
a timeline, and adds up how long each of 65,536 functions took. The peer \
that looks at each byte reads blocks of 256 KiB and adds up their numbers of eight bytes, so that \
it takes from memory what a reader has to. It does so on one processor and copies what it reads; \
ours maps files, and `check` and `ls -s` of a trace use two, so that their CPU is to be compared, \
not their wall time. All files are in the page cache.\n";

/// Read at once by the peer.
const BLOCK_BYTES: usize = 256 << 10;

/// What ours is compared with.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Peer {
    /// Read a file, look at each byte, and do nothing else.
    RawRead {
        /// The file.
        path: PathBuf,
    },
}

impl Peer {
    pub(crate) fn run(&self) -> Result<()> {
        let Self::RawRead { path } = self;
        let file = File::open(path).with_context(|| path.display().to_string())?;
        println!("{}", sum(file)?);
        Ok(())
    }
}

/// All numbers of eight bytes, added up.
fn sum(mut file: impl Read) -> Result<u64> {
    let (mut block, mut sum) = (vec![0; BLOCK_BYTES], 0_u64);
    loop {
        let length = file.read(&mut block)?;
        let read = block.get(..length).unwrap_or_default();
        if read.is_empty() {
            return Ok(sum);
        }
        let numbers = read.as_chunks().0.iter().map(|bytes| u64::from_be_bytes(*bytes));
        sum = numbers.fold(sum, u64::wrapping_add);
    }
}

/// The cases, on files that are made when they are not there yet.
pub(crate) fn cases(setup: &Setup) -> Result<Vec<Case>> {
    let profile = setup.folder.join("nodes.hpcrun");
    let trace = setup.folder.join("records.hpctrace");
    let shape = file::Shape { thread: 0, nodes: 10_000_000, metrics: 4 };
    file::make_profile(&profile, shape)?;
    file::make_trace(&trace, 100_000_000, 4096)?;
    let pair = setup.folder.join("traced");
    fs::create_dir_all(&pair)?;
    let shape = file::Shape { nodes: 1_000_000, metrics: 1, ..shape };
    file::make_profile(&pair.join("pair.hpcrun"), shape)?;
    let paired = pair.join("pair.hpctrace");
    file::make_trace(&paired, 20_000_000, shape.nodes.into())?;
    let nodes = Some((10_000_000, "nodes"));
    let records = Some((100_000_000, "records"));
    let of_pair = Some((20_000_000, "records"));
    let case = |name, items, command: &[&str], path: &Path| {
        // What is in a directory is read from its trace for the most part.
        let arguments = command.iter().map(AsRef::as_ref).chain([path.as_os_str()]);
        let path = if path.is_dir() { &*paired } else { path };
        Case {
            name,
            items,
            ours: setup.kymo(arguments),
            peers: vec![
                ("cat > /dev/null", command_line("cat", [path])),
                ("read, look at each byte", setup.peer(["raw-read".as_ref(), path.as_os_str()])),
            ],
        }
    };
    Ok(vec![
        case("hpcrun: info of 10 M nodes with 4 metrics", nodes, &["info"], &profile),
        case("hpcrun: check of 10 M nodes with 4 metrics", nodes, &["check"], &profile),
        case("hpcrun: top of 10 M nodes with 4 metrics", nodes, &["top"], &profile),
        case("hpcrun: check of 100 M trace records", records, &["check"], &trace),
        case("hpcrun: ls -s of 100 M trace records", records, &["ls", "-s"], &trace),
        case("hpcrun: check of 20 M records with 1 M nodes", of_pair, &["check"], &pair),
        case("hpcrun: trace of 20 M records with 1 M nodes", of_pair, &["trace"], &pair),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peer_looks_at_all_of_a_file() {
        let numbers: Vec<_> = (1..=100_000_u64).flat_map(u64::to_be_bytes).collect();
        assert_eq!(sum(numbers.as_slice()).unwrap(), 5_000_050_000);
    }
}
