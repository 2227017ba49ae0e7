//! Types: how they are spelt, and how they get names.

use std::sync::Arc;

use kymo_core::bytes::{Endian, ReadResult};

use super::lexer::{AHEAD, Word};
use super::parser::{Parser, Value};
use super::scopes::Space;
use crate::spec::DEPTH_MAX;
use crate::types::{Coding, Field, Float, Integer, Kind, Label, Length, Path, Roles, Type};

/// The most words of a name of a type: `const unsigned long long int` has five.
const NAME_WORDS_MAX: usize = AHEAD;

/// Name of a type where it is only named.
type Spelling = Option<String>;

impl<'a> Parser<'a> {
    /// Returns true if a type is given a name here, and not an attribute a value.
    pub(super) fn begins_declaration(&self) -> bool {
        ["typealias", "typedef", "struct", "variant", "enum"].iter().any(|word| self.is_name(word))
    }

    /// `typealias … := name;`, `typedef … name;`, or a structure, variant or enumeration.
    pub(super) fn type_declaration(&mut self) -> ReadResult<()> {
        if self.takes_name("typealias") {
            let (kind, _) = self.type_specifier()?;
            let kind = self.abstract_declarator(kind)?;
            self.expect(":=")?;
            let name = self.alias_name()?;
            self.scopes.define(Space::Alias, name, kind);
        } else if self.takes_name("typedef") {
            let (kind, _) = self.type_specifier()?;
            loop {
                let (name, kind) = self.declarator(Arc::clone(&kind))?;
                self.scopes.define(Space::Alias, name.to_owned(), kind);
                if !self.takes(",") {
                    break;
                }
            }
        } else if self.begins_declaration() {
            self.type_specifier()?;
        } else {
            return Err(self.error("a block or a type belongs here"));
        }
        self.expect(";")
    }

    /// A name of several words: `unsigned long`.
    fn alias_name(&mut self) -> ReadResult<String> {
        let mut words = vec![self.name()?];
        loop {
            match self.peek() {
                Some(Word::Name(_)) => words.push(self.name()?),
                Some(Word::Sign("*")) => {
                    self.advance();
                    words.push("*");
                }
                _ => return Ok(words.join(" ")),
            }
        }
    }

    /// A type, and what it is called where it is called anything.
    pub(super) fn type_specifier(&mut self) -> ReadResult<(Arc<Type>, Spelling)> {
        self.nested += 1;
        if self.nested > DEPTH_MAX {
            return Err(self.error("types are nested too deeply"));
        }
        let _ = self.takes_name("const");
        let found = if self.takes_name("struct") {
            (self.structure()?, None)
        } else if self.takes_name("variant") {
            (self.variant()?, None)
        } else if self.takes_name("enum") {
            (self.enumeration()?, None)
        } else if self.takes_name("integer") {
            let integer = self.integer()?;
            (self.made(Kind::Integer(integer), 0)?, None)
        } else if self.takes_name("floating_point") {
            let float = self.float()?;
            (self.made(Kind::Float(float), 0)?, None)
        } else if self.takes_name("string") {
            if self.peek() == Some(&Word::Sign("{")) {
                self.attributes()?;
            }
            (self.made(Kind::Text, 0)?, None)
        } else {
            self.named()?
        };
        self.nested -= 1;
        Ok(found)
    }

    /// A type of one level more than what is nested in it.
    fn made(&self, kind: Kind, nested: u32) -> ReadResult<Arc<Type>> {
        let depth = nested + 1;
        if depth > DEPTH_MAX {
            return Err(self.error("types are nested too deeply"));
        }
        Ok(Arc::new(Type { kind, depth }))
    }

    /// A type by its name. The longest run of words that is one counts: what follows is the
    /// name of a field.
    fn named(&mut self) -> ReadResult<(Arc<Type>, Spelling)> {
        let mut spelt = String::new();
        let mut found = None;
        let mut ahead = 0;
        while ahead < NAME_WORDS_MAX
            && let Some(Word::Name(name)) = self.peek_at(ahead)
        {
            if !spelt.is_empty() {
                spelt.push(' ');
            }
            spelt.push_str(name);
            ahead += 1;
            if let Some(kind) = self.scopes.find(Space::Alias, &spelt) {
                found = Some((kind, spelt.clone(), ahead));
            }
        }
        let (kind, name, words) =
            found.ok_or_else(|| self.error("there is no type of this name"))?;
        for _ in 0..words {
            self.advance();
        }
        Ok((kind, Some(name)))
    }

    fn structure(&mut self) -> ReadResult<Arc<Type>> {
        let name = self.optional_name()?;
        if self.peek() != Some(&Word::Sign("{")) {
            return self.declared_type(Space::Struct, name);
        }
        let fields = self.fields()?;
        let mut align = 1;
        if self.takes_name("align") {
            self.expect("(")?;
            align = self.alignment()?;
            self.expect(")")?;
        }
        let nested = depth_of(&fields);
        let made = self.made(Kind::Struct(align, fields), nested)?;
        self.remember(Space::Struct, name, &made);
        Ok(made)
    }

