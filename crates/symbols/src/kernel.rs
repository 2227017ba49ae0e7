//! Symbols of a kernel, as the kernel lists them.

use bytes::Bytes;
use kymo_core::model::structure::Resolved;

use crate::lack::Lack;
use crate::{image, xz};

/// Symbols by address; each reaches up to the next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct KernelSymbols {
    symbols: Vec<(u64, String)>,
}

impl KernelSymbols {
    /// Reads a list.
    ///
    /// # Errors
    /// Why there is none, in words that follow its name.
    pub(crate) fn open(mut bytes: Bytes) -> Result<Self, Lack> {
        if xz::is_compressed(&bytes) {
            let expanded = xz::expand(&bytes, image::expanded_max(bytes.len()));
            let damaged = |error| Lack::damaged(format!("it is damaged: {error}"));
            bytes = expanded.map_err(damaged)?.into();
        }
        // One name that is no text spoils no other.
        Self::read(&String::from_utf8_lossy(&bytes))
    }

    /// Lines of an address, a letter, a name and perhaps a module in brackets; only code counts.
    fn read(text: &str) -> Result<Self, Lack> {
        let symbol = |line: &str| {
            let mut words = line.split_whitespace();
            let (address, kind, name) = (words.next()?, words.next()?, words.next()?);
            let address = u64::from_str_radix(address, 16).ok()?;
            let module = words.next().map_or(String::new(), |module| format!(" {module}"));
            matches!(kind, "t" | "T").then(|| (address, format!("{name}{module} [vmlinux]")))
        };
        let mut symbols: Vec<_> = text.lines().filter_map(symbol).collect();
        let count = symbols.len();
        symbols.sort_by_key(|(address, _)| *address);
        symbols.dedup_by_key(|(address, _)| *address);
        match symbols.len() {
            0 => Err(Lack::damaged("it is no list of symbols")),
            // To whom the kernel does not tell its addresses, all are 0.
            1 if count > 1 => Err(Lack::absent("its symbols have no addresses (kptr_restrict)")),
            _ => Ok(Self { symbols }),
        }
    }

    /// Appends the symbol that an address is in.
    pub(crate) fn resolve(&self, address: u64, to: &mut Vec<Resolved>) {
        let after = self.symbols.partition_point(|(start, _)| *start <= address);
        let found = after.checked_sub(1).and_then(|at| self.symbols.get(at));
        to.extend(found.map(|(start, name)| Resolved::Function {
            record: *start,
            name: name.clone(),
            at: None,
            entry: Some(*start),
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_symbol_reaches_up_to_the_next() {
        let text = "ffff00 T do_signal\nffff80 t helper [ext4]\nffff40 D data\nnonsense\n";
        let symbols = KernelSymbols::read(text).unwrap();
        let name = |address| {
            let mut found = Vec::new();
            symbols.resolve(address, &mut found);
            match found.pop() {
                Some(Resolved::Function { name, .. }) => name,
                _ => String::new(),
            }
        };
        assert_eq!(name(0x00ff_feff), "");
        assert_eq!(name(0x00ff_ff7f), "do_signal [vmlinux]");
        assert_eq!(name(0x00ff_ff80), "helper [ext4] [vmlinux]");
    }

    #[test]
    fn a_list_without_addresses_is_none() {
        let lack = |text| KernelSymbols::read(text).unwrap_err();
        assert!(lack("nothing").is_damaged);
        let hidden = lack("0000 T startup_64\n0000 T do_syscall_64\n0000 t ext4_write [ext4]\n");
        assert!(!hidden.is_damaged && hidden.why.contains("no addresses"), "{hidden:?}");
        assert!(KernelSymbols::read("0000 T startup_64\n").is_ok());
    }
}
