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

#[test]
fn addresses_are_those_that_addr2line_tells() {
    let told = fs::read_to_string(data("addr2line.txt")).unwrap();
    let told: Vec<(u64, &str)> = told
        .lines()
        .map(|line| line.split_once(' ').unwrap())
        .map(|(address, words)| (u64::from_str_radix(&address[2..], 16).unwrap(), words))
        .collect();
    let addresses: Vec<u64> = told.iter().map(|(address, _)| *address).collect();
    for program in ["plain.elf", "zlib.elf", "v4.elf"] {
        let found = resolved(&data(program), &Search::default(), &addresses);
        for (found, (address, told)) in found.iter().zip(&told) {
            assert_eq!(&words(found), told, "{program} at {address:#x}");
        }
    }
}

#[test]
fn what_is_outside_of_functions_has_no_scopes() {
    let outside = [0, 1, 0x40_0000, 0x40_010b, 0x50_0000, u64::MAX];
    let found = resolved(&data("plain.elf"), &Search::default(), &outside);
    assert!(found.iter().all(Vec::is_empty), "{found:?}");
}

/// Whatever is damaged, addresses are looked up without end or harm.
#[test]
fn damaged_programs_tell_less_and_do_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged");
    let addresses = [0x40_010c, 0x40_0127, 0x40_0168, 0x40_01e5];
    for program in ["plain.elf", "zlib.elf", "v4.elf"] {
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
