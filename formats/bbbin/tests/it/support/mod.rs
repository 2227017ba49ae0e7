//! Files put together byte by byte, without our writer.

pub(crate) mod shown;

/// Numbers and strings one after the other, big-endian.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

impl Bytes {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    pub(crate) fn i32(self, number: i32) -> Self {
        self.raw(&number.to_be_bytes())
    }

    pub(crate) fn i64(self, number: i64) -> Self {
        self.raw(&number.to_be_bytes())
    }

    pub(crate) fn string(self, characters: &[u8]) -> Self {
        self.i32(i32::try_from(characters.len()).unwrap()).raw(characters)
    }
}

/// A file by its sections; the index is worked out, the rest is as given.
#[derive(Debug, Clone)]
pub(crate) struct Hand {
    pub(crate) log_files: Vec<Bytes>,
    pub(crate) types: Vec<Bytes>,
    /// Each with its time.
    pub(crate) events: Vec<(i64, Bytes)>,
    pub(crate) artifacts: Vec<Bytes>,
    pub(crate) task_executions: Vec<Bytes>,
    pub(crate) statistics: [i64; 3],
}

impl Default for Hand {
    fn default() -> Self {
        Self {
            log_files: Vec::new(),
            types: Vec::new(),
            events: Vec::new(),
            artifacts: Vec::new(),
            task_executions: Vec::new(),
            statistics: [-1, 0, 0],
        }
    }
}

impl Hand {
    /// A file with one log file and one event.
    pub(crate) fn with_event(timestamp: i64, event: Bytes) -> Self {
        Self {
            log_files: vec![log_file(0, b"a.log")],
            events: vec![(timestamp, event)],
            ..Self::default()
        }
    }

    /// The whole file, in the order of the specification.
    pub(crate) fn file(&self) -> Vec<u8> {
        let log_files = 64;
        let types = log_files + section(&self.log_files).0.len();
        let events = types + section(&self.types).0.len();
        let bodies: Vec<Bytes> = self.events.iter().map(|(_, body)| body.clone()).collect();
        let index = events + section(&bodies).0.len();
        let index_bytes = self.index(events + 8);
        let artifacts = index + index_bytes.0.len();
        let executions = artifacts + section(&self.artifacts).0.len();
        let statistics = executions + section(&self.task_executions).0.len();
        let mut file = Bytes::new().raw(&[0x0B, 0xAD, 0xBA, 0xBE]).i32(10);
        for pointer in [log_files, types, events, index, artifacts, executions, statistics] {
            file = file.i64(i64::try_from(pointer).unwrap());
        }
        for part in [
            section(&self.log_files),
            section(&self.types),
            section(&bodies),
            index_bytes,
            section(&self.artifacts),
            section(&self.task_executions),
        ] {
            file = file.raw(&part.0);
        }
        self.statistics.iter().fold(file, |file, number| file.i64(*number)).0
    }

    fn index(&self, mut next: usize) -> Bytes {
        let size = |events: &[(i64, Bytes)]| -> i64 {
            events.iter().map(|(_, body)| i64::try_from(body.0.len()).unwrap()).sum()
        };
        let ends = |events: &[(i64, Bytes)]| {
            (events.first().map_or(0, |it| it.0), events.last().map_or(0, |it| it.0))
        };
        let count = |count: usize| i64::try_from(count).unwrap();
        let (first, last) = ends(&self.events);
        let blocks = self.events.chunks(1000);
        let mut bytes = Bytes::new()
            .i64(count(blocks.len()))
            .i64(count(self.events.len()))
            .i64(8 + size(&self.events))
            .i64(first)
            .i64(last);
        for (number, block) in blocks.enumerate() {
            let (first, last) = ends(block);
            bytes = bytes.i64(count(block.len())).i64(size(block)).i64(first).i64(last);
            bytes = bytes.i64(count(number * 1000)).i64(count(next));
            next += usize::try_from(size(block)).unwrap();
        }
        bytes
    }
}

fn section(items: &[Bytes]) -> Bytes {
    let start = Bytes::new().i64(i64::try_from(items.len()).unwrap());
    items.iter().fold(start, |bytes, item| bytes.raw(&item.0))
}

/// A log file of 5 bytes, imported at 6 by "i".
pub(crate) fn log_file(id: i32, name: &[u8]) -> Bytes {
    Bytes::new().i32(id).string(name).i64(5).i64(6).string(b"i")
}

/// A type of one field.
pub(crate) fn type_of(id: i32, log_file: i32, field_type: i32, element_count: i32) -> Bytes {
    let fields = Bytes::new().string(b"f").i32(field_type).i32(element_count);
    Bytes::new().i32(id).string(b"T").i32(log_file).string(&fields.0)
}

/// The fields that every event begins with.
pub(crate) fn event(class: i32, timestamp: i64) -> Bytes {
    Bytes::new().i32(class).i64(timestamp).i32(0)
}

/// A `TASK_SWITCH` without values.
pub(crate) fn task_switch(
    log_file: i32,
    timestamp: i64,
    out_task: i32,
    in_task: i32,
) -> (i64, Bytes) {
    let event = Bytes::new().i32(2).i64(timestamp).i32(log_file);
    (timestamp, event.i32(in_task).i32(out_task).i32(3).i32(0).i32(0))
}