    fn variant(&mut self) -> ReadResult<Arc<Type>> {
        let name = self.optional_name()?;
        let tag = if self.takes("<") {
            let tag = self.field_path()?;
            self.expect(">")?;
            Some(tag)
        } else {
            None
        };
        if self.peek() != Some(&Word::Sign("{")) {
            let known = self.declared_type(Space::Variant, name)?;
            // A variant may be described once and tagged where it is used.
            return match (&known.kind, tag) {
                (Kind::Variant(_, options), Some(tag)) => {
                    self.made(Kind::Variant(Some(tag), Arc::clone(options)), known.depth - 1)
                }
                _ => Ok(known),
            };
        }
        let options = self.fields()?;
        let nested = depth_of(&options);
        let made = self.made(Kind::Variant(tag, options.into()), nested)?;
        self.remember(Space::Variant, name, &made);
        Ok(made)
    }

    fn enumeration(&mut self) -> ReadResult<Arc<Type>> {
        let name = self.optional_name()?;
        let container = if self.takes(":") { self.type_specifier()?.0 } else { self.int()? };
        if self.peek() != Some(&Word::Sign("{")) {
            return self.declared_type(Space::Enum, name);
        }
        let Kind::Integer(integer) = &container.kind else {
            return Err(self.error("an enumeration is of an integer"));
        };
        let labels = self.labels()?;
        let made = self.made(Kind::Enumeration(integer.clone(), labels.into()), 0)?;
        self.remember(Space::Enum, name, &made);
        Ok(made)
    }

    /// Returns the type of an enumeration that does not give one. It need not be there until it is
    /// used.
    fn int(&mut self) -> ReadResult<Arc<Type>> {
        let known = self.scopes.find(Space::Alias, "int");
        let order = self.order;
        let int = Integer {
            bits: 32,
            align: 8,
            is_signed: true,
            order,
            base: 10,
            is_text: false,
            clock: None,
            coding: Coding::Fixed,
            roles: Roles::default(),
        };
        known.map_or_else(|| self.made(Kind::Integer(int), 0), Ok)
    }

    fn labels(&mut self) -> ReadResult<Vec<Label>> {
        self.expect("{")?;
        let mut labels = Vec::new();
        let mut next = 0;
        while !self.takes("}") {
            let name: Arc<str> = match self.peek() {
                Some(Word::Text(text)) => {
                    let name = (**text).into();
                    self.advance();
                    name
                }
                _ => self.name()?.into(),
            };
            let (mut first, mut last) = (next, next);
            if self.takes("=") {
                first = self.number()?;
                last = if self.takes("...") { self.number()? } else { first };
            }
            if last < first {
                return Err(self.error("a range ends before it begins"));
            }
            next = last + 1;
            labels.push(Label { name, first, last });
            if !self.takes(",") && self.peek() != Some(&Word::Sign("}")) {
                return Err(self.error("a comma belongs here"));
            }
        }
        Ok(labels)
    }

