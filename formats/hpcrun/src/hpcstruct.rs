//! Structure files: XML that says which function, loop and line an address belongs to.
//!
//! The file is read from its first element on: the inline DTD says nothing that is needed.

use std::borrow::Cow;
use std::ops::Range;

use kymo_core::bytes::{Limits, ReadError, ReadErrorKind, ReadResult};
use kymo_core::{Error, Finding, Severity};
use kymo_model::structure::{Call, FileId, Module, ModuleBuilder, Place, Scope, ScopeId};
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;

/// The element that everything is within.
const ROOT: &str = "<HPCToolkitStructure";

/// Greatest depth of elements within each other.
const DEPTH_MAX: usize = 512;

/// The name of an alien that is no call.
const GUARD: &str = "<inline>";

/// The modules of a structure file that are wanted.
#[derive(Debug, Default)]
pub struct StructureFile {
    /// The modules, in the order of the file.
    pub modules: Vec<Module>,
}

impl StructureFile {
    /// Reads the modules that are wanted by their paths.
    ///
    /// # Errors
    /// When not all of it can be read. Nothing of such a file counts: whoever looks up an address in
    /// a module that a file tells of asks nobody else, and of what is missing others may know.
    pub fn read(
        bytes: &[u8],
        limits: &Limits,
        is_wanted: &dyn Fn(&str) -> bool,
    ) -> ReadResult<Self> {
        // Most are sound, which is quicker to find out than to make them so.
        let text = std::str::from_utf8(bytes).map(Cow::Borrowed);
        let text = text.unwrap_or_else(|_| String::from_utf8_lossy(bytes));
        let start = text.find(ROOT).ok_or_else(|| {
            ReadError::invalid("structure file", 0, "there is no element HPCToolkitStructure")
        })?;
        let mut reader = Reader::from_str(text.get(start..).unwrap_or_default());
        let mut document = Document::new(limits, is_wanted, bytes.len() as u64);
        loop {
            document.offset = start as u64 + reader.buffer_position();
            match reader.read_event() {
                Ok(Event::Start(element)) => document.start(&element)?,
                Ok(Event::Empty(element)) => {
                    document.start(&element)?;
                    document.end()?;
                }
                Ok(Event::End(_)) => document.end()?,
                Ok(Event::Eof) => return document.finish(),
                Ok(_) => {}
                Err(error) => return Err(document.invalid("element", error.to_string())),
            }
        }
    }

    /// Says that a file is passed over.
    #[must_use]
    pub fn unreadable(error: &ReadError) -> Finding {
        let finding = Finding::unreadable("structure", error);
        let message = format!("{}: the file is passed over", finding.message);
        Finding { severity: Severity::Warning, message, ..finding }
    }
}

/// Position of the reader in the document.
struct Document<'a> {
    limits: &'a Limits,
    is_wanted: &'a dyn Fn(&str) -> bool,
    offset: u64,
    size: u64,
    open: Vec<Open>,
    module: Option<ModuleBuilder>,
    modules: Vec<Module>,
}

/// An element that has begun and not ended.
#[derive(Clone, Copy, Default)]
struct Open {
    /// The function, and the scope that what is within hangs below.
    function: Option<ScopeId>,
    scope: Option<ScopeId>,
    /// The file that lines are of.
    file: Option<FileId>,
    /// For the outer half of an inlined call: where that call stands.
    call: Option<Place>,
}

impl<'a> Document<'a> {
    fn new(limits: &'a Limits, is_wanted: &'a dyn Fn(&str) -> bool, size: u64) -> Self {
        let (open, modules) = (Vec::new(), Vec::new());
        Self { limits, is_wanted, offset: 0, size, open, module: None, modules }
    }

    fn invalid(&self, what: &'static str, why: impl Into<Cow<'static, str>>) -> ReadError {
        ReadError::invalid(what, self.offset.min(self.size), why)
    }

    fn refused(&self, error: &Error) -> ReadError {
        self.invalid("element", error.to_string())
    }

