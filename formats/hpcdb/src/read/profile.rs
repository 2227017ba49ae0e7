//! `profile.db`: values by profile, read where they lie.

use std::ops::Range;

use kymo_core::bytes::{Endian, Limits, ReadError, ReadResult};
use kymo_core::{Error, Result, Source};

use super::meta::some;
use super::once::CheckedRecords;
use super::part::Part;
use crate::spec::{
    DESCRIBED_PROFILE_BYTES, DRAFT_PROFILE_BYTES, FileKind, ID_BYTES, PROFILE_BYTES,
    PROFILE_INDEX_BYTES, PROFILE_VALUE_BYTES,
};
use crate::transpose::Stored;
use crate::types::{Id, Profile, Strided};

/// `profile.db`.
#[derive(Debug)]
pub(crate) struct ProfileDb {
    pub(crate) part: Part,
    pub(crate) profiles: Strided,
    /// Profiles whose index is in order.
    ordered: CheckedRecords,
    /// Profiles whose id tuple was paid for.
    named: CheckedRecords,
}

/// Values of a context that are looked through one by one.
const VALUES_FEW: u64 = 64;

/// Number of times that the bytes of a file may be those of id tuples: profiles could share them.
const TUPLES_SHARED: u64 = 4;

impl ProfileDb {
    pub(crate) fn open(source: &Source, limits: &Limits) -> Result<Self> {
        let part = Part::open(source, FileKind::Profile, limits)?;
        let table = Self::listed(&part)
            .and_then(|(at, table)| part.strided("profiles", at, table, Self::known_bytes(&part)));
        let profiles = part.with_file(table)?;
        Ok(Self::from_profiles(part, profiles))
    }

    /// Opens what is left of a file that was cut: the profiles that are still listed.
    pub(crate) fn open_cut(source: &Source, limits: &Limits) -> Result<Self> {
        let part = Part::open_cut(source, FileKind::Profile, limits)?;
        let (at, table) = part.with_file(Self::listed(&part))?;
        let known = Self::known_bytes(&part);
        let left = part.len().saturating_sub(table.pointer) / table.stride.max(known);
        let table = Strided { count: table.count.min(left), ..table };
        let profiles = part.with_file(part.strided("profiles", at, table, known))?;
        Ok(Self::from_profiles(part, profiles))
    }

    fn from_profiles(part: Part, profiles: Strided) -> Self {
        let ordered = CheckedRecords::new(profiles.count, part.len());
        let named = CheckedRecords::new(profiles.count, part.len().saturating_mul(TUPLES_SHARED));
        Self { part, profiles, ordered, named }
    }

    /// The list of profiles as the file has it, and where it says so.
    fn listed(part: &Part) -> ReadResult<(u64, Strided)> {
        let at = part.section(0)?.pointer;
        let mut cursor = part.cursor("profiles", at)?;
        let pointer = cursor.u64("profiles")?;
        let count = cursor.u32("number of profiles")?.into();
        let stride = cursor.u8("size of profiles")?.into();
        Ok((at, Strided { pointer, count, stride }))
    }

    /// The least size of a record.
    fn known_bytes(part: &Part) -> u64 {
        if part.is_described() { DESCRIBED_PROFILE_BYTES } else { DRAFT_PROFILE_BYTES }
    }

    /// Returns true if profiles say what they are.
    pub(crate) fn has_flags(&self) -> bool {
        self.profiles.stride >= PROFILE_BYTES
    }

    /// A profile by its index, whose values are all there.
    pub(crate) fn profile(&self, index: u64) -> ReadResult<Option<Profile>> {
        let Some(profile) = self.record(index)? else { return Ok(None) };
        let offset = profile.offset;
        let bytes = |count: u64, each: u64| count.saturating_mul(each);
        let values = bytes(profile.n_values, PROFILE_VALUE_BYTES);
        self.part.check_range("values", offset, profile.values, values)?;
        let indices = bytes(profile.n_ctxs, PROFILE_INDEX_BYTES);
        self.part.check_range("context indices", offset, profile.ctx_indices, indices)?;
        Ok(Some(profile))
    }

