//! What reports hold: no more for a large tree than for a small one.
#![allow(clippy::unwrap_used, reason = "tests may fail loudly")]

#[path = "support/made.rs"]
mod made;

use kymo_core::model::profile::{
    By, Detail, MetricId, Most, Question, bottom_up, flat_most, top_down,
};
use kymo_core::{Context, Format, Source};
use kymo_hpcdb::HpcDb;
use made::{Made, Meta, beside, context, held, one_metric, ones, profile, source};

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
    let question = Question { view: view.as_ref(), metric: MetricId(0), threads: None };
    let most = Most { number: Some(20), is_inclusive: false };
    [
        held(|| drop(flat_most(&question, By::Function, most).unwrap())),
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
    let question = Question { view: view.as_ref(), metric: MetricId(0), threads: None };
    let most = Most { number: Some(20), is_inclusive: false };
    let held = held(|| {
        let found = flat_most(&question, By::Function, most).unwrap();
        assert_eq!(found.rows.len() + found.more, 1 + COUNT as usize);
    });
    assert!(held < 32 << 20, "{held}");
}
