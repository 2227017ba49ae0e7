//! Differences, for a person: each cause once, and not what follows from it.
//!
//! What only one has is told without what is below it. A value that differs by as much as those below
//! it do is not told, nor are sums of threads that do; how many these are is.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, Write};
use std::rc::Rc;

use kymo_core::Finding;
use kymo_model::profile::{Metric, MetricScope, Statistic};

use super::super::is_apart;
use super::super::profiles::share_of;
use super::paths::{Kind, WHOLE, fitted};
use super::{
    ComparedProfiles, DifferenceSink, Differing, MeasuredMetric, NAMES, Sample, Side,
    UnmatchedPart, ValueDifference, ValueOwner,
};
use crate::output::Output;
use crate::render::columns::width_of;
use crate::render::{escaped, measure, numbers, pad, style};

/// The places of a figure.
const FIGURE: usize = 11;

/// The places of a number of values.
const VALUES: usize = 14;

/// Gathers what differs, and prints it.
pub(super) struct GroupedDifferences<'a> {
    compared: &'a ComparedProfiles<'a>,
    /// Of paths that only one has, the uppermost of them.
    roots: HashMap<usize, usize>,
    /// These, with how many values differ there and below.
    lone: BTreeMap<usize, UnmatchedPath>,
    /// Description of everything else that only one side has, in words.
    others: [Vec<String>; 2],
    /// Metrics that only one of them measures.
    lone_measured: BTreeSet<MeasuredMetric>,
    /// By how much all threads together differ.
    by_threads: HashMap<(usize, MeasuredMetric), f64>,
    told: BTreeMap<Place, ThreadDifferences>,
    /// Number of values that differ because of others.
    implied: u64,
    /// Number of values of contexts that differ and are not listed, and number of those that are
    /// not together.
    unlisted: [u64; 2],
    traces: Vec<Trace>,
    /// Differences in what they state of themselves as a whole, and contradictions within each of
    /// them.
    said: Vec<String>,
}

/// A path that only one has.
struct UnmatchedPath {
    side: usize,
    values: u64,
    /// Value of the first metric that all threads spent there and below.
    spent: Option<(Rc<str>, f64)>,
}

impl UnmatchedPath {
    fn new(side: usize) -> Self {
        Self { side, values: 0, spent: None }
    }

    fn spent_words(&self) -> String {
        let words = |(metric, spent): &(Rc<str>, f64)| {
            format!("{} {}", escaped(metric), measure::value(*spent))
        };
        self.spent.as_ref().map_or(String::new(), words)
    }

    /// Takes in a value at or below the path.
    fn add(&mut self, value_owner: &ValueOwner, apart: &ValueDifference, is_below: bool) {
        self.values += 1;
        let is_spent = *value_owner == ValueOwner::All(Statistic::Sum)
            && apart.measured.reach == MetricScope::Execution;
        if is_spent && !is_below && self.spent.is_none() {
            let value = apart.values.get(self.side).copied().unwrap_or_default();
            self.spent = Some((Rc::clone(&apart.measured.metric), value));
        }
    }
}

/// Place where values differ: those of threads are reported together.
type Place = (usize, MeasuredMetric, Option<Statistic>);

/// Values that differ, of the thread that does most.
struct ThreadDifferences {
    value_owner: ValueOwner,
    values: [f64; 2],
    /// Number of other threads that do.
    more: u64,
}

/// A thread whose samples differ.
struct Trace {
    thread: String,
    counts: [usize; 2],
    /// Number of those that are not the same in both.
    differing: usize,
    /// The first that is not, in each that has so many.
    first: [Option<Sample>; 2],
}

impl<'a> GroupedDifferences<'a> {
    pub(super) fn new(compared: &'a ComparedProfiles<'a>) -> Self {
        let [one, other] = compared.sides.map(declared);
        Self {
            compared,
            roots: HashMap::new(),
            lone: BTreeMap::new(),
            others: [Vec::new(), Vec::new()],
            lone_measured: &one ^ &other,
            by_threads: HashMap::new(),
            told: BTreeMap::new(),
            implied: 0,
            unlisted: [0; 2],
            traces: Vec::new(),
            said: Vec::new(),
        }
    }

