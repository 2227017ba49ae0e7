//! Facts about an event: its known fields, and its text or all of its fields.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use kymo_model::kernel::{KernelEvent, softirq_name};

use super::roles::{Role, Roles};
use crate::read::Packet;
use crate::read::{DecodeRequest, EventLayout, KnownField, Node, Real, Visitor};
use crate::render::{FieldValues, Plain};
use crate::types::{Flag, Integer, Label};

/// The known fields of an event that has a role, and what else is asked for.
#[derive(Debug)]
pub(crate) struct Facts {
    pub(super) telling: FieldRequest,
    /// True if names of tasks are kept: afterwards they are known.
    is_survey: bool,
    roles: Arc<Roles>,
    /// The kinds of events of which all fields are asked for; of all kinds where it is nothing.
    kinds: Option<Vec<bool>>,
    /// Flags of the fields that the event has, a bit each.
    has: u32,
    numbers: [i64; KnownField::COUNT],
    has_text: u32,
    /// Ranges of the texts in `texts`.
    ranges: [(usize, usize); KnownField::COUNT],
    texts: Vec<u8>,
}

/// Form in which all fields are asked for.
#[derive(Debug)]
pub(super) enum FieldRequest {
    Nothing,
    Text(Plain),
    Fields(FieldValues),
    Both(Plain, FieldValues),
}

impl Facts {
    /// For who wants to know who there is.
    pub(super) fn for_survey(roles: &Arc<Roles>) -> Self {
        Self { is_survey: true, ..Self::with_fields(roles, FieldRequest::Nothing) }
    }

    /// For who wants to know what happened.
    pub(super) fn with_fields(roles: &Arc<Roles>, telling: FieldRequest) -> Self {
        Self {
            telling,
            is_survey: false,
            roles: Arc::clone(roles),
            kinds: None,
            has: 0,
            numbers: [0; KnownField::COUNT],
            has_text: 0,
            ranges: [(0, 0); KnownField::COUNT],
            texts: Vec::new(),
        }
    }

    /// Asks for all fields of some kinds only.
    pub(super) fn set_kinds(&mut self, kinds: Option<Vec<bool>>) {
        self.kinds = kinds;
    }

    /// Returns true if all fields of a kind are asked for.
    #[inline]
    pub(super) fn wants_fields(&self, kind: usize) -> bool {
        self.kinds.as_ref().is_none_or(|kinds| kinds.get(kind) == Some(&true))
    }

    /// Returns true if some bytes of the event are no UTF-8, and shown as marks.
    #[inline]
    pub(super) fn is_broken(&self) -> bool {
        match &self.telling {
            FieldRequest::Nothing => false,
            FieldRequest::Text(plain) => plain.is_broken,
            FieldRequest::Fields(collected) | FieldRequest::Both(_, collected) => {
                collected.is_broken
            }
        }
    }

    /// The number of a field.
    #[inline]
    pub(super) fn number(&self, known_field: KnownField) -> Option<i64> {
        let is_there = self.has & known_field.bit() != 0;
        self.numbers.get(known_field as usize).copied().filter(|_| is_there)
    }

    /// The processor of the event: that of its packet, or else the one that it names itself.
    #[inline]
    pub(super) fn cpu(&self, packet: &Packet) -> Option<u64> {
        packet.cpu.or_else(|| u64::try_from(self.number(KnownField::Cpu)?).ok())
    }

    /// The processor that a task is woken for.
    #[inline]
    pub(super) fn target(&self) -> Option<u64> {
        u64::try_from(self.number(KnownField::TargetCpu)?).ok()
    }

    /// The text of a field, as it was recorded.
    #[inline]
    pub(super) fn text(&self, known_field: KnownField) -> Option<&[u8]> {
        let is_there = self.has_text & known_field.bit() != 0;
        let (start, end) = self.ranges.get(known_field as usize).copied().filter(|_| is_there)?;
        self.texts.get(Range { start, end })
    }
}

/// Hands a field on to whoever wants all of them. The trait has constants, so that no closure can be
/// given either of them.
macro_rules! hand_on {
    ($facts:ident.$method:ident($($argument:expr),*)) => {
        match &mut $facts.telling {
            FieldRequest::Nothing => {}
            FieldRequest::Text(plain) => plain.$method($($argument),*),
            FieldRequest::Fields(collected) => collected.$method($($argument),*),
            FieldRequest::Both(plain, collected) => {
                plain.$method($($argument),*);
                collected.$method($($argument),*);
            }
        }
    };
}

impl Visitor for Facts {
    #[inline]
    fn begin(&mut self, event: &EventLayout) -> DecodeRequest {
        let known = self.roles.get(event.kind).is_some();
        if known {
            (self.has, self.has_text) = (0, 0);
            self.texts.clear();
        }
        if !self.wants_fields(event.kind) {
            return DecodeRequest { known, all: false };
        }
        let DecodeRequest { all, .. } = match &mut self.telling {
            FieldRequest::Nothing => DecodeRequest::default(),
            FieldRequest::Text(plain) => plain.begin(event),
            FieldRequest::Fields(collected) => collected.begin(event),
            FieldRequest::Both(plain, collected) => {
                plain.begin(event);
                collected.begin(event)
            }
        };
        DecodeRequest { known, all }
    }

    /// Of two of one name the first counts: that of the stream's context comes before the event's.
    #[inline]
    fn number(&mut self, known: KnownField, value: i64) {
        if self.has & known.bit() == 0
            && let Some(kept) = self.numbers.get_mut(known as usize)
        {
            *kept = value;
            self.has |= known.bit();
        }
    }

