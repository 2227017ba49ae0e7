//! Types that the reader returns and the writer takes.

use std::collections::{HashMap, HashSet};
use std::fmt;

use crate::spec::{
    ArtifactClass, EventClass, FieldType, NO_TYPE, OwnType, TaskClass, UNKNOWN_TASK, UNKNOWN_TIME,
};

/// The number of a log file, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogFileId(pub i32);

/// The id of a custom type within its log file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeId(pub i32);

/// The id of an artifact within its log file: a task, a state machine, a state. Interrupts are
/// tasks with a negative id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ArtifactId(pub i32);

/// The characters of a string as they are in the file, one byte each: Latin-1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Text<'a>(pub &'a [u8]);

impl<'a> Text<'a> {
    /// Reads the bytes as UTF-8, as some writers meant them.
    ///
    /// # Errors
    ///
    /// When they are none.
    pub fn as_utf8(self) -> Result<&'a str, std::str::Utf8Error> {
        std::str::from_utf8(self.0)
    }
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write;
        self.0.iter().try_for_each(|byte| f.write_char(char::from(*byte)))
    }
}

impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

/// Characters as Latin-1, and how many there is no byte for: those are question marks.
#[must_use]
pub fn to_latin1(text: &str) -> (Vec<u8>, u64) {
    let mut lost = 0;
    let byte = |character: char| {
        u8::try_from(u32::from(character)).unwrap_or_else(|_| {
            lost += 1;
            b'?'
        })
    };
    (text.chars().map(byte).collect(), lost)
}

/// A log that was imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFile {
    /// Its first byte.
    pub offset: u64,
    /// Its number.
    pub id: LogFileId,
    /// The name of the file it was imported from.
    pub name: String,
    /// The size of that file.
    pub size: i64,
    /// Time of the import, in milliseconds since the Epoch.
    pub imported_at_ms: i64,
    /// Program that imported it.
    pub importer: String,
}

/// Text between the name of a recording and the number of one of its processors.
const CPU: &str = ", cpu ";

/// The name of the log file of one processor of a recording.
pub(crate) fn cpu_log_name(recording: &str, cpu: &str) -> String {
    format!("{recording}{CPU}{cpu}")
}

impl LogFile {
    /// The name of the recording that it is of, and the processor where it is of one.
    pub(crate) fn recording(&self) -> (&str, Option<i32>) {
        let named = self.name.rsplit_once(CPU);
        let of_cpu = named.and_then(|(name, cpu)| Some((name, Some(cpu.parse().ok()?))));
        of_cpu.unwrap_or((&self.name, None))
    }
}

/// Type of the values of an event or an artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustomType {
    /// Its first byte.
    pub offset: u64,
    /// Its id within the log file.
    pub id: TypeId,
    /// Its name.
    pub name: String,
    /// The log file it is of.
    pub log_file: LogFileId,
    /// Its fields, in the order of the values.
    pub fields: Vec<CustomField>,
}

impl CustomType {
    /// Returns true if it is a type of ours, to the last field.
    pub(crate) fn is_own_type(&self, own: OwnType) -> bool {
        let is_field = |(field, name): (&CustomField, &&str)| {
            (field.name.as_str(), field.field_type, field.element_count) == (name, Ok(own.of), 0)
        };
        let are_as_many = self.fields.len() == own.fields.len();
        self.name == own.name && are_as_many && self.fields.iter().zip(own.fields).all(is_field)
    }
}

/// A field of a custom type.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CustomField {
    /// Its name.
    pub name: String,
    /// Type of its values; a number that is none of ours cannot be decoded.
    pub field_type: Result<FieldType, i32>,
    /// 0 is one value; any other number that many, back to back.
    pub element_count: i32,
}

impl CustomField {
    /// A field of one value.
    pub fn scalar(name: impl Into<String>, field_type: FieldType) -> Self {
        Self::array(name, field_type, 0)
    }

    /// A field of so many values; 0 is one that is no list.
    pub fn array(name: impl Into<String>, field_type: FieldType, element_count: i32) -> Self {
        Self { name: name.into(), field_type: Ok(field_type), element_count }
    }

    /// Returns the number of values, unless the count makes no sense.
    #[must_use]
    pub fn elements(&self) -> Option<u32> {
        u32::try_from(self.element_count).ok().map(|count| count.max(1))
    }

    /// The type as one writes it: `UINT16`, `UINT16[3]`.
    #[must_use]
    pub fn type_name(&self) -> String {
        let name = match self.field_type {
            Ok(field_type) => field_type.name().to_owned(),
            Err(number) => format!("type {number}"),
        };
        match self.element_count {
            0 => name,
            count => format!("{name}[{count}]"),
        }
    }
}

/// Something that events are about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// Its first byte.
    pub offset: u64,
    /// Its id within the log file.
    pub id: ArtifactId,
    /// Its name.
    pub name: String,
    /// The log file it is of.
    pub log_file: LogFileId,
    /// Kind of the artifact.
    pub kind: ArtifactKind,
    /// The type of its values.
    pub custom_type: TypeId,
    /// Its values, as bytes.
    pub custom: Vec<u8>,
}

