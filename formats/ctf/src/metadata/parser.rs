//! The blocks of metadata: trace, env, clock, stream, event; and names for types between them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use kymo_core::bytes::{Endian, ReadError, ReadResult};

use super::Text;
use super::lexer::{Lexer, Word, Words};
use super::scopes::Scopes;
use crate::types::{Clock, Constant, Event, Stream, Trace, Type};

/// Reads all blocks.
pub(super) fn parse(text: &Text) -> ReadResult<Trace> {
    let order = byte_order(text).unwrap_or(Endian::Little);
    let words = Words::new(text);
    let mut parser = Parser { text, words, order, scopes: Scopes::new(), nested: 0 };
    let found = parser.blocks();
    // Where the text is none of the language, it makes no sense to say what belongs there.
    parser.words.failed().map_or(found, Err)?.finish(order)
}

/// The byte order that the trace tells. Types before its block need it too, so it is looked for
/// first.
fn byte_order(text: &Text) -> Option<Endian> {
    let mut lexer = Lexer::new(text);
    let mut words = std::iter::from_fn(|| Some(lexer.token().ok()??.word));
    let mut is_trace = false;
    words.find(|word| {
        let opens = is_trace && *word == Word::Sign("{");
        is_trace = *word == Word::Name("trace");
        opens
    })?;
    words.find(|word| *word == Word::Name("byte_order"))?;
    // After the sign between them.
    let is_big = matches!(words.nth(1)?, Word::Name("be" | "network"));
    Some(if is_big { Endian::Big } else { Endian::Little })
}

/// Blocks as they were read, before streams and events are put together.
#[derive(Debug, Default)]
struct Blocks<'a> {
    has_trace: bool,
    trace: Block<'a>,
    environment: Vec<(String, Constant)>,
    clocks: Vec<(u64, Block<'a>)>,
    streams: Vec<(u64, Block<'a>)>,
    events: Vec<(u64, Block<'a>)>,
}

/// Content of one block. Of several values of one name the last counts.
#[derive(Debug, Default)]
struct Block<'a> {
    constants: Vec<(Cow<'a, str>, Value<'a>)>,
    types: Vec<(Cow<'a, str>, Arc<Type>)>,
}

/// A value that metadata gives, as far as it can be where it is written.
#[derive(Debug, Clone)]
pub(super) enum Value<'a> {
    Number(i128),
    /// A text, or names with points between them.
    Text(Cow<'a, str>),
}

impl Value<'_> {
    fn into_constant(self) -> Constant {
        match self {
            Self::Number(number) => Constant::Number(number),
            Self::Text(text) => Constant::Text(text.into_owned()),
        }
    }
}

impl Block<'_> {
    fn constant(&self, name: &str) -> Option<&Value<'_>> {
        self.constants.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    fn number(&self, name: &str) -> Option<i128> {
        match self.constant(name) {
            Some(Value::Number(number)) => Some(*number),
            _ => None,
        }
    }

    fn id(&self, name: &str) -> u64 {
        self.number(name).and_then(|number| u64::try_from(number).ok()).unwrap_or(0)
    }

    fn text(&self, name: &str) -> Option<&str> {
        match self.constant(name) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    fn layout(&self, name: &str) -> Option<Arc<Type>> {
        let mut types = self.types.iter().rev();
        types.find(|(known, _)| known == name).map(|(_, kind)| Arc::clone(kind))
    }

    fn clock(&self, at: u64) -> ReadResult<Clock> {
        let offset = |name| {
            let why = format!("its {name} has more than 64 bits with the sign");
            let offset = i64::try_from(self.number(name).unwrap_or(0));
            offset.map_err(|_| ReadError::invalid("clock", at, why))
        };
        let offset = (offset("offset_s")?, offset("offset")?);
        let is_true = |text: &str| text.eq_ignore_ascii_case("true");
        let is_absolute = self.text("absolute").is_some_and(is_true)
            || self.number("absolute").is_some_and(|number| number != 0);
        Ok(Clock {
            name: self.text("name").unwrap_or_default().to_owned(),
            frequency: match self.constant("freq") {
                None => 1_000_000_000,
                Some(_) => self.id("freq"),
            },
            offset,
            // Tracers that know it say so by an offset.
            since_epoch: is_absolute || offset != (0, 0),
        })
    }
}

impl Blocks<'_> {
    fn finish(self, byte_order: Endian) -> ReadResult<Trace> {
        let mut streams: BTreeMap<u64, Stream> = BTreeMap::new();
        for (offset, block) in &self.streams {
            streams.insert(
                block.id("id"),
                Stream {
                    packet_context: block.layout("packet.context"),
                    event_header: block.layout("event.header"),
                    event_context: block.layout("event.context"),
                    offset: *offset,
                    ..Stream::default()
                },
            );
        }
        // A trace with one kind of stream may leave out to say so.
        if streams.is_empty() {
            streams.insert(0, Stream::default());
        }
        for (offset, block) in &self.events {
            let stream = streams.get_mut(&block.id("stream_id")).ok_or_else(|| {
                ReadError::invalid("event", *offset, "it is of a stream that is not described")
            })?;
            let event = Event {
                name: block.text("name").unwrap_or_default().to_owned(),
                context: block.layout("context"),
                fields: block.layout("fields"),
                offset: *offset,
            };
            stream.events.insert(block.id("id"), event);
        }
        let clocks = self.clocks.iter().map(|(offset, block)| block.clock(*offset));
        Ok(Trace {
            version: (self.trace.id("major"), self.trace.id("minor")),
            byte_order: Some(byte_order),
            uuid: self.trace.text("uuid").and_then(uuid),
            environment: self.environment,
            clocks: clocks.collect::<ReadResult<_>>()?,
            packet_header: self.trace.layout("packet.header"),
            streams,
        })
    }
}

