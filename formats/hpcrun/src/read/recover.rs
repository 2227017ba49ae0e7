//! Finding the sections of a 04.00b file again that has no footer.
//!
//! Every section says by its counts where it ends, and the next one begins at a multiple of 1024.

use kymo_core::bytes::{Cursor, Limits};

use super::sparse::node_layout;
use super::{PartOfProfile, Profile, Reading, primitive};
use crate::read::arrays::Nodes;
use crate::spec::{FOOTER_BYTES, FOOTER_END, SECTION_ALIGNMENT};
use crate::types::{Dialect, Header};

/// How many nodes are looked at to tell how large they are.
const NODES_LOOKED_AT: usize = 4096;

impl<'a> Reading<'a> {
    /// Reads section after section, up to where one is not whole.
    pub(super) fn recover(&mut self) {
        let mut cursor = self.cursor(Header::magic_bytes(Dialect::Shipped0400));
        for (index, part) in PartOfProfile::SECTIONS.into_iter().enumerate() {
            if index > 0 {
                self.advance(&mut cursor);
            }
            let is_whole = match part {
                PartOfProfile::HEADER => self.header(&mut cursor),
                PartOfProfile::LOAD_MODULES => self.load_modules(&mut cursor),
                PartOfProfile::NODES => self.recover_nodes(&mut cursor),
                PartOfProfile::METRICS => self.metrics(&mut cursor),
                PartOfProfile::ID_KINDS => self.id_kinds(&mut cursor),
                _ => return self.recover_values(&mut cursor),
            };
            if !is_whole {
                let end = self.bytes.len() as u64;
                let after = PartOfProfile::SECTIONS.into_iter().skip(index + 1);
                return after.for_each(|part| self.lose(part, end, 0, None));
            }
        }
    }

    /// Looks for the sections without regard to the footer, where that leads to more of them.
    pub(super) fn recover_instead(&mut self) {
        let dialect = Dialect::Shipped0400;
        let mut again = Reading::new(self.bytes, self.endian, &self.limits, dialect);
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
    fn recover_values(&mut self, cursor: &mut Cursor<'a>) {
        let faults = self.profile.faults.len();
        self.values(cursor);
        if self.profile.faults.len() > faults {
            return;
        }
        self.advance(cursor);
        let footer = cursor.rest().len().min(usize::try_from(FOOTER_BYTES).unwrap_or(usize::MAX));
        let (at, left) = (cursor.offset(), cursor.remaining());
        let is_footer = cursor.rest().get(footer.saturating_sub(8)..footer) == Some(FOOTER_END);
        let extra = if is_footer { left - footer as u64 } else { left };
        if extra > 0 && (is_footer || left > FOOTER_BYTES) {
            let why = format!("{extra} bytes follow the last section and its footer");
            let at = at + (left - extra);
            self.warn("trailing", at, why);
        }
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
        let faults = self.profile.faults.len();
        self.nodes(cursor, at, count, has_flags);
        faults == self.profile.faults.len()
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

    /// Whether the nodes may end here: zeros follow, and then a metric table.
    fn is_end(&self, end: u64) -> bool {
        let next = aligned(end);
        if next > self.bytes.len() as u64 {
            return false;
        }
        let limits = Limits { items_max: self.limits.items_max.min(1 << 16), ..self.limits };
        let mut cursor = self.cursor(next);
        let table = primitive::metrics(&mut cursor, Dialect::Shipped0400, true, &limits);
        self.within(end, next).rest().iter().all(|byte| *byte == 0) && table.1.is_none()
    }

    /// Whether each node has its parent before it, and no flags but the one there is.
    pub(super) fn nodes_make_sense(&self, start: u64, count: u64, has_flags: bool) -> bool {
        let (rest, layout) = (self.cursor(start).rest(), node_layout(has_flags));
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

/// Where the section after this byte begins.
pub(crate) fn aligned(offset: u64) -> u64 {
    offset.checked_next_multiple_of(SECTION_ALIGNMENT).unwrap_or(u64::MAX)
}