/// An artifact as a file declares it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeclaredArtifact<'a> {
    /// Its first byte.
    pub offset: u64,
    /// Its id within the log file.
    pub id: ArtifactId,
    /// Its name.
    pub name: Text<'a>,
    /// The log file it is of.
    pub log_file: LogFileId,
    /// Kind of the artifact.
    pub kind: ArtifactKind,
    /// The type of its values.
    pub custom_type: TypeId,
    /// Its values, as bytes.
    pub custom: &'a [u8],
}

impl From<DeclaredArtifact<'_>> for Artifact {
    fn from(declared_artifact: DeclaredArtifact<'_>) -> Self {
        let DeclaredArtifact { offset, id, name, log_file, kind, custom_type, custom } =
            declared_artifact;
        let (name, custom) = (name.to_string(), custom.to_vec());
        Self { offset, id, name, log_file, kind, custom_type, custom }
    }
}

/// Kind of an artifact, with what only such artifacts have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArtifactKind {
    /// Only its custom type says.
    Generic,
    /// Something that runs.
    Task {
        /// Kind of task; a number that is none of ours stays one.
        task_class: Result<TaskClass, i32>,
        /// Its priority to begin with.
        priority: i32,
    },
    /// Something that is in a state.
    StateMachine,
    /// A state.
    State {
        /// The state or state machine that it is part of.
        parent: ArtifactId,
    },
}

impl ArtifactKind {
    /// Its class.
    #[must_use]
    pub fn class(self) -> ArtifactClass {
        match self {
            Self::Generic => ArtifactClass::Generic,
            Self::Task { .. } => ArtifactClass::Task,
            Self::StateMachine => ArtifactClass::StateMachine,
            Self::State { .. } => ArtifactClass::State,
        }
    }
}

/// Something that happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event<'a> {
    /// Time of the event, in nanoseconds.
    pub timestamp: i64,
    /// In which log file.
    pub log_file: LogFileId,
    /// Body of the event.
    pub body: Body<'a>,
    /// The type of its values.
    pub custom_type: TypeId,
    /// Its values, as bytes.
    pub custom: &'a [u8],
}

/// An event, and where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocatedEvent<'a> {
    /// Its first byte.
    pub offset: u64,
    /// The event.
    pub event: Event<'a>,
}

/// Content of an event. Times are nanoseconds, and -1 where they are not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body<'a> {
    /// GENERIC
    Generic,
    /// `TASK_SWITCH`
    TaskSwitch {
        /// Runs from here on.
        in_task: ArtifactId,
        /// Ran until here.
        out_task: ArtifactId,
        /// The priority of the one that runs.
        in_task_priority: i32,
    },
    /// `TASK_RELEASE`
    TaskRelease {
        /// Has something to do.
        task: ArtifactId,
        /// Longest time that it may take.
        time_budget: i64,
    },
    /// `TASK_COMPLETION`
    TaskCompletion {
        /// Has done it.
        task: ArtifactId,
        /// Time that was left.
        remaining_time: i64,
    },
    /// SEND
    Send(Message<'a>),
    /// RECEIVE
    Receive(Message<'a>),
    /// SRL SEND
    SrlSend {
        /// Message that was sent, between state machines.
        message: Message<'a>,
        /// Instance of the receiver.
        receiver_instance: i32,
    },
    /// SRL RECEIVE
    SrlReceive {
        /// Message that was received, between state machines.
        message: Message<'a>,
        /// The state that is entered.
        state: ArtifactId,
        /// The end of the transition.
        finish_timestamp: i64,
    },
    /// `FUNCTION_ENTER`
    FunctionEnter(Function<'a>),
    /// `FUNCTION_EXIT`
    FunctionExit(Function<'a>),
}

/// A message between two tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    /// Artifact that sent it.
    pub sender: ArtifactId,
    /// Artifact that received it.
    pub receiver: ArtifactId,
    /// Time at which the other side had it. The other side received it, where this is a sending,
    /// and sent it, where this is a receiving.
    pub other_timestamp: i64,
    /// Its name.
    pub name: Text<'a>,
}

impl Message<'_> {
    /// Returns true if it is none: a state machine went to another state, and nobody told it to.
    pub(crate) fn is_none(&self) -> bool {
        let is_known = self.other_timestamp != UNKNOWN_TIME || self.sender.0 != UNKNOWN_TASK;
        !is_known && self.name.0.is_empty()
    }
}

/// A call of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Function<'a> {
    /// Its name.
    pub name: Text<'a>,
    /// Time at which the call ended.
    pub end_time: i64,
}

impl Function<'_> {
    /// Returns the end of a call that began at a time; an end before that time means nothing.
    pub(crate) fn ends(&self, timestamp: i64) -> Option<i64> {
        Some(self.end_time).filter(|time| *time != UNKNOWN_TIME && *time >= timestamp)
    }
}

