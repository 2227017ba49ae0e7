//! The flow graph of a function.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{Callee, Code, Extent, Flow, index, number, tables};

/// Number of instructions that are searched, back from a jump through a table, for what describes
/// the table.
const BACK_MAX: usize = 40;

/// Instructions that are only ever run one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) start: u64,
    /// The address of its last instruction.
    pub(crate) last: u64,
    pub(crate) end: u64,
    /// True if it may also lead out of the function, other than by calls and returns.
    pub(crate) leaves: bool,
    /// Position in the list of targets at which its own begin.
    to: u32,
}

/// Blocks of a function by address, and which lead to which.
#[derive(Debug)]
pub(crate) struct Graph {
    pub(crate) blocks: Vec<Block>,
    /// Blocks at which control comes in: the entry, and then code that nothing is known to lead to.
    pub(crate) roots: Vec<u32>,
    /// Targets of jumps and branches that leave the function.
    pub(crate) outside: BTreeSet<u64>,
    targets: Vec<u32>,
}

impl Graph {
    /// Follows the code of a function from its entry. `returns` says whether what is called returns.
    pub(crate) fn from_code(
        code: &Code,
        extent: &Extent,
        entry: u64,
        returns: &mut dyn FnMut(Callee) -> bool,
    ) -> Self {
        let mut walk = Walk::new(code, extent);
        if let Some(place) = extent.place(entry) {
            walk.root(place, returns);
        }
        while let Some(place) = walk.next_gap() {
            walk.root(place, returns);
        }
        walk.into_graph()
    }

    /// A graph of blocks that lead to these, from the first one on.
    #[cfg(test)]
    pub(super) fn made(leads: &[Vec<u32>]) -> Self {
        let (blocks, targets, outside) = (Vec::new(), Vec::new(), BTreeSet::new());
        let mut graph = Self { blocks, roots: vec![0], outside, targets };
        for (start, to) in (0..).zip(leads) {
            let (to, from) = (number(graph.targets.len()), to);
            graph.targets.extend(from);
            let (last, end) = (start, start + 1);
            graph.blocks.push(Block { start, last, end, leaves: false, to });
        }
        graph
    }

    /// The blocks that a block leads to.
    pub(crate) fn targets(&self, block: u32) -> &[u32] {
        let start = self.blocks.get(index(block)).map_or(0, |block| block.to);
        let end = self.blocks.get(index(block) + 1).map(|next| index(next.to));
        self.targets.get(index(start)..end.unwrap_or(self.targets.len())).unwrap_or_default()
    }
}

/// Code that is being followed.
pub(super) struct Walk<'a> {
    pub(super) code: &'a Code,
    pub(super) extent: &'a Extent,
    /// Length of the instruction at each place; 0 where none is known to begin.
    lengths: Vec<u8>,
    /// True if a block begins at each place.
    is_leader: Vec<bool>,
    /// Instructions that do not simply lead to the next one.
    flows: HashMap<u32, Flow>,
    /// From where each place was jumped to first.
    from: HashMap<u32, u32>,
    /// Targets of jumps through tables.
    tables: HashMap<u32, Vec<u32>>,
    /// Addresses that are put into registers.
    pub(super) taken: RegisterAddresses,
    /// Number of entries of tables that may still be read.
    pub(super) entries_left: u64,
    roots: Vec<u32>,
    outside: BTreeSet<u64>,
    /// Places to follow.
    open: Vec<u32>,
    /// Jumps through registers that were not looked at yet.
    indirect: Vec<u32>,
    /// Up to where every byte is known to be an instruction or none.
    swept: u32,
}

impl<'a> Walk<'a> {
    fn new(code: &'a Code, extent: &'a Extent) -> Self {
        let size = index(extent.size);
        Self {
            code,
            extent,
            lengths: vec![0; size],
            is_leader: vec![false; size],
            flows: HashMap::new(),
            from: HashMap::new(),
            tables: HashMap::new(),
            taken: RegisterAddresses::default(),
            entries_left: tables::ENTRIES_MAX,
            roots: Vec::new(),
            outside: BTreeSet::new(),
            open: Vec::new(),
            indirect: Vec::new(),
            swept: 0,
        }
    }

