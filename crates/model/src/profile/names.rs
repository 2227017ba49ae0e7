//! Names of contexts: of a function, or of a place, of whose path a label has room for the last
//! part.

use std::borrow::Cow;

use super::{Context, FileId, FunctionId, ModuleId, ProfileView, Scope};
use kymo_core::Result;

const UNKNOWN_FUNCTION: &str = "<unknown function>";

/// Text before the place where a loop begins.
pub(super) const LOOP: &str = "loop at ";

/// Name of a context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Name<'a> {
    /// By a name. It is that of a function, where there is one to find it by.
    Text(Cow<'a, str>, Option<FunctionId>),
    /// By a file, and a line unless it is 0; may be a loop that begins there.
    Place { file: FileId, line: u32, is_loop: bool },
    /// By an address in a module; may be a loop that begins there.
    Point { module: ModuleId, offset: u64, is_loop: bool },
}

impl<'a> Name<'a> {
    /// Returns the name of a context: its function, or the place.
    pub(super) fn from_context<V: ProfileView + ?Sized>(
        view: &'a V,
        context: &Context,
    ) -> Result<Self> {
        let is_loop = context.scope == Scope::Loop;
        let place =
            |at: Option<(FileId, u32)>| at.map(|(file, line)| Self::Place { file, line, is_loop });
        let point = |at: Option<(ModuleId, u64)>| {
            at.map(|(module, offset)| Self::Point { module, offset, is_loop })
        };
        if let Some(id) = context.function {
            let name = view.function_name(id)?;
            if !name.is_empty() {
                let name = function_name(name, context.scope == Scope::Entry);
                return Ok(Self::Text(name, Some(id)));
            }
            let function = view.function(id)?;
            let code = function.module.map(|module| (module, function.offset));
            let source = function.file.map(|file| (file, function.line));
            let unnamed = match (code, source) {
                (Some((module, offset)), _) => Some(Self::Point { module, offset, is_loop: false }),
                (None, Some((file, line))) => Some(Self::Place { file, line, is_loop: false }),
                (None, None) => None,
            };
            return Ok(unnamed.unwrap_or_else(|| fixed(UNKNOWN_FUNCTION)));
        }
        let named = match context.scope {
            Scope::Instruction => point(context.point).or_else(|| place(context.source)),
            _ => place(context.source).or_else(|| point(context.point)),
        };
        Ok(named.unwrap_or_else(|| match context.scope {
            Scope::Loop => fixed("loop at ?"),
            Scope::Function => fixed(UNKNOWN_FUNCTION),
            scope => fixed(&format!("<unknown {}>", scope.name())),
        }))
    }
}

fn fixed(text: &str) -> Name<'static> {
    Name::Text(text.to_owned().into(), None)
}

/// The name of a function, or of an entry point, which stands in brackets.
pub(super) fn function_name(name: Cow<'_, str>, is_entry: bool) -> Cow<'_, str> {
    if is_entry && !name.starts_with('<') { format!("<{name}>").into() } else { name }
}

/// A place, with as much of the path as is given.
pub(super) fn place_name(path: &str, line: u32, is_loop: bool) -> String {
    let at = if is_loop { LOOP } else { "" };
    if line == 0 { format!("{at}{path}") } else { format!("{at}{path}:{line}") }
}

/// An address, with as much of the path of its module as is given.
pub(super) fn address_name(path: &str, offset: u64, is_loop: bool) -> String {
    let at = if is_loop { LOOP } else { "" };
    format!("{at}{path}+{offset:#x}")
}

/// Returns the label of a context by itself: of a path the last part.
pub(super) fn label<V: ProfileView + ?Sized>(view: &V, context: &Context) -> Result<String> {
    Ok(match Name::from_context(view, context)? {
        Name::Text(text, _) => text.into_owned(),
        Name::Place { file, line, is_loop } => {
            place_name(base_name(&view.file(file)?), line, is_loop)
        }
        Name::Point { module, offset, is_loop } => {
            address_name(base_name(&view.module(module)?), offset, is_loop)
        }
    })
}

/// The last part of a path, which is what a label has room for.
#[must_use]
pub fn base_name(path: &str) -> &str {
    let trimmed = path.trim_end_matches('/');
    trimmed.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(path)
}

/// Of each of some paths, which are all different, as much of the end as no other has: the last
/// part, and where that is the last of others too, as many before it as tell them apart.
pub(super) fn shortest_suffixes<'a>(paths: &[&'a str]) -> Vec<&'a str> {
    let mut order: Vec<usize> = (0..paths.len()).collect();
    let path = |index: usize| {
        let whole = paths.get(index).copied().unwrap_or("");
        Some(whole.trim_end_matches('/')).filter(|path| !path.is_empty()).unwrap_or(whole)
    };
    order.sort_unstable_by(|a, b| path(*a).rsplit('/').cmp(path(*b).rsplit('/')));
    // How many last parts each has in common with the next.
    let common: Vec<usize> = order
        .iter()
        .zip(order.iter().skip(1))
        .map(|(a, b)| {
            let pairs = path(*a).rsplit('/').zip(path(*b).rsplit('/'));
            pairs.take_while(|(a, b)| a == b).count()
        })
        .collect();
    let mut shown = vec![""; paths.len()];
    for (place, index) in order.iter().enumerate() {
        let before = place.checked_sub(1).and_then(|before| common.get(before));
        let parts = before.max(common.get(place)).copied().unwrap_or(0);
        let whole = path(*index);
        let short = if parts == 0 { base_name(whole) } else { last_parts(whole, parts + 1) };
        if let Some(shown) = shown.get_mut(*index) {
            *shown = short;
        }
    }
    shown
}

