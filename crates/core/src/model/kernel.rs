//! Events of Linux that say something of tasks, whichever tracer recorded them.

/// What an event of the kernel is to tasks.
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
    /// Either ends.
    IrqEnd,
}

/// What deferred interrupts are for, by their numbers.
const SOFTIRQS: [&str; 10] =
    ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];

/// The name of a deferred interrupt, by its number as the tracer tells it: `softirq 1 TIMER`.
#[must_use]
pub fn softirq_name(number: &str) -> String {
    let known = number.parse().ok().and_then(|number: usize| SOFTIRQS.get(number));
    let known = known.map(|name| format!(" {name}")).unwrap_or_default();
    format!("softirq {number}{known}")
}

impl KernelEvent {
    /// The event of a name, without the subsystem that it is of.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Some(match name {
            "sched_switch" => Self::Switch,
            "sched_wakeup" => Self::Wakeup,
            "sched_wakeup_new" => Self::WakeupNew,
            "sched_waking" => Self::Waking,
            "irq_handler_entry" => Self::Irq,
            // LTTng has a prefix of its own.
            "softirq_entry" | "irq_softirq_entry" => Self::SoftIrq,
            "irq_handler_exit" | "softirq_exit" | "irq_softirq_exit" => Self::IrqEnd,
            _ => return None,
        })
    }

    /// Whether it tells that a task has something to do. What asks for a wakeup comes first; where
    /// a recording has such events, the wakeup itself tells nothing new.
    #[must_use]
    pub fn is_release(self, has_waking: bool) -> bool {
        match self {
            Self::Waking | Self::WakeupNew => true,
            Self::Wakeup => !has_waking,
            _ => false,
        }
    }

    /// Whether a task that stopped in a state waits for something. The highest bits only say how it
    /// was stopped.
    #[must_use]
    pub fn is_asleep(state: i64) -> bool {
        state & 0xFF != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wakeup_is_a_release_where_nothing_asks_for_it() {
        assert!(KernelEvent::Wakeup.is_release(false) && !KernelEvent::Wakeup.is_release(true));
        assert!(KernelEvent::Waking.is_release(true) && KernelEvent::WakeupNew.is_release(true));
        assert!(!KernelEvent::Switch.is_release(false));
    }

    #[test]
    fn a_task_that_was_preempted_is_not_asleep() {
        // TASK_RUNNING, and that with the bit that says it was preempted.
        assert!(!KernelEvent::is_asleep(0) && !KernelEvent::is_asleep(0x100));
        assert!(KernelEvent::is_asleep(1) && KernelEvent::is_asleep(2));
    }
}
