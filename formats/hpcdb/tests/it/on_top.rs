//! Files whose arrays, names and records lie on top of each other, so that a few bytes stand for very
//! much. What is held and read stays within what the file has room for, and that is said.

use crate::made::{
    Block, MIB, Made, Meta, beside, context, held, one_metric, ones, profile, source,
};
use kymo_conformance::capture;
use kymo_core::{Context, Finding, Result, Source};
use kymo_hpcdb::HpcDb;
use kymo_model::profile::{
    Detail, FlatGrouping, MetricId, MetricQuery, NamePattern, SpentScope, ThreadId, ThreadSet,
    TopRows, Walk, flat, flat_most, per_thread, top_down,
};
use kymo_model::timeline::Window;
use kymo_model::{Dataset, Format};

fn open(source: &Source) -> Result<Box<dyn Dataset>> {
    HpcDb.open(source, &Context::default())
}

fn check(source: &Source) -> Vec<Finding> {
    let mut found = HpcDb.check(source, &Context::default()).unwrap();
    // That there is no cct.db is not looked at here.
    found.retain(|finding| finding.rule != "file-missing");
    found
}

/// What is laid out as it should be passes, so that what the others are found for is what they do.
#[test]
fn what_is_laid_out_side_by_side_is_sound() {
    let meta = Meta {
        names: b"foo\0bar\0baz\0",
        functions: &[0, 4, 8],
        metrics: one_metric,
        contexts: &beside(3, 1),
    };
    let values = ones(3);
    let source =
        source([("meta.db", meta.bytes()), ("profile.db", profile(&values, &values, 1, 1))]);
    assert_eq!(check(&source), []);
    let view = open(&source).unwrap().profile().unwrap();
    let question = MetricQuery { view: view.as_ref(), metric: MetricId(0), threads: None };
    let rows = flat(&question, FlatGrouping::Function).unwrap().rows;
    let rows: Vec<_> = rows.iter().map(|row| (row.label.as_str(), row.exclusive)).collect();
    assert_eq!(rows, [("<main thread>", 0.0), ("foo", 1.0), ("bar", 1.0), ("baz", 1.0)]);
}

/// Metrics, `count` of them, all with the same `instances` scope instances and one long name.
fn metrics_on_top(to: &mut Made, count: u64, instances: u64, name: usize) {
    let at = to.at();
    let scope = at + 0x20 + 32 * count;
    let text = scope + 16 + 16 * instances;
    to.u64(at + 0x20).u32(u32::try_from(count).unwrap()).raw(&[32, 16, 24, 0]);
    to.u64(scope).u16(1).raw(&[16, 0, 0, 0, 0, 0]);
    for _ in 0..count {
        to.u64(text).u64(scope + 16).u64(0).u64(instances);
    }
    to.u64(text + name as u64).u64(1);
    (0..instances).for_each(|_| {
        to.u64(scope).u64(0);
    });
    to.raw(&vec![b'x'; name]).raw(&[0]);
}

#[test]
fn metrics_that_share_their_scopes_or_a_name_are_refused() {
    let shared: [fn(&mut Made); 2] =
        [|to| metrics_on_top(to, 4000, 4000, 1), |to| metrics_on_top(to, 4000, 0, 12_000)];
    for metrics in shared {
        let meta = Meta { names: b"", functions: &[0], metrics, contexts: &beside(1, 0) };
        let source =
            source([("meta.db", meta.bytes()), ("profile.db", profile(&ones(1), &ones(1), 1, 1))]);
        let used = held(|| {
            let error = open(&source).err().unwrap().to_string();
            assert!(error.contains("lie on top of each other"), "{error}");
        });
        // 16 million scope instances, or 48 million bytes of names.
        assert!(used < 4 * MIB, "{used}");
    }
}

