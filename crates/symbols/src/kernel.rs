//! Symbols of a kernel, as the kernel lists them.

use bytes::Bytes;
use kymo_model::structure::Resolved;

use crate::demangle::Style;
use crate::limitation::Limitation;
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
    pub(crate) fn open(mut bytes: Bytes, style: Style) -> Result<Self, Limitation> {
        if bytes.is_empty() {
            return Err(Limitation::absent("it is empty"));
        }
        if xz::is_compressed(&bytes) {
            let expanded = xz::expand(&bytes, image::expanded_max(bytes.len()));
            let damaged = |error| Limitation::damaged(format!("it is damaged: {error}"));
            bytes = expanded.map_err(damaged)?.into();
        }
        // One name that is no text spoils no other.
        Self::read(&String::from_utf8_lossy(&bytes), style)
    }

    /// Lines of an address, a letter, a name and perhaps a module in brackets; only code counts. Of
    /// several at one address the first does, but what others may take the place of comes last. Those
    /// are none to hpcprof.
    fn read(text: &str, style: Style) -> Result<Self, Limitation> {
        let symbol = |line: &str| {
            let mut words = line.split_whitespace();
            let (address, kind, name) = (words.next()?, words.next()?, words.next()?);
            let address = u64::from_str_radix(address, 16).ok()?;
            let module = words.next().map_or(String::new(), |module| format!(" {module}"));
            let is_weak = matches!(kind, "w" | "W") && style == Style::Best;
            let is_code = is_weak || matches!(kind, "t" | "T");
            is_code.then(|| ((address, is_weak), format!("{name}{module} [vmlinux]")))
        };
        let mut symbols: Vec<_> = text.lines().filter_map(symbol).collect();
        let count = symbols.len();
        symbols.sort_by_key(|(place, _)| *place);
        let mut symbols: Vec<_> =
            symbols.into_iter().map(|((address, _), name)| (address, name)).collect();
        symbols.dedup_by_key(|(address, _)| *address);
        match symbols.len() {
            0 => Err(Limitation::damaged("it is no list of symbols")),
            // To whom the kernel does not tell its addresses, all are 0.
            1 if count > 1 => {
                Err(Limitation::absent("its symbols have no addresses (kptr_restrict)"))
            }
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

    fn name(symbols: &KernelSymbols, address: u64) -> String {
        let mut found = Vec::new();
        symbols.resolve(address, &mut found);
        match found.pop() {
            Some(Resolved::Function { name, .. }) => name,
            _ => String::new(),
        }
    }

    #[test]
    fn a_symbol_reaches_up_to_the_next() {
        let text = "ffff00 T do_signal\nffff80 t helper [ext4]\nffff40 D data\nnonsense\n";
        let symbols = KernelSymbols::read(text, Style::Best).unwrap();
        let name = |address| name(&symbols, address);
        assert_eq!(name(0x00ff_feff), "");
        assert_eq!(name(0x00ff_ff7f), "do_signal [vmlinux]");
        assert_eq!(name(0x00ff_ff80), "helper [ext4] [vmlinux]");
    }

    /// Lines of a kernel: hpcprof takes `abort` for a part of the function before it.
    #[test]
    fn weak_functions_have_their_own_names_but_not_to_hpcprof() {
        let text =
            "10 t bringup.cold\n20 W abort\n30 W sys_alias\n30 T sys_ni\n40 V data\n50 w w\n";
        let names = |style| {
            let symbols = KernelSymbols::read(text, style).unwrap();
            [0x24, 0x34, 0x44, 0x54]
                .map(|address| name(&symbols, address).replace(" [vmlinux]", ""))
        };
        assert_eq!(names(Style::Best), ["abort", "sys_ni", "sys_ni", "w"]);
        assert_eq!(names(Style::Compat), ["bringup.cold", "sys_ni", "sys_ni", "sys_ni"]);
    }

    #[test]
    fn an_empty_list_is_no_damage() {
        let lack =
            |bytes: &'static [u8]| KernelSymbols::open(bytes.into(), Style::Best).unwrap_err();
        assert!(!lack(b"").is_damaged);
        assert!(lack(b"\n").is_damaged);
    }

    #[test]
    fn a_list_without_addresses_is_none() {
        let lack = |text| KernelSymbols::read(text, Style::Best).unwrap_err();
        assert!(lack("nothing").is_damaged);
        let hidden = lack("0000 T startup_64\n0000 T do_syscall_64\n0000 t ext4_write [ext4]\n");
        assert!(!hidden.is_damaged && hidden.why.contains("no addresses"), "{hidden:?}");
        assert!(KernelSymbols::read("0000 T startup_64\n", Style::Best).is_ok());
    }
}
