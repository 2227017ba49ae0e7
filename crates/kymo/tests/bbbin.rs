//! BBBin files in other formats and back: what is kept, and what is said to be lost.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "tests may fail loudly")]

mod support;

use std::path::{Path, PathBuf};

use kymo_conformance::testdata;
use support::{folder, kymo, run};

fn convert(from: &Path, to: &Path) -> (Option<i32>, String) {
    let (code, _, said) = run(kymo().arg("convert").args([from, to]));
    (code, said)
}

/// The rows of a table as CSV, without the columns that say where something is in its file.
fn table(file: &Path, name: &str) -> Vec<String> {
    let (_, rows, _) =
        run(kymo().args(["convert", "--to", "csv", "--table", name]).arg(file).arg("-"));
    rows.lines().map(|row| row.splitn(3, ',').last().unwrap().to_owned()).collect()
}

/// A sample in another format, and BBBin again; the exit code and what is said on the first way.
fn there_and_back(
    sample: &str,
    extension: &str,
) -> (PathBuf, tempfile::TempDir, (Option<i32>, String)) {
    let out = folder();
    let there = out.path().join("there").with_extension(extension);
    let said = convert(&testdata(sample), &there);
    let back = out.path().join("back.bbbin");
    assert_eq!(convert(&there, &back), (Some(0), String::new()), "{extension}");
    (back, out, said)
}

/// Only what other formats have no place for is lost: receiver-instance 2, and an end-time of 95
/// in an exit at 100.
#[test]
fn artifacts_and_classes_come_back_from_other_formats_and_losses_are_said() {
    for extension in ["rtc", "mcap"] {
        let (back, _out, (code, said)) = there_and_back("bbbin/classes.bin", extension);
        assert_eq!(code, Some(3), "{said}");
        let told: Vec<_> = said.lines().filter(|line| line.contains("not told")).collect();
        assert_eq!(told.len(), 2, "{said}");
        assert!(told[0].ends_with("receiver instances of SRL SEND (1 in all)"), "{said}");
        assert!(told[1].contains("end times of functions"), "{said}");
        let mut artifacts = table(&back, "artifacts");
        let mut expected = table(&testdata("bbbin/classes.bin"), "artifacts");
        // What only a switch names is declared, which it was not.
        artifacts.retain(|row| !row.contains("interrupt 3"));
        artifacts.sort();
        expected.sort();
        assert_eq!(artifacts, expected, "{extension}");
        let classes = |file: &Path| -> Vec<_> {
            let rows = table(file, "events");
            rows.iter().map(|row| row.split(',').next().unwrap().to_owned()).collect()
        };
        assert_eq!(classes(&back), classes(&testdata("bbbin/classes.bin")), "{extension}");
    }
}

/// Each type of field, with its values to the last digit; that one of them was of a `TASK_SWITCH` is
/// lost, and said.
#[test]
fn custom_types_come_back_from_other_formats() {
    for extension in ["rtc", "mcap"] {
        let (back, _out, (code, said)) = there_and_back("bbbin/types.bin", extension);
        assert_eq!(code, Some(3), "{said}");
        for name in ["One", "Two"] {
            let rows = |file: &Path| -> Vec<_> {
                let rows = table(file, name).into_iter();
                rows.map(|row| row.replacen("TASK_SWITCH", "GENERIC", 1)).collect()
            };
            assert_eq!(rows(&back), rows(&testdata("bbbin/types.bin")), "{extension}, {name}");
        }
    }
}

/// Times of a trace that count from the Epoch are dates in BBBin, too.
#[test]
fn dates_stay_dates() {
    let out = folder();
    let log = out.path().join("control.bbbin");
    assert_eq!(convert(&testdata("ctf/control"), &log), (Some(0), String::new()));
    let first = |file: &Path| {
        let (_, events, _) = run(kymo().args(["dump", "--class", "begin", "--json"]).arg(file));
        let first: serde_json::Value =
            serde_json::from_str(events.lines().next().unwrap()).unwrap();
        first["time"].as_str().unwrap().to_owned()
    };
    let expected = first(&testdata("ctf/control"));
    assert!(expected.ends_with('Z'), "{expected}");
    assert_eq!(first(&log), expected);
}

