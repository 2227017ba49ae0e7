//! Owners of tracks.

use std::borrow::Cow;

/// Owner of a track. Processors come before their tasks in this order, as parents must.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key<'a> {
    /// Every event, of a processor where lines tell it.
    Events(Option<u32>),
    /// A processor; its interrupts are on it.
    Cpu(u32),
    /// Idle task: it runs on a processor when there is nothing to do.
    Idle(u32),
    /// A task, on a processor where lines tell it.
    Task(Option<u32>, TaskKey<'a>),
    /// The functions of a thread.
    Calls(TaskKey<'a>),
    /// Messages of a task.
    Says(TaskKey<'a>),
    /// A state machine.
    Machine(Cow<'a, str>),
    /// A number, of a thread where lines tell it.
    Counter(Option<TaskKey<'a>>, Cow<'a, str>),
}

/// A task or thread.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TaskKey<'a> {
    /// By its number; it may change its name.
    Id(i64),
    /// By its name.
    Name(Cow<'a, str>),
}

impl Key<'_> {
    /// The key by itself, however long the line lives that it was read from.
    #[must_use]
    pub fn into_owned(self) -> Key<'static> {
        match self {
            Self::Events(cpu) => Key::Events(cpu),
            Self::Cpu(cpu) => Key::Cpu(cpu),
            Self::Idle(cpu) => Key::Idle(cpu),
            Self::Task(cpu, who) => Key::Task(cpu, who.into_owned()),
            Self::Calls(who) => Key::Calls(who.into_owned()),
            Self::Says(who) => Key::Says(who.into_owned()),
            Self::Machine(name) => Key::Machine(Cow::Owned(name.into_owned())),
            Self::Counter(who, name) => {
                Key::Counter(who.map(TaskKey::into_owned), Cow::Owned(name.into_owned()))
            }
        }
    }

    /// The processor that it is of.
    #[must_use]
    pub fn cpu(&self) -> Option<u32> {
        match self {
            Self::Cpu(cpu) | Self::Idle(cpu) => Some(*cpu),
            Self::Events(cpu) | Self::Task(cpu, _) => *cpu,
            Self::Calls(_) | Self::Says(_) | Self::Machine(_) | Self::Counter(..) => None,
        }
    }
}

impl TaskKey<'_> {
    pub(crate) fn into_owned(self) -> TaskKey<'static> {
        match self {
            Self::Id(id) => TaskKey::Id(id),
            Self::Name(name) => TaskKey::Name(Cow::Owned(name.into_owned())),
        }
    }
}
