//! Whether each switch stops the task that ran.

use std::collections::HashMap;

use kymo_core::bytes::Limits;
use kymo_core::model::kernel::KernelEvent;
use kymo_core::{Finding, Findings, Severity};

use super::Role;
use super::fields::Switch;
use crate::{Grammar, Reader};

/// Finds switches that stop another task than the one before let run: something is missing
/// between them.
pub fn unbalanced(reader: &Reader<impl Grammar>, limits: &Limits) -> Vec<Finding> {
    let mut findings = Findings::new(limits);
    let mut running: HashMap<u32, i64> = HashMap::new();
    let mut side_by_side = SideBySide::default();
    reader.each_event(&mut |raw, line| {
        let is_switch = Role::of(line.name) == Some(Role::Kernel(KernelEvent::Switch));
        if !is_switch {
            return true;
        }
        // One that cannot be read was said when the recording was opened.
        let Some(Switch { prev, next, .. }) = Switch::read(line.rest) else { return true };
        let Some(cpu) = line.cpu else {
            side_by_side.switch(raw.offset, prev.pid, next.pid);
            return true;
        };
        let before = running.insert(cpu, next.pid).unwrap_or(prev.pid);
        if before != prev.pid {
            let message = format!(
                "on cpu {cpu}, task {} stops while task {before} runs: events are missing",
                prev.pid
            );
            let finding = Finding::at(Severity::Warning, "unbalanced-switch", raw.offset, message);
            findings.push(finding);
        }
        true
    });
    findings.extend(side_by_side.finding);
    findings.into_vec()
}

/// Tasks of processors that no line tells: they run side by side.
#[derive(Default)]
struct SideBySide {
    /// Whether each task runs.
    tasks: HashMap<i64, bool>,
    finding: Option<Finding>,
}

impl SideBySide {
    /// Notes a switch. A task that stops and did not run, or runs twice, is not the one that is
    /// meant: several processors have one of its number, such as the idle one, or events are missing.
    fn switch(&mut self, offset: u64, prev: i64, next: i64) {
        let has_stopped = self.tasks.insert(prev, false) == Some(false);
        let runs_twice = self.tasks.insert(next, true) == Some(true);
        if self.finding.is_none() && (has_stopped || runs_twice) {
            let message = "lines tell no processor, and several are in one row: who ran when is \
                           known only in part";
            self.finding = Some(Finding::at(Severity::Warning, "no-processor", offset, message));
        }
    }
}
