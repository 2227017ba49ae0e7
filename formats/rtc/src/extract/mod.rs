//! Cutting, filtering and merging: parts of files as one file.
//!
//! Times stay what they were. A clock's message is written when a message that is kept needs it,
//! also when it lies before the range; a clock that counts from another is written after what
//! that one showed at its moment. Where one has to go back for that, the output says that it may.
//! Every Unit of the output begins with what its clocks show, so that none depends on another.

mod clocks;
mod likeness;
mod outlets;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::rc::Rc;
use std::sync::Arc;

use kymo_core::bytes::{Endian, Limits};
use kymo_core::{
    Context, Destination, Error, Finding, Invariant as _, Result, Severity, Source, shortened,
};
use kymo_model::timeline::Window;
use kymo_model::{ExtractRequest, WriteReport};
use kymo_rtc_wire::meta::StreamMeta;

use self::clocks::{ClockReading, Falling, WrittenReadings};
use self::outlets::outlets;
use crate::read::{LocatedMessage, Messages, Named, Problem};
use crate::types::Stream;
use crate::write::{Layout, SessionWriter, meta_of};
use crate::{Reader, check, decode};

/// Messages between two tellings of progress.
const PROGRESS_MESSAGES: u64 = 1 << 12;

/// Writes a part of some files as one file.
pub(crate) fn extract(
    sources: &[Source],
    part: &ExtractRequest,
    to: &Destination,
    context: &Context<'_>,
) -> Result<WriteReport> {
    if part.sort {
        let why = "RTC files are in the order in which they were written, and are not sorted";
        return Err(Error::request(why));
    }
    let readers = sources.iter().map(|source| Reader::open(source, context));
    let readers = readers.collect::<Result<Vec<_>>>()?;
    let mut falling = Falling::new();
    loop {
        let mut file = to.file()?;
        let copied = copy(sources, &readers, part, context, &falling, &mut file)?;
        if copied.falling.is_subset(&falling) {
            file.commit()?;
            return Ok(copied.written);
        }
        // That a clock goes back is said before it does: all of it is written once more.
        falling = copied.falling;
    }
}

/// Result of writing, and the clocks that went back in it.
struct CopyReport {
    written: WriteReport,
    falling: Falling,
}

/// Writes a part of some files, of which it is known which clocks of the output go back.
fn copy(
    sources: &[Source],
    readers: &[Arc<Reader>],
    part: &ExtractRequest,
    context: &Context<'_>,
    falling: &Falling,
    file: &mut dyn Write,
) -> Result<CopyReport> {
    let mut copied = CopyReport { written: WriteReport::default(), falling: Falling::new() };
    let mut inputs = Vec::new();
    for (source, reader) in sources.iter().zip(readers) {
        let input = Input::new(source, reader, part);
        input.report_losses(&context.limits, &mut copied.written);
        inputs.push(input);
    }
    for input in &mut inputs {
        input.advance();
    }
    context.progress.begin("writing", sources.iter().map(Source::size_bytes).sum());
    if let [only] = inputs.as_mut_slice() {
        // One file keeps its sessions apart.
        for session in 0..only.reader.scan().sessions.len() {
            let only = std::slice::from_mut(only);
            merge(only, Some(session), (part, context), falling, file, &mut copied)?;
        }
    } else {
        merge(&mut inputs, None, (part, context), falling, file, &mut copied)?;
    }
    context.progress.end();
    for input in &inputs {
        input.report_untimed(&mut copied.written);
    }
    Ok(copied)
}

/// One file that is read.
struct Input {
    /// Its path, to say where something was lost.
    name: String,
    size_bytes: u64,
    reader: Arc<Reader>,
    messages: Messages,
    wanted: HashSet<usize>,
    /// The stream that each stream of remarks is about.
    abouts: HashMap<usize, usize>,
    /// Last reading of each clock.
    clocks: HashMap<usize, Rc<ClockReading>>,
    /// The time of its last message on a clock that counts from the Epoch.
    now: i64,
    /// The message that is next.
    found: Option<LocatedMessage>,
    /// The number of each stream in the output.
    outlets: HashMap<usize, usize>,
    /// The byte order of the output.
    endian: Endian,
    /// Messages that are asked for but for their time, of which they have none.
    untimed: u64,
}

