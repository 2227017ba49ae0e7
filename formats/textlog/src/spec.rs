//! Words of the grammar.

/// First bytes of a log that has its grammar in its first lines.
pub(crate) const SIGNATURE: &str = "# kymo log";

/// The grammar of every log in a folder.
pub(crate) const FOLDER_GRAMMAR: &str = "log.toml";

/// Rules that a grammar may have: each is tried on every line.
pub(crate) const RULES_MAX: usize = 64;

/// Bytes of a grammar; it is written by hand.
pub(crate) const GRAMMAR_BYTES_MAX: usize = 1 << 20;

/// Bytes that an expression may take when it is compiled.
pub(crate) const EXPRESSION_BYTES_MAX: usize = 512 << 10;

/// Class of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// Nothing that is to be seen.
    Ignore,
    /// A text.
    Text,
    /// A processor goes from one task to another.
    Switch,
    /// A task runs.
    Begin,
    /// It stops.
    End,
    /// A task has something to do.
    Release,
    /// It is done.
    Complete,
    /// A message leaves.
    Send,
    /// It arrives.
    Receive,
    /// A state machine enters a state.
    Enter,
    /// A function is called.
    Call,
    /// It returns.
    Return,
}

impl Class {
    /// Every class by its word.
    pub(crate) const ALL: [(&str, Self); 12] = [
        ("ignore", Self::Ignore),
        ("text", Self::Text),
        ("switch", Self::Switch),
        ("begin", Self::Begin),
        ("end", Self::End),
        ("release", Self::Release),
        ("complete", Self::Complete),
        ("send", Self::Send),
        ("receive", Self::Receive),
        ("enter", Self::Enter),
        ("call", Self::Call),
        ("return", Self::Return),
    ];

    /// The groups that a line of the class must have.
    pub(crate) fn needs(self) -> &'static [&'static str] {
        match self {
            Self::Ignore | Self::Text => &[],
            Self::Enter => &["task", "state"],
            Self::Call => &["task", "name"],
            _ => &["task"],
        }
    }
}

/// Groups that have a meaning; all others are fields.
pub(crate) const GROUPS: [&str; 12] = [
    "time",
    "cpu",
    "task",
    "from",
    "priority",
    "budget",
    "remaining",
    "peer",
    "message",
    "state",
    "name",
    "text",
];