    fn start(&mut self, element: &BytesStart<'_>) -> ReadResult<()> {
        if self.open.len() >= DEPTH_MAX {
            let limit = DEPTH_MAX as u64;
            let over = ReadErrorKind::OverLimit { found: limit + 1, limit };
            return Err(over.error_at("depth of an element", self.offset.min(self.size)));
        }
        let above = self.open.last().copied();
        let above = above.unwrap_or_default();
        let inside = Open { call: None, ..above };
        let opened = match element.name().as_ref() {
            "LM" => self.load_module(&self.attributes(element)?)?,
            _ if self.module.is_none() => inside,
            "F" => {
                let path = text(self.attributes(element)?.n);
                Open { file: Some(self.file(&path)?), ..inside }
            }
            "P" => self.procedure(&self.attributes(element)?, inside)?,
            "L" => self.repetition(&self.attributes(element)?, inside)?,
            "S" | "C" => self.statement(&self.attributes(element)?, inside)?,
            "A" => self.alien(&self.attributes(element)?, above)?,
            _ => inside,
        };
        self.open.push(opened);
        Ok(())
    }

    /// The attributes of an element, which have to be such.
    fn attributes<'e>(&self, element: &'e BytesStart<'_>) -> ReadResult<Attributes<'e>> {
        Attributes::from_element(element).map_err(|rest| {
            let why = format!("{} is no attribute", kymo_core::shortened(rest.trim_ascii()));
            self.invalid("element", why)
        })
    }

    fn end(&mut self) -> ReadResult<()> {
        if self.open.pop().is_none() {
            return Err(self.invalid("element", "it ends without having begun"));
        }
        // A load module stands directly below the root.
        if self.open.len() == 1 {
            self.modules.extend(self.module.take().map(ModuleBuilder::finish));
        }
        Ok(())
    }

    fn finish(self) -> ReadResult<StructureFile> {
        if self.open.is_empty() {
            return Ok(StructureFile { modules: self.modules });
        }
        Err(self.invalid("element", format!("{} elements do not end", self.open.len())))
    }

    fn load_module(&mut self, attributes: &Attributes<'_>) -> ReadResult<Open> {
        if self.open.len() != 1 {
            return Err(self.invalid("load module", "it is not directly below the root"));
        }
        let path = text(attributes.n);
        let is_wanted = (self.is_wanted)(&path);
        self.module = is_wanted.then(|| ModuleBuilder::new(path, self.limits));
        if let Some(module) = self.module.as_mut().filter(|_| attributes.has_calls == "1") {
            module.set_calls_complete();
        }
        Ok(Open::default())
    }

    fn procedure(&mut self, attributes: &Attributes<'_>, above: Open) -> ReadResult<Open> {
        if above.scope.is_some() {
            return Err(self.invalid("procedure", "it is within another"));
        }
        let line = self.line(attributes)?;
        let entry = self.entry(attributes)?;
        let link_name = text(attributes.ln).into_owned();
        let function = Scope::Function {
            name: text(attributes.n).into_owned(),
            link_name: Some(link_name).filter(|name| !name.is_empty()),
            place: above.file.map(|file| Place { file, line }),
            entry,
        };
        let function = Some(self.scope(None, function)?);
        Ok(Open { function, scope: function, ..above })
    }

    fn repetition(&mut self, attributes: &Attributes<'_>, above: Open) -> ReadResult<Open> {
        let path = text(attributes.f);
        let file = match above.file {
            Some(file) if path.is_empty() => file,
            _ => self.file(&path)?,
        };
        let at = Place { file, line: self.required_line(attributes)? };
        let entry = self.entry(attributes)?;
        let scope = self.scope(above.scope, Scope::Loop { at, entry })?;
        // Lines within the loop are of its file.
        Ok(Open { scope: Some(scope), file: Some(file), ..above })
    }

    fn statement(&mut self, attributes: &Attributes<'_>, above: Open) -> ReadResult<Open> {
        let Some(file) = above.file else {
            return Err(self.invalid("statement", "it is within no file"));
        };
        let at = Place { file, line: self.required_line(attributes)? };
        let line = self.scope(above.scope, Scope::Line { at })?;
        for range in ranges(attributes.v) {
            let range = range.map_err(|part| self.no_range(part))?;
            let module = self.module.as_mut().map(|module| module.range(line, range));
            module.transpose().map_err(|error| self.refused(&error))?;
        }
        if !attributes.t.is_empty() {
            self.call(attributes, above)?;
        }
        Ok(above)
    }

