//! `kymo prof`: measurements into a database.

mod report;
mod structure;

use std::fs::{self, File};
use std::io::Read;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use clap::ValueEnum;
use kymo_core::model::measurement::MeasurementView;
use kymo_core::model::structure::Structure;
use kymo_core::{Destination, Format, Source};
use kymo_prof::{Merged, OpenSource, Options, Phase, Program, Requested};
use kymo_symbols::{Programs, Search};

use crate::cli::FormatArgs;
use crate::failure::Failure;
use crate::inputs;
use crate::outlet;
use crate::session::{Named, Opened, Outcome, Session};

/// Make one database of the measurements of a program's threads, as hpcprof does.
///
/// Trees of calling contexts are merged, addresses are looked up in structure files, and what was
/// measured is added up: of each thread, and of all threads together. The same measurements give
/// the same database, byte for byte. The result appears whole or not at all, and `kymo top`, `tree`
/// and `threads` show it, as does hpcviewer.
#[derive(Debug, clap::Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is an option of its own")]
#[command(after_help = "\
EXAMPLES
  kymo prof hpctoolkit-app-measurements             into hpctoolkit-app-database
  kymo prof -o database run-1 run-2                 two measurements into one database
  kymo prof -S app.hpcstruct -M extrema MEASUREMENTS

EXIT STATUS
  0 done, 1 failed, 2 bad usage, 3 done, but something was left out")]
pub(crate) struct Args {
    /// Measurement directories, or single profiles.
    #[arg(required = true, value_name = "MEASUREMENTS")]
    inputs: Vec<PathBuf>,

    /// The directory to write; hpctoolkit-X-measurements becomes hpctoolkit-X-database by default.
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,

    /// Replace DIR if it exists.
    #[arg(short, long)]
    force: bool,

    /// Structure files, or directories of them, beside those of the measurements.
    #[arg(short = 'S', long, value_name = "FILE")]
    structure: Vec<PathBuf>,

    /// Where programs, libraries and sources are now, if they were elsewhere when measured.
    #[arg(short = 'R', long, value_name = "FROM=TO", value_parser = replacement)]
    replace_prefix: Vec<(String, String)>,

    /// What is computed over all threads.
    #[arg(short = 'M', long, value_name = "WHAT", value_enum, default_value = "sum")]
    metric: Statistics,

    /// Leave out where threads were when.
    #[arg(long)]
    no_traces: bool,

    /// Leave out copies of source files.
    #[arg(long)]
    no_source: bool,

    /// Only threads of programs of this name.
    #[arg(long, value_name = "PROGRAM")]
    only_exe: Option<String>,

    /// What the database is called; the program's name by default.
    #[arg(long, value_name = "TITLE")]
    name: Option<String>,

    /// How many processors work on it.
    #[arg(short, long, value_name = "N")]
    jobs: Option<NonZero<usize>>,

    /// Refuse measurements that something is wrong with, instead of leaving that out.
    #[arg(long)]
    strict: bool,

    /// Look for loops in the machine code of modules that no structure file tells of.
    #[arg(long, value_name = "WHETHER", value_enum, default_value = "on")]
    loops: Loops,

    /// Compute what hpcprof computes, also where that is wrong; implies --loops=off.
    #[arg(long)]
    compat: bool,

    /// Print the summary as a JSON object.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    format: FormatArgs,
}

/// Whether machine code is looked into for loops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Loops {
    /// In that of functions that were measured.
    On,
    /// Loops are known from structure files alone.
    Off,
}

/// What is computed over all threads.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Statistics {
    /// Nothing.
    None,
    /// Sums.
    Sum,
    /// Sums, means and deviations.
    Normal,
    /// The same, with smallest and largest values.
    Extrema,
    /// The same as extrema.
    Stats,
}

impl Statistics {
    fn requested(self) -> Requested {
        match self {
            Self::None => Requested::None,
            Self::Sum => Requested::Sum,
            Self::Normal => Requested::Normal,
            Self::Extrema | Self::Stats => Requested::Extrema,
        }
    }
}

pub(crate) fn run(session: &mut Session, args: &Args) -> anyhow::Result<Outcome> {
    outlet::clean_up_when_interrupted()?;
    let output = output(args);
    let mut opened = Vec::new();
    for path in &args.inputs {
        let of_input = |error| Named::error(inputs::display(path), error);
        outlet::refuse_input(path, &output).map_err(|failure| of_input(failure.into()))?;
        outlet::refuse_within(path, &output).map_err(|failure| of_input(failure.into()))?;
        let source = session.source(path).map_err(anyhow::Error::from).map_err(of_input)?;
        opened.push(session.open_as(&source, &args.format).map_err(of_input)?);
    }
    let sources: Vec<Source> = opened.iter().map(|opened| opened.source.clone()).collect();
    let to = Destination::new(&output, args.force).made_from(&sources);
    to.check().map_err(|error| outlet::about(&output, error))?;
    outlet::refuse_stranger(session, &output, kymo_hpcdb::HpcDb.info())?;
    let views = views(args, &opened)?;
    let mut outcome = Outcome::Done;
    for opened in &opened {
        outcome = outcome.max(session.findings(opened));
    }
    refuse(args, outcome)?;
    let merged = make(session, args, &views, &to, &mut outcome)?;
    for finding in &merged.findings {
        session.report.finding(&inputs::display(&output), finding);
    }
    outcome = outcome.max(Outcome::of(&merged.findings));
    report::print(session, args.json, &output, &merged)?;
    Ok(outcome)
}

