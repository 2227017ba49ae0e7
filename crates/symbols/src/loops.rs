//! Loops of functions: found in the machine code, and put among the calls that were inlined.
//!
//! Machine code does not say which function a loop was written in once calls were inlined. All code
//! of a loop has some of the inlined calls in common; the loop belongs to the innermost of them, but
//! not to one further in than the code that decides whether the loop goes on, or than a loop within
//! it. What code of the calls further out is in the loop was moved there by the compiler, and is
//! shown within it.
//!
//! The line of a loop is that of what decides whether it goes on: the smallest in the file of the
//! function, and no larger than that of a loop within it. A loop that nothing ends has the line of
//! its entry. hpcstruct places loops in the same way.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use kymo_model::structure::{Resolved, SourcePlace};

use crate::calls::{Call, CallId, Calls};
use crate::code::{Callee, Code, Extent, Graph, Loops, Returns};
use crate::image::Image;
use crate::limitation::Limitation;

/// Number of times that code without a symbol is added to a function that jumps to it.
const UNNAMED_ROUNDS: usize = 3;

/// Number of times that each byte of code may be looked at.
const LOOKS_MAX: u64 = 8;

/// A function that has more loops than this has none.
const LOOPS_MAX: u64 = 1 << 16;

/// Number of bytes that a loop counts for: finding it takes longer than reading it.
const LOOP_COST: u64 = 256;

/// Number of bytes that may be looked at in any case: of small programs each byte several times,
/// where parts without symbols belong to many functions.
const LOOKS_BYTES_MIN: u64 = 512 << 20;

/// Finds the loops of a module's functions, when an address in them is asked for.
pub(crate) struct Finder<'a> {
    code: &'a Code,
    image: &'a Image,
    returns: Returns<'a>,
    /// By the entry of the function.
    of_symbols: HashMap<u64, Loops>,
    /// Number of bytes of code that may still be looked at. Functions may lie on top of each other.
    left: u64,
    /// True if that was not enough.
    is_spent: bool,
}

impl<'a> Finder<'a> {
    /// Nothing where machine code is not looked into.
    pub(crate) fn new(image: &'a Image) -> Option<Self> {
        let (code, slots) = image.code()?;
        let returns = Returns::new(image.symbols(), slots);
        let left = code.size().saturating_mul(LOOKS_MAX).saturating_add(LOOKS_BYTES_MIN);
        Some(Self { code, image, returns, of_symbols: HashMap::new(), left, is_spent: false })
    }

    /// Returns the reason why less is known than could be.
    pub(crate) fn limitation(&self) -> Option<Limitation> {
        let why = "its functions share more code than is looked at, and some loops were left out";
        self.is_spent.then(|| Limitation::damaged(why))
    }

    /// The loops of a function.
    pub(crate) fn find(&mut self, ranges: Vec<Range<u64>>, entry: u64) -> Loops {
        let graph = self.graph(ranges, entry);
        self.loops(graph)
    }

    fn loops(&mut self, graph: Option<Graph>) -> Loops {
        let loops = graph.map(|graph| Loops::from_graph(&graph)).unwrap_or_default();
        let count = loops.all.len() as u64;
        self.left = self.left.saturating_sub(count.saturating_mul(LOOP_COST));
        if count <= LOOPS_MAX { loops } else { Loops::default() }
    }

    fn graph(&mut self, ranges: Vec<Range<u64>>, entry: u64) -> Option<Graph> {
        let Self { code, returns, .. } = self;
        let mut returns = |callee: Callee| returns.may_return(code, callee);
        let extent = Extent::new(ranges)?;
        let left = self.left.checked_sub(extent.bytes());
        self.left = left.unwrap_or(0);
        self.is_spent |= left.is_none();
        left.map(|_| Graph::from_code(code, &extent, entry, &mut returns))
    }

    /// The loops of a function that only a symbol tells of. Where it jumps to code that no symbol
    /// tells of, that is part of it: names of parts that lie apart are often left out.
    fn find_by_symbol(&mut self, mut ranges: Vec<Range<u64>>, entry: u64) -> Loops {
        let mut graph = self.graph(ranges.clone(), entry);
        for _ in 0..UNNAMED_ROUNDS {
            let outside = graph.iter().flat_map(|graph| graph.outside.iter());
            let unnamed: Vec<_> = outside.filter_map(|at| self.image.unnamed(*at)).collect();
            if unnamed.is_empty() {
                break;
            }
            ranges.extend(unnamed);
            graph = self.graph(ranges.clone(), entry);
        }
        self.loops(graph)
    }

