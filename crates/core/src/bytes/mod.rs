//! Untrusted bytes: cursors, counts, LEB128 and sinks, with explicit byte order.

mod cursor;
mod error;
mod leb128;
mod limits;
mod sink;

pub use cursor::{Cursor, Endian};
pub use error::{ReadError, ReadErrorKind, ReadResult};
pub use limits::Limits;
pub use sink::Sink;
