//! The licences of what we build with, against the list in `deny.toml`.
//!
//! cargo-deny checks more (bans, sources, licence files) but takes minutes to build, so it is
//! used when it is there. Our own check reads the same list and always runs.

use std::fs;

use anyhow::{Context, Result, bail};
use toml_edit::DocumentMut;

use crate::metadata::{Metadata, Package};
use crate::repo::{self, Repo};

/// Checks the licence of every package in the dependency tree.
pub(crate) fn run(repo: &Repo) -> Result<()> {
    check(repo)?;
    if repo::succeeds(&mut repo.cargo(["deny", "--version"])) {
        repo::run(&mut repo.cargo(["deny", "check", "licenses", "bans", "sources"]))
    } else {
        eprintln!("cargo-deny is not installed: bans and licence files were not checked");
        Ok(())
    }
}

fn check(repo: &Repo) -> Result<()> {
    let path = repo.path("deny.toml");
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let allowed = allow_list(&text)?;
    let packages = Metadata::all_packages(repo.root())?.packages;
    let foreign: Vec<_> = packages.iter().filter(|package| package.source.is_some()).collect();
    let wrong: Vec<_> = foreign.iter().filter_map(|package| objection(package, &allowed)).collect();
    if !wrong.is_empty() {
        bail!("packages that deny.toml does not allow\n  {}", wrong.join("\n  "));
    }
    println!("{} packages, all under licences that deny.toml allows", foreign.len());
    Ok(())
}

/// The licences that `deny.toml` allows.
fn allow_list(text: &str) -> Result<Vec<String>> {
    let document: DocumentMut = text.parse().context("deny.toml is not TOML")?;
    let list = document.get("licenses").and_then(|table| table.get("allow"));
    let list = list.and_then(|item| item.as_array()).context("deny.toml lacks licenses.allow")?;
    Ok(list.iter().filter_map(|value| value.as_str()).map(str::to_owned).collect())
}

/// Why a package may not be used, if it may not.
fn objection(package: &Package, allowed: &[String]) -> Option<String> {
    let why = match (&package.license, &package.source) {
        (_, Some(source)) if !source.starts_with("registry+") => {
            format!("does not come from the registry: {source}")
        }
        (Some(licence), _) if is_allowed(licence, allowed) => return None,
        (Some(licence), _) => licence.clone(),
        (None, _) => "no licence named in its manifest".to_owned(),
    };
    Some(format!("{} {}: {why}", package.name, package.version))
}

/// Returns true if the SPDX `expression` can be met with `allowed` licences alone.
///
/// The old way of writing "or", a slash, is understood too. What cannot be parsed is not met.
fn is_allowed(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<_> = spaced.split_whitespace().collect();
    let mut parser = Parser { words: &words, allowed };
    parser.any() == Some(true) && parser.words.is_empty()
}

/// What is left of an SPDX expression; each method takes its part and says whether it is met.
struct Parser<'a> {
    words: &'a [&'a str],
    allowed: &'a [String],
}

impl Parser<'_> {
    /// `A OR B OR …`
    fn any(&mut self) -> Option<bool> {
        let mut met = self.all()?;
        while self.take("OR") {
            met |= self.all()?;
        }
        Some(met)
    }

    /// `A AND B AND …`
    fn all(&mut self) -> Option<bool> {
        let mut met = self.parse_term()?;
        while self.take("AND") {
            met &= self.parse_term()?;
        }
        Some(met)
    }

    /// `( … )`, `LICENCE` or `LICENCE WITH EXCEPTION`
    fn parse_term(&mut self) -> Option<bool> {
        if self.take("(") {
            let met = self.any()?;
            return self.take(")").then_some(met);
        }
        let mut licence = self.word()?.to_owned();
        if self.take("WITH") {
            licence = format!("{licence} WITH {}", self.word()?);
        }
        Some(self.allowed.contains(&licence))
    }

    fn word(&mut self) -> Option<&str> {
        let (first, rest) = self.words.split_first()?;
        self.words = rest;
        Some(first)
    }

    fn take(&mut self, word: &str) -> bool {
        let found = self.words.first() == Some(&word);
        if found {
            self.word();
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed() -> Vec<String> {
        ["MIT", "Unicode-3.0", "Apache-2.0 WITH LLVM-exception"].map(str::to_owned).to_vec()
    }

    #[test]
    fn one_allowed_licence_of_a_choice_is_enough() {
        for expression in ["MIT", "GPL-3.0 OR MIT", "MIT/Apache-2.0", "GPL-3.0 OR (MIT)"] {
            assert!(is_allowed(expression, &allowed()), "{expression}");
        }
    }

    #[test]
    fn every_licence_of_a_conjunction_must_be_allowed() {
        assert!(is_allowed("(MIT OR GPL-3.0) AND Unicode-3.0", &allowed()));
        assert!(!is_allowed("MIT AND GPL-3.0", &allowed()));
        assert!(!is_allowed("MIT OR GPL-3.0 AND", &allowed()));
        assert!(is_allowed("GPL-3.0 AND MIT OR MIT", &allowed()), "AND binds tighter");
    }

    #[test]
    fn an_exception_is_part_of_the_licence() {
        assert!(is_allowed("Apache-2.0 WITH LLVM-exception", &allowed()));
        assert!(!is_allowed("Apache-2.0", &allowed()));
        assert!(!is_allowed("MIT WITH LLVM-exception", &allowed()));
    }

    #[test]
    fn what_is_no_expression_is_not_allowed() {
        for expression in ["", "(MIT", "MIT)", "MIT MIT", "OR MIT"] {
            assert!(!is_allowed(expression, &allowed()), "{expression:?}");
        }
    }

    #[test]
    fn the_list_is_the_one_of_the_repository() {
        let allowed = allow_list(include_str!("../../deny.toml")).unwrap();
        assert!(allowed.contains(&"MIT".to_owned()));
    }
}
