//! MCAP: timestamped messages on channels, with schemas, attachments and metadata.
//!
//! A file is a run of records between two magic numbers: an opcode, a length, a body. Messages
//! are packed into compressed chunks, and a summary at the end says where they are. The layout in
//! words: `docs/formats/mcap.md`.
//!
//! Records are read here, because every number in them is checked before it is used; they are
//! written with the `mcap` crate.
//!
//! ```
//! use std::io::Cursor;
//!
//! use kymo_core::{Context, Source};
//! use kymo_mcap::{Channel, Message, Options, Pairs, Reader, Writer};
//!
//! let mut writer = Writer::new(Cursor::new(Vec::new()), Options::default())?;
//! let (topic, message_encoding) = ("/chat".to_owned(), "text".to_owned());
//! let metadata = Pairs::new();
//! writer.channel(&Channel { id: 1, schema_id: 0, topic, message_encoding, metadata })?;
//! let (log_time, publish_time) = (5, 4);
//! let hello = Message { channel_id: 1, sequence: 0, log_time, publish_time, data: 0..0 };
//! writer.message(&hello, b"hello")?;
//! let bytes = writer.finish()?.into_inner();
//!
//! let source = Source::from_bytes("chat.mcap", bytes);
//! let reader = Reader::open(&source, &Context::default())?;
//! assert_eq!((reader.message_count(), reader.channels()[&1].topic.as_str()), (1, "/chat"));
//! # Ok::<(), kymo_core::Error>(())
//! ```

mod check;
mod dataset;
mod demo;
mod dump;
mod model;
mod read;
mod repair;
pub mod spec;
mod tables;
mod types;
mod write;

pub use dataset::Mcap;
pub use read::Reader;
pub use types::{
    Attachment, Channel, Chunk, Compression, Header, Message, Metadata, Pairs, Schema, Statistics,
};
pub use write::{Options, Writer};
