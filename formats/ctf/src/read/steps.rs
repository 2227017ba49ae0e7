//! Steps of going through an event when nobody asks for all of its fields. Most of it is passed
//! over at once, and fields about tasks are read at places that are known.

use super::header::Spot;
use super::known::KnownField;
use super::layout::{Count, Node, NodeId, NodeKind, aligned};

/// A step over some fields.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// Over fields that always have as many bits.
    Over(Skip),
    /// To the end of a text.
    Text(Option<KnownField>),
    /// Step for a node that has no fixed length, or that something depends on.
    Decode(NodeId, Option<KnownField>),
}

/// To a place that is a multiple of so many bits, and on by so many.
#[derive(Debug, Clone)]
pub(crate) struct Skip {
    pub(crate) align: u64,
    pub(crate) bits: u64,
    /// The known fields on the way, by their places after the begin.
    pub(crate) known: Vec<KnownSpot>,
    /// The texts on the way: the bits from the begin to each, and its characters.
    pub(crate) texts: Vec<(u64, u64)>,
}

/// The steps over an event.
pub(super) struct Steps {
    pub(super) steps: Box<[Step]>,
    /// True if there are texts that the steps do not come by one by one.
    pub(super) hides_text: bool,
}

/// A known field at a place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KnownSpot {
    pub(crate) known: KnownField,
    pub(crate) what: SpotContent,
}

/// Value at a place.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SpotContent {
    Number(Spot),
    /// Characters from a bit on, so many at most.
    Text(u64, u64),
}

/// The steps over the contexts of an event and then its fields.
pub(super) fn steps(
    nodes: &[Node],
    contexts: [Option<NodeId>; 2],
    fields: Option<NodeId>,
) -> Steps {
    let (steps, over, hides_text) = (Vec::new(), None, false);
    let mut building = Building { nodes, is_context: true, steps, over, hides_text };
    for context in contexts.into_iter().flatten() {
        building.add(context, 0);
    }
    building.is_context = false;
    if let Some(fields) = fields {
        building.add(fields, 0);
    }
    building.finish()
}

/// Steps that are being made.
struct Building<'a> {
    nodes: &'a [Node],
    /// True if a context is being gone over.
    is_context: bool,
    steps: Vec<Step>,
    /// The last step, to which more can be added.
    over: Option<Skip>,
    hides_text: bool,
}

impl Building<'_> {
    /// Adds the steps over a node. They are nested [`DEPTH_MAX`](crate::spec::DEPTH_MAX) deep at
    /// most.
    fn add(&mut self, id: NodeId, depth: u32) {
        let Some(node) = self.nodes.get(id.index()) else { return };
        // Only what stands directly in an event says something of it.
        let known = node.known.filter(|known| {
            let is_of_event = !self.is_context || known.is_context_field();
            depth == 1 && is_of_event
        });
        match (&node.kind, node.fixed_bits) {
            (NodeKind::Struct(fields), fixed) if depth == 0 || fixed.is_none() => {
                self.skip(node.align, 0);
                for field in fields {
                    self.add(*field, depth + 1);
                }
            }
            (_, Some(bits)) => {
                let start = self.skip(node.align, bits);
                let what = known.and_then(|known| Some((known, self.spotted(node, start)?)));
                let spot = what.map(|(known, what)| KnownSpot { known, what });
                let text = self.characters(node).and_then(Count::fixed);
                self.hides_text |= node.has_text && text.is_none();
                if let Some(over) = &mut self.over {
                    over.known.extend(spot);
                    over.texts.extend(text.map(|count| (start, count)));
                }
            }
            (NodeKind::Text, None) => self.push(Step::Text(known)),
            (kind, None) => {
                let is_number = matches!(kind, NodeKind::Integer(..) | NodeKind::Enumeration(..));
                let is_read = is_number || self.characters(node).is_some();
                self.push(Step::Decode(id, known.filter(|_| is_read)));
            }
        }
    }

    /// Returns the kind and place of a field, where it is a number or a text.
    fn spotted(&self, node: &Node, start: u64) -> Option<SpotContent> {
        match &node.kind {
            NodeKind::Integer(integer, _) | NodeKind::Enumeration(integer, _) => {
                Some(SpotContent::Number(Spot::new(start, integer)))
            }
            _ => match self.characters(node)? {
                Count::Fixed(count) => Some(SpotContent::Text(start, count)),
                Count::Kept(_) => None,
            },
        }
    }

    /// Returns the number of characters of an array, where it is a text.
    fn characters(&self, node: &Node) -> Option<Count> {
        let NodeKind::Array(element, count) = &node.kind else { return None };
        let element = self.nodes.get(element.index())?;
        element.is_character().then_some(*count)
    }

    /// Goes on by so many bits; what follows a step at a place that is known is part of it. Tells
    /// where in the step these bits begin.
    fn skip(&mut self, align: u64, bits: u64) -> u64 {
        if let Some(over) = &mut self.over
            && align <= over.align
            && let Some(start) = aligned(over.bits, align)
            && let Some(end) = start.checked_add(bits)
        {
            over.bits = end;
            return start;
        }
        self.flush();
        self.over = Some(Skip { align, bits, known: Vec::new(), texts: Vec::new() });
        0
    }

    fn push(&mut self, step: Step) {
        self.flush();
        self.steps.push(step);
    }

    fn flush(&mut self) {
        self.steps.extend(self.over.take().map(Step::Over));
    }

    fn finish(mut self) -> Steps {
        self.flush();
        Steps { steps: self.steps.into_boxed_slice(), hides_text: self.hides_text }
    }
}
