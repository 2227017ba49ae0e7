//! Writing again what can be read: of a damaged file, or of a sound one.

use std::cmp::Reverse;
use std::io::Write;
use std::sync::Arc;

use kymo_core::{
    Context, Destination, Error, Finding, Invariant as _, Result, Severity, Source, shortened, slot,
};
use kymo_model::RepairReport;

use crate::read::Scan;
use crate::types::Stream;
use crate::write::{Layout, SessionWriter, meta_of};
use crate::{Reader, check};

/// Writes a sound file of what can be read of a damaged one.
pub(crate) fn repair(
    source: &Source,
    to: &Destination,
    context: &Context<'_>,
) -> Result<RepairReport> {
    let reader = Reader::salvage(source, context)?;
    let (scan, is_empty) = (reader.scan(), source.size_bytes() == 0);
    if scan.messages == 0 && scan.catalog.streams.is_empty() && !is_empty {
        return Err(Error::request("nothing of it can be read: there is no message and no stream"));
    }
    let mut file = to.file()?;
    let mut repaired = RepairReport { unit: "messages", ..RepairReport::default() };
    copy(&reader, &mut file, &mut repaired, true)?;
    for finding in check::losses(reader.scan(), &context.limits).into_vec() {
        // What is only noted is still as it was, but for the end that it gets. The result does not
        // say of a message that its beginning may be missing.
        if finding.severity > Severity::Note || finding.rule == "may-lack-beginning" {
            repaired.losses.push(finding);
        } else if finding.rule != "end" {
            repaired.corrected.push(finding);
        }
    }
    repaired.corrected.extend(check::faults(&reader, &context.limits));
    file.commit()?;
    Ok(repaired)
}

/// Reads a sound file and writes all of it again.
pub(crate) fn rewrite(source: &Source, to: &Destination, context: &Context<'_>) -> Result<()> {
    let reader = Reader::open(source, context)?;
    let mut file = to.file()?;
    copy(&reader, &mut file, &mut RepairReport::default(), false)?;
    file.commit()
}

/// Copies every session with its streams and messages. Units may begin with what clocks show, so
/// that damage costs the times of one Unit at most.
fn copy(
    reader: &Arc<Reader>,
    out: &mut dyn Write,
    repaired: &mut RepairReport,
    keeps_clocks: bool,
) -> Result<()> {
    let mut copying = Copying { reader, plans: plans(reader.scan()), session: 0, next: 0 };
    let mut messages = reader.messages();
    let mut writer = copying.begin(out);
    while let Some(found) = messages.advance() {
        let message = messages.message(&found);
        let stream = reader.streams().get(message.stream);
        let stream = stream.or_broken("a message is of a stream that is known")?;
        while copying.session < stream.session {
            writer = copying.next_session(writer, repaired)?;
        }
        copying.join(&mut writer, message.offset, repaired)?;
        // Of damaged files a stream may be told of behind its first message.
        if !writer.has_stream(message.stream) {
            copying.join(&mut writer, u64::MAX, repaired)?;
        }
        if writer.write(message.stream, message.payload)? {
            repaired.kept += 1;
            if keeps_clocks && stream.is_clock() {
                writer.keep(message.stream, message.payload)?;
            }
        } else {
            repaired.losses.push(unwritten(reader, message.stream, message.offset));
        }
    }
    while copying.session + 1 < copying.plans.len() {
        writer = copying.next_session(writer, repaired)?;
    }
    copying.end(writer, repaired)?;
    Ok(())
}

fn unwritten(reader: &Reader, stream: usize, offset: u64) -> Finding {
    let name = reader.streams().get(stream).map_or("", |stream| stream.name.as_str());
    let message = format!("a message of {} is not of the stream's length", shortened(name));
    Finding::at_offset(Severity::Warning, "unwritten", offset, message)
}

/// The streams of a session, in the order in which they are added, each with the place before
/// which that is done.
type Plan = Vec<(u64, usize)>;