    /// Returns the record of a profile in the list, wherever its values are.
    pub(crate) fn record(&self, index: u64) -> ReadResult<Option<Profile>> {
        let Some(offset) = self.profiles.offset_of(index) else { return Ok(None) };
        let mut cursor = self.part.cursor("profile", offset)?;
        let profile = if self.part.is_described() {
            let block = cursor.u64("value block")?;
            let id_tuple = cursor.u64("id tuple")?;
            let mut cursor = self.part.cursor("value block", block)?;
            let id_tuple = some(id_tuple);
            let block = block_of(&mut cursor)?;
            Profile { index, offset, id_tuple, is_summary: index == 0, ..block }
        } else {
            let block = block_of(&mut cursor)?;
            let id_tuple = some(cursor.u64("id tuple")?);
            let is_summary =
                if self.has_flags() { cursor.u32("flags")? & 1 == 1 } else { index == 0 };
            Profile { index, offset, id_tuple, is_summary, ..block }
        };
        Ok(Some(profile))
    }

    /// Returns the ids that name a thread.
    pub(crate) fn ids(&self, profile: &Profile) -> ReadResult<Vec<Id>> {
        let Some(pointer) = profile.id_tuple else { return Ok(Vec::new()) };
        let mut cursor = self.part.cursor("id tuple", pointer)?;
        let count: u64 = cursor.u16("number of ids")?.into();
        if !self.part.is_described() {
            cursor.skip("gap", 6)?;
        }
        let bytes = count * ID_BYTES;
        self.part.check_range("id tuple", pointer, cursor.offset(), bytes)?;
        self.named.check_once(profile.index, "id tuple", profile.offset, bytes, || Ok(()))?;
        (0..count)
            .map(|_| {
                let mut cursor = cursor.part("id", ID_BYTES)?;
                let (kind, is_physical) = if self.part.is_described() {
                    let bits = cursor.u16("kind")?;
                    cursor.skip("gap", 2)?;
                    (bits & 0x3FFF, bits >> 14 == 0)
                } else {
                    let kind = cursor.u8("kind")?;
                    cursor.skip("gap", 1)?;
                    (kind.into(), cursor.u16("id flags")? & 1 == 1)
                };
                let logical = cursor.u32("logicalId")?;
                let physical = cursor.u64("physicalId")?;
                Ok(Id { kind, is_physical, logical, physical })
            })
            .collect()
    }

    /// A value: the id of its metric, and how much.
    pub(crate) fn value(&self, profile: &Profile, index: u64) -> ReadResult<(u16, f64)> {
        let mut cursor = self.part.cursor("value", value_offset(profile, index))?;
        Ok((cursor.u16("metricId")?, cursor.f64("value")?))
    }

    /// Values that follow each other.
    pub(crate) fn values(
        &self,
        profile: &Profile,
        range: Range<u64>,
    ) -> ReadResult<impl Iterator<Item = ReadResult<(u16, f64)>>> {
        let at = value_offset(profile, range.start);
        let mut cursor = self.part.cursor("value", at)?;
        Ok(range.map(move |_| Ok((cursor.u16("metricId")?, cursor.f64("value")?))))
    }

    /// An entry of the index: the context, and its first value.
    pub(crate) fn index(&self, profile: &Profile, entry: u64) -> ReadResult<(u32, u64)> {
        let mut cursor = self.part.cursor("context index", index_offset(profile, entry))?;
        Ok((cursor.u32("ctxId")?, cursor.u64("startIndex")?))
    }

