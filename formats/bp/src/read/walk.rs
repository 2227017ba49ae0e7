//! From element to element through a file, sound or damaged.

use bytes::Bytes;
use kymo_core::ahead::{self, CancelToken};
use kymo_core::bytes::{Endian, ReadError, ReadErrorKind, ReadResult};
use kymo_core::{Context, Finding, Findings, Severity, Source, Window};

use super::Index;
use super::element::{is_certain, parse, parse_unbounded, parse_usual};
use super::headers::{self, Header, Headers};
use super::split;
use crate::model::{Builder, Grouping};
use crate::spec;
use crate::types::{Dimension, Element, ElementKind, cursor};

/// Number of elements after which progress is reported.
const PROGRESS_ELEMENTS: usize = 1 << 14;

/// Enough for the header of nearly every element.
const HEAD_BYTES: usize = 256;

/// Greatest number of findings about one element: a fault, something odd, its place.
const ELEMENT_FINDINGS_MAX: u64 = 3;

/// Bytes in which the next element is looked for before progress is told.
const SEARCH_BYTES: usize = 4 << 20;
/// Zeros at the end of a file that are gone through to see whether anything follows.
const ZEROS_BYTES_MAX: usize = 256 << 20;

/// Offset and length of an element. Its length is the one in the file unless that was found wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) offset: u64,
    /// Enough for a stated length, which has 31 bits, and for a mended one: two texts below
    /// [`spec::TEXT_BYTES_MAX`] and a payload of 31 bits.
    pub(crate) length: u32,
    /// The number of its header, where that is one of those that repeat.
    pub(super) header: u32,
}

/// End of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// With its last element.
    Clean,
    /// With a length of zero, which an appending writer overwrites.
    ZeroWord {
        /// Offset of the zero word.
        offset: u64,
    },
    /// With fewer bytes than a length has, all of them zero.
    Trailing {
        /// Offset at which they begin.
        offset: u64,
    },
}

/// The elements of a file, by variable too, and how it ends.
pub(crate) struct Walk {
    pub(crate) index: Index,
    pub(crate) grouping: Grouping,
    pub(crate) end: End,
    pub(crate) findings: Findings,
}

/// Object at a place of the file.
enum Place {
    Element(u64),
    ZeroWord,
    Nothing,
}

impl Walk {
    /// Goes from length to length, and stops at the first that leads nowhere.
    pub(crate) fn strict(
        source: &Source,
        bytes: &Bytes,
        endian: Endian,
        context: &Context<'_>,
    ) -> ReadResult<Self> {
        let starts = split::starts(bytes, endian, ahead::threads(), split::PART_BYTES_MIN);
        Self::strict_from(&starts, source, bytes, endian, context)
    }

    /// The same, with other threads that go ahead from places which are guessed. Where the way
    /// leads to such a place, what was found from there on is taken over; where it does not,
    /// the guess was wrong and is forgotten. The result is the same in any case.
    pub(super) fn strict_from(
        starts: &[u64],
        source: &Source,
        bytes: &Bytes,
        endian: Endian,
        context: &Context<'_>,
    ) -> ReadResult<Self> {
        let quiet = Context::with_limits(context.limits);
        let ends = starts.iter().skip(1).copied().chain([u64::MAX]);
        let jobs = starts.iter().zip(ends).map(|(&start, end)| {
            let mut walk = Walker { offset: start, ..Walker::new(bytes, endian, &quiet) };
            move |wanted: CancelToken<'_>| {
                walk.walk_until(&mut source.window(bytes), end, wanted);
                walk
            }
        });
        ahead::run_with_jobs(jobs, |jobs| {
            let mut walk = Walker::new(bytes, endian, context);
            let mut window = source.window(bytes);
            let mut jobs = starts.iter().copied().zip(jobs).peekable();
            let end = loop {
                while let Some((start, job)) = jobs.next_if(|(start, _)| *start <= walk.offset) {
                    if start == walk.offset {
                        job.wait().into_iter().for_each(|further| walk.join(&further));
                    }
                }
                match walk.take_next(&mut window)? {
                    Place::Element(_) => {}
                    Place::ZeroWord => break walk.zero_word(),
                    Place::Nothing => break walk.trailing()?,
                }
            };
            Ok(walk.finish(bytes, end))
        })
    }

    /// Goes on after damage: by the tags where only the length is wrong, else at the next place
    /// that looks like a sound element.
    pub(crate) fn tolerant(bytes: &Bytes, endian: Option<Endian>, context: &Context<'_>) -> Self {
        let endian = endian.unwrap_or_else(|| first_sound_endian(bytes, context));
        let mut walk = Walker::new(bytes, endian, context);
        let end = loop {
            match walk.step() {
                Ok(None) => {}
                Ok(Some(end)) => break end,
                // Beyond the limits, or too few bytes for a length: there is no going on.
                Err(error) => {
                    walk.lose(&error, walk.size() - walk.offset);
                    break End::Clean;
                }
            }
        };
        walk.finish(bytes, end)
    }
}

