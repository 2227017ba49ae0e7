//! True if what is called returns: code after a call that does not is not part of what came before.
//!
//! Functions of libraries that do not return are known by their names. Of functions in the same file
//! the code is followed, and that of what they call: a function in which no way leads to a return
//! does not return.

use std::collections::{HashMap, HashSet};

use object::{Object, ObjectSymbol, ObjectSymbolTable, RelocationTarget};

use super::{Callee, Code, Flow, Step};
use crate::elf::{self, Symbol};

/// Number of instructions to follow for one call; after that, the callee is taken to return.
const STEPS_MAX: usize = 4096;

/// The same for all calls of a module.
const STEPS_OF_MODULE_MAX: usize = 1 << 24;

/// Calls are followed into functions to this depth.
const DEPTH_MAX: usize = 8;

/// A stub that leads to another file has fewer instructions.
const STUB_STEPS: usize = 4;

/// Functions of libraries that do not return.
const NEVER: &[&str] = &[
    "_Exit",
    "_Unwind_Resume",
    "__assert",
    "__assert_fail",
    "__assert_perror_fail",
    "__chk_fail",
    "__cxa_bad_cast",
    "__cxa_bad_typeid",
    "__cxa_call_terminate",
    "__cxa_pure_virtual",
    "__cxa_rethrow",
    "__cxa_throw",
    "__cxa_throw_bad_array_new_length",
    "__fortify_fail",
    "__longjmp",
    "__longjmp_chk",
    "__stack_chk_fail",
    "_exit",
    "_gfortran_error_stop_numeric",
    "_gfortran_error_stop_string",
    "_gfortran_os_error",
    "_gfortran_os_error_at",
    "_gfortran_runtime_error",
    "_gfortran_runtime_error_at",
    "_gfortran_stop_numeric",
    "_gfortran_stop_string",
    "_longjmp",
    "abort",
    "err",
    "errx",
    "exit",
    "longjmp",
    "pthread_exit",
    "quick_exit",
    "siglongjmp",
    "verr",
    "verrx",
    "_ZSt9terminatev",
    "_ZSt21__glibcxx_assert_failPKciS0_S0_",
];

/// `std::__throw_…` begin with this, a number and `__throw_`.
const STD: &str = "_ZSt";

/// Facts about functions that are called.
#[derive(Debug)]
pub(crate) struct Returns<'a> {
    symbols: &'a [Symbol],
    slots: &'a Slots,
    /// By their entries.
    known: HashMap<u64, bool>,
    /// Number of instructions that may still be followed.
    left: usize,
}

/// Function that is called in the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallTarget {
    /// The function at an address, of which nothing is known by its name.
    Function(u64),
    /// One that does not return.
    Never,
    /// Any other.
    Other,
}

/// Functions that are called through memory, by the slot in which their address is put when the
/// program starts.
#[derive(Debug, Default)]
pub(crate) struct Slots(HashMap<u64, CallTarget>);

impl Slots {
    /// Finds the names that the file asks for.
    pub(crate) fn from_file(file: &object::File<'_>) -> Self {
        let symbols = file.dynamic_symbol_table();
        let Some((symbols, relocations)) = symbols.zip(file.dynamic_relocations()) else {
            return Self::default();
        };
        let called = |(at, relocation): (u64, object::Relocation)| {
            let RelocationTarget::Symbol(symbol) = relocation.target() else { return None };
            let symbol = symbols.symbol_by_index(symbol).ok()?;
            if symbol.name().is_ok_and(never_by_name) {
                return Some((at, CallTarget::Never));
            }
            symbol.is_definition().then(|| (at, CallTarget::Function(symbol.address())))
        };
        Self(relocations.filter_map(called).collect())
    }

    fn called(&self, slot: u64) -> CallTarget {
        self.0.get(&slot).copied().unwrap_or(CallTarget::Other)
    }
}

fn never_by_name(name: &str) -> bool {
    let is_throw = || {
        let rest = name.strip_prefix(STD)?;
        rest.trim_start_matches(|digit: char| digit.is_ascii_digit()).strip_prefix("__throw_")
    };
    NEVER.contains(&name) || is_throw().is_some()
}

impl<'a> Returns<'a> {
    pub(crate) fn new(symbols: &'a [Symbol], slots: &'a Slots) -> Self {
        Self { symbols, slots, known: HashMap::new(), left: STEPS_OF_MODULE_MAX }
    }

    /// Returns true if what is called returns, as far as one can tell.
    pub(crate) fn may_return(&mut self, code: &Code, callee: Callee) -> bool {
        match self.called(code, callee) {
            CallTarget::Never => false,
            CallTarget::Other => true,
            CallTarget::Function(entry) => match self.known.get(&entry) {
                Some(known) => *known,
                None => self.find_out(code, entry),
            },
        }
    }

