//! What holds of every command, whatever the file: what it reports `check` reports, and no name is too
//! long for it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{file, folder, kymo, names, run};
use kymo_bp::{Data, Dimension};
use kymo_conformance::{Folder, testdata};
use kymo_core::Source;
use kymo_core::bytes::Limits;
use kymo_hpcrun::ProfileBuilder;
use serde_json::Value;

/// A finding as a command prints it: rule, file within a directory, byte.
type Place = (String, Option<String>, Option<u64>);

/// Commands that read all of a file in one way or another; `-` stands for a file.
const COMMANDS: &[&[&str]] = &[
    &["info", "-"],
    &["ls", "-l", "-"],
    &["dump", "-"],
    &["top", "-"],
    &["tree", "-"],
    &["callers", "-f", "main", "-"],
    &["threads", "-"],
    &["trace", "-"],
    &["load", "-"],
    &["sched", "-"],
    &["messages", "-"],
    &["states", "-"],
    &["gantt", "-"],
    &["flame", "--folded", "-"],
    &["diff", "-", "-"],
];

#[test]
fn whatever_a_command_reports_check_reports() {
    let broken: Vec<_> = damaged().iter().flat_map(|path| unreported(path)).collect();
    assert!(broken.is_empty(), "check does not report what these do:\n{}", broken.join("\n"));
}

/// Zeros at some places of sound recordings: room that was not written, or was lost.
#[test]
fn whatever_a_command_reports_of_zeros_check_reports() {
    let folder = folder();
    let mut broken = Vec::new();
    for sample in ZEROED {
        let from = testdata(sample);
        let files: Vec<_> = if from.is_dir() { names(&from) } else { vec![String::new()] };
        for (file, place) in
            files.iter().flat_map(|file| (1..=ZEROS_PLACES).map(move |n| (file, n)))
        {
            let to = folder.path().join(Path::new(sample).file_name().unwrap());
            copy(&from, &to);
            let damaged = if file.is_empty() { to.clone() } else { to.join(file) };
            let mut bytes = fs::read(&damaged).unwrap();
            let at = (bytes.len() - ZEROS) * place / (ZEROS_PLACES + 1);
            bytes[at..at + ZEROS].fill(0);
            fs::write(&damaged, bytes).unwrap();
            let missing = unreported(&to).into_iter();
            broken.extend(missing.map(|line| format!("{file} zeros at {at:#x}: {line}")));
        }
    }
    assert!(broken.is_empty(), "check does not report what these do:\n{}", broken.join("\n"));
}

/// Sound recordings, so many zeros, and at how many places of a file.
const ZEROED: &[&str] = &[
    "ctf/control",
    "ctf/kinds2",
    "bbbin/two_logs.bin",
    "bbbin/classes.bin",
    "systemview/blinky.svdat",
    "ftrace/noirq.ftrace",
    "perf/control.perf",
    "textlog/levels.log",
    "textlog/pump.log",
    "hpcdb/tiny",
    "hpcrun/thread.hpcrun",
    "mcap/loose.mcap",
    "mcap/plain.mcap",
    "bp/v1-2008-07-11/06_timesteps.bp",
];
const ZEROS: usize = 8;
const ZEROS_PLACES: usize = 7;

fn copy(from: &Path, to: &Path) {
    if !from.is_dir() {
        fs::write(to, fs::read(from).unwrap()).unwrap();
        return;
    }
    fs::create_dir_all(to).unwrap();
    for name in names(from) {
        copy(&from.join(&name), &to.join(&name));
    }
}

/// What commands report of a file and `check` does not.
fn unreported(path: &Path) -> Vec<String> {
    let (checks, checked) = checked(path);
    let mut broken = Vec::new();
    if let Some(said) = repaired_as_sound(path).filter(|_| checks == Some(3)) {
        broken.push(format!("repair {}: {said}", path.display()));
    }
    for command in COMMANDS {
        let arguments = command.iter().map(|word| match *word {
            "-" => path.as_os_str(),
            word => word.as_ref(),
        });
        let (code, _, said) = run(kymo().args(arguments));
        assert!(matches!(code, Some(0 | 1 | 3)), "{} {}: {said}", command[0], path.display());
        let places = said.lines().filter_map(place).map(|found| unnamed(found, path));
        let missing: Vec<_> = places.filter(|place| !checked.contains(place)).collect();
        // What is found is an exit code of both.
        if code == Some(3) && checks == Some(0) {
            broken.push(format!("{} {}: exits 3: {said}", command[0], path.display()));
        }
        if !missing.is_empty() {
            broken.push(format!("{} {}: {missing:?}", command[0], path.display()));
        }
    }
    broken
}

/// What `repair` says of a file in which it finds nothing wrong.
fn repaired_as_sound(path: &Path) -> Option<String> {
    let folder = folder();
    let to = folder.path().join(path.file_name().unwrap());
    let (code, _, said) = run(kymo().arg("repair").arg(path).arg(to));
    (code == Some(0)).then_some(said)
}

