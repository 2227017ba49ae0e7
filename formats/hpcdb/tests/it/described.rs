//! The draft that was described first: bytes put together by hand from the description, since no
//! program is known to have written it.

use crate::support;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use kymo_core::bytes::Limits;
use kymo_core::{Context, Destination, Severity, Source};
use kymo_hpcdb::{HpcDb, Writer};
use kymo_model::profile::{
    Column, ContextNumber, FlatGrouping, Function, IdKind, IdPart, Metric, MetricId, MetricQuery,
    MetricScope, Node, ProfileSink, Relation, Scope, SinkValue, Thread, ThreadId, ThreadSet, flat,
};
use kymo_model::timeline::{Content, TimeNs, Window};
use kymo_model::{Dataset, Format};

/// Big-endian bytes, one field after another.
#[derive(Default)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(bytes);
        self
    }
    fn u8(&mut self, value: u8) -> &mut Self {
        self.raw(&[value])
    }
    fn u16(&mut self, value: u16) -> &mut Self {
        self.raw(&value.to_be_bytes())
    }
    fn u32(&mut self, value: u32) -> &mut Self {
        self.raw(&value.to_be_bytes())
    }
    fn u64(&mut self, value: u64) -> &mut Self {
        self.raw(&value.to_be_bytes())
    }
    fn f64(&mut self, value: f64) -> &mut Self {
        self.raw(&value.to_be_bytes())
    }
    /// Zeros up to a place, which says where we are.
    fn at(&mut self, place: u64) -> &mut Self {
        let place = usize::try_from(place).unwrap();
        assert!(self.0.len() <= place, "{:#x} is behind {place:#x}", self.0.len());
        self.0.resize(place, 0);
        self
    }
}

/// Texts, from 0x90 of `meta.db` on.
const TEXTS: &str = "demo\0about\0SUMMARY\0NODE\0RANK\0time (sec)\0function\0execution\0$$\0/bin/demo\0\
                     /src/demo.c\0<program root>\0main\0work\0";

fn text(wanted: &str) -> u64 {
    let mut at = 0x90;
    for text in TEXTS.split('\0') {
        if text == wanted {
            return at;
        }
        at += text.len() as u64 + 1;
    }
    panic!("{wanted}");
}

fn meta() -> Vec<u8> {
    let mut b = Bytes::default();
    b.raw(b"HPCTOOLKITmeta").u8(4).u8(0);
    // General, IdNames, Metrics, Context, Strings, Modules, Files, Functions: size and pointer.
    b.u64(0x10).u64(0x130).u64(0x28).u64(0x140).u64(0x78).u64(0x170).u64(0x120).u64(0x2b8);
    b.u64(0xa0).u64(0x90).u64(0x20).u64(0x1e8).u64(0x20).u64(0x208).u64(0x88).u64(0x228);
    b.at(0x90).raw(TEXTS.as_bytes());
    b.at(0x130).u64(text("demo")).u64(text("about"));
    b.at(0x140).u64(0x150).u16(3);
    b.at(0x150).u64(text("SUMMARY")).u64(text("NODE")).u64(text("RANK"));
    // One metric, of 24 bytes, with two scopes of 24 and two summaries of 16.
    b.at(0x170).u64(0x180).u32(1).u8(24).u8(24).u8(16);
    b.at(0x180).u64(text("time (sec)")).u16(2).at(0x190).u64(0x198);
    b.at(0x198).u64(text("function")).u16(1).u16(0).at(0x1a8).u64(0x1c8);
    b.at(0x1b0).u64(text("execution")).u16(1).u16(1).at(0x1c0).u64(0x1d8);
    b.at(0x1c8).u64(text("$$")).u8(0).u8(0).u16(0);
    b.at(0x1d8).u64(text("$$")).u8(0).u8(0).u16(1);
    b.at(0x1e8).u64(0x1f8).u32(1).u16(16);
    b.at(0x1f8).u32(0).u32(0).u64(text("/bin/demo"));
    b.at(0x208).u64(0x218).u32(1).u16(16);
    b.at(0x218).u32(0).u32(0).u64(text("/src/demo.c"));
    // Functions of 40 bytes: name, module, offset, file, line, flags.
    b.at(0x228).u64(0x238).u32(3).u16(40);
    b.at(0x238).u64(text("<program root>"));
    b.at(0x260).u64(text("main")).u64(0x1f8).u64(0x1000).u64(0x218).u32(3);
    b.at(0x288).u64(text("work")).u64(0x1f8).u64(0).u64(0x218).u32(9);
    contexts(&mut b);
    b.raw(b"_meta.db");
    b.0
}