    fn called(&self, code: &Code, callee: Callee) -> CallTarget {
        match callee {
            Callee::Unknown => CallTarget::Other,
            Callee::Slot(slot) => self.slots.called(slot),
            Callee::Address(address) => match elf::find(self.symbols, address) {
                Some(symbol) if never_by_name(&symbol.name) => CallTarget::Never,
                Some(symbol) if symbol.start == address => CallTarget::Function(address),
                Some(_) => CallTarget::Other,
                None => self.stub(code, address),
            },
        }
    }

    /// A stub jumps through the slot of a function. What is no stub is a function without a symbol.
    fn stub(&self, code: &Code, entry: u64) -> CallTarget {
        let mut address = entry;
        if let Some(slot) = code.slot_of_stub(address) {
            return self.slots.called(slot);
        }
        for _ in 0..STUB_STEPS {
            match code.step(address).map(|step| (step.flow, step.length)) {
                Some((Flow::Next, length)) => address = address.saturating_add(length.into()),
                Some((Flow::Indirect(Callee::Slot(slot)), _)) => return self.slots.called(slot),
                _ => break,
            }
        }
        CallTarget::Function(entry)
    }

    /// Follows a function, and those that it calls, until a return is found in each.
    fn find_out(&mut self, code: &Code, entry: u64) -> bool {
        let most = STEPS_MAX.min(self.left);
        let mut left = most;
        let mut stack = vec![FollowedFunction::new(entry)];
        while let Some(last) = stack.last_mut() {
            let returns = match last.open.pop() {
                Some(address) if last.seen.insert(address) => {
                    left = left.saturating_sub(1);
                    let step = code.step(address).filter(|_| left > 0);
                    match step.map(|step| self.follow_instruction(code, last, address, step)) {
                        Some(InstructionTarget::On) => continue,
                        Some(InstructionTarget::Into(callee)) => {
                            let is_open = |followed: &FollowedFunction| followed.entry == callee;
                            if stack.len() < DEPTH_MAX && !stack.iter().any(is_open) {
                                stack.push(FollowedFunction::new(callee));
                            } else {
                                continue_caller(&mut stack, true);
                            }
                            continue;
                        }
                        // What is not known to the end may return.
                        Some(InstructionTarget::Out) | None => true,
                    }
                }
                Some(_) => continue,
                None => false,
            };
            self.known.insert(last.entry, returns);
            stack.pop();
            continue_caller(&mut stack, returns);
        }
        self.left -= most - left;
        self.known.get(&entry).copied().unwrap_or(true)
    }

    /// Takes down where an instruction of a function leads.
    fn follow_instruction(
        &self,
        code: &Code,
        followed: &mut FollowedFunction,
        address: u64,
        step: Step,
    ) -> InstructionTarget {
        let next = address.saturating_add(step.length.into());
        match step.flow {
            Flow::Next => followed.open.push(next),
            Flow::Jump(to) => followed.open.push(to),
            Flow::Branch(to) => followed.open.extend([to, next]),
            Flow::Stop => {}
            Flow::Return | Flow::Indirect(_) => return InstructionTarget::Out,
            Flow::Call(callee) => {
                // A function that ends with a call does not go on after it.
                let symbol = elf::find(self.symbols, address);
                if symbol.is_some_and(|symbol| next >= symbol.end) {
                    return InstructionTarget::On;
                }
                let returns = match self.called(code, callee) {
                    CallTarget::Never => false,
                    CallTarget::Other => true,
                    CallTarget::Function(entry) => {
                        let Some(known) = self.known.get(&entry) else {
                            followed.after = Some(next);
                            return InstructionTarget::Into(entry);
                        };
                        *known
                    }
                };
                followed.open.extend(returns.then_some(next));
            }
        }
        InstructionTarget::On
    }
}

/// A function that is followed.
struct FollowedFunction {
    entry: u64,
    seen: HashSet<u64>,
    open: Vec<u64>,
    /// Address at which it goes on if what it calls returns.
    after: Option<u64>,
}

impl FollowedFunction {
    fn new(entry: u64) -> Self {
        Self { entry, seen: HashSet::new(), open: vec![entry], after: None }
    }
}

/// Direction in which an instruction leads.
enum InstructionTarget {
    /// To further ones of the function, or nowhere.
    On,
    /// Into another function, of which nothing is known yet.
    Into(u64),
    /// Out of the function.
    Out,
}

/// Goes on with the caller of a function, if that returns.
fn continue_caller(stack: &mut [FollowedFunction], returns: bool) {
    if let Some(caller) = stack.last_mut() {
        let after = caller.after.take();
        caller.open.extend(after.filter(|_| returns));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_that_never_return_are_known_by_name() {
        for name in ["abort", "_ZSt20__throw_length_errorPKc", "_ZSt9terminatev"] {
            assert!(never_by_name(name), "{name}");
        }
        for name in ["main", "aborted", "_ZSt4sortv", "__throw_"] {
            assert!(!never_by_name(name), "{name}");
        }
    }
}
