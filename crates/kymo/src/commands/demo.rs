//! `kymo demo`: shows what the program does, on recordings it writes itself.

use std::cell::RefCell;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use clap::Parser;
use kymo_core::{Context, Destination, Error, Source};
use kymo_model::arrays::VariableId;
use kymo_model::timeline::{Track, TrackKind};
use kymo_model::{Capability, Demo, Format};

use crate::cli::Cli;
use crate::failure::quoted;
use crate::inputs;
use crate::outlet;
use crate::render::{pad, style};
use crate::session::{Named, Outcome, Session};

/// Show what kymo does, on recordings that it writes into a folder.
///
/// Writes recordings in every format that kymo writes, then runs commands on them and shows each
/// command with what it prints. The folder stays, to try things on.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
EXAMPLES
  kymo demo                     into ./kymo-demo
  kymo demo /tmp/try            into another folder
  kymo demo --force             again

EXIT STATUS
  0 done, 1 failed, 2 bad usage")]
pub(crate) struct Args {
    /// The folder to write.
    #[arg(value_name = "DIR", default_value = "kymo-demo")]
    directory: PathBuf,

    /// Replace the folder if it exists.
    #[arg(short, long)]
    force: bool,
}

pub(crate) fn run(session: &mut Session, args: &Args) -> anyhow::Result<Outcome> {
    let about = |error| outlet::about(&args.directory, error);
    let formats = kymo_registry::formats().iter().copied();
    let demos = formats.map(|format| Ok((format, format.demo()?)));
    let demos = demos.collect::<kymo_core::Result<Vec<_>>>().map_err(about)?;
    write(&args.directory, args.force, &demos).map_err(about)?;
    let mut show = Show { session, directory: &args.directory };
    show.recordings(&demos)?;
    for (format, files) in &demos {
        if let Some(first) = files.first() {
            show.format(*format, first)?;
        }
    }
    show.next(&demos)?;
    Ok(Outcome::Done)
}

fn write(
    directory: &Path,
    force: bool,
    demos: &[(&dyn Format, Vec<Demo>)],
) -> kymo_core::Result<()> {
    let files = demos.iter().flat_map(|(_, files)| files);
    let kept = |demo: &Demo| {
        ["", "cut-", "repaired-", "end-of-"].map(|lead| format!("{lead}{}", demo.file))
    };
    let names: Vec<_> = files.flat_map(kept).collect();
    let folder = outlet::own_directory(Destination::new(directory, force), &names)?.directory()?;
    for demo in demos.iter().flat_map(|(_, files)| files) {
        let path = folder.path().join(demo.file);
        fs::write(path, &demo.bytes).map_err(Error::io("write a recording"))?;
    }
    folder.commit()
}

/// The demonstration as it goes on.
struct Show<'a> {
    session: &'a mut Session,
    directory: &'a Path,
}

