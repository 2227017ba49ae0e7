//! What is asked of a profile, and names for what is found, each made once.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;

use super::{
    Column, Context, FileId, FunctionId, MetricId, ModuleId, ProfileView, Reach, Scope, Statistic,
    ThreadSet,
};
use crate::{Error, Result};

/// Which values of a profile a report is about.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    /// Of what.
    pub view: &'a dyn ProfileView,
    /// What was measured.
    pub metric: MetricId,
    /// Only these threads; nothing means all.
    pub threads: Option<&'a ThreadSet>,
}

/// What a context spent.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Spent {
    pub(super) inclusive: f64,
    pub(super) exclusive: f64,
}

/// What is read of each context for a report: a statistic over threads of the values in question.
#[derive(Clone, Copy)]
pub(super) struct Reading<'a> {
    pub(super) question: &'a Question<'a>,
    pub(super) statistic: Statistic,
    /// What counts as what a context spent itself.
    pub(super) exclusive: Reach,
}

impl<'a> Reading<'a> {
    /// Sums, and what functions spent themselves.
    pub(super) fn sums(question: &'a Question<'a>) -> Self {
        Self { question, statistic: Statistic::Sum, exclusive: Reach::Function }
    }

    pub(super) fn view(&self) -> &'a dyn ProfileView {
        self.question.view
    }

    pub(super) fn spent(&self, context: &Context) -> Result<Spent> {
        let Question { view, metric, threads } = *self.question;
        let columns = [Reach::Execution, self.exclusive].map(|reach| Column { metric, reach });
        let mut sums = [0.0; 2];
        view.statistics(self.statistic, context, &columns, threads, &mut sums)?;
        let [inclusive, exclusive] = sums;
        Ok(Spent { inclusive, exclusive })
    }

    /// Takes what another context spent into account.
    pub(super) fn combine(&self, to: &mut f64, value: f64) {
        self.statistic.combine(to, value);
    }
}

impl Question<'_> {
    /// What all entry points together spent.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn total(&self) -> Result<f64> {
        let mut roots = Vec::new();
        self.view.roots(&mut roots)?;
        let mut total = 0.0;
        for root in roots {
            total += Reading::sums(self).spent(&self.view.context(root)?)?.inclusive;
        }
        Ok(total)
    }
}

/// What contexts are grouped by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Key {
    Function(FunctionId, bool),
    Place(FileId, u32, bool),
    Point(ModuleId, u64, bool),
    Module(ModuleId),
    File(FileId),
    /// What is not known at all, by what it is.
    Unknown(Scope),
}

/// A label's index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Label(pub(super) usize);

/// The texts of labels, one behind another.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Texts {
    text: String,
    ends: Vec<usize>,
}

impl Texts {
    pub(super) fn get(&self, label: Label) -> &str {
        let start = label.0.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied());
        let end = self.ends.get(label.0).copied();
        start.zip(end).and_then(|(start, end)| self.text.get(start..end)).unwrap_or("")
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|index| self.get(Label(index)))
    }

    fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.ends.push(self.text.len());
    }
}

/// Labels, each once. What has the same label is the same to a person.
pub(super) struct Labels {
    texts: Texts,
    hasher: RandomState,
    by_text: HashTable<usize>,
    by_key: HashMap<Key, Label>,
    /// How many bytes the texts may come to.
    bytes_max: u64,
}

impl Default for Labels {
    fn default() -> Self {
        Self::new(u64::MAX)
    }
}

impl Labels {
    fn new(bytes_max: u64) -> Self {
        let (texts, hasher, by_text, by_key) = <_>::default();
        Self { texts, hasher, by_text, by_key, bytes_max }
    }

    /// For the contexts of a view.
    pub(super) fn of_view(view: &dyn ProfileView) -> Self {
        Self::new(view.labels_max())
    }

    /// The label for a key; its text is only made when the key is new.
    pub(super) fn of(&mut self, key: Key, text: impl FnOnce() -> Result<String>) -> Result<Label> {
        if let Some(&known) = self.by_key.get(&key) {
            return Ok(known);
        }
        let label = self.named(&text()?);
        if self.texts.text.len() as u64 > self.bytes_max {
            let why =
                "names come to more than the file has room for: they lie on top of each other";
            return Err(Error::request(why));
        }
        self.by_key.insert(key, label);
        Ok(label)
    }

    /// The label of a text.
    pub(super) fn named(&mut self, text: &str) -> Label {
        let Self { texts, hasher, by_text, .. } = self;
        let hash = hasher.hash_one(text);
        let is_it = |known: &usize| texts.get(Label(*known)) == text;
        if let Some(known) = by_text.find(hash, is_it) {
            return Label(*known);
        }
        let next = texts.len();
        texts.push(text);
        by_text.insert_unique(hash, next, |known| hasher.hash_one(texts.get(Label(*known))));
        Label(next)
    }

    /// The label of a context by itself: its function, its line, its address.
    pub(super) fn of_context(
        &mut self,
        view: &dyn ProfileView,
        context: &Context,
    ) -> Result<Label> {
        let key = match (context.function, context.source, context.point) {
            (Some(function), ..) => Key::Function(function, context.scope == Scope::Entry),
            (None, Some((file, line)), None) => {
                Key::Place(file, line, context.scope == Scope::Loop)
            }
            (None, Some((file, line)), Some(_)) if context.scope != Scope::Instruction => {
                Key::Place(file, line, context.scope == Scope::Loop)
            }
            (None, _, Some((module, offset))) => {
                Key::Point(module, offset, context.scope == Scope::Loop)
            }
            (None, None, None) => Key::Unknown(context.scope),
        };
        self.of(key, || view.label(context))
    }

    /// Whether a label is that of functions of a name, which may leave out the module that stands
    /// behind it in brackets.
    pub(super) fn is_called(&self, label: Label, name: &str) -> bool {
        let rest = self.text(label).strip_prefix(name);
        rest.is_some_and(|rest| {
            rest.is_empty() || (rest.starts_with(" [") && rest.ends_with(']') && !name.is_empty())
        })
    }

    pub(super) fn text(&self, label: Label) -> &str {
        self.texts.get(label)
    }

    pub(super) fn len(&self) -> usize {
        self.texts.len()
    }

    pub(super) fn into_texts(self) -> Texts {
        self.texts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_called_by_its_name_with_or_without_its_module() {
        let mut labels = Labels::default();
        let label = labels.named("ext4_read [ext4] [vmlinux]");
        for name in ["ext4_read", "ext4_read [ext4]", "ext4_read [ext4] [vmlinux]"] {
            assert!(labels.is_called(label, name), "{name}");
        }
        for name in ["", "ext4", "ext4_read [", "read"] {
            assert!(!labels.is_called(label, name), "{name}");
        }
    }

    #[test]
    fn the_same_text_is_the_same_label() {
        let mut labels = Labels::default();
        let found = ["main", "", "work", "main", ""].map(|text| labels.named(text).0);
        assert_eq!(found, [0, 1, 2, 0, 1]);
        assert_eq!(labels.into_texts().iter().collect::<Vec<_>>(), ["main", "", "work"]);
    }

    #[test]
    fn names_beyond_what_there_can_be_are_refused() {
        let mut labels = Labels::new(5);
        let mut of = |id, text: &str| labels.of(Key::File(FileId(id)), || Ok(text.to_owned()));
        assert_eq!(of(1, "main").unwrap(), Label(0));
        assert_eq!(of(2, "main").unwrap(), Label(0));
        assert!(of(3, "ma").is_err());
    }
}
