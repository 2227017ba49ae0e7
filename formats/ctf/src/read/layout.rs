//! Types made ready for decoding: every use of a type is a node of its own, and a field that
//! others depend on has a register that keeps its value.

mod locate;
mod packet_fields;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use foldhash::fast::RandomState;
use kymo_core::bytes::{ReadError, ReadErrorKind, ReadResult};

use super::header::Header;
use super::known::KnownField;
use super::steps::{Step, Steps, steps};
use crate::types::{
    Case, Encoding, Event, Field, Flag, Float, Integer, Kind, Label, Length, Path, Role, Stream,
    Trace, Type,
};

pub(crate) use packet_fields::PacketFields;

/// More uses of types than this are refused: a few lines of metadata can double them again and
/// again.
const NODES_MAX: usize = 1 << 20;

/// More values that others depend on are refused: each stream keeps its own.
const REGISTERS_MAX: u32 = 1 << 14;

type Lookup<K, V> = HashMap<K, V, RandomState>;

/// A use of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NodeId(u32);

impl NodeId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Register in which a value is kept that others depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Register(u32);

impl Register {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A use of a type.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) id: NodeId,
    /// Its name as the metadata has it; array elements have none.
    pub(crate) name: Arc<str>,
    pub(crate) kind: NodeKind,
    /// Alignment of its place, in bits.
    pub(crate) align: u64,
    /// Register in which its value is kept.
    pub(crate) register: Option<Register>,
    /// Registers in which it is kept as well: as the value of one of several fields of which one is
    /// there.
    pub(crate) kept_too: Vec<Register>,
    /// Registers of such fields within it: none of these fields is there before it is decoded.
    pub(crate) forgets: Vec<Register>,
    /// The name, where it is one that says something of tasks.
    pub(crate) known: Option<KnownField>,
    /// Its bits, where they are always as many and nobody depends on one of them.
    pub(crate) fixed_bits: Option<u64>,
    /// True if there is text in it.
    pub(crate) has_text: bool,
    /// True if one beside it has the name that is shown, so that it needs the line before its own.
    keeps_line: bool,
    /// Its number among those beside it that have the same name even so; 0 for the first.
    again: u32,
    /// The bytes of the line before its name, where there is one that is no part of it.
    line: usize,
    /// True if its name has signs that texts have escapes for.
    pub(crate) needs_escapes: bool,
}

impl Node {
    /// Its name as a person knows it.
    pub(crate) fn shown(&self) -> &str {
        self.name.get(self.line..).unwrap_or_default()
    }

    /// Its name among those beside it, and its number where even that is not its own.
    pub(crate) fn key(&self) -> (&str, u32) {
        let name = if self.keeps_line { &self.name } else { self.shown() };
        (name, self.again)
    }

    /// The integer that it is, with or without names for its values.
    pub(super) fn as_integer(&self) -> Option<&Integer> {
        match &self.kind {
            NodeKind::Integer(integer, _) | NodeKind::Enumeration(integer, _) => Some(integer),
            _ => None,
        }
    }

    /// Returns true if an array of it is a text.
    pub(crate) fn is_character(&self) -> bool {
        matches!(self.kind, NodeKind::Integer(Integer { is_text: true, bits: 8, .. }, _))
    }
}

/// Kind of a node.
#[derive(Debug)]
pub(crate) enum NodeKind {
    /// An integer, and the clock that it sets.
    Integer(Integer, Option<usize>),
    Boolean(Integer),
    BitMap(Integer, Arc<[Flag]>),
    Enumeration(Integer, Arc<[Label]>),
    Float(Float),
    Text,
    Wide(Encoding, Option<Count>),
    /// Bytes, and whether they are the UUID of the metadata.
    Blob(Count, bool),
    Array(NodeId, Count),
    Struct(Vec<NodeId>),
    Variant(Register, Vec<Choice>),
    /// All choices are the one that there may be.
    Optional(Register, Vec<Choice>),
}

/// Number of elements of an array.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Count {
    Fixed(u64),
    Kept(Register),
}

impl Count {
    /// Returns the number, where it is always the same.
    pub(super) fn fixed(self) -> Option<u64> {
        match self {
            Self::Fixed(count) => Some(count),
            Self::Kept(_) => None,
        }
    }
}

/// Choice of a variant: its content when its tag is in a range.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Choice {
    pub(crate) first: i128,
    pub(crate) last: i128,
    pub(crate) node: NodeId,
}