/// The damaged samples of all formats.
fn damaged() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for format in kymo_registry::formats() {
        let root = testdata(format.info().name);
        for folder in ["bad", "malformed"] {
            collect(&root.join(folder), &mut found);
        }
    }
    assert!(found.len() > 50, "{} damaged samples", found.len());
    found
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = folder.read_dir() else { return };
    let mut entries: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        // A directory with metadata is one recording.
        if path.is_dir() && !path.join("metadata").exists() && !path.join("meta.db").exists() {
            collect(&path, found);
        } else if path.extension().is_none_or(|extension| extension != "md") {
            found.push(path);
        }
    }
}

/// The exit code of `check`, and what it reports.
fn checked(path: &Path) -> (Option<i32>, BTreeSet<Place>) {
    let (code, out, _) = run(kymo().args(["check", "--json"]).arg(path));
    let finding = |line: &str| {
        let found: Value = serde_json::from_str(line).unwrap();
        let text = |key: &str| found[key].as_str().map(str::to_owned);
        Some((text("rule")?, text("part"), found["offset"].as_u64()))
    };
    (code, out.lines().filter_map(finding).map(|found| unnamed(found, path)).collect())
}

/// The same without the name of the file itself: one of a measurement is named as the directory that it
/// would be in does.
fn unnamed((rule, part, offset): Place, path: &Path) -> Place {
    let own_name = path.file_name().and_then(|name| name.to_str());
    (rule, part.filter(|part| Some(part.as_str()) != own_name), offset)
}

/// The place in a line such as `kymo: FILE: warning RULE in PART at 0x1f: MESSAGE`.
fn place(line: &str) -> Option<Place> {
    let (_, said) = line.split_once(": warning ").or_else(|| line.split_once(": error "))?;
    let (head, _) = said.split_once(": ")?;
    let (head, offset) = match head.split_once(" at 0x") {
        Some((head, offset)) => (head, Some(u64::from_str_radix(offset, 16).ok()?)),
        None => (head, None),
    };
    let (rule, part) = match head.split_once(" in ") {
        Some((rule, part)) => (rule, Some(part.to_owned())),
        None => (head, None),
    };
    let is_letter = |b: u8| b == b'-' || b.is_ascii_lowercase() || b.is_ascii_digit();
    let is_rule = !rule.is_empty() && rule.bytes().all(is_letter);
    is_rule.then(|| (rule.to_owned(), part, offset))
}

#[test]
fn places_are_read_from_what_commands_print() {
    let line = "kymo: a.db: error context-parent in meta.db at 0x1f: parent 9 is not a context";
    let expected = ("context-parent".to_owned(), Some("meta.db".to_owned()), Some(31));
    assert_eq!(place(line), Some(expected));
    assert_eq!(place("kymo: a.db: 3 errors: 2 notes"), None);
    let line = "kymo: a.db: warning utf-8 at 0x2: it is no UTF-8";
    assert_eq!(place(line), Some(("utf-8".to_owned(), None, Some(2))));
    let folder = folder();
    assert_eq!(checked(&folder.path().join("none")), (Some(1), BTreeSet::new()));
}

/// Longer than what a width of 16 bits holds.
const LONG: usize = 70_000;

/// Recordings with such a name wherever their formats have one.
fn long_names(folder: &Path) -> Vec<PathBuf> {
    let name = |letter: &str| letter.repeat(LONG);
    let [a, b, c] = ["a", "b", "c"].map(name);
    let at = |file: &str| folder.join(file);
    let text = |file: &str, from: &str, to: &str| {
        let text = fs::read_to_string(testdata(file)).unwrap();
        // A format of text is told by its first lines, as far as they are looked at.
        let start: usize = text.split_inclusive('\n').take(5).map(str::len).sum();
        let (head, rest) = text.split_at(start);
        assert!(rest.contains(from), "{file} has no {from}");
        let path = at(Path::new(file).file_name().unwrap().to_str().unwrap());
        fs::write(&path, head.to_owned() + &rest.replace(from, to)).unwrap();
        path
    };
    let log = at("run.log");
    let lines = [
        format!("0 {a} runs\n1 {a} sends {c} to {b}\n2 {b} runs\n3 {b} gets {c} from {a}\n"),
        format!("4 {a} is {b}\n5 {a} is {c}\n6 {c}=7\n"),
    ];
    fs::write(&log, format!("{GRAMMAR}{}", lines.concat())).unwrap();
    let mut made = vec![
        text("ftrace/noirq.ftrace", "logger", &a),
        text("perf/control.perf", "migration/0", &a),
        log.clone(),
    ];
    for extension in ["rtc", "mcap", "bbbin"] {
        let to = at("run").with_extension(extension);
        let (code, _, said) = run(kymo().arg("convert").args([&log, &to]));
        // MCAP's times should count from the Epoch, and these do not: a warning.
        let expected = if extension == "mcap" { 3 } else { 0 };
        assert_eq!(code, Some(expected), "{}", &said[..said.len().min(500)]);
        made.push(to);
    }
    made.push(file(&at("long.bp"), |writer| {
        writer.scalar(&format!("/{a}"), &b, Data::Int(&[1])).unwrap();
        writer.group_attribute(&format!("/{a}"), &c, Data::String(&a)).unwrap();
        let shape = [Dimension::local(2)];
        writer.dataset(&format!("/{a}"), &c, &shape, Data::Double(&[1.0, 2.0])).unwrap();
    }));
    let measured = at("hpctoolkit-long-measurements");
    fs::create_dir(&measured).unwrap();
    let mut builder = ProfileBuilder::new(&a);
    let module = builder.load_module(&format!("/none/{b}"), None).unwrap();
    let metric = builder.metric(&c, &a, true).unwrap();
    let leaf = builder.child(ProfileBuilder::ROOT, module, 0x1187);
    builder.add(leaf, metric, 1.0);
    let mut bytes = Vec::new();
    builder.write(&mut bytes).unwrap();
    fs::write(measured.join("long-000000-000-1-2-0.hpcrun"), bytes).unwrap();
    let database = at("long.db");
    let (code, _, said) = run(kymo().arg("prof").arg(&measured).arg("-o").arg(&database));
    // The module is nowhere: its function stays unknown, which is a warning.
    assert_eq!(code, Some(3), "{}", &said[..said.len().min(500)]);
    made.extend([measured, database, long_trace(&at("trace"), &a)]);
    made
}

