//! Databases written byte by byte, so that each array can be put anywhere.

use bytes::Bytes;
use kymo_core::Source;

/// Bytes in the order of the file.
#[derive(Default)]
pub struct Made(pub Vec<u8>);

impl Made {
    pub fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(bytes);
        self
    }
    pub fn u16(&mut self, value: u16) -> &mut Self {
        self.raw(&value.to_le_bytes())
    }
    pub fn u32(&mut self, value: u32) -> &mut Self {
        self.raw(&value.to_le_bytes())
    }
    pub fn u64(&mut self, value: u64) -> &mut Self {
        self.raw(&value.to_le_bytes())
    }
    pub fn f64(&mut self, value: f64) -> &mut Self {
        self.raw(&value.to_le_bytes())
    }
    pub fn at(&self) -> u64 {
        self.0.len() as u64
    }
    pub fn align(&mut self, bytes: usize) -> u64 {
        self.0.resize(self.0.len().next_multiple_of(bytes), 0);
        self.at()
    }
    /// Puts a number at a place that was passed over.
    pub fn put(&mut self, place: u64, value: u64) {
        let place = usize::try_from(place).unwrap();
        self.0[place..place + 8].copy_from_slice(&value.to_le_bytes());
    }
}

/// What a `meta.db` is made of; the rest is the same in all.
pub struct Meta<'a> {
    /// Names of functions, one behind another.
    pub names: &'a [u8],
    /// Where the name of each function begins among them.
    pub functions: &'a [u64],
    /// Writes metrics, from the start of their section on.
    pub metrics: fn(&mut Made),
    /// Writes contexts, given where functions are; tells the bytes of the array and where it is.
    pub contexts: &'a dyn Fn(&mut Made, u64) -> (u64, u64),
}

/// One metric, inclusive and exclusive: ids 1 and 3, as sums and as values.
pub fn one_metric(to: &mut Made) {
    let at = to.at();
    let (metric, instances, sums, scopes) = (at + 0x20, at + 0x40, at + 0x60, at + 0x90);
    let texts = at + 0xB0;
    to.u64(metric).u32(1).raw(&[32, 16, 24, 0]).u64(scopes).u16(2).raw(&[16, 0, 0, 0, 0, 0]);
    to.u64(texts).u64(instances).u64(sums).u16(2).u16(2).u32(0);
    to.u64(scopes).u64(1).u64(scopes + 16).u64(3);
    for id in [1_u16, 3] {
        to.u64(scopes + 8 * (u64::from(id) - 1)).u64(texts + 5).u16(0).u16(id).u32(0);
    }
    to.u64(texts + 8).u64(3).u64(texts + 17).u64(0xFF02);
    to.raw(b"time\0$$\0function\0execution\0");
}

impl Meta<'_> {
    pub fn bytes(&self) -> Vec<u8> {
        let mut to = Made::default();
        to.raw(b"HPCTOOLKITmeta\x04\0").raw(&[0; 0x80]);
        let mut sections = [(0, 0); 8];
        let mut section = |to: &mut Made, index: usize, body: &dyn Fn(&mut Made)| {
            let start = to.align(8);
            body(to);
            sections[index] = (to.at() - start, start);
            start
        };
        section(&mut to, 0, &|to| {
            let text = to.at() + 16;
            to.u64(text).u64(text).raw(&[0]);
        });
        section(&mut to, 1, &|to| {
            let at = to.at();
            to.u64(at + 16).u64(4);
            for name in [48, 48, 48, 49] {
                to.u64(at + name);
            }
            to.raw(b"\0THREAD\0");
        });
        section(&mut to, 2, &|to| (self.metrics)(to));
        let strings = section(&mut to, 4, &|to| {
            to.raw(b"main thread\0").raw(self.names);
        });
        let none = |to: &mut Made| {
            let at = to.at();
            to.u64(at + 16).u32(0).u16(16).u16(0);
        };
        section(&mut to, 5, &none);
        section(&mut to, 6, &none);
        let functions = section(&mut to, 7, &|to| {
            let at = to.at();
            to.u64(at + 16).u32(u32::try_from(self.functions.len()).unwrap()).u16(40).u16(0);
            for name in self.functions {
                to.u64(strings + 12 + name).u64(0).u64(0).u64(0).u64(0);
            }
        });
        section(&mut to, 3, &|to| {
            let at = to.at();
            to.u64(at + 16).u16(1).raw(&[32, 0, 0, 0, 0, 0]);
            to.u64(0).u64(0).u32(1).u16(1).u16(0).u64(strings);
            let (size, pointer) = (self.contexts)(to, functions + 16);
            to.put(at + 16, size);
            to.put(at + 24, pointer);
        });
        for (index, (size, pointer)) in sections.into_iter().enumerate() {
            to.put(0x10 + 16 * index as u64, size);
            to.put(0x18 + 16 * index as u64, pointer);
        }
        to.raw(b"_meta.db");
        to.0
    }
}

