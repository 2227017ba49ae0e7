//! Kind of output that a path names, and whether it may be written.

use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::path::Path;

use kymo_core::{Context, Destination, Error, Source};
use kymo_model::FormatInfo;

use crate::failure::Failure;
use crate::inputs;
use crate::output::Output;
use crate::session::{Named, Session};

/// Destination of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outlet {
    /// The session's output, as it comes.
    Stream,
    /// A file that appears whole.
    File,
    /// A directory that appears whole.
    Directory,
}

impl Outlet {
    /// Finds out what a path names. A device or a named pipe takes the place of standard output:
    /// nothing is ever renamed over it.
    pub(crate) fn open(session: &mut Session, path: &Path) -> anyhow::Result<Self> {
        if path.as_os_str() == "-" {
            return Ok(Self::Stream);
        }
        let found = fs::metadata(path).ok();
        match found.as_ref().map_or(PathKind::Free, PathKind::from_metadata) {
            PathKind::Directory => Ok(Self::Directory),
            PathKind::Free if path.as_os_str().as_encoded_bytes().ends_with(b"/") => {
                Ok(Self::Directory)
            }
            PathKind::Free | PathKind::File => Ok(Self::File),
            PathKind::Stream => {
                let opened = Output::named(path).map_err(Error::io("open it"));
                session.out = opened.map_err(|error| about(path, error))?;
                Ok(Self::Stream)
            }
            PathKind::Other => {
                let why = "it is no file, no device of characters and no pipe, and is not replaced";
                Err(Named::error(inputs::display(path), Failure::new(why)))
            }
        }
    }
}

/// Description of the work where no stage of it gives more.
const WORK: &str = "working";

/// Makes a file that is binary: at a path, or on standard output. When a source of it has changed
/// meanwhile, nothing appears.
///
/// Formats write files and seek in them, so for standard output a file is made first and copied
/// then.
pub(crate) fn make<T>(
    session: &mut Session,
    path: &Path,
    force: bool,
    sources: &[Source],
    work: impl FnOnce(&Destination, &Context<'_>) -> kymo_core::Result<T>,
) -> anyhow::Result<T> {
    if Outlet::open(session, path)? != Outlet::Stream {
        let to = Destination::new(path, force).made_from(sources);
        to.check().map_err(|error| about(path, error))?;
        return match session.bars.meanwhile(WORK, || work(&to, &session.context())) {
            Err(error) if is_of_output(&error) => Err(about(path, error)),
            other => other.map_err(|error| blamed(path, error.into())),
        };
    }
    if session.out.is_terminal() {
        let failure = Failure::new("the result is binary and is not written to a terminal");
        return Err(failure.hint("name a file, or pipe it on").into());
    }
    let directory = tempfile::tempdir().map_err(Error::io("make a temporary directory"))?;
    let made = directory.path().join("made");
    let to = Destination::new(&made, false).made_from(sources);
    let result = session.bars.meanwhile(WORK, || work(&to, &session.context()))?;
    let mut file = File::open(&made).map_err(Error::io("read the temporary file"))?;
    io::copy(&mut file, &mut session.out)?;
    session.out.flush()?;
    Ok(result)
}

/// Returns true if an error is about the output, whatever was made: it is there, or cannot be.
fn is_of_output(error: &Error) -> bool {
    match error {
        Error::Exists(_) | Error::OverInput(_) => true,
        Error::Io { action, .. } => action.ends_with("beside the output"),
        _ => false,
    }
}

/// Object found at a path.
enum PathKind {
    Free,
    File,
    Directory,
    /// Stream that can be written to as it is.
    Stream,
    Other,
}

impl PathKind {
    fn from_metadata(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        {
            use std::os::unix::fs::FileTypeExt;
            if metadata.file_type().is_char_device() || metadata.file_type().is_fifo() {
                return Self::Stream;
            }
        }
        match () {
            () if metadata.is_dir() => Self::Directory,
            () if metadata.is_file() => Self::File,
            () => Self::Other,
        }
    }
}

/// Refuses an output whose name is that of another format: who reads it goes by the name. A pipe or
/// a device that is there has the name that it has.
pub(crate) fn refuse_other_name(output: &Path, format: &FormatInfo) -> anyhow::Result<()> {
    if fs::metadata(output).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        return Ok(());
    }
    let Some(extension) = output.extension().and_then(|extension| extension.to_str()) else {
        return Ok(());
    };
    let has =
        |info: &FormatInfo| info.extensions.iter().any(|own| own.eq_ignore_ascii_case(extension));
    let others = kymo_registry::formats().iter().map(|format| format.info());
    let other = others.filter(|info| has(info)).map(|info| info.title).next();
    let table =
        || kymo_export::tables::by_extension(extension).map(kymo_export::tables::Target::name);
    let arrays =
        || kymo_export::arrays::by_extension(extension).map(kymo_export::arrays::Target::name);
    let Some(other) = other.or_else(table).or_else(arrays).filter(|_| !has(format)) else {
        return Ok(());
    };
    let why = format!("its name is that of {other}, and what is written is {}", format.title);
    let own = format.extensions.first().map_or_else(String::new, |own| format!(" .{own},"));
    let failure = Failure::new(why);
    let hint = format!("name it{own} and make the other of it with `kymo convert`");
    Err(Named::error(inputs::display(output), failure.hint(hint)))
}