#[test]
fn classes_of_bbbin_choose_events() {
    let sample = testdata("bbbin/classes.bin");
    let of = |class: &str| {
        let (_, events, _) = run(kymo().args(["dump", "--csv", "--class", class]).arg(&sample));
        let texts: Vec<_> =
            events.lines().skip(1).filter_map(|row| row.splitn(4, ',').nth(3)).collect();
        texts.join("; ")
    };
    let sent = "\"send Grüße to logger, received at 0.000000070\"";
    assert_eq!(of("send"), format!("{sent}; send OPEN to door"));
    assert_eq!(of("SEND"), sent);
    assert_eq!(of("SRL SEND"), "send OPEN to door");
    assert_eq!(of("SRL RECEIVE"), "receive OPEN; enter ajar");
}

/// SEND at 40 is to the task logger and received at 70; RECEIVE at 80 is from control, sent at 40.
#[test]
fn messages_tell_their_other_end() {
    let sample = testdata("bbbin/classes.bin");
    let fields = |more: &[&str]| {
        let (_, events, _) = run(kymo().args(["dump", "--json"]).args(more).arg(&sample));
        let events = events.lines().map(|line| serde_json::from_str(line).unwrap());
        events.map(|event: serde_json::Value| event["fields"].clone()).collect::<Vec<_>>()
    };
    let send = serde_json::json!({"message": "Grüße", "peer": "logger", "peer_time": 70});
    let receive = serde_json::json!({"message": "Grüße", "peer": "control", "peer_time": 40});
    assert_eq!(fields(&["--class", "SEND,RECEIVE"]), [send.clone(), receive.clone()]);
    assert_eq!(fields(&["--where", "peer = logger"]), std::slice::from_ref(&send));
    assert_eq!(fields(&["--where", "peer_time == 40"]), std::slice::from_ref(&receive));
    assert_eq!(fields(&["--where", "peer_time<=70"]), [send, receive]);
    let (code, _, said) = run(kymo().args(["dump", "--where", "peer_time>soon"]).arg(&sample));
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("soon is no number, and > compares numbers"), "{said}");
}

/// A part without events is written, and it is said.
#[test]
fn a_cut_of_a_range_where_nothing_is_is_a_finding() {
    let folder = folder();
    let out = folder.path().join("part.bin");
    let range = ["cut", "--since", "100s", "--until", "200s"];
    let (code, _, said) = run(kymo().args(range).arg(testdata("bbbin/classes.bin")).arg(&out));
    assert!(code == Some(3) && said.contains("there are no events in it"), "{said}");
}

/// Its names are Latin-1, which is no UTF-8: what is said of it is said again by what the hint names.
#[test]
fn the_hint_names_the_options_that_a_file_was_opened_with() {
    let file = testdata("bbbin/classes.bin");
    let (code, _, said) = run(kymo().args(["info", "--utf8"]).arg(&file));
    assert_eq!(code, Some(3), "{said}");
    let (code, _, said) = run(kymo().args(["dump", "--utf8"]).arg(&file));
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("`kymo check --utf8 "), "{said}");
    let (code, found, _) = run(kymo().args(["check", "--utf8"]).arg(&file));
    assert!(code == Some(3) && found.contains("warning utf-8"), "{found}");
    assert_eq!(run(kymo().arg("check").arg(&file)).0, Some(0));
}

/// Nothing can be created in `/proc`, whoever tries.
#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_cannot_be_written_to_is_no_fault_of_the_input() {
    let (code, _, said) =
        run(kymo().arg("convert").arg(testdata("bbbin/classes.bin")).arg("/proc/x.mcap"));
    assert_eq!(code, Some(1), "{said}");
    assert!(said.starts_with("kymo: /proc/x.mcap: cannot create a file"), "{said}");
}
