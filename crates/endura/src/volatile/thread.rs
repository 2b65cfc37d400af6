//! Small dense numbers for threads.
//!
//! A thread gets the lowest number that no living thread has, keeps it until it exits, and leaves
//! it to the next one. The number selects the thread's slot in every pool, so that a program that
//! creates a million threads, ten at a time, uses ten slots. What a thread leaves in its slots
//! (memory that waits for a grace period, chunks in a cache) stays there for its successor.

use std::cell::Cell;

pub(crate) use super::numbers::system_id;
use super::numbers::{give_back, note_owner, take};

const NONE: usize = usize::MAX;

/// Gives a thread's number back when the thread exits.
struct Lease(Cell<usize>);

impl Drop for Lease {
    fn drop(&mut self) {
        replace_current(NONE);
        give_back(self.0.get());
    }
}

thread_local! {
    static LEASE: Lease = Lease(Cell::new(take()));
}

#[cfg(not(all(test, loom)))]
thread_local! {
    /// No destructor: one load on the fast path, and readable while the thread is torn down.
    static CURRENT: Cell<usize> = const { Cell::new(NONE) };
}

#[cfg(all(test, loom))]
loom::thread_local! {
    /// The threads of a model say themselves which they are, by [`be`].
    static CURRENT: Cell<usize> = Cell::new(0);
}

/// From here on the calling thread of a model has this number.
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
    // A thread that uses a pool from a destructor of its own, after the lease is gone, takes a
    // number for good: it has no moment left at which to give it back.
    let number = LEASE.try_with(|lease| lease.0.get()).unwrap_or_else(|_| take());
    note_owner(number);
    replace_current(number);
    number
}

/// A number that belongs to a logical thread rather than to one of the operating system: for
/// schedulers and explorers that run many of the former on one of the latter.
#[derive(Debug)]
pub struct Worker {
    number: usize,
}

impl Worker {
    /// A worker with a number of its own, until it is dropped.
    #[expect(clippy::new_without_default, reason = "it takes something that others then lack")]
    pub fn new() -> Self {
        Self { number: take() }
    }

    /// Runs `work` as this worker: pools take the calling thread for it. Calls may nest.
    ///
    /// A worker must not run on two threads at once, nor drop what it pinned as somebody else.
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

    /// Lets other workers run on the calling thread: `turn` may switch to their stacks. When it
    /// returns, the thread is again whoever called.
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
    use std::sync::Barrier;

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
        let highest = (0..500).map(|_| std::thread::spawn(current).join().unwrap()).max();
        // Other tests run beside this one; without reuse the highest would be at least 499.
        assert!(highest < Some(300), "{highest:?}");
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

    /// As coroutines do: another worker's `run` begins inside and is not left before the return.
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