    /// A statement that calls says where that leads. Calls through pointers say nothing.
    fn call(&mut self, attributes: &Attributes<'_>, above: Open) -> ReadResult<()> {
        let why = || format!("{} is no address", kymo_core::shortened(attributes.t));
        let target = address(attributes.t).ok_or_else(|| self.invalid("call", why()))?;
        let (Some(at), Some(within)) = (self.entry(attributes)?, above.function) else {
            return Err(self.invalid("call", "it has no address, or is within no procedure"));
        };
        let module = self.module.as_mut().map(|module| module.call(Call { at, within, target }));
        module.transpose().map(drop).map_err(|error| self.refused(&error))
    }

    /// The outer half of an inlined call says where the call stands; the inner half, directly
    /// within it, is the function that was inlined.
    fn alien(&mut self, attributes: &Attributes<'_>, above: Open) -> ReadResult<Open> {
        let file = self.file(&text(attributes.f))?;
        let at = Place { file, line: self.line(attributes)? };
        let name = text(attributes.n);
        let Some(call) = above.call else {
            // A guard holds lines of another file, and no call.
            let call = (name != GUARD).then_some(at);
            return Ok(Open { file: Some(file), call, ..above });
        };
        let name = name.into_owned();
        let inlined = Scope::Inlined { name, at: Some(at), call: Some(call) };
        let scope = self.scope(above.scope, inlined)?;
        Ok(Open { scope: Some(scope), file: Some(file), call: None, ..above })
    }

    fn file(&mut self, path: &str) -> ReadResult<FileId> {
        let file = self.module.as_mut().map(|module| module.file(path));
        let file = file.transpose().map_err(|error| self.refused(&error))?;
        file.ok_or_else(|| self.invalid("file", "it is within no load module"))
    }

    fn scope(&mut self, parent: Option<ScopeId>, scope: Scope) -> ReadResult<ScopeId> {
        let scope = self.module.as_mut().map(|module| module.scope(parent, scope));
        let scope = scope.transpose().map_err(|error| self.refused(&error))?;
        scope.ok_or_else(|| self.invalid("scope", "it is within no load module"))
    }

    /// A line: nothing is 0, which stands for unknown.
    fn line(&self, attributes: &Attributes<'_>) -> ReadResult<u32> {
        let text = attributes.l;
        if text.is_empty() {
            return Ok(0);
        }
        let why = || format!("{} is no line", kymo_core::shortened(text));
        text.parse().map_err(|_| self.invalid("line", why()))
    }

    /// The line of a loop or a statement, which have one.
    fn required_line(&self, attributes: &Attributes<'_>) -> ReadResult<u32> {
        if attributes.l.is_empty() {
            return Err(self.invalid("line", "there is none"));
        }
        self.line(attributes)
    }

    /// The first address, where one is told.
    fn entry(&self, attributes: &Attributes<'_>) -> ReadResult<Option<u64>> {
        let first = ranges(attributes.v).next().transpose();
        let first = first.map_err(|part| self.no_range(part))?;
        Ok(first.map(|range| range.start))
    }

    fn no_range(&self, part: &str) -> ReadError {
        self.invalid("addresses", format!("{} is no range", kymo_core::shortened(part)))
    }
}

/// The attributes that matter, as they are written; empty where they are not there.
#[derive(Default)]
struct Attributes<'a> {
    n: &'a str,
    ln: &'a str,
    l: &'a str,
    f: &'a str,
    v: &'a str,
    t: &'a str,
    has_calls: &'a str,
}

impl<'a> Attributes<'a> {
    /// Goes through them once: files have hundreds of thousands of elements. What is no attribute
    /// is told.
    fn from_element(element: &'a BytesStart<'_>) -> Result<Self, &'a str> {
        let mut found = Self::default();
        let mut rest = element.attributes_raw();
        while let Some((name, value, after)) = attribute(rest) {
            found.set(name.trim_ascii(), value).ok_or(rest)?;
            rest = after;
        }
        if rest.trim_ascii().is_empty() { Ok(found) } else { Err(rest) }
    }

    /// Nothing where that is no name of an attribute.
    fn set(&mut self, name: &str, value: &'a str) -> Option<()> {
        match name {
            "n" => self.n = value,
            "ln" => self.ln = value,
            "l" => self.l = value,
            "f" => self.f = value,
            "v" => self.v = value,
            "t" => self.t = value,
            "has-calls" => self.has_calls = value,
            "" => return None,
            _ if name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') => {}
            _ => return None,
        }
        Some(())
    }
}