    fn optional_name(&mut self) -> ReadResult<Option<&'a str>> {
        match self.peek() {
            Some(Word::Name(_)) => self.name().map(Some),
            _ => Ok(None),
        }
    }

    fn declared_type(&self, space: Space, name: Option<&str>) -> ReadResult<Arc<Type>> {
        let known = name.and_then(|name| self.scopes.find(space, name));
        known.ok_or_else(|| self.error("there is no type of this name"))
    }

    fn remember(&mut self, space: Space, name: Option<&str>, made: &Arc<Type>) {
        if let Some(name) = name {
            self.scopes.define(space, name.to_owned(), Arc::clone(made));
        }
    }

    /// The fields of a structure, or what a variant may be.
    fn fields(&mut self) -> ReadResult<Vec<Field>> {
        self.expect("{")?;
        self.scopes.open();
        let mut fields = Vec::new();
        while !self.takes("}") {
            if self.is_name("typealias") || self.is_name("typedef") {
                self.type_declaration()?;
                continue;
            }
            let (kind, _) = self.type_specifier()?;
            // A structure that is only described here has no field.
            if self.takes(";") {
                continue;
            }
            loop {
                let (name, kind) = self.declarator(Arc::clone(&kind))?;
                fields.push(Field { name: name.into(), kind });
                if !self.takes(",") {
                    break;
                }
            }
            self.expect(";")?;
        }
        self.scopes.close();
        Ok(fields)
    }

    /// A name, and the lengths of an array behind it.
    fn declarator(&mut self, kind: Arc<Type>) -> ReadResult<(&'a str, Arc<Type>)> {
        while self.takes("*") {}
        let name = self.name()?;
        Ok((name, self.abstract_declarator(kind)?))
    }

    /// The lengths of an array: `[16][n]` is sixteen times as many as `n` says.
    fn abstract_declarator(&mut self, kind: Arc<Type>) -> ReadResult<Arc<Type>> {
        let mut lengths = Vec::new();
        while self.takes("[") {
            lengths.push(match self.peek() {
                Some(Word::Number(_)) => {
                    let number = self.number()?;
                    let number = u64::try_from(number);
                    Length::Fixed(number.map_err(|_| self.error("no array is that long"))?)
                }
                _ => Length::Field(self.field_path()?),
            });
            self.expect("]")?;
        }
        let mut kind = kind;
        for length in lengths.into_iter().rev() {
            let nested = kind.depth;
            kind = self.made(Kind::Array(kind, length, 1), nested)?;
        }
        Ok(kind)
    }

    fn field_path(&mut self) -> ReadResult<Path> {
        let names = self.path()?;
        Ok(names.into_iter().map(Into::into).collect())
    }

    fn alignment(&mut self) -> ReadResult<u64> {
        let number = self.number()?;
        let align = u64::try_from(number).ok().filter(|align| align.is_power_of_two());
        let align = align.filter(|align| *align <= 1 << 16);
        align.ok_or_else(|| self.error("an alignment is a power of two"))
    }

    /// `{ name = value; … }`
    fn attributes(&mut self) -> ReadResult<Vec<(&'a str, Value<'a>)>> {
        self.expect("{")?;
        let mut found = Vec::new();
        while !self.takes("}") {
            let name = self.name()?;
            self.expect("=")?;
            found.push((name, self.constant()?));
            self.expect(";")?;
        }
        Ok(found)
    }

    fn integer(&mut self) -> ReadResult<Integer> {
        let attributes = self.attributes()?;
        let mut integer = Integer {
            bits: 0,
            align: 0,
            is_signed: false,
            order: self.order,
            base: 10,
            is_text: false,
            clock: None,
            coding: Coding::Fixed,
            roles: Roles::default(),
        };
        for (name, value) in attributes {
            match (name, &value) {
                ("size", Value::Number(bits)) => {
                    integer.bits = u32::try_from(*bits).unwrap_or(u32::MAX);
                }
                ("align", Value::Number(align)) => {
                    integer.align = u64::try_from(*align).unwrap_or(u64::MAX);
                }
                ("signed", value) => integer.is_signed = is_true(value),
                ("byte_order", value) => integer.order = self.order_of(value),
                ("base", value) => integer.base = base(value),
                ("encoding", Value::Text(text)) => integer.is_text = is_encoding(text),
                ("map", Value::Text(text)) => {
                    let clock = text.strip_prefix("clock.");
                    let clock = clock.and_then(|clock| clock.strip_suffix(".value"));
                    integer.clock = clock.map(Into::into);
                }
                _ => {}
            }
        }
        if !(1..=64).contains(&integer.bits) {
            return Err(self.error("an integer has 1 to 64 bits"));
        }
        integer.align = self.align_or(integer.align, integer.bits)?;
        Ok(integer)
    }

    fn float(&mut self) -> ReadResult<Float> {
        let attributes = self.attributes()?;
        let number = |wanted: &str| {
            attributes.iter().find_map(|(name, value)| match value {
                Value::Number(number) if *name == wanted => Some(*number),
                _ => None,
            })
        };
        let bits = number("exp_dig").unwrap_or(0) + number("mant_dig").unwrap_or(0);
        if bits != 32 && bits != 64 {
            return Err(self.error("a floating point number has 32 or 64 bits"));
        }
        let order = attributes.iter().find(|(name, _)| *name == "byte_order");
        let align = number("align").map_or(0, |align| u64::try_from(align).unwrap_or(u64::MAX));
        Ok(Float {
            bits: if bits == 64 { 64 } else { 32 },
            align: self.align_or(align, 32)?,
            order: order.map_or(self.order, |(_, value)| self.order_of(value)),
            is_reversed: false,
        })
    }

    /// Returns the alignment of a place: bytes, where the size is one of bytes and none is given.
    fn align_or(&self, align: u64, bits: u32) -> ReadResult<u64> {
        match align {
            0 if bits.is_multiple_of(8) => Ok(8),
            0 => Ok(1),
            align if align.is_power_of_two() && align <= 1 << 16 => Ok(align),
            _ => Err(self.error("an alignment is a power of two")),
        }
    }

    fn order_of(&self, value: &Value<'_>) -> Endian {
        match value {
            Value::Text(text) if text == "be" || text == "network" => Endian::Big,
            Value::Text(text) if text == "le" => Endian::Little,
            _ => self.order,
        }
    }
}

fn depth_of(fields: &[Field]) -> u32 {
    fields.iter().map(|field| field.kind.depth).max().unwrap_or(0)
}

fn is_true(value: &Value<'_>) -> bool {
    match value {
        Value::Number(number) => *number != 0,
        Value::Text(text) => text.eq_ignore_ascii_case("true"),
    }
}

fn is_encoding(text: &str) -> bool {
    text.eq_ignore_ascii_case("utf8") || text.eq_ignore_ascii_case("ascii")
}

fn base(value: &Value<'_>) -> u32 {
    match value {
        Value::Number(2) => 2,
        Value::Number(8) => 8,
        Value::Number(16) => 16,
        Value::Text(text) => match &**text {
            "binary" | "b" => 2,
            "octal" | "oct" | "o" => 8,
            "hexadecimal" | "hex" | "x" | "X" | "p" => 16,
            _ => 10,
        },
        Value::Number(_) => 10,
    }
}
