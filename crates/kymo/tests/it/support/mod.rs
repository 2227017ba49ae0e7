//! What the tests of the program share: the program, small files, and a large one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use kymo_bp::{Data, Dimension, Options, Writer};
use tempfile::TempDir;

/// The program, with no colour asked for and nothing on its standard input.
pub(crate) fn kymo() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kymo"));
    command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").stdin(Stdio::null());
    command
}

/// The program with every signal at its default, for tests that send one.
///
/// Jobs of scripts and `nohup` ignore SIGINT, and a program inherits that. To set it back in a child
/// takes `unsafe` in Rust, which the workspace denies, and POSIX shells may not; `env` of GNU does it.
pub(crate) fn kymo_with_default_signals() -> Command {
    let mut command = Command::new("env");
    command.args(["--default-signal", env!("CARGO_BIN_EXE_kymo")]).stdin(Stdio::null());
    command
}

/// What a run gave: exit code, standard output, standard error.
pub(crate) fn run(command: &mut Command) -> (Option<i32>, String, String) {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// A file of what is written to it.
pub(crate) fn file(path: &Path, write: impl FnOnce(&mut Writer<Vec<u8>>)) -> PathBuf {
    let mut writer = Writer::new(Vec::new(), Options::default());
    write(&mut writer);
    fs::write(path, writer.finish().unwrap()).unwrap();
    path.to_owned()
}

/// A file of the repository's test data.
pub(crate) fn data(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/bp").join(file)
}

pub(crate) fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// A file with so many steps of an array, 64 KiB each.
pub(crate) fn large(path: &Path, steps: u16) {
    let values: Vec<f32> = (0..1_u16 << 14).map(|i| f32::from(i) / 8.0).collect();
    let shape = [Dimension::local(128), Dimension::local(128)];
    let mut writer = Writer::new(Vec::new(), Options::default());
    for _ in 0..steps {
        writer.dataset("/fields", "phi", &shape, Data::Float(&values)).unwrap();
    }
    fs::write(path, writer.finish().unwrap()).unwrap();
}

/// A file of scalars, by path and name, each written so often.
pub(crate) fn scalars(path: &Path, variables: &[(&str, &str, i32)]) {
    let mut writer = Writer::new(Vec::new(), Options::default());
    for (group, name, steps) in variables {
        for step in 0..*steps {
            writer.scalar(group, name, Data::Int(&[step])).unwrap();
        }
    }
    fs::write(path, writer.finish().unwrap()).unwrap();
}

/// The names in a folder, sorted.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
