//! Symbols by address.

use object::{Object, ObjectSymbol, SymbolKind};

/// A symbol that has a size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Symbol {
    pub(crate) start: u64,
    end: u64,
    pub(crate) name: String,
}

/// The symbols of a program, or those that are left of them for linking. Of several at one address
/// the first counts.
pub(crate) fn symbols(file: &object::File<'_>) -> Vec<Symbol> {
    let mut symbols: Vec<_> = file.symbols().filter_map(|symbol| symbol_of(&symbol)).collect();
    if symbols.is_empty() {
        symbols.extend(file.dynamic_symbols().filter_map(|symbol| symbol_of(&symbol)));
    }
    symbols.sort_by_key(|symbol| symbol.start);
    symbols.dedup_by_key(|symbol| symbol.start);
    symbols
}

fn symbol_of<'a>(symbol: &impl ObjectSymbol<'a>) -> Option<Symbol> {
    let is_code = symbol.kind() == SymbolKind::Text && symbol.is_definition() && symbol.size() > 0;
    let (start, size) = (symbol.address(), symbol.size());
    let name = || String::from_utf8_lossy(symbol.name_bytes().unwrap_or_default()).into_owned();
    is_code.then(|| Symbol { start, end: start.saturating_add(size), name: name() })
}

/// The symbol that an address is in.
pub(crate) fn find(symbols: &[Symbol], address: u64) -> Option<&Symbol> {
    let after = symbols.partition_point(|symbol| symbol.start <= address);
    let symbol = symbols.get(after.checked_sub(1)?)?;
    (address < symbol.end).then_some(symbol)
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