    pub(super) fn is_different(&self) -> bool {
        let has_others = self.others.iter().any(|others| !others.is_empty());
        let has_values = !self.told.is_empty() || self.implied > 0 || self.unlisted != [0; 2];
        let has_paths = !self.lone.is_empty() || !self.traces.is_empty();
        has_paths || has_others || has_values || !self.said.is_empty()
    }

    /// Returns true if a value differs because others do.
    fn is_implied(
        &self,
        value_owner: &ValueOwner,
        apart: &ValueDifference,
        below: &ValuesBelow,
    ) -> bool {
        if self.lone_measured.contains(&apart.measured) {
            return true;
        }
        let key = (apart.path, apart.measured.clone());
        let comes_to = |change: Option<&f64>| {
            let [one, other] = apart.values;
            change.is_some_and(|change| !is_apart(self.compared.tolerance, one + change, other))
        };
        match value_owner {
            ValueOwner::Thread(_) => comes_to(below.get(&key)),
            ValueOwner::All(Statistic::Sum) => {
                comes_to(below.get(&key)) || comes_to(self.by_threads.get(&key))
            }
            // These do not add up: that threads differ has to do.
            ValueOwner::All(_) => self.by_threads.contains_key(&key),
        }
    }

    /// Adds up what comes from below, and from the very context, to each context that it counts
    /// for.
    fn values_below(&self, apart: &[ValueDifference]) -> ValuesBelow {
        let mut below = ValuesBelow::new();
        let mut add = |path: usize, measured: &MeasuredMetric, reach: MetricScope, change: f64| {
            let measured = MeasuredMetric { reach, ..measured.clone() };
            *below.entry((path, measured)).or_default() += change;
        };
        let paths = self.compared.paths;
        for found in apart {
            let ValueDifference { path, measured, .. } = found;
            let (above, change) = (paths.parent(*path), found.change());
            let is_in_loop = paths.kind(above) == Kind::Loop;
            match (measured.reach, paths.kind(*path)) {
                (MetricScope::Point, _) => {
                    for reach in
                        [MetricScope::Function, MetricScope::Lexical, MetricScope::Execution]
                    {
                        add(*path, measured, reach, change);
                    }
                }
                (MetricScope::Execution, _) if *path != WHOLE => {
                    add(above, measured, MetricScope::Execution, change);
                }
                (MetricScope::Function, Kind::Loop) if is_in_loop => {
                    add(above, measured, MetricScope::Function, change);
                }
                (MetricScope::Function, Kind::Loop | Kind::Part) => {
                    add(above, measured, MetricScope::Function, change);
                    add(above, measured, MetricScope::Lexical, change);
                }
                _ => {}
            }
        }
        below
    }

    fn print_group(&mut self, value_owner: &ValueOwner, apart: &ValueDifference) {
        let statistic = match value_owner {
            ValueOwner::Thread(_) => None,
            ValueOwner::All(statistic) => Some(*statistic),
        };
        let place = (apart.path, apart.measured.clone(), statistic);
        let new = || ThreadDifferences {
            value_owner: value_owner.clone(),
            values: apart.values,
            more: 0,
        };
        let Some(told) = self.told.get_mut(&place) else {
            self.told.insert(place, new());
            return;
        };
        let size = |[one, other]: [f64; 2]| (other - one).abs();
        let more = told.more + 1;
        if size(apart.values) > size(told.values) {
            *told = new();
        }
        told.more = more;
    }
}

/// Amounts by which values differ because of others.
type ValuesBelow = HashMap<(usize, MeasuredMetric), f64>;

