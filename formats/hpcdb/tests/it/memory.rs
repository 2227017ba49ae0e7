//! What reports hold: no more for a large tree than for a small one.

use crate::made::{Made, Meta, beside, context, held, one_metric, ones, profile, profiles, source};
use kymo_core::{Context, Source};
use kymo_hpcdb::HpcDb;
use kymo_model::Format;
use kymo_model::profile::{
    Detail, FlatGrouping, FlatRow, MetricId, MetricQuery, ThreadId, ThreadSet, TopRows, bottom_up,
    flat_most, top_down,
};
use kymo_model::table::Scan;

/// So many functions, each called by the one before; each of its own, or all of the first.
fn chain(count: u64, step: u64) -> impl Fn(&mut Made, u64) -> (u64, u64) {
    move |to, functions| {
        let start = to.at();
        for index in 0..count {
            let next = to.at() + 40;
            let below = if index + 1 < count { (40, next) } else { (0, 0) };
            context(to, 2 + index, functions + 40 * step * index, below);
        }
        (40, start)
    }
}

/// A database of one function, in contexts that lie as told.
fn database(count: u32, contexts: &dyn Fn(&mut Made, u64) -> (u64, u64)) -> Source {
    let meta = Meta { names: b"foo\0", functions: &[0], metrics: one_metric, contexts };
    let values = ones(count);
    source([("meta.db", meta.bytes()), ("profile.db", profile(&values, &values, 1, 1))])
}

/// What `top`, `tree` and `callers` hold at most.
fn held_by_reports(source: &Source) -> [u64; 3] {
    let dataset = HpcDb.open(source, &Context::default()).unwrap();
    let view = dataset.profile().unwrap();
    let question = MetricQuery { view: view.as_ref(), metric: MetricId(0), threads: None };
    let most = TopRows { number: Some(20), is_inclusive: false };
    [
        held(|| drop(flat_most(&question, FlatGrouping::Function, most).unwrap())),
        held(|| drop(top_down(&question, Detail::Lines, 40).unwrap())),
        held(|| drop(bottom_up(&question, None, 40, 0.005).unwrap())),
    ]
}

const FEW: u32 = 70_000;
const MANY: u32 = 4 * FEW;

/// What may differ: how tables grow, and a bit for each number that was come by, in a list that is
/// doubled when it is full.
const SLACK: u64 = (1 << 12) + 3 * (MANY as u64 / 8);

#[test]
fn a_tree_that_is_deeper_takes_no_more_memory() {
    let [few, many] =
        [FEW, MANY].map(|count| held_by_reports(&database(count, &chain(count.into(), 0))));
    for (few, many) in few.into_iter().zip(many) {
        assert!(many <= few + SLACK && many < 4 << 20, "{few} and {many}");
    }
}

#[test]
fn a_tree_that_is_wider_takes_no_more_memory() {
    let [few, many] =
        [FEW, MANY].map(|count| held_by_reports(&database(count, &beside(count.into(), 0))));
    for (few, many) in few.into_iter().zip(many) {
        assert!(many <= few + SLACK && many < 1 << 20, "{few} and {many}");
    }
}

/// Of three of four threads, each of which has values in more contexts than are held at once.
#[test]
fn values_of_some_threads_without_values_by_context_take_a_fixed_part_of_memory() {
    const COUNT: u32 = 400_000;
    let contexts = beside(COUNT.into(), 0);
    let meta = Meta { names: b"foo\0", functions: &[0], metrics: one_metric, contexts: &contexts };
    let values = ones(COUNT);
    let profile = profiles(&[&values; 5], 5, 1);
    let source = source([("meta.db", meta.bytes()), ("profile.db", profile)]);
    let dataset = HpcDb.open(&source, &Context::default()).unwrap();
    let view = dataset.profile().unwrap();
    let threads: ThreadSet = (0..3).map(ThreadId).collect();
    let question =
        MetricQuery { view: view.as_ref(), metric: MetricId(0), threads: Some(&threads) };
    let most = TopRows { number: Some(1), is_inclusive: false };
    let held = held(|| {
        let found = flat_most(&question, FlatGrouping::Function, most).unwrap();
        let FlatRow { label, exclusive, .. } = &found.rows[0];
        assert_eq!((label.as_str(), *exclusive), ("foo", f64::from(3 * COUNT)));
    });
    assert!(held < 16 << 20, "{held}");
}

/// Very many below each other, of one function of a long name.
#[test]
fn the_names_on_a_very_long_path_are_not_all_held() {
    const COUNT: u32 = 50_000;
    let name: Vec<u8> = [b'y'; 600].into_iter().chain([0]).collect();
    let contexts = chain(COUNT.into(), 0);
    let meta = Meta { names: &name, functions: &[0], metrics: one_metric, contexts: &contexts };
    let values = ones(COUNT);
    let bytes = meta.bytes();
    let room = 4 * bytes.len() as u64 + (4 << 20);
    let source = source([("meta.db", bytes), ("profile.db", profile(&values, &values, 1, 1))]);
    let dataset = HpcDb.open(&source, &Context::default()).unwrap();
    let table = dataset.table("contexts").unwrap();
    let held = held(|| {
        let columns = Some(vec![table.schema().index_of("path").unwrap()]);
        let scan = Scan { columns, batch_rows: 64, ..Scan::default() };
        let mut paths = 0;
        for batch in table.scan(&scan).unwrap() {
            paths += batch.unwrap().num_rows();
        }
        assert_eq!(paths, 1 + COUNT as usize);
    });
    assert!(held < room, "{held} of {room}");
}

/// More functions than are held at once, each of which calls the next.
#[test]
fn very_many_functions_that_call_each_other_take_less_than_32_mib() {
    const COUNT: u32 = 470_000;
    let (mut names, mut functions) = (Vec::new(), Vec::new());
    for number in 0..COUNT {
        functions.push(names.len() as u64);
        names.extend_from_slice(format!("f{number}\0").as_bytes());
    }
    let contexts = chain(COUNT.into(), 1);
    let meta =
        Meta { names: &names, functions: &functions, metrics: one_metric, contexts: &contexts };
    let values = ones(COUNT);
    let profile = profile(&values, &values, 1, 1);
    let source = source([("meta.db", meta.bytes()), ("profile.db", profile)]);
    let dataset = HpcDb.open(&source, &Context::default()).unwrap();
    let view = dataset.profile().unwrap();
    let question = MetricQuery { view: view.as_ref(), metric: MetricId(0), threads: None };
    let most = TopRows { number: Some(20), is_inclusive: false };
    let held = held(|| {
        let found = flat_most(&question, FlatGrouping::Function, most).unwrap();
        assert_eq!(found.rows.len() + found.more, 1 + COUNT as usize);
    });
    assert!(held < 32 << 20, "{held}");
}
