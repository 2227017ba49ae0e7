//! The models that commands, converters and views work on, whatever the format.
//!
//! Arrays and timelines are here. Profiles and program structure (modules, functions, inlined
//! calls, loops, lines by address range) join them with the first format that has them.

pub mod arrays;
pub mod timeline;
