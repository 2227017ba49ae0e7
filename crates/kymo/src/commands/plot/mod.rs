//! `kymo plot`: a picture of a variable or a stream, in a file or in the terminal.

mod field;
mod over_time;
mod scene;
mod terminal;

use std::path::PathBuf;

use super::dump::StorageOrder;
use crate::cli::OpenArgs;
use crate::failure::{Failure, quoted};
use crate::moment::{MOMENTS, Moment};
use crate::render::{escaped, numbers};
use crate::selection::Steps;
use crate::session::{Named, OpenedFile, Outcome, Session};
use crate::{inputs, picture, variables};

use field::Field;

/// Draw a variable, or numbers of a recording: a line, or a heat map for two dimensions.
///
/// Without --output it is drawn in the terminal with block characters. A scalar is drawn over its
/// steps; of an array the last step is drawn unless --step says otherwise. Of more dimensions,
/// --start and --count choose a slice. Of complex numbers the magnitude is drawn.
///
/// Of a recording a stream of numbers is drawn over time, such as a field of a custom type; --since
/// and --until choose a part. A number counts until there is another. The mean and the standard
/// deviation are those of the numbers, however long each counts.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("\
EXAMPLES
  kymo plot run.bp phi                                   a quick look
  kymo plot run.bp phi -o phi.png                        a picture
  kymo plot run.bp energy -o energy.svg                  a scalar over its steps
  kymo plot run.bp cube --start 0,0,5 --count -1,-1,1    a slice of three dimensions
  kymo plot motor.bbbin drive.speed --since +1s          a field of events over time

{MOMENTS}

EXIT STATUS
  0 done, 1 failed, 2 bad usage, 3 done, with findings or losses"))]
pub(crate) struct Args {
    /// The file to read; `-` is standard input.
    #[arg(value_name = "FILE")]
    input: PathBuf,

    /// The variable, by its path or its name; of a recording, the stream.
    #[arg(value_name = "VARIABLE")]
    variable: String,

    /// The picture to write: .png or .svg.
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,

    /// The first index in each dimension; negative ones count from the end.
    #[arg(long, value_name = "I,J,…", value_delimiter = ',', allow_hyphen_values = true)]
    start: Vec<i64>,

    /// Number of values in each dimension; -1 goes to the end.
    #[arg(long, value_name = "N,M,…", value_delimiter = ',', allow_hyphen_values = true)]
    count: Vec<i64>,

    /// The step, or steps: 3, -1 for the last, 2..5 for 2, 3 and 4.
    #[arg(long, value_name = "STEPS", allow_hyphen_values = true)]
    step: Option<Steps>,

    /// Dimension that varies fastest: the last (c) or the first (fortran).
    #[arg(long, value_enum, default_value = "c")]
    order: StorageOrder,

    /// Of a recording, not before this moment.
    #[arg(long, value_name = "MOMENT", allow_hyphen_values = true)]
    since: Option<Moment>,

    /// Of a recording, before this moment.
    #[arg(long, value_name = "MOMENT", allow_hyphen_values = true)]
    until: Option<Moment>,

    /// Replace OUT if it exists.
    #[arg(short, long)]
    force: bool,

    #[command(flatten)]
    open: OpenArgs,
}

pub(crate) fn run(session: &mut Session, args: &Args) -> anyhow::Result<Outcome> {
    let kind = args.output.as_deref().map(picture::Kind::from_path).transpose()?;
    let name = inputs::display(&args.input);
    let result = session.with_dataset(&args.input, &args.open, |session, opened| {
        let field = field(args, opened)?;
        let mut outcome = report_same_names(session, args, opened);
        match (kind, &args.output) {
            (Some(kind), Some(output)) => {
                let picture = scene::picture(&field);
                let put = picture::put(session, opened, output, args.force, (kind, &picture))?;
                outcome = outcome.max(put);
            }
            _ => terminal::print(session, &field)?,
        }
        let outcome = outcome.max(report_missing(session, opened, &field));
        let outcome = outcome.max(report_other_types(session, args, opened));
        Ok(outcome.max(session.findings(opened)))
    });
    result.map_err(|error| match error.downcast::<Named>() {
        Ok(named) => anyhow::Error::new(named),
        Err(error) => Named::error(name, error),
    })
}