/// The layouts of a trace.
#[derive(Debug)]
pub(crate) struct Layouts {
    nodes: Vec<Node>,
    pub(crate) packet_header: Option<NodeId>,
    /// Fields of the header by which packets are understood.
    pub(crate) header_fields: PacketFields,
    streams: Vec<StreamLayout>,
    by_id: Lookup<u64, usize>,
    /// The number after that of the last kind of event.
    pub(crate) kinds: usize,
}

/// The layouts of a kind of stream.
#[derive(Debug)]
pub(crate) struct StreamLayout {
    pub(crate) packet_context: Option<NodeId>,
    /// Fields of their context by which packets are understood.
    pub(crate) packet_fields: PacketFields,
    pub(crate) event_header: Option<NodeId>,
    /// Alignment of the place of every event, in bits.
    pub(crate) header_align: u64,
    /// The header, where it is as tracers write it.
    pub(crate) header: Option<Header>,
    pub(crate) event_context: Option<NodeId>,
    /// Registers in which the id of an event is kept.
    pub(crate) event_id: Vec<Register>,
    pub(crate) events: Vec<EventLayout>,
    /// Positions of the events of small ids, which are nearly all, and of the others.
    small_ids: Vec<Option<u32>>,
    other_ids: Lookup<u64, u32>,
    /// The least id: that of events which do not say which they are.
    pub(crate) first_id: u64,
    /// The clock that its events have their times from.
    pub(crate) clock: Option<usize>,
}

/// Ids below this are found without a search.
const SMALL_IDS: u64 = 1 << 12;

impl StreamLayout {
    /// The kind of an event, by its id.
    #[inline]
    pub(crate) fn event(&self, id: u64) -> Option<&EventLayout> {
        let small = usize::try_from(id).ok().and_then(|id| self.small_ids.get(id));
        let place = match small {
            Some(place) => *place,
            None => self.other_ids.get(&id).copied(),
        };
        self.events.get(place? as usize)
    }

    fn add(&mut self, id: u64, event: EventLayout) {
        let place = u32::try_from(self.events.len()).unwrap_or(u32::MAX);
        self.events.push(event);
        match usize::try_from(id) {
            Ok(small) if id < SMALL_IDS => {
                let length = self.small_ids.len().max(small + 1);
                self.small_ids.resize(length, None);
                if let Some(to) = self.small_ids.get_mut(small) {
                    *to = Some(place);
                }
            }
            _ => drop(self.other_ids.insert(id, place)),
        }
    }
}

