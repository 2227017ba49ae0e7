//! What kinds of events tell of tasks, by the names that tracers give them.

use crate::read::Layouts;

/// What a kind of event tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// A processor goes from one task to another.
    Switch,
    /// A task is put to where it may run.
    Wakeup,
    /// A new task is, which nobody asked for before.
    WakeupNew,
    /// Somebody wants a task to run.
    Waking,
    /// An interrupt begins.
    Irq,
    /// A deferred interrupt begins.
    SoftIrq,
    /// Either ends.
    IrqEnd,
    /// A function of a program begins.
    FunctionEntry,
    /// It ends.
    FunctionExit,
    /// A function begins, in traces that were made of OTF2.
    Enter,
    /// It ends.
    Leave,
    /// A message of MPI leaves.
    Send,
    /// It arrives.
    Receive,
    /// The text of a number.
    DefineString,
    /// The name of a function, by the number of its text.
    DefineRegion,
    /// The name of a process or thread, by the number of its text.
    DefineLocation,
}

impl Role {
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "sched_switch" => Self::Switch,
            "sched_wakeup" => Self::Wakeup,
            "sched_wakeup_new" => Self::WakeupNew,
            "sched_waking" => Self::Waking,
            "irq_handler_entry" => Self::Irq,
            "irq_softirq_entry" | "softirq_entry" => Self::SoftIrq,
            "irq_handler_exit" | "irq_softirq_exit" | "softirq_exit" => Self::IrqEnd,
            "lttng_ust_cyg_profile:func_entry" | "lttng_ust_cyg_profile_fast:func_entry" => {
                Self::FunctionEntry
            }
            "lttng_ust_cyg_profile:func_exit" | "lttng_ust_cyg_profile_fast:func_exit" => {
                Self::FunctionExit
            }
            "Event_Enter" => Self::Enter,
            "Event_Leave" => Self::Leave,
            "Event_MpiSend" | "Event_MpiIsend" => Self::Send,
            "Event_MpiRecv" | "Event_MpiIrecv" => Self::Receive,
            "GlobalDef_String" => Self::DefineString,
            "GlobalDef_Region" => Self::DefineRegion,
            "GlobalDef_Location" => Self::DefineLocation,
            _ => return None,
        })
    }
}

/// The roles of a trace's kinds of events, by their numbers.
#[derive(Debug)]
pub(super) struct Roles(Vec<Option<Role>>);

impl Roles {
    pub(super) fn new(layouts: &Layouts) -> Self {
        let mut roles = vec![None; layouts.kinds];
        for event in layouts.streams().flat_map(|stream| &stream.events) {
            if let Some(role) = roles.get_mut(event.kind) {
                *role = Role::of(&event.name);
            }
        }
        Self(roles)
    }

    /// The role of a kind of event.
    #[inline]
    pub(super) fn get(&self, kind: usize) -> Option<Role> {
        self.0.get(kind).copied().flatten()
    }

    /// Whether no kind of event tells of tasks.
    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }
}
