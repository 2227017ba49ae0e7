//! Names for what is found in a profile, each once.

mod held;
mod texts;

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::BuildHasher;

use hashbrown::HashTable;

use super::names::{self, LOOP, Name};
use super::pattern::{self, NamePattern};
use super::{Context, FileId, FunctionId, ModuleId, Place, ProfileView, Scope};
pub(super) use held::HeldLabels;
use kymo_core::{Error, Invariant as _, Result};
use texts::Paths;
pub(super) use texts::Texts;

/// Key by which contexts are grouped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    Function(FunctionId, bool),
    Place(FileId, u32, bool),
    Point(ModuleId, u64, bool),
    /// Key of something that is not known at all, by what it is.
    Unknown(Scope),
}

impl Key {
    fn from_context(context: &Context) -> Self {
        let is_loop = context.scope == Scope::Loop;
        match (context.function, context.source, context.point) {
            (Some(function), ..) => Self::Function(function, context.scope == Scope::Entry),
            (None, Some((file, line)), point)
                if point.is_none() || context.scope != Scope::Instruction =>
            {
                Self::Place(file, line, is_loop)
            }
            (None, _, Some((module, offset))) => Self::Point(module, offset, is_loop),
            (None, _, None) => Self::Unknown(context.scope),
        }
    }
}

/// A label's index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Label(pub(super) usize);

impl Label {
    /// Label of anything that is not among those that are held.
    const ELSEWHERE: Self = Self(usize::MAX);
}

/// Entry that a label stands for. Names of functions are not held: they are read again where they
/// are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Entry {
    /// The name of a function, with the hash of its text.
    Function {
        hash: u32,
        is_entry: bool,
        id: FunctionId,
    },
    /// A text of our own, with its hash.
    Own {
        hash: u32,
        index: u32,
    },
    Place {
        file: u32,
        line: u32,
        is_loop: bool,
    },
    Point {
        module: u32,
        offset: u64,
        is_loop: bool,
    },
    /// The whole path of a file.
    File(u32),
    Module(u32),
}

/// Number of keys that are remembered with their labels. Most contexts are of few functions.
const RECENT: usize = 1 << 12;

/// Names that are longer than this are not read again for what is known, unless they are very
/// many.
const LONG: usize = 256;
const LONG_HELD: usize = 1 << 16;

/// Labels, each once. What has the same label is the same to a person.
///
/// Of each function it takes few bytes more than what finds it, however long its name is.
pub(super) struct Labels<'a> {
    view: &'a dyn ProfileView,
    held: HeldLabels,
    /// True if there were more than are held at most.
    is_overfull: bool,
    entries: Vec<Entry>,
    by_entry: HashTable<u32>,
    own: Vec<String>,
    files: Paths,
    modules: Paths,
    /// Keys that were asked for last.
    recent: Vec<Option<(Key, Label)>>,
    /// Keys of long names.
    long: HashMap<Key, Label>,
    /// Number of bytes that the texts may still take.
    bytes_left: u64,
}

impl<'a> Labels<'a> {
    /// For the contexts of a view.
    pub(super) fn for_view(view: &'a dyn ProfileView) -> Self {
        Self::new(view, HeldLabels::default())
    }

    /// For some of the contexts of a view: what is not among those that are held has a label that
    /// stands for nothing.
    pub(super) fn new(view: &'a dyn ProfileView, held: HeldLabels) -> Self {
        let (is_overfull, own, files, modules, long) = <_>::default();
        // At once, since what grows takes more while it does.
        let expected = held.expected();
        Self {
            view,
            held,
            is_overfull,
            entries: Vec::with_capacity(expected),
            by_entry: HashTable::with_capacity(expected),
            own,
            files,
            modules,
            recent: vec![None; RECENT],
            long,
            bytes_left: view.labels_max(),
        }
    }

