//! Few bytes that would take much memory, and threads that there is no room for.

use std::sync::Arc;

use crate::support::{Counting, Kept, Recorded, View, metric};
use kymo_core::bytes::Limits;
use kymo_core::{Context, Finding, Severity};
use kymo_model::measurement::{Frame, MeasurementView};
use kymo_model::profile::ProfileSink;
use kymo_model::structure::{ModuleBuilder, Place, Scope, Structure};
use kymo_prof::{MergedProfile, Options, Program, StatisticRequest, merge};

fn code(offset: u64) -> Frame {
    Frame::Code { module: 0, offset, is_called: true }
}

fn merged(
    threads: Vec<Recorded>,
    structure: &Structure,
    options: Options,
    context: &Context<'_>,
    to: &mut (dyn ProfileSink + Send),
) -> MergedProfile {
    let program = Program { structure, symbols: None, sources: None };
    let views: [Arc<dyn MeasurementView>; 1] = [Arc::new(View::new(&["/app"], threads))];
    merge(&views, &program, options, to, context).unwrap()
}

/// A thread of so many metrics, of each of which there is one value at the end of a chain of calls,
/// with some nodes beside each call.
fn chain(metrics: u32, depth: u64, beside: u64) -> Recorded {
    let names = (0..metrics).map(|number| metric(&format!("metric {number}")));
    let mut recorded = Recorded::new(names.collect());
    let mut above = recorded.node(0, Frame::MainEntry);
    for level in 0..depth {
        for other in 0..beside {
            recorded.node(above, code(level * 1000 + other));
        }
        above = recorded.node(above, code(level * 1000 + 999));
    }
    (0..metrics).for_each(|metric| recorded.value(above, metric, 1.0));
    recorded
}

#[test]
fn statistics_take_what_values_take_however_far_apart_their_contexts_are() {
    // 66 contexts on the way to each value, the whole program and the entry among them.
    let recorded = chain(500, 64, 255);
    let mut kept = Kept::default();
    let options = Options { statistics: StatisticRequest::Extrema, jobs: 1, ..Options::default() };
    let used = allocation_counter::measure(|| {
        merged(vec![recorded], &Structure::default(), options, &Context::default(), &mut kept);
    });
    // Of the whole program only what was spent in all; of the last context all four reaches.
    assert_eq!(kept.summary.len(), 500 * 5 * (64 + 1 + 4));
    assert!(used.bytes_max < 1 << 26, "{} bytes", used.bytes_max);
}

#[test]
fn a_thread_whose_values_reach_far_too_many_contexts_is_left_out() {
    let sound = chain(2, 3, 0);
    for jobs in [1, 2] {
        let threads = vec![sound.clone(), chain(1000, 20_000, 0), sound.clone()];
        let options = Options { jobs, ..Options::default() };
        let mut kept = Kept::default();
        let mut found = None;
        let used = allocation_counter::measure(|| {
            let context = Context::default();
            found = Some(merged(threads, &Structure::default(), options, &context, &mut kept));
        });
        let findings = found.unwrap().findings;
        let [(0, finding)] = &findings[..] else { panic!("{findings:?}") };
        assert_eq!((finding.severity, finding.rule), (Severity::Error, "thread"));
        assert_eq!(finding.file.as_deref(), Some("thread 1.recorded"));
        assert_eq!((kept.values.len(), kept.samples.len()), (2, 2));
        assert_eq!(kept.values[0], kept.values[1]);
        assert!((kept.whole(0, 1) - 1.0).abs() < 1e-12);
        assert!(used.bytes_max < 1 << 28, "{} bytes", used.bytes_max);
    }
}