/// The layouts of a kind of event.
#[derive(Debug)]
pub(crate) struct EventLayout {
    pub(crate) name: Arc<str>,
    /// Its number among all kinds of all traces.
    pub(crate) kind: usize,
    pub(crate) context: Option<NodeId>,
    pub(crate) fields: Option<NodeId>,
    /// Steps for readers that want no fields, or only the known ones.
    pub(crate) steps: Box<[Step]>,
    /// Fields of contexts whose names others after them have, and what stands before such a name.
    pub(crate) renamed: Box<[(NodeId, &'static str)]>,
    /// True if there are texts that the steps do not come by one by one.
    pub(crate) hides_text: bool,
}

/// Prefix of the name of a field of a context, where a field after it has the same name.
const STREAM_CONTEXT: &str = "stream.event.context.";
const EVENT_CONTEXT: &str = "event.context.";

impl Layouts {
    /// Makes the layouts of all that metadata describes. Kinds of events are counted from a number
    /// on, and clocks are known by the places they have among those of all traces.
    pub(crate) fn new(trace: &Trace, first_kind: usize, clocks: &[usize]) -> ReadResult<Self> {
        let mut builder = Builder::new(trace, clocks);
        let packet_header =
            builder.root(&["trace", "packet", "header"], trace.packet_header.as_ref())?;
        let header_fields = builder.understood(packet_header)?;
        let (mut streams, mut by_id, mut kinds) = (Vec::new(), Lookup::default(), first_kind);
        for (id, stream) in &trace.streams {
            builder.roots.truncate(1);
            let mut layout =
                builder.stream(stream).map_err(|error| metadata_error(stream.offset, error))?;
            for (id, event) in &stream.events {
                builder.roots.truncate(4);
                builder.begin_event();
                let made = builder.event(event);
                let (context, fields) =
                    made.map_err(|error| metadata_error(event.offset, error))?;
                let renamed = builder.renamed(layout.event_context, context, fields);
                let event = EventLayout {
                    name: event.name.as_str().into(),
                    kind: kinds,
                    context,
                    fields,
                    steps: Box::default(),
                    renamed: renamed.into(),
                    hides_text: false,
                };
                layout.add(*id, event);
                kinds += 1;
            }
            by_id.insert(*id, streams.len());
            streams.push(layout);
        }
        let Builder { mut nodes, used, .. } = builder;
        measure(&mut nodes);
        for stream in &mut streams {
            let header = stream.event_header;
            let ids = &stream.event_id;
            stream.header = header.and_then(|id| Header::new(&nodes, id, &used, ids));
            let clocks = [header, stream.packet_context].into_iter().flatten();
            stream.clock = { clocks }.find_map(|root| clock_within(&nodes, root));
            let node = header.and_then(|id| nodes.get(id.index()));
            stream.header_align = node.map_or(1, |node| node.align);
            for event in &mut stream.events {
                let contexts = [stream.event_context, event.context];
                let Steps { steps, hides_text } = steps(&nodes, contexts, event.fields);
                (event.steps, event.hides_text) = (steps, hides_text);
            }
        }
        Ok(Self { nodes, packet_header, header_fields, streams, by_id, kinds })
    }

    /// The place of a kind of stream, by its id.
    pub(crate) fn place(&self, stream: u64) -> Option<usize> {
        self.by_id.get(&stream).copied()
    }

    /// Returns true if something within a node has a name, as it is recorded or as it is shown.
    pub(crate) fn has_name(&self, root: Option<NodeId>, is_it: &dyn Fn(&str) -> bool) -> bool {
        let mut left: Vec<_> = root.into_iter().collect();
        while let Some(node) = left.pop().and_then(|id| self.node(id)) {
            if !node.name.is_empty() && (is_it(&node.name) || is_it(node.shown())) {
                return true;
            }
            match &node.kind {
                NodeKind::Struct(fields) => left.extend(fields),
                NodeKind::Array(element, _) => left.push(*element),
                NodeKind::Variant(_, choices) => {
                    left.extend(choices.iter().map(|choice| choice.node));
                }
                _ => {}
            }
        }
        false
    }

    /// All kinds of streams.
    pub(crate) fn streams(&self) -> impl Iterator<Item = &StreamLayout> {
        self.streams.iter()
    }

    /// A kind of stream, by its place.
    pub(crate) fn stream(&self, place: usize) -> Option<&StreamLayout> {
        self.streams.get(place)
    }

    #[inline]
    pub(crate) fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id.index())
    }
}

/// The first clock that something within a node sets.
fn clock_within(nodes: &[Node], root: NodeId) -> Option<usize> {
    let mut open = vec![root];
    while let Some(id) = open.pop() {
        match nodes.get(id.index()).map(|node| &node.kind) {
            Some(NodeKind::Integer(_, Some(clock))) => return Some(*clock),
            Some(NodeKind::Struct(fields)) => open.extend(fields.iter().rev()),
            Some(NodeKind::Variant(_, choices) | NodeKind::Optional(_, choices)) => {
                open.extend(choices.iter().rev().map(|choice| choice.node));
            }
            _ => {}
        }
    }
    None
}

