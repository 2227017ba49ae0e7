//! Recordings that are directories, of which one file was named.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use super::Source;
use crate::Probe;

type IsRecording = dyn Fn(&Probe<'_>) -> bool + Send + Sync;

/// Tells whether the folder of a file is a recording that the file is a part of; shared by all clones
/// of its source.
#[derive(Clone, Default)]
pub(super) struct Whole(Arc<OnceLock<Box<IsRecording>>>);

impl Whole {
    /// Returns true when a folder is a recording, as far as anyone can tell.
    pub(super) fn is_recording(&self, folder: &Path) -> bool {
        let probe = |is_recording: &IsRecording| {
            is_recording(&Probe {
                head: &[],
                size_bytes: 0,
                path: folder,
                is_directory: true,
                has_grammar: false,
            })
        };
        self.0.get().is_some_and(|is_recording| probe(is_recording))
    }
}

impl fmt::Debug for Whole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Whole").field(&self.0.get().is_some()).finish()
    }
}

impl Source {
    /// Says how one tells that a directory is a recording of this file's format. Where the folder of
    /// this file is one, nothing in it is replaced by an output.
    pub fn read_as(&self, is_recording: impl Fn(&Probe<'_>) -> bool + Send + Sync + 'static) {
        // The first word stands: it is about the same file.
        self.whole.0.get_or_init(|| Box::new(is_recording));
    }
}
