//! Whether each switch stops the task that ran.

use std::collections::HashMap;

use kymo_core::bytes::Limits;
use kymo_core::model::kernel::KernelEvent;
use kymo_core::{Finding, Findings, Severity};

use super::Role;
use super::fields::Switch;
use crate::{Grammar, Key, Line, Reader, Who};

/// Finds switches that stop another task than the one before let run: something is missing
/// between them.
pub fn unbalanced(reader: &Reader<impl Grammar>, limits: &Limits) -> Vec<Finding> {
    let mut findings = Findings::new(limits);
    let mut running: HashMap<u32, i64> = HashMap::new();
    reader.each_event(&mut |raw, line| {
        let Some((Some(cpu), Switch { prev, next, .. })) = switch(line) else { return true };
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
    findings.into_vec()
}

/// A switch, and its processor. One that cannot be read was said when the recording was opened.
fn switch<'a>(line: &Line<'a>) -> Option<(Option<u32>, Switch<'a>)> {
    let is_switch = Role::of(line.name) == Some(Role::Kernel(KernelEvent::Switch));
    is_switch.then(|| Some((line.cpu, Switch::read(line.rest)?)))?
}

/// Says that several processors are in one row, where lines tell none.
pub(super) fn side_by_side(reader: &Reader<impl Grammar>) -> Option<Finding> {
    let is_told = |key: &Key<'_>| !matches!(key, Key::Task(None, Who::Id(_)));
    if reader.survey().keys.iter().all(is_told) {
        return None;
    }
    let mut side_by_side = SideBySide::default();
    reader.each_event(&mut |raw, line| {
        if let Some((None, Switch { prev, next, .. })) = switch(line) {
            side_by_side.switch(raw.offset, prev.pid, next.pid);
        }
        side_by_side.finding.is_none()
    });
    side_by_side.finding
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
        if has_stopped || runs_twice {
            let message = "lines tell no processor, and several are in one row: who ran when is \
                           known only in part";
            self.finding = Some(Finding::at(Severity::Warning, "no-processor", offset, message));
        }
    }
}
