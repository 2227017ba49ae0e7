//! Calls inlined in a function as a tree, for finding what stretches of code have in common.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use crate::inlining::Inlined;
use crate::sections::Offset;

/// Calls nested deeper than this count as the one around them.
const DEPTH_MAX: usize = 256;

/// Key that distinguishes inlined calls: the function, and the file and line of the call.
pub(crate) type Call = (Offset, (Option<u64>, u32));

/// A call's index in the tree; nothing is the function itself.
pub(crate) type CallId = Option<u32>;

/// The inlined calls of a function. Copies of one call at one line are one.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    nodes: Vec<Node>,
    /// Addresses and the innermost call that they are in, by address.
    spans: Vec<(u64, u64, u32)>,
}

#[derive(Debug)]
struct Node {
    within: CallId,
    /// 1 for calls of the function itself.
    depth: usize,
    call: Call,
}

impl Calls {
    pub(crate) fn new(all: &[Inlined]) -> Self {
        let mut calls = Self::default();
        let mut known: HashMap<(CallId, Call), u32> = HashMap::new();
        let mut of_inlined: Vec<CallId> = Vec::with_capacity(all.len());
        for inlined in all {
            // Calls stand after those they are inlined in.
            let within = inlined.within.and_then(|at| of_inlined.get(at).copied().flatten());
            if calls.depth(within) >= DEPTH_MAX {
                of_inlined.push(within);
                continue;
            }
            let call = (inlined.at, inlined.call);
            let next = u32::try_from(calls.nodes.len()).unwrap_or(u32::MAX);
            let node = *known.entry((within, call)).or_insert(next);
            if node == next {
                calls.nodes.push(Node { within, depth: calls.depth(within) + 1, call });
            }
            of_inlined.push(Some(node));
        }
        calls.find_spans(all, &of_inlined);
        calls
    }

    /// Goes through the addresses where calls begin and end. The innermost that is open counts.
    fn find_spans(&mut self, all: &[Inlined], of_inlined: &[CallId]) {
        let mut edges: Vec<(u64, bool, usize, u32)> = Vec::new();
        for (inlined, node) in all.iter().zip(of_inlined) {
            let Some(node) = *node else { continue };
            for range in &inlined.ranges {
                let number = edges.len();
                edges.push((range.begin, true, number, node));
                edges.push((range.end, false, number, node));
            }
        }
        edges.sort_unstable_by_key(|(address, ..)| *address);
        let mut open: BTreeSet<(Reverse<usize>, usize, u32)> = BTreeSet::new();
        let mut from = 0;
        for (address, is_begin, number, node) in edges {
            if let Some((.., innermost)) = open.first().filter(|_| from < address) {
                self.spans.push((from, address, *innermost));
            }
            from = address;
            let key = (Reverse(self.depth(Some(node))), number, node);
            if is_begin {
                open.insert(key);
            } else {
                open.remove(&key);
            }
        }
    }

    /// The innermost call that an address is in.
    pub(crate) fn find(&self, address: u64) -> CallId {
        let after = self.spans.partition_point(|(start, ..)| *start <= address);
        let (_, end, call) = self.spans.get(after.checked_sub(1)?)?;
        (address < *end).then_some(*call)
    }

    /// The innermost calls within a stretch of addresses, with the function itself where it has
    /// code of its own there.
    pub(crate) fn calls_in_range(&self, start: u64, end: u64) -> impl Iterator<Item = CallId> {
        let first = self.spans.partition_point(|(_, end, _)| *end <= start);
        let spans = self.spans.get(first..).unwrap_or_default().iter();
        let mut spans = spans.take_while(move |(start, ..)| *start < end).peekable();
        let mut at = start;
        std::iter::from_fn(move || {
            if at >= end {
                return None;
            }
            match spans.peek() {
                Some((start, ..)) if *start > at => {
                    at = *start;
                    Some(None)
                }
                Some((_, until, call)) => {
                    at = *until;
                    spans.next();
                    Some(Some(*call))
                }
                None => {
                    at = end;
                    Some(None)
                }
            }
        })
    }

    /// Returns the number of calls that a call is in, itself counted.
    pub(crate) fn depth(&self, call: CallId) -> usize {
        self.node(call).map_or(0, |node| node.depth)
    }

    /// A call and those around it, from the innermost out.
    fn enclosing_calls(&self, call: CallId) -> impl Iterator<Item = u32> {
        std::iter::successors(call, |call| self.node(Some(*call))?.within)
    }

    /// The call around another that is so deep.
    pub(crate) fn enclosing_call_at(&self, call: CallId, depth: usize) -> CallId {
        self.enclosing_calls(call).find(|call| self.depth(Some(*call)) <= depth)
    }

    /// The innermost call around both of two.
    pub(crate) fn common(&self, one: CallId, other: CallId) -> CallId {
        let depth = self.depth(one).min(self.depth(other));
        let (mut one, mut other) =
            (self.enclosing_call_at(one, depth), self.enclosing_call_at(other, depth));
        while one != other {
            one = self.node(one).and_then(|node| node.within);
            other = self.node(other).and_then(|node| node.within);
        }
        one
    }

    /// Returns a call and those around it, from the outermost in.
    pub(crate) fn path(&self, call: CallId) -> Vec<Call> {
        let nodes = self.enclosing_calls(call).filter_map(|call| self.node(Some(call)));
        let mut path: Vec<Call> = nodes.map(|node| node.call).collect();
        path.reverse();
        path
    }

    /// Returns the description of a call.
    pub(crate) fn call(&self, call: CallId) -> Option<Call> {
        self.node(call).map(|node| node.call)
    }

    fn node(&self, call: CallId) -> Option<&Node> {
        self.nodes.get(usize::try_from(call?).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use gimli::Range;

    use super::*;
    use crate::sections::Home;

    fn inlined(within: Option<usize>, at: usize, line: u32, ranges: &[(u64, u64)]) -> Inlined {
        let ranges = ranges.iter().map(|(begin, end)| Range { begin: *begin, end: *end });
        let (at, call) = (Offset { home: Home::Own, at }, (Some(1), line));
        Inlined { within, ranges: ranges.collect(), at, call }
    }

    #[test]
    fn copies_of_a_call_at_one_line_are_one() {
        let all = [
            inlined(None, 7, 3, &[(10, 20)]),
            inlined(Some(0), 8, 4, &[(12, 14)]),
            inlined(None, 7, 3, &[(30, 40)]),
            inlined(None, 7, 5, &[(50, 60)]),
        ];
        let calls = Calls::new(&all);
        let found = [9, 10, 12, 14, 20, 35, 55].map(|address| calls.find(address));
        assert_eq!(found, [None, Some(0), Some(1), Some(0), None, Some(0), Some(2)]);
        let within: Vec<CallId> = calls.calls_in_range(5, 45).collect();
        assert_eq!(within, [None, Some(0), Some(1), Some(0), None, Some(0), None]);
        assert_eq!(calls.common(Some(1), Some(2)), None);
        assert_eq!(calls.common(Some(1), Some(0)), Some(0));
        assert_eq!(calls.path(Some(1)).len(), 2);
    }

    #[test]
    fn calls_nested_without_end_are_kept_to_a_depth() {
        let all: Vec<Inlined> =
            (0..5000).map(|at: usize| inlined(at.checked_sub(1), at, 1, &[(0, 8)])).collect();
        let calls = Calls::new(&all);
        assert_eq!(calls.depth(calls.find(4)), DEPTH_MAX);
    }
}
