//! Files of a directory that belong together, and those that are missing or are there twice.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use kymo_core::{Finding, Severity};
use kymo_model::measurement::MeasuredId;

use crate::measurement::{PROFILE, TRACE, has_extension, named};
use crate::read::{Profile, Trace};
use crate::threads::ids;

/// The files of a directory by the names that they share.
pub(crate) type Pairs = BTreeMap<String, Pair>;

/// The files of one name.
#[derive(Default)]
pub(crate) struct Pair {
    pub(crate) profile: OptionalFile<Profile>,
    pub(crate) trace: OptionalFile<Trace>,
}

impl Pair {
    /// Notes that a file of this name is there, and is of no use.
    pub(crate) fn refuse(&mut self, name: &Path) {
        if has_extension(name, TRACE) {
            self.trace = OptionalFile::Unreadable;
        } else {
            self.profile = OptionalFile::Unreadable;
        }
    }

    /// Returns true if any of its files could be read.
    pub(crate) fn is_readable(&self) -> bool {
        self.profile.as_ref().is_some() || self.trace.as_ref().is_some()
    }
}

/// A file that may be there.
#[derive(Default)]
pub(crate) enum OptionalFile<T> {
    #[default]
    Nothing,
    /// It is there, and cannot be read.
    Unreadable,
    Read(T),
}

impl<T> OptionalFile<T> {
    pub(crate) fn as_ref(&self) -> Option<&T> {
        match self {
            Self::Read(file) => Some(file),
            Self::Nothing | Self::Unreadable => None,
        }
    }

    pub(crate) fn into_option(self) -> Option<T> {
        match self {
            Self::Read(file) => Some(file),
            Self::Nothing | Self::Unreadable => None,
        }
    }
}

/// Returns the findings about files that are sound by themselves: those that miss their other half,
/// and those that are of one thread.
pub(crate) fn findings(pairs: &Pairs) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut add = |name: &str, extension: &str, rule, why: String| {
        let finding = Finding::for_whole_file(Severity::Warning, rule, why);
        found.extend(named(vec![finding], Path::new(&format!("{name}.{extension}"))));
    };
    let mut known: BTreeMap<Identity, &str> = BTreeMap::new();
    for (name, pair) in pairs {
        if let Some(why) = no_profile(name, pair) {
            add(name, TRACE, "no-profile", why);
        }
        if let Some(why) = no_trace(name, pair) {
            add(name, PROFILE, "no-trace", why);
        }
        let identity = pair.profile.as_ref().and_then(Identity::from_profile);
        let first =
            identity.map_or(name.as_str(), |identity| known.entry(identity).or_insert(name));
        if first != name {
            let why =
                format!("{first}.{PROFILE} is of the same thread, by its ids and its process");
            add(name, PROFILE, "duplicate-profile", format!("{why}: both count"));
        }
    }
    found
}

/// Returns the reason why the nodes of a trace mean nothing, where they do not.
fn no_profile(name: &str, pair: &Pair) -> Option<String> {
    pair.trace.as_ref()?;
    let lead = match pair.profile {
        OptionalFile::Read(_) => return None,
        OptionalFile::Unreadable => format!("{name}.{PROFILE} beside it cannot be read"),
        OptionalFile::Nothing => format!("there is no {name}.{PROFILE} beside it"),
    };
    Some(format!("{lead}: what its nodes stand for is unknown"))
}

/// Returns the reason why a thread that was traced has no trace, where it has none.
fn no_trace(name: &str, pair: &Pair) -> Option<String> {
    let OptionalFile::Nothing = pair.trace else { return None };
    untraced(name, pair.profile.as_ref()?)
}

/// Returns the reason why it is a fault that a profile has no trace beside it, where it is one.
pub(crate) fn untraced(name: &str, profile: &Profile) -> Option<String> {
    let told = profile.header.value("trace-min-time")?;
    let is_traced = told.parse::<u64>().is_ok_and(|time| time > 0);
    let why = format!("it says trace-min-time {told}, but there is no {name}.{TRACE} beside it");
    is_traced.then(|| format!("{why}: the trace of this thread is missing"))
}

/// Properties that two profiles of one thread have in common.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Identity {
    ids: Vec<MeasuredId>,
    /// Processes may follow each other under one number, and then have other times.
    process: [Option<String>; 4],
}

impl Identity {
    /// Nothing where a profile does not tell its thread and its process.
    fn from_profile(profile: &Profile) -> Option<Self> {
        profile.header.value("process-id")?;
        let names = ["host-id", "process-id", "job-id", "trace-min-time"];
        let process = names.map(|name| profile.header.value(name).map(Cow::into_owned));
        let ids = ids(profile);
        (!ids.is_empty()).then_some(Self { ids, process })
    }
}
