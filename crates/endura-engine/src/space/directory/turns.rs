//! Turns in a map: one pop at a time, or any number of commits.
//!
//! A pop has the map for itself, because a commit in front of its key would make it wait while it is announced. A commit
//! with few keys shares the map with other such commits; one with many keys has it for itself, because what is set aside for
//! it does not count with others that fill the same leaves.
//!
//! Nobody has to wait for ever. Who shares waits for those who want the map for themselves, so that commits which overlap
//! without an end do not keep a pop out. But it does so for a short time only, because that pop may be waiting for a commit that
//! stands.

use std::time::{Duration, Instant};

use crate::sync::{AtomicU64, Ordering};

/// How long who shares waits for those who wait.
const PATIENCE: Duration = Duration::from_millis(1);

/// The bit of who has the map for itself. The bits below count those who share it.
const ALONE: u64 = 1 << 63;

/// Who has a map.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    word: AtomicU64,
    /// How many wait for the map to be theirs alone.
    waiting: AtomicU64,
}

/// The map is the holder's alone until this is dropped.
pub(crate) struct Alone<'t>(&'t Turns);

/// The map is the holder's and others' until this is dropped.
pub(crate) struct Shared<'t>(&'t Turns);

/// A thread waits to have the map alone until this is dropped.
pub(crate) struct Waiting<'t>(&'t Turns);

impl Turns {
    /// The map for the caller alone, unless others have it.
    pub(crate) fn try_alone(&self) -> Option<Alone<'_>> {
        // Acquire: pairs with the Release at the end of the turns before, whose work is seen.
        let taken =
            self.word.compare_exchange(0, ALONE, Ordering::Acquire, Ordering::Relaxed).is_ok();
        taken.then(|| Alone(self))
    }

    /// Says that the caller waits for [`try_alone`](Self::try_alone).
    pub(crate) fn wait(&self) -> Waiting<'_> {
        // Relaxed: who misses it only is faster.
        self.waiting.fetch_add(1, Ordering::Relaxed);
        Waiting(self)
    }

    /// The map for the caller and others, unless one has it alone, or waits for that and the caller has not waited for long:
    /// since `begun`.
    pub(crate) fn try_shared(&self, begun: Option<Instant>) -> Option<Shared<'_>> {
        let is_polite = begun.is_none_or(|begun| begun.elapsed() < PATIENCE);
        if is_polite && self.waiting.load(Ordering::Relaxed) > 0 {
            return None;
        }
        // Acquire: pairs with the Release of `Alone`.
        let share = |word| (word & ALONE == 0).then_some(word + 1);
        let shared = self.word.fetch_update(Ordering::Acquire, Ordering::Relaxed, share);
        shared.is_ok().then(|| Shared(self))
    }
}

impl Drop for Alone<'_> {
    fn drop(&mut self) {
        // Release: pairs with the Acquire of the next turn.
        self.0.word.store(0, Ordering::Release);
    }
}

impl Drop for Shared<'_> {
    fn drop(&mut self) {
        // Release: pairs with the Acquire of `try_alone`, which sees all that was done in shared turns: each end is a
        // change of the word that continues the others.
        self.0.word.fetch_sub(1, Ordering::Release);
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn one_alone_or_many() {
        let turns = Turns::default();
        let alone = turns.try_alone();
        assert!(alone.is_some() && turns.try_alone().is_none() && turns.try_shared(None).is_none());
        drop(alone);
        let shared = [turns.try_shared(None), turns.try_shared(None)];
        assert!(shared.iter().all(Option::is_some) && turns.try_alone().is_none());
        let [first, second] = shared;
        drop(first);
        assert!(turns.try_alone().is_none());
        drop(second);
        assert!(turns.try_alone().is_some() && turns.try_shared(None).is_some());
    }

    #[test]
    fn who_waits_is_let_in_but_not_waited_for_without_an_end() {
        let turns = Turns::default();
        let shared = turns.try_shared(None);
        let waiting = turns.wait();
        assert!(turns.try_alone().is_none() && turns.try_shared(None).is_none());
        let begun = Instant::now();
        assert!(turns.try_shared(Some(begun)).is_none());
        std::thread::sleep(2 * PATIENCE);
        let later = turns.try_shared(Some(begun));
        assert!(later.is_some());
        drop((shared, later));
        assert!(turns.try_alone().is_some());
        drop(waiting);
        assert!(turns.try_shared(None).is_some());
    }
}
