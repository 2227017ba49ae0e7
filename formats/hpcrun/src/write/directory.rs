//! A measurement directory: the files of each thread, under the names that tools look for.

use std::path::PathBuf;

use kymo_core::{AtomicDirectory, Destination, Error, Result};

use super::{ProfileBuilder, TraceWriter};
use crate::measurement::{PROFILE, TRACE};
use crate::spec;
use crate::types::{Header, Id, NvPair, TraceRecord};

/// Numbers that name the files of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ThreadFile {
    /// The rank of the process, where there are ranks.
    pub rank: Option<u32>,
    /// The number of the thread in its process.
    pub thread: u32,
    /// Number by which the host is known.
    pub host: u32,
    /// Number by which the process is known on its host.
    pub process: u32,
    /// Counts the times that the same names came up.
    pub generation: u32,
}

impl ThreadFile {
    /// The name of the files, without the extension.
    #[must_use]
    pub fn stem(&self, program: &str) -> String {
        let Self { rank, thread, host, process, generation } = self;
        let rank = rank.unwrap_or(0);
        format!("{program}-{rank:06}-{thread:03}-{host:08x}-{process}-{generation}")
    }

    /// The ids that name the thread, as hpcrun gives them.
    fn ids(&self) -> Vec<Id> {
        let host = u64::from(self.host);
        let rank =
            |rank: u32| Id { kind: spec::RANK_ID, physical: rank.into(), logical: rank.into() };
        let thread = u64::from(self.thread);
        let node = Id { kind: spec::NODE_ID, physical: host, logical: 0 };
        let thread = Id { kind: spec::THREAD_ID, physical: thread, logical: thread };
        [Some(node), self.rank.map(rank), Some(thread)].into_iter().flatten().collect()
    }

    /// The header of a profile: what hpcrun says in every file, in its order. What the profile says
    /// itself counts, and what else it says follows.
    fn header(&self, this_header: &Header, (first, last): (u64, u64)) -> Header {
        let pairs = [
            ("program-name", String::new()),
            ("program-path", String::new()),
            ("env-path", String::new()),
            ("job-id", String::new()),
            ("mpi-rank", self.rank.unwrap_or(0).to_string()),
            ("thread-id", self.thread.to_string()),
            ("host-id", format!("{:x}", self.host)),
            ("process-id", self.process.to_string()),
            ("trace-min-time", first.to_string()),
            ("trace-max-time", last.to_string()),
            ("trace-disorder", "0".to_owned()),
        ];
        let is_usual = |pair: &&NvPair| pairs.iter().any(|(name, _)| pair.name == (*name).into());
        let others = this_header.nv.iter().filter(|pair| !is_usual(pair)).cloned();
        let said =
            |name: &str| this_header.nv.iter().find(|pair| pair.name == name.into()).cloned();
        let usual = pairs.iter();
        let usual = usual
            .map(|(name, value)| said(name).unwrap_or_else(|| NvPair::new(*name, value.as_str())));
        Header { nv: usual.chain(others).collect(), ..this_header.clone() }
    }
}

/// Writes a measurement directory, thread by thread. Commit it, or nothing appears.
///
/// ```
/// use kymo_core::{Destination, Source, bytes::Limits};
/// use kymo_model::Format;
/// use kymo_hpcrun::spec::placeholder;
/// use kymo_hpcrun::{DirectoryWriter, Hpcrun, ProfileBuilder, ThreadFile, TraceRecord};
///
/// let folder = tempfile::tempdir()?;
/// let to = Destination::new(folder.path().join("hpctoolkit-a-measurements"), false);
/// let out = DirectoryWriter::new("a", &to)?;
/// for thread in 0..2 {
///     let mut profile = ProfileBuilder::new("a");
///     let module = profile.load_module("/bin/a", None)?;
///     let time = profile.metric("CPUTIME (sec)", "", true)?;
///     let entry = profile.child(ProfileBuilder::ROOT, 0, placeholder::MAIN);
///     let main = profile.child(entry, module, 0x1187);
///     profile.add(main, time, 0.25);
///     let node = profile.retain(main);
///     let file = ThreadFile { thread, ..ThreadFile::default() };
///     let time = 1_704_067_200_000_000_000;
///     out.traced(&file, &profile, [TraceRecord { time, node, metric: None }])?;
/// }
/// out.commit()?;
/// let source = Source::open(to.path(), &Limits::default())?;
/// let names = source.entries()?;
/// assert_eq!(names.len(), 4);
/// assert_eq!(names[3].to_str(), Some("a-000000-001-00000000-0-0.hpctrace"));
/// assert_eq!(Hpcrun.check(&source, &Default::default())?, []);
/// # Ok::<(), kymo_core::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "without commit nothing is written"]
pub struct DirectoryWriter {
    program: String,
    out: AtomicDirectory,
}

impl DirectoryWriter {
    /// Begins a directory for the threads of a program.
    ///
    /// # Errors
    /// When the program's name cannot begin that of a file, or when there is something already.
    pub fn new(program: &str, to: &Destination) -> Result<Self> {
        if program.is_empty() || program.contains(['/', '\\', '\0']) {
            let why = format!("{program:?} cannot begin the name of a file");
            return Err(Error::request(why));
        }
        Ok(Self { program: program.to_owned(), out: to.directory()? })
    }

    /// Writes the profile of a thread that was not traced. Its header says what names the thread,
    /// and so do ids where the profile has none.
    ///
    /// # Errors
    /// When the thread has one already, when the profile makes no sense, or when writing fails.
    pub fn profile(&self, thread: &ThreadFile, profile: &ProfileBuilder) -> Result<()> {
        self.write(thread, profile, (0, 0))
    }

    /// Writes the profile of a thread and its trace: records in the order of their times, each with
    /// a node that the profile [retains](ProfileBuilder::retain).
    ///
    /// # Errors
    /// As for [`profile`](Self::profile), and when a time goes back.
    pub fn traced(
        &self,
        thread: &ThreadFile,
        profile: &ProfileBuilder,
        records: impl IntoIterator<Item = TraceRecord>,
    ) -> Result<()> {
        let mut trace = TraceWriter::new(self.file(thread, TRACE).file()?);
        let mut ends: Option<(u64, u64)> = None;
        for record in records {
            let (first, last) = ends.unwrap_or((record.time, record.time));
            if record.time < last {
                let why = format!("time {} comes after {last} in a trace", record.time);
                return Err(Error::request(why));
            }
            ends = Some((first, record.time));
            trace.record(&record)?;
        }
        trace.finish()?.commit()?;
        self.write(thread, profile, ends.unwrap_or((0, 0)))
    }

    fn write(&self, thread: &ThreadFile, profile: &ProfileBuilder, ends: (u64, u64)) -> Result<()> {
        let mut out = self.file(thread, PROFILE).file()?;
        let given = profile.given_ids();
        let ids = if given.is_empty() { thread.ids() } else { given.to_vec() };
        profile.write_as(&thread.header(profile.header(), ends), &ids, &mut out)?;
        out.commit()
    }

    /// Puts the directory in its place.
    ///
    /// # Errors
    /// When it cannot be.
    pub fn commit(self) -> Result<()> {
        self.out.commit()
    }

    fn file(&self, thread: &ThreadFile, extension: &str) -> Destination {
        let name = PathBuf::from(format!("{}.{extension}", thread.stem(&self.program)));
        Destination::new(self.out.path().join(name), false)
    }
}
