//! What is asked of a profile, and names for what is found, each made once.

use std::collections::HashMap;

use super::{
    Column, Context, FileId, FunctionId, MetricId, ModuleId, ProfileView, Reach, Statistic,
    ThreadSet,
};
use crate::Result;

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
    Unknown,
}

/// A label's index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Label(pub(super) usize);

/// Labels, each once. What has the same label is the same to a person.
#[derive(Default)]
pub(super) struct Labels {
    texts: Vec<String>,
    by_text: HashMap<String, Label>,
    by_key: HashMap<Key, Label>,
}

impl Labels {
    /// The label for a key; its text is only made when the key is new.
    pub(super) fn of(&mut self, key: Key, text: impl FnOnce() -> Result<String>) -> Result<Label> {
        if let Some(&known) = self.by_key.get(&key) {
            return Ok(known);
        }
        let label = self.named(&text()?);
        self.by_key.insert(key, label);
        Ok(label)
    }

    /// The label of a text.
    pub(super) fn named(&mut self, text: &str) -> Label {
        let next = Label(self.texts.len());
        *self.by_text.entry(text.to_owned()).or_insert_with_key(|text| {
            self.texts.push(text.clone());
            next
        })
    }

    /// The label of a context by itself: its function, its line, its address.
    pub(super) fn of_context(
        &mut self,
        view: &dyn ProfileView,
        context: &Context,
    ) -> Result<Label> {
        let key = match (context.function, context.source, context.point) {
            (Some(function), ..) => Key::Function(function, context.scope == super::Scope::Entry),
            (None, Some((file, line)), None) => {
                Key::Place(file, line, context.scope == super::Scope::Loop)
            }
            (None, Some((file, line)), Some(_)) if context.scope != super::Scope::Instruction => {
                Key::Place(file, line, context.scope == super::Scope::Loop)
            }
            (None, _, Some((module, offset))) => {
                Key::Point(module, offset, context.scope == super::Scope::Loop)
            }
            (None, None, None) => Key::Unknown,
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
        self.texts.get(label.0).map_or("", String::as_str)
    }

    pub(super) fn len(&self) -> usize {
        self.texts.len()
    }

    pub(super) fn into_texts(self) -> Vec<String> {
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
}