struct Walker<'a, 'c> {
    bytes: &'a [u8],
    endian: Endian,
    context: &'c Context<'c>,
    offset: u64,
    entries: Vec<Entry>,
    headers: Headers<'a>,
    builder: Builder<'a>,
    findings: Findings,
}

impl<'a, 'c> Walker<'a, 'c> {
    fn new(bytes: &'a [u8], endian: Endian, context: &'c Context<'c>) -> Self {
        context.progress.begin("indexing", bytes.len() as u64);
        Self {
            bytes,
            endian,
            context,
            offset: 0,
            entries: Vec::new(),
            headers: Headers::default(),
            builder: Builder::default(),
            findings: Findings::new(&context.limits),
        }
    }

    fn finish(self, bytes: &Bytes, end: End) -> Walk {
        let Self { endian, context, entries, headers, builder, findings, .. } = self;
        let headers = headers.into_places();
        let index = Index { bytes: bytes.clone(), endian, entries, headers };
        let grouping = builder.finish(&index);
        context.progress.end();
        Walk { index, grouping, end, findings }
    }

    fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn rest_at(&self, offset: u64) -> &'a [u8] {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        self.bytes.get(start..).unwrap_or_default()
    }

    fn element(&self, offset: u64, length: u64) -> Element<'a> {
        let rest = self.rest_at(offset);
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        parse(rest.get(..length).unwrap_or(rest), offset, self.endian)
    }

    /// Returns the object at this place, judged by the length alone.
    fn place(&self) -> ReadResult<Place> {
        self.place_at(self.offset)
    }

    fn place_at(&self, offset: u64) -> ReadResult<Place> {
        let rest = self.rest_at(offset);
        place_at(rest, rest.len() as u64, offset, self.endian)
    }

    /// Takes or passes over what stands here, damaged or not; the end when it is reached.
    fn step(&mut self) -> ReadResult<Option<End>> {
        match self.place() {
            Ok(Place::Element(length)) => self.take_or_mend(length)?,
            Ok(Place::ZeroWord) => {
                match self.next_sound(self.offset + spec::LENGTH_BYTES, self.size()) {
                    Some(next) => self.pass_zeros(next),
                    None => return Ok(Some(self.zero_word())),
                }
            }
            Ok(Place::Nothing) => return self.trailing().map(Some),
            Err(error) => self.resume(&error)?,
        }
        Ok(None)
    }

    /// Goes from element to element as far as that is wanted, and no further than to what one
    /// cannot go on after.
    fn walk_until(&mut self, window: &mut Window<'_>, end: u64, wanted: CancelToken<'_>) {
        let findings_max = self.context.limits.findings_max as u64;
        while self.offset < end
            && wanted.is_wanted()
            // Findings that are counted and not kept could not be taken over in their order.
            && self.findings.total() + ELEMENT_FINDINGS_MAX <= findings_max
            && matches!(self.take_next(window), Ok(Place::Element(_)))
        {}
    }

    /// Takes over what was found from here on, and goes on after it.
    fn join(&mut self, further: &Walker<'a, '_>) {
        if (self.entries.len() + further.entries.len()) as u64 > self.elements_max() {
            // Which element is one too many shows when they are taken one by one.
            return;
        }
        self.findings.extend(further.findings.as_slice().iter().cloned());
        let variables = self.builder.join(&further.builder);
        let headers = self.headers.join(&further.headers, &variables);
        let renumbered = |entry: &Entry| {
            let header = headers.get(entry.header as usize).copied();
            Entry { header: header.unwrap_or(headers::NONE), ..*entry }
        };
        self.entries.extend(further.entries.iter().map(renumbered));
        self.offset = further.offset;
        self.context.progress.advance_to(self.offset);
    }

    /// Takes the element that stands here, if one does; gives what does.
    fn take_next(&mut self, window: &mut Window<'_>) -> ReadResult<Place> {
        let left = self.size() - self.offset;
        let head = window.bytes_at(self.offset, HEAD_BYTES);
        if let Some((id, header)) = self.headers.expected(head)
            && header.length <= left
        {
            self.repeat(id, &header)?;
            return Ok(Place::Element(header.length));
        }
        let place = place_at(head, left, self.offset, self.endian)?;
        if let Place::Element(length) = place {
            self.take(head, length)?;
        }
        Ok(place)
    }

    /// Takes the element that stands here, whatever is in it, by its first bytes if they do.
    fn take(&mut self, head: &[u8], length: u64) -> ReadResult<()> {
        match parse_usual(head, self.offset, length, self.endian) {
            Some(element) => self.take_usual(head, &element),
            None => self.push(&self.element(self.offset, length)),
        }
    }

    /// Takes an element of the usual layout, and remembers its header.
    fn take_usual(&mut self, head: &[u8], element: &Element<'_>) -> ReadResult<()> {
        let (Some(kind), Some(payload)) = (element.kind, &element.payload) else {
            return self.push(element);
        };
        let header_bytes = usize::try_from(payload.range.start - element.offset).unwrap_or(0);
        let header = head.get(..header_bytes).unwrap_or_default();
        if let Some(id) = self.headers.find(header)
            && let Some(&header) = self.headers.get(id)
        {
            return self.repeat(id, &header);
        }
        // What says something new each time cannot be taken for a repetition.
        if misplaced(element).is_some() {
            return self.push(element);
        }
        let stored = self.rest_at(element.offset).get(..header_bytes).unwrap_or_default();
        self.check_count()?;
        let variable = self.group(element);
        let id = self.headers.add(Header::new(element, stored, kind, variable));
        self.enter(element.length, id);
        Ok(())
    }

    /// Takes the element that stands here, of which only the values are new.
    fn repeat(&mut self, id: u32, header: &Header<'_>) -> ReadResult<()> {
        self.check_count()?;
        self.builder.repeat(header.kind, header.variable, header.payload_bytes());
        self.enter(header.length, id);
        Ok(())
    }

    fn push(&mut self, element: &Element<'_>) -> ReadResult<()> {
        self.check_count()?;
        self.findings.extend(findings_of(element));
        self.group(element);
        self.enter(element.length, headers::NONE);
        Ok(())
    }

    fn elements_max(&self) -> u64 {
        self.context.limits.items_max.min(u32::MAX.into())
    }

    fn check_count(&self) -> ReadResult<()> {
        let limit = self.elements_max();
        let found = self.entries.len() as u64 + 1;
        if found <= limit {
            Ok(())
        } else {
            Err(ReadErrorKind::OverLimit { found, limit }.error_at("elements", self.offset))
        }
    }

    fn group(&mut self, element: &Element<'_>) -> u32 {
        let (bytes, endian) = (self.rest_at(element.offset), self.endian);
        // What is kept of an element must be borrowed from the file, not from a window on it.
        let stored = || {
            let length = usize::try_from(element.length).unwrap_or(usize::MAX);
            parse(bytes.get(..length).unwrap_or(bytes), element.offset, endian)
        };
        self.builder.place(element, stored)
    }

    /// Puts the element that stands here into the index, and goes on to the next.
    fn enter(&mut self, length: u64, header: u32) {
        let entry_length = u32::try_from(length).unwrap_or(u32::MAX);
        self.entries.push(Entry { offset: self.offset, length: entry_length, header });
        self.headers.passed(header);
        self.offset += length;
        if self.entries.len().is_multiple_of(PROGRESS_ELEMENTS) {
            self.context.progress.advance_to(self.offset);
        }
    }

    /// Takes the element that stands here if it can be used, or finds out where it really ends.
    fn take_or_mend(&mut self, length: u64) -> ReadResult<()> {
        let element = self.element(self.offset, length);
        let follows_well = self.follows_well(self.offset + length);
        let Some(fault) = element.fault.clone() else {
            if !follows_well && let Some(next) = self.swallowed(&element) {
                self.pass_shortened(&element, next);
                return Ok(());
            }
            return self.push(&element);
        };
        if follows_well {
            // Only this one is broken: the next one is where its length says.
            self.findings.extend(element.oddity.as_deref().map(error_finding));
            self.lose(&fault, length);
            self.offset += length;
            return Ok(());
        }
        self.resume(&fault)
    }

    /// Returns true if a sound element, a zero word or the end of the file stands at an offset.
    fn follows_well(&self, offset: u64) -> bool {
        match self.place_at(offset) {
            Ok(Place::Element(length)) => self.element(offset, length).fault.is_none(),
            Ok(Place::ZeroWord | Place::Nothing) => true,
            Err(_) => false,
        }
    }

    /// Goes on after a place that makes no sense: with the same element when only its length is
    /// wrong, else at the next sound one.
    fn resume(&mut self, error: &ReadError) -> ReadResult<()> {
        let here = parse_unbounded(self.rest_at(self.offset), self.offset, self.endian);
        if let Some(element) = here
            && self.follows_well(self.offset + element.length)
        {
            let stated = self
                .rest_at(self.offset)
                .first_chunk()
                .map_or(0, |word| number(*word, self.endian));
            let why = format!("stated as {stated}, but its tags end after {}", element.length);
            let finding = Finding::at_offset(Severity::Error, "element-length", self.offset, why);
            self.findings.push(finding);
            return self.push(&element);
        }
        let next = self.next_sound(self.offset + 1, self.size()).unwrap_or(self.size());
        self.lose(error, next - self.offset);
        self.offset = next;
        Ok(())
    }

    /// A sound element that begins inside the values of another: bytes of the outer one are
    /// missing, so that its length reaches into the next.
    fn swallowed(&self, element: &Element<'_>) -> Option<u64> {
        let values = element.payload.as_ref()?.range.clone();
        let next = self.next_sound(values.start, values.end)?;
        let Ok(Place::Element(length)) = self.place_at(next) else { return None };
        self.follows_well(next + length).then_some(next)
    }

    fn pass_shortened(&mut self, element: &Element<'_>, next: u64) {
        let missing = element.offset + element.length - next;
        let why = format!("another element begins {} before the end", counted(missing));
        self.lose(&ReadError::invalid("values", element.offset, why), next - self.offset);
        self.offset = next;
    }

    /// The first offset in a range at which a sound element stands.
    fn next_sound(&self, from: u64, to: u64) -> Option<u64> {
        // Of the tag's bytes only the least significant is not zero, which rules out most places.
        let tag_byte = match self.endian {
            Endian::Little => 4,
            Endian::Big => 7,
        };
        let mut offset = from;
        while offset < to {
            let rest = self.rest_at(offset + tag_byte);
            let part = rest.get(..SEARCH_BYTES).unwrap_or(rest);
            let tags = spec::GRP_TAG..=spec::GRPATRS_TAG;
            let Some(skip) = part.iter().position(|&byte| tags.contains(&byte.into())) else {
                self.context.progress.advance_to(offset);
                offset += part.len().max(1) as u64;
                continue;
            };
            offset += skip as u64;
            if offset < to && self.is_sound_at(offset) {
                return Some(offset);
            }
            offset += 1;
        }
        None
    }

    fn is_sound_at(&self, offset: u64) -> bool {
        let rest = self.rest_at(offset);
        let Some([_, _, _, _, tag @ ..]) = rest.first_chunk::<8>() else {
            return false;
        };
        if ElementKind::from_tag(number(*tag, self.endian).cast_unsigned()).is_none() {
            return false;
        }
        match self.place_at(offset) {
            Ok(Place::Element(length)) => is_certain(&self.element(offset, length)),
            _ => false,
        }
    }

    /// Says that some bytes could not be read.
    fn lose(&mut self, error: &ReadError, bytes: u64) {
        let ReadError { what, offset, kind } = error;
        let lost = counted(bytes);
        let why = format!("{what}: {kind}; {lost} from {:#x} on cannot be read", self.offset);
        self.findings.push(Finding::at_offset(Severity::Error, "element", *offset, why));
    }

    fn zero_word(&mut self) -> End {
        let offset = self.offset;
        let after = self.rest_at(offset + spec::LENGTH_BYTES);
        let looked_at = after.get(..ZEROS_BYTES_MAX).unwrap_or(after);
        if has_data(looked_at) {
            let more = counted(after.len() as u64);
            let why = format!("{more} after the length of zero that ends the file are not read");
            self.findings.push(Finding::at_offset(
                Severity::Warning,
                "data-after-end",
                offset,
                why,
            ));
        } else if looked_at.len() < after.len() {
            let (zeros, more) = (looked_at.len(), counted((after.len() - looked_at.len()) as u64));
            let why = format!("{zeros} zeros end the file; {more} after them are not looked at");
            self.findings.push(Finding::at_offset(
                Severity::Warning,
                "data-after-end",
                offset,
                why,
            ));
        }
        self.note_zeros_at_start("there is no element in it");
        End::ZeroWord { offset }
    }

    /// Notes that zeros end the file before its first element.
    fn note_zeros_at_start(&mut self, outcome: &str) {
        if self.entries.is_empty() {
            let why = format!("the file begins with a length of zero: {outcome}");
            self.findings.push(Finding::at_offset(
                Severity::Warning,
                "no-elements",
                self.offset,
                why,
            ));
        }
    }

    /// Goes on where sound elements stand after zeros that seemed to end the file.
    fn pass_zeros(&mut self, next: u64) {
        let passed = next - self.offset;
        // One word is what an appending writer leaves; where there is more, something was.
        let is_word = passed == spec::LENGTH_BYTES;
        let severity = if is_word { Severity::Warning } else { Severity::Error };
        let passed = counted(passed);
        let why = format!("a length of zero, but no end: a sound element follows after {passed}");
        self.findings.push(Finding::at_offset(severity, "data-after-end", self.offset, why));
        self.note_zeros_at_start("whoever does not look behind it finds no element");
        self.offset = next;
    }

    /// Fewer bytes than a length has: zeros are a cut zero word, anything else a cut element.
    fn trailing(&mut self) -> ReadResult<End> {
        let rest = self.rest_at(self.offset);
        let offset = self.offset;
        if rest.is_empty() {
            return Ok(End::Clean);
        }
        if rest.iter().all(|&byte| byte == 0) {
            let why = format!("{} of zero after the last element", counted(rest.len() as u64));
            self.findings.push(Finding::at_offset(
                Severity::Warning,
                "trailing-bytes",
                offset,
                why,
            ));
            return Ok(End::Trailing { offset });
        }
        let short = ReadErrorKind::Short { needed: spec::LENGTH_BYTES, left: rest.len() as u64 };
        Err(short.error_at("element length", offset))
    }
}

