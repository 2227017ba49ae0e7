//! Log file that a track is in.

use std::collections::{BTreeSet, HashMap, HashSet};

use kymo_core::Origin;
use kymo_model::timeline::{Track, TrackId};

use crate::model::{IMPORTED_AT, IMPORTER_NAME, LOG_FILE, LOG_FILE_SIZE};
use crate::types::{Definitions, LogFileId, cpu_log_name};

/// The log files of a timeline.
#[derive(Debug)]
pub(super) struct Logs {
    /// The log file of each track.
    pub of_tracks: Vec<LogFileId>,
    /// The recording of each log file.
    pub recordings: HashMap<LogFileId, usize>,
    /// The tracks that are of a processor or a log file as a whole: their functions are the log
    /// file's own.
    pub own: HashSet<TrackId>,
}

impl Logs {
    /// Each recording is a log file, and each processor of it one of its own: in a log of several,
    /// switches would not tell who ran. So has each task that is to be apart.
    pub(super) fn new(
        tracks: &[Track],
        mut cpus: Vec<Option<TrackId>>,
        apart: &HashSet<TrackId>,
        origin: Option<&Origin>,
        definitions: &mut Definitions,
    ) -> Self {
        for (id, cpu) in cpus.iter_mut().enumerate() {
            *cpu = cpu.or_else(|| apart.get(&TrackId(id)).copied());
        }
        let mut numbers = Numbers::new(tracks);
        // What is of no processor comes first, so that a recording's own log file is its first.
        let of_tracks = || tracks.iter().zip(&cpus).map(|(track, cpu)| (track.recording, *cpu));
        let (mut keys, mut seen) = (Vec::new(), HashSet::new());
        // Clocks say nothing by themselves, so that none needs a log file.
        let used = tracks.iter().zip(of_tracks()).filter(|(track, _)| !track.is_clock());
        let used: Vec<_> = used.map(|(_, key)| key).collect();
        let whole: BTreeSet<_> = used.iter().copied().filter(|(_, cpu)| cpu.is_none()).collect();
        for key in whole.into_iter().chain(used) {
            if seen.insert(key) {
                keys.push(key);
            }
        }
        let mut of_recordings = HashMap::new();
        for track in tracks.iter().filter(|track| track.content == LOG_FILE) {
            of_recordings.entry(track.recording).or_insert(track);
        }
        let mut known = HashMap::new();
        for (recording, cpu) in keys {
            let own = cpu.and_then(|cpu| tracks.get(cpu.0));
            let of_recording = of_recordings.get(&recording).copied();
            let was =
                own.map_or(of_recording, |own| Some(own).filter(|own| own.content == LOG_FILE));
            let number = own.map(|own| numbers.processor_number(own));
            let log = define((recording, number), was, origin, definitions);
            known.insert((recording, cpu), log);
        }
        let item = |key| known.get(&key).copied().unwrap_or(LogFileId(0));
        let is_own = |(_, track): &(usize, &Track)| {
            track.content == LOG_FILE || track.attributes.contains_key(Track::CPU_ID)
        };
        let own = tracks.iter().enumerate().filter(is_own).map(|(id, _)| TrackId(id)).collect();
        let recordings = known.iter().map(|((recording, _), log)| (*log, *recording)).collect();
        Self { of_tracks: of_tracks().map(item).collect(), recordings, own }
    }
}

/// Numbers of processors.
struct Numbers {
    /// The next that no processor of a recording has.
    free: HashMap<usize, i64>,
}

impl Numbers {
    fn new(tracks: &[Track]) -> Self {
        let mut free: HashMap<usize, i64> = HashMap::new();
        for (track, number) in tracks.iter().filter_map(|track| Some((track, number(track)?))) {
            let next = free.entry(track.recording).or_default();
            *next = number.saturating_add(1).max(*next);
        }
        Self { free }
    }

    /// The number of a processor, or one for a track that is none.
    fn processor_number(&mut self, track: &Track) -> i64 {
        number(track).unwrap_or_else(|| {
            let next = self.free.entry(track.recording).or_default();
            let own = *next;
            *next = next.saturating_add(1);
            own
        })
    }
}

fn number(track: &Track) -> Option<i64> {
    track.attributes.number(Track::CPU_ID)
}

/// The processor of each track: the first track that says it is of that one.
pub(super) fn cpus(tracks: &[Track]) -> Vec<Option<TrackId>> {
    let mut first: HashMap<(usize, i64), TrackId> = HashMap::new();
    let mut cpus: Vec<Option<TrackId>> = Vec::with_capacity(tracks.len());
    for (id, track) in tracks.iter().enumerate() {
        // Parents come before their children.
        let above = || track.parent.and_then(|parent| cpus.get(parent.0).copied().flatten());
        let own = number(track)
            .map(|number| *first.entry((track.recording, number)).or_insert(TrackId(id)));
        let cpu = own.or_else(above);
        cpus.push(cpu);
    }
    cpus
}

/// A log file of BBBin stays what it was; any other says where it came from.
fn define(
    (recording, cpu): (usize, Option<i64>),
    was: Option<&Track>,
    origin: Option<&Origin>,
    definitions: &mut Definitions,
) -> LogFileId {
    if let Some(log) = was {
        let text = log.attributes.text(IMPORTER_NAME);
        let number = |name: &str| log.attributes.number(name);
        let id = definitions.add_log_file(&log.name, text.unwrap_or("kymo"));
        if let Some(log_file) = definitions.log_files.last_mut() {
            log_file.size = number(LOG_FILE_SIZE).unwrap_or(0);
            log_file.imported_at_ms = number(IMPORTED_AT).unwrap_or(0);
        }
        return id;
    }
    let name = match (origin, recording) {
        (Some(origin), 0) => origin.name.clone(),
        (Some(origin), _) => format!("{}, recording {recording}", origin.name),
        (None, _) => format!("recording {recording}"),
    };
    let name = cpu.map_or_else(|| name.clone(), |cpu| cpu_log_name(&name, &cpu.to_string()));
    let importer = origin.map_or("kymo", |origin| &origin.importer);
    let id = definitions.add_log_file(&name, importer);
    if let (Some(origin), Some(log_file)) = (origin, definitions.log_files.last_mut()) {
        log_file.size = i64::try_from(origin.size_bytes).unwrap_or(i64::MAX);
        log_file.imported_at_ms = origin.time_ms;
    }
    id
}
