//! `kymo prof`: measurements into a database.

mod input_findings;
mod inputs;
mod naming;
mod recorded;
mod report;
mod sources;
mod structure;

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use clap::ValueEnum;
use kymo_core::{Destination, Finding, Severity, Source, ahead, refuse_overlap};
use kymo_model::Format;
use kymo_model::measurement::MeasurementView;
use kymo_model::structure::Structure;
use kymo_prof::{MergedProfile, OpenSource, Options, Phase, Program, StatisticRequest};
use kymo_symbols::{Programs, Search};

use crate::failure::Failure;
use crate::inputs as paths;
use crate::outlet;
use crate::render::numbers;
use crate::session::{Named, Outcome, Session};
use input_findings::InputFindings;
use inputs::Input;
use sources::Sources;

/// Make one database of the measurements of a program's threads, as hpcprof does.
///
/// Trees of calling contexts are merged, addresses are looked up in structure files, debug
/// information and symbols, and what was measured is added up: of each thread, and of all threads
/// together. The same measurements give the same database, byte for byte. The result appears whole
/// or not at all, and `kymo top`, `tree` and `threads` show it, as does hpcviewer.
#[derive(Debug, clap::Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is an option of its own")]
#[command(after_help = "\
EXAMPLES
  kymo prof hpctoolkit-app-measurements             into hpctoolkit-app-database
  kymo prof -o database run-1 run-2                 two measurements into one database
  kymo prof -S app.hpcstruct -M extrema MEASUREMENTS
  kymo prof -R /opt/app=/home/me/app MEASUREMENTS   the program is elsewhere by now
  kymo prof --layout described MEASUREMENTS         as the format was described at first

EXIT STATUS
  0 done, 1 failed, 2 bad usage, 3 done, but something was left out")]
pub(crate) struct Args {
    /// Measurement directories, or single profiles with the traces beside them.
    #[arg(required = true, value_name = "MEASUREMENTS")]
    inputs: Vec<PathBuf>,

    /// The directory to write. By default it is made beside the first of the MEASUREMENTS:
    /// hpctoolkit-X-measurements becomes hpctoolkit-X-database, and X becomes X-database.
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,

    /// Replace DIR if it exists.
    #[arg(short, long)]
    force: bool,

    /// Structure files, or directories of them, beside those of the measurements.
    #[arg(short = 'S', long, value_name = "FILE")]
    structure: Vec<PathBuf>,

    /// Present place of programs, libraries, sources and files named by structure files, if they
    /// were elsewhere when measured. If several replacements fit a path, the first counts.
    #[arg(short = 'R', long, value_name = "FROM=TO", value_parser = replacement)]
    replace_prefix: Vec<(String, String)>,

    /// Look for programs, libraries and sources in the measurements, in structure files and where -R
    /// leads, and nowhere else on this machine.
    #[arg(long)]
    no_local: bool,

    /// Statistics that are computed over all threads.
    #[arg(short = 'M', long, value_name = "WHAT", value_enum, default_value = "sum")]
    metric: Statistics,

    /// Leave out where threads were when.
    #[arg(long)]
    no_traces: bool,

    /// Leave out copies of source files.
    #[arg(long)]
    no_source: bool,

    /// Only threads of programs of this name; may be given several times.
    #[arg(long, value_name = "PROGRAM")]
    only_exe: Vec<String>,

    /// Layout of the files of the database.
    #[arg(long, value_name = "LAYOUT", value_enum, default_value = "released")]
    layout: Layout,

    /// Name of the database; the program's name by default.
    #[arg(long, value_name = "TITLE")]
    name: Option<String>,

    /// Number of processors that work on it, 1,024 at the most [default: all there are, up to
    /// four].
    #[arg(short, long, value_name = "N", value_parser = jobs)]
    jobs: Option<NonZero<usize>>,

    /// Refuse measurements that something is wrong with, instead of leaving that out: also what only
    /// `kymo check` would say.
    #[arg(long)]
    strict: bool,

    /// True if to look for loops in the machine code of modules that no structure file tells of
    /// [default: on].
    #[arg(long, value_name = "WHETHER", value_enum)]
    loops: Option<Loops>,

    /// Compute what hpcprof computes, also where that is wrong; implies --loops=off.
    #[arg(long)]
    compat: bool,

    /// Print the summary as a JSON object, with all that was found.
    #[arg(long)]
    json: bool,
}

/// Layout of the files of a database; both call themselves 4.0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Layout {
    /// As HPCToolkit writes them, little-endian.
    Released,
    /// As they were described at first, big-endian: for what reads nothing else. No more than
    /// 65,535 threads.
    Described,
}

/// True if machine code is looked into for loops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Loops {
    /// In that of functions that were measured.
    On,
    /// Loops are known from structure files alone.
    Off,
}

/// Statistics that are computed over all threads.
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
    #[value(alias = "all")]
    Stats,
}

