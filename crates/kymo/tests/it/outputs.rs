//! What is never written over: the input, devices, pipes, and files where a folder is to be.
#![cfg(unix)]

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

use crate::support::{data, folder, kymo, names, run};
use kymo_conformance::testdata;

const SOUND: &str = "v1-2008-07-11/06_timesteps.bp";

#[test]
fn convert_never_writes_over_its_input() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("inner")).unwrap();
    fs::copy(data(SOUND), at("inner/file.bp")).unwrap();
    fs::hard_link(at("inner/file.bp"), at("hard.csv")).unwrap();
    symlink(at("inner/file.bp"), at("soft.csv")).unwrap();
    fs::create_dir(at("linked")).unwrap();
    fs::hard_link(at("inner/file.bp"), at("linked/elements.csv")).unwrap();
    let convert = |output: &str| {
        let mut command = kymo();
        command.args(["convert", "--force", "--to", "csv"]);
        run(command.arg(at("inner/file.bp")).arg(at(output)))
    };
    for output in ["inner/file.bp", "inner/../inner/file.bp", "hard.csv", "soft.csv"] {
        let (code, _, said) = convert(output);
        assert_eq!(code, Some(1), "{output}: {said}");
        assert!(said.contains("the output is the input"), "{output}: {said}");
    }
    for output in ["inner", "inner/", ".", "linked"] {
        let (code, _, said) = convert(output);
        assert_eq!(code, Some(1), "{output}: {said}");
        assert!(said.contains("a directory with the input in it"), "{output}: {said}");
    }
    // The same where the input comes through standard input.
    let mut piped = kymo();
    piped.args(["convert", "--force", "--to", "csv", "-"]).arg(at("hard.csv"));
    let (code, _, said) = run(piped.stdin(File::open(at("inner/file.bp")).unwrap()));
    assert!(code == Some(1) && said.contains("the output is the input"), "{said}");
    assert_eq!(fs::read(at("inner/file.bp")).unwrap(), fs::read(data(SOUND)).unwrap());
    assert!(at("soft.csv").is_symlink());
    assert_eq!(names(&at("linked")), ["elements.csv"]);
}

#[test]
fn a_folder_does_not_take_the_place_of_a_file() {
    let folder = folder();
    let file = folder.path().join("precious");
    fs::write(&file, "precious").unwrap();
    let mut demo = kymo();
    demo.args(["demo", "--force"]).arg(&file);
    let mut tables = kymo();
    tables.args(["convert", "--force", "--to", "csv", "--table", "all"]);
    tables.arg(data(SOUND)).arg(&file);
    for command in [&mut demo, &mut tables] {
        let (code, _, said) = run(command);
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains("precious: it is no directory and is not replaced"), "{said}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "precious");
    }
}

#[test]
fn a_device_is_written_to_and_stays_what_it_is() {
    for force in [&[][..], &["--force"]] {
        let mut convert = kymo();
        convert.args(["convert", "--to", "csv"]).args(force).arg(data(SOUND)).arg("/dev/null");
        let mut repair = kymo();
        repair.arg("repair").args(force).arg(data(SOUND)).arg("/dev/null");
        for command in [&mut convert, &mut repair] {
            let (code, out, said) = run(command);
            assert_eq!((code, out.as_str()), (Some(0), ""), "{said}");
        }
    }
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    let (code, _, said) =
        run(kymo().args(["convert", "--to", "csv"]).arg(data(SOUND)).arg("/dev/full"));
    assert_eq!(code, Some(1));
    assert!(said.starts_with("kymo: /dev/full: cannot write: no space left"), "{said}");
}

#[test]
fn a_named_pipe_gets_what_standard_output_would() {
    let folder = folder();
    let pipe = folder.path().join("pipe.csv");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let through_pipe = |command: &str, arguments: &[&str]| {
        let mut child =
            kymo().arg(command).args(arguments).arg(data(SOUND)).arg(&pipe).spawn().unwrap();
        let mut found = Vec::new();
        File::open(&pipe).unwrap().read_to_end(&mut found).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0));
        found
    };
    let (_, expected, _) = run(kymo().args(["convert", "--to", "csv"]).arg(data(SOUND)).arg("-"));
    assert_eq!(through_pipe("convert", &["--force"]), expected.as_bytes());
    assert_eq!(through_pipe("repair", &["-q"]), fs::read(data(SOUND)).unwrap());
    assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
    assert_eq!(names(folder.path()), ["pipe.csv"]);
}

