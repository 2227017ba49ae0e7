//! Types made ready for decoding: every use of a type is a node of its own, and a field that
//! others depend on has a register that keeps its value.

use std::collections::HashMap;
use std::sync::Arc;

use kymo_core::bytes::{ReadError, ReadErrorKind, ReadResult};

use crate::types::{Field, Float, Integer, Kind, Label, Length, Path, Trace, Type};

/// More uses of types than this are refused: a few lines of metadata can double them again and
/// again.
const NODES_MAX: usize = 1 << 20;

/// A use of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct NodeId(u32);

/// Where a value is kept that others depend on.
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
    /// Its name as the metadata has it; array elements have none.
    pub(crate) name: Arc<str>,
    pub(crate) kind: NodeKind,
    /// What its place is a multiple of, in bits.
    pub(crate) align: u64,
    /// Where its value is kept.
    pub(crate) register: Option<Register>,
}

impl Node {
    /// Its name as a person knows it: tracers put a line before names of fields, so that they
    /// are no words of the language.
    pub(crate) fn shown(&self) -> &str {
        self.name.strip_prefix('_').unwrap_or(&self.name)
    }
}

/// What a node is.
#[derive(Debug)]
pub(crate) enum NodeKind {
    /// An integer, and the clock that it sets.
    Integer(Integer, Option<usize>),
    Enumeration(Integer, Arc<[Label]>),
    Float(Float),
    Text,
    Array(NodeId, Count),
    Struct(Vec<NodeId>),
    Variant(Register, Vec<Choice>),
}

/// How many elements an array has.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Count {
    Fixed(u64),
    Kept(Register),
}

/// What a variant is when its tag is in a range.
#[derive(Debug)]
pub(crate) struct Choice {
    pub(crate) first: i128,
    pub(crate) last: i128,
    pub(crate) node: NodeId,
}

/// The layouts of a trace.
#[derive(Debug)]
pub(crate) struct Layouts {
    nodes: Vec<Node>,
    pub(crate) registers: usize,
    pub(crate) packet_header: Option<NodeId>,
    pub(crate) streams: HashMap<u64, StreamLayout>,
}

/// The layouts of a kind of stream.
#[derive(Debug)]
pub(crate) struct StreamLayout {
    pub(crate) packet_context: Option<NodeId>,
    pub(crate) event_header: Option<NodeId>,
    pub(crate) event_context: Option<NodeId>,
    /// What the id of an event is kept in.
    pub(crate) event_id: Option<Vec<Register>>,
    pub(crate) events: HashMap<u64, EventLayout>,
}

/// The layouts of a kind of event.
#[derive(Debug)]
pub(crate) struct EventLayout {
    pub(crate) name: Arc<str>,
    pub(crate) context: Option<NodeId>,
    pub(crate) fields: Option<NodeId>,
}

impl Layouts {
    /// Makes the layouts of all that metadata describes.
    pub(crate) fn new(trace: &Trace) -> ReadResult<Self> {
        let clocks = trace.clocks.iter().map(|clock| clock.name.as_str()).collect();
        let mut builder = Builder { nodes: Vec::new(), registers: 0, clocks, roots: Vec::new() };
        let header = builder.root(&["trace", "packet", "header"], trace.packet_header.as_ref())?;
        let mut streams = HashMap::new();
        for (id, stream) in &trace.streams {
            builder.roots.truncate(1);
            let context = stream.packet_context.as_ref();
            let packet_context = builder.root(&["stream", "packet", "context"], context)?;
            let header = stream.event_header.as_ref();
            let event_header = builder.root(&["stream", "event", "header"], header)?;
            let context = stream.event_context.as_ref();
            let event_context = builder.root(&["stream", "event", "context"], context)?;
            let event_id = event_header.map(|header| builder.registers_of(header, "id"));
            let mut events = HashMap::new();
            for (id, event) in &stream.events {
                builder.roots.truncate(4);
                let context = builder.root(&["event", "context"], event.context.as_ref())?;
                let fields = builder.root(&["event", "fields"], event.fields.as_ref())?;
                let name = event.name.as_str().into();
                events.insert(*id, EventLayout { name, context, fields });
            }
            let layout =
                StreamLayout { packet_context, event_header, event_context, event_id, events };
            streams.insert(*id, layout);
        }
        let Builder { nodes, registers, .. } = builder;
        Ok(Self { nodes, registers: registers as usize, packet_header: header, streams })
    }

    pub(crate) fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id.0 as usize)
    }

    /// The field of a structure, by its name.
    pub(crate) fn field(&self, of: Option<NodeId>, name: &str) -> Option<&Node> {
        let Some(Node { kind: NodeKind::Struct(fields), .. }) = self.node(of?) else { return None };
        fields.iter().filter_map(|field| self.node(*field)).find(|field| &*field.name == name)
    }
}

struct Builder<'a> {
    nodes: Vec<Node>,
    registers: u32,
    clocks: Vec<&'a str>,
    /// What can be referred to so far: the names that lead there, and what is there.
    roots: Vec<(&'static [&'static str], Option<NodeId>)>,
}

/// Fields before the one that is being made, from the outermost structure to the innermost.
type Before = Vec<Vec<NodeId>>;