    /// Returns the number of labels that there will be, about; 0 where that is not known.
    pub(super) fn expected(&self) -> usize {
        self.held.expected()
    }

    /// Returns true if there were more than are held at most, so that some are missing.
    pub(super) fn is_overfull(&self) -> bool {
        self.is_overfull
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The label of a context by itself: its function, its line, its address.
    pub(super) fn context_label(&mut self, context: &Context) -> Result<Label> {
        let key = Key::from_context(context);
        let slot = self.held.hasher().hash_one(key) % RECENT as u64;
        let slot = usize::try_from(slot).unwrap_or(0);
        let recent = self.recent.get(slot).copied().flatten().filter(|(known, _)| *known == key);
        if let Some((_, label)) = recent {
            return Ok(label);
        }
        if let Some(label) = self.long.get(&key) {
            return Ok(*label);
        }
        let label = self.name_label(Name::from_context(self.view, context)?, key)?;
        if let Some(slot) = self.recent.get_mut(slot) {
            *slot = Some((key, label));
        }
        Ok(label)
    }

    fn name_label(&mut self, name: Name<'_>, key: Key) -> Result<Label> {
        let view = self.view;
        let entry = match name {
            Name::Text(text, function) => {
                let is_entry = matches!(key, Key::Function(_, true));
                let label = self.text_label(&text, function.map(|id| (id, is_entry)))?;
                if text.len() > LONG && self.long.len() < LONG_HELD {
                    self.long.insert(key, label);
                }
                return Ok(label);
            }
            Name::Place { file, line, is_loop } => {
                let file = self.files.intern(file.0, || view.file(file))?;
                Entry::Place { file, line, is_loop }
            }
            Name::Point { module, offset, is_loop } => {
                let module = self.modules.intern(module.0, || view.module(module))?;
                Entry::Point { module, offset, is_loop }
            }
        };
        self.path_label(entry)
    }

    /// The label of the whole path of a file.
    pub(super) fn file_label(&mut self, file: FileId) -> Result<Label> {
        let view = self.view;
        let file = self.files.intern(file.0, || view.file(file))?;
        self.path_label(Entry::File(file))
    }

    /// The label of a module.
    pub(super) fn module_label(&mut self, module: ModuleId) -> Result<Label> {
        let view = self.view;
        let module = self.modules.intern(module.0, || view.module(module))?;
        self.path_label(Entry::Module(module))
    }

    /// The label of a text of our own.
    pub(super) fn named(&mut self, text: &str) -> Result<Label> {
        self.text_label(text, None)
    }

    /// The label of what is called by a path.
    fn path_label(&mut self, entry: Entry) -> Result<Label> {
        let hash = self.held.hasher().hash_one(entry);
        if !self.held.contains(hash) {
            return Ok(Label::ELSEWHERE);
        }
        let Self { by_entry, entries, .. } = self;
        let known = by_entry.find(hash, |known| entries.get(as_index(*known)) == Some(&entry));
        if let Some(known) = known {
            return Ok(Label(as_index(*known)));
        }
        let bytes = match entry {
            Entry::Place { file, .. } | Entry::File(file) => self.files.get(file).len(),
            Entry::Point { module, .. } | Entry::Module(module) => self.modules.get(module).len(),
            Entry::Function { .. } | Entry::Own { .. } => 0,
        };
        self.add(entry, hash, bytes)
    }

    /// The label of a text, which is that of a function, or our own.
    fn text_label(&mut self, text: &str, function: Option<(FunctionId, bool)>) -> Result<Label> {
        let short = short(self.held.hasher().hash_one(text));
        if !self.held.contains(spread(short)) {
            return Ok(Label::ELSEWHERE);
        }
        let is_it = |known: &u32| {
            let entry = self.entries.get(as_index(*known));
            let is_like = matches!(
                entry,
                Some(Entry::Function { hash, .. } | Entry::Own { hash, .. }) if *hash == short
            );
            // What cannot be read any more is another.
            is_like && entry.is_some_and(|entry| self.text_of(*entry).is_ok_and(|it| it == text))
        };
        if let Some(known) = self.by_entry.find(spread(short), is_it) {
            return Ok(Label(as_index(*known)));
        }
        let entry = if let Some((id, is_entry)) = function {
            Entry::Function { hash: short, is_entry, id }
        } else {
            let index = u32::try_from(self.own.len()).unwrap_or(u32::MAX);
            self.own.push(text.to_owned());
            Entry::Own { hash: short, index }
        };
        self.add(entry, spread(short), text.len())
    }

    /// Takes a new label, whose text has so many bytes.
    fn add(&mut self, entry: Entry, hash: u64, bytes: usize) -> Result<Label> {
        if self.held.is_full(self.entries.len()) {
            self.is_overfull = true;
            return Ok(Label::ELSEWHERE);
        }
        let function = match entry {
            Entry::Function { id, .. } => Some(id),
            _ => None,
        };
        let left = self.bytes_left.checked_sub(bytes as u64);
        self.bytes_left = left.ok_or_else(|| self.view.overlapping_names(function))?;
        let next = self.entries.len();
        let index = u32::try_from(next).map_err(|_| Error::request("there are too many names"))?;
        self.entries.push(entry);
        let Self { by_entry, entries, held, .. } = self;
        let hash_of = |known: &u32| match entries.get(as_index(*known)) {
            Some(Entry::Function { hash, .. } | Entry::Own { hash, .. }) => spread(*hash),
            other => held.hasher().hash_one(other.copied().unwrap_or(entry)),
        };
        by_entry.insert_unique(hash, index, hash_of);
        Ok(Label(next))
    }

    /// The text of an entry, with whole paths.
    fn text_of(&self, entry: Entry) -> Result<Cow<'_, str>> {
        Ok(match entry {
            Entry::Function { id, is_entry, .. } => {
                names::function_name(self.view.function_name(id)?, is_entry)
            }
            Entry::Own { index, .. } => {
                self.own.get(as_index(index)).map_or("", String::as_str).into()
            }
            Entry::Place { file, line, is_loop } => {
                names::place_name(self.files.get(file), line, is_loop).into()
            }
            Entry::Point { module, offset, is_loop } => {
                names::address_name(self.modules.get(module), offset, is_loop).into()
            }
            Entry::File(file) => self.files.get(file).into(),
            Entry::Module(module) => self.modules.get(module).into(),
        })
    }