/// The name and the value of the first attribute, and what comes after it.
fn attribute(text: &str) -> Option<(&str, &str, &str)> {
    let (name, quoted) = split(text, b'=')?;
    let quoted = quoted.trim_ascii_start();
    let quote = *quoted.as_bytes().first().filter(|quote| matches!(quote, b'"' | b'\''))?;
    let quoted = quoted.get(1..)?;
    // No value has a bracket or a control character in it: there, another tag begins, or damage.
    let is_end = |byte: u8| byte == quote || byte == b'<' || byte < b' ';
    let end = quoted.bytes().position(is_end)?;
    let after = quoted.get(end..)?.strip_prefix(char::from(quote))?;
    Some((name, quoted.get(..end)?, after))
}

/// Splits a text at a byte into the parts before and after it. A plain loop: texts are short.
fn split(text: &str, at: u8) -> Option<(&str, &str)> {
    let end = text.bytes().position(|byte| byte == at)?;
    Some((text.get(..end)?, text.get(end + 1..)?))
}

/// Returns the text of an attribute.
fn text(raw: &str) -> Cow<'_, str> {
    quick_xml::escape::unescape(raw).unwrap_or(Cow::Borrowed(raw))
}

/// Ranges of addresses, `{[0xA-0xB) [0xC-0xD)}`, or what is none among them.
fn ranges(text: &str) -> impl Iterator<Item = Result<Range<u64>, &str>> {
    let is_between = |byte: u8| matches!(byte, b'{' | b'}' | b' ' | b',');
    let mut rest = text;
    std::iter::from_fn(move || {
        let start = rest.bytes().position(|byte| !is_between(byte))?;
        let part = rest.get(start..)?;
        let end = part.bytes().position(is_between).unwrap_or(part.len());
        rest = part.get(end..)?;
        let part = part.get(..end)?;
        Some(range(part).ok_or(part))
    })
}

/// `[0xA-0xB)`.
fn range(part: &str) -> Option<Range<u64>> {
    let (start, end) = split(part.strip_prefix('[')?.strip_suffix(')')?, b'-')?;
    let range = address(start)?..address(end)?;
    (range.start <= range.end).then_some(range)
}

