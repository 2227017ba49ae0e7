//! The C interface, used by a C program that is compiled here.
#![cfg(unix)]

use crate::independent;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs};

use crate::independent::Sum;

const CRATE: &str = env!("CARGO_MANIFEST_DIR");

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}\n{errors}");
    output
}

/// The static library, which is built together with this test and stands beside it.
fn library() -> PathBuf {
    let library = env::current_exe().unwrap().with_file_name("libkymo_recorder.a");
    assert!(library.exists(), "there is no {}", library.display());
    library
}

fn compile(source: &Path, program: &Path) {
    run(Command::new(env::var_os("CC").unwrap_or_else(|| "cc".into()))
        .args(["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I"])
        .arg(Path::new(CRATE).join("include"))
        .arg(source)
        .arg(library())
        .args(["-lpthread", "-ldl", "-lm", "-o"])
        .arg(program));
}

#[test]
fn the_example_records_what_it_says() {
    let folder = tempfile::tempdir().unwrap();
    let (program, file) = (folder.path().join("recorder"), folder.path().join("run.rtc"));
    compile(&Path::new(CRATE).join("examples/recorder.c"), &program);
    let said = run(Command::new(&program).arg(&file)).stdout;
    assert_eq!(
        String::from_utf8(said).unwrap(),
        "refused: a message of 1 bytes in a stream whose messages have 2\n"
    );

    let bytes = fs::read(&file).unwrap();
    let session = independent::session(&bytes, Sum::Ieee);
    assert_eq!(session.end, bytes.len());
    assert_eq!(session.units[0].crc, Some(true));
    let temperature: Vec<_> = (2000..3000_i16).map(|value| value.to_ne_bytes().to_vec()).collect();
    assert_eq!(session.of("temperature"), temperature);
    assert_eq!(session.of("log"), [b"warming up"]);
    assert_eq!(session.of("clk").len(), 1);
    assert_eq!(session.of("clk delta").len(), 1000, "the first sample has the log's time");
    assert_eq!(session.of("stdout"), [&b"2000\n20"[..], b"01\n"]);
    let output = session.streams.values().find(|meta| meta["name"] == "stdout").unwrap();
    assert_eq!(output["cont"], true);
    let remark = &session.of("remarks")[0];
    assert_eq!(remark[..8], 1_700_000_000_u64.to_ne_bytes());
    assert_eq!(&remark[12..], b"the door was open");
    let meta = session.streams.values().find(|meta| meta["name"] == "temperature").unwrap();
    assert_eq!((meta["unit"].as_str(), meta["gain"].as_f64()), (Some("°C"), Some(0.01)));
}

#[test]
fn a_file_that_cannot_be_made_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("recorder");
    compile(&Path::new(CRATE).join("examples/recorder.c"), &program);
    let output = Command::new(&program).arg("/no/such/folder/run.rtc").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("No such file"), "{said}");
}
