//! Names of fields that say something of tasks, functions and messages.

/// A field by its name, as tracers call it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum KnownField {
    PrevTid,
    PrevComm,
    PrevState,
    NextTid,
    NextComm,
    NextPrio,
    Tid,
    Comm,
    TargetCpu,
    Irq,
    Vec,
    Name,
    Addr,
    Vtid,
    Vpid,
    Procname,
    Region,
    LocationId,
    Sender,
    Receiver,
    MsgTag,
    SelfId,
    StringValue,
    Cpu,
}

impl KnownField {
    /// Number of known fields.
    pub(crate) const COUNT: usize = Self::Cpu as usize + 1;

    /// Its bit in a word that has one for each.
    #[inline]
    pub(crate) fn bit(self) -> u32 {
        1 << self as u32
    }

    /// Returns true if a context may tell it. A context is of the task that runs: `tid` there is
    /// that of who wakes, and among the fields of a wakeup that of who is woken.
    pub(super) fn is_context_field(self) -> bool {
        matches!(self, Self::Vtid | Self::Vpid | Self::Procname | Self::Cpu)
    }

    /// The field of a name.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            // The kernel itself, and so perf, calls the number of a task `pid`.
            "prev_tid" | "prev_pid" => Self::PrevTid,
            "prev_comm" => Self::PrevComm,
            "prev_state" => Self::PrevState,
            "next_tid" | "next_pid" => Self::NextTid,
            "next_comm" => Self::NextComm,
            "next_prio" => Self::NextPrio,
            "tid" | "pid" => Self::Tid,
            "comm" => Self::Comm,
            "target_cpu" => Self::TargetCpu,
            "irq" => Self::Irq,
            "vec" => Self::Vec,
            "name" => Self::Name,
            "addr" => Self::Addr,
            "vtid" => Self::Vtid,
            "vpid" => Self::Vpid,
            "procname" => Self::Procname,
            "region" => Self::Region,
            "locationID" => Self::LocationId,
            "sender" => Self::Sender,
            "receiver" => Self::Receiver,
            "msgTag" => Self::MsgTag,
            "self" => Self::SelfId,
            "stringValue" => Self::StringValue,
            // Packets of older perf are of all processors, and each event names its own.
            "perf_cpu" => Self::Cpu,
            _ => return None,
        })
    }
}
