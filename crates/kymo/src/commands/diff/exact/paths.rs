//! Paths of contexts: what two recordings know them by.

use std::collections::HashMap;
use std::rc::Rc;

use kymo_core::Result;
use kymo_model::profile::{
    CALLS, Context, FileId, ModuleId, ProfileView, Relation, Scope, base_name, path_text,
};

use super::super::PATH_BYTES_MAX;
use crate::render::columns::width_of;
use crate::render::measure::fitted_middle;

/// The path of the whole program.
pub(super) const WHOLE: usize = 0;

/// The path of everything that no context is listed for.
pub(super) const UNLISTED: usize = 1;

/// Text in place of steps that are left out.
const LEFT_OUT: &str = "…";

/// Paths of both, each once, and each label once: very many may have the same.
#[derive(Default)]
pub(super) struct Paths {
    all: Vec<Path>,
    known: HashMap<(usize, usize), usize>,
    labels: Vec<Rc<str>>,
    by_label: HashMap<Rc<str>, usize>,
}

/// A step below another path.
struct Path {
    above: usize,
    label: usize,
    kind: Kind,
}

/// Ways in which the own values of a context count for the one above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Not at all: it was called, inlined or not.
    Called,
    /// A loop within a function.
    Loop,
    /// Any other part of a function.
    Part,
}

impl Kind {
    pub(super) fn from_context(context: &Context) -> Self {
        match (context.relation, context.scope) {
            (Relation::Call | Relation::Inlined, _) => Self::Called,
            (Relation::Lexical, Scope::Loop) => Self::Loop,
            (Relation::Lexical, _) => Self::Part,
        }
    }
}

impl Paths {
    pub(super) fn new() -> Self {
        let mut paths = Self::default();
        for label in ["<whole program>", "<not listed>"] {
            let label = paths.label(label);
            paths.all.push(Path { above: WHOLE, label, kind: Kind::Called });
        }
        paths
    }

    fn label(&mut self, text: &str) -> usize {
        if let Some(label) = self.by_label.get(text) {
            return *label;
        }
        let (label, text) = (self.labels.len(), Rc::<str>::from(text));
        self.labels.push(Rc::clone(&text));
        self.by_label.insert(text, label);
        label
    }

    /// The path of a label below another one, which comes before it in any order.
    pub(super) fn intern(&mut self, above: usize, label: &str, kind: Kind) -> usize {
        let (next, label) = (self.all.len(), self.label(label));
        let path = *self.known.entry((above, label)).or_insert(next);
        if path == next {
            self.all.push(Path { above, label, kind });
        }
        path
    }

    /// The path above one.
    pub(super) fn parent(&self, path: usize) -> usize {
        self.all.get(path).map_or(WHOLE, |path| path.above)
    }

    pub(super) fn kind(&self, path: usize) -> Kind {
        self.all.get(path).map_or(Kind::Called, |path| path.kind)
    }

    pub(super) fn text(&self, path: usize) -> String {
        let above = |path: &usize| Some(self.parent(*path)).filter(|above| *above != WHOLE);
        let label = |path: usize| self.labels.get(self.all.get(path)?.label);
        let labels = std::iter::successors(Some(path), above).filter_map(label);
        path_text(labels.map(AsRef::as_ref), PATH_BYTES_MAX)
    }
}

/// A path in so many places: without folders, then its first step and the last ones, as many as there
/// is room for.
pub(super) fn fitted(path: &str, places: usize) -> String {
    if width_of(path) <= places {
        return path.to_owned();
    }
    let bare = |word| if str::starts_with(word, '/') { base_name(word) } else { word };
    let path = &path.split(' ').map(bare).collect::<Vec<_>>().join(" ");
    if width_of(path) <= places {
        return path.clone();
    }
    let steps: Vec<&str> = path.split(CALLS).collect();
    let [first, middle @ .., last] = steps.as_slice() else { return fitted_middle(path, places) };
    let begin = format!("{first}{CALLS}{LEFT_OUT}{CALLS}");
    let room = places.saturating_sub(width_of(&begin));
    if width_of(last) > room {
        let begin = format!("{LEFT_OUT}{CALLS}");
        let last = fitted_middle(last, places.saturating_sub(width_of(&begin)));
        return begin + &last;
    }
    let mut end = (*last).to_owned();
    for step in middle.iter().rev() {
        let longer = format!("{step}{CALLS}{end}");
        if width_of(&longer) > room {
            break;
        }
        end = longer;
    }
    begin + &end
}

