//! Reports on measurements that something is odd about, small enough to work out by hand.

use crate::support;

use std::fs;
use std::path::Path;

use crate::support::{folder, kymo, run};
use kymo_core::bytes::Endian;
use kymo_hpcrun::{ProfileBuilder, TraceRecord, TraceVersion, TraceWriter};

/// The time that all others are after, in nanoseconds.
const START: u64 = 1_700_000_000_000_000_000;

/// Writes a thread that spent so many seconds at an address, and was there at these times; `None`
/// is a node that the profile does not have.
fn thread(folder: &Path, number: u32, seconds: f64, times: &[(u64, Option<()>)]) {
    thread_since(START, folder, number, seconds, times);
}

/// The same with times after another.
fn thread_since(start: u64, folder: &Path, number: u32, seconds: f64, times: &[(u64, Option<()>)]) {
    let mut profile = ProfileBuilder::new("app");
    profile.id(3 | 3 << 14, number.into(), number.into());
    let module = profile.load_module("/none/app", None).unwrap();
    let time = profile.metric("CPUTIME (sec)", "", true).unwrap();
    let main = profile.child(ProfileBuilder::ROOT, module, 0x1187);
    profile.add(main, time, seconds);
    let node = profile.retain(main);
    let name = format!("app-000000-{number:03}-1-2-0");
    let mut bytes = Vec::new();
    profile.write(&mut bytes).unwrap();
    fs::write(folder.join(format!("{name}.hpcrun")), bytes).unwrap();
    if !times.is_empty() {
        let mut trace =
            TraceWriter::with_version(Vec::new(), TraceVersion::V0101, Endian::Big, 0).unwrap();
        for (time, is_known) in times {
            let node = is_known.map_or(9999, |()| node);
            trace.record(&TraceRecord { time: start + time, node, metric: None }).unwrap();
        }
        fs::write(folder.join(format!("{name}.hpctrace")), trace.finish().unwrap()).unwrap();
    }
}

#[test]
fn dump_shows_samples_of_all_threads_in_the_order_of_their_times() {
    let folder = folder();
    thread(folder.path(), 0, 1.0, &[(100, Some(())), (300, Some(()))]);
    thread(folder.path(), 1, 1.0, &[(200, Some(())), (250, Some(())), (400, Some(()))]);
    let (code, out, said) = run(kymo().args(["dump", "--csv", "--last", "3"]).arg(folder.path()));
    assert_eq!(code, Some(0), "{said}");
    let lines: Vec<_> = out.lines().skip(1).collect();
    assert_eq!(lines.len(), 3, "{out}");
    for (line, time) in lines.into_iter().zip([250, 300, 400]) {
        assert!(line.contains(&format!("000000{time}")), "{line} is not of {time} ns");
    }
}

#[test]
fn prof_says_which_samples_it_leaves_out_and_strict_refuses_them() {
    let folder = folder();
    let input = folder.path().join("hpctoolkit-app-measurements");
    fs::create_dir(&input).unwrap();
    thread(&input, 0, 1.0, &[(100, Some(())), (200, None), (300, Some(()))]);
    let database = folder.path().join("hpctoolkit-app-database");
    let (code, _, said) = run(kymo().args(["prof", "--strict"]).arg(&input));
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("trace-node in app-000000-000-1-2-0.hpctrace"), "{said}");
    assert!(!database.exists());
    let (code, _, said) = run(kymo().arg("prof").arg(&input));
    assert_eq!(code, Some(3), "{said}");
    let why = "1 sample is of a node that the profile does not have, and left out";
    assert!(said.contains(why), "{said}");
    assert!(database.exists());
}

