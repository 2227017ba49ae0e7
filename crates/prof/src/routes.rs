//! The ways that lead from a kernel to a function, by the calls that a structure file tells of.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use kymo_model::structure::{Module, Scope, ScopeId};

use crate::circles::CallCycles;

/// Greatest number of steps that the ways to one function may have together; with more of them it
/// has too many.
const STEPS_MAX: usize = 1 << 16;

/// A way from a kernel to a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Route {
    /// The kernel: a function that no other calls.
    pub(crate) entry: ScopeId,
    /// The addresses of the calls, from the kernel's on.
    pub(crate) calls: Vec<u64>,
}

/// Callers of the functions of a module, without cycles.
#[derive(Debug)]
pub(crate) struct Callers {
    functions: Vec<ScopeId>,
    by_scope: HashMap<ScopeId, usize, RandomState>,
    calls: Calls,
    /// Number of ways that lead to each function.
    counts: Vec<Count>,
}

/// A call: its address, and the function that this is in.
type Call = (u64, usize);

/// Callers of each function.
#[derive(Debug, Default)]
struct Calls {
    /// The circle that each function is in, by one of its members; itself where it is in none.
    circle: Vec<usize>,
    /// The calls of any member of a circle, kept once.
    of_circle: Vec<Vec<Call>>,
    /// The calls of a function alone.
    own: Vec<Vec<Call>>,
}

impl Calls {
    fn callers_of(&self, function: usize) -> [&[Call]; 2] {
        let circle = self.circle.get(function).copied().unwrap_or(function);
        let lists = [self.of_circle.get(circle), self.own.get(function)];
        lists.map(|list| list.map_or(&[][..], Vec::as_slice))
    }

    fn get(&self, function: usize, index: usize) -> Option<Call> {
        let [shared, own] = self.callers_of(function);
        shared.get(index).or_else(|| own.get(index.checked_sub(shared.len())?)).copied()
    }

    fn is_called(&self, function: usize) -> bool {
        self.get(function, 0).is_some()
    }
}

/// Number of ways, and number of their steps together.
#[derive(Debug, Clone, Copy, Default)]
struct Count {
    ways: usize,
    steps: usize,
}

impl Count {
    fn add(&mut self, other: Self) {
        self.ways = self.ways.saturating_add(other.ways);
        self.steps = self.steps.saturating_add(other.steps);
    }

    /// Each way goes one step further.
    fn further(self) -> Self {
        Self { steps: self.steps.saturating_add(self.ways), ..self }
    }
}

impl Callers {
    /// Nothing where it is not told who calls whom, or where a call leads to no function.
    ///
    /// Functions that call each other in a circle are taken as one: calls among them are left out,
    /// and a call of one of them is a call of each. hpcprof takes it as such (`compat`) only where
    /// the one that is called is the first of them that it met.
    pub(crate) fn new(module: &Module, compat: bool) -> Option<Self> {
        let told = module.calls()?;
        let (mut functions, mut by_entry) = (Vec::new(), HashMap::new());
        for (id, scope) in module.scopes() {
            if let Scope::Function { entry, .. } = scope {
                by_entry.entry(*entry).or_insert(functions.len());
                functions.push(id);
            }
        }
        let by_scope: HashMap<_, _, _> = functions.iter().copied().zip(0..).collect();
        let mut told_of = vec![Vec::new(); functions.len()];
        for call in told {
            let called = *by_entry.get(&Some(call.target))?;
            told_of.get_mut(called)?.push((call.at, *by_scope.get(&call.within)?));
        }
        let circles = CallCycles::from_calls(&told_of);
        let calls = opened(told_of, &circles, compat);
        let counts = counted(&calls, circles.members());
        Some(Self { functions, by_scope, calls, counts })
    }

    /// Returns the number of ways that lead to a function, plus the number of calls along them: the
    /// size of all ways to it. Returns `None` where there are too many.
    pub(crate) fn steps(&self, to: ScopeId) -> Option<usize> {
        let count = self.counts.get(*self.by_scope.get(&to)?)?;
        let steps = count.ways.saturating_add(count.steps);
        (steps <= STEPS_MAX).then_some(steps)
    }