impl Builder<'_> {
    fn root(
        &mut self,
        names: &'static [&'static str],
        kind: Option<&Arc<Type>>,
    ) -> ReadResult<Option<NodeId>> {
        let made = kind.map(|kind| self.node("".into(), kind, &mut Vec::new())).transpose()?;
        // Fields that a packet or an event is understood by are kept.
        if let Some(Node { kind: NodeKind::Struct(fields), .. }) = made.and_then(|id| self.get(id))
        {
            for field in fields.clone() {
                let is_number = self.get(field).is_some_and(|node| {
                    matches!(node.kind, NodeKind::Integer(..) | NodeKind::Enumeration(..))
                });
                if is_number && names.last() != Some(&"fields") {
                    self.keep(field);
                }
            }
        }
        self.roots.push((names, made));
        Ok(made)
    }

    fn get(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id.0 as usize)
    }

    /// Makes a use of a type. Types are nested [`DEPTH_MAX`](crate::spec::DEPTH_MAX) deep at most.
    fn node(&mut self, name: Arc<str>, kind: &Type, before: &mut Before) -> ReadResult<NodeId> {
        let (kind, align) = match &kind.kind {
            Kind::Integer(integer) => {
                let named =
                    |clock: &Arc<str>| self.clocks.iter().position(|name| **name == **clock);
                let clock = integer.clock.as_ref().and_then(named);
                (NodeKind::Integer(integer.clone(), clock), integer.align)
            }
            Kind::Enumeration(integer, labels) => {
                (NodeKind::Enumeration(integer.clone(), Arc::clone(labels)), integer.align)
            }
            Kind::Float(float) => (NodeKind::Float(float.clone()), float.align),
            Kind::Text => (NodeKind::Text, 8),
            Kind::Array(element, length) => {
                let count = match length {
                    Length::Fixed(count) => Count::Fixed(*count),
                    Length::Field(path) => Count::Kept(self.find(path, before)?.1),
                };
                let element = self.node("".into(), element, before)?;
                let align = self.get(element).map_or(1, |element| element.align);
                (NodeKind::Array(element, count), align)
            }
            Kind::Struct(align, fields) => self.structure(*align, fields, before)?,
            Kind::Variant(tag, options) => (self.variant(tag.as_ref(), options, before)?, 1),
        };
        if self.nodes.len() >= NODES_MAX {
            let (found, limit) = (self.nodes.len() as u64 + 1, NODES_MAX as u64);
            return Err(ReadErrorKind::OverLimit { found, limit }.at("fields in the metadata", 0));
        }
        let id = NodeId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        self.nodes.push(Node { name, kind, align, register: None });
        Ok(id)
    }

    fn structure(
        &mut self,
        align: u64,
        fields: &[Field],
        before: &mut Before,
    ) -> ReadResult<(NodeKind, u64)> {
        let (mut made, mut align) = (Vec::new(), align);
        before.push(Vec::new());
        for field in fields {
            let node = self.node(Arc::clone(&field.name), &field.kind, before)?;
            align = align.max(self.get(node).map_or(1, |node| node.align));
            made.push(node);
            if let Some(innermost) = before.last_mut() {
                innermost.push(node);
            }
        }
        before.pop();
        Ok((NodeKind::Struct(made), align))
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
        let mut choices = Vec::new();
        for option in options {
            let node = self.node(Arc::clone(&option.name), &option.kind, before)?;
            let named = labels.iter().filter(|label| {
                // Names that are no words of the language have a line before them.
                label.name == option.name || option.name.strip_prefix('_') == Some(&*label.name)
            });
            choices.extend(named.map(|Label { first, last, .. }| Choice {
                first: *first,
                last: *last,
                node,
            }));
        }
        Ok(NodeKind::Variant(register, choices))
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
        Ok((found, self.keep(found)))
    }

    fn absolute(&self, path: &[Arc<str>]) -> Option<NodeId> {
        self.roots.iter().find_map(|(names, root)| {
            let lead = path.get(..names.len())?;
            let is_meant = lead.iter().zip(*names).all(|(given, name)| **given == **name);
            is_meant.then(|| self.below((*root)?, path.get(names.len()..)?)).flatten()
        })
    }

    /// The nearest field before, in this structure or in those around it or before it.
    fn relative(&self, path: &[Arc<str>], before: &Before) -> Option<NodeId> {
        let (first, rest) = path.split_first()?;
        let around = before.iter().rev().flat_map(|fields| fields.iter().rev());
        let named = |id: &&NodeId| self.get(**id).is_some_and(|node| node.name == *first);
        let near = { around }.find(named).and_then(|id| self.below(*id, rest));
        near.or_else(|| self.roots.iter().rev().find_map(|(_, root)| self.below((*root)?, path)))
    }

    fn below(&self, start: NodeId, path: &[Arc<str>]) -> Option<NodeId> {
        path.iter().try_fold(start, |id, name| match &self.get(id)?.kind {
            NodeKind::Struct(fields) => {
                fields.iter().copied().find(|f| self.get(*f).is_some_and(|f| f.name == *name))
            }
            _ => None,
        })
    }

    /// Gives a field a register, unless it has one.
    fn keep(&mut self, id: NodeId) -> Register {
        let next = Register(self.registers);
        let Some(node) = self.nodes.get_mut(id.0 as usize) else { return next };
        let register = *node.register.get_or_insert(next);
        self.registers += u32::from(register == next);
        register
    }

    /// Registers of all fields of a name, wherever they are within a node.
    fn registers_of(&mut self, within: NodeId, name: &str) -> Vec<Register> {
        let (mut found, mut open) = (Vec::new(), vec![within]);
        while let Some(id) = open.pop() {
            let Some(node) = self.get(id) else { continue };
            match &node.kind {
                NodeKind::Struct(fields) => open.extend(fields.iter().rev()),
                NodeKind::Variant(_, choices) => open.extend(choices.iter().map(|c| c.node)),
                NodeKind::Integer(..) | NodeKind::Enumeration(..) if &*node.name == name => {
                    found.push(id);
                }
                _ => {}
            }
        }
        found.into_iter().map(|id| self.keep(id)).collect()
    }
}

fn invalid(why: &'static str) -> ReadError {
    ReadError::invalid("metadata", 0, why)
}
