//! TOML to rules.

use std::ops::Range;

use kymo_core::bytes::{ReadError, ReadResult};
use regex::{Regex, RegexBuilder};
use toml_edit::{Document, Item, Table, Value};

use crate::spec::{self, Class};
use crate::time::{TimeFormat, digits};

/// Meaning of the lines of a log.
#[derive(Debug)]
pub struct TextGrammar {
    pub(crate) title: Option<String>,
    pub(crate) time: TimeFormat,
    pub(crate) is_since_epoch: bool,
    /// Number of digits after the point of a duration that are nanoseconds.
    pub(crate) duration_digits: usize,
    pub(crate) rules: Vec<Rule>,
}

/// Meaning of lines that match an expression.
#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) expression: Regex,
    pub(crate) class: Class,
    /// Name of the events: the rule's own word, or its class.
    pub(crate) label: String,
    /// Groups that every line has with the same value.
    pub(crate) constants: Vec<(String, String)>,
}

impl Rule {
    fn has_group(&self, group: &str) -> bool {
        let is_constant = self.constants.iter().any(|(name, _)| name == group);
        is_constant || self.expression.capture_names().flatten().any(|name| name == group)
    }

    /// Returns true if a line says which task stops; else it is the one that ran.
    pub(crate) fn names_stopped_task(&self) -> bool {
        self.has_group("from")
    }
}

/// The offset of what is wrong with the grammar as a whole.
const NOWHERE: u64 = u64::MAX;

fn wrong(what: &'static str, span: Option<Range<usize>>, why: impl Into<String>) -> ReadError {
    let offset = span.map_or(NOWHERE, |span| span.start as u64);
    ReadError::invalid(what, offset, why.into())
}

/// Says what is wrong with the line and the column that an editor shows, and what stands there.
fn placed(toml: &str, error: ReadError) -> ReadError {
    let ReadError { what, offset, kind } = error;
    let before = usize::try_from(offset).ok().and_then(|offset| toml.get(..offset));
    let Some(before) = before.filter(|_| offset != NOWHERE) else {
        return ReadError { what, offset: 0, kind };
    };
    let begin = before.rfind('\n').map_or(0, |end| end + 1);
    let line = before.matches('\n').count() + 1;
    let column = before.get(begin..).unwrap_or_default().chars().count() + 1;
    let text = toml.get(begin..).and_then(|rest| rest.lines().next()).unwrap_or_default();
    let text = kymo_core::shortened(text.trim());
    let text = if text.is_empty() { String::new() } else { format!(": {text}") };
    ReadError::invalid(what, offset, format!("{kind}; line {line}, column {column}{text}"))
}

impl TextGrammar {
    /// Reads a grammar.
    ///
    /// # Errors
    /// When it is no TOML, or has keys or words that mean nothing.
    pub fn read(toml: &str) -> ReadResult<Self> {
        Self::parse(toml).map_err(|error| placed(toml, error))
    }

    fn parse(toml: &str) -> ReadResult<Self> {
        if toml.len() > spec::GRAMMAR_BYTES_MAX {
            return Err(wrong("grammar", None, "it has more than a megabyte"));
        }
        let document = Document::parse(toml).map_err(|error| {
            wrong("grammar", error.span(), format!("it is no TOML: {}", error.message().trim()))
        })?;
        let table = document.as_table();
        check_keys(table, &["title", "time", "epoch", "unit", "year", "line"])?;
        let year = match table.get("year") {
            None => None,
            Some(item) => Some(year(item)?),
        };
        let word = text(table, "time")?.unwrap_or("s");
        let time = TimeFormat::new(word, year).ok_or_else(|| {
            let why = format!("{word} is none of s, ms, us, ns, iso, or a pattern with %");
            wrong("time", span(table, "time"), why)
        })?;
        if let Some(directive) = time.unknown() {
            let why = format!("`{directive}` is nothing that can be read in a time");
            return Err(wrong("time", span(table, "time"), why));
        }
        if time.is_missing_year() {
            let why = "it has a day and no year: say of which, as `year = 2026`";
            return Err(wrong("time", span(table, "time"), why));
        }
        let is_since_epoch = match table.get("epoch") {
            None => time.has_date(),
            Some(item) => item
                .as_bool()
                .ok_or_else(|| wrong("epoch", item.span(), "it is neither true nor false"))?,
        };
        let unit = text(table, "unit")?.unwrap_or(if matches!(word, "ms" | "us" | "ns") {
            word
        } else {
            "s"
        });
        let duration_digits = digits(unit)
            .ok_or_else(|| wrong("unit", span(table, "unit"), "it is none of s, ms, us, ns"))?;
        let title = text(table, "title")?.map(str::to_owned);
        let rules = rules(table)?;
        Ok(Self { title, time, is_since_epoch, duration_digits, rules })
    }
}