    /// Fails unless the index of a profile is in order, and the values of contexts that have many:
    /// searching them, and reading the values of each context, relies on it.
    pub(crate) fn require_order(&self, profile: &Profile) -> ReadResult<()> {
        let values = profile.n_values.saturating_mul(PROFILE_VALUE_BYTES);
        let bytes = values.saturating_add(profile.n_ctxs.saturating_mul(PROFILE_INDEX_BYTES));
        self.ordered.check_once(profile.index, "context indices", profile.offset, bytes, || {
            let at = |entry| index_offset(profile, entry);
            let index = |entry| self.index(profile, entry);
            in_order("context index", profile.n_ctxs, profile.n_values, index, at)?;
            (0..profile.n_ctxs).try_for_each(|entry| {
                let range = self.range(profile, entry)?;
                if is_long(&range) { self.metrics_in_order(profile, range) } else { Ok(()) }
            })
        })
    }

    /// Fails unless each value of a context has a higher metric than the one before.
    fn metrics_in_order(&self, profile: &Profile, range: Range<u64>) -> ReadResult<()> {
        let mut last = None;
        for index in range {
            let (metric, _) = self.value(profile, index)?;
            if last.is_some_and(|last| last >= metric) {
                let at = value_offset(profile, index);
                return Err(ReadError::invalid("metricId", at, "values are out of order"));
            }
            last = Some(metric);
        }
        Ok(())
    }

    /// The values of an entry of the index.
    pub(crate) fn range(&self, profile: &Profile, entry: u64) -> ReadResult<Range<u64>> {
        let (_, start) = self.index(profile, entry)?;
        let next = entry + 1;
        let end =
            if next < profile.n_ctxs { self.index(profile, next)?.1 } else { profile.n_values };
        Ok(start..end.min(profile.n_values))
    }

    /// The values of a context.
    ///
    /// Contexts are in order, each once: it is no further than its number, and where few have no
    /// values, close to there. So it is searched for from there backwards, in growing steps.
    pub(crate) fn find(&self, profile: &Profile, ctx_id: u32) -> ReadResult<Range<u64>> {
        self.require_order(profile)?;
        let is_there = |entry| Ok(self.index(profile, entry)?.0 >= ctx_id);
        let mut end = profile.n_ctxs.min(u64::from(ctx_id) + 1);
        let mut step = 1;
        let start = loop {
            let start = end.saturating_sub(step);
            if start == 0 || !is_there(start)? {
                break start;
            }
            (end, step) = (start, step * 2);
        };
        let entry = start + first(end - start, |entry| is_there(start + entry))?;
        if entry < profile.n_ctxs && self.index(profile, entry)?.0 == ctx_id {
            return self.range(profile, entry);
        }
        Ok(0..0)
    }

    /// A metric among those of a context: where its value is, and how much. They should be in
    /// order; where they are not and are few, it is found all the same.
    pub(crate) fn found(
        &self,
        profile: &Profile,
        ctx_id: u32,
        metric: u64,
    ) -> ReadResult<Option<(u64, f64)>> {
        let range = self.find(profile, ctx_id)?;
        let found = self.find_metric(profile, &range, metric)?;
        Ok(found.map(|(index, value)| (value_offset(profile, index), value)))
    }

    /// A metric among some values: which it is, and how much.
    fn find_metric(
        &self,
        profile: &Profile,
        range: &Range<u64>,
        metric: u64,
    ) -> ReadResult<Option<(u64, f64)>> {
        let count = range.end.saturating_sub(range.start);
        let is_there = |at| Ok(u64::from(self.value(profile, range.start + at)?.0) >= metric);
        let at = range.start + first(count, is_there)?;
        let few = if is_long(range) { 0..0 } else { range.clone() };
        for at in range.contains(&at).then_some(at).into_iter().chain(few) {
            let (found, value) = self.value(profile, at)?;
            if u64::from(found) == metric {
                return Ok(Some((at, value)));
            }
        }
        Ok(None)
    }

