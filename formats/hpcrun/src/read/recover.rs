//! Finding the sections of a 04.00b file again that has no footer.
//!
//! Every section says by its counts where it ends, and the next one begins at a multiple of 1024.
//! Where one is damaged, the next is looked for at these.

use kymo_core::bytes::{Cursor, Limits, ReadError};

use super::sparse::node_layout;
use super::{PartOfProfile, Profile, ProfileReader, primitive};
use crate::read::arrays::Nodes;
use crate::spec::{FOOTER_BYTES, FOOTER_END, SECTION_ALIGNMENT};
use crate::types::{Dialect, Header};

/// The place of the nodes among the sections.
const NODES_INDEX: usize = 2;

/// Number of nodes that are looked at to find their size.
const NODES_LOOKED_AT: usize = 4096;

impl<'a> ProfileReader<'a> {
    /// Reads section after section. Behind one that is not whole it goes on where the next looks
    /// like one.
    pub(super) fn recover(&mut self) {
        let mut cursor = self.cursor(Header::magic_bytes(Dialect::Shipped0400));
        let mut index = 0;
        while let Some(part) = PartOfProfile::SECTIONS.get(index).copied() {
            let start = cursor.offset();
            let losses = self.profile.losses.len();
            if self.recover_section(part, &mut cursor) {
                self.advance(&mut cursor);
                index += 1;
                continue;
            }
            let found = self.next_section(index, start);
            let (next, offset) = found.unwrap_or((usize::MAX, self.bytes.len() as u64));
            if next == index {
                // It is further on: nothing of it is lost yet.
                self.profile.losses.truncate(losses);
            }
            let lost = PartOfProfile::SECTIONS.into_iter().take(next).skip(index + 1);
            lost.for_each(|part| self.lose(part, self.bytes.len() as u64, 0, None));
            (index, cursor) = (next, self.cursor(offset));
        }
    }

    /// Reads a section, and says whether it is whole.
    fn recover_section(&mut self, part: PartOfProfile, cursor: &mut Cursor<'a>) -> bool {
        match part {
            PartOfProfile::HEADER => self.header(cursor),
            PartOfProfile::LOAD_MODULES => self.load_modules(cursor),
            PartOfProfile::NODES => self.recover_nodes(cursor),
            PartOfProfile::METRICS => self.metrics(cursor),
            PartOfProfile::ID_KINDS => self.id_kinds(cursor),
            _ => self.recover_values(cursor),
        }
    }

    /// Looks for the sections without regard to the footer, where that leads to more of them.
    pub(super) fn recover_instead(&mut self) {
        let dialect = Dialect::Shipped0400;
        let mut again = ProfileReader::new(self.bytes, self.endian, &self.limits, dialect);
        again.profile.epochs.push(self.empty());
        again.recover();
        if again.profile.losses.len() < self.profile.losses.len() {
            let Profile { header, epochs, id_kinds, id_tuple, losses, .. } = again.profile;
            let id_tuple_offset = again.profile.id_tuple_offset;
            let ours = &mut self.profile;
            (ours.header, ours.epochs, ours.losses) = (header, epochs, losses);
            (ours.id_kinds, ours.id_tuple) = (id_kinds, id_tuple);
            ours.id_tuple_offset = id_tuple_offset;
        }
    }

    /// Reads the last section, and says what follows it that is no footer.
    fn recover_values(&mut self, cursor: &mut Cursor<'a>) -> bool {
        let faults = self.profile.faults.len();
        self.profile.id_tuple.clear();
        self.values(cursor);
        if self.profile.faults.len() > faults {
            return false;
        }
        self.advance(cursor);
        let footer =
            cursor.remaining_bytes().len().min(usize::try_from(FOOTER_BYTES).unwrap_or(usize::MAX));
        let (at, left) = (cursor.offset(), cursor.remaining());
        let is_footer =
            cursor.remaining_bytes().get(footer.saturating_sub(8)..footer) == Some(FOOTER_END);
        let extra = if is_footer { left - footer as u64 } else { left };
        if extra > 0 && (is_footer || left > FOOTER_BYTES) {
            let why = format!("{extra} bytes follow the last section and its footer");
            let at = at + (left - extra);
            self.warn("trailing", at, why);
        }
        true
    }

    /// Goes to where the next section begins.
    fn advance(&self, cursor: &mut Cursor<'a>) {
        *cursor = self.cursor(aligned(cursor.offset()));
    }

