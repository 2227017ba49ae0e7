//! Types to bytes, in the same order as `read`.

mod definitions;
mod values;

use std::io::{Seek, SeekFrom, Write};

use kymo_core::bytes::{Endian, Sink};
use kymo_core::{Error, Result};

use crate::spec::{BLOCK_EVENTS, HEADER_BYTES, MAGIC, Section, VERSION};
use crate::tally::EventStatistics;
use crate::types::{
    Artifact, Block, Body, CustomType, Event, Function, LogFile, Message, Statistics, TaskExecution,
};
use definitions::{artifact, count, custom_type, log_file, text};

pub(crate) use definitions::Parents;
pub use values::encode;

/// Writes a file event by event and holds none of them: only the index, of 48 bytes for each
/// thousand events, and a sum for each task. Finish it, or there is no header.
///
/// Events are written in the order they come; [`Merge`](crate::Merge) and [`Sort`](crate::Sort)
/// put them in the order of their times.
#[derive(Debug)]
#[must_use = "without finish there is no header"]
pub struct Writer<W> {
    out: W,
    /// Offset of the next byte.
    offset: u64,
    sink: Sink,
    pointers: Vec<u64>,
    blocks: Vec<Block>,
    num_events: u64,
    tally: EventStatistics,
    lost_characters: u64,
}

impl<W: Write + Seek> Writer<W> {
    /// Begins a file: log files and types come before the events.
    pub fn new(out: W, log_files: &[LogFile], types: &[CustomType]) -> Result<Self> {
        let mut writer = Self {
            out,
            offset: 0,
            sink: Sink::new(Endian::Big),
            pointers: Vec::new(),
            blocks: Vec::new(),
            num_events: 0,
            tally: EventStatistics::default(),
            lost_characters: 0,
        };
        // The header is written last, when it is known.
        writer.sink.bytes(&[0; 64]);
        writer.write_collected()?;
        writer.section(log_files, log_file)?;
        writer.section(types, custom_type)?;
        writer.pointers.push(writer.offset);
        writer.sink.u64(0);
        writer.write_collected()?;
        Ok(writer)
    }

    /// Writes an event.
    #[inline]
    pub fn write(&mut self, event: &Event<'_>) -> Result<()> {
        let start = self.sink.len();
        if let Err(error) = event_to(&mut self.sink, event) {
            // What was begun of it must not be handed on.
            let kept = self.sink.as_slice().get(..start).unwrap_or_default().to_vec();
            self.sink.clear();
            self.sink.bytes(&kept);
            return Err(error);
        }
        self.note(event, (self.sink.len() - start) as u64, start as u64);
        if self.sink.len() >= HAND_ON_BYTES { self.write_collected() } else { Ok(()) }
    }

    /// Returns the number of events that were written.
    pub fn num_events(&self) -> u64 {
        self.num_events
    }

    /// Ends the file: the index, the artifacts, what was computed, and last the header.
    pub fn finish(mut self, artifacts: &[Artifact]) -> Result<FinishedFile<W>> {
        self.write_collected()?;
        self.index()?;
        self.section(artifacts, artifact)?;
        let executions = self.tally.task_executions();
        self.section(&executions, task_execution)?;
        self.pointers.push(self.offset);
        statistics(&mut self.sink, &self.tally.statistics());
        self.write_collected()?;
        self.head()?;
        Ok(FinishedFile { out: self.out, lost_characters: self.lost_characters })
    }

    /// Counts an event to its block.
    #[inline]
    fn note(&mut self, event: &Event<'_>, length: u64, in_sink: u64) {
        let timestamp = event.timestamp;
        if self.num_events.is_multiple_of(BLOCK_EVENTS) {
            self.blocks.push(Block {
                offset: 0,
                num_events: 0,
                total_event_size: 0,
                first_timestamp: timestamp,
                last_timestamp: timestamp,
                first_event_index: self.num_events,
                first_event_offset: self.offset + in_sink,
            });
        }
        if let Some(block) = self.blocks.last_mut() {
            block.num_events += 1;
            block.total_event_size += length;
            block.last_timestamp = timestamp;
        }
        self.num_events += 1;
        self.tally.add(event);
    }

    fn section<T>(
        &mut self,
        items: &[T],
        write: impl Fn(&mut Sink, &T, &mut u64) -> Result<()>,
    ) -> Result<()> {
        self.pointers.push(self.offset);
        count(&mut self.sink, items.len());
        for item in items {
            write(&mut self.sink, item, &mut self.lost_characters)?;
            if self.sink.len() >= HAND_ON_BYTES {
                self.write_collected()?;
            }
        }
        self.write_collected()
    }