/// Finds out which nodes always have as many bits, and which have text. What a node is made of comes
/// before it.
fn measure(nodes: &mut [Node]) {
    for at in 0..nodes.len() {
        let (before, rest) = nodes.split_at_mut(at);
        let Some(node) = rest.first_mut() else { return };
        let part = |id: &NodeId| before.get(id.index());
        let has_text = |id: &NodeId| part(id).is_some_and(|part| part.has_text);
        node.has_text = match &node.kind {
            NodeKind::Text | NodeKind::Wide(..) => true,
            NodeKind::Array(element, _) => {
                has_text(element) || part(element).is_some_and(Node::is_character)
            }
            NodeKind::Struct(fields) => fields.iter().any(has_text),
            NodeKind::Variant(_, choices) | NodeKind::Optional(_, choices) => {
                choices.iter().any(|choice| has_text(&choice.node))
            }
            _ => false,
        };
        node.fixed_bits = match &node.kind {
            _ if node.register.is_some() => None,
            NodeKind::Integer(_, Some(_))
            | NodeKind::Text
            | NodeKind::Variant(..)
            | NodeKind::Optional(..)
            | NodeKind::Array(_, Count::Kept(_)) => None,
            NodeKind::Integer(integer, None) | NodeKind::Enumeration(integer, _) => {
                integer.is_plain().then_some(integer.bits.into())
            }
            NodeKind::Boolean(integer) | NodeKind::BitMap(integer, _) => Some(integer.bits.into()),
            NodeKind::Float(float) => Some(float.bits.into()),
            NodeKind::Wide(_, bytes) => {
                bytes.and_then(Count::fixed).and_then(|bytes| bytes.checked_mul(8))
            }
            NodeKind::Blob(bytes, _) => bytes.fixed().and_then(|bytes| bytes.checked_mul(8)),
            NodeKind::Array(element, Count::Fixed(count)) => {
                part(element).and_then(|element| fixed_array(element, *count))
            }
            NodeKind::Struct(fields) => fields.iter().try_fold(0_u64, |end, field| {
                let field = part(field)?;
                aligned(end, field.align)?.checked_add(field.fixed_bits?)
            }),
        };
    }
}

/// The bits of an array. The elements of one that take no room are counted when it is decoded.
fn fixed_array(element: &Node, count: u64) -> Option<u64> {
    let bits = element.fixed_bits.filter(|bits| *bits > 0)?;
    let Some(others) = count.checked_sub(1) else { return Some(0) };
    aligned(bits, element.align)?.checked_mul(others)?.checked_add(bits)
}

/// The next place that an alignment allows, which is a power of two.
pub(super) fn aligned(place: u64, align: u64) -> Option<u64> {
    Some(place.checked_add(align - 1)? & !(align - 1))
}

struct Builder<'a> {
    nodes: Vec<Node>,
    /// Number of registers used by what all events of a stream have, and by the event that is being
    /// made: those of one event are free for the next.
    shared: u32,
    own: u32,
    /// The first node of the event.
    event_start: usize,
    clocks: Lookup<&'a str, usize>,
    /// Nodes that can be referred to so far: the names that lead there, and the node.
    roots: Vec<(&'static [&'static str], Option<NodeId>)>,
    /// Fields of structures by name, of those that were looked into.
    children: Lookup<NodeId, Lookup<Arc<str>, NodeId>>,
    /// The ranges of names of enumerations, by where their labels are.
    ranges: Lookup<usize, Arc<Ranges>>,
    /// The choices of all variants.
    choice_count: usize,
    /// Fields of headers that something besides them depends on.
    used: HashSet<NodeId>,
    is_header: bool,
    /// True if names have a line before them that is no part of them.
    has_lines: bool,
    /// The places of the clocks of the trace among those of all.
    clock_places: Vec<usize>,
    /// The clock that times of packets and headers of events set, where the roles of fields tell.
    default_clock: Option<usize>,
    /// Register for the value of several fields of which one is there.
    groups: Lookup<Vec<NodeId>, Register>,
    /// Number of times that choices were gone through to find such fields.
    gone_through: usize,
}

/// The values that have a name, each from one to another.
type Ranges = Lookup<Arc<str>, Vec<(i128, i128)>>;

/// The structures that are being made, from the outermost to the innermost.
type Before = Vec<Level>;

/// A structure that is being made.
#[derive(Debug, Default)]
struct Level {
    /// The fields before the one that is being made, by name.
    fields: Lookup<Arc<str>, NodeId>,
    /// The name of that one.
    current: Option<Arc<str>>,
}

impl<'a> Builder<'a> {
    fn new(trace: &'a Trace, places: &[usize]) -> Self {
        let mut clocks = Lookup::default();
        for (place, clock) in places.iter().zip(&trace.clocks) {
            clocks.entry(clock.name.as_str()).or_insert(*place);
        }
        Self {
            nodes: Vec::new(),
            shared: 0,
            own: 0,
            event_start: usize::MAX,
            clocks,
            roots: Vec::new(),
            children: Lookup::default(),
            ranges: Lookup::default(),
            choice_count: 0,
            used: HashSet::new(),
            is_header: false,
            has_lines: trace.has_lines(),
            clock_places: places.to_vec(),
            default_clock: None,
            groups: Lookup::default(),
            gone_through: 0,
        }
    }

    fn begin_event(&mut self) {
        (self.own, self.event_start) = (0, self.nodes.len());
    }