/// So many of the last parts of a path.
fn last_parts(path: &str, parts: usize) -> &str {
    let slash = path.rmatch_indices('/').nth(parts.saturating_sub(1));
    slash.and_then(|(at, _)| path.get(at + 1..)).filter(|rest| !rest.is_empty()).unwrap_or(path)
}

/// Text between the names of a path, of which each called the next.
pub const CALLS: &str = " > ";

/// Greatest number of characters of a name in a path.
pub const PATH_NAME_MAX: usize = 512;

/// The text of a path, given its names from the last one up: of a path that comes to more bytes than
/// there may be the last names, and of a long name the beginning.
pub fn path_text<'a>(from_last: impl IntoIterator<Item = &'a str>, bytes_max: usize) -> String {
    let (mut shown, mut bytes) = (Vec::new(), 0);
    for name in from_last {
        let name = beginning(name, PATH_NAME_MAX);
        bytes += name.len() + CALLS.len();
        if bytes > bytes_max {
            shown.push("…");
            break;
        }
        shown.push(name);
    }
    shown.reverse();
    shown.join(CALLS)
}

/// So many characters of a text.
#[must_use]
pub fn beginning(text: &str, characters: usize) -> &str {
    text.char_indices().nth(characters).map_or(text, |(end, _)| text.get(..end).unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_part_of_a_path_is_its_base_name() {
        assert_eq!(base_name("/opt/demo/a.c"), "a.c");
        assert_eq!(base_name("/opt/demo/"), "demo");
        assert_eq!(base_name("/"), "/");
        assert_eq!(base_name(""), "");
    }

    #[test]
    fn paths_of_one_last_part_are_told_apart_by_as_much_as_that_takes() {
        let paths = ["/src/a/u.c", "/src/b/u.c", "/src/a/v.c", "/x/lib/b/u.c", "u.c", "/usr/", "/"];
        let shown = shortest_suffixes(&paths);
        assert_eq!(shown, ["a/u.c", "src/b/u.c", "v.c", "lib/b/u.c", "u.c", "usr", "/"]);
        assert_eq!(shortest_suffixes(&[]), [""; 0]);
        // The one is all of the end of the other.
        assert_eq!(shortest_suffixes(&["b/u.c", "/a/b/u.c"]), ["b/u.c", "a/b/u.c"]);
    }

    #[test]
    fn of_a_long_path_there_are_the_last_names() {
        let names = ["c", "b", "a"];
        assert_eq!(path_text(names, 12), "a > b > c");
        assert_eq!(path_text(names, 11), "… > b > c");
        assert_eq!(path_text([], 11), "");
        let long = "ä".repeat(PATH_NAME_MAX + 1);
        assert_eq!(path_text([long.as_str()], usize::MAX), "ä".repeat(PATH_NAME_MAX));
    }
}
