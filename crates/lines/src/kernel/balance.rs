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
    reader.each_event(&mut |raw, line| {
        let is_switch = Role::of(line.name) == Some(Role::Kernel(KernelEvent::Switch));
        let (Some(cpu), true) = (line.cpu, is_switch) else { return true };
        // One that cannot be read was said when the recording was opened.
        let Some(Switch { prev, next, .. }) = Switch::read(line.rest) else { return true };
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
