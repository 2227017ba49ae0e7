//! Events of Linux that say something of tasks, whichever tracer recorded them.

use std::borrow::Cow;

/// Meaning of an event of the kernel for tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KernelEvent {
    /// One task stops and another runs.
    Switch,
    /// A task can run.
    Wakeup,
    /// A new task can run.
    WakeupNew,
    /// Somebody wants a task to run.
    Waking,
    /// An interrupt begins.
    Irq,
    /// A deferred interrupt begins.
    SoftIrq,
    /// An interrupt ends.
    IrqEnd,
    /// A deferred interrupt ends.
    SoftIrqEnd,
}

/// Deferred interrupts by their numbers, with what they are for.
const SOFTIRQS: [&str; 10] = [
    "softirq 0 HI",
    "softirq 1 TIMER",
    "softirq 2 NET_TX",
    "softirq 3 NET_RX",
    "softirq 4 BLOCK",
    "softirq 5 IRQ_POLL",
    "softirq 6 TASKLET",
    "softirq 7 SCHED",
    "softirq 8 HRTIMER",
    "softirq 9 RCU",
];

/// Returns the part of the name of a stretch that is known at its end. An interrupt has its number
/// and its handler where it begins, `irq 9 acpi`, and its number alone where it ends: `irq 9`. Of
/// any other name it is all of it.
#[must_use]
pub fn interrupt_key(name: &str) -> &str {
    let Some(rest) = name.strip_prefix("irq ") else { return name };
    let Some((number, _)) = rest.split_once(' ') else { return name };
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { name.get(..4 + number.len()).unwrap_or(name) } else { name }
}

/// The name of a deferred interrupt, by its number: `softirq 1 TIMER`.
#[must_use]
pub fn softirq_name(number: i64) -> Cow<'static, str> {
    let known = usize::try_from(number).ok().and_then(|number| SOFTIRQS.get(number));
    known.map_or_else(|| format!("softirq {number}").into(), |name| (*name).into())
}

impl KernelEvent {
    /// The event of a name, without the subsystem that it is of.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "sched_switch" => Self::Switch,
            "sched_wakeup" => Self::Wakeup,
            "sched_wakeup_new" => Self::WakeupNew,
            "sched_waking" => Self::Waking,
            "irq_handler_entry" => Self::Irq,
            // LTTng has a prefix of its own.
            "softirq_entry" | "irq_softirq_entry" => Self::SoftIrq,
            "irq_handler_exit" => Self::IrqEnd,
            "softirq_exit" | "irq_softirq_exit" => Self::SoftIrqEnd,
            _ => return None,
        })
    }

    /// Returns true if it tells that a task has something to do. What asks for a wakeup comes
    /// first; where a recording has such events, the wakeup itself tells nothing new.
    #[must_use]
    pub fn is_release(self, has_waking: bool) -> bool {
        match self {
            Self::Waking | Self::WakeupNew => true,
            Self::Wakeup => !has_waking,
            _ => false,
        }
    }

    /// Returns true if a task that stopped in a state waits for something. The highest bits only
    /// say how it was stopped.
    #[must_use]
    pub fn is_asleep(state: i64) -> bool {
        state & 0xFF != 0
    }
}

/// Interrupts are told apart up to so many within each other: real ones are a few.
const UNDER_WAY_MAX: usize = 256;

/// The interrupts that are under way on a processor, one within another, by what their ends know of
/// their names.
#[derive(Debug, Clone, Default)]
pub struct OpenInterrupts(Vec<Box<str>>);

impl OpenInterrupts {
    /// One begins. Tells whether it is under way already: an interrupt does not interrupt itself, so
    /// that its end is missing, and those of all within it.
    pub fn begin(&mut self, name: &str) -> bool {
        let name = interrupt_key(name);
        let before = self.0.iter().position(|open| **open == *name);
        self.0.truncate(before.unwrap_or(self.0.len()));
        if self.0.len() < UNDER_WAY_MAX {
            self.0.push(name.into());
        }
        before.is_some()
    }

    /// One ends, with all within it: the one that is named, or the last that began.
    pub fn end(&mut self, name: Option<&str>) {
        let at = match name.map(interrupt_key) {
            Some(name) => self.0.iter().rposition(|open| **open == *name),
            None => self.0.len().checked_sub(1),
        };
        self.0.truncate(at.unwrap_or(self.0.len()));
    }

    /// A task begins to run, and none does within an interrupt. What is under way has no end that is
    /// recorded, or is deferred together with the task it runs in.
    pub fn leave(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupt_that_comes_again_did_not_end() {
        let mut under_way = OpenInterrupts::default();
        assert!(!under_way.begin("irq 9 acpi") && !under_way.begin("softirq 1 TIMER"));
        under_way.end(Some("irq 9"));
        assert!(!under_way.begin("softirq 1 TIMER"));
        assert!(!under_way.begin("irq 9 acpi") && under_way.begin("irq 9 acpi"));
        // Both are under way still, and a task that runs leaves them.
        assert!(under_way.begin("softirq 1 TIMER"));
        under_way.leave();
        assert!(!under_way.begin("softirq 1 TIMER"));
        under_way.end(None);
        under_way.end(None);
        assert!(!under_way.begin("softirq 1 TIMER"));
    }

    #[test]
    fn interrupts_without_end_take_no_room_without_end() {
        let mut under_way = OpenInterrupts::default();
        assert!((0..100_000).all(|number| !under_way.begin(&format!("irq {number}"))));
        assert_eq!(under_way.0.len(), UNDER_WAY_MAX);
    }

    #[test]
    fn a_wakeup_is_a_release_where_nothing_asks_for_it() {
        assert!(KernelEvent::Wakeup.is_release(false) && !KernelEvent::Wakeup.is_release(true));
        assert!(KernelEvent::Waking.is_release(true) && KernelEvent::WakeupNew.is_release(true));
        assert!(!KernelEvent::Switch.is_release(false));
    }

    #[test]
    fn deferred_interrupts_have_names() {
        assert_eq!(softirq_name(1), "softirq 1 TIMER");
        assert_eq!(softirq_name(9), "softirq 9 RCU");
        assert_eq!([softirq_name(10), softirq_name(-1)], ["softirq 10", "softirq -1"]);
    }

    #[test]
    fn ends_of_interrupts_know_their_numbers() {
        let known =
            ["irq 9 acpi", "irq 9 i801 smbus", "irq 9", "irq acpi x", "irq  x"].map(interrupt_key);
        assert_eq!(known, ["irq 9", "irq 9", "irq 9", "irq acpi x", "irq  x"]);
        assert_eq!(
            ["softirq 1 TIMER", "irq_work run 1"].map(interrupt_key),
            ["softirq 1 TIMER", "irq_work run 1"]
        );
    }

    #[test]
    fn a_task_that_was_preempted_is_not_asleep() {
        // TASK_RUNNING, and that with the bit that says it was preempted.
        assert!(!KernelEvent::is_asleep(0) && !KernelEvent::is_asleep(0x100));
        assert!(KernelEvent::is_asleep(1) && KernelEvent::is_asleep(2));
    }
}
