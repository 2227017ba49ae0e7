//! One kind of time of tasks, in full.

use kymo_query::{Analysis, Distribution, Sched, TaskSched};

use super::in_order;
use crate::render::grid::{Column, Grid, Look, maybe};

/// Times of jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(in crate::commands) enum Times {
    /// Duration for which jobs ran.
    Run,
    /// Duration for which jobs waited: their response time without their run.
    Wait,
    /// Duration from the release of jobs until they were complete.
    Response,
    /// Duration from the release of jobs until they ran first.
    Delay,
}

const COLUMNS: &[Column] = &[
    ("", "jobs", Look::Count),
    ("", "min", Look::Duration),
    ("", "mean", Look::Duration),
    ("", "50%", Look::Duration),
    ("", "95%", Look::Duration),
    ("", "99%", Look::Duration),
    ("", "max", Look::Duration),
    ("", "task", Look::Name),
];

impl Times {
    /// All of them, and what a page calls them.
    pub(in crate::commands) const TITLES: [(Self, &str); 4] = [
        (Self::Run, "Run of jobs"),
        (Self::Wait, "Wait of jobs"),
        (Self::Response, "Response of jobs"),
        (Self::Delay, "Delay of jobs"),
    ];

    fn distribution(self, task: &TaskSched) -> &Distribution {
        match self {
            Self::Run => &task.run_ns,
            Self::Wait => &task.wait_ns,
            Self::Response => &task.response_ns,
            Self::Delay => &task.delay_ns,
        }
    }

    /// These times of all tasks that are meant but idle ones, those with most first: of so many, or of
    /// all.
    pub(in crate::commands) fn table(
        self,
        sched: &Sched,
        analysis: &Analysis,
        most: impl Fn(&TaskSched) -> u128,
        number: usize,
    ) -> Grid {
        let mut grid = Grid::new(COLUMNS).keeping(number).omit_first(&["50%"]);
        for (id, task) in in_order(sched, analysis, most, number) {
            let times = self.distribution(task);
            grid.row_of(|| {
                vec![
                    times.count().into(),
                    maybe(times.min()),
                    maybe(times.mean()),
                    maybe(times.percentile(50)),
                    maybe(times.percentile(95)),
                    maybe(times.percentile(99)),
                    maybe(times.max()),
                    analysis.tasks().label(id).into_owned().into(),
                ]
            });
        }
        grid
    }

    /// Returns true if there are such times of anything.
    pub(in crate::commands) fn has_any(self, sched: &Sched) -> bool {
        sched.tasks().any(|(_, task)| self.distribution(task).count() > 0)
    }
}
