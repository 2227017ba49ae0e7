//! What each thread spent, in all or in one function.

use std::collections::HashMap;

use super::labels::Labels;
use super::{Context, Question, Step, ThreadId, Walk};
use crate::Result;

/// What each thread spent with all that it called, in the order of threads: in all, or in the
/// functions of a name. A function that calls itself counts once.
///
/// # Errors
/// When the profile cannot be read.
pub fn per_thread(question: &Question<'_>, function: Option<&str>) -> Result<Vec<f64>> {
    let mut spent = vec![0.0; question.view.thread_count()];
    let contexts = match function {
        None => entries(question)?,
        Some(function) => frames(question, function)?,
    };
    question.view.add_inclusive(question.metric, &contexts, &mut spent)?;
    if let Some(threads) = question.threads {
        let others = (0..).map(ThreadId).zip(&mut spent).filter(|(id, _)| !threads.contains(*id));
        others.for_each(|(_, spent)| *spent = 0.0);
    }
    Ok(spent)
}

fn entries(question: &Question<'_>) -> Result<Vec<Context>> {
    let mut roots = Vec::new();
    question.view.roots(&mut roots)?;
    roots.into_iter().map(|root| question.view.context(root)).collect()
}

/// The outermost calls of the functions of a name.
fn frames(question: &Question<'_>, function: &str) -> Result<Vec<Context>> {
    let (mut labels, mut found) = (Labels::of_view(question.view), Vec::new());
    let mut called = HashMap::new();
    let mut walk = Walk::new(question.view)?;
    while let Some(step) = walk.next() {
        let Step::Enter(context, _) = step? else { continue };
        if !context.is_frame() {
            continue;
        }
        let label = labels.of_context(&context)?;
        if *called.entry(label).or_insert_with(|| labels.is_called(label, function)) {
            found.push(context);
            // What is below is part of it.
            walk.prune();
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::super::{CallTree, MetricId, ThreadSet, fixture};
    use super::*;

    fn spent(tree: &CallTree, function: Option<&str>, threads: Option<&ThreadSet>) -> Vec<f64> {
        per_thread(&Question { view: tree, metric: MetricId(0), threads }, function).unwrap()
    }

    #[test]
    fn each_thread_has_what_it_spent() {
        let tree = fixture::tree();
        assert_eq!(spent(&tree, None, None), vec![14.0, 1.0]);
        assert_eq!(spent(&tree, Some("work"), None), vec![6.0, 1.0]);
        assert_eq!(spent(&tree, Some("absent"), None), vec![0.0, 0.0]);
        let second: ThreadSet = [ThreadId(1)].into_iter().collect();
        assert_eq!(spent(&tree, None, Some(&second)), vec![0.0, 1.0]);
    }
}