/// A log whose tasks, messages, machines, states and classes may have any name.
const GRAMMAR: &str = r"# kymo log
# time = 'ms'
# [[line]]
# match = '^(?<time>\d+) (?<task>\S+) runs$'
# class = 'switch'
# [[line]]
# match = '^(?<time>\d+) (?<task>\S+) sends (?<message>\S+) to (?<peer>\S+)$'
# class = 'send'
# [[line]]
# match = '^(?<time>\d+) (?<task>\S+) gets (?<message>\S+) from (?<peer>\S+)$'
# class = 'receive'
# [[line]]
# match = '^(?<time>\d+) (?<task>\S+) is (?<state>\S+)$'
# class = 'enter'
# [[line]]
# match = '^(?<time>\d+) (?<task>\S+)=(?<value>\d+)$'
";

/// A CTF trace in which the name of a field and that of an event are long.
fn long_trace(to: &Path, name: &str) -> PathBuf {
    fs::create_dir(to).unwrap();
    let from = testdata("ctf/control");
    for file in names(&from) {
        let bytes = fs::read(from.join(&file)).unwrap();
        fs::write(to.join(&file), bytes).unwrap();
    }
    // The metadata is one packet; as text it needs no sizes.
    let metadata = fs::read(from.join("metadata")).unwrap();
    let metadata = String::from_utf8_lossy(&metadata);
    let metadata = metadata[metadata.find("/* CTF 1.8 */").unwrap()..].trim_end_matches('\0');
    let metadata = ["\"board\"", "\"sched_switch\"", "_next_comm"].iter().fold(
        metadata.to_owned(),
        |text, old| {
            assert!(text.contains(old), "{old}");
            text.replace(old, &old.replacen(char::is_alphabetic, name, 1))
        },
    );
    fs::write(to.join("metadata"), metadata).unwrap();
    to.to_owned()
}

/// Runs the conformance kit's walk through all that a format gives of a recording.
fn survive(path: &Path) {
    let bytes = if path.is_dir() { Folder::read(path).packed() } else { fs::read(path).unwrap() };
    let source = Source::open(path, &Limits::default()).unwrap();
    let found = kymo_registry::detect(&source);
    let found = found.unwrap_or_else(|_| panic!("{} is not recognised", path.display()));
    kymo_conformance::survive(found.format, &bytes);
}

#[test]
fn every_command_works_on_names_of_any_length() {
    let folder = folder();
    let [page, picture, graph] =
        ["out.html", "out.svg", "flame.svg"].map(|name| folder.path().join(name));
    for path in long_names(folder.path()) {
        survive(&path);
        let drawn = [("report", &page), ("flame", &graph), ("gantt", &picture)];
        let drawn = drawn.map(|(name, out)| vec![name, "-f", "-o", out.to_str().unwrap(), "-"]);
        let converted =
            ["csv", "jsonl"].map(|to| vec!["convert", "--to", to, "--table", "all", "-"]);
        let all = COMMANDS.iter().map(|words| words.to_vec()).chain(drawn).chain(converted);
        for command in all {
            let file = |word: &&str| match *word {
                "-" => path.as_os_str().to_owned(),
                word => OsString::from(word),
            };
            let mut program = kymo();
            program.args(command.iter().map(file));
            if command[0] == "convert" {
                program.arg(folder.path().join(format!("{}-tables", command[2]))).arg("-f");
            }
            // Nothing that a terminal could not be wide enough for.
            for columns in ["80", "0"] {
                let (code, _, said) = run(program.env("COLUMNS", columns));
                let said = said.chars().take(500).collect::<String>();
                let is_read = matches!(code, Some(0 | 3));
                let has_no_such = code == Some(1) && command[0] != "info";
                let is_answer = (is_read || has_no_such) && !said.contains("panicked");
                assert!(is_answer, "{} {}: {code:?} {said}", command[0], path.display());
            }
        }
    }
}
