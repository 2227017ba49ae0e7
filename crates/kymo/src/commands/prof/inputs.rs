//! Measurements that a database is made of, in an order that does not depend on how they were
//! named.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kymo_core::{Error, Finding, Severity, refuse_overlap};
use kymo_model::Format;
use kymo_model::measurement::MeasurementView;
use kymo_registry::Unrecognised;

use crate::cli::FormatArgs;
use crate::failure::{Failure, quoted};
use crate::inputs::display;
use crate::outlet;
use crate::session::{Named, OpenedFile, Session};

use super::input_findings::InputFindings;

/// A measurement, and the threads of it that are wanted.
pub(super) struct Input {
    pub(super) opened: OpenedFile,
    pub(super) view: Arc<dyn MeasurementView>,
    /// Names of threads that are not wanted, since they are of other programs.
    others: HashSet<String>,
}

impl Input {
    /// Returns true if a finding is about a thread that is not wanted.
    pub(super) fn concerns_other_threads(&self, finding: &Finding) -> bool {
        match &finding.file {
            Some(file) => {
                let name = file.rsplit_once('.').map_or(file.as_str(), |(name, _)| name);
                self.others.contains(name)
            }
            // A single profile is all there is.
            None => !self.opened.source.is_directory() && !self.others.is_empty(),
        }
    }
}

/// Opens measurements, in the order of where they are. What is named twice is refused: its threads
/// would count twice.
pub(super) fn open(
    session: &mut Session,
    paths: &[PathBuf],
    output: &Path,
    programs: &[String],
) -> anyhow::Result<Vec<Input>> {
    let mut found = Vec::new();
    for path in paths {
        refuse_overlap(path, output).map_err(|error| outlet::about(output, error))?;
        found.push((fs::canonicalize(path).unwrap_or_else(|_| path.clone()), path));
    }
    found.sort();
    refuse_twice(&found)?;
    let mut inputs = Vec::new();
    for (_, path) in found {
        let of_input = |error: anyhow::Error| {
            let error = unreadable(path, paths.len(), error);
            Named::error(display(path), error)
        };
        let source = session.source(path).map_err(anyhow::Error::from).map_err(of_input)?;
        let opened = session.open_as(&source, &FormatArgs::default()).map_err(of_input)?;
        let Some(view) = opened.dataset.measurement() else {
            return Err(no_threads(session, &opened));
        };
        inputs.push(Input { opened, view, others: HashSet::new() });
    }
    if !programs.is_empty() {
        keep_programs(&mut inputs, programs)?;
    }
    if inputs.iter().all(|input| input.view.thread_count() == 0) {
        return Err(no_thread_left());
    }
    Ok(inputs)
}

/// Refuses what is named twice: by itself, or as a file of a directory that is named, too.
fn refuse_twice(found: &[(PathBuf, &PathBuf)]) -> anyhow::Result<()> {
    for (at, (path, named)) in found.iter().enumerate() {
        let others = found.iter().enumerate().filter(|(other, _)| *other != at);
        let is_again =
            |(other, _): &(PathBuf, &PathBuf)| path == other || path.parent() == Some(other);
        if others.map(|(_, other)| other).any(is_again) {
            let why = "it is named twice, and its threads would count twice";
            let failure = Failure::usage(why).hint("name each measurement once");
            return Err(Named::error(display(named), failure));
        }
    }
    Ok(())
}

/// Explains why an input, one of so many, cannot be read, and what to do about it.
fn unreadable(path: &Path, count: usize, error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref::<Error>() {
        Some(Error::Read(_) | Error::ReadIn { .. }) => {
            Failure::new(error.to_string()).hint(repairing(&display(path))).into()
        }
        _ if has_extension(path, "hpcstruct") => {
            let hint = "-S names such files, beside the measurements that they are for";
            Failure::new("it is a structure file, and no measurement").hint(hint).into()
        }
        // Some programs are told last where to write.
        _ if count > 1 && !path.exists() => {
            let hint = "all that is named is read; -o DIR says where the database goes";
            Failure::new("there is no such file or directory").hint(hint).into()
        }
        _ if path.is_dir() => match without_profiles(path) {
            Some(why) => Failure::new(why).hint(DIRECTORIES).into(),
            None => error,
        },
        _ => explain_unreadable(error),
    }
}

/// Describes a directory that has no measurement in it.
fn without_profiles(path: &Path) -> Option<&'static str> {
    let mut names = fs::read_dir(path).ok()?.flatten().map(|entry| entry.file_name()).peekable();
    if names.peek().is_none() {
        return Some("it is an empty directory");
    }
    let is_profile = |name| has_extension(Path::new(&name), "hpcrun");
    (!names.any(is_profile)).then_some("there is no .hpcrun file in it")
}

fn has_extension(path: &Path, wanted: &str) -> bool {
    path.extension().is_some_and(|extension| extension == wanted)
}