impl Body<'_> {
    /// The class.
    #[must_use]
    pub fn class(&self) -> EventClass {
        match self {
            Self::Generic => EventClass::Generic,
            Self::TaskSwitch { .. } => EventClass::TaskSwitch,
            Self::TaskRelease { .. } => EventClass::TaskRelease,
            Self::TaskCompletion { .. } => EventClass::TaskCompletion,
            Self::Send(_) => EventClass::Send,
            Self::Receive(_) => EventClass::Receive,
            Self::SrlSend { .. } => EventClass::SrlSend,
            Self::SrlReceive { .. } => EventClass::SrlReceive,
            Self::FunctionEnter(_) => EventClass::FunctionEnter,
            Self::FunctionExit(_) => EventClass::FunctionExit,
        }
    }
}

/// The head of the EVENT INDEX.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IndexHeader {
    /// Number of events.
    pub num_events: i64,
    /// Their bytes, and the eight of their number.
    pub total_event_size: i64,
    /// The time of the first event as written.
    pub first_timestamp: i64,
    /// The time of the last event as written.
    pub last_timestamp: i64,
}

/// A run of events that the index knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// The first byte of this entry of the index.
    pub offset: u64,
    /// Number of events.
    pub num_events: u64,
    /// Their bytes.
    pub total_event_size: u64,
    /// The time of the first event as written.
    pub first_timestamp: i64,
    /// The time of the last event as written.
    pub last_timestamp: i64,
    /// Number of events before it.
    pub first_event_index: u64,
    /// The first byte of the first event.
    pub first_event_offset: u64,
}

/// Share of the time for which a task ran.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TaskExecution {
    /// The first byte of this entry.
    pub offset: u64,
    /// The log file of the task.
    pub log_file: LogFileId,
    /// The task.
    pub task: ArtifactId,
    /// In percent of the time between the first and the last `TASK_SWITCH` of all log files.
    pub task_exec: f64,
}

/// The STATISTICS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Statistics {
    /// The smallest time of a `TASK_SWITCH`, whatever the field's name says; -1 without any.
    pub first_task_duration: i64,
    /// The largest time of a `TASK_SWITCH`; 0 without any.
    pub last_task_duration: i64,
    /// Number of those events.
    pub num_task_switches: i64,
}

impl Default for Statistics {
    fn default() -> Self {
        Self { first_task_duration: -1, last_task_duration: 0, num_task_switches: 0 }
    }
}

/// Everything but the events and what is computed from them.
#[derive(Debug, Clone, Default)]
pub struct Definitions {
    /// The logs that were imported.
    pub log_files: Vec<LogFile>,
    /// The types of values.
    pub types: Vec<CustomType>,
    /// Artifacts that events are about.
    pub artifacts: Vec<Artifact>,
    /// The ids of types, to add further ones by.
    pub(crate) type_ids: TypeIds,
}

/// The ids that the types of each log file have.
#[derive(Debug, Clone, Default)]
pub(crate) struct TypeIds {
    /// Number of types that were looked at.
    seen: usize,
    taken: HashSet<(LogFileId, i32)>,
    of_logs: HashMap<LogFileId, LogTypes>,
}

/// The ids that the types of a log file have.
#[derive(Debug, Clone, Copy, Default)]
struct LogTypes {
    /// The largest that is taken.
    largest: i32,
    /// Below this no id is free.
    next_free: i32,
    /// The first type without fields and without a name, but for "no type".
    empty: Option<TypeId>,
}

impl TypeIds {
    /// Looks at the types that were added since it was asked last.
    fn log_types(&mut self, log: LogFileId, types: &[CustomType]) -> &mut LogTypes {
        for custom_type in types.get(self.seen..).unwrap_or_default() {
            self.taken.insert((custom_type.log_file, custom_type.id.0));
            let known = self.of_logs.entry(custom_type.log_file).or_default();
            known.largest = known.largest.max(custom_type.id.0);
            // What has no type must not be called as one that has a name.
            let is_bare = custom_type.fields.is_empty() && custom_type.name.is_empty();
            let is_empty = is_bare && custom_type.id.0 != NO_TYPE;
            known.empty = known.empty.or(is_empty.then_some(custom_type.id));
        }
        self.seen = types.len();
        self.of_logs.entry(log).or_default()
    }

    /// The type without fields of a log file.
    pub(crate) fn empty(&mut self, log: LogFileId, types: &[CustomType]) -> Option<TypeId> {
        self.log_types(log, types).empty
    }

    /// The next id of a log file, from 1 on; when the largest is taken, one below.
    pub(crate) fn next(&mut self, log: LogFileId, types: &[CustomType]) -> TypeId {
        let LogTypes { largest, mut next_free, .. } = *self.log_types(log, types);
        if let Some(next) = largest.checked_add(1) {
            return TypeId(next);
        }
        next_free = next_free.max(NO_TYPE + 1);
        // There are fewer types than numbers: they are in memory.
        while self.taken.contains(&(log, next_free)) {
            next_free += 1;
        }
        self.of_logs.entry(log).or_default().next_free = next_free;
        TypeId(next_free)
    }
}
