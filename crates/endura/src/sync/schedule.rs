//! A scheduler for tests: threads that run one at a time and change over only where it says so.
//!
//! A scheduled thread calls [`point`] before every access to its medium, and [`waiting`] where it
//! cannot go on alone. At each of these calls the scheduler may hand the turn to another thread.
//! The same seed gives the same schedule.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Thread;

/// When the turn changes.
#[derive(Debug, Clone)]
pub(crate) enum Strategy {
    /// The thread of the highest priority runs; at so many of so many steps it becomes the lowest
    /// (PCT: Burckhardt et al., ASPLOS 2010).
    Priorities { changes: usize, steps: u64 },
    /// Another thread with these probabilities, in 1/1024: at a mark, and at any other step. Between
    /// the marks of two threads lies most of what can go wrong.
    Random { marks: u64, steps: u64 },
    /// In order of their numbers, but thread `thread` stops when it has come to `mark` (empty: to
    /// any step) for the `nth` time, until all others have ended.
    StopAt { thread: usize, mark: &'static str, nth: usize },
    /// Thread 0 stops at `mark` for the `nth` time; thread 1 takes so many steps and stops; the
    /// others run to their end, then thread 0, then thread 1.
    Within { mark: &'static str, nth: usize, steps: u64 },
}

/// So many steps without a store by anyone mean that nobody gets on.
const STUCK: u64 = 100_000;

#[derive(Debug)]
struct State {
    strategy: Strategy,
    random: u64,
    threads: Vec<Thread>,
    ended: Vec<bool>,
    /// The higher, the sooner.
    priorities: Vec<i64>,
    lowest: i64,
    change_at: Vec<u64>,
    steps: u64,
    since_store: u64,
    marks: Vec<&'static str>,
    seen: usize,
    stopped_at: u64,
    trace: Vec<(u64, usize, &'static str, usize)>,
}

/// The turns of some threads.
#[derive(Debug)]
pub(crate) struct Scheduler {
    state: Mutex<State>,
    current: AtomicUsize,
    failed: AtomicBool,
}

thread_local! {
    static SELF: RefCell<Option<(Arc<Scheduler>, usize)>> = const { RefCell::new(None) };
}

fn own() -> Option<(Arc<Scheduler>, usize)> {
    SELF.try_with(|own| own.borrow().clone()).ok().flatten()
}

/// Whether the calling thread has turns.
pub(crate) fn is_scheduled() -> bool {
    SELF.try_with(|own| own.borrow().is_some()).unwrap_or(false)
}

/// A place where the turn may change. `stores` if the access that follows gets somebody on.
pub(crate) fn point(stores: bool) {
    if let Some((scheduler, me)) = own() {
        scheduler.step(me, stores, None);
    }
}

/// A place where the calling thread needs another one to go on.
pub(crate) fn waiting() {
    if let Some((scheduler, me)) = own() {
        scheduler.wait(me);
    }
}

/// A named place.
pub(crate) fn mark(name: &'static str) {
    if let Some((scheduler, me)) = own() {
        scheduler.step(me, false, Some(name));
    }
}

/// The next number of a linear congruential generator, its good bits.
pub(crate) fn draw(state: &mut u64, below: u64) -> u64 {
    *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    (*state >> 33) % below.max(1)
}

/// Runs `work(0)` to `work(count - 1)` on as many threads by one schedule. The number of steps, or
/// what went wrong and how the turns went.
pub(crate) fn run(
    count: usize,
    seed: u64,
    strategy: Strategy,
    work: impl Fn(usize) + Sync,
) -> Result<u64, String> {
    let scheduler = Arc::new(Scheduler::new(count, seed, strategy));
    let mut failure = None;
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..count)
            .map(|me| {
                let (scheduler, work) = (Arc::clone(&scheduler), &work);
                scope.spawn(move || {
                    let _end = End(Arc::clone(&scheduler), me);
                    scheduler.await_turn(me);
                    SELF.set(Some((scheduler, me)));
                    work(me);
                })
            })
            .collect();
        scheduler.begin(threads.iter().map(|t| t.thread().clone()).collect());
        for thread in threads {
            if let Err(panic) = thread.join() {
                let text = panic.downcast_ref::<String>().cloned();
                let text = text.or(panic.downcast_ref::<&str>().map(|&s| s.to_owned()));
                let text = text.unwrap_or_default();
                if text != ABANDONED {
                    failure.get_or_insert(text);
                }
            }
        }
    });
    let state = scheduler.state();
    match failure {
        None => Ok(state.steps),
        Some(text) => {
            let last = &state.trace[state.trace.len().saturating_sub(200)..];
            Err(format!("{text}\nlast turns (step, from, its last mark, to): {last:?}"))
        }
    }
}

const ABANDONED: &str = "another thread failed";

/// Ends a thread's turns on every way out.
struct End(Arc<Scheduler>, usize);

impl Drop for End {
    fn drop(&mut self) {
        SELF.set(None);
        if std::thread::panicking() {
            self.0.failed.store(true, Ordering::Release);
        }
        self.0.end(self.1);
    }
}

