//! RTC: writing, scanning and seeking, beside the `mcap` crate and beside bare files.

mod block;
mod scan;
mod seek;
mod write;

use std::path::PathBuf;

use anyhow::Result;

use crate::bench::{Case, CommandLine, Setup};
use write::Time;

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
What both sides do: bare files, and ours \"untimed\", have no times; MCAP has one in every \
message and cannot do without. So MCAP stands beside ours with a time each: \"a time each\" is \
`write_at` of `kymo-recorder` on an absolute clock, which writes 13 bytes more for each message, \
and `log_time` of the `mcap` crate; \"the present each\" is `write_now`, and `log_time` from the \
system's clock. Scanning compares a file of ours without times with one of MCAP with times: ours \
gives payloads and verifies checksums, the `mcap` crate also gives times and sequence numbers.\n\n\
What was aimed at, as ours ÷ peer: writing small messages without times at most 1.67 of raw + \
CRC; large ones at most 1.18; scanning small ones at most 0.25 of chunked MCAP, large ones at \
most 1.11 of raw + CRC; a search in less than 1 ms; a file of small messages at most 1.07 times \
their bytes, which a test holds to 1.064. All of it is reached beside a bare file whose buffer \
begins anywhere. Beside one whose buffer begins with a page, writing small messages is (1.08), \
and large ones are not: writing took 1.33 of it when the writer's own buffer did not begin with \
a page yet, and scanning takes 1.44. With a time each there is no aim yet: small messages take \
about half of what MCAP's take with times that are given, and nearly as much where the system is \
asked for the time.\n\n\
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
    /// Write with our writer, without times.
    RtcWrite { shape: Shape, file: PathBuf },
    /// Write with our recorder, with a time for each message.
    RtcWriteAt { shape: Shape, file: PathBuf },
    /// Write with our recorder, with the present for each message.
    RtcWriteNow { shape: Shape, file: PathBuf },
    /// Write with the `mcap` crate in chunks.
    McapWrite { shape: Shape, file: PathBuf },
    /// Write with the `mcap` crate in chunks, with the present for each message.
    McapWriteNow { shape: Shape, file: PathBuf },
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
            Self::RtcWriteAt { shape, file } => write::rtc_timed(file, *shape, Time::Given),
            Self::RtcWriteNow { shape, file } => write::rtc_timed(file, *shape, Time::Now),
            Self::McapWrite { shape, file } => write::mcap(file, *shape, true, Time::Given),
            Self::McapWriteNow { shape, file } => write::mcap(file, *shape, true, Time::Now),
            Self::McapWriteUnchunked { shape, file } => {
                write::mcap(file, *shape, false, Time::Given)
            }
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
    // Without times, as bare files have none; with times, as MCAP has them.
    let writing = |name, shape| Case {
        name,
        items: None,
        ours: write("rtc-write", shape),
        peers: vec![
            ("raw + CRC", write("raw-write", shape)),
            ("raw + CRC, from a page on", paged(write("raw-write", shape))),
        ],
    };
    let writing_at = |name, shape| Case {
        name,
        items: None,
        ours: write("rtc-write-at", shape),
        peers: vec![
            ("mcap, chunked + CRC", write("mcap-write", shape)),
            ("mcap, unchunked", write("mcap-write-unchunked", shape)),
        ],
    };
    let writing_now = |name, shape| Case {
        name,
        items: None,
        ours: write("rtc-write-now", shape),
        peers: vec![("mcap, chunked + CRC, the present", write("mcap-write-now", shape))],
    };
    let scanning = |name, shape| Case {
        name,
        items: None,
        ours: scan("rtc-scan", shape, "rtc"),
        // Messages of MCAP have times, and these have none.
        peers: vec![
            ("raw + CRC", scan("raw-scan", shape, "raw")),
            ("raw + CRC, from a page on", paged(scan("raw-scan", shape, "raw"))),
        ],
    };
    Ok(vec![
        writing("rtc: write 10 M × 16 bytes, untimed", Shape::Small),
        writing_at("rtc: write 10 M × 16 bytes, a time each", Shape::Small),
        writing_now("rtc: write 10 M × 16 bytes, the present each", Shape::Small),
        writing("rtc: write 262,144 × 4 KiB, untimed", Shape::Large),
        writing_at("rtc: write 262,144 × 4 KiB, a time each", Shape::Large),
        scanning("rtc: scan 10 M × 16 bytes, untimed", Shape::Small),
        scanning("rtc: scan 262,144 × 4 KiB, untimed", Shape::Large),
        Case {
            name: "rtc: 1000 searches by time in 4 GiB",
            items: None,
            ours: setup.peer(["rtc-seek".as_ref(), long.as_os_str()]),
            peers: vec![("pread of units", setup.peer(["raw-seek".as_ref(), long.as_os_str()]))],
        },
    ])
}