#[test]
fn a_thread_whose_values_were_lost_is_unknown_and_no_part_of_the_mean() {
    let folder = folder();
    for (number, seconds) in [1.0, 3.0, 5.0].into_iter().enumerate() {
        thread(folder.path(), u32::try_from(number).unwrap(), seconds, &[]);
    }
    // The last section has an id of 18 bytes, then the numbers of values and of nodes.
    let path = folder.path().join("app-000000-002-1-2-0.hpcrun");
    let mut bytes = fs::read(&path).unwrap();
    let footer = bytes.len() - 112;
    let start = u64::from_be_bytes(bytes[footer + 0x50..footer + 0x58].try_into().unwrap());
    let values = usize::try_from(start).unwrap() + 2 + 18;
    bytes[values..values + 12].fill(0xFF);
    fs::write(&path, bytes).unwrap();
    let (code, out, said) = run(kymo().args(["threads", "--salvage"]).arg(folder.path()));
    assert_eq!(code, Some(3), "{said}");
    assert!(out.contains("least 1, mean 2, most 3, imbalance 50.0%"), "{out}");
    assert!(out.lines().last().unwrap().trim_start().starts_with("- "), "{out}");
    assert!(said.contains("values of 1 thread were lost: what was spent is unknown"), "{said}");
    let (_, out, _) = run(kymo().args(["threads", "--salvage", "--json"]).arg(folder.path()));
    assert!(out.lines().last().unwrap().contains("\"value\":null"), "{out}");
    let (_, out, _) = run(kymo().args(["top", "--salvage"]).arg(folder.path()));
    assert!(out.contains("4 in all, 3 threads, 1 of them with values lost"), "{out}");
}

#[test]
fn trace_lists_as_many_functions_as_asked_for_and_says_which_times_are_unknown() {
    let folder = folder();
    thread(folder.path(), 0, 1.0, &[(0, Some(())), (400, None), (500, Some(()))]);
    let rows = |arguments: &[&str]| {
        let (code, out, said) =
            run(kymo().args(["trace", "--csv"]).args(arguments).arg(folder.path()));
        assert_eq!(code, Some(3), "{said}");
        let cells = |line: &str| {
            let cells: Vec<_> = line.split(',').collect();
            (cells[2].to_owned(), cells[3].parse().unwrap())
        };
        out.lines().skip(1).map(cells).collect::<Vec<(String, u64)>>()
    };
    let (app, unknown) = ("app+0x1187".to_owned(), "<unknown context>".to_owned());
    assert_eq!(rows(&[]), [(app.clone(), 400), (unknown.clone(), 100)]);
    assert_eq!(rows(&["-n", "0"]), [(app.clone(), 400), (unknown, 100)]);
    assert_eq!(rows(&["-n", "1"]), [(app, 400)]);
}

#[test]
fn rank_0_is_that_of_a_program_without_ranks() {
    let folder = folder();
    thread(folder.path(), 0, 1.0, &[]);
    let (code, out, said) = run(kymo().args(["top", "--rank", "0"]).arg(folder.path()));
    assert_eq!(code, Some(0), "{out}{said}");
    let (code, _, said) = run(kymo().args(["top", "--rank", "1"]).arg(folder.path()));
    assert_eq!(code, Some(1), "{said}");
}

#[test]
fn the_callers_of_a_function_have_their_hot_path_marked() {
    let folder = folder();
    thread(folder.path(), 0, 1.0, &[]);
    thread(folder.path(), 1, 1.0, &[]);
    let (code, out, said) = run(kymo().args(["callers", "-f", "app+0x1187"]).arg(folder.path()));
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(out.lines().filter(|line| line.contains(" > ")).count(), 2, "{out}");
}

#[test]
fn prof_counts_the_samples_that_it_writes() {
    let folder = folder();
    let mut profile = ProfileBuilder::new("app");
    profile.id(3 | 3 << 14, 0, 0);
    let module = profile.load_module("/none/app", None).unwrap();
    let time = profile.metric("CPUTIME (sec)", "", true).unwrap();
    let main = profile.child(ProfileBuilder::ROOT, module, 0x1187);
    profile.add(main, time, 1.0);
    let idle = profile.child(ProfileBuilder::ROOT, 0, u64::from_be_bytes(*b"NoActvty"));
    let (main, idle) = (profile.retain(main), profile.retain(idle));
    let mut bytes = Vec::new();
    profile.write(&mut bytes).unwrap();
    fs::write(folder.path().join("app.hpcrun"), bytes).unwrap();
    let mut trace = TraceWriter::new(Vec::new());
    for (time, node) in (START..).zip([idle, idle, main, main, idle, idle, idle]) {
        trace.record(&TraceRecord { time, node, metric: None }).unwrap();
    }
    fs::write(folder.path().join("app.hpctrace"), trace.finish().unwrap()).unwrap();
    let made = support::folder();
    let mut command = kymo();
    command.args(["prof", "--json", "-o"]).arg(made.path().join("database")).arg(folder.path());
    let (code, out, said) = run(&mut command);
    assert_eq!(code, Some(0), "{said}");
    // Idle is said once: idle, main twice, idle.
    assert!(out.contains("\"samples\":4,"), "{out}");
    // So both have the same samples, however often idle was sampled.
    let mut command = kymo();
    command.args(["diff", "--exact"]).arg(folder.path()).arg(made.path().join("database"));
    let (_, out, said) = run(&mut command);
    assert!(!out.contains("samples") && !out.contains(" ns"), "{out}{said}");
}

