//! Cutting, filtering and merging: parts of files as one file.
//!
//! Times stay what they were. A clock's message is written when a message that is kept needs it,
//! also when it lies before the range; a clock that counts from another is written after what
//! that one showed at its moment.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::sync::Arc;

use kymo_core::bytes::{Endian, Limits};
use kymo_core::model::timeline::Window;
use kymo_core::{
    Context, Destination, Error, Finding, Part, Result, Severity, Source, Written, shortened,
};
use kymo_rtc_wire::meta::StreamMeta;
use serde_json::Value as Json;

use crate::kept::Kept;
use crate::read::{Found, Messages, Problem};
use crate::types::Stream;
use crate::write::{Layout, SessionWriter, meta_of};
use crate::{Reader, check, decode};

/// Writes a part of some files as one file.
pub(crate) fn extract(
    sources: &[Source],
    part: &Part,
    to: &Destination,
    context: &Context<'_>,
) -> Result<Written> {
    if part.sort {
        let why = "the messages of RTC files are in the order in which they were written";
        return Err(Error::request(why));
    }
    let readers = sources.iter().map(|source| Reader::open(source, context));
    let readers = readers.collect::<Result<Vec<_>>>()?;
    let mut written = Written::default();
    let mut inputs = Vec::new();
    for (source, reader) in sources.iter().zip(&readers) {
        let input = Input::new(source, reader, part);
        input.say_losses(&context.limits, &mut written);
        inputs.push(input);
    }
    let mut file = to.file()?;
    for input in &mut inputs {
        input.advance();
    }
    if let [only] = inputs.as_mut_slice() {
        // One file keeps its sessions apart.
        for session in 0..only.reader.scan().sessions.len() {
            merge(std::slice::from_mut(only), Some(session), part, &mut file, &mut written)?;
        }
    } else {
        merge(&mut inputs, None, part, &mut file, &mut written)?;
    }
    for input in &inputs {
        input.say_untimed(&mut written);
    }
    file.commit()?;
    Ok(written)
}

/// One file that is read.
struct Input {
    /// Its path, to say where something was lost.
    name: String,
    reader: Arc<Reader>,
    messages: Messages,
    wanted: HashSet<usize>,
    /// What each clock last said: its payload, and what the clock under it said then.
    clocks: HashMap<usize, Reading>,
    /// The time of its last message on a clock that counts from the Epoch.
    now: i64,
    /// The message that is next.
    found: Option<Found>,
    /// The number of each stream in the output.
    outlets: HashMap<usize, usize>,
    /// The byte order of the output.
    endian: Endian,
    /// Messages that are asked for but for their time, of which they have none.
    untimed: u64,
}

/// What a clock shows, and what the clock under it showed then.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Reading {
    payload: Vec<u8>,
    base: Option<Vec<u8>>,
}

/// What each clock of the output was last made to say, by the numbers of their streams.
type Said = HashMap<usize, Reading>;

impl Input {
    fn new(source: &Source, reader: &Arc<Reader>, part: &Part) -> Self {
        let is_wanted = |stream: &Stream| {
            part.tracks.as_ref().is_none_or(|tracks| tracks.contains(&stream.name))
        };
        let messages = reader.messages();
        let streams = reader.streams().iter().enumerate();
        let wanted = streams.filter(|(_, stream)| is_wanted(stream)).map(|(index, _)| index);
        Self {
            name: source.path().display().to_string(),
            wanted: wanted.collect(),
            reader: Arc::clone(reader),
            messages,
            clocks: HashMap::new(),
            now: i64::MIN,
            found: None,
            outlets: HashMap::new(),
            endian: Endian::Little,
            untimed: 0,
        }
    }

    /// Says how many messages are not in a range of time for want of one.
    fn say_untimed(&self, written: &mut Written) {
        if self.untimed > 0 {
            let message = match self.untimed {
                1 => "an event has no time and is left out".to_owned(),
                count => format!("{count} events have no time and are left out"),
            };
            let mut loss = Finding::whole(Severity::Warning, "time", message);
            loss.file = Some(self.name.clone());
            written.losses.push(loss);
        }
    }

    /// Says what cannot be read, and which messages have no end: those are not copied.
    fn say_losses(&self, limits: &Limits, written: &mut Written) {
        let scan = self.reader.scan();
        let unfinished = scan.problems.iter().filter_map(|problem| match problem {
            Problem::Unfinished { offset, stream, .. } => Some((*offset, *stream)),
            _ => None,
        });
        let unfinished: HashMap<u64, usize> = unfinished.collect();
        for mut loss in check::losses(scan, limits).into_vec() {
            let stream = loss.offset.filter(|_| loss.rule == "unfinished");
            let stream = stream.and_then(|offset| unfinished.get(&offset));
            if let Some(stream) = stream {
                let is_wanted = self.wanted.contains(stream);
                loss.severity = if is_wanted { Severity::Warning } else { Severity::Note };
                loss.message.push_str("; it is not copied");
            }
            if loss.severity > Severity::Note {
                loss.file = Some(self.name.clone());
                written.losses.push(loss);
            }
        }
    }

