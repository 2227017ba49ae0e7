//! Building a profile from samples, for whoever measures or imports.

use std::collections::BTreeMap;
use std::io::{self, Write};

use kymo_core::bytes::{Endian, Sink};

use super::sparse::{self, Contents};
use super::{count, flush};
use crate::read::NodeLayout;
use crate::spec::{self, placeholder};
use crate::types::{
    Dialect, EpochHeader, Header, Id, IdKind, LoadModule, Metric, MetricFlags, Node, NvPair, Place,
    Sampling, Str,
};

/// The values of a node: bits by metric.
type NodeValues = BTreeMap<u16, u64>;

/// A profile of one thread that grows sample by sample.
///
/// The tree begins with its root, `^Primary`. A node that a trace refers to is
/// [retained](Self::retain), so that its id is odd as hpcrun's are.
#[derive(Debug, Clone)]
pub struct ProfileBuilder {
    header: Header,
    load_modules: Vec<LoadModule>,
    metrics: Vec<Metric>,
    id_kinds: Vec<IdKind>,
    id_tuple: Vec<Id>,
    nodes: Vec<BuiltNode>,
    /// Nodes by parent, module and address.
    known: BTreeMap<(usize, u16, u64), usize>,
    values: BTreeMap<usize, NodeValues>,
    /// First request that makes no sense.
    wrong: Option<&'static str>,
}

/// A node of the tree; its id follows from its place.
#[derive(Debug, Clone, Copy)]
struct BuiltNode {
    parent: Option<usize>,
    lm_id: u16,
    ip: u64,
    is_retained: bool,
}

/// The id of the first node; hpcrun leaves those below to itself.
const FIRST_ID: u32 = 12;

impl ProfileBuilder {
    /// An empty profile of a program's thread.
    #[must_use]
    pub fn new(program: &str) -> Self {
        let kind =
            |(kind, name): &(u16, &str)| IdKind { offset: 0, kind: *kind, name: (*name).into() };
        let nv = vec![NvPair::new("program-name", program)];
        let root =
            BuiltNode { parent: None, lm_id: 0, ip: placeholder::PRIMARY, is_retained: false };
        Self {
            header: Header { dialect: Dialect::Shipped0400, endian: Endian::Big, nv },
            load_modules: Vec::new(),
            metrics: Vec::new(),
            id_kinds: spec::ID_KINDS.iter().map(kind).collect(),
            id_tuple: Vec::new(),
            nodes: vec![root],
            known: BTreeMap::new(),
            values: BTreeMap::new(),
            wrong: None,
        }
    }

    /// Says something about the process: `mpi-rank`, `thread-id`, `host-id`, `process-id` …
    pub fn pair(&mut self, name: &str, value: impl Into<Str>) -> &mut Self {
        self.header.nv.push(NvPair::new(name, value));
        self
    }

    /// Adds one of the ids that name the thread; [`spec::ID_KINDS`] numbers the kinds. Without any,
    /// the profile is that of thread 0.
    pub fn id(&mut self, kind: u16, physical: u64, logical: u64) -> &mut Self {
        self.id_tuple.push(Id { kind, physical, logical });
        self
    }

    /// Adds a load module and gives its id, from 1. A path that is there already keeps its id.
    ///
    /// # Errors
    /// When there are more than its two bytes can number.
    pub fn load_module(&mut self, path: &str, place: Option<Place>) -> io::Result<u16> {
        let known = self.load_modules.iter().position(|module| module.path == path.into());
        let index = known.unwrap_or(self.load_modules.len());
        let first_special = spec::SPECIAL_MODULES.first().map_or(u16::MAX, |(id, _)| *id);
        let id = u16::try_from(index + 1).ok().filter(|id| *id < first_special);
        let id = id.ok_or_else(|| super::too_large("there are too many load modules"))?;
        if known.is_none() {
            let (path, id) = (path.into(), id.into());
            self.load_modules.push(LoadModule { offset: 0, id, path, flags: 0, place });
        }
        Ok(id)
    }