/// Makes the database.
fn make(
    session: &mut Session,
    args: &Args,
    views: &[Arc<dyn MeasurementView>],
    to: &Destination,
    outcome: &mut Outcome,
) -> anyhow::Result<Merged> {
    let began = Instant::now();
    let (structure, found) = structure::read(session, &args.structure, views)?;
    let loops = args.loops == Loops::On && !args.compat;
    let search = Search { replace: args.replace_prefix.clone(), compat: args.compat, loops };
    let programs = programs(session, views, &structure, &search);
    let reading = Phase { name: "reading structure", took: began.elapsed() };
    *outcome = (*outcome).max(found);
    refuse(args, *outcome)?;
    let title = args.name.clone().or_else(|| views.iter().find_map(|view| view.program(0)));
    let mut writer = kymo_hpcdb::Writer::new(to, &title.unwrap_or_default())?;
    let mut options = Options {
        compat: args.compat,
        statistics: args.metric.requested(),
        traces: !args.no_traces,
        ..Options::default()
    };
    options.jobs = args.jobs.map_or(options.jobs, NonZero::get);
    let open = move |path: &str| open_source(&search, path);
    let sources: Option<&OpenSource> = if args.no_source { None } else { Some(&open) };
    let program = Program { structure: &structure, symbols: Some(&programs), sources };
    let mut merged = kymo_prof::merge(views, &program, options, &mut writer, &session.context())?;
    if args.strict {
        session.report.findings(&inputs::display(to.path()), &merged.findings);
    }
    refuse(args, Outcome::of(&merged.findings))?;
    let began = Instant::now();
    writer.finish()?;
    merged.phases.insert(0, reading);
    merged.phases.push(Phase { name: "writing", took: began.elapsed() });
    Ok(merged)
}

/// Programs and libraries that structure files do not tell of.
fn programs(
    session: &Session,
    views: &[Arc<dyn MeasurementView>],
    structure: &Structure,
    search: &Search,
) -> Programs {
    let modules: Vec<_> = views.iter().map(|view| (view.modules(), view.directory())).collect();
    let unknown = modules.iter().flat_map(|(paths, directory)| {
        let directory = directory.as_deref().unwrap_or(Path::new(""));
        let is_unknown = |path: &&String| structure.module(path).is_none();
        paths.iter().filter(is_unknown).map(move |path| (path.as_str(), directory))
    });
    Programs::new(unknown, search, &session.context().limits)
}

/// Opens a source file, where there is a plain one.
fn open_source(search: &Search, path: &str) -> Option<Box<dyn Read>> {
    let is_plain = |path: &PathBuf| fs::metadata(path).is_ok_and(|found| found.is_file());
    let paths = search.paths(path).into_iter().filter(|_| path.starts_with('/'));
    let file = paths.filter(is_plain).find_map(|path| File::open(path).ok())?;
    Some(Box::new(file))
}

/// `FROM=TO`.
fn replacement(text: &str) -> Result<(String, String), String> {
    let (from, to) = text.split_once('=').ok_or("there is no = between two paths")?;
    Ok((from.to_owned(), to.to_owned()))
}

/// With `--strict` nothing is left out.
fn refuse(args: &Args, outcome: Outcome) -> anyhow::Result<()> {
    if args.strict && outcome != Outcome::Done {
        let failure = Failure::new("nothing is made of measurements that something is wrong with");
        return Err(failure.hint("without --strict it is left out, and said").into());
    }
    Ok(())
}

/// The threads of all inputs that are wanted.
fn views(args: &Args, opened: &[Opened]) -> anyhow::Result<Vec<Arc<dyn MeasurementView>>> {
    let mut views = Vec::new();
    for opened in opened {
        let view = opened.dataset.measurement().ok_or_else(|| {
            let failure = Failure::new(format!(
                "{} hold no measurement of threads",
                opened.format.info().title
            ));
            Named::error(&opened.name, failure.hint("hpcrun writes directories of them"))
        })?;
        views.push(match &args.only_exe {
            Some(program) => kymo_prof::only_program(&view, program),
            None => view,
        });
    }
    if views.iter().all(|view| view.thread_count() == 0) {
        return Err(Failure::new("there is no thread to make a database of").into());
    }
    Ok(views)
}

/// Where the database goes: what was said, or beside the first input under a name that fits.
fn output(args: &Args) -> PathBuf {
    if let Some(output) = &args.output {
        return output.clone();
    }
    let first = args.inputs.first().map_or(Path::new(""), PathBuf::as_path);
    let name = first.file_name().map(|name| name.to_string_lossy().into_owned());
    first.with_file_name(database_name(&name.unwrap_or_default()))
}

/// `hpctoolkit-X-measurements-9` as `hpctoolkit-X-database-9`; another name with `-database`.
fn database_name(input: &str) -> String {
    let program =
        input.strip_prefix("hpctoolkit-").and_then(|rest| rest.rsplit_once("-measurements"));
    match program {
        Some((program, rest)) if rest.is_empty() || rest.starts_with('-') => {
            format!("hpctoolkit-{program}-database{rest}")
        }
        _ => format!("{input}-database"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_is_named_after_its_measurements() {
        for (input, name) in [
            ("hpctoolkit-app-measurements", "hpctoolkit-app-database"),
            ("hpctoolkit-app-measurements-123", "hpctoolkit-app-database-123"),
            ("hpctoolkit-app-measurementsx", "hpctoolkit-app-measurementsx-database"),
            ("run", "run-database"),
        ] {
            assert_eq!(database_name(input), name);
        }
    }
}
