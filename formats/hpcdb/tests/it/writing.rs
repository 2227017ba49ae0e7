//! What is written: read back by our reader, and by one of the test's own that follows
//! `docs/formats/hpcdb.md` and shares no code.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use kymo_conformance::{shared, testdata};
use kymo_core::bytes::Limits;
use kymo_core::{Context, Destination, Severity, Source};
use kymo_hpcdb::{HpcDb, Writer};
use kymo_model::profile::{
    Column, ContextNumber, ContextValue, FlatGrouping, Metric, MetricId, MetricQuery, MetricScope,
    Node, Parts, ProfileSink, ProfileView, Relation, Scope, SinkValue, Statistic, Step,
    SummaryValue, Thread, ThreadId, Walk, copy_profile, flat,
};
use kymo_model::timeline::TimeNs;
use kymo_model::{Dataset, Format};

fn source(path: &Path) -> Source {
    Source::open(path, &Limits::default()).unwrap()
}

fn open(path: &Path) -> Box<dyn Dataset> {
    HpcDb.open(&source(path), &Context::default()).unwrap()
}

fn view(path: &Path) -> Arc<dyn ProfileView> {
    open(path).profile().unwrap()
}

/// Every context on its path, with what it is.
fn tree(view: &dyn ProfileView) -> Vec<String> {
    let mut lines = Vec::new();
    for step in Walk::new(view).unwrap() {
        if let Step::Enter(context, depth) = step.unwrap() {
            let label = view.label(&context).unwrap();
            let (scope, relation) = (context.scope, context.relation);
            let (line, offset) = (context.source.map(|at| at.1), context.point.map(|at| at.1));
            let number = context.number.0;
            lines.push(format!(
                "{depth} {number} {label} {scope:?} {relation:?} {line:?} {offset:?}"
            ));
        }
    }
    lines
}

fn values(view: &dyn ProfileView) -> Vec<(u32, u64, String, f64)> {
    let mut found = Vec::new();
    for thread in (0..u32::try_from(view.thread_count()).unwrap()).map(ThreadId) {
        for value in view.thread_values(thread).unwrap() {
            let ContextValue { context, column, value } = value.unwrap();
            found.push((thread.0, context.0, format!("{column:?}"), value));
        }
    }
    // Metrics may be listed in another order than that of their ids.
    found.sort_by(|a, b| (a.0, a.1, &a.2).cmp(&(b.0, b.1, &b.2)));
    found
}

/// Starts a writer of one of the layouts.
type Start = fn(&Destination, &str) -> kymo_core::Result<Writer>;

fn is_copied_whole(from: &Path) {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("copy");
    is_the_same_as(from, &to, Writer::new);
    let threads = independent::values_by_thread(&to);
    assert_eq!(threads, independent::values_by_context(&to));
    let original = view(from);
    assert_eq!(threads.len(), values(original.as_ref()).len());
    assert_eq!(independent::contexts(&to).len(), tree(original.as_ref()).len());
    // The draft that was described has all of it too, and back again it is the same bytes.
    let described = folder.path().join("described");
    is_the_same_as(&to, &described, Writer::described);
    assert_eq!(open(&described).summary().dialect, "the described draft, big-endian");
    let again = folder.path().join("again");
    is_the_same_as(&described, &again, Writer::new);
    for name in ["profile.db", "cct.db"] {
        let [one, other] = [&to, &again].map(|folder| std::fs::read(folder.join(name)).unwrap());
        assert!(one == other, "{}: {name}", from.display());
    }
}