impl Statistics {
    fn requested(self) -> StatisticRequest {
        match self {
            Self::None => StatisticRequest::None,
            Self::Sum => StatisticRequest::Sum,
            Self::Normal => StatisticRequest::Normal,
            Self::Extrema | Self::Stats => StatisticRequest::Extrema,
        }
    }
}

pub(crate) fn run(session: &mut Session, args: &Args) -> anyhow::Result<Outcome> {
    let began = Instant::now();
    if args.compat && args.loops == Some(Loops::On) {
        let failure =
            Failure::usage("--loops=on is not what hpcprof does, and --compat asks for that");
        return Err(failure.hint("leave out one of the two").into());
    }
    if let Some(jobs) = args.jobs {
        ahead::allow(jobs);
    }
    let output = naming::output(args.output.as_deref(), &args.inputs)?;
    let opened = inputs::open(session, &args.inputs, &output, &args.only_exe)?;
    let mut sources: Vec<Source> = opened.iter().map(|input| input.opened.source.clone()).collect();
    sources.extend(read_besides(session, args)?);
    let to = Destination::new(&output, args.force).made_from(&sources);
    outlet::refuse_foreign_directory(session, &output, kymo_hpcdb::HpcDb.info())?;
    refuse_others(&output)?;
    to.check().map_err(|error| outlet::about(&output, error))?;
    keep_programs(args, &opened, &output).map_err(|error| outlet::about(&output, error))?;
    let mut said = InputFindings::new(!args.no_traces);
    for input in &opened {
        let (name, findings) = (&input.opened.name, findings(session, args, input)?);
        let is_damaged = findings.iter().any(inputs::is_damage);
        said.report(session, name, findings);
        if is_damaged {
            session.report.hint(&inputs::repairing(name));
        }
    }
    refuse(args, &said)?;
    let opening = Phase { name: "opening", took: began.elapsed() };
    let merged = make(session, args, &opened, &to, &mut said);
    // What the system refuses on the way is about the output: inputs are open by then.
    let mut merged = merged.map_err(|error| match error.downcast::<kymo_core::Error>() {
        Ok(error @ kymo_core::Error::Io { .. }) => outlet::about(&output, error),
        Ok(error) => error.into(),
        Err(error) => error,
    })?;
    merged.phases.insert(0, opening);
    report::print(session, args.json, &output, &merged, &said)?;
    Ok(said.outcome())
}

/// What is read besides the measurements: structure files, and what `-R` puts in the place of paths.
fn read_besides(session: &Session, args: &Args) -> anyhow::Result<Vec<Source>> {
    let limits = session.context().limits;
    let mut sources = Vec::new();
    for path in &args.structure {
        let source = Source::open(path, &limits);
        sources.push(source.map_err(|error| Named::error(paths::display(path), error))?);
    }
    let targets = args.replace_prefix.iter().map(|(_, to)| Path::new(to));
    for target in targets.filter(|target| target.exists()) {
        let source = Source::open_searched(target, &limits);
        sources.push(source.map_err(|error| Named::error(paths::display(target), error))?);
    }
    Ok(sources)
}

/// Refuses an output that would replace a program that names are looked up in.
fn keep_programs(args: &Args, opened: &[Input], output: &Path) -> kymo_core::Result<()> {
    let search = search(args, false);
    let modules = opened.iter().flat_map(|input| input.view.modules());
    let mut programs = modules.flat_map(|module| search.paths(&module));
    programs.try_for_each(|program| refuse_overlap(&program, output))
}

fn search(args: &Args, loops: bool) -> Search {
    Search {
        replace: args.replace_prefix.clone(),
        compat: args.compat,
        loops,
        only_named: args.no_local,
    }
}

/// Returns the findings about an input, as far as they are wanted. With `--strict` that is all that
/// can be found out.
fn findings(session: &Session, args: &Args, input: &Input) -> anyhow::Result<Vec<Finding>> {
    let opened = &input.opened;
    let mut findings = opened.dataset.findings();
    if args.strict {
        let checked = opened.format.check(&opened.source, &session.context());
        let checked = checked.map_err(|error| Named::error(&opened.name, error))?;
        let new: Vec<_> = checked.into_iter().filter(|one| !findings.contains(one)).collect();
        findings.extend(new);
    }
    findings.retain(|finding| !input.concerns_other_threads(finding));
    Ok(findings)
}

/// Refuses to replace a directory that others have put something into: `--force` must not cost
/// anyone their data.
fn refuse_others(output: &Path) -> anyhow::Result<()> {
    let Some(other) = kymo_hpcdb::foreign_file(output) else { return Ok(()) };
    let why = format!("{} is no part of a database, and would be lost", paths::display(&other));
    let failure = Failure::new(why).hint("move it elsewhere first, or name another directory");
    Err(Named::error(paths::display(output), failure))
}

