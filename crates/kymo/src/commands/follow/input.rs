//! Bytes as they arrive: of a file that grows, or of a pipe.

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use kymo_core::Error;

/// Duration of waiting before there is nothing for now.
pub(super) const PAUSE: Duration = Duration::from_millis(50);

/// Pieces of a pipe that may wait; then its writer does.
const PIECES: usize = 4;

/// Bytes of a pipe that are read at a time.
const PIECE_BYTES: usize = 1 << 16;

/// Input that is followed.
pub(super) enum Input {
    /// A file that grows.
    File { file: File, path: PathBuf, position: u64 },
    /// A pipe that ends when its writer goes. A thread reads it, so that who follows need not wait.
    Pipe { pieces: Receiver<io::Result<Vec<u8>>>, read: Vec<u8>, is_at_end: bool },
}

/// Result of a look at the input.
pub(super) enum Arrived {
    /// So many bytes.
    Bytes(usize),
    /// Nothing for now.
    Nothing,
    /// The file became shorter: it begins again.
    Shrunk,
    /// Another file has its name: this one.
    Replaced(Input),
    /// No file has its name any more. What is still written to it is read.
    Removed,
    /// There will be no more.
    End,
}

impl Input {
    pub(super) fn open(path: &Path) -> kymo_core::Result<Self> {
        if path.as_os_str() == "-" {
            return Ok(Self::pipe(|| Ok(io::stdin().lock())));
        }
        let metadata = std::fs::metadata(path).map_err(Error::io("open it"))?;
        let path = path.to_owned();
        match metadata.is_file() {
            true => {
                let file = File::open(&path).map_err(Error::io("open it"))?;
                Ok(Self::File { file, path, position: 0 })
            }
            false if metadata.is_dir() => Err(Error::request("it is a directory")),
            // A named pipe opens when a writer does.
            false => Ok(Self::pipe(move || File::open(path))),
        }
    }

    fn pipe<R: Read>(open: impl FnOnce() -> io::Result<R> + Send + 'static) -> Self {
        let (sender, pieces) = sync_channel(PIECES);
        thread::spawn(move || {
            let mut reader = match open() {
                Ok(reader) => reader,
                Err(error) => return drop(sender.send(Err(error))),
            };
            let mut piece = vec![0; PIECE_BYTES];
            loop {
                let read = retry(|| reader.read(&mut piece));
                let read = read.map(|count| piece.get(..count).unwrap_or_default().to_vec());
                let is_over = read.as_ref().map_or(true, Vec::is_empty);
                // When nobody listens any more, there is nobody to tell.
                if sender.send(read).is_err() || is_over {
                    return;
                }
            }
        });
        Self::Pipe { pieces, read: Vec::new(), is_at_end: false }
    }

    pub(super) fn is_file(&self) -> bool {
        matches!(self, Self::File { .. })
    }

    /// Returns the duration to wait when nothing has come: a pipe has waited already.
    pub(super) fn pause(&self) -> Duration {
        if self.is_file() { PAUSE } else { Duration::ZERO }
    }

    /// Returns true if no more can be learnt by waiting.
    pub(super) fn is_at_end(&self) -> bool {
        matches!(self, Self::Pipe { is_at_end: true, .. })
    }

    /// The first bytes, as many as there are by now; what a pipe gives is kept and read again.
    pub(super) fn head(&mut self, bytes_max: usize) -> kymo_core::Result<Vec<u8>> {
        let failed = Error::io("read it");
        match self {
            Self::File { file, .. } => {
                let mut head = Vec::new();
                let mut from_start = || {
                    file.seek(SeekFrom::Start(0))?;
                    file.take(bytes_max as u64).read_to_end(&mut head)?;
                    file.seek(SeekFrom::Start(0))
                };
                from_start().map_err(failed)?;
                Ok(head)
            }
            Self::Pipe { pieces, read, is_at_end } => {
                take_piece(pieces, read, is_at_end)?;
                Ok(read.get(..bytes_max).unwrap_or(read).to_vec())
            }
        }
    }

    /// Goes on from a byte of the file.
    pub(super) fn seek(&mut self, to: u64) -> kymo_core::Result<()> {
        if let Self::File { file, position, .. } = self {
            file.seek(SeekFrom::Start(to)).map_err(Error::io("read it"))?;
            *position = to;
        }
        Ok(())
    }

    /// Reads what has arrived.
    pub(super) fn read(&mut self, chunk: &mut [u8]) -> kymo_core::Result<Arrived> {
        let failed = Error::io("read it");
        match self {
            Self::File { file, position, path } => {
                let count = retry(|| file.read(chunk)).map_err(failed)?;
                *position += count as u64;
                if count > 0 {
                    return Ok(Arrived::Bytes(count));
                }
                let found = file.metadata().map_err(Error::io("look at it"))?;
                if found.len() >= *position {
                    return named_now(path, &found);
                }
                self.seek(0)?;
                Ok(Arrived::Shrunk)
            }
            Self::Pipe { pieces, read, is_at_end } => {
                if read.is_empty() {
                    take_piece(pieces, read, is_at_end)?;
                }
                let count = read.len().min(chunk.len());
                for (to, from) in chunk.iter_mut().zip(read.drain(..count)) {
                    *to = from;
                }
                Ok(match count {
                    0 if *is_at_end => Arrived::End,
                    0 => Arrived::Nothing,
                    count => Arrived::Bytes(count),
                })
            }
        }
    }
}

/// Checks what now has the name of a file that was read to its end.
fn named_now(path: &Path, file: &Metadata) -> kymo_core::Result<Arrived> {
    let is_same = match std::fs::metadata(path) {
        Ok(found) => is_same(&found, file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Arrived::Removed),
        // It cannot be looked at for now, and can still be read.
        Err(_) => true,
    };
    if is_same {
        return Ok(Arrived::Nothing);
    }
    match Input::open(path) {
        Err(error) if is_not_found(&error) => Ok(Arrived::Removed),
        opened => Ok(Arrived::Replaced(opened?)),
    }
}

/// Returns true if nothing has the name that was to be opened.
pub(super) fn is_not_found(error: &Error) -> bool {
    matches!(error, Error::Io { error, .. } if error.kind() == io::ErrorKind::NotFound)
}

#[cfg(unix)]
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// A file that is open keeps its name.
#[cfg(not(unix))]
fn is_same(_one: &Metadata, _other: &Metadata) -> bool {
    true
}

/// Adds the next piece of a pipe to what was read of it, if one comes.
fn take_piece(
    pieces: &Receiver<io::Result<Vec<u8>>>,
    read: &mut Vec<u8>,
    is_at_end: &mut bool,
) -> kymo_core::Result<()> {
    match pieces.recv_timeout(PAUSE) {
        Ok(piece) => {
            let piece = piece.map_err(Error::io("read it"))?;
            *is_at_end = piece.is_empty();
            read.extend(piece);
        }
        Err(RecvTimeoutError::Disconnected) => *is_at_end = true,
        Err(RecvTimeoutError::Timeout) => {}
    }
    Ok(())
}

fn retry(mut read: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match read() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}