    /// The file or module of a label, where it is called by one.
    pub(super) fn place(&self, label: Label) -> Result<Option<Place>> {
        let entry =
            self.entries.get(label.0).copied().or_broken("a label was not made by these labels")?;
        let path = match entry {
            Entry::Place { file, .. } | Entry::File(file) => self.files.get(file),
            Entry::Point { module, .. } | Entry::Module(module) => self.modules.get(module),
            Entry::Function { .. } | Entry::Own { .. } => return Ok(None),
        };
        let text = self.text_of(entry)?;
        let around = text.split_once(path).map(|(before, behind)| [before, behind]);
        let around = around.unwrap_or_default().map(str::to_owned);
        Ok(Some(Place { path: path.to_owned(), around }))
    }

    /// Returns true if a label is that of functions of a name, which may leave out the module that
    /// stands behind it in brackets, and directories before the name of a file.
    pub(super) fn is_called(&self, label: Label, name: &str) -> bool {
        let entry = self.entries.get(label.0).copied();
        let Some((entry, text)) =
            entry.and_then(|this_entry| Some((this_entry, self.text_of(this_entry).ok()?)))
        else {
            return false;
        };
        if let Entry::Function { .. } | Entry::Own { .. } = entry {
            return pattern::is_called(&text, name);
        }
        let (text, name) = match (text.strip_prefix(LOOP), name.strip_prefix(LOOP)) {
            (Some(text), Some(name)) => (text, name),
            (None, None) => (&*text, name),
            _ => return false,
        };
        let before = text.strip_suffix(name).filter(|_| !name.is_empty());
        before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
    }