impl DifferenceSink for GroupedDifferences<'_> {
    fn add_unmatched(&mut self, what: UnmatchedPart<'_>, side: usize) -> anyhow::Result<()> {
        let what = match what {
            UnmatchedPart::Context(path) => {
                // What is above comes first.
                let above = self.roots.get(&self.compared.paths.parent(path)).copied();
                let root = above.unwrap_or(path);
                self.roots.insert(path, root);
                self.lone.entry(root).or_insert_with(|| UnmatchedPath::new(side));
                return Ok(());
            }
            UnmatchedPart::Metric(name) => format!("the metric {name}"),
            UnmatchedPart::Thread(name) => format!("the thread {name}"),
            UnmatchedPart::Statistic(statistic) => {
                format!("the statistic of {}", ValueOwner::All(statistic))
            }
            UnmatchedPart::Said(name) => name.to_owned(),
        };
        if let Some(others) = self.others.get_mut(side) {
            others.push(what);
        }
        Ok(())
    }

    fn add_statement(&mut self, name: &str, [one, other]: [&str; 2]) -> anyhow::Result<()> {
        self.said.push(format!("{name}: {one} in A, {other} in B"));
        Ok(())
    }

    fn unsound(&mut self, finding: &Finding, side: usize) -> anyhow::Result<()> {
        let name = NAMES.get(side).copied().unwrap_or_default();
        let file = finding.file.as_deref().unwrap_or_default();
        self.said.push(format!("{name} is not sound: {file}: {}", finding.message));
        Ok(())
    }

    fn values(
        &mut self,
        value_owner: &ValueOwner,
        apart: &[ValueDifference],
    ) -> anyhow::Result<()> {
        let below = self.values_below(apart);
        for found in apart {
            if let Some(root) = self.roots.get(&found.path) {
                let lone = self.lone.get_mut(root).into_iter();
                lone.for_each(|lone| lone.add(value_owner, found, found.path != *root));
                continue;
            }
            if self.is_implied(value_owner, found, &below) {
                self.implied += 1;
            } else {
                self.print_group(value_owner, found);
            }
            if matches!(value_owner, ValueOwner::Thread(_)) {
                self.add_unmatched_values(std::slice::from_ref(found));
            }
        }
        Ok(())
    }

    fn add_unmatched_values(&mut self, apart: &[ValueDifference]) {
        for found in apart {
            let key = (found.path, found.measured.clone());
            *self.by_threads.entry(key).or_default() += found.change();
        }
    }

    fn unlisted(&mut self, found: &Differing) -> anyhow::Result<()> {
        let [values, apart] = &mut self.unlisted;
        match found {
            Differing::Values { count, .. } => *values += *count as u64,
            Differing::Apart(count) => *apart += *count as u64,
        }
        Ok(())
    }

    fn samples(&mut self, thread: &str, samples: &[Vec<Sample>; 2]) -> anyhow::Result<()> {
        let [one, other] = samples;
        let pairs = || one.iter().zip(other);
        let differing = pairs().filter(|(one, other)| one != other).count();
        let at = pairs().take_while(|(one, other)| one == other).count();
        self.traces.push(Trace {
            thread: thread.to_owned(),
            counts: samples.each_ref().map(Vec::len),
            differing: differing + one.len().abs_diff(other.len()),
            first: samples.each_ref().map(|samples| samples.get(at).copied()),
        });
        Ok(())
    }
}

