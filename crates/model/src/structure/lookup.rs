//! From an address to the scopes around it.

use super::{Module, ScopeId};

impl Module {
    /// The scopes around an address, from the function in; nothing where none is known.
    #[must_use]
    pub fn lookup(&self, address: u64) -> Option<Chain> {
        Some(self.chain(self.innermost(address)?))
    }

    /// The innermost scope at an address.
    #[must_use]
    pub fn innermost(&self, address: u64) -> Option<ScopeId> {
        let after = self.ranges.partition_point(|(range, _)| range.start <= address);
        let (range, scope) = self.ranges.get(after.checked_sub(1)?)?;
        range.contains(&address).then_some(*scope)
    }

    /// A scope and those around it, from the function in.
    #[must_use]
    pub fn chain(&self, innermost: ScopeId) -> Chain {
        // Parents were told first, so this ends.
        let inside_out = std::iter::successors(Some(innermost), |&scope| self.parent(scope));
        Chain { left: inside_out.collect() }
    }
}

/// Scopes around an address, from the function in.
#[derive(Debug, Clone)]
pub struct Chain {
    /// Those still to come, the next one last.
    left: Vec<ScopeId>,
}

impl Iterator for Chain {
    type Item = ScopeId;

    fn next(&mut self) -> Option<ScopeId> {
        self.left.pop()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left.len(), Some(self.left.len()))
    }
}

impl ExactSizeIterator for Chain {}

#[cfg(test)]
mod tests {
    use super::super::{ModuleBuilder, Place, Scope};
    use kymo_core::bytes::Limits;

    #[test]
    fn an_address_has_the_scopes_around_it_from_the_function_in() {
        let mut builder = ModuleBuilder::new("a", &Limits::default());
        let file = builder.file("a.c").unwrap();
        let at = |line| Place { file, line };
        let name = || "f".to_owned();
        let function =
            Scope::Function { name: name(), link_name: None, place: Some(at(1)), entry: Some(16) };
        let function = builder.scope(None, function).unwrap();
        let inlined = Scope::Inlined { name: name(), at: None, call: Some(at(2)) };
        let inlined = builder.scope(Some(function), inlined).unwrap();
        let repeat = Scope::Loop { at: at(3), entry: None };
        let repeat = builder.scope(Some(inlined), repeat).unwrap();
        let line = builder.scope(Some(repeat), Scope::Line { at: at(4) }).unwrap();
        let other = builder.scope(Some(function), Scope::Line { at: at(5) }).unwrap();
        builder.range(line, 16..20).unwrap();
        builder.range(other, 24..28).unwrap();
        let module = builder.finish();
        let chain = |address| module.lookup(address).map(Iterator::collect::<Vec<_>>);
        assert_eq!(chain(19).unwrap(), [function, inlined, repeat, line]);
        assert_eq!(chain(24).unwrap(), [function, other]);
        for outside in [0, 15, 20, 23, 28, u64::MAX] {
            assert_eq!(chain(outside), None, "{outside}");
        }
    }
}