    /// Follows everything that a place leads to.
    fn root(&mut self, place: u32, returns: &mut dyn FnMut(Callee) -> bool) {
        self.roots.push(place);
        self.add_successor(place, None);
        loop {
            while let Some(place) = self.open.pop() {
                self.follow(place, returns);
            }
            let Some(jump) = self.indirect.pop() else { break };
            let targets = tables::targets(self, jump);
            for target in &targets {
                self.add_successor(*target, Some(jump));
            }
            self.tables.insert(jump, targets);
        }
    }

    /// Takes down that control comes to a place, perhaps by a jump.
    fn add_successor(&mut self, place: u32, from: Option<u32>) {
        self.begin_block(place);
        if let Some(from) = from {
            self.from.entry(place).or_insert(from);
        }
        if self.length(place) == 0 {
            self.open.push(place);
        }
    }

    /// Follows instructions one after the other, up to what is known already.
    fn follow(&mut self, mut place: u32, returns: &mut dyn FnMut(Callee) -> bool) {
        while self.length(place) == 0 {
            let address = self.extent.address(place);
            let Some(step) = self.code.step(address) else { return };
            if !self.extent.contains_instruction(place, step.length) {
                return;
            }
            if let Some(length) = self.lengths.get_mut(index(place)) {
                *length = step.length;
            }
            if let Some((register, to)) = step.takes {
                self.taken.add(register, address, to);
            }
            let flow = match step.flow {
                Flow::Call(callee) if !returns(callee) => Flow::Stop,
                flow => flow,
            };
            if flow != Flow::Next {
                self.flows.insert(place, flow);
            }
            match flow {
                Flow::Jump(to) | Flow::Branch(to) => {
                    if let Some(target) = self.extent.place(to) {
                        self.add_successor(target, Some(place));
                    } else {
                        self.outside.insert(to);
                    }
                }
                Flow::Indirect(_) => self.indirect.push(place),
                _ => {}
            }
            let Some(next) = self.next(place).filter(|_| falls_through(flow)) else { return };
            if matches!(flow, Flow::Branch(_)) {
                self.begin_block(next);
            }
            place = next;
        }
        // It was reached in another way before.
        self.begin_block(place);
    }

    fn begin_block(&mut self, place: u32) {
        if let Some(is_leader) = self.is_leader.get_mut(index(place)) {
            *is_leader = true;
        }
    }

    /// The next place that no instruction was found at, and that may be one.
    fn next_gap(&mut self) -> Option<u32> {
        while self.swept < self.extent.size {
            let place = self.swept;
            if self.length(place) > 0 {
                self.swept += u32::from(self.length(place));
                continue;
            }
            let step = self.code.step(self.extent.address(place));
            let step = step.filter(|step| self.extent.contains_instruction(place, step.length));
            if step.is_some_and(|step| !step.is_padding) {
                return Some(place);
            }
            let length = step.map_or(self.code.machine.alignment(), |step| step.length);
            self.swept = self.swept.saturating_add(u32::from(length));
        }
        None
    }

    fn length(&self, place: u32) -> u8 {
        self.lengths.get(index(place)).copied().unwrap_or(0)
    }

    pub(super) fn flow(&self, place: u32) -> Flow {
        self.flows.get(&place).copied().unwrap_or(Flow::Next)
    }

    /// The place after an instruction, if that is part of the function.
    fn next(&self, place: u32) -> Option<u32> {
        let length = u64::from(self.length(place));
        self.extent.place(self.extent.address(place).checked_add(length)?)
    }

