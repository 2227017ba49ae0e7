//! Rules as a file of TOML says them.

use std::collections::HashSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use globset::GlobBuilder;
use kymo_query::{Demand, EventSelector, Matcher, Number, Rule};
use regex::Regex;
use toml_edit::{Document, Item, Key, Table, TableLike};

use crate::failure::Failure;
use crate::inputs;
use crate::moment::Span;
use crate::render::escaped;
use crate::session::Named;
use crate::variables::nearest;

/// Files of rules are not larger than this.
const BYTES_MAX: u64 = 1 << 20;

/// Example of a file of rules.
pub(crate) const RULES: &str = r#"RULES
  A file of TOML with a table for each rule. Names are names or globs, times have units.
  A stream that never has an event, a job that is never complete and a message that never
  arrives break their rules too, when the recording is longer than they may take. A job that is
  never complete has run for as long as it did up to the end. A glob of tasks does not mean idle
  ones; a name does. A task is one, whichever processors it runs on: gap_max is of its events on
  all of them, and load_max the part of one processor's time that it may use on all of them
  together; `kymo load --total` shows parts of the time of all processors. on_time is of jobs
  whose budget is recorded.

  [[rule]]
  name = "control answers in time"    # what it is called; may be left out
  task = "control*"                   # jobs of tasks
  response_max = "2ms"                # and delay_max, run_max, load_max = "40%", on_time = true

  [[rule]]
  stream = "imu*"                     # events of streams
  gap_max = "10ms"                    # or min = -1.5 and max = 1.5, for their values

  [[rule]]
  after = { stream = "A", text = "^start" }    # or just "A"; texts are regular expressions
  expect = "B"                                 # on the same clock, or both have dates
  within = "1ms"

  [[rule]]
  message = "SAMPLE"
  latency_max = "100us"

  [[rule]]
  machine = "motor"
  state = "fault"
  stay_max = "0s"                     # never for longer than a moment"#;

/// Names of tasks that are idle, which only a whole name means.
pub(crate) type Idle = Arc<HashSet<String>>;

/// A file of rules. It is read once, for it may be a pipe.
pub(crate) struct RulesFile {
    name: String,
    text: String,
}

impl RulesFile {
    /// Reads a file, or standard input unless that is one of the recordings, and looks whether its
    /// rules make sense.
    pub(crate) fn read(path: &Path, recordings: &[PathBuf]) -> anyhow::Result<Self> {
        let name = inputs::display(path);
        let is_input = |path: &Path| path.as_os_str() == "-";
        let text = if !is_input(path) {
            File::open(path).and_then(read)
        } else if recordings.iter().any(|path| is_input(path)) {
            let why = "standard input is the rules or the recording, and cannot be both";
            return Err(Named::error(name, Failure::usage(why)));
        } else {
            read(std::io::stdin())
        };
        let text = text.map_err(|error| match error.kind() {
            std::io::ErrorKind::InvalidData => {
                Failure::usage("it is no text, so that it has no rules")
                    .hint("the file of rules comes first: kymo assert RULES FILE")
            }
            _ => Failure::new(format!("cannot read it: {error}")),
        });
        let text = text.map_err(|failure| Named::error(name.clone(), failure))?;
        let file = Self { name, text };
        file.rules(&Idle::default())?;
        Ok(file)
    }

    /// The rules for a recording that has some idle tasks.
    pub(crate) fn rules(&self, idle: &Idle) -> anyhow::Result<Vec<Rule>> {
        parse(&self.text, idle).map_err(|failure| Named::error(self.name.clone(), failure))
    }
}

/// Reads all of a text that is not too large.
fn read(from: impl Read) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    from.take(BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(std::io::Error::other("it is too large for a file of rules"));
    }
    String::from_utf8(bytes).map_err(|_| std::io::ErrorKind::InvalidData.into())
}

fn parse(text: &str, idle: &Idle) -> Result<Vec<Rule>, Failure> {
    let document = Document::parse(text).map_err(|error: toml_edit::TomlError| {
        Failure::usage(error.to_string().trim_end().to_owned())
    })?;
    if let Some((name, _)) = document.iter().find(|(name, _)| *name != "rule") {
        let (line, name) = (line_of(text, document.as_table(), name), escaped(name));
        let why = format!("line {line}: {name} is not known; rules are tables [[rule]]");
        return Err(Failure::usage(why));
    }
    let rules = document.get("rule").and_then(Item::as_array_of_tables);
    let rules = rules.ok_or_else(|| Failure::usage("there is no table [[rule]] in it"))?;
    let rules = rules.iter().enumerate();
    rules.map(|(index, table)| Reader { text, table, index, idle }.rule()).collect()
}

