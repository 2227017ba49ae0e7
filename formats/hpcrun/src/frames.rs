//! Meanings of the nodes of an epoch. Checks, reports and databases all ask here.

use kymo_model::measurement::Frame;

use crate::spec::{SPECIAL_MODULES, placeholder};
use crate::types::{Dialect, Epoch, Node};

/// Meaning of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NodeMeaning {
    /// A frame; the module of code is the place in the epoch's load map.
    Frame(Frame),
    /// A thing of a GPU, by what kind of thing it is.
    Special(&'static str),
    /// Code of a module that is not in the load map.
    Strange,
}

/// Tells what nodes of an epoch stand for.
pub(crate) struct Frames<'a> {
    epoch: &'a Epoch,
    dialect: Dialect,
    /// Places of load modules by id, as shipped; of several with one id the first.
    by_id: Vec<u32>,
    /// Places of load modules by address, as described.
    by_address: Vec<(u64, u32)>,
    /// Distance of return addresses behind their calls.
    distance: u64,
}

/// No load module.
const NONE: u32 = u32::MAX;

impl<'a> Frames<'a> {
    pub(crate) fn new(epoch: &'a Epoch, dialect: Dialect) -> Self {
        let places = || epoch.load_modules.iter().zip(0..NONE);
        let by_address = places().filter_map(|(module, at)| Some((module.place?.load_addr, at)));
        let mut by_address: Vec<_> = by_address.collect();
        by_address.sort_unstable();
        // Nodes name modules with two bytes.
        let number = |id: u32| u16::try_from(id).map(usize::from).ok();
        let ids = places().filter_map(|(module, at)| Some((number(module.id)?, at)));
        let mut by_id = Vec::new();
        for (id, at) in ids {
            if by_id.len() <= id {
                by_id.resize(id + 1, NONE);
            }
            if let Some(slot) = by_id.get_mut(id) {
                *slot = at.min(*slot);
            }
        }
        let distance = epoch.header.as_ref().map_or(0, |header| header.ra_distance.into());
        Self { epoch, dialect, by_id, by_address, distance }
    }

    /// Returns true if complete unwinds begin at the root itself: old files have no entries below
    /// it.
    pub(crate) fn is_old(&self) -> bool {
        self.dialect != Dialect::Shipped0400
    }

    /// Returns the meaning of a node, that may be a root.
    pub(crate) fn meaning(&self, node: &Node, is_root: bool) -> NodeMeaning {
        let is_described = self.dialect == Dialect::Described;
        if is_described && node.ip == 0 {
            return NodeMeaning::Frame(Frame::MainEntry);
        }
        if !is_described && node.lm_id == 0 {
            return NodeMeaning::Frame(self.placeholder(node.ip, is_root));
        }
        let found = if is_described { self.by_address(node.ip) } else { self.by_id(node) };
        match found {
            Some((module, offset)) => {
                let distance = if node.is_leaf { 0 } else { self.distance };
                let (offset, is_called) = (offset.wrapping_sub(distance), node.is_called());
                NodeMeaning::Frame(Frame::Code { module, offset, is_called })
            }
            None => special(node)
                .filter(|_| !is_described)
                .map_or(NodeMeaning::Strange, NodeMeaning::Special),
        }
    }

    /// As described, modules are found by the address in the process.
    fn by_address(&self, ip: u64) -> Option<(u32, u64)> {
        let after = self.by_address.partition_point(|(address, _)| *address <= ip);
        let (_, module) = self.by_address.get(after.checked_sub(1)?)?;
        let place = self.epoch.load_modules.get(usize::try_from(*module).ok()?)?.place?;
        Some((*module, ip.wrapping_sub(place.load_addr).wrapping_add(place.load_offset)))
    }

    fn by_id(&self, node: &Node) -> Option<(u32, u64)> {
        let module = self.by_id.get(usize::from(node.lm_id)).filter(|module| **module != NONE)?;
        Some((*module, node.ip))
    }

    fn placeholder(&self, ip: u64, is_root: bool) -> Frame {
        let is_old = self.is_old();
        match if is_old { old_code(ip) } else { ip } {
            placeholder::PRIMARY if is_root && is_old => Frame::MainEntry,
            placeholder::PRIMARY if is_root => Frame::Root,
            placeholder::MAIN => Frame::MainEntry,
            placeholder::THREAD => Frame::ThreadEntry,
            placeholder::PARTIAL => Frame::UnknownEntry,
            placeholder::NO_ACTIVITY => Frame::Idle,
            placeholder::UNNORMALIZED => Frame::UnknownCode,
            code => Frame::Placeholder(code),
        }
    }
}

/// The code that a frame has as a placeholder; 0 where it is none.
pub(crate) fn code(frame: Frame) -> u64 {
    match frame {
        Frame::Root => placeholder::PRIMARY,
        Frame::Idle => placeholder::NO_ACTIVITY,
        Frame::MainEntry => placeholder::MAIN,
        Frame::ThreadEntry => placeholder::THREAD,
        Frame::UnknownEntry => placeholder::PARTIAL,
        Frame::UnknownCode => placeholder::UNNORMALIZED,
        Frame::Placeholder(code) => code,
        Frame::Code { .. } => 0,
    }
}

fn special(node: &Node) -> Option<&'static str> {
    SPECIAL_MODULES.iter().find(|(id, _)| *id == node.lm_id).map(|(_, name)| *name)
}

/// The two roots of old files as the placeholders of today.
fn old_code(ip: u64) -> u64 {
    match ip {
        0 => placeholder::PRIMARY,
        1 => placeholder::PARTIAL,
        other => other,
    }
}
