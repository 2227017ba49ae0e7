//! Addresses of small programs, as binutils resolve them; and damaged programs.

use std::fs;
use std::path::{Path, PathBuf};

use kymo_core::bytes::Limits;
use kymo_model::structure::{Resolved, Symbols};
use kymo_symbols::{Programs, Search};
use object::{Object, ObjectSection};

fn data(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/symbols").join(file)
}

/// The scopes around addresses of a program.
fn resolved(program: &Path, search: &Search, addresses: &[u64]) -> Vec<Vec<Resolved>> {
    let path = program.to_str().unwrap();
    let modules = std::iter::once((path, Path::new("")));
    let programs = Programs::new(modules, search, &Limits::default());
    let mut resolver = programs.module(path, None).unwrap();
    let mut item = |address: &u64| {
        let mut found = Vec::new();
        resolver.resolve(*address, &mut found);
        found
    };
    addresses.iter().map(&mut item).collect()
}

/// Functions with the lines that code is at, or calls the next one at, from the innermost out.
fn words(scopes: &[Resolved]) -> String {
    let mut words: Vec<String> = Vec::new();
    let line_of = |words: &mut Vec<String>, at: &(String, u32)| {
        if let Some(last) = words.last_mut() {
            *last = format!("{last} {}:{}", at.0, at.1);
        }
    };
    for scope in scopes {
        match scope {
            Resolved::Function { name, .. } => words.push(name.clone()),
            Resolved::Inlined { name, call, .. } => {
                line_of(&mut words, call.as_ref().unwrap());
                words.push(name.clone());
            }
            Resolved::Line { at } => line_of(&mut words, at),
            Resolved::Loop { .. } => {}
        }
    }
    words.reverse();
    words.join(" ")
}

/// All programs are of one code, so all of them are told what addr2line tells of the first.
fn assert_told(program: &Path) {
    let told = fs::read_to_string(data("addr2line.txt")).unwrap();
    let told: Vec<(u64, &str)> = told
        .lines()
        .map(|line| line.split_once(' ').unwrap())
        .map(|(address, words)| (u64::from_str_radix(&address[2..], 16).unwrap(), words))
        .collect();
    let addresses: Vec<u64> = told.iter().map(|(address, _)| *address).collect();
    for compat in [false, true] {
        let search = Search { compat, ..Search::default() };
        let found = resolved(program, &search, &addresses);
        for (found, (address, told)) in found.iter().zip(&told) {
            let found = words(found);
            // hpcprof takes other lines where there are several.
            let is_it = if compat { same_functions(&found, told) } else { found == *told };
            assert!(is_it, "{} at {address:#x}: {found}, not {told}", program.display());
        }
    }
}

/// Returns true if two are alike but for lines.
fn same_functions(found: &str, told: &str) -> bool {
    let names = |words: &str| words.split(' ').step_by(2).map(str::to_owned).collect::<Vec<_>>();
    names(found) == names(told)
}

#[test]
fn addresses_are_those_that_addr2line_tells() {
    for program in ["plain.elf", "zlib.elf", "v4.elf"] {
        assert_told(&data(program));
    }
}

/// Copies files, each under a name, into a folder of their own.
fn beside(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (file, name) in files {
        fs::copy(data(file), folder.path().join(name)).unwrap();
    }
    folder
}

/// Files that have a part of what a program of DWARF 4 and 5 tells, with their names beside it.
const PARTS: [(&str, &str, &str); 6] = [
    ("split4.elf", "split4.dwo", "split4.dwo"),
    ("split5.elf", "split5.dwo", "split5.dwo"),
    ("split4.elf", "split4.dwp", "split4.elf.dwp"),
    ("split5.elf", "split5.dwp", "split5.elf.dwp"),
    ("shared4.elf", "shared4.debug", "shared4.debug"),
    ("shared5.elf", "shared5.debug", "shared5.debug"),
];

#[test]
fn what_was_split_off_or_is_shared_is_found_beside_the_program() {
    for (program, part, name) in PARTS {
        let folder = beside(&[(program, program), (part, name)]);
        assert_told(&folder.path().join(program));
    }
}

#[test]
fn without_what_was_split_off_there_are_symbols_and_lines() {
    for program in ["split4.elf", "split5.elf"] {
        let folder = beside(&[(program, program)]);
        let found = resolved(&folder.path().join(program), &Search::default(), &[0x40_0127]);
        assert_eq!(words(&found[0]), "yearly /src/small.c:5");
    }
    // Without what several share there are no names in DWARF, but in the symbols.
    for (program, told) in [("shared4.elf", "small.c:5"), ("shared5.elf", "/src/small.c:5")] {
        let folder = beside(&[(program, program)]);
        let found = resolved(&folder.path().join(program), &Search::default(), &[0x40_0127]);
        assert_eq!(words(&found[0]), format!("yearly {told}"), "{program}");
    }
}