/// A function that was called.
pub fn context(to: &mut Made, number: u64, function: u64, children: (u64, u64)) {
    to.u64(children.0).u64(children.1).u32(u32::try_from(number).unwrap());
    to.raw(&[1, 1, 0, 1]).u64(0).u64(function);
}

/// So many functions side by side, from number 2 on; each of its own, or all of the first.
pub fn beside(count: u64, step: u64) -> impl Fn(&mut Made, u64) -> (u64, u64) {
    move |to, functions| {
        let start = to.at();
        for index in 0..count {
            context(to, 2 + index, functions + 40 * step * index, (0, 0));
        }
        (to.at() - start, start)
    }
}

/// Values of a profile, and entries of its index.
pub type Block = (Vec<(u16, f64)>, Vec<(u32, u64)>);

/// Each context spent 1 itself, and so did the entry point in all of them.
pub fn ones(contexts: u32) -> Block {
    let mut values = vec![(3, f64::from(contexts))];
    values.extend((0..contexts).flat_map(|_| [(1, 1.0), (3, 1.0)]));
    let entries = (0..contexts).map(|index| (2 + index, 1 + 2 * u64::from(index)));
    (values, [(1, 0)].into_iter().chain(entries).collect())
}

/// `profile.db` with a summary and so many threads that have the same values and the same name.
pub fn profile(summary: &Block, thread: &Block, threads: u64, ids: u16) -> Vec<u8> {
    profiles(&[summary, thread], threads + 1, ids)
}

/// `profile.db` with a summary and threads, of so many all that have no block of values of their own
/// share the last.
pub fn profiles(blocks: &[&Block], count: u64, ids: u16) -> Vec<u8> {
    let mut to = Made::default();
    to.raw(b"HPCTOOLKITprof\x04\0").u64(0x10 + 48 * count).u64(0x30);
    to.u64(8 + 16 * u64::from(ids)).u64(0x40 + 48 * count);
    to.u64(0x40).u32(u32::try_from(count).unwrap()).raw(&[48, 0, 0, 0]);
    to.0.resize(usize::try_from(0x40 + 48 * count).unwrap(), 0);
    let tuple = to.at();
    to.u64(ids.into());
    (0..ids).for_each(|_| {
        to.u64(3).u64(0);
    });
    let mut places = Vec::new();
    for (values, entries) in blocks {
        let first = to.align(4);
        for (id, value) in values {
            to.u16(*id).f64(*value);
        }
        let index = to.align(4);
        for (context, first) in entries {
            to.u32(*context).u64(*first);
        }
        places.push((values.len() as u64, first, entries.len() as u64, index));
    }
    for record in 0..count {
        let (at, is_summary) = (0x40 + 48 * record, record == 0);
        let block = usize::try_from(record).unwrap().min(places.len() - 1);
        let (values, first, entries, index) = places[block];
        let tuple = if is_summary { 0 } else { tuple };
        let fields = [values, first, entries, index, tuple, u64::from(is_summary)];
        (0..).zip(fields).for_each(|(field, value)| to.put(at + 8 * field, value));
    }
    to.raw(b"_prof.db");
    to.0
}

pub fn source(files: impl IntoIterator<Item = (&'static str, Vec<u8>)>) -> Source {
    let files = files.into_iter().map(|(name, bytes)| (name, Bytes::from(bytes)));
    Source::from_files("made", files)
}

/// What something holds at most, in bytes.
pub fn held(item: impl FnOnce()) -> u64 {
    allocation_counter::measure(item).bytes_max
}

pub const MIB: u64 = 1 << 20;
