//! Lines to events, and what these are to tasks.
//!
//! A line is told by the first rule that matches it. Its groups that have no meaning of their own are
//! fields; those that are numbers are also numbers over time, of the task that the line is of.

use std::borrow::Cow;

use kymo_core::{Severity, Value};
use kymo_lines::{Grammar, GrammarState, Key, Line, LineContent, TaskKey, TrackEvent, scaled};
use kymo_model::timeline::{Activity, Content, Message, TimeNs};
use regex::Captures;

use crate::grammar::{Rule, TextGrammar};
use crate::spec::{Class, GROUPS};
use crate::time::Cycle;

impl Grammar for TextGrammar {
    fn read<'a>(&'a self, line: &'a str) -> LineContent<'a> {
        if line.trim_start().is_empty() {
            return LineContent::Aside;
        }
        let matched = self
            .rules
            .iter()
            .enumerate()
            .find_map(|(number, rule)| Some((number, rule, rule.expression.captures(line)?)));
        let Some((number, rule, captures)) = matched else {
            return LineContent::Broken(Severity::Warning, "it matches no rule of the grammar");
        };
        if rule.class == Class::Ignore {
            return LineContent::Aside;
        }
        let groups = Groups { rule, captures };
        match self.time_of(&groups) {
            Ok(time) => LineContent::Event(Line {
                time,
                cpu: groups.get("cpu").and_then(|cpu| cpu.parse().ok()),
                task: groups.get("task"),
                tid: None,
                name: &rule.label,
                rest: line,
                rule: number,
            }),
            Err(why) => LineContent::Broken(Severity::Error, why),
        }
    }

    /// The groups that are no columns, and the line where no group is the text: there may be words
    /// between groups.
    fn fields<'a>(&'a self, line: &Line<'a>) -> Vec<(Cow<'a, str>, Cow<'a, str>)> {
        let Some(groups) = self.groups(line) else { return Vec::new() };
        let is_column = |name: &str| ["time", "cpu", "task"].contains(&name);
        let line = groups.get("text").is_none().then_some(("text", line.rest));
        let all = groups.all().filter(|(name, _)| !is_column(name)).chain(line);
        all.map(|(name, value)| (name.into(), value.into())).collect()
    }

    /// The group `text` and the other groups behind it, so that nothing of the line is lost; without
    /// that group, the line.
    fn text<'a>(&'a self, line: &Line<'a>) -> Cow<'a, str> {
        let Some(groups) = self.groups(line) else { return line.rest.into() };
        let Some(text) = groups.get("text") else { return line.rest.into() };
        let is_more = |name: &str| !["time", "cpu", "text"].contains(&name);
        let more = groups.all().filter(|(name, _)| is_more(name));
        let more: Vec<_> = more.map(|(name, value)| format!("{name}={value}")).collect();
        if more.is_empty() { text.into() } else { format!("{text} [{}]", more.join(" ")).into() }
    }

    /// Returns the track of a line; messages of a task have a track of their own.
    fn stream<'a>(&self, line: &Line<'a>) -> Key<'a> {
        let is_text = self.rules.get(line.rule).is_some_and(|rule| rule.class == Class::Text);
        match line.task {
            Some(task) if is_text && line.cpu.is_none() => Key::Says(TaskKey::Name(task.into())),
            _ => Key::Events(line.cpu),
        }
    }

    fn interpret<'a>(
        &'a self,
        line: &Line<'a>,
        telling: &mut GrammarState,
        to: &mut dyn FnMut(TrackEvent<'a>),
    ) {
        let Some(groups) = self.groups(line) else { return };
        if groups.has_value("cpu") && line.cpu.is_none() {
            telling.mark_unreadable("cpu", "its processor is no number, and is left out");
        }
        if let Some(task) = line.task {
            self.interpret_class(line, task, &groups, telling, to);
        }
        for (name, value) in groups.all().filter(|(name, _)| !GROUPS.contains(name)) {
            let Some(value) = number(value) else { continue };
            let who = line.task.map(|task| TaskKey::Name(task.into()));
            let key = Key::Counter(who, name.into());
            to(TrackEvent { key, name: None, content: Content::Value(value), peer: None });
        }
    }

    fn is_stateful(&self) -> bool {
        self.rules.iter().any(|rule| rule.class == Class::Switch && !rule.names_stopped_task())
    }

    fn counts_fields(&self) -> bool {
        true
    }

    fn is_since_epoch(&self) -> bool {
        self.is_since_epoch
    }

    fn cycle_ns(&self) -> Option<i64> {
        self.time.cycle().map(Cycle::ns)
    }

    fn later(&self, time: TimeNs, turns: u32) -> Option<TimeNs> {
        self.time.cycle().map_or(Some(time), |cycle| cycle.later(time, turns))
    }

    fn value(&self, text: &str) -> Value {
        number(text).unwrap_or_else(|| text.into())
    }

    fn dialect(&self) -> String {
        match &self.title {
            Some(title) => kymo_core::shortened(title).into_owned(),
            None if self.rules.len() == 1 => "a grammar of 1 rule".to_owned(),
            None => format!("a grammar of {} rules", self.rules.len()),
        }
    }
}