/// A root calls `main`, which has `work` inlined at line 5; `work` has an instruction.
fn contexts(b: &mut Bytes) {
    b.at(0x2b8).u64(40).u64(0x2c8);
    // The root: called, with a function. One word for the call, one for the function.
    b.at(0x2c8).u64(40).u64(0x2f0).u32(1).u16(0b00011).u8(0).u8(2);
    b.u8(1).u8(0).u16(0).u32(0).u64(0x238);
    b.at(0x2f0).u64(40).u64(0x318).u32(2).u16(0b00011).u8(0).u8(2);
    b.u8(1).u8(0).u16(0).u32(0).u64(0x260);
    // The line, where calls of what is below stand.
    b.at(0x318).u64(48).u64(0x340).u32(3).u16(0b10100).u8(2).u8(2);
    b.u64(0x218).u32(5).u32(0);
    // Inlined, with a place of its own for the call: its line shares the first word.
    b.at(0x340).u64(40).u64(0x370).u32(4).u16(0b00011).u8(0).u8(3);
    b.u8(2).u8(1).u16(1).u32(5).u64(0x218).u64(0x288);
    // An instruction within.
    b.at(0x370).u64(0).u64(0).u32(5).u16(0b01000).u8(3).u8(2);
    b.u64(0x1f8).u64(0x1020);
    b.at(0x3d8);
}

/// Values by context: function and execution.
const VALUES: [(u32, &[(u16, f64)]); 5] = [
    (1, &[(1, 4.0)]),
    (2, &[(0, 1.5), (1, 4.0)]),
    (3, &[(1, 2.5)]),
    (4, &[(0, 2.5), (1, 2.5)]),
    (5, &[(0, 2.5), (1, 2.5)]),
];

fn profile() -> Vec<u8> {
    let mut b = Bytes::default();
    b.raw(b"HPCTOOLKITprof").u8(4).u8(0);
    b.u64(0x30).u64(0x30).u64(0x28).u64(0x60);
    b.at(0x30).u64(0x40).u32(2).u8(16);
    // The summary and a thread: where their values are, and who they are.
    b.at(0x40).u64(0x88).u64(0).u64(0xa8).u64(0x60);
    // NODE with both ids, RANK with the logical one only. Ids begin at byte 2.
    b.at(0x60).u16(2).u16(1).u16(0).u32(0).u64(0xAB);
    b.u16(0xC002).u16(0).u32(3).u64(3);
    // Both have the same 8 values, from 0xc8 on, and the same index of 5 contexts.
    for block in [0x88, 0xa8] {
        b.at(block).u64(8).u64(0xc8).u32(5).u32(0).u64(0x118);
    }
    b.at(0xc8);
    for (_, values) in VALUES {
        for (metric, value) in values {
            b.u16(*metric).f64(*value);
        }
    }
    b.at(0x118);
    let mut first = 0;
    for (context, values) in VALUES {
        b.u32(context).u64(first);
        first += values.len() as u64;
    }
    b.raw(b"_prof.db");
    b.0
}