/// Explains why something is no measurement. Advice on other uses of the file is no help here.
fn explain_unreadable(error: anyhow::Error) -> anyhow::Error {
    let why = match error.downcast_ref::<Unrecognised>() {
        Some(Unrecognised::Foreign { name, .. }) => format!("this is {name}, and no measurement"),
        Some(Unrecognised::Unknown) => "it is no measurement".to_owned(),
        _ => return error,
    };
    Failure::new(why).hint(DIRECTORIES).into()
}

/// Advice on where measurements are.
const DIRECTORIES: &str = "name a directory that hpcrun wrote, with .hpcrun files in it";

/// Returns true if a finding is about bytes, and not about a file that cannot be opened.
pub(super) fn is_damage(finding: &Finding) -> bool {
    finding.severity == Severity::Error && finding.offset.is_some()
}

/// Advises what to do about an input that is damaged.
pub(super) fn repairing(name: &str) -> String {
    let name = quoted(name);
    format!(
        "`kymo check {name}` shows all that is wrong, `kymo repair {name} OUT` keeps what is sound"
    )
}

/// Returns the error that nothing can be made.
pub(super) fn no_thread_left() -> anyhow::Error {
    Failure::new("there is no thread to make a database of").into()
}

/// Explains why no database is made of an input, and what to do about it.
fn no_threads(session: &mut Session, opened: &OpenedFile) -> anyhow::Error {
    let (name, findings) = (&opened.name, opened.dataset.findings());
    let failure = if findings.iter().any(|finding| finding.severity == Severity::Error) {
        let failure = Failure::new("none of its profiles can be read");
        let is_damaged = findings.iter().any(is_damage);
        InputFindings::new(true).report(session, name, findings);
        if is_damaged { failure.hint(repairing(name)) } else { failure }
    } else if opened.dataset.profile().is_some() {
        let title = opened.format.info().title;
        let hint = format!("`kymo top {}` shows it", quoted(name));
        Failure::new(format!("it is made of measurements already: {title}")).hint(hint)
    } else if opened.dataset.is_part() && opened.format.info().name == kymo_hpcdb::HpcDb.info().name
    {
        let hint = "`kymo top` shows the directory that it is in";
        Failure::new("it is one file of a database, which is made of measurements already")
            .hint(hint)
    } else if opened.dataset.timeline().is_some() && opened.source.is_directory() {
        let hint = "traces are read beside the .hpcrun files of the same names";
        Failure::new("there are traces in it, and no .hpcrun file that tells what was measured")
            .hint(hint)
    } else if opened.dataset.timeline().is_some() {
        let hint = "name the .hpcrun file beside it, or the directory that both are in";
        Failure::new("it tells when a thread was where, and no profile what was measured")
            .hint(hint)
    } else {
        let about = opened.format.info().about;
        Failure::new(format!("there are no threads in it: {about}")).hint(DIRECTORIES)
    };
    Named::error(name, failure)
}

/// Keeps the threads of programs of these names.
fn keep_programs(inputs: &mut [Input], wanted: &[String]) -> anyhow::Result<()> {
    let names = programs(inputs.iter().map(|input| &input.view));
    if let Some(program) = wanted.iter().find(|program| !names.contains(*program)) {
        let names: Vec<_> = names.into_iter().collect();
        let failure = Failure::new(format!("there is no thread of a program {program}"));
        let hint = format!("there are threads of {}", names.join(", "));
        return Err(failure.hint(hint).into());
    }
    for input in inputs {
        let view = &input.view;
        let is_other = |thread: &usize| {
            view.program(*thread).is_some_and(|program| !wanted.contains(&program))
        };
        let others = (0..view.thread_count()).filter(is_other);
        input.others = others.map(|thread| view.name(thread)).collect();
        input.view = kymo_prof::only_programs(&input.view, wanted);
    }
    Ok(())
}

/// Returns the names of the programs of threads.
fn programs<'a>(views: impl Iterator<Item = &'a Arc<dyn MeasurementView>>) -> BTreeSet<String> {
    let of_view = |view: &'a Arc<dyn MeasurementView>| {
        (0..view.thread_count()).filter_map(|thread| view.program(thread))
    };
    views.flat_map(of_view).collect()
}

/// Returns the name of the database where nobody gives one: that of the program, of several
/// programs the first. If there are several, that is reported.
pub(super) fn title(
    session: &mut Session,
    wanted: Option<&str>,
    views: &[Arc<dyn MeasurementView>],
    output: &Path,
    said: &mut InputFindings,
) -> String {
    let names: Vec<_> = programs(views.iter()).into_iter().collect();
    let title = wanted.or(names.first().map(String::as_str)).unwrap_or_default().to_owned();
    if names.len() > 1 {
        let all = names.join(", ");
        let what =
            format!("threads of several programs are put together: {all}; it is called {title}");
        // Who names it knows.
        if wanted.is_none() {
            session.report.remark("note", &what);
        }
        said.keep(&display(output), Finding::for_whole_file(Severity::Note, "programs", what));
    }
    title
}
