//! Pipes, files that change under the reader, and kills.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use crate::support::{data, folder, kymo, large, names, run};

#[test]
fn standard_input_may_be_a_pipe_or_a_file() {
    let file = data("v1-2008-07-11/06_timesteps.bp");
    let redirected = run(kymo().args(["ls", "-l", "-"]).stdin(File::open(&file).unwrap()));
    assert_eq!(redirected.0, Some(0));
    assert!(redirected.1.contains("5*{2, 3}"), "{}", redirected.1);
    let mut cat = std::process::Command::new("cat").arg(&file).stdout(Stdio::piped()).spawn();
    let pipe = cat.as_mut().unwrap().stdout.take().unwrap();
    let piped = run(kymo().args(["ls", "-l", "-"]).stdin(pipe));
    cat.unwrap().wait().unwrap();
    assert_eq!(piped, redirected);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let folder = folder();
    let file = folder.path().join("large.bp");
    large(&file, 8);
    for command in [&["dump"][..], &["dump", "--json"], &["dump", "-d", "phi"]] {
        let mut child = kymo()
            .args(command)
            .arg(&file)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(!line.is_empty());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{command:?}");
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "", "{command:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_output_that_is_full_is_a_failure_that_is_named() {
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let file = data("v1-2008-07-11/06_timesteps.bp");
    let output = kymo().arg("dump").arg(&file).arg(&file).stdout(full).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(said.starts_with("kymo: standard output: cannot write: "), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[cfg(unix)]
#[test]
fn a_file_that_is_cut_while_it_is_dumped_is_a_failure_and_no_signal() {
    let folder = folder();
    let file = folder.path().join("large.bp");
    large(&file, 64);
    let mut child = kymo()
        .arg("dump")
        .arg(&file)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    // Once a line is here, the program waits for its pipe with most of the file still ahead.
    out.read_line(&mut String::new()).unwrap();
    OpenOptions::new().write(true).open(&file).unwrap().set_len(4096).unwrap();
    out.read_to_end(&mut Vec::new()).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("the file shrank while it was being read"), "{said}");
    assert!(said.contains("large.bp: "), "{said}");
}

#[cfg(unix)]
#[test]
fn a_kill_leaves_nothing_half_written() {
    let folder = folder();
    let file = folder.path().join("large.bp");
    large(&file, 512);
    for (command, extension) in [("repair", "bp"), ("convert", "csv")] {
        let [whole, out] = ["whole", "out"].map(|name| folder.path().join(name));
        let [whole, out] = [whole, out].map(|path| path.with_extension(extension));
        assert_eq!(run(kymo().arg(command).arg(&file).arg(&whole)).0, Some(0));
        let mut child =
            kymo().arg(command).arg(&file).arg(&out).stderr(Stdio::null()).spawn().unwrap();
        // Waits for the temporary file, so that the kill comes while it is written.
        let is_writing = || names(folder.path()).iter().any(|name| name.starts_with(".kymo-"));
        while !is_writing() && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // A kill that came too late finds the whole file.
        assert!(!out.exists() || fs::read(&out).unwrap() == fs::read(&whole).unwrap());
    }
}
