//! Every prefix: an answer or an error with an offset, and never data that was not there.

use std::collections::BTreeSet;

use kymo_core::{Context, Error, Severity, Source};
use kymo_model::{Capability, Dataset};

use crate::findings::worst;
use crate::promise::{self, Cases, spread};
use crate::survive::{assert_offset, check, exercise, repair_is_sound};
use crate::{Captured, Sample, Subject, capture, repaired};

/// Greatest number of bytes of input that all prefixes of a sample may amount to. A large sample is
/// cut at places evenly spread, and around the start of each record.
const BUDGET_BYTES: usize = 4 << 20;

/// Places around the start of a record that are always tried.
const AROUND: std::ops::Range<usize> = 0..12;

/// Samples up to this size are repaired at every prefix, larger ones at each sixteenth.
const REPAIR_BYTES: usize = 2 << 10;

/// Each sound sample is cut at every byte. What then opens has the records of the whole file up
/// to somewhere, and says that something is missing unless the subject calls the prefix valid;
/// what does not open says at which byte. It can be checked, and where the format repairs,
/// salvaged, and repaired to a sound file with the salvaged records. Unsound samples survive.
pub fn every_prefix_is_answered(subject: &Subject) {
    let this = subject.clone();
    promise::each(subject.samples(), move |sample, cases| {
        if this.is_sound(sample) {
            Whole::new(&this, sample).cut(cases);
        } else {
            cut_unsound(&this, sample, cases);
        }
    });
}

/// A sound sample with its records as text.
struct Whole<'a> {
    subject: &'a Subject,
    sample: &'a Sample,
    records: Vec<String>,
    starts: Vec<u64>,
}

impl<'a> Whole<'a> {
    fn new(subject: &'a Subject, sample: &'a Sample) -> Self {
        let dataset = subject.format.open(&sample.source(), &Context::default());
        let dataset = dataset.unwrap_or_else(|error| panic!("it does not open: {error}"));
        let records = records(subject, &*dataset);
        Self {
            subject,
            sample,
            records: records.iter().map(Captured::to_string).collect(),
            starts: records.iter().map(|record| record.offset).collect(),
        }
    }

    fn cut(&self, cases: &mut Cases) {
        let size = self.sample.bytes.len();
        for (count, end) in self.ends().into_iter().enumerate() {
            cases.begin(|| format!("{}, cut at {end:#x}", self.sample.name));
            let source = self.prefix(end);
            self.opens_or_says_where(&source, end);
            self.is_checked(&source, end);
            let repairs = self.subject.format.info().can(Capability::Repair);
            if repairs && !self.subject.writes_directories {
                let salvaged = self.is_salvaged(&source);
                if size <= REPAIR_BYTES || count % 16 == 0 {
                    self.is_repaired(&source, end, &salvaged);
                }
            }
        }
    }

    /// Returns the positions at which to cut.
    fn ends(&self) -> BTreeSet<usize> {
        let size = self.sample.bytes.len();
        let mut ends: BTreeSet<_> = spread(size + 1, BUDGET_BYTES / size.max(1)).collect();
        for start in &self.starts {
            let start = usize::try_from(*start).expect("an offset in memory");
            ends.extend(AROUND.map(|by| start + by).filter(|end| *end <= size));
        }
        ends
    }

    fn prefix(&self, end: usize) -> Source {
        Source::from_bytes(&*self.sample.name, self.sample.bytes[..end].to_vec())
    }

    fn opens_or_says_where(&self, source: &Source, end: usize) {
        let valid = self.subject.is_valid_prefix(&self.sample.bytes, end);
        match self.subject.format.open(source, &Context::default()) {
            Ok(dataset) => {
                let found = texts(&records(self.subject, &*dataset));
                self.has_only_what_was_there(&found, "what opens");
                assert!(
                    valid || worst(&dataset.findings()) >= Some(Severity::Warning),
                    "it opens, and does not say that something is missing"
                );
            }
            Err(error) => {
                assert!(!valid, "it is a valid file, and does not open: {error}");
                assert_offset(&error, end as u64);
            }
        }
    }

