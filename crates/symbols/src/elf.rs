//! Symbols by address.

use std::collections::HashMap;
use std::ops::Range;

use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};

use crate::demangle::bounded;
use crate::limitation::Limitation;

/// Greatest number of bytes of all names for each byte of the file.
const NAMES_PER_BYTE: usize = 4;

/// A symbol that has a size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Symbol {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) name: String,
}

/// The symbols of a program, or those that are left of them for linking and those that a program
/// within it has (`.gnu_debugdata`). Of several at one address the first counts. Many may share one
/// long name: all together they are no longer than a file of this size can be taken to tell, and that
/// the others are left out is said.
pub(crate) fn symbols(
    file: &object::File<'_>,
    hidden: Option<&object::File<'_>>,
    file_bytes: usize,
    is_of_gpu: bool,
    lacks: &mut Vec<Limitation>,
) -> Vec<Symbol> {
    let mut left = file_bytes.saturating_mul(NAMES_PER_BYTE).max(1 << 20);
    let mut symbols = Vec::new();
    let start = |symbol: &object::Symbol<'_, '_>| match section_of(file, symbol) {
        Some(section) if is_of_gpu => section.saturating_add(symbol.address()),
        _ => symbol.address(),
    };
    for symbol in file.symbols() {
        symbols.extend(symbol_of(&symbol, start(&symbol), &mut left));
    }
    if symbols.is_empty() {
        for symbol in file.dynamic_symbols() {
            symbols.extend(symbol_of(&symbol, start(&symbol), &mut left));
        }
        for symbol in hidden.iter().flat_map(|hidden| hidden.symbols()) {
            symbols.extend(symbol_of(&symbol, symbol.address(), &mut left));
        }
    }
    if left == 0 {
        lacks.push(Limitation::damaged(
            "its symbols share more than can be read, and some were left out",
        ));
    }
    symbols.sort_by_key(|symbol| symbol.start);
    symbols.dedup_by_key(|symbol| symbol.start);
    symbols
}

/// Programs of GPUs of which each function is in a section of its own that begins at 0: those of
/// NVIDIA and of Intel. Recorders count their addresses from the beginning of the file.
const OF_GPU: [u16; 2] = [object::elf::EM_CUDA.0, INTEL_GPU];

/// `EM_INTELGT`.
const INTEL_GPU: u16 = 205;

/// Position at which files give the machine that they are for.
const MACHINE: std::ops::Range<usize> = 18..20;

/// Returns true if a file is for a GPU whose addresses count from the beginning of the file.
pub(crate) fn is_of_gpu(bytes: &[u8]) -> bool {
    let machine = bytes.get(MACHINE).and_then(|machine| machine.first_chunk());
    machine.is_some_and(|machine| OF_GPU.contains(&u16::from_le_bytes(*machine)))
}

/// Returns the start of the section of a symbol in the file.
fn section_of(file: &object::File<'_>, symbol: &object::Symbol<'_, '_>) -> Option<u64> {
    let section = file.section_by_index(symbol.section_index()?).ok()?;
    section.file_range().map(|(start, _)| start)
}

fn symbol_of<'a>(symbol: &impl ObjectSymbol<'a>, start: u64, left: &mut usize) -> Option<Symbol> {
    let is_code = symbol.kind() == SymbolKind::Text && symbol.is_definition() && symbol.size() > 0;
    if !is_code || *left == 0 {
        return None;
    }
    // Looking for its end takes as long as the name is.
    let name = symbol.name_bytes().unwrap_or_default();
    *left = left.saturating_sub(name.len());
    Some(Symbol { start, end: start.saturating_add(symbol.size()), name: bounded(name) })
}

/// Number of symbols that lie within another, and end before an address, that are passed over to
/// find it.
const WITHIN_MAX: usize = 64;

/// The symbol that an address is in: of several the one that starts last.
pub(crate) fn find(symbols: &[Symbol], address: u64) -> Option<&Symbol> {
    let after = symbols.partition_point(|symbol| symbol.start <= address);
    let before = symbols.get(..after)?.iter().rev();
    before.take(WITHIN_MAX).find(|symbol| address < symbol.end)
}