    #[inline]
    fn known_text(&mut self, known: KnownField, text: &[u8]) {
        if (self.is_survey || known == KnownField::Name)
            && self.has_text & known.bit() == 0
            && let Some(kept) = self.ranges.get_mut(known as usize)
        {
            let start = self.texts.len();
            self.texts.extend_from_slice(text);
            *kept = (start, self.texts.len());
            self.has_text |= known.bit();
        }
    }

    fn open(&mut self, node: &Node, is_array: bool) {
        hand_on!(self.open(node, is_array));
    }

    fn close(&mut self, is_array: bool) {
        hand_on!(self.close(is_array));
    }

    fn integer(&mut self, node: &Node, integer: &Integer, value: i128) {
        hand_on!(self.integer(node, integer, value));
    }

    fn label(&mut self, node: &Node, labels: &[Label], value: i128) {
        hand_on!(self.label(node, labels, value));
    }

    fn boolean(&mut self, node: &Node, value: bool) {
        hand_on!(self.boolean(node, value));
    }

    fn flags(&mut self, node: &Node, flags: &[Flag], value: u64) {
        hand_on!(self.flags(node, flags, value));
    }

    fn blob(&mut self, node: &Node, bytes: &[u8]) {
        hand_on!(self.blob(node, bytes));
    }

    fn absent(&mut self, node: &Node) {
        hand_on!(self.absent(node));
    }

    fn real(&mut self, node: &Node, value: Real) {
        hand_on!(self.real(node, value));
    }

    fn text(&mut self, node: &Node, text: &[u8]) {
        hand_on!(self.text(node, text));
    }
}

/// Returns true if an event of the kernel is of no processor that is known. A wakeup is of the one
/// that the task is woken for.
pub(super) fn is_missing_cpu(event: KernelEvent, cpu: Option<u64>, target: Option<u64>) -> bool {
    use KernelEvent::{Wakeup, WakeupNew, Waking};
    let target = target.filter(|_| matches!(event, Waking | Wakeup | WakeupNew));
    target.or(cpu).is_none()
}

/// Reader of an event of the kernel for its processor, and of whether texts are UTF-8, and of
/// nothing else.
pub(crate) struct Switches {
    /// True if some text of the event is no UTF-8.
    pub(crate) is_broken: bool,
    roles: Roles,
    stops: Option<i64>,
    runs: Option<i64>,
    /// The number of an interrupt.
    interrupt: Option<i64>,
    /// The processor that the event names, and the one that a task is woken for.
    cpu: Option<i64>,
    target: Option<i64>,
    event: Option<KernelEvent>,
}

impl Switches {
    pub(crate) fn new(reader: &crate::Reader) -> Self {
        let (stops, runs, interrupt, event) = (None, None, None, None);
        let (is_broken, roles, cpu, target) = (false, Roles::new(reader), None, None);
        Self { is_broken, roles, stops, runs, interrupt, cpu, target, event }
    }

    /// The processor of the event: that of its packet, or else the one that it names itself.
    #[inline]
    pub(crate) fn cpu(&self, packet: &Packet) -> Option<u64> {
        packet.cpu.or_else(|| u64::try_from(self.cpu?).ok())
    }

    /// Returns true if the event tells what a processor did, and not which one.
    pub(crate) fn is_missing_cpu(&self, packet: &Packet) -> bool {
        let target = self.target.and_then(|cpu| u64::try_from(cpu).ok());
        self.event.is_some_and(|event| is_missing_cpu(event, self.cpu(packet), target))
    }

    /// The tasks that the event stops and lets run, where it is a switch.
    #[inline]
    pub(crate) fn switch(&self) -> Option<(i64, i64)> {
        self.stops.zip(self.runs)
    }

    /// Returns the meaning of the event for interrupts, and the name of the interrupt where the
    /// event gives its number.
    pub(crate) fn interrupt(&self) -> Option<(KernelEvent, Option<Cow<'static, str>>)> {
        use KernelEvent::{Irq, IrqEnd, SoftIrq, SoftIrqEnd};
        let event = self
            .event
            .filter(|kernel_event| matches!(kernel_event, Irq | IrqEnd | SoftIrq | SoftIrqEnd))?;
        let name = |number: i64| match event {
            Irq | IrqEnd => format!("irq {number}").into(),
            _ => softirq_name(number),
        };
        Some((event, self.interrupt.map(name)))
    }
}

impl Visitor for Switches {
    const READS_PASSED: bool = true;

    #[inline]
    fn begin(&mut self, event: &EventLayout) -> DecodeRequest {
        (self.stops, self.runs, self.interrupt, self.is_broken) = (None, None, None, false);
        (self.cpu, self.target) = (None, None);
        self.event = match self.roles.get(event.kind) {
            Some(Role::Kernel(kernel_event)) => Some(kernel_event),
            _ => None,
        };
        DecodeRequest { known: self.event.is_some(), all: event.hides_text }
    }

    fn text(&mut self, _node: &Node, text: &[u8]) {
        self.passed_text(text);
    }

    #[inline]
    fn known_text(&mut self, _known: KnownField, text: &[u8]) {
        self.passed_text(text);
    }

    #[inline]
    fn passed_text(&mut self, text: &[u8]) {
        self.is_broken |= !text.is_ascii() && str::from_utf8(text).is_err();
    }

    #[inline]
    fn number(&mut self, known: KnownField, value: i64) {
        match known {
            KnownField::PrevTid => self.stops = self.stops.or(Some(value)),
            KnownField::NextTid => self.runs = self.runs.or(Some(value)),
            KnownField::Irq | KnownField::Vec => self.interrupt = self.interrupt.or(Some(value)),
            KnownField::Cpu => self.cpu = self.cpu.or(Some(value)),
            KnownField::TargetCpu => self.target = self.target.or(Some(value)),
            _ => {}
        }
    }
}
