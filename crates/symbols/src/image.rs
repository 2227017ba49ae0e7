//! A program or a library: its symbols, and where its debug information is.

use std::fmt::Write;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use gimli::{DwarfSections, RunTimeEndian, SectionId};
use kymo_core::Source;
use kymo_core::bytes::Limits;
use object::{Object, ObjectSection};

use crate::code::{Code, Slots};
use crate::elf::{self, Parts, Symbol};

/// Where debug files are kept by their build-id.
const DEBUG: &str = "/usr/lib/debug";

/// How many times as long a section may become that is compressed. Debug information becomes
/// five times as long; what is made to fill the memory, a thousand times.
const EXPANSION_MAX: u64 = 64;

/// Sections up to this length may become that long, whatever they are made of.
const SMALL_BYTES: u64 = 1 << 20;

/// How much code without a symbol is taken for a part of a function.
const UNNAMED_BYTES_MAX: u64 = 1 << 12;

/// Larger files than this are not looked into for DWARF.
const DWARF_BYTES_MAX: u64 = 1 << 32;

/// What is known of a program or a library.
#[derive(Debug)]
pub(crate) struct Image {
    /// By address.
    symbols: Vec<Symbol>,
    dwarf: Option<DwarfSections<Bytes>>,
    endian: RunTimeEndian,
    code: Option<(Code, Slots)>,
    /// Parts of functions that are kept elsewhere: the entry of the function, and what to follow.
    parts: Parts,
}

impl Image {
    /// Opens the file at a path, and its debug file. Nothing where there is no program. Machine code
    /// is only kept if it is wanted.
    pub(crate) fn open(path: &Path, wants_code: bool, limits: &Limits) -> Option<Self> {
        let bytes = read(path, limits)?;
        let file = object::File::parse(&*bytes).ok()?;
        let endian = match file.endianness() {
            object::Endianness::Little => RunTimeEndian::Little,
            object::Endianness::Big => RunTimeEndian::Big,
        };
        let debug = if has_dwarf(&file) { None } else { debug_file(path, &file, limits) };
        let debug_object = debug.as_ref().and_then(|bytes| object::File::parse(&**bytes).ok());
        let (from, source) = match (&debug_object, &debug) {
            (Some(object), Some(bytes)) => (object, bytes),
            _ => (&file, &bytes),
        };
        let has_symbols = |object: &&object::File<'_>| object.symbols().next().is_some();
        let symbols = match debug_object.as_ref().filter(has_symbols) {
            Some(object) => elf::symbols(object, source.len()),
            None => elf::symbols(&file, bytes.len()),
        };
        let is_small = source.len() as u64 <= DWARF_BYTES_MAX;
        let dwarf = (has_dwarf(from) && is_small).then(|| load(from, source));
        let code = wants_code.then(|| Code::of(&file, &bytes)).flatten();
        let code = code.map(|code| (code, Slots::of(&file)));
        let parts = Parts::of(&symbols);
        Some(Self { symbols, dwarf, endian, code, parts })
    }

    /// Every symbol, by address.
    pub(crate) fn symbols(&self) -> &[Symbol] {
        &self.symbols
    }

    /// The entry of the function that a symbol is of, and all its code.
    pub(crate) fn parts(&self, symbol: &Symbol) -> (u64, Vec<Range<u64>>) {
        self.parts.of_symbol(symbol)
    }

    /// Code from an address on that no symbol tells of; nothing where one does.
    pub(crate) fn unnamed(&self, address: u64) -> Option<Range<u64>> {
        let after = self.symbols.partition_point(|symbol| symbol.start <= address);
        let next = self.symbols.get(after).map_or(u64::MAX, |symbol| symbol.start);
        let end = next.min(address.saturating_add(UNNAMED_BYTES_MAX));
        self.symbol(address).is_none().then_some(address..end)
    }

    /// The machine code, and where functions of other files are called through.
    pub(crate) fn code(&self) -> Option<(&Code, &Slots)> {
        self.code.as_ref().map(|(code, slots)| (code, slots))
    }

    /// The symbol that an address is in.
    pub(crate) fn symbol(&self, address: u64) -> Option<&Symbol> {
        elf::find(&self.symbols, address)
    }

    /// The debug information.
    pub(crate) fn dwarf(&self) -> Option<(&DwarfSections<Bytes>, RunTimeEndian)> {
        Some((self.dwarf.as_ref()?, self.endian))
    }
}

fn read(path: &Path, limits: &Limits) -> Option<Bytes> {
    // What is no plain file may never end.
    fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    Source::open(path, limits).ok()?.bytes().ok()
}

fn has_dwarf(file: &object::File<'_>) -> bool {
    file.section_by_name(".debug_info").is_some()
}

/// The file that debug information was put into, if there is one that belongs to the program.
fn debug_file(path: &Path, file: &object::File<'_>, limits: &Limits) -> Option<Bytes> {
    let id = file.build_id().ok().flatten();
    let by_id = id.and_then(by_build_id).into_iter();
    let link = file.gnu_debuglink().ok().flatten();
    let name = link.and_then(|(name, _)| std::str::from_utf8(name).ok());
    let linked = name.map_or_else(Vec::new, |name| by_link(path, name));
    by_id.chain(linked).find_map(|candidate| {
        let bytes = read(&candidate, limits)?;
        let found = object::File::parse(&*bytes).ok()?;
        let is_it = id.is_none() || found.build_id().ok().flatten() == id;
        (is_it && has_dwarf(&found)).then_some(bytes.clone())
    })
}

/// `/usr/lib/debug/.build-id/ab/cdef.debug`.
fn by_build_id(id: &[u8]) -> Option<PathBuf> {
    let (first, rest) = id.split_first()?;
    let mut path = format!("{DEBUG}/.build-id/{first:02x}/");
    for byte in rest {
        let _ = write!(path, "{byte:02x}");
    }
    path.push_str(".debug");
    Some(PathBuf::from(path))
}

/// Beside the program, in `.debug` there, and below the directory of debug files.
fn by_link(path: &Path, name: &str) -> Vec<PathBuf> {
    let Some(folder) = path.parent() else { return Vec::new() };
    let below = folder.strip_prefix("/").unwrap_or(folder);
    vec![
        folder.join(name),
        folder.join(".debug").join(name),
        Path::new(DEBUG).join(below).join(name),
    ]
}

/// The sections of DWARF. Those that cannot be read are empty.
fn load(file: &object::File<'_>, source: &Bytes) -> DwarfSections<Bytes> {
    let section = |id: SectionId| Ok::<_, std::convert::Infallible>(section(file, source, id));
    match DwarfSections::load(section) {
        Ok(dwarf) => dwarf,
        Err(never) => match never {},
    }
}

fn section(file: &object::File<'_>, source: &Bytes, id: SectionId) -> Bytes {
    let wanted = !matches!(
        id,
        SectionId::DebugLoc
            | SectionId::DebugLocLists
            | SectionId::DebugMacinfo
            | SectionId::DebugMacro
            | SectionId::DebugTypes
    );
    let found = wanted.then(|| file.section_by_name(id.name())).flatten();
    let data = found.and_then(|section| section.compressed_data().ok());
    let data = data.filter(|data| {
        let size = data.uncompressed_size;
        size <= SMALL_BYTES || size / EXPANSION_MAX <= data.data.len() as u64
    });
    match data.and_then(|data| data.decompress().ok()) {
        Some(std::borrow::Cow::Borrowed(part)) => source.slice_ref(part),
        Some(std::borrow::Cow::Owned(part)) => Bytes::from(part),
        None => Bytes::new(),
    }
}
