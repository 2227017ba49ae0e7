//! An assembly line of four stations, which as many workers as there are keep busy.
//!
//! Things pass two of the stations beside each other, in any order, and the other two one at a time
//! and in their own order. So nothing that comes of it depends on how many workers there are, nor
//! does which error is told: that of the first thing that has one.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::{CancelToken, run_with_jobs, threads};
use crate::{Error, Result};

/// Number of things that may be on the line beyond the number of workers.
const WAITING_MAX: usize = 2;

/// Functions that do the work at each station.
///
/// ```
/// use kymo_core::ahead::Stages;
///
/// let (mut sum, mut sums) = (0, Vec::new());
/// let stages = Stages {
///     read: |number| Ok(number * 10),
///     place: |read| {
///         sum += read;
///         Ok(sum)
///     },
///     work: |sum| Ok(sum + 1),
///     take: |done| {
///         sums.push(done);
///         Ok(())
///     },
/// };
/// stages.run(4, 2)?;
/// assert_eq!(sums, [1, 11, 31, 61]);
/// # Ok::<(), kymo_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Stages<R, P, W, T> {
    /// Reads the thing of a number; beside each other.
    pub read: R,
    /// Takes what was read; in order.
    pub place: P,
    /// Goes on with what came of that; beside each other.
    pub work: W,
    /// Takes what came of that; in order.
    pub take: T,
}

impl<R, P, W, T> Stages<R, P, W, T> {
    /// Sends so many things through all stations, one after another or by several workers.
    ///
    /// # Errors
    /// The first of the first thing that has one. What comes after it is not taken.
    pub fn run<A, B, C>(mut self, count: usize, workers: usize) -> Result<()>
    where
        A: Send,
        B: Send,
        C: Send,
        R: Fn(usize) -> Result<A> + Sync,
        P: FnMut(A) -> Result<B> + Send,
        W: Fn(B) -> Result<C> + Sync,
        T: FnMut(C) -> Result<()> + Send,
    {
        if workers < 2 || count < 2 {
            let Self { read, place, work, take } = &mut self;
            return (0..count).try_for_each(|number| take(work(place(read(number)?)?)?));
        }
        let Self { read, place, work, take } = self;
        let state = Mutex::new(State::new(count, workers + WAITING_MAX, place, take));
        let line = Pipeline { state, changed: Condvar::new(), read, work };
        let others = (1..workers).map(|_| |_: CancelToken<'_>| line.keep_busy());
        run_with_jobs(others, |_jobs| line.keep_busy());
        line.lock().ended.take().unwrap_or_else(|| Err(Error::request(ENDED)))
    }
}

/// Does the same to so many things, on as many threads as there are, and takes what came of each in
/// their order. Only a few are held at a time.
///
/// ```
/// let mut squares = Vec::new();
/// kymo_core::ahead::in_order(4, |n| Ok(n * n), |square| Ok(squares.push(square)))?;
/// assert_eq!(squares, [0, 1, 4, 9]);
/// # Ok::<(), kymo_core::Error>(())
/// ```
///
/// # Errors
/// The first of the first thing that has one. What comes after it is not taken.
pub fn in_order<A: Send>(
    count: usize,
    work: impl Fn(usize) -> Result<A> + Sync,
    take: impl FnMut(A) -> Result<()> + Send,
) -> Result<()> {
    Stages { read: work, place: Ok, work: Ok, take }.run(count, threads())
}

/// Message for a worker that ends in the middle of something.
const ENDED: &str = "a thread has ended early";

/// The line, as its workers share it.
struct Pipeline<A, B, C, R, P, W, T> {
    state: Mutex<State<A, B, C, P, T>>,
    /// Told whenever there may be something else to do.
    changed: Condvar,
    read: R,
    work: W,
}

/// State of the line: the position of each thing.
struct State<A, B, C, P, T> {
    count: usize,
    /// Greatest number of things that may be on the line.
    on_line_max: usize,
    /// The next thing for each of the stations that have an order, and for the first.
    to_read: usize,
    to_place: usize,
    to_take: usize,
    /// Things between two stations, by their numbers.
    read: BTreeMap<usize, Result<A>>,
    placed: BTreeMap<usize, B>,
    done: BTreeMap<usize, Result<C>>,
    /// The stations that one worker at a time is at; nothing while one is.
    place: Option<P>,
    take: Option<T>,
    /// Result of the whole run.
    ended: Option<Result<()>>,
}

/// Something to do for a worker.
enum Job<A, B, C, P, T> {
    Read(usize),
    Place(P, usize, Result<A>),
    Work(usize, B),
    Take(T, Result<C>),
}

impl<A, B, C, P, T> State<A, B, C, P, T> {
    fn new(count: usize, on_line_max: usize, place: P, take: T) -> Self {
        Self {
            count,
            on_line_max,
            to_read: 0,
            to_place: 0,
            to_take: 0,
            read: BTreeMap::new(),
            placed: BTreeMap::new(),
            done: BTreeMap::new(),
            place: Some(place),
            take: Some(take),
            ended: (count == 0).then_some(Ok(())),
        }
    }