/// Returns the way a context hangs below the one above it, if that is not as one expects.
fn hanging(context: &Context) -> Option<&'static str> {
    let is_code = matches!(context.scope, Scope::Loop | Scope::Line);
    match context.relation {
        Relation::Inlined => Some("inlined"),
        Relation::Call => is_code.then_some("called"),
        Relation::Lexical => (!is_code).then_some("nested"),
    }
}

/// Everything that is known of a context, in words.
pub(super) fn label(view: &dyn ProfileView, context: &Context) -> Result<String> {
    let file = |id: FileId| -> Result<String> {
        let path = view.file(id)?;
        // Sources that were copied stand below this folder by the path they had.
        Ok(path.strip_prefix("src/").map(|rest| format!("/{rest}")).unwrap_or(path))
    };
    let point = |module: ModuleId, offset: u64| -> Result<String> {
        Ok(format!("{}+{offset:#x}", view.module(module)?))
    };
    let mut words = Vec::new();
    words.extend(hanging(context).map(str::to_owned));
    words.push(match context.scope {
        Scope::Placeholder => Scope::Function.name().to_owned(),
        scope => scope.name().to_owned(),
    });
    if let Some(function) = context.function.map(|id| view.function(id)).transpose()? {
        words.push(function.name);
        // What was inlined has no place of its own, whatever a recording says.
        let offset = if context.relation == Relation::Inlined { 0 } else { function.offset };
        if let Some(module) = function.module {
            words.push(point(module, offset)?);
        }
        if let Some(defined) = function.file {
            words.push(format!("{}:{}", file(defined)?, function.line));
        }
    }
    if let Some((source, line)) = context.source {
        words.push(format!("{}:{line}", file(source)?));
    }
    if let Some((module, offset)) = context.point {
        words.push(point(module, offset)?);
    }
    Ok(words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_told_by_its_last_labels_however_long_it_is() {
        let mut paths = Paths::new();
        let mut item = |above, label| paths.intern(above, label, Kind::Called);
        let (one, other) = (item(WHOLE, "main"), item(WHOLE, "start"));
        let below = item(one, "work");
        assert_eq!(item(one, "work"), below);
        assert_ne!(item(other, "work"), below);
        assert_eq!(
            [below, WHOLE, UNLISTED].map(|path| paths.text(path)),
            ["main > work", "<whole program>", "<not listed>"]
        );
        let mut path = one;
        for _ in 0..10_000 {
            path = paths.intern(path, "work", Kind::Called);
        }
        let text = paths.text(path);
        assert!(text.len() <= PATH_BYTES_MAX && text.starts_with("… > work > "), "{}", text.len());
        assert_eq!(paths.labels.len(), 5);
    }

    #[test]
    fn of_a_path_without_room_the_steps_in_the_middle_are_left_out() {
        let path = "main /opt/app/a.c:1 > /";
        assert_eq!([fitted(path, 23), fitted(path, 22)], [path, "main a.c:1 > /"]);
        let path = "main > start > run > step > work";
        for (places, expected) in [
            (32, path),
            (31, "main > … > run > step > work"),
            (24, "main > … > step > work"),
            (16, "main > … > work"),
            (10, "… > work"),
            (7, "… > w…k"),
        ] {
            assert_eq!(fitted(path, places), expected, "{places}");
        }
        assert_eq!(fitted("overlong", 5), "ov…ng");
    }
}
