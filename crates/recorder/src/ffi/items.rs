//! Items that the numbers given to C programs stand for.

use super::border::{Failure, in_words};
use crate::clock::Clock;
use crate::error::Error;
use crate::format::Raw;
use crate::recorder::Recorder;
use crate::stream::Stream;
use crate::time::{Time, Timespec};

/// Item that C programs have a number for, from 1.
#[derive(Debug, Clone, Copy)]
pub(super) enum Item {
    Clock(Clock),
    Stream(Stream<Raw>),
    Annotations(Stream<Raw>),
}

/// A recorder and what was added to it.
#[derive(Debug)]
pub(super) struct Items {
    pub(super) recorder: Recorder,
    numbered: Vec<Item>,
    /// An annotation in the making.
    scratch: Vec<u8>,
}

/// Returns the reason why a number of a C program cannot be used.
fn no_item(kind: &str, number: i32) -> Failure {
    format!("{number} is not the number of {kind}")
}

impl Items {
    pub(super) fn new(recorder: Recorder) -> Self {
        Self { recorder, numbered: Vec::new(), scratch: Vec::new() }
    }

    pub(super) fn finish(self) -> Result<(), Error> {
        self.recorder.finish()
    }

    fn item(&self, number: i32) -> Option<Item> {
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        self.numbered.get(index).copied()
    }

    pub(super) fn clock(&self, number: i32) -> Result<Clock, Failure> {
        match self.item(number) {
            Some(Item::Clock(clock)) => Ok(clock),
            _ => Err(no_item("a clock", number)),
        }
    }

    pub(super) fn stream(&self, number: i32) -> Result<Stream<Raw>, Failure> {
        match self.item(number) {
            Some(Item::Stream(stream)) => Ok(stream),
            _ => Err(no_item("a stream", number)),
        }
    }

    /// Keeps an item and gives it a number.
    pub(super) fn keep(&mut self, item: Item) -> Result<i32, Failure> {
        self.numbered.push(item);
        i32::try_from(self.numbered.len()).map_err(|_| "too many streams".to_owned())
    }

    pub(super) fn write(
        &mut self,
        stream: i32,
        time: Option<Time>,
        data: &[u8],
    ) -> Result<(), Failure> {
        let stream = self.stream(stream)?;
        let written = match time {
            Some(time) => self.recorder.write_at(stream, time, data),
            None => self.recorder.write(stream, data),
        };
        written.map_err(in_words)
    }

    pub(super) fn annotate(
        &mut self,
        annotations: i32,
        time: Timespec,
        data: &[u8],
    ) -> Result<(), Failure> {
        let Some(Item::Annotations(stream)) = self.item(annotations) else {
            return Err(no_item("annotations", annotations));
        };
        self.scratch.clear();
        self.scratch.extend_from_slice(&time.to_bytes());
        self.scratch.extend_from_slice(data);
        self.recorder.write(stream, &self.scratch).map_err(in_words)
    }
}
