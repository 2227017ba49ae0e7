//! A program or a library: its symbols, and where its debug information is.

use std::borrow::Cow;
use std::fmt::{Display, Write};
use std::fs;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use gimli::{DwarfSections, RunTimeEndian, SectionId};
use kymo_core::Source;
use kymo_core::bytes::Limits;
use object::{Object, ObjectSection};

use crate::code::{Code, Slots};
use crate::elf::{self, FunctionParts, Symbol};
use crate::executable::Executable;
use crate::limitation::{self, Limitation};
use crate::split::SplitFiles;
use crate::{Search, shared, unwind, xz};

/// Directory in which debug files are kept by their build-id.
pub(crate) const DEBUG: &str = "/usr/lib/debug";

/// Factor by which a compressed section may grow. Debug information becomes five times as long; a
/// section made to fill the memory, a thousand times.
const EXPANSION_MAX: u64 = 64;

/// Sections up to this length may become that long, whatever they are made of.
const SMALL_BYTES: u64 = 1 << 20;

/// Greatest number of bytes of code without a symbol that are taken for a part of a function.
const UNNAMED_BYTES_MAX: u64 = 1 << 12;

/// Larger files than this are not looked into for DWARF.
const DWARF_BYTES_MAX: u64 = 1 << 32;

/// Nor are files of so many bytes by hpcprof.
const COMPAT_BYTES_MAX: u64 = 100 << 20;

/// Information about a program or a library.
#[derive(Debug)]
pub(crate) struct Image {
    /// By address.
    symbols: Vec<Symbol>,
    dwarf: Option<DwarfSections<Bytes>>,
    /// Part of it that several modules share.
    shared: Option<DwarfSections<Bytes>>,
    split_files: SplitFiles,
    executable: Executable,
    /// Functions that stripped programs have no symbols of, by address.
    nameless: Vec<Range<u64>>,
    endian: RunTimeEndian,
    code: Option<(Code, Slots)>,
    /// Parts of functions that are kept elsewhere: the entry of the function, and what to follow.
    parts: FunctionParts,
    lack: Option<Limitation>,
}

impl Image {
    /// Takes the bytes of the file at a path, and opens its debug file. Machine code is only kept if
    /// it is wanted.
    ///
    /// # Errors
    /// Why there is no program, in words that follow its name.
    pub(crate) fn open(
        path: &Path,
        bytes: &Bytes,
        search: &Search,
        limits: &Limits,
    ) -> Result<Self, String> {
        let file = object::File::parse(&**bytes);
        let file = file.map_err(|error| format!("it is no program, or damaged: {error}"))?;
        let endian = match file.endianness() {
            object::Endianness::Little => RunTimeEndian::Little,
            object::Endianness::Big => RunTimeEndian::Big,
        };
        let mut lacks = Vec::new();
        let debug =
            if has_dwarf(&file) { Ok(None) } else { debug_file(path, &file, search, limits) };
        let debug = limitation::found(debug, &mut lacks);
        let debug_object = debug.as_ref().and_then(|(_, bytes)| object::File::parse(&**bytes).ok());
        let (from, at, source) = match (&debug_object, &debug) {
            (Some(object), Some((at, bytes))) => (object, &**at, bytes),
            _ => (&file, path, bytes),
        };
        let has_symbols = |object: &&object::File<'_>| object.symbols().next().is_some();
        let has = debug_object.as_ref().filter(has_symbols);
        let hidden = if has.is_none() { hidden(&file) } else { Ok(None) };
        let hidden = limitation::found(hidden, &mut lacks);
        let hidden = hidden.as_ref().map(|bytes| object::File::parse(&**bytes));
        let hidden = hidden.transpose().map_err(|error| damaged_within(&error));
        let hidden = limitation::found(hidden, &mut lacks);
        let is_of_gpu = elf::is_of_gpu(bytes);
        let symbols = elf::symbols(
            has.unwrap_or(&file),
            hidden.as_ref(),
            source.len(),
            is_of_gpu,
            &mut lacks,
        );
        let passed_over = if !has_dwarf(from) {
            None
        } else if search.compat && bytes.len() as u64 >= COMPAT_BYTES_MAX {
            Some(Limitation::absent(
                "hpcprof reads no debug information of a file of 100 MiB or more",
            ))
        } else {
            let is_large = source.len() as u64 > DWARF_BYTES_MAX;
            is_large.then(|| Limitation::damaged("its debug information is too large"))
        };
        let is_large = passed_over.is_some();
        lacks.extend(passed_over);
        // What it tells of counts within sections, each from 0.
        let dwarf =
            (has_dwarf(from) && !is_large && !is_of_gpu).then(|| load(from, source, &mut lacks));
        let shared =
            if dwarf.is_some() { shared::find(at, from, search, limits) } else { Ok(None) };
        let shared = limitation::found(shared, &mut lacks);
        let shared = shared.and_then(|bytes| {
            let object = object::File::parse(&*bytes).ok()?;
            Some(load(&object, &bytes, &mut lacks))
        });
        let split_files = SplitFiles::new(path, dwarf.as_ref(), endian, search, limits);
        lacks.extend(split_files.limitation().cloned());
        let code = search.loops.then(|| Code::from_file(&file, bytes)).flatten();
        let code = code.map(|code| (code, Slots::from_file(&file)));
        let parts = FunctionParts::from_symbols(&symbols);
        if symbols.is_empty() && dwarf.is_none() {
            lacks.push(Limitation::absent("it has neither debug information nor symbols"));
        }
        let lack = Limitation::worst(lacks);
        let executable = Executable::from_file(&file);
        // What has all of its symbols is not looked through for more.
        let is_stripped = has.is_none() && !has_symbols(&&file) && dwarf.is_none() && !is_of_gpu;
        let nameless =
            if is_stripped { unwind::functions(&file, bytes, endian, limits) } else { Vec::new() };
        Ok(Self {
            symbols,
            dwarf,
            shared,
            split_files,
            executable,
            nameless,
            endian,
            code,
            parts,
            lack,
        })
    }

