//! Every frame, of whichever kind.

use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::{ArrayRef, BooleanArray, UInt32Array, UInt64Array};
use arrow_schema::{DataType, Field};
use kymo_core::Result;
use kymo_model::Table;
use kymo_rtc_wire::read::{Begin, Item, View, Walker};
use kymo_rtc_wire::spec::id;

use super::batches::{Rows, Sequence};
use super::schema;
use crate::Reader;

/// The table of frames.
pub(super) fn frames(reader: &Arc<Reader>) -> Arc<dyn Table> {
    let fields = vec![
        Field::new("recording", DataType::UInt64, false),
        Field::new("offset", DataType::UInt64, false),
        Field::new("id", DataType::UInt32, false),
        Field::new("stream", DataType::Utf8, false),
        Field::new("more", DataType::Boolean, false),
        Field::new("begins", DataType::Boolean, true),
        Field::new("payload_offset", DataType::UInt64, false),
        Field::new("bytes", DataType::UInt64, false),
    ];
    let this_reader = Arc::clone(reader);
    Arc::new(Sequence {
        name: "frames".into(),
        about: "every frame in the order of the file, Markers, indices and padding too",
        schema: schema(fields),
        brief: vec![1, 2, 3, 4, 7],
        row_count: Some(reader.scan().frames),
        begin: Box::new(move |_| {
            let walker = Walker::new().without_checksums();
            Box::new(Frames { reader: Arc::clone(&this_reader), walker, session: 0 })
        }),
    })
}

struct Frames {
    reader: Arc<Reader>,
    walker: Walker,
    session: u64,
}

impl Rows for Frames {
    fn read(&mut self, rows: usize) -> Result<Option<Vec<ArrayRef>>> {
        let (mut recording, mut offset, mut ids) = (vec![], vec![], vec![]);
        let (mut more, mut begins, mut payload, mut bytes) = (vec![], vec![], vec![], vec![]);
        let mut stream = StringBuilder::new();
        let view: View<'_> = self.reader.view();
        while recording.len() < rows {
            let frame = match self.walker.next(&view) {
                Ok(Item::Frame(frame)) => frame,
                Ok(Item::Unit(unit)) => {
                    self.session = unit.session;
                    continue;
                }
                Ok(Item::End) | Err(_) => break,
                Ok(_) => continue,
            };
            recording.push(self.session);
            offset.push(frame.position);
            ids.push(frame.id);
            more.push(frame.more);
            begins.push(match frame.begin {
                Begin::Start => Some(true),
                Begin::Continuation => Some(false),
                Begin::Unknown => None,
            });
            payload.push(frame.payload);
            bytes.push(frame.end - frame.payload);
            stream.append_value(self.name(frame.id));
        }
        if recording.is_empty() {
            return Ok(None);
        }
        Ok(Some(vec![
            Arc::new(UInt64Array::from(recording)),
            Arc::new(UInt64Array::from(offset)),
            Arc::new(UInt32Array::from(ids)),
            Arc::new(stream.finish()),
            Arc::new(BooleanArray::from(more)),
            Arc::new(BooleanArray::from(begins)),
            Arc::new(UInt64Array::from(payload)),
            Arc::new(UInt64Array::from(bytes)),
        ]))
    }
}

impl Frames {
    fn name(&self, id: u32) -> &str {
        special(id).unwrap_or_else(|| {
            let session = usize::try_from(self.session).unwrap_or(usize::MAX);
            self.reader.find(session, id).map_or("", |stream| stream.name.as_str())
        })
    }
}

/// The name of a frame that always exists.
pub(crate) fn special(id: u32) -> Option<&'static str> {
    Some(match id {
        id::NUL => "nul",
        id::PADDING => "padding",
        id::MARKER => "Marker",
        id::MAJOR_INDEX => "Index",
        id::MINOR_INDEX => "index",
        id::META => "Meta",
        id::MINOR_META => "meta",
        id::PLATFORM => "platform",
        id::CRC => "Crc",
        _ => return None,
    })
}
