//! The context of each node of an epoch.

use std::collections::HashMap;

use kymo_core::Result;
use kymo_model::measurement::Frame;
use kymo_model::profile::{ContextId, IDLE, Node, Relation, Scope};

use super::code::KnownModule;
use super::remarks::RuleCounts;
use super::{Merging, UNKNOWN_ENTRY, display_name};
use crate::frames::{Frames, NodeMeaning, code};
use crate::tree::Tree;
use crate::types::{self, Dialect, Epoch};

/// Place of a node in the tree: contexts by their numbers, as there may be very many nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// The innermost context, which children hang below.
    full: u32,
    /// The first below the parent: what was called.
    rel: u32,
}

impl Place {
    /// The number that is no context's.
    pub(super) const NO_CONTEXT: u32 = u32::MAX;

    /// The root of everything, which is no context.
    const GLOBAL: Self = Self { full: Self::NO_CONTEXT, rel: Self::NO_CONTEXT };

    /// Not known yet.
    const OPEN: Self = Self { full: Self::NO_CONTEXT, rel: 0 };

    fn from_contexts(full: ContextId, rel: ContextId) -> Self {
        let number = |context: ContextId| u32::try_from(context.0).unwrap_or(Self::NO_CONTEXT);
        Self { full: number(full), rel: number(rel) }
    }

    /// The innermost context.
    pub(super) fn full(self) -> Option<ContextId> {
        (self.full != Self::NO_CONTEXT).then(|| ContextId(self.full.into()))
    }

    /// Returns the context that was called.
    pub(super) fn rel(self) -> Option<ContextId> {
        self.full().map(|_| ContextId(self.rel.into()))
    }

    /// The number of the innermost context.
    pub(super) fn number(self) -> u32 {
        self.full
    }
}

/// Finds the context of each node of an epoch.
pub(super) struct Placing<'a, 'b> {
    merging: &'a mut Merging<'b>,
    epoch: &'a Epoch,
    frames: Frames<'a>,
    tree: &'a Tree,
    places: Vec<Place>,
    /// The load modules, in the order of their list.
    modules: Vec<KnownModule>,
    /// Modules that are not in the list, by what they are called.
    others: HashMap<&'static str, KnownModule>,
}

impl<'a, 'b> Placing<'a, 'b> {
    pub(super) fn new(
        merging: &'a mut Merging<'b>,
        epoch: &'a Epoch,
        dialect: Dialect,
        tree: &'a Tree,
    ) -> Self {
        let places = vec![Place::OPEN; epoch.nodes.len()];
        let paths = epoch.load_modules.iter().map(|module| module.path.text());
        let modules = paths.map(|path| merging.code.module(&mut merging.builder, &path)).collect();
        let (frames, others) = (Frames::new(epoch, dialect), HashMap::new());
        Self { merging, epoch, frames, tree, places, modules, others }
    }

    /// Places every node, and says which are not where they should be.
    pub(super) fn all(mut self, remarks: &mut RuleCounts) -> Result<Vec<Place>> {
        let on_cycle = match self.tree.cycle() {
            Some(_) => self.tree.on_cycles(),
            None => Vec::new(),
        };
        remarks.nodes(self.epoch, self.tree, &on_cycle);
        let mut pending = Vec::new();
        for index in 0..self.epoch.nodes.len() {
            // Parents may come later in old files: go up to the first that is placed, then down.
            let mut at = Some(index);
            while let Some(node) = at.filter(|node| self.placed(*node) == Some(Place::OPEN)) {
                pending.push(node);
                let goes_round = on_cycle.get(node).copied().unwrap_or(false);
                at = self.tree.parent(node).filter(|_| !goes_round);
            }
            while let Some(node) = pending.pop() {
                let place = self.place(node, at, remarks)?;
                if let Some(slot) = self.places.get_mut(node) {
                    *slot = place;
                }
                at = Some(node);
            }
        }
        Ok(self.places)
    }

    fn placed(&self, node: usize) -> Option<Place> {
        self.places.get(node).copied()
    }