    /// Whether the message that is next is of a session.
    fn is_in(&self, session: Option<usize>) -> bool {
        let next = self.found.as_ref().and_then(|found| self.stream(found.stream()));
        next.is_some_and(|next| session.is_none_or(|session| next.session == session))
    }

    /// The wanted streams of a session, or of all.
    fn wanted_of(&self, session: Option<usize>) -> Vec<usize> {
        let is_wanted = |index: &usize| self.wanted.contains(index);
        match session {
            Some(session) => self
                .reader
                .catalog()
                .of_session(session)
                .iter()
                .copied()
                .filter(is_wanted)
                .collect(),
            None => self.wanted.iter().copied().collect(),
        }
    }
}

impl Input {
    fn stream(&self, index: usize) -> Option<&Stream> {
        self.reader.streams().get(index)
    }

    /// The stream that a stream of remarks is about.
    fn about(&self, index: usize) -> Option<usize> {
        let stream = self.stream(index)?;
        let name = stream.about.as_deref()?;
        let mut of_session = self.reader.catalog().of_session(stream.session).iter().copied();
        of_session.find(|other| self.stream(*other).is_some_and(|other| other.name == name))
    }

    fn clock_of(&self, index: usize) -> Option<usize> {
        self.reader.clocks().get(index).copied().flatten()
    }

    /// The streams that the wanted ones need: their clocks and those under them, and what remarks
    /// are about, which tells the clock that their moments are on.
    fn needed(&self, session: Option<usize>) -> HashSet<usize> {
        let mut open = self.wanted_of(session);
        let mut needed: HashSet<usize> = open.iter().copied().collect();
        while let Some(index) = open.pop() {
            for other in [self.clock_of(index), self.about(index)].into_iter().flatten() {
                if needed.insert(other) {
                    open.push(other);
                }
            }
        }
        needed
    }
}

/// Writes one session, of one or of several files, in the order of their times.
fn merge(
    inputs: &mut [Input],
    session: Option<usize>,
    part: &Part,
    out: &mut dyn Write,
    written: &mut Written,
) -> Result<()> {
    let outlets = outlets(inputs, session, part.join);
    let layout = match (&*inputs, session) {
        ([only], Some(session)) => only.reader.scan().sessions.get(session).map(Layout::of),
        _ => None,
    };
    let metas: Vec<(u32, StreamMeta)> =
        outlets.iter().map(|outlet| (outlet.id, meta_of(&outlet.as_written))).collect();
    let layout = layout.unwrap_or_default().fit(&metas);
    let mut writer = SessionWriter::new(out, &layout);
    for (number, (id, meta)) in metas.iter().enumerate() {
        writer.add(number, session.map(|_| *id), meta)?;
    }
    for input in &mut *inputs {
        input.endian = layout.endian;
    }
    for (number, outlet) in outlets.iter().enumerate() {
        for (of, stream) in &outlet.from {
            if let Some(input) = inputs.get_mut(*of) {
                input.outlets.insert(*stream, number);
            }
        }
    }
    let window = Window { tracks: None, from: part.from, until: part.until, last: None };
    let mut said = Said::new();
    // The input that is farthest behind comes first; of those at the same time, the first named.
    while let Some(input) =
        inputs.iter_mut().filter(|input| input.is_in(session)).min_by_key(|input| input.now)
    {
        input.write(&window, &mut writer, &mut said, written)?;
        input.advance();
    }
    writer.finish()?;
    Ok(())
}

/// A stream that is written.
struct Outlet {
    /// The streams it is made of, each with the number of its input.
    from: Vec<(usize, usize)>,
    id: u32,
    as_written: Stream,
}

/// The streams that are written, under names that differ: where files have the same name, the
/// later ones get a number, or are joined to the first if they are described alike and asked to.
fn outlets(inputs: &[Input], session: Option<usize>, join: bool) -> Vec<Outlet> {
    let mut taken: HashMap<String, usize> = HashMap::new();
    let mut outlets: Vec<Outlet> = Vec::new();
    let mut sets = Sets::new();
    for (number, input) in inputs.iter().enumerate() {
        let mut needed: Vec<usize> = input.needed(session).into_iter().collect();
        let place = |index: &usize| input.stream(*index).map(|stream| (stream.session, stream.id));
        needed.sort_unstable_by_key(place);
        let mut renamed: HashMap<(usize, &str), String> = HashMap::new();
        let streams = || needed.iter().filter_map(|index| Some((*index, input.stream(*index)?)));
        for (index, stream) in streams() {
            let first = taken.get(&stream.name).and_then(|first| outlets.get_mut(*first));
            if let Some(first) = first.filter(|first| join && is_alike(&first.as_written, stream)) {
                first.from.push((number, index));
                continue;
            }
            let numbered = (2..).map(|count: u64| format!("{} ({count})", stream.name));
            let mut names = std::iter::once(stream.name.clone()).chain(numbered);
            let free = names.find(|name| session.is_some() || !taken.contains_key(name));
            let name = free.unwrap_or_else(|| stream.name.clone());
            renamed.entry((stream.session, &stream.name)).or_insert_with(|| name.clone());
            taken.entry(name).or_insert(outlets.len());
            let from = vec![(number, index)];
            let mut as_written = stream.clone();
            if session.is_none() && !join {
                set_apart(&mut as_written, number, &mut sets);
            }
            outlets.push(Outlet { from, id: stream.id, as_written });
        }
        for outlet in outlets.iter_mut().filter(|outlet| is_of(outlet, number)) {
            outlet.as_written = with_names(&outlet.as_written, &renamed);
        }
    }
    outlets
}

