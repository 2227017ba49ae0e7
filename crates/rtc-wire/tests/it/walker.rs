//! The walker against the frame lists that an independent parser made of real files.

use std::fs;
use std::path::PathBuf;

use crate::messages::arriving;
use kymo_rtc_wire::read::{Begin, Frame, Item, View, Walker};
use serde_json::Value;

/// The folder of real files, if this machine has it.
fn folder() -> Option<PathBuf> {
    kymo_conformance::shared::file("rtc")
}

/// Every item of a whole file.
fn walk(bytes: &[u8]) -> Vec<Item> {
    let view = View::from_file(bytes);
    let mut walker = Walker::new();
    let mut items = Vec::new();
    loop {
        match walker.next(&view).expect("a whole file needs no more bytes") {
            Item::End => return items,
            item => items.push(item),
        }
    }
}

fn frames(items: &[Item]) -> Vec<Frame> {
    let frame = |item: &Item| if let Item::Frame(frame) = item { Some(*frame) } else { None };
    items.iter().filter_map(frame).collect()
}

#[test]
fn frames_are_where_an_independent_parser_found_them() {
    let Some(folder) = folder() else { return };
    let mut checked = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        let list = entry.unwrap().path();
        let name = list.file_name().unwrap().to_str().unwrap().to_owned();
        let Some(name) = name.strip_suffix(".frames.json") else { continue };
        // The independent parser gave up in this one.
        if name.starts_with("meta_big_std") {
            continue;
        }
        let bytes = fs::read(folder.join(name)).unwrap();
        let items = walk(&bytes);
        for item in &items {
            assert!(!matches!(item, Item::Damage(_)), "{name}: {item:?}");
        }
        let expected: Vec<Value> = serde_json::from_slice(&fs::read(&list).unwrap()).unwrap();
        let found = frames(&items);
        for (frame, line) in found.iter().zip(&expected) {
            let at = format!("{name} at {}", frame.position);
            assert_eq!(line["pos"], frame.position, "{at}");
            assert_eq!(line["id"], frame.id, "{at}");
            assert_eq!(line["more"], frame.more, "{at}");
            assert_eq!(line["len"], frame.end - frame.payload, "{at}");
            assert_ne!(frame.begin, Begin::Unknown, "{at}");
        }
        assert_eq!(found.len(), expected.len(), "{name}");
        checked += 1;
    }
    assert!(checked >= 20, "{checked} files");
}

/// Bytes that arrive one by one, or in odd parts, give the same items as the whole.
#[test]
fn bytes_that_arrive_give_what_the_whole_file_gives() {
    let Some(folder) = folder() else { return };
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "rtc") {
            continue;
        }
        let bytes = fs::read(&path).unwrap();
        let expected = walk(&bytes);
        for step in [1, 7, 1000, 100_000] {
            if bytes.len() / step > 20_000 {
                continue;
            }
            let found = arriving(&bytes, step);
            for (found, expected) in found.iter().zip(&expected) {
                assert_eq!(found, expected, "{} by {step}", path.display());
            }
            assert_eq!(found.len(), expected.len(), "{} by {step}", path.display());
        }
    }
}
