//! Targets of conversion for tables: one file a target.
//!
//! A [`Target`] writes the batches of any table to any output; it knows no format and opens no
//! file. [`values`] has the spelling of single values, which `kymo dump` shares.
//!
//! ```
//! use std::sync::Arc;
//! use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
//!
//! let names: ArrayRef = Arc::new(StringArray::from(vec![Some("phi"), None]));
//! let values: ArrayRef = Arc::new(Float64Array::from(vec![0.5, f64::NAN]));
//! let batch = RecordBatch::try_from_iter([("name", names), ("value", values)])?;
//!
//! let mut out = Vec::new();
//! let target = kymo_export::tables::by_extension("jsonl").expect("a target for .jsonl");
//! let mut writer = target.writer(&batch.schema(), &mut out)?;
//! writer.write(&batch)?;
//! writer.finish()?;
//! drop(writer);
//! assert_eq!(
//!     String::from_utf8(out)?,
//!     "{\"name\":\"phi\",\"value\":0.5}\n{\"name\":null,\"value\":\"NaN\"}\n"
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod csv;
mod jsonl;
mod target;
pub mod values;

pub use target::{TableWriter, Target, by_extension, by_name, targets};
