//! Number of cases by which a rule on tasks could be judged.

use super::{Demand, VacuousRule};

/// Number of cases for each demand on tasks.
#[derive(Debug, Default)]
pub(super) struct CheckedCounts {
    /// Jobs that began or ended, or are not complete.
    pub(super) jobs: u64,
    /// Jobs of which it is known how long they took to answer, or that it was too long.
    pub(super) responses: u64,
    /// Jobs of which it is known how long they waited, or that it was too long.
    pub(super) delays: u64,
    /// Jobs of which it is known how long they ran, or that it was too long.
    pub(super) runs: u64,
    /// Jobs that kept their budget, or not.
    pub(super) budgets: u64,
    /// Jobs that have a budget and are not complete.
    pub(super) open_budgets: u64,
    /// Tasks that ran.
    pub(super) loads: u64,
}

/// Demands that nothing is about, and why.
type Idle = (Vec<&'static str>, &'static str);

impl CheckedCounts {
    /// The demands of a rule that nothing is about. What is so for one reason is told at once.
    pub(super) fn vacuous(&self, rule: usize, demand: &Demand) -> Vec<VacuousRule> {
        let parts = self.parts(demand);
        let mut idle: Vec<Idle> = Vec::new();
        for (part, _, why) in parts.iter().filter(|(_, count, _)| *count == 0) {
            match idle.last_mut().filter(|(_, known)| known == why) {
                Some((known, _)) => known.push(part),
                None => idle.push((vec![part], why)),
            }
        }
        let told = |(names, why): Idle| {
            let part = (names.len() < parts.len()).then(|| names.join(" and "));
            VacuousRule { rule, part, why: why.to_owned(), is_suspect: true }
        };
        idle.into_iter().map(told).collect()
    }

    /// Returns each part of a demand, the number of its cases, and the reason to give where there
    /// are none.
    fn parts(&self, demand: &Demand) -> Vec<(&'static str, u64, &'static str)> {
        let Demand::Task { response_max, delay_max, run_max, on_time, load_max, .. } = demand
        else {
            return Vec::new();
        };
        let of_jobs = |why| if self.jobs == 0 { "no job of its tasks is known" } else { why };
        let responses = of_jobs("no job of its tasks was seen from its release to its completion");
        let delays = of_jobs("no job of its tasks was seen from its release to when it ran");
        let runs = of_jobs("of no job of its tasks that is complete it is known how long it ran");
        let budgets = of_jobs(match self.open_budgets {
            0 => "no job of its tasks is known to have a budget",
            _ => "no job of its tasks that has a budget is complete",
        });
        let loads = "none of its tasks is known to have run";
        let all = [
            (response_max.is_some(), ("response_max", self.responses, responses)),
            (delay_max.is_some(), ("delay_max", self.delays, delays)),
            (run_max.is_some(), ("run_max", self.runs, runs)),
            (*on_time, ("on_time", self.budgets, budgets)),
            (load_max.is_some(), ("load_max", self.loads, loads)),
        ];
        all.into_iter().filter(|(is_demanded, _)| *is_demanded).map(|(_, part)| part).collect()
    }
}
