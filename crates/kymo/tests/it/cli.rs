//! Exit codes, messages, and files written whole or not at all.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{data, folder, kymo, names, run};

const SOUND: &str = "v1-2008-07-11/06_timesteps.bp";
const CUT: &str = "malformed/m01_truncated_in_length.bp";

#[test]
fn every_command_that_reads_refuses_what_is_no_recording() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("empty"), "").unwrap();
    fs::write(at("text"), "dear diary\n").unwrap();
    fs::write(at("noise"), [0xEE; 100]).unwrap();
    fs::create_dir(at("folder")).unwrap();
    let bad = [
        ("empty", "the file is empty"),
        ("text", "this is plain text"),
        ("noise", "the format is not recognised"),
        ("folder", ""),
        ("missing", "cannot open it: no such file or directory"),
    ];
    for (name, why) in bad {
        for command in ["info", "ls", "dump", "check"] {
            let (code, out, said) = run(kymo().arg(command).arg(at(name)));
            assert_eq!((code, out.as_str()), (Some(1), ""), "{command} {name}: {said}");
            let start = format!("kymo: {}: {why}", at(name).display());
            assert!(said.starts_with(&start), "{command} {name}: {said}");
        }
        for command in ["repair", "convert"] {
            let (code, _, said) = run(kymo().arg(command).arg(at(name)).arg(at("out.csv")));
            assert_eq!(code, Some(1), "{command} {name}: {said}");
            assert!(!at("out.csv").exists());
        }
    }
    assert_eq!(names(folder.path()), ["empty", "folder", "noise", "text"]);
}

#[test]
fn a_damaged_file_is_refused_with_the_next_step_and_shown_on_request() {
    for command in [&["info"][..], &["ls"], &["dump"]] {
        let (code, out, said) = run(kymo().args(command).arg(data(CUT)));
        assert_eq!((code, out.as_str()), (Some(1), ""), "{command:?}");
        assert!(said.contains("at byte 0x26: "), "{said}");
        assert!(said.contains("\nhint: `kymo check "), "{said}");
        let (code, out, _) = run(kymo().args(command).arg("--salvage").arg(data(CUT)));
        assert_eq!(code, Some(3), "{command:?}");
        assert!(!out.is_empty());
    }
    assert_eq!(run(kymo().arg("check").arg(data(CUT))).0, Some(3));
}

#[test]
fn one_bad_file_among_several_does_not_stop_the_others() {
    let files = [data("no-such-file"), data(CUT), data(SOUND)];
    for command in ["info", "ls", "dump", "check"] {
        let (code, out, said) = run(kymo().arg(command).args(&files));
        assert_eq!(code, Some(1), "{command}");
        assert!(said.contains("no-such-file: cannot open it"), "{said}");
        assert!(command == "check" || out.contains("istep") || out.contains("06_time"), "{out}");
    }
    // A failure counts more than findings, and findings more than success.
    let (code, ..) = run(kymo().arg("check").args([data(SOUND), data(CUT)]));
    assert_eq!(code, Some(3));
}

