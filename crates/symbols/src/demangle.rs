//! Names as people read them.

/// How names are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Style {
    /// Rust as Rust and C++ as C++.
    #[default]
    Best,
    /// As hpcprof does: Rust of the old kind with its hash, that of the new kind not at all.
    Compat,
}

/// Longer names are left as they are: demangling may make them longer still, many times over.
const NAME_BYTES_MAX: usize = 1 << 16;

/// A name as text, no longer than names may be: many may be the same long one.
pub(crate) fn bounded(name: &[u8]) -> String {
    let name = name.get(..NAME_BYTES_MAX).unwrap_or(name);
    String::from_utf8_lossy(name).into_owned()
}

impl Style {
    pub(crate) fn of(compat: bool) -> Self {
        if compat { Self::Compat } else { Self::Best }
    }

    /// A name as people read it; what is not mangled stays as it is.
    pub(crate) fn demangled(self, name: &str) -> String {
        if name.len() > NAME_BYTES_MAX {
            return name.to_owned();
        }
        let is_known = self == Self::Best || !name.starts_with("_R");
        if let Some(rust) = rustc_demangle::try_demangle(name).ok().filter(|_| is_known) {
            return if self == Self::Best { format!("{rust:#}") } else { rust.to_string() };
        }
        let cpp = name.starts_with("_Z").then(|| cpp_demangle::Symbol::new(name).ok()).flatten();
        let options = cpp_demangle::DemangleOptions::new().no_return_type();
        let cpp = cpp.and_then(|symbol| symbol.demangle_with_options(&options).ok());
        cpp.unwrap_or_else(|| name.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_in_their_language() {
        let rust = "_ZN4core3ptr5write17hb581991f39ddecc6E";
        assert_eq!(Style::Best.demangled(rust), "core::ptr::write");
        assert_eq!(Style::Compat.demangled(rust), "core::ptr::write::hb581991f39ddecc6");
        assert_eq!(Style::Best.demangled("_ZN1a1bEi"), "a::b(int)");
        let template = "_ZN1a1bIiEEvT_";
        assert_eq!(Style::Best.demangled(template), "a::b<int>(int)");
        for plain in ["main", "_Zzz", "", "_RNotRust"] {
            assert_eq!(Style::Best.demangled(plain), plain);
        }
    }
}
