//! Names of threads: their ids as they were recorded, and the names that are shown.

use std::collections::HashMap;
use std::sync::Arc;

use kymo_model::measurement::{KnownIds, MeasuredId, thread_names};
use kymo_model::profile::{IdKind, Thread};

use crate::measurement::Part;
use crate::read::Profile;
use crate::types::{Header, Id};

/// The most bytes of the name of a kind of ids that are shown: a tuple may repeat it very often.
const KIND_BYTES_MAX: usize = 64;

/// Kinds that a short name leaves out, as long as it is that of one thread alone.
const LEFT_OUT: [&str; 2] = ["NODE", "CORE"];

/// The ids of a thread, by its tuple or else by its header.
pub(crate) fn ids(profile: &Profile) -> Vec<MeasuredId> {
    if profile.id_tuple.is_empty() { header_ids(profile) } else { tuple_ids(profile) }
}

fn tuple_ids(profile: &Profile) -> Vec<MeasuredId> {
    let mut names: HashMap<u16, IdKind> = HashMap::new();
    for kind in profile.id_kinds.iter().filter(|kind| !kind.name.0.is_empty()) {
        let name = || {
            let mut name = kind.name.to_string();
            name.truncate(name.floor_char_boundary(KIND_BYTES_MAX));
            IdKind(name.into())
        };
        names.entry(kind.kind).or_insert_with(name);
    }
    let id = |id: &Id| {
        let unknown = || IdKind(format!("kind {}", id.kind()).into());
        let kind = names.entry(id.kind()).or_insert_with(unknown).clone();
        let given = match id.interpretation() {
            0 => KnownIds::Both,
            1 => KnownIds::PhysicalWithin,
            2 => KnownIds::PhysicalOverall,
            _ => KnownIds::Logical,
        };
        MeasuredId { kind, physical: id.physical, logical: id.logical, given }
    };
    profile.id_tuple.iter().map(id).collect()
}

fn header_ids(profile: &Profile) -> Vec<MeasuredId> {
    let names = [("RANK", "mpi-rank"), ("THREAD", "thread-id"), ("THREAD", "canonical-thread-id")];
    let id = |(kind, name): (&'static str, &str)| {
        let logical = profile.header.value(name)?.parse().ok()?;
        let (kind, given) = (IdKind(kind.into()), KnownIds::Logical);
        Some(MeasuredId { kind, physical: logical, logical, given })
    };
    names.into_iter().filter_map(id).collect()
}

/// Names the threads of a measurement: by the ids that a database of it has too.
pub(crate) fn name(parts: &mut [Part]) {
    let names = thread_names(&ids_of_parts(parts));
    let mut shorts: HashMap<String, Option<Arc<Profile>>> = HashMap::new();
    let mut shared = std::collections::HashSet::new();
    for (part, thread) in parts.iter_mut().zip(names) {
        part.label = label(&thread, &LEFT_OUT);
        part.thread = Arc::new(thread);
        let first = shorts.entry(part.label.clone()).or_insert_with(|| part.profile.clone());
        // Epochs are of one thread.
        let is_same = match (first, &part.profile) {
            (Some(first), Some(profile)) => Arc::ptr_eq(first, profile),
            _ => true,
        };
        if !is_same {
            shared.insert(part.label.clone());
        }
    }
    for part in parts {
        if shared.contains(&part.label) {
            part.label = label(&part.thread, &[]);
        }
        if part.label.is_empty() {
            part.label.clone_from(&part.name);
        }
    }
}

/// The ids of the thread of each recording. Those of a profile are read once, as it may have as
/// many epochs as pairs in its header.
fn ids_of_parts(parts: &[Part]) -> Vec<Vec<MeasuredId>> {
    let mut found: Vec<Vec<MeasuredId>> = Vec::with_capacity(parts.len());
    for part in parts {
        found.push(match (&part.profile, part.epoch, found.last()) {
            (Some(_), 1.., Some(before)) => before.clone(),
            (Some(profile), ..) => ids(profile),
            (None, ..) => Vec::new(),
        });
    }
    found
}

/// Facts about the thread from the header of a profile, looked up once however many epochs there
/// are.
#[derive(Debug, Default)]
pub(crate) struct HeaderIds {
    pub(crate) mpi_rank: Option<String>,
    pub(crate) thread_id: Option<String>,
    pub(crate) host_id: Option<String>,
    pub(crate) process_id: Option<String>,
}

impl HeaderIds {
    pub(crate) fn from_header(header: &Header) -> Self {
        let value = |name| header.value(name).map(std::borrow::Cow::into_owned);
        let [mpi_rank, thread_id] = ["mpi-rank", "thread-id"].map(value);
        let [host_id, process_id] = ["host-id", "process-id"].map(value);
        Self { mpi_rank, thread_id, host_id, process_id }
    }
}

/// Returns the label of a thread for a person, without some kinds of its ids: `RANK 3 THREAD 0`.
fn label(thread: &Thread, left_out: &[&str]) -> String {
    let parts = thread.ids.iter().filter(|part| !left_out.contains(&&*part.kind.0));
    let words: Vec<_> = parts.map(|part| format!("{} {}", part.kind.0, part.logical)).collect();
    words.join(" ")
}