/// The line that a key of a table is in.
fn line_of(text: &str, table: &Table, key: &str) -> usize {
    let at = table.key(key).and_then(Key::span).map_or(0, |span| span.start);
    1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count()
}

/// Reads one rule.
struct Reader<'a> {
    /// The whole file.
    text: &'a str,
    table: &'a Table,
    index: usize,
    idle: &'a Idle,
}

impl Reader<'_> {
    fn refuse(&self, why: &str) -> Failure {
        Failure::usage(format!("rule {}: {why}", self.index + 1))
    }

    fn rule(&self) -> Result<Rule, Failure> {
        let known = ["task", "stream", "after", "message", "machine"];
        let about: Vec<_> = known.into_iter().filter(|key| self.table.contains_key(key)).collect();
        let (keys, demand): (&[&str], fn(&Self) -> _) = match about[..] {
            ["task"] => {
                (&["response_max", "delay_max", "run_max", "on_time", "load_max"], Self::task)
            }
            ["stream"] if self.table.contains_key("gap_max") => {
                (&["gap_max", "min", "max"], Self::gap)
            }
            ["stream"] => (&["gap_max", "min", "max"], Self::value),
            ["after"] => (&["expect", "within"], Self::follows),
            ["message"] => (&["latency_max"], Self::message),
            ["machine"] => (&["state", "stay_max"], Self::state),
            _ => {
                let mut keys = self.table.iter().map(|(key, _)| key);
                let misspelt = keys.find(|key| about.is_empty() && nearest(key, known).is_some());
                let nothing = "it is about one of task, stream, after, message, machine";
                let refuse = || self.refuse(nothing);
                return Err(misspelt.map_or_else(refuse, |key| self.unknown(key, &known)));
            }
        };
        let is_known = |key: &str| key == "name" || about.contains(&key) || keys.contains(&key);
        if let Some((key, _)) = self.table.iter().find(|(key, _)| !is_known(key)) {
            return Err(self.unknown(key, keys));
        }
        let demand = demand(self)?;
        let name = self.table.get("name").and_then(Item::as_str);
        let about = about.first().and_then(|key| self.table.get(key)).and_then(Item::as_str);
        let about = about.map_or(String::new(), |about| format!(" ({about})"));
        let name = name.map_or_else(|| format!("rule {}{about}", self.index + 1), str::to_owned);
        Ok(Rule { name, demand })
    }

    /// Returns the failure for a key that a rule does not have. It names the key that may be meant
    /// of those that the rule may have.
    fn unknown(&self, key: &str, keys: &[&str]) -> Failure {
        let line = line_of(self.text, self.table, key);
        let meant = nearest(key, keys.iter().copied());
        let meant = meant.map_or(String::new(), |meant| format!("; did you mean {meant}?"));
        let key = escaped(key);
        self.refuse(&format!("line {line}: {key} is not known here{meant}"))
    }

    fn task(&self) -> Result<Demand, Failure> {
        let on_time = match self.table.get("on_time") {
            None => false,
            Some(item) => item.as_bool().ok_or_else(|| self.refuse("on_time is true or false"))?,
        };
        let demand = Demand::Task {
            task: self.tasks()?,
            response_max: self.maybe_time("response_max")?,
            delay_max: self.maybe_time("delay_max")?,
            run_max: self.maybe_time("run_max")?,
            on_time,
            load_max: self.percent("load_max")?,
        };
        if self.table.len() <= 1 + usize::from(self.table.contains_key("name")) {
            return Err(self.refuse("it demands nothing of the task"));
        }
        Ok(demand)
    }

    fn gap(&self) -> Result<Demand, Failure> {
        if self.table.contains_key("min") || self.table.contains_key("max") {
            return Err(
                self.refuse("gap_max is one rule, and min and max are another: make it two")
            );
        }
        Ok(Demand::Gap { stream: self.names("stream")?, gap_max: self.time("gap_max")? })
    }

    fn value(&self) -> Result<Demand, Failure> {
        let (min, max) = (self.number("min")?, self.number("max")?);
        if min.is_none() && max.is_none() {
            return Err(self.refuse("a stream has gap_max, min or max"));
        }
        if min.zip(max).is_some_and(|(min, max)| min > max) {
            return Err(self.refuse("min is more than max, so that no value could be right"));
        }
        Ok(Demand::Value { stream: self.names("stream")?, min, max })
    }

    fn follows(&self) -> Result<Demand, Failure> {
        let (after, expect) = (self.event_selector("after")?, self.event_selector("expect")?);
        Ok(Demand::Follows { after, expect, within: self.time("within")? })
    }

    fn message(&self) -> Result<Demand, Failure> {
        let latency_max = self.time("latency_max")?;
        Ok(Demand::Message { message: self.names("message")?, latency_max })
    }

    fn state(&self) -> Result<Demand, Failure> {
        let (machine, state) = (self.names("machine")?, self.names("state")?);
        Ok(Demand::State { machine, state, stay_max: self.time("stay_max")? })
    }

    fn text(&self, key: &str) -> Result<&str, Failure> {
        let text = self.table.get(key).and_then(Item::as_str);
        text.ok_or_else(|| {
            let example = match key {
                "load_max" => ", such as \"40%\"",
                _ if key.ends_with("_max") || key == "within" => ", such as \"2ms\"",
                _ => "",
            };
            self.refuse(&format!("{key} must be a text in quotes{example}"))
        })
    }

    fn names(&self, key: &str) -> Result<Matcher, Failure> {
        self.matcher(self.text(key)?)
    }

    /// Tasks that are not idle, unless one is named.
    fn tasks(&self) -> Result<Matcher, Failure> {
        let (text, matches) = (self.text("task")?.to_owned(), self.names("task")?);
        let idle = Arc::clone(self.idle);
        Ok(Box::new(move |name| name == text || !idle.contains(name) && matches(name)))
    }

    fn matcher(&self, text: &str) -> Result<Matcher, Failure> {
        let glob = GlobBuilder::new(text).build();
        let glob = glob.map_err(|error| self.refuse(&format!("{text}: {}", error.kind())))?;
        let (glob, text) = (glob.compile_matcher(), text.to_owned());
        Ok(Box::new(move |name| name == text || glob.is_match(name)))
    }

    fn event_selector(&self, key: &str) -> Result<EventSelector, Failure> {
        let wrong = || self.refuse(&format!("{key} is a stream, or {{ stream = …, text = … }}"));
        let item = self.table.get(key).ok_or_else(wrong)?;
        if let Some(stream) = item.as_str() {
            let name = stream.to_owned();
            return Ok(EventSelector { name, stream: self.matcher(stream)?, text: None });
        }
        let table: &dyn TableLike = item.as_table_like().ok_or_else(wrong)?;
        if table.iter().any(|(key, _)| key != "stream" && key != "text") {
            return Err(wrong());
        }
        let stream = table.get("stream").and_then(Item::as_str).unwrap_or("*");
        let text = table.get("text").map(|item| item.as_str().ok_or_else(wrong)).transpose()?;
        let name = text.map_or(stream.to_owned(), |text| format!("{stream} {text}"));
        let text = text.map(|text| self.expression(text)).transpose()?;
        Ok(EventSelector { name, stream: self.matcher(stream)?, text })
    }

    fn expression(&self, text: &str) -> Result<Matcher, Failure> {
        let regex = Regex::new(text).map_err(|error| self.refuse(&error.to_string()))?;
        Ok(Box::new(move |said| regex.is_match(said)))
    }

    fn time(&self, key: &str) -> Result<u64, Failure> {
        self.maybe_time(key)?.ok_or_else(|| self.refuse(&format!("{key} is missing")))
    }

    fn maybe_time(&self, key: &str) -> Result<Option<u64>, Failure> {
        if !self.table.contains_key(key) {
            return Ok(None);
        }
        if self.text(key)?.ends_with(|c: char| c.is_ascii_digit()) {
            return Err(self.refuse(&format!("{key} has no unit; write such as \"2ms\"")));
        }
        let span = self.text(key)?.parse::<Span>();
        let span = span.map_err(|why| self.refuse(&format!("{key}: {why}")))?;
        Ok(Some(u64::try_from(span.0.as_nanos()).unwrap_or(u64::MAX)))
    }

    fn percent(&self, key: &str) -> Result<Option<f64>, Failure> {
        if !self.table.contains_key(key) {
            return Ok(None);
        }
        let text =
            self.text(key)?.strip_suffix('%').and_then(|text| text.trim().parse::<f64>().ok());
        let percent = text.filter(|number| (0.0..=100.0).contains(number));
        let percent = percent.ok_or_else(|| self.refuse(&format!("{key} is such as \"40%\"")))?;
        Ok(Some(percent / 100.0))
    }

    fn number(&self, key: &str) -> Result<Option<Number>, Failure> {
        let Some(item) = self.table.get(key) else { return Ok(None) };
        let integer = item.as_integer().map(|number| Number::Int(number.into()));
        let float = item.as_float().filter(|number| !number.is_nan());
        let number = integer.or_else(|| float.map(Number::Float));
        number.map(Some).ok_or_else(|| self.refuse(&format!("{key} is a number")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_of_the_help_are_read() {
        let text = RULES.split_once("\n\n").unwrap().1;
        let names: Vec<_> =
            parse(text, &Idle::default()).unwrap().into_iter().map(|rule| rule.name).collect();
        let expected = [
            "control answers in time",
            "rule 2 (imu*)",
            "rule 3",
            "rule 4 (SAMPLE)",
            "rule 5 (motor)",
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn globs_do_not_mean_idle_tasks_and_names_do() {
        let idle = Idle::new(HashSet::from(["swapper/0".to_owned()]));
        let means = |task: &str, name: &str| {
            let text = format!("[[rule]]\ntask = '{task}'\non_time = true\n");
            let rule = parse(&text, &idle).unwrap().remove(0);
            let Demand::Task { task, .. } = rule.demand else { return false };
            task(name)
        };
        assert!(means("*", "control") && means("swapper*", "swapperd"));
        assert!(!means("*", "swapper/0") && !means("swapper/?", "swapper/0"));
        assert!(means("swapper/0", "swapper/0") && !means("swapper/0", "swapper/1"));
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_the_rule() {
        let cases = [
            ("", "there is no table [[rule]] in it"),
            ("rules = 1", "line 1: rules is not known; rules are tables [[rule]]"),
            (
                "[[rule]]\ntask = 'a'\non_time = true\n[[rules]]\ntask = 'b'\n",
                "line 4: rules is not known; rules are tables [[rule]]",
            ),
            ("[[rule]]\n", "rule 1: it is about one of task, stream, after, message, machine"),
            (
                "[[rule]]\ntasks = 'a'\non_time = true",
                "rule 1: line 2: tasks is not known here; did you mean task?",
            ),
            ("[[rule]]\ntask = 'a'", "rule 1: it demands nothing of the task"),
            ("[[rule]]\ntask = 'a'\nspeed = 1", "rule 1: line 3: speed is not known here"),
            (
                "# A comment.\n[[rule]]\nstream = 'a'\ngapmax = '1ms'",
                "rule 1: line 4: gapmax is not known here; did you mean gap_max?",
            ),
            (
                "[[rule]]\nstream = 'a'\nmax = 1\n\n[[rule]]\ntask = 'a'\nrespons_max = '1ms'",
                "rule 2: line 7: respons_max is not known here; did you mean response_max?",
            ),
            (
                "[[rule]]\nstream = 'a'\ngap_max = '1ms'\nmax = 5",
                "rule 1: gap_max is one rule, and min and max are another: make it two",
            ),
            ("[[rule]]\ntask = 'a'\nload_max = '1'", "rule 1: load_max is such as \"40%\""),
            (
                "[[rule]]\ntask = 'a'\nload_max = 0.1",
                "rule 1: load_max must be a text in quotes, such as \"40%\"",
            ),
            (
                "[[rule]]\ntask = 'a'\nrun_max = 3",
                "rule 1: run_max must be a text in quotes, such as \"2ms\"",
            ),
            ("[[rule]]\ntask = 'a'\nload_max = '400%'", "rule 1: load_max is such as \"40%\""),
            (
                "[[rule]]\ntask = 'a'\nrun_max = '2'",
                "rule 1: run_max has no unit; write such as \"2ms\"",
            ),
            (
                "[[rule]]\nstream = 'a'\nmin = 5\nmax = 1",
                "rule 1: min is more than max, so that no value could be right",
            ),
            // Nothing is less or more than that, so that all would hold.
            ("[[rule]]\nstream = 'a'\nmax = nan", "rule 1: max is a number"),
            ("[[rule]]\nstream = 'a'\nmin = -nan", "rule 1: min is a number"),
            ("[[rule]]\nstream = 'a'", "rule 1: a stream has gap_max, min or max"),
            ("[[rule]]\nmessage = 'a'", "rule 1: latency_max is missing"),
        ];
        let refused = |text: &str| parse(text, &Idle::default()).err().unwrap().to_string();
        for (text, expected) in cases {
            assert_eq!(refused(text), expected);
        }
        let why = refused("[[rule]]\nstream = 'a'\ngap_max = 'soon'");
        assert!(why.starts_with("rule 1: gap_max: soon is no duration"), "{why}");
    }
}