#[test]
fn contexts_that_share_their_children_are_not_gone_through_again_and_again() {
    const COUNT: u64 = 5000;
    let contexts = |to: &mut Made, functions: u64| {
        let range = (40 * COUNT, to.at());
        (0..COUNT).for_each(|index| context(to, 2 + index, functions, range));
        range
    };
    let meta = Meta { names: b"foo\0", functions: &[0], metrics: one_metric, contexts: &contexts };
    let values = ones(3);
    let source =
        source([("meta.db", meta.bytes()), ("profile.db", profile(&values, &values, 1, 1))]);
    let dataset = open(&source).unwrap();
    let view = dataset.profile().unwrap();
    let question = MetricQuery { view: view.as_ref(), metric: MetricId(0), threads: None };
    let used = held(|| {
        let error = flat(&question, FlatGrouping::Function).unwrap_err().to_string();
        assert!(error.starts_with("meta.db: children at byte 0x"), "{error}");
        assert!(top_down(&question, Detail::Lines, 9).is_err());
    });
    assert!(used < MIB, "{used}");
    // Each is come by once, where what can be read is wanted.
    let salvaged = HpcDb.salvage(&source, &Context::default()).unwrap();
    let view = salvaged.profile().unwrap();
    assert_eq!(Walk::new(view.as_ref()).unwrap().count() as u64, 2 * (1 + COUNT));
    let is_round = |one: &Finding| one.message.contains("the tree leads round");
    assert!(salvaged.findings().iter().any(is_round));
    let used = held(|| {
        let found = check(&source);
        let is_round = |one: &Finding| one.message.contains("it leads round");
        assert!(found.iter().any(is_round), "{:?}", found.first());
    });
    // Each of 5,000 is found to be there twice.
    assert!(used < 16 * MIB, "{used}");
}

#[test]
fn an_index_that_goes_up_and_down_is_no_index() {
    const COUNT: u32 = 5000;
    let meta = Meta {
        names: b"foo\0",
        functions: &[0],
        metrics: one_metric,
        contexts: &beside(COUNT.into(), 0),
    };
    let values = vec![(3, 1.0); COUNT as usize];
    // Every second context has all values.
    let entries = (0..COUNT).map(|index| (1 + index, u64::from(index % 2) * u64::from(COUNT)));
    let up_and_down = (values, entries.collect());
    let thread = ones(COUNT);
    let source =
        source([("meta.db", meta.bytes()), ("profile.db", profile(&up_and_down, &thread, 1, 1))]);
    let dataset = open(&source).unwrap();
    let view = dataset.profile().unwrap();
    let question = MetricQuery { view: view.as_ref(), metric: MetricId(0), threads: None };
    // The thread has what the summary does not tell.
    let rows = flat(&question, FlatGrouping::Function).unwrap().rows;
    let rows: Vec<_> = rows.iter().map(|row| (row.label.as_str(), row.exclusive)).collect();
    assert_eq!(rows, [("<main thread>", 0.0), ("foo", f64::from(COUNT))]);
    let findings = dataset.findings();
    let [finding] = findings.as_slice() else { panic!("{findings:?}") };
    assert!(finding.message.contains("entry 2 is out of order"), "{finding:?}");
    assert!(check(&source).iter().any(|one| one.rule == "context-index"));
    // The same of a thread is an error, for nothing else has its values.
    let source = self::source([
        ("meta.db", meta.bytes()),
        ("profile.db", profile(&thread, &up_and_down, 1, 1)),
    ]);
    let dataset = open(&source).unwrap();
    let view = dataset.profile().unwrap();
    let threads: ThreadSet = [ThreadId(0)].into_iter().collect();
    let question =
        MetricQuery { view: view.as_ref(), metric: MetricId(0), threads: Some(&threads) };
    let error = flat(&question, FlatGrouping::Function).unwrap_err().to_string();
    assert!(error.contains("entry 2 is out of order"), "{error}");
}

