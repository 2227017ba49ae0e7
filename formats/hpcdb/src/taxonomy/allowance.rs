//! Limit on the size of a taxonomy: aliases could make very much of few bytes.

/// Size that each byte of the text may come to, and size that any text may.
const EACH: u64 = 16;
const LEAST: u64 = 1 << 16;

/// Metrics, bytes of their names, parts of their formulas, and what is looked through to find them.
pub(super) struct Allowance {
    left: u64,
}

impl Allowance {
    pub(super) fn from_text(text: &str) -> Self {
        Self { left: EACH.saturating_mul(text.len() as u64).saturating_add(LEAST) }
    }

    /// Takes a part of it.
    pub(super) fn take(&mut self, amount: usize) -> Result<(), String> {
        let left = self.left.checked_sub(amount as u64);
        self.left = left.ok_or("its aliases make too much of it")?;
        Ok(())
    }
}
