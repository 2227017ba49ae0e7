//! The models that commands, converters and views work on, whatever the format.

pub mod arrays;
pub mod kernel;
pub mod measurement;
pub mod profile;
pub mod structure;
pub mod timeline;