/// The new sets of numbers that tracks were counted in, by input, session and old set.
type Sets = HashMap<(usize, usize, u64), u64>;

/// Tells the numbers of tracks that a stream knows apart from those of other inputs.
fn set_apart(stream: &mut Stream, input: usize, sets: &mut Sets) {
    let Some(mut kept) = Kept::take(&mut stream.attributes) else { return };
    let next = sets.len() as u64;
    kept.set = *sets.entry((input, stream.session, kept.set)).or_insert(next);
    kept.put(&mut stream.attributes);
}

/// Whether an outlet was made for an input.
fn is_of(outlet: &Outlet, input: usize) -> bool {
    outlet.from.first().is_some_and(|(of, _)| *of == input)
}

/// Whether two streams of the same name are described alike.
fn is_alike(one: &Stream, other: &Stream) -> bool {
    let description = |stream: &Stream| {
        (stream.format.clone(), stream.length_bytes, stream.is_cont, stream.about.clone())
    };
    description(one) == description(other) && one.attributes == other.attributes
}

/// A stream under its new name, with the names it refers to as they are now.
fn with_names(stream: &Stream, renamed: &HashMap<(usize, &str), String>) -> Stream {
    let of = stream.session;
    let new = |name: &str| renamed.get(&(of, name)).cloned().unwrap_or_else(|| name.to_owned());
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
    /// Goes to the next message.
    fn advance(&mut self) {
        self.found = self.messages.advance();
        let Some(found) = &self.found else { return };
        let message = self.messages.message(found);
        let Some(stream) = self.reader.streams().get(message.stream) else { return };
        let clock =
            if stream.is_clock() { Some(message.stream) } else { self.clock_of(message.stream) };
        let counts = clock.is_some_and(|clock| self.reader.is_since_epoch(clock));
        // A remark about the past does not set the time back.
        if let (Some(time), true, false) = (message.time, counts, stream.is_annotation()) {
            self.now = time.0;
        }
    }

    /// Writes the message that was found, if it is asked for.
    fn write<W: Write>(
        &mut self,
        window: &Window,
        writer: &mut SessionWriter<W>,
        said: &mut Said,
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
                return self.set_clock(index, true, writer, said);
            }
            return Ok(());
        }
        if !is_asked {
            let is_untimed = message.time.is_none() && self.wanted.contains(&index);
            self.untimed += u64::from(is_untimed);
            return Ok(());
        }
        if let Some(clock) = self.clock_of(index)
            && !self.stream(index).is_some_and(Stream::is_annotation)
        {
            self.set_clock(clock, false, writer, said)?;
        }
        let Some(outlet) = self.outlets.get(&index) else { return Ok(()) };
        let message = self.messages.message(&found);
        if writer.write(*outlet, &self.turned(index, message.payload))? {
            written.events += 1;
        } else {
            let name = self.stream(index).map_or("", |stream| stream.name.as_str());
            let why = format!("a message of {} is not of its length", shortened(name));
            let mut loss = Finding::at(Severity::Warning, "unwritten", message.offset, why);
            loss.file = Some(self.name.clone());
            written.losses.push(loss);
        }
        Ok(())
    }

    /// A payload in the byte order of the output.
    fn turned<'a>(&self, index: usize, payload: &'a [u8]) -> Cow<'a, [u8]> {
        match self.stream(index) {
            Some(stream) if self.reader.endian(stream.session) != self.endian => {
                let mut payload = payload.to_vec();
                decode::turn(&stream.encoding, &mut payload);
                payload.into()
            }
            _ => payload.into(),
        }
    }

    /// Has a clock show in the output what it shows in the input.
    fn set_clock<W: Write>(
        &self,
        clock: usize,
        is_asked: bool,
        writer: &mut SessionWriter<W>,
        said: &mut Said,
    ) -> Result<()> {
        let Some(reading) = self.clocks.get(&clock) else { return Ok(()) };
        let Some(outlet) = self.outlets.get(&clock) else { return Ok(()) };
        if !is_asked && said.get(outlet) == Some(reading) {
            return Ok(());
        }
        let base = self.clock_of(clock).and_then(|base| Some((base, self.outlets.get(&base)?)));
        if let (Some((base, outlet)), Some(payload)) = (base, &reading.base) {
            let before = said.get(outlet).map(|said| &said.payload);
            if before != Some(payload) {
                writer.write(*outlet, &self.turned(base, payload))?;
                said.insert(*outlet, Reading { payload: payload.clone(), base: None });
            }
        }
        writer.write(*outlet, &self.turned(clock, &reading.payload))?;
        said.insert(*outlet, reading.clone());
        Ok(())
    }
}