    /// All ways to a function, ordered by their last calls; nothing where there are too many.
    pub(crate) fn routes(&self, to: ScopeId) -> Option<Vec<Route>> {
        self.steps(to)?;
        let mut routes = Vec::new();
        // The functions on the way, from the last on, each with how many of its calls were tried.
        let mut way = vec![(*self.by_scope.get(&to)?, 0)];
        let mut calls: Vec<u64> = Vec::new();
        while let Some((function, tried)) = way.last_mut() {
            if !self.calls.is_called(*function) {
                let entry = *self.functions.get(*function)?;
                routes.push(Route { entry, calls: calls.iter().rev().copied().collect() });
            }
            if let Some((at, caller)) = self.calls.get(*function, *tried) {
                *tried += 1;
                calls.push(at);
                way.push((caller, 0));
            } else {
                way.pop();
                calls.pop();
            }
        }
        routes.sort_by(|a, b| a.calls.iter().rev().cmp(b.calls.iter().rev()));
        Some(routes)
    }
}

/// The calls without those in circles, and with those of all members of one.
fn opened(told: Vec<Vec<Call>>, circles: &CallCycles, compat: bool) -> Calls {
    let circle: Vec<_> = (0..told.len()).map(|function| circles.first(function)).collect();
    let first = |function: usize| circle.get(function).copied();
    let (mut of_circle, mut own) = (vec![Vec::new(); told.len()], vec![Vec::new(); told.len()]);
    for (called, calls) in told.into_iter().enumerate() {
        let is_whole = !compat || first(called) == Some(called);
        let shared = first(called).filter(|_| is_whole).and_then(|at| of_circle.get_mut(at));
        let Some(to) = shared.or_else(|| own.get_mut(called)) else {
            debug_assert!(false, "function {called} has no calls");
            continue;
        };
        let from_outside = calls.into_iter().filter(|(_, caller)| first(*caller) != first(called));
        to.extend(from_outside);
    }
    Calls { circle, of_circle, own }
}

