//! Made-up trees, merged and added up, compared with what a few obvious and slow lines make of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::support::{ByPath, Counting, Kept, Path, Recorded, View, metric, place};
use kymo_core::Context;
use kymo_model::measurement::{Frame, MeasuredMetric, MeasurementView};
use kymo_model::profile::{MetricId, Statistic};
use kymo_model::structure::{ModuleBuilder, Place, Scope, Structure};
use kymo_prof::{Options, Program, StatisticRequest, merge};
use proptest::prelude::*;

/// A thread: for each node the one above it and what it is, and values of nodes and metrics.
#[derive(Debug, Clone)]
struct Made {
    nodes: Vec<(usize, Frame)>,
    values: Vec<(usize, u32, u32)>,
}

impl Made {
    fn node_of(&self, node: usize) -> usize {
        node % (self.nodes.len() + 1)
    }

    /// The same as a recorder tells it: node 0 is the root, and values of the second metric belong
    /// to what was called.
    fn recorded(&self) -> Recorded {
        let calls = MeasuredMetric { is_of_call: true, ..metric("calls") };
        let mut recorded = Recorded::new(vec![metric("time"), calls]);
        for (index, (above, frame)) in self.nodes.iter().enumerate() {
            recorded.node(u32::try_from(above % (index + 1)).unwrap(), *frame);
        }
        for (node, metric, value) in &self.values {
            let node = u32::try_from(self.node_of(*node)).unwrap();
            recorded.value(node, *metric, f64::from(*value));
        }
        recorded
    }
}

/// Addresses 0 to 9: a function with two lines, the second in two loops; 10 to 19 another function;
/// 20 to 24 one that another is inlined into; 25 a line in no function, 26 one in a loop that is in
/// none, and 27 one in a function that is inlined into none; of the others nothing is known.
#[allow(clippy::many_single_char_names, reason = "functions are called so in the test")]
fn structure() -> Structure {
    let mut module = ModuleBuilder::new("/app", &kymo_core::bytes::Limits::default());
    let file = module.file("a.c").unwrap();
    let at = |line| Place { file, line };
    let function = |name: &str, entry| Scope::Function {
        name: name.to_owned(),
        link_name: None,
        place: Some(at(1)),
        entry: Some(entry),
    };
    let f = module.scope(None, function("f", 0)).unwrap();
    let line = module.scope(Some(f), Scope::Line { at: at(2) }).unwrap();
    module.range(line, 0..3).unwrap();
    let outer = module.scope(Some(f), Scope::Loop { at: at(3), entry: Some(3) }).unwrap();
    let line = module.scope(Some(outer), Scope::Line { at: at(4) }).unwrap();
    module.range(line, 3..5).unwrap();
    let inner = module.scope(Some(outer), Scope::Loop { at: at(5), entry: Some(5) }).unwrap();
    let line = module.scope(Some(inner), Scope::Line { at: at(6) }).unwrap();
    module.range(line, 5..10).unwrap();
    let g = module.scope(None, function("g", 10)).unwrap();
    let line = module.scope(Some(g), Scope::Line { at: at(9) }).unwrap();
    module.range(line, 10..20).unwrap();
    let h = module.scope(None, function("h", 20)).unwrap();
    let inlined = Scope::Inlined { name: "k".to_owned(), at: None, call: Some(at(12)) };
    let k = module.scope(Some(h), inlined).unwrap();
    let line = module.scope(Some(k), Scope::Line { at: at(13) }).unwrap();
    module.range(line, 20..25).unwrap();
    let line = module.scope(None, Scope::Line { at: at(14) }).unwrap();
    module.range(line, 25..26).unwrap();
    let alone = module.scope(None, Scope::Loop { at: at(15), entry: Some(26) }).unwrap();
    let line = module.scope(Some(alone), Scope::Line { at: at(16) }).unwrap();
    module.range(line, 26..27).unwrap();
    let inlined = Scope::Inlined { name: "m".to_owned(), at: None, call: None };
    let m = module.scope(None, inlined).unwrap();
    let line = module.scope(Some(m), Scope::Line { at: at(17) }).unwrap();
    module.range(line, 27..28).unwrap();
    let mut structure = Structure::default();
    structure.add(module.finish());
    structure
}

