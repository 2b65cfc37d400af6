//! The running pop of a map, announced to inserts, so that a pop is linearizable.
//!
//! A pop chooses the first entry (or the last) and removes it. Both are one linearization point because no insert
//! enters a key in front of the entry in between:
//!
//! | who | what | why |
//! | --- | --- | --- |
//! | pop | announces its key: OPEN | |
//! | pop | checks again that this is the end of the map, and that no insert that has not seen OPEN is entering a key in front of it | later inserts see OPEN |
//! | insert | once it has its lock, or slot, and before others see its key: looks for an announcement | of the two, one sees the other |
//! | insert | in front of a key that is OPEN: makes it GIVEN_UP, and continues | it waits for no search |
//! | pop | OPEN to DECIDED; if it was GIVEN_UP, starts again | an insert has made progress |
//! | insert | in front of a key that is DECIDED: gives up its lock, or slot, waits, starts again | |
//! | pop | removes its entry: this is its linearization point; then NONE, before it does anything else | |
//!
//! Only inserts of new keys look for an announcement: nothing else puts a key in front of another. One pop at a time runs
//! in a map. No closure of the user runs during its turn.

use crate::sync::{AtomicBool, AtomicU64, Backoff, Mutex, Ordering, fence_behind_exchange};

/// The state of the running pop: the low bits of the word. Above them are the end (first or last) and a round, so that no
/// two announcements are the same.
const NONE: u64 = 0;
const OPEN: u64 = 1;
const DECIDED: u64 = 2;
const GIVEN_UP: u64 = 3;
const STATE: u64 = 0b11;
/// The entry with the smallest key, not that with the largest.
const SMALLEST: u64 = 1 << 2;
const ROUND: u64 = 1 << 3;

/// The pops of a map.
#[derive(Debug, Default)]
pub(crate) struct Pops {
    word: AtomicU64,
    /// The key that is announced, in a map of numbers.
    number: AtomicU64,
    /// The same in a map of byte strings.
    bytes: Mutex<Vec<u8>>,
    is_taken: AtomicBool,
}

/// The key that an insert is about to enter.
pub(crate) trait NewKey {
    /// Whether it comes before the announced key; for `smallest` = false behind it.
    fn goes_before(&self, pops: &Pops, smallest: bool) -> bool;
}

impl NewKey for u64 {
    #[inline(always)]
    fn goes_before(&self, pops: &Pops, smallest: bool) -> bool {
        // Acquire: pairs with the Release in `announce`. A thread that reads the key of a later announcement sees that the
        // earlier one has ended.
        let announced = pops.number.load(Ordering::Acquire);
        if smallest { *self < announced } else { *self > announced }
    }
}

impl NewKey for [u8] {
    fn goes_before(&self, pops: &Pops, smallest: bool) -> bool {
        // The lock orders as the Acquire of numbers does.
        let announced = pops.bytes.lock();
        if smallest { *self < announced[..] } else { *self > announced[..] }
    }
}