    fn recover_nodes(&mut self, cursor: &mut Cursor<'a>) -> bool {
        let at = cursor.offset();
        let count = match cursor.u64("number of nodes") {
            Ok(count) => count,
            Err(error) => return self.is_whole(PartOfProfile::NODES, Some(error), (at, 0, None)),
        };
        let has_flags = self.nodes_have_flags(cursor.offset(), count);
        let size = node_layout(has_flags).size();
        let end = count.checked_mul(size).and_then(|bytes| cursor.offset().checked_add(bytes));
        let fits = if count == 0 {
            self.is_gap(cursor.offset())
        } else {
            end.is_some_and(|end| self.nodes_end(end, size))
        };
        if !fits && let Some((_, next)) = self.next_section(NODES_INDEX + 1, at) {
            self.nodes_up_to(cursor, next, (at, count), has_flags);
            return false;
        }
        let faults = self.profile.faults.len();
        self.nodes(cursor, at, count, has_flags);
        faults == self.profile.faults.len()
    }

    /// Returns true if the last of some nodes may end here: it is one, and zeros follow.
    fn nodes_end(&self, end: u64, size: u64) -> bool {
        let last = self.cursor_in(end.saturating_sub(size), end);
        let is_node = last.remaining_bytes().iter().any(|byte| *byte != 0);
        is_node && end <= self.bytes.len() as u64 && self.is_gap(end)
    }

    /// Takes the nodes up to where the next section begins: their number at `at` is wrong.
    fn nodes_up_to(
        &mut self,
        cursor: &Cursor<'a>,
        next: u64,
        (at, count): (u64, u64),
        has_flags: bool,
    ) {
        let size = node_layout(has_flags).size();
        let bytes = self.cursor_in(cursor.offset(), next).remaining_bytes();
        let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last as u64 + 1);
        let found = used.div_ceil(size).min(bytes.len() as u64 / size);
        let why = format!("{count} nodes, and {found} before the next section");
        let error = ReadError::invalid("number of nodes", at, why);
        self.fault(PartOfProfile::NODES.rule, error);
        if found < count {
            self.lose(PartOfProfile::NODES, at, found, Some(count));
        }
        let mut nodes = self.cursor_in(cursor.offset(), next);
        self.nodes(&mut nodes, at, found, has_flags);
    }

    /// Tells nodes of 19 bytes from those of 18: by what is in them, or by what follows them.
    fn nodes_have_flags(&self, start: u64, count: u64) -> bool {
        if self.nodes_make_sense(start, count, true) {
            return true;
        }
        if self.nodes_make_sense(start, count, false) {
            return false;
        }
        let ends_well = |has_flags| {
            let bytes = count.checked_mul(node_layout(has_flags).size());
            bytes.and_then(|bytes| start.checked_add(bytes)).is_some_and(|end| self.is_end(end))
        };
        ends_well(true) || !ends_well(false)
    }

    /// Returns true if the nodes may end here: zeros follow, and then a metric table.
    fn is_end(&self, end: u64) -> bool {
        let next = aligned(end);
        if next > self.bytes.len() as u64 {
            return false;
        }
        let limits = Limits { items_max: self.limits.items_max.min(1 << 16), ..self.limits };
        let mut cursor = self.cursor(next);
        let table = primitive::metrics(&mut cursor, Dialect::Shipped0400, true, &limits);
        self.cursor_in(end, next).remaining_bytes().iter().all(|byte| *byte == 0)
            && table.1.is_none()
    }

    /// Returns true if each node has its parent before it, and no flags but the one there is.
    pub(super) fn nodes_make_sense(&self, start: u64, count: u64, has_flags: bool) -> bool {
        let (rest, layout) = (self.cursor(start).remaining_bytes(), node_layout(has_flags));
        let nodes = Nodes::new(self.bytes.slice_ref(rest), start, layout, self.endian);
        let count = usize::try_from(count).unwrap_or(usize::MAX).min(NODES_LOOKED_AT);
        let mut seen = std::collections::BTreeSet::from([0]);
        nodes.iter().take(count).all(|node| {
            let makes_sense = node.flags <= Some(1) && seen.contains(&node.parent);
            seen.insert(node.id);
            makes_sense
        })
    }
}

/// Returns the start of the section after this byte.
pub(crate) fn aligned(offset: u64) -> u64 {
    offset.checked_next_multiple_of(SECTION_ALIGNMENT).unwrap_or(u64::MAX)
}
