//! Numbers of the specification, and of the writers in the field where it gives none.
//!
//! Layouts in words: `docs/formats/bbbin.md`.

/// The first four bytes, as a number.
pub const MAGIC: u32 = 0x0BAD_BABE;
/// The only version that has this layout.
pub const VERSION: i32 = 10;
/// The header: magic, version and seven pointers.
pub const HEADER_BYTES: u64 = 64;
/// Events in a block of the index; the last has fewer.
pub const BLOCK_EVENTS: u64 = 1000;

/// The index before its blocks.
pub const INDEX_HEADER_BYTES: u64 = 40;
/// A block of the index.
pub const BLOCK_BYTES: u64 = 48;
/// The smallest log file: its strings are empty.
pub const LOG_FILE_BYTES_MIN: u64 = 28;
/// The smallest custom type: it has no name and no field.
pub const TYPE_BYTES_MIN: u64 = 16;
/// The smallest field of a custom type: it has no name.
pub const FIELD_BYTES_MIN: u64 = 12;
/// The smallest artifact: a GENERIC one without a name.
pub const ARTIFACT_BYTES_MIN: u64 = 24;
/// The smallest event: a GENERIC one without values.
pub const EVENT_BYTES_MIN: u64 = 24;
/// A `TASK_SWITCH` without values.
pub const TASK_SWITCH_BYTES: usize = 36;
/// An entry of TASK EXECUTIONS.
pub const TASK_EXECUTION_BYTES: u64 = 16;

/// A time that is not known: where a message was received or sent.
pub const UNKNOWN_TIME: i64 = -1;
/// A time budget or remaining time that is not known. No -1: that would be a job that was late.
pub const NO_BUDGET: i64 = i64::MAX;
/// A state that is not known.
pub const UNKNOWN_STATE: i32 = -1;
/// The task of existing writers that stands for one they do not know.
pub const UNKNOWN_TASK: i32 = 777;
/// The priority of existing writers that stands for one they do not know.
pub const UNKNOWN_PRIORITY: i32 = -777;
/// The priority of ours that task 777 has where nobody runs, as is known.
pub const NOBODY_PRIORITY: i32 = i32::MIN;
/// A custom type of ours, for what the format has no place for: its fields have one value each, of
/// one type. Others may call a type so, but hardly one of the same fields.
#[derive(Debug, Clone, Copy)]
pub struct OwnType {
    /// Its name.
    pub name: &'static str,
    /// The names of its fields.
    pub fields: &'static [&'static str],
    /// Type of each of them.
    pub of: FieldType,
}

/// The type of artifacts of tasks of which more is known: whether they run when there is nothing to
/// do, and whether they are said to be complete whenever they stop by themselves.
pub const TASK_TYPE: OwnType =
    OwnType { name: "task", fields: &["is_idle", "tells_completion"], of: FieldType::Boolean };
/// The type of a `TASK_RELEASE` by another processor: its number.
pub const RELEASE_TYPE: OwnType =
    OwnType { name: "release", fields: &["by_cpu"], of: FieldType::Int32 };
/// The type of a `TASK_SWITCH` to task 777 or of a GENERIC event where something is missing: what, in
/// the word of timelines. Who ran until there did not stop, but is not known to run on.
pub const GAP_TYPE: OwnType = OwnType { name: "gap", fields: &["missing"], of: FieldType::String };
/// The type of GENERIC artifacts that are threads of functions.
pub const CALLS_TYPE: OwnType = OwnType { name: "calls", fields: &[], of: FieldType::Boolean };
/// The type of a `FUNCTION_ENTER` or `FUNCTION_EXIT` of such a thread: its artifact.
pub const CALL_TYPE: OwnType =
    OwnType { name: "call", fields: &["thread"], of: FieldType::ArtifactId };
/// The type of a GENERIC artifact that says of its log file whether times count from the Epoch.
pub const CLOCK_TYPE: OwnType =
    OwnType { name: "clock", fields: &["since_epoch"], of: FieldType::Boolean };
/// The name of that artifact.
pub const CLOCK_NAME: &str = "Epoch";
/// The type of a GENERIC artifact that says of its log file whether functions that are of no thread
/// are interrupts.
pub const PROCESSOR_TYPE: OwnType =
    OwnType { name: "processor", fields: &["has_interrupts"], of: FieldType::Boolean };
/// The name of that artifact.
pub const PROCESSOR_NAME: &str = "processor";
/// The type of artifacts that `repair` declared, since nothing else did: their names are made up.
pub const MADE_TYPE: OwnType =
    OwnType { name: "made", fields: &["by_repair"], of: FieldType::Boolean };
/// Importer of log files that `repair` declared.
pub const REPAIRER: &str = "kymo repair";
/// "No type": what existing readers fail on.
pub const NO_TYPE: i32 = 0;

/// The sections, in the order of the header's pointers and of the specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Section {
    /// LOG FILES
    LogFiles,
    /// CUSTOM TYPES
    Types,
    /// EVENTS
    Events,
    /// EVENT INDEX
    EventIndex,
    /// ARTIFACTS
    Artifacts,
    /// TASK EXECUTIONS
    TaskExecutions,
    /// STATISTICS
    Statistics,
}

impl Section {
    /// Every section.
    pub const ALL: [Self; 7] = [
        Self::LogFiles,
        Self::Types,
        Self::Events,
        Self::EventIndex,
        Self::Artifacts,
        Self::TaskExecutions,
        Self::Statistics,
    ];

