//! Grammar of a format: what it states about its lines.

use std::borrow::Cow;

use kymo_core::{Finding, Severity, Value};
use kymo_model::timeline::{Activity, Content, TimeNs};

use crate::fields::plain_value;
use crate::{Key, Reader};

/// Meaning of the lines of a format.
pub trait Grammar: Send + Sync + 'static {
    /// Reads a line.
    fn read<'a>(&'a self, line: &'a str) -> LineContent<'a>;

    /// The fields of an event under their names.
    fn fields<'a>(&'a self, line: &Line<'a>) -> Vec<(Cow<'a, str>, Cow<'a, str>)>;

    /// The text of an event.
    fn text<'a>(&'a self, line: &Line<'a>) -> Cow<'a, str>;

    /// The track of the event itself.
    fn stream<'a>(&self, line: &Line<'a>) -> Key<'a> {
        Key::Events(line.cpu)
    }

    /// Tells what an event is to tasks and the like, in the order in which it happens.
    fn interpret<'a>(
        &'a self,
        line: &Line<'a>,
        telling: &mut GrammarState,
        to: &mut dyn FnMut(TrackEvent<'a>),
    );

    /// Returns true if what an event is depends on those before it.
    fn is_stateful(&self) -> bool {
        false
    }

    /// Returns true if what is counted is a field of its line, always.
    fn counts_fields(&self) -> bool {
        false
    }

    /// Returns true if times count from the Epoch.
    fn is_since_epoch(&self) -> bool {
        false
    }

    /// After how long times start over: those that do not tell the day, or the year.
    fn cycle_ns(&self) -> Option<i64> {
        None
    }

    /// A time as it is after times started over so often; nothing where there is no such day then.
    fn later(&self, time: TimeNs, _turns: u32) -> Option<TimeNs> {
        Some(time)
    }

    /// Returns the value of the text of a field: a number where it is nothing but one.
    fn value(&self, text: &str) -> Value {
        plain_value(text)
    }

    /// Returns the findings about all events together, which are reported wherever the recording is
    /// read.
    fn findings(_reader: &Reader<Self>) -> Vec<Finding>
    where
        Self: Sized,
    {
        Vec::new()
    }

    /// Returns the dialect of the format.
    fn dialect(&self) -> String;
}

/// Meaning of a line.
#[derive(Debug, Clone, PartialEq)]
pub enum LineContent<'a> {
    /// An event.
    Event(Line<'a>),
    /// A comment, or a part of the event before that says nothing else.
    Aside,
    /// A line of the calling context of the event before, which is not read.
    Frame,
    /// Something worth knowing: how bad it is, the rule, and what to say.
    Remark(Severity, &'static str, Cow<'static, str>),
    /// Events are missing here, of a processor where that is told; what to say of it.
    Lost(Option<u32>, Cow<'static, str>),
    /// Not what it should be: how bad that is, and why.
    Broken(Severity, &'static str),
}

/// An event as a line has it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Line<'a> {
    /// Time of the event.
    pub time: Option<TimeNs>,
    /// The processor it was on.
    pub cpu: Option<u32>,
    /// The name of the task that it was in.
    pub task: Option<&'a str>,
    /// The number of that task.
    pub tid: Option<i64>,
    /// Name of the event: `sched_switch`.
    pub name: &'a str,
    /// Rest of the line.
    pub rest: &'a str,
    /// Number of the grammar's rule that reads it, where there are several rules.
    pub rule: usize,
}

/// Meaning of an event on a track.
#[derive(Debug, Clone, PartialEq)]
pub struct TrackEvent<'a> {
    /// The track.
    pub key: Key<'a>,
    /// The name of who it is of, where the key is a number.
    pub name: Option<&'a str>,
    /// Content of the event.
    pub content: Content<'a>,
    /// The track of the other end of a message.
    pub peer: Option<Key<'a>>,
}

impl<'a> TrackEvent<'a> {
    /// Creates an event for an activity of a task or the like.
    #[must_use]
    pub fn activity(key: Key<'a>, name: Option<&'a str>, activity: Activity<'a>) -> Self {
        Self { key, name, content: Content::Activity(activity), peer: None }
    }
}

/// State that is known while events are read.
#[derive(Debug, Clone, Default)]
pub struct GrammarState {
    /// All that could be told is, to find out which tracks there are.
    pub is_survey: bool,
    /// There are events that ask for wakeups; these are releases then, as they come first.
    pub has_waking: bool,
    /// Running task of each processor.
    pub running: Vec<(Option<u32>, Key<'static>)>,
    /// Parts of an event that cannot be read: the rule and the message.
    pub(crate) doubts: Vec<(&'static str, &'static str)>,
}

impl GrammarState {
    /// Notes that a part of an event cannot be read, so that what it means is not told. That is
    /// found out once, when all lines are looked at.
    pub fn mark_unreadable(&mut self, rule: &'static str, why: &'static str) {
        if self.is_survey {
            self.doubts.push((rule, why));
        }
    }

    /// Notes who runs on a processor. Tells who ran before.
    pub fn run(&mut self, cpu: Option<u32>, key: Key<'static>) -> Option<Key<'static>> {
        let before = self.stop(cpu);
        self.running.push((cpu, key));
        before
    }

    /// Nobody runs on a processor any more. Tells who ran.
    pub fn stop(&mut self, cpu: Option<u32>) -> Option<Key<'static>> {
        let at = self.running.iter().position(|(value, _)| *value == cpu)?;
        Some(self.running.swap_remove(at).1)
    }
}