#[test]
fn what_was_split_off_of_another_build_is_not_taken() {
    let folder = beside(&[("split4.elf", "split4.elf"), ("split5.dwo", "split4.dwo")]);
    let found = resolved(&folder.path().join("split4.elf"), &Search::default(), &[0x40_0127]);
    assert_eq!(words(&found[0]), "yearly /src/small.c:5");
}

#[test]
fn damage_to_what_was_split_off_or_is_shared_does_no_harm() {
    for (program, part, name) in PARTS {
        let folder = beside(&[(program, program)]);
        let sound = fs::read(data(part)).unwrap();
        let try_out = |bytes: &[u8]| {
            fs::write(folder.path().join(name), bytes).unwrap();
            let search = Search { loops: true, ..Search::default() };
            resolved(&folder.path().join(program), &search, &[0x40_010c, 0x40_0127, 0x40_01e5]);
        };
        for at in (0..sound.len()).step_by(7) {
            let mut damaged = sound.clone();
            damaged[at] ^= 0xff;
            try_out(&damaged);
            damaged.truncate(at);
            try_out(&damaged);
        }
        for at in (0..sound.len().saturating_sub(8)).step_by(3) {
            let mut damaged = sound.clone();
            damaged[at..at + 8].fill(0xff);
            try_out(&damaged);
        }
    }
}

/// Zeros behind a program make it as long as hpcprof reads none any more.
#[test]
fn of_large_files_hpcprof_takes_the_symbols_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app");
    fs::copy(data("plain.elf"), &path).unwrap();
    let file = fs::File::options().write(true).open(&path).unwrap();
    let address = 0x40_010c;
    let lines = |compat: bool| {
        let search = Search { compat, ..Search::default() };
        let found = resolved(&path, &search, &[address]).remove(0);
        assert!(matches!(found.first(), Some(Resolved::Function { .. })), "{found:?}");
        found.iter().filter(|scope| matches!(scope, Resolved::Line { .. })).count()
    };
    file.set_len((100 << 20) - 1).unwrap();
    assert_eq!((lines(false), lines(true)), (1, 1));
    file.set_len(100 << 20).unwrap();
    assert_eq!((lines(false), lines(true)), (1, 0));
}

#[test]
fn what_is_outside_of_functions_has_no_scopes() {
    let outside = [0, 1, 0x40_0000, 0x40_010b, 0x50_0000, u64::MAX];
    let found = resolved(&data("plain.elf"), &Search::default(), &outside);
    assert!(found.iter().all(Vec::is_empty), "{found:?}");
}

#[test]
fn a_stripped_program_may_have_its_symbols_compressed_within() {
    let found = resolved(&data("mini.elf"), &Search::default(), &[0x40_010b, 0x40_010c, 0x40_01a6]);
    let names: Vec<String> = found.iter().map(|scopes| words(scopes)).collect();
    assert_eq!(names, ["", "yearly", "_start"]);
}

#[test]
fn lists_of_kernel_symbols_may_be_compressed_and_have_names_that_are_no_text() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("kernel_symbols")).unwrap();
    for file in ["kallsyms.xz", "kallsyms.lzma"] {
        let module = "kernel_symbols/vmlinux.1";
        let path = folder.path().join(module);
        fs::copy(data(file), &path).unwrap();
        let modules = std::iter::once((module, folder.path()));
        let programs = Programs::new(modules, &Search::default(), &Limits::default());
        let mut resolver = programs.module(module, path.to_str()).unwrap();
        let mut name = |address| {
            let mut found = Vec::new();
            resolver.resolve(address, &mut found);
            words(&found)
        };
        let names = [0x40_00ff, 0x40_0100, 0x40_014f, 0x40_0150, 0x40_0195].map(&mut name);
        let helper = "helper [ext4] [vmlinux]";
        let names = names.each_ref().map(String::as_str);
        let told = ["", "do_signal [vmlinux]", helper, "caf\u{fffd} [vmlinux]", "last [vmlinux]"];
        assert_eq!(names, told, "{file}");
    }
}

/// Sums of what a file says may be more than a number can be.
#[test]
fn functions_beyond_the_last_address_are_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("far");
    let start = 0x40_010c_u64.to_le_bytes();
    for program in ["plain.elf", "v4.elf"] {
        let mut bytes = fs::read(data(program)).unwrap();
        // The symbol stands at the end.
        let places = bytes.windows(8).enumerate().filter(|(_, found)| *found == start);
        let places: Vec<usize> = places.map(|(at, _)| at).collect();
        for at in places {
            bytes[at..at + 8].copy_from_slice(&(u64::MAX - 8).to_le_bytes());
        }
        fs::write(&path, bytes).unwrap();
        for compat in [false, true] {
            let search = Search { compat, ..Search::default() };
            let found = resolved(&path, &search, &[0x40_010c, u64::MAX - 8, u64::MAX]);
            assert!(!words(&found[0]).contains("yearly"), "{found:?}");
        }
    }
}

