//! Reason why no event is as asked for: the typed name may not be there at all.

use std::collections::BTreeSet;
use std::sync::Arc;

use kymo_model::timeline::{Content, Event, TimelineView, Track, Window};
use serde_json::Value as Json;

use super::classes;
use super::fields::is_among;
use super::filters::Filters;
use crate::moment;
use crate::render::{activity, escaped};
use crate::scope::nothing_in_range;
use crate::variables::nearest;

/// So many events are looked at to find out what there is.
const LOOKED_AT: u64 = 1 << 20;

/// So many names are kept, and so many of them listed.
const NAMES_MAX: usize = 1 << 10;
const LISTED_MAX: usize = 12;

/// Says why no event was shown.
pub(super) fn no_events_reason(
    timeline: &Arc<dyn TimelineView>,
    window: &Window,
    filters: &Filters,
) -> anyhow::Result<String> {
    let is_range = window.from.is_some() || window.until.is_some();
    if is_range && filters.is_all() {
        // Clocks that do not begin together have no range.
        if let Ok(range) = moment::range_of(timeline, window.tracks.as_deref()) {
            return Ok(nothing_in_range(timeline, &range, (window.from, window.until)));
        }
    }
    let said = "no event is such as was asked for";
    let (asked, fields) = (filters.called(), filters.fields());
    if asked.is_empty() && fields.is_empty() {
        return Ok(said.to_owned());
    }
    // What is declared tells whether a name is misspelt, but not which events there are.
    if let (Some(kinds), true) = (timeline.declared(), fields.is_empty()) {
        let kinds = kinds.into_iter().collect();
        match uncalled(&asked, &kinds) {
            None => return Ok(said.to_owned()),
            Some(UnknownName { name, near: Some(near), .. }) => {
                return Ok(no_event(name, &suggestion(near)));
            }
            Some(_) => {}
        }
    }
    let names = Names::from_timeline(timeline)?;
    if let Some(UnknownName { name, near, kinds }) = uncalled(&asked, &names.kinds) {
        return Ok(no_event(name, &near.map_or_else(|| listed(&kinds), suggestion)));
    }
    let all = || names.fields.iter().map(String::as_str);
    if let Some(name) = fields.into_iter().find(|name| !is_among(all(), name)) {
        return Ok(format!("no event has a field {}{}", escaped(name), instead(name, all())));
    }
    Ok(said.to_owned())
}

/// A name that no event is called by, what may have been meant, and what they are called.
struct UnknownName<'a> {
    name: &'a str,
    near: Option<&'a str>,
    kinds: BTreeSet<&'a str>,
}

/// The first of some names that no event is called by. It may be the word of a class that is
/// misspelt.
fn uncalled<'a>(asked: &[&'a str], kinds: &'a BTreeSet<String>) -> Option<UnknownName<'a>> {
    let is_called = |name: &str| kinds.iter().any(|kind| classes::is_called(kind, name));
    let name = asked.iter().copied().find(|name| !is_called(name))?;
    let kinds: BTreeSet<_> = kinds.iter().map(|kind| without_system(kind)).collect();
    let near = nearest(name, kinds.iter().copied()).or_else(|| classes::nearest(name));
    Some(UnknownName { name, near, kinds })
}

fn no_event(name: &str, instead: &str) -> String {
    format!("no event is called {}{instead}", escaped(name))
}

/// The name of an event without the subsystem that it is of. Names may have colons of their own:
/// `big: one`.
fn without_system(kind: &str) -> &str {
    let is_word = |word: &str| !word.is_empty() && !word.contains(' ');
    match kind.rsplit_once(':') {
        Some((system, name)) if is_word(system) && is_word(name) => name,
        _ => kind,
    }
}

/// Returns the name that may have been meant, or the names that there are.
fn instead<'a>(typed: &str, names: impl Iterator<Item = &'a str>) -> String {
    let names: BTreeSet<_> = names.collect();
    nearest(typed, names.iter().copied()).map_or_else(|| listed(&names), suggestion)
}

fn suggestion(name: &str) -> String {
    format!("; did you mean {}?", escaped(name))
}

fn listed(names: &BTreeSet<&str>) -> String {
    let listed: Vec<_> = names.iter().take(LISTED_MAX).map(|name| escaped(name)).collect();
    match names.len().saturating_sub(LISTED_MAX) {
        _ if names.is_empty() => String::new(),
        0 => format!("; there are {}", listed.join(", ")),
        more => format!("; there are {} and {more} more", listed.join(", ")),
    }
}

/// Names of events, and names of their fields.
#[derive(Debug, Default)]
struct Names {
    kinds: BTreeSet<String>,
    fields: BTreeSet<String>,
}

impl Names {
    fn from_timeline(timeline: &Arc<dyn TimelineView>) -> anyhow::Result<Self> {
        let tracks = timeline.tracks();
        let mut events = Arc::clone(timeline).events_with_fields(&Window::default())?;
        let mut names = Self::default();
        for _ in 0..LOOKED_AT {
            let Some(event) = events.next()? else { break };
            names.add_event(&event, &tracks);
        }
        Ok(names)
    }

    fn add_event(&mut self, event: &Event<'_>, tracks: &[Track]) {
        match &event.content {
            Content::Fields(found) => {
                add(&mut self.kinds, &found.name);
                found.fields.iter().for_each(|field| add(&mut self.fields, &field.name));
            }
            Content::Text(text) => self.text(text),
            Content::Value(_) => {
                add(&mut self.fields, "value");
                let name = tracks.get(event.track.0).map_or("", |track| &track.name);
                add(&mut self.fields, name);
                add(&mut self.fields, name.rsplit('.').next().unwrap_or(name));
            }
            Content::Activity(found) => {
                for (name, _) in activity::fields(found, tracks) {
                    add(&mut self.fields, name);
                }
            }
            Content::Sample(_) | Content::Payload => {}
        }
    }

    /// A text may be an object of JSON, or begin with the name of the event.
    fn text(&mut self, text: &str) {
        if let Ok(Json::Object(object)) = serde_json::from_str::<Json>(text) {
            object.keys().for_each(|name| add(&mut self.fields, name));
            return;
        }
        let name = text.split(": ").next().unwrap_or(text);
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':' | '.' | '-');
        if !name.is_empty() && name.chars().all(is_word) {
            add(&mut self.kinds, name);
        }
    }
}

fn add(names: &mut BTreeSet<String>, name: &str) {
    if names.len() < NAMES_MAX && !names.contains(name) {
        names.insert(name.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_have_colons_of_their_own() {
        assert_eq!(without_system("sched:sched_switch"), "sched_switch");
        assert_eq!(without_system("big: one"), "big: one");
        assert_eq!(without_system("plain"), "plain");
    }

    #[test]
    fn what_is_near_is_asked_for_and_else_all_is_listed() {
        let names = ["sched_switch", "sched_waking", "irq_handler_entry"];
        let found = |typed: &str| instead(typed, names.into_iter());
        assert_eq!(found("sched_swich"), "; did you mean sched_switch?");
        assert_eq!(found("x_y"), "; there are irq_handler_entry, sched_switch, sched_waking");
        assert_eq!(instead("x_y", std::iter::empty()), "");
        let kinds = names.map(str::to_owned).into_iter().collect();
        let near = |name| uncalled(&[name], &kinds).map(|unknown_name| unknown_name.near);
        assert_eq!(near("sched_switch"), None);
        assert_eq!(near("TASK_SWICH"), Some(Some("TASK_SWITCH")));
        assert_eq!(near("sched_swich"), Some(Some("sched_switch")));
        assert_eq!(near("x_y"), Some(None));
    }
}