fn is_the_same_as(from: &Path, to: &Path, start: Start) {
    let original = view(from);
    let mut writer = start(&Destination::new(to, false), "copy").unwrap();
    copy_profile(original.as_ref(), &mut writer).unwrap();
    writer.finish().unwrap();
    let copy = view(to);
    assert!(tree(copy.as_ref()) == tree(original.as_ref()), "{}", from.display());
    assert!(values(copy.as_ref()) == values(original.as_ref()), "{}", from.display());
    for metric in (0..u32::try_from(original.metrics().len()).unwrap()).map(MetricId) {
        let rows = |view: &dyn ProfileView| {
            let flat =
                flat(&MetricQuery { view, metric, threads: None }, FlatGrouping::Function).unwrap();
            let rows = flat.rows.into_iter();
            rows.map(|row| (row.label, (row.exclusive, row.inclusive))).collect::<BTreeMap<_, _>>()
        };
        let (ours, theirs) = (rows(copy.as_ref()), rows(original.as_ref()));
        assert_eq!(ours.keys().collect::<Vec<_>>(), theirs.keys().collect::<Vec<_>>());
        for (label, (exclusive, inclusive)) in theirs {
            let is_near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b.abs();
            let ours = ours[&label];
            assert!(is_near(ours.0, exclusive) && is_near(ours.1, inclusive), "{label}");
        }
    }
    let found = HpcDb.check(&source(to), &Context::default()).unwrap();
    let wrong: Vec<_> = found.iter().filter(|one| one.severity > Severity::Note).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_database_is_copied_whole() {
    is_copied_whole(&testdata("hpcdb/matmul-omp"));
}

#[test]
fn databases_of_every_kind_are_copied_whole() {
    let Some(root) = shared::file("hpctoolkit") else { return };
    for path in [
        "databases/lmp-openmp",
        "databases/derived-metrics.db",
        "databases/vectorAdd",
        "made-here/deep/database.struct",
        "made-here/matmul-omp-64/database",
        "drafts/1-62b71c9af/small_v4.0",
    ] {
        is_copied_whole(&root.join(path));
    }
}

fn small(to: &Path) -> Writer {
    let mut writer = Writer::new(&Destination::new(to, false), "small").unwrap();
    writer.metric(&Metric::named("time (sec)")).unwrap();
    let entry = Node::new(Scope::Entry, Relation::Call);
    writer.context(None, ContextNumber(7), &entry).unwrap();
    writer.threads(&[Thread::default(), Thread::default()]).unwrap();
    writer
}

#[test]
fn the_described_draft_refuses_more_profiles_than_it_can_number() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("many");
    let threads = vec![Thread::default(); 65_536];
    let mut writer = Writer::described(&Destination::new(&to, false), "many").unwrap();
    // One more is the summary.
    writer.threads(&threads[..65_535]).unwrap();
    let error = writer.threads(&threads).unwrap_err().to_string();
    let hint = "the described draft cannot number 65537 profiles; the released layout can";
    assert_eq!(error, hint);
    Writer::new(&Destination::new(&to, false), "many").unwrap().threads(&threads).unwrap();
}

#[test]
fn samples_are_written_and_idle_is_said_once() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("traced");
    let mut writer = small(&to);
    let at = |time, context: Option<u64>| Ok((TimeNs(time), context.map(ContextNumber)));
    let samples = [at(5, Some(7)), at(6, None), at(7, None), at(9, Some(7))];
    writer.samples(ThreadId(1), &mut samples.into_iter()).unwrap();
    writer.finish().unwrap();
    let expected = [(2, 5, 7), (2, 6, 0), (2, 9, 7)];
    assert_eq!(independent::samples(&to), expected);
    let found = HpcDb.check(&source(&to), &Context::default()).unwrap();
    assert_eq!(found, []);
}

#[test]
fn the_rest_of_the_directory_is_written_too() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("whole");
    let mut writer = small(&to);
    let files = ["/opt/demo/a.c", "relative.c", "/opt/b.c"].map(|path| writer.file(path).unwrap());
    writer.source(files[0], &mut &b"int a;\n"[..]).unwrap();
    // There is no place for what has no absolute path.
    writer.source(files[1], &mut &b"int b;\n"[..]).unwrap();
    assert!(writer.source(files[0], &mut &b""[..]).is_err());
    writer.finish().unwrap();
    assert_eq!(std::fs::read(to.join("src/opt/demo/a.c")).unwrap(), b"int a;\n");
    assert_eq!(std::fs::read_dir(to.join("src")).unwrap().count(), 1);
    let copied = (true, "src/opt/demo/a.c".to_owned());
    let others = ["relative.c", "/opt/b.c"].map(|path| (false, path.to_owned()));
    assert_eq!(independent::files(&to), [&[copied][..], &others].concat());
    let shown = std::fs::read_to_string(to.join("metrics/default.yaml")).unwrap();
    assert!(shown.contains("  - name: time (sec)\n"), "{shown}");
    for name in ["FORMATS.md", "metrics/METRICS.yaml.ex"] {
        assert!(to.join(name).is_file(), "{name}");
    }
    assert_eq!(HpcDb.check(&source(&to), &Context::default()).unwrap(), []);
}

#[test]
fn what_makes_no_sense_is_refused_and_nothing_appears() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("refused");
    let mut writer = small(&to);
    let entry = Node::new(Scope::Entry, Relation::Call);
    let line = Node::new(Scope::Line, Relation::Lexical);
    assert!(writer.context(None, ContextNumber(7), &entry).is_err());
    assert!(writer.context(None, ContextNumber(8), &line).is_err());
    assert!(writer.context(Some(ContextNumber(99)), ContextNumber(9), &line).is_err());
    assert!(writer.values(ThreadId(2), &mut std::iter::empty()).is_err());
    let back = [Ok((TimeNs(5), None)), Ok((TimeNs(4), Some(ContextNumber(7))))];
    assert!(writer.samples(ThreadId(0), &mut back.into_iter()).is_err());
    drop(writer);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// Things in parts of two.
