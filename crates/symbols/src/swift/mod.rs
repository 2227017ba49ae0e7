//! Names of Swift as people read them, in the way of `swift demangle -simplified`.
//!
//! A name is read into nodes, which are then written. Both are bounded: the nodes, the depth of what
//! nests, the steps and the length of the text. What cannot be read stays as it is.

mod compiled;
mod entity;
mod identifier;
mod node;
mod parse;
mod print;
mod table;
mod thunk;
mod types;

/// A name as people read it; nothing where it is no name of Swift, or none that is known.
pub(crate) fn demangled(name: &str) -> Option<String> {
    print::print(&parse::read(name)?)
}

#[cfg(test)]
mod tests;
