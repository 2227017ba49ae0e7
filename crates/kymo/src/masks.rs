//! Variables that are meant: paths and glob patterns.

use globset::{GlobBuilder, GlobMatcher};

use crate::failure::Failure;

/// Patterns of which one must match; no patterns match everything.
#[derive(Debug, Default)]
pub(crate) struct Masks(Vec<Mask>);

#[derive(Debug)]
struct Mask {
    matcher: GlobMatcher,
    /// True if it is held against the last part of a path and not the whole.
    is_name: bool,
}

impl Masks {
    /// Reads patterns as one types them.
    pub(crate) fn new<T: AsRef<str>>(patterns: &[T]) -> Result<Self, Failure> {
        let masks = patterns.iter().map(|pattern| Mask::new(pattern.as_ref()));
        masks.collect::<Result<_, _>>().map(Self)
    }

    /// Returns true if a path is meant.
    pub(crate) fn matches(&self, path: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|mask| mask.matches(path))
    }
}

impl Mask {
    fn new(pattern: &str) -> Result<Self, Failure> {
        let is_name = !pattern.contains('/');
        let whole = match pattern.strip_prefix('/') {
            None if !is_name => format!("/{pattern}"),
            _ => pattern.to_owned(),
        };
        let glob = GlobBuilder::new(&whole).literal_separator(true).build();
        let glob = glob.map_err(|error| {
            let why = format!("{pattern} is no pattern: {}", error.kind());
            Failure::usage(why)
                .hint("* and ? stand for characters, [ab] for one of some, ** crosses /")
        })?;
        Ok(Self { matcher: glob.compile_matcher(), is_name })
    }

    fn matches(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        let subject = if self.is_name { name } else { path };
        self.matcher.is_match(subject)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, path: &str) -> bool {
        Masks::new(&[pattern]).unwrap().matches(path)
    }

    #[test]
    fn a_pattern_without_a_slash_is_held_against_the_name() {
        assert!(matches("temp*", "/fields/temperature"));
        assert!(!matches("fields", "/fields/temperature"));
    }

    #[test]
    fn a_pattern_with_a_slash_is_held_against_the_path() {
        assert!(matches("/fields/*", "/fields/temperature"));
        assert!(matches("fields/*", "/fields/temperature"));
        assert!(!matches("/fields/*", "/fields/deep/temperature"));
        assert!(matches("/fields/**", "/fields/deep/temperature"));
        assert!(matches("**/temp*", "/fields/deep/temperature"));
    }

    #[test]
    fn no_patterns_match_everything_and_a_bad_one_is_refused() {
        assert!(Masks::new::<&str>(&[]).unwrap().matches("/x"));
        let error = Masks::new(&["a[b"]).unwrap_err();
        assert!(error.to_string().starts_with("a[b is no pattern"), "{error}");
    }
}