struct Pairs<T>(Vec<T>);

impl<T: Copy + Sync> Parts<T> for Pairs<T> {
    fn count(&self) -> usize {
        self.0.len().div_ceil(2)
    }

    fn read_part(&self, part: usize, take: &mut dyn FnMut(T)) {
        self.0.chunks(2).nth(part).unwrap_or_default().iter().copied().for_each(take);
    }
}

#[test]
fn samples_in_parts_are_those_that_come_one_by_one() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("traced");
    let mut writer = small(&to);
    let at = |(time, context): (i64, Option<u64>)| (TimeNs(time), context.map(ContextNumber));
    let mut put = |thread, samples: &[(i64, Option<u64>)]| {
        let samples = samples.iter().copied().map(at).collect();
        writer.samples_in_parts(ThreadId(thread), &Pairs(samples)).unwrap()
    };
    // Idle across the ends of parts, also of a part that says nothing else.
    let idle = [(6, None), (7, None), (8, None), (9, None)];
    assert_eq!(put(0, &[]), 0);
    assert_eq!(put(0, &idle), 1);
    assert_eq!(put(1, &[&[(5, Some(7))], &idle[..], &[(9, Some(7)), (12, None)]].concat()), 4);
    writer.finish().unwrap();
    let expected = [(1, 6, 0), (2, 5, 7), (2, 6, 0), (2, 9, 7), (2, 12, 0)];
    assert_eq!(independent::samples(&to), expected);
    assert_eq!(HpcDb.check(&source(&to), &Context::default()).unwrap(), []);
}

#[test]
fn samples_in_parts_that_go_back_in_time_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = small(&folder.path().join("traced"));
    // Within a part, and from one to the next.
    for times in [vec![5, 4], vec![1, 5, 4]] {
        let back = times.into_iter().map(|time| (TimeNs(time), Some(ContextNumber(7)))).collect();
        let error = writer.samples_in_parts(ThreadId(0), &Pairs(back)).unwrap_err().to_string();
        assert_eq!(error, "samples go back in time, from 5 ns to 4");
    }
}

#[test]
fn values_in_parts_are_those_that_come_one_by_one() {
    let folder = tempfile::tempdir().unwrap();
    let column = |reach| Column { metric: MetricId(0), reach };
    let value = |number: u64, reach, value| SinkValue {
        context: ContextNumber(number),
        column: column(reach),
        value,
    };
    let values: Vec<_> = (0..5).map(|number| value(number, MetricScope::Execution, 2.5)).collect();
    let sums: Vec<_> = values
        .iter()
        .map(|value| SummaryValue {
            context: value.context,
            column: value.column,
            statistic: Statistic::Sum,
            value: 2.0 * value.value,
        })
        .collect();
    let made = |name: &str, in_parts: bool| {
        let to = folder.path().join(name);
        let mut writer = small(&to);
        for thread in [0, 1].map(ThreadId) {
            if in_parts {
                writer.values_in_parts(thread, &Pairs(values.clone())).unwrap();
            } else {
                writer.values(thread, &mut values.iter().rev().copied().map(Ok)).unwrap();
            }
        }
        if in_parts {
            writer.summary(&Pairs(sums.clone())).unwrap();
        }
        writer.finish().unwrap();
        let by_thread = independent::values_by_thread(&to);
        assert_eq!(by_thread, independent::values_by_context(&to));
        assert_eq!(by_thread.len(), 10);
        let view = view(&to);
        let sums = view.stored_statistics().unwrap().map(Result::unwrap);
        (by_thread, sums.collect::<Vec<_>>(), std::fs::read(to.join("cct.db")).unwrap())
    };
    assert_eq!(made("parts", true), made("one-by-one", false));
}

/// A reader of the released layout, from its description.
mod independent {
    use std::collections::BTreeSet;
    use std::path::Path;

    struct File(Vec<u8>);

    impl File {
        fn open(folder: &Path, name: &str) -> Self {
            Self(std::fs::read(folder.join(name)).unwrap())
        }
        fn number(&self, at: usize, bytes: usize) -> usize {
            let bytes = self.0[at..at + bytes].iter().rev();
            bytes.fold(0, |number, byte| number << 8 | usize::from(*byte))
        }
        fn float(&self, at: usize) -> u64 {
            u64::from_le_bytes(self.0[at..at + 8].try_into().unwrap())
        }
    }

