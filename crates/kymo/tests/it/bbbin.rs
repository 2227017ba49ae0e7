//! BBBin files in other formats and back: what is kept, and what is said to be lost.

use std::path::{Path, PathBuf};

use crate::support::{folder, kymo, run};
use kymo_conformance::testdata;

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
    let item = |class: &str| {
        let (_, events, _) = run(kymo().args(["dump", "--csv", "--class", class]).arg(&sample));
        let texts: Vec<_> =
            events.lines().skip(1).filter_map(|row| row.splitn(4, ',').nth(3)).collect();
        texts.join("; ")
    };
    let sent = "\"send Grüße to logger, received at 0.000000070\"";
    assert_eq!(item("send"), format!("{sent}; send OPEN to door"));
    assert_eq!(item("SEND"), sent);
    assert_eq!(item("SRL SEND"), "send OPEN to door");
    assert_eq!(item("SRL RECEIVE"), "receive OPEN; enter ajar");
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
    let (_, found, _) = run(kymo().arg("check").arg(&file));
    assert!(!found.contains("utf-8"), "{found}");
}

/// Names and fields of events are the same whether a trace becomes BBBin at once or by way of others.
#[test]
fn kinds_of_events_come_through_other_formats() {
    // Their ids go by the order in which they are found.
    let bare = |row: &String| row.split_once(',').unwrap().1.to_owned();
    let types = |file: &Path| {
        let mut types: Vec<_> = table(file, "types").iter().map(bare).collect();
        types.sort();
        types
    };
    for sample in ["ctf/control", "systemview/blinky.svdat", "perf/control.perf"] {
        let out = folder();
        let path = |name: &str| out.path().join(name);
        let direct = path("direct.bbbin");
        convert(&testdata(sample), &direct);
        for extension in ["rtc", "mcap"] {
            let there = path("there").with_extension(extension);
            convert(&testdata(sample), &there);
            let back = path(&format!("{extension}.bbbin"));
            convert(&there, &back);
            assert_eq!(types(&back), types(&direct), "{sample} by way of {extension}");
        }
        let ways = [("direct.bbbin", "a.rtc"), ("a.rtc", "b.mcap"), ("b.mcap", "c.bbbin")];
        for (from, to) in ways {
            convert(&path(from), &path(to));
        }
        assert_eq!(types(&path("c.bbbin")), types(&direct), "{sample} by way of all");
    }
}

/// A text that a log has is the same in RTC, also where its fields are known.
#[test]
fn texts_of_events_with_fields_stay_as_they_were() {
    let out = folder();
    for sample in ["ctf/control", "perf/control.perf"] {
        let shown = |file: &Path| {
            let (code, text, err) = run(kymo().args(["dump", "--match", "sched_waking"]).arg(file));
            assert_eq!(code, Some(0), "{err}");
            text
        };
        let original = shown(&testdata(sample));
        assert!(original.contains("sched_waking"));
        for extension in ["rtc", "mcap"] {
            let there = out.path().join("there").with_extension(extension);
            convert(&testdata(sample), &there);
            assert_eq!(shown(&there), original, "{sample} {extension}");
            std::fs::remove_file(there).unwrap();
        }
    }
}

/// The task is called `k\u{e4}se`, in UTF-8.
#[test]
fn parts_are_chosen_by_names_in_utf_8() {
    let out = folder();
    let path = |name: &str| out.path().join(name);
    let line = |time: &str, prev: &str, next: &str| {
        format!(
            "   x  1 [000]  {time}:  sched:sched_switch: prev_comm={prev} prev_prio=120 \
             prev_state=S ==> next_comm={next} next_prio=120\n"
        )
    };
    let (a, b) = ("k\u{e4}se prev_pid=7", "brot next_pid=8");
    let (c, d) = ("brot prev_pid=8", "k\u{e4}se next_pid=7");
    let text = line("1.000000", a, b) + &line("2.000000", c, d) + &line("3.000000", a, b);
    std::fs::write(path("a.perf"), text).unwrap();
    let (code, _, err) =
        run(kymo().args(["convert", "--utf8"]).arg(path("a.perf")).arg(path("a.bbbin")));
    assert_eq!(code, Some(0), "{err}");
    let stream = "k\u{e4}se-7";
    let (from, to) = (path("a.bbbin"), path("b.bbbin"));
    // It completes and stops at 1 s and at 3 s, and begins at 2 s. Who runs after it is not in what is
    // filtered, and so is not known, twice.
    for (arguments, lines) in [(["filter", "--stream", stream], 7), (["cut", "--since", "1.5"], 3)]
    {
        let (code, _, err) =
            run(kymo().args(arguments).args(["--utf8", "--force"]).arg(&from).arg(&to));
        assert_eq!(code, Some(0), "{err}");
        let (_, shown, _) = run(kymo().args(["dump", "--utf8", "--stream", stream]).arg(&to));
        assert_eq!(shown.lines().count(), lines, "{shown}");
    }
}

/// The pointer to ARTIFACTS is at byte 40 of the header: without it no task has a name.
#[test]
fn names_that_repair_made_up_are_said_by_who_shows_them() {
    let out = folder();
    let path = |name: &str| out.path().join(name);
    convert(&testdata("ctf/control"), &path("a.bbbin"));
    let mut bytes = std::fs::read(path("a.bbbin")).unwrap();
    bytes[40..48].copy_from_slice(&i64::MAX.to_be_bytes());
    std::fs::write(path("cut.bbbin"), bytes).unwrap();
    let (code, _, err) = run(kymo().arg("repair").args([path("cut.bbbin"), path("b.bbbin")]));
    assert_eq!(code, Some(3), "{err}");
    for command in ["load", "sched"] {
        let (code, shown, err) = run(kymo().arg(command).arg(path("b.bbbin")));
        assert!(code == Some(3) && shown.contains("task 101"), "{command}: {err}");
        assert!(err.contains("their names are made up"), "{command}: {err}");
    }
    // It is as sound as it can be, and says nothing where nobody is named.
    let (code, _, err) = run(kymo().arg("check").arg(path("b.bbbin")));
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(run(kymo().arg("load").arg(path("a.bbbin"))).0, Some(0));
}

/// Receiver instances are lost on the way to RTC: with `--strict` nothing is written then.
#[test]
fn strictly_a_recording_is_converted_whole_or_not_at_all() {
    let out = folder();
    let to = out.path().join("a.rtc");
    let (code, _, err) =
        run(kymo().args(["convert", "--strict"]).arg(testdata("bbbin/classes.bin")).arg(&to));
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("receiver instances") && err.contains("--strict"), "{err}");
    assert!(!to.exists());
    let (code, _, err) = run(kymo()
        .args(["convert", "--strict"])
        .arg(testdata("bbbin/foreign_no_type.bin"))
        .arg(&to));
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert!(to.exists());
}

/// FLOAT 0.1 has its own shortest digits, also in the table of its type and after RTC.
#[test]
fn numbers_of_single_precision_stay_so() {
    let out = folder();
    let rtc = out.path().join("a.rtc");
    convert(&testdata("bbbin/types.bin"), &rtc);
    let (_, shown, _) = run(kymo().args(["info"]).arg(&rtc));
    assert!(shown.contains("float32le"), "{shown}");
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
