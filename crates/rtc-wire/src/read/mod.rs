//! Frames out of bytes: any part of a file, mapped or arriving, sound or damaged.
//!
//! [`Walker`] is the one parser. It is given a [`View`] of the bytes and hands out one [`Item`]
//! after the other: frames, and what it had to pass over. Where frames go on after damage is
//! never guessed: at a place that the ruler gives and that shows an index or a Marker there, at a
//! frame that an index names, or at one on which every way to read the bytes agrees.

mod form;
mod item;
mod lookup;
mod marker;
mod meta;
mod parse;
mod plain;
mod resume;
mod ruler;
mod streams;
mod view;
mod walker;

pub use item::{Begin, Checksum, Damage, DamageKind, Frame, Item, NeedMore, Unit};
pub use lookup::{IndexedStream, Lookup};
pub use marker::{MajorIndex, find_marker, is_marker, major_index, marker_before};
pub use meta::{Declared, Definition, Definitions, definitions};
pub use ruler::Ruler;
pub use streams::Streams;
pub use view::View;
pub use walker::{Place, Walker};