/// Counts the ways that lead to each function. Callers come before those they call.
fn counted(calls: &Calls, callers_first: &[usize]) -> Vec<Count> {
    let mut counts = vec![Count::default(); calls.circle.len()];
    // What the calls of a circle come to is added up once.
    let mut of_circle: HashMap<usize, Count> = HashMap::new();
    for &function in callers_first {
        let item = |calls: &[Call]| {
            let mut sum = Count::default();
            for caller in calls.iter().filter_map(|(_, caller)| counts.get(*caller)) {
                sum.add(caller.further());
            }
            sum
        };
        let [shared, own] = calls.callers_of(function);
        let circle = calls.circle.get(function).copied().unwrap_or(function);
        let mut count = *of_circle.entry(circle).or_insert_with(|| item(shared));
        count.add(item(own));
        if !calls.is_called(function) {
            count.ways = 1;
        }
        if let Some(slot) = counts.get_mut(function) {
            *slot = count;
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use kymo_core::bytes::Limits;
    use kymo_model::structure::{Call, ModuleBuilder};

    use super::*;

    /// A module of functions at 0x10, 0x20 and so on, with calls from an address to a function.
    fn module(functions: u64, calls: &[(u64, u64)]) -> (Module, Vec<ScopeId>) {
        let mut builder = ModuleBuilder::new("a", &Limits::default());
        let function = |number: u64| Scope::Function {
            name: number.to_string(),
            link_name: None,
            place: None,
            entry: Some(number * 16),
        };
        let scopes = (1..=functions).map(|number| builder.scope(None, function(number)).unwrap());
        let scopes: Vec<_> = scopes.collect();
        builder.set_calls_complete();
        for (at, target) in calls {
            let within = scopes[usize::try_from(at / 16).unwrap() - 1];
            builder.call(Call { at: *at, within, target: *target }).unwrap();
        }
        (builder.finish(), scopes)
    }

    fn ways(module: &Module, to: ScopeId, compat: bool) -> Vec<Vec<u64>> {
        let routes = Callers::new(module, compat).unwrap().routes(to).unwrap();
        routes.into_iter().map(|route| route.calls).collect()
    }

    #[test]
    fn all_ways_from_functions_that_nobody_calls_are_found() {
        // 1 calls 3 twice, 2 calls 3, and 3 calls 4.
        let calls = [(0x11, 0x30), (0x12, 0x30), (0x21, 0x30), (0x31, 0x40)];
        let (module, scopes) = module(4, &calls);
        let to_last = ways(&module, scopes[3], false);
        assert_eq!(to_last, [[0x11, 0x31], [0x12, 0x31], [0x21, 0x31]]);
        assert_eq!(ways(&module, scopes[0], false), [Vec::<u64>::new()]);
        let routes = Callers::new(&module, false).unwrap().routes(scopes[3]).unwrap();
        let entries: Vec<_> = routes.iter().map(|route| route.entry).collect();
        assert_eq!(entries, [scopes[0], scopes[0], scopes[1]]);
    }

    #[test]
    fn functions_in_a_circle_are_called_by_whoever_calls_one_of_them() {
        // 1 calls 2 and 3; 2, 3 and 4 call each other in a circle; 4 calls 5 and itself.
        let calls = [
            (0x11, 0x20),
            (0x12, 0x30),
            (0x21, 0x30),
            (0x31, 0x40),
            (0x41, 0x20),
            (0x42, 0x50),
            (0x43, 0x40),
        ];
        let (module, scopes) = module(5, &calls);
        for member in [1, 2, 3] {
            assert_eq!(ways(&module, scopes[member], false), [[0x11], [0x12]]);
        }
        assert_eq!(ways(&module, scopes[4], false), [[0x11, 0x42], [0x12, 0x42]]);
        // hpcprof meets 2 first: that 3 is called does not reach 2 and 4.
        assert_eq!(ways(&module, scopes[1], true), [[0x11]]);
        assert_eq!(ways(&module, scopes[2], true), [[0x11], [0x12]]);
        assert_eq!(ways(&module, scopes[3], true), [[0x11]]);
    }

    #[test]
    fn calls_that_lead_nowhere_or_far_too_many_ways_give_nothing() {
        let (nowhere, _) = module(2, &[(0x11, 0x28)]);
        assert!(Callers::new(&nowhere, false).is_none());
        // Each function calls the next one twice: 2^99 ways.
        let calls = (1..100).flat_map(|n| [(16 * n + 1, 16 * n + 16), (16 * n + 2, 16 * n + 16)]);
        let (many, scopes) = module(100, &calls.collect::<Vec<_>>());
        let callers = Callers::new(&many, false).unwrap();
        assert_eq!(callers.routes(scopes[99]), None);
        assert_eq!(callers.routes(scopes[9]).unwrap().len(), 512);
        // 512 ways of nine calls each, and their ends.
        assert_eq!(callers.steps(scopes[9]), Some(512 * 9 + 512));
    }

    #[test]
    fn a_call_into_a_large_circle_is_kept_once() {
        // 1 to 1,000 call each other in a circle, and 1,001 to 2,000 call 1.
        let around = (1..1000).map(|n| (16 * n + 1, 16 * n + 16)).chain([(16_001, 16)]);
        let into = (1001..=2000).map(|n| (16 * n + 1, 16));
        let calls: Vec<_> = around.chain(into).collect();
        let (module, scopes) = module(2000, &calls);
        let callers = Callers::new(&module, false).unwrap();
        let lists = callers.calls.of_circle.iter().chain(&callers.calls.own);
        assert_eq!(lists.map(Vec::len).sum::<usize>(), 1000);
        assert_eq!(callers.routes(scopes[0]).unwrap().len(), 1000);
        assert_eq!(callers.routes(scopes[999]).unwrap().len(), 1000);
    }
}