    /// Returns true for the label of functions that a pattern means.
    pub(super) fn matches(&self, label: Label, pattern: &NamePattern) -> bool {
        if self.is_called(label, pattern.text()) {
            return true;
        }
        let Some(entry) = self.entries.get(label.0).copied() else { return false };
        let Ok(text) = self.text_of(entry) else { return false };
        // Directories before the name of a file may be left out, as they are where it is shown.
        let shown = match entry {
            Entry::Function { .. } | Entry::Own { .. } => None,
            _ => text.rsplit_once('/').map(|(_, name)| name),
        };
        pattern.matches(&text) || shown.is_some_and(|name| pattern.matches(name))
    }

    /// The texts of all labels.
    pub(super) fn texts(&self) -> Result<Texts> {
        let shown = self.shown();
        let mut texts = Texts::default();
        for entry in &self.entries {
            texts.push(&shown.text(*entry)?);
        }
        Ok(texts)
    }

    /// Returns the texts that labels are shown as, once all are known.
    pub(super) fn shown(&self) -> ShortLabels<'_> {
        ShortLabels {
            labels: self,
            files: self.files.short_paths(),
            modules: self.modules.short_paths(),
        }
    }
}

/// Texts that labels are shown as: of paths as much as tells them apart.
pub(super) struct ShortLabels<'a> {
    labels: &'a Labels<'a>,
    files: Vec<&'a str>,
    modules: Vec<&'a str>,
}

impl ShortLabels<'_> {
    pub(super) fn get(&self, label: Label) -> Result<Cow<'_, str>> {
        self.labels.entries.get(label.0).map_or(Ok("".into()), |entry| self.text(*entry))
    }

    fn text(&self, entry: Entry) -> Result<Cow<'_, str>> {
        let path = |paths: &[&'_ str], index: u32| {
            paths.get(as_index(index)).copied().unwrap_or("").to_owned()
        };
        Ok(match entry {
            Entry::Place { file, line, is_loop } => {
                names::place_name(&path(&self.files, file), line, is_loop).into()
            }
            Entry::Point { module, offset, is_loop } => {
                names::address_name(&path(&self.modules, module), offset, is_loop).into()
            }
            Entry::Module(module) => path(&self.modules, module).into(),
            Entry::Function { .. } | Entry::Own { .. } | Entry::File(_) => {
                self.labels.text_of(entry)?
            }
        })
    }
}

fn as_index(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Half of a hash, which is what an entry has room for.
fn short(hash: u64) -> u32 {
    u32::try_from(hash >> 32).unwrap_or(0)
}

/// A hash of which all bits count, of half of one.
fn spread(short: u32) -> u64 {
    u64::from(short).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;

    #[test]
    fn the_same_text_is_the_same_label() {
        let tree = fixture::tree();
        let mut labels = Labels::for_view(&tree);
        let found = ["main", "", "work", "main", ""].map(|text| labels.named(text).unwrap().0);
        assert_eq!(found, [0, 1, 2, 0, 1]);
        assert_eq!(labels.texts().unwrap().iter().collect::<Vec<_>>(), ["main", "", "work"]);
    }

    #[test]
    fn names_beyond_what_there_can_be_are_refused() {
        let tree = fixture::tree();
        let mut labels = Labels { bytes_left: 5, ..Labels::for_view(&tree) };
        assert_eq!(labels.named("main").unwrap(), Label(0));
        assert_eq!(labels.named("main").unwrap(), Label(0));
        assert!(labels.named("ma").is_err());
    }

    #[test]
    fn a_label_takes_sixteen_bytes() {
        assert_eq!(size_of::<Entry>(), 16);
    }
}
