//! Which way dependencies point (ARCHITECTURE.md), checked from the manifests.
//!
//! What a crate is follows from the folder it is in, so a new format or part needs no line here.

use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::metadata::Metadata;
use crate::repo::Repo;

/// What a crate of ours is, as far as dependencies go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Group {
    /// `crates/core`: depends on nothing of ours.
    Core,
    /// `crates/model`: the contract and the models, on core alone.
    Model,
    /// `crates/rtc-wire`: bytes of a format that programs link to record; knows nothing of ours.
    Wire,
    /// `crates/lines`: what formats share whose recordings are lines of text.
    Lines,
    /// `crates/symbols`: names of addresses, for whoever has some.
    Symbols,
    /// `crates/conformance`: the tests that every format runs.
    Conformance,
    /// `formats/*`: one format each, unknown to one another.
    Format,
    /// `crates/registry`: the one list of formats.
    Registry,
    /// Any other of `crates/*`: works on the contract and knows no format.
    Part,
    /// What people start: sees everything, and nothing depends on it.
    Program,
}

impl Group {
    /// The group of the crate in `folder`, relative to the root.
    fn from_folder(folder: &Path) -> Option<Self> {
        let mut parts = folder.iter().map(|part| part.to_str().unwrap_or_default());
        match (parts.next()?, parts.next()) {
            ("crates", Some("core")) => Some(Self::Core),
            ("crates", Some("model")) => Some(Self::Model),
            ("crates", Some("rtc-wire")) => Some(Self::Wire),
            ("crates", Some("lines")) => Some(Self::Lines),
            ("crates", Some("symbols")) => Some(Self::Symbols),
            ("crates", Some("conformance")) => Some(Self::Conformance),
            ("crates", Some("registry")) => Some(Self::Registry),
            ("crates", Some("kymo" | "viewer")) | ("python" | "xtask" | "fuzz" | "benches", _) => {
                Some(Self::Program)
            }
            ("crates", Some(_)) => Some(Self::Part),
            ("formats", Some(_)) => Some(Self::Format),
            _ => None,
        }
    }

    /// Why a crate of this group may not depend on one of group `to`, if it may not.
    fn objection(self, to: Self, is_dev: bool) -> Option<&'static str> {
        let allowed = match (self, to) {
            (Self::Program, _)
            | (Self::Registry, Self::Format)
            | (Self::Format, Self::Lines)
            | (Self::Format | Self::Part, Self::Wire | Self::Symbols) => true,
            (Self::Format | Self::Wire | Self::Part, Self::Conformance) => is_dev,
            (from, Self::Core) => !matches!(from, Self::Core | Self::Wire),
            (from, Self::Model) => !matches!(from, Self::Core | Self::Model | Self::Wire),
            _ => false,
        };
        (!allowed).then_some(match self {
            Self::Core => "core depends on nothing of ours",
            Self::Model => "the model depends on core alone",
            Self::Wire => {
                "what small systems link depends on nothing of ours, its tests on conformance"
            }
            Self::Lines => "what formats of lines share depends on core and model alone",
            Self::Symbols => "what looks up addresses depends on core and model alone",
            Self::Conformance => "the conformance kit depends on core and model alone",
            Self::Format => {
                "a format depends on core, model, lines, wire and symbols, for its tests on conformance"
            }
            Self::Registry => "the registry depends on core, model and formats alone",
            Self::Part => "a part depends on core, model, wire and symbols, for its tests on conformance, never on a format",
            Self::Program => "a program may depend on anything",
        })
    }
}

/// Checks every dependency between crates of ours.
pub(crate) fn run(repo: &Repo) -> Result<()> {
    let metadata = Metadata::members(repo.root())?;
    let mut wrong = Vec::new();
    let mut checked = 0;
    for package in &metadata.packages {
        let folder = package.manifest_path.parent().unwrap_or(&package.manifest_path);
        let from = group(repo.root(), folder)?;
        for dependency in &package.dependencies {
            let Some(path) = &dependency.path else {
                continue;
            };
            let is_dev = dependency.kind.as_deref() == Some("dev");
            checked += 1;
            if let Some(why) = from.objection(group(repo.root(), path)?, is_dev) {
                wrong.push(format!("{} depends on {}: {why}", package.name, dependency.name));
            }
        }
    }
    if !wrong.is_empty() {
        bail!("dependencies point the wrong way\n  {}", wrong.join("\n  "));
    }
    println!("{checked} dependencies between {} crates of ours", metadata.packages.len());
    Ok(())
}

fn group(root: &Path, folder: &Path) -> Result<Group> {
    let relative = folder.strip_prefix(root).unwrap_or(folder);
    Group::from_folder(relative).with_context(|| {
        format!("no rule for where this crate is (xtask/src/directions.rs): {}", folder.display())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns true if the crate in folder `from` may depend on the one in folder `to`.
    fn may(from: &str, to: &str, is_dev: bool) -> bool {
        let group = |folder| Group::from_folder(Path::new(folder)).unwrap();
        group(from).objection(group(to), is_dev).is_none()
    }

    #[test]
    fn core_depends_on_nothing_of_ours() {
        for to in ["crates/core", "crates/conformance", "formats/bp", "crates/registry"] {
            assert!(!may("crates/core", to, false), "{to}");
            assert!(!may("crates/core", to, true), "{to}, for tests");
        }
    }

    #[test]
    fn a_format_sees_core_and_only_its_tests_see_conformance() {
        assert!(may("formats/bp", "crates/core", false));
        assert!(may("formats/hpcrun", "crates/symbols", false));
        assert!(!may("crates/symbols", "crates/prof", false));
        assert!(may("formats/bp", "crates/conformance", true));
        assert!(!may("formats/bp", "crates/conformance", false));
        assert!(!may("formats/bp", "crates/registry", true));
        assert!(!may("formats/bp", "formats/rtc", false));
        assert!(!may("formats/bp", "formats/rtc", true));
    }

    #[test]
    fn what_formats_of_lines_share_is_for_formats_and_knows_none() {
        assert!(may("formats/perf", "crates/lines", false));
        assert!(may("crates/lines", "crates/core", false));
        assert!(!may("crates/lines", "formats/perf", true));
        assert!(!may("crates/query", "crates/lines", false));
    }

    #[test]
    fn what_works_on_datasets_knows_no_format() {
        for part in ["symbols", "prof", "query", "convert", "a-new-one"] {
            let part = format!("crates/{part}");
            assert!(may(&part, "crates/core", false), "{part}");
            for to in ["formats/bp", "crates/registry", "crates/kymo"] {
                assert!(!may(&part, to, false), "{part} on {to}");
            }
        }
    }

    #[test]
    fn conformance_sees_core_and_the_registry_sees_core_and_formats() {
        assert!(may("crates/conformance", "crates/core", false));
        assert!(!may("crates/conformance", "formats/bp", true));
        assert!(may("crates/registry", "crates/core", false));
        assert!(may("crates/registry", "formats/bp", false));
        assert!(!may("crates/registry", "crates/export", false));
    }

    #[test]
    fn programs_see_everything() {
        for program in ["crates/kymo", "crates/viewer", "python", "xtask", "fuzz"] {
            for to in ["crates/core", "crates/registry", "formats/bp", "crates/export"] {
                assert!(may(program, to, false), "{program} on {to}");
            }
        }
    }

    #[test]
    fn a_crate_in_an_unknown_folder_has_no_group() {
        assert_eq!(Group::from_folder(Path::new("elsewhere/thing")), None);
    }
}
