//! What threads spent, what called what, and when: compared with a reader that shares nothing with
//! ours. It follows the facts of the released layout, and of that of May 2022.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::open;
use kymo_conformance::shared;
use kymo_model::profile::{
    Detail, IDLE, MetricId, MetricQuery, SpentScope, bottom_up, per_thread, top_down, traced,
};
use kymo_model::timeline::Window;

/// Numbers of a file, little-endian.
struct Bytes(Vec<u8>);

impl Bytes {
    fn number(&self, at: usize, bytes: usize) -> usize {
        let digits = self.0[at..at + bytes].iter().rev();
        digits.fold(0, |number, byte| number << 8 | usize::from(*byte))
    }

    fn u8(&self, at: usize) -> usize {
        self.number(at, 1)
    }

    fn u16(&self, at: usize) -> usize {
        self.number(at, 2)
    }

    fn u32(&self, at: usize) -> usize {
        self.number(at, 4)
    }

    fn u64(&self, at: usize) -> usize {
        self.number(at, 8)
    }

    fn f64(&self, at: usize) -> f64 {
        f64::from_bits(self.u64(at) as u64)
    }

    fn text(&self, at: usize) -> String {
        let end = self.0[at..].iter().position(|byte| *byte == 0).unwrap();
        String::from_utf8_lossy(&self.0[at..at + end]).into_owned()
    }

    /// The text that a pointer leads to.
    fn named(&self, at: usize) -> String {
        self.text(self.u64(at))
    }
}

struct Place {
    parent: Option<usize>,
    /// Whether it was called, or is an entry point.
    is_frame: bool,
    is_inlined: bool,
    name: String,
}

/// Values of a profile: by context, then by metric.
type Values = HashMap<usize, HashMap<usize, f64>>;

struct Read {
    /// The name of each metric, and the ids of its function and execution values.
    metrics: Vec<(String, usize, usize)>,
    places: HashMap<usize, Place>,
    roots: Vec<usize>,
    threads: Vec<Values>,
    /// Moments and contexts of each thread.
    traces: Vec<Vec<(usize, usize)>>,
}

fn last_part(path: &str) -> &str {
    path.rsplit('/').next().unwrap()
}

impl Read {
    /// Nothing where the layout is an older one.
    fn new(folder: &Path) -> Option<Self> {
        let file = |name: &str| fs::read(folder.join(name)).map(Bytes);
        let meta = file("meta.db").unwrap();
        if meta.u8(meta.u64(0x38) + 0xC) != 32 {
            return None;
        }
        let profile = file("profile.db").unwrap();
        let (places, roots) = places(&meta);
        let threads = profiles(&profile);
        let traces = file("trace.db").map(|trace| traces(&trace)).unwrap_or_default();
        Some(Self { metrics: metrics(&meta), places, roots, threads, traces })
    }

    fn sum(&self, context: usize, metric: usize) -> f64 {
        let values = self.threads.iter().filter_map(|thread| thread.get(&context));
        values.filter_map(|values| values.get(&metric)).sum()
    }

    /// The function that a context is in.
    fn frame(&self, context: usize) -> &Place {
        let place = &self.places[&context];
        if place.is_frame { place } else { self.frame(place.parent.unwrap()) }
    }
}

fn metrics(meta: &Bytes) -> Vec<(String, usize, usize)> {
    let section = meta.u64(0x38);
    let (list, size, size_of_instance) =
        (meta.u64(section), meta.u8(section + 0xC), meta.u8(section + 0xD));
    let metric = |index: usize| {
        let at = list + size * index;
        let instances = (0..meta.u16(at + 0x18)).map(|index| {
            let at = meta.u64(at + 8) + size_of_instance * index;
            (meta.named(meta.u64(at)), meta.u16(at + 8))
        });
        let ids: HashMap<_, _> = instances.collect();
        (meta.named(at), ids["function"], ids["execution"])
    };
    (0..meta.u32(section + 8)).map(metric).collect()
}