impl Pops {
    /// The turn to pop, unless another thread has it.
    pub(crate) fn try_begin(&self) -> Option<Turn<'_>> {
        // Acquire: pairs with the Release of the turn before, whose round continues.
        let is_mine = !self.is_taken.swap(true, Ordering::Acquire);
        is_mine.then(|| Turn { pops: self })
    }

    /// Whether `key`, which is absent, may be inserted now. The caller holds the lock of its place (or has entered it as
    /// undecided), which a pop that is announced later comes across. `false`: the insert has to give that up,
    /// [wait](Self::wait_for), and start again.
    #[inline(always)]
    pub(crate) fn admit<K: NewKey + ?Sized>(&self, key: &K) -> bool {
        // Pairs with that of `announce`: of an insert that has its lock and a pop that is announced, one sees the
        // other.
        fence_behind_exchange();
        // Acquire: where a pop has ended, what it took out is seen to be gone before the new key is seen.
        self.word.load(Ordering::Acquire) & STATE == NONE || self.admit_beside(key)
    }

    /// The same beside a pop.
    #[cold]
    #[inline(never)]
    fn admit_beside<K: NewKey + ?Sized>(&self, key: &K) -> bool {
        while let Some(word) = self.announced_behind(key) {
            if word & STATE == DECIDED {
                return false;
            }
            // Release: pairs with the Acquire of `decide`, which has to fail.
            let given_up = word & !STATE | GIVEN_UP;
            let exchanged =
                self.word.compare_exchange(word, given_up, Ordering::AcqRel, Ordering::Relaxed);
            if exchanged.is_ok() {
                break;
            }
        }
        true
    }

    /// The announcement, if there is one that is OPEN or DECIDED and `key` lies before what it announces.
    fn announced_behind<K: NewKey + ?Sized>(&self, key: &K) -> Option<u64> {
        loop {
            // Acquire: pairs with `announce`, in front of which the key was stored.
            let word = self.word.load(Ordering::Acquire);
            if matches!(word & STATE, NONE | GIVEN_UP) {
                return None;
            }
            let goes_before = key.goes_before(self, word & SMALLEST != 0);
            // The key of a later announcement was read only if the word is another one by now.
            if self.word.load(Ordering::Acquire) == word {
                return goes_before.then_some(word);
            }
        }
    }

    /// Whether a pop is taking out an entry behind `key`.
    #[inline(always)]
    pub(crate) fn holds_up<K: NewKey + ?Sized>(&self, key: &K) -> bool {
        self.word.load(Ordering::Acquire) & STATE == DECIDED && self.is_decided_behind(key)
    }

    #[cold]
    #[inline(never)]
    fn is_decided_behind<K: NewKey + ?Sized>(&self, key: &K) -> bool {
        self.announced_behind(key).is_some_and(|word| word & STATE == DECIDED)
    }

    /// Waits while a pop takes out an entry behind `key`. To be called without a lock and outside of pins.
    #[cold]
    #[inline(never)]
    pub(crate) fn wait_for<K: NewKey + ?Sized>(&self, key: &K) {
        let mut backoff = Backoff::default();
        while self.holds_up(key) {
            backoff.wait();
        }
    }
}

/// The turn to pop. It ends, with what was announced, when it is dropped.
pub(crate) struct Turn<'p> {
    pops: &'p Pops,
}

impl Turn<'_> {
    /// Announces a key of a map of numbers.
    pub(crate) fn announce_number(&self, smallest: bool, key: u64) {
        // Release: after the end of the announcement before. Pairs with the Acquire of the thread that reads it.
        self.pops.number.store(key, Ordering::Release);
        self.announce(smallest);
    }

    /// Announces a key of a map of byte strings.
    pub(crate) fn announce_bytes(&self, smallest: bool, key: &[u8]) {
        let mut bytes = self.pops.bytes.lock();
        bytes.clear();
        bytes.extend_from_slice(key);
        drop(bytes);
        self.announce(smallest);
    }

    fn announce(&self, smallest: bool) {
        let end = if smallest { SMALLEST } else { 0 };
        // Relaxed: only the owner of the turn ends an announcement or makes one, and there is none.
        let round =
            (self.pops.word.load(Ordering::Relaxed) & !(STATE | SMALLEST)).wrapping_add(ROUND);
        self.pops.word.store(round | end | OPEN, Ordering::SeqCst);
        // Pairs with that of `admit`: what the caller looks at from here on shows every insert that has not seen
        // this.
        fence_behind_exchange();
    }

    /// Keeps inserts in front of the announced key out until that is removed or the turn ends. `false`: an insert was
    /// faster, or the key was removed.
    pub(crate) fn decide(&self) -> bool {
        let word = self.pops.word.load(Ordering::Relaxed);
        match word & STATE {
            DECIDED => true,
            OPEN => {
                let decided = word & !STATE | DECIDED;
                // AcqRel: pairs with that of `admit_beside`: one of the two fails.
                let exchanged = self.pops.word.compare_exchange(
                    word,
                    decided,
                    Ordering::AcqRel,
                    Ordering::Relaxed,
                );
                exchanged.is_ok()
            }
            _ => false,
        }
    }

    /// Releases the inserts that wait, because the entry is out: before further work that they need not wait for.
    /// Only the pop may say so. Another operation that removed the key may be late: the key may be in the map again, and
    /// the pop about to remove that.
    pub(crate) fn is_out(&self) {
        let word = self.pops.word.load(Ordering::Relaxed);
        // Release: behind what was taken out. An insert of another thread may only have given the announcement up
        // meanwhile.
        self.pops.word.store(word & !STATE | NONE, Ordering::Release);
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.is_out();
        // Release: pairs with the Acquire of `try_begin`.
        self.pops.is_taken.store(false, Ordering::Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn announced(pops: &Pops, smallest: bool, key: u64) -> Turn<'_> {
        let Some(turn) = pops.try_begin() else { panic!("somebody else's turn") };
        turn.announce_number(smallest, key);
        turn
    }

    #[test]
    fn one_pop_at_a_time() {
        let pops = Pops::default();
        let turn = pops.try_begin();
        assert!(turn.is_some() && pops.try_begin().is_none());
        drop(turn);
        assert!(pops.try_begin().is_some());
    }

    #[test]
    fn an_insert_in_front_of_an_open_pop_makes_it_begin_anew() {
        let pops = Pops::default();
        assert!(pops.admit(&0));
        for (smallest, other, front) in [(true, [7, 8], 6), (false, [7, 6], 8)] {
            let turn = announced(&pops, smallest, 7);
            assert!(other.iter().all(|key| pops.admit(key)) && turn.decide() && turn.decide());
            drop(turn);
            let turn = announced(&pops, smallest, 7);
            assert!(pops.admit(&front) && !turn.decide() && pops.admit(&front));
        }
    }

    #[test]
    fn an_insert_in_front_of_a_decided_pop_waits() {
        let pops = Pops::default();
        let turn = announced(&pops, true, 7);
        assert!(!pops.holds_up(&6) && turn.decide());
        assert!(pops.holds_up(&6) && !pops.admit(&6) && !pops.holds_up(&7) && pops.admit(&7));
        turn.is_out();
        assert!(!pops.holds_up(&6) && pops.admit(&6) && !turn.decide());
        drop(turn);
        let turn = announced(&pops, true, 7);
        assert!(turn.decide() && pops.holds_up(&6));
        drop(turn);
        assert!(!pops.holds_up(&6) && pops.admit(&6));
        pops.wait_for(&6);
    }

    #[test]
    fn byte_strings_compare_as_the_map_does() {
        let pops = Pops::default();
        let turn = pops.try_begin().unwrap();
        turn.announce_bytes(true, b"ab");
        assert!(turn.decide());
        for (key, goes_before) in
            [(&b"a"[..], true), (b"aa\xFF", true), (b"ab", false), (b"ab\0", false)]
        {
            assert_eq!(pops.holds_up(key), goes_before, "{key:?}");
        }
        drop(turn);
        let turn = pops.try_begin().unwrap();
        turn.announce_bytes(false, b"ab");
        assert!(turn.decide() && pops.holds_up(&b"ab\0"[..]) && !pops.holds_up(&b"a"[..]));
    }
}

