//! Flights: the commits that are under way.

use crate::sync::{AtomicU64, Ordering};

/// The most commits that are under way at once. Each has a BATCH word.
pub(crate) const FLIGHTS: usize = if cfg!(all(test, loom)) { 2 } else { 16 };

/// The state of a flight: the low bits of its word.
const FREE: u64 = 0;
const LOCKED: u64 = 1;
const COMMITTED: u64 = 2;
const STATE: u64 = 0b11;
/// The bits of the intent's offset, of which the low four are zero.
const OFFSET: u64 = (1 << 48) - 16;
/// The bits above count the commits of a flight, so that who waits for one does not take a later one for it.
const ROUND: u64 = 1 << 48;

/// What one load of a flight's word has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen(u64);

impl Seen {
    /// The offset of the intent, unless the flight is free.
    pub(crate) fn intent(self) -> Option<u64> {
        (self.0 & STATE != FREE).then_some(self.0 & OFFSET)
    }

    /// Whether readers have to see the changes.
    pub(crate) fn is_committed(self) -> bool {
        self.0 & STATE == COMMITTED
    }

    fn is_same_commit(self, other: Self) -> bool {
        (self.0 ^ other.0) & !STATE == 0 && other.0 & STATE != FREE
    }
}

/// One flight.
#[derive(Debug, Default)]
struct Flight {
    /// The intent's offset and the state, in one word.
    word: AtomicU64,
    /// The number of the thread that commits, plus one.
    owner: AtomicU64,
}

/// All flights of a pool.
#[derive(Debug, Default)]
pub(crate) struct Flights([Flight; FLIGHTS]);

impl Flights {
    /// Takes a free flight for the intent at `at`, by the thread with this number. `None` if none is free.
    pub(crate) fn take(&self, at: u64, thread: usize) -> Option<usize> {
        self.0.iter().position(|flight| {
            let word = flight.word.load(Ordering::Relaxed);
            if word & STATE != FREE {
                return false;
            }
            let locked = (word & !(OFFSET | STATE)).wrapping_add(ROUND) | at | LOCKED;
            // Acquire: pairs with the Release of `end`. Release: who loads the word reads the intent.
            let taken =
                flight.word.compare_exchange(word, locked, Ordering::AcqRel, Ordering::Relaxed);
            if taken.is_ok() {
                // Relaxed: only the owner compares this with its own number.
                flight.owner.store(thread as u64 + 1, Ordering::Relaxed);
            }
            taken.is_ok()
        })
    }

    /// Lets readers see the changes. Only the owner calls this.
    pub(crate) fn commit(&self, flight: usize) {
        let word = &self.0[flight].word;
        // Release: pairs with the Acquire of `look`: the BATCH word is durable by then.
        word.store(word.load(Ordering::Relaxed) & !STATE | COMMITTED, Ordering::Release);
    }

    /// Gives the flight back. Only the owner calls this, after it has taken its marks off.
    pub(crate) fn end(&self, flight: usize) {
        let Flight { word, owner } = &self.0[flight];
        owner.store(0, Ordering::Relaxed);
        // Release: pairs with the Acquire of `take` and of `look`: what was applied comes first.
        word.store(word.load(Ordering::Relaxed) & !(OFFSET | STATE) | FREE, Ordering::Release);
    }

    /// The state and the intent of a flight, in one load.
    pub(crate) fn look(&self, flight: usize) -> Seen {
        Seen(self.0[flight].word.load(Ordering::Acquire))
    }

    /// Whether the commit that was seen is still under way.
    pub(crate) fn is_under_way(&self, flight: usize, seen: Seen) -> bool {
        seen.is_same_commit(self.look(flight))
    }

    /// Whether the thread with this number commits in this flight.
    pub(crate) fn is_of(&self, flight: usize, thread: usize) -> bool {
        self.0[flight].owner.load(Ordering::Relaxed) == thread as u64 + 1
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_flight_is_taken_committed_and_given_back() {
        let flights = Flights::default();
        let taken: Vec<_> = (0..FLIGHTS).map(|i| flights.take(64 << i, i)).collect();
        assert!(taken.into_iter().eq((0..FLIGHTS).map(Some)) && flights.take(64, 1).is_none());
        let locked = flights.look(3);
        assert_eq!((locked.intent(), locked.is_committed()), (Some(64 << 3), false));
        assert!(flights.is_of(3, 3) && !flights.is_of(3, 4));
        flights.commit(3);
        assert!(flights.look(3).is_committed() && flights.is_under_way(3, locked));
        flights.end(3);
        assert!(flights.look(3).intent().is_none() && !flights.is_under_way(3, locked));
        assert_eq!(flights.take(64 << 3, 9), Some(3));
        assert!(!flights.is_under_way(3, locked), "a later commit was taken for an earlier one");
    }
}