/// Returns the object at an offset, given the first bytes there and the number of bytes that are
/// left in the file.
fn place_at(head: &[u8], left: u64, offset: u64, endian: Endian) -> ReadResult<Place> {
    const WHAT: &str = "element length";
    let Some(word) = head.first_chunk::<4>() else {
        return Ok(Place::Nothing);
    };
    let found = number(*word, endian);
    let Ok(length) = u64::try_from(found) else {
        return Err(ReadErrorKind::Negative(found.into()).error_at(WHAT, offset));
    };
    match length {
        0 => Ok(Place::ZeroWord),
        1..spec::ELEMENT_BYTES_MIN => {
            let why = format!("{length} bytes are too few for an element");
            Err(ReadError::invalid(WHAT, offset, why))
        }
        _ if length > left => {
            let why = format!("{length} bytes, but only {left} are left");
            Err(ReadError::invalid(WHAT, offset, why))
        }
        _ => Ok(Place::Element(length)),
    }
}

/// Returns true if there is anything but zeros, by the block: a loop that the compiler makes wide.
fn has_data(bytes: &[u8]) -> bool {
    bytes.chunks(4096).any(|chunk| chunk.iter().fold(0, |all, byte| all | byte) != 0)
}

fn counted(bytes: u64) -> String {
    if bytes == 1 { "1 byte".into() } else { format!("{bytes} bytes") }
}

