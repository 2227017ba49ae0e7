//! The ways that lead from a kernel to a function, by the calls that a structure file tells of.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use kymo_core::model::structure::{Module, Scope, ScopeId};

/// How many steps of the ways to one function are taken; with more of them it has too many.
const STEPS_MAX: usize = 1 << 16;

/// A way from a kernel to a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Route {
    /// The kernel: a function that no other calls.
    pub(crate) entry: ScopeId,
    /// The addresses of the calls, from the kernel's on.
    pub(crate) calls: Vec<u64>,
}

/// Who calls whom in a module, without circles.
#[derive(Debug)]
pub(crate) struct Callers {
    functions: Vec<ScopeId>,
    by_scope: HashMap<ScopeId, usize, RandomState>,
    /// Of each function, the calls of it: their addresses and the functions that these are in.
    calls: Vec<Vec<(u64, usize)>>,
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
        let mut calls = vec![Vec::new(); functions.len()];
        for call in told {
            let called = *by_entry.get(&Some(call.target))?;
            calls.get_mut(called)?.push((call.at, *by_scope.get(&call.within)?));
        }
        let circles = Circles::of(&calls);
        let calls = circles.opened(&calls, compat);
        Some(Self { functions, by_scope, calls })
    }

    /// All ways to a function, ordered by their last calls; nothing where there are too many.
    pub(crate) fn routes(&self, to: ScopeId) -> Option<Vec<Route>> {
        let mut routes = Vec::new();
        // The functions on the way, from the last on, each with how many of its calls were tried.
        let mut way = vec![(*self.by_scope.get(&to)?, 0)];
        let mut calls: Vec<u64> = Vec::new();
        let mut steps = 0;
        while let Some((function, tried)) = way.last_mut() {
            let callers = self.calls.get(*function).map_or(&[][..], Vec::as_slice);
            if callers.is_empty() {
                let entry = *self.functions.get(*function)?;
                routes.push(Route { entry, calls: calls.iter().rev().copied().collect() });
                steps += calls.len();
            }
            steps += 1;
            if steps > STEPS_MAX {
                return None;
            }
            if let Some((at, caller)) = callers.get(*tried) {
                *tried += 1;
                calls.push(*at);
                way.push((*caller, 0));
            } else {
                way.pop();
                calls.pop();
            }
        }
        routes.sort_by(|a, b| a.calls.iter().rev().cmp(b.calls.iter().rev()));
        Some(routes)
    }
}

/// Which functions call each other in a circle.
struct Circles {
    states: Vec<State>,
}

/// What is known of a function on the search for circles.
#[derive(Clone, Copy, Default)]
struct State {
    /// When it was met, from 1; 0 when it was not.
    met: usize,
    /// The first function met that is known to be in a circle with it.
    low: usize,
    /// The function that its circle was entered by, when that is known.
    first: Option<usize>,
}

impl Circles {
    /// Tarjan's algorithm along `calls`, with a stack of its own.
    fn of(calls: &[Vec<(u64, usize)>]) -> Self {
        let mut circles = Self { states: vec![State::default(); calls.len()] };
        let (mut open, mut count) = (Vec::new(), 0);
        for start in 0..calls.len() {
            let mut way = vec![(start, 0)];
            while let Some((function, tried)) = way.last_mut() {
                let (function, edge) = (*function, *tried);
                *tried += 1;
                if edge == 0 && !circles.meet(function, &mut count, &mut open) {
                    way.pop();
                    continue;
                }
                if let Some((_, caller)) = calls.get(function).and_then(|calls| calls.get(edge)) {
                    circles.lower(function, *caller);
                    way.push((*caller, 0));
                    continue;
                }
                way.pop();
                circles.close(function, &mut open);
                if let Some((above, _)) = way.last() {
                    circles.lower(*above, function);
                }
            }
        }
        circles
    }

    fn state(&self, function: usize) -> State {
        self.states.get(function).copied().unwrap_or_default()
    }

    /// Whether it is met for the first time.
    fn meet(&mut self, function: usize, count: &mut usize, open: &mut Vec<usize>) -> bool {
        let Some(state) = self.states.get_mut(function).filter(|state| state.met == 0) else {
            return false;
        };
        *count += 1;
        *state = State { met: *count, low: *count, first: None };
        open.push(function);
        true
    }

    /// Takes over what another function reaches, if that is still open.
    fn lower(&mut self, function: usize, other: usize) {
        let other = self.state(other);
        if let Some(state) = self.states.get_mut(function)
            && other.met != 0
            && other.first.is_none()
        {
            state.low = state.low.min(other.low);
        }
    }

    /// Ends the circle that began with a function, if one did.
    fn close(&mut self, function: usize, open: &mut Vec<usize>) {
        let state = self.state(function);
        if state.low != state.met {
            return;
        }
        while let Some(member) = open.pop() {
            if let Some(state) = self.states.get_mut(member) {
                state.first = Some(function);
            }
            if member == function {
                break;
            }
        }
    }

    /// The calls without those in circles, and with those of all members of one.
    fn opened(&self, calls: &[Vec<(u64, usize)>], compat: bool) -> Vec<Vec<(u64, usize)>> {
        let first = |function: usize| self.state(function).first;
        let mut members: HashMap<_, Vec<usize>> = HashMap::new();
        for function in 0..calls.len() {
            members.entry(first(function)).or_default().push(function);
        }
        let mut opened = vec![Vec::new(); calls.len()];
        for (called, calls) in calls.iter().enumerate() {
            let alone = [called];
            let is_whole = !compat || first(called) == Some(called);
            let circle = members.get(&first(called)).filter(|_| is_whole);
            let circle = circle.map_or(&alone[..], Vec::as_slice);
            for call in calls.iter().filter(|(_, caller)| first(*caller) != first(called)) {
                for member in circle {
                    if let Some(calls) = opened.get_mut(*member) {
                        calls.push(*call);
                    }
                }
            }
        }
        opened
    }
}

#[cfg(test)]
mod tests {
    use kymo_core::bytes::Limits;
    use kymo_core::model::structure::{Call, ModuleBuilder};

    use super::*;

    /// A module of functions at 0x10, 0x20 and so on, with calls from an address to a function.
    fn module(functions: u64, calls: &[(u64, u64)]) -> (Module, Vec<ScopeId>) {
        let mut builder = ModuleBuilder::new("a", &Limits::default());
        let function = |number: u64| Scope::Function {
            name: number.to_string(),
            link_name: None,
            at: None,
            entry: Some(number * 16),
        };
        let scopes = (1..=functions).map(|number| builder.scope(None, function(number)).unwrap());
        let scopes: Vec<_> = scopes.collect();
        builder.tells_calls();
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
    }
}