/// `69861fba-fe44-2b41-b75b-39acaf6930ec`
pub(super) fn uuid(text: &str) -> Option<[u8; 16]> {
    let digits: String = text.chars().filter(|character| *character != '-').collect();
    let number = u128::from_str_radix(&digits, 16).ok().filter(|_| digits.len() == 32)?;
    Some(number.to_be_bytes())
}

/// Goes through the words.
pub(super) struct Parser<'a> {
    text: &'a Text,
    words: Words<'a>,
    /// The byte order of the trace.
    pub(super) order: Endian,
    pub(super) scopes: Scopes,
    /// Blocks we are within.
    pub(super) nested: u32,
}

impl<'a> Parser<'a> {
    fn blocks(&mut self) -> ReadResult<Blocks<'a>> {
        let mut blocks = Blocks::default();
        while self.peek().is_some() {
            self.declaration(&mut blocks)?;
        }
        if !blocks.has_trace {
            return Err(self.error("it ends, and there was no block `trace`"));
        }
        Ok(blocks)
    }

    /// The word that comes next.
    #[inline]
    pub(super) fn peek(&self) -> Option<&Word<'a>> {
        self.peek_at(0)
    }

    #[inline]
    pub(super) fn peek_at(&self, ahead: usize) -> Option<&Word<'a>> {
        self.words.peek_at(ahead)
    }

    /// Returns the error for the word that comes next.
    pub(super) fn error(&self, why: &'static str) -> ReadError {
        ReadError::invalid("metadata", self.offset(), why)
    }

    fn offset(&self) -> u64 {
        self.text.offset(self.words.position())
    }

    #[inline]
    pub(super) fn advance(&mut self) {
        self.words.advance();
    }

    /// Takes a sign if it comes next.
    #[inline]
    pub(super) fn takes(&mut self, sign: &'static str) -> bool {
        let is_next = self.peek() == Some(&Word::Sign(sign));
        if is_next {
            self.advance();
        }
        is_next
    }

    /// Takes a word of the language if it comes next.
    #[inline]
    pub(super) fn takes_name(&mut self, wanted: &str) -> bool {
        let is_next = self.is_name(wanted);
        if is_next {
            self.advance();
        }
        is_next
    }

    #[inline]
    pub(super) fn is_name(&self, wanted: &str) -> bool {
        matches!(self.peek(), Some(Word::Name(name)) if *name == wanted)
    }

    #[inline]
    pub(super) fn expect(&mut self, sign: &'static str) -> ReadResult<()> {
        if self.takes(sign) { Ok(()) } else { Err(self.error("another sign belongs here")) }
    }

    pub(super) fn name(&mut self) -> ReadResult<&'a str> {
        match self.peek() {
            Some(&Word::Name(name)) => {
                self.advance();
                Ok(name)
            }
            _ => Err(self.error("a name belongs here")),
        }
    }

    /// A number with its sign.
    pub(super) fn number(&mut self) -> ReadResult<i128> {
        let is_negative = self.takes("-");
        let _ = self.takes("+");
        match self.peek() {
            Some(&Word::Number(number)) => {
                self.advance();
                let number = i128::from(number);
                Ok(if is_negative { -number } else { number })
            }
            _ => Err(self.error("a number belongs here")),
        }
    }

    /// Names with points between them.
    pub(super) fn path(&mut self) -> ReadResult<Vec<&'a str>> {
        let mut names = vec![self.name()?];
        while self.takes(".") || self.takes("->") {
            names.push(self.name()?);
        }
        Ok(names)
    }

    /// Names with points between them, as they are written.
    fn dotted(&mut self) -> ReadResult<Cow<'a, str>> {
        let first = self.name()?;
        let mut all = Cow::Borrowed(first);
        while self.takes(".") || self.takes("->") {
            let name = self.name()?;
            let all = all.to_mut();
            all.push('.');
            all.push_str(name);
        }
        Ok(all)
    }

    /// A block, or a type that is given a name.
    fn declaration(&mut self, blocks: &mut Blocks<'a>) -> ReadResult<()> {
        let opens_block = self.peek_at(1) == Some(&Word::Sign("{"));
        let word = match self.peek() {
            Some(Word::Name(name)) if opens_block => name,
            _ => "",
        };
        let offset = self.offset();
        match word {
            "trace" => (blocks.has_trace, blocks.trace) = (true, self.block()?),
            "clock" => {
                let block = self.block()?;
                blocks.clocks.push((offset, block));
            }
            "stream" => {
                let block = self.block()?;
                blocks.streams.push((offset, block));
            }
            "event" => {
                let block = self.block()?;
                blocks.events.push((offset, block));
            }
            "env" => blocks.environment = self.environment()?,
            "callsite" => drop(self.block()?),
            _ => return self.type_declaration(),
        }
        self.expect(";")
    }

    fn environment(&mut self) -> ReadResult<Vec<(String, Constant)>> {
        self.advance();
        self.expect("{")?;
        let mut found = Vec::new();
        while !self.takes("}") {
            let name = match self.peek() {
                Some(Word::Text(name)) => {
                    let name = name.clone();
                    self.advance();
                    name
                }
                _ => self.dotted()?,
            };
            self.expect("=")?;
            found.push((name.into_owned(), self.constant()?.into_constant()));
            self.expect(";")?;
        }
        Ok(found)
    }

    /// A block of names with values and types.
    fn block(&mut self) -> ReadResult<Block<'a>> {
        self.advance();
        self.expect("{")?;
        self.scopes.open();
        let mut block = Block::default();
        while !self.takes("}") {
            if self.begins_declaration() {
                self.type_declaration()?;
                continue;
            }
            let name = self.dotted()?;
            if self.takes(":=") {
                let (kind, _) = self.type_specifier()?;
                block.types.push((name, kind));
            } else {
                self.expect("=")?;
                block.constants.push((name, self.constant()?));
            }
            self.expect(";")?;
        }
        self.scopes.close();
        Ok(block)
    }

    /// The value of an attribute.
    pub(super) fn constant(&mut self) -> ReadResult<Value<'a>> {
        match self.peek() {
            Some(Word::Text(text)) => {
                let mut all = text.clone();
                self.advance();
                // Texts that follow each other are one.
                while let Some(Word::Text(text)) = self.words.peek_at(0) {
                    all.to_mut().push_str(text);
                    self.words.advance();
                }
                Ok(Value::Text(all))
            }
            Some(Word::Name(_)) => self.dotted().map(Value::Text),
            _ => self.number().map(Value::Number),
        }
    }
}