fn year(item: &Item) -> ReadResult<i16> {
    let year = item.as_integer().and_then(|year| i16::try_from(year).ok());
    year.ok_or_else(|| wrong("year", item.span(), "it is no year"))
}

/// Refuses keys that mean nothing, which may be misspelt.
fn check_keys(table: &Table, keys: &[&str]) -> ReadResult<()> {
    match table.iter().find(|(key, _)| !keys.contains(key)) {
        None => Ok(()),
        Some((key, item)) => {
            let why = format!("`{key}` is none of {}", keys.join(", "));
            Err(wrong("key", item.span(), why))
        }
    }
}

fn text<'a>(table: &'a Table, key: &'static str) -> ReadResult<Option<&'a str>> {
    let Some(item) = table.get(key) else { return Ok(None) };
    match item.as_str() {
        Some(text) => Ok(Some(text)),
        None => Err(wrong(key, item.span(), "it is no text")),
    }
}

fn span(table: &Table, key: &str) -> Option<Range<usize>> {
    table.get(key).and_then(Item::span)
}

fn rules(table: &Table) -> ReadResult<Vec<Rule>> {
    let none = || wrong("line", None, "there is no [[line]]: a grammar has one for each kind");
    let item = table.get("line").ok_or_else(none)?;
    let lines = item.as_array_of_tables().ok_or_else(none)?;
    if lines.len() > spec::RULES_MAX {
        let why = format!("there are more than {}", spec::RULES_MAX);
        return Err(wrong("line", item.span(), why));
    }
    lines.iter().map(rule).collect()
}

fn rule(table: &Table) -> ReadResult<Rule> {
    let keys = ["match", "class", "label"];
    let all: Vec<_> = keys.iter().chain(&spec::GROUPS).copied().collect();
    check_keys(table, &all)?;
    let expression = text(table, "match")?
        .ok_or_else(|| wrong("line", table.span(), "it has no expression to `match`"))?;
    let expression = RegexBuilder::new(expression)
        .size_limit(spec::EXPRESSION_BYTES_MAX)
        .dfa_size_limit(spec::EXPRESSION_BYTES_MAX)
        .build()
        .map_err(|error| wrong("match", span(table, "match"), one_line(&error.to_string())))?;
    let class = class(table)?;
    let label = text(table, "label")?.map_or_else(|| word(class).to_owned(), str::to_owned);
    let constants = table.iter().filter(|(key, _)| !keys.contains(key)).map(constant);
    let constants = constants.collect::<ReadResult<Vec<_>>>()?;
    let rule = Rule { expression, class, label, constants };
    match class.needs().iter().find(|group| !rule.has_group(group)) {
        None => Ok(rule),
        Some(group) => {
            let word = word(class);
            let why = format!("{word} needs a group (?<{group}>…), or a key `{group}`");
            Err(wrong("line", table.span(), why))
        }
    }
}

/// Returns the fault of an expression, without the picture of its place.
fn one_line(message: &str) -> String {
    let words = message.lines().filter(|line| !line.starts_with("    ")).map(str::trim);
    words.collect::<Vec<_>>().join(" ")
}

