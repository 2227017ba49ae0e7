//! `kymo formats`: what is read and written.

use std::io::Write;

use kymo_model::{Capability, FormatInfo};
use serde_json::json;

use crate::render::columns::Columns;
use crate::render::style;
use crate::session::{Outcome, Session};

/// List the formats that are read and written.
///
/// The names are what --from takes. A format is recognised by its first bytes, and by the name
/// of a file where bytes do not tell.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
EXAMPLES
  kymo formats                    what is read and written
  kymo formats --json | jq .name  for scripts
  kymo formats --markdown         the table of the README

EXIT STATUS
  0 done, 2 bad usage")]
pub(crate) struct Args {
    /// Print one JSON object a format.
    #[arg(long)]
    json: bool,

    /// Print a table in Markdown.
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
}

pub(crate) fn run(session: &mut Session, args: &Args) -> anyhow::Result<Outcome> {
    let infos = kymo_registry::formats().iter().map(|format| format.info());
    if args.json {
        for info in infos {
            session.out.json(&json_of(info))?;
        }
    } else if args.markdown {
        writeln!(session.out, "| Format | Files | What it holds | Kymo can | Dialects |")?;
        writeln!(session.out, "|---|---|---|---|---|")?;
        for info in infos {
            writeln!(session.out, "{}", markdown_of(info))?;
        }
    } else {
        for (index, info) in infos.enumerate() {
            if index > 0 {
                writeln!(session.out)?;
            }
            print(session, info)?;
        }
    }
    Ok(Outcome::Done)
}

fn print(session: &mut Session, info: &FormatInfo) -> anyhow::Result<()> {
    let bold = session.out.paint().style(style::TITLE);
    writeln!(session.out, "{bold}{}{bold:#}  {}", info.name, info.title)?;
    let mut columns = Columns::indented(2).styled(&[style::KIND]);
    let mut row = |name: &str, text: String| {
        if !text.is_empty() {
            columns.row([name.to_owned(), text]);
        }
    };
    row("holds", info.about.to_owned());
    row("files", extensions(info));
    row("can", abilities(info).join(", "));
    row("dialects", info.dialects.join("; "));
    row("dump styles", info.dump_styles.join(", "));
    columns.print(&mut session.out)?;
    Ok(())
}

fn abilities(info: &FormatInfo) -> Vec<&'static str> {
    let able = Capability::ALL.into_iter().filter(|ability| info.can(*ability));
    std::iter::once("read").chain(able.map(Capability::name)).collect()
}

fn extensions(info: &FormatInfo) -> String {
    let extensions: Vec<_> = info.extensions.iter().map(|e| format!(".{e}")).collect();
    extensions.join(", ")
}

fn markdown_of(info: &FormatInfo) -> String {
    let files: Vec<_> = info.extensions.iter().map(|e| format!("`.{e}`")).collect();
    format!(
        "| [{}](docs/formats/{}.md) | {} | {} | {} | {} |",
        info.title,
        info.name,
        files.join(" "),
        info.about,
        abilities(info).join(", "),
        info.dialects.join("; "),
    )
}

fn json_of(info: &FormatInfo) -> serde_json::Value {
    json!({
        "name": info.name,
        "title": info.title,
        "about": info.about,
        "extensions": info.extensions,
        "dialects": info.dialects,
        "abilities": abilities(info),
        "dump_styles": info.dump_styles,
    })
}
