//! Source that is opened: a measurement directory, or a single profile or trace.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use kymo_core::bytes::{Limits, ReadError, ReadResult};
use kymo_core::{Context, Error, Finding, Findings, Result, Severity, Source, ahead};
use kymo_model::profile::Thread;

use crate::pairs::{self, OptionalFile, Pairs, untraced};
use crate::read::{InPlace, Profile, SomeRecords, Trace};
use crate::spec::MAGIC_TRACE;
use crate::threads::{self, HeaderIds};
use crate::tree::Ids;
use crate::types::{Dialect, Epoch, LoadMap, LoadModule};

/// So many records of a trace may be held to put them in order.
const LOOK_AHEAD_MAX: u64 = 1 << 16;

/// The extension of profiles.
pub(crate) const PROFILE: &str = "hpcrun";
/// The extension of traces.
pub(crate) const TRACE: &str = "hpctrace";
/// The extension of structure files.
pub(crate) const STRUCT: &str = "hpcstruct";

/// Fault of a name that nothing is behind.
pub(crate) const NOWHERE: &str = "it is a link that leads nowhere";

/// Mode: the faults that are accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// A file whose structure is broken is refused.
    Strict,
    /// Everything is read as far as it goes.
    Salvage,
}

/// Recordings, one a thread or an epoch of it, and what lies beside them.
#[derive(Debug)]
pub(crate) struct Measurement {
    pub(crate) recordings: Vec<Part>,
    pub(crate) findings: Vec<Finding>,
    pub(crate) structs: Vec<PathBuf>,
    /// Images of what the kernel maps into processes.
    pub(crate) vdso: usize,
    /// Tables of the kernel's symbols, one a host.
    pub(crate) kernel_symbols: usize,
    pub(crate) is_directory: bool,
    /// The directory, to read structure files from when names are asked for.
    pub(crate) source: Source,
    pub(crate) limits: Limits,
}

/// One recording: a profile, or an epoch of it, and the trace of the same name.
///
/// Of a directory, nodes, values and records of traces are let go when all is opened, as there may
/// be very many threads. [`Holding`] has them for as long as they are looked at.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    /// The name of the file without its extension.
    pub(crate) name: String,
    pub(crate) profile: Option<Arc<Profile>>,
    /// Number of the epoch of the profile.
    pub(crate) epoch: usize,
    /// Epoch of that number, where it is held.
    pub(crate) held: Option<Arc<Epoch>>,
    pub(crate) trace: Option<Arc<Trace>>,
    /// Names of the thread.
    pub(crate) thread: Arc<Thread>,
    /// Facts about the thread from the header.
    pub(crate) said: Arc<HeaderIds>,
    /// Label of the thread for a person: its ids or its file.
    pub(crate) label: String,
    /// True if it is of a directory, and its files are not the one that was opened.
    pub(crate) is_in_directory: bool,
    /// True if what is in its files was let go.
    pub(crate) is_let_go: bool,
}

impl Part {
    /// The profile, unless an earlier recording is of the same file.
    pub(crate) fn first_of_profile(&self) -> Option<&Profile> {
        self.profile.as_deref().filter(|_| self.epoch == 0)
    }

    /// The name of one of its files, where they are of a directory.
    pub(crate) fn file(&self, extension: &str) -> Option<String> {
        self.is_in_directory.then(|| format!("{}.{extension}", self.name))
    }

    /// The epoch that it is.
    pub(crate) fn epoch(&self) -> Option<&Epoch> {
        self.held.as_deref().or_else(|| self.profile.as_ref()?.epochs.get(self.epoch))
    }

    /// Returns how far records of its trace are from their place by time, as given by the profile.
    fn disorder(&self) -> u64 {
        let told = self.profile.as_ref().and_then(|profile| profile.header.value("trace-disorder"));
        told.and_then(|told| told.parse().ok()).unwrap_or(0)
    }