    fn stream(&mut self, stream: &Stream) -> ReadResult<StreamLayout> {
        self.event_start = usize::MAX;
        let context = stream.packet_context.as_ref();
        self.default_clock = stream.clock.and_then(|at| self.clock_places.get(at).copied());
        let packet_context = self.root(&["stream", "packet", "context"], context)?;
        let packet_fields = self.understood(packet_context)?;
        let header = stream.event_header.as_ref();
        self.is_header = true;
        let event_header = self.root(&["stream", "event", "header"], header)?;
        (self.is_header, self.default_clock) = (false, None);
        let context = stream.event_context.as_ref();
        let event_context = self.root(&["stream", "event", "context"], context)?;
        let event_id = event_header.map(|header| self.event_id(header)).transpose()?;
        Ok(StreamLayout {
            packet_context,
            packet_fields,
            event_header,
            header_align: 1,
            header: None,
            event_context,
            event_id: event_id.unwrap_or_default(),
            events: Vec::new(),
            small_ids: Vec::new(),
            other_ids: Lookup::default(),
            first_id: stream.events.keys().next().copied().unwrap_or(0),
            clock: None,
        })
    }

    fn root(
        &mut self,
        names: &'static [&'static str],
        kind: Option<&Arc<Type>>,
    ) -> ReadResult<Option<NodeId>> {
        let made = kind.map(|kind| self.node("".into(), kind, &mut Vec::new())).transpose()?;
        self.roots.push((names, made));
        Ok(made)
    }

    /// The context of an event, and its fields.
    fn event(&mut self, event: &Event) -> ReadResult<(Option<NodeId>, Option<NodeId>)> {
        let context = self.root(&["event", "context"], event.context.as_ref())?;
        let fields = self.root(&["event", "fields"], event.fields.as_ref())?;
        Ok((context, fields))
    }

    fn get(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id.index())
    }

    /// Makes a use of a type. Types are nested [`DEPTH_MAX`](crate::spec::DEPTH_MAX) deep at most.
    fn node(&mut self, name: Arc<str>, kind: &Type, before: &mut Before) -> ReadResult<NodeId> {
        let (kind, align) = self.kind(&name, &kind.kind, before)?;
        within_limit(self.nodes.len(), "fields in the metadata")?;
        let id = NodeId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        let line = usize::from(self.has_lines && name.starts_with('_'));
        let known = name.get(line..).and_then(KnownField::from_name);
        let needs_escapes = name.chars().any(|sign| sign.is_control() || "\"\\".contains(sign));
        self.nodes.push(Node {
            id,
            name,
            kind,
            align,
            register: None,
            kept_too: Vec::new(),
            forgets: Vec::new(),
            known,
            fixed_bits: None,
            has_text: false,
            keeps_line: false,
            again: 0,
            line,
            needs_escapes,
        });
        Ok(id)
    }

    /// Returns the kind of node for a use of a type, and its alignment.
    fn kind(
        &mut self,
        name: &Arc<str>,
        kind: &Kind,
        before: &mut Before,
    ) -> ReadResult<(NodeKind, u64)> {
        Ok(match kind {
            Kind::Integer(integer) => {
                (NodeKind::Integer(integer.clone(), self.clock_of(integer)), integer.align)
            }
            Kind::Boolean(integer) => (NodeKind::Boolean(integer.clone()), integer.align),
            Kind::BitMap(integer, flags) => {
                (NodeKind::BitMap(integer.clone(), Arc::clone(flags)), integer.align)
            }
            Kind::Enumeration(integer, labels) => {
                (NodeKind::Enumeration(integer.clone(), Arc::clone(labels)), integer.align)
            }
            Kind::Float(float) => (NodeKind::Float(float.clone()), float.align),
            Kind::Text => (NodeKind::Text, 8),
            Kind::Wide(encoding, length) => {
                let count = length.as_ref().map(|length| self.count(length, before)).transpose()?;
                (NodeKind::Wide(*encoding, count), 8)
            }
            Kind::Blob(length, is_uuid) => {
                (NodeKind::Blob(self.count(length, before)?, *is_uuid), 8)
            }
            Kind::Array(element, length, align) => {
                let count = self.count(length, before)?;
                let element = self.node("".into(), element, before)?;
                let align = self.get(element).map_or(1, |element| element.align).max(*align);
                (NodeKind::Array(element, count), align)
            }
            Kind::Struct(align, fields) => self.structure(*align, fields, before)?,
            Kind::Variant(tag, options) => (self.variant(tag.as_ref(), options, before)?, 1),
            Kind::Choice(location, cases) => {
                let register = self.locate(location, before, |node| node.as_integer().is_some())?;
                (NodeKind::Variant(register, self.cases(cases, before)?), 1)
            }
            Kind::Optional(location, ranges, kind) => {
                let is_meant: fn(&Node) -> bool = match ranges {
                    Some(_) => |node| node.as_integer().is_some(),
                    None => |node| matches!(node.kind, NodeKind::Boolean(_)),
                };
                let register = self.locate(location, before, is_meant)?;
                let node = self.node(Arc::clone(name), kind, before)?;
                let ranges = ranges.as_deref().unwrap_or(&[(1, 1)]);
                let mut choices = Vec::new();
                self.choices(&mut choices, ranges, node)?;
                (NodeKind::Optional(register, disjoint_choices(choices)?), 1)
            }
        })
    }

    /// The clock that an integer sets, by its place.
    fn clock_of(&self, integer: &Integer) -> Option<usize> {
        let named = integer.clock.as_ref().and_then(|clock| self.clocks.get(&**clock).copied());
        let is_time = integer.roles.contains(Role::Timestamp);
        named.or_else(|| self.default_clock.filter(|_| is_time))
    }

    fn count(&mut self, length: &Length, before: &Before) -> ReadResult<Count> {
        Ok(match length {
            Length::Fixed(count) => Count::Fixed(*count),
            Length::Field(path) => Count::Kept(self.find(path, before)?.1),
            Length::At(location) => {
                Count::Kept(self.locate(location, before, |node| node.as_integer().is_some())?)
            }
        })
    }

    fn structure(
        &mut self,
        align: u64,
        fields: &[Field],
        before: &mut Before,
    ) -> ReadResult<(NodeKind, u64)> {
        let (mut made, mut align) = (Vec::new(), align);
        before.push(Level::default());
        for field in fields {
            if let Some(innermost) = before.last_mut() {
                innermost.current = Some(Arc::clone(&field.name));
            }
            let node = self.node(Arc::clone(&field.name), &field.kind, before)?;
            align = align.max(self.get(node).map_or(1, |node| node.align));
            made.push(node);
            // Of several of one name the nearest counts.
            if let Some(innermost) = before.last_mut() {
                innermost.fields.insert(Arc::clone(&field.name), node);
            }
        }
        let names = before.pop().unwrap_or_default().fields;
        let is_shown_twice = |field: &Field| {
            let shown = self.shown(&field.name);
            shown != &*field.name && names.contains_key(shown)
        };
        if names.len() < made.len() || fields.iter().any(is_shown_twice) {
            self.rename_duplicates(fields, &made);
        }
        Ok((NodeKind::Struct(made), align))
    }

    /// A name as a person knows it: tracers put a line before names of fields, so that they are no words
    /// of the language.
    fn shown<'n>(&self, name: &'n str) -> &'n str {
        name.strip_prefix('_').filter(|_| self.has_lines).unwrap_or(name)
    }

    /// The field that is told in the place of another: of one that may not be there, that one.
    fn shown_node(&self, mut id: NodeId) -> NodeId {
        while let Some(NodeKind::Optional(_, choices)) = self.get(id).map(|node| &node.kind)
            && let Some(choice) = choices.first()
        {
            id = choice.node;
        }
        id
    }

    /// Has fields of a structure that would be shown by one name have names of their own.
    fn rename_duplicates(&mut self, fields: &[Field], made: &[NodeId]) {
        let mut shown: Lookup<&str, u32> = Lookup::default();
        for field in fields {
            *shown.entry(self.shown(&field.name)).or_default() += 1;
        }
        let mut before: Lookup<&str, u32> = Lookup::default();
        for (field, id) in fields.iter().zip(made) {
            let keeps_line = shown.get(self.shown(&field.name)).is_some_and(|count| *count > 1);
            let id = self.shown_node(*id);
            let Some(node) = self.nodes.get_mut(id.index()) else { continue };
            node.keeps_line = keeps_line;
            let count = before.entry(&field.name).or_default();
            node.again = *count;
            *count += 1;
        }
    }

    /// The fields of contexts of an event whose names fields after them have, which these keep.
    fn renamed(
        &mut self,
        stream_context: Option<NodeId>,
        context: Option<NodeId>,
        fields: Option<NodeId>,
    ) -> Vec<(NodeId, &'static str)> {
        let mut renamed = Vec::new();
        let pairs = [
            (stream_context, context, STREAM_CONTEXT),
            (stream_context, fields, STREAM_CONTEXT),
            (context, fields, EVENT_CONTEXT),
        ];
        for (earlier, later, lead) in pairs {
            let Some((earlier, later)) = earlier.zip(later) else { continue };
            for field in self.fields_of(later) {
                let shown =
                    self.get(self.shown_node(field)).map(|node| Arc::<str>::from(node.key().0));
                let found = shown.and_then(|shown| self.shown_child(earlier, &shown));
                renamed.extend(found.map(|found| (found, lead)));
            }
        }
        renamed.sort_unstable();
        renamed.dedup();
        renamed
    }

    fn fields_of(&self, id: NodeId) -> Vec<NodeId> {
        match self.get(id).map(|node| &node.kind) {
            Some(NodeKind::Struct(fields)) => fields.clone(),
            _ => Vec::new(),
        }
    }

    /// The field of a structure that is shown by a name.
    fn shown_child(&mut self, node_id: NodeId, shown: &str) -> Option<NodeId> {
        let found =
            self.child(node_id, shown).or_else(|| self.child(node_id, &format!("_{shown}")));
        let found = found.map(|found| self.shown_node(found));
        found.filter(|found| self.get(*found).is_some_and(|node| node.key().0 == shown))
    }

    fn variant(
        &mut self,
        tag: Option<&Path>,
        options: &[Field],
        before: &mut Before,
    ) -> ReadResult<NodeKind> {
        let tag = tag.ok_or_else(|| invalid("a variant has no tag"))?;
        let (tag, register) = self.find(tag, before)?;
        let Some(NodeKind::Enumeration(_, labels)) = self.get(tag).map(|node| &node.kind) else {
            return Err(invalid("the tag of a variant is no enumeration"));
        };
        let labels = Arc::clone(labels);
        let ranges = self.ranges.entry(labels.as_ptr().addr());
        let ranges = Arc::clone(ranges.or_insert_with(|| Arc::new(ranges_of(&labels))));
        let names: HashSet<&str> = options.iter().map(|option| &*option.name).collect();
        let mut choices = Vec::new();
        for option in options {
            let node = self.node(Arc::clone(&option.name), &option.kind, before)?;
            // Names that are no words of the language have a line before them, which their labels need
            // not have.
            let name = &*option.name;
            let label = ranges.get_key_value(name).or_else(|| {
                let label = ranges.get_key_value(name.strip_prefix('_')?);
                label.filter(|(label, _)| !names.contains(&***label))
            });
            if let Some((_, ranges)) = label {
                self.choices(&mut choices, ranges, node)?;
            }
        }
        Ok(NodeKind::Variant(register, disjoint_choices(choices)?))
    }

    /// Returns the choices of a variant, by the values that it depends on.
    fn cases(&mut self, cases: &[Case], before: &mut Before) -> ReadResult<Vec<Choice>> {
        let mut choices = Vec::new();
        for Case { field, ranges } in cases {
            let node = self.node(Arc::clone(&field.name), &field.kind, before)?;
            self.choices(&mut choices, ranges, node)?;
        }
        disjoint_choices(choices)
    }

    /// Adds that a variant is a node where its tag is in one of some ranges.
    fn choices(
        &mut self,
        choices: &mut Vec<Choice>,
        ranges: &[(i128, i128)],
        node: NodeId,
    ) -> ReadResult<()> {
        for (first, last) in ranges {
            within_limit(self.choice_count, "choices of variants in the metadata")?;
            self.choice_count += 1;
            choices.push(Choice { first: *first, last: *last, node });
        }
        Ok(())
    }

    /// The field that names lead to, and where its value is kept.
    fn find(&mut self, path: &[Arc<str>], before: &Before) -> ReadResult<(NodeId, Register)> {
        let found = self.absolute(path).or_else(|| self.relative(path, before));
        let found = found.ok_or_else(|| {
            let path: Vec<_> = path.iter().map(|name| &**name).collect();
            ReadError::invalid(
                "metadata",
                0,
                format!("{} is used, and there is no such field before", path.join(".")),
            )
        })?;
        if !self.is_header {
            self.used.insert(found);
        }
        Ok((found, self.keep(found)?))
    }

    fn absolute(&mut self, path: &[Arc<str>]) -> Option<NodeId> {
        let meant = self.roots.iter().find_map(|(names, root)| {
            let lead = path.get(..names.len())?;
            let is_meant = lead.iter().zip(*names).all(|(given, name)| **given == **name);
            is_meant.then_some(((*root)?, names.len()))
        });
        let (root, lead) = meant?;
        self.descendant(root, path.get(lead..)?)
    }

    /// The nearest field before, in this structure or in those around it or before it.
    fn relative(&mut self, path: &[Arc<str>], before: &Before) -> Option<NodeId> {
        let (first, rest) = path.split_first()?;
        let near = before.iter().rev().find_map(|level| level.fields.get(first)).copied();
        if let Some(found) = near.and_then(|near| self.descendant(near, rest)) {
            return Some(found);
        }
        (0..self.roots.len()).rev().find_map(|place| {
            let root = self.roots.get(place)?.1?;
            self.descendant(root, path)
        })
    }

    fn descendant(&mut self, start: NodeId, path: &[Arc<str>]) -> Option<NodeId> {
        path.iter().try_fold(start, |id, name| self.child(id, name))
    }

    /// The field of a structure that has a name: the first one.
    fn child(&mut self, node_id: NodeId, name: &str) -> Option<NodeId> {
        let nodes = &self.nodes;
        let children = self.children.entry(node_id).or_insert_with(|| {
            let mut children = Lookup::default();
            let node = |id: NodeId| nodes.get(id.index());
            if let Some(Node { kind: NodeKind::Struct(fields), .. }) = node(node_id) {
                for field in fields {
                    let Some(Node { name, .. }) = node(*field) else { continue };
                    children.entry(Arc::clone(name)).or_insert(*field);
                }
            }
            children
        });
        children.get(name).copied()
    }

    /// Gives a field a register, unless it has one.
    fn keep(&mut self, id: NodeId) -> ReadResult<Register> {
        if let Some(register) = self.get(id).and_then(|node| node.register) {
            return Ok(register);
        }
        let register = self.register(id)?;
        if let Some(node) = self.nodes.get_mut(id.index()) {
            node.register = Some(register);
        }
        Ok(register)
    }

    /// A register for the value of a field.
    fn register(&mut self, id: NodeId) -> ReadResult<Register> {
        let is_own = id.index() >= self.event_start;
        let count = if is_own { &mut self.own } else { &mut self.shared };
        if *count >= REGISTERS_MAX {
            let (found, limit) = (u64::from(*count) + 1, REGISTERS_MAX.into());
            return Err(ReadErrorKind::OverLimit { found, limit }.error_at("lengths and tags", 0));
        }
        // Even ones are shared, odd ones are the event's.
        let next = Register(*count * 2 + u32::from(is_own));
        *count += 1;
        Ok(next)
    }
}

