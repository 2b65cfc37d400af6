//! The running pop of a map, announced to inserts, so that a pop is linearizable.
//!
//! A pop chooses the first entry (or the last) and removes it. The choice and the removal have one linearization point,
//! because no insert adds a key before that entry in between:
//!
//! | thread | step | why |
//! | --- | --- | --- |
//! | pop | announces its key: OPEN | |
//! | pop | checks again: its entry is the end, and no insert that missed OPEN adds a key before | later ones see OPEN |
//! | insert | once it has its lock, or slot, and before its key is visible: looks for an announcement | one sees the other |
//! | insert | before a key that is OPEN: makes it GIVEN_UP, and continues | an insert waits for no search |
//! | pop | OPEN to DECIDED; if it was GIVEN_UP, starts again | an insert has made progress |
//! | insert | before a key that is DECIDED: gives up its lock, or slot, waits, starts again | |
//! | pop | removes its entry: this is its linearization point; then NONE, before it does anything else | |
//!
//! Only inserts of new keys look for an announcement, because nothing else adds a key before another. One pop at a time
//! runs in a map ([`turns`](super::turns)). No closure of the user runs during its turn.

use crate::space::directory::turns::{Alone, Turns};
use crate::sync::{AtomicU64, Backoff, Mutex, Ordering, fence_behind_exchange};

/// The state of the running pop: the low bits of the word. The bits above them name the end (first or last) and a
/// round, so that no two announcements are equal.
const NONE: u64 = 0;
const OPEN: u64 = 1;
const DECIDED: u64 = 2;
const GIVEN_UP: u64 = 3;
const STATE: u64 = 0b11;
/// Set if the pop removes the smallest key, clear if it removes the largest.
const SMALLEST: u64 = 1 << 2;
const ROUND: u64 = 1 << 3;

/// The announcement of the running pop of a map.
#[derive(Debug, Default)]
pub(crate) struct Pops {
    word: AtomicU64,
    /// The announced key, in a map of numbers.
    number: AtomicU64,
    /// The announced key, in a map of byte strings.
    bytes: Mutex<Vec<u8>>,
    turns: Turns,
}

/// A key that an insert is about to add.
pub(crate) trait NewKey {
    /// Whether the key comes before the announced one, or, if `smallest` is `false`, after it.
    fn goes_before(&self, pops: &Pops, smallest: bool) -> bool;
}

impl NewKey for u64 {
    #[inline(always)]
    fn goes_before(&self, pops: &Pops, smallest: bool) -> bool {
        // Acquire: pairs with the Release in `announce_number`. A thread that reads the key of a later announcement
        // sees that the earlier one has ended.
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
    /// The turn to pop, unless another thread has it. Its announcements continue the rounds of the previous turn.
    pub(crate) fn try_begin(&self) -> Option<Turn<'_>> {
        self.turns.try_alone().map(|alone| self.begin(alone))
    }

    /// The turn to pop, of who has the map alone.
    pub(crate) fn begin<'t>(&'t self, alone: Alone<'t>) -> Turn<'t> {
        Turn { pops: self, _alone: alone }
    }

    /// Who has the map for itself, or with others.
    pub(crate) fn turns(&self) -> &Turns {
        &self.turns
    }

    /// Whether `key`, which is absent, may be inserted now. The caller holds the lock of the key's place (or has
    /// entered the key as undecided), and a pop that is announced later comes across that. If the result is `false`,
    /// the insert has to give up the lock or place, [wait](Self::wait_for), and start again.
    #[inline(always)]
    pub(crate) fn admit<K: NewKey + ?Sized>(&self, key: &K) -> bool {
        // Pairs with the fence of `announce`: of an insert that has its lock and a pop that is announced, one sees the
        // other.
        fence_behind_exchange();
        // Acquire: after a pop has ended, its removal is seen before the new key is seen.
        self.word.load(Ordering::Acquire) & STATE == NONE || self.admit_beside(key)
    }

    /// Does what `admit` does, while a pop is running.
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

