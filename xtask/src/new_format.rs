//! `cargo xtask new-format`: the folder and the lines that a format costs.
//!
//! What it makes is a small format that works, with every file that a format has and in the same
//! place (ARCHITECTURE.md). The author reshapes it; `docs/adding-a-format.md` says in which order.

use std::fs;

use anyhow::{Context, Result, ensure};

use crate::repo::{self, Repo};

/// Which format to make.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The name for `--from` and the folder: small letters and digits.
    name: String,
}

/// A file of the crate, and its template at the same place.
macro_rules! of_crate {
    ($path:literal) => {
        (concat!("formats/{{name}}/", $path), include_str!(concat!("../templates/format/", $path)))
    };
}

/// The files to make: the path from the root, and the text. Both have placeholders.
const TEMPLATES: [(&str, &str); 12] = [
    of_crate!("Cargo.toml"),
    of_crate!("src/lib.rs"),
    of_crate!("src/spec.rs"),
    of_crate!("src/types.rs"),
    of_crate!("src/read.rs"),
    of_crate!("src/write.rs"),
    of_crate!("src/check.rs"),
    of_crate!("src/tables.rs"),
    of_crate!("src/model.rs"),
    of_crate!("src/dataset.rs"),
    of_crate!("tests/conformance.rs"),
    ("docs/formats/{{name}}.md", include_str!("../templates/page.md")),
];

/// Adds a format to the text of a list; nothing when the place for it is not found.
type Add = fn(&str, &Names) -> Option<String>;

/// The lists that a format is added to.
const LISTS: [(&str, Add); 4] = [
    ("testdata/README.md", add_to_test_files),
    ("Cargo.toml", add_to_workspace),
    ("crates/registry/Cargo.toml", add_dependency),
    ("crates/registry/src/lib.rs", add_to_registry),
];

/// Makes the files, adds the format to the lists, and has its tests write their golden files.
pub(crate) fn run(repo: &Repo, args: &Args) -> Result<()> {
    let names = Names::new(&args.name)?;
    let folder = repo.path(&names.fill("formats/{{name}}"));
    ensure!(!folder.exists(), "it exists: {}", folder.display());
    for (path, text) in TEMPLATES {
        write(repo, &names.fill(path), names.fill(text).as_bytes())?;
    }
    for (path, bytes) in test_files(&names) {
        write(repo, &names.fill(path), &bytes)?;
    }
    for (path, change) in LISTS {
        edit(repo, path, |text| change(text, &names))?;
    }
    let package = names.fill("kymo-{{name}}");
    repo::run(&mut repo.cargo(["fmt", "--package", &package, "--package", "kymo-registry"]))?;
    repo::run(repo.cargo(["test", "--package", &package]).env("BLESS", "1"))?;
    let next = "now make formats/{{name}} your own, as docs/adding-a-format.md says";
    println!("{}", names.fill(next));
    Ok(())
}

/// The ways in which a format's name is written.
#[derive(Debug)]
struct Names {
    /// `ctf`
    name: String,
    /// `Ctf`
    type_name: String,
    /// Eight bytes that a file starts with, as one writes them in Rust.
    magic: String,
}

impl Names {
    fn new(name: &str) -> Result<Self> {
        let starts_well = name.starts_with(|c: char| c.is_ascii_lowercase());
        let goes_on_well = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
        ensure!(
            starts_well && goes_on_well,
            "a format's name is a small letter, then small letters and digits, not `{name}`"
        );
        let upper = name.to_ascii_uppercase();
        let (first, _) = upper.split_at(1);
        let type_name = format!("{first}{}", name.get(1..).unwrap_or_default());
        let magic = format!("{upper:!<8.8}");
        Ok(Self { name: name.to_owned(), type_name, magic })
    }

    fn fill(&self, template: &str) -> String {
        template
            .replace("{{name}}", &self.name)
            .replace("{{Type}}", &self.type_name)
            .replace("{{magic}}", &self.magic)
    }
}

