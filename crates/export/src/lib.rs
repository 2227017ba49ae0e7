//! Targets of `kymo convert` that other tools read: one file a target.
//!
//! * [`tables`]: JSON lines, JSON and CSV of any table.
//! * [`arrays`]: HDF5, NetCDF-4, Zarr and NumPy of any arrays.
//!
//! Targets know no format, and formats know no target.

pub mod arrays;
pub mod tables;