/// The trace goes back by itself, and no profile says so: its span is from 100 to 300 ns.
#[test]
fn the_span_of_a_trace_is_that_of_its_times_in_whatever_order_they_are() {
    let folder = folder();
    thread(folder.path(), 0, 1.0, &[(200, Some(())), (300, Some(())), (100, Some(()))]);
    let (code, out, said) = run(kymo().arg("info").arg(folder.path()));
    assert_eq!(code, Some(0), "{said}");
    assert!(out.contains(".000000100Z"), "{out}");
    assert!(out.contains(".000000300Z") && out.contains("0.000000200 s"), "{out}");
}

#[cfg(unix)]
#[test]
fn what_repair_leaves_out_it_does_not_say_to_keep() {
    let folder = folder();
    let input = folder.path().join("in");
    fs::create_dir_all(input.join("structs")).unwrap();
    thread(&input, 0, 1.0, &[]);
    let fifo = input.join("structs/app.hpcstruct");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let (code, _, said) = run(kymo().arg("repair").arg(&input).arg(folder.path().join("out")));
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("is left out") && !said.contains("kept as it is"), "{said}");
}

/// Nanoseconds of three days: a host that was started then, and no time of day anywhere.
const UPTIME: u64 = 3 * 86_400_000_000_000;

#[test]
fn times_since_a_host_was_started_are_shown_in_seconds() {
    let folder = folder();
    let times = [(0, Some(())), (1_500_000_000, Some(()))];
    thread_since(UPTIME, folder.path(), 0, 1.0, &times);
    let shown = |arguments: &[&str]| {
        let (code, out, said) = run(kymo().args(arguments).arg(folder.path()));
        assert_eq!((code, said.as_str()), (Some(0), ""), "{arguments:?}");
        assert!(!out.contains("1970") && !out.contains("1978"), "{out}");
        out
    };
    let info = shown(&["info"]);
    for line in ["259200.000000000", "259201.500000000", "1.500000000 s", "with a zero of its own"]
    {
        assert!(info.contains(line), "{line}: {info}");
    }
    assert!(shown(&["trace"]).contains("2 samples of 1 thread in 1.500 s"));
    assert!(shown(&["dump", "--stream", "*"]).contains("259201.500000000"));
    assert!(shown(&["ls", "-s"]).contains("259200.000000000 to 259201.500000000"));
    assert!(shown(&["trace", "--since", "+1s"]).contains("in 0.500 s"));
    // So are those of the database that is made of them.
    let made = support::folder();
    let database = made.path().join("database");
    let (code, _, said) = run(kymo().args(["prof", "-o"]).arg(&database).arg(folder.path()));
    assert_eq!(code, Some(0), "{said}");
    let (_, out, _) = run(kymo().args(["ls", "-s"]).arg(&database));
    assert!(out.contains("259200.000000000 to 259201.500000000"), "{out}");
}

#[test]
fn threads_on_clocks_that_cannot_be_compared_are_drawn_each_over_its_own_time() {
    let folder = folder();
    thread(folder.path(), 0, 1.0, &[(0, Some(())), (2_000_000_000, Some(()))]);
    let times = [(0, Some(())), (1_000_000_000, Some(()))];
    thread_since(UPTIME, folder.path(), 1, 1.0, &times);
    let (code, out, said) = run(kymo().arg("trace").arg(folder.path()));
    assert_eq!(code, Some(0), "{said}");
    assert!(out.contains("4 samples of 2 threads in 2 s"), "{out}");
    let strips = out.lines().filter(|line| line.starts_with('|'));
    let strips: Vec<_> = strips.filter_map(|line| line.split('|').nth(1)).collect();
    assert!(strips.len() == 2 && strips.iter().all(|strip| !strip.contains(' ')), "{out}");
    assert!(said.contains("on 2 clocks that began at different times"), "{said}");
}

