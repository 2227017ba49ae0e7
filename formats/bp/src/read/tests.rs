//! Going ahead from guessed places gives what going from element to element gives.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests may fail loudly"
)]

use std::fs;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use kymo_conformance::testdata;
use kymo_core::bytes::{Endian, Limits, ReadError};
use kymo_core::{Context, Finding, Source};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index as Pick;

use super::element::parse;
use super::split::starts;
use super::walk::{End, Walk, detect_endian};
use crate::model::Grouping;
use crate::types::Dimension;
use crate::write::{Data, Options, Writer};

/// All that a walk gives: where elements are, how they are grouped, what was found.
type Outcome = Result<(Vec<(u64, u32)>, Grouping, End, Vec<Finding>), ReadError>;

fn outcome(starts: &[u64], source: &Source, limits: Limits) -> Outcome {
    let bytes = source.bytes().unwrap();
    let endian = detect_endian(&bytes).unwrap_or(Endian::Little);
    let context = Context::with_limits(limits);
    let walk = Walk::strict_from(starts, source, &bytes, endian, &context)?;
    let mut places = Vec::new();
    for entry in &walk.index.entries {
        let start = usize::try_from(entry.offset).unwrap();
        let own = &bytes[start..start + entry.length as usize];
        // Whether its header was read or was that of another.
        assert_eq!(walk.index.parse(entry), parse(own, entry.offset, endian));
        places.push((entry.offset, entry.length));
    }
    Ok((places, walk.grouping, walk.end, walk.findings.into_vec()))
}

/// Where elements begin, and where the last one ends.
fn borders(source: &Source) -> Vec<u64> {
    let walk = outcome(&[], source, Limits::default());
    walk.map_or(vec![0], |(places, ..)| places.iter().map(|(offset, _)| *offset).collect())
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] });
    files.filter(|path| path.extension().is_some_and(|extension| extension == "bp")).collect()
}

#[test]
fn every_sample_is_read_the_same_wherever_one_goes_ahead() {
    let files = files(&testdata("bp"));
    assert!(files.len() > 30, "{} files", files.len());
    for file in files {
        let source = Source::open(&file, &Limits::default()).unwrap();
        let expected = outcome(&[], &source, Limits::default());
        let size = source.size_bytes();
        // Every byte of a small file, every element of a larger one, and some bytes of it.
        let step = usize::try_from(size / 1000 + 1).unwrap();
        let starts = (0..=size).step_by(step).chain(borders(&source));
        for start in starts {
            let found = outcome(&[start], &source, Limits::default());
            assert_eq!(found, expected, "{} from {start}", file.display());
        }
        let found = outcome(&borders(&source), &source, Limits::default());
        assert_eq!(found, expected, "{} from every element", file.display());
    }
}

/// A step of a simulation: what repeats, what changes its shape, what says something odd.
fn write_step(writer: &mut Writer<Vec<u8>>, step: i32, odd: bool) {
    writer.scalar("/", "step", Data::Int(&[step])).unwrap();
    writer.dataset_attribute("/", "step", Data::String("of time")).unwrap();
    let bound = step % 3 + 1;
    let values = [0.5; 3];
    let values = &values[..usize::try_from(bound).unwrap()];
    writer.dataset("g", "grows", &[Dimension::local(bound)], Data::Double(values)).unwrap();
    for part in 0..2 {
        // The odd one ends beyond the array that it is a part of.
        let offset = if odd { 3 } else { part * 2 };
        let dimension = Dimension::global(2, 4, offset);
        writer.dataset("/g", "whole", &[dimension], Data::Float(&[1.0, 2.0])).unwrap();
    }
}

fn steps(count: i32, odd_every: i32, endian: Endian) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), Options { endian, ..Options::default() });
    for step in 0..count {
        write_step(&mut writer, step, step % odd_every == 0);
    }
    writer.finish().unwrap()
}

#[test]
fn places_to_go_ahead_from_are_where_elements_begin() {
    for endian in [Endian::Little, Endian::Big] {
        let bytes = steps(100, 200, endian);
        let source = Source::from_bytes("steps.bp", bytes.clone());
        let borders = borders(&source);
        let found = starts(&bytes, endian, 4, 1000);
        assert_eq!(found.len(), 3);
        assert!(found.iter().all(|start| borders.contains(start)), "{found:?}");
        let expected = outcome(&[], &source, Limits::default());
        assert_eq!(outcome(&found, &source, Limits::default()), expected);
        // One part only: too small, or one thread.
        assert!(starts(&bytes, endian, 4, bytes.len()).is_empty());
        assert!(starts(&bytes, endian, 1, 1).is_empty());
    }
}

#[test]
fn among_large_values_there_is_no_place_to_go_ahead_from() {
    let mut writer = Writer::new(Vec::new(), Options::default());
    let values = vec![0.25; 1 << 16];
    for _ in 0..4 {
        writer.dataset("/", "x", &[Dimension::local(1 << 16)], Data::Double(&values)).unwrap();
    }
    assert!(starts(&writer.finish().unwrap(), Endian::Little, 4, 1000).is_empty());
}

#[test]
fn values_that_look_like_elements_mislead_nobody() {
    let inner = steps(20, 3, Endian::Little);
    let mut writer = Writer::new(Vec::new(), Options::default());
    let bound = i32::try_from(inner.len()).unwrap();
    for _ in 0..3 {
        writer.dataset("/", "copy", &[Dimension::local(bound)], Data::UChar(&inner)).unwrap();
        write_step(&mut writer, 0, false);
    }
    let source = Source::from_bytes("copies.bp", writer.finish().unwrap());
    let bytes = source.bytes().unwrap();
    let guessed = starts(&bytes, Endian::Little, 4, 1000);
    let borders = borders(&source);
    assert!(guessed.iter().any(|start| !borders.contains(start)), "{guessed:?}");
    let expected = outcome(&[], &source, Limits::default());
    assert_eq!(outcome(&guessed, &source, Limits::default()), expected);
}

fn damaged(mut bytes: Vec<u8>, damage: &[(Pick, u8)], cut: Option<Pick>) -> Bytes {
    for (place, byte) in damage {
        let place = place.index(bytes.len());
        bytes[place] = *byte;
    }
    if let Some(cut) = cut {
        bytes.truncate(cut.index(bytes.len()));
    }
    bytes.into()
}

proptest! {
    #[test]
    fn no_damage_limit_or_guess_makes_a_difference(
        count in 1..20_i32,
        odd_every in 1..5_i32,
        big: bool,
        damage in vec((any::<Pick>(), any::<u8>()), 0..3),
        cut in proptest::option::of(any::<Pick>()),
        guesses in vec((any::<Pick>(), any::<bool>()), 0..4),
        items_max in 0..100_u64,
        findings_max in 0..20_usize,
    ) {
        let endian = if big { Endian::Big } else { Endian::Little };
        let bytes = damaged(steps(count, odd_every, endian), &damage, cut);
        let source = Source::from_bytes("made.bp", bytes);
        let borders = borders(&source);
        let size = usize::try_from(source.size_bytes()).unwrap();
        let place = |(pick, is_border): &(Pick, bool)| match is_border {
            true if !borders.is_empty() => *pick.get(&borders),
            _ => pick.index(size + 1) as u64,
        };
        let mut starts: Vec<u64> = guesses.iter().map(place).collect();
        starts.sort_unstable();
        for limits in [Limits::default(), Limits { items_max, findings_max, ..Limits::default() }] {
            let expected = outcome(&[], &source, limits);
            prop_assert_eq!(outcome(&starts, &source, limits), expected);
        }
    }
}