    /// Records of the trace that are not in the order of their times, though the profile says that
    /// they are, or that they are less far from it.
    pub(crate) fn unordered(&self) -> SomeRecords {
        let trace = self.trace.as_ref()?;
        let back = trace.times().back?;
        match self.disorder() {
            0 => Some(back),
            bound => trace.beyond(bound),
        }
    }

    /// Returns the number of records to look ahead for the order of times; `None` where that does
    /// not lead to it, or where they are many.
    pub(crate) fn look_ahead(&self) -> Option<usize> {
        let (trace, bound) = (self.trace.as_ref()?, self.disorder());
        let is_enough = (1..=LOOK_AHEAD_MAX).contains(&bound) && trace.beyond(bound).is_none();
        is_enough.then(|| usize::try_from(bound).ok())?
    }

    /// Returns true if all records that are not in the order of their times are to be told: the
    /// profile tells of none.
    pub(crate) fn is_to_be_ordered(&self) -> bool {
        self.disorder() == 0
    }

    /// Returns the times that the profile gives and that differ from those of the trace. Also
    /// returns whether they are before or after all of it, so that some of it may be missing. For 0
    /// nothing was known.
    pub(crate) fn trace_bounds(&self) -> Vec<(bool, String)> {
        let trace = self.trace.as_ref();
        let ends = trace.and_then(|trace| Some((trace, trace.times().ends?)));
        let Some((profile, (trace, (first, last)))) = self.profile.as_ref().zip(ends) else {
            return Vec::new();
        };
        let times = [("trace-min-time", first), ("trace-max-time", last)].into_iter();
        let wrong = times.filter_map(|(name, time)| {
            let told = profile.header.value(name)?.parse::<u64>().ok()?;
            // Where traces are in microseconds, so may be what is told of them.
            let is_it = i64::try_from(told) == Ok(time) || trace.nanoseconds(told) == Some(time);
            let is_outside = |told: i64| match name {
                "trace-min-time" => told < time,
                _ => told > time,
            };
            let is_beyond = told > 0 && trace.nanoseconds(told).is_some_and(is_outside);
            let why = || format!("the profile says {name} {told}, the trace {time}");
            (!is_it).then(|| (is_beyond, why()))
        });
        wrong.collect()
    }
}

impl Measurement {
    /// Opens a directory or a file.
    pub(crate) fn open(source: &Source, context: &Context<'_>, mode: Mode) -> Result<Arc<Self>> {
        let mut opened = if source.is_directory() {
            Self::directory(source, context, mode)?
        } else {
            Self::file(source, context, mode)?
        };
        threads::name(&mut opened.recordings);
        Ok(Arc::new(opened))
    }

    fn new(source: &Source, context: &Context<'_>) -> Self {
        Self {
            recordings: Vec::new(),
            findings: Vec::new(),
            structs: Vec::new(),
            vdso: 0,
            kernel_symbols: 0,
            is_directory: source.is_directory(),
            source: source.clone(),
            limits: context.limits,
        }
    }

    /// A single profile or trace.
    fn file(source: &Source, context: &Context<'_>, mode: Mode) -> Result<Self> {
        let mut measurement = Self::new(source, context);
        let mut findings = Findings::new(&context.limits);
        match read(source, &context.limits, mode) {
            Ok(File::Profile(profile)) => {
                findings.extend(profile.findings());
                measurement.push(&stem(source.path()), Some(profile), None);
            }
            Ok(File::Trace(trace)) => {
                findings.extend(trace.findings());
                measurement.push(&stem(source.path()), None, Some(trace));
            }
            Err(Error::Read(error)) if mode == Mode::Salvage => {
                findings.push(Finding::unreadable("magic", &error));
            }
            Err(error) => return Err(error),
        }
        measurement.findings = findings.into_vec();
        Ok(measurement)
    }

