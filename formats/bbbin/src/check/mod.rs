//! Rules across records.

mod computed;
mod definitions;
mod events;
mod layout;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt::Write;

use kymo_core::{Context, Finding, Findings, Severity};

use crate::Reader;
use crate::read::ORDER;

pub(crate) use events::{each_id, is_no_artifact};

/// Every finding of a file, of which `reader` is what could be read.
pub(crate) fn check(reader: &Reader, context: &Context<'_>) -> Vec<Finding> {
    let mut told = Told::new(context.limits.items_max);
    definitions::check(reader, &mut told);
    layout::check(reader, &mut told);
    let tally = events::check(reader, context, &mut told);
    // What could not be read cannot be compared.
    let mut findings = Findings::new(&context.limits);
    let noticed = reader.findings();
    if noticed.iter().all(|finding| finding.severity < Severity::Error) {
        computed::check(reader, &tally, &mut told);
    }
    // Of the order there is more to tell than what reading notices.
    findings.extend(noticed.into_iter().filter(|finding| finding.rule != ORDER));
    findings.extend(told.into_findings());
    findings.into_vec()
}

/// What is told once, however often it is found: a file may have as many as events.
pub(crate) struct Told {
    kinds: BTreeMap<(&'static str, i64, i64), Telling>,
    max: u64,
}

struct Telling {
    severity: Severity,
    offset: Option<u64>,
    message: String,
    count: u64,
}

impl Told {
    fn new(max: u64) -> Self {
        Self { kinds: BTreeMap::new(), max: max.max(1) }
    }

    /// Tells of something by its rule and two numbers; the first time counts, and then the number.
    fn tell(
        &mut self,
        (rule, a, b): (&'static str, i64, i64),
        severity: Severity,
        offset: impl Into<Option<u64>>,
        message: impl FnOnce() -> String,
    ) {
        let is_full = self.kinds.len() as u64 >= self.max;
        match self.kinds.entry((rule, a, b)) {
            Entry::Occupied(mut known) => known.get_mut().count += 1,
            Entry::Vacant(_) if is_full => {}
            Entry::Vacant(place) => {
                let (offset, message) = (offset.into(), message());
                place.insert(Telling { severity, offset, message, count: 1 });
            }
        }
    }

    fn into_findings(self) -> impl Iterator<Item = Finding> {
        self.kinds.into_iter().map(|((rule, ..), telling)| {
            let Telling { severity, offset, mut message, count } = telling;
            if count > 1 {
                let _ = write!(message, " ({count} times)");
            }
            Finding { severity, rule, offset, file: None, message }
        })
    }
}