impl GroupedDifferences<'_> {
    /// Prints all that differs, below the names of both.
    pub(super) fn print(&self, names: [&str; 2], out: &mut Output) -> io::Result<()> {
        for (letter, name) in NAMES.into_iter().zip(names) {
            writeln!(out, "{letter}  {}", escaped(name))?;
        }
        if !self.said.is_empty() {
            title("Of the whole", out)?;
            self.said.iter().try_for_each(|said| writeln!(out, "  {}", escaped(said)))?;
        }
        for side in [0, 1] {
            self.print_unmatched(side, out)?;
        }
        self.print_values(out)?;
        self.print_unlisted(out)?;
        self.print_traces(out)?;
        if self.implied > 0 {
            let values = numbers::count(self.implied, "more value differs", "more values differ");
            let why = "because of these, further up or over all threads";
            writeln!(out, "\n{values} {why} (--json lists all)")?;
        }
        Ok(())
    }

    fn print_unmatched(&self, side: usize, out: &mut Output) -> io::Result<()> {
        let name = NAMES.get(side).copied().unwrap_or_default();
        let others = self.others.get(side).map(Vec::as_slice).unwrap_or_default();
        if !others.is_empty() {
            title(&format!("Only in {name}"), out)?;
            others.iter().try_for_each(|what| writeln!(out, "  {}", escaped(what)))?;
        }
        self.print_unmatched_paths(side, name, out)
    }

    fn print_unmatched_paths(&self, side: usize, name: &str, out: &mut Output) -> io::Result<()> {
        let lone = self.lone.iter().filter(|(_, lone)| lone.side == side);
        let lone: Vec<_> = lone.map(|(path, lone)| (*path, lone, lone.spent_words())).collect();
        if !lone.is_empty() {
            title(&format!("Paths only in {name}, with all below them"), out)?;
        }
        let width = lone.iter().map(|(.., spent)| width_of(spent)).max().unwrap_or(0);
        for (path, UnmatchedPath { values, .. }, spent) in lone {
            let values = numbers::count(*values, "value", "values");
            let lead = format!("{values:>VALUES$}  {}  ", pad::left(&spent, width));
            writeln!(out, "{lead}{}", self.path(path, width_of(&lead), out))?;
        }
        Ok(())
    }

    /// Values below their paths; scopes that have the same are told together.
    fn print_values(&self, out: &mut Output) -> io::Result<()> {
        if self.told.is_empty() {
            return Ok(());
        }
        title("Values that differ", out)?;
        writeln!(out, "{:>FIGURE$}  {:>FIGURE$}  {:>8}", NAMES[0], NAMES[1], "change")?;
        let mut rows: BTreeMap<usize, Vec<ValueRow<'_>>> = BTreeMap::new();
        for ((path, measured, _), told) in &self.told {
            let of_path = rows.entry(*path).or_default();
            // Those of one metric follow each other.
            let mut of_metric =
                of_path.iter_mut().rev().take_while(|row| *row.metric == measured.metric);
            match of_metric.find(|row| row.is_same(measured, told)) {
                Some(row) => row.reaches.push(measured.reach.name()),
                None => of_path.push(ValueRow::new(measured, told)),
            }
        }
        for (path, rows) in rows {
            writeln!(out, "{}", self.path(path, 0, out))?;
            rows.iter().try_for_each(|row| row.print(out))?;
        }
        Ok(())
    }

    fn print_unlisted(&self, out: &mut Output) -> io::Result<()> {
        let [values, apart] = self.unlisted;
        if values + apart > 0 {
            title("Instructions that no path leads to", out)?;
        }
        if values > 0 {
            let values = numbers::count(values, "value differs", "values differ");
            writeln!(out, "  {values} (--json lists whose)")?;
        }
        if apart > 0 {
            let apart = numbers::grouped(apart);
            writeln!(out, "  {apart} of them have the same values, but not together")?;
        }
        Ok(())
    }

    fn print_traces(&self, out: &mut Output) -> io::Result<()> {
        if !self.traces.is_empty() {
            title("Samples that differ, and where the first of a thread is", out)?;
        }
        for Trace { thread, counts, differing, first } in &self.traces {
            let [one, other] = counts.map(|count| numbers::grouped(count as u64));
            let differing = numbers::grouped(*differing as u64);
            let thread = escaped(thread);
            writeln!(out, "  {thread}: {differing} differ, of {one} in A and {other} in B")?;
            for (name, sample) in NAMES.into_iter().zip(first) {
                let Some((time, path)) = sample else {
                    writeln!(out, "    {name}  none")?;
                    continue;
                };
                let at = format!("    {name}  at {time} ns in ");
                writeln!(out, "{at}{}", self.path(*path, width_of(&at), out))?;
            }
        }
        Ok(())
    }

    /// A path in what a line has left, where a terminal ends lines.
    fn path(&self, path: usize, taken: usize, out: &Output) -> String {
        let text = self.compared.paths.text(path);
        let text = escaped(&text);
        match out.columns() {
            Some(columns) => fitted(&text, columns.saturating_sub(taken)),
            None => text.into_owned(),
        }
    }
}