fn cct() -> Vec<u8> {
    let mut b = Bytes::default();
    b.raw(b"HPCTOOLKITctxt").u8(4).u8(0).u64(0x40).u64(0x20);
    b.at(0x20).u64(0x30).u32(6).u8(8);
    b.at(0x30);
    // Where the block of each context is, from number 0 on.
    for context in 0..6 {
        b.u64(0x60 + context * 0x60);
    }
    for (context, values) in [(0, &[][..])].into_iter().chain(VALUES) {
        let block = 0x60 + u64::from(context) * 0x60;
        let (count, at) = (values.len(), block + 0x20);
        let index = (at + 10 * count as u64).next_multiple_of(4);
        b.at(block).u64(count as u64).u64(at).u16(u16::try_from(count).unwrap());
        b.at(block + 0x18).u64(index);
        // One profile has values, the second of the list.
        for (_, value) in values {
            b.u16(1).f64(*value);
        }
        b.at(index);
        for ((metric, _), first) in values.iter().zip(0..) {
            b.u32((*metric).into()).u64(first);
        }
    }
    b.raw(b"__ctx.db");
    b.0
}

fn trace() -> Vec<u8> {
    let mut b = Bytes::default();
    b.raw(b"HPCTOOLKITtrce").u8(4).u8(0).u64(0x28).u64(0x20);
    b.at(0x20).u64(0x30).u32(1).u8(24);
    b.at(0x30).u32(1).u32(0).u64(0x48).u64(0x60);
    b.at(0x48).u64(1000).u32(2).u64(2000).u32(3);
    b.0
}

