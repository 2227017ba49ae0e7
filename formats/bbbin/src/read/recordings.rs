//! Log files that are of one recording.

use std::collections::{HashMap, HashSet};

use crate::types::LogFile;

/// The recordings of a file. A log file is one, but for those of several processors that were
/// imported together: they are one, and so are their tasks, which go from one to the other.
#[derive(Debug, Clone, Default)]
pub(crate) struct Recordings {
    /// Name of each recording, and whether it has several log files.
    pub named: Vec<(String, bool)>,
    /// The recording of each log file, by its place.
    pub of_places: Vec<usize>,
}

impl Recordings {
    pub(crate) fn new(log_files: &[LogFile]) -> Self {
        type Key<'a> = (&'a str, i64, i64, &'a str);
        let mut recordings = Self::default();
        let mut known: HashMap<Key<'_>, (usize, HashSet<Option<i32>>)> = HashMap::new();
        for log_file in log_files {
            let (name, cpu) = log_file.recording();
            let key = (name, log_file.size, log_file.imported_at_ms, log_file.importer.as_str());
            let next = recordings.named.len();
            let (number, cpus) = known.entry(key).or_insert_with(|| (next, HashSet::new()));
            // A processor that is there already is of another recording of that name.
            if !cpus.insert(cpu) {
                (*number, *cpus) = (next, HashSet::from([cpu]));
            }
            match recordings.named.get_mut(*number) {
                Some(several) => *several = (name.to_owned(), true),
                None => recordings.named.push((log_file.name.clone(), false)),
            }
            recordings.of_places.push(*number);
        }
        recordings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Definitions;

    #[test]
    fn processors_that_were_imported_together_are_one_recording() {
        let mut definitions = Definitions::default();
        let names = ["a", "a, cpu 0", "a, cpu 1", "b, cpu 0", "a, cpu 0", "c", "c", "x, cpu y"];
        for name in names {
            definitions.add_log_file(name, "");
        }
        definitions.add_log_file("a, cpu 2", "another");
        let recordings = Recordings::new(&definitions.log_files);
        assert_eq!(recordings.of_places, [0, 0, 0, 1, 2, 3, 4, 5, 6]);
        let names: Vec<_> = recordings.named.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["a", "b, cpu 0", "a, cpu 0", "c", "c", "x, cpu y", "a, cpu 2"]);
    }
}