/// 400 loops, one in the other, around a line that everything is on.
#[test]
fn scopes_are_kept_once_however_many_addresses_are_in_them() {
    let mut module = ModuleBuilder::new("/app", &Limits::default());
    let file = module.file("a.c").unwrap();
    let at = Place { file, line: 1 };
    let function =
        Scope::Function { name: "f".into(), link_name: None, place: Some(at), entry: Some(0) };
    let mut scope = module.scope(None, function).unwrap();
    for line in 2..402 {
        let repeat = Scope::Loop { at: Place { file, line }, entry: None };
        scope = module.scope(Some(scope), repeat).unwrap();
    }
    let line = module.scope(Some(scope), Scope::Line { at }).unwrap();
    module.range(line, 0..1 << 20).unwrap();
    let mut structure = Structure::default();
    structure.add(module.finish());
    let mut recorded = Recorded::new(vec![metric("time")]);
    let main = recorded.node(0, Frame::MainEntry);
    for offset in 0..50_000 {
        let node = recorded.node(main, code(offset));
        recorded.value(node, 0, 1.0);
    }
    let mut sink = Counting::default();
    let used = allocation_counter::measure(|| {
        let options = Options { jobs: 1, ..Options::default() };
        let merged = merged(vec![recorded], &structure, options, &Context::default(), &mut sink);
        // The entry, the function, the loops and the line; and the instructions.
        assert_eq!((merged.listed, merged.contexts), (403, 50_403));
    });
    // The chains of all addresses would take 320 MB.
    assert!(used.bytes_max < 1 << 26, "{} bytes", used.bytes_max);
}

#[test]
fn a_thread_that_there_is_no_room_for_is_left_out_and_leaves_nothing_behind() {
    let limits = Limits { items_max: 60, ..Limits::default() };
    let context = Context::with_limits(limits);
    let sound = chain(2, 3, 0);
    let threads = vec![sound.clone(), chain(1, 100, 0), sound];
    let mut kept = Kept::default();
    let merged = merged(threads, &Structure::default(), Options::default(), &context, &mut kept);
    let [(0, finding)] = &merged.findings[..] else { panic!("{:?}", merged.findings) };
    assert_eq!((finding.severity, finding.rule), (Severity::Error, "thread"));
    assert_eq!(finding.message, "it is left out: there are more than 60 contexts");
    assert_eq!(finding.file.as_deref(), Some("thread 1.recorded"));
    // An entry and three calls, of both others.
    assert_eq!((merged.contexts, kept.contexts.len()), (4, 4));
    assert_eq!((merged.threads, kept.values.len()), (2, 2));
    assert_eq!(kept.values[0], kept.values[1]);
}

#[test]
fn a_thread_of_more_metrics_than_can_be_numbered_is_left_out() {
    let mut kept = Kept::with_metrics(3);
    let threads = vec![chain(2, 1, 0), chain(4, 2, 0), chain(3, 1, 0)];
    let context = Context::default();
    let merged = merged(threads, &Structure::default(), Options::default(), &context, &mut kept);
    let files: Vec<_> = merged.findings.iter().map(|(_, found)| found.file.clone()).collect();
    assert_eq!(files, [Some("thread 1.recorded".to_owned())]);
    let names: Vec<_> = kept.metrics.iter().map(|metric| metric.name.as_str()).collect();
    assert_eq!(names, ["metric 0", "metric 1", "metric 2"]);
    assert!((kept.whole(1, 2) - 1.0).abs() < 1e-12);
}

#[test]
fn a_thread_with_nodes_in_modules_that_it_does_not_list_is_left_out_as_hpcprof_does() {
    let unlisted = Finding::at_offset(Severity::Warning, "node-module", 7, "1 node is in none");
    let strange = Recorded { unlisted: Some(unlisted.clone()), ..chain(1, 1, 0) };
    for compat in [false, true] {
        let mut kept = Kept::default();
        let options = Options { compat, ..Options::default() };
        let threads = vec![chain(1, 1, 0), strange.clone()];
        let context = Context::default();
        let merged = merged(threads, &Structure::default(), options, &context, &mut kept);
        let [(0, finding)] = &merged.findings[..] else { panic!("{:?}", merged.findings) };
        if compat {
            assert_eq!((finding.severity, finding.rule), (Severity::Error, "node-module"));
            assert_eq!(finding.offset, Some(7));
        } else {
            assert_eq!(finding, &unlisted);
        }
        let threads = if compat { 1 } else { 2 };
        assert_eq!((merged.threads, kept.values.len() as u64), (threads, threads));
    }
}