    /// The same, of a single profile with what lies beside it and belongs to it: its trace, and the
    /// structure of modules. What of that cannot be read is told.
    pub(crate) fn with_companions(self: &Arc<Self>) -> (Arc<Self>, Vec<Finding>) {
        // What came from memory or a pipe has nothing beside it, nor has a trace by itself.
        let has_profile = self.recordings.iter().any(|part| part.profile.is_some());
        let source = self.source.folder(&self.limits).ok().flatten();
        let Some(source) = source.filter(|_| !self.is_directory && has_profile) else {
            return (Arc::clone(self), Vec::new());
        };
        let mut recordings = self.recordings.clone();
        for part in &mut recordings {
            part.is_in_directory = true;
        }
        let mut findings = Vec::new();
        if let Some(part) = recordings.first_mut().filter(|part| part.trace.is_none()) {
            let name = PathBuf::from(format!("{}.{TRACE}", part.name));
            let found = source.child(&name, &self.limits).transpose();
            match found.map(|child| read(&child?, &self.limits, Mode::Strict)) {
                Some(Ok(File::Trace(trace))) => {
                    findings.extend(named(trace.findings(), &name));
                    part.trace = paired(Some(trace), part.profile.as_deref()).map(Arc::new);
                }
                Some(Ok(file)) => findings.extend(named(vec![misnamed(&file)], &name)),
                Some(Err(error)) => {
                    findings.extend(named(vec![unreadable("trace", &error)], &name));
                }
                None => {
                    let why = part
                        .profile
                        .as_ref()
                        .and_then(|this_profile| untraced(&part.name, this_profile));
                    let finding = |why| Finding::for_whole_file(Severity::Warning, "no-trace", why);
                    let name = PathBuf::from(format!("{}.{PROFILE}", part.name));
                    findings.extend(named(why.map(finding).into_iter().collect(), &name));
                }
            }
        }
        let structs = listed(&source, "structs", &self.limits).unwrap_or_default().into_iter();
        let structs = structs.filter(|name| has_extension(name, STRUCT)).collect();
        let (vdso, kernel_symbols, limits) = (0, 0, self.limits);
        let found = Self {
            recordings,
            findings: Vec::new(),
            structs,
            vdso,
            kernel_symbols,
            is_directory: true,
            source,
            limits,
        };
        (Arc::new(found), findings)
    }

    /// All profiles and traces of a directory; one that cannot be read is a finding.
    fn directory(source: &Source, context: &Context<'_>, mode: Mode) -> Result<Self> {
        let mut measurement = Self::new(source, context);
        let mut findings = Findings::new(&context.limits);
        let (mut pairs, mut maps) = (Pairs::new(), KnownMaps::default());
        let names = source.entries()?;
        let names: Vec<_> = names.iter().filter(|name| is_ours(name)).collect();
        if names.is_empty() {
            return Err(Error::request("there is no .hpcrun and no .hpctrace file in it"));
        }
        context.progress.begin_items("opening", names.len() as u64);
        let open = |number: usize| {
            let name = names.get(number).copied();
            Ok(name.map(|name| (number, name, child(source, name, &context.limits, mode))))
        };
        ahead::in_order(names.len(), open, |opened| {
            let Some((done, name, opened)) = opened else { return Ok(()) };
            context.progress.advance_to(done as u64);
            context.progress.note(&|| format!("{done} of {} files", names.len()));
            let pair = pairs.entry(stem(name)).or_default();
            match opened {
                Ok(File::Profile(mut profile)) if has_extension(name, PROFILE) => {
                    findings.extend(named(profile.findings(), name));
                    maps.share(&mut profile);
                    profile.release();
                    pair.profile = OptionalFile::Read(profile);
                }
                Ok(File::Trace(mut trace)) if has_extension(name, TRACE) => {
                    findings.extend(named(trace.findings(), name));
                    trace.release();
                    pair.trace = OptionalFile::Read(trace);
                }
                Ok(file) => {
                    pair.refuse(name);
                    findings.extend(named(vec![misnamed(&file)], name));
                }
                Err(error) => {
                    pair.refuse(name);
                    let finding = unreadable(unreadable_rule(name), &error);
                    findings.extend(named(vec![finding], name));
                }
            }
            Ok(())
        })?;
        context.progress.end();
        findings.extend(pairs::findings(&pairs));
        for (name, pair) in pairs.into_iter().filter(|(_, pair)| pair.is_readable()) {
            let (profile, trace) = (pair.profile.into_option(), pair.trace.into_option());
            measurement.push(&name, profile, trace);
        }
        let mut beside = |folder, rule| {
            listed(source, folder, &context.limits).unwrap_or_else(|error| {
                let finding = Finding::for_whole_file(Severity::Warning, rule, error.to_string());
                findings.extend(named(vec![finding], Path::new(folder)));
                Vec::new()
            })
        };
        measurement.structs = beside("structs", "structure");
        measurement.structs.retain(|name| has_extension(name, STRUCT));
        measurement.vdso = beside("vdso", "symbols").len();
        measurement.kernel_symbols = beside("kernel_symbols", "symbols").len();
        measurement.findings = findings.into_vec();
        Ok(measurement)
    }