/// Refuses to put a directory in the place of what is no recording of its format: `--force` must
/// not cost anyone their data.
pub(crate) fn refuse_foreign_directory(
    session: &Session,
    output: &Path,
    format: &FormatInfo,
) -> Result<(), Failure> {
    let Ok(found) = fs::symlink_metadata(output) else { return Ok(()) };
    let is_empty = || fs::read_dir(output).is_ok_and(|mut entries| entries.next().is_none());
    let is_alike = || {
        let source = session.source(output).ok();
        let found = source.and_then(|source| kymo_registry::detect(&source).ok());
        found.is_some_and(|found| found.format.info().name == format.name)
    };
    if found.is_dir() && (is_empty() || is_alike()) {
        return Ok(());
    }
    if found.is_symlink() {
        let why = format!("{} is a symbolic link", inputs::display(output));
        return Err(Failure::new(why).hint("name the directory itself, or another one"));
    }
    let why = format!("{} is there already and is no {}", inputs::display(output), format.title);
    Err(Failure::new(why).hint("name another directory, or delete it yourself"))
}

/// A directory to write. One that exists is replaced only when nothing is in it but files of the
/// names that will be written: `--force` must not cost anyone their data.
pub(crate) fn own_directory(to: Destination, names: &[String]) -> kymo_core::Result<Destination> {
    let path = to.path();
    to.check()?;
    if fs::symlink_metadata(path).is_err() {
        return Ok(to);
    }
    if !path.is_dir() {
        return Err(Error::request("it is no directory and is not replaced by one"));
    }
    for entry in fs::read_dir(path).map_err(Error::io("list the directory"))? {
        let entry = entry.map_err(Error::io("list the directory"))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.path().is_dir() || !names.contains(&name) {
            return Err(Error::request(format!(
                "the directory has other things in it and is not replaced: {}",
                crate::render::escaped(&name)
            )));
        }
    }
    Ok(to)
}

/// Says of an error that only writing meets, such as a disk that is full, that it is about the
/// output; any other stays as it is.
pub(crate) fn blamed(output: &Path, error: anyhow::Error) -> anyhow::Error {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    if error.is::<Named>() {
        return error;
    }
    let system = error.chain().find_map(|cause| match cause.downcast_ref::<Error>() {
        Some(Error::Io { error, .. }) => Some(error),
        _ => cause.downcast_ref::<io::Error>(),
    });
    let is_of_writing = |error: &&io::Error| {
        matches!(error.kind(), FileTooLarge | QuotaExceeded | ReadOnlyFilesystem | StorageFull)
    };
    match system.filter(is_of_writing) {
        Some(system) => {
            let code = system.raw_os_error();
            let system = code.map_or_else(|| system.kind().into(), io::Error::from_raw_os_error);
            about(output, Error::io("write")(system))
        }
        None => error,
    }
}

/// An error of the output is about the output.
pub(crate) fn about(output: &Path, error: Error) -> anyhow::Error {
    let name = inputs::display(output);
    match error {
        Error::Exists(_) => {
            let failure = Failure::new("it exists already");
            Named::error(name, failure.hint("--force replaces it"))
        }
        other => Named::error(name, other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure;

    #[test]
    fn a_full_disk_is_said_of_the_output() {
        let full = || io::Error::from_raw_os_error(28);
        let errors: [anyhow::Error; 2] = [full().into(), Error::io("make a file")(full()).into()];
        for error in errors {
            let said = failure::message(&blamed(Path::new("out"), error));
            assert_eq!(said, "out: cannot write: no space left on device");
        }
        let other = blamed(Path::new("out"), Error::request("it is odd").into());
        assert_eq!(failure::message(&other), "it is odd");
    }
}