    /// Instructions before one, the nearest first, along some way that control may have come.
    pub(super) fn preceding_instructions(&self, place: u32) -> Vec<u32> {
        let previous = |place: &u32| {
            let by_fall = (1..=15_u8).find_map(|back| {
                let before = place.checked_sub(back.into())?;
                let leads = self.length(before) == back && falls_through(self.flow(before));
                (leads && self.next(before) == Some(*place)).then_some(before)
            });
            by_fall.or_else(|| self.from.get(place).copied())
        };
        std::iter::successors(previous(&place), previous).take(BACK_MAX).collect()
    }

    /// Every instruction that was found, by address.
    pub(super) fn instructions(&self) -> impl Iterator<Item = u32> {
        let places = self.lengths.iter().zip(0..).filter(|(length, _)| **length > 0);
        places.map(|(_, place)| place)
    }

    fn into_graph(self) -> Graph {
        let is_start = |place: &u32| self.is_leader.get(index(*place)).copied().unwrap_or(false);
        let leaders: Vec<u32> = self.instructions().filter(is_start).collect();
        let block_of = |place: u32| leaders.binary_search(&place).ok().map(number);
        let (blocks, roots, targets) = (Vec::new(), Vec::new(), Vec::new());
        let mut graph = Graph { blocks, roots, outside: self.outside.clone(), targets };
        for &start in &leaders {
            let mut last = start;
            while falls_through(self.flow(last)) && !matches!(self.flow(last), Flow::Branch(_)) {
                match self.next(last).filter(|next| self.length(*next) > 0 && !is_start(next)) {
                    Some(next) => last = next,
                    None => break,
                }
            }
            let end = self.extent.address(last) + u64::from(self.length(last));
            let (start, last, to) = (self.extent.address(start), last, number(graph.targets.len()));
            let leaves = self.add_targets(last, &block_of, &mut graph.targets);
            let last = self.extent.address(last);
            graph.blocks.push(Block { start, last, end, leaves, to });
        }
        graph.roots.extend(self.roots.iter().filter_map(|root| block_of(*root)));
        graph
    }

    /// Appends the blocks that an instruction leads to, and says whether it may leave the function.
    fn add_targets(
        &self,
        last: u32,
        block_of: &impl Fn(u32) -> Option<u32>,
        to: &mut Vec<u32>,
    ) -> bool {
        let flow = self.flow(last);
        let block_at = |address| self.extent.place(address).and_then(block_of);
        let next = falls_through(flow).then(|| self.next(last)).flatten().and_then(block_of);
        match flow {
            Flow::Jump(target) | Flow::Branch(target) => {
                let target = block_at(target);
                to.extend(next.into_iter().chain(target));
                target.is_none()
            }
            Flow::Indirect(_) => {
                let targets = self.tables.get(&last).map(Vec::as_slice).unwrap_or_default();
                to.extend(targets.iter().filter_map(|target| block_of(*target)));
                targets.is_empty()
            }
            _ => {
                to.extend(next);
                false
            }
        }
    }
}

/// Addresses that instructions put into registers.
#[derive(Debug, Default)]
pub(super) struct RegisterAddresses {
    by_register: BTreeMap<(u8, u64), u64>,
    all: BTreeSet<u64>,
}

impl RegisterAddresses {
    fn add(&mut self, register: u8, at: u64, address: u64) {
        self.by_register.insert((register, at), address);
        self.all.insert(address);
    }

    /// Returns the address that was last put into a register before an instruction, or else the
    /// first after it.
    pub(super) fn find(&self, register: u8, at: u64) -> Option<u64> {
        let before = self.by_register.range((register, 0)..(register, at)).next_back();
        let mut after = self.by_register.range((register, at)..=(register, u64::MAX));
        before.or_else(|| after.next()).map(|(_, address)| *address)
    }

    /// The first address after one.
    pub(super) fn next_address(&self, address: u64) -> Option<u64> {
        self.all.range(address.checked_add(1)?..).next().copied()
    }
}

/// Returns true if control may come to the next instruction.
fn falls_through(flow: Flow) -> bool {
    matches!(flow, Flow::Next | Flow::Branch(_) | Flow::Call(_))
}