/// The groups of a line that matched a rule.
struct Groups<'a> {
    rule: &'a Rule,
    captures: Captures<'a>,
}

impl<'a> Groups<'a> {
    /// Returns what a group matched, or the constant value that the rule gives for it.
    fn get(&self, name: &str) -> Option<&'a str> {
        let matched = self.captures.name(name).map(|group| group.as_str());
        matched.or_else(|| {
            let constant = self.rule.constants.iter().find(|(known, _)| known == name);
            constant.map(|(_, value)| value.as_str())
        })
    }

    /// Returns true if a group matched something that is not empty.
    fn has_value(&self, name: &str) -> bool {
        self.get(name).is_some_and(|text| !text.is_empty())
    }

    /// Every group that has a name and matched something, and what always is.
    fn all(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let rule = self.rule;
        let names = rule.expression.capture_names().flatten();
        let matched = names.filter_map(|name| Some((name, self.captures.name(name)?.as_str())));
        let is_matched = |name: &str| self.captures.name(name).is_some();
        let constants = rule.constants.iter().filter(move |(name, _)| !is_matched(name));
        matched.chain(constants.map(|(name, value)| (name.as_str(), value.as_str())))
    }
}

impl TextGrammar {
    fn groups<'a>(&'a self, line: &Line<'a>) -> Option<Groups<'a>> {
        let rule = self.rules.get(line.rule)?;
        Some(Groups { rule, captures: rule.expression.captures(line.rest)? })
    }