    /// Appends the loops around an address in a function without debug information, which has an
    /// entry and ranges of code.
    pub(crate) fn resolve(
        &mut self,
        (entry, ranges): (u64, Vec<Range<u64>>),
        address: u64,
        to: &mut Vec<Resolved>,
    ) {
        if !self.of_symbols.contains_key(&entry) {
            let loops = self.find_by_symbol(ranges, entry);
            self.of_symbols.insert(entry, loops);
        }
        let Some(loops) = self.of_symbols.get(&entry) else { return };
        let around = loops.enclosing_loops(loops.innermost(address));
        let mut around: Vec<usize> = around.filter(|at| !loops.is_part(*at)).collect();
        around.reverse();
        let around = around.into_iter().filter_map(|at| loops.all.get(at));
        to.extend(around.map(|it| Resolved::Loop { at: None, entry: it.entry }));
    }
}

/// Source of information about lines.
pub(crate) trait Lines {
    /// The place of an address.
    fn place_at(&mut self, address: u64) -> Option<SourcePlace>;
    /// The place of a call.
    fn call_place(&mut self, call: Call) -> Option<SourcePlace>;
    /// The file of the function.
    fn file(&mut self) -> Option<String>;
}

/// Loops of a function that have their places.
#[derive(Debug, Default)]
pub(crate) struct PlacedLoops {
    loops: Loops,
    calls: Arc<Calls>,
    /// Of each loop.
    places: Vec<Place>,
}

#[derive(Debug, Clone, Default)]
struct Place {
    /// The call that it is in.
    call: CallId,
    at: Option<SourcePlace>,
    /// True if it is the same loop of the source as the one around it.
    is_part: bool,
}

/// Call or loop around an address within a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EnclosingScope {
    Call(Call),
    Loop { at: Option<SourcePlace>, entry: u64 },
}

impl PlacedLoops {
    pub(crate) fn new(loops: Loops, calls: Arc<Calls>, lines: &mut dyn Lines) -> Self {
        let mut placed = Self { places: vec![Place::default(); loops.all.len()], loops, calls };
        let mut own: Vec<Vec<CallId>> = vec![Vec::new(); placed.places.len()];
        for (start, end, at) in &placed.loops.spans {
            if let Some(own) = own.get_mut(*at) {
                own.extend(placed.calls.calls_in_range(*start, *end));
            }
        }
        let mut inner: Vec<Vec<usize>> = vec![Vec::new(); placed.places.len()];
        // Loops stand after those around them.
        for (at, mut own) in own.into_iter().enumerate().rev() {
            let inner_loops = inner.get_mut(at).map(std::mem::take).unwrap_or_default();
            own.sort_unstable();
            own.dedup();
            placed.place(at, &own, &inner_loops, lines);
            if let Some(parent) = placed.loops.all.get(at).and_then(|it| it.parent)
                && let Some(inner) = inner.get_mut(parent)
            {
                inner.push(at);
            }
        }
        placed
    }

    /// Finds the place of a loop whose inner loops have theirs.
    fn place(&mut self, at: usize, own: &[CallId], inner: &[usize], lines: &mut dyn Lines) {
        let call = self.call_around(at, own, inner);
        let found = self.line(at, call, inner, lines);
        let is_part = |place: &Place| place.call == call && place.at == found && found.is_some();
        let parts: Vec<usize> = inner
            .iter()
            .copied()
            .filter(|inner| self.loops.is_part(*inner))
            .filter(|inner| self.places.get(*inner).is_some_and(is_part))
            .collect();
        for part in parts {
            if let Some(place) = self.places.get_mut(part) {
                place.is_part = true;
            }
        }
        if let Some(place) = self.places.get_mut(at) {
            *place = Place { call, at: found, is_part: false };
        }
    }

    /// The innermost call that all of a loop is in, but for what was moved into it.
    fn call_around(&self, at: usize, own: &[CallId], inner: &[usize]) -> CallId {
        let calls = &self.calls;
        let of_inner = || inner.iter().filter_map(|inner| Some(self.places.get(*inner)?.call));
        let all = || own.iter().copied().chain(of_inner());
        let deepest = all().max_by_key(|call| calls.depth(*call)).flatten();
        let is_around = |call: &CallId| calls.common(*call, deepest) == *call;
        let exits = self.loops.all.get(at).map(|it| it.exits.as_slice()).unwrap_or_default();
        let own_exits = exits.iter().filter(|exit| self.loops.innermost(**exit) == Some(at));
        let ends = own_exits.map(|exit| calls.find(*exit)).chain(of_inner()).filter(is_around);
        let branches =
            all().filter(|call| !is_around(call)).map(|call| calls.common(call, deepest));
        let limits = ends.chain(branches).map(|call| calls.depth(call));
        let depth = limits.min().unwrap_or(usize::MAX);
        calls.enclosing_call_at(deepest, depth)
    }