    /// The announcement, if it is OPEN or DECIDED and `key` comes before the announced key.
    fn announced_behind<K: NewKey + ?Sized>(&self, key: &K) -> Option<u64> {
        loop {
            // Acquire: pairs with `announce`, before which the key was stored.
            let word = self.word.load(Ordering::Acquire);
            if matches!(word & STATE, NONE | GIVEN_UP) {
                return None;
            }
            let goes_before = key.goes_before(self, word & SMALLEST != 0);
            // If the key of a later announcement was read, the word has changed by now.
            if self.word.load(Ordering::Acquire) == word {
                return goes_before.then_some(word);
            }
        }
    }

    /// Whether a pop is removing an entry that comes after `key`.
    #[inline(always)]
    pub(crate) fn holds_up<K: NewKey + ?Sized>(&self, key: &K) -> bool {
        self.word.load(Ordering::Acquire) & STATE == DECIDED && self.is_decided_behind(key)
    }

    #[cold]
    #[inline(never)]
    fn is_decided_behind<K: NewKey + ?Sized>(&self, key: &K) -> bool {
        self.announced_behind(key).is_some_and(|word| word & STATE == DECIDED)
    }

    /// Waits while a pop removes an entry that comes after `key`. It must be called without a lock and outside of pins.
    #[cold]
    #[inline(never)]
    pub(crate) fn wait_for<K: NewKey + ?Sized>(&self, key: &K) {
        let mut backoff = Backoff::default();
        while self.holds_up(key) {
            backoff.wait();
        }
    }
}

/// The turn to pop. When it is dropped, the turn ends, and its announcement with it.
pub(crate) struct Turn<'p> {
    pops: &'p Pops,
    /// Dropped behind the announcement.
    _alone: Alone<'p>,
}

impl Turn<'_> {
    /// Announces a key of a map of numbers.
    pub(crate) fn announce_number(&self, smallest: bool, key: u64) {
        // Release: after the end of the previous announcement. Pairs with the Acquire of a thread that reads the key.
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
        // Relaxed: only the owner of the turn makes or ends an announcement, and there is none now.
        let round =
            (self.pops.word.load(Ordering::Relaxed) & !(STATE | SMALLEST)).wrapping_add(ROUND);
        self.pops.word.store(round | end | OPEN, Ordering::SeqCst);
        // Pairs with the fence of `admit`: from here on, the caller sees every insert that has not seen this
        // announcement.
        fence_behind_exchange();
    }

    /// Keeps out inserts that come before the announced key, until that key is removed or the turn ends. Returns
    /// `false` if such an insert was faster, or the announcement has ended.
    pub(crate) fn decide(&self) -> bool {
        let word = self.pops.word.load(Ordering::Relaxed);
        match word & STATE {
            DECIDED => true,
            OPEN => {
                let decided = word & !STATE | DECIDED;
                // AcqRel: pairs with the exchange in `admit_beside`: one of the two fails.
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

    /// Releases the inserts that wait, once the entry is removed and before further work for which they need not wait.
    /// Only the pop may call this. Another operation that removed the key may be late: by then the key may be in the
    /// map again, and the pop may be about to remove that new entry.
    pub(crate) fn is_out(&self) {
        let word = self.pops.word.load(Ordering::Relaxed);
        // Release: after the removal. In the meantime another thread's insert can only have changed the announcement to
        // GIVEN_UP.
        self.pops.word.store(word & !STATE | NONE, Ordering::Release);
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.is_out();
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
    use crate::sync::AtomicBool;
    use crate::sync::loom::{Fault, check, check_finds, spawn};

    /// An insert of 3 before 5, while a pop removes 5: the lock of the insert, and what other threads see.
    #[derive(Default)]
    struct Shared {
        pops: Pops,
        lock: AtomicBool,
        is_in: AtomicBool,
        is_gone: AtomicBool,
    }

    /// Inserts the key. Returns whether the entry was seen to be gone when the key was added; `None` if the insert
    /// would have to wait.
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

    /// Pops the entry. Returns whether it has removed it.
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
