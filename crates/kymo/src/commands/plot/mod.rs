//! `kymo plot`: a picture of a variable, in a file or in the terminal.

mod axis;
mod field;
mod raster;
mod scene;
mod svg;
mod terminal;

use std::io::Write;
use std::path::PathBuf;

use kymo_core::Destination;

use super::dump::StorageOrder;
use crate::cli::OpenArgs;
use crate::failure::{Failure, quoted};
use crate::outlet;
use crate::render::escaped;
use crate::selection::Steps;
use crate::session::{Named, Opened, Outcome, Session};
use crate::{inputs, variables};

use field::Field;
use scene::Scene;

/// Draw a variable: a line for one dimension, a heat map for two.
///
/// Without --output it is drawn in the terminal with block characters. A scalar is drawn over its
/// steps; of an array the last step is drawn unless --step says otherwise. Of more dimensions,
/// --start and --count choose a slice.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
EXAMPLES
  kymo plot run.bp phi                                   a quick look
  kymo plot run.bp phi -o phi.png                        a picture
  kymo plot run.bp energy -o energy.svg                  a scalar over its steps
  kymo plot run.bp cube --start 0,0,5 --count -1,-1,1    a slice of three dimensions

EXIT STATUS
  0 done, 1 failed, 2 bad usage, 3 done, with findings or losses")]
pub(crate) struct Args {
    /// The file to read; `-` is standard input.
    #[arg(value_name = "FILE")]
    input: PathBuf,

    /// The variable, by its path or its name.
    #[arg(value_name = "VARIABLE")]
    variable: String,

    /// The picture to write: .png or .svg.
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,

    /// The first index in each dimension; negative ones count from the end.
    #[arg(long, value_name = "I,J,…", value_delimiter = ',', allow_hyphen_values = true)]
    start: Vec<i64>,

    /// How many in each dimension; -1 goes to the end.
    #[arg(long, value_name = "N,M,…", value_delimiter = ',', allow_hyphen_values = true)]
    count: Vec<i64>,

    /// The step, or steps: 3, -1 for the last, 2..5 for 2, 3 and 4.
    #[arg(long, value_name = "STEPS", allow_hyphen_values = true)]
    step: Option<Steps>,

    /// Which dimension varies fastest: the last (c) or the first (fortran).
    #[arg(long, value_enum, default_value = "c")]
    order: StorageOrder,

    /// Replace OUT if it exists.
    #[arg(short, long)]
    force: bool,

    #[command(flatten)]
    open: OpenArgs,
}

/// What a picture is written as.
#[derive(Debug, Clone, Copy)]
enum Picture {
    Png,
    Svg,
}

impl Picture {
    fn of(output: &std::path::Path) -> anyhow::Result<Self> {
        let extension = output.extension().and_then(|text| text.to_str()).unwrap_or_default();
        match extension.to_ascii_lowercase().as_str() {
            "png" => Ok(Self::Png),
            "svg" => Ok(Self::Svg),
            _ => {
                let failure = Failure::usage("pictures are .png or .svg");
                Err(Named::error(inputs::display(output), failure))
            }
        }
    }
}

pub(crate) fn run(session: &mut Session, args: &Args) -> anyhow::Result<Outcome> {
    let picture = args.output.as_deref().map(Picture::of).transpose()?;
    let name = inputs::display(&args.input);
    let result = session.with_dataset(&args.input, &args.open, |session, opened| {
        let field = field(args, opened)?;
        match (picture, &args.output) {
            (Some(picture), Some(output)) => draw(args, opened, picture, output, &field)?,
            _ => terminal::print(session, &field)?,
        }
        let outcome = say_missing(session, opened, &field);
        Ok(outcome.max(session.findings(opened)))
    });
    result.map_err(|error| match error.downcast::<Named>() {
        Ok(named) => anyhow::Error::new(named),
        Err(error) => Named::error(name, error),
    })
}

/// The values that are drawn.
fn field(args: &Args, opened: &Opened) -> anyhow::Result<Field> {
    let view = opened.dataset.arrays().ok_or_else(|| Failure::new("it has no arrays to draw"))?;
    let name = args.variable.as_str();
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

fn draw(
    args: &Args,
    opened: &Opened,
    picture: Picture,
    output: &std::path::Path,
    field: &Field,
) -> anyhow::Result<()> {
    outlet::refuse_input(&args.input, output)?;
    let scene = Scene::of(field);
    let bytes = match picture {
        Picture::Png => raster::png(&scene)?,
        Picture::Svg => svg::text(&scene)?.into_bytes(),
    };
    let about = |error| outlet::about(output, error);
    let to = Destination::new(output, args.force).made_from(std::slice::from_ref(&opened.source));
    let mut file = to.file().map_err(about)?;
    file.write_all(&bytes)?;
    file.commit().map_err(about)
}

fn say_missing(session: &mut Session, opened: &Opened, field: &Field) -> Outcome {
    if field.missing == 0 {
        return Outcome::Done;
    }
    let text = format!("{} values are not in the file and not drawn", field.missing);
    session.report.remark(&opened.name, text);
    Outcome::Findings
}
