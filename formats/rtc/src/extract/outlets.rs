//! The streams that are written, and what each is made of.

use std::collections::HashMap;

use kymo_core::{Finding, Severity, shortened};
use serde_json::Value as Json;

use super::Input;
use crate::kept::Kept;
use crate::names::Names;
use crate::types::Stream;

/// A stream that is written.
pub(super) struct Outlet {
    /// The streams it is made of, each with the number of its input.
    pub(super) from: Vec<(usize, usize)>,
    pub(super) id: u32,
    pub(super) as_written: Stream,
}

impl Outlet {
    /// Says of a clock that it goes back: in its description, and to the user if that is new.
    pub(super) fn fall(&mut self) -> Option<Finding> {
        if self.as_written.may_go_back() {
            return None;
        }
        self.as_written.attributes.insert("rises".into(), false.into());
        let name = shortened(&self.as_written.name);
        let message = format!("the clock {name} goes back in it, and is said not to rise");
        Some(Finding::whole(Severity::Note, "clock", message))
    }
}

/// The streams that are written, under names that differ: where files have the same name, the
/// later ones get a number, or are joined to the first if they are described alike and asked to.
pub(super) fn outlets(inputs: &[Input], session: Option<usize>, join: bool) -> Vec<Outlet> {
    let mut names = Names::default();
    let mut firsts: HashMap<String, usize> = HashMap::new();
    let mut outlets: Vec<Outlet> = Vec::new();
    let mut sets = Sets::new();
    for (number, input) in inputs.iter().enumerate() {
        let mut needed: Vec<usize> = input.needed(session).into_iter().collect();
        let place = |index: &usize| input.stream(*index).map(|stream| (stream.session, stream.id));
        needed.sort_unstable_by_key(place);
        let mut renamed: HashMap<(usize, &str), String> = HashMap::new();
        let streams = || needed.iter().filter_map(|index| Some((*index, input.stream(*index)?)));
        for (index, stream) in streams() {
            let first = firsts.get(&stream.name).and_then(|first| outlets.get_mut(*first));
            if let Some(first) = first.filter(|first| join && is_alike(&first.as_written, stream)) {
                first.from.push((number, index));
                continue;
            }
            // One session keeps its names, whatever they are.
            let is_kept = session.is_some();
            let name = if is_kept { stream.name.clone() } else { names.free(&stream.name) };
            renamed.entry((stream.session, &stream.name)).or_insert_with(|| name.clone());
            firsts.entry(name).or_insert(outlets.len());
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