/// Values of a path that are told in a line.
struct ValueRow<'a> {
    metric: &'a Rc<str>,
    reaches: Vec<&'static str>,
    told: &'a ThreadDifferences,
}

impl<'a> ValueRow<'a> {
    fn new(measured: &'a MeasuredMetric, told: &'a ThreadDifferences) -> Self {
        Self { metric: &measured.metric, reaches: vec![measured.reach.name()], told }
    }

    fn is_same(&self, measured: &MeasuredMetric, told: &ThreadDifferences) -> bool {
        let key = |told: &ThreadDifferences| (told.values.map(f64::to_bits), told.more);
        *self.metric == measured.metric
            && self.told.value_owner == told.value_owner
            && key(self.told) == key(told)
    }

    fn print(&self, out: &mut Output) -> io::Result<()> {
        let ThreadDifferences { value_owner, values, more } = self.told;
        let ([one, other], change) = (pair(*values), change(*values));
        let (metric, reaches) = (escaped(self.metric), self.reaches.join(", "));
        write!(out, "{one:>FIGURE$}  {other:>FIGURE$}  {change:>8}  {metric} {reaches}: ")?;
        let name = value_owner.to_string();
        write!(out, "{}", escaped(&name))?;
        match more {
            0 => writeln!(out),
            more => writeln!(out, ", and {}", numbers::count(*more, "more thread", "more threads")),
        }
    }
}

fn title(text: &str, out: &mut Output) -> io::Result<()> {
    let bold = out.paint().style(style::TITLE);
    writeln!(out, "\n{bold}{text}{bold:#}")
}

/// Two values that differ, so that one sees it.
pub(super) fn pair(values: [f64; 2]) -> [String; 2] {
    let shown = values.map(measure::value);
    let [one, other] = shown.each_ref().map(|text| text.replace(',', "").parse::<f64>().ok());
    // The difference may be further back than is shown as a rule.
    if one == other { values.map(|value| value.to_string()) } else { shown }
}

/// By how much of the first the second differs, so that one sees it.
fn change(values: [f64; 2]) -> String {
    match share_of(values) {
        Some(share) if share.abs() < 5e-4 => format!("{:+.0e}%", share * 100.0),
        Some(share) => format!("{:+.1}%", share * 100.0),
        None => String::new(),
    }
}

/// Returns the metrics that one side measures, with their scopes.
fn declared(side: &Side) -> BTreeSet<MeasuredMetric> {
    let of_metric = |metric: Metric| {
        let name = Rc::<str>::from(metric.name);
        let reaches = metric.reaches.into_iter();
        reaches
            .map(move |reach| MeasuredMetric { metric: Rc::clone(&name), reach })
            .collect::<Vec<_>>()
    };
    side.view.metrics().into_iter().flat_map(of_metric).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn that_values_differ_is_seen_however_little_they_do() {
        assert_eq!(pair([2.0, 3.5]), ["2", "3.500"]);
        assert_eq!(pair([2.0, 2.000_000_1]), ["2", "2.0000001"]);
        assert_eq!(pair([1234.25, 1236.75]), ["1,234", "1,237"]);
        assert_eq!(pair([1234.0, 1234.25]), ["1234", "1234.25"]);
        let changes = [[2.0, 3.0], [2.0, 2.000_000_1], [-4.0, -5.0], [0.0, 1.0]].map(change);
        assert_eq!(changes, ["+50.0%", "+5e-6%", "-25.0%", ""]);
    }
}