/// Ending of the names of parts of functions that are seldom run.
const COLD: &str = ".cold";

/// Functions of which a part lies elsewhere under a name of its own.
#[derive(Debug, Default)]
pub(crate) struct FunctionParts {
    /// By the start of either symbol: where both are.
    by_start: HashMap<u64, (Range<u64>, Range<u64>)>,
}

impl FunctionParts {
    pub(crate) fn from_symbols(symbols: &[Symbol]) -> Self {
        let base = |symbol: &Symbol| symbol.name.split_once(COLD).map(|(base, _)| base.to_owned());
        let mut cold: HashMap<String, Vec<&Symbol>> = HashMap::new();
        for symbol in symbols {
            if let Some(base) = base(symbol) {
                cold.entry(base).or_default().push(symbol);
            }
        }
        let mut parts = Self::default();
        // Where several functions have one name, nobody knows whose part it is.
        let mut hot: HashMap<&str, Vec<&Symbol>> = HashMap::new();
        for symbol in symbols.iter().filter(|symbol| cold.contains_key(&symbol.name)) {
            hot.entry(&symbol.name).or_default().push(symbol);
        }
        for (name, functions) in hot {
            let found = cold.get(name).map(Vec::as_slice).unwrap_or_default();
            if let ([function], [part]) = (functions.as_slice(), found) {
                let both = (function.start..function.end, part.start..part.end);
                parts.by_start.insert(function.start, both.clone());
                parts.by_start.insert(part.start, both);
            }
        }
        parts
    }

    /// The entry of the function that a symbol is of, and all its code.
    pub(crate) fn function_of_symbol(&self, symbol: &Symbol) -> (u64, Vec<Range<u64>>) {
        match self.by_start.get(&symbol.start) {
            Some((function, part)) => (function.start, vec![function.clone(), part.clone()]),
            None => (symbol.start, std::iter::once(symbol.start..symbol.end).collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cold_part_belongs_to_the_one_function_of_its_name() {
        let symbol = |start, name: &str| Symbol { start, end: start + 4, name: name.to_owned() };
        let all = [
            symbol(8, "a.cold"),
            symbol(16, "a"),
            symbol(24, "b"),
            symbol(32, "b"),
            symbol(40, "b.cold.7"),
        ];
        let parts = FunctionParts::from_symbols(&all);
        let both = (16, vec![16..20, 8..12]);
        let alone = |start: u64| (start, std::iter::once(start..start + 4).collect());
        let found = all.each_ref().map(|symbol| parts.function_of_symbol(symbol));
        assert_eq!(found, [both.clone(), both, alone(24), alone(32), alone(40)]);
    }

    #[test]
    fn an_address_is_in_the_symbol_that_covers_it() {
        let symbol = |start, end, name: &str| Symbol { start, end, name: name.to_owned() };
        let symbols = [symbol(16, 20, "a"), symbol(24, 32, "b")];
        let name = |address| find(&symbols, address).map(|symbol| symbol.name.as_str());
        assert_eq!(
            [15, 16, 19, 20, 24, 31, 32].map(name),
            [None, Some("a"), Some("a"), None, Some("b"), Some("b"), None]
        );
    }

    /// In assembly one may lie within another.
    #[test]
    fn an_address_after_a_symbol_within_another_is_in_the_outer_one() {
        let symbol = |start, end, name: &str| Symbol { start, end, name: name.to_owned() };
        let symbols = [symbol(16, 32, "outer"), symbol(20, 22, "inner")];
        let name = |address| find(&symbols, address).map(|symbol| symbol.name.as_str());
        let (outer, inner) = (Some("outer"), Some("inner"));
        assert_eq!([16, 20, 21, 22, 31].map(name), [outer, inner, inner, outer, outer]);
        assert_eq!(name(32), None);
    }
}