    /// Returns what to do next. What is furthest comes first, so that little is held.
    fn job(&mut self) -> Option<Job<A, B, C, P, T>> {
        if self.take.is_some()
            && let Some(done) = self.done.remove(&self.to_take)
        {
            return self.take.take().map(|take| Job::Take(take, done));
        }
        if let Some((number, placed)) = self.placed.pop_first() {
            return Some(Job::Work(number, placed));
        }
        if self.place.is_some()
            && let Some(read) = self.read.remove(&self.to_place)
        {
            let number = self.to_place;
            self.to_place += 1;
            return self.place.take().map(|place| Job::Place(place, number, read));
        }
        let is_room = self.to_read - self.to_take < self.on_line_max;
        (self.to_read < self.count && is_room).then(|| {
            self.to_read += 1;
            Job::Read(self.to_read - 1)
        })
    }
}

impl<A, B, C, R, P, W, T> Pipeline<A, B, C, R, P, W, T>
where
    R: Fn(usize) -> Result<A>,
    P: FnMut(A) -> Result<B>,
    W: Fn(B) -> Result<C>,
    T: FnMut(C) -> Result<()>,
{
    fn lock(&self) -> MutexGuard<'_, State<A, B, C, P, T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does what is to be done until all has ended.
    fn keep_busy(&self) {
        let _ending = PanicGuard(self);
        loop {
            let mut state = self.lock();
            let job = loop {
                if state.ended.is_some() {
                    return;
                }
                if let Some(job) = state.job() {
                    break job;
                }
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            };
            drop(state);
            self.carry_out(job);
            self.changed.notify_all();
        }
    }

    fn carry_out(&self, job: Job<A, B, C, P, T>) {
        match job {
            Job::Read(number) => {
                let read = (self.read)(number);
                self.lock().read.insert(number, read);
            }
            Job::Place(mut place, number, read) => {
                let placed = read.and_then(&mut place);
                let mut state = self.lock();
                match placed {
                    Ok(placed) => {
                        state.placed.insert(number, placed);
                        state.place = Some(place);
                    }
                    // It is told in its turn, and nothing is placed after it.
                    Err(error) => drop(state.done.insert(number, Err(error))),
                }
            }
            Job::Work(number, placed) => {
                let done = (self.work)(placed);
                self.lock().done.insert(number, done);
            }
            Job::Take(mut take, done) => {
                let taken = done.and_then(&mut take);
                let mut state = self.lock();
                state.to_take += 1;
                state.take = Some(take);
                if taken.is_err() || state.to_take == state.count {
                    state.ended = Some(taken);
                }
            }
        }
    }
}

/// Ends the line when a worker ends in the middle of something, so that nobody waits for it.
struct PanicGuard<'a, A, B, C, R, P, W, T>(&'a Pipeline<A, B, C, R, P, W, T>);

impl<A, B, C, R, P, W, T> Drop for PanicGuard<'_, A, B, C, R, P, W, T> {
    fn drop(&mut self) {
        if thread::panicking() {
            let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.ended = Some(Err(Error::request(ENDED)));
            self.0.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends so many things, and returns what arrives and the message of the result. Some have an
    /// error at a station.
    fn sent(count: usize, workers: usize, failing: &[(usize, &str)]) -> (Vec<usize>, String) {
        let fails = |number: usize, station: &str| {
            let is_failing = failing.contains(&(number, station));
            let error = || Error::request(format!("{number} at {station}"));
            if is_failing { Err(error()) } else { Ok(number) }
        };
        let (mut placed, mut taken) = (Vec::new(), Vec::new());
        let stations = Stages {
            read: |number| fails(number, "read"),
            place: |number| {
                placed.push(number);
                fails(number, "place")
            },
            work: |number| fails(number, "work"),
            take: |number| {
                taken.push(number);
                fails(number, "take").map(drop)
            },
        };
        let told = stations.run(count, workers).map_or_else(|e| e.to_string(), |()| "done".into());
        assert!(placed.is_sorted(), "{placed:?}");
        (taken, told)
    }

    #[test]
    fn things_arrive_in_their_order_however_many_workers_there_are() {
        for workers in [1, 2, 3, 8] {
            for count in [0, 1, 2, 7, 100] {
                let all = (0..count).collect();
                assert_eq!(sent(count, workers, &[]), (all, "done".into()), "{count}, {workers}");
            }
        }
    }

    #[test]
    fn the_error_of_the_first_thing_is_told_and_nothing_after_it_is_taken() {
        let failing = [(5, "work"), (6, "read"), (7, "place"), (8, "take")];
        for (at, before) in [5, 6, 7].into_iter().enumerate() {
            for workers in [1, 2, 3, 8] {
                let (taken, told) = sent(20, workers, &failing[at..]);
                assert_eq!(taken, (0..before).collect::<Vec<_>>());
                assert!(told.starts_with(&format!("{before} at ")), "{told}");
            }
        }
    }
}
