//! Keys: what tells a stored record from all others. A reader gives none twice, whatever is damaged
//! and guessed.

use std::collections::BTreeMap;
use std::fmt::{self, Debug, Write as _};
use std::hash::{DefaultHasher, Hash, Hasher as _};

use kymo_model::timeline::{Content, Event, TimeNs, TrackId};
use kymo_model::{Field, Record};

/// The first byte of a record in its file, and where it begins in what is decompressed from there.
type Key = (u64, u64);

/// A field that says which file a record is in.
const FILE: &str = "file";

/// Of a folder, the field that may say which file a record is in instead.
const RECORDING: &str = "recording";

/// Keys in the order in which a reader gave them. What is derived from one stored record comes one
/// after another: the place in that run is its sub-index.
#[derive(Default)]
struct Given {
    keys: Vec<Key>,
    /// Digests of what was derived from the last key.
    derived: Vec<u64>,
}

impl Given {
    /// Takes what was derived from a key. Fails where it was given just before.
    fn add(&mut self, key: Key, digest: Option<u64>, what: &dyn Debug) {
        if self.keys.last() != Some(&key) {
            self.keys.push(key);
            self.derived.clear();
        }
        let Some(digest) = digest else { return };
        let is_new = !self.derived.contains(&digest);
        assert!(is_new || is_made_up(), "given twice at once at {key:x?}: {what:?}");
        self.derived.push(digest);
    }

    /// Fails where a key came back behind another.
    fn assert_once(mut self, item: impl Fn() -> String) {
        self.keys.sort_unstable();
        let again = self.keys.array_windows().find(|[key, next]| key == next);
        assert!(again.is_none() || is_made_up(), "{} is given twice: {again:x?}", item());
    }
}

/// Takes a text into a hash.
#[derive(Default)]
struct Digest(DefaultHasher);

impl fmt::Write for Digest {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}

/// Nodes of the tree of hpcdb: what tells one from others is its path. Where damaged pointers lead to
/// a node by two paths, it is two, and so is all below it.
const NODE: (&str, &str) = ("context", "parent");

/// Arrays of hpcdb that pointers lead to, and the field that says whose they are: where damaged
/// pointers of two lead to one array, each has it.
const POINTED: [(&str, &str); 3] =
    [("value", "profile"), ("context_value", "context"), ("context_value", "metric")];

/// The keys of the records of a dump, by kind and file: a thing may be told as several kinds, and
/// where a kind is in a file of its own the file is not said.
#[derive(Default)]
pub(super) struct RecordKeys {
    files: BTreeMap<(&'static str, String), Given>,
    /// True if recordings are files of a folder.
    is_folder: bool,
    /// Position in the decompressed data at which the next record begins.
    pub(super) position: u64,
}

impl RecordKeys {
    /// Of a dump, perhaps of a folder.
    pub(super) fn for_folder(is_folder: bool) -> Self {
        Self { is_folder, ..Self::default() }
    }

    /// Fails where a record is given twice at once.
    pub(super) fn add(&mut self, record: &Record<'_>) {
        let position = std::mem::take(&mut self.position);
        let (mut file, mut digest) = (String::new(), Digest::default());
        if record.fields.iter().any(|(name, _)| (record.kind, *name) == NODE) {
            return;
        }
        for (name, field) in &record.fields {
            let Field::Value(value) = field else { continue };
            let _ = write!(digest, "{name} {value:?} ");
            let is_pointed = POINTED.contains(&(record.kind, *name));
            if *name == FILE || is_pointed || (self.is_folder && *name == RECORDING) {
                let _ = write!(file, "{name} {value} ");
            }
        }
        let key = (record.offset, position);
        self.files.entry((record.kind, file)).or_default().add(
            key,
            Some(digest.0.finish()),
            record,
        );
    }

    /// Fails where a record was given twice.
    pub(super) fn assert_once(self) {
        for ((kind, file), given) in self.files {
            given.assert_once(|| format!("a {kind} of {file:?}"));
        }
    }
}

/// Values that an event gives of the record that it was read from.
pub(super) struct StoredEvent {
    stream: Stream,
    offset: u64,
    time: Option<TimeNs>,
    /// Hash of what it says. A record may say the same of a task twice, so that what it means for one
    /// has none.
    digest: Option<u64>,
    payload_bytes: u64,
}

/// A track, and the file that its events are in.
type Stream = (TrackId, Option<String>);

impl StoredEvent {
    pub(super) fn from_event(event: &Event<'_>, file: Option<String>) -> Self {
        let Event { track, time, offset, payload, .. } = *event;
        let mut digest = Digest::default();
        payload.hash(&mut digest.0);
        let _ = write!(digest, "{time:?} {:?} {:?}", event.content, event.partial);
        let is_derived = matches!(event.content, Content::Activity(_));
        let digest = (!is_derived).then(|| digest.0.finish());
        Self { stream: (track, file), offset, time, digest, payload_bytes: payload.len() as u64 }
    }
}

/// The events of a track and file.
#[derive(Default)]
struct StreamKeys {
    given: Given,
    last: Option<(Option<TimeNs>, Key)>,
    /// The first two that are not in the order of the file, and that are not in that of their times.
    unordered: Option<[Key; 2]>,
    untimely: Option<[Key; 2]>,
}

impl StreamKeys {
    fn add(&mut self, time: Option<TimeNs>, key: Key) {
        let Some((last_time, last)) = self.last.replace((time, key)) else { return };
        let pair = Some([last, key]);
        if key < last {
            self.unordered = self.unordered.or(pair);
        }
        // Of the same time, the order is that of the file. Those without a time come last, in any
        // order: numbers that are too large for a moment may still be sorted (hpcrun).
        let place = |time: Option<TimeNs>, key| (time.is_none(), time, time.map(|_| key));
        if place(time, key) < place(last_time, last) {
            self.untimely = self.untimely.or(pair);
        }
    }
}

/// Returns true where the bytes come from the fuzzer, and from no sample. Metadata that is made up
/// (ctf) describes events of no bytes, packets that claim any times, and files that tell of the same
/// byte and time: there, keys tell nothing of the reader.
fn is_made_up() -> bool {
    cfg!(fuzzing)
}

/// The keys of events, and how many bytes of payload they have.
#[derive(Default)]
pub(super) struct EventKeys {
    of_streams: BTreeMap<Stream, StreamKeys>,
    /// The event whose payload was counted last, and the bytes of all.
    payload_of: Option<Key>,
    payload_bytes: u64,
    /// Of what is decompressed, how far it goes at least.
    decompressed: BTreeMap<(Option<String>, u64), u64>,
}

impl EventKeys {
    /// Takes an event whose record begins at a position of what is decompressed. Fails where it is
    /// given twice at once.
    pub(super) fn add(&mut self, stored: StoredEvent, position: u64) {
        let StoredEvent { stream, offset, time, digest, payload_bytes } = stored;
        let key = (offset, position);
        // What one record is told as comes together, and has its payload once.
        if self.payload_of.replace(key) != Some(key) {
            self.payload_bytes += payload_bytes;
        }
        if position > 0 {
            let end = self.decompressed.entry((stream.1.clone(), offset)).or_default();
            *end = (*end).max(position + payload_bytes);
        }
        let what = stream.0;
        let of_stream = self.of_streams.entry(stream).or_default();
        of_stream.given.add(key, digest, &what);
        of_stream.add(time, key);
    }

