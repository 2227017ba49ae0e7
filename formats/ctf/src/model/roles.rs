//! Kinds of events about tasks, by the names that tracers give them.

use kymo_model::kernel::KernelEvent;

use crate::Reader;

/// Role of a kind of event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Event of the kernel about tasks.
    Kernel(KernelEvent),
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
    fn from_name(name: &str) -> Option<Self> {
        Some(match name {
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
            name => {
                // What perf has recorded has the subsystem before its name.
                let own = ["sched:", "irq:"].iter().find_map(|lead| name.strip_prefix(lead));
                Self::Kernel(KernelEvent::from_name(own.unwrap_or(name))?)
            }
        })
    }
}

/// The roles of all kinds of events, by their numbers.
#[derive(Debug)]
pub(super) struct Roles(Vec<Option<Role>>);

impl Roles {
    pub(super) fn new(reader: &Reader) -> Self {
        let kinds = reader.parts().last().map_or(0, |part| part.layouts.kinds);
        let mut roles = vec![None; kinds];
        let streams = reader.parts().iter().flat_map(|part| part.layouts.streams());
        for event in streams.flat_map(|stream| &stream.events) {
            if let Some(role) = roles.get_mut(event.kind) {
                *role = Role::from_name(&event.name);
            }
        }
        Self(roles)
    }

    /// The role of a kind of event.
    #[inline]
    pub(super) fn get(&self, kind: usize) -> Option<Role> {
        self.0.get(kind).copied().flatten()
    }

    /// Returns true if no kind of event tells of tasks.
    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }
}