/// What is put below a call for an address, itself last.
fn chain(module: u32, offset: u64) -> Path {
    let words: &[(&str, char)] = match offset {
        _ if module == 1 => &[],
        0..3 => &[("f", 'c'), ("line 2", 'l')],
        3..5 => &[("f", 'c'), ("loop 3", 'l'), ("line 4", 'l')],
        5..10 => &[("f", 'c'), ("loop 3", 'l'), ("loop 5", 'l'), ("line 6", 'l')],
        10..20 => &[("g", 'c'), ("line 9", 'l')],
        20..25 => &[("h", 'c'), ("line 12", 'l'), ("k", 'i'), ("line 13", 'l')],
        25 => &[("line 14", 'c')],
        26 => &[("loop 15", 'c'), ("line 16", 'l')],
        27 => &[("m", 'c'), ("line 17", 'l')],
        _ => &[],
    };
    let mut path: Path = words.iter().map(|(word, how)| ((*word).to_owned(), *how)).collect();
    let how = if path.is_empty() { 'c' } else { 'l' };
    path.push((format!("at {offset} of {}", ["/app", "/lib"][module as usize]), how));
    path
}

/// What a node puts below the path above it. The whole program is the empty path.
fn put(above: &Path, frame: Frame) -> Path {
    let called = |word: &str| vec![(word.to_owned(), 'c')];
    let below = match frame {
        Frame::Root => return Path::new(),
        Frame::Idle if above.is_empty() => return Path::new(),
        Frame::MainEntry if above.is_empty() => return called("main thread"),
        Frame::ThreadEntry if above.is_empty() => return called("application thread"),
        Frame::UnknownEntry if above.is_empty() => return called("unknown entry"),
        Frame::UnknownCode => called("unknown"),
        Frame::Idle => called("Idle"),
        Frame::MainEntry => called("MainEntry"),
        Frame::ThreadEntry => called("ThreadEntry"),
        Frame::UnknownEntry => called("UnknownEntry"),
        Frame::Placeholder(code) => called(&format!("Placeholder({code})")),
        Frame::Code { module, offset, is_called: true } => chain(module, offset),
        // Nobody tells who calls whom here.
        Frame::Code { module, offset, is_called: false } => {
            let point = chain(module, offset).pop().unwrap().0;
            vec![("unknown".to_owned(), 'c'), (point, 'c')]
        }
    };
    // What hangs directly below the whole program came in nobody knows where.
    let entry = if above.is_empty() { called("unknown entry") } else { Path::new() };
    [entry, below].concat()
}

/// Paths of nodes, of a thread: the innermost, and that of what was called.
fn paths(made: &Made) -> Vec<[Path; 2]> {
    let mut paths = vec![[Path::new(), Path::new()]];
    for (index, (above, frame)) in made.nodes.iter().enumerate() {
        let above = paths[above % (index + 1)][0].clone();
        let put = put(&above, *frame);
        // What hangs below an entry that had to be made up is called there.
        let is_below_entry = above.is_empty() && put.len() > 1;
        let first = usize::from(is_below_entry) + 1;
        let called = [&above[..], put.get(..first).unwrap_or_default()].concat();
        paths.push([[above, put].concat(), called]);
    }
    paths
}

/// What each path has of a metric, in each reach; of loops without what is in loops within them.
fn naive(made: &Made, metric: u32) -> ByPath {
    let paths = paths(made);
    let mut own: BTreeMap<Path, f64> = BTreeMap::new();
    for (node, _, value) in made.values.iter().filter(|value| value.1 == metric) {
        let [full, called] = &paths[made.node_of(*node)];
        let path = if metric == 1 { called } else { full };
        *own.entry(path.clone()).or_default() += f64::from(*value);
    }
    let mut sums = ByPath::new();
    for (path, value) in &own {
        for length in 1..=path.len() {
            let below = &path[length..];
            let sums = sums.entry(path[..length].to_vec()).or_default();
            let is_within = below.iter().all(|(_, relation)| *relation == 'l');
            let is_loop = path[length - 1].0.starts_with("loop");
            let further = below.iter().any(|(word, _)| word.starts_with("loop"));
            sums[0] += if below.is_empty() { *value } else { 0.0 };
            sums[1] += if is_within { *value } else { 0.0 };
            sums[2] += if is_within && !(is_loop && further) { *value } else { 0.0 };
            sums[3] += value;
        }
    }
    sums
}

