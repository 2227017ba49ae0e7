//! Standard output: buffered, coloured only on a terminal, and quiet when its reader goes away.

#[cfg(unix)]
use std::fs::File;
use std::fs::OpenOptions;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anstyle::Style;
use clap::ColorChoice;
use kymo_core::Progress as _;

use crate::inputs;
use crate::progress::Bars;

const BUFFER_BYTES: usize = 1 << 17;

/// Width of a terminal that does not state it.
const COLUMNS: usize = 80;

/// Returns the width of the terminal, as given by the shell.
fn columns_from_environment() -> Option<usize> {
    let columns = std::env::var("COLUMNS").ok()?;
    columns.parse().ok().filter(|columns| *columns > 0)
}

/// Results that may be seen where bars are drawn: no bar stands among them.
struct VisibleOutput {
    stdout: io::StdoutLock<'static>,
    bars: Arc<Bars>,
}

impl VisibleOutput {
    /// Results in a file are not seen while they are written, and a bar may go on.
    fn stdout_writer(stdout: &io::Stdout, bars: &Arc<Bars>) -> Box<dyn Write> {
        if !bars.is_shown() || is_file(stdout) {
            return Box::new(stdout.lock());
        }
        Box::new(Self { stdout: stdout.lock(), bars: Arc::clone(bars) })
    }
}

/// Returns true if standard output is a file.
#[cfg(unix)]
fn is_file(stdout: &io::Stdout) -> bool {
    let file = std::os::fd::AsFd::as_fd(stdout).try_clone_to_owned().map(File::from);
    file.and_then(|file| file.metadata()).is_ok_and(|this_metadata| this_metadata.is_file())
}

/// Returns true if standard output is a file, which cannot be told here.
#[cfg(not(unix))]
fn is_file(_stdout: &io::Stdout) -> bool {
    false
}

impl Write for VisibleOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bars.end();
        self.stdout.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stdout.flush()
    }
}

/// Destination of results. Everything that a command writes to standard output passes here.
pub(crate) struct Output {
    name: String,
    writer: BufWriter<Box<dyn Write>>,
    is_terminal: bool,
    columns: Option<usize>,
    paint: Paint,
    failure: Option<io::Error>,
}

impl Output {
    /// Standard output.
    pub(crate) fn stdout(color: ColorChoice, bars: &Arc<Bars>) -> Self {
        let stdout = io::stdout();
        let is_terminal = stdout.is_terminal();
        let told = || terminal_size::terminal_size_of(&stdout).map(|(width, _)| width.0.into());
        let on_terminal = || told().or_else(columns_from_environment).unwrap_or(COLUMNS);
        Self {
            name: "standard output".to_owned(),
            is_terminal,
            columns: if is_terminal { Some(on_terminal()) } else { columns_from_environment() },
            paint: Paint::for_stream(color, &stdout),
            writer: BufWriter::with_capacity(
                BUFFER_BYTES,
                VisibleOutput::stdout_writer(&stdout, bars),
            ),
            failure: None,
        }
    }

    /// A device or a pipe that has a path, written to as standard output is.
    pub(crate) fn named(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().write(true).open(path)?;
        Ok(Self {
            name: inputs::display(path),
            is_terminal: file.is_terminal(),
            columns: None,
            paint: Paint { is_on: false },
            writer: BufWriter::with_capacity(BUFFER_BYTES, Box::new(file)),
            failure: None,
        })
    }

    /// Another place that looks like this one, for showing what a command prints.
    pub(crate) fn with_writer(&self, writer: Box<dyn Write>) -> Self {
        Self {
            name: self.name.clone(),
            writer: BufWriter::with_capacity(BUFFER_BYTES, writer),
            is_terminal: self.is_terminal,
            columns: self.columns,
            paint: self.paint,
            failure: None,
        }
    }

    /// Captures the text that is written to a terminal of this width, or to none.
    #[cfg(test)]
    pub(crate) fn captured(
        columns: Option<usize>,
        write: impl FnOnce(&mut Self) -> io::Result<()>,
    ) -> String {
        let mut file = tempfile::tempfile().unwrap();
        let mut output = Self {
            name: String::new(),
            writer: BufWriter::new(Box::new(file.try_clone().unwrap())),
            is_terminal: columns.is_some(),
            columns,
            paint: Paint { is_on: false },
            failure: None,
        };
        write(&mut output).and_then(|()| output.flush()).unwrap();
        io::Seek::rewind(&mut file).unwrap();
        io::read_to_string(file).unwrap()
    }

    /// Returns the name of the output in messages.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns true if a person sees it as it is.
    pub(crate) fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Returns the width of the terminal, or the value of COLUMNS; `None` when there is neither,
    /// and lines may be as long as they are.
    pub(crate) fn columns(&self) -> Option<usize> {
        self.columns
    }

    /// Returns the styles to paint with.
    pub(crate) fn paint(&self) -> Paint {
        self.paint
    }

    /// Returns true if the reader went away, which is no failure.
    pub(crate) fn is_closed(&self) -> bool {
        let failure = self.failure.as_ref();
        failure.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// Returns the reason why nothing more can be written, if there is one.
    pub(crate) fn failure(&self) -> Option<&io::Error> {
        self.failure.as_ref()
    }

    /// Waits for so long, with nothing to write. That the reader goes away meanwhile is noticed at
    /// once, and fails as writing to it would.
    pub(crate) fn wait(&mut self, pause: Duration) -> io::Result<()> {
        let is_gone = reader_leaves_within(pause);
        self.noted(if is_gone { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(()) })
    }

    /// Writes one object and ends its line.
    pub(crate) fn json(&mut self, value: &serde_json::Value) -> io::Result<()> {
        serde_json::to_writer(&mut *self, value)?;
        self.write_all(b"\n")
    }

    fn noted<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &result
            && self.failure.is_none()
        {
            self.failure = Some(io::Error::new(error.kind(), error.to_string()));
        }
        result
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = self.writer.write(bytes);
        self.noted(result)
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let result = self.writer.write_all(bytes);
        self.noted(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.writer.flush();
        self.noted(result)
    }
}

/// Returns true if whoever reads standard output goes away within a time, which passes if not.
#[cfg(unix)]
fn reader_leaves_within(pause: Duration) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let stdout = io::stdout();
    // Nothing is asked for: that the other end is closed is always told.
    let mut watched = [PollFd::new(&stdout, PollFlags::empty())];
    let timeout = Timespec::try_from(pause).ok();
    if poll(&mut watched, timeout.as_ref()).is_err() {
        thread::sleep(pause);
        return false;
    }
    let closed = PollFlags::ERR | PollFlags::HUP;
    watched.iter().any(|stdout| stdout.revents().intersects(closed))
}

/// Returns true if whoever reads standard output goes away cannot be told without writing to it.
#[cfg(not(unix))]
fn reader_leaves_within(pause: Duration) -> bool {
    thread::sleep(pause);
    false
}

/// Colours, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Paint {
    is_on: bool,
}

impl Paint {
    /// Returns true if a stream is to be coloured.
    pub(crate) fn for_stream(
        choice: ColorChoice,
        stream: &impl anstream::stream::RawStream,
    ) -> Self {
        let is_on = match choice {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => {
                anstream::AutoStream::choice(stream) != anstream::ColorChoice::Never
            }
        };
        Self { is_on }
    }

    /// The style itself, or one that changes nothing.
    pub(crate) fn style(self, style: Style) -> Style {
        if self.is_on { style } else { Style::new() }
    }
}
