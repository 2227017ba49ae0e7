//! Addresses of small programs, as binutils resolve them; and damaged programs.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "tests may fail loudly"
)]

use std::fs;
use std::path::{Path, PathBuf};

use kymo_core::bytes::Limits;
use kymo_core::model::structure::{Resolved, Symbols};
use kymo_symbols::{Programs, Search};

fn data(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/symbols").join(file)
}

/// The scopes around addresses of a program.
fn resolved(program: &Path, search: &Search, addresses: &[u64]) -> Vec<Vec<Resolved>> {
    let path = program.to_str().unwrap();
    let modules = std::iter::once((path, Path::new("")));
    let programs = Programs::new(modules, search, &Limits::default());
    let mut resolver = programs.module(path, None).unwrap();
    let mut of = |address: &u64| {
        let mut found = Vec::new();
        resolver.resolve(*address, &mut found);
        found
    };
    addresses.iter().map(&mut of).collect()
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

/// Whether two are alike but for lines.
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
