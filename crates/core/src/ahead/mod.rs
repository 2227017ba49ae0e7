//! Work done ahead on other threads, which may turn out not to be needed.
//!
//! Formats spawn no threads: they say here what could be done meanwhile.

mod line;
mod produce;

use std::num::NonZero;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Builder, ScopedJoinHandle};

use crate::{Error, Result};
pub use line::{Stages, in_order};
pub use produce::{Sender, produce};

/// More do not make a file come faster: they wait for the same memory.
const THREADS_MAX: usize = 4;

/// Number of threads that the user allows; 0 if nobody was asked.
static ALLOWED: AtomicUsize = AtomicUsize::new(0);

/// Returns the number of threads that may work on one file, the caller's among them.
#[must_use]
pub fn threads() -> usize {
    match ALLOWED.load(Ordering::Relaxed) {
        0 => thread::available_parallelism().map_or(1, NonZero::get).min(THREADS_MAX),
        allowed => allowed,
    }
}

/// Allows so many threads from now on, in the whole program: what a user says of its processors.
pub fn allow(threads: NonZero<usize>) {
    ALLOWED.store(threads.get(), Ordering::Relaxed);
}

/// Tells a job whether anyone still waits for it.
#[derive(Debug, Clone, Copy)]
pub struct CancelToken<'s>(&'s AtomicBool);

impl CancelToken<'_> {
    /// Returns true if to go on. Look often: the caller waits until every job has ended.
    #[must_use]
    pub fn is_wanted(self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A job on another thread. Dropped, it is told that it is no longer wanted.
#[derive(Debug)]
pub struct Job<'s, T> {
    thread: Option<ScopedJoinHandle<'s, T>>,
    wanted: &'s AtomicBool,
}

impl<T> Job<'_, T> {
    /// Waits for the job. Nothing when there was no thread for it: the work is then the
    /// caller's.
    #[must_use]
    pub fn wait(mut self) -> Option<T> {
        self.thread.take()?.join().ok()
    }
}

impl<T> Drop for Job<'_, T> {
    fn drop(&mut self) {
        self.wanted.store(false, Ordering::Relaxed);
    }
}

