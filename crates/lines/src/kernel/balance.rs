//! True if each switch stops the task that ran, and each interrupt ends before it comes again.

use std::collections::HashMap;

use kymo_core::bytes::Limits;
use kymo_core::{Finding, Findings, Severity};
use kymo_model::kernel::{KernelEvent, OpenInterrupts, softirq_name};

use super::fields::Switch;
use super::{Role, irq_number, softirq_number};
use crate::{Grammar, Key, Line, Reader, TaskKey};

/// Finds switches that stop another task than the one before let run, and interrupts that come again
/// before they ended: something is missing between them.
pub fn unbalanced(reader: &Reader<impl Grammar>, limits: &Limits) -> Vec<Finding> {
    let mut findings = Findings::new(limits);
    let mut cpus: HashMap<u32, Cpu> = HashMap::new();
    reader.each_event(&mut |raw, line| {
        let Some(number) = line.cpu else { return true };
        let Some(Role::Kernel(event)) = Role::from_name(line.name) else { return true };
        let cpu = cpus.entry(number).or_default();
        if let Some((rule, what)) = cpu.take(event, line) {
            let message = format!("on cpu {number}, {what}: events are missing");
            findings.push(Finding::at_offset(Severity::Warning, rule, raw.offset, message));
        }
        true
    });
    findings.into_vec()
}

/// State of a processor.
#[derive(Default)]
struct Cpu {
    running: Option<i64>,
    interrupts: OpenInterrupts,
}

impl Cpu {
    /// Takes an event. Tells what does not fit to what was before, and by which rule.
    fn take(&mut self, event: KernelEvent, line: &Line<'_>) -> Option<(&'static str, String)> {
        match event {
            KernelEvent::Switch => {
                let Switch { prev, next, .. } = Switch::read(line.rest)?;
                self.interrupts.leave();
                let before = self.running.replace(next.pid).filter(|before| *before != prev.pid)?;
                let what = format!("task {} stops while task {before} runs", prev.pid);
                Some(("unbalanced-switch", what))
            }
            KernelEvent::Irq | KernelEvent::SoftIrq => {
                let name = match event {
                    KernelEvent::Irq => irq_number(line)?,
                    _ => softirq_name(softirq_number(line)?),
                };
                let is_again = self.interrupts.begin(&name);
                is_again
                    .then(|| ("unended-interrupt", format!("{name} comes again before it ended")))
            }
            KernelEvent::IrqEnd => {
                self.interrupts.end(irq_number(line).as_deref());
                None
            }
            KernelEvent::SoftIrqEnd => {
                self.interrupts.end(softirq_number(line).map(softirq_name).as_deref());
                None
            }
            KernelEvent::Wakeup | KernelEvent::WakeupNew | KernelEvent::Waking => None,
        }
    }
}

/// A switch, and its processor. One that cannot be read was said when the recording was opened.
fn switch<'a>(line: &Line<'a>) -> Option<(Option<u32>, Switch<'a>)> {
    let is_switch = Role::from_name(line.name) == Some(Role::Kernel(KernelEvent::Switch));
    is_switch.then(|| Some((line.cpu, Switch::read(line.rest)?)))?
}

/// Says that several processors are in one row, where lines tell none.
pub(super) fn report_concurrent_tasks(reader: &Reader<impl Grammar>) -> Option<Finding> {
    let is_told = |key: &Key<'_>| !matches!(key, Key::Task(None, TaskKey::Id(_)));
    if reader.survey().keys.iter().all(is_told) {
        return None;
    }
    let mut side_by_side = ConcurrentTasks::default();
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
struct ConcurrentTasks {
    /// True if each task runs.
    tasks: HashMap<i64, bool>,
    finding: Option<Finding>,
}

impl ConcurrentTasks {
    /// Notes a switch. A task that stops and did not run, or runs twice, is not the one that is
    /// meant: several processors have one of its number, such as the idle one, or events are missing.
    fn switch(&mut self, offset: u64, prev: i64, next: i64) {
        let has_stopped = self.tasks.insert(prev, false) == Some(false);
        let runs_twice = self.tasks.insert(next, true) == Some(true);
        if has_stopped || runs_twice {
            let message = "lines tell no processor, and several are in one row: who ran when is \
                           known only in part";
            self.finding =
                Some(Finding::at_offset(Severity::Warning, "no-processor", offset, message));
        }
    }
}