    /// The place of a loop in the source.
    fn line(
        &self,
        at: usize,
        call: CallId,
        inner: &[usize],
        lines: &mut dyn Lines,
    ) -> Option<SourcePlace> {
        let depth = self.calls.depth(call);
        let it = self.loops.all.get(at)?;
        let (mut exact, mut called) = (Vec::new(), Vec::new());
        for exit in &it.exits {
            let innermost = self.calls.find(*exit);
            if self.calls.depth(innermost) == depth {
                // Line 0 is what the compiler made up.
                exact.extend(lines.place_at(*exit).filter(|(_, line)| *line > 0));
            } else if self.calls.depth(innermost) > depth {
                called.extend(self.call_site(innermost, depth, lines));
            }
        }
        let own_file = lines.file().filter(|_| depth == 0);
        let of_exact = || exact.iter().map(|(file, _)| file);
        let file = own_file
            .as_ref()
            .filter(|own| of_exact().any(|file| file == *own))
            .or_else(|| of_exact().next())
            .or(own_file.as_ref())
            .or_else(|| called.first().map(|(file, _)| file));
        let of_inner = inner.iter().filter_map(|inner| self.places.get(*inner));
        let of_inner = of_inner.filter(|place| place.call == call);
        let of_inner = of_inner.filter_map(|place| place.at.as_ref());
        let all = exact.iter().chain(&called).chain(of_inner);
        let in_file = all.filter(|(path, _)| Some(path) == file);
        let first = in_file.min_by_key(|(_, line)| *line).cloned();
        first.or_else(|| {
            let innermost = self.calls.find(it.entry);
            let is_inner = self.calls.depth(innermost) > depth;
            is_inner
                .then(|| self.call_site(innermost, depth, lines))
                .flatten()
                .or_else(|| lines.place_at(it.entry))
        })
    }

    /// Returns the place of a call, or of the one around it that is just below a depth.
    fn call_site(&self, call: CallId, depth: usize, lines: &mut dyn Lines) -> Option<SourcePlace> {
        let place =
            lines.call_place(self.calls.call(self.calls.enclosing_call_at(call, depth + 1))?);
        place.filter(|(_, line)| *line > 0)
    }

    /// Puts the loops around an address among the calls around it, from the outermost in.
    pub(crate) fn enclosing_scopes(&self, address: u64, calls: Vec<Call>) -> Vec<EnclosingScope> {
        let around = self.loops.enclosing_loops(self.loops.innermost(address));
        let mut loops: Vec<usize> = around.collect();
        loops.reverse();
        let last = loops.last().and_then(|at| self.places.get(*at));
        let path = self.calls.path(last.and_then(|place| place.call));
        let common = path.iter().zip(&calls).take_while(|(one, other)| one == other).count();
        // What was moved into a loop has the calls around the loop around it.
        let is_moved = common == calls.len() && common < path.len();
        let (calls, common) = if is_moved { (path, usize::MAX) } else { (calls, common) };
        let mut found = Vec::new();
        let mut loops = loops.into_iter().filter_map(|at| {
            let place = self.places.get(at).filter(|place| !place.is_part)?;
            let it =
                EnclosingScope::Loop { at: place.at.clone(), entry: self.loops.all.get(at)?.entry };
            Some((self.calls.depth(place.call).min(common), it))
        });
        let mut next = loops.next();
        for (depth, call) in calls.into_iter().enumerate() {
            while let Some((_, it)) = next.take_if(|(level, _)| *level <= depth) {
                found.push(it);
                next = loops.next();
            }
            found.push(EnclosingScope::Call(call));
        }
        found.extend(next.into_iter().chain(loops).map(|(_, it)| it));
        found
    }
}

#[cfg(test)]
mod tests {
    use gimli::Range;

    use super::*;
    use crate::code::Loop;
    use crate::inlining::Inlined;
    use crate::sections::{Home, Offset};

    /// The line of an address is the address, in `a.c`; calls stand in it as well.
    struct Numbered;

    impl Lines for Numbered {
        fn place_at(&mut self, address: u64) -> Option<SourcePlace> {
            Some(("a.c".to_owned(), u32::try_from(address).ok()?))
        }

        fn call_place(&mut self, (_, (_, line)): Call) -> Option<SourcePlace> {
            Some(("a.c".to_owned(), line))
        }

