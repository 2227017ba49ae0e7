//! A recording that is open.

use std::sync::Arc;

use bytes::Bytes;
use kymo_core::{Context, Finding, Progress, Result, Source};
use kymo_model::timeline::Window;

use crate::index::Block;
use crate::survey::{Survey, survey};
use crate::{Grammar, Line, LineContent, Lines, RawLine};

/// An open recording, all of whose lines were looked at.
#[derive(Debug)]
pub struct Reader<G> {
    bytes: Bytes,
    grammar: G,
    survey: Survey,
    /// Findings about all events together.
    noticed: Vec<Finding>,
    /// The byte that lines begin at.
    start: u64,
    value_bytes_max: u64,
    progress: Arc<dyn Progress>,
}

/// Bytes between two tellings of progress.
const PROGRESS_BYTES: u64 = 4 << 20;

impl<G: Grammar> Reader<G> {
    /// Opens a recording whose lines begin at a byte.
    ///
    /// # Errors
    /// When it is a directory, or when there are more events than the limits allow.
    pub fn open(
        source: &Source,
        start: usize,
        grammar: G,
        context: &Context<'_>,
    ) -> Result<Arc<Self>> {
        let bytes = source.bytes()?;
        let survey = survey(&grammar, &bytes, start, context)?;
        let value_bytes_max = context.limits.value_bytes_max;
        let start = start as u64;
        let (noticed, progress) = (Vec::new(), Arc::clone(context.progress));
        let mut reader = Self { bytes, grammar, survey, noticed, start, value_bytes_max, progress };
        reader.noticed = G::findings(&reader);
        Ok(Arc::new(reader))
    }

    /// Returns the grammar: the meaning of lines.
    pub fn grammar(&self) -> &G {
        &self.grammar
    }

    /// Returns the findings about the lines.
    pub fn findings(&self) -> Vec<Finding> {
        self.survey.findings().into_iter().chain(self.noticed.clone()).collect()
    }

    /// Returns the number of events.
    pub fn event_count(&self) -> u64 {
        self.survey.events
    }

    pub(crate) fn survey(&self) -> &Survey {
        &self.survey
    }

    /// Hands every event on, until that says stop.
    pub fn each_event(&self, to: &mut dyn FnMut(RawLine<'_>, &Line<'_>) -> bool) {
        self.progress.begin("reading events", self.bytes.len() as u64);
        let mut told = self.start;
        for line in self.lines(self.start, u64::MAX) {
            if line.offset.saturating_sub(told) > PROGRESS_BYTES {
                told = line.offset;
                self.progress.advance_to(told);
            }
            let text = line.text();
            if let Some(event) = self.event(line, &text)
                && !to(line, &event)
            {
                break;
            }
        }
        self.progress.end();
    }

    /// The lines from a byte to another, each of which begins one.
    pub(crate) fn lines(&self, from: u64, until: u64) -> Lines<'_> {
        let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(self.bytes.len());
        Lines::with_offset(self.bytes.get(place(from)..place(until)).unwrap_or_default(), from)
    }

    /// The event of a line, where it is one.
    pub(crate) fn event<'a>(&'a self, line: RawLine<'_>, text: &'a str) -> Option<Line<'a>> {
        if line.fault(self.value_bytes_max).is_some() {
            return None;
        }
        match self.grammar.read(text) {
            LineContent::Event(mut event) => {
                if let Some(time) = event.time {
                    let later = self.survey.turns.later(&self.grammar, line.offset, time)?;
                    event.time = Some(later);
                }
                Some(event)
            }
            _ => None,
        }
    }

    /// The first byte of each block that may have events of a window, and the one after its last.
    pub(crate) fn spans(&self, window: &Window) -> Vec<(u64, u64)> {
        let blocks = &self.survey.blocks;
        if self.grammar.is_stateful() {
            return blocks.first().map(|first| (first.start, u64::MAX)).into_iter().collect();
        }
        let ends = blocks.iter().skip(1).map(|next| next.start).chain([u64::MAX]);
        let spans = blocks.iter().zip(ends).filter(|(block, _)| block.overlaps(window));
        spans.map(|(block, end)| (block.start, end)).collect()
    }

    /// The block that has an event, by the event's number.
    pub(crate) fn block_of(&self, event: u64) -> Option<&Block> {
        let blocks = &self.survey.blocks;
        let after = blocks.partition_point(|block| block.events_before <= event);
        blocks.get(after.checked_sub(1)?)
    }
}