    /// The context of a node below another that is placed; a root has none above.
    fn place(
        &mut self,
        index: usize,
        above: Option<usize>,
        remarks: &mut RuleCounts,
    ) -> Result<Place> {
        let node = self.epoch.nodes.get(index).unwrap_or_default();
        let parent = above.and_then(|above| self.placed(above)?.full());
        match self.frames.meaning(&node, above.is_none()) {
            NodeMeaning::Frame(Frame::UnknownEntry) if self.is_outside_entries(above) => {
                self.frame(Frame::UnknownEntry, &node, None)
            }
            NodeMeaning::Frame(frame) => self.frame(frame, &node, parent),
            NodeMeaning::Special(name) => {
                let module = self.unlisted_module(name);
                self.code(parent, module, node.ip)
            }
            NodeMeaning::Strange => {
                remarks.add("node-module", self.epoch.nodes.offset_of(index));
                let module = self.unlisted_module("unknown module");
                self.code(parent, module, node.ip)
            }
        }
    }

    /// In old files the root is an entry itself, and those of incomplete unwinds are beside it.
    fn is_outside_entries(&self, above: Option<usize>) -> bool {
        self.frames.is_old() && above.is_some_and(|above| self.tree.parent(above).is_none())
    }

    fn frame(
        &mut self,
        frame: Frame,
        node: &types::Node,
        parent: Option<ContextId>,
    ) -> Result<Place> {
        match (frame, parent) {
            (Frame::Root, _) => return Ok(Place::GLOBAL),
            (Frame::Code { module, offset, is_called }, _) => {
                self.merging.has_strays |= !is_called;
                let module = usize::try_from(module).ok().and_then(|at| self.modules.get(at));
                let Some(module) = module.copied() else { return Ok(Place::GLOBAL) };
                return self.code(parent, module, offset);
            }
            (Frame::UnknownCode, _) => {
                let function = Some(self.merging.named("<unknown function>", 0));
                let context = Node { function, ..Node::new(Scope::Function, Relation::Call) };
                return self.place_chain(parent, [context]);
            }
            // Who does nothing is nowhere in the program.
            (Frame::Idle, _) => return self.idle(),
            (Frame::MainEntry, None) => return self.entry("main thread"),
            (Frame::ThreadEntry, None) => return self.entry("application thread"),
            (Frame::UnknownEntry, None) => return self.entry(UNKNOWN_ENTRY),
            (
                Frame::MainEntry | Frame::ThreadEntry | Frame::UnknownEntry | Frame::Placeholder(_),
                _,
            ) => {}
        }
        // Placeholders of one name and two codes are two.
        let function = Some(self.merging.named(&display_name(node), code(frame)));
        self.place_chain(
            parent,
            [Node { function, ..Node::new(Scope::Placeholder, Relation::Call) }],
        )
    }

    fn entry(&mut self, name: &str) -> Result<Place> {
        let context = self.merging.entry(name)?;
        Ok(Place::from_contexts(context, context))
    }

    fn idle(&mut self) -> Result<Place> {
        let function = Some(self.merging.named(IDLE, code(Frame::Idle)));
        let node = Node { function, ..Node::new(Scope::Placeholder, Relation::Call) };
        let context = self.merging.builder.child(None, node)?;
        Ok(Place::from_contexts(context, context))
    }

    /// A module that is not in the list.
    fn unlisted_module(&mut self, name: &'static str) -> KnownModule {
        let merging = &mut *self.merging;
        let module = || merging.code.module(&mut merging.builder, &format!("<{name}>"));
        *self.others.entry(name).or_insert_with(module)
    }

    /// An instruction, within what is known to be around it.
    fn code(
        &mut self,
        parent: Option<ContextId>,
        module: KnownModule,
        offset: u64,
    ) -> Result<Place> {
        let chain = self.merging.code.contexts_at(&mut self.merging.builder, module, offset);
        let relation = if chain.is_empty() { Relation::Call } else { Relation::Lexical };
        let point = Some((module.id, offset));
        let instruction = Node { point, ..Node::new(Scope::Instruction, relation) };
        self.place_chain(parent, chain.iter().copied().chain([instruction]))
    }

    /// Puts a chain below a context; what hangs below nothing gets an entry.
    fn place_chain(
        &mut self,
        parent: Option<ContextId>,
        chain: impl IntoIterator<Item = Node>,
    ) -> Result<Place> {
        let mut full = match parent {
            Some(parent) => parent,
            None => self.merging.entry(UNKNOWN_ENTRY)?,
        };
        let mut rel = None;
        for node in chain {
            full = self.merging.builder.child(Some(full), node)?;
            rel = rel.or(Some(full));
        }
        Ok(Place::from_contexts(full, rel.unwrap_or(full)))
    }
}
