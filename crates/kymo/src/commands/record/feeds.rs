//! Sources of lines: one thread a source, all into one queue.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use kymo_core::Error;

use crate::failure::Failure;
use crate::inputs;
use crate::session::Named;

/// The feed of a command's standard error.
pub(super) const STDERR: usize = 1;

/// A longer line becomes several messages.
const LINE_BYTES_MAX: usize = 1 << 20;

/// Bytes read at a time.
const BLOCK_BYTES: usize = 8 << 10;

/// Message from a feed.
pub(super) enum FeedEvent {
    /// A line, or some bytes, of a feed.
    Piece(Piece),
    /// A feed ended.
    Ended,
    /// A feed could not be opened, or read to its end.
    Failed(anyhow::Error),
    /// The user wants to stop.
    Interrupted,
}

/// A line, or some bytes, of a feed.
pub(super) struct Piece {
    pub(super) feed: usize,
    pub(super) bytes: Vec<u8>,
    /// True if the line goes on in the next piece.
    pub(super) goes_on: bool,
}

/// All sources of lines.
pub(super) struct Feeds {
    sender: SyncSender<FeedEvent>,
    is_raw: bool,
    names: Vec<String>,
    /// Of each feed the line that has not ended yet.
    unfinished: Vec<Line>,
    child: Option<Child>,
}

/// A line that its reader and whoever stops the recording share.
type Line = Arc<Mutex<Vec<u8>>>;

fn line_bytes(line: &Line) -> Vec<u8> {
    std::mem::take(&mut *line.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Feeds {
    pub(super) fn new(sender: SyncSender<FeedEvent>, is_raw: bool) -> Self {
        Self { sender, is_raw, names: Vec::new(), unfinished: Vec::new(), child: None }
    }

    pub(super) fn count(&self) -> usize {
        self.names.len()
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// Reads standard input.
    pub(super) fn stdin(&mut self) {
        self.start("stdin", || Ok(io::stdin().lock()));
    }

    /// Reads a named pipe, which opens when someone writes to it, or a file.
    pub(super) fn pipe(&mut self, name: &str, path: &Path) {
        let path = path.to_owned();
        self.start(name, move || {
            let opened = File::open(&path).map_err(Error::io("open it"));
            opened.map_err(|error| Named::error(inputs::display(&path), error))
        });
    }

    /// Runs a command and reads what it says.
    pub(super) fn command(&mut self, command: &[String]) -> anyhow::Result<()> {
        let (program, arguments) =
            command.split_first().ok_or_else(|| Failure::usage("no command"))?;
        let child = Command::new(program)
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(not_run);
        let mut child = child.map_err(|error| Named::error(program.as_str(), error))?;
        if let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) {
            self.start("stdout", || Ok(stdout));
            self.start("stderr", || Ok(stderr));
        }
        self.child = Some(child);
        Ok(())
    }

    /// Returns true if they end by themselves when the command is told to.
    pub(super) fn is_command(&self) -> bool {
        self.child.is_some()
    }

    /// The lines that have not ended.
    pub(super) fn unfinished(&self) -> impl Iterator<Item = Piece> {
        let lines = self.unfinished.iter().map(line_bytes).enumerate();
        let lines = lines.filter(|(_, line)| !line.is_empty());
        lines.map(|(feed, bytes)| Piece { feed, bytes, goes_on: false })
    }

    /// Asks the command to end. That it has already is no failure.
    pub(super) fn terminate(&self) {
        #[cfg(unix)]
        if let Some(child) = &self.child {
            let pid = rustix::process::Pid::from_child(child);
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
    }

    /// Returns true if the command has ended, whoever still writes to its output.
    pub(super) fn has_exited(&mut self) -> bool {
        self.child.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(Some(_))))
    }

    /// Ends the command, whatever it does.
    pub(super) fn kill(&mut self) {
        if let Some(child) = &mut self.child {
            // That it has ended already is no failure.
            let _ = child.kill();
        }
    }

    /// Ends the command and waits for that, since nothing is recorded.
    pub(super) fn abandon(mut self) {
        self.kill();
        let _ = self.end();
    }

    /// Waits for the command, and tells how it ended.
    pub(super) fn end(self) -> anyhow::Result<Option<ExitStatus>> {
        let status = self.child.map(|mut child| child.wait()).transpose();
        Ok(status.map_err(Error::io("wait for the command"))?)
    }

    fn start<R: Read>(
        &mut self,
        name: &str,
        open: impl FnOnce() -> anyhow::Result<R> + Send + 'static,
    ) {
        let (sender, is_raw, feed) = (self.sender.clone(), self.is_raw, self.names.len());
        self.names.push(name.to_owned());
        let line = Line::default();
        self.unfinished.push(Arc::clone(&line));
        let name = name.to_owned();
        thread::spawn(move || {
            let read = open().and_then(|reader| {
                let read = read(reader, is_raw, feed, &line, &sender);
                read.map_err(|error| Named::error(name, error))
            });
            // When nobody listens any more, there is nobody to tell.
            let _ = sender.send(read.map_or_else(FeedEvent::Failed, |()| FeedEvent::Ended));
        });
    }
}

/// Explains why a command could not be run, in words where it is simply not there.
fn not_run(error: io::Error) -> anyhow::Error {
    if error.kind() == io::ErrorKind::NotFound {
        let failure = Failure::new("there is no program of this name");
        return failure.hint("PATH is searched for names; a path has a `/`").into();
    }
    Error::io("run it")(error).into()
}

fn read(
    reader: impl Read,
    is_raw: bool,
    feed: usize,
    line: &Line,
    sender: &SyncSender<FeedEvent>,
) -> anyhow::Result<()> {
    let mut reader = BufReader::with_capacity(BLOCK_BYTES, reader);
    let send =
        |bytes, goes_on| sender.send(FeedEvent::Piece(Piece { feed, bytes, goes_on })).is_ok();
    loop {
        let block = match reader.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            block => block.map_err(Error::io("read it"))?,
        };
        if block.is_empty() {
            let last = line_bytes(line);
            if !last.is_empty() {
                send(last, false);
            }
            return Ok(());
        }
        let end = block.iter().position(|byte| *byte == b'\n').filter(|_| !is_raw);
        let (count, is_end) = end.map_or((block.len(), is_raw), |end| (end + 1, true));
        let mut so_far = line.lock().unwrap_or_else(PoisonError::into_inner);
        so_far.extend_from_slice(block.get(..count).unwrap_or_default());
        let is_long = so_far.len() >= LINE_BYTES_MAX;
        drop(so_far);
        reader.consume(count);
        if (is_end || is_long) && !send(line_bytes(line), !is_end) {
            return Ok(());
        }
    }
}
