//! The common tables: what every recording shows, whatever its format.
//!
//! They are made of the models (trace, profile, arrays), in this one place. SQL, exporters and
//! views build on them. A format's own tables, field by field, stand beside them.

mod activities;
mod arrays;
mod events;
mod jobs;
mod profile;
mod recordings;
mod stream;
#[cfg(test)]
mod tests;
mod tracks;

use std::path::Path;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use kymo_core::{Finding, Result};
use kymo_model::{Dataset, FormatInfo, Table};

use stream::{CommonRow, RequestedColumns, RowTable, Rows, TableDescription};

/// An open recording whose common tables are asked for.
#[derive(Clone)]
pub struct Recorded {
    /// Path of the file or directory, as it is shown.
    pub path: String,
    /// Bytes of it.
    pub bytes: Option<u64>,
    /// Its format.
    pub format: &'static FormatInfo,
    /// The recording.
    pub dataset: Arc<dyn Dataset>,
}

/// Digest of a path and the place of a recording in it: the same on every machine.
#[must_use]
pub fn recording_id(path: &Path, ordinal: usize) -> i64 {
    // FNV-1a: short, and stable over versions.
    let path = path.to_string_lossy();
    let ordinal = (ordinal as u64).to_le_bytes();
    let bytes = path.bytes().map(|byte| if byte == b'\\' { b'/' } else { byte });
    let digest = bytes.chain([0]).chain(ordinal).fold(0xcbf2_9ce4_8422_2325_u64, |digest, byte| {
        (digest ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    // Positive, so that it reads well.
    (digest >> 1).cast_signed()
}

/// The common tables of a recording: those that it has something for.
#[must_use]
pub fn common_tables(recorded: &Recorded) -> Vec<Arc<dyn Table>> {
    let count = recorded.dataset.recordings().len().max(1);
    let ids = (0..count).map(|ordinal| recording_id(Path::new(&recorded.path), ordinal));
    let maker = Maker { recorded: recorded.clone(), ids: ids.collect() };
    let mut tables = recordings::tables(&maker);
    if let Some(timeline) = recorded.dataset.timeline() {
        tables.extend(tracks::tables(&maker, &timeline));
        tables.extend(events::tables(&maker, &timeline));
        tables.extend(activities::tables(&maker, &timeline));
        tables.extend(jobs::tables(&maker, &timeline));
    }
    if let Some(profile) = recorded.dataset.profile() {
        tables.extend(profile::tables(&maker, &profile));
    }
    if let Some(arrays) = recorded.dataset.arrays() {
        tables.extend(arrays::tables(&maker, &arrays));
    }
    tables
}

/// Findings of a recording, as far as it was read.
fn findings(dataset: &dyn Dataset) -> Vec<Finding> {
    dataset.findings()
}

/// Makes tables of one recording.
struct Maker {
    recorded: Recorded,
    ids: Arc<[i64]>,
}

impl Maker {
    fn table<K: CommonRow>(
        &self,
        described: &'static TableDescription<K>,
        produce: impl Fn(&RequestedColumns, &mut Rows<'_, K>) -> Result<()> + Send + Sync + 'static,
    ) -> Arc<dyn Table> {
        let recording_ids = Arc::clone(&self.ids);
        Arc::new(RowTable { described, recording_ids, produce: Arc::new(produce) })
    }
}

/// Description of a common table: its name, what a row is, and its columns.
pub type Description = (&'static str, &'static str, SchemaRef);

/// All common tables, by what a recording must have for them.
#[must_use]
pub fn descriptions() -> Vec<(&'static str, Vec<Description>)> {
    let traces = [tracks::describe(), events::describe(), activities::describe(), jobs::describe()];
    vec![
        ("Every recording", recordings::describe()),
        ("Traces", traces.concat()),
        ("Profiles", profile::describe()),
        ("Arrays", arrays::describe()),
    ]
}
