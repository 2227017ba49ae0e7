//! Targets of conversion for arrays: one file a target.
//!
//! A [`Plan`] is made once from any dataset's arrays: which groups, arrays and attributes there
//! will be, and what cannot stay as it was. A [`Target`] carries it out. Targets know no format,
//! and formats know no target.
//!
//! This is a crate of its own beside `kymo-export`, so that the heavy dependencies of array
//! formats stay in one place and whoever needs tables alone does not build them.

mod boxes;
mod hdf5;
mod json;
mod kind;
mod loss;
mod netcdf;
mod npy;
mod overlap;
mod pieces;
mod plan;
mod reading;
mod runs;
mod target;
mod zarr;

pub use kind::Kind;
pub use loss::{Loss, LossKind};
pub use plan::{Array, Attribute, Content, Group, Plan, Rules};
pub use reading::ArrayReader;
pub use target::{Converted, Job, Target, by_extension, by_name, convert, targets};