    fn time_of(&self, groups: &Groups<'_>) -> Result<Option<TimeNs>, &'static str> {
        match groups.get("time") {
            None => Ok(None),
            Some(text) => self.time.read(text).map(Some).ok_or("its time cannot be read"),
        }
    }

    /// Returns the duration of the budget of a release.
    fn budget(&self, groups: &Groups<'_>, telling: &mut GrammarState) -> Option<i64> {
        let budget_ns = scaled(groups.get("budget")?, self.duration_digits);
        if groups.has_value("budget") && budget_ns.is_none() {
            telling.mark_unreadable("budget", "its budget is no number, and is left out");
        }
        budget_ns
    }

    /// Returns the duration from a completion to the end of its time.
    fn remaining(&self, groups: &Groups<'_>, telling: &mut GrammarState) -> Option<i64> {
        let remaining_ns = scaled(groups.get("remaining")?, self.duration_digits);
        if groups.has_value("remaining") && remaining_ns.is_none() {
            telling
                .mark_unreadable("remaining", "its remaining time is no number, and is left out");
        }
        remaining_ns
    }

    fn interpret_class<'a>(
        &self,
        line: &Line<'a>,
        task: &'a str,
        groups: &Groups<'a>,
        telling: &mut GrammarState,
        to: &mut dyn FnMut(TrackEvent<'a>),
    ) {
        let who = || TaskKey::Name(Cow::Borrowed(task));
        let key = Key::Task(line.cpu, who());
        let name = || groups.get("name").map(Cow::Borrowed);
        let priority = groups.get("priority").and_then(|priority| priority.parse().ok());
        if groups.has_value("priority") && priority.is_none() {
            telling.mark_unreadable("priority", "its priority is no number, and is left out");
        }
        let (key, activity) = match groups.rule.class {
            Class::Ignore | Class::Text => return,
            Class::Switch => {
                stop_other(line, task, groups, telling, to);
                (key, Activity::Begin { name: None, priority, ends: None })
            }
            Class::Begin => (key, Activity::Begin { name: name(), priority, ends: None }),
            Class::End => (key, Activity::End),
            Class::Release => {
                let budget_ns = self.budget(groups, telling);
                (key, Activity::Release { budget_ns, by: None })
            }
            Class::Complete => {
                let remaining_ns = self.remaining(groups, telling);
                (key, Activity::Complete { remaining_ns })
            }
            Class::Send => return message(line, key, groups, Activity::Send, to),
            Class::Receive => return message(line, key, groups, Activity::Receive, to),
            Class::Enter => {
                let state = groups.get("state").unwrap_or_default().into();
                (Key::Machine(task.into()), Activity::Enter { state, settled: None })
            }
            Class::Call => {
                let begin = Activity::Begin { name: name(), priority: None, ends: None };
                (Key::Calls(who()), begin)
            }
            Class::Return => {
                let end = name().map_or(Activity::End, |name| Activity::EndOf { name });
                (Key::Calls(who()), end)
            }
        };
        to(TrackEvent::activity(key, None, activity));
    }
}

/// Ends the stretch of the task that a switch stops.
fn stop_other<'a>(
    line: &Line<'a>,
    task: &'a str,
    groups: &Groups<'a>,
    telling: &mut GrammarState,
    to: &mut dyn FnMut(TrackEvent<'a>),
) {
    let now = Key::Task(line.cpu, TaskKey::Name(Cow::Owned(task.to_owned())));
    let before = match groups.get("from") {
        Some(from) => Some(Key::Task(line.cpu, TaskKey::Name(from.into()))),
        None => telling.run(line.cpu, now),
    };
    if let Some(before) = before {
        to(TrackEvent::activity(before, None, Activity::End));
    }
}

fn message<'a>(
    line: &Line<'a>,
    key: Key<'a>,
    groups: &Groups<'a>,
    end: fn(Message<'a>) -> Activity<'a>,
    to: &mut dyn FnMut(TrackEvent<'a>),
) {
    let name = groups.get("message").unwrap_or("message").into();
    let activity = end(Message { name, peer: None, peer_time: None });
    let peer = groups.get("peer").map(|peer| Key::Task(line.cpu, TaskKey::Name(peer.into())));
    to(TrackEvent { key, name: None, content: Content::Activity(activity), peer });
}

/// A number of a field. A whole one of more than 64 bits would lose digits, and is none.
fn number(text: &str) -> Option<Value> {
    let whole = text.parse().map(Value::Int).or_else(|_| text.parse().map(Value::UInt));
    if let Ok(whole) = whole {
        return Some(whole);
    }
    let starts = text.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.');
    let has_point = text.contains(['.', 'e', 'E']);
    let number =
        text.parse::<f64>().ok().filter(|number| starts && has_point && number.is_finite());
    number.map(Value::Float)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_whole_or_have_a_point_or_an_exponent() {
        assert_eq!(number("-12"), Some(Value::Int(-12)));
        assert_eq!(number("18446744073709551615"), Some(Value::UInt(u64::MAX)));
        assert_eq!(number("1e3"), Some(Value::Float(1000.0)));
        assert_eq!(number("-.5"), Some(Value::Float(-0.5)));
        for text in ["", "-", ".", "1e999", "inf", "e3", "0x10", "18446744073709551616"] {
            assert_eq!(number(text), None, "{text}");
        }
    }
}
