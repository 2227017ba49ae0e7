//! The schemas and channels of a file, and how many messages there are, from when to when.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use kymo_core::{Finding, Severity};

use super::Reader;
use super::summary::Summary;
use super::walk::{Body, Walk};
use crate::types::{Channel, Message, Schema};

/// Contents of a file, as given by the summary or found by going through it.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    pub(crate) schemas: BTreeMap<u16, Schema>,
    pub(crate) channels: BTreeMap<u16, Channel>,
    /// Messages of each channel.
    pub(crate) counts: BTreeMap<u16, u64>,
    /// The earliest and the latest `log_time`.
    pub(crate) times: Option<RangeInclusive<u64>>,
    /// True if messages were counted, and not only the summary believed.
    pub(crate) is_counted: bool,
}

impl Survey {
    /// Returns the contents that a summary gives.
    pub(crate) fn from_summary(summary: &Summary) -> Self {
        let mut survey = Self::default();
        survey.add_definitions(summary);
        if let Some((_, statistics)) = &summary.statistics {
            survey.counts.clone_from(&statistics.channel_message_counts);
            let times = statistics.message_start_time..=statistics.message_end_time;
            survey.times = (statistics.message_count > 0).then_some(times);
        }
        survey
    }

    /// Goes through a file. What only the summary still has is taken from there.
    pub(crate) fn from_walk(reader: &Reader, summary: &Summary) -> Self {
        let mut survey = Self { is_counted: true, ..Self::default() };
        let mut walk = Walk::new(reader);
        let room = reader.limits().items_max.saturating_sub(reader.pieces().len() as u64);
        while let Some(item) = walk.next() {
            match item.body {
                Body::Schema(schema) => {
                    survey.schemas.entry(schema.id).or_insert(schema);
                }
                Body::Channel(channel) => {
                    survey.channels.entry(channel.id).or_insert(channel);
                }
                Body::Message(message) => survey.count(&message),
                _ => {}
            }
            if survey.definitions() > room {
                let why = format!("the index has room for {room} schemas and channels");
                reader.faults().push(Finding::at_offset(
                    Severity::Error,
                    "items",
                    item.offset,
                    why,
                ));
                break;
            }
        }
        survey.add_definitions(summary);
        survey
    }

    fn add_definitions(&mut self, summary: &Summary) {
        for (_, schema) in summary.schemas.values() {
            self.schemas.entry(schema.id).or_insert_with(|| schema.clone());
        }
        for (_, channel) in summary.channels.values() {
            self.channels.entry(channel.id).or_insert_with(|| channel.clone());
        }
    }

    /// Schemas and channels.
    pub(crate) fn definitions(&self) -> u64 {
        (self.schemas.len() + self.channels.len()) as u64
    }

    /// Messages in all.
    pub(crate) fn messages(&self) -> u64 {
        self.counts.values().fold(0, |sum, count| sum.saturating_add(*count))
    }

    fn count(&mut self, message: &Message) {
        *self.counts.entry(message.channel_id).or_default() += 1;
        let time = message.log_time;
        self.times = Some(match &self.times {
            None => time..=time,
            Some(times) => time.min(*times.start())..=time.max(*times.end()),
        });
    }
}