/// Starts each job on a thread of its own and does `work` on this one, which gets the jobs in
/// the same order. Ends when all have ended.
///
/// ```
/// use kymo_core::ahead::{CancelToken, run_with_jobs};
///
/// let jobs = [1, 2].map(|n| move |_: CancelToken<'_>| n * 10);
/// let sum = run_with_jobs(jobs, |jobs| jobs.into_iter().filter_map(|job| job.wait()).sum::<i32>());
/// assert_eq!(sum, 30);
/// ```
pub fn run_with_jobs<J, T, R>(
    jobs: impl IntoIterator<Item = J>,
    work: impl FnOnce(Vec<Job<'_, T>>) -> R,
) -> R
where
    J: FnOnce(CancelToken<'_>) -> T + Send,
    T: Send,
{
    let jobs = jobs.into_iter().map(|job| (job, AtomicBool::new(true)));
    let (jobs, flags): (Vec<J>, Vec<AtomicBool>) = jobs.unzip();
    thread::scope(|scope| {
        let start = |(job, wanted): (J, _)| {
            let run = move || job(CancelToken(wanted));
            Job { thread: Builder::new().spawn_scoped(scope, run).ok(), wanted }
        };
        work(jobs.into_iter().zip(&flags).map(start).collect())
    })
}

/// Does two things at once, where there are threads for it: the first one on another.
///
/// ```
/// let (one, two) = kymo_core::ahead::both(|| Ok(1), || "two");
/// assert_eq!((one.unwrap(), two), (1, "two"));
/// ```
///
/// # Errors
/// Those of the first; the second tells its own.
pub fn both<T: Send, U>(
    other: impl FnOnce() -> Result<T> + Send,
    here: impl FnOnce() -> U,
) -> (Result<T>, U) {
    let other = Mutex::new(Some(other));
    let run = || {
        let other = other.lock().unwrap_or_else(PoisonError::into_inner).take();
        other.map(|other| other())
    };
    let jobs = (threads() > 1).then_some(|_: CancelToken<'_>| run());
    let (there, here) = run_with_jobs(jobs, |mut jobs| {
        let here = here();
        (jobs.pop().and_then(Job::wait).flatten(), here)
    });
    // Where no thread could be had, it is done now.
    let ended = || Err(Error::request("a thread has ended early"));
    (there.or_else(run).unwrap_or_else(ended), here)
}

/// Does the same to the parts of a run of items, on as many threads as there are. Gives what came
/// of each part, in their order.
///
/// ```
/// let sums = kymo_core::ahead::in_parts(1000, 10, |part| part.sum::<usize>());
/// assert_eq!(sums.into_iter().sum::<usize>(), 499_500);
/// ```
pub fn in_parts<T: Send>(
    items: usize,
    part_min: usize,
    work: impl Fn(Range<usize>) -> T + Sync,
) -> Vec<T> {
    let parts = threads().min(items / part_min.max(1)).max(1);
    let length = items.div_ceil(parts);
    let part = |number: usize| {
        let start = number.saturating_mul(length).min(items);
        start..start.saturating_add(length).min(items)
    };
    let work = &work;
    let jobs = (1..parts).map(|number| move |_: CancelToken<'_>| work(part(number)));
    run_with_jobs(jobs, |jobs| {
        let mut done = vec![work(part(0))];
        for (job, number) in jobs.into_iter().zip(1..) {
            done.push(job.wait().unwrap_or_else(|| work(part(number))));
        }
        done
    })
}

/// Does the same to each item, on as many threads as there are: whoever is free takes the next one.
/// Gives what came of each, in their order.
///
/// ```
/// let squares = kymo_core::ahead::each(vec![1, 2, 3], |n| n * n);
/// assert_eq!(squares, [1, 4, 9]);
/// ```
pub fn each<T: Send, U: Send>(items: Vec<T>, work: impl Fn(T) -> U + Sync) -> Vec<U> {
    let threads = threads().min(items.len());
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(items.len())));
    let items: Vec<Mutex<Option<T>>> = items.into_iter().map(|it| Mutex::new(Some(it))).collect();
    let run = |_: CancelToken<'_>| loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let Some(item) = items.get(number) else { break };
        let item = item.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(item) = item {
            let made = work(item);
            done.lock().unwrap_or_else(PoisonError::into_inner).push((number, made));
        }
    };
    let here = AtomicBool::new(true);
    run_with_jobs((1..threads).map(|_| run), |_jobs| run(CancelToken(&here)));
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, made)| made).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_of_each_is_in_the_order_of_the_items() {
        for items in [0, 1, 2, 100] {
            let doubled: Vec<usize> = (0..items).map(|item| item * 2).collect();
            assert_eq!(each((0..items).collect(), |item: usize| item * 2), doubled);
        }
    }

    #[test]
    fn a_job_that_is_dropped_is_told_so_and_ends() {
        let endless = |wanted: CancelToken<'_>| {
            while wanted.is_wanted() {
                thread::yield_now();
            }
        };
        run_with_jobs([endless, endless], |mut jobs| {
            drop(jobs.pop());
        });
    }

    #[test]
    fn parts_follow_each_other_and_are_all_there_is() {
        for items in [0, 1, 2, 3, 7, 1000] {
            let parts = in_parts(items, 1, Vec::from_iter);
            assert_eq!(parts.concat(), (0..items).collect::<Vec<_>>());
        }
        assert_eq!(in_parts(9, 10, |part| part), vec![0..9]);
    }

    #[test]
    fn without_jobs_there_is_only_the_work() {
        let jobs: [fn(CancelToken<'_>) -> u8; 0] = [];
        assert_eq!(run_with_jobs(jobs, |jobs| jobs.len()), 0);
    }
}
