//! Small dense numbers for threads.
//!
//! A thread gets the lowest number that no living thread has. It keeps the number until it exits; then the next thread
//! may get it. The number selects the thread's slot in every pool, so that a program that creates a million threads,
//! ten at a time, uses ten slots. Before a thread returns its number, the pools empty its slots (retired memory, cached
//! chunks): see [`on_exit`]. The next owner of the number inherits the rest.
//!
//! A destructor of one of the thread's own thread-locals may use a pool after the number was returned. The thread then
//! takes another number, which it returns [at its very end](crate::os::thread_end).

use std::cell::Cell;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError, Weak};

pub(crate) use super::thread_numbers::system_id;
use super::thread_numbers::{give_back, note_owner, take};
use crate::os::thread_end;
use crate::sync::Backoff;

const NONE: usize = usize::MAX;

/// A function that each exiting thread calls with its number.
pub(crate) type Heir = dyn Fn(usize) + Send + Sync;

static HEIRS: Mutex<Vec<Weak<Heir>>> = Mutex::new(Vec::new());
/// How many times a thread tries to lock the list of heirs: for about 40 ms, most of which it sleeps. The list is
/// locked only briefly, but a forked child may have inherited it locked, by a thread that does not exist in the child.
const LOOKS: u32 = Backoff::AWAKE + 40;

/// Makes each exiting thread call `heir`, until the caller drops `heir`. If the list of heirs stays locked in this
/// process, `heir` is not called, and other threads free the slots' contents later.
pub(crate) fn on_exit(heir: &Arc<Heir>) {
    if let Some(mut heirs) = heirs() {
        heirs.retain(|heir| heir.strong_count() > 0);
        heirs.push(Arc::downgrade(heir));
    }
}

fn heirs() -> Option<MutexGuard<'static, Vec<Weak<Heir>>>> {
    let mut backoff = Backoff::default();
    for _ in 0..LOOKS {
        match HEIRS.try_lock() {
            Ok(heirs) => return Some(heirs),
            Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => backoff.wait(),
        }
    }
    None
}

/// Ends the calling thread's use of this number.
fn leave(number: usize) {
    // The heirs are called while the thread still owns the number, because an heir enters its pool.
    let heirs: Vec<Arc<Heir>> =
        heirs().map_or_else(Vec::new, |heirs| heirs.iter().filter_map(Weak::upgrade).collect());
    heirs.iter().for_each(|heir| heir(number));
    replace_current(NONE);
    give_back(number);
}

/// Returns a thread's number when the thread exits.
struct Lease(Cell<usize>);

impl Drop for Lease {
    fn drop(&mut self) {
        leave(self.0.get());
    }
}

thread_local! {
    static LEASE: Lease = Lease(Cell::new(take()));
}

#[cfg(not(all(test, loom)))]
thread_local! {
    /// The thread's number, or `NONE`. It has no destructor, so that the fast path is one load, and so that it is
    /// readable while the thread's other thread-locals are destroyed.
    static CURRENT: Cell<usize> = const { Cell::new(NONE) };
}

#[cfg(all(test, loom))]
loom::thread_local! {
    /// The threads of a model set their own numbers with [`be`].
    static CURRENT: Cell<usize> = Cell::new(0);
}

/// Gives the calling thread of a model this number.
#[cfg(all(test, loom))]
pub(crate) fn be(number: usize) {
    CURRENT.with(|current| current.set(number));
}

/// The calling thread's number.
#[inline(always)]
pub(crate) fn current() -> usize {
    let number = CURRENT.with(Cell::get);
    if number == NONE { register() } else { number }
}

#[inline]
fn replace_current(number: usize) -> usize {
    CURRENT.with(|current| current.replace(number))
}

#[cold]
fn register() -> usize {
    // A destructor of another thread-local may use a pool after the lease was destroyed.
    let number = LEASE.try_with(|lease| lease.0.get()).unwrap_or_else(|_| {
        let number = take();
        thread_end::at_the_end(number, leave);
        number
    });
    note_owner(number);
    replace_current(number);
    number
}

/// The number of a logical thread, for schedulers and explorers that run many logical threads on one thread of the
/// operating system.
#[derive(Debug)]
pub struct Worker {
    number: usize,
}

impl Worker {
    /// A worker with a number of its own, which it returns when dropped.
    #[expect(clippy::new_without_default, reason = "it takes something that others then lack")]
    pub fn new() -> Self {
        Self { number: take() }
    }

