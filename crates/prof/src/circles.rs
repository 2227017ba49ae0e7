//! Functions that call each other in a circle, found by Tarjan's algorithm.

/// Cycles of functions that call each other.
pub(crate) struct CallCycles {
    states: Vec<State>,
    /// All functions, those of a circle together, each after whoever calls it from outside.
    members: Vec<usize>,
}

/// State of a function in the search for cycles.
#[derive(Clone, Copy, Default)]
struct State {
    /// Number of the step at which it was met, from 1; 0 when it was not.
    met: usize,
    /// The first function met that is known to be in a circle with it.
    low: usize,
    /// The function that its circle was entered by, when that is known.
    first: Option<usize>,
}

impl CallCycles {
    /// Tarjan's algorithm along `calls`, with a stack of its own.
    pub(crate) fn from_calls(calls: &[Vec<(u64, usize)>]) -> Self {
        let mut circles = Self { states: vec![State::default(); calls.len()], members: Vec::new() };
        let (mut open, mut count) = (Vec::new(), 0);
        for start in 0..calls.len() {
            let mut way = vec![(start, 0)];
            while let Some((function, tried)) = way.last_mut() {
                let (function, edge) = (*function, *tried);
                *tried += 1;
                if edge == 0 && !circles.visit(function, &mut count, &mut open) {
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

    /// The function that the circle of a function was entered by; itself where it is in none.
    pub(crate) fn first(&self, function: usize) -> usize {
        self.state(function).first.unwrap_or(function)
    }

    /// All functions, each after whoever calls it, apart from those in a circle with it.
    pub(crate) fn members(&self) -> &[usize] {
        &self.members
    }

    fn state(&self, function: usize) -> State {
        self.states.get(function).copied().unwrap_or_default()
    }

    /// Returns true if it is met for the first time.
    fn visit(&mut self, function: usize, count: &mut usize, open: &mut Vec<usize>) -> bool {
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
            self.members.push(member);
            if member == function {
                break;
            }
        }
    }
}