    /// Returns the reason why what is in the files of a recording cannot be read any more.
    pub(crate) fn lost(&self, part: &Part, error: &Error) -> Vec<Finding> {
        self.in_file(&part.name, PROFILE, vec![unreadable("profile", error)])
    }

    /// Holds what is in the files of recordings, one after another.
    pub(crate) fn holding(&self) -> HeldFiles<'_> {
        HeldFiles { measurement: self, profile: None }
    }

    /// Load modules of all recordings; those that follow each other and share theirs count once.
    pub(crate) fn load_modules(&self) -> impl Iterator<Item = &LoadModule> {
        let maps = self.recordings.iter().filter_map(Part::epoch).map(|epoch| &epoch.load_modules);
        let mut distinct: Vec<&LoadMap> = maps.collect();
        distinct.dedup_by(|map, before| map.is_shared_with(before));
        distinct.into_iter().flatten()
    }

    /// Says in which file of the directory findings are.
    pub(crate) fn in_file(&self, stem: &str, ext: &str, findings: Vec<Finding>) -> Vec<Finding> {
        if self.is_directory {
            return named(findings, &PathBuf::from(format!("{stem}.{ext}")));
        }
        findings
    }

    /// Returns the findings about what could not be read of each profile.
    pub(crate) fn losses(&self) -> Vec<Finding> {
        let of_part = |part: &Part| {
            let losses = part.first_of_profile().map_or(&[][..], |profile| profile.losses());
            self.in_file(&part.name, PROFILE, losses.to_vec())
        };
        self.recordings.iter().flat_map(of_part).collect()
    }

    /// Adds a recording for each epoch, and one where there is none.
    fn push(&mut self, name: &str, profile: Option<Profile>, trace: Option<Trace>) {
        let mut trace = paired(trace, profile.as_ref()).map(Arc::new);
        let epochs = profile.as_ref().map_or(1, |profile| profile.epochs.len().max(1));
        let profile = profile.map(Arc::new);
        let said = profile
            .as_ref()
            .map(|profile| HeaderIds::from_header(&profile.header))
            .unwrap_or_default();
        let said = Arc::new(said);
        for epoch in 0..epochs {
            // The trace runs through all epochs; it is shown with the first.
            self.recordings.push(Part {
                name: name.to_owned(),
                profile: profile.clone(),
                epoch,
                held: None,
                trace: trace.take(),
                thread: Arc::default(),
                said: Arc::clone(&said),
                label: String::new(),
                is_in_directory: self.is_directory,
                is_let_go: self.is_directory,
            });
        }
    }

    /// Returns true if tables need to tell recordings apart: in directories, and in files that may
    /// have several epochs, however many there are.
    pub(crate) fn has_several(&self) -> bool {
        let profile = self.recordings.first().and_then(|part| part.profile.as_ref());
        let has_epochs =
            profile.is_some_and(|profile| profile.header.dialect != Dialect::Shipped0400);
        self.is_directory || has_epochs
    }
}