/// What a thread has: hpcprof leaves nothing out of loops there.
fn of_thread(made: &Made, metric: u32, compat: bool) -> ByPath {
    let mut sums = naive(made, metric);
    for (path, sums) in sums.iter_mut().filter(|_| compat) {
        if path.last().is_some_and(|(word, _)| word.starts_with("loop")) {
            sums[2] = sums[1];
        }
    }
    sums
}

/// A statistic of what threads have at a path in a reach, in their order; 0 is nothing at all.
fn statistic(statistic: Statistic, values: &[f64], compat: bool) -> f64 {
    let some = || values.iter().copied().filter(|value| *value != 0.0);
    match statistic {
        // hpcprof counts whoever has the metric there in any reach.
        Statistic::Count if compat => values.iter().map(|_| 1.0).sum(),
        Statistic::Count => some().map(|_| 1.0).sum(),
        Statistic::Sum => values.iter().sum(),
        // hpcprof evaluates `$$^2` as `$$`.
        Statistic::Squares if compat => values.iter().sum(),
        Statistic::Squares => values.iter().map(|value| value * value).sum(),
        // To hpcprof a 0 is a value when it comes, and nothing yet when the next one comes.
        Statistic::Min if compat => {
            let smaller = |so_far: f64, value: f64| {
                if so_far == 0.0 || value < so_far { value } else { so_far }
            };
            values.iter().copied().fold(0.0, smaller)
        }
        Statistic::Min => some().reduce(f64::min).unwrap_or(0.0),
        // No value here is below 0.
        Statistic::Max => some().fold(0.0, f64::max),
    }
}

const STATISTICS: [Statistic; 5] =
    [Statistic::Count, Statistic::Sum, Statistic::Squares, Statistic::Min, Statistic::Max];

/// Statistics of all threads by what is listed; contexts of one path are added up.
fn statistics(threads: &[Made], metric: u32, compat: bool) -> BTreeMap<(Path, usize), [f64; 4]> {
    let mut values: BTreeMap<Path, Vec<[f64; 4]>> = BTreeMap::new();
    for (path, sums) in threads.iter().flat_map(|made| naive(made, metric)) {
        values.entry(path).or_default().push(sums);
    }
    let mut found: BTreeMap<(Path, usize), [f64; 4]> = BTreeMap::new();
    for (path, values) in values {
        let Some(path) = listed(&path) else { continue };
        for (kind, one) in STATISTICS.into_iter().enumerate() {
            let slots = found.entry((path.clone(), kind)).or_default();
            for (reach, slot) in slots.iter_mut().enumerate() {
                let values: Vec<_> = values.iter().map(|values| values[reach]).collect();
                *slot += statistic(one, &values, compat);
            }
        }
    }
    found.retain(|_, values| values.iter().any(|value| *value != 0.0));
    found
}

/// The same as it was handed on.
fn handed_on(kept: &Kept, metric: u32) -> BTreeMap<(Path, usize), [f64; 4]> {
    let mut found: BTreeMap<(Path, usize), [f64; 4]> = BTreeMap::new();
    for value in kept.summary.iter().filter(|value| value.column.metric == MetricId(metric)) {
        if let Some(path) = kept.path(value.context.0) {
            let kind = STATISTICS.iter().position(|kind| *kind == value.statistic).unwrap();
            found.entry((path, kind)).or_default()[place(value.column.reach)] += value.value;
        }
    }
    found
}