    /// Adds a metric that is shown, with values of double precision or counts, and gives its id.
    ///
    /// # Errors
    /// When there are more than its two bytes can number.
    pub fn metric(&mut self, name: &str, description: &str, is_real: bool) -> io::Result<u16> {
        let metric = Metric::new(name, MetricFlags::raw(is_real));
        self.add_metric(Metric { description: description.into(), ..metric })
    }

    /// Adds a metric with all that is known of it, and gives its id.
    ///
    /// # Errors
    /// When there are more than its two bytes can number, or when its flags are as described.
    pub fn add_metric(&mut self, metric: Metric) -> io::Result<u16> {
        let id = u16::try_from(self.metrics.len());
        let id = id.map_err(|_| super::too_large("there are too many metrics"))?;
        if matches!(metric.flags, MetricFlags::Described(_)) {
            return Err(super::too_large("its flags are not those of a metric of 04.00b"));
        }
        let never =
            Sampling { is_frequency: 0, is_multiplexed: 0, mean_threshold: 0.0, samples: 0 };
        let sampling = metric.sampling.or(Some(never));
        self.metrics.push(Metric { sampling, ..metric });
        Ok(id)
    }

    /// The root of the tree.
    pub const ROOT: usize = 0;

    /// The child of a node at an address of a module, made if it is not there yet.
    ///
    /// For a frame that called another the address is to lie within the call instruction: the
    /// return address minus one. Writing fails when there is no such parent or module.
    pub fn child(&mut self, parent: usize, lm_id: u16, ip: u64) -> usize {
        let is_special = spec::SPECIAL_MODULES.iter().any(|(id, _)| *id == lm_id);
        self.expect(parent < self.nodes.len(), "a node hangs below one that is not there");
        let is_known = is_special || usize::from(lm_id) <= self.load_modules.len();
        self.expect(is_known, "a node is in a load module that is not there");
        // Ids count from 1.
        let place = usize::from(lm_id).checked_sub(1);
        if let Some(module) = place.and_then(|place| self.load_modules.get_mut(place)) {
            module.flags |= 1;
        }
        let next = self.nodes.len();
        let found = *self.known.entry((parent, lm_id, ip)).or_insert(next);
        if found == next {
            self.nodes.push(BuiltNode { parent: Some(parent), lm_id, ip, is_retained: false });
        }
        found
    }

    /// Marks a node as one that a trace refers to, and gives the id to put into the trace.
    pub fn retain(&mut self, node: usize) -> u32 {
        if let Some(node) = self.nodes.get_mut(node) {
            node.is_retained = true;
        }
        self.id_of(node)
    }

    /// The id of a node: even, and odd where a trace refers to it.
    fn id_of(&self, node: usize) -> u32 {
        let is_retained = self.nodes.get(node).is_some_and(|node| node.is_retained);
        let place = u32::try_from(node).unwrap_or(u32::MAX);
        place.saturating_mul(2).saturating_add(FIRST_ID) | u32::from(is_retained)
    }

    fn node(&self, index: usize, node: &BuiltNode) -> Node {
        let (id, lm_id, ip) = (self.id_of(index), node.lm_id, node.ip);
        let parent = node.parent.map_or(0, |parent| self.id_of(parent));
        Node { id, parent, lm_id, ip, flags: Some(spec::NODE_UNWOUND), ..Node::default() }
    }

    fn expect(&mut self, holds: bool, otherwise: &'static str) {
        if !holds {
            self.wrong = self.wrong.or(Some(otherwise));
        }
    }

    /// Adds to the value of a metric at a node. Writing fails when there is no such node or metric.
    pub fn add(&mut self, node: usize, metric: u16, amount: f64) {
        self.expect(node < self.nodes.len(), "a value is of a node that is not there");
        let is_known = usize::from(metric) < self.metrics.len();
        self.expect(is_known, "a value is of a metric that is not there");
        let is_real = self.metrics.get(usize::from(metric)).is_some_and(|m| m.flags.is_real());
        let bits = self.values.entry(node).or_default().entry(metric).or_default();
        *bits = if is_real {
            (f64::from_bits(*bits) + amount).to_bits()
        } else {
            bits.saturating_add(saturating_count(amount))
        };
    }

