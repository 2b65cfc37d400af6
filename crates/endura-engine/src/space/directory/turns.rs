//! Turns in a map: one pop at a time, or any number of commits.
//!
//! A pop has the map for itself, because a commit in front of its key would make it wait while it is announced. A commit
//! with few keys shares the map with other such commits; one with many keys has it for itself, because what is set aside for
//! it does not count with others that fill the same leaves.
//!
//! Nobody has to wait for ever, whoever else comes:
//!
//! * Who shares waits for those who want the map for themselves, so that commits which overlap without an end do not keep a
//!   pop out. But it does so for a short time only, because that pop may be waiting for a commit that stands.
//! * A thread that wants the map for itself and has waited for long is *late*. Commits may take longer than others have waited
//!   for it; so, while somebody is late, no new ones begin in one half of the time. The others end in that half.
//! * Of those who want the map for themselves, whoever comes when it is free has it. Most threads that wait are asleep then,
//!   so that one that has just had it has it again. So the others leave the map to those who are late, until they are late
//!   themselves.
//!
//! A thread that the system has stopped while it was late holds up nobody for longer than that.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::sync::{AtomicU64, Ordering};

/// How long who shares waits for those who wait.
const PATIENCE: Duration = Duration::from_millis(1);

/// Who has waited for so long is late. Most turns of large commits are shorter, so that they rarely wait for one that sleeps.
const LATE: Duration = Duration::from_millis(5);

/// While somebody is late, who shares comes in in every other one of such spans of time.
const HALF: Duration = Duration::from_millis(64);

/// The bit of who has the map for itself. The bits below count those who share it.
const ALONE: u64 = 1 << 63;

/// Who has a map.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    word: AtomicU64,
    /// How many wait for the map to be theirs alone.
    waiting: AtomicU64,
    /// How many of them are late.
    late: AtomicU64,
}

/// The map is the holder's alone until this is dropped.
pub(crate) struct Alone<'t>(&'t Turns);

/// The map is the holder's and others' until this is dropped.
pub(crate) struct Shared<'t>(&'t Turns);

/// A thread waits to have the map alone until this is dropped.
pub(crate) struct Waiting<'t> {
    turns: &'t Turns,
    begun: Instant,
    is_late: bool,
}

/// Whether this is the half of the time in which those who are late come in. It goes by the clock of the wall, because that
/// needs no state: if somebody sets it, one half is longer or shorter.
fn is_half_of_the_late() -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (now.as_millis() / HALF.as_millis()).is_multiple_of(2)
}

impl Turns {
    /// The map for the caller alone, unless others have it, or are late.
    pub(crate) fn try_alone(&self) -> Option<Alone<'_>> {
        // Relaxed, here and for all of `late`: who misses it only is faster.
        if self.late.load(Ordering::Relaxed) > 0 { None } else { self.take_alone() }
    }

    fn take_alone(&self) -> Option<Alone<'_>> {
        // Acquire: pairs with the Release at the end of the turns before, whose work is seen.
        let taken =
            self.word.compare_exchange(0, ALONE, Ordering::Acquire, Ordering::Relaxed).is_ok();
        taken.then(|| Alone(self))
    }

    /// Says that the caller waits to have the map alone.
    pub(crate) fn wait(&self) -> Waiting<'_> {
        // Relaxed: who misses it only is faster.
        self.waiting.fetch_add(1, Ordering::Relaxed);
        Waiting { turns: self, begun: Instant::now(), is_late: false }
    }

    /// The map for the caller and others, unless one has it alone, or waits for that and either the caller has not waited for
    /// long, since `begun`, or it is late, and this is its half of the time.
    pub(crate) fn try_shared(&self, begun: Option<Instant>) -> Option<Shared<'_>> {
        let is_polite = begun.is_none_or(|begun| begun.elapsed() < PATIENCE);
        if is_polite && self.waiting.load(Ordering::Relaxed) > 0 {
            return None;
        }
        if self.late.load(Ordering::Relaxed) > 0 && is_half_of_the_late() {
            return None;
        }
        // Acquire: pairs with the Release of `Alone`.
        let share = |word| (word & ALONE == 0).then_some(word + 1);
        let shared = self.word.fetch_update(Ordering::Acquire, Ordering::Relaxed, share);
        shared.is_ok().then(|| Shared(self))
    }
}

impl<'t> Waiting<'t> {
    /// The map for the caller alone, unless others have it, or are late and the caller is not.
    pub(crate) fn try_alone(&mut self) -> Option<Alone<'t>> {
        if !self.is_late && self.begun.elapsed() >= LATE {
            self.is_late = true;
            self.turns.late.fetch_add(1, Ordering::Relaxed);
        }
        if self.is_late { self.turns.take_alone() } else { self.turns.try_alone() }
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
        self.turns.waiting.fetch_sub(1, Ordering::Relaxed);
        if self.is_late {
            self.turns.late.fetch_sub(1, Ordering::Relaxed);
        }
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

    #[test]
    fn the_map_is_left_to_who_is_late_by_those_who_are_not() {
        let turns = Turns::default();
        let alone = turns.try_alone();
        let mut first = turns.wait();
        assert!(first.try_alone().is_none());
        std::thread::sleep(LATE);
        assert!(first.try_alone().is_none());
        drop(alone);
        let mut second = turns.wait();
        assert!(turns.try_alone().is_none() && second.try_alone().is_none());
        drop(first.try_alone().unwrap());
        // The first one does not come back.
        std::thread::sleep(LATE);
        drop(second.try_alone().unwrap());
        drop((first, second));
        assert!(turns.try_alone().is_some());
    }

    #[test]
    fn who_is_late_has_half_of_the_time() {
        let turns = Turns::default();
        let stands = turns.try_shared(None);
        let mut waiting = turns.wait();
        std::thread::sleep(LATE);
        assert!(waiting.try_alone().is_none());
        let begun = Instant::now();
        let (mut taken, mut tries) = (0, 0);
        while begun.elapsed() < 4 * HALF {
            taken += u32::from(turns.try_shared(Some(begun)).is_some());
            tries += 1;
            std::thread::sleep(PATIENCE);
        }
        assert!(taken > tries / 4 && taken < tries - tries / 4, "{taken} of {tries}");
        drop(stands);
    }
}
