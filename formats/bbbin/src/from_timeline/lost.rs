//! What is lost when a timeline is written.

use std::collections::BTreeSet;

use kymo_core::model::timeline::{Event, Losses, Track};
use kymo_core::{Finding, Severity, shortened};

use super::records::SHAPES_MAX;
use crate::carried;

/// What is lost, or not as it should be, and how often.
#[derive(Debug, Default)]
pub(super) struct Lost {
    pub characters: u64,
    /// Messages whose other end is of another recording.
    pub peers: u64,
    pub priorities: u64,
    /// Releases by what is no processor.
    pub releases: u64,
    /// Events that are earlier than the one before.
    pub order: u64,
    pub clocks: u64,
    pub nested: u64,
    /// Ids that are taken, or have more than 32 bits.
    pub ids: u64,
    /// Tasks that run side by side on what is no processor.
    pub apart: u64,
    /// Lists that are no arrays.
    pub lists: u64,
    /// Whole numbers that numbers with a point do not hold.
    pub rounded: u64,
    /// Events that are not of the type that their track is of.
    pub untyped: u64,
    /// Events that are of none of the kinds that have types of their own.
    pub kinds: u64,
    events: Losses,
}

impl Lost {
    /// Counts an event that is not written as it is.
    pub(super) fn event(&mut self, event: &Event<'_>, rule: &'static str, why: &'static str) {
        self.events.add(event, rule, why);
    }

    /// Says it.
    pub(super) fn findings(&self, tracks: &[Track]) -> Vec<Finding> {
        let Self { characters, peers, priorities, releases, .. } = *self;
        let Self { order, clocks, nested, ids, apart, lists, rounded, untyped, kinds, .. } = *self;
        let often = if order == 1 { "once".to_owned() } else { format!("{order} times") };
        let said = [
            (clocks, "clocks", format!("{} clocks become one time axis", clocks + 1)),
            (
                nested,
                "parent",
                format!("tracks are no longer under the track they were ({nested} in all)"),
            ),
            (
                ids,
                "ids",
                format!(
                    "tasks, threads or states have other ids than before ({ids} in all): theirs are \
                     taken in their log files, or have more than 32 bits"
                ),
            ),
            (
                apart,
                "processors",
                format!(
                    "{apart} tasks run side by side, and on which processors is not known: each has \
                     a log file of its own, as if that were one"
                ),
            ),
            (
                order,
                "order",
                format!(
                    "times go back, {often} in all, and events are written as they come: \
                     `kymo merge --sort` sorts them"
                ),
            ),
            (
                peers,
                "peer",
                format!(
                    "the other ends of messages are in another log file, which BBBin cannot name \
                     ({peers} in all)"
                ),
            ),
            (
                releases,
                "release",
                format!("releases no longer say where they came from ({releases} in all)"),
            ),
            (
                priorities,
                "priority",
                format!("priorities have more than 32 bits ({priorities} in all)"),
            ),
            (
                lists,
                "lists",
                format!(
                    "lists whose values are none, or not of one type, became texts ({lists} in all)"
                ),
            ),
            (
                rounded,
                "rounded",
                format!(
                    "whole numbers beyond 2^53 are among such with a point, and are rounded \
                     ({rounded} in all)"
                ),
            ),
            (
                untyped,
                "values",
                format!(
                    "values of events are not of the type that they were of ({untyped} in all)"
                ),
            ),
            (
                kinds,
                "kinds",
                format!(
                    "fields of events became one text ({kinds} in all): there are more kinds of \
                     events than {SHAPES_MAX}"
                ),
            ),
            (
                characters,
                "latin-1",
                format!(
                    "characters are not in Latin-1, and became question marks ({characters} in all)"
                ),
            ),
        ];
        let lost = said.into_iter().filter(|(count, ..)| *count > 0);
        let lost = lost.map(|(_, rule, why)| Finding::whole(Severity::Warning, rule, why));
        self.events.findings(tracks).into_iter().chain(lost).chain(attributes(tracks)).collect()
    }
}

/// Names that are told.
const NAMES_MAX: usize = 8;

/// Says which attributes of tracks are not kept.
fn attributes(tracks: &[Track]) -> Option<Finding> {
    let (mut names, mut count) = (BTreeSet::new(), 0);
    for track in tracks {
        let left = carried::unkept(track);
        count += u64::from(!left.is_empty());
        for name in left {
            if names.len() < NAMES_MAX {
                names.insert(name);
            }
        }
    }
    let names: Vec<_> = names.iter().map(|name| shortened(name)).collect();
    let message =
        format!("attributes of tracks are not kept ({count} in all): {}", names.join(", "));
    (count > 0).then(|| Finding::whole(Severity::Warning, "attributes", message))
}