/// What the description says of a metric, an entry point that calls `main`, and two threads, laid
/// out in the order of the writer.
fn written() -> [(&'static str, Vec<u8>); 4] {
    let mut b = Bytes::default();
    b.raw(b"HPCTOOLKITmeta").u8(4).u8(0);
    b.u64(0x13).u64(0x90).u64(0x8d).u64(0xa8).u64(0xf0).u64(0x138).u64(0x60).u64(0x300);
    b.u64(0x44).u64(0x228).u64(0x20).u64(0x270).u64(0x10).u64(0x290).u64(0x60).u64(0x2a0);
    b.at(0x90).u64(0xa0).u64(0xa2).raw(b"t\0\0");
    b.at(0xa8).u64(0xb8).u16(8);
    b.at(0xb8).u64(0xf8).u64(0x100).u64(0x105).u64(0x10a).u64(0x111).u64(0x11b).u64(0x126);
    b.u64(0x130).raw(b"SUMMARY\0NODE\0RANK\0THREAD\0GPUDEVICE\0GPUCONTEXT\0GPUSTREAM\0CORE\0");
    b.at(0x138).u64(0x148).u32(1).u8(24).u8(24).u8(16);
    b.at(0x148).u64(0x200).u16(4).at(0x158).u64(0x160);
    // Scopes, each with a summary and an id.
    for (id, name) in [(0, 0x202), (1, 0x208), (2, 0x211), (3, 0x21b)] {
        b.u64(name).u16(1).u16(id).u32(0).u64(0x1c0 + 16 * u64::from(id));
    }
    for id in 0..4 {
        b.u64(0x225).u8(0).u8(0).u16(id).u32(0);
    }
    b.at(0x200).raw(b"m\0point\0function\0lex_aware\0execution\0$$\0");
    b.at(0x228).raw(b"/bin/t\0main thread\0main\0\0");
    b.raw(b"<program root>\0<thread root>\0<no activity>\0");
    b.at(0x270).u64(0x280).u32(1).u16(16).at(0x280).u64(0).u64(0x228);
    b.at(0x290).u64(0x2a0).u32(0).u16(16);
    b.at(0x2a0).u64(0x2b0).u32(2).u16(40);
    b.at(0x2b0).u64(0x241);
    b.at(0x2d8).u64(0x23b).u64(0x280).u64(0x10).u64(0).u32(3).u32(0);
    b.at(0x300).u64(40).u64(0x338);
    b.u64(0).u64(0).u32(2).u16(0b00011).u8(0).u8(2).u8(1).u8(0).at(0x330).u64(0x2d8);
    b.u64(40).u64(0x310).u32(1).u16(0b00011).u8(0).u8(2).u8(1).u8(0).at(0x358).u64(0x2b0);
    b.raw(b"_meta.db");
    let meta = std::mem::take(&mut b.0);

    // The summary and two threads: where their blocks and their tuples are, each a multiple of 8.
    b.raw(b"HPCTOOLKITprof").u8(4).u8(0).u64(0x40).u64(0x30).u64(0x2a).u64(0xd0);
    b.u64(0x40).u32(3).u8(16).at(0x40);
    b.u64(0x70).u64(0).u64(0x90).u64(0xd0).u64(0xb0).u64(0xe8);
    b.at(0x70).u64(3).u64(0x14c).u32(2).u32(0).u64(0x16c);
    b.u64(3).u64(0xfc).u32(2).u32(0).u64(0x11c);
    b.u64(1).u64(0x134).u32(1).u32(0).u64(0x140);
    // NODE with both ids; a tuple of one id has 18 bytes.
    b.at(0xd0).u16(1).u16(1).u16(0).u32(0).u64(7);
    b.at(0xe8).u16(1).u16(1).u16(0).u32(1).u64(9);
    b.at(0xfc).u16(3).f64(2.5).u16(1).f64(2.5).u16(3).f64(2.5);
    b.at(0x11c).u32(1).u64(0).u32(2).u64(1);
    b.at(0x134).u16(3).f64(4.0).at(0x140).u32(2).u64(0);
    b.at(0x14c).u16(3).f64(2.5).u16(1).f64(2.5).u16(3).f64(6.5);
    b.at(0x16c).u32(1).u64(0).u32(2).u64(1);
    b.raw(b"_prof.db");
    let profile = std::mem::take(&mut b.0);

    // Values are multiples of 2, and 10 bytes each; indexes are multiples of 4, blocks of 8.
    b.raw(b"HPCTOOLKITctxt").u8(4).u8(0).u64(0x28).u64(0x30);
    b.at(0x30).u64(0x40).u32(3).u8(8).at(0x40).u64(0x58).u64(0x90).u64(0xe8);
    b.u64(0).u64(0x58).u64(0).u64(0x58);
    b.at(0x78).u16(1).f64(2.5).at(0x84).u32(3).u64(0);
    b.at(0x90).u64(1).u64(0x78).u16(1).at(0xa8).u64(0x84);
    b.at(0xb0).u16(1).f64(2.5).u16(1).f64(2.5).u16(2).f64(4.0);
    b.at(0xd0).u32(1).u64(0).u32(3).u64(1);
    b.at(0xe8).u64(3).u64(0xb0).u16(2).at(0x100).u64(0xd0);
    b.raw(b"__ctx.db");
    let cct = std::mem::take(&mut b.0);

    b.raw(b"HPCTOOLKITtrce").u8(4).u8(0).u64(0x50).u64(0x20);
    b.u64(0x40).u32(2).u8(24).at(0x40).u32(1).u32(0).u64(0x70).u64(0x7c);
    b.u32(2).u32(0).u64(0x70).u64(0x70);
    b.u64(5).u32(2).raw(b"trace.db");
    [("meta.db", meta), ("profile.db", profile), ("cct.db", cct), ("trace.db", b.0)]
}

#[test]
fn the_described_draft_is_written_byte_by_byte_as_described() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("written");
    let mut writer = Writer::described(&Destination::new(&to, false), "t").unwrap();
    let metric = writer.metric(&Metric::named("m")).unwrap();
    let module = Some(writer.module("/bin/t").unwrap());
    let name = |name: &str| Function { name: name.to_owned(), ..Function::default() };
    let root = Some(writer.function(&name("main thread")).unwrap());
    let main = Function { module, offset: 0x10, line: 3, ..name("main") };
    let main = Some(writer.function(&main).unwrap());
    let node = Node { function: root, ..Node::new(Scope::Entry, Relation::Call) };
    writer.context(None, ContextNumber(1), &node).unwrap();
    let node = Node { function: main, ..Node::new(Scope::Function, Relation::Call) };
    writer.context(Some(ContextNumber(1)), ContextNumber(2), &node).unwrap();
    let thread = |logical, physical| {
        let kind = IdKind("NODE".into());
        Thread { ids: vec![IdPart { kind, logical, physical: Some(physical) }] }
    };
    writer.threads(&[thread(0, 7), thread(1, 9)]).unwrap();
    let value = |context, reach, value| {
        let (context, column) = (ContextNumber(context), Column { metric, reach });
        Ok(SinkValue { context, column, value })
    };
    let values = [
        value(2, MetricScope::Execution, 2.5),
        value(2, MetricScope::Function, 2.5),
        value(1, MetricScope::Execution, 2.5),
    ];
    writer.values(ThreadId(0), &mut values.into_iter()).unwrap();
    let values = [value(2, MetricScope::Execution, 4.0)];
    writer.values(ThreadId(1), &mut values.into_iter()).unwrap();
    let sample = Ok((TimeNs(5), Some(ContextNumber(2))));
    writer.samples(ThreadId(0), &mut [sample].into_iter()).unwrap();
    writer.finish().unwrap();
    for (name, expected) in written() {
        let found = fs::read(to.join(name)).unwrap();
        let differs = found.iter().zip(&expected).position(|(found, expected)| found != expected);
        assert_eq!((differs, found.len()), (None, expected.len()), "{name}");
    }
    // What is beside it is of this layout.
    let formats = fs::read_to_string(to.join("FORMATS.md")).unwrap();
    assert!(formats.contains("big-endian") && !formats.contains("little-endian"), "{formats}");
}

