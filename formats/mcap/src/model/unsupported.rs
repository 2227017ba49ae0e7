//! Losses in a conversion: what a file has and its timeline does not.

use std::collections::BTreeMap;

use kymo_core::Finding;
use kymo_model::timeline;

use crate::Reader;
use crate::read::{Body, Walk};
use crate::types::Message;

/// Goes through all records.
pub(super) fn unsupported_findings(reader: &Reader) -> Vec<Finding> {
    let profiles = u64::from(!reader.header().profile.is_empty());
    let mut counts = UnsupportedCounts { profiles, ..UnsupportedCounts::default() };
    let mut walk = Walk::new(reader);
    while let Some(item) = walk.next() {
        match &item.body {
            Body::Message(message) => counts.message(message),
            Body::Attachment(_) => counts.attachments += 1,
            Body::Metadata(_) => counts.metadata += 1,
            Body::Private { .. } => counts.private += 1,
            Body::Schema(_) | Body::Channel(_) => {}
        }
    }
    counts.findings()
}

/// Counts of what the timeline does not have.
#[derive(Debug, Default)]
struct UnsupportedCounts {
    profiles: u64,
    attachments: u64,
    metadata: u64,
    private: u64,
    publish_times: u64,
    sequences: u64,
    /// The number that the next message of each channel gets when it is written again.
    next: BTreeMap<u16, u32>,
}

impl UnsupportedCounts {
    fn message(&mut self, message: &Message) {
        self.publish_times += u64::from(message.publish_time != message.log_time);
        let next = self.next.entry(message.channel_id).or_default();
        self.sequences += u64::from(message.sequence != *next);
        *next = next.wrapping_add(1);
    }

    fn findings(&self) -> Vec<Finding> {
        let said = [
            (self.profiles, "profile", "profiles of the file"),
            (self.attachments, "attachments", "attachments"),
            (self.metadata, "metadata", "records of metadata"),
            (self.private, "private-records", "private records"),
            (self.publish_times, "publish-time", "publish times that are not the log time"),
            (self.sequences, "sequence", "sequence numbers that do not just count messages"),
        ];
        timeline::unsupported_findings(said)
    }
}