/// Whatever is damaged, addresses are looked up without end or harm.
#[test]
fn damaged_programs_tell_less_and_do_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged");
    let addresses = [0x40_010c, 0x40_0127, 0x40_0168, 0x40_01e5];
    for program in ["plain.elf", "zlib.elf", "v4.elf", "mini.elf"] {
        let sound = fs::read(data(program)).unwrap();
        let searches =
            [false, true].map(|compat| Search { compat, loops: !compat, ..Search::default() });
        let try_out = |bytes: &[u8], search: &Search| {
            fs::write(&path, bytes).unwrap();
            resolved(&path, search, &addresses);
        };
        for end in (0..sound.len()).step_by(29) {
            try_out(&sound[..end], &searches[end % 2]);
        }
        for at in (0..sound.len()).step_by(5) {
            for flip in [0x01, 0xff] {
                let mut damaged = sound.clone();
                damaged[at] ^= flip;
                try_out(&damaged, &searches[at % 2]);
            }
        }
        // The largest numbers, which nothing can be added to: lengths of code, offsets, counts.
        for at in 0..sound.len().saturating_sub(8) {
            let mut damaged = sound.clone();
            damaged[at..at + 8].fill(0xff);
            try_out(&damaged, &searches[at % 2]);
        }
    }
}

/// What is lacking of a program once addresses were looked up in it, and whether that is damage.
fn lack(program: &Path) -> Option<(String, bool)> {
    let path = program.to_str().unwrap();
    let modules = std::iter::once((path, Path::new("")));
    let search = Search { loops: true, ..Search::default() };
    let programs = Programs::new(modules, &search, &Limits::default());
    let mut resolver = programs.module(path, None).unwrap();
    for address in [0x40_010c, 0x40_0127, 0x40_01e5] {
        resolver.resolve(address, &mut Vec::new());
    }
    resolver.limitation().map(|why| (why, resolver.is_damaged()))
}

/// Overwrites all of a section.
fn overwrite(program: &[u8], section: &str) -> Vec<u8> {
    let file = object::File::parse(program).unwrap();
    let (start, size) = file.section_by_name(section).unwrap().file_range().unwrap();
    let (start, size) = (usize::try_from(start).unwrap(), usize::try_from(size).unwrap());
    let mut damaged = program.to_vec();
    damaged[start..start + size].fill(0xff);
    damaged
}

