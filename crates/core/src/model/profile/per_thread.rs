//! What each thread spent, in all or in one function.

use super::labels::Labels;
use super::{Column, Context, Question, Reach, Step, Walk};
use crate::Result;

/// What each thread spent with all that it called, in the order of threads: in all, or in the
/// functions of a name. A function that calls itself counts once.
///
/// # Errors
/// When the profile cannot be read.
pub fn per_thread(question: &Question<'_>, function: Option<&str>) -> Result<Vec<f64>> {
    let mut spent = vec![0.0; question.view.thread_count()];
    let Some(function) = function else {
        let mut roots = Vec::new();
        question.view.roots(&mut roots)?;
        for root in roots {
            add(question, &question.view.context(root)?, &mut spent)?;
        }
        return Ok(spent);
    };
    let mut labels = Labels::default();
    let mut walk = Walk::new(question.view)?;
    while let Some(step) = walk.next() {
        let Step::Enter(context, _) = step? else { continue };
        if !context.is_frame() {
            continue;
        }
        let label = labels.of_context(question.view, &context)?;
        if labels.text(label) == function {
            add(question, &context, &mut spent)?;
            // What is below is part of it.
            walk.prune();
        }
    }
    Ok(spent)
}

fn add(question: &Question<'_>, context: &Context, to: &mut [f64]) -> Result<()> {
    let column = Column { metric: question.metric, reach: Reach::Execution };
    for value in question.view.context_values(context)? {
        let value = value?;
        let is_meant = question.threads.is_none_or(|threads| threads.contains(value.thread));
        let index = usize::try_from(value.thread.0).unwrap_or(usize::MAX);
        if let (true, true, Some(to)) = (is_meant, value.column == column, to.get_mut(index)) {
            *to += value.value;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{CallTree, MetricId, ThreadId, ThreadSet, fixture};
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
