//! `trace.db`.

use std::sync::Arc;

use kymo_core::Result;

use super::Printing;
use super::out::Remarks;
use crate::read::{Budget, TraceDb};
use crate::spec::ELEMENT_BYTES;
use crate::types::Trace;

impl Printing<'_> {
    pub(super) fn trace(&mut self) -> Result<()> {
        let database = Arc::clone(self.database);
        let Some(at) = self.begin("trace", "!trace.db/v4", database.trace.is_some())? else {
            return Ok(());
        };
        let Some(file) = &database.trace else { return Ok(()) };
        self.out.line(at, "ctx_traces: !trace.db/v4/ContextTraceHeaders")?;
        self.out.line(at + 2, "timestamp_range:")?;
        self.out.field(at + 4, "min", file.moments.map(|(first, _)| first))?;
        self.out.field(at + 4, "max", file.moments.map(|(_, last)| last))?;
        self.out.list(at + 2, "traces", "[]", file.traces.count == 0)?;
        let (mut remarks, mut budget) = (Remarks::default(), Budget::from_part(&file.part));
        for index in 0..file.traces.count {
            let Some(trace) = file.part.with_file(file.trace(index))? else { continue };
            let records = (trace.count, ELEMENT_BYTES);
            let is_room = database.has_room(&file.part, &mut budget, trace.offset, records);
            let trace = if is_room { trace } else { Trace { count: 0, ..trace } };
            let remark = remarks.next(&self.span(file, &trace)?);
            self.out.line(at + 2, format_args!("- !trace.db/v4/ContextTrace{remark}"))?;
            self.out.field(at + 4, "prof_index", Some(trace.prof_index))?;
            self.out.list(at + 4, "line", "[]", trace.count == 0)?;
            self.samples(at + 4, file, &trace)?;
            if self.out.is_done() {
                break;
            }
        }
        Ok(())
    }

    /// Describes a trace: its length, its first and last time, and its thread.
    fn span(&self, file: &TraceDb, trace: &Trace) -> Result<String> {
        let name = self.names.profile(trace.prof_index.into())?;
        let this_name =
            name.map_or_else(|| format!("[{}]", trace.prof_index), |name| format!("{{{name}}}"));
        let Some(last) = trace.count.checked_sub(1) else {
            return Ok(format!("0s (0-0) for {this_name}"));
        };
        let moment =
            |index| file.part.with_file(file.element(trace, index)).map(|one| one.timestamp);
        let (first, last) = (moment(0)?, moment(last)?);
        let span = seconds(last.saturating_sub(first));
        Ok(format!("{span}s ({}-{}) for {this_name}", seconds(first), seconds(last)))
    }

    fn samples(&mut self, at: usize, file: &TraceDb, trace: &Trace) -> Result<()> {
        let mut remarks = Remarks::default();
        let mut first = None;
        for index in 0..trace.count {
            let element = file.part.with_file(file.element(trace, index))?;
            let first = *first.get_or_insert(element.timestamp);
            let since = seconds(element.timestamp.saturating_sub(first));
            let number = u64::from(element.ctx_id);
            let name = self.names.context(number)?.unwrap_or_else(|| format!("[{number}]"));
            let remark = remarks.next(&format!("+{since}s at {name}"));
            self.out.line(at, format_args!("- !trace.db/v4/ContextTraceElement{remark}"))?;
            self.out.field(at + 2, "timestamp", Some(element.timestamp))?;
            self.out.field(at + 2, "ctx_id", Some(element.ctx_id))?;
            if self.out.is_done() {
                break;
            }
        }
        Ok(())
    }
}

/// Nanoseconds as seconds, of the nearest number in double precision: what the remarks of others
/// have.
fn seconds(ns: u64) -> String {
    let (whole, rest) = (ns / 1_000_000_000, ns % 1_000_000_000);
    let nearest: f64 = format!("{whole}.{rest:09}").parse().unwrap_or(0.0);
    format!("{nearest:.9}")
}

#[cfg(test)]
mod tests {
    use super::seconds;

    #[test]
    fn seconds_are_the_nearest_in_double_precision() {
        assert_eq!(seconds(1_714_021_984_008_891_000), "1714021984.008891106");
        assert_eq!(seconds(1_211_737_000), "1.211737000");
    }
}