fn places(meta: &Bytes) -> (HashMap<usize, Place>, Vec<usize>) {
    let section = meta.u64(0x48);
    let (list, size) = (meta.u64(section), meta.u8(section + 0xA));
    let (mut places, mut roots, mut open) = (HashMap::new(), Vec::new(), Vec::new());
    for index in 0..meta.u16(section + 8) {
        let at = list + size * index;
        let id = meta.u32(at + 0x10);
        let name = format!("<{}>", meta.named(at + 0x18));
        places.insert(id, Place { parent: None, is_frame: true, is_inlined: false, name });
        roots.push(id);
        open.push((meta.u64(at + 8), meta.u64(at), id));
    }
    while let Some((mut at, bytes, parent)) = open.pop() {
        let end = at + bytes;
        while bytes > 0 && at < end {
            let id = meta.u32(at + 0x10);
            let (relation, words) = (meta.u8(at + 0x15), meta.u8(at + 0x17));
            let (is_frame, is_inlined) = (relation != 0, relation == 2);
            let name = name(meta, at);
            places.insert(id, Place { parent: Some(parent), is_frame, is_inlined, name });
            if meta.u64(at) > 0 {
                open.push((meta.u64(at + 8), meta.u64(at), id));
            }
            at += 32 + 8 * words;
        }
    }
    (places, roots)
}

/// What a context that was called is named by: its function, or an address.
fn name(meta: &Bytes, at: usize) -> String {
    let (flags, lexical) = (meta.u8(at + 0x14), meta.u8(at + 0x16));
    let after_function = at + 0x20 + 8 * (flags & 1);
    let after_source = after_function + 8 * (flags & 2);
    match (flags & 1, flags & 4, lexical) {
        (1, ..) => meta.named(meta.u64(at + 0x20)),
        (_, 4, 3) => {
            let path = meta.named(meta.u64(after_source) + 8);
            format!("{}+{:#x}", last_part(&path), meta.u64(after_source + 8))
        }
        (_, _, 0) => "<unknown function>".to_owned(),
        _ => "?".to_owned(),
    }
}

/// The profiles of threads, which come after the summary.
fn profiles(file: &Bytes) -> Vec<Values> {
    let section = file.u64(0x18);
    let (list, size) = (file.u64(section), file.u8(section + 0xC));
    let profile = |index: usize| {
        let at = list + size * index;
        let (count, values) = (file.u64(at), file.u64(at + 8));
        let (contexts, indexes) = (file.u32(at + 0x10), file.u64(at + 0x18));
        let start = |index: usize| file.u64(indexes + 12 * index + 4);
        let item = |index: usize| {
            let end = if index + 1 < contexts { start(index + 1) } else { count };
            let value = |at: usize| (file.u16(values + 10 * at), file.f64(values + 10 * at + 2));
            (file.u32(indexes + 12 * index), (start(index)..end).map(value).collect())
        };
        (0..contexts).map(item).collect()
    };
    (1..file.u32(section + 8)).map(profile).collect()
}

fn traces(file: &Bytes) -> Vec<Vec<(usize, usize)>> {
    let section = file.u64(0x18);
    let (list, size) = (file.u64(section), file.u8(section + 0xC));
    let trace = |index: usize| {
        let at = list + size * index;
        let samples = (file.u64(at + 8)..file.u64(at + 0x10)).step_by(12);
        samples.map(|at| (file.u64(at), file.u32(at + 8))).collect()
    };
    (0..file.u32(section + 8)).map(trace).collect()
}

fn databases(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.join("meta.db").exists() {
            found.push(path);
        } else if path.is_dir() {
            databases(&path, found);
        }
    }
}

/// Calls with each database of the folder that the reader reads, and what it read.
fn each(body: impl Fn(&Path, &Read)) {
    let Some(folder) = shared::file("hpctoolkit") else { return };
    let mut found = Vec::new();
    databases(&folder, &mut found);
    let read = found.iter().filter_map(|path| Some((path, Read::new(path)?)));
    let count = read.map(|(path, read)| body(path, &read)).count();
    assert!(count >= 38, "{count}");
}

fn is_near(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-9 * one.abs().max(other.abs())
}

/// Fails unless both have the same names with the same values.
fn same<K: Ord + std::fmt::Debug>(found: &BTreeMap<K, f64>, read: &BTreeMap<K, f64>, what: &str) {
    let read: BTreeMap<_, _> = read.iter().filter(|(_, value)| **value != 0.0).collect();
    assert_eq!(
        found.keys().collect::<Vec<_>>(),
        read.keys().copied().collect::<Vec<_>>(),
        "{what}"
    );
    for (name, value) in found {
        assert!(is_near(*value, *read[name]), "{what}: {name:?} {value} {}", read[name]);
    }
}

/// The metrics that something was spent of, as ours and theirs.
fn spent(read: &Read) -> impl Iterator<Item = (MetricId, usize, usize)> + '_ {
    let metrics = (0..).map(MetricId).zip(&read.metrics);
    let metrics = metrics.map(|(id, (_, own, all))| (id, *own, *all));
    metrics.filter(|(_, _, all)| read.roots.iter().any(|root| read.sum(*root, *all) != 0.0))
}