    /// Returns the reason why less is known of it than could be.
    pub(crate) fn limitation(&self) -> Option<&Limitation> {
        self.lack.as_ref()
    }

    /// Every symbol, by address.
    pub(crate) fn symbols(&self) -> &[Symbol] {
        &self.symbols
    }

    /// The entry of the function that a symbol is of, and all its code.
    pub(crate) fn parts(&self, symbol: &Symbol) -> (u64, Vec<Range<u64>>) {
        self.parts.function_of_symbol(symbol)
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

    /// The function that an address is in, where nothing names it.
    pub(crate) fn nameless(&self, address: u64) -> Option<&Range<u64>> {
        unwind::find(&self.nameless, address)
    }

    /// The symbol that begins at an address.
    pub(crate) fn symbol_at(&self, address: u64) -> Option<&Symbol> {
        let at = self.symbols.binary_search_by_key(&address, |symbol| symbol.start).ok()?;
        self.symbols.get(at)
    }

    /// Returns the part of their debug information that several modules share.
    pub(crate) fn shared(&self) -> Option<&DwarfSections<Bytes>> {
        self.shared.as_ref()
    }

    /// Files that parts of the debug information were split off into.
    pub(crate) fn split_files(&self) -> &SplitFiles {
        &self.split_files
    }

    /// Returns the ranges that have code.
    pub(crate) fn executable(&self) -> &Executable {
        &self.executable
    }

    /// The debug information.
    pub(crate) fn dwarf(&self) -> Option<(&DwarfSections<Bytes>, RunTimeEndian)> {
        Some((self.dwarf.as_ref()?, self.endian))
    }
}

/// The bytes of a file, or why there are none.
pub(crate) fn read(path: &Path, limits: &Limits) -> Result<Bytes, Limitation> {
    // What is there and may not be read is as lost as what is damaged.
    let unreadable = |why: &dyn Display| Limitation::damaged(format!("it cannot be read: {why}"));
    let found = fs::metadata(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => Limitation::absent(ABSENT),
        kind => unreadable(&kind),
    })?;
    // What is no plain file may never end.
    if !found.is_file() {
        return Err(Limitation::absent("it is no plain file"));
    }
    let bytes = Source::open(path, limits).and_then(|source| source.bytes());
    bytes.map_err(|error| unreadable(&error))
}

/// Returns the greatest size to which something compressed to so many bytes may grow.
pub(crate) fn expanded_max(compressed: usize) -> usize {
    let expanded = (compressed as u64).saturating_mul(EXPANSION_MAX).max(SMALL_BYTES);
    usize::try_from(expanded).unwrap_or(usize::MAX)
}

/// Message about a module that is nowhere.
pub(crate) const ABSENT: &str = "it is not there";

fn has_dwarf(file: &object::File<'_>) -> bool {
    file.section_by_name(".debug_info").is_some()
}

/// The program within a program that was stripped: it has the symbols that are not for linking.
fn hidden(file: &object::File<'_>) -> Result<Option<Vec<u8>>, Limitation> {
    let has_symbols = file.symbols().next().is_some();
    let section = file.section_by_name(".gnu_debugdata").filter(|_| !has_symbols);
    let Some(section) = section else { return Ok(None) };
    let section = section.data().map_err(|error| damaged_within(&error))?;
    let expanded = xz::expand(section, expanded_max(section.len()));
    expanded.map(Some).map_err(|error| damaged_within(&error))
}

fn damaged_within(error: &dyn Display) -> Limitation {
    Limitation::damaged(format!("its compressed symbols are damaged: {error}"))
}