/// The threads in two measurements, which have the same modules.
fn merged(threads: &[Made], jobs: usize, compat: bool) -> Kept {
    let structure = structure();
    let program = Program { structure: &structure, symbols: None, sources: None };
    let recorded: Vec<_> = threads.iter().map(Made::recorded).collect();
    let (one, other) = recorded.split_at(threads.len() / 2);
    let modules = ["/app", "/lib"];
    let other = View { first: one.len() as u64, ..View::new(&modules, other.to_vec()) };
    let one = View::new(&modules, one.to_vec());
    let views: [Arc<dyn MeasurementView>; 2] = [Arc::new(one), Arc::new(other)];
    let statistics = StatisticRequest::Extrema;
    let options = Options { jobs, statistics, compat, ..Options::default() };
    let mut kept = Kept::default();
    let merged = merge(&views, &program, options, &mut kept, &Context::default()).unwrap();
    // Of threads that have code and no value it is said that values may be lost, and of nothing else.
    let valueless = threads.iter().any(|thread| thread.values.is_empty());
    let mut said = merged.findings.iter().map(|(_, finding)| finding.rule);
    assert!(said.all(|rule| rule == "no-values" && valueless));
    kept
}

/// A path is listed unless it ends with an address within a line. What was called from such an
/// address hangs below the line.
fn listed(path: &Path) -> Option<Path> {
    let is_elided = |(word, relation): &(String, char)| word.starts_with("at ") && *relation == 'l';
    if path.last().is_some_and(is_elided) {
        return None;
    }
    Some(path.iter().filter(|part| !is_elided(part)).cloned().collect())
}

fn made() -> impl Strategy<Value = Vec<Made>> {
    let code = (0_u32..2, 0_u64..30, prop::bool::weighted(0.9));
    let code =
        code.prop_map(|(module, offset, is_called)| Frame::Code { module, offset, is_called });
    let frame = prop_oneof![
        20 => code,
        2 => Just(Frame::MainEntry),
        1 => Just(Frame::ThreadEntry),
        1 => Just(Frame::UnknownEntry),
        1 => Just(Frame::UnknownCode),
        1 => Just(Frame::Idle),
        1 => (1_u64..3).prop_map(Frame::Placeholder),
    ];
    let nodes = prop::collection::vec((0_usize..40, frame), 1..30);
    let values = prop::collection::vec((0_usize..40, 0_u32..2, 1_u32..100), 0..30);
    let thread = (nodes, values).prop_map(|(nodes, values)| Made { nodes, values });
    prop::collection::vec(thread, 1..5)
}

proptest! {
    #[test]
    fn values_and_samples_are_what_a_few_slow_lines_make_of_them(
        threads in made(),
        compat in any::<bool>(),
    ) {
        let kept = merged(&threads, 1, compat);
        for (index, made) in threads.iter().enumerate() {
            for metric in 0..2 {
                let mut expected = ByPath::new();
                for (path, values) in of_thread(made, metric, compat) {
                    let Some(path) = listed(&path) else { continue };
                    let slots = expected.entry(path).or_default();
                    slots.iter_mut().zip(values).for_each(|(slot, value)| *slot += value);
                }
                prop_assert_eq!(kept.by_path(index, metric), expected);
                let all = made.values.iter().filter(|value| value.1 == metric);
                let all: f64 = all.map(|value| f64::from(value.2)).sum();
                prop_assert!((kept.whole(index, metric) - all).abs() < 1e-9);
            }
            let paths = paths(made);
            prop_assert_eq!(kept.samples[index].len(), paths.len());
            for ((node, context), [full, called]) in kept.samples[index].iter().zip(&paths) {
                let mut path = if node % 3 == 0 { called.clone() } else { full.clone() };
                if listed(&path).is_none() {
                    path.pop();
                }
                let expected = listed(&path).filter(|path| !path.is_empty());
                prop_assert_eq!(context.map(|context| kept.path(context).unwrap()), expected);
            }
        }
        for metric in 0..2 {
            prop_assert_eq!(handed_on(&kept, metric), statistics(&threads, metric, compat));
        }
    }

    #[test]
    fn two_processors_make_what_one_makes(threads in made()) {
        let (one, two) = (merged(&threads, 1, false), merged(&threads, 2, false));
        prop_assert_eq!(one.values, two.values);
        prop_assert_eq!(one.samples, two.samples);
        prop_assert_eq!(one.summary, two.summary);
        prop_assert_eq!(one.contexts, two.contexts);
    }
}