fn write(folder: &Path) {
    let files = [("meta.db", meta()), ("profile.db", profile())];
    for (name, bytes) in files.into_iter().chain([("cct.db", cct()), ("trace.db", trace())]) {
        fs::write(folder.join(name), bytes).unwrap();
    }
}

fn open(folder: &Path) -> Box<dyn Dataset> {
    let source = Source::open(folder, &Limits::default()).unwrap();
    HpcDb.open(&source, &Context::default()).unwrap()
}

#[test]
fn the_described_draft_is_read() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path());
    is_read(&*open(folder.path()));
}

/// Records of a later version may be longer: it is the byte order that tells the draft. Each of these
/// lists has one record; in the first, 32 bytes are what a metric has in the released layout.
#[test]
fn longer_records_of_the_described_draft_are_read() {
    for (at, size) in [(0x17C, 32), (0x17C, 48), (0x1F5, 24), (0x215, 24)] {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path());
        let mut bytes = meta();
        bytes[0x0F] = 1;
        bytes[at] = size;
        fs::write(folder.path().join("meta.db"), &bytes).unwrap();
        is_read(&*open(folder.path()));
    }
}

fn is_read(dataset: &dyn Dataset) {
    assert_eq!(dataset.summary().dialect, "the described draft, big-endian");
    let view = dataset.profile().unwrap();
    assert_eq!(view.metrics()[0].name, "time (sec)");
    assert_eq!(view.thread(ThreadId(0)).unwrap().to_string(), "NODE 0 [0xab] / RANK 3");
    let only: ThreadSet = [ThreadId(0)].into_iter().collect();
    for threads in [None, Some(&only)] {
        let question = MetricQuery { view: view.as_ref(), metric: MetricId(0), threads };
        let flat = flat(&question, FlatGrouping::Function).unwrap();
        let rows = flat.rows.iter().map(|row| (row.label.as_str(), (row.exclusive, row.inclusive)));
        let rows: BTreeMap<_, _> = rows.collect();
        let expected = [("<main thread>", (0.0, 4.0)), ("main", (1.5, 4.0)), ("work", (2.5, 2.5))];
        assert_eq!(rows, expected.into_iter().collect());
    }
}

