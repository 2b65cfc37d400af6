//! Threads as coroutines of one thread of the operating system, by shuttle.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use endura_engine::space::{Worker, set_waiting};
use shuttle::scheduler::{Schedule, Scheduler, Task, TaskId};
use shuttle::{Config, FailurePersistence, MaxSteps, Runner};

use super::turns::{Strategy, Turns};
use crate::sim::{Pause, act_as, actor};
use crate::subject::Finding;

thread_local! {
    /// The turns of the threads that run on this one, while they do.
    static TURNS: RefCell<Option<Turns>> = const { RefCell::new(None) };
}

/// Bytes of a thread's stack.
const STACK: usize = 256 << 10;

/// What a thread unwinds with when another one has failed.
struct Abandoned;

/// The hook for a [`Sim`](crate::sim::Sim): lets others go on, if threads take turns at the moment.
pub fn pause() -> Pause {
    Arc::new(|next| take_turns(|turns| turns.at(next)))
}

/// Instead of waiting.
fn wait() {
    take_turns(Turns::waits);
}

/// Goes on with whoever `choose` says; returns when it is the caller's turn again.
fn take_turns(choose: impl FnOnce(&mut Turns) -> Option<usize>) {
    // A thread that unwinds drops its locks without giving the turn away.
    if std::thread::panicking() {
        return;
    }
    let Some((me, next)) = TURNS.with_borrow_mut(|turns| {
        let turns = turns.as_mut()?;
        let me = turns.current;
        let next = choose(turns);
        if next.is_none() && turns.failure.is_none() {
            turns.failure = Some(turns.describe("nobody gets on"));
        }
        Some((me, next))
    }) else {
        return;
    };
    if next.is_some_and(|next| next != me) {
        let who = actor();
        Worker::pass(shuttle::thread::yield_now);
        act_as(who);
    }
    if TURNS.with_borrow(|turns| turns.as_ref().is_some_and(|turns| turns.failure.is_some())) {
        resume_unwind(Box::new(Abandoned));
    }
}

/// What a run of several threads was like.
#[derive(Debug, Clone)]
pub struct Ran {
    /// How many moves were made.
    pub moves: u64,
    /// After so many moves, to whom the turn went.
    pub switches: Vec<(u64, usize)>,
}

/// What one thread does.
pub type Thread = Box<dyn FnOnce() -> Result<(), Finding> + Send>;

/// Runs threads by one schedule; thread number `i` acts as thread `i + 1` of the media whose hook is
/// [`pause`]. The same strategy and seed give the same schedule.
///
/// # Errors
///
/// What one of them found, or that it panicked, or that nobody gets on, with how the turns went.
pub fn run(threads: Vec<Thread>, strategy: Strategy, seed: u64) -> Result<Ran, Finding> {
    let count = threads.len();
    TURNS.set(Some(Turns::new(count, strategy, seed)));
    let threads = Mutex::new(threads);
    let restore = Restore { waited: set_waiting(Some(wait)), who: actor() };
    Worker::pass(|| _ = Runner::new(Follower(Some(())), config()).run(move || spawn(&threads)));
    drop(restore);
    let turns = TURNS.take().unwrap_or_else(|| Turns::new(0, Strategy::Preempt(Vec::new()), 0));
    match turns.failure {
        Some(failure) => Err(failure),
        None => Ok(Ran { moves: turns.moves, switches: turns.switches }),
    }
}

/// Makes the calling thread what it was.
struct Restore {
    waited: Option<fn()>,
    who: u32,
}

impl Drop for Restore {
    fn drop(&mut self) {
        set_waiting(self.waited);
        act_as(self.who);
    }
}

fn config() -> Config {
    let mut config = Config::new();
    config.stack_size = STACK;
    config.max_steps = MaxSteps::None;
    config.failure_persistence = FailurePersistence::None;
    config
}

/// The first coroutine: starts the threads and waits for them.
fn spawn(threads: &Mutex<Vec<Thread>>) {
    let threads = std::mem::take(&mut *threads.lock().unwrap_or_else(PoisonError::into_inner));
    let handles: Vec<_> = threads
        .into_iter()
        .enumerate()
        .map(|(me, work)| shuttle::thread::spawn(move || be(me, work)))
        .collect();
    for handle in handles {
        // A thread keeps its panics to itself.
        let _ = handle.join();
    }
}

/// The whole life of thread number `me`.
fn be(me: usize, work: Thread) {
    act_as(me as u32 + 1);
    let ended = Worker::new().run(|| catch_unwind(AssertUnwindSafe(work)));
    let failure = match ended {
        Ok(Ok(())) => None,
        Ok(Err(finding)) => Some(finding),
        Err(panic) if panic.is::<Abandoned>() => None,
        Err(panic) => Some(format!("panics: {}", crate::subject::panic_text(&*panic))),
    };
    TURNS.with_borrow_mut(|turns| {
        if let Some(turns) = turns {
            if let (Some(text), None) = (failure, &turns.failure) {
                turns.failure = Some(turns.describe(&format!("thread {me}: {text}")));
            }
            turns.end();
        }
    });
}

/// Does as the [`Turns`] say: one execution.
#[derive(Debug)]
struct Follower(Option<()>);

impl Scheduler for Follower {
    fn new_execution(&mut self) -> Option<Schedule> {
        self.0.take().map(|()| Schedule::new(0))
    }

    fn next_task(&mut self, runnable: &[&Task], _: Option<TaskId>, _: bool) -> Option<TaskId> {
        let ids = || runnable.iter().map(|task| task.id());
        // The first task only starts the others and waits for them.
        let first = TaskId::from(0);
        if ids().any(|id| id == first) {
            return Some(first);
        }
        let current = TURNS.with_borrow(|turns| turns.as_ref().map(|turns| turns.current));
        let wanted = current.map(|current| TaskId::from(current + 1));
        ids().find(|&id| Some(id) == wanted).or_else(|| ids().next())
    }

    fn next_u64(&mut self) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Move;

    #[test]
    fn threads_that_store_for_ever_are_a_finding() {
        let for_ever = || -> Thread {
            let hook = pause();
            Box::new(move || {
                loop {
                    hook(Move::Store);
                }
            })
        };
        let strategy = Strategy::Random { steps: 0, moves: 1 };
        let failure = run(vec![for_ever(), for_ever()], strategy, 1).unwrap_err();
        assert!(failure.starts_with("nobody gets on"), "{failure}");
    }
}