impl Scheduler {
    fn new(count: usize, seed: u64, strategy: Strategy) -> Self {
        let mut random = seed ^ 0x9E37_79B9_7F4A_7C15;
        draw(&mut random, 1);
        let mut change_at = Vec::new();
        let mut priorities: Vec<i64> = (1..=count as i64).rev().collect();
        if let Strategy::Priorities { changes, steps } = strategy {
            change_at = (0..changes).map(|_| draw(&mut random, steps)).collect();
            priorities.rotate_left(draw(&mut random, count as u64) as usize);
            if draw(&mut random, 2) == 0 {
                priorities.reverse();
            }
        }
        let state = State {
            strategy,
            random,
            threads: Vec::new(),
            ended: vec![false; count],
            priorities,
            lowest: 0,
            change_at,
            steps: 0,
            since_store: 0,
            marks: vec!["start"; count],
            seen: 0,
            stopped_at: 0,
            trace: Vec::new(),
        };
        let current = AtomicUsize::new(usize::MAX);
        Self { state: Mutex::new(state), current, failed: AtomicBool::new(false) }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self, threads: Vec<Thread>) {
        let mut state = self.state();
        state.threads = threads;
        let first = state.foremost(usize::MAX);
        self.hand_to(&state, first);
    }

    fn hand_to(&self, state: &State, next: Option<usize>) {
        if let Some(next) = next {
            self.current.store(next, Ordering::Release);
            state.threads[next].unpark();
        }
    }

    fn await_turn(&self, me: usize) {
        while self.current.load(Ordering::Acquire) != me && !self.has_failed() {
            std::thread::park();
        }
    }

    fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    /// After a failure all threads run to their next step and end there.
    fn is_over(&self) -> bool {
        if self.has_failed() && !std::thread::panicking() {
            std::panic::resume_unwind(Box::new(ABANDONED));
        }
        self.has_failed() || std::thread::panicking()
    }

    fn step(&self, me: usize, stores: bool, mark: Option<&'static str>) {
        if self.is_over() {
            return;
        }
        let mut state = self.state();
        state.steps += 1;
        state.since_store = if stores { 0 } else { state.since_store + 1 };
        if state.since_store > STUCK {
            drop(state);
            panic!("nobody gets on");
        }
        if let Some(mark) = mark {
            state.marks[me] = mark;
        }
        let next = state.after_step(me, mark);
        self.change(state, me, next);
    }

    fn wait(&self, me: usize) {
        if self.is_over() {
            return;
        }
        let mut state = self.state();
        state.since_store += 1;
        if state.since_store > STUCK {
            drop(state);
            panic!("nobody gets on");
        }
        state.demote(me);
        let next = state.foremost(me);
        if next == Some(me) {
            // It waits for somebody who is not scheduled.
            drop(state);
            return std::thread::sleep(std::time::Duration::from_micros(20));
        }
        self.change(state, me, next);
    }

    fn change(&self, mut state: std::sync::MutexGuard<'_, State>, me: usize, next: Option<usize>) {
        let Some(next) = next.filter(|&next| next != me) else { return };
        let entry = (state.steps, me, state.marks[me], next);
        state.trace.push(entry);
        self.hand_to(&state, Some(next));
        drop(state);
        self.await_turn(me);
        self.is_over();
    }

    fn end(&self, me: usize) {
        let mut state = self.state();
        state.ended[me] = true;
        if self.has_failed() {
            state.threads.iter().for_each(Thread::unpark);
        }
        let next = state.foremost(me);
        let entry = (state.steps, me, "end", next.unwrap_or(usize::MAX));
        state.trace.push(entry);
        self.hand_to(&state, next);
    }
}

impl State {
    /// Who runs now that `me` has come to a point.
    fn after_step(&mut self, me: usize, mark: Option<&'static str>) -> Option<usize> {
        match self.strategy {
            Strategy::Priorities { .. } => {
                if self.change_at.contains(&self.steps) {
                    self.demote(me);
                }
                self.foremost(me)
            }
            Strategy::Random { marks, steps } => {
                let probability = if mark.is_some() { marks } else { steps };
                if draw(&mut self.random, 1024) < probability {
                    let ahead = draw(&mut self.random, self.ended.len() as u64) as usize;
                    let others = (0..self.ended.len()).map(|i| (i + ahead) % self.ended.len());
                    others.into_iter().find(|&i| !self.ended[i])
                } else {
                    Some(me)
                }
            }
            Strategy::StopAt { thread, mark: at, nth } => {
                if thread == me && (at.is_empty() || mark == Some(at)) {
                    self.seen += 1;
                    if self.seen == nth {
                        self.demote(me);
                        return self.foremost(me);
                    }
                }
                Some(me)
            }
            Strategy::Within { mark: at, nth, steps } => {
                self.seen += usize::from(me == 0 && mark == Some(at));
                let is_due = match me {
                    0 => mark == Some(at) && self.seen == nth,
                    1 => self.seen >= nth && self.steps - self.stopped_at == steps,
                    _ => false,
                };
                if is_due {
                    self.stopped_at = self.steps;
                    self.demote(me);
                }
                self.foremost(me)
            }
        }
    }

    fn demote(&mut self, thread: usize) {
        self.lowest -= 1;
        self.priorities[thread] = self.lowest;
    }

    fn foremost(&self, _me: usize) -> Option<usize> {
        (0..self.ended.len()).filter(|&i| !self.ended[i]).max_by_key(|&i| self.priorities[i])
    }
}
