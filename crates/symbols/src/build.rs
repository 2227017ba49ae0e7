//! True if a program is the one that was measured: addresses that were recorded as those behind
//! calls have calls before them, and addresses of code are of code.

use bytes::Bytes;

use crate::code::{Code, Flow};
use crate::executable::Executable;
use crate::limitation::Limitation;

/// Addresses that were recorded in a module, by what is known of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordedAddresses {
    /// Addresses at which calls were made: within the call, or right behind it.
    pub calls: Vec<u64>,
    /// Any others.
    pub others: Vec<u64>,
}

/// Of so many addresses one may be another: unwinding goes wrong now and then. Of fewer, but at least
/// [`JUDGED_MIN`], one may be.
const ODD_EACH: usize = 10;

/// Fewer calls tell nothing of a program, and of fewer addresses all have to be of code.
const JUDGED_MIN: usize = 3;

/// The longest call of x86-64.
const CALL_BYTES_MAX: u64 = 8;

/// Message about a module that was built anew since.
const ANOTHER: &str = "it is another build";

impl RecordedAddresses {
    /// Returns true if calls tell that a program is the one that these were recorded in. Fewer than
    /// [`JUDGED_MIN`] calls tell nothing, nor does the code of machines that is not read here: code at
    /// the addresses has to do then.
    ///
    /// # Errors
    /// That it is another.
    pub(crate) fn fit(&self, file: &object::File<'_>, bytes: &Bytes) -> Result<bool, Limitation> {
        let code = Executable::from_file(file);
        let all = self.calls.iter().chain(&self.others);
        nearly_all(all, "hold code", |address| {
            code.is_at(address) || code.is_at(address.wrapping_sub(1))
        })?;
        match Code::from_file(file, bytes) {
            // So few may be wrong by chance, or right.
            Some(_) if self.calls.len() < JUDGED_MIN => Ok(false),
            Some(code) => {
                nearly_all(self.calls.iter(), "are calls", |address| is_call(&code, address))?;
                Ok(true)
            }
            None => Ok(false),
        }
    }
}

/// Returns true if something holds for nearly all addresses.
fn nearly_all<'a>(
    addresses: impl Iterator<Item = &'a u64>,
    what: &str,
    holds: impl Fn(u64) -> bool,
) -> Result<(), Limitation> {
    let (mut all, mut good) = (0_usize, 0);
    for address in addresses {
        all += 1;
        good += usize::from(holds(*address));
    }
    let odd_max = (all / ODD_EACH).max(usize::from(all >= JUDGED_MIN));
    let is_enough = all - good <= odd_max;
    let why = || format!("{ANOTHER}: {good} of {all} addresses that were measured {what} in it");
    if is_enough { Ok(()) } else { Err(Limitation::absent(why())) }
}

/// Returns true if a call is at an address, around it, or ends there.
fn is_call(code: &Code, address: u64) -> bool {
    (0..=CALL_BYTES_MAX).any(|back| {
        let Some(start) = address.checked_sub(back) else { return false };
        let call = code.step(start).filter(|step| matches!(step.flow, Flow::Call(_)));
        call.is_some_and(|call| u64::from(call.length) >= back)
    })
}