#[cfg(all(test, loom))]
mod loom {
    use std::sync::Arc;

    use super::*;
    use crate::sync::loom::{Fault, check, check_finds, spawn};

    /// An insert of 3 in front of 5, which a pop takes out: its lock, and what others see.
    #[derive(Default)]
    struct Shared {
        pops: Pops,
        lock: AtomicBool,
        is_in: AtomicBool,
        is_gone: AtomicBool,
    }

    /// Whether the entry was seen to be gone when the key came in; `None` if it would have to wait.
    fn insert(shared: &Shared) -> Option<bool> {
        shared.lock.swap(true, Ordering::AcqRel);
        let is_admitted = shared.pops.admit(&3);
        let seen = is_admitted.then(|| {
            let is_gone = shared.is_gone.load(Ordering::Relaxed);
            shared.is_in.store(true, Ordering::Release);
            is_gone
        });
        shared.lock.store(false, Ordering::Release);
        seen
    }

    /// Whether it has taken the entry out.
    fn pop(shared: &Shared) -> bool {
        let Some(turn) = shared.pops.try_begin() else { return false };
        turn.announce_number(true, 5);
        let is_end = !shared.lock.load(Ordering::Acquire) && !shared.is_in.load(Ordering::Acquire);
        let is_taken = is_end && turn.decide();
        if is_taken {
            shared.is_gone.store(true, Ordering::Release);
        }
        is_taken
    }

    fn nothing_comes_before_what_is_taken_out() {
        let shared = Arc::new(Shared::default());
        let inserted = {
            let shared = Arc::clone(&shared);
            spawn(move || insert(&shared))
        };
        let is_taken = pop(&shared);
        if let Some(saw_it_gone) = inserted.join().unwrap() {
            assert!(saw_it_gone || !is_taken, "a key came in front of what was taken out later");
        }
    }

    #[test]
    fn an_insert_beside_a_pop() {
        check(None, nothing_comes_before_what_is_taken_out);
        check_finds(Fault::NoFences, None, nothing_comes_before_what_is_taken_out);
    }
}
