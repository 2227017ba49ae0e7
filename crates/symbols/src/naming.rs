//! Names of functions of C++ of which only the last part is told.
//!
//! Compilers tell the mangled name of what other units may call. Of others, such as methods in a
//! namespace without a name, the symbol tells the rest, or what they are in.

use std::collections::HashMap;
use std::sync::Arc;

use gimli::{
    DW_LANG_C_plus_plus, DW_LANG_C_plus_plus_03, DW_LANG_C_plus_plus_11, DW_LANG_C_plus_plus_14,
    DW_LANG_C_plus_plus_17, DW_LANG_C_plus_plus_20, DW_LANG_ObjC_plus_plus, DW_TAG_subprogram,
    DwLang, UnitOffset,
};

use crate::attributes::referred;
use crate::demangle::{Style, bounded};
use crate::elf::Symbol;
use crate::entry_facts::EntryFacts;
use crate::sections::{Offset, Parsed, Sections};
use crate::unit::REFERENCES_MAX;

/// Units whose functions have names that tell what they are in.
const CXX: [DwLang; 7] = [
    DW_LANG_C_plus_plus,
    DW_LANG_C_plus_plus_03,
    DW_LANG_C_plus_plus_11,
    DW_LANG_C_plus_plus_14,
    DW_LANG_C_plus_plus_17,
    DW_LANG_C_plus_plus_20,
    DW_LANG_ObjC_plus_plus,
];

/// Returns true if an entry was made from C++. What units share may not tell what it was made from.
pub(crate) fn is_cxx<'a>(own: &Parsed<'a>, known: &mut Sections<'a>, at: Offset) -> bool {
    let language = match own.offset_in_unit(at) {
        Some(_) => None,
        None => known.unit_at(at).and_then(|(other, _)| other.language()),
    };
    language.or_else(|| own.language()).is_some_and(|language| CXX.contains(&language))
}

/// The name by a symbol, without what tells parts and copies of a function apart.
pub(crate) fn symbol_name(symbol: &Symbol, plain: &str, style: Style) -> Option<String> {
    let whole = symbol.name.split('.').next().unwrap_or_default();
    has_last_part(whole, plain).then(|| style.demangled(whole))
}

/// Returns true if a name may be that of a function of which this is the last part. Where functions
/// of the same code are one, the symbol may be that of another.
fn has_last_part(whole: &str, plain: &str) -> bool {
    let last = plain.split('<').next().unwrap_or_default().trim_start_matches('~');
    // Operators are told by two letters.
    let is_in = || last.starts_with("operator") || whole.contains(&format!("{}{last}", last.len()));
    whole == plain || whole.starts_with("_Z") && is_in()
}

/// Finds the start of the code of each function: by its own entry, and by the one that describes
/// all copies.
pub(crate) fn starts(
    parsed: &Parsed<'_>,
    functions: &[(u64, u64, UnitOffset)],
) -> HashMap<Offset, u64> {
    let mut starts = HashMap::new();
    for (start, _, function) in functions {
        let Some(own) = parsed.offset(*function) else { continue };
        if starts.contains_key(&own) {
            continue;
        }
        starts.insert(own, *start);
        let entry = parsed.unit.entry(*function).ok();
        if let Some(origin) = entry.and_then(|entry| referred(parsed, &entry)) {
            starts.entry(origin).or_insert(*start);
        }
    }
    starts
}

/// A name after those of all that the entry is in.
pub(crate) fn qualified<'a>(
    own: &Arc<Parsed<'a>>,
    known: &mut Sections<'a>,
    mut at: Offset,
    plain: String,
) -> String {
    let mut names = vec![plain];
    for _ in 0..REFERENCES_MAX {
        let (unit, within) = match own.offset_in_unit(at) {
            Some(within) => (Arc::clone(own), within),
            None => match known.unit_at(at) {
                Some(found) => found,
                None => break,
            },
        };
        let scope = unit.scopes(&known.budget).enclosing_scope(within);
        let Some((scope, offset)) = scope.and_then(|it| Some((it, unit.offset(it.at)?))) else {
            break;
        };
        let told = EntryFacts::from_entry(own, known, offset);
        let linkage = told.linkage.filter(|_| scope.tag == DW_TAG_subprogram);
        if let Some(linkage) = linkage {
            names.push(known.style.demangled(&linkage));
            break;
        }
        names.push(told.plain.unwrap_or_else(|| scope.nameless().to_owned()));
        at = told.last;
    }
    names.reverse();
    bounded(names.join("::").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_symbol_of_another_function_tells_no_name() {
        let name = |symbol: &str, plain| {
            let symbol = Symbol { start: 0, end: 16, name: symbol.to_owned() };
            symbol_name(&symbol, plain, Style::Best).unwrap_or_default()
        };
        assert_eq!(name("_ZN12_GLOBAL__N_14Fast3runEi.part.0.cold", "run"), {
            "(anonymous namespace)::Fast::run(int)"
        });
        assert_eq!(
            name("_ZN12_GLOBAL__N_14FastD2Ev", "~Fast"),
            "(anonymous namespace)::Fast::~Fast()"
        );
        assert_eq!(name("_ZZ4mainENKUliE_clEi", "operator()"), {
            "main::{lambda(int)#1}::operator()(int) const"
        });
        assert_eq!(name("_ZL4callIiEiT_", "call<int>"), "call<int>(int)");
        assert_eq!(name("main.cold", "main"), "main");
        for symbol in ["_ZL5rerunv", "rerun", "_start"] {
            assert_eq!(name(symbol, "run"), "", "{symbol}");
        }
    }
}