impl Input {
    fn new(source: &Source, reader: &Arc<Reader>, part: &ExtractRequest) -> Self {
        let is_wanted = |stream: &Stream| {
            part.tracks.as_ref().is_none_or(|tracks| tracks.contains(&stream.name))
        };
        let messages = reader.messages();
        let streams = reader.streams().iter().enumerate();
        let wanted = streams.filter(|(_, stream)| is_wanted(stream)).map(|(index, _)| index);
        Self {
            name: source.path().display().to_string(),
            size_bytes: source.size_bytes(),
            wanted: wanted.collect(),
            abouts: abouts(reader.streams()),
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
    fn report_untimed(&self, written: &mut WriteReport) {
        if self.untimed > 0 {
            let message = match self.untimed {
                1 => "an event has no time and is left out".to_owned(),
                count => format!("{count} events have no time and are left out"),
            };
            let mut loss = Finding::for_whole_file(Severity::Warning, "time", message);
            loss.file = Some(self.name.clone());
            written.losses.push(loss);
        }
    }

    /// Says what cannot be read, and which messages have no end: those are not copied.
    fn report_losses(&self, limits: &Limits, written: &mut WriteReport) {
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

    /// Returns true if the message that is next is of a session.
    fn is_in(&self, session: Option<usize>) -> bool {
        let next = self.found.as_ref().and_then(|found| self.stream(found.stream()));
        next.is_some_and(|next| session.is_none_or(|session| next.session == session))
    }

    /// The wanted streams of a session, or of all.
    fn selected_streams(&self, session: Option<usize>) -> Vec<usize> {
        let is_wanted = |index: &usize| self.wanted.contains(index);
        match session {
            Some(session) => self
                .reader
                .catalog()
                .session_streams(session)
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
        self.abouts.get(&index).copied()
    }

    fn clock_of(&self, index: usize) -> Option<usize> {
        self.reader.clocks().get(index).copied().flatten()
    }

    /// The streams that the wanted ones need: their clocks and those under them, and what remarks
    /// are about, which tells the clock that their moments are on.
    fn needed(&self, session: Option<usize>) -> HashSet<usize> {
        let mut open = self.selected_streams(session);
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

/// The streams that streams of remarks are about, of their session.
fn abouts(streams: &[Stream]) -> HashMap<usize, usize> {
    let mut named: HashMap<usize, Named> = HashMap::new();
    for (index, stream) in streams.iter().enumerate() {
        named.entry(stream.session).or_default().add(stream, index);
    }
    let about = |(index, stream): (usize, &Stream)| {
        let name = stream.about.as_deref()?;
        Some((index, named.get(&stream.session)?.find(name, stream.id)?))
    };
    streams.iter().enumerate().filter_map(about).collect()
}

/// Writes one session, of one or of several files, in the order of their times.
fn merge(
    inputs: &mut [Input],
    session: Option<usize>,
    (part, context): (&ExtractRequest, &Context<'_>),
    falling: &Falling,
    out: &mut dyn Write,
    copied: &mut CopyReport,
) -> Result<()> {
    let number = session.unwrap_or(0);
    let mut outlets = outlets(inputs, session, part.join);
    for (_, clock) in falling.range((number, 0)..(number + 1, 0)) {
        let outlet = outlets.get_mut(*clock).or_broken("a clock that falls has an outlet")?;
        copied.written.losses.extend(outlet.fall());
    }
    let layout = match (&*inputs, session) {
        ([only], Some(session)) => {
            only.reader.scan().sessions.get(session).map(Layout::from_session)
        }
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
        for (value, stream) in &outlet.from {
            let input = inputs.get_mut(*value).or_broken("an outlet is of an input")?;
            input.outlets.insert(*stream, number);
        }
    }
    let window = Window { tracks: None, from: part.from, until: part.until, last: None };
    let (mut said, mut count) = (WrittenReadings::default(), 0_u64);
    // The input that is farthest behind comes first; of those at the same time, the first named.
    while let Some(input) =
        inputs.iter_mut().filter(|input| input.is_in(session)).min_by_key(|input| input.now)
    {
        input.write(&window, &mut writer, &mut said, &mut copied.written)?;
        input.advance();
        count += 1;
        if count.is_multiple_of(PROGRESS_MESSAGES) {
            context.progress.advance_to(inputs.iter().map(Input::position).sum());
        }
    }
    writer.finish()?;
    copied.falling.extend(said.falling.into_iter().map(|clock| (number, clock)));
    Ok(())
}

impl Input {
    /// The byte that its next message is at.
    fn position(&self) -> u64 {
        let next = self.found.as_ref().map(|found| self.messages.message(found).offset);
        next.unwrap_or(self.size_bytes)
    }

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
        said: &mut WrittenReadings,
        written: &mut WriteReport,
    ) -> Result<()> {
        let Some(found) = self.found else { return Ok(()) };
        let message = self.messages.message(&found);
        let index = message.stream;
        let is_clock = self.stream(index).is_some_and(Stream::is_clock);
        let is_asked = self.wanted.contains(&index) && window.holds(message.time);
        if is_clock {
            let base = self.clock_of(index).and_then(|base| self.clocks.get(&base));
            let reading = ClockReading::new(message.payload, message.time, base);
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
        let outlet = self.outlets.get(&index).or_broken("what is asked for has an outlet")?;
        let message = self.messages.message(&found);
        if writer.write(*outlet, &self.in_output_order(index, message.payload))? {
            written.events += 1;
        } else {
            let name = self.stream(index).map_or("", |stream| stream.name.as_str());
            let why = format!("a message of {} is not of its length", shortened(name));
            let mut loss = Finding::at_offset(Severity::Warning, "unwritten", message.offset, why);
            loss.file = Some(self.name.clone());
            written.losses.push(loss);
        }
        Ok(())
    }

    /// A payload in the byte order of the output.
    fn in_output_order<'a>(&self, index: usize, payload: &'a [u8]) -> Cow<'a, [u8]> {
        match self.stream(index) {
            Some(stream) if self.reader.endian(stream.session) != self.endian => {
                let mut payload = payload.to_vec();
                decode::swap_bytes(&stream.encoding, &mut payload);
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
        said: &mut WrittenReadings,
    ) -> Result<()> {
        let Some(reading) = self.clocks.get(&clock) else { return Ok(()) };
        let clocks = std::iter::successors(Some(clock), |clock| self.clock_of(*clock));
        let chain = clocks.zip(reading.chain()).map_while(|(value, reading)| {
            let outlet = *self.outlets.get(&value)?;
            let is_due = (is_asked && value == clock) || !said.shows(outlet, reading);
            is_due.then_some((value, outlet, reading))
        });
        // What it counts from comes first, unless that is what it shows.
        for (value, outlet, reading) in chain.collect::<Vec<_>>().into_iter().rev() {
            let payload = self.in_output_order(value, &reading.payload);
            writer.write(outlet, &payload)?;
            writer.keep(outlet, &payload)?;
            said.record(outlet, reading);
        }
        Ok(())
    }
}