/// Holds what is in the files of a recording while it is looked at. The recordings of one profile
/// follow each other, so that it is opened once for all of them.
pub(crate) struct HeldFiles<'a> {
    measurement: &'a Measurement,
    /// The profile that was opened last, by its name.
    profile: Option<(String, Bytes)>,
}

impl HeldFiles<'_> {
    /// A recording with its nodes, values and records.
    pub(crate) fn part(&mut self, part: &Part) -> Result<Part> {
        let mut held = self.traced(part)?;
        if let Some(epoch) = part.epoch().filter(|_| part.is_let_go) {
            let mut epoch = epoch.clone();
            epoch.hold(self.profile_bytes(part)?);
            held.held = Some(Arc::new(epoch));
        }
        Ok(held)
    }

    /// A recording with the records of its trace alone.
    pub(crate) fn traced(&self, part: &Part) -> Result<Part> {
        let mut held = part.clone();
        if let Some(trace) = part.trace.as_ref().filter(|_| part.is_let_go) {
            let mut trace = Trace::clone(trace);
            trace.hold(&self.bytes(part, TRACE)?);
            held.trace = Some(Arc::new(trace));
        }
        Ok(held)
    }

    /// The whole profile of a recording, with the nodes and values of all epochs.
    pub(crate) fn profile(&mut self, part: &Part) -> Result<Option<Arc<Profile>>> {
        let Some(profile) = part.profile.as_ref().filter(|_| part.is_let_go) else {
            return Ok(part.profile.clone());
        };
        let mut profile = Profile::clone(profile);
        profile.hold(self.profile_bytes(part)?);
        Ok(Some(Arc::new(profile)))
    }

    /// The nodes of all epochs of a recording by their ids; none where they cannot be read.
    pub(crate) fn ids(&mut self, part: &Part) -> Ids {
        let profile = self.profile(part).ok().flatten();
        profile.map(|profile| Ids::new(&profile)).unwrap_or_default()
    }

    fn profile_bytes(&mut self, part: &Part) -> Result<&Bytes> {
        let known = self.profile.take().filter(|(name, _)| *name == part.name);
        let known = match known {
            Some(known) => known,
            None => (part.name.clone(), self.bytes(part, PROFILE)?),
        };
        Ok(&self.profile.insert(known).1)
    }

    fn bytes(&self, part: &Part, extension: &str) -> Result<Bytes> {
        let Measurement { source, limits, .. } = self.measurement;
        let name = format!("{}.{extension}", part.name);
        let gone = || Error::request(format!("it is not there any more: {name}"));
        source.child(Path::new(&name), limits)?.ok_or_else(gone)?.bytes()
    }
}

/// Number of load maps that are compared with each that comes.
const MAPS_KNOWN_MAX: usize = 16;

/// Load maps that were met last, each once.
#[derive(Default)]
struct KnownMaps(VecDeque<LoadMap>);

impl KnownMaps {
    /// Has a profile share the load maps that were met before it.
    fn share(&mut self, profile: &mut Profile) {
        for epoch in &mut profile.epochs {
            let map = &mut epoch.load_modules;
            if let Some(known) = self.0.iter().find(|known| *known == map) {
                *map = known.clone();
                continue;
            }
            self.0.truncate(MAPS_KNOWN_MAX - 1);
            self.0.push_front(map.clone());
        }
    }
}

/// A trace with what its profile knows of it.
fn paired(trace: Option<Trace>, profile: Option<&Profile>) -> Option<Trace> {
    let mut trace = trace?;
    if let Some(profile) = profile {
        trace.set_from_profile(profile);
    }
    Some(trace)
}

/// Returns the reason why a file of a directory could not be read; the others are read.
pub(crate) fn unreadable(rule: &'static str, error: &Error) -> Finding {
    match error {
        Error::Read(error) => Finding::unreadable(rule, error),
        error => Finding::for_whole_file(Severity::Error, rule, error.to_string()),
    }
}

