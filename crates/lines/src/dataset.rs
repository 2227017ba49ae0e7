//! Result of opening a recording.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use kymo_core::bytes::Limits;
use kymo_core::{Context, Error, Finding, Findings, Result, Source};
use kymo_model::table::ColumnTable;
use kymo_model::timeline::TimelineView;
use kymo_model::{Dataset, DumpRequest, RecordSink, Row, Section, Summary, Table};

use crate::tables::{self, Events};
use crate::timeline::Timeline;
use crate::{Grammar, Key, LineContent, Lines, Reader, TaskKey};

/// Kinds of events that are listed.
const KINDS_LISTED: usize = 16;

/// Lines that are looked at to recognise a format.
const SNIFFED_LINES: usize = 256;

/// An open recording.
#[derive(Debug)]
pub struct LinesDataset<G>(pub Arc<Reader<G>>);

impl<G: Grammar> Dataset for LinesDataset<G> {
    fn summary(&self) -> Summary {
        let survey = self.0.survey();
        let grammar = self.0.grammar();
        let mut summary = Summary { dialect: grammar.dialect(), ..Summary::default() };
        summary.fact("events", survey.events);
        let item = |is: fn(&Key<'_>) -> bool| survey.keys.iter().filter(|key| is(key)).count();
        // A wakeup names the processor of its task, which may not be in the recording.
        let cpus = item(|key| matches!(key, Key::Events(Some(_))));
        if cpus > 0 {
            summary.fact("processors", cpus);
        }
        summary.fact("tasks", tasks(survey.keys.iter()));
        if let Some((first, last)) = survey.times {
            summary.span(&(first..=last), grammar.is_since_epoch());
        }
        summary.sections.push(self.kinds());
        summary
    }

    fn findings(&self) -> Vec<Finding> {
        self.0.findings()
    }

    fn tables(&self) -> Vec<Arc<dyn Table>> {
        vec![ColumnTable::new(Events(Arc::clone(&self.0)))]
    }

    fn dump(&self, _request: &DumpRequest, sink: &mut dyn RecordSink) -> Result<()> {
        tables::dump(&self.0, sink)
    }

    fn timeline(&self) -> Option<Arc<dyn TimelineView>> {
        Some(Arc::new(Timeline::new(Arc::clone(&self.0))))
    }
}

/// Counts the tasks; one that ran on several processors is one.
fn tasks<'a>(keys: impl Iterator<Item = &'a Key<'static>>) -> usize {
    let who = keys.filter_map(|key| match key {
        Key::Task(_, who) => Some(who),
        _ => None,
    });
    who.collect::<HashSet<&TaskKey<'_>>>().len()
}

impl<G: Grammar> LinesDataset<G> {
    /// Lists the number of events of each kind, the most frequent first.
    fn kinds(&self) -> Section {
        let kinds = self.0.survey().kinds.counts.iter();
        let mut kinds: Vec<(&str, u64)> = kinds.map(|(name, count)| (&**name, *count)).collect();
        kinds.sort_by_key(|(name, count)| (u64::MAX - count, *name));
        let row = |(name, count): (&str, u64)| Row {
            name: kymo_core::shortened(name).into_owned(),
            text: count.to_string(),
            values: vec![("events", count.into())],
        };
        Section::new("kinds of events", kinds.into_iter().map(row), KINDS_LISTED)
    }
}

/// Checks a recording, given its grammar and the byte that lines begin at: what opening finds, and
/// what a rule finds besides.
pub fn check<G: Grammar>(
    source: &Source,
    grammar: Result<(G, usize)>,
    context: &Context<'_>,
    rule: impl FnOnce(&Reader<G>, &Limits) -> Vec<Finding>,
) -> Result<Vec<Finding>> {
    let opened = grammar.and_then(|(grammar, start)| Reader::open(source, start, grammar, context));
    let reader = match opened {
        Ok(reader) => reader,
        Err(Error::Read(error)) => return Ok(vec![Finding::unreadable("unreadable", &error)]),
        // What tells how to read it may lie beside it.
        Err(Error::ReadIn { file, error }) => {
            let file = Some(file.display().to_string());
            return Ok(vec![Finding { file, ..Finding::unreadable("unreadable", &error) }]);
        }
        Err(error) => return Err(error),
    };
    let mut findings = Findings::new(&context.limits);
    findings.extend(reader.findings());
    findings.extend(rule(&reader, &context.limits));
    Ok(findings.into_vec())
}

/// The first line that says something, of the first bytes of a file, for sniffing.
pub fn first_line(head: &[u8], read: fn(&str) -> LineContent<'_>) -> Option<Cow<'_, str>> {
    let lines = Lines::new(head).take(SNIFFED_LINES).map(|line| line.text());
    let is_first = |line: &Cow<'_, str>| {
        !matches!(
            read(line),
            LineContent::Aside
                | LineContent::Frame
                | LineContent::Remark(..)
                | LineContent::Lost(..)
        )
    };
    { lines }.find(is_first)
}
