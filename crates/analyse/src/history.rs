//! Every stretch that a task ran, with what came before it: what `perf sched timehist` shows.

use kymo_core::model::timeline::{Activity, Content, TimeNs};

use crate::{Pass, Run, Seen, Stretch, Tasks, elapsed};

/// A stretch that a task ran, and what came before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// The stretch. Where its begin is not known, it begins where it ends.
    pub stretch: Stretch,
    /// How long it ran, where its begin is known.
    pub run_ns: Option<u64>,
    /// How long the task was not running before, where it ran before.
    pub wait_ns: Option<u64>,
    /// How long before the stretch it was released, where it was after the stretch before.
    pub delay_ns: Option<u64>,
}

/// Hands on every stretch, as it ends.
pub struct History<'a> {
    to: &'a mut dyn FnMut(Turn, &Tasks),
    /// What is known of each task.
    tasks: Vec<Before>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Before {
    /// When its last stretch ended.
    ended: Option<TimeNs>,
    /// When it was released first after that.
    released: Option<TimeNs>,
}

impl<'a> History<'a> {
    /// Hands every stretch to a function.
    pub fn new(to: &'a mut dyn FnMut(Turn, &Tasks)) -> Self {
        Self { to, tasks: Vec::new() }
    }

    fn of(&mut self, task: usize) -> Option<&mut Before> {
        if self.tasks.len() <= task {
            self.tasks.resize_with(task + 1, Before::default);
        }
        self.tasks.get_mut(task)
    }

    fn ends(&mut self, stretch: Stretch, is_whole: bool, tasks: &Tasks) {
        let Some(before) = self.of(stretch.task.0) else { return };
        let Before { ended, released } = std::mem::take(before);
        before.ended = Some(stretch.until);
        let until_begin = |from: Option<TimeNs>| {
            from.filter(|_| is_whole).map(|from| elapsed(from, stretch.since))
        };
        let (wait_ns, delay_ns) = (until_begin(ended), until_begin(released));
        let run_ns = is_whole.then(|| elapsed(stretch.since, stretch.until));
        (self.to)(Turn { stretch, run_ns, wait_ns, delay_ns }, tasks);
    }
}

impl Pass for History<'_> {
    fn event(&mut self, seen: &Seen<'_>) {
        let Some((task, cpu)) = seen.task else { return };
        if let Content::Activity(Activity::Release { .. }) = &seen.event.content
            && let Some(before) = self.of(task.0)
        {
            before.released = before.released.or(Some(seen.time));
        }
        if let Some(Run::Ends { since }) = seen.run {
            let (track, until) = (seen.event.track, seen.time);
            let stretch = Stretch { task, cpu, track, since: since.unwrap_or(until), until };
            self.ends(stretch, since.is_some(), seen.tasks);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Told, analysed, begin, release};
    use kymo_core::model::timeline::Window;

    #[test]
    fn turns_are_as_worked_out_by_hand() {
        // Task b: runs already at 5, is released at 10 and again at 12, runs 20–30; goes on at
        // 50–60 without a release.
        let told: Vec<Told> = vec![
            (5, 2, Activity::End),
            (10, 2, release(None)),
            (12, 2, release(None)),
            (20, 2, begin(1)),
            (30, 2, Activity::End),
            (50, 2, begin(1)),
            (60, 2, Activity::End),
        ];
        let mut found = Vec::new();
        let mut keep = |turn: Turn, tasks: &Tasks| {
            assert_eq!(tasks.name(turn.stretch.task), "b");
            found.push((turn.stretch.until.0, turn.wait_ns, turn.delay_ns, turn.run_ns));
        };
        analysed(told, Window::default(), &mut History::new(&mut keep));
        let expected = [
            (5, None, None, None),
            (30, Some(15), Some(10), Some(10)),
            (60, Some(20), None, Some(10)),
        ];
        assert_eq!(found, expected);
    }
}
