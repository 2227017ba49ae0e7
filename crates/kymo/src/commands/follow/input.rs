//! Bytes as they arrive: of a file that grows, or of a pipe.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use kymo_core::Error;

/// What is followed.
pub(super) enum Input {
    /// A file that grows.
    File { file: File, path: PathBuf, position: u64 },
    /// A pipe that ends when its writer goes.
    Pipe { reader: Box<dyn Read>, head: Vec<u8>, is_at_end: bool },
}

/// What a look at the input gave.
pub(super) enum Arrived {
    /// So many bytes.
    Bytes(usize),
    /// Nothing for now.
    Nothing,
    /// The file became shorter: it begins again.
    Shrunk,
    /// There will be no more.
    End,
}

impl Input {
    pub(super) fn open(path: &Path) -> kymo_core::Result<Self> {
        if path.as_os_str() == "-" {
            return Ok(Self::pipe(io::stdin().lock()));
        }
        // A named pipe opens when a writer does.
        let file = File::open(path).map_err(Error::io("open it"))?;
        let metadata = file.metadata().map_err(Error::io("look at it"))?;
        match metadata.is_file() {
            true => Ok(Self::File { file, path: path.to_owned(), position: 0 }),
            false if metadata.is_dir() => Err(Error::request("it is a directory")),
            false => Ok(Self::pipe(file)),
        }
    }

    fn pipe(reader: impl Read + 'static) -> Self {
        Self::Pipe { reader: Box::new(reader), head: Vec::new(), is_at_end: false }
    }

    pub(super) fn is_file(&self) -> bool {
        matches!(self, Self::File { .. })
    }

    /// Whether no more can be learnt by waiting.
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
            Self::Pipe { reader, head, is_at_end } => {
                let mut chunk = vec![0; bytes_max.saturating_sub(head.len())];
                let count = retry(|| reader.read(&mut chunk)).map_err(failed)?;
                *is_at_end = count == 0;
                head.extend(chunk.get(..count).unwrap_or_default());
                Ok(head.clone())
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
            Self::File { file, position, .. } => {
                let count = retry(|| file.read(chunk)).map_err(failed)?;
                *position += count as u64;
                if count > 0 {
                    return Ok(Arrived::Bytes(count));
                }
                let size = file.metadata().map_err(Error::io("look at it"))?.len();
                if size >= *position {
                    return Ok(Arrived::Nothing);
                }
                self.seek(0)?;
                Ok(Arrived::Shrunk)
            }
            Self::Pipe { head, .. } if !head.is_empty() => {
                let count = head.len().min(chunk.len());
                for (to, from) in chunk.iter_mut().zip(head.drain(..count)) {
                    *to = from;
                }
                Ok(Arrived::Bytes(count))
            }
            Self::Pipe { reader, .. } => match retry(|| reader.read(chunk)).map_err(failed)? {
                0 => Ok(Arrived::End),
                count => Ok(Arrived::Bytes(count)),
            },
        }
    }
}

fn retry(mut read: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match read() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}
