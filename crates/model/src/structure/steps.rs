//! The contexts around an address, one by one, whatever tells of them: structure or symbols.

use super::{Module, Place, Resolved, Scope, ScopeId, SourcePlace};

/// A path and a line, which is 0 where it is not known.
pub type SourceLine<'a> = (&'a str, u32);

/// One context around an address. Those of one address stand in order, from the function in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<'a> {
    /// A function.
    Function {
        /// Number of the record that describes it: the same function of the module has the same
        /// number.
        record: u64,
        /// The name that a person reads.
        name: &'a str,
        /// Line at which it is defined.
        at: Option<SourceLine<'a>>,
        /// The address of its first instruction, where it is known.
        entry: Option<u64>,
        /// True if the compiler put its code in place of a call, which is the line before it.
        is_inlined: bool,
    },
    /// A loop.
    Loop {
        /// Line at which it begins, if there is information on lines.
        at: Option<SourceLine<'a>>,
        /// The address of its first instruction, where it is known.
        entry: Option<u64>,
    },
    /// A line of source.
    Line {
        /// Place of the line.
        at: SourceLine<'a>,
    },
}

impl Module {
    /// Returns the steps of a scope within the one around it: one context, or the line of a call
    /// that was inlined and the function that was called.
    pub fn steps(&self, id: ScopeId) -> impl Iterator<Item = Step<'_>> {
        let record = u64::from(id.0);
        let source = |at: Place| (self.file(at.file).unwrap_or_default(), at.line);
        let steps = match self.scope(id) {
            Some(Scope::Function { name, place: at, entry, .. }) => {
                let (at, entry) = (at.map(source), *entry);
                [None, Some(Step::Function { record, name, at, entry, is_inlined: false })]
            }
            Some(Scope::Inlined { name, at, call }) => {
                inlined(record, name, at.map(source), call.map(source))
            }
            Some(Scope::Loop { at, entry }) => {
                [None, Some(Step::Loop { at: Some(source(*at)), entry: *entry })]
            }
            Some(Scope::Line { at }) => [None, Some(Step::Line { at: source(*at) })],
            None => [None, None],
        };
        steps.into_iter().flatten()
    }
}

impl Resolved {
    /// The same of what symbols tell.
    pub fn steps(&self) -> impl Iterator<Item = Step<'_>> {
        let steps = match self {
            Self::Function { record, name, at, entry } => {
                let (record, at, entry) = (*record, at.as_ref().map(line), *entry);
                [None, Some(Step::Function { record, name, at, entry, is_inlined: false })]
            }
            Self::Inlined { record, name, at, call } => {
                inlined(*record, name, at.as_ref().map(line), call.as_ref().map(line))
            }
            Self::Loop { at, entry } => {
                [None, Some(Step::Loop { at: at.as_ref().map(line), entry: Some(*entry) })]
            }
            Self::Line { at } => [None, Some(Step::Line { at: line(at) })],
        };
        steps.into_iter().flatten()
    }
}

fn line((path, line): &SourcePlace) -> SourceLine<'_> {
    (path, *line)
}

/// Returns the steps for the line of the call, and for the function that was called there.
fn inlined<'a>(
    record: u64,
    name: &'a str,
    at: Option<SourceLine<'a>>,
    call: Option<SourceLine<'a>>,
) -> [Option<Step<'a>>; 2] {
    let function = Step::Function { record, name, at, entry: None, is_inlined: true };
    [call.map(|at| Step::Line { at }), Some(function)]
}

#[cfg(test)]
mod tests {
    use super::super::ModuleBuilder;
    use super::*;
    use kymo_core::bytes::Limits;

    #[test]
    fn structure_and_symbols_tell_the_same_steps() {
        let mut builder = ModuleBuilder::new("a", &Limits::default());
        let file = builder.file("a.c").unwrap();
        let at = |line| Place { file, line };
        let name = || "f".to_owned();
        let scopes = [
            Scope::Function { name: name(), link_name: None, place: Some(at(1)), entry: Some(16) },
            Scope::Inlined { name: name(), at: None, call: Some(at(2)) },
            Scope::Inlined { name: name(), at: Some(at(6)), call: None },
            Scope::Loop { at: at(3), entry: Some(20) },
            Scope::Line { at: at(4) },
        ];
        let ids = scopes.map(|scope| builder.scope(None, scope).unwrap());
        let module = builder.finish();
        let at = |line| ("a.c".to_owned(), line);
        let resolved = [
            Resolved::Function { record: 0, name: name(), at: Some(at(1)), entry: Some(16) },
            Resolved::Inlined { record: 1, name: name(), at: None, call: Some(at(2)) },
            Resolved::Inlined { record: 2, name: name(), at: Some(at(6)), call: None },
            Resolved::Loop { at: Some(at(3)), entry: 20 },
            Resolved::Line { at: at(4) },
        ];
        let of_structure: Vec<_> = ids.into_iter().flat_map(|id| module.steps(id)).collect();
        let of_symbols: Vec<_> = resolved.iter().flat_map(Resolved::steps).collect();
        assert_eq!(of_structure, of_symbols);
        // The line of the first inlined call is a step of its own.
        assert_eq!(of_structure.len(), 6);
        assert_eq!(of_structure[1], Step::Line { at: ("a.c", 2) });
        assert!(module.steps(ScopeId(9)).next().is_none());
    }
}
