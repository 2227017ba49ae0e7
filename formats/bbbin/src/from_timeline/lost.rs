//! Losses when a timeline is written.

use std::collections::BTreeSet;

use kymo_core::{Finding, Severity, shortened};
use kymo_model::timeline::{Event, Losses, Track};

use super::records::SHAPES_MAX;
use crate::carried;

/// Counts of what is lost, or not as it should be.
#[derive(Debug, Default)]
pub(super) struct LossCounts {
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

impl LossCounts {
    /// Counts an event that is not written as it is.
    pub(super) fn event(&mut self, event: &Event<'_>, rule: &'static str, why: &'static str) {
        self.events.add(event, rule, why);
    }

    /// Says it.
    pub(super) fn findings(&self, tracks: &[Track]) -> Vec<Finding> {
        let lost = SAID.iter().filter_map(|said| {
            let count = (said.count)(self);
            let finding =
                || Finding::for_whole_file(Severity::Warning, said.rule, (said.words)(count));
            (count > 0).then(finding)
        });
        self.events.findings(tracks).into_iter().chain(lost).chain(attributes(tracks)).collect()
    }
}

/// Message for a count.
struct LossText {
    rule: &'static str,
    count: fn(&LossCounts) -> u64,
    words: fn(u64) -> String,
}

const SAID: [LossText; 13] = [
    LossText {
        rule: "clocks",
        count: |lost| lost.clocks,
        words: |count| format!("{} clocks become one time axis", count + 1),
    },
    LossText {
        rule: "parent",
        count: |lost| lost.nested,
        words: |count| format!("tracks are no longer under the track they were ({count} in all)"),
    },
    LossText {
        rule: "ids",
        count: |lost| lost.ids,
        words: |count| {
            format!(
                "tasks, threads or states have other ids than before ({count} in all): theirs are \
                 taken in their log files, or have more than 32 bits"
            )
        },
    },
    LossText {
        rule: "processors",
        count: |lost| lost.apart,
        words: |count| {
            format!(
                "{count} tasks run side by side, and on which processors is not known: each has a \
                 log file of its own, as if that were one"
            )
        },
    },
    LossText {
        rule: "order",
        count: |lost| lost.order,
        words: |count| {
            let often = if count == 1 { "once".to_owned() } else { format!("{count} times") };
            format!(
                "times go back, {often} in all, and events are written as they come: \
                 `kymo merge --sort` sorts them"
            )
        },
    },
    LossText {
        rule: "peer",
        count: |lost| lost.peers,
        words: |count| {
            format!(
                "the other ends of messages are in another log file, which BBBin cannot name \
                 ({count} in all)"
            )
        },
    },
    LossText {
        rule: "release",
        count: |lost| lost.releases,
        words: |count| format!("releases no longer say where they came from ({count} in all)"),
    },
    LossText {
        rule: "priority",
        count: |lost| lost.priorities,
        words: |count| format!("priorities have more than 32 bits ({count} in all)"),
    },
    LossText {
        rule: "lists",
        count: |lost| lost.lists,
        words: |count| {
            format!(
                "lists whose values are none, or not of one type, became texts ({count} in all)"
            )
        },
    },
    LossText {
        rule: "rounded",
        count: |lost| lost.rounded,
        words: |count| {
            format!(
                "whole numbers beyond 2^53 are among such with a point, and are rounded \
                 ({count} in all)"
            )
        },
    },
    LossText {
        rule: "values",
        count: |lost| lost.untyped,
        words: |count| {
            format!("values of events are not of the type that they were of ({count} in all)")
        },
    },
    LossText {
        rule: "kinds",
        count: |lost| lost.kinds,
        words: |count| {
            format!(
                "fields of events became one text ({count} in all): there are more kinds of events \
                 than {SHAPES_MAX}"
            )
        },
    },
    LossText {
        rule: "latin-1",
        count: |lost| lost.characters,
        words: |count| {
            format!("characters are not in Latin-1, and became question marks ({count} in all)")
        },
    },
];

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
    (count > 0).then(|| Finding::for_whole_file(Severity::Warning, "attributes", message))
}