/// A sound and a cut file, byte by byte, so that the reader has some that our writer did not make.
fn test_files(names: &Names) -> [(&'static str, Vec<u8>); 2] {
    let mut sound = names.magic.as_bytes().to_vec();
    sound.extend([1, 0, 0, 0, 2, 0, 0, 0]);
    for (time_ns, message) in [(1, b"started"), (2, b"stopped")] {
        sound.extend([15, 0, 0, 0, time_ns, 0, 0, 0, 0, 0, 0, 0]);
        sound.extend(message);
    }
    let mut cut = sound.clone();
    cut.pop();
    [("testdata/{{name}}/small.{{name}}", sound), ("testdata/{{name}}/bad/cut.{{name}}", cut)]
}

fn write(repo: &Repo, path: &str, bytes: &[u8]) -> Result<()> {
    let file = repo.path(path);
    let folder = file.parent().context("a file without a folder")?;
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    fs::write(&file, bytes).with_context(|| file.display().to_string())?;
    println!("made    {path}");
    Ok(())
}

fn edit(repo: &Repo, path: &str, change: impl Fn(&str) -> Option<String>) -> Result<()> {
    let file = repo.path(path);
    let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    let changed = change(&text);
    let changed = changed.with_context(|| format!("found no place to add the format in {path}"))?;
    fs::write(&file, changed).with_context(|| file.display().to_string())?;
    println!("changed {path}");
    Ok(())
}

/// Adds the format's folder to the table of test files, at its end.
fn add_to_test_files(page: &str, names: &Names) -> Option<String> {
    let line = "| `{{name}}` | two events, and the same cut short | `cargo xtask new-format` |";
    change_paragraph(page, "| Folder |", |lines| lines.push(names.fill(line)))
}

/// Adds the format to the list of formats in the workspace's manifest.
fn add_to_workspace(manifest: &str, names: &Names) -> Option<String> {
    let line = "kymo-{{name}} = { path = \"formats/{{name}}\" }";
    change_paragraph(manifest, "# Formats", |lines| {
        insert(lines, names.fill(line));
    })
}

/// Adds the format to the registry's dependencies.
fn add_dependency(manifest: &str, names: &Names) -> Option<String> {
    let line = "kymo-{{name}}.workspace = true";
    change_paragraph(manifest, "[dependencies]", |lines| {
        insert(lines, names.fill(line));
    })
}

/// Adds the format to the registry's list, at its end; rustfmt puts the line in shape.
fn add_to_registry(source: &str, names: &Names) -> Option<String> {
    let start = source.find("static FORMATS")?;
    let length = source.get(start..)?.find("];")?;
    let (before, after) = source.split_at(start + length);
    let before = before.trim_end().trim_end_matches(',');
    Some(names.fill(&format!("{before}, &kymo_{{{{name}}}}::{{{{Type}}}}{after}")))
}

/// Inserts a line where the alphabet wants it; the first line of the paragraph is its heading.
fn insert(lines: &mut Vec<String>, line: String) {
    let at = lines.iter().skip(1).position(|other| *other > line);
    lines.insert(at.map_or(lines.len(), |at| at + 1), line);
}

/// Changes the lines of the paragraph that starts with `start`.
fn change_paragraph(
    text: &str,
    start: &str,
    change: impl FnOnce(&mut Vec<String>),
) -> Option<String> {
    let (before, rest) = text.split_at(text.find(start)?);
    let (paragraph, after) = rest.split_at(rest.find("\n\n")?);
    let mut lines = paragraph.lines().map(str::to_owned).collect();
    change(&mut lines);
    Some(format!("{before}{}{after}", lines.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        Names::new("ctf2").unwrap()
    }

    #[test]
    fn no_placeholder_is_left_in_any_file() {
        for (path, text) in TEMPLATES {
            let (path, text) = (names().fill(path), names().fill(text));
            assert!(!path.contains("{{") && !path.contains("}}"), "{path}");
            assert!(!text.contains("{{") && !text.contains("}}"), "in {path}");
        }
    }

    #[test]
    fn a_name_is_written_as_rust_wants_it() {
        assert_eq!(names().type_name, "Ctf2");
        assert_eq!(names().magic, "CTF2!!!!");
        assert_eq!(Names::new("systemview").unwrap().magic, "SYSTEMVI");
        for name in ["", "Ctf", "2ctf", "ctf-2", "../ctf"] {
            assert!(Names::new(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn the_format_is_added_to_the_real_lists() {
        let page = include_str!("../../testdata/README.md");
        let page = add_to_test_files(page, &names()).unwrap();
        assert!(page.contains(" |\n| `ctf2` | "));
        let manifest = include_str!("../../Cargo.toml");
        let manifest = add_to_workspace(manifest, &names()).unwrap();
        assert!(manifest.contains("\nkymo-ctf2 = { path = \"formats/ctf2\" }\n"));
        let manifest = include_str!("../../crates/registry/Cargo.toml");
        let manifest = add_dependency(manifest, &names()).unwrap();
        assert!(manifest.contains("\nkymo-ctf.workspace = true\nkymo-ctf2.workspace = true\n"));
        let source = include_str!("../../crates/registry/src/lib.rs");
        let source = add_to_registry(source, &names()).unwrap();
        assert!(source.contains(", &kymo_ctf2::Ctf2"));
    }

    #[test]
    fn a_list_of_several_lines_is_added_to_as_well() {
        let source = "static FORMATS: &[&dyn Format] = &[\n    &Bp,\n    &Rtc,\n];\n";
        let added = add_to_registry(source, &names()).unwrap();
        assert_eq!(
            added,
            "static FORMATS: &[&dyn Format] = &[\n    &Bp,\n    &Rtc, &kymo_ctf2::Ctf2];\n"
        );
    }
}