#[test]
fn traces_without_profiles_and_times_that_are_none_are_no_reason_for_riddles() {
    let folder = folder();
    thread(folder.path(), 0, 1.0, &[(0, Some(())), (5, Some(()))]);
    fs::remove_file(folder.path().join("app-000000-000-1-2-0.hpcrun")).unwrap();
    let (code, _, said) = run(kymo().arg("trace").arg(folder.path()));
    assert_eq!(code, Some(1));
    assert!(said.contains("no profile in it to tell what its samples are of"), "{said}");
    assert!(said.contains("put the profiles beside the traces"), "{said}");
    // All times are beyond 63 bits.
    let folder = support::folder();
    thread_since(1 << 63, folder.path(), 0, 1.0, &[(0, Some(())), (5, Some(()))]);
    let (code, _, said) = run(kymo().arg("trace").arg(folder.path()));
    assert_eq!(code, Some(3));
    assert!(said.contains("2 samples have a time that is none"), "{said}");
}

#[test]
fn values_that_are_no_numbers_are_said_by_info_as_by_top() {
    let folder = folder();
    thread(folder.path(), 0, f64::NAN, &[]);
    let (code, out, _) = run(kymo().arg("info").arg(folder.path()));
    assert_eq!(code, Some(3), "{out}");
    let why = "value-number in app-000000-000-1-2-0.hpcrun";
    assert!(out.contains(why) && out.contains("1 value is no number, and left out"), "{out}");
    let (code, _, said) = run(kymo().arg("top").arg(folder.path()));
    assert_eq!(code, Some(1));
    assert!(said.contains("no metric has values") && said.contains("`kymo info` says"), "{said}");
}

/// Streams of a GPU have no time of a processor: they are left out, and that is said.
#[test]
fn threads_of_a_kind_without_the_metric_do_not_look_uneven() {
    let folder = folder();
    for number in [0, 1] {
        thread(folder.path(), number, 2.0, &[]);
    }
    let mut stream = ProfileBuilder::new("app");
    stream.id(6 | 3 << 14, 0, 0);
    let module = stream.load_module("/none/app", None).unwrap();
    stream.metric("CPUTIME (sec)", "", true).unwrap();
    let kernel = stream.metric("GKER (sec)", "", true).unwrap();
    let node = stream.child(ProfileBuilder::ROOT, module, 0x1187);
    stream.add(node, kernel, 7.0);
    let mut bytes = Vec::new();
    stream.write(&mut bytes).unwrap();
    fs::write(folder.path().join("app-000000-500-1-2-0.hpcrun"), bytes).unwrap();
    let (code, out, said) = run(kymo().arg("threads").arg(folder.path()));
    assert_eq!(code, Some(0), "{said}");
    assert!(out.contains("CPUTIME (sec), least 2, mean 2, most 2, imbalance 0.0%"), "{out}");
    assert!(said.contains("1 thread of a kind without CPUTIME (sec) has no row"), "{said}");
    // The time of the host is chosen, and the other is named.
    let (_, out, _) = run(kymo().arg("top").arg(folder.path()));
    assert!(out.contains(": CPUTIME (sec), 4 in all"), "{out}");
    assert!(out.lines().last().unwrap().contains("GKER (sec)"), "{out}");
}

/// One word for functions in every command: a name, a part of one, a glob, an expression.
#[test]
fn functions_are_found_by_parts_of_names_in_every_command() {
    let folder = folder();
    thread(folder.path(), 0, 1.0, &[]);
    for name in ["app+0x1187", "0x1187", "app+*", "/^app.0x\\d+$/"] {
        for command in
            [&["callers", "-f"][..], &["callers", "--function"], &["threads", "--function"]]
        {
            let (code, out, said) = run(kymo().args(command).arg(name).arg(folder.path()));
            assert_eq!(code, Some(0), "{command:?} {name}: {out}{said}");
        }
        for option in ["--focus", "--ignore", "--hide"] {
            for command in ["top", "tree", "callers"] {
                let (code, out, said) =
                    run(kymo().args([command, option, name]).arg(folder.path()));
                assert_eq!(code, Some(0), "{command} {option} {name}: {said}");
                let is_there = out.contains("app+0x1187");
                assert_eq!(is_there, option == "--focus", "{command} {option} {name}: {out}");
            }
        }
        let (code, _, _) = run(kymo().args(["callers", "-f", "nothing*"]).arg(folder.path()));
        assert_eq!(code, Some(1));
    }
}