/// `cct.db` of so many contexts that all have one block of as many values.
fn one_block(contexts: u64) -> Vec<u8> {
    let mut to = Made::default();
    let (list, values) = (0x40, 0x40 + 32 * contexts);
    to.raw(b"HPCTOOLKITctxt\x04\0").u64(0x10 + 32 * contexts).u64(0x30).raw(&[0; 0x10]);
    to.u64(list).u32(u32::try_from(contexts).unwrap()).raw(&[32, 0, 0, 0]);
    for _ in 0..contexts {
        to.u64(contexts).u64(values).u64(1).u64(values + 12 * contexts);
    }
    (0..contexts).for_each(|_| {
        to.u32(1).f64(1.0);
    });
    to.u16(3).u64(0).raw(b"__ctx.db");
    to.0
}

#[test]
fn contexts_that_share_their_values_are_refused() {
    const COUNT: u32 = 3000;
    let meta = Meta {
        names: b"foo\0",
        functions: &[0],
        metrics: one_metric,
        contexts: &beside(COUNT.into(), 0),
    };
    let values = ones(COUNT);
    let source = source([
        ("meta.db", meta.bytes()),
        ("profile.db", profile(&values, &values, 1, 1)),
        ("cct.db", one_block(u64::from(COUNT) + 2)),
    ]);
    let view = open(&source).unwrap().profile().unwrap();
    let threads: ThreadSet = [ThreadId(0)].into_iter().collect();
    let question =
        MetricQuery { view: view.as_ref(), metric: MetricId(0), threads: Some(&threads) };
    let error = flat(&question, FlatGrouping::Function).unwrap_err().to_string();
    assert!(error.starts_with("cct.db: ") && error.contains("on top of each other"), "{error}");
    assert!(check(&source).iter().any(|one| one.rule == "array-overlap"));
}

#[test]
fn traces_that_share_their_samples_are_read_once() {
    const COUNT: u64 = 3000;
    let meta =
        Meta { names: b"foo\0", functions: &[0], metrics: one_metric, contexts: &beside(3, 0) };
    let mut to = Made::default();
    let samples = 0x40 + 24 * COUNT;
    to.raw(b"HPCTOOLKITtrce\x04\0").u64(0x20 + 24 * COUNT).u64(0x20);
    to.u64(0x40).u32(u32::try_from(COUNT).unwrap()).raw(&[24, 0, 0, 0]).u64(0).u64(1 << 40);
    (0..COUNT).for_each(|_| {
        to.u64(1).u64(samples).u64(samples + 12 * COUNT);
    });
    (0..COUNT).for_each(|index| {
        to.u64(1000 + index).u32(2);
    });
    to.raw(b"trace.db");
    let values = ones(3);
    let profile = profile(&values, &values, 1, 1);
    let source = source([("meta.db", meta.bytes()), ("profile.db", profile), ("trace.db", to.0)]);
    let dataset = open(&source).unwrap();
    let mut events = dataset.timeline().unwrap().events(&Window::default()).unwrap();
    let mut count = 0;
    while events.next().unwrap().is_some() {
        count += 1;
    }
    // The file has 108,072 bytes, which is room for 9,006 samples.
    assert_eq!(count, 3 * COUNT);
    let is_on_top = |one: &Finding| one.message.contains("on top of each other");
    assert!(dataset.findings().iter().any(is_on_top));
}

#[test]
fn names_that_share_their_bytes_are_refused() {
    const COUNT: u64 = 4000;
    // Each function is called what is left of one long text.
    let names = [vec![b'a'; 16_000], vec![0]].concat();
    let functions: Vec<_> = (0..COUNT).collect();
    let contexts = beside(COUNT, 1);
    let meta =
        Meta { names: &names, functions: &functions, metrics: one_metric, contexts: &contexts };
    let values = ones(u32::try_from(COUNT).unwrap());
    let source =
        source([("meta.db", meta.bytes()), ("profile.db", profile(&values, &values, 1, 1))]);
    let view = open(&source).unwrap().profile().unwrap();
    let question = MetricQuery { view: view.as_ref(), metric: MetricId(0), threads: None };
    let used = held(|| {
        let error = flat(&question, FlatGrouping::Function).unwrap_err().to_string();
        assert!(error.starts_with("meta.db: function name at byte 0x"), "{error}");
        assert!(error.contains("names come to more than"), "{error}");
    });
    // 56 million bytes of names in 360,000.
    assert!(used < 48 * MIB, "{used}");
}

