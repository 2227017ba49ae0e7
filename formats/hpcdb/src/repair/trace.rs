//! `trace.db` without what makes no sense in it.

use std::sync::Arc;

use kymo_core::{Finding, Result, Severity};
use kymo_model::profile::{ContextNumber, ThreadId};
use kymo_model::timeline::TimeNs;

use super::{Health, Repairing, form_of};
use crate::read::TraceDb;
use crate::spec::FileKind;
use crate::types::{Element, Trace};
use crate::write::TraceWriter;

impl Repairing<'_> {
    pub(super) fn trace(&mut self) -> Result<()> {
        let kind = FileKind::Trace;
        match self.health(kind) {
            Health::Absent => Ok(()),
            health @ (Health::Sound | Health::Cut) if !self.has_odd_moments() => {
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
    fn has_odd_moments(&self) -> bool {
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

/// The samples of a trace that are of contexts of the list, and in order of time. One that the next
/// goes back from, to behind what came before, is a leap and none of them.
pub(super) fn sound<'a>(
    file: &'a TraceDb,
    trace: Trace,
    listed: &'a [u32],
) -> impl Iterator<Item = Element> + 'a {
    let read = move |index: u64| {
        let element = file.element(&trace, index).ok().filter(|_| index < trace.count)?;
        let is_known = element.ctx_id == 0 || listed.binary_search(&element.ctx_id).is_ok();
        (is_known && i64::try_from(element.timestamp).is_ok()).then_some(element)
    };
    let mut before = 0;
    (0..trace.count).filter_map(move |index| {
        let element = read(index).filter(|element| element.timestamp >= before)?;
        let next = read(index + 1).map_or(u64::MAX, |next| next.timestamp);
        // Zeros are no moment to go back to.
        if next != 0 && (before..element.timestamp).contains(&next) {
            return None;
        }
        before = element.timestamp;
        Some(element)
    })
}
