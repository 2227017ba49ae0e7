//! Targets of jumps through tables, for the shapes that compilers give them.
//!
//! A table has an entry for each case of a `switch`: an address, or how far one is from a base. The
//! base and the table are found by going back from the jump, as is the comparison that tells how
//! many entries there are. Where none is found, the table ends with the first entry that leads out
//! of the function, or where another table begins. A jump of any other shape leads nowhere.

mod aarch64;
mod x86;

use super::Machine;
use super::graph::Walk;

/// More entries than this are not read for one function.
pub(super) const ENTRIES_MAX: u64 = 1 << 16;

/// A table of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Table {
    at: u64,
    /// Number of bytes of an entry.
    width: u64,
    is_signed: bool,
    /// Unit that entries count in.
    unit: i64,
    /// Address that they count from.
    base: u64,
    /// Number of entries, where a comparison gives it.
    count: Option<u64>,
    /// Start of whatever comes after the table.
    end: u64,
}

/// The places that a jump through a register or through memory leads to, each once.
pub(super) fn targets(walk: &mut Walk<'_>, jump: u32) -> Vec<u32> {
    let table = match walk.code.machine {
        Machine::X86 => x86::table(walk, jump),
        Machine::Aarch64 => aarch64::table(walk, jump),
    };
    let Some(table) = table else { return Vec::new() };
    let mut targets: Vec<u32> = Vec::new();
    for entry in 0..table.count.unwrap_or(ENTRIES_MAX).min(walk.entries_left) {
        walk.entries_left -= 1;
        let at = table.at.saturating_add(entry * table.width);
        let target = table.entry(walk, at).filter(|_| table.count.is_some() || at < table.end);
        let Some(place) = target.and_then(|target| walk.extent.place(target)) else { break };
        targets.push(place);
    }
    targets.sort_unstable();
    targets.dedup();
    targets
}

impl Table {
    /// Returns the address to which an entry leads.
    fn entry(&self, walk: &Walk<'_>, at: u64) -> Option<u64> {
        let bytes = walk.code.bytes(at).get(..usize::try_from(self.width).ok()?)?;
        let mut value = [0; 8];
        value.get_mut(..bytes.len())?.copy_from_slice(bytes);
        let spare = 64 - u32::try_from(self.width).ok()? * 8;
        let value = i64::from_le_bytes(value) << spare;
        let value = if self.is_signed {
            value >> spare
        } else {
            (value.cast_unsigned() >> spare).cast_signed()
        };
        Some(self.base.wrapping_add_signed(value.wrapping_mul(self.unit)))
    }
}
