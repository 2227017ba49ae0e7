//! Cutting, filtering and merging: parts of files as one file.
//!
//! Times stay what they were. A clock's message is written when a message that is kept needs it,
//! also when it lies before the range; a clock that counts from another is written after what
//! that one showed at its moment.

use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::sync::Arc;

use kymo_core::model::timeline::Window;
use kymo_core::{
    Context, Destination, Error, Finding, Part, Result, Severity, Source, Written, shortened,
};
use kymo_rtc_wire::meta::StreamMeta;
use serde_json::Value as Json;

use crate::read::{Found, Messages};
use crate::types::Stream;
use crate::write::{Layout, SessionWriter, meta_of};
use crate::{Reader, check};

/// Writes a part of some files as one file.
pub(crate) fn extract(
    sources: &[Source],
    part: &Part,
    to: &Destination,
    context: &Context<'_>,
) -> Result<Written> {
    if part.sort {
        return Err(Error::request("the messages of RTC files are not sorted"));
    }
    let readers = sources.iter().map(|source| Reader::open(source, context));
    let readers = readers.collect::<Result<Vec<_>>>()?;
    let mut written = Written::default();
    for reader in &readers {
        let found = check::losses(reader.scan(), &context.limits).into_vec();
        written.losses.extend(found.into_iter().filter(|f| f.severity > Severity::Note));
    }
    let mut file = to.file()?;
    let inputs: Vec<Input> = readers.iter().flat_map(|reader| inputs(reader, part)).collect();
    if readers.len() == 1 {
        // One file keeps its sessions apart.
        for input in inputs {
            merge(vec![input], part, &mut file, &mut written)?;
        }
    } else {
        merge(inputs, part, &mut file, &mut written)?;
    }
    file.commit()?;
    Ok(written)
}

/// One session that is read.
struct Input {
    reader: Arc<Reader>,
    messages: Messages,
    session: usize,
    wanted: HashSet<usize>,
    /// What each clock last said: its payload, and what the clock under it said then.
    clocks: HashMap<usize, Reading>,
    /// The time of its last message on a clock that counts from the Epoch.
    now: i64,
    /// The message that is next.
    found: Option<Found>,
    /// The number of each stream in the output.
    outlets: HashMap<usize, usize>,
    /// What each clock was last made to say in the output.
    said: HashMap<usize, Reading>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Reading {
    payload: Vec<u8>,
    base: Option<Vec<u8>>,
}

fn inputs(reader: &Arc<Reader>, part: &Part) -> Vec<Input> {
    let wants =
        |stream: &Stream| part.tracks.as_ref().is_none_or(|tracks| tracks.contains(&stream.name));
    (0..reader.scan().sessions.len())
        .map(|session| {
            let streams = reader.streams().iter().enumerate();
            let of_session = streams.filter(|(_, stream)| stream.session == session);
            let wanted = of_session.filter(|(_, stream)| wants(stream)).map(|(index, _)| index);
            Input {
                reader: Arc::clone(reader),
                messages: reader.messages(),
                session,
                wanted: wanted.collect(),
                clocks: HashMap::new(),
                now: i64::MIN,
                found: None,
                outlets: HashMap::new(),
                said: HashMap::new(),
            }
        })
        .collect()
}

impl Input {
    fn stream(&self, index: usize) -> Option<&Stream> {
        self.reader.streams().get(index)
    }

    fn clock_of(&self, index: usize) -> Option<usize> {
        self.reader.clocks().get(index).copied().flatten()
    }