/// Makes the database. With `--strict` nothing appears if anything was found on the way.
fn make(
    session: &mut Session,
    args: &Args,
    opened: &[Input],
    to: &Destination,
    said: &mut InputFindings,
) -> anyhow::Result<MergedProfile> {
    let began = Instant::now();
    let views: Vec<_> = opened.iter().map(|input| Arc::clone(&input.view)).collect();
    let loops = args.loops.unwrap_or(Loops::On) == Loops::On && !args.compat;
    let search = search(args, loops);
    let structure = structure::read(session, &args.structure, &views, &search, said)?;
    let mut programs = programs(session, &views, &structure, &search);
    for (path, recorded) in recorded::recorded(&views) {
        programs.expect(&path, recorded);
    }
    let reading = Phase { name: "reading structure", took: began.elapsed() };
    refuse(args, said)?;
    let title = inputs::title(session, args.name.as_deref(), &views, to.path(), said);
    let mut writer = match args.layout {
        Layout::Released => kymo_hpcdb::Writer::new(to, &title)?,
        Layout::Described => kymo_hpcdb::Writer::described(to, &title)?,
    };
    writer.set_progress(session.context().progress);
    let options = Options {
        compat: args.compat,
        statistics: args.metric.requested(),
        traces: !args.no_traces,
        ..Options::default()
    };
    let sources = Sources::new(&search);
    let open = |path: &str| sources.open(path);
    let wanted: Option<&OpenSource<'_>> = if args.no_source { None } else { Some(&open) };
    let program = Program { structure: &structure, symbols: Some(&programs), sources: wanted };
    let mut merged = kymo_prof::merge(&views, &program, options, &mut writer, &session.context())?;
    let mut findings = std::mem::take(&mut merged.findings);
    for (number, input) in opened.iter().enumerate() {
        let of_input = findings.extract_if(.., |(measurement, _)| *measurement == number);
        let of_input = of_input.map(|(_, finding)| finding).collect();
        said.report(session, &input.opened.name, of_input);
    }
    for module in merged.unnamed.iter().filter(|module| module.is_damaged) {
        let finding = Finding::for_whole_file(Severity::Warning, "symbols", module.why.clone());
        said.report(session, &module.module, vec![finding]);
    }
    if !args.no_source {
        report_unused_prefixes(session, &views, &sources, &search);
    }
    report_unverified(session, &programs);
    for (path, finding) in sources.into_findings() {
        said.report(session, &path, vec![finding]);
    }
    refuse(args, said)?;
    if merged.threads == 0 {
        return Err(inputs::no_thread_left());
    }
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

/// Says to a person which programs may be others than those that were measured. Most runs have a
/// library with few samples, so that scripts are not told.
fn report_unverified(session: &mut Session, programs: &Programs) {
    if !session.report.is_watched() {
        return;
    }
    let found = programs.unverified();
    let [first, rest @ ..] = found.as_slice() else { return };
    let others = match rest.len() {
        0 => String::new(),
        more => format!(" and {}", numbers::count(more as u64, "other", "others")),
    };
    let why = "too few calls were recorded to tell that the build is the one that was measured";
    session.report.remark("note", format_args!("not verified: {first}{others}: {why}"));
}

/// Says which of `-R` no path of a module or a source begins with.
fn report_unused_prefixes(
    session: &mut Session,
    views: &[Arc<dyn MeasurementView>],
    sources: &Sources<'_>,
    search: &Search,
) {
    let modules: Vec<_> = views.iter().flat_map(|view| view.modules()).collect();
    for (place, (from, to)) in search.replace.iter().enumerate() {
        let of_module = || modules.iter().any(|path| sources::fits(search, place, path));
        if !sources.is_used(place) && !of_module() {
            let what = "changes nothing: no module or source has a path that begins so";
            session.report.remark("note", format_args!("-R {from}={to} {what}"));
        }
    }
}

/// Reads the number of processors that may work: a number greater than any machine has is a slip.
fn jobs(text: &str) -> Result<NonZero<usize>, String> {
    const JOBS_MAX: usize = 1024;
    let jobs = text.parse::<NonZero<usize>>().ok().filter(|jobs| jobs.get() <= JOBS_MAX);
    jobs.ok_or_else(|| "it is no number from 1 to 1,024".to_owned())
}

/// `FROM=TO`.
fn replacement(text: &str) -> Result<(String, String), String> {
    let (from, to) = text.split_once('=').ok_or("there is no = between two paths")?;
    if from.is_empty() || to.is_empty() {
        return Err("a path is missing before or after the =".to_owned());
    }
    Ok((from.to_owned(), to.to_owned()))
}

/// With `--strict` nothing is left out.
fn refuse(args: &Args, said: &InputFindings) -> anyhow::Result<()> {
    if args.strict && said.outcome() != Outcome::Done {
        let failure = Failure::new("nothing is made of measurements that something is wrong with");
        return Err(failure.hint("without --strict it is left out, and said").into());
    }
    Ok(())
}
