//! Samples of a GPU, whose callers nobody records: what was measured is shared among all ways.

use std::sync::Arc;

use crate::support::{Counting, Kept, Recorded, View, metric};
use kymo_core::Context;
use kymo_core::bytes::Limits;
use kymo_model::measurement::{Counts, Frame, MeasuredMetric, MeasurementView};
use kymo_model::profile::ProfileSink;
use kymo_model::structure::{Call, ModuleBuilder, Place, Scope, Structure};
use kymo_prof::{MergedProfile, Options, Program, merge};
use proptest::prelude::*;

/// How far functions are apart.
const STEP: u64 = 1 << 20;

/// Functions 0, 1 and so on of one line each, and calls: from which function, the how many-eth there,
/// and of which function.
fn structure(functions: u64, calls: &[(u64, u64, u64)]) -> Structure {
    let mut module = ModuleBuilder::new("/gpu", &Limits::default());
    let file = module.file("k.cu").unwrap();
    module.set_calls_complete();
    let mut scopes = Vec::new();
    for number in 0..functions {
        let start = number * STEP;
        let at = |line| Place { file, line };
        let name = format!("f{number}");
        let function = Scope::Function { name, link_name: None, place: None, entry: Some(start) };
        let function = module.scope(None, function).unwrap();
        let line = module.scope(Some(function), Scope::Line { at: at(2) }).unwrap();
        module.range(line, start..start + STEP).unwrap();
        scopes.push(function);
    }
    for (from, which, to) in calls {
        let within = scopes[usize::try_from(*from).unwrap()];
        module.call(Call { at: address(*from, *which), within, target: to * STEP }).unwrap();
    }
    let mut structure = Structure::default();
    structure.add(module.finish());
    structure
}

/// Where a call of a function is, or a sample.
fn address(function: u64, which: u64) -> u64 {
    function * STEP + 8 + which
}

/// A thread that started a kernel, of which these addresses were sampled once each.
fn sampled(addresses: impl Iterator<Item = u64>) -> Recorded {
    let samples = MeasuredMetric { counts: Some(Counts::Instructions), ..metric("GINS") };
    let mut recorded = Recorded::new(vec![samples]);
    let main = recorded.node(0, Frame::MainEntry);
    let kernel = recorded.node(main, Frame::Placeholder(1));
    for offset in addresses {
        let node = recorded.node(kernel, Frame::Code { module: 0, offset, is_called: false });
        recorded.value(node, 0, 1.0);
    }
    recorded
}

fn merged(
    structure: &Structure,
    recorded: Recorded,
    options: Options,
    to: &mut (dyn ProfileSink + Send),
) -> MergedProfile {
    let program = Program { structure, symbols: None, sources: None };
    let views: [Arc<dyn MeasurementView>; 1] = [Arc::new(View::new(&["/gpu"], vec![recorded]))];
    merge(&views, &program, options, to, &Context::default()).unwrap()
}

#[test]
fn instructions_with_one_way_each_have_room_however_many_there_are() {
    let recorded = sampled((0..300_000).map(|which| address(0, which)));
    let mut sink = Counting::default();
    let merged = merged(&structure(1, &[]), recorded, Options::default(), &mut sink);
    assert_eq!(merged.findings, []);
    // Each has a point value of its own, and what hangs there.
    assert!(sink.0 >= 300_000);
}

/// 0 and 1 are kernels; 0 calls 2 once, and 1 calls it twice. The sample in 2 has three ways. The
/// calls of 1 were sampled once and twice, that of 0 was not.
#[test]
fn a_sample_is_shared_by_the_samples_at_the_calls() {
    let structure = structure(3, &[(0, 0, 2), (1, 0, 2), (1, 1, 2)]);
    let at_calls = [address(1, 0), address(1, 1), address(1, 1)];
    let recorded = sampled(at_calls.into_iter().chain([address(2, 5)]));
    let mut kept = Kept::default();
    let merged = merged(&structure, recorded, Options::default(), &mut kept);
    assert_eq!(merged.findings, []);
    let found = kept.by_path(0, 0);
    let below = |words: &[&str]| {
        let path = ["main thread", "Placeholder(1)"].iter().chain(words);
        let path: Vec<_> = path.map(|word| (*word).to_owned()).collect();
        let mut paths = found.iter();
        let is_it = |names: &[(String, char)]| names.iter().map(|(word, _)| word).eq(path.iter());
        paths.find(|(names, _)| is_it(names)).map(|(_, values)| values[3])
    };
    // Both ways through 1 are of one path: calls of one line.
    assert_eq!(below(&["f1", "line 2", "f2", "line 2"]), Some(1.0));
    assert_eq!(below(&["f1"]), Some(4.0));
    // That f0 may have been a kernel is known, but nothing came of it.
    assert_eq!(below(&["f0"]), None);
    assert!((kept.whole(0, 0) - 4.0).abs() < 1e-12);
}