/// Three threads of `main` calls `f`: the first spends 3 in f, the second 4 in main itself and 5 in
/// f, the third 2 in main. Worked out by hand from the rules of hpcprof's facts.
#[test]
fn statistics_of_three_threads_are_right_or_as_hpcprof_has_them() {
    let main = Frame::Code { module: 1, offset: 1, is_called: true };
    let f = Frame::Code { module: 1, offset: 2, is_called: true };
    let nodes = vec![(0, Frame::MainEntry), (1, main), (2, f)];
    let made = |values: &[(usize, u32)]| {
        let values = values.iter().map(|(node, value)| (*node, 0, *value)).collect();
        Made { nodes: nodes.clone(), values }
    };
    let threads = [made(&[(3, 3)]), made(&[(2, 4), (3, 5)]), made(&[(2, 2)])];
    let path = |words: &[&str]| -> Path { words.iter().map(|w| ((*w).to_owned(), 'c')).collect() };
    let main = path(&["main thread", "at 1 of /lib"]);
    let f = path(&["main thread", "at 1 of /lib", "at 2 of /lib"]);
    // In the order count, sum, squares, min, max; of each point, function, lexical, execution.
    let right = [
        (
            &main,
            [
                [2.0, 2.0, 2.0, 3.0],
                [6.0, 6.0, 6.0, 14.0],
                [20.0, 20.0, 20.0, 94.0],
                [2.0; 4],
                [4.0, 4.0, 4.0, 9.0],
            ],
        ),
        (&f, [[2.0; 4], [8.0; 4], [34.0; 4], [3.0; 4], [5.0; 4]]),
    ];
    // The first thread has the metric at main in one reach, so it counts in all. Its 0 there is
    // nothing yet when the second comes.
    let as_hpcprof = [
        (
            &main,
            [
                [3.0; 4],
                [6.0, 6.0, 6.0, 14.0],
                [6.0, 6.0, 6.0, 14.0],
                [2.0; 4],
                [4.0, 4.0, 4.0, 9.0],
            ],
        ),
        (&f, [[2.0; 4], [8.0; 4], [8.0; 4], [3.0; 4], [5.0; 4]]),
    ];
    for (compat, expected) in [(false, right), (true, as_hpcprof)] {
        let found = handed_on(&merged(&threads, 1, compat), 0);
        for (path, statistics) in expected {
            for (kind, values) in statistics.into_iter().enumerate() {
                assert_eq!(found.get(&(path.clone(), kind)), Some(&values), "{kind} {compat}");
            }
        }
    }
    // With the threads the other way round, the 0 of the last is the smallest value to hpcprof, and
    // no value at all to us.
    let threads = [threads[2].clone(), threads[1].clone(), threads[0].clone()];
    for (compat, smallest) in [(false, [2.0; 4]), (true, [0.0, 0.0, 0.0, 2.0])] {
        let found = handed_on(&merged(&threads, 1, compat), 0);
        assert_eq!(found.get(&(main.clone(), 3)), Some(&smallest), "{compat}");
    }
}

#[test]
fn memory_grows_with_the_merged_tree_and_not_with_threads() {
    let peak = |threads: usize| {
        let code = |offset| Frame::Code { module: 0, offset, is_called: true };
        let nodes = (0..500).map(|index| (index / 2, code(index as u64 % 25))).collect();
        let values = (0..500).map(|index| (index, 0, 1)).collect();
        let made = Made { nodes, values }.recorded();
        let view = View::new(&["/app"], vec![made; threads]);
        let views: [Arc<dyn MeasurementView>; 1] = [Arc::new(view)];
        let structure = structure();
        let program = Program { structure: &structure, symbols: None, sources: None };
        let options = Options { jobs: 1, ..Options::default() };
        let mut sink = Counting::default();
        let used = allocation_counter::measure(|| {
            merge(&views, &program, options, &mut sink, &Context::default()).unwrap();
        });
        assert!(sink.0 > 500 * threads as u64);
        used.bytes_max
    };
    // What names threads has to be held, and nothing else of them.
    let (few, many) = (peak(2), peak(4096));
    assert!(many < few + 4096 * 1024, "{few} bytes for 2 threads, {many} for 4,096");
}
