//! `kymo flame`: a flame graph, or the stacks for one.

mod stacks;
mod titles;

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use inferno::flamegraph;
use kymo_core::Destination;
use kymo_model::profile::top_down;

use super::tree::{Show, levels};
use crate::cli::OpenArgs;
use crate::failure::Failure;
use crate::inputs;
use crate::outlet::{self, Outlet};
use crate::profiles::{PathArgs, ProfileArgs, ProfileQuery};
use crate::render::{escaped, numbers};
use crate::session::{Named, OpenedFile, Outcome, Session};
use stacks::Stacks;

/// The least share of the total that has a box: others would be too narrow to be seen.
const LEAST: f64 = 5e-5;

/// Width of flame graphs as drawn, and the room above and below their boxes for a title and what a
/// script shows.
const DRAWN_WIDTH: usize = 1200;
const AROUND_BOXES: (f64, f64) = (32.0, 22.0);

/// The same on a page, and how deep paths go there.
const LEAST_ON_PAGE: f64 = 5e-4;
const PAGE_DEPTH: usize = 60;

/// Greatest number of bytes that the paths to all boxes may come to: they are held while they are
/// drawn.
const LINES_BYTES_MAX: u64 = 1 << 26;

/// Number of characters of names that are drawn: all, or fewer where they come to more than that.
const NAMES_MAX: [Option<usize>; 3] = [None, Some(256), Some(64)];

/// Draw a flame graph: a box for each path, as wide as what was spent there and below.
///
/// It is an SVG to open in a browser: a click on a box zooms in, and there is a search. With
/// --folded it is one line a path, with what was spent itself at its end, which is what other
/// tools make flame graphs of. Those take whole numbers: what is not whole is multiplied with a
/// power of ten, which is said. Characters that mean something there are others:
/// `;` in a name becomes `:`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
EXAMPLES
  kymo flame hpctoolkit-app-database -o app.svg           a picture for the browser
  kymo flame --show loops -m cycles DATABASE -o app.svg   with loops, of another metric
  kymo flame --folded DATABASE                            main;solve;inner 1234

EXIT STATUS
  0 done, 1 unreadable or no profile, 2 bad usage, 3 done, with findings or losses")]
pub(crate) struct Args {
    /// The file or directory.
    #[arg(value_name = "FILE")]
    input: PathBuf,

    /// Destination of the result; standard output where it is left out.
    #[arg(short, long, value_name = "OUT", default_value = "-", hide_default_value = true)]
    output: PathBuf,

    /// Write folded stacks instead of a picture.
    #[arg(long)]
    folded: bool,

    /// Part to show beside functions.
    #[arg(long, value_enum, default_value = "functions", value_name = "WHAT")]
    show: Show,

    /// Greatest depth; deeper levels count for the last level.
    #[arg(short, long, default_value = "200", value_name = "LEVELS", value_parser = levels)]
    depth: usize,

    /// Replace OUT if it exists.
    #[arg(short, long)]
    force: bool,

    #[command(flatten)]
    profile: ProfileArgs,

    #[command(flatten)]
    paths: PathArgs,

    #[command(flatten)]
    open: OpenArgs,
}

pub(crate) fn run(session: &mut Session, args: &Args) -> anyhow::Result<Outcome> {
    let name = inputs::display(&args.input);
    let result = session.with_dataset(&args.input, &args.open, |session, opened| {
        let asked = args.paths.apply(args.profile.query(opened)?)?;
        asked.require_inclusive("which boxes are as wide as")?;
        let tree = top_down(&asked.question(), args.show.detail(), args.depth)?;
        let mut stacks = Stacks::new(&tree, if args.folded { 0.0 } else { LEAST });
        if !args.folded {
            stacks.name_max = name_max(&stacks)?;
        }
        put(session, args, opened, |out| {
            if args.folded {
                return stacks.each(|line| Ok(writeln!(out, "{line}")?));
            }
            let mut options = options(&asked);
            options.title.clone_from(&opened.name);
            options.subtitle = Some(asked.described.name.clone());
            picture(options, &stacks, out)
        })?;
        if tree.deeper > 0 {
            let paths = numbers::count(tree.deeper, "path goes", "paths go");
            let text = format!(
                "{paths} deeper than --depth {}: what is below counts for the last level",
                args.depth
            );
            session.report.remark(&opened.name, text);
        }
        if let Some(name_max) = stacks.name_max {
            let text = format!("names are cut to {name_max} characters: all are too much text");
            session.report.remark(&opened.name, text);
        }
        let outcome = report_negative(session, opened, &stacks);
        if args.folded {
            report_scale(session, opened, &asked, &stacks);
        }
        Ok(outcome.max(asked.report(session, opened, tree.nodes.is_empty(), tree.odd.as_deref())))
    });
    result.map_err(|error| match error.downcast::<Named>() {
        Ok(named) => anyhow::Error::new(named),
        Err(error) => Named::error(name, error),
    })
}

/// Returns the number of characters of a name that are drawn, so that the paths to all boxes can be
/// held. It is all, or as many as that takes.
fn name_max(stacks: &Stacks<'_>) -> Result<Option<usize>, Failure> {
    let fits = |name_max: &Option<usize>| stacks.bytes(*name_max) <= LINES_BYTES_MAX;
    let found = NAMES_MAX.into_iter().find(fits);
    let failure = || Failure::new("the paths to its boxes are too long to be drawn");
    found.ok_or_else(|| failure().hint("--depth with fewer levels draws less"))
}