#[test]
fn of_a_very_long_name_the_beginning_is_read() {
    const DEPTH: u64 = 300;
    let names = [vec![b'a'; 200_000], vec![0]].concat();
    let contexts = |to: &mut Made, functions: u64| {
        let start = to.at();
        for index in 0..DEPTH {
            let next = (40, to.at() + 40);
            context(to, 2 + index, functions, if index + 1 < DEPTH { next } else { (0, 0) });
        }
        (40, start)
    };
    let meta = Meta { names: &names, functions: &[0], metrics: one_metric, contexts: &contexts };
    let values = ones(u32::try_from(DEPTH).unwrap());
    let source =
        source([("meta.db", meta.bytes()), ("profile.db", profile(&values, &values, 1, 1))]);
    let dataset = open(&source).unwrap();
    let used = held(|| {
        let records = capture(&*dataset).unwrap();
        let longest = records.iter().map(|record| record.contents().len()).max().unwrap();
        // A name of 16 KiB and a path of 4 KiB, not 300 names of 200,000 bytes.
        assert!((16_384..24_000).contains(&longest), "{longest}");
    });
    // All 300 rows are held, two cells of each.
    assert!(used < 64 * MIB, "{used}");
    let found = check(&source);
    assert_eq!(found.iter().filter(|one| one.rule == "long-text").count(), 1, "{found:?}");
}

#[test]
fn threads_that_share_a_name_of_very_many_parts_are_refused() {
    const THREADS: u64 = 500;
    let meta =
        Meta { names: b"foo\0", functions: &[0], metrics: one_metric, contexts: &beside(3, 0) };
    let values = ones(3);
    let source = source([
        ("meta.db", meta.bytes()),
        ("profile.db", profile(&values, &values, THREADS, 8000)),
    ]);
    let used = held(|| {
        let view = open(&source).unwrap().profile().unwrap();
        let threads: Vec<_> = (0..500).map(|id| view.thread(ThreadId(id))).collect();
        let named = threads.iter().filter(|thread| thread.is_ok()).count();
        // The file has 150,000 bytes, the name 128,000: four times the one is four of the other.
        assert_eq!(named, 4);
    });
    assert!(used < 8 * MIB, "{used}");
    let used = held(|| assert!(!check(&source).is_empty()));
    assert!(used < 16 * MIB, "{used}");
}

/// One context with very many values of one metric, in the summary, in a thread and in `cct.db`.
#[test]
fn very_many_values_of_one_metric_are_out_of_order_and_nothing_else() {
    const COUNT: u64 = 2000;
    let meta =
        Meta { names: b"foo\0", functions: &[0], metrics: one_metric, contexts: &beside(1, 0) };
    let block: Block = (vec![(3, 1.0); usize::try_from(COUNT).unwrap()], vec![(1, 0)]);
    let mut to = Made::default();
    to.raw(b"HPCTOOLKITctxt\x04\0").u64(0x50).u64(0x30).raw(&[0; 0x10]);
    to.u64(0x40).u32(2).raw(&[32, 0, 0, 0]).u64(0).u64(0x80).u64(0).u64(0x80);
    to.u64(COUNT).u64(0x80).u64(1).u64(0x80 + 12 * COUNT);
    (0..COUNT).for_each(|_| {
        to.u32(1).f64(1.0);
    });
    to.u16(3).u64(0).raw(b"__ctx.db");
    let profile = profile(&block, &block, 1, 1);
    let source = source([("meta.db", meta.bytes()), ("profile.db", profile), ("cct.db", to.0)]);
    let mut rules: Vec<_> = check(&source).iter().map(|one| one.rule).collect();
    rules.sort_unstable();
    rules.dedup();
    // The other is that cct.db lists too few contexts.
    assert_eq!(rules, ["unreadable", "value-order"]);
}