/// Returns the findings about an element that a reader must pass on.
fn findings_of(element: &Element<'_>) -> impl Iterator<Item = Finding> {
    let fault = element.fault.as_deref().map(|error| Finding::unreadable("element", error));
    fault.into_iter().chain(element.oddity.as_deref().map(error_finding)).chain(misplaced(element))
}

/// A part that does not fit the array it says it is a part of.
fn misplaced(element: &Element<'_>) -> Option<Finding> {
    let dimensions = element.payload.as_ref()?.dimensions?;
    if element.fault.is_some() {
        return None;
    }
    let is_global = dimensions.is_global();
    let mut problems = dimensions.iter().enumerate().filter_map(|(index, dimension)| {
        let Dimension { local_bound, global_bound, global_offset } = dimension;
        let end = i64::from(global_offset) + i64::from(local_bound);
        if !is_global && global_offset != 0 {
            let why = format!("dimension {index} has an offset, {global_offset}, but no array");
            Some(("global-bounds", why))
        } else if !is_global {
            None
        } else if global_bound == 0 {
            Some(("global-bounds", format!("dimension {index} has no global bound, others have")))
        } else if end > global_bound.into() {
            let beyond = "what is beyond shows in a dump, but not in the array";
            let why = format!("dimension {index} ends at {end}, the array at {global_bound}");
            Some(("block-bounds", format!("{why}; {beyond}")))
        } else {
            None
        }
    });
    let (rule, message) = problems.next()?;
    Some(Finding::at_offset(Severity::Warning, rule, element.offset, message))
}