#[test]
fn each_thread_spent_what_another_reader_reads() {
    each(|path, read| {
        let view = open(path).profile().unwrap();
        for (metric, _, all) in spent(read) {
            let question = MetricQuery { view: view.as_ref(), metric, threads: None };
            let found = per_thread(&question, SpentScope::All).unwrap();
            assert_eq!(found.len(), read.threads.len());
            for (found, thread) in found.into_iter().zip(&read.threads) {
                let value = |root: &usize| thread.get(root).and_then(|values| values.get(&all));
                let sum: f64 = read.roots.iter().filter_map(value).sum();
                assert!(is_near(found, sum), "{}: {found} {sum}", path.display());
            }
        }
    });
}

#[test]
fn functions_spent_by_their_paths_what_another_reader_reads() {
    each(|path, read| {
        let view = open(path).profile().unwrap();
        let mut below: HashMap<usize, Vec<usize>> = HashMap::new();
        for (id, place) in &read.places {
            below.entry(place.parent.unwrap_or(0)).or_default().push(*id);
        }
        for (metric, own, all) in spent(read) {
            let question = MetricQuery { view: view.as_ref(), metric, threads: None };
            let what = path.display().to_string();
            let mut functions: BTreeMap<String, f64> = BTreeMap::new();
            for (id, place) in read.places.iter().filter(|(_, place)| place.is_frame) {
                *functions.entry(place.name.clone()).or_default() += read.sum(*id, own);
            }
            let callers = bottom_up(&question, None, 1, 0.0).unwrap();
            let found = callers.nodes.iter().map(|node| (callers.label(node).to_owned(), node));
            let found = found.map(|(name, node)| (name, node.exclusive));
            let mut callers: BTreeMap<String, f64> = BTreeMap::new();
            found.for_each(|(name, value)| *callers.entry(name).or_default() += value);
            same(&callers, &functions, &what);
            // Paths, each by the number of the one above and a name.
            let mut paths: BTreeMap<(usize, String, bool), (usize, f64)> = BTreeMap::new();
            let mut open: Vec<_> = read.roots.iter().map(|root| (*root, 0)).collect();
            while let Some((id, above)) = open.pop() {
                let place = &read.places[&id];
                let mut number = above;
                let value = read.sum(id, all);
                if place.is_frame && (value != 0.0 || read.sum(id, own) != 0.0) {
                    let next = paths.len() + 1;
                    let key = (above, place.name.clone(), place.is_inlined);
                    let known = paths.entry(key).or_insert((next, 0.0));
                    known.1 += value;
                    number = known.0;
                }
                let children = below.get(&id).into_iter().flatten();
                open.extend(children.map(|child| (*child, number)));
            }
            let tree = top_down(&question, Detail::Functions, usize::MAX).unwrap();
            assert_eq!(tree.nodes.len(), paths.len(), "{what}");
            let mut numbers: Vec<usize> = Vec::new();
            for node in &tree.nodes {
                let above = node.parent.map_or(0, |parent| numbers[parent]);
                let key = (above, tree.label(node).to_owned(), node.is_inlined);
                let (number, value) = paths.get(&key).unwrap_or_else(|| panic!("{what}: {key:?}"));
                assert!(is_near(node.inclusive, *value), "{what}: {key:?}");
                numbers.push(*number);
            }
        }
    });
}

#[test]
fn threads_were_where_another_reader_reads() {
    each(|path, read| {
        let dataset = open(path);
        let mut times: BTreeMap<String, u64> = BTreeMap::new();
        for pair in read.traces.iter().flat_map(|samples| samples.windows(2)) {
            let name = if pair[0].1 == 0 { IDLE } else { read.frame(pair[0].1).name.as_str() };
            *times.entry(name.to_owned()).or_default() += (pair[1].0 - pair[0].0) as u64;
        }
        times.retain(|_, lasted| *lasted > 0);
        let Some(timeline) = dataset.timeline() else {
            assert!(times.is_empty());
            return;
        };
        let view = dataset.profile().unwrap();
        let found = traced(view.as_ref(), &timeline, &Window::default(), None, 1).unwrap();
        let mut spent: BTreeMap<String, u64> = BTreeMap::new();
        for (function, lasted) in found.lines.iter().flat_map(|line| &line.spent) {
            *spent.entry(found.functions[*function].clone()).or_default() += lasted;
        }
        assert_eq!(spent, times, "{}", path.display());
    });
}