/// So many metrics, inclusive only, with the ids from 0 on.
fn inclusive_metrics(to: &mut Made) {
    const COUNT: u16 = 2000;
    let at = to.at();
    let (metrics, count) = (at + 0x20, u64::from(COUNT));
    let instances = metrics + 32 * count;
    let sums = instances + 16 * count;
    let scope = sums + 24 * count;
    let texts = scope + 16;
    to.u64(metrics).u32(COUNT.into()).raw(&[32, 16, 24, 0]).u64(scope).u16(1).raw(&[16]);
    to.raw(&[0; 5]);
    for index in 0..count {
        to.u64(texts).u64(instances + 16 * index).u64(sums + 24 * index).u16(1).u16(1).u32(0);
    }
    for id in 0..COUNT {
        to.u64(scope).u16(id).u16(0).u32(0);
    }
    for id in 0..COUNT {
        to.u64(scope).u64(texts + 2).u16(0).u16(id).u32(0);
    }
    to.u64(texts + 5).u64(0xFF02).raw(b"m\0$$\0execution\0");
}

/// A `meta.db` with so many entry points, all as its only one.
fn with_entries(mut meta: Vec<u8>, count: u16) -> Vec<u8> {
    let number = |meta: &[u8], at: usize| {
        usize::try_from(u64::from_le_bytes(meta[at..at + 8].try_into().unwrap())).unwrap()
    };
    let section = number(&meta, 0x48);
    let entry = number(&meta, section);
    meta.truncate(meta.len() - 8);
    meta.resize(meta.len().next_multiple_of(8), 0);
    let entries = meta.len() as u64;
    (0..count).for_each(|_| meta.extend_from_within(entry..entry + 32));
    meta[section..section + 8].copy_from_slice(&entries.to_le_bytes());
    meta[section + 8..section + 10].copy_from_slice(&count.to_le_bytes());
    meta.extend_from_slice(b"_meta.db");
    meta
}

/// Thousands of metrics, each with a value in the context of thousands of entry points: values times
/// metrics times entry points would be 10^11. Each value is read once, and counts once.
#[test]
fn entry_points_of_one_number_have_its_values_once() {
    let metrics = inclusive_metrics;
    let meta = Meta { names: b"", functions: &[0], metrics, contexts: &beside(1, 0) };
    let meta = with_entries(meta.bytes(), 30_000);
    let block: Block = ((0..2000).map(|id| (id, 2.5)).collect(), vec![(1, 0)]);
    let source = source([("meta.db", meta), ("profile.db", profile(&block, &block, 1, 1))]);
    let dataset = open(&source).unwrap();
    let view = dataset.profile().unwrap();
    let first: ThreadSet = [ThreadId(0)].into_iter().collect();
    for threads in [None, Some(&first)] {
        assert_eq!(view.totals(threads).unwrap(), vec![2.5; 2000]);
        let question = MetricQuery { view: view.as_ref(), metric: MetricId(1999), threads };
        let flat = flat(&question, FlatGrouping::Function).unwrap();
        let rows: Vec<_> =
            flat.rows.iter().map(|row| (row.label.as_str(), row.inclusive)).collect();
        assert_eq!((flat.total, rows), (2.5, vec![("<main thread>", 2.5)]));
    }
    let findings = dataset.findings();
    let is_twice = |one: &&Finding| one.message.contains("another entry point has this number");
    assert!(findings.iter().any(|one| is_twice(&one)), "{:?}", findings.first());
}

