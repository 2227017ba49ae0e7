//! Names as people read them.

use std::fmt::{self, Write};

use crate::cplusplus;

/// Style in which names are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Style {
    /// Rust as Rust and C++ as C++.
    #[default]
    Best,
    /// As hpcprof does: Rust of the old kind with its hash; that of the new kind not at all.
    Compat,
}

/// Longer names are left as they are: demangling may make them longer still, many times over.
const NAME_BYTES_MAX: usize = 1 << 16;

/// Greatest length of a name of Rust.
const TEXT_BYTES_MAX: usize = 1 << 14;

/// A name as text, no longer than names may be: many may be the same long one.
pub(crate) fn bounded(name: &[u8]) -> String {
    let name = name.get(..NAME_BYTES_MAX).unwrap_or(name);
    String::from_utf8_lossy(name).into_owned()
}

impl Style {
    pub(crate) fn from_compat(compat: bool) -> Self {
        if compat { Self::Compat } else { Self::Best }
    }

    /// A name as people read it; what is not mangled stays as it is.
    pub(crate) fn demangled(self, name: &str) -> String {
        if name.len() > NAME_BYTES_MAX {
            return name.to_owned();
        }
        let is_known = self == Self::Best || !name.starts_with("_R");
        if let Some(rust) = rustc_demangle::try_demangle(name).ok().filter(|_| is_known) {
            let mut text = Bounded::default();
            let written = match self {
                Self::Best => write!(text, "{rust:#}"),
                Self::Compat => write!(text, "{rust}"),
            };
            return written.map_or_else(|_| name.to_owned(), |()| text.0);
        }
        cplusplus::demangled(name).unwrap_or_else(|| name.to_owned())
    }
}

/// A text that ends before it is too long: a short name may stand for one without end.
#[derive(Default)]
struct Bounded(String);

impl fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let is_short = self.0.len() + text.len() <= TEXT_BYTES_MAX;
        self.0.push_str(if is_short { text } else { "" });
        if is_short { Ok(()) } else { Err(fmt::Error) }
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
        for plain in ["main", "_Zzz", "", "_RNotRust", "$s4main3FooC3baryySiF"] {
            assert_eq!(Style::Best.demangled(plain), plain);
        }
    }
}
