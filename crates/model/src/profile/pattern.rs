//! Functions that are meant by a text that one types.

use regex::Regex;

use super::labels::Labels;
use super::{ProfileView, Step, Walk};
use kymo_core::{Error, Result};

/// A test for the names of functions: a whole name, a part of one, a glob pattern such as `Calc*`,
/// or a regular expression between slashes.
///
/// A module in brackets behind a name may be left out.
#[derive(Debug, Clone)]
pub struct NamePattern {
    text: String,
    test: Test,
}

#[derive(Debug, Clone)]
enum Test {
    Whole,
    Part,
    Expression(Regex),
}

impl NamePattern {
    /// Reads a pattern as one types it. A text without `*`, `?` and slashes is a whole name;
    /// [`Self::found_in`] makes it a part of names where no function is called so.
    ///
    /// # Errors
    /// When the text is empty, or a regular expression is not one.
    pub fn new(text: &str) -> Result<Self> {
        if text.is_empty() {
            return Err(Error::request(
                "a pattern of names is empty: write a name or a part of one",
            ));
        }
        let between = text.strip_prefix('/').and_then(|rest| rest.strip_suffix('/'));
        let expression = match between {
            Some(expression) if !expression.is_empty() => Some(expression.to_owned()),
            _ if text.contains(['*', '?']) => Some(expression_of_glob(text)),
            _ => None,
        };
        let found = match expression.map(|expression| Regex::new(&expression)) {
            None => Test::Whole,
            Some(Ok(expression)) => Test::Expression(expression),
            Some(Err(error)) => {
                return Err(Error::Request(format!("invalid expression {text}: {error}")));
            }
        };
        Ok(Self { text: text.to_owned(), test: found })
    }

    /// The pattern for a profile: where a function has the very text as its name, that function, also
    /// with a `*` or `?` in it. Where none has, a text without these is a part of names.
    ///
    /// # Errors
    /// When the profile cannot be read.
    pub fn found_in(self, view: &dyn ProfileView) -> Result<Self> {
        let whole = Self { text: self.text.clone(), test: Test::Whole };
        let mut labels = Labels::for_view(view);
        for step in Walk::new(view)? {
            if let Step::Enter(context, _) = step?
                && context.is_frame()
            {
                let label = labels.context_label(&context)?;
                if labels.matches(label, &whole) {
                    return Ok(whole);
                }
            }
        }
        Ok(match self.test {
            Test::Whole => Self { test: Test::Part, ..self },
            Test::Part | Test::Expression(_) => self,
        })
    }

    /// The text that was typed.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns true for the name of a function that is meant, with or without its module.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        match &self.test {
            Test::Whole => is_called(name, &self.text),
            Test::Part => bare(name).contains(&self.text),
            Test::Expression(expression) => {
                expression.is_match(name) || expression.is_match(bare(name))
            }
        }
    }
}

/// A name without the modules in brackets behind it.
fn bare(name: &str) -> &str {
    let mut bare = name;
    while let Some((rest, _)) = bare.strip_suffix(']').and_then(|rest| rest.rsplit_once(" [")) {
        if rest.is_empty() {
            break;
        }
        bare = rest;
    }
    bare
}

/// The expression of a glob pattern, which a whole name has to fit.
fn expression_of_glob(glob: &str) -> String {
    let parts = glob.chars().map(|character| match character {
        '*' => ".*".to_owned(),
        '?' => ".".to_owned(),
        other => regex::escape(other.encode_utf8(&mut [0; 4])),
    });
    format!(r"(?s)^{}( \[.*\])?$", parts.collect::<String>())
}

/// Returns true for a name, and for one with a module in brackets behind it.
pub(super) fn is_called(text: &str, name: &str) -> bool {
    text.strip_prefix(name).is_some_and(|rest| {
        rest.is_empty() || (rest.starts_with(" [") && rest.ends_with(']') && !name.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::super::{CallTreeBuilder, Function, Node, Relation, Scope, fixture};
    use super::*;
    use kymo_core::bytes::Limits;

    #[test]
    fn a_function_is_called_by_its_name_with_or_without_its_module() {
        let text = "ext4_read [ext4] [vmlinux]";
        for name in ["ext4_read", "ext4_read [ext4]", "ext4_read [ext4] [vmlinux]"] {
            assert!(is_called(text, name), "{name}");
        }
        for name in ["", "ext4", "ext4_read [", "read"] {
            assert!(!is_called(text, name), "{name}");
        }
    }

    #[test]
    fn globs_fit_whole_names_and_expressions_parts() {
        let matches = |pattern, name| NamePattern::new(pattern).unwrap().matches(name);
        assert!(matches("Calc*", "CalcForce(Domain&) [lulesh]"));
        assert!(!matches("Calc*", "void CalcForce()"));
        assert!(matches("*Force?", "CalcForce2"));
        assert!(matches("/^Calc.*(Force|Energy)/", "CalcElemEnergy"));
        assert!(matches("/Energy$/", "CalcElemEnergy"));
        assert!(matches("a[0]*", "a[0]b"));
        assert!(matches("/sin_fma$/", "__sin_fma [libm.so.6]"));
        assert!(matches("/libm/", "__sin_fma [libm.so.6]"));
        assert!(!matches("/^libm/", "__sin_fma [libm.so.6]"));
        let error = NamePattern::new("/(/").unwrap_err().to_string();
        assert!(error.starts_with("invalid expression /(/"), "{error}");
    }

    #[test]
    fn a_part_of_a_name_is_meant_where_no_function_has_the_whole() {
        let tree = fixture::tree();
        let found = |text| NamePattern::new(text).unwrap().found_in(&tree).unwrap();
        assert!(!found("work").matches("workers"));
        assert!(found("wor").matches("workers"));
        assert!(NamePattern::new("").is_err());
        let part = |text: &str| NamePattern { text: text.to_owned(), test: Test::Part };
        assert!(part("sin").matches("__sin_fma [libm.so.6]"));
        assert!(!part("libm").matches("__sin_fma [libm.so.6]"));
        assert!(part("libm").matches("libm_init [a] [b]"));
        assert!(part("[").matches("operator[] [a]"));
    }

    #[test]
    fn a_whole_name_with_a_star_in_it_is_no_glob() {
        let mut builder = CallTreeBuilder::new(&Limits::default());
        for name in ["f(int*)", "f(int*, int)"] {
            let function =
                builder.function(Function { name: name.to_owned(), ..Function::default() });
            let node = Node::new(Scope::Function, Relation::Call);
            builder.child(None, Node { function: Some(function), ..node }).unwrap();
        }
        let tree = builder.finish();
        let found = |text| NamePattern::new(text).unwrap().found_in(&tree).unwrap();
        assert!(!found("f(int*)").matches("f(int*, int)"));
        assert!(found("f(*)").matches("f(int*, int)"));
    }
}