impl Show<'_> {
    fn recordings(&mut self, demos: &[(&dyn Format, Vec<Demo>)]) -> anyhow::Result<()> {
        let directory = inputs::display(self.directory);
        self.print_line(&format!("Wrote recordings into {directory}:"))?;
        for demo in demos.iter().flat_map(|(_, files)| files) {
            writeln!(self.session.out, "  {:<12} {}", demo.file, demo.about)?;
        }
        Ok(())
    }

    fn format(&mut self, format: &dyn Format, demo: &Demo) -> anyhow::Result<()> {
        let file = self.path(demo.file);
        let file = file.as_str();
        self.print_line(&format!("What is {}?", demo.file))?;
        self.command(&["info", file])?;
        self.print_line(
            "What is in it, with the smallest and the largest values, and attributes?",
        )?;
        self.command(&["ls", "-l", "-s", "-a", file])?;
        if let Some((path, rank)) = array_of(format, demo)? {
            self.print_line("The corner of an array at its last step:")?;
            let count = vec!["3"; rank].join(",");
            self.command(&["dump", "-d", &path, "--step", "-1", "--count", &count, file])?;
        }
        if let Some(track) = counter_of(format, demo)? {
            self.print_line("The last values of a stream, found from the end of the file:")?;
            self.command(&["dump", "--stream", &track, "--last", "3", file])?;
        }
        if format.info().can(Capability::Extract) {
            let end = self.path(&format!("end-of-{}", demo.file));
            self.print_line("The last five seconds as a recording of their own:")?;
            self.command(&["cut", file, &end, "--since", "-5s"])?;
            self.command(&["dump", "--since", "+0s", &end])?;
        }
        if format.info().can(Capability::Repair) {
            self.damage(demo)?;
        }
        self.print_line("The first rows of its table as CSV:")?;
        self.command(&["convert", file, "-", "--to", "csv", "--limit", "4"])
    }

    /// Cuts a copy off in the middle, and repairs it.
    fn damage(&mut self, demo: &Demo) -> anyhow::Result<()> {
        let (whole, cut) = (self.path(demo.file), self.path(&format!("cut-{}", demo.file)));
        let repaired = self.path(&format!("repaired-{}", demo.file));
        let length = demo.bytes.len() * 2 / 3;
        self.print_line("A copy that was cut off, as by a full disk:")?;
        self.prompt(&format!("head -c {length} {} > {}", quoted(&whole), quoted(&cut)))?;
        let bytes = demo.bytes.get(..length).unwrap_or_default();
        let written = fs::write(&cut, bytes).map_err(Error::io("write a copy"));
        written.map_err(|error| Named::error(cut.as_str(), error))?;
        self.command(&["ls", &cut])?;
        self.command(&["repair", &cut, &repaired])?;
        self.command(&["check", &repaired, &whole])
    }

    fn next(&mut self, demos: &[(&dyn Format, Vec<Demo>)]) -> anyhow::Result<()> {
        self.print_line("What to try next:")?;
        let directory = quoted(&inputs::display(self.directory));
        let mut lines = vec![
            (format!("kymo info {directory}"), "every recording in the folder"),
            ("kymo formats".to_owned(), "what is read and written"),
            ("kymo help dump".to_owned(), "all there is to a command"),
        ];
        let files = demos.iter().filter_map(|(_, files)| files.first());
        for demo in files {
            let file = quoted(&self.path(demo.file));
            lines.insert(1, (format!("kymo dump {file} | less"), "everything in a file"));
            lines.insert(2, (format!("kymo convert {file} out.jsonl"), "for other programs"));
        }
        let width = lines.iter().map(|(line, _)| line.chars().count()).max().unwrap_or(0);
        for (line, about) in lines {
            writeln!(self.session.out, "  {}  {about}", pad::left(&line, width))?;
        }
        Ok(())
    }

    fn path(&self, file: &str) -> String {
        self.directory.join(file).to_string_lossy().into_owned()
    }

    fn print_line(&mut self, text: &str) -> io::Result<()> {
        let bold = self.session.out.paint().style(style::TITLE);
        writeln!(self.session.out, "\n{bold}{text}{bold:#}")
    }

    fn prompt(&mut self, line: &str) -> io::Result<()> {
        let good = self.session.out.paint().style(style::GOOD);
        writeln!(self.session.out, "{good}${good:#} {line}")
    }

    /// Shows a command as one types it, runs it, and shows what it prints.
    fn command(&mut self, arguments: &[&str]) -> anyhow::Result<()> {
        let line: Vec<_> = arguments.iter().map(|argument| quoted(argument)).collect();
        self.prompt(&format!("kymo {}", line.join(" ")))?;
        let cli = Cli::try_parse_from(std::iter::once(&"kymo").chain(arguments))?;
        let printed = Shared::default();
        let mut inner = self.session.captured(&printed);
        inner.run(&cli.command);
        drop(inner);
        let printed = printed.0.take();
        self.session.out.write_all(&printed)?;
        Ok(self.session.out.flush()?)
    }
}

/// An array of a recording, and how many dimensions it has.
fn array_of(format: &dyn Format, demo: &Demo) -> kymo_core::Result<Option<(String, usize)>> {
    let source = Source::from_bytes(demo.file, demo.bytes.clone());
    let dataset = format.open(&source, &Context::default())?;
    let Some(view) = dataset.arrays() else {
        return Ok(None);
    };
    let variables = (0..view.variable_count()).map(|index| view.variable(VariableId(index)));
    let largest = variables.max_by_key(|variable| variable.rank);
    let array = largest.filter(|variable| variable.rank > 0);
    Ok(array.map(|variable| (variable.path, variable.rank)))
}

/// A stream of numbers in a recording that has a timeline.
fn counter_of(format: &dyn Format, demo: &Demo) -> kymo_core::Result<Option<String>> {
    let source = Source::from_bytes(demo.file, demo.bytes.clone());
    let dataset = format.open(&source, &Context::default())?;
    let tracks = dataset.timeline().map(|timeline| timeline.tracks()).unwrap_or_default();
    let is_plain = |track: &&Track| track.kind == TrackKind::Counter && track.clock.is_some();
    Ok(tracks.iter().rfind(is_plain).map(|track| track.name.clone()))
}

/// Output of a command on both streams, in its order.
#[derive(Clone, Default)]
struct Shared(Rc<RefCell<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