/// Contexts of one number, each with all of its very many values, in one file.
#[test]
fn contexts_of_one_number_do_not_have_its_values_read_again_and_again() {
    const COUNT: u64 = 20_000;
    let contexts = |to: &mut Made, functions: u64| {
        let start = to.at();
        (0..COUNT).for_each(|_| context(to, 2, functions, (0, 0)));
        (to.at() - start, start)
    };
    let metrics = inclusive_metrics;
    let meta = Meta { names: b"foo\0", functions: &[0], metrics, contexts: &contexts };
    let mut values: Vec<(u16, f64)> = vec![(7, 2.0)];
    values.extend((0..2000).map(|id| (id, 1.0)));
    let block: Block = (values, vec![(1, 0), (2, 1)]);
    let source = source([("meta.db", meta.bytes()), ("profile.db", profile(&block, &block, 1, 1))]);
    let dataset = open(&source).unwrap();
    let view = dataset.profile().unwrap();
    let question = MetricQuery { view: view.as_ref(), metric: MetricId(7), threads: None };
    let found = flat_most(
        &question,
        FlatGrouping::Function,
        TopRows { number: Some(9), is_inclusive: true },
    );
    let found = found.unwrap();
    // The entry point has 2, and the context of the number 1, once.
    let rows: Vec<_> = found.rows.iter().map(|row| (row.label.as_str(), row.inclusive)).collect();
    assert_eq!(rows, [("<main thread>", 2.0), ("foo", 1.0)]);
    assert_eq!(found.odd, None);
    let is_twice = |one: &Finding| one.message.contains("another context has this number");
    assert!(dataset.findings().iter().any(is_twice));
}

/// `cct.db` of three contexts, of which the last has a value of each of so many threads, of both
/// metrics.
fn one_of_many_threads(threads: u32) -> Vec<u8> {
    let mut to = Made::default();
    let (list, values) = (0x40, 0x40 + 32 * 3);
    to.raw(b"HPCTOOLKITctxt\x04\0").u64(0x10 + 32 * 3).u64(0x30).raw(&[0; 0x10]);
    to.u64(list).u32(3).raw(&[32, 0, 0, 0]).raw(&[0; 64]);
    let count = u64::from(threads) * 2;
    to.u64(count).u64(values).u64(2).u64(values + 12 * count);
    for _ in 0..2 {
        (1..=threads).for_each(|thread| {
            to.u32(thread).f64(1.0);
        });
    }
    to.u16(1).u64(0).u16(3).u64(threads.into()).raw(b"__ctx.db");
    to.0
}

/// Contexts of one number would ask for the same values of very many threads: 400 million of them.
/// One of them counts, whatever is asked.
#[test]
fn of_contexts_of_one_number_the_first_counts() {
    const COUNT: u32 = 20_000;
    let contexts = |to: &mut Made, functions: u64| {
        let start = to.at();
        (0..COUNT).for_each(|_| context(to, 2, functions, (0, 0)));
        (to.at() - start, start)
    };
    let meta = Meta { names: b"foo\0", functions: &[0], metrics: one_metric, contexts: &contexts };
    let source = source([("meta.db", meta.bytes()), ("cct.db", one_of_many_threads(COUNT))]);
    let salvaged = HpcDb.salvage(&source, &Context::default()).unwrap();
    let view = salvaged.profile().unwrap();
    let question = MetricQuery { view: view.as_ref(), metric: MetricId(0), threads: None };
    let found = flat(&question, FlatGrouping::Function).unwrap();
    let foo = found.rows.iter().find(|row| row.label == "foo").unwrap();
    assert!((foo.exclusive - f64::from(COUNT)).abs() < 1.0, "{foo:?}");
    let spent =
        per_thread(&question, SpentScope::Function(&NamePattern::new("foo").unwrap())).unwrap();
    assert_eq!(spent, vec![1.0; COUNT as usize]);
}

/// Values of contexts whose numbers lie far apart cost what the file has, and not what numbers
/// could lie between them.
#[test]
fn numbers_that_lie_far_apart_cost_what_the_file_has() {
    const COUNT: u32 = 40_000;
    let values = vec![(3, 1.0); COUNT as usize];
    let entries = (0..COUNT).map(|index| (4096 * (index + 1), index.into())).collect();
    let thread = profile(&ones(1), &(values, entries), 1, 1);
    let bytes = thread.len() as u64;
    let meta =
        Meta { names: b"foo\0", functions: &[0], metrics: one_metric, contexts: &beside(1, 1) };
    let source = source([("meta.db", meta.bytes()), ("profile.db", thread)]);
    let used = held(|| {
        let found = check(&source);
        assert!(found.iter().any(|one| one.rule == "context-unknown"), "{found:?}");
    });
    assert!(used < 16 * bytes, "{used} for {bytes}");
}
