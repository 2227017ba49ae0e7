//! `kymo man`: manual pages.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use clap::CommandFactory;
use clap_mangen::Man;
use kymo_core::Error;

use crate::cli::Cli;
use crate::failure::Failure;
use crate::inputs;
use crate::session::{Named, Outcome, Session};

/// Print manual pages.
///
/// Without a command it is the page of kymo itself. With --dir all pages are written there, one
/// file each, ready for a directory that man looks into.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
EXAMPLES
  kymo man | man -l -                          read the page of kymo
  kymo man dump | man -l -                     read the page of a command
  kymo man --dir ~/.local/share/man/man1       install all pages

EXIT STATUS
  0 done, 1 failed, 2 bad usage")]
pub(crate) struct Args {
    /// The command whose page is wanted.
    #[arg(conflicts_with = "dir")]
    command: Option<String>,

    /// Write all pages into this directory, which is made if it is not there.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub(crate) fn run(session: &mut Session, args: &Args) -> anyhow::Result<Outcome> {
    match &args.dir {
        Some(directory) => {
            write_all(directory)
                .map_err(|error| Named::error(inputs::display(directory), error))?;
        }
        None => session.out.write_all(&page(args.command.as_deref())?)?,
    }
    Ok(Outcome::Done)
}

fn write_all(directory: &PathBuf) -> kymo_core::Result<()> {
    fs::create_dir_all(directory).map_err(Error::io("make the directory"))?;
    let pages = pages();
    for (name, command) in pages {
        let path = directory.join(format!("{name}.1"));
        fs::write(path, render(command)?).map_err(Error::io("write a page"))?;
    }
    Ok(())
}

fn page(wanted: Option<&str>) -> anyhow::Result<Vec<u8>> {
    let wanted = wanted.map_or("kymo".to_owned(), |command| format!("kymo-{command}"));
    let found = pages().into_iter().find(|(name, _)| *name == wanted);
    let Some((_, command)) = found else {
        let failure = Failure::new("there is no such command");
        return Err(Named::error(wanted, failure.hint("`kymo help` lists the commands")));
    };
    Ok(render(command)?)
}

/// Every page's name and command.
fn pages() -> Vec<(String, clap::Command)> {
    let mut root = Cli::command();
    root.build();
    let item = |command: &clap::Command| (format!("kymo-{}", command.get_name()), command.clone());
    let is_shown = |command: &&clap::Command| command.get_name() != "help";
    let subcommands: Vec<_> = root.get_subcommands().filter(is_shown).map(item).collect();
    let mut pages = vec![("kymo".to_owned(), root)];
    pages.extend(subcommands);
    pages
}

/// A page. Examples and exit codes keep their lines, which a manual would join otherwise.
fn render(command: clap::Command) -> kymo_core::Result<Vec<u8>> {
    let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let has_subcommands = command.has_subcommands();
    let man = Man::new(command);
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if has_subcommands {
        man.render_subcommands_section(&mut page)?;
    }
    for line in after.lines() {
        let is_heading = !line.is_empty() && !line.starts_with(' ');
        if is_heading {
            writeln!(page, ".fi\n.SH {line}\n.nf")?;
        } else {
            // A leading zero-width character keeps a line from being taken for a request.
            writeln!(page, "\\&{}", line.replace('\\', "\\e").replace('-', "\\-"))?;
        }
    }
    writeln!(page, ".fi")?;
    man.render_version_section(&mut page)?;
    Ok(page)
}