/// Ids must rise: a stream that was defined after one with a higher id is added with that one.
fn plans(scan: &Scan) -> Vec<Plan> {
    let mut plans = vec![Plan::new(); scan.sessions.len().max(1)];
    let mut order: Vec<_> = scan.catalog.streams.iter().enumerate().collect();
    order.sort_by_key(|(_, stream)| (stream.session, Reverse(stream.id)));
    let mut least = (usize::MAX, u64::MAX);
    for (index, stream) in order {
        if least.0 != stream.session {
            least = (stream.session, u64::MAX);
        }
        least.1 = least.1.min(stream.offset);
        slot(&mut plans, stream.session).push((least.1, index));
    }
    for plan in &mut plans {
        plan.reverse();
    }
    plans
}

/// Progress of a copy.
struct Copying<'a> {
    reader: &'a Reader,
    plans: Vec<Plan>,
    session: usize,
    /// The next stream of the plan.
    next: usize,
}

impl Copying<'_> {
    fn plan(&self) -> &[(u64, usize)] {
        self.plans.get(self.session).map_or(&[], Vec::as_slice)
    }

    fn begin<W: Write>(&self, out: W) -> SessionWriter<W> {
        let layout = match self.reader.scan().sessions.get(self.session) {
            Some(session) => Layout::from_session(session),
            None => Layout::default(),
        };
        let described = |(_, index): &(u64, usize)| self.described(*index);
        let streams = self.plan().iter().filter_map(described);
        let metas: Vec<_> = streams.map(|stream| (stream.id, meta_of(&stream))).collect();
        SessionWriter::new(out, &layout.fit(&metas))
    }

    /// A stream as it is written. Clocks rise; of one that does not, the file has to say so.
    fn described(&self, index: usize) -> Option<Stream> {
        let mut stream = self.reader.streams().get(index)?.clone();
        if self.went_back(index).is_some() {
            stream.attributes.insert("rises".into(), false.into());
        }
        Some(stream)
    }

    /// Returns the place where a clock went back, if its description does not give that.
    fn went_back(&self, index: usize) -> Option<u64> {
        let stream = self.reader.streams().get(index)?;
        let statistics = self.reader.scan().statistics.get(index)?;
        statistics.went_back.filter(|_| !stream.may_go_back())
    }

    fn next_session<W: Write>(
        &mut self,
        writer: SessionWriter<W>,
        repaired: &mut RepairReport,
    ) -> Result<SessionWriter<W>> {
        let out = self.end(writer, repaired)?;
        self.session += 1;
        self.next = 0;
        Ok(self.begin(out))
    }

    /// Adds the streams that are defined before a place.
    fn join<W: Write>(
        &mut self,
        writer: &mut SessionWriter<W>,
        before: u64,
        repaired: &mut RepairReport,
    ) -> Result<()> {
        while let Some((at, index)) = self.plan().get(self.next).copied()
            && at <= before
            && let Some(stream) = self.described(index)
        {
            let name = shortened(&stream.name);
            if !writer.add(index, Some(stream.id), &meta_of(&stream))? {
                let message = format!("the stream {name} gets another id");
                repaired.corrected.push(Finding::at_offset(
                    Severity::Note,
                    "id",
                    stream.offset,
                    message,
                ));
            }
            if let Some(offset) = self.went_back(index) {
                let message = format!("the clock {name} goes back, and is now said not to rise");
                repaired.corrected.push(Finding::at_offset(
                    Severity::Warning,
                    "clock",
                    offset,
                    message,
                ));
            }
            self.next += 1;
        }
        Ok(())
    }

    /// Ends a session.
    fn end<W: Write>(
        &mut self,
        mut writer: SessionWriter<W>,
        repaired: &mut RepairReport,
    ) -> Result<W> {
        self.join(&mut writer, u64::MAX, repaired)?;
        writer.finish()
    }
}