/// The file that debug information was put into, if there is one that belongs to the program; or
/// why one that is there was not taken.
fn debug_file(
    path: &Path,
    file: &object::File<'_>,
    search: &Search,
    limits: &Limits,
) -> Result<Option<(PathBuf, Bytes)>, Limitation> {
    let id = file.build_id().ok().flatten();
    let by_id = id.and_then(build_id_path).into_iter().map(|path| (path, None));
    let link = file.gnu_debuglink().ok().flatten();
    let named = link.and_then(|(name, sum)| Some((std::str::from_utf8(name).ok()?, sum)));
    // To hpcprof the checksum counts where there is no id alone.
    let checksum = named.map(|(_, sum)| sum).filter(|_| id.is_none() || !search.compat);
    let linked = named.map_or_else(Vec::new, |(name, _)| {
        if search.may_follow(name) { link_paths(path, name) } else { Vec::new() }
    });
    let linked = linked.into_iter().map(|path| (path, checksum));
    let mut lacks = Vec::new();
    let candidates = by_id.chain(linked).filter(|(path, _)| search.may_read(path));
    for (candidate, checksum) in candidates {
        let Ok(bytes) = read(&candidate, limits) else { continue };
        let Err(lack) = is_debug_file(&bytes, id, checksum) else {
            return Ok(Some((candidate, bytes)));
        };
        let why = format!("its debug file {} {}", candidate.display(), lack.why);
        lacks.push(Limitation { why, ..lack });
    }
    Limitation::worst(lacks).map_or(Ok(None), Err)
}

/// Returns true if a file has the debug information of a program: by the build-id where the program
/// has one, and by the checksum of the whole file where a link tells it.
fn is_debug_file(bytes: &[u8], id: Option<&[u8]>, checksum: Option<u32>) -> Result<(), Limitation> {
    let found = object::File::parse(bytes).map_err(|_| Limitation::damaged("is damaged"))?;
    if !has_dwarf(&found) {
        return Err(Limitation::absent("has no debug information"));
    }
    let is_same = |id| found.build_id().ok().flatten() == Some(id);
    if !id.is_none_or(is_same) {
        return Err(Limitation::absent("is of another build"));
    }
    if checksum.is_none_or(|checksum| crc32fast::hash(bytes) == checksum) {
        return Ok(());
    }
    // What is of the same build was changed since.
    let changed = "was changed: its checksum is not that of the link";
    Err(if id.is_some() {
        Limitation::damaged(changed)
    } else {
        Limitation::absent("is of another build")
    })
}

/// `/usr/lib/debug/.build-id/ab/cdef.debug`.
pub(crate) fn build_id_path(id: &[u8]) -> Option<PathBuf> {
    let (first, rest) = id.split_first()?;
    let mut path = format!("{DEBUG}/.build-id/{first:02x}/");
    for byte in rest {
        let _ = write!(path, "{byte:02x}");
    }
    path.push_str(".debug");
    Some(PathBuf::from(path))
}

/// Beside the program, in `.debug` there, and below the directory of debug files.
fn link_paths(path: &Path, name: &str) -> Vec<PathBuf> {
    let Some(folder) = path.parent() else { return Vec::new() };
    let below = folder.strip_prefix("/").unwrap_or(folder);
    vec![
        folder.join(name),
        folder.join(".debug").join(name),
        Path::new(DEBUG).join(below).join(name),
    ]
}

/// The sections of DWARF. Those that cannot be read are empty, and said.
pub(crate) fn load(
    file: &object::File<'_>,
    source: &Bytes,
    lacks: &mut Vec<Limitation>,
) -> DwarfSections<Bytes> {
    let section = |id: SectionId| {
        let name = Some(id.name()).filter(|_| is_needed(id));
        let read = name.map(|name| section(file, source, name)).transpose();
        Ok::<_, std::convert::Infallible>(limitation::found(read, lacks).unwrap_or_default())
    };
    match DwarfSections::load(section) {
        Ok(dwarf) => dwarf,
        Err(never) => match never {},
    }
}

/// Returns true if anything is taken of a section.
pub(crate) fn is_needed(id: SectionId) -> bool {
    !matches!(
        id,
        SectionId::DebugLoc
            | SectionId::DebugLocLists
            | SectionId::DebugMacinfo
            | SectionId::DebugMacro
            | SectionId::DebugTypes
    )
}

/// A section by its name; nothing where it is not there.
///
/// # Errors
/// Where it is there and cannot be read, or becomes longer than sections do.
pub(crate) fn section(
    file: &object::File<'_>,
    source: &Bytes,
    name: &str,
) -> Result<Bytes, Limitation> {
    let Some(found) = file.section_by_name(name) else { return Ok(Bytes::new()) };
    let data = found.compressed_data().ok().filter(|data| {
        let size = data.uncompressed_size;
        size <= expanded_max(data.data.len()) as u64
    });
    match data.and_then(|data| data.decompress().ok()) {
        Some(Cow::Borrowed(part)) => Ok(source.slice_ref(part)),
        Some(Cow::Owned(part)) => Ok(Bytes::from(part)),
        None => Err(Limitation::damaged(format!("its section {name} cannot be read"))),
    }
}
