//! A measurement directory: the files of each thread, under the names that tools look for.

use std::path::PathBuf;

use kymo_core::{AtomicDirectory, Destination, Error, Result};

use super::{ProfileBuilder, TraceWriter};
use crate::measurement::{PROFILE, TRACE};
use crate::types::TraceRecord;

/// What names the files of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ThreadFile {
    /// The rank of the process; 0 where there are no ranks.
    pub rank: u32,
    /// The number of the thread in its process.
    pub thread: u32,
    /// What the host is known by.
    pub host: u32,
    /// What the process is known by on its host.
    pub process: u32,
    /// Counts the times that the same names came up.
    pub generation: u32,
}

impl ThreadFile {
    /// The name of the files, without the extension.
    #[must_use]
    pub fn stem(&self, program: &str) -> String {
        let Self { rank, thread, host, process, generation } = self;
        format!("{program}-{rank:06}-{thread:03}-{host:08x}-{process}-{generation}")
    }
}

/// Writes a measurement directory, thread by thread. Commit it, or nothing appears.
///
/// ```
/// use kymo_core::{Destination, Format, Source, bytes::Limits};
/// use kymo_hpcrun::{DirectoryWriter, Hpcrun, ProfileBuilder, ThreadFile, TraceRecord};
///
/// let folder = tempfile::tempdir()?;
/// let to = Destination::new(folder.path().join("hpctoolkit-a-measurements"), false);
/// let out = DirectoryWriter::new("a", &to)?;
/// for thread in 0..2 {
///     let mut profile = ProfileBuilder::new("a");
///     profile.id(3 | 3 << 14, thread.into(), thread.into());
///     let module = profile.load_module("/bin/a", None)?;
///     let time = profile.metric("CPUTIME (sec)", "", true)?;
///     let main = profile.child(ProfileBuilder::ROOT, module, 0x1187);
///     profile.add(main, time, 0.25);
///     let node = profile.retain(main);
///     let file = ThreadFile { thread, ..ThreadFile::default() };
///     out.profile(&file, &profile)?;
///     let time = 1_704_067_200_000_000_000;
///     out.trace(&file, [TraceRecord { time, node, metric: None }])?;
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

    /// Writes the profile of a thread.
    ///
    /// # Errors
    /// When the thread has one already, when the profile makes no sense, or when writing fails.
    pub fn profile(&self, thread: &ThreadFile, profile: &ProfileBuilder) -> Result<()> {
        let mut out = self.file(thread, PROFILE).file()?;
        profile.write(&mut out)?;
        out.commit()
    }

    /// Writes the trace of a thread: records in the order of their times, each with a node that
    /// the profile [retains](ProfileBuilder::retain).
    ///
    /// # Errors
    /// When the thread has one already, or when writing fails.
    pub fn trace(
        &self,
        thread: &ThreadFile,
        records: impl IntoIterator<Item = TraceRecord>,
    ) -> Result<()> {
        let mut trace = TraceWriter::new(self.file(thread, TRACE).file()?);
        records.into_iter().try_for_each(|record| trace.record(&record))?;
        trace.finish()?.commit()
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