/// A flame graph as a part of a page: markup that brings no script and no style. Nothing where nothing
/// is to be drawn.
///
/// # Errors
/// When the profile cannot be read.
pub(super) fn markup(asked: &ProfileQuery) -> anyhow::Result<Option<String>> {
    if asked.require_inclusive("").is_err() {
        return Ok(None);
    }
    let tree = top_down(&asked.question(), Show::Functions.detail(), PAGE_DEPTH)?;
    let mut stacks = Stacks::new(&tree, LEAST_ON_PAGE);
    let mut lines = 0_u64;
    stacks.each(|_| -> anyhow::Result<()> {
        lines += 1;
        Ok(())
    })?;
    if lines == 0 {
        return Ok(None);
    }
    stacks.name_max = name_max(&stacks)?;
    let mut options = options(asked);
    (options.no_javascript, options.image_width) = (true, Some(DRAWN_WIDTH));
    let mut drawn = Vec::new();
    picture(options, &stacks, &mut drawn)?;
    Ok(boxes(&String::from_utf8_lossy(&drawn)))
}

/// The boxes of a flame graph: without its script, its styles, which would hold for all of a page, and
/// its title.
fn boxes(drawn: &str) -> Option<String> {
    const BOXES: &str = "<svg id=\"frames\"";
    let start = drawn.find(BOXES)?;
    let frames = drawn.get(start..)?;
    let frames = frames.get(..frames.find("</svg>")? + "</svg>".len())?;
    // The first height is that of all.
    let height: f64 = drawn.split_once(" height=\"")?.1.split('"').next()?.parse().ok()?;
    let (top, bottom) = AROUND_BOXES;
    let height = height - top - bottom;
    Some(format!("<svg viewBox=\"0 {top} {DRAWN_WIDTH} {height}\">\n{frames}\n</svg>\n"))
}

fn options(asked: &ProfileQuery) -> flamegraph::Options<'static> {
    let mut options = flamegraph::Options::default();
    options.count_name = asked.described.unit.clone().unwrap_or_else(|| "counts".to_owned());
    options.deterministic = true;
    options
}

fn picture(
    mut options: flamegraph::Options<'_>,
    stacks: &Stacks<'_>,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let mut lines = Vec::new();
    stacks.each(|line| -> anyhow::Result<()> {
        lines.push(line.to_owned());
        Ok(())
    })?;
    let lines = lines.iter().map(String::as_str);
    if stacks.is_whole {
        return Ok(flamegraph::from_lines(&mut options, lines, out)?);
    }
    // Shares are worked out of the numbers of lines, and values would be made whole.
    let mut drawn = Vec::new();
    flamegraph::from_lines(&mut options, lines, &mut drawn)?;
    let drawn = String::from_utf8_lossy(&drawn);
    Ok(titles::write_with_values(&drawn, stacks.scale, out)?)
}

fn put(
    session: &mut Session,
    args: &Args,
    opened: &OpenedFile,
    write: impl FnOnce(&mut dyn Write) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let output: &Path = &args.output;
    if Outlet::open(session, output)? == Outlet::Stream {
        if session.out.is_terminal() && !args.folded {
            let failure = Failure::new("a picture is not written to a terminal");
            return Err(failure.hint("name a file with -o, or pipe it on").into());
        }
        return write(&mut session.out);
    }
    let about = |error| outlet::about(output, error);
    let to = Destination::new(output, args.force).made_from(std::slice::from_ref(&opened.source));
    let mut file = BufWriter::new(to.file().map_err(about)?);
    let blamed = |error| outlet::blamed(output, error);
    write(&mut file).map_err(blamed)?;
    let file = file.into_inner().map_err(|error| blamed(error.into_error().into()))?;
    file.commit().map_err(about)
}

/// Says what the numbers of folded stacks are: whole ones, whatever was measured.
fn report_scale(
    session: &mut Session,
    opened: &OpenedFile,
    asked: &ProfileQuery,
    stacks: &Stacks<'_>,
) {
    let (metric, factor) = (escaped(&asked.described.name), 1.0 / stacks.scale);
    let unit = asked.described.unit.as_deref().map(escaped);
    let scale = match (stacks.is_whole, unit) {
        (true, None) => String::new(),
        (true, Some(unit)) => format!(", in {unit}"),
        (false, None) => format!(": 1 is {factor:e}"),
        (false, Some(unit)) => format!(": 1 is {factor:e} {unit}"),
    };
    let text = format!("numbers are of {metric}{scale}");
    let _ = session.out.flush();
    session.report.remark(&opened.name, text);
}

fn report_negative(session: &mut Session, opened: &OpenedFile, stacks: &Stacks<'_>) -> Outcome {
    if stacks.negative == 0 {
        return Outcome::Done;
    }
    let example = stacks
        .example
        .as_deref()
        .map_or(String::new(), |name| format!(", such as {}", escaped(name)));
    let paths = numbers::count(stacks.negative, "path", "paths");
    let verb = if stacks.negative == 1 { "is" } else { "are" };
    let text = format!("{paths} spent less than nothing and {verb} not shown{example}");
    let _ = session.out.flush();
    session.report.remark(&opened.name, text);
    Outcome::Findings
}