    /// The values of some metrics that a context has, each with the place of its metric among them.
    /// Few values are looked through, and many are not, however often the context is asked for.
    pub(crate) fn each_found(
        &self,
        profile: &Profile,
        ctx_id: u32,
        metrics: impl Iterator<Item = Option<u16>> + Clone,
        mut take: impl FnMut(usize, f64),
    ) -> ReadResult<()> {
        let range = self.find(profile, ctx_id)?;
        if is_long(&range) {
            for (place, metric) in metrics.enumerate() {
                let Some(metric) = metric else { continue };
                if let Some((_, value)) = self.find_metric(profile, &range, metric.into())? {
                    take(place, value);
                }
            }
            return Ok(());
        }
        for value in self.values(profile, range)? {
            let (found, value) = value?;
            let wanted = metrics.clone().enumerate().filter(|(_, metric)| *metric == Some(found));
            wanted.for_each(|(place, _)| take(place, value));
        }
        Ok(())
    }
}

impl Stored for ProfileDb {
    fn endian(&self) -> Endian {
        self.part.endian
    }

    fn profiles(&self) -> ReadResult<Vec<(u32, Profile)>> {
        let mut profiles = Vec::new();
        for (index, number) in (1..self.profiles.count).zip(1..) {
            let Some(profile) = self.profile(index)? else { continue };
            self.require_order(&profile)?;
            profiles.push((number, profile));
        }
        Ok(profiles)
    }

    fn bytes<'a>(
        &'a self,
        what: &'static str,
        at: u64,
        length: u64,
        _room: &'a mut Vec<u8>,
    ) -> ReadResult<&'a [u8]> {
        self.part.cursor(what, at)?.bytes(what, length)
    }

    fn with_file(&self, error: ReadError) -> Error {
        self.part.error(error)
    }
}

/// Returns the offset of a value.
pub(crate) fn value_offset(profile: &Profile, index: u64) -> u64 {
    profile.values.saturating_add(index.saturating_mul(PROFILE_VALUE_BYTES))
}

/// Returns the offset of an entry of the index.
pub(crate) fn index_offset(profile: &Profile, entry: u64) -> u64 {
    profile.ctx_indices.saturating_add(entry.saturating_mul(PROFILE_INDEX_BYTES))
}

/// Returns true if values of a context are too many to be looked through one by one.
fn is_long(range: &Range<u64>) -> bool {
    range.end.saturating_sub(range.start) > VALUES_FEW
}

/// Fails unless the entries of an index are in order of what they name and of their first values.
pub(super) fn in_order(
    what: &'static str,
    entries: u64,
    values: u64,
    index: impl Fn(u64) -> ReadResult<(u32, u64)>,
    at: impl Fn(u64) -> u64,
) -> ReadResult<()> {
    let mut last: Option<(u32, u64)> = None;
    for entry in 0..entries {
        let found = index(entry)?;
        let is_next = last.is_none_or(|last| found.0 > last.0 && found.1 >= last.1);
        if !is_next || found.1 > values {
            let why = format!("entry {entry} is out of order");
            return Err(ReadError::invalid(what, at(entry), why));
        }
        last = Some(found);
    }
    Ok(())
}

/// The first of so many for which something holds, when it holds for all that follow too.
pub(crate) fn first(count: u64, mut holds: impl FnMut(u64) -> ReadResult<bool>) -> ReadResult<u64> {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle)? {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Ok(low)
}

fn block_of(cursor: &mut kymo_core::bytes::Cursor<'_>) -> ReadResult<Profile> {
    let offset = cursor.offset();
    let n_values = cursor.u64("number of values")?;
    let values = cursor.u64("values")?;
    let n_ctxs = cursor.u32("number of contexts")?.into();
    cursor.skip("gap", 4)?;
    let ctx_indices = cursor.u64("context indices")?;
    let (id_tuple, is_summary) = (None, false);
    let index = 0;
    Ok(Profile { index, offset, n_values, values, n_ctxs, ctx_indices, id_tuple, is_summary })
}
