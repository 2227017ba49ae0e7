//! Values that each thread spent, in all or in one place.

use std::collections::HashMap;

use super::labels::{Label, Labels};
use super::{Context, ContextNumber, MetricQuery, NamePattern, Step, ThreadId, Walk};
use kymo_core::{Error, Result};

/// Place in which something was spent, with all that was called from there.
#[derive(Debug, Clone, Copy, Default)]
pub enum SpentScope<'a> {
    /// Anywhere.
    #[default]
    All,
    /// In the functions that a pattern means. One that calls itself counts once.
    Function(&'a NamePattern),
    /// In what these names lead to, one below another; others may stand between. They are those of
    /// functions, loops, lines and addresses.
    Path(&'a [String]),
    /// In the context of a number.
    Context(ContextNumber),
}

/// Computes the value that each thread spent with all that it called, in the order of threads.
///
/// # Errors
/// When the profile cannot be read, or has no context of the number.
pub fn per_thread(question: &MetricQuery<'_>, within: SpentScope<'_>) -> Result<Vec<f64>> {
    let mut spent = vec![0.0; question.view.thread_count()];
    let contexts = match within {
        SpentScope::All => entries(question)?,
        SpentScope::Function(pattern) => {
            let is_it =
                |labels: &Labels<'_>, label, _: &NamePattern| labels.matches(label, pattern);
            reached(question, &[pattern], Context::is_frame, is_it)?
        }
        SpentScope::Path(names) => {
            let is_it = |labels: &Labels<'_>, label, name: &String| labels.is_called(label, name);
            reached(question, &names.iter().collect::<Vec<_>>(), |_| true, is_it)?
        }
        SpentScope::Context(number) => vec![numbered(question, number)?],
    };
    question.view.add_inclusive(question.metric, &contexts, &mut spent)?;
    if let Some(threads) = question.threads {
        let others = (0..).map(ThreadId).zip(&mut spent).filter(|(id, _)| !threads.contains(*id));
        others.for_each(|(_, spent)| *spent = 0.0);
    }
    Ok(spent)
}

fn entries(question: &MetricQuery<'_>) -> Result<Vec<Context>> {
    let mut roots = Vec::new();
    question.view.roots(&mut roots)?;
    roots.into_iter().map(|root| question.view.context(root)).collect()
}

fn numbered(question: &MetricQuery<'_>, number: ContextNumber) -> Result<Context> {
    let found = question.view.find(number)?;
    let absent = || Error::Request(format!("there is no context {}", number.0));
    question.view.context(found.ok_or_else(absent)?)
}

/// The outermost contexts that names lead to, of those that count.
fn reached<N>(
    question: &MetricQuery<'_>,
    names: &[&N],
    counts: impl Fn(&Context) -> bool,
    is_meant: impl Fn(&Labels<'_>, Label, &N) -> bool,
) -> Result<Vec<Context>> {
    let (mut labels, mut found) = (Labels::for_view(question.view), Vec::new());
    let mut called: HashMap<(usize, Label), bool> = HashMap::new();
    // How many of the names lead to each context on the way to where we are.
    let mut open: Vec<usize> = Vec::new();
    let mut walk = Walk::new(question.view)?;
    while let Some(step) = walk.next() {
        let Step::Enter(context, _) = step? else {
            open.pop();
            continue;
        };
        let mut reached = open.last().copied().unwrap_or(0);
        if let (true, Some(name)) = (counts(&context), names.get(reached)) {
            let label = labels.context_label(&context)?;
            let is_called = called.entry((reached, label));
            let is_called = is_called.or_insert_with(|| is_meant(&labels, label, name));
            reached += usize::from(*is_called);
        }
        if reached == names.len() {
            found.push(context);
            // What is below is part of it.
            walk.prune()?;
        }
        open.push(reached);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::super::{CallTree, MetricId, ThreadSet, fixture};
    use super::*;

    fn called(name: &str) -> NamePattern {
        NamePattern::new(name).unwrap()
    }

    fn spent(tree: &CallTree, within: SpentScope<'_>, threads: Option<&ThreadSet>) -> Vec<f64> {
        per_thread(&MetricQuery { view: tree, metric: MetricId(0), threads }, within).unwrap()
    }

    #[test]
    fn each_thread_has_what_it_spent() {
        let tree = fixture::tree();
        assert_eq!(spent(&tree, SpentScope::All, None), [14.0, 1.0]);
        assert_eq!(spent(&tree, SpentScope::Function(&called("work")), None), [6.0, 1.0]);
        assert_eq!(spent(&tree, SpentScope::Function(&called("absent")), None), [0.0, 0.0]);
        let second: ThreadSet = [ThreadId(1)].into_iter().collect();
        assert_eq!(spent(&tree, SpentScope::All, Some(&second)), [0.0, 1.0]);
    }

    #[test]
    fn a_path_leads_to_what_is_below_all_of_its_names() {
        let tree = fixture::tree();
        let path = |names: &[&str]| {
            let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
            spent(&tree, SpentScope::Path(&names), None)
        };
        assert_eq!(path(&["main"]), [14.0, 1.0]);
        assert_eq!(path(&["main", "work"]), [6.0, 1.0]);
        // The inner call, in which only the first thread spent something.
        assert_eq!(path(&["work", "work"]), [2.0, 0.0]);
        assert_eq!(path(&["<main thread>", "loop at a.c:9"]), path(&["a.c:10"]));
        assert_eq!(path(&["work", "main"]), [0.0, 0.0]);
    }

    #[test]
    fn a_context_is_found_by_its_number() {
        let tree = fixture::tree();
        let question = MetricQuery { view: &tree, metric: MetricId(0), threads: None };
        let mut roots = Vec::new();
        question.view.roots(&mut roots).unwrap();
        let number = question.view.context(roots[0]).unwrap().number;
        assert_eq!(spent(&tree, SpentScope::Context(number), None), [14.0, 1.0]);
        let absent = SpentScope::Context(ContextNumber(99));
        let error = per_thread(&question, absent).unwrap_err().to_string();
        assert_eq!(error, "there is no context 99");
    }
}
