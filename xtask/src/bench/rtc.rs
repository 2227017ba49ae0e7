//! RTC: writing, scanning and seeking, beside the `mcap` crate and beside bare files.

mod block;
mod scan;
mod seek;
mod write;

use std::path::PathBuf;

use anyhow::Result;

use crate::bench::{Case, CommandLine, Setup};

/// What the table alone does not say.
pub(crate) const NOTES: &str = "\
## RTC\n\n\
Small messages have 16 bytes, and there are 10 million of them; large ones have 4 KiB, and there \
are 262,144. All are of one stream of fixed length. MCAP is written by the `mcap` crate in chunks \
of 1 MiB with a checksum and without compression, or without chunks. \"raw + CRC\" copies the \
messages into a buffer of 1 MiB, takes the CRC32 of it and hands it to the system. Files stay in \
the page cache; nobody calls `fsync`, and no file is there before it is written. Most of the time \
of large messages is the system's, which copies them; how long it takes depends on where in a page \
the buffer begins, by a factor of up to four and not the same way for reading and writing. So bare \
files are measured twice, with a buffer that begins with a page and one that does not, and the \
faster of the two is the one to compare with.\n\n\
What was aimed at, as ours ÷ peer: writing small messages at most 0.125 of chunked MCAP and 1.67 of \
raw + CRC; large ones at most 1.0 and 1.18; scanning small ones at most 0.25 of chunked MCAP, large \
ones at most 1.11 of raw + CRC; a search in less than 1 ms; a file of small messages at most 1.07 \
times their bytes, which a test holds to 1.064. All of it is reached beside a bare file whose buffer \
begins anywhere. Beside one whose buffer begins with a page, writing small messages is (1.08), and \
large ones are not: writing took 1.33 of it when the writer's own buffer did not begin with a page \
yet, and scanning takes 1.44.\n\n\
The search opens a file of 4 GiB (a message of 4 KiB and its time every microsecond) and finds a \
thousand messages by their times, in no order, so a search takes a thousandth of what the table \
shows. Its peer reads a unit of 128 KiB at a thousand places.\n";

/// How large messages are, and how many.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(crate) enum Shape {
    Small,
    Large,
}

impl Shape {
    fn message_bytes(self) -> usize {
        match self {
            Self::Small => 16,
            Self::Large => 4096,
        }
    }

    fn count(self) -> u64 {
        match self {
            Self::Small => 10_000_000,
            Self::Large => 262_144,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Large => "large",
        }
    }
}

/// Ours and peers that are no programs.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Peer {
    /// Write with our writer.
    RtcWrite { shape: Shape, file: PathBuf },
    /// Write with the `mcap` crate in chunks.
    McapWrite { shape: Shape, file: PathBuf },
    /// Write with the `mcap` crate without chunks.
    McapWriteUnchunked { shape: Shape, file: PathBuf },
    /// Write bytes and their checksum.
    RawWrite {
        shape: Shape,
        file: PathBuf,
        /// With a buffer that begins with a page.
        #[arg(long)]
        paged: bool,
    },
    /// Read with our reader.
    RtcScan { shape: Shape, file: PathBuf },
    /// Read with the `mcap` crate.
    McapScan { shape: Shape, file: PathBuf },
    /// Read bytes and take their checksum.
    RawScan {
        shape: Shape,
        file: PathBuf,
        /// With a buffer that begins with a page.
        #[arg(long)]
        paged: bool,
    },
    /// Find messages by their times.
    RtcSeek { file: PathBuf },
    /// Read units at places that follow no order.
    RawSeek { file: PathBuf },
}

impl Peer {
    pub(crate) fn run(&self) -> Result<()> {
        match self {
            Self::RtcWrite { shape, file } => write::rtc(file, *shape),
            Self::McapWrite { shape, file } => write::mcap(file, *shape, true),
            Self::McapWriteUnchunked { shape, file } => write::mcap(file, *shape, false),
            Self::RawWrite { shape, file, paged } => write::raw(file, *shape, *paged),
            Self::RtcScan { shape, file } => scan::rtc(file, *shape),
            Self::McapScan { shape, file } => scan::mcap(file, *shape),
            Self::RawScan { file, paged, .. } => scan::raw(file, *paged),
            Self::RtcSeek { file } => seek::rtc(file),
            Self::RawSeek { file } => seek::raw(file),
        }
    }
}

/// Makes the files that are read.
fn make(setup: &Setup) -> Result<()> {
    for shape in [Shape::Small, Shape::Large] {
        let file = |extension: &str| setup.folder.join(format!("{}.{extension}", shape.name()));
        write::rtc(&file("rtc"), shape)?;
        write::mcap(&file("mcap"), shape, true)?;
        write::mcap(&file("flat.mcap"), shape, false)?;
        write::raw(&file("raw"), shape, false)?;
    }
    Ok(())
}

/// The cases. What is written is not there before.
pub(crate) fn cases(setup: &Setup) -> Result<Vec<Case>> {
    let long = setup.folder.join("long.rtc");
    seek::make(&long)?;
    make(setup)?;
    let peer = |name: &str, shape: Shape, file: PathBuf| -> CommandLine {
        setup.peer([name.as_ref(), shape.name().as_ref(), file.as_os_str()])
    };
    let write = |name: &str, shape: Shape| peer(name, shape, setup.outputs().join("written"));
    let scan = |name: &str, shape: Shape, extension: &str| {
        peer(name, shape, setup.folder.join(format!("{}.{extension}", shape.name())))
    };
    let paged = |mut line: CommandLine| {
        line.push("--paged".into());
        line
    };
    let writing = |name, shape| Case {
        name,
        items: None,
        ours: write("rtc-write", shape),
        peers: vec![
            ("mcap, chunked + CRC", write("mcap-write", shape)),
            ("mcap, unchunked", write("mcap-write-unchunked", shape)),
            ("raw + CRC", write("raw-write", shape)),
            ("raw + CRC, from a page on", paged(write("raw-write", shape))),
        ],
    };
    let scanning = |name, shape| Case {
        name,
        items: None,
        ours: scan("rtc-scan", shape, "rtc"),
        peers: vec![
            ("mcap, chunked + CRC", scan("mcap-scan", shape, "mcap")),
            ("mcap, unchunked", scan("mcap-scan", shape, "flat.mcap")),
            ("raw + CRC", scan("raw-scan", shape, "raw")),
            ("raw + CRC, from a page on", paged(scan("raw-scan", shape, "raw"))),
        ],
    };
    Ok(vec![
        writing("rtc: write 10 M × 16 bytes", Shape::Small),
        writing("rtc: write 262,144 × 4 KiB", Shape::Large),
        scanning("rtc: scan 10 M × 16 bytes", Shape::Small),
        scanning("rtc: scan 262,144 × 4 KiB", Shape::Large),
        Case {
            name: "rtc: 1000 searches by time in 4 GiB",
            items: None,
            ours: setup.peer(["rtc-seek".as_ref(), long.as_os_str()]),
            peers: vec![("pread of units", setup.peer(["raw-seek".as_ref(), long.as_os_str()]))],
        },
    ])
}
