//! The file that is recorded to, before anything is.

use std::path::{Path, PathBuf};

use kymo_core::{Error, refuse_overlap};

use super::Args;
use super::feeds::Feeds;
use super::tape::Tape;
use crate::failure::Failure;
use crate::inputs;
use crate::outlet;
use crate::session::{Named, Session};

/// The output, of which it is known that it can be written: until something is recorded it stays
/// as it was.
pub(super) struct Claim {
    /// The file, if it was made for that.
    made: Option<PathBuf>,
}

impl Claim {
    /// Refuses what cannot be recorded, or not there, before anything is started.
    pub(super) fn new(session: &Session, args: &Args) -> anyhow::Result<Self> {
        let target = target(args)?;
        refuse(&target, args.force || args.append)?;
        if let Some(format) = kymo_registry::by_name("rtc") {
            outlet::refuse_other_name(&args.output, format.info())?;
        }
        if args.append {
            refuse_others(session, &target)?;
        }
        refuse_busy(args, &target)?;
        refuse_feeds(args, &target)?;
        Self::for_output(&target)
    }

    fn for_output(output: &Path) -> anyhow::Result<Self> {
        let found = std::fs::metadata(output);
        let is_new = found.is_err();
        // A pipe would wait for its reader, and then be closed.
        if is_new || found.is_ok_and(|found| found.is_file()) {
            let mut options = std::fs::OpenOptions::new();
            let opened = options.append(true).create(true).open(output);
            opened.map_err(Error::io("write it"))?;
        }
        // A link that led nowhere stays, and leads to what was made.
        let made = is_new.then(|| std::fs::canonicalize(output).ok()).flatten();
        Ok(Self { made })
    }

    /// Begins to record.
    pub(super) fn tape(
        mut self,
        session: &Session,
        args: &Args,
        feeds: &Feeds,
    ) -> anyhow::Result<Tape> {
        if args.force && args.rotate.is_some() {
            remove_parts(session, &args.output)?;
        }
        let tape = Tape::new(args, feeds)?;
        self.made = None;
        Ok(tape)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if let Some(made) = self.made.take() {
            let _ = std::fs::remove_file(made);
        }
    }
}

/// The file that is written to first: a recording that rotates is added to in its last part.
fn target(args: &Args) -> anyhow::Result<PathBuf> {
    let is_dir = args.output.is_dir() || args.output.as_os_str() == "-";
    if !args.append || args.rotate.is_none() || is_dir {
        return Ok(args.output.clone());
    }
    let last = kymo_recorder::last_part_of(&args.output);
    Ok(last.map_err(Error::io("look for its parts"))?)
}

/// Refuses what cannot be recorded to, before anything is started.
fn refuse(output: &Path, may_exist: bool) -> anyhow::Result<()> {
    if output.as_os_str() == "-" {
        let failure = Failure::usage("a recording goes to a file");
        return Err(failure.hint("name one with --output").into());
    }
    match std::fs::metadata(output) {
        Ok(found) if found.is_dir() => Err(Failure::new("it is a directory").into()),
        Ok(found) if found.is_file() && !may_exist => {
            Err(outlet::about(output, Error::Exists(output.to_owned())))
        }
        _ => Ok(()),
    }
}

/// Refuses to add to a file that is no recording.
fn refuse_others(session: &Session, output: &Path) -> anyhow::Result<()> {
    let has_bytes = |found: std::fs::Metadata| found.is_file() && found.len() > 0;
    if !std::fs::metadata(output).is_ok_and(has_bytes) || is_recording(session, output)? {
        return Ok(());
    }
    let failure = Failure::new("it is no RTC recording that could be added to");
    Err(failure.hint("name another file, or replace it with --force").into())
}

/// Refuses a file that another recorder writes to, and parts that would be removed under it.
fn refuse_busy(args: &Args, target: &Path) -> anyhow::Result<()> {
    for path in std::iter::once(target.to_owned()).chain(parts(args)?) {
        if kymo_recorder::is_recorded_to(&path) {
            let failure = Failure::new("it is being recorded to");
            let failure = failure.hint("wait until that has ended, or name another file");
            return Err(Named::error(inputs::display(&path), failure));
        }
    }
    Ok(())
}

/// The further parts that recording removes, or goes on behind.
fn parts(args: &Args) -> anyhow::Result<Vec<PathBuf>> {
    if args.rotate.is_none() {
        return Ok(Vec::new());
    }
    let parts = kymo_recorder::parts_of(&args.output).map_err(Error::io("look for its parts"));
    parts.map_err(|error| Named::error(inputs::display(&args.output), error))
}

/// Refuses to record what is not there, and what is written to.
fn refuse_feeds(args: &Args, target: &Path) -> anyhow::Result<()> {
    let is_stdin = args.command.is_empty() && args.pipes.is_empty();
    let stdin = is_stdin.then(|| Path::new("-"));
    let parts = parts(args)?;
    for path in args.pipes.iter().map(|(_, path)| path.as_path()).chain(stdin) {
        let named = |error: anyhow::Error| Named::error(inputs::display(path), error);
        if !is_stdin {
            let found = std::fs::metadata(path).map_err(Error::io("open it"));
            found.map_err(|error| named(error.into()))?;
        }
        for output in parts.iter().map(PathBuf::as_path).chain([target]) {
            refuse_overlap(path, output).map_err(|error| outlet::about(output, error))?;
        }
    }
    Ok(())
}

fn is_recording(session: &Session, path: &Path) -> anyhow::Result<bool> {
    let detected = kymo_registry::detect(&session.source(path)?);
    Ok(detected.is_ok_and(|detected| detected.format.info().name == "rtc"))
}

/// Removes the parts that an earlier recording of this name has beside its first: they would be
/// taken for those of this one. A file that is no recording stays.
fn remove_parts(session: &Session, output: &Path) -> anyhow::Result<()> {
    for part in kymo_recorder::parts_of(output).map_err(Error::io("look for its parts"))? {
        if is_recording(session, &part)? {
            std::fs::remove_file(&part).map_err(Error::io("remove an earlier part"))?;
        }
    }
    Ok(())
}