    /// Context, metric, profile, and the bits of the value.
    type Value = (usize, usize, usize, u64);

    pub(super) fn values_by_thread(folder: &Path) -> BTreeSet<Value> {
        let file = File::open(folder, "profile.db");
        let section = file.number(0x18, 8);
        let (list, count) = (file.number(section, 8), file.number(section + 8, 4));
        let size = file.number(section + 12, 1);
        let mut found = BTreeSet::new();
        for profile in 1..count {
            let at = list + profile * size;
            let (n_values, values) = (file.number(at, 8), file.number(at + 8, 8));
            let (n_ctxs, index) = (file.number(at + 16, 4), file.number(at + 24, 8));
            for entry in 0..n_ctxs {
                let context = file.number(index + 12 * entry, 4);
                let first = file.number(index + 12 * entry + 4, 8);
                let is_last = entry + 1 == n_ctxs;
                let end = if is_last { n_values } else { file.number(index + 12 * entry + 16, 8) };
                for value in first..end {
                    let at = values + 10 * value;
                    found.insert((context, file.number(at, 2), profile, file.float(at + 2)));
                }
            }
        }
        found
    }

    pub(super) fn values_by_context(folder: &Path) -> BTreeSet<Value> {
        let file = File::open(folder, "cct.db");
        let section = file.number(0x18, 8);
        let (list, count) = (file.number(section, 8), file.number(section + 8, 4));
        let mut found = BTreeSet::new();
        for context in 0..count {
            let at = list + context * 32;
            let (n_values, values) = (file.number(at, 8), file.number(at + 8, 8));
            let (n_metrics, index) = (file.number(at + 16, 2), file.number(at + 24, 8));
            for entry in 0..n_metrics {
                let metric = file.number(index + 10 * entry, 2);
                let first = file.number(index + 10 * entry + 2, 8);
                let is_last = entry + 1 == n_metrics;
                let end = if is_last { n_values } else { file.number(index + 10 * entry + 12, 8) };
                for value in first..end {
                    let at = values + 12 * value;
                    found.insert((context, metric, file.number(at, 4), file.float(at + 4)));
                }
            }
        }
        found
    }

    /// The numbers of all contexts.
    pub(super) fn contexts(folder: &Path) -> BTreeSet<usize> {
        let file = File::open(folder, "meta.db");
        let section = file.number(0x48, 8);
        let (list, count) = (file.number(section, 8), file.number(section + 8, 2));
        let mut found = BTreeSet::new();
        let mut pending = Vec::new();
        for entry in 0..count {
            let at = list + 32 * entry;
            found.insert(file.number(at + 16, 4));
            pending.push((file.number(at + 8, 8), file.number(at, 8)));
        }
        while let Some((mut at, size)) = pending.pop() {
            let end = at + size;
            while at < end {
                found.insert(file.number(at + 16, 4));
                pending.push((file.number(at + 8, 8), file.number(at, 8)));
                at += 32 + 8 * file.number(at + 23, 1);
            }
            assert_eq!(at, end);
        }
        found
    }

    /// Every source file: whether it was copied, and its path.
    pub(super) fn files(folder: &Path) -> Vec<(bool, String)> {
        let file = File::open(folder, "meta.db");
        let section = file.number(0x78, 8);
        let (list, count) = (file.number(section, 8), file.number(section + 8, 4));
        let mut found = Vec::new();
        for at in (0..count).map(|index| list + 16 * index) {
            let path = file.number(at + 8, 8);
            let text = file.0[path..].split(|byte| *byte == 0).next().unwrap();
            let text = String::from_utf8(text.to_vec()).unwrap();
            found.push((file.number(at, 4) & 1 == 1, text));
        }
        found
    }

    /// Profile, time and context of every sample.
    pub(super) fn samples(folder: &Path) -> Vec<(usize, usize, usize)> {
        let file = File::open(folder, "trace.db");
        let section = file.number(0x18, 8);
        let (list, count) = (file.number(section, 8), file.number(section + 8, 4));
        let mut found = Vec::new();
        for trace in 0..count {
            let at = list + 24 * trace;
            let (start, end) = (file.number(at + 8, 8), file.number(at + 16, 8));
            for sample in (start..end).step_by(12) {
                let (time, context) = (file.number(sample, 8), file.number(sample + 8, 4));
                found.push((file.number(at, 4), time, context));
            }
        }
        found
    }
}
