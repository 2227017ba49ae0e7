//! `trace.db` without what makes no sense in it.

use std::sync::Arc;

use kymo_core::{Finding, Result, Severity};
use kymo_model::profile::{ContextNumber, ThreadId};
use kymo_model::timeline::TimeNs;

use super::{Health, Repairing, form_of};
use crate::read::TraceDb;
use crate::spec::{ELEMENT_BYTES, FileKind};
use crate::types::{Element, Trace};
use crate::write::TraceWriter;

impl Repairing<'_> {
    pub(super) fn trace(&mut self) -> Result<()> {
        let kind = FileKind::Trace;
        match self.health(kind) {
            Health::Absent => Ok(()),
            health @ (Health::Sound | Health::Cut) if !self.has_samples_outside_range() => {
                self.copy(kind, health)
            }
            _ => {
                let database = Arc::clone(&self.database);
                if let Some(file) = &database.trace {
                    return self.rewrite_trace(file);
                }
                self.lost(kind, "its header cannot be read: all traces are lost");
                Ok(())
            }
        }
    }

    /// Returns true if samples lie outside of the moments that the header says.
    fn has_samples_outside_range(&self) -> bool {
        let is_odd = |finding: &Finding| {
            finding.rule == "trace-moments" && finding.severity == Severity::Warning
        };
        self.found.iter().any(is_odd)
    }

    /// Writes the samples of each trace that make sense.
    fn rewrite_trace(&mut self, file: &TraceDb) -> Result<()> {
        let kind = FileKind::Trace;
        let profiles = self.database.profile.as_ref().map(|file| file.profiles.count);
        let lines = profiles.unwrap_or(file.traces.count + 1).saturating_sub(1);
        let lines = usize::try_from(lines).unwrap_or(usize::MAX);
        let listed = self.listed();
        let mut writer = TraceWriter::new(self.path(kind), form_of(&file.part), lines);
        let mut seen = vec![false; lines];
        let (mut kept, mut lost, mut unreadable) = (0_u64, 0_u64, 0_u64);
        for index in 0..file.traces.count {
            let trace = file.cut_trace(index);
            let line = trace.and_then(|(trace, _)| trace.prof_index.checked_sub(1));
            let place = line.and_then(|line| seen.get_mut(usize::try_from(line).ok()?));
            let (Some((trace, missing)), Some(line), Some(is_seen)) = (trace, line, place) else {
                unreadable += 1;
                continue;
            };
            lost = lost.saturating_add(missing);
            if std::mem::replace(is_seen, true) {
                lost = lost.saturating_add(trace.count);
                continue;
            }
            let mut taken = 0;
            let mut samples = sound(file, trace, &listed).map(|element| {
                taken += 1;
                let context = (element.ctx_id != 0).then(|| ContextNumber(element.ctx_id.into()));
                Ok((TimeNs(i64::try_from(element.timestamp).unwrap_or(i64::MAX)), context))
            });
            kept += writer.samples(ThreadId(line), &mut samples)?;
            drop(samples);
            lost = lost.saturating_add(trace.count - taken);
        }
        writer.finish()?;
        if kept > 0 {
            self.repaired.kept += 1;
            self.corrected(kind, format!("it was written again with {kept} samples"));
        } else {
            self.lost(kind, "no sample of it makes sense: all traces are lost");
        }
        if lost > 0 {
            self.lost(kind, format!("samples that make no sense or are not there: {lost}"));
        }
        if unreadable > 0 {
            self.lost(kind, format!("traces that cannot be read: {unreadable}"));
        }
        Ok(())
    }
}

/// How far samples are looked for behind bytes that are none.
const WINDOW_BYTES: u64 = 1 << 12;

/// Samples that have to make sense together where others begin.
const CHAIN: u64 = 8;

/// Samples that are enough at the end of a trace, where there are no more.
const CHAIN_AT_END: u64 = 3;

/// The samples of a trace that are of contexts of the list, and in order of time. One that the next
/// goes back from, to behind what came before, is a leap and none of them. Where bytes were lost or
/// added, samples begin again at any byte: times grow, and contexts exist.
pub(super) fn sound<'a>(
    file: &'a TraceDb,
    trace: Trace,
    listed: &'a [u32],
) -> impl Iterator<Item = Element> + 'a {
    let end = TraceDb::element_offset(&trace, trace.count);
    let samples = Samples { file, listed, start: trace.start, end };
    let (mut at, mut before, mut search_from) = (trace.start, 0, trace.start);
    std::iter::from_fn(move || {
        // Where nothing is found, nothing is found from a byte further on either.
        let mut resume = |at: u64, before: u64| {
            let found = if at < search_from { None } else { samples.from(at, before) };
            if found.is_none() && at >= search_from {
                search_from = at + WINDOW_BYTES;
            }
            found
        };
        while at < end {
            let Some(element) = samples.read(at).filter(|element| element.timestamp >= before)
            else {
                at = resume(at, before).unwrap_or(at + ELEMENT_BYTES);
                continue;
            };
            at += ELEMENT_BYTES;
            // Behind a sample that is made of two, the next may be at another byte.
            let next = samples.read(at).or_else(|| samples.read(resume(at, before)?));
            let next = next.map_or(u64::MAX, |next| next.timestamp);
            // Zeros are no moment to go back to.
            if next == 0 || !(before..element.timestamp).contains(&next) {
                before = element.timestamp;
                return Some(element);
            }
        }
        None
    })
}

/// The bytes that the samples of a trace are in.
struct Samples<'a> {
    file: &'a TraceDb,
    listed: &'a [u32],
    start: u64,
    end: u64,
}

impl Samples<'_> {
    /// The sample that begins at a byte, if it makes sense.
    fn read(&self, at: u64) -> Option<Element> {
        let is_within = at.checked_add(ELEMENT_BYTES).is_some_and(|end| end <= self.end);
        let element = is_within.then(|| self.file.element_at(at).ok()).flatten()?;
        let is_known = element.ctx_id == 0 || self.listed.binary_search(&element.ctx_id).is_ok();
        (is_known && i64::try_from(element.timestamp).is_ok()).then_some(element)
    }

    /// The nearest byte from which samples make sense together. The one before what does not may
    /// have taken some of their bytes.
    fn from(&self, at: u64, before: u64) -> Option<u64> {
        let start = self.start.max((at + 1).saturating_sub(ELEMENT_BYTES));
        (start..self.end.min(at + WINDOW_BYTES)).find(|found| self.is_chain(*found, before))
    }

    fn is_chain(&self, at: u64, after: u64) -> bool {
        let count = (self.end.saturating_sub(at) / ELEMENT_BYTES).min(CHAIN);
        let mut last = after;
        count >= CHAIN_AT_END
            && (0..count).all(|place| {
                let sample = self.read(at + place * ELEMENT_BYTES);
                let is_next = sample.is_some_and(|sample| sample.timestamp >= last);
                last = sample.map_or(last, |sample| sample.timestamp);
                is_next
            })
    }
}
