//! Keys: what tells a stored record from all others. A reader gives none twice, whatever is damaged
//! and guessed.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use kymo_model::timeline::{Event, TimeNs, TrackId};
use kymo_model::{Field, Record};

/// The first byte of a record in its file, and where it begins in what is decompressed from there.
type Key = (u64, u64);

/// As how many events of one track a stored record may be told.
const DERIVED_MAX: u32 = 4;

/// Fields that say which file a record is in, which of the things that one text describes it is, or
/// whose it is where a format has pointers.
const OWNERS: [&str; 6] = ["file", "id", "name", "profile", "context", "metric"];

/// Of a folder, the field that may say which file a record is in instead.
const RECORDING: &str = "recording";

/// A field of the nodes of a tree. Where pointers lead to one from two places, it is two nodes.
const NODE: &str = "parent";

/// The keys of the records of a dump, by kind and owner.
#[derive(Default)]
pub(super) struct RecordKeys {
    keys: BTreeMap<(&'static str, String), Vec<Key>>,
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

    pub(super) fn add(&mut self, record: &Record<'_>) {
        let position = std::mem::take(&mut self.position);
        if record.fields.iter().any(|(name, _)| *name == NODE) {
            return;
        }
        let mut owner = String::new();
        for (name, field) in &record.fields {
            let is_owner = OWNERS.contains(name) || (self.is_folder && *name == RECORDING);
            if let (true, Field::Value(value)) = (is_owner, field) {
                let _ = write!(owner, "{name} {value} ");
            }
        }
        self.keys.entry((record.kind, owner)).or_default().push((record.offset, position));
    }

    /// Fails where a record was given twice.
    pub(super) fn assert_once(self) {
        for ((kind, owner), keys) in self.keys {
            assert_unique(keys, || format!("a {kind} of {owner}"));
        }
    }
}

fn assert_unique(mut keys: Vec<Key>, item: impl Fn() -> String) {
    keys.sort_unstable();
    let again = keys.array_windows().find(|[key, next]| key == next);
    assert!(again.is_none(), "{} is given twice: {again:x?}", item());
}

/// Values that an event gives of the record that it was read from.
pub(super) struct StoredEvent {
    pair: Stream,
    time: Option<TimeNs>,
    offset: u64,
    payload_bytes: u64,
}

/// A track, and the file that its events are in.
type Stream = (TrackId, Option<String>);

impl StoredEvent {
    pub(super) fn from_event(event: &Event<'_>, file: Option<String>) -> Self {
        let Event { track, time, offset, payload, .. } = *event;
        Self { pair: (track, file), time, offset, payload_bytes: payload.len() as u64 }
    }
}

/// The keys of the events of a track and file.
#[derive(Default)]
struct StreamKeys {
    keys: Vec<Key>,
    last: Option<Key>,
    last_time: Option<TimeNs>,
    /// As how many events the last record was told so far.
    derived: u32,
}

/// The keys of events, and how many bytes of payload they have.
#[derive(Default)]
pub(super) struct EventKeys {
    of_streams: BTreeMap<Stream, StreamKeys>,
    /// The event whose payload was counted last, and the bytes of all.
    payload_of: Option<Key>,
    payload_bytes: u64,
    /// Of what is decompressed, how far it goes at least.
    decompressed: BTreeMap<u64, u64>,
}

impl EventKeys {
    /// Fails where an event of a track and file does not come behind the last one, but for events
    /// that come in the order of their times.
    pub(super) fn add(&mut self, stored: StoredEvent, position: u64) {
        let StoredEvent { pair, time, offset, payload_bytes } = stored;
        let key = (offset, position);
        let of_stream = self.of_streams.entry(pair).or_default();
        let last = of_stream.last;
        if last == Some(key) {
            of_stream.derived += 1;
            assert!(of_stream.derived < DERIVED_MAX, "{} events of one record", of_stream.derived);
        } else {
            // Those without a time come last.
            let is_later = time.is_none() || time >= of_stream.last_time;
            assert!(last < Some(key) || is_later, "an event at {key:x?} behind that at {last:x?}");
            of_stream.keys.push(key);
            of_stream.derived = 0;
        }
        (of_stream.last, of_stream.last_time) = (Some(key), time);
        // What one record is told as comes together, and has its payload once.
        if self.payload_of.replace(key) != Some(key) {
            self.payload_bytes += payload_bytes;
        }
        if position > 0 {
            let end = self.decompressed.entry(offset).or_default();
            *end = (*end).max(position + payload_bytes);
        }
    }

    /// Fails where a record was told again, or payloads have more bytes than the file and what is
    /// decompressed of it.
    pub(super) fn assert_once(self, size_bytes: u64) {
        for ((track, file), of_stream) in self.of_streams {
            assert_unique(of_stream.keys, || format!("an event of {track:?} {file:?}"));
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

    fn records(offsets: &[(u64, u64)]) -> bool {
        let mut keys = RecordKeys::default();
        for (offset, position) in offsets {
            keys.position = *position;
            let fields = vec![("bytes", 3_u64.into())];
            keys.add(&Record { kind: "message", index: 0, offset: *offset, fields });
        }
        catch_unwind(|| keys.assert_once()).is_ok()
    }

    fn events(offsets: &[(u64, Option<i64>)], size_bytes: u64) -> bool {
        let told = catch_unwind(|| {
            let mut keys = EventKeys::default();
            for (offset, time) in offsets {
                let (pair, time) = ((TrackId(0), None), time.map(TimeNs));
                keys.add(StoredEvent { pair, time, offset: *offset, payload_bytes: 10 }, 0);
            }
            keys.assert_once(size_bytes);
        });
        told.is_ok()
    }

    #[test]
    fn a_record_is_given_once_in_any_order() {
        assert!(records(&[(7, 0), (3, 0), (9, 0)]));
        assert!(records(&[(7, 0), (7, 20)]), "two records of what is compressed at a place");
        assert!(!records(&[(7, 0), (3, 0), (7, 0)]));
    }

    #[test]
    fn events_of_a_track_come_in_the_order_of_the_file_or_of_their_times() {
        assert!(events(&[(1, Some(5)), (2, Some(4)), (2, Some(4)), (3, None)], 40));
        assert!(events(&[(9, Some(1)), (2, Some(1)), (1, None)], 40));
        assert!(!events(&[(9, Some(5)), (2, Some(4))], 40));
        assert!(!events(&[(1, Some(5)), (2, Some(6)), (1, Some(6))], 40), "again");
        assert!(!events(&[(1, None), (2, None)], 19), "more bytes than the file has");
    }
}
