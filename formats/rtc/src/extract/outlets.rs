//! The streams that are written, and what each is made of.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use kymo_core::{Finding, Severity, shortened};
use serde_json::Value as Json;

use super::Input;
use super::likeness::{Descriptions, StreamIdentity};
use crate::kept::StoredTrack;
use crate::names::Names;
use crate::types::Stream;

/// A stream that is written.
pub(super) struct OutputStream {
    /// The streams it is made of, each with the number of its input.
    pub(super) from: Vec<(usize, usize)>,
    pub(super) id: u32,
    pub(super) as_written: Stream,
}

impl OutputStream {
    /// Takes in a stream that is alike, and returns the name that it has now.
    fn join(&mut self, number: usize, index: usize, stream: &Stream) -> String {
        self.from.push((number, index));
        // A clock that goes back in one part does so in the whole.
        if stream.is_clock() && stream.may_go_back() {
            self.as_written.attributes.insert("rises".into(), false.into());
        }
        self.as_written.name.clone()
    }

    /// Says of a clock that it goes back: in its description, and to the user if that is new.
    pub(super) fn fall(&mut self) -> Option<Finding> {
        if self.as_written.may_go_back() {
            return None;
        }
        self.as_written.attributes.insert("rises".into(), false.into());
        let name = shortened(&self.as_written.name);
        let message = format!("the clock {name} goes back in it, and is said not to rise");
        Some(Finding::for_whole_file(Severity::Note, "clock", message))
    }
}

/// The streams that are written, under names that differ: what several files have a stream of is
/// named by its file, or joined if it is alike and asked to.
pub(super) fn outlets(inputs: &[Input], session: Option<usize>, join: bool) -> Vec<OutputStream> {
    let mut outlets = OutputStreams {
        session,
        join,
        files: labels(inputs).unwrap_or_default(),
        ..OutputStreams::default()
    };
    if session.is_none() && !join {
        outlets.shared = shared(inputs);
    }
    for (number, input) in inputs.iter().enumerate() {
        outlets.add(number, input);
    }
    outlets.all
}

/// Returns the labels for streams of each file: its name without folder and extension, or its path
/// where those are not all different. Returns `None` where the paths are not all different either.
fn labels(inputs: &[Input]) -> Option<Vec<String>> {
    let stem = |input: &Input| {
        let stem = Path::new(&input.name).file_stem();
        stem.map_or_else(String::new, |stem| stem.to_string_lossy().into_owned())
    };
    let stems: Vec<String> = inputs.iter().map(stem).collect();
    let paths: Vec<String> = inputs.iter().map(|input| input.name.clone()).collect();
    let differ = |labels: &Vec<String>| labels.iter().collect::<HashSet<_>>().len() == labels.len();
    [stems, paths].into_iter().find(differ)
}

/// Names of streams that more than one file has.
fn shared(inputs: &[Input]) -> HashSet<String> {
    let mut files: HashMap<&str, usize> = HashMap::new();
    for input in inputs {
        let needed = input.needed(None);
        let streams = needed.iter().filter_map(|index| input.stream(*index));
        let names: HashSet<&str> = streams.map(|stream| stream.name.as_str()).collect();
        for name in names {
            *files.entry(name).or_default() += 1;
        }
    }
    let shared = files.into_iter().filter(|(_, count)| *count > 1);
    shared.map(|(name, _)| name.to_owned()).collect()
}

/// The streams that are written, as they come together.
#[derive(Default)]
struct OutputStreams {
    session: Option<usize>,
    join: bool,
    /// Labels for streams of each file, unless numbers are used instead, and names that need
    /// labels.
    files: Vec<String>,
    shared: HashSet<String>,
    all: Vec<OutputStream>,
    names: Names,
    descriptions: Descriptions,
    /// Streams that others may be joined to.
    alike: HashMap<StreamIdentity, usize>,
    sets: Sets,
}

/// The sets in which the numbers of tracks count.
#[derive(Default)]
struct Sets {
    /// The new ones, by input, session and old set.
    new: HashMap<(usize, usize, u64), u64>,
    count: u64,
    /// Tracks that have a number in a new set.
    numbered: HashMap<(u64, u64), usize>,
}