fn address(text: &str) -> Option<u64> {
    let digits = text.strip_prefix("0x").filter(|digits| (1..=16).contains(&digits.len()))?;
    digits.bytes().try_fold(0, |number, digit| {
        let digit = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            b'A'..=b'F' => digit - b'A' + 10,
            _ => return None,
        };
        Some(number << 4 | u64::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A function of a.c with a line, a loop, a guard, and two calls inlined one in the other.
    const FILE: &str = r#"<?xml version="1.0"?>
<!DOCTYPE HPCToolkitStructure [
<!ELEMENT HPCToolkitStructure (LM)*> <!-- "quotes' and <brackets>, not balanced -->
]>
<HPCToolkitStructure i="0" version="4.9" n="">
<LM i="2" n="/bin/a" has-calls="0" v="{}">
<F i="3" n="a.c">
<P i="4" n="f&lt;int&gt;" ln="_f" l="7" v="{[0x10-0x11)}">
<S i="5" l="8" v="{[0x10-0x14) [0x20-0x24)}"/>
<L i="6" l="9" f="a.c" v="{[0x14-0x15)}"><S i="7" l="10" v="{[0x14-0x18), [0x12-0x13)}"/></L>
<A i="8" l="3" f="b.h" n="&lt;inline&gt;" v="{}"><S i="9" l="4" v="{[0x18-0x1a)}"/></A>
<A i="10" l="11" f="a.c" n="" v="{}"><A i="11" l="1" f="b.h" n="g" v="{}">
<S i="12" l="2" v="{[0x1a-0x1c)}"/>
<A i="13" l="2" f="b.h" n="" v="{}"><A i="14" l="1" f="c.h" n="h" v="{}">
<S i="15" l="5" v="{[0x1c-0x20)}"/></A></A>
</A></A>
</P></F></LM></HPCToolkitStructure>
"#;

    fn read(text: &str) -> ReadResult<StructureFile> {
        StructureFile::read(text.as_bytes(), &Limits::default(), &|_| true)
    }

    /// The scopes around an address in words.
    fn words(module: &Module, address: u64) -> Vec<String> {
        let place = |place: Place| format!("{}:{}", module.file(place.file).unwrap(), place.line);
        let word = |scope| match module.scope(scope).unwrap() {
            Scope::Function { name, place: at, entry, .. } => {
                format!("{name} {} {:x}", place(at.unwrap()), entry.unwrap())
            }
            Scope::Inlined { name, at, call } => {
                format!("{name} {} from {}", place(at.unwrap()), place(call.unwrap()))
            }
            Scope::Loop { at, entry } => format!("loop {} {:x}", place(*at), entry.unwrap()),
            Scope::Line { at } => place(*at),
        };
        module.lookup(address).into_iter().flatten().map(word).collect()
    }

    #[test]
    fn an_address_is_within_functions_loops_lines_and_inlined_calls() {
        let file = read(FILE).unwrap();
        let [module] = &file.modules[..] else { panic!("{:?}", file.modules) };
        assert_eq!(module.path(), "/bin/a");
        let f = "f<int> a.c:7 10";
        assert_eq!(words(module, 0x13), [f, "a.c:8"]);
        assert_eq!(words(module, 0x23), [f, "a.c:8"]);
        assert_eq!(words(module, 0x14), [f, "loop a.c:9 14", "a.c:10"]);
        assert_eq!(words(module, 0x19), [f, "b.h:4"]);
        assert_eq!(words(module, 0x1a), [f, "g b.h:1 from a.c:11", "b.h:2"]);
        let inner = "h c.h:1 from b.h:2";
        assert_eq!(words(module, 0x1f), [f, "g b.h:1 from a.c:11", inner, "c.h:5"]);
        assert!(words(module, 0x24).is_empty());
        // The loop's second range is within the first line's.
        assert_eq!(module.dropped(), 1);
    }

    #[test]
    fn a_module_that_nobody_wants_is_passed_over() {
        let file = StructureFile::read(FILE.as_bytes(), &Limits::default(), &|path| path == "b");
        assert!(file.unwrap().modules.is_empty());
    }

    #[test]
    fn a_file_that_is_cut_is_no_file_wherever_that_is() {
        for end in 0..FILE.len() - 1 {
            let Err(error) = read(&FILE[..end]) else { panic!("cut at {end} it reads as whole") };
            assert!(error.offset <= end as u64);
        }
    }

    #[test]
    fn a_million_elements_within_each_other_are_refused() {
        let deep = "<L l=\"1\">".repeat(1_000_000);
        let text = format!("{ROOT}><LM n=\"a\"><F n=\"a.c\"><P n=\"f\">{deep}");
        assert_eq!(read(&text).unwrap_err().what, "depth of an element");
    }

    #[test]
    fn nonsense_is_said_with_its_place() {
        for (bad, what) in [
            ("<P n=\"f\" l=\"x\"/>", "line"),
            ("<P n=\"f\"><S l=\"1\" v=\"{[10-20)}\"/></P>", "addresses"),
            ("<P n=\"f\"><P n=\"g\"/></P>", "procedure"),
            ("<LM n=\"b\"/>", "load module"),
            ("<P i=\u{fffd}\u{fffd} n=\"f\" l=\"1\"/>", "element"),
            ("<P n=\"f\" v\u{fffd}\"{[0x1-0x2)}\"/>", "element"),
            ("<P n=\"f\" \0\0=\"1\"/>", "element"),
            ("<P n=\"f\0\"/>", "element"),
            ("<P n=\"f\" l/>", "element"),
            ("<P n=\"f\"><L i=\"1\"/></P>", "line"),
            ("<P n=\"f\"><S l=\"1\" v=\"{[0x20-0x10)}\"/></P>", "addresses"),
        ] {
            let text =
                format!("{ROOT}><LM n=\"a\"><F n=\"a.c\">{bad}</F></LM></HPCToolkitStructure>");
            assert_eq!(read(&text).unwrap_err().what, what, "{bad}");
        }
        assert!(read("../../../structs/libc.so.6.hpcstruct").is_err());
    }
}