    fn index(&mut self) -> Result<()> {
        self.pointers.push(self.offset);
        let blocks = std::mem::take(&mut self.blocks);
        count(&mut self.sink, blocks.len());
        self.sink.u64(self.num_events);
        self.sink.u64(8 + blocks.iter().map(|block| block.total_event_size).sum::<u64>());
        self.sink.i64(blocks.first().map_or(0, |block| block.first_timestamp));
        self.sink.i64(blocks.last().map_or(0, |block| block.last_timestamp));
        for block in &blocks {
            index_block(&mut self.sink, block);
        }
        self.write_collected()
    }

    /// Fills in what was not known before.
    fn head(&mut self) -> Result<()> {
        self.sink.u32(MAGIC);
        self.sink.i32(VERSION);
        for pointer in &self.pointers {
            self.sink.u64(*pointer);
        }
        debug_assert_eq!(self.sink.len() as u64, HEADER_BYTES);
        let place = Section::ALL.iter().position(|section| *section == Section::Events);
        let events = place.and_then(|place| self.pointers.get(place)).copied();
        // Anywhere else the number of events would be written over something.
        let events = events.ok_or(Error::Broken("the header has no place for the events"))?;
        let seek = "go back to the header";
        self.out.seek(SeekFrom::Start(0)).map_err(Error::io(seek))?;
        self.out.write_all(self.sink.as_slice())?;
        self.out.seek(SeekFrom::Start(events)).map_err(Error::io(seek))?;
        self.out.write_all(&self.num_events.to_be_bytes())?;
        self.out.seek(SeekFrom::End(0)).map_err(Error::io(seek))?;
        self.out.flush()?;
        Ok(())
    }

    /// Hands what was collected to the output.
    fn write_collected(&mut self) -> Result<()> {
        self.out.write_all(self.sink.as_slice())?;
        self.offset += self.sink.len() as u64;
        self.sink.clear();
        Ok(())
    }
}

/// Collected before it is handed on.
const HAND_ON_BYTES: usize = 1 << 16;

/// A file that was written.
#[derive(Debug)]
pub struct FinishedFile<W> {
    /// Output that it was written to.
    pub out: W,
    /// Characters of names that Latin-1 does not have: they became question marks.
    pub lost_characters: u64,
}

fn event_to(sink: &mut Sink, event: &Event<'_>) -> Result<()> {
    sink.i32(event.body.class().number());
    sink.i64(event.timestamp);
    sink.i32(event.log_file.0);
    body(sink, &event.body)?;
    sink.i32(event.custom_type.0);
    text(sink, crate::Text(event.custom))
}

fn body(sink: &mut Sink, body: &Body<'_>) -> Result<()> {
    match *body {
        Body::Generic => {}
        Body::TaskSwitch { in_task, out_task, in_task_priority } => {
            sink.i32(in_task.0);
            sink.i32(out_task.0);
            sink.i32(in_task_priority);
        }
        Body::TaskRelease { task, time_budget: time }
        | Body::TaskCompletion { task, remaining_time: time } => {
            sink.i32(task.0);
            sink.i64(time);
        }
        Body::Send(this_message) | Body::Receive(this_message) => message(sink, this_message)?,
        Body::SrlSend { message: this_message, receiver_instance } => {
            message(sink, this_message)?;
            sink.i32(receiver_instance);
        }
        Body::SrlReceive { message: this_message, state, finish_timestamp } => {
            message(sink, this_message)?;
            sink.i32(state.0);
            sink.i64(finish_timestamp);
        }
        Body::FunctionEnter(this_function) | Body::FunctionExit(this_function) => {
            function(sink, this_function)?;
        }
    }
    Ok(())
}

fn message(sink: &mut Sink, this_message: Message<'_>) -> Result<()> {
    sink.i32(this_message.sender.0);
    sink.i32(this_message.receiver.0);
    sink.i64(this_message.other_timestamp);
    text(sink, this_message.name)
}

fn function(sink: &mut Sink, this_function: Function<'_>) -> Result<()> {
    text(sink, this_function.name)?;
    sink.i64(this_function.end_time);
    Ok(())
}

fn index_block(sink: &mut Sink, block: &Block) {
    sink.u64(block.num_events);
    sink.u64(block.total_event_size);
    sink.i64(block.first_timestamp);
    sink.i64(block.last_timestamp);
    sink.u64(block.first_event_index);
    sink.u64(block.first_event_offset);
}

#[allow(clippy::unnecessary_wraps, reason = "the shape of an item of a section")]
fn task_execution(sink: &mut Sink, this_task_execution: &TaskExecution, _: &mut u64) -> Result<()> {
    sink.i32(this_task_execution.log_file.0);
    sink.i32(this_task_execution.task.0);
    sink.f64(this_task_execution.task_exec);
    Ok(())
}

fn statistics(sink: &mut Sink, this_statistics: &Statistics) {
    sink.i64(this_statistics.first_task_duration);
    sink.i64(this_statistics.last_task_duration);
    sink.i64(this_statistics.num_task_switches);
}