/// Where calls stand: of `main` nobody says it; `work` says it itself, and it is line 5.
#[test]
fn the_described_draft_says_where_calls_stand() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path());
    let calls = |dataset: &dyn Dataset| {
        let files = support::texts(dataset, "contexts", "call_file");
        let lines = support::numbers(dataset, "contexts", "call_line");
        files.into_iter().zip(lines).collect::<Vec<_>>()
    };
    let dataset = open(folder.path());
    let none = (None, None);
    let said = |line| (Some("/src/demo.c".to_owned()), Some(line));
    let expected = [none.clone(), none.clone(), none.clone(), said(5), none];
    assert_eq!(calls(&*dataset), expected);
    // Another line than that of the context above, in the word of the call.
    let mut bytes = meta();
    bytes[0x35F] = 8;
    fs::write(folder.path().join("meta.db"), &bytes).unwrap();
    assert_eq!(calls(&*open(folder.path()))[3], said(8));
    let to = folder.path().join("again");
    let source = Source::open(folder.path(), &Limits::default()).unwrap();
    HpcDb.rewrite(&source, &Destination::new(&to, false), &Context::default()).unwrap();
    assert_eq!(calls(&*open(&to))[3], said(8));
    // The same words, but for where the file and the function are now: two for the call, one for
    // the function; inlined, with a place, at line 8.
    let written = fs::read(to.join("meta.db")).unwrap();
    let call = [2, 1, 0, 1, 0, 0, 0, 8];
    assert_eq!(written.windows(8).filter(|word| **word == call).count(), 1);
    // Without a place of its own it is that of the line above, which says that calls stand in it.
    bytes[0x35B] = 0;
    fs::write(folder.path().join("meta.db"), &bytes).unwrap();
    assert_eq!(calls(&*open(folder.path()))[3], said(5));
    // If that does not say so, nobody does.
    bytes[0x32D] &= !16;
    fs::write(folder.path().join("meta.db"), &bytes).unwrap();
    assert_eq!(calls(&*open(folder.path()))[3], (None, None));
}

#[test]
fn traces_of_the_described_draft_are_read() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path());
    let view = open(folder.path()).timeline().unwrap();
    assert_eq!(view.tracks()[0].name, "NODE 0 [0xab] / RANK 3");
    // Its header has no moments; 2 µs are since no Epoch.
    assert!(!view.clocks()[0].since_epoch);
    let mut events = view.events(&Window::default()).unwrap();
    let mut samples = Vec::new();
    while let Some(event) = events.next().unwrap() {
        let Content::Sample(context) = event.content else { panic!("{event:?}") };
        samples.push((event.time.unwrap().0, context));
    }
    assert_eq!(samples, [(1000, 2), (2000, 3)]);
    let mut bytes = trace();
    bytes[0x54..0x5C].copy_from_slice(&1_700_000_000_000_000_000_u64.to_be_bytes());
    fs::write(folder.path().join("trace.db"), &bytes).unwrap();
    assert!(open(folder.path()).timeline().unwrap().clocks()[0].since_epoch);
}

#[test]
fn the_described_draft_passes_the_check() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path());
    let source = Source::open(folder.path(), &Limits::default()).unwrap();
    let found = HpcDb.check(&source, &Context::default()).unwrap();
    // To keep it short, all texts are in one place, and the summary and the only thread have the
    // same values.
    let is_short = |rule: &str| matches!(rule, "section-bounds" | "array-overlap");
    let wrong = found.iter().filter(|one| !is_short(one.rule));
    let wrong: Vec<_> = wrong.filter(|one| one.severity > Severity::Note).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn files_of_two_byte_orders_are_not_read_together() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path());
    let sample = kymo_conformance::testdata("hpcdb/matmul-omp/profile.db");
    fs::copy(sample, folder.path().join("profile.db")).unwrap();
    let source = Source::open(folder.path(), &Limits::default()).unwrap();
    let error = HpcDb.open(&source, &Context::default()).err().unwrap().to_string();
    assert!(error.contains("meta.db is big-endian, profile.db is not"), "{error}");
}