/// A file whose name says that it is of the other kind: what it belongs to is not known.
fn misnamed(file: &File) -> Finding {
    let (rule, is, named) = match file {
        File::Profile(_) => ("profile", "a profile", TRACE),
        File::Trace(_) => ("trace", "a trace", PROFILE),
    };
    let why = format!("it is {is}, but named .{named}, and left out: rename it");
    Finding::at_offset(Severity::Error, rule, 0, why)
}

/// The kind of a file that cannot be read is told by its name alone.
fn unreadable_rule(name: &Path) -> &'static str {
    if has_extension(name, TRACE) { "trace" } else { "profile" }
}

fn is_ours(name: &Path) -> bool {
    has_extension(name, PROFILE) || has_extension(name, TRACE)
}

pub(crate) fn has_extension(name: &Path, extension: &str) -> bool {
    name.extension().is_some_and(|found| found == extension)
}

/// Says in which file findings are.
pub(crate) fn named(mut findings: Vec<Finding>, file: &Path) -> Vec<Finding> {
    for finding in &mut findings {
        finding.file = Some(file.to_string_lossy().into_owned());
    }
    findings
}

/// The names in a folder of a measurement directory; none where there is no such folder.
fn listed(source: &Source, folder: &str, limits: &Limits) -> Result<Vec<PathBuf>> {
    let folder = Path::new(folder);
    let child = match source.child(folder, limits)? {
        Some(child) if child.is_directory() => child,
        Some(_) => return Err(Error::request("it is a file, where a directory should be")),
        None if source.entries()?.iter().any(|name| name == folder) => {
            return Err(Error::request(NOWHERE));
        }
        None => return Ok(Vec::new()),
    };
    Ok(child.entries()?.into_iter().map(|name| folder.join(name)).collect())
}

/// Reads a file of a directory that was listed there.
fn child(source: &Source, name: &Path, limits: &Limits, mode: Mode) -> Result<File> {
    let child = source.child(name, limits)?;
    read(&child.ok_or_else(|| Error::request(NOWHERE))?, limits, mode)
}

fn stem(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

/// A file of either kind.
pub(crate) enum File {
    Profile(Profile),
    Trace(Trace),
}

/// Reads a profile or a trace, whichever its first bytes tell.
pub(crate) fn read(source: &Source, limits: &Limits, mode: Mode) -> Result<File> {
    let bytes = source.bytes().map_err(|_| {
        let why = "it is a directory, where a profile or a trace should be";
        ReadError::invalid("file", 0, why)
    })?;
    let read: ReadResult<File> = match (bytes.starts_with(MAGIC_TRACE), mode) {
        (true, Mode::Strict) => Trace::open(&bytes, limits).map(File::Trace),
        (true, Mode::Salvage) => Trace::salvage(&bytes, limits).map(File::Trace),
        (false, Mode::Strict) => Profile::open(&bytes, limits).map(File::Profile),
        (false, Mode::Salvage) => Profile::salvage(&bytes, limits).map(File::Profile),
    };
    Ok(read?)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests may fail loudly")]
mod tests {
    use super::*;
    use crate::ProfileBuilder;

    #[test]
    fn profiles_with_the_same_load_map_hold_it_once() {
        let folder = tempfile::tempdir().unwrap();
        for (name, module) in [("a-0", "/bin/a"), ("a-1", "/bin/b"), ("a-2", "/bin/a")] {
            let mut profile = ProfileBuilder::new("a");
            profile.load_module(module, None).unwrap();
            let mut bytes = Vec::new();
            profile.write(&mut bytes).unwrap();
            std::fs::write(folder.path().join(name).with_extension(PROFILE), bytes).unwrap();
        }
        let source = Source::open(folder.path(), &Limits::default()).unwrap();
        let opened = Measurement::open(&source, &Context::default(), Mode::Strict).unwrap();
        let map = |part: usize| &opened.recordings[part].epoch().unwrap().load_modules;
        assert!(map(0).is_shared_with(map(2)) && !map(0).is_shared_with(map(1)));
        assert_eq!(map(1)[0].path.text(), "/bin/b");
    }
}
