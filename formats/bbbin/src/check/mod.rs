//! Rules across records.

mod computed;
mod definitions;
mod events;
mod layout;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt::Write;

use kymo_core::{Context, Finding, Findings, Severity, Value};

use crate::Reader;
use crate::read::{ANOTHER, NUM_EVENTS, ORDER, UNKNOWN_TYPE, no_type};
use crate::spec::{ArtifactClass, FieldType};
use crate::types::{ArtifactId, CustomType, LogFileId, TypeId};

pub(crate) use events::{each_id, is_no_artifact};

/// Every finding of a file, of which `reader` is what could be read.
pub(crate) fn check(reader: &Reader, context: &Context<'_>) -> Vec<Finding> {
    let mut told = CountedFindings::new(context.limits.findings_max);
    definitions::check(reader, &mut told);
    layout::check(reader, &mut told);
    let tally = events::check(reader, context, &mut told);
    // What could not be read cannot be compared.
    let mut findings = Findings::new(&context.limits);
    let noticed = reader.findings();
    let is_read = |finding: &Finding| {
        finding.severity < Severity::Error || [NUM_EVENTS, ANOTHER].contains(&finding.rule)
    };
    if noticed.iter().all(is_read) {
        computed::check(reader, &tally, &mut told);
    }
    // Of the order there is more to tell than what reading notices.
    findings.extend(noticed.into_iter().filter(|finding| finding.rule != ORDER));
    told.into_findings(&mut findings);
    findings.into_vec()
}

/// The values of a field.
fn elements(value: &Value) -> &[Value] {
    match value {
        Value::List(values) => values,
        value => std::slice::from_ref(value),
    }
}

/// Findings that are reported once, however often they are found: a file may have as many as
/// events. Of each rule no more are kept than there is room for in the end, so that none pushes out
/// another.
pub(crate) struct CountedFindings {
    kinds: BTreeMap<(&'static str, i64, i64), CountedFinding>,
    /// Number of findings of each rule that are kept.
    kept: BTreeMap<&'static str, usize>,
    most: usize,
    /// Number of findings there was no room for.
    beyond: BTreeMap<Severity, u64>,
}

struct CountedFinding {
    severity: Severity,
    offset: Option<u64>,
    message: String,
    count: u64,
}

impl CountedFindings {
    fn new(most: usize) -> Self {
        let (kinds, kept, beyond) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { kinds, kept, most, beyond }
    }

    /// Tells of something by its rule and two numbers; the first time counts, and then the number.
    fn count(
        &mut self,
        (rule, a, b): (&'static str, i64, i64),
        severity: Severity,
        offset: impl Into<Option<u64>>,
        message: impl FnOnce() -> String,
    ) {
        let place = match self.kinds.entry((rule, a, b)) {
            Entry::Occupied(mut known) => return known.get_mut().count += 1,
            Entry::Vacant(place) => place,
        };
        let kept = self.kept.entry(rule).or_default();
        if *kept < self.most {
            *kept += 1;
            let (offset, message) = (offset.into(), message());
            place.insert(CountedFinding { severity, offset, message, count: 1 });
        } else {
            *self.beyond.entry(severity).or_default() += 1;
        }
    }

    /// Tells of something as [`tell`](Self::tell) does: the first place in the file counts, in
    /// whichever order they are looked at.
    fn count_first(
        &mut self,
        key: (&'static str, i64, i64),
        severity: Severity,
        offset: u64,
        message: impl Fn() -> String,
    ) {
        if let Some(known) = self.kinds.get_mut(&key)
            && known.offset.is_some_and(|first| offset < first)
        {
            (known.offset, known.message) = (Some(offset), message());
        }
        self.count(key, severity, offset, message);
    }

    /// Tells of a type that nothing defines: first of what has values of it, as readers do.
    fn unknown_type(&mut self, (log, id): (LogFileId, TypeId), values: &[u8], offset: u64) {
        let item = |rank: i64| (UNKNOWN_TYPE, i64::from(log.0) << 1 | rank, i64::from(id.0));
        let (with_values, without) = (item(0), item(1));
        let key = if values.is_empty() { without } else { with_values };
        self.count_first(key, Severity::Warning, offset, || no_type(log, id));
    }

    /// What has no values of a type that nothing defines is told of where nothing has any.
    fn join_unknown_types(&mut self) {
        let is_without =
            |(rule, value, _): &(&str, i64, i64)| *rule == UNKNOWN_TYPE && value & 1 == 1;
        let without: Vec<_> = self.kinds.keys().copied().filter(is_without).collect();
        for key in without {
            let (rule, value, id) = key;
            if let Some(known) = self.kinds.get(&key).map(|known| known.count)
                && let Some(with_values) = self.kinds.get_mut(&(rule, value & !1, id))
            {
                with_values.count += known;
                self.kinds.remove(&key);
            }
        }
    }

    /// Tells of artifacts among values that nothing defines, whatever they may be.
    fn report_unknown_artifacts(
        &mut self,
        (reader, log): (&Reader, LogFileId),
        custom_type: &CustomType,
        values: &[Value],
        offset: u64,
    ) {
        let ids = custom_type.fields.iter().zip(values);
        let ids = ids.filter(|(field, _)| field.field_type == Ok(FieldType::ArtifactId));
        for value in ids.flat_map(|(_, value)| elements(value)) {
            let Value::UInt(number) = value else { continue };
            let id =
                u32::try_from(*number).map_or(ArtifactId(0), |id| ArtifactId(id.cast_signed()));
            let is_class = |class: &ArtifactClass| reader.artifact(log, *class, id).is_some();
            let is_none = is_no_artifact(ArtifactClass::Generic, id);
            if !is_none && !ArtifactClass::ALL.iter().any(is_class) {
                let key = ("unknown-artifact", i64::from(log.0) << 8, id.0.into());
                self.count(key, Severity::Warning, offset, || {
                    format!("there is no artifact {} in log file {}", id.0, log.0)
                });
            }
        }
    }

    /// Tells of an artifact that nothing defines.
    fn unknown_artifact(
        &mut self,
        (log, class, id): (LogFileId, ArtifactClass, ArtifactId),
        offset: u64,
    ) {
        let value = i64::from(log.0) << 8 | i64::from(class.number());
        let key = ("unknown-artifact", value, id.0.into());
        self.count(key, Severity::Warning, offset, || {
            format!("there is no {} {} in log file {}", class.name(), id.0, log.0)
        });
    }

    fn into_findings(mut self, findings: &mut Findings) {
        self.join_unknown_types();
        findings.extend(self.kinds.into_iter().map(|((rule, ..), telling)| {
            let CountedFinding { severity, offset, mut message, count } = telling;
            if count > 1 {
                let _ = write!(message, " ({count} times)");
            }
            Finding { severity, rule, offset, file: None, message }
        }));
        for (severity, times) in self.beyond {
            findings.count(severity, times);
        }
    }
}