    /// Writes it as 04.00b.
    ///
    /// # Errors
    /// When something that was added refers to what is not there, when there are more nodes than
    /// can be numbered, or when the output fails.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        self.write_as(&self.header, self.ids(), out)
    }

    /// Writes it as 04.00b with another header and other ids.
    pub(super) fn write_as(
        &self,
        header: &Header,
        id_tuple: &[Id],
        out: &mut impl Write,
    ) -> io::Result<()> {
        self.check()?;
        sparse::write(&WrittenProfile { header, id_tuple, profile: self }, out)
    }

    /// The header as far as it is known.
    pub(super) fn header(&self) -> &Header {
        &self.header
    }

    /// The ids of the thread, if any were given.
    pub(super) fn given_ids(&self) -> &[Id] {
        &self.id_tuple
    }

    /// The ids of the thread; without any it is thread 0.
    fn ids(&self) -> &[Id] {
        const THREAD_0: &[Id] = &[Id { kind: spec::THREAD_ID, physical: 0, logical: 0 }];
        if self.id_tuple.is_empty() { THREAD_0 } else { &self.id_tuple }
    }

    fn check(&self) -> io::Result<()> {
        if let Some(wrong) = self.wrong {
            return Err(super::too_large(wrong));
        }
        let nodes_max = usize::try_from((u32::MAX - FIRST_ID) / 2).unwrap_or(usize::MAX);
        if self.nodes.len() > nodes_max {
            return Err(super::too_large("there are more nodes than four bytes can number"));
        }
        Ok(())
    }

    /// Writes it as 02.00 as described, little-endian, with one epoch.
    ///
    /// Addresses become those of the process: modules need a [`Place`]. Gives what has no place
    /// there, in words: ids of threads, placeholders, descriptions and formulas of metrics.
    ///
    /// # Errors
    /// As for [`write`](Self::write), and when a module has no place.
    pub fn write_described(&self, out: &mut impl Write) -> io::Result<Vec<String>> {
        self.check()?;
        if self.load_modules.iter().any(|module| module.place.is_none()) {
            return Err(super::too_large("where a load module was in the process is not known"));
        }
        let mut sink = Sink::new(Endian::Little);
        let (dialect, endian) = (Dialect::Described, Endian::Little);
        Header { dialect, endian, nv: self.header.nv.clone() }.write(&mut sink)?;
        sink.u32(1);
        EpochHeader { granularity: 1, ..EpochHeader::default() }.write(&mut sink, dialect)?;
        let described = |metric: &Metric| {
            let real = if metric.flags.is_real() { spec::METRIC_REAL } else { 0 };
            let flags = MetricFlags::Described(spec::METRIC_ASYNCHRONOUS | real);
            Metric { flags, ..metric.clone() }
        };
        let metrics: Vec<_> = self.metrics.iter().map(described).collect();
        Metric::write_table(&metrics, &mut sink)?;
        LoadModule::write_map(&self.load_modules, &mut sink, dialect)?;
        sink.u32(count(self.nodes.len())?);
        let layout = NodeLayout { is_signed: true, ..NodeLayout::default() };
        for (index, node) in self.nodes.iter().enumerate() {
            self.described(index, node).write(&mut sink, &layout)?;
            for metric in 0..self.metrics.len() {
                let values = self.values.get(&index);
                let bits = u16::try_from(metric).ok().and_then(|metric| values?.get(&metric));
                sink.u64(bits.copied().unwrap_or(0));
            }
            flush(&mut sink, out)?;
        }
        out.write_all(sink.as_slice())?;
        Ok(self.without_place())
    }

    /// Lists what 02.00 as described has no place for.
    fn without_place(&self) -> Vec<String> {
        let metrics =
            |has: &dyn Fn(&Metric) -> bool| self.metrics.iter().filter(|m| has(m)).count();
        // The root is the one node that has no address.
        let modules = self.load_modules.len();
        let is_code = |node: &&BuiltNode| (1..=modules).contains(&usize::from(node.lm_id));
        let nodes = self.nodes.iter().skip(1);
        let lost = [
            ("ids of the thread", self.id_tuple.len()),
            ("placeholders, whose address is 0", nodes.filter(|node| !is_code(node)).count()),
            ("descriptions of metrics", metrics(&|metric| !metric.description.0.is_empty())),
            ("formulas of metrics", metrics(&Metric::is_computed)),
            ("formats of metrics", metrics(&|metric| !metric.format.0.is_empty())),
        ];
        let lost = lost.into_iter().filter(|(_, count)| *count > 0);
        lost.map(|(what, count)| format!("{what}: {count}")).collect()
    }

    /// The values of each node that are not 0: they are sparse.
    fn nonzero(&self) -> impl Iterator<Item = (usize, Vec<(u16, u64)>)> {
        let nodes = self.values.iter().map(|(node, values)| {
            let values = values.iter().map(|(metric, bits)| (*metric, *bits));
            (*node, values.filter(|(_, bits)| *bits != 0).collect::<Vec<_>>())
        });
        nodes.filter(|(_, values)| !values.is_empty())
    }

    /// A node with its address in the process; a leaf where nothing is below it.
    fn described(&self, index: usize, node: &BuiltNode) -> Node {
        let module = self.load_modules.iter().find(|module| module.id == u32::from(node.lm_id));
        let relocated = module.map_or(0, |module| {
            let place = module.place.unwrap_or(Place { load_addr: 0, load_offset: 0 });
            node.ip.wrapping_sub(place.load_offset).wrapping_add(place.load_addr)
        });
        let below = (index, 0, 0)..=(index, u16::MAX, u64::MAX);
        let is_leaf = self.known.range(below).next().is_none();
        Node { ip: relocated, is_leaf, ..self.node(index, node) }
    }
}