#[test]
fn bad_usage_is_told_apart_from_failure() {
    for arguments in [&["nothing"][..], &["info"], &["dump", "--step", "x", "f"], &["--nothing"]] {
        let (code, out, said) = run(kymo().args(arguments));
        assert_eq!((code, out.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(said.contains("--help"), "{said}");
    }
    let bad: [&[&str]; 7] = [
        &["ls", "-m", "a[b"],
        &["dump", "-d", "a[b"],
        &["convert", "--to", "csv", "--filter", "nothing"],
        &["convert", "--to", "csv", "--filter", "nothing=1"],
        &["convert", "--to", "csv", "--filter", "offset=many"],
        &["convert", "--to", "csv", "--columns", "nothing"],
        &["convert"],
    ];
    for arguments in bad {
        let output = if arguments[0] == "convert" { &["-"][..] } else { &[] };
        let (code, out, said) = run(kymo().args(arguments).arg(data(SOUND)).args(output));
        assert_eq!((code, out.as_str()), (Some(2), ""), "{arguments:?}: {said}");
        assert!(said.starts_with("kymo: "), "{said}");
    }
    assert_eq!(run(kymo().arg("--version")).0, Some(0));
}

#[test]
fn a_folder_is_walked_in_order_and_hidden_files_are_passed_over() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir_all(at("b/c")).unwrap();
    for name in ["b/c/2.bp", "b/1.bp", "a.bp", ".hidden.bp"] {
        fs::copy(data(SOUND), at(name)).unwrap();
    }
    fs::write(at("notes.txt"), "not a recording").unwrap();
    let expected = ["a.bp", "b/1.bp", "b/c/2.bp"].map(|name| format!("{}:", at(name).display()));
    for command in [["ls", "-m", "istep"], ["dump", "-d", "istep"]] {
        let (code, out, said) = run(kymo().args(command).arg(folder.path()));
        assert_eq!((code, said.as_str()), (Some(0), ""), "{command:?}");
        let found: Vec<_> = out.lines().filter(|line| line.ends_with(':')).collect();
        assert_eq!(found, expected, "{command:?}");
    }
}

/// A path too long for the system cannot be listed, whoever asks; a permission would not stop
/// the superuser.
#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_cannot_be_listed_is_named_and_the_others_are() {
    let folder = folder();
    fs::copy(data(SOUND), folder.path().join("open.bp")).unwrap();
    let mut deep = folder.path().to_path_buf();
    while deep.as_os_str().len() < 3850 {
        deep.push("d".repeat(99));
        fs::create_dir(&deep).unwrap();
    }
    let closed = "c".repeat(255);
    let made = Command::new("mkdir").arg(&closed).current_dir(&deep).status().unwrap();
    assert!(made.success());
    let (code, out, said) = run(kymo().arg("ls").arg(folder.path()));
    assert_eq!(code, Some(1));
    let closed = deep.join(closed);
    assert!(said.starts_with(&format!("kymo: {}: cannot look at it", closed.display())), "{said}");
    assert!(out.contains("/istep"), "{out}");
}

#[test]
fn json_names_its_file_even_where_it_is_the_only_one_or_cannot_be_opened() {
    let commands: [&[&str]; 7] = [
        &["info"],
        &["ls"],
        &["ls", "-A"],
        &["ls", "-t"],
        &["ls", "--records"],
        &["dump"],
        &["dump", "-d", "*"],
    ];
    let object = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
    for command in commands {
        let (code, out, _) = run(kymo().args(command).arg("--json").arg(data(SOUND)));
        assert_eq!(code, Some(0));
        let file = data(SOUND).display().to_string();
        assert!(out.lines().all(|line| object(line)["file"] == file.as_str()), "{out}");
    }
    let empty = folder();
    for file in [data("no-such-file"), data(CUT), empty.path().to_owned()] {
        let (code, out, said) = run(kymo().args(["info", "--json"]).arg(&file));
        assert_eq!((code, out.lines().count()), (Some(1), 1), "{said}");
        let found = object(&out);
        assert_eq!(found["file"], file.display().to_string().as_str());
        assert!(said.contains(found["error"].as_str().unwrap()), "{said}");
    }
    let health = |file: &str| {
        object(&run(kymo().args(["info", "--json"]).arg(data(file))).1)["health"].clone()
    };
    assert_eq!(health(SOUND), "unchecked");
    assert_eq!(health("v1-2008-07-11/08d_1_trailing_zero_byte.bp"), "warnings");
}

#[test]
fn repair_keeps_what_is_sound_and_says_what_was_lost() {
    let folder = folder();
    let out = folder.path().join("out.bp");
    let (code, _, said) = run(kymo().arg("repair").arg(data(CUT)).arg(&out));
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("1 element kept in "), "{said}");
    assert_eq!(run(kymo().arg("check").arg(&out)).0, Some(0));
    // The same to standard output, byte for byte.
    let piped = kymo().arg("repair").arg(data(CUT)).arg("-").output().unwrap();
    assert_eq!((piped.status.code(), piped.stdout), (Some(3), fs::read(&out).unwrap()));
    // A sound file stays what it is.
    let same = folder.path().join("same.bp");
    let (code, _, said) = run(kymo().arg("repair").arg(data(SOUND)).arg(&same));
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("sound; "), "{said}");
    assert_eq!(fs::read(&same).unwrap(), fs::read(data(SOUND)).unwrap());
}

#[test]
fn what_exists_is_replaced_only_with_force() {
    let folder = folder();
    for (command, name) in [("repair", "out.bp"), ("convert", "out.csv")] {
        let out = folder.path().join(name);
        fs::write(&out, "precious").unwrap();
        let (code, _, said) = run(kymo().arg(command).arg(data(SOUND)).arg(&out));
        assert_eq!(code, Some(1));
        let told = format!("{name}: it exists already\nhint: --force replaces it");
        assert!(said.contains(&told), "{said}");
        assert_eq!(fs::read_to_string(&out).unwrap(), "precious");
        let (code, ..) = run(kymo().arg(command).arg("--force").arg(data(SOUND)).arg(&out));
        assert_eq!(code, Some(0));
        assert_ne!(fs::read(&out).unwrap(), b"precious");
    }
    assert_eq!(names(folder.path()), ["out.bp", "out.csv"]);
}

