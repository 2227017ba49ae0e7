//! What is said of traces and logs that are not as they should be, and what exit codes tell of them.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{folder, kymo, run};

/// Runs a command whose output nobody reads; tells the exit code.
fn unread(command: &mut Command) -> Option<i32> {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut child = command.stdout(writer).stderr(Stdio::null()).spawn().unwrap();
    child.wait().unwrap().code()
}

fn testdata(file: &str) -> std::path::PathBuf {
    kymo_conformance::testdata(file)
}

/// A copy of a trace of two streams, without its metadata.
fn streams(folder: &Path) -> std::path::PathBuf {
    let trace = folder.join("trace");
    fs::create_dir(&trace).unwrap();
    for name in ["channel0_0", "channel0_1"] {
        fs::copy(testdata("ctf/control").join(name), trace.join(name)).unwrap();
    }
    trace
}

#[test]
fn what_was_found_counts_though_nobody_reads_it() {
    let folder = folder();
    let rules = folder.path().join("rules.toml");
    fs::write(&rules, "[[rule]]\ntask = '*'\nresponse_max = '1ns'\n").unwrap();
    let sound = testdata("perf/control.perf");
    assert_eq!(unread(kymo().arg("assert").arg(&rules).arg(&sound)), Some(3));
    assert_eq!(unread(kymo().arg("dump").arg(&sound)), Some(0));
    // Two lines of it are none of perf, so that every command ends with 3.
    let broken = testdata("perf/bad/broken_lines.perf");
    for args in [
        &["dump"][..],
        &["info"],
        &["ls"],
        &["load"],
        &["sched"],
        &["sched", "--history"],
        &["check"],
        &["check", "--all"],
        &["report", "-o", "-"],
    ] {
        assert_eq!(unread(kymo().args(args).arg(&broken)), Some(3), "{args:?}");
    }
    let convert = unread(kymo().arg("convert").arg(&broken).args(["-", "--to", "csv"]));
    assert_eq!(convert, Some(3));
}

#[test]
fn streams_of_ctf_without_metadata_are_one_trace_that_lacks_it() {
    let folder = folder();
    let trace = streams(folder.path());
    let why = format!("kymo: {}: `metadata` is missing", trace.display());
    let picture = folder.path().join("o.png");
    let chart = ["messages", "--chart", "-o", picture.to_str().unwrap()];
    for args in [&["info"][..], &["load"], &["dump"], &["check"], &chart] {
        let (code, out, said) = run(kymo().args(args).arg(&trace));
        assert_eq!((code, out.as_str()), (Some(1), ""), "{args:?}: {said}");
        assert!(said.starts_with(&why) && !said.contains("hint"), "{args:?}: {said}");
    }
    // With its first byte changed it is not missing, and not to be read either.
    let mut metadata = fs::read(testdata("ctf/control/metadata")).unwrap();
    metadata[0] ^= 0x20;
    fs::write(trace.join("metadata"), &metadata).unwrap();
    let why = "metadata: signature at byte 0x0: it does not begin as metadata of CTF does";
    for args in [&["info"][..], &["load"], &chart] {
        let (code, _, said) = run(kymo().args(args).arg(&trace));
        assert_eq!(code, Some(1), "{args:?}: {said}");
        assert!(said.contains(why) && !said.contains("hint"), "{args:?}: {said}");
    }
    let (code, out, _) = run(kymo().arg("check").arg(&trace));
    assert_eq!(code, Some(3));
    assert!(out.contains("error unreadable in metadata at 0x0: "), "{out}");
}

#[test]
fn interrupts_are_no_calls_of_functions_to_be_shown_instead() {
    let trace = testdata("ctf/control");
    let (code, _, said) = run(kymo().arg("states").arg(&trace));
    let hint = "hint: `kymo ls -l` shows what streams there are\n";
    assert!(code == Some(1) && said.ends_with(hint), "{said}");
}

#[test]
fn a_part_of_a_trace_is_told_from_the_whole() {
    let (code, _, said) = run(kymo().arg("load").arg(testdata("ctf/control/metadata")));
    assert_eq!(code, Some(1));
    assert!(
        said.contains("no tasks are recorded in it\nhint: it is a part of a recording"),
        "{said}"
    );
    assert!(said.trim_end().ends_with("ctf/control"), "{said}");
}

#[test]
fn a_wrong_grammar_beside_a_log_is_found_by_a_check() {
    let folder = folder();
    let log = folder.path().join("x.log");
    fs::write(&log, "1.5 go\n").unwrap();
    fs::write(folder.path().join("x.log.toml"), "[[line]]\nmatch = '(?<time>[0-9.]+'\n").unwrap();
    let why = "unclosed group; line 2, column 9: match = '(?<time>[0-9.]+'";
    let (code, out, said) = run(kymo().arg("check").arg(&log));
    assert_eq!((code, said.contains("hint")), (Some(3), false), "{said}");
    assert!(out.contains("error unreadable in ") && out.contains("x.log.toml at 0x11: "), "{out}");
    assert!(out.contains(why), "{out}");
    let (code, _, said) = run(kymo().arg("load").arg(&log));
    assert_eq!((code, said.contains("hint")), (Some(1), false), "{said}");
    assert!(said.contains(why), "{said}");
}

#[test]
fn what_cannot_be_read_is_said_where_nothing_is_left() {
    for file in ["perf/bad/no_time.perf", "perf/bad/no_event.perf"] {
        let (code, _, said) = run(kymo().arg("load").arg(testdata(file)));
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains("`perf script -F comm,tid,cpu,time,event,trace`"), "{said}");
    }
}

