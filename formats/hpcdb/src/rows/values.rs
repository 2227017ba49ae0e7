//! The rows of `profile.db` and `cct.db`: profiles, and values by profile and by context.

use std::collections::HashMap;
use std::sync::Arc;

use kymo_core::bytes::{ReadError, ReadResult};

use super::Rows;
use super::meta::{StatisticRow, statistics};
use crate::read::{Budget, CctDb, Database, Part, ProfileDb};
use crate::spec::PROFILE_VALUE_BYTES;
use crate::types::{CtxInfo, Profile};

/// A profile.
pub(crate) struct ProfileRow {
    pub(crate) offset: u64,
    pub(crate) profile: u64,
    pub(crate) is_summary: bool,
    pub(crate) ids: Option<String>,
    /// Numbers that the kinds of [`ID_COLUMNS`] name, in their order.
    pub(crate) of_kind: [Option<u64>; ID_COLUMNS.len()],
    pub(crate) contexts: u64,
    pub(crate) values: u64,
}

/// Kinds of identifiers that profiles have columns for.
const ID_COLUMNS: [&str; 7] =
    ["NODE", "RANK", "THREAD", "CORE", "GPUDEVICE", "GPUCONTEXT", "GPUSTREAM"];

/// A value, by profile or by context.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ValueRow {
    pub(crate) offset: u64,
    pub(crate) profile: u64,
    pub(crate) context: u64,
    pub(crate) metric: u64,
    pub(crate) value: f64,
}

/// A value of the summary, with what it is.
pub(crate) struct SummaryRow {
    pub(crate) value: ValueRow,
    /// Nothing where `meta.db` does not list it.
    pub(crate) statistic: Option<Arc<StatisticRow>>,
}

pub(crate) fn profiles(database: &Arc<Database>) -> Rows<ProfileRow> {
    let database = Arc::clone(database);
    let count = database.profile.as_ref().map_or(0, |file| file.profiles.count);
    Box::new((0..count).filter_map(move |index| {
        let file = database.profile.as_ref()?;
        let profile = database.ok_or_note(&file.part, file.profile(index))??;
        let ids = database.ok_or_note(&file.part, file.ids(&profile)).unwrap_or_default();
        let thread = crate::model::thread_of(&database, &ids);
        Some(ProfileRow {
            offset: profile.offset,
            profile: index,
            is_summary: profile.is_summary,
            ids: (!ids.is_empty()).then(|| thread.to_string()),
            of_kind: ID_COLUMNS.map(|kind| thread.id(kind)),
            contexts: profile.n_ctxs,
            values: profile.n_values,
        })
    }))
}

/// Values in blocks, each with an index that says which of them belong together.
trait Blocks: Sized + 'static {
    /// A profile, or a context.
    type Block: Copy + Send + 'static;

    /// Name of the index.
    const INDEX: &'static str;

    fn from_database(database: &Database) -> Option<&Self>;

    fn part(&self) -> &Part;

    /// Returns the number of blocks.
    fn count(&self) -> u64;

    /// A block by its place.
    fn block(&self, place: u64) -> ReadResult<Option<Self::Block>>;

    fn shape(block: &Self::Block) -> Shape;

    /// An entry of the index: what its values have in common, and the first of them.
    fn entry(&self, block: &Self::Block, entry: u64) -> ReadResult<(u32, u64)>;

    /// A value, given the place of its block and what the index says of it.
    fn row(&self, block: &Self::Block, place: u64, key: u32, index: u64) -> ReadResult<ValueRow>;
}

/// Size of a block, and its place.
struct Shape {
    /// Offset at which the file lists it.
    offset: u64,
    values: u64,
    entries: u64,
    /// Offset of the index.
    index: u64,
}

impl Blocks for ProfileDb {
    type Block = Profile;

    const INDEX: &'static str = "context indices";

    fn from_database(database: &Database) -> Option<&Self> {
        database.profile.as_ref()
    }

    fn part(&self) -> &Part {
        &self.part
    }

    fn count(&self) -> u64 {
        self.profiles.count
    }

    fn block(&self, place: u64) -> ReadResult<Option<Profile>> {
        self.profile(place)
    }

    fn shape(block: &Profile) -> Shape {
        let Profile { offset, n_values, n_ctxs, ctx_indices, .. } = *block;
        Shape { offset, values: n_values, entries: n_ctxs, index: ctx_indices }
    }

    fn entry(&self, block: &Profile, entry: u64) -> ReadResult<(u32, u64)> {
        self.index(block, entry)
    }

    fn row(&self, block: &Profile, place: u64, key: u32, index: u64) -> ReadResult<ValueRow> {
        let (metric, value) = self.value(block, index)?;
        let offset = block.values + index * PROFILE_VALUE_BYTES;
        Ok(ValueRow { offset, profile: place, context: key.into(), metric: metric.into(), value })
    }
}

impl Blocks for CctDb {
    type Block = CtxInfo;

    const INDEX: &'static str = "metric indices";

    fn from_database(database: &Database) -> Option<&Self> {
        database.cct.as_ref()
    }

    fn part(&self) -> &Part {
        &self.part
    }

    fn count(&self) -> u64 {
        self.contexts.count
    }

    fn block(&self, place: u64) -> ReadResult<Option<CtxInfo>> {
        self.context(place)
    }