    /// The specification's name for the pointer to it.
    #[must_use]
    pub fn pointer(self) -> &'static str {
        match self {
            Self::LogFiles => "log-files-fptr",
            Self::Types => "types-fptr",
            Self::Events => "events-fptr",
            Self::EventIndex => "event-index-fptr",
            Self::Artifacts => "artifacts-fptr",
            Self::TaskExecutions => "task-execs-fptr",
            Self::Statistics => "statistics-fptr",
        }
    }

    /// The specification's name for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::LogFiles => "LOG FILES",
            Self::Types => "CUSTOM TYPES",
            Self::Events => "EVENTS",
            Self::EventIndex => "EVENT INDEX",
            Self::Artifacts => "ARTIFACTS",
            Self::TaskExecutions => "TASK EXECUTIONS",
            Self::Statistics => "STATISTICS",
        }
    }

    /// The name of the rule that says it can be read.
    #[must_use]
    pub fn rule(self) -> &'static str {
        match self {
            Self::LogFiles => "log-files",
            Self::Types => "types",
            Self::Events => "events",
            Self::EventIndex => "index",
            Self::Artifacts => "artifacts",
            Self::TaskExecutions => "task-executions",
            Self::Statistics => "statistics",
        }
    }

    /// The bytes it has at least.
    #[must_use]
    pub fn bytes_min(self) -> u64 {
        match self {
            Self::EventIndex => INDEX_HEADER_BYTES,
            Self::Statistics => 24,
            _ => 8,
        }
    }
}

/// Names for the numbers of an enumeration, one a line.
macro_rules! enumeration {
    (
        $(#[$about:meta])* $type:ident {
            $($(#[$doc:meta])* $variant:ident = $number:literal $name:literal),* $(,)?
        }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $type {
            $($(#[$doc])* $variant,)*
        }

        impl $type {
            /// Every one, by number.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The one with this number.
            #[must_use]
            pub fn from_number(number: i32) -> Option<Self> {
                match number {
                    $($number => Some(Self::$variant),)*
                    _ => None,
                }
            }

            /// Its number in a file.
            #[must_use]
            pub fn number(self) -> i32 {
                match self {
                    $(Self::$variant => $number,)*
                }
            }

            /// The specification's name for it.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

enumeration! {
    /// Class of an event.
    EventClass {
        /// Only its custom type says what it is.
        Generic = 1 "GENERIC",
        /// Another task runs from here on.
        TaskSwitch = 2 "TASK_SWITCH",
        /// A task has something to do.
        TaskRelease = 3 "TASK_RELEASE",
        /// A task has done it.
        TaskCompletion = 4 "TASK_COMPLETION",
        /// A message leaves a task.
        Send = 5 "SEND",
        /// A message arrives at a task.
        Receive = 6 "RECEIVE",
        /// A message leaves a state machine.
        SrlSend = 7 "SRL SEND",
        /// A message arrives at a state machine and sets it to a state.
        SrlReceive = 8 "SRL RECEIVE",
        /// A function begins.
        FunctionEnter = 9 "FUNCTION_ENTER",
        /// A function ends.
        FunctionExit = 10 "FUNCTION_EXIT",
    }
}

enumeration! {
    /// Type of a custom field.
    FieldType {
        /// One byte, signed.
        Int8 = 1 "INT8",
        /// One byte.
        Uint8 = 2 "UINT8",
        /// Two bytes, signed.
        Int16 = 3 "INT16",
        /// Two bytes.
        Uint16 = 4 "UINT16",
        /// Four bytes, signed.
        Int32 = 5 "INT32",
        /// Four bytes.
        Uint32 = 6 "UINT32",
        /// Eight bytes, signed.
        Int64 = 7 "INT64",
        /// Eight bytes.
        Uint64 = 8 "UINT64",
        /// IEEE single precision.
        Float = 9 "FLOAT",
        /// IEEE double precision.
        Double = 10 "DOUBLE",
        /// One byte.
        Boolean = 11 "BOOLEAN",
        /// A length of four bytes, and that many characters.
        String = 12 "STRING",
        /// The id of an artifact of the same log file, four bytes.
        ArtifactId = 13 "ARTIFACT_ID",
    }
}

impl FieldType {
    /// Returns the number of bits of a whole number.
    #[must_use]
    pub fn bits(self) -> Option<u32> {
        Some(match self {
            Self::Int8 | Self::Uint8 => 8,
            Self::Int16 | Self::Uint16 => 16,
            Self::Int32 | Self::Uint32 | Self::ArtifactId => 32,
            Self::Int64 | Self::Uint64 => 64,
            Self::Float | Self::Double | Self::Boolean | Self::String => return None,
        })
    }
}

enumeration! {
    /// Class of an artifact.
    ArtifactClass {
        /// Only its custom type says what it is.
        Generic = 1 "GENERIC",
        /// Something that runs.
        Task = 2 "TASK",
        /// Something that is in a state.
        StateMachine = 3 "STATE MACHINE",
        /// A state of a state machine, or within another state.
        State = 4 "STATE",
    }
}

enumeration! {
    /// Kind of task that a TASK is.
    TaskClass {
        /// A task of the operating system.
        Task = 1 "TASK",
        /// A process with memory of its own.
        Process = 2 "PROCESS",
        /// A thread of a process.
        Thread = 3 "THREAD",
    }
}
