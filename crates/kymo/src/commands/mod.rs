//! The subcommands, one file each.

pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod convert;
pub(crate) mod demo;
pub(crate) mod dump;
pub(crate) mod formats;
pub(crate) mod info;
pub(crate) mod ls;
pub(crate) mod man;
pub(crate) mod repair;
