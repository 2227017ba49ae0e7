//! Modules, files and functions that contexts name, each once.

use std::collections::HashMap;
use std::hash::Hash;

use foldhash::fast::RandomState;
use kymo_model::measurement::Frame;

/// Things by a number, each once.
#[derive(Debug)]
pub(crate) struct Interner<T> {
    items: Vec<T>,
    known: HashMap<T, u32, RandomState>,
}

impl<T> Default for Interner<T> {
    fn default() -> Self {
        Self { items: Vec::new(), known: HashMap::default() }
    }
}

impl<T: Clone + Eq + Hash> Interner<T> {
    /// The number of a thing, and whether it is new.
    pub(crate) fn intern(&mut self, item: T) -> (u32, bool) {
        let next = number(self.items.len());
        match self.known.entry(item) {
            std::collections::hash_map::Entry::Occupied(known) => (*known.get(), false),
            std::collections::hash_map::Entry::Vacant(free) => {
                self.items.push(free.key().clone());
                free.insert(next);
                (next, true)
            }
        }
    }

    pub(crate) fn contains(&self, item: &T) -> bool {
        self.known.contains_key(item)
    }

    pub(crate) fn items(&self) -> &[T] {
        &self.items
    }
}

/// A function as one record of what told of it: several may have the same name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) name: String,
    pub(crate) module: Option<u32>,
    pub(crate) entry: u64,
    pub(crate) file: Option<u32>,
    pub(crate) line: u32,
    /// True if it stands for something that is no code.
    pub(crate) is_placeholder: bool,
}

/// A loop, by all that is known of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Loop {
    pub(crate) file: Option<u32>,
    pub(crate) line: u32,
    pub(crate) entry: Option<(u32, u64)>,
}

/// Everything that contexts name.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// Paths as they were recorded, and where relative ones lead: those below one directory are the
    /// same, also where its profiles are measurements of their own.
    pub(crate) modules: Interner<(String, Option<String>)>,
    pub(crate) files: Interner<String>,
    pub(crate) functions: Vec<Record>,
    pub(crate) loops: Interner<Loop>,
    placeholders: HashMap<Frame, u32, RandomState>,
}

impl Names {
    pub(crate) fn file(&mut self, path: &str) -> u32 {
        if let Some(known) = self.files.known.get(path) {
            return *known;
        }
        self.files.intern(path.to_owned()).0
    }

    /// A new function, whatever others there are.
    pub(crate) fn function(&mut self, record: Record) -> u32 {
        self.functions.push(record);
        number(self.functions.len() - 1)
    }

    /// Returns the placeholder for something that is no code.
    pub(crate) fn placeholder(&mut self, frame: Frame, name: impl FnOnce() -> String) -> u32 {
        if let Some(known) = self.placeholders.get(&frame) {
            return *known;
        }
        let (module, file) = (None, None);
        let record = Record { name: name(), module, entry: 0, file, line: 0, is_placeholder: true };
        let function = self.function(record);
        self.placeholders.insert(frame, function);
        function
    }
}

/// A count as a number. There are fewer of anything than contexts, and those are counted.
pub(crate) fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// A number as an index.
pub(crate) fn index(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