#[test]
fn the_input_is_never_the_output_not_even_with_force() {
    let folder = folder();
    let file = folder.path().join("file.bp");
    fs::copy(data(CUT), &file).unwrap();
    let link = folder.path().join("link.bp");
    fs::hard_link(&file, &link).unwrap();
    for output in [&file, &link] {
        let (code, _, said) = run(kymo().args(["repair", "--force"]).arg(&file).arg(output));
        assert_eq!(code, Some(1));
        assert!(said.contains("the output is the input"), "{said}");
    }
    assert_eq!(fs::read(&file).unwrap(), fs::read(data(CUT)).unwrap());
}

#[test]
fn all_tables_become_a_folder_that_force_replaces_only_when_it_is_ours() {
    let folder = folder();
    let out = folder.path().join("tables");
    let convert = |force: &[&str]| {
        let mut command = kymo();
        command.args(["convert", "--to", "csv", "--table", "all"]).args(force);
        run(command.arg(data(SOUND)).arg(&out))
    };
    assert_eq!(convert(&[]).0, Some(0));
    assert_eq!(names(&out), ["attributes.csv", "elements.csv", "variables.csv"]);
    let rows = fs::read_to_string(out.join("elements.csv")).unwrap();
    assert_eq!(rows.lines().count(), 23);
    assert_eq!(convert(&[]).0, Some(1));
    assert_eq!(convert(&["--force"]).0, Some(0));
    fs::write(out.join("thesis.tex"), "precious").unwrap();
    let (code, _, said) = convert(&["--force"]);
    assert_eq!(code, Some(1));
    assert!(said.contains("other things in it and is not replaced: thesis.tex"), "{said}");
    assert!(out.join("thesis.tex").exists());
}

#[test]
fn every_line_of_json_is_an_object() {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/bp/v1-2008-07-11");
    let file = data(SOUND);
    let commands: [&[&str]; 9] = [
        &["info"],
        &["ls"],
        &["ls", "-sa"],
        &["ls", "-A"],
        &["ls", "-t"],
        &["ls", "--records"],
        &["check"],
        &["dump"],
        &["dump", "-d", "*"],
    ];
    for command in commands {
        let path = if command[0] == "dump" { &file } else { &all };
        let (_, out, _) = run(kymo().args(command).arg("--json").arg(path));
        assert!(!out.is_empty(), "{command:?}");
        for line in out.lines() {
            let value: serde_json::Value = serde_json::from_str(line).unwrap();
            assert!(value.is_object(), "{command:?}: {line}");
        }
    }
    let (_, out, _) = run(kymo().args(["formats", "--json"]));
    assert!(out.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()));
}

#[test]
fn colours_are_for_terminals_and_for_those_who_ask() {
    let escape = '\u{1b}';
    for file in [SOUND, CUT] {
        let (_, out, said) = run(kymo().arg("info").arg(data(file)));
        assert!(!out.contains(escape) && !said.contains(escape));
    }
    let (_, out, _) = run(kymo().args(["info", "--color", "always"]).arg(data(SOUND)));
    assert!(out.contains(escape));
    let never = ["info", "--color", "never"];
    let (_, out, _) = run(kymo().args(never).env("CLICOLOR_FORCE", "1").arg(data(SOUND)));
    assert!(!out.contains(escape));
}

#[test]
fn quiet_leaves_errors_only() {
    let out = folder();
    let out = out.path().join("out.bp");
    let (code, _, said) = run(kymo().args(["repair", "-q"]).arg(data(CUT)).arg(&out));
    assert_eq!((code, said.as_str()), (Some(3), ""));
    let (code, _, said) = run(kymo().args(["ls", "-q"]).arg(data(CUT)));
    assert_eq!((code, said.lines().count()), (Some(1), 1));
}

#[test]
fn a_format_may_be_named_where_it_is_not_recognised() {
    let folder = folder();
    let file = folder.path().join("noise");
    fs::write(&file, [0xEE; 100]).unwrap();
    assert_eq!(run(kymo().arg("check").arg(&file)).0, Some(1));
    assert_eq!(run(kymo().args(["check", "--from", "bp"]).arg(&file)).0, Some(3));
}