/// Tells where in the metadata that is described which an error is of.
fn metadata_error(offset: u64, error: ReadError) -> ReadError {
    ReadError { offset, ..error }
}

fn ranges_of(labels: &[Label]) -> Ranges {
    let mut ranges = Ranges::default();
    for label in labels {
        ranges.entry(Arc::clone(&label.name)).or_default().push((label.first, label.last));
    }
    ranges
}

/// Choices in the order of their ranges. Of two that overlap nobody knows which is meant, unless both
/// are the same.
fn disjoint_choices(mut choices: Vec<Choice>) -> ReadResult<Vec<Choice>> {
    choices.sort_by_key(|choice| choice.first);
    let mut apart: Vec<Choice> = Vec::with_capacity(choices.len());
    for choice in choices {
        match apart.last_mut().filter(|before| before.last >= choice.first) {
            None => apart.push(choice),
            Some(before) if before.node == choice.node => {
                before.last = before.last.max(choice.last);
            }
            Some(_) => return Err(invalid("the choices of a variant overlap")),
        }
    }
    Ok(apart)
}

fn within_limit(count: usize, what: &'static str) -> ReadResult<()> {
    if count < NODES_MAX {
        return Ok(());
    }
    let (found, limit) = (count as u64 + 1, NODES_MAX as u64);
    Err(ReadErrorKind::OverLimit { found, limit }.error_at(what, 0))
}

fn invalid(why: &'static str) -> ReadError {
    ReadError::invalid("metadata", 0, why)
}