impl OutputStreams {
    /// Adds the streams of an input.
    fn add(&mut self, number: usize, input: &Input) {
        let mut needed: Vec<usize> = input.needed(self.session).into_iter().collect();
        let place = |index: &usize| input.stream(*index).map(|stream| (stream.session, stream.id));
        needed.sort_unstable_by_key(place);
        let likenesses =
            if self.join { self.descriptions.likenesses(input, &needed) } else { HashMap::new() };
        let apart = self.join_sets(number, input, &likenesses);
        let mut renamed: HashMap<usize, String> = HashMap::new();
        let made = self.all.len();
        for index in needed {
            let Some(stream) = input.stream(index) else { continue };
            let likeness = likenesses.get(&index).filter(|_| !apart.contains(&stream.session));
            let like = likeness.and_then(|likeness| self.alike.get(likeness)).copied();
            let name = match like.and_then(|like| self.all.get_mut(like)) {
                Some(outlet) => outlet.join(number, index, stream),
                None => self.make(number, index, stream, likeness),
            };
            renamed.insert(index, name);
        }
        for outlet in self.all.iter_mut().skip(made) {
            if let Some((_, index)) = outlet.from.first() {
                refer(&mut outlet.as_written, *index, input, &renamed);
            }
        }
    }

    /// Makes an outlet for a stream, and returns the name that it has now.
    fn make(
        &mut self,
        number: usize,
        index: usize,
        stream: &Stream,
        likeness: Option<&StreamIdentity>,
    ) -> String {
        let place = self.all.len();
        if let Some(likeness) = likeness {
            self.alike.entry(likeness.clone()).or_insert(place);
        }
        let mut as_written = stream.clone();
        // One session keeps its names and numbers, whatever they are.
        if self.session.is_none() {
            as_written.name = self.name(number, &stream.name);
            self.sets.renumber_tracks(&mut as_written, number, place);
        }
        let name = as_written.name.clone();
        self.all.push(OutputStream { from: vec![(number, index)], id: stream.id, as_written });
        name
    }

    /// The name of a stream among those of all files.
    fn name(&mut self, file: usize, name: &str) -> String {
        let is_shared = self.shared.contains(name) || (self.join && self.names.is_taken(name));
        match self.files.get(file).filter(|_| is_shared) {
            Some(file) => self.names.free(&format!("{name} ({file})")),
            None => self.names.free(name),
        }
    }

    /// Finds the sets in which the tracks of an input count with those that they are joined to.
    /// Returns the sessions that cannot be joined, since their numbers mean other tracks there.
    fn join_sets(
        &mut self,
        number: usize,
        input: &Input,
        likenesses: &HashMap<usize, StreamIdentity>,
    ) -> HashSet<usize> {
        let streams = || {
            likenesses.iter().filter_map(|(index, likeness)| {
                let stream = input.stream(*index)?;
                let kept = StoredTrack::from_attributes(&stream.attributes)?;
                Some((stream.session, kept, self.alike.get(likeness).copied()))
            })
        };
        let mut joined: BTreeMap<(usize, u64), u64> = BTreeMap::new();
        for (session, kept, like) in streams() {
            let like = like.and_then(|like| self.all.get(like));
            if let Some(like) =
                like.and_then(|like| StoredTrack::from_attributes(&like.as_written.attributes))
            {
                let set = joined.entry((session, kept.set)).or_insert(like.set);
                *set = like.set.min(*set);
            }
        }
        let is_other = |(session, kept, like): &(usize, StoredTrack, Option<usize>)| {
            let set = joined.get(&(*session, kept.set));
            let there = set.and_then(|set| self.sets.numbered.get(&(*set, kept.track)));
            there.is_some_and(|there| Some(*there) != *like)
        };
        let apart: HashSet<usize> =
            streams().filter(is_other).map(|(session, ..)| session).collect();
        for ((session, old), set) in joined {
            if !apart.contains(&session) {
                self.sets.new.insert((number, session, old), set);
            }
        }
        apart
    }
}

impl Sets {
    /// Tells the numbers of tracks that a stream knows apart from those of other inputs.
    fn renumber_tracks(&mut self, stream: &mut Stream, input: usize, place: usize) {
        let Some(mut kept) = StoredTrack::take(&mut stream.attributes) else { return };
        kept.set = *self.new.entry((input, stream.session, kept.set)).or_insert_with(|| {
            self.count += 1;
            self.count - 1
        });
        self.numbered.entry((kept.set, kept.track)).or_insert(place);
        kept.put(&mut stream.attributes);
    }
}

/// Has a stream refer to others by the names that they have now.
fn refer(stream: &mut Stream, index: usize, input: &Input, renamed: &HashMap<usize, String>) {
    let new = |value: Option<usize>| value.and_then(|value| renamed.get(&value)).cloned();
    let about = input.about(index);
    stream.about = new(about).or_else(|| stream.about.take());
    // A remark has the clock of what it is about, whatever it says itself.
    let clock = new(input.clock_of(index).filter(|_| about.is_none()));
    for key in ["clock", "delta"] {
        if let (Some(Json::String(name)), Some(clock)) = (stream.attributes.get_mut(key), &clock) {
            name.clone_from(clock);
        }
    }
}
