//! Logical files: functions of an interpreter, such as Python's, that hpcrun numbers as it meets
//! them. An address in one is the number of a function and a line.

use std::collections::HashMap;

use kymo_core::bytes::{Cursor, Endian, ReadError, ReadResult};
use kymo_model::structure::Resolved;

use crate::demangle::{Style, bounded};

/// First bytes of such a file.
const MAGIC: &[u8] = b"HPCLOGICAL";

/// Functions, by their numbers.
#[derive(Debug)]
pub(crate) struct Logical {
    functions: HashMap<u32, Function>,
}

/// A function, or a file without one.
#[derive(Debug)]
struct Function {
    name: String,
    is_mangled: bool,
    file: String,
    line: u32,
}

impl Logical {
    /// Returns true if these are the bytes of a logical file.
    pub(crate) fn is_it(bytes: &[u8]) -> bool {
        bytes.starts_with(MAGIC)
    }

    /// Reads a file. Those of later releases say of each name whether it is mangled; which one it
    /// is only shows by whether all of it makes sense.
    ///
    /// # Errors
    /// Where it is damaged, by either way to read it.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, String> {
        let read = Self::read_as(bytes, false).or_else(|_| Self::read_as(bytes, true));
        read.map_err(|error| format!("it is damaged: {error}"))
    }

    fn read_as(bytes: &[u8], says_mangled: bool) -> ReadResult<Self> {
        let mut from = Cursor::new(bytes, Endian::Big);
        from.skip("magic", MAGIC.len() as u64)?;
        let mut functions = HashMap::new();
        while from.remaining() > 0 {
            let (at, number) = (from.offset(), from.u32("number of a function")?);
            let name = text(&mut from, "name of a function")?;
            let is_mangled = says_mangled && from.u8("whether a name is mangled")? != 0;
            let file = text(&mut from, "file of a function")?;
            let line = from.u32("line of a function")?;
            if name.is_empty() && file.is_empty() {
                return Err(ReadError::invalid("function", at, "has neither name nor file"));
            }
            functions.entry(number).or_insert(Function { name, is_mangled, file, line });
        }
        Ok(Self { functions })
    }

    /// Appends the function and the line that an address stands for.
    pub(crate) fn resolve(&self, style: Style, address: u64, to: &mut Vec<Resolved>) {
        let number = u32::try_from(address >> 32).unwrap_or(0);
        let line = u32::try_from(address & u64::from(u32::MAX)).unwrap_or(0);
        let Some(function) = self.functions.get(&number) else { return };
        let Function { name, is_mangled, file, line: first } = function;
        let has_file = !file.is_empty();
        if !name.is_empty() {
            let shown = if *is_mangled { style.demangled(name) } else { name.clone() };
            let at = has_file.then(|| (file.clone(), *first));
            let (record, entry) = (number.into(), Some(u64::from(number) << 32));
            to.push(Resolved::Function { record, name: shown, at, entry });
        }
        if has_file && (line > 0 || name.is_empty()) {
            to.push(Resolved::Line { at: (file.clone(), line) });
        }
    }
}

fn text(from: &mut Cursor<'_>, what: &'static str) -> ReadResult<String> {
    let length = from.u32(what)?;
    Ok(bounded(from.bytes(what, length.into())?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two functions and a file, as hpcrun writes them, with or without the byte for mangling.
    fn file(mangled: Option<u8>) -> Vec<u8> {
        let mut bytes = b"HPCLOGICAL".to_vec();
        for (number, name, file, line) in
            [(1_u32, "_ZN1a1bEv", "a.py", 7_u32), (2, "<module>", "", 0), (3, "", "c.py", 0)]
        {
            let text = |bytes: &mut Vec<u8>, text: &str| {
                bytes.extend(u32::try_from(text.len()).unwrap().to_be_bytes());
                bytes.extend(text.as_bytes());
            };
            bytes.extend(number.to_be_bytes());
            text(&mut bytes, name);
            bytes.extend(mangled);
            text(&mut bytes, file);
            bytes.extend(line.to_be_bytes());
        }
        bytes
    }

    fn found(logical: &Logical, address: u64) -> Vec<String> {
        let mut found = Vec::new();
        logical.resolve(Style::Best, address, &mut found);
        let words = |scope: &Resolved| match scope {
            Resolved::Function { name, at, .. } => format!("{name} {at:?}"),
            other => format!("{other:?}"),
        };
        found.iter().map(words).collect()
    }

    #[test]
    fn an_address_is_a_function_and_a_line() {
        for (mangled, name) in [(None, "_ZN1a1bEv"), (Some(0), "_ZN1a1bEv"), (Some(1), "a::b()")] {
            let logical = Logical::read(&file(mangled)).unwrap();
            let function = format!("{name} Some((\"a.py\", 7))");
            let line = "Line { at: (\"a.py\", 9) }".to_owned();
            assert_eq!(found(&logical, 1 << 32 | 9), [function.clone(), line]);
            assert_eq!(found(&logical, 1 << 32), [function]);
            assert_eq!(found(&logical, 2 << 32 | 9), ["<module> None"]);
            assert_eq!(found(&logical, 3 << 32 | 4), ["Line { at: (\"c.py\", 4) }"]);
            assert!(found(&logical, 4 << 32).is_empty() && found(&logical, u64::MAX).is_empty());
        }
    }

    #[test]
    fn a_file_that_is_cut_is_damaged() {
        let whole = file(None);
        for end in 11..whole.len() {
            assert!(Logical::read(&whole[..end]).is_err() || end == 39 || end == 63, "{end}");
        }
    }
}