#[test]
fn what_is_missing_or_damaged_is_said() {
    /// What becomes of a file beside a program.
    enum Then {
        Sound(&'static str),
        Absent,
        Cut(&'static str),
        Garbage,
        Without(&'static str, &'static str),
    }
    use Then::{Absent, Cut, Garbage, Sound, Without};
    let (missing, damaged) = (Some(false), Some(true));
    for (program, name, then, expected, words) in [
        ("split5.elf", "split5.dwo", Sound("split5.dwo"), None, ""),
        ("split5.elf", "split5.dwo", Absent, missing, "one of its units is in a debug file"),
        ("split5.elf", "split5.dwo", Cut("split5.dwo"), damaged, "split5.dwo is damaged"),
        (
            "split4.elf",
            "split4.dwo",
            Sound("split5.dwo"),
            missing,
            "that is not there: /src/split4.dwo",
        ),
        ("split4.elf", "split4.elf.dwp", Sound("split4.dwp"), None, ""),
        ("split4.elf", "split4.elf.dwp", Garbage, damaged, "split4.elf.dwp is damaged"),
        ("linked.elf", "linked.debug", Sound("plain.elf"), None, ""),
        ("linked.elf", "linked.debug", Garbage, damaged, "linked.debug is damaged"),
        ("linked.elf", "linked.debug", Sound("v4.elf"), missing, "is of another build"),
        ("shared5.elf", "shared5.debug", Sound("shared5.debug"), None, ""),
        ("shared5.elf", "shared5.debug", Absent, missing, "(shared5.debug) is not there"),
        ("shared5.elf", "shared5.debug", Garbage, damaged, "shared5.debug) is damaged"),
        ("shared4.elf", "shared4.debug", Absent, missing, "(shared4.debug) is not there"),
        ("mini.elf", "mini.elf", Without("mini.elf", ".gnu_debugdata"), damaged, "compressed"),
        ("plain.elf", "plain.elf", Sound("plain.elf"), None, ""),
        ("plain.elf", "a", Without("plain.elf", ".debug_rnglists"), damaged, "is damaged"),
        ("plain.elf", "a", Without("plain.elf", ".debug_line_str"), damaged, "is damaged"),
        ("plain.elf", "a", Without("plain.elf", ".debug_str"), damaged, "is damaged"),
        ("zlib.elf", "a", Without("zlib.elf", ".debug_info"), damaged, ".debug_info"),
        ("zlib.elf", "a", Without("zlib.elf", ".debug_abbrev"), damaged, ".debug_abbrev"),
    ] {
        let folder = beside(&[(program, program)]);
        let (path, beside) = (folder.path().join(program), folder.path().join(name));
        match then {
            Sound(file) => drop(fs::copy(data(file), &beside).unwrap()),
            Absent => {}
            Cut(file) => fs::write(&beside, &fs::read(data(file)).unwrap()[..300]).unwrap(),
            Garbage => fs::write(&beside, "garbage").unwrap(),
            Without(file, section) => {
                let sound = fs::read(data(file)).unwrap();
                fs::write(&path, overwrite(&sound, section)).unwrap();
            }
        }
        let found = lack(&path);
        let is_damaged = found.as_ref().map(|(_, is_damaged)| *is_damaged);
        assert_eq!(is_damaged, expected, "{program}: {found:?}, not {words}");
        assert!(found.is_none_or(|(why, _)| why.contains(words)), "{program}: not {words}");
    }
}

/// Where the code of programs of sections is.
const CODE: u64 = 0x1_0000;

/// A program of sections alone.
fn program_of(sections: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut names = vec![0_u8];
    let mut bytes = vec![0_u8; 64];
    let mut headers = vec![0_u8; 64];
    let kind = |name: &str| match name {
        ".symtab" => 2_u32,
        ".strtab" => 3,
        ".note.gnu.build-id" => 7,
        _ => 1,
    };
    let given = sections.iter().map(|(name, bytes)| (*name, kind(name), bytes.clone()));
    let texts: Vec<&str> = sections.iter().map(|(name, _)| *name).chain([".shstrtab"]).collect();
    let table = format!("\0{}\0", texts.join("\0")).into_bytes();
    for (name, kind, content) in given.chain([(".shstrtab", 3, table)]) {
        headers.extend(u32::try_from(names.len()).unwrap().to_le_bytes());
        headers.extend(kind.to_le_bytes());
        let (flags, address) = if name == ".text" { (6, CODE) } else { (0, 0) };
        for number in [flags, address, bytes.len() as u64, content.len() as u64] {
            headers.extend(number.to_le_bytes());
        }
        // Symbols have their names in the section before.
        let link = if name == ".symtab" { headers.len() as u64 / 64 - 1 } else { 0 };
        for number in [link, 1, if name == ".symtab" { 24 } else { 0 }] {
            headers.extend(number.to_le_bytes());
        }
        names.extend(name.bytes().chain([0]));
        bytes.extend(content);
    }
    let count = u16::try_from(sections.len() + 2).unwrap();
    let mut head = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\x3e\0\x01\0\0\0".to_vec();
    for number in [0, 0, bytes.len() as u64] {
        head.extend(number.to_le_bytes());
    }
    head.extend(0_u32.to_le_bytes());
    for number in [64, 0, 0, 64, count, count - 1] {
        head.extend(u16::to_le_bytes(number));
    }
    bytes[..64].copy_from_slice(&head);
    bytes.extend(headers);
    bytes
}

/// A unit of DWARF 4 with such entries. What they look like is told at the beginning.
fn unit_of(entries: &[u8]) -> Vec<u8> {
    let rest = [&[4, 0, 0, 0, 0, 0, 8][..], entries].concat();
    [&u32::try_from(rest.len()).unwrap().to_le_bytes()[..], &rest].concat()
}

/// Addresses from one on.
fn from_to(start: u64, length: u64) -> Vec<u8> {
    [start.to_le_bytes(), length.to_le_bytes()].concat()
}

/// A list of so many ranges of one byte each, every second one from an address on.
fn list_of(ranges: u64, from: u64) -> Vec<u8> {
    let base = [u64::MAX, from];
    let pairs = (0..ranges).flat_map(|at| [at * 2, at * 2 + 1]);
    let numbers = base.into_iter().chain(pairs).chain([0, 0]);
    numbers.flat_map(u64::to_le_bytes).collect()
}

/// 1: a unit with a name; 2: a function from one address to another, with calls in it; 3: an inlined
/// call with a list of ranges; 4: a function that is inlined; 5: a function with a list of ranges.
const ABBREVIATIONS: &[u8] = &[
    1, 0x11, 1, 0x11, 0x01, 0x12, 0x07, 0, 0, //
    2, 0x2e, 1, 0x11, 0x01, 0x12, 0x07, 0, 0, //
    3, 0x1d, 0, 0x31, 0x13, 0x55, 0x17, 0x59, 0x0b, 0, 0, //
    4, 0x2e, 0, 0x03, 0x08, 0x20, 0x0b, 0, 0, //
    5, 0x2e, 0, 0x03, 0x08, 0x55, 0x17, 0, 0, //
    0,
];

/// Looks up an address in each of some pieces of 16 bytes, and counts memory.
fn memory(program: &[u8], pieces: u64) -> (u64, Option<(String, bool)>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app");
    fs::write(&path, program).unwrap();
    let path = path.to_str().unwrap();
    let modules = std::iter::once((path, Path::new("")));
    let search = Search { loops: true, ..Search::default() };
    let mut said = None;
    let counted = allocation_counter::measure(|| {
        let programs = Programs::new(modules, &search, &Limits::default());
        let mut resolver = programs.module(path, None).unwrap();
        for piece in 0..pieces {
            resolver.resolve(0x1_0000 + piece * 16, &mut Vec::new());
        }
        said = resolver.limitation().map(|why| (why, resolver.is_damaged()));
    });
    (counted.bytes_max, said)
}

/// Every call has all ranges of one list.
#[test]
fn lists_of_ranges_that_calls_share_are_not_read_without_end() {
    let (functions, calls, ranges) = (100, 16, 1 << 14);
    let mut entries = [vec![1], from_to(0x1_0000, functions * 16)].concat();
    let inlined = 11 + u32::try_from(entries.len()).unwrap();
    entries.extend(b"\x04inlined\0\x03");
    for function in 0..functions {
        entries.push(2);
        entries.extend(from_to(0x1_0000 + function * 16, 16));
        for line in 0..calls {
            entries.push(3);
            entries.extend(inlined.to_le_bytes().into_iter().chain([0; 4]).chain([line]));
        }
        entries.push(0);
    }
    entries.push(0);
    let list = list_of(ranges, 0x1_0000);
    let program = program_of(&[
        (".debug_info", unit_of(&entries)),
        (".debug_abbrev", ABBREVIATIONS.to_vec()),
        (".debug_ranges", list),
    ]);
    let (bytes, said) = memory(&program, functions);
    // 1,600 calls of 16,384 ranges would take a gigabyte.
    assert!(bytes < 250 * program.len() as u64, "{bytes} bytes for {}", program.len());
    let (why, is_damaged) = said.unwrap();
    assert!(is_damaged && why.contains("more than can be read"), "{why}");
}

/// A function has more ranges than are taken of one entry, and a unit more attributes, which take no
/// bytes, than are passed over.
#[test]
fn bounds_of_an_entry_and_of_a_unit_are_said() {
    let head = [vec![1], from_to(0x1_0000, 64)].concat();
    let function = b"\x05f\0\0\0\0\0";
    let said = |entries: &[u8], ranges: u64, abbreviations: &[u8]| {
        let program = program_of(&[
            (".debug_info", unit_of(&[&head[..], entries, &[0]].concat())),
            (".debug_abbrev", abbreviations.to_vec()),
            (".debug_ranges", list_of(ranges, 0x1_0000)),
        ]);
        memory(&program, 4).1
    };
    assert_eq!(said(function, 1 << 16, ABBREVIATIONS), None);
    let is_said = |said: Option<(String, bool)>| {
        let (why, is_damaged) = said.unwrap();
        assert!(is_damaged && why.contains("more than can be read"), "{why}");
    };
    is_said(said(function, (1 << 16) + 1, ABBREVIATIONS));
    // 6: a variable that is external, and says so 65,535 times.
    let flags = [0x3f, 0x19].repeat((1 << 16) - 1);
    let listed = ABBREVIATIONS.strip_suffix(&[0]).unwrap();
    let abbreviations = [listed, &[6, 0x34, 0][..], &flags, &[0, 0, 0]].concat();
    assert_eq!(said(&[&[6; 512][..], function].concat(), 4, &abbreviations), None);
    is_said(said(&[&[6; 1025][..], function].concat(), 4, &abbreviations));
}

/// Every symbol has the same name.
#[test]
fn a_name_that_symbols_share_is_not_read_without_end() {
    let name_bytes = 100_000;
    let mut symbols = vec![0; 24];
    for piece in 0..40_u64 {
        // The name, a function for all, in the first section, the address, and the length.
        symbols.extend([1, 0, 0, 0, 0x12, 0, 1, 0]);
        symbols.extend(from_to(0x1_0000 + piece * 16, 16));
    }
    let names = [&[0][..], &vec![b'f'; name_bytes], &[0]].concat();
    let program = program_of(&[(".strtab", names), (".symtab", symbols)]);
    let (bytes, said) = memory(&program, 40);
    assert!(bytes < 3 << 20, "{bytes} bytes for {}", program.len());
    let (why, is_damaged) = said.unwrap();
    assert!(is_damaged && why.contains("symbols share more"), "{why}");
}

/// Every function of every unit has all ranges of one list.
#[test]
fn lists_of_ranges_that_units_share_are_not_read_without_end() {
    let (units, functions, ranges) = (60, 16, 1 << 14);
    let mut info = Vec::new();
    for unit in 0..units {
        let mut entries = [vec![1], from_to(0x1_0000 + unit * 16, 16)].concat();
        for _ in 0..functions {
            entries.extend(b"\x05f\0\0\0\0\0");
        }
        entries.push(0);
        info.extend(unit_of(&entries));
    }
    let program = program_of(&[
        (".debug_info", info),
        (".debug_abbrev", ABBREVIATIONS.to_vec()),
        (".debug_ranges", list_of(ranges, 0x1000_0000)),
    ]);
    let (bytes, said) = memory(&program, units);
    assert!(bytes < 250 * program.len() as u64, "{bytes} bytes for {}", program.len());
    assert!(said.unwrap().1);
}

/// Functions as symbols, each of 16 bytes at such a place of the code; their names come first.
fn symbols_of(names: &[(u64, &str)]) -> [(&'static str, Vec<u8>); 2] {
    let (mut texts, mut symbols) = (vec![0], vec![0; 24]);
    for (place, name) in names {
        symbols.extend(u32::try_from(texts.len()).unwrap().to_le_bytes());
        symbols.extend([0x12, 0, 1, 0]);
        symbols.extend(from_to(CODE + place, 16));
        texts.extend(name.bytes().chain([0]));
    }
    [(".strtab", texts), (".symtab", symbols)]
}

/// The scopes around places of the code of a program.
fn scopes(program: &[u8], compat: bool, places: &[u64]) -> Vec<Vec<Resolved>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app");
    fs::write(&path, program).unwrap();
    let addresses: Vec<u64> = places.iter().map(|place| CODE + place).collect();
    resolved(&path, &Search { compat, ..Search::default() }, &addresses)
}

/// What is told of them.
fn told(program: &[u8], compat: bool, places: &[u64]) -> Vec<String> {
    scopes(program, compat, places).iter().map(|scopes| words(scopes)).collect()
}

/// Lines of a sequence: how many bytes after the row before, and how many lines.
fn sequence_of(start: u64, rows: &[(u64, u8)]) -> Vec<u8> {
    let ahead = |length: u64| {
        let [low, middle, high] =
            [0, 7, 14].map(|bits| u8::try_from(length >> bits & 0x7f).unwrap());
        [2, low | 0x80, middle | 0x80, high]
    };
    let mut bytes = [&[0, 9, 2][..], &start.to_le_bytes()].concat();
    for (length, lines) in rows {
        bytes.extend(ahead(*length).into_iter().chain([3, *lines, 1]));
    }
    bytes.extend(ahead(CODE).into_iter().chain([0, 1, 1]));
    bytes
}

/// A table of lines of one file.
fn lines_of(sequences: &[Vec<u8>]) -> Vec<u8> {
    let lengths = [0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1];
    let head = [&[1, 1, 1, 0xfb, 14, 13][..], &lengths, b"\0a.c\0\0\0\0\0"].concat();
    let length = u32::try_from(head.len()).unwrap().to_le_bytes();
    let rest = [&[4, 0][..], &length, &head, &sequences.concat()].concat();
    [&u32::try_from(rest.len()).unwrap().to_le_bytes()[..], &rest].concat()
}

/// The linker left out `dead`, which is longer than all code, and kept what is told of it: at 0, or
/// that far from it.
fn with_dead(start: u64, sections: &[(&'static str, Vec<u8>)], has_aranges: bool) -> Vec<u8> {
    // 1: a unit with lists of ranges and of lines; 2: a function.
    let abbreviations = [
        &[1, 0x11, 1, 0x11, 0x01, 0x55, 0x17, 0x10, 0x17, 0, 0][..],
        &[2, 0x2e, 0, 0x03, 0x08, 0x11, 0x01, 0x12, 0x07, 0, 0, 0],
    ];
    let mut entries = [&[1][..], &[0; 16]].concat();
    for (name, start, length) in [("dead", start, 2 * CODE), ("live", CODE + 16, 16)] {
        entries.extend([&[2][..], name.as_bytes(), &[0], &from_to(start, length)].concat());
    }
    entries.push(0);
    let ranges = [start.max(1), 2 * CODE, CODE + 16, CODE + 32, 0, 0];
    let aranges = [start, 2 * CODE, CODE + 16, 16, 0, 0];
    let bytes = |numbers: [u64; 6]| numbers.map(u64::to_le_bytes).concat();
    let head = [60, 0, 0, 0, 2, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0];
    let lines = [
        sequence_of(start, &[(0, 40), (CODE - 8, 1), (28, 1)]),
        sequence_of(CODE + 16, &[(0, 8), (8, 1)]),
    ];
    let mut all = vec![
        (".debug_info", unit_of(&entries)),
        (".debug_abbrev", abbreviations.concat()),
        (".debug_ranges", bytes(ranges)),
        (".debug_line", lines_of(&lines)),
    ];
    all.extend(symbols_of(&[(0, "hot")]));
    all.extend(sections.iter().cloned());
    if has_aranges {
        all.push((".debug_aranges", [&head[..], &bytes(aranges)].concat()));
    }
    program_of(&all)
}

#[test]
fn what_the_linker_left_out_has_no_code_of_others() {
    let text = [(".text", vec![0x90; 32])];
    let expected = ["hot", "live a.c:9", "live a.c:10"];
    for (start, sections) in [(0, &text[..]), (0x40, &text), (u64::MAX - 1, &text), (0, &[])] {
        for (has_aranges, compat) in [(false, false), (true, false), (false, true), (true, true)] {
            let program = with_dead(start, sections, has_aranges);
            let found = told(&program, compat, &[0, 22, 24]);
            assert_eq!(found, expected, "{start:#x} {has_aranges} {compat}");
        }
    }
    // What is not linked yet begins at 0.
    let mut object = with_dead(0, &text, false);
    object[16] = 1;
    assert_eq!(told(&object, false, &[0])[0], "dead a.c:42");
}

/// A unit of a language: two methods of one name in a namespace without one, one inlined in the other,
/// and a lambda.
fn methods(language: u8) -> Vec<(&'static str, Vec<u8>)> {
    // 1: a unit; 2: a namespace; 3: a class; 4: a declaration; 5: the code of one; 6: an inlined call;
    // 7: a function; 8: a class without a name.
    let abbreviations: [&[u8]; 8] = [
        &[1, 0x11, 1, 0x13, 0x0b, 0x11, 0x01, 0x12, 0x07, 0, 0],
        &[2, 0x39, 1, 0, 0],
        &[3, 0x13, 1, 0x03, 0x08, 0, 0],
        &[4, 0x2e, 0, 0x03, 0x08, 0, 0],
        &[5, 0x2e, 1, 0x47, 0x13, 0x11, 0x01, 0x12, 0x07, 0, 0],
        &[6, 0x1d, 0, 0x31, 0x13, 0x11, 0x01, 0x12, 0x07, 0x59, 0x0b, 0, 0],
        &[7, 0x2e, 1, 0x03, 0x08, 0x11, 0x01, 0x12, 0x07, 0, 0],
        &[8, 0x13, 1, 0, 0, 0],
    ];
    let mut entries = [&[1, language][..], &from_to(CODE, 0x100)].concat();
    // A declaration, and where it is in the unit.
    let declare = |entries: &mut Vec<u8>, name: &str| {
        let at = u32::try_from(11 + entries.len()).unwrap().to_le_bytes();
        entries.extend([&[4][..], name.as_bytes(), &[0]].concat());
        at
    };
    entries.extend(b"\x02\x03Fast\0");
    let fast = declare(&mut entries, "run");
    entries.extend(b"\0\x03Slow\0");
    let slow = declare(&mut entries, "run");
    entries.extend([0, 0]);
    entries.extend([&[5][..], &fast, &from_to(CODE, 16), &[0]].concat());
    entries.extend([&[5][..], &slow, &from_to(CODE + 16, 16)].concat());
    entries.extend([&[6][..], &fast, &from_to(CODE + 20, 4), &[3, 0]].concat());
    entries.extend([&b"\x07main\0"[..], &from_to(CODE + 32, 16), &[8]].concat());
    let lambda = declare(&mut entries, "operator()");
    entries.extend([0, 0]);
    entries.extend([&[5][..], &lambda, &from_to(CODE + 48, 16), &[0, 0]].concat());
    vec![(".debug_info", unit_of(&entries)), (".debug_abbrev", abbreviations.concat())]
}

#[test]
fn functions_of_cxx_have_the_names_of_what_they_are_in() {
    let (cxx, c) = (0x21, 0x0c);
    let program = |language: u8| {
        // What Slow::run does another function does, too, and the linker kept one of them.
        let fast = "_ZN12_GLOBAL__N_14Fast3runEi.constprop.0";
        let symbols = symbols_of(&[(0, fast), (16, "_Z5otherv"), (32, "main")]);
        program_of(&[methods(language), symbols.to_vec()].concat())
    };
    let places = [0, 16, 20, 32, 48];
    let fast = "(anonymous namespace)::Fast::run(int)";
    let slow = "(anonymous namespace)::Slow::run";
    let inlined = format!("{fast} {slow} ???:3");
    let lambda = "main::(anonymous struct)::operator()";
    assert_eq!(told(&program(cxx), false, &places), [fast, slow, &inlined, "main", lambda]);
    let plain = ["run", "run", "run run ???:3", "main", "operator()"];
    assert_eq!(told(&program(cxx), true, &places), plain);
    assert_eq!(told(&program(c), false, &places), plain);
}

/// Whatever functions are said to be in, it is looked for without end or harm.
#[test]
fn damage_to_what_functions_are_in_does_no_harm() {
    let sound = program_of(&methods(0x21));
    for at in 0..sound.len() {
        for change in [1, 0xff] {
            let mut damaged = sound.clone();
            damaged[at] ^= change;
            scopes(&damaged, false, &[0, 20, 48]);
        }
    }
    // Namespaces in namespaces, and a function in the innermost.
    let mut sections = methods(0x21);
    let mut entries = [&[1, 0x21][..], &from_to(CODE, 0x100), &vec![2; 100_000]].concat();
    entries.extend([&b"\x07deep\0"[..], &from_to(CODE, 16), &[0; 2]].concat());
    sections[0].1 = unit_of(&entries);
    let found = told(&program_of(&sections), false, &[0]);
    assert!(found[0].ends_with("(anonymous namespace)::deep"), "{found:?}");
    assert!(found[0].len() < 1000, "{found:?}");
}

/// A program without debug information that names its debug file, and both have an id.
#[test]
fn a_debug_file_that_is_linked_to_has_the_checksum_of_the_link() {
    let note = |id: u8| [4, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, b'G', b'N', b'U', 0, id, 0, 0, 0];
    let with_note = |id| [vec![(".note.gnu.build-id", note(id).to_vec())], methods(0x0c)].concat();
    let found = |id: u8, checksum_of: u8, compat: bool| {
        let debug = program_of(&with_note(id));
        let checksum = crc32fast::hash(&program_of(&with_note(checksum_of))).to_le_bytes();
        let link = [&b"app.debug\0\0\0"[..], &checksum].concat();
        let note = (".note.gnu.build-id", note(1).to_vec());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("app");
        fs::write(&path, program_of(&[note, (".gnu_debuglink", link)])).unwrap();
        fs::write(folder.path().join("app.debug"), debug).unwrap();
        let search = Search { compat, ..Search::default() };
        (words(&resolved(&path, &search, &[CODE])[0]), lack(&path))
    };
    let is_said = |said: Option<(String, bool)>, words: &str, is_damage: bool| {
        let (why, is_damaged) = said.unwrap();
        assert!(why.contains(words) && is_damaged == is_damage, "{why}");
    };
    assert_eq!(found(1, 1, false), ("run".to_owned(), None));
    let (name, said) = found(1, 2, false);
    assert_eq!(name, "");
    is_said(said, "was changed", true);
    assert_eq!(found(1, 2, true).0, "run");
    let (name, said) = found(2, 2, false);
    assert_eq!(name, "");
    is_said(said, "is of another build", false);
}

/// `plain.elf` has two functions by `readelf --debug-dump=frames`: from 0x40010c and from 0x4001a6
/// on, up to 0x4001fb. Without symbols and debug information, addresses in one are in one function.
#[test]
fn functions_of_a_stripped_program_are_told_apart_by_how_they_are_unwound() {
    let mut bytes = fs::read(data("plain.elf")).unwrap();
    let header = |section: usize| 0xa68 + 64 * section;
    // The debug information has no name, and the symbols are none.
    bytes[header(6)..header(6) + 4].fill(0);
    bytes[header(13) + 4] = 1;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("stripped");
    fs::write(&path, bytes).unwrap();
    let addresses = [0x40_010c, 0x40_01a5, 0x40_01a6, 0x40_01fa, 0x40_01fb];
    let found = resolved(&path, &Search::default(), &addresses);
    let found: Vec<_> = found.iter().map(|found| words(found)).collect();
    let (first, last) = ("<unknown> 0x40010c", "<unknown> 0x4001a6");
    assert_eq!(found, [first, first, last, last, ""]);
    // hpcprof knows nothing of them.
    let search = Search { compat: true, ..Search::default() };
    assert_eq!(words(&resolved(&path, &search, &addresses)[0]), "");
}
