//! Rules across records. What the reader refuses is a finding too.

use bytes::Bytes;
use kymo_core::bytes::Limits;
use kymo_core::{Finding, Findings, Severity};

use crate::types::Log;

/// Checks every rule.
pub(crate) fn check(bytes: &Bytes, limits: &Limits) -> Vec<Finding> {
    let mut findings = Findings::new(limits);
    match Log::read(bytes, limits) {
        Ok(log) => findings.extend(rules(&log, bytes.len() as u64)),
        Err(error) => findings.push(Finding::unreadable("structure", &error)),
    }
    findings.into_vec()
}

/// What is odd about a file that can be read.
pub(crate) fn rules(log: &Log, size_bytes: u64) -> impl Iterator<Item = Finding> {
    let trailing = (log.end < size_bytes).then(|| {
        let message = format!("{} bytes follow the last event", size_bytes - log.end);
        Finding::at_offset(Severity::Warning, "trailing-bytes", log.end, message)
    });
    let pairs = log.events.iter().zip(log.events.iter().skip(1));
    let backward = pairs.filter(|(before, after)| after.time_ns < before.time_ns);
    let backward = backward.map(|(before, after)| {
        let message = format!("{} ns comes after {} ns", after.time_ns, before.time_ns);
        Finding::at_offset(Severity::Warning, "time-order", after.offset, message)
    });
    backward.chain(trailing)
}