        fn file(&mut self) -> Option<String> {
            Some("a.c".to_owned())
        }
    }

    #[test]
    fn loops_that_are_left_out_are_said() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata");
        let path = folder.join("symbols/plain.elf");
        let bytes = std::fs::read(&path).unwrap().into();
        let search = crate::Search { loops: true, ..crate::Search::default() };
        let limits = kymo_core::bytes::Limits::default();
        let image = Image::open(&path, &bytes, &search, &limits).unwrap();
        let mut finder = Finder::new(&image).unwrap();
        for (address, left, is_said) in [(0x40_0127, 1 << 20, false), (0x40_01e5, 1, true)] {
            finder.left = left;
            let function = image.parts(image.symbol(address).unwrap());
            finder.resolve(function, address, &mut Vec::new());
            assert_eq!(finder.limitation().is_some_and(|lack| lack.is_damaged), is_said);
        }
    }

    const F: Call = (Offset { home: Home::Own, at: 1 }, (Some(1), 5));
    const G: Call = (Offset { home: Home::Own, at: 2 }, (Some(1), 7));

    fn repeat(entry: u64, parent: Option<usize>, exits: &[u64]) -> Loop {
        let depth = u32::from(parent.is_some());
        Loop { entry, parent, depth, is_irreducible: false, exits: exits.to_vec() }
    }

    /// `f` is inlined from `start` to `end`, and `g` in it within 20 to 24.
    fn calls(start: u64, end: u64) -> Calls {
        let inlined = |within, (at, call): Call, begin, end| {
            let ranges = vec![Range { begin, end }];
            Inlined { within, ranges, at, call }
        };
        Calls::new(&[inlined(None, F, start, end), inlined(Some(0), G, 20, 24)])
    }

    fn placed(all: Vec<Loop>, spans: Vec<(u64, u64, usize)>, calls: Calls) -> PlacedLoops {
        PlacedLoops::new(Loops { all, spans }, Arc::new(calls), &mut Numbered)
    }

    fn at(line: u32, entry: u64) -> EnclosingScope {
        EnclosingScope::Loop { at: Some(("a.c".to_owned(), line)), entry }
    }

    #[test]
    fn a_loop_around_an_inlined_call_is_outside_it() {
        let placed = placed(vec![repeat(10, None, &[38])], vec![(10, 40, 0)], calls(12, 30));
        let around = [at(38, 10), EnclosingScope::Call(F), EnclosingScope::Call(G)];
        assert_eq!(placed.enclosing_scopes(22, vec![F, G]), around);
        assert_eq!(placed.enclosing_scopes(35, vec![]), [at(38, 10)]);
        assert_eq!(placed.enclosing_scopes(45, vec![]), []);
    }

    #[test]
    fn a_loop_that_the_inlined_call_decides_on_is_within_it_with_what_was_moved_there() {
        let placed = placed(vec![repeat(10, None, &[28])], vec![(10, 40, 0)], calls(12, 30));
        let around = [EnclosingScope::Call(F), at(28, 10), EnclosingScope::Call(G)];
        assert_eq!(placed.enclosing_scopes(22, vec![F, G]), around);
        assert_eq!(placed.enclosing_scopes(35, vec![]), [EnclosingScope::Call(F), at(28, 10)]);
    }

    #[test]
    fn a_loop_that_ends_in_a_deeper_call_has_the_line_of_that_call() {
        // Code of the function and of two calls in it: the loop is in `f`, and `g` ends it.
        let all = vec![repeat(12, None, &[16, 22])];
        let found = placed(all, vec![(12, 30, 0)], calls(12, 30));
        assert_eq!(found.enclosing_scopes(14, vec![F]), [EnclosingScope::Call(F), at(7, 12)]);
    }

    #[test]
    fn a_loop_is_not_further_in_than_one_within_it_nor_below_it() {
        let all = vec![repeat(10, None, &[26]), repeat(32, Some(0), &[38])];
        let spans = vec![(10, 32, 0), (32, 40, 1)];
        let found = placed(all, spans, calls(12, 30));
        assert_eq!(found.enclosing_scopes(14, vec![F]), [at(5, 10), EnclosingScope::Call(F)]);
        assert_eq!(found.enclosing_scopes(34, vec![]), [at(5, 10), at(38, 32)]);
    }

    #[test]
    fn a_loop_that_nothing_ends_has_the_line_of_its_entry() {
        let found = placed(vec![repeat(10, None, &[])], vec![(10, 12, 0)], Calls::default());
        assert_eq!(found.enclosing_scopes(11, vec![]), [at(10, 10)]);
    }
}