    /// The clocks that the wanted streams need, and those under them.
    fn needed(&self) -> HashSet<usize> {
        let mut needed = self.wanted.clone();
        let mut open: Vec<usize> = needed.iter().copied().collect();
        while let Some(index) = open.pop() {
            let clock = self.clock_of(index).filter(|clock| !needed.contains(clock));
            if let Some(clock) = clock {
                needed.insert(clock);
                open.push(clock);
            }
        }
        needed
    }
}

/// Writes one session of several, in the order of their times.
fn merge(
    mut inputs: Vec<Input>,
    part: &Part,
    out: &mut dyn Write,
    written: &mut Written,
) -> Result<()> {
    let outlets = outlets(&inputs);
    let layout = match inputs.as_slice() {
        [only] => only.reader.scan().sessions.get(only.session).map(Layout::of),
        _ => None,
    };
    let metas: Vec<(u32, StreamMeta)> =
        outlets.iter().map(|outlet| (outlet.id, outlet.meta.clone())).collect();
    let layout = layout.unwrap_or_default().fit(&metas);
    let mut writer = SessionWriter::new(out, &layout);
    let keeps_ids = inputs.len() == 1;
    for (number, outlet) in outlets.iter().enumerate() {
        writer.add(number, keeps_ids.then_some(outlet.id), &outlet.meta)?;
        if let Some(input) = inputs.get_mut(outlet.input) {
            input.outlets.insert(outlet.stream, number);
        }
    }
    let window = Window { tracks: None, from: part.from, until: part.until, last: None };
    for input in &mut inputs {
        input.advance();
    }
    // The input that is farthest behind comes first; of those at the same time, the first named.
    while let Some(input) =
        inputs.iter_mut().filter(|input| input.found.is_some()).min_by_key(|input| input.now)
    {
        input.write(&window, &mut writer, written)?;
        input.advance();
    }
    writer.finish()?;
    Ok(())
}

/// A stream that is written.
struct Outlet {
    input: usize,
    stream: usize,
    id: u32,
    meta: StreamMeta,
}

/// The streams that are written, under names that differ: where files have the same name, the
/// later ones get a number.
fn outlets(inputs: &[Input]) -> Vec<Outlet> {
    let mut taken: HashSet<String> = HashSet::new();
    let mut outlets = Vec::new();
    for (number, input) in inputs.iter().enumerate() {
        let mut needed: Vec<usize> = input.needed().into_iter().collect();
        needed.sort_unstable_by_key(|index| input.stream(*index).map(|stream| stream.id));
        let streams = || needed.iter().filter_map(|index| input.stream(*index));
        let mut renamed = HashMap::new();
        for stream in streams() {
            let numbered = (2..).map(|count: u64| format!("{} ({count})", stream.name));
            let mut names = std::iter::once(stream.name.clone()).chain(numbered);
            let free = names.find(|name| inputs.len() == 1 || !taken.contains(name));
            let name = free.unwrap_or_else(|| stream.name.clone());
            renamed.entry(stream.name.as_str()).or_insert_with(|| name.clone());
            taken.insert(name);
        }
        for (index, stream) in needed.iter().zip(streams()) {
            let meta = meta_of(&with_names(stream, &renamed));
            outlets.push(Outlet { input: number, stream: *index, id: stream.id, meta });
        }
    }
    outlets
}

/// A stream under its new name, with the names it refers to as they are now.
fn with_names(stream: &Stream, renamed: &HashMap<&str, String>) -> Stream {
    let new = |name: &str| renamed.get(name).cloned().unwrap_or_else(|| name.to_owned());
    let mut stream = stream.clone();
    stream.name = new(&stream.name);
    stream.about = stream.about.as_deref().map(new);
    for key in ["clock", "delta"] {
        if let Some(Json::String(name)) = stream.attributes.get_mut(key) {
            *name = new(name);
        }
    }
    stream
}

impl Input {
    /// Goes to the next message of the session.
    fn advance(&mut self) {
        loop {
            self.found = self.messages.advance();
            let Some(found) = &self.found else { return };
            let message = self.messages.message(found);
            let Some(stream) = self.reader.streams().get(message.stream) else { continue };
            if stream.session < self.session {
                continue;
            }
            if stream.session > self.session {
                self.found = None;
                return;
            }
            let clock = if stream.is_clock() {
                Some(message.stream)
            } else {
                self.clock_of(message.stream)
            };
            let counts = clock.is_some_and(|clock| self.reader.is_since_epoch(clock));
            // A remark about the past does not set the time back.
            if let (Some(time), true, false) = (message.time, counts, stream.is_annotation()) {
                self.now = time.0;
            }
            return;
        }
    }

    /// Writes the message that was found, if it is asked for.
    fn write<W: Write>(
        &mut self,
        window: &Window,
        writer: &mut SessionWriter<W>,
        written: &mut Written,
    ) -> Result<()> {
        let Some(found) = self.found else { return Ok(()) };
        let message = self.messages.message(&found);
        let index = message.stream;
        let is_clock = self.stream(index).is_some_and(Stream::is_clock);
        let is_asked = self.wanted.contains(&index) && window.holds(message.time);
        if is_clock {
            let base = self.clock_of(index).and_then(|base| self.clocks.get(&base));
            let base = base.map(|reading| reading.payload.clone());
            let reading = Reading { payload: message.payload.to_vec(), base };
            self.clocks.insert(index, reading);
            if is_asked {
                written.events += 1;
                return self.set_clock(index, true, writer);
            }
            return Ok(());
        }
        if !is_asked {
            return Ok(());
        }
        if let Some(clock) = self.clock_of(index)
            && !self.stream(index).is_some_and(Stream::is_annotation)
        {
            self.set_clock(clock, false, writer)?;
        }
        let Some(outlet) = self.outlets.get(&index) else { return Ok(()) };
        let message = self.messages.message(&found);
        if writer.write(*outlet, message.payload)? {
            written.events += 1;
        } else {
            let name = self.stream(index).map_or("", |stream| stream.name.as_str());
            let why = format!("a message of {} is not of its length", shortened(name));
            written.losses.push(Finding::at(Severity::Warning, "unwritten", message.offset, why));
        }
        Ok(())
    }

    /// Has a clock show in the output what it shows in the input.
    fn set_clock<W: Write>(
        &mut self,
        clock: usize,
        is_asked: bool,
        writer: &mut SessionWriter<W>,
    ) -> Result<()> {
        let Some(reading) = self.clocks.get(&clock) else { return Ok(()) };
        if !is_asked && self.said.get(&clock) == Some(reading) {
            return Ok(());
        }
        let base = self.clock_of(clock).and_then(|base| Some((base, self.outlets.get(&base)?)));
        if let (Some((base, outlet)), Some(payload)) = (base, &reading.base) {
            let said = self.said.get(&base).map(|said| &said.payload);
            if said != Some(payload) {
                writer.write(*outlet, payload)?;
                let reading = Reading { payload: payload.clone(), base: None };
                self.said.insert(base, reading);
            }
        }
        if let Some(outlet) = self.outlets.get(&clock) {
            writer.write(*outlet, &reading.payload)?;
        }
        self.said.insert(clock, reading.clone());
        Ok(())
    }
}