#[test]
fn the_manual_has_a_page_for_every_command_and_shells_get_completions() {
    let folder = folder();
    let pages = folder.path().join("man1");
    assert_eq!(run(kymo().args(["man", "--dir"]).arg(&pages)).0, Some(0));
    let found = names(&pages);
    assert!(found.contains(&"kymo.1".to_owned()) && found.contains(&"kymo-dump.1".to_owned()));
    let (_, page, _) = run(kymo().args(["man", "dump"]));
    assert_eq!(page, fs::read_to_string(pages.join("kymo-dump.1")).unwrap());
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let (code, script, _) = run(kymo().args(["completions", shell]));
        assert_eq!(code, Some(0));
        assert!(script.contains("salvage"), "{shell}");
    }
}

#[test]
fn the_demonstration_leaves_its_recordings_and_replaces_nothing() {
    let folder = folder();
    let demo = folder.path().join("demo");
    let (code, out, said) = run(kymo().arg("demo").arg(&demo));
    assert_eq!((code, said.as_str()), (Some(0), ""));
    assert!(out.contains("What to try next"), "{out}");
    assert!(names(&demo).contains(&"plate.bp".to_owned()));
    assert_eq!(run(kymo().arg("demo").arg(&demo)).0, Some(1));
    assert_eq!(run(kymo().args(["demo", "--force"]).arg(&demo)).0, Some(0));
}

#[test]
fn the_readme_has_the_table_of_formats() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let (_, table, _) = run(kymo().args(["formats", "--markdown"]));
    let readme = fs::read_to_string(readme).unwrap();
    assert!(readme.contains(&table), "the README lacks what `kymo formats --markdown` prints");
}

#[test]
fn traces_of_measurements_are_chosen_and_named_as_their_profiles_are() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/measurements/matmul-omp");
    let (code, out, said) = run(kymo().args(["trace", "--json", "--thread", "3"]).arg(path));
    assert_eq!(code, Some(0), "{said}");
    assert!(!out.is_empty());
    for line in out.lines() {
        assert!(line.contains("\"NODE 0 [0x7f0100] / CORE 0 / THREAD 3\""), "{line}");
    }
}

/// `-n` means the same everywhere.
#[test]
fn states_and_trees_are_as_long_as_is_asked_for() {
    let robot = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/textlog/robot.txt");
    let database = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/hpcdb/matmul-omp");
    for (command, file) in [("states", &robot), ("tree", &database), ("callers", &database)] {
        let json = |options: &[&str]| {
            let (_, out, _) = run(kymo().args([command, "--json"]).args(options).arg(file));
            out.lines().map(str::to_owned).collect::<Vec<_>>()
        };
        let all = json(&[]);
        assert!(all.len() > 2, "{command}");
        assert_eq!(json(&["-n", "2"]), all[..2], "{command}");
        assert_eq!(json(&["-n", "0"]), all, "{command}");
        let (_, out, _) = run(kymo().args([command, "-n", "1"]).arg(file));
        assert!(out.contains("more (-n 0 shows all)"), "{command}: {out}");
    }
}

#[test]
fn classes_are_chosen_by_patterns() {
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/ctf/control");
    let count = |class: &str| {
        let words = ["dump", "--stream", "channel*", "--class", class];
        run(kymo().args(words).arg(&trace)).1.lines().count()
    };
    let (switches, wakings) = (count("sched_switch"), count("sched_waking"));
    assert!(switches > 0 && wakings > 0);
    assert_eq!(count("sched_*"), switches + wakings);
    assert_eq!(count("/^sched_s/"), switches);
    assert_eq!(count("*_entry,sched_switch"), count("irq_handler_entry") + switches);
}

/// A log set that is merged with itself has each task twice: one line each, with both.
#[test]
fn tasks_of_one_name_are_one_line_of_info() {
    let folder = folder();
    let log = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/bbbin/two_logs.bin");
    let twice = folder.path().join("twice.bin");
    let (_, _, said) = run(kymo().arg("merge").args([&log, &log]).arg("-o").arg(&twice));
    assert!(twice.exists(), "{said}");
    let (_, out, _) = run(kymo().args(["info", "--json"]).arg(&twice));
    let info: serde_json::Value = serde_json::from_str(&out).unwrap();
    let rows = info["sections"]["task_executions"].as_array().unwrap();
    assert_eq!(rows.len(), 4, "{rows:?}");
    let texts: Vec<_> = rows.iter().map(|row| row["value"].as_str().unwrap()).collect();
    assert!(texts.iter().all(|text| text.ends_with("%, 2 tasks of this name")), "{texts:?}");
}
