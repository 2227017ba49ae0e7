//! Recordings that are lines of text: what their formats share.
//!
//! A format says with a [`Grammar`] what a line is. Here is the rest: one way through all lines
//! when a recording is opened ([`Reader`]), which finds the tasks and what is wrong, and makes an
//! index by time; the dataset with its timeline and its table of events; and what the events of
//! Linux mean ([`kernel`]), which several tools print.
//!
//! ```
//! use kymo_lines::{Lines, decimal_ns};
//!
//! // The last line has no end: it may have been cut.
//! let mut lines = Lines::new(b"1.5 go\n2.25 stop\r\n3.0 g");
//! let texts: Vec<_> = lines.by_ref().map(|line| (line.offset, line.bytes)).collect();
//! assert_eq!(texts, [(0, &b"1.5 go"[..]), (7, b"2.25 stop")]);
//! assert_eq!(lines.unfinished(), Some(18));
//! assert_eq!(decimal_ns("2.25"), Some(2_250_000_000));
//! ```

mod clock_wraps;
mod dataset;
mod fields;
mod grammar;
mod index;
pub mod kernel;
mod key;
mod number;
mod owned;
mod reader;
mod survey;
mod tables;
mod timeline;
mod walk;

pub use dataset::{LinesDataset, check, first_line};
pub use grammar::{Grammar, GrammarState, Line, LineContent, TrackEvent};
pub use key::{Key, TaskKey};
pub use number::{decimal_ns, scaled};
pub use reader::Reader;
pub use walk::{Lines, RawLine};