    /// Fails where a record was told again, where the events of a track come neither in the order of
    /// the file nor all in that of their times, or where payloads have more bytes than the
    /// file and what is decompressed of it.
    pub(super) fn assert_once(self, size_bytes: u64) {
        for ((track, file), of_stream) in self.of_streams {
            let StreamKeys { given, unordered, untimely, .. } = of_stream;
            given.assert_once(|| format!("an event of {track:?} {file:?}"));
            // Whoever says the file (ctf) goes through pieces of files, in the order of the times that
            // they say they begin at. These may be damaged.
            assert!(
                unordered.is_none() || untimely.is_none() || file.is_some() || is_made_up(),
                "{track:?} {file:?} is in no order: by place {unordered:x?}, by time {untimely:x?}"
            );
        }
        let (found, stored) = (self.payload_bytes, self.decompressed.values().sum::<u64>());
        let most = size_bytes.saturating_add(stored);
        assert!(found <= most, "{found} bytes of payload, and {most} are stored");
    }
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    fn records(given: &[(u64, u64, u64)]) -> bool {
        let told = catch_unwind(|| {
            let mut keys = RecordKeys::default();
            for (offset, position, value) in given {
                keys.position = *position;
                let fields = vec![("bytes", (*value).into()), ("id", (*value).into())];
                keys.add(&Record { kind: "message", index: 0, offset: *offset, fields });
            }
            keys.assert_once();
        });
        told.is_ok()
    }

    fn events(given: &[(u64, Option<i64>, u64)], size_bytes: u64) -> bool {
        let told = catch_unwind(|| {
            let mut keys = EventKeys::default();
            for (offset, time, digest) in given {
                let (stream, time) = ((TrackId(0), None), time.map(TimeNs));
                let (offset, digest) = (*offset, Some(*digest));
                keys.add(StoredEvent { stream, offset, time, digest, payload_bytes: 10 }, 0);
            }
            keys.assert_once(size_bytes);
        });
        told.is_ok()
    }

    #[test]
    fn a_record_is_given_once_in_any_order() {
        assert!(records(&[(7, 0, 1), (3, 0, 1), (9, 0, 1)]));
        assert!(records(&[(7, 0, 1), (7, 20, 1)]), "two records of what is compressed at a place");
        assert!(!records(&[(7, 0, 1), (3, 0, 1), (7, 0, 1)]));
        assert!(!records(&[(7, 0, 1), (3, 0, 1), (7, 0, 2)]), "again, as if it were another");
    }

    #[test]
    fn what_is_derived_of_a_record_comes_together_and_differs() {
        assert!(records(&[(7, 0, 1), (7, 0, 2), (9, 0, 1)]));
        assert!(!records(&[(7, 0, 1), (7, 0, 2), (7, 0, 1)]));
        assert!(events(&[(1, None, 1), (1, None, 2), (2, None, 1)], 40));
        assert!(!events(&[(1, None, 1), (1, None, 2), (1, None, 1)], 40));
        assert!(!events(&[(1, None, 1), (2, None, 1), (1, None, 2)], 40));
    }

    #[test]
    fn events_of_a_track_come_in_the_order_of_the_file_or_of_their_times() {
        assert!(events(&[(1, Some(5), 1), (2, Some(4), 1), (3, None, 1), (4, Some(1), 1)], 40));
        assert!(events(&[(9, Some(1), 1), (2, Some(2), 1), (1, None, 1)], 40));
        assert!(!events(&[(9, Some(1), 1), (2, Some(1), 1)], 40), "two of a time, in no order");
        assert!(!events(&[(9, Some(5), 1), (2, Some(4), 1)], 40));
        assert!(!events(&[(9, Some(1), 1), (2, Some(2), 1), (3, Some(1), 1)], 40));
        assert!(!events(&[(1, Some(5), 1), (2, Some(6), 1), (1, Some(6), 1)], 40), "again");
        assert!(!events(&[(1, None, 1), (2, None, 1)], 19), "more bytes than the file has");
    }
}