    fn shape(block: &CtxInfo) -> Shape {
        let CtxInfo { offset, n_values, n_metrics, metric_indices, .. } = *block;
        Shape { offset, values: n_values, entries: n_metrics, index: metric_indices }
    }

    fn entry(&self, block: &CtxInfo, entry: u64) -> ReadResult<(u32, u64)> {
        self.index(block, entry)
    }

    fn row(&self, block: &CtxInfo, place: u64, key: u32, index: u64) -> ReadResult<ValueRow> {
        let (profile, value) = self.value(block, index)?;
        let offset = self.value_offset(block, index);
        Ok(ValueRow { offset, profile: profile.into(), context: place, metric: key.into(), value })
    }
}

/// Values profile by profile, context by context.
pub(crate) fn values(database: &Arc<Database>) -> Rows<ValueRow> {
    all::<ProfileDb>(database)
}

/// Values context by context, metric by metric.
pub(crate) fn context_values(database: &Arc<Database>) -> Rows<ValueRow> {
    all::<CctDb>(database)
}

/// The values of one profile.
pub(crate) fn values_of(
    database: Arc<Database>,
    index: u64,
    profile: Profile,
) -> impl Iterator<Item = ValueRow> + Send {
    block_values::<ProfileDb>(database, index, profile)
}

/// The values of one context.
pub(crate) fn context_values_of(
    database: Arc<Database>,
    ctx_id: u64,
    context: CtxInfo,
) -> impl Iterator<Item = ValueRow> + Send {
    block_values::<CctDb>(database, ctx_id, context)
}

/// The values of all blocks that the file has room for.
fn all<F: Blocks>(database: &Arc<Database>) -> Rows<ValueRow> {
    let database = Arc::clone(database);
    let count = F::from_database(&database).map_or(0, F::count);
    let mut budget = F::from_database(&database).map(|file| Budget::from_part(file.part()));
    let blocks = (0..count).flat_map(move |place| {
        let database = Arc::clone(&database);
        let block = F::from_database(&database).zip(budget.as_mut()).and_then(|(file, budget)| {
            let block = database.ok_or_note(file.part(), file.block(place))??;
            let Shape { offset, values, .. } = F::shape(&block);
            let records = (values, PROFILE_VALUE_BYTES);
            database.has_room(file.part(), budget, offset, records).then_some(block)
        });
        block
            .into_iter()
            .flat_map(move |block| block_values::<F>(Arc::clone(&database), place, block))
    });
    Box::new(blocks)
}

/// The values of one block.
fn block_values<F: Blocks>(
    database: Arc<Database>,
    place: u64,
    block: F::Block,
) -> impl Iterator<Item = ValueRow> + Send {
    let Shape { values, entries, index, .. } = F::shape(&block);
    let (mut at, mut run) = (0, Run::default());
    std::iter::from_fn(move || {
        let file = F::from_database(&database)?;
        while at < values {
            let value = at;
            at += 1;
            let key = run.key_of(value, entries, |entry| file.entry(&block, entry));
            let key = key.and_then(|key| key.ok_or_else(|| unindexed(F::INDEX, index)));
            let row = key.and_then(|key| file.row(&block, place, key, value));
            if let Some(row) = database.ok_or_note(file.part(), row) {
                return Some(row);
            }
        }
        None
    })
}

/// The values of the summary, context by context.
pub(crate) fn summary(database: &Arc<Database>) -> Rows<SummaryRow> {
    let statistics = statistics(database).map(|row| (row.id, Arc::new(row)));
    let statistics: HashMap<u64, Arc<StatisticRow>> = statistics.collect();
    let profile = database.profile.as_ref().and_then(|file| {
        let first = database.ok_or_note(&file.part, file.profile(0))??;
        first.is_summary.then_some(first)
    });
    let database = Arc::clone(database);
    let values = profile
        .into_iter()
        .flat_map(move |this_profile| values_of(Arc::clone(&database), 0, this_profile));
    Box::new(values.map(move |value| {
        let statistic = statistics.get(&value.metric).map(Arc::clone);
        SummaryRow { value, statistic }
    }))
}

/// Values that come before the first that an index lists.
fn unindexed(what: &'static str, offset: u64) -> ReadError {
    ReadError::invalid(what, offset, "there are values that no entry of the index has")
}

/// Run of an index that a value belongs to, asked for values in ascending order.
#[derive(Default)]
struct Run {
    next: u64,
    key: Option<u32>,
    upcoming: Option<(u32, u64)>,
}

impl Run {
    fn key_of(
        &mut self,
        value: u64,
        count: u64,
        index: impl Fn(u64) -> ReadResult<(u32, u64)>,
    ) -> ReadResult<Option<u32>> {
        loop {
            if self.upcoming.is_none() && self.next < count {
                self.upcoming = Some(index(self.next)?);
                self.next += 1;
            }
            match self.upcoming {
                Some((key, start)) if start <= value => {
                    self.key = Some(key);
                    self.upcoming = None;
                }
                _ => return Ok(self.key),
            }
        }
    }
}

/// Counts the values of all profiles.
pub(crate) fn value_count(file: &ProfileDb) -> ReadResult<u64> {
    (0..file.profiles.count).try_fold(0_u64, |sum, index| {
        Ok(sum.saturating_add(file.profile(index)?.map_or(0, |profile| profile.n_values)))
    })
}