#[test]
fn recordings_of_tracers_are_named_with_what_prints_them() {
    let folder = folder();
    for (name, head, how) in [
        ("perf.data", &b"PERFILE2"[..], "`perf script --ns -i FILE > run.perf`"),
        ("trace.dat", b"\x17\x08\x44tracing6\0", "`trace-cmd report FILE > run.ftrace`"),
    ] {
        let path = folder.path().join(name);
        fs::write(&path, [head, &[0; 100]].concat()).unwrap();
        let (code, _, said) = run(kymo().arg("info").arg(&path));
        assert!(code == Some(1) && said.contains(how), "{said}");
    }
}

#[test]
fn findings_alike_are_said_once_and_errors_first() {
    let folder = folder();
    let path = folder.path().join("run.perf");
    // Five lines with a byte that is no UTF-8, and one that is none of perf.
    let line =
        b"  a\xff 7 [000]  1.000000: sched:sched_waking: comm=b pid=8 prio=120 target_cpu=000\n";
    fs::write(&path, [&line.repeat(5)[..], b"nothing of perf\n"].concat()).unwrap();
    let error = "error line at 0x195: it is no line of perf script: nothing of perf";
    let warning = "warning utf-8 at 0x0: bytes that are no UTF-8 are shown as marks, and 4 like it";
    let (code, out, _) = run(kymo().arg("info").arg(&path));
    assert_eq!(code, Some(3));
    assert!(out.ends_with(&format!("  findings\n    {error}\n    {warning}\n")), "{out}");
    let (code, _, said) = run(kymo().arg("dump").arg(&path));
    let said = said.replace(&format!("kymo: {}: ", path.display()), "");
    assert_eq!(code, Some(3));
    assert!(said.starts_with(&format!("{error}\n{warning}\nhint: ")), "{said}");
}

#[test]
fn what_no_event_has_is_told_with_what_there_is() {
    let trace = testdata("ctf/control");
    for (args, why) in [
        (["--class", "sched_swich"], "no event is called sched_swich; did you mean sched_switch?"),
        (["--class", "TASK_SWICH"], "no event is called TASK_SWICH; did you mean TASK_SWITCH?"),
        (["--where", "next_tidd=1"], "no event has a field next_tidd; did you mean next_tid?"),
        (["--where", "next_tid=-77"], "no event is such as was asked for"),
    ] {
        let (code, out, said) = run(kymo().arg("dump").args(args).arg(&trace));
        assert_eq!((code, out.as_str()), (Some(0), ""), "{args:?}");
        assert!(said.contains(why), "{said}");
    }
    let (_, _, said) = run(kymo().args(["dump", "--class", "a_b"]).arg(&trace));
    assert!(said.contains("no event is called a_b; there are "), "{said}");
    let (code, _, said) = run(kymo().args(["dump", "--since", "2100-01-01"]).arg(&trace));
    assert_eq!(code, Some(0));
    assert!(said.contains("nothing of it is in that range: it is from "), "{said}");
}

#[test]
fn a_recording_of_which_nothing_can_be_read_is_not_converted() {
    let folder = folder();
    let counted = folder.path().join("counted.ftrace");
    fs::write(&counted, "cpus=2\n  a-7  [000]4776151338986: sched_waking: comm=b pid=8\n").unwrap();
    let empty = folder.path().join("empty.ftrace");
    fs::write(&empty, "# tracer: nop\n#\n").unwrap();
    for name in ["out.rtc", "out.bbbin", "out.csv", "out.jsonl"] {
        let to = folder.path().join(name);
        let (code, _, said) = run(kymo().arg("convert").args([&counted, &to]));
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains("its time is a count without a unit"), "{said}");
        assert!(said.contains("nothing of it could be read, so nothing is written"), "{said}");
        assert!(!to.exists());
        let (code, _, said) = run(kymo().arg("convert").args([&empty, &to]));
        assert_eq!(code, Some(0), "{said}");
        assert!(to.exists());
    }
}

/// Of two events one has an array, and a field whose name its context has, too.
#[test]
fn fields_are_found_by_their_paths() {
    let folder = folder();
    let metadata = "/* CTF 1.8 */ typealias integer { size = 8; align = 8; } := u8;
        trace { major = 1; minor = 8; byte_order = le; };
        stream { event.header := struct { u8 id; }; event.context := struct { u8 _tid; }; };
        event { name = a; id = 0; fields := struct { u8 other; }; };
        event { name = b; id = 1; fields := struct { u8 tid; struct { u8 _list[2]; } s; }; };";
    fs::write(folder.path().join("metadata"), metadata).unwrap();
    fs::write(folder.path().join("stream"), [0, 5, 9, 1, 6, 4, 7, 8]).unwrap();
    for (test, expected) in [
        ("s.list[1]=8", "b"),
        ("list[0]=7", "b"),
        ("list[1]=7", ""),
        ("list=8", "b"),
        ("list!=8", ""),
        ("list!=9", "b"),
        ("stream.event.context.tid=6", "b"),
        ("stream.event.context.tid=4", ""),
        ("tid=4", "b"),
        ("tid=6", "b"),
        ("tid=5", "a"),
        ("other>=9", "a"),
    ] {
        let (code, out, said) =
            run(kymo().args(["dump", "--csv", "--where", test]).arg(folder.path()));
        assert_eq!(code, Some(0), "{said}");
        let names = out.lines().skip(1).filter_map(|line| {
            line.split(['\"', ',']).find(|cell| cell.starts_with("a:") || cell.starts_with("b:"))
        });
        let names: String = names.filter_map(|name| name.split(':').next()).collect();
        assert_eq!(names, expected, "{test}: {out}{said}");
    }
}