/// A count from an amount: what is below zero or beyond 64 bits becomes the nearest there is.
fn saturating_count(amount: f64) -> u64 {
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the cast of a float saturates, which is what is wanted"
    )]
    let whole = amount.round() as u64;
    whole
}

/// A profile that is written, with a header and ids that may be others.
struct WrittenProfile<'a> {
    header: &'a Header,
    id_tuple: &'a [Id],
    profile: &'a ProfileBuilder,
}

impl Contents for WrittenProfile<'_> {
    fn header(&self) -> &Header {
        self.header
    }

    fn load_modules(&self) -> &[LoadModule] {
        &self.profile.load_modules
    }

    fn layout(&self) -> NodeLayout {
        NodeLayout { has_module: true, has_flags: true, ..NodeLayout::default() }
    }

    fn node_count(&self) -> usize {
        self.profile.nodes.len()
    }

    fn nodes(&self) -> Box<dyn Iterator<Item = Node> + '_> {
        let nodes = self.profile.nodes.iter().enumerate();
        Box::new(nodes.map(|(index, node)| self.profile.node(index, node)))
    }

    fn metrics(&self) -> &[Metric] {
        &self.profile.metrics
    }

    fn id_kinds(&self) -> &[IdKind] {
        &self.profile.id_kinds
    }

    fn id_tuple(&self) -> &[Id] {
        self.id_tuple
    }

    fn value_count(&self) -> usize {
        self.profile.nonzero().map(|(_, values)| values.len()).sum()
    }

    fn values(&self, take: &mut dyn FnMut(u64, u16)) {
        let values = self.profile.nonzero().flat_map(|(_, values)| values);
        values.for_each(|(metric, bits)| take(bits, metric));
    }

    fn index(&self) -> Vec<(u32, u64)> {
        let mut start = 0;
        let nodes = self.profile.nonzero().map(|(node, values)| {
            let first = start;
            start += values.len() as u64;
            (self.profile.id_of(node), first)
        });
        nodes.collect()
    }
}
