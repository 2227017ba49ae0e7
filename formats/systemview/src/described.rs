//! Events that the protocol leaves to others: what the operating system and modules call theirs.

use std::collections::HashMap;

use crate::spec::{FREERTOS, FREERTOS_NAME, HEAP_MODULE, HEAP_TRACING};

/// Names and parameters of events, by their numbers.
#[derive(Debug, Default)]
pub(crate) struct EventDescriptions(HashMap<u32, Event>);

/// An event that somebody describes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) name: String,
    pub(crate) parameters: Vec<(String, Kind)>,
}

/// Kind of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Number,
    /// A text with its length before it.
    Text,
    /// All numbers that are left.
    Rest,
}

impl EventDescriptions {
    pub(crate) fn get(&self, id: u32) -> Option<&Event> {
        self.0.get(&id)
    }

    /// Learns from what the target says of its system: `N=Demo,D=esp32,O=FreeRTOS`.
    pub(crate) fn system(&mut self, text: &str) {
        let is_known = |part: &str| part.trim().strip_prefix("O=") == Some(FREERTOS_NAME);
        if text.split(',').any(is_known) {
            for (id, name, parameters) in FREERTOS {
                self.insert(
                    *id,
                    name,
                    parameters.split_whitespace().map(|this_name| (this_name, Kind::Number)),
                );
            }
        }
    }

    /// Learns from what a module says of itself: `M=Net,0 Send If=%u Bytes=%u,1 Close`. Its events
    /// are numbered from an offset on.
    pub(crate) fn module(&mut self, offset: u64, text: &str) {
        let mut parts = text.split(',');
        if parts.next().is_some_and(|name| name.trim() == HEAP_MODULE) {
            for (number, (name, parameters)) in (0..).zip(HEAP_TRACING) {
                let kind = |name| if name == "callers" { Kind::Rest } else { Kind::Number };
                let parameters = parameters.split_whitespace().map(|name| (name, kind(name)));
                self.insert_at(offset, number, name, parameters);
            }
        }
        for part in parts {
            let mut words = part.split_whitespace();
            let number = words.next().and_then(|number| number.parse().ok());
            let Some((number, name)) = number.zip(words.next()) else { continue };
            let parameters = words.map(|word| {
                let (name, format) = word.split_once('=').unwrap_or((word, ""));
                (name, if format == "%s" { Kind::Text } else { Kind::Number })
            });
            self.insert_at(offset, number, name, parameters);
        }
    }

    fn insert_at<'a>(
        &mut self,
        offset: u64,
        number: u64,
        name: &str,
        parameters: impl Iterator<Item = (&'a str, Kind)>,
    ) {
        let id = offset.checked_add(number).and_then(|id| u32::try_from(id).ok());
        if let Some(id) = id {
            self.insert(id, name, parameters);
        }
    }

    /// Inserts the description of an event; the first that is known stays.
    fn insert<'a>(
        &mut self,
        id: u32,
        name: &str,
        parameters: impl Iterator<Item = (&'a str, Kind)>,
    ) {
        self.0.entry(id).or_insert_with(|| Event {
            name: name.to_owned(),
            parameters: parameters.map(|(name, kind)| (name.to_owned(), kind)).collect(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_name_their_events_and_parameters() {
        let mut described = EventDescriptions::default();
        described.module(512, "M=Net, 0 Send If=%u Name=%s, 3 Close,odd,9");
        let event = described.get(512).unwrap();
        assert_eq!(event.name, "Send");
        let expected = [("If".to_owned(), Kind::Number), ("Name".to_owned(), Kind::Text)];
        assert_eq!(event.parameters, expected);
        assert_eq!(described.get(515).unwrap().name, "Close");
        assert_eq!((described.get(513), described.get(521)), (None, None));
    }

    #[test]
    fn events_of_an_operating_system_are_known_where_the_target_names_it() {
        let mut described = EventDescriptions::default();
        described.system("N=Demo,O=embOS");
        assert_eq!(described.get(34), None);
        described.system("N=Demo,O=FreeRTOS");
        assert_eq!(described.get(34).unwrap().name, "vTaskDelay");
    }
}