#[test]
fn what_belongs_to_the_call_is_shared_among_the_functions_that_were_called() {
    let structure = structure(3, &[(0, 0, 2), (1, 0, 2)]);
    let mut recorded = sampled([address(0, 0), address(1, 0)].into_iter());
    recorded.metrics.push(MeasuredMetric { is_of_call: true, ..metric("moved") });
    let sample = Frame::Code { module: 0, offset: address(2, 5), is_called: false };
    let node = recorded.node(2, sample);
    recorded.value(node, 1, 6.0);
    let mut kept = Kept::default();
    merged(&structure, recorded, Options::default(), &mut kept);
    // Both ways have half of it, at the function and not at its line.
    let found = kept.by_path(0, 1);
    let ends: Vec<_> = found.iter().filter(|(_, values)| values[0] != 0.0).collect();
    assert_eq!(ends.len(), 2);
    for (path, values) in ends {
        assert_eq!(path.last(), Some(&("f2".to_owned(), 'c')));
        assert_eq!(values, &[3.0; 4]);
    }
}

/// Nothing is known of a run of any kernel but these samples. hpcprof loses them.
#[test]
fn what_hpcprof_loses_below_kernels_that_nothing_else_is_known_of_is_said() {
    let recorded = sampled([address(0, 5), address(0, 6), address(0, 6)].into_iter());
    for (compat, whole) in [(false, 3.0), (true, 0.0)] {
        let mut kept = Kept::default();
        let options = Options { compat, ..Options::default() };
        let merged = merged(&structure(1, &[]), recorded.clone(), options, &mut kept);
        assert!((kept.whole(0, 0) - whole).abs() < 1e-12, "{compat}");
        let said: Vec<_> = merged.findings.iter().map(|(_, finding)| finding.rule).collect();
        assert_eq!(said, if compat { &["gpu-kernels"][..] } else { &[] });
        assert!(!compat || merged.findings[0].1.message.starts_with("2 instructions of a GPU"));
    }
}

/// Each function calls the next one twice: 2^59 ways to the last.
#[test]
fn too_many_ways_are_said_and_nothing_is_lost() {
    let calls: Vec<_> = (0..59).flat_map(|n| [(n, 0, n + 1), (n, 1, n + 1)]).collect();
    let recorded = sampled([address(59, 9), address(0, 9)].into_iter());
    let mut kept = Kept::default();
    let merged = merged(&structure(60, &calls), recorded, Options::default(), &mut kept);
    let [(0, finding)] = &merged.findings[..] else { panic!("{:?}", merged.findings) };
    assert_eq!((finding.rule, finding.file.as_deref()), ("gpu-ways", Some("thread 0.recorded")));
    assert!(finding.message.starts_with("1 samples of a GPU"), "{finding:?}");
    assert!((kept.whole(0, 0) - 2.0).abs() < 1e-12);
}

/// A way to the n-th function has n calls: all ways together have a number of steps that grows with
/// the square of the functions.
#[test]
fn long_ways_to_many_functions_are_bounded_together() {
    let count = 5000;
    let calls: Vec<_> = (0..count - 1).map(|n| (n, 0, n + 1)).collect();
    let recorded = sampled((0..count).map(|n| address(n, 9)));
    let mut sink = Counting::default();
    let used = allocation_counter::measure(|| {
        let merged = merged(&structure(count, &calls), recorded, Options::default(), &mut sink);
        assert_eq!(merged.findings[0].1.rule, "gpu-ways");
        // A million, and 32 for each node, at the most.
        assert!(merged.contexts < (1 << 20) + 40 * count, "{}", merged.contexts);
    });
    assert!(used.bytes_max < 1 << 28, "{} bytes", used.bytes_max);
}

proptest! {
    /// Whoever calls whom, in circles or not: what ways share comes to what was measured.
    #[test]
    fn shares_add_up_to_the_whole(
        calls in prop::collection::vec((0_u64..8, 0_u64..4, 0_u64..8), 0..20),
        samples in prop::collection::vec((0_u64..8, 0_u64..6), 1..20),
        compat in any::<bool>(),
    ) {
        // A call is of one function.
        let calls: std::collections::BTreeMap<_, _> =
            calls.into_iter().map(|(from, which, to)| ((from, which), to)).collect();
        let calls: Vec<_> = calls.into_iter().map(|((from, which), to)| (from, which, to)).collect();
        let count = samples.len();
        let mut recorded =
            sampled(samples.iter().map(|(function, which)| address(*function, *which)));
        if compat {
            // hpcprof knows of kernels that were run, and loses what lies below no other.
            recorded.metrics.push(MeasuredMetric { counts: Some(Counts::Calls), ..metric("runs") });
            for kernel in 0..8 {
                let offset = kernel * STEP;
                let node = recorded.node(2, Frame::Code { module: 0, offset, is_called: true });
                recorded.metrics[1].is_of_call = true;
                recorded.value(node, 1, 1.0);
            }
        }
        let mut kept = Kept::default();
        let options = Options { compat, ..Options::default() };
        let merged = merged(&structure(8, &calls), recorded, options, &mut kept);
        prop_assert!(merged.findings.is_empty());
        #[allow(clippy::cast_precision_loss, reason = "there are few")]
        let all = count as f64;
        prop_assert!((kept.whole(0, 0) - all).abs() < 1e-9, "{} of {all}", kept.whole(0, 0));
    }
}
