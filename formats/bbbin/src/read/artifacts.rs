//! Positions of artifacts. A log may declare a million tasks: they are read again when they are
//! asked for, and take a few bytes each until then.

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use kymo_core::bytes::{Cursor, Endian};
use std::hash::BuildHasher;

use super::definitions::{Budget, artifact};
use crate::spec::ArtifactClass;
use crate::types::{ArtifactId, DeclaredArtifact, LogFileId};

/// Key by which an artifact is found.
type Key = (LogFileId, ArtifactClass, ArtifactId);

/// The artifacts of a file by their first bytes.
#[derive(Debug, Default)]
pub(super) struct Artifacts {
    offsets: Vec<u64>,
    /// Places among the offsets, by what artifacts are found by.
    found: HashTable<u32>,
    hasher: RandomState,
}

impl Artifacts {
    /// Makes artifacts findable. Of several with one id, the first counts.
    pub(super) fn new(offsets: Vec<u64>, bytes: &[u8]) -> Self {
        let (hasher, mut found) = (RandomState::default(), HashTable::with_capacity(offsets.len()));
        let key = |place: u32| {
            artifact_at(&offsets, place, bytes).map(|declared_artifact| declared_artifact.key())
        };
        let hash = |place: &u32| hasher.hash_one(key(*place));
        for place in (0..).take(offsets.len()) {
            let own = key(place);
            let is_same = |other: &u32| key(*other) == own;
            found.entry(hash(&place), is_same, hash).or_insert(place);
        }
        Self { offsets, found, hasher }
    }

    pub(super) fn len(&self) -> usize {
        self.offsets.len()
    }

    pub(super) fn get<'a>(&self, place: usize, bytes: &'a [u8]) -> Option<DeclaredArtifact<'a>> {
        let found = read(*self.offsets.get(place)?, bytes);
        debug_assert!(found.is_some(), "an artifact that was read cannot be read again");
        found
    }

    pub(super) fn find<'a>(&self, key: Key, bytes: &'a [u8]) -> Option<DeclaredArtifact<'a>> {
        let is_it = |place: &u32| {
            artifact_at(&self.offsets, *place, bytes)
                .is_some_and(|declared_artifact| declared_artifact.key() == key)
        };
        let place = self.found.find(self.hasher.hash_one(Some(key)), is_it)?;
        artifact_at(&self.offsets, *place, bytes)
    }
}

impl DeclaredArtifact<'_> {
    fn key(&self) -> Key {
        (self.log_file, self.kind.class(), self.id)
    }
}

fn artifact_at<'a>(offsets: &[u64], place: u32, bytes: &'a [u8]) -> Option<DeclaredArtifact<'a>> {
    read(*offsets.get(usize::try_from(place).ok()?)?, bytes)
}

fn read(offset: u64, bytes: &[u8]) -> Option<DeclaredArtifact<'_>> {
    let rest = bytes.get(usize::try_from(offset).ok()?..)?;
    artifact(&mut Cursor::with_offset(rest, offset, Endian::Big), &mut Budget::new(0)).ok()
}