    fn is_checked(&self, source: &Source, end: usize) {
        let found = check(self.subject.format, source, &Context::default());
        if self.subject.is_valid_prefix(&self.sample.bytes, end) {
            let sound = worst(&found) < Some(Severity::Error);
            assert!(sound, "it is a valid file, and check finds {found:?}");
        } else {
            let told = worst(&found) >= Some(Severity::Warning);
            assert!(told, "check finds nothing missing: {found:?}");
        }
    }

    fn is_salvaged(&self, source: &Source) -> Vec<Captured> {
        let dataset = self.subject.format.salvage(source, &Context::default());
        let dataset = dataset.unwrap_or_else(|error| panic!("it cannot be salvaged: {error}"));
        let salvaged = records(self.subject, &*dataset);
        // The last may be what is left of a record that was cut.
        let whole = salvaged.len().saturating_sub(1);
        self.has_only_what_was_there(&texts(&salvaged[..whole]), "what is salvaged");
        assert!(salvaged.len() <= self.records.len(), "more is salvaged than there was");
        salvaged
    }

    fn is_repaired(&self, source: &Source, end: usize, salvaged: &[Captured]) {
        let format = self.subject.format;
        let written = repaired(format, source, &Context::default());
        let (repaired, written) = match written {
            Ok(written) => written,
            // Where nothing was left there is nothing to write.
            Err(Error::Request(_)) if salvaged.is_empty() => return,
            Err(error) => panic!("it cannot be repaired: {error}"),
        };
        let valid = self.subject.is_valid_prefix(&self.sample.bytes, end);
        let tells = !(repaired.losses.is_empty() && repaired.corrected.is_empty());
        assert!(valid || tells, "repair tells of no loss");
        let written = Source::from_bytes(&*self.sample.name, written);
        let found = check(format, &written, &Context::default());
        assert!(worst(&found) < Some(Severity::Error), "repaired it has errors: {found:?}");
        let dataset = format.open(&written, &Context::default());
        let dataset = dataset.unwrap_or_else(|error| panic!("repaired it does not open: {error}"));
        let contents =
            |records: &[Captured]| -> Vec<_> { records.iter().map(Captured::contents).collect() };
        let (found, salvaged) = (contents(&records(self.subject, &*dataset)), contents(salvaged));
        if self.subject.completes {
            let mut found = found.iter();
            let is_there = |record: &String| found.any(|found| found == record);
            let is_all = self.subject.has_freedom(self.sample) || salvaged.iter().all(is_there);
            return assert!(is_all, "repaired it has not all that is salvaged");
        }
        assert_eq!(found, salvaged, "repaired it has other contents than salvaged");
    }

    fn has_only_what_was_there(&self, found: &[String], what: &str) {
        let same = found.iter().zip(&self.records).take_while(|(a, b)| a == b);
        let same = same.count();
        assert!(same == found.len(), "{what} has a record that was not there:\n{}", found[same]);
    }
}

fn cut_unsound(subject: &Subject, sample: &Sample, cases: &mut Cases) {
    let size = sample.bytes.len();
    for end in spread(size + 1, BUDGET_BYTES / size.max(1)) {
        cases.begin(|| format!("{}, cut at {end:#x}", sample.name));
        exercise(subject.format, &sample.bytes[..end]);
        repair_is_sound(subject.format, &sample.bytes[..end]);
    }
}

/// All records but those that tell of the layout.
fn records(subject: &Subject, dataset: &dyn Dataset) -> Vec<Captured> {
    let records = capture(dataset);
    let mut records = records.unwrap_or_else(|error| panic!("it cannot be dumped: {error}"));
    records.retain(|record| !subject.layout.contains(&record.kind));
    records
}

fn texts(records: &[Captured]) -> Vec<String> {
    records.iter().map(Captured::to_string).collect()
}