    /// Runs `work` as this worker: pools see its number instead of the calling thread's. Calls may nest.
    ///
    /// A worker must not run on two threads at once, and a pin must be dropped by the worker that took it.
    pub fn run<R>(&mut self, work: impl FnOnce() -> R) -> R {
        struct Restore(usize);
        impl Drop for Restore {
            fn drop(&mut self) {
                replace_current(self.0);
            }
        }
        let _restore = Restore(replace_current(self.number));
        work()
    }

    /// Lets other workers run on the calling thread: `turn` may switch to their stacks. When `turn` returns, the thread
    /// is the calling worker again.
    #[inline]
    pub fn pass(turn: impl FnOnce()) {
        let number = CURRENT.with(Cell::get);
        turn();
        replace_current(number);
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        give_back(self.number);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::{Barrier, PoisonError};

    use super::super::thread_numbers::MANY;
    use super::*;

    #[test]
    fn living_threads_have_different_numbers() {
        let all = Barrier::new(8);
        let numbers: BTreeSet<usize> = std::thread::scope(|s| {
            let threads: Vec<_> = (0..8)
                .map(|_| {
                    s.spawn(|| {
                        let number = current();
                        all.wait();
                        assert_eq!(number, current());
                        number
                    })
                })
                .collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        assert_eq!(numbers.len(), 8);
    }

    #[test]
    fn numbers_of_exited_threads_are_used_again() {
        let _alone = MANY.lock().unwrap_or_else(PoisonError::into_inner);
        let highest = (0..500).map(|_| std::thread::spawn(current).join().unwrap()).max();
        // Other tests run beside this one; without reuse the highest would be at least 499.
        assert!(highest < Some(300), "{highest:?}");
    }

    /// Uses the thread's number in its destructor.
    struct Late(Cell<usize>);

    impl Drop for Late {
        fn drop(&mut self) {
            assert_ne!(current(), NONE);
            assert_eq!(current(), current());
        }
    }

    thread_local! {
        // One is made before the lease and destroyed after it; the other the other way round.
        static FIRST: Late = const { Late(Cell::new(0)) };
        static LAST: Late = const { Late(Cell::new(0)) };
    }

    #[test]
    fn numbers_taken_by_destructors_are_used_again() {
        let _alone = MANY.lock().unwrap_or_else(PoisonError::into_inner);
        let work = || {
            FIRST.with(|late| late.0.set(1));
            let number = current();
            LAST.with(|late| late.0.set(1));
            number
        };
        let highest = (0..1_000).map(|_| std::thread::spawn(work).join().unwrap()).max();
        // As above; if the numbers were not returned, the highest would be at least 999.
        assert!(highest < Some(300), "{highest:?}");
    }

    #[test]
    fn an_heir_is_called_by_the_thread_that_exits_before_its_number_is_free() {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let heir: Arc<Heir> = {
            let heard = Arc::clone(&heard);
            Arc::new(move |number| heard.lock().unwrap().push((number, current())))
        };
        on_exit(&heir);
        let number = std::thread::spawn(current).join().unwrap();
        assert!(heard.lock().unwrap().contains(&(number, number)));
        drop(heir);
        std::thread::spawn(current).join().unwrap();
    }

    /// The waiting thread gets the list in the end, so that the pools get what an exiting thread leaves.
    #[test]
    fn a_real_time_thread_lets_an_ordinary_one_give_up_the_list() {
        use crate::os::real_time::{TOO_LONG, beside, work_for};

        let hold = |ready: &dyn Fn()| {
            let _heirs = heirs();
            ready();
            work_for(std::time::Duration::from_millis(5));
        };
        if let Some((is_had, time)) = beside(hold, || heirs().is_some()) {
            assert!(is_had && time < TOO_LONG, "{is_had} {time:?}");
        }
    }

    #[test]
    fn a_worker_stands_in_for_the_thread_and_only_while_it_runs() {
        let own = current();
        let (mut a, mut b) = (Worker::new(), Worker::new());
        let (in_a, in_b) = a.run(|| (current(), b.run(current)));
        assert_eq!(BTreeSet::from([own, in_a, in_b]).len(), 3);
        assert_eq!(current(), own);
        assert_eq!(a.run(current), in_a);
    }

    /// As with coroutines: another worker's `run` begins inside and does not return before the turn is back.
    #[test]
    fn a_worker_that_passed_the_turn_is_itself_again() {
        let (mut a, mut b) = (Worker::new(), Worker::new());
        let in_b = b.run(current);
        a.run(|| {
            let in_a = current();
            Worker::pass(|| _ = replace_current(in_b));
            assert_eq!(current(), in_a);
        });
    }
}
