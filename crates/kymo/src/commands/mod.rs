//! The subcommands, one file each.

pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod convert;
pub(crate) mod cut;
pub(crate) mod demo;
pub(crate) mod diff;
pub(crate) mod dump;
pub(crate) mod filter;
pub(crate) mod follow;
pub(crate) mod formats;
pub(crate) mod gantt;
pub(crate) mod info;
pub(crate) mod load;
pub(crate) mod ls;
pub(crate) mod man;
pub(crate) mod merge;
pub(crate) mod messages;
pub(crate) mod plot;
pub(crate) mod prof;
pub(crate) mod record;
pub(crate) mod repair;
pub(crate) mod sched;
pub(crate) mod states;
pub(crate) mod threads;
pub(crate) mod top;
pub(crate) mod tree;
