//! What `kymo prof` makes no database of, and what it says to that.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{data, folder, kymo, run};

/// A measurement of one thread, in a directory of its own.
fn measurement(folder: &Path) -> PathBuf {
    let path = folder.join("measurements");
    fs::create_dir(&path).unwrap();
    fs::copy(data("../hpcrun/thread.hpcrun"), path.join("app-000000-000-0-1-0.hpcrun")).unwrap();
    path
}

/// What is said to an input, with what was asked for besides.
fn said_to(input: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = input.with_file_name("database");
    let (code, _, said) = run(kymo().arg("prof").args(arguments).arg("-o").arg(output).arg(input));
    (code, said)
}

#[test]
fn that_no_profile_can_be_read_is_said_with_the_reason_also_when_quiet() {
    let folder = folder();
    let path = measurement(folder.path());
    let profile = path.join("app-000000-000-0-1-0.hpcrun");
    let bytes = fs::read(&profile).unwrap();
    fs::write(&profile, bytes.get(..100).unwrap()).unwrap();
    for arguments in [&[][..], &["-q"]] {
        let (code, said) = said_to(&path, arguments);
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains("error profile in app-000000-000-0-1-0.hpcrun at 0x"), "{said}");
        assert!(said.contains("none of its profiles can be read"), "{said}");
        assert_eq!(said.contains("kymo repair"), arguments.is_empty(), "{said}");
    }
}

#[test]
fn what_is_no_measurement_is_called_what_it_is() {
    let folder = folder();
    let path = measurement(folder.path());
    // What this machine has of the libraries may not be verified, which is a note.
    let (code, said) = said_to(&path, &["--no-traces"]);
    assert!(code == Some(0) && !said.contains("warning"), "{said}");
    let database = path.with_file_name("database");
    let (code, _, said) =
        run(kymo().args(["prof", "-o"]).arg(path.with_file_name("x")).arg(&database));
    assert_eq!(code, Some(1));
    assert!(said.contains("it is made of measurements already: HPCToolkit database"), "{said}");
    assert!(said.contains("kymo top"), "{said}");

    let trace = folder.path().join("app.hpctrace");
    fs::copy(data("../hpcrun/cpu.hpctrace"), &trace).unwrap();
    let (code, said) = said_to(&trace, &[]);
    assert_eq!(code, Some(1));
    assert!(said.contains("name the .hpcrun file beside it"), "{said}");

    let strange = folder.path().join("strange");
    for (bytes, words) in [
        (&b"root:x:0:0::/root:/bin/sh\n"[..], "this is plain text, and no measurement"),
        (&[0xee; 100], "it is no measurement"),
    ] {
        fs::write(&strange, bytes).unwrap();
        let (code, said) = said_to(&strange, &[]);
        assert!(code == Some(1) && said.contains(words) && said.contains("hpcrun"), "{said}");
        assert!(!said.contains("--grammar") && !said.contains("--from"), "{said}");
    }

    let empty = folder.path().join("empty");
    fs::create_dir(&empty).unwrap();
    assert!(said_to(&empty, &[]).1.contains("it is an empty directory"));
    fs::write(empty.join("notes.txt"), "").unwrap();
    assert!(said_to(&empty, &[]).1.contains("there is no .hpcrun file in it"));
    fs::copy(&trace, empty.join("app.hpctrace")).unwrap();
    assert!(said_to(&empty, &[]).1.contains("there are traces in it, and no .hpcrun file"));

    let part = said_to(&database.join("profile.db"), &[]).1;
    assert!(part.contains("it is one file of a database"), "{part}");
    let structure = folder.path().join("app.hpcstruct");
    fs::write(&structure, "<HPCToolkitStructure/>").unwrap();
    assert!(said_to(&structure, &[]).1.contains("-S names such files"));
}

#[cfg(unix)]
#[test]
fn a_link_to_a_database_is_called_a_link() {
    let folder = folder();
    let path = measurement(folder.path());
    assert_eq!(said_to(&path, &["--no-traces"]).0, Some(0));
    let link = folder.path().join("link");
    std::os::unix::fs::symlink("database", &link).unwrap();
    let (code, _, said) = run(kymo().args(["prof", "-f", "-o"]).arg(&link).arg(&path));
    assert_eq!(code, Some(1));
    assert!(said.contains("link is a symbolic link"), "{said}");
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
}

#[test]
fn where_a_module_was_looked_for_is_said() {
    let folder = folder();
    let path = measurement(folder.path());
    let (_, out, _) =
        run(kymo().args(["prof", "--json", "-o"]).arg(path.with_file_name("a")).arg(&path));
    let made: serde_json::Value = serde_json::from_str(&out).unwrap();
    let module = made["without_names"][0]["module"].as_str().unwrap().to_owned();
    assert_eq!(made["without_names"][0]["why"], "it is not there");
    let replace = format!("{module}=/nowhere/else");
    let output = path.with_file_name("b");
    let (_, out, _) =
        run(kymo().args(["prof", "--json", "-R", &replace, "-o"]).arg(output).arg(&path));
    let made: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(made["without_names"][0]["why"], "it is not there, nor at /nowhere/else");
}

#[test]
fn what_is_read_besides_measurements_is_not_written_over() {
    let folder = folder();
    let input = measurement(folder.path());
    let (structure, database) = (folder.path().join("structure"), folder.path().join("database"));
    fs::create_dir(&structure).unwrap();
    fs::write(structure.join("a.hpcstruct"), "<x/>").unwrap();
    let mut prof = kymo();
    prof.args(["prof", "-S"]).arg(&structure).arg("-o").arg(structure.join("db")).arg(&input);
    let (code, _, said) = run(&mut prof);
    assert!(code == Some(1) && said.contains("the output lies in the input"), "{said}");
    let (code, said) = said_to(&input, &[]);
    assert!(matches!(code, Some(0 | 3)), "{said}");
    // Sources are looked for in the database that would be replaced.
    fs::create_dir_all(database.join("src")).unwrap();
    let sources = format!("/builds={}", database.join("src").display());
    let (code, said) = said_to(&input, &["--force", "-R", &sources]);
    let expected = "the output is a directory with the input in it";
    assert!(code == Some(1) && said.contains(expected), "{said}");
    assert!(database.join("src").exists());
}
