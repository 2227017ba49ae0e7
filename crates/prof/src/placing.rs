//! From the nodes of a thread's tree to contexts of the merged one.

use kymo_core::Result;
use kymo_model::measurement::{Frame, MeasuredNode, MeasuredThread, MeasurementView};
use kymo_model::profile::Relation;

use crate::chains::Chain;
use crate::lookup::Lookup;
use crate::names::index;
use crate::sharing::{Room, Strays};
use crate::tree::{Entry, GLOBAL, Key, Place, Scope, Tree};

/// Number of nodes that are looked up before they are placed.
const LOOKED_UP: usize = 1 << 13;

/// Finds the context of each node, and makes it where it is not there yet. `modules` are the
/// numbers of the thread's modules. What is known to be below a context, but not by which way, is
/// told apart; `room` is what there is for the ways.
pub(crate) fn places(
    tree: &mut Tree,
    lookup: &mut Lookup<'_>,
    view: &dyn MeasurementView,
    thread: &MeasuredThread,
    modules: &[u32],
    room: Room,
) -> Result<(Vec<Place>, Strays)> {
    let mut places: Vec<Place> = Vec::with_capacity(thread.nodes.len());
    let strays = Strays::new(room);
    let mut placing = Placing { tree, lookup, view, modules, strays, node: 0 };
    let mut are_used = used(thread).into_iter();
    for nodes in thread.nodes.chunks(LOOKED_UP) {
        placing.look_up(nodes);
        for node in nodes {
            let above = places.get(index(node.above)).map_or(GLOBAL, |above| above.full);
            let is_used = are_used.next().unwrap_or(true);
            places.push(placing.place(above, node.frame, is_used)?);
            placing.node += 1;
        }
    }
    Ok((places, placing.strays))
}

/// Returns, for each node, whether it has values, or others below it.
fn used(thread: &MeasuredThread) -> Vec<bool> {
    let mut are_used = vec![false; thread.nodes.len()];
    let above = thread.nodes.iter().zip(0..).filter(|(node, own)| node.above != *own);
    let above = above.map(|(node, _)| node.above);
    for node in above.chain(thread.values.iter().map(|value| value.node)) {
        if let Some(is_used) = are_used.get_mut(index(node)) {
            *is_used = true;
        }
    }
    are_used
}

/// An instruction that was called, or that calls: with the scopes around it. One that is part of a
/// line gets a context of its own only where something is to be kept there (`is_used`): nobody else
/// asks for it, as listings show the line.
pub(crate) fn code(
    tree: &mut Tree,
    lookup: &Lookup<'_>,
    above: u32,
    point: u32,
    is_used: bool,
) -> Result<Place> {
    let around = lookup.chain_at(point);
    let scope = Scope::Point(point);
    if around == Chain::EMPTY {
        return tree.child(above, Key { scope, relation: Relation::Call }).map(Place::from_context);
    }
    let place = tree.place_chain(above, around, lookup.inside_out(around))?;
    if !is_used {
        return Ok(place);
    }
    let full = tree.child(place.full, Key { scope, relation: Relation::Lexical })?;
    Ok(Place { full, ..place })
}

struct Placing<'a, 'b> {
    tree: &'a mut Tree,
    lookup: &'a mut Lookup<'b>,
    view: &'a dyn MeasurementView,
    modules: &'a [u32],
    strays: Strays,
    /// The index of the node that is placed.
    node: u32,
}

impl Placing<'_, '_> {
    /// Looks up the addresses of nodes, modules beside each other.
    fn look_up(&mut self, nodes: &[MeasuredNode]) {
        let modules = self.modules;
        let addresses = nodes.iter().filter_map(|node| match node.frame {
            Frame::Code { module, offset, .. } => Some((*modules.get(index(module))?, offset)),
            _ => None,
        });
        self.lookup.ahead(addresses);
    }

    fn place(&mut self, above: u32, frame: Frame, is_used: bool) -> Result<Place> {
        match frame {
            Frame::Root => Ok(Place::from_context(GLOBAL)),
            Frame::Idle if above == GLOBAL => Ok(Place::from_context(GLOBAL)),
            Frame::MainEntry if above == GLOBAL => self.entry(Entry::Main).map(Place::from_context),
            Frame::ThreadEntry if above == GLOBAL => {
                self.entry(Entry::Thread).map(Place::from_context)
            }
            Frame::UnknownEntry if above == GLOBAL => {
                self.entry(Entry::Unknown).map(Place::from_context)
            }
            Frame::UnknownCode => self.place_scope(above, Scope::Unknown),
            Frame::Idle
            | Frame::MainEntry
            | Frame::ThreadEntry
            | Frame::UnknownEntry
            | Frame::Placeholder(_) => self.placeholder(above, frame),
            Frame::Code { module, offset, is_called } => {
                let Some(&module) = self.modules.get(index(module)) else {
                    return self.place_scope(above, Scope::Unknown);
                };
                let point = self.lookup.point(module, offset);
                if !is_called {
                    return self.place_stray(above, point);
                }
                let above = self.parent(above)?;
                code(self.tree, self.lookup, above, point, is_used)
            }
        }
    }

    fn entry(&mut self, entry: Entry) -> Result<u32> {
        let key = Key { scope: Scope::Entry(entry), relation: Relation::Call };
        self.tree.child(GLOBAL, key)
    }

    /// Returns the parent for a context: the entry point of what hangs directly below the whole
    /// program is unknown.
    fn parent(&mut self, above: u32) -> Result<u32> {
        if above == GLOBAL { self.entry(Entry::Unknown) } else { Ok(above) }
    }

    fn place_scope(&mut self, above: u32, scope: Scope) -> Result<Place> {
        let parent = self.parent(above)?;
        self.tree.child(parent, Key { scope, relation: Relation::Call }).map(Place::from_context)
    }

    fn placeholder(&mut self, above: u32, frame: Frame) -> Result<Place> {
        let view = self.view;
        let function = self.lookup.names.placeholder(frame, || view.placeholder(frame));
        self.place_scope(above, Scope::Function(function))
    }

    /// An instruction that nobody knows the caller of.
    fn place_stray(&mut self, above: u32, point: u32) -> Result<Place> {
        let root = self.parent(above)?;
        if let Some(routes) = self.lookup.routes(point) {
            let node = (self.node, root, point);
            if self.strays.add(node, &routes, self.tree, self.lookup)? {
                return Ok(Place::from_context(root));
            }
        }
        if self.lookup.has_complete_calls(point) {
            self.strays.count_omitted();
        }
        let Place { full: called, .. } = self.place_scope(above, Scope::Unknown)?;
        let key = Key { scope: Scope::Point(point), relation: Relation::Call };
        Ok(Place { full: self.tree.child(called, key)?, called })
    }
}