#[test]
fn a_socket_is_refused() {
    let folder = folder();
    let socket = folder.path().join("socket.csv");
    let _listener = UnixListener::bind(&socket).unwrap();
    for command in ["convert", "repair"] {
        let (code, _, said) = run(kymo().args([command, "--force"]).arg(data(SOUND)).arg(&socket));
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains("socket.csv: it is no file, no device"), "{said}");
    }
    assert!(Path::new(&socket).metadata().unwrap().file_type().is_socket());
}

/// What `--force` must not overwrite: a file within an input directory, and what is read beside an
/// input or named with it.
#[test]
fn no_part_of_an_input_is_written_over() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    copy_folder(&testdata("ctf/control"), &at("trace"));
    copy_folder(&testdata("hpcdb/tiny"), &at("tiny.db"));
    fs::copy(testdata("textlog/robot.txt"), at("robot.txt")).unwrap();
    for grammar in ["robot.txt.toml", "named.toml"] {
        fs::copy(testdata("textlog/robot.txt.toml"), at(grammar)).unwrap();
    }
    let stream = first_stream(&at("trace"));
    let named = at("named.toml");
    let grammar_named = ["--from", "textlog", "--grammar", named.to_str().unwrap()];
    for (input, output, more) in [
        ("trace", stream.as_str(), &["convert", "--to", "rtc"][..]),
        ("trace", "trace/metadata", &["report", "-o"]),
        ("tiny.db", "tiny.db/meta.db", &["flame", "-o"]),
        ("tiny.db", "tiny.db/profile.db", &["convert", "--to", "csv", "--table", "contexts"]),
        ("robot.txt", "robot.txt.toml", &["convert", "--from", "textlog", "--to", "rtc"]),
        ("robot.txt", "named.toml", &[&["convert", "--to", "rtc"], &grammar_named[..]].concat()),
    ] {
        let before = fs::read(at(output)).unwrap();
        let (option, arguments) = match more.split_last() {
            Some((&"-o", rest)) => (Some("-o"), rest),
            _ => (None, more),
        };
        let mut command = kymo();
        command.args(arguments).arg("--force").arg(at(input)).args(option).arg(at(output));
        let (code, _, said) = run(&mut command);
        assert_eq!(code, Some(1), "{command:?}: {said}");
        assert!(said.contains("output"), "{command:?}: {said}");
        assert_eq!(fs::read(at(output)).unwrap(), before, "{command:?}");
    }
}

/// What belongs to the recording that a file was named of stays, also where nothing of it was read.
#[test]
fn no_file_of_the_same_recording_is_written_over() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    copy_folder(&testdata("ctf/control"), &at("trace"));
    copy_folder(&testdata("hpcdb/tiny"), &at("tiny.db"));
    let stream = first_stream(&at("trace"));
    for (input, output, to) in [
        ("trace/metadata", stream.as_str(), "rtc"),
        ("tiny.db/meta.db", "tiny.db/profile.db", "csv"),
        ("tiny.db/profile.db", "tiny.db/meta.db", "csv"),
    ] {
        let before = fs::read(at(output)).unwrap();
        let mut command = kymo();
        command.args(["convert", "--force", "--to", to]).arg(at(input)).arg(at(output));
        let (code, _, said) = run(&mut command);
        assert_eq!(code, Some(1), "{command:?}: {said}");
        assert_eq!(fs::read(at(output)).unwrap(), before, "{command:?}: {said}");
    }
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for name in names(from) {
        fs::copy(from.join(&name), to.join(&name)).unwrap();
    }
}

/// A stream of a trace in a folder `trace`, by its path.
fn first_stream(trace: &Path) -> String {
    let name = names(trace).into_iter().find(|name| name != "metadata");
    format!("trace/{}", name.unwrap())
}