fn class(table: &Table) -> ReadResult<Class> {
    let word = text(table, "class")?.unwrap_or("text");
    let found = Class::ALL.iter().find(|(known, _)| *known == word);
    found.map(|(_, class)| *class).ok_or_else(|| {
        let words = Class::ALL.map(|(word, _)| word).join(", ");
        wrong("class", span(table, "class"), format!("{word} is none of {words}"))
    })
}

fn word(class: Class) -> &'static str {
    Class::ALL.iter().find(|(_, known)| *known == class).map_or("", |(word, _)| word)
}

fn constant((key, item): (&str, &Item)) -> ReadResult<(String, String)> {
    let value = match item.as_value() {
        Some(Value::String(text)) => text.value().clone(),
        Some(Value::Integer(number)) => number.value().to_string(),
        _ => return Err(wrong("key", item.span(), format!("`{key}` is no text and no number"))),
    };
    Ok((key.to_owned(), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(toml: &str) -> (u64, String) {
        let error = TextGrammar::read(toml).unwrap_err();
        (error.offset, error.to_string())
    }

    #[test]
    fn what_is_wrong_is_told_with_its_byte() {
        let (offset, why) = error("time = 's'\ntimes = 's'\n");
        assert_eq!(offset, 19);
        assert!(why.contains("`times` is none of title, time, "), "{why}");
        let (_, why) = error("time = 'h'\n[[line]]\nmatch = 'a'");
        assert!(why.contains("h is none of s, ms, us, ns, iso"), "{why}");
        let (offset, why) = error("time = '%b %d %H:%M'\n[[line]]\nmatch = 'a'");
        assert_eq!(offset, 7);
        assert!(why.contains("it has a day and no year: say of which, as `year = 2026`"), "{why}");
        for (pattern, unknown) in [("%H:%M:%Q", "%Q"), ("%x", "%x"), ("%H:%", "%"), ("%.S", "%.S")]
        {
            let (offset, why) = error(&format!("time = '{pattern}'\n[[line]]\nmatch = 'a'"));
            assert_eq!(offset, 7);
            assert!(why.contains(&format!("`{unknown}` is nothing that can be read")), "{why}");
        }
        for dated in ["time = '%d/%m/%Y'", "time = '%-d %b'\nyear = 2026", "time = '%H:%M'"] {
            assert!(TextGrammar::read(&format!("{dated}\n[[line]]\nmatch = 'a'")).is_ok());
        }
        let (_, why) = error("[[line]]\nmatch = '('");
        assert!(why.contains("unclosed group"), "{why}");
        let (_, why) = error("[[line]]\nmatch = 'a'\nclass = 'enter'\ntask = 'door'");
        assert!(why.contains("enter needs a group (?<state>…), or a key `state`"), "{why}");
        let (_, why) = error("[[line]]\nmatch = 'a'\nclass = 'run'");
        assert!(why.contains("run is none of ignore, text, switch"), "{why}");
        for wrong in ["", "line = 3", "[[line]]", "[[line]]\nmatch = 3", "= 1"] {
            assert!(TextGrammar::read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let (offset, why) = error("time = 's'\n\n[[line]]\nmatch = 'a('\n");
        assert_eq!(offset, 29);
        assert!(why.ends_with("unclosed group; line 4, column 9: match = 'a('"), "{why}");
        let (offset, why) = error("[[line]]\nmatch = 'ä'\nclass = 'send'");
        assert_eq!(offset, 0);
        let expected = "send needs a group (?<task>…), or a key `task`; line 1, column 1: [[line]]";
        assert!(why.ends_with(expected), "{why}");
        // What is not there is nowhere.
        let (offset, why) = error("time = 's'\n");
        assert_eq!(offset, 0);
        assert!(why.ends_with("a grammar has one for each kind"), "{why}");
    }

    #[test]
    fn an_expression_may_not_take_much_memory() {
        let (_, why) = error("[[line]]\nmatch = '((\\w{100}){100}){100}'");
        assert!(why.contains("exceeds size limit"), "{why}");
    }
}