/// The values that are drawn.
fn field(args: &Args, opened: &OpenedFile) -> anyhow::Result<Field> {
    let name = args.variable.as_str();
    let Some(view) = opened.dataset.arrays() else {
        let nothing = || Failure::new("it has neither arrays nor streams of numbers to draw");
        let timeline = opened.timeline().ok_or_else(nothing)?;
        refuse(args, !args.start.is_empty() || !args.count.is_empty() || args.step.is_some())?;
        let (id, _) = over_time::find(timeline.as_ref(), name)?;
        return over_time::read(&timeline, id, args);
    };
    refuse(args, args.since.is_some() || args.until.is_some())?;
    let Some(&id) = view.find(name).first() else {
        if let Some(failure) = variables::ambiguous(view.as_ref(), name, "a path") {
            return Err(failure.into());
        }
        let failure = Failure::new(format!("there is no variable {}", escaped(name)));
        let hint = match variables::near(view.as_ref(), name) {
            Some(near) => format!("variables: {near}"),
            None => format!("`kymo ls {}` lists variables", quoted(&opened.name)),
        };
        return Err(failure.hint(hint).into());
    };
    field::read(&view, id, args)
}

/// Refuses options that say nothing of what is drawn.
fn refuse(args: &Args, is_meaningless: bool) -> Result<(), Failure> {
    let name = escaped(&args.variable);
    match is_meaningless {
        true if args.since.is_some() || args.until.is_some() => {
            let failure = Failure::usage(format!("{name} is an array, which has no times"));
            Err(failure.hint("--start, --count and --step choose a part"))
        }
        true => {
            let failure = Failure::usage(format!("{name} is a stream, which has no steps"));
            Err(failure.hint("--since and --until choose a part"))
        }
        false => Ok(()),
    }
}

/// Says that other streams have the same name, which are not drawn.
fn report_same_names(session: &mut Session, args: &Args, opened: &OpenedFile) -> Outcome {
    let timeline = opened.dataset.timeline().filter(|_| opened.dataset.arrays().is_none());
    let found =
        timeline.and_then(|timeline| over_time::find(timeline.as_ref(), &args.variable).ok());
    let Some((_, others @ 1..)) = found else { return Outcome::Done };
    let others = numbers::count(others as u64, "other stream has", "other streams have");
    session.report.remark(&opened.name, format!("{others} that name and are not drawn"));
    Outcome::Findings
}

/// Says that a path has values of other types too, which are not drawn.
fn report_other_types(session: &mut Session, args: &Args, opened: &OpenedFile) -> Outcome {
    let Some(view) = opened.dataset.arrays() else { return Outcome::Done };
    match view.find(&args.variable).as_slice() {
        [id, others @ ..] if !others.is_empty() => variables::report_other_types(
            session,
            &opened.name,
            view.as_ref(),
            *id,
            others,
            "drawn",
        ),
        _ => Outcome::Done,
    }
}

fn report_missing(session: &mut Session, opened: &OpenedFile, field: &Field) -> Outcome {
    let values = |count: u64, what: &str| match count {
        1 => format!("1 value is {what} and not drawn"),
        count => format!("{count} values are {what} and not drawn"),
    };
    if field.special > 0 {
        session.report.remark(&opened.name, values(field.special, "NaN or infinite"));
    }
    if field.missing > 0 {
        let what =
            if field.moments.is_some() { "no number, or at no time" } else { "not in the file" };
        session.report.remark(&opened.name, values(field.missing, what));
    }
    match field.special + field.missing {
        0 => Outcome::Done,
        _ => Outcome::Findings,
    }
}