fn error_finding(error: &ReadError) -> Finding {
    Finding::at_offset(Severity::Warning, "tag", error.offset, error.kind.to_string())
}

fn number(word: [u8; 4], endian: Endian) -> i32 {
    match endian {
        Endian::Little => i32::from_le_bytes(word),
        Endian::Big => i32::from_be_bytes(word),
    }
}

/// The byte order in which the start of a file makes sense, if it does in one.
pub(crate) fn detect_endian(bytes: &[u8]) -> Option<Endian> {
    let score = |endian| byte_order_score(bytes, endian);
    match (score(Endian::Little), score(Endian::Big)) {
        (0, 0) => None,
        (little, big) if little >= big => Some(Endian::Little),
        _ => Some(Endian::Big),
    }
}

/// The byte order in which a sound element comes first, for a file whose start is damaged.
fn first_sound_endian(bytes: &[u8], context: &Context<'_>) -> Endian {
    let first = |endian| {
        let walk = Walker::new(bytes, endian, context);
        walk.next_sound(0, walk.size()).unwrap_or(u64::MAX)
    };
    if first(Endian::Big) < first(Endian::Little) { Endian::Big } else { Endian::Little }
}

/// Returns a score of the sense that the first elements make in a byte order: a first tag that
/// names a kind, and each sound element after it.
fn byte_order_score(bytes: &[u8], endian: Endian) -> u32 {
    let mut score = u32::from(is_plausible_start(bytes, endian));
    let mut offset = 0_usize;
    for _ in 0..8 {
        let rest = bytes.get(offset..).unwrap_or_default();
        let place = place_at(rest, rest.len() as u64, 0, endian);
        let Ok(Place::Element(length)) = place else { break };
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let element = parse(rest.get(..length).unwrap_or(rest), 0, endian);
        if element.fault.is_some() {
            break;
        }
        score += 2;
        offset += length;
    }
    score
}

/// Returns true if bytes begin as an element does: a length, a tag that names a kind, a name, a
/// path. The length may be wrong or the file cut.
pub(crate) fn is_plausible_start(bytes: &[u8], endian: Endian) -> bool {
    let mut tags = cursor(bytes, 0, endian);
    let mut read = || -> ReadResult<bool> {
        tags.u32("element length")?;
        let names_a_kind = ElementKind::from_tag(tags.u32("tag")?).is_some();
        let length = tags.length_i32("name length")?;
        tags.skip("name", length)?;
        Ok(names_a_kind && tags.u32("tag")? == spec::DIR_TAG)
    };
    read().unwrap_or(false)
}
