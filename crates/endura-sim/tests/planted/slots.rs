//! One key in the slots of an NBTree block: inserts that are arbitrated, a remove, and what is durable.
//!
//! Each slot is a line of its own. Three threads: A inserts into slot 0, B inserts into slot 1 (and
//! completes A's insert if it meets that), R removes. Lines are written back by a flush, or at any time.
//! The faults are the traces V5, V6 and V7 of `docs/trees.md`.

use crate::hunt::Hunt;
use crate::interleaved::{self, Protocol};
use crate::table::Planted;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Slot {
    Empty,
    Pending,
    Live,
    Dead,
    Killed,
}

use Slot::{Dead, Empty, Killed, Live, Pending};

/// What a thread has answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Answer {
    None,
    Inserted,
    Exists,
    Removed,
    Absent,
}

/// Slots 0 and 1 are those of A and B; A's second attempt takes slot 2; slot 3 holds what was there.
const SLOTS: usize = 4;
const OLD: usize = 3;

const A: usize = 0;
const B: usize = 1;
const R: usize = 2;
/// From here on: the line of a slot is written back by itself.
const EVICTS: usize = 3;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Slots {
    bug: Option<Planted>,
    visible: [Slot; SLOTS],
    durable: [Slot; SLOTS],
    /// Writers between their store and their flush.
    in_flight: u8,
    at: [u8; 3],
    answers: [Answer; 3],
    /// The slot that a thread has claimed, and the one that it is about to complete, or to empty.
    own: [usize; 3],
    on: [usize; 3],
}

/// Where a thread has ended.
const END: u8 = 99;

impl Slots {
    fn new(bug: Option<Planted>, old: Slot, threads: [bool; 3]) -> Self {
        let mut slots = [Empty; SLOTS];
        slots[OLD] = old;
        Self {
            bug,
            visible: slots,
            durable: slots,
            in_flight: 0,
            at: threads.map(|takes_part| if takes_part { 0 } else { END }),
            answers: [Answer::None; 3],
            own: [0, 1, OLD],
            on: [0, 1, OLD],
        }
    }

    fn has(&self, bug: Planted) -> bool {
        self.bug == Some(bug)
    }

    fn live(&self) -> Option<usize> {
        (0..SLOTS).find(|&slot| self.visible[slot] == Live)
    }

    fn end(&mut self, thread: usize, answer: Answer) {
        (self.at[thread], self.answers[thread]) = (END, answer);
    }

    /// What was removed and may not be durable is made so.
    fn settle(&mut self, unless: Planted) {
        if self.in_flight > 0 && !self.has(unless) {
            for slot in 0..SLOTS {
                if self.visible[slot] == Dead {
                    self.durable[slot] = Dead;
                }
            }
        }
    }

    /// A look at the slots, and the claim of one.
    fn claim(&mut self, thread: usize, slot: usize) {
        match self.live() {
            Some(live) => {
                self.durable[live] = Live;
                self.end(thread, Answer::Exists);
            }
            None => {
                self.visible[slot] = Pending;
                (self.own[thread], self.on[thread], self.at[thread]) = (slot, slot, 1);
            }
        }
    }

    /// The lowest slot that is PENDING wins; whoever meets a lower one completes that first.
    fn arbitrate(&mut self, thread: usize) {
        let (own, on) = (self.own[thread], self.on[thread]);
        let is_rival = |&slot: &usize| slot != on && matches!(self.visible[slot], Pending | Live);
        match (0..SLOTS).find(is_rival) {
            None => self.at[thread] = 2,
            Some(slot) if self.visible[slot] == Live => {
                if self.visible[own] == Pending {
                    self.visible[own] = Killed;
                }
                self.at[thread] = 5;
            }
            Some(slot) if slot > on => self.visible[slot] = Killed,
            Some(slot) => self.on[thread] = slot,
        }
    }

    fn insert(&mut self, thread: usize) {
        let (own, on) = (self.own[thread], self.on[thread]);
        match self.at[thread] {
            0 => return self.claim(thread, own),
            1 => return self.arbitrate(thread),
            // V6: what was removed is durable before the new entry can be.
            2 => {
                self.settle(Planted::V6);
                self.in_flight += 1;
            }
            3 => {
                if self.visible[on] == Pending {
                    self.visible[on] = Live;
                }
            }
            4 => {
                self.durable[on] = self.visible[on];
                self.in_flight -= 1;
                if self.visible[own] == Pending {
                    (self.on[thread], self.at[thread]) = (own, 1);
                    return;
                }
            }
            // What became of its own slot. V5: a removed entry is one that was made.
            _ => {
                let is_lost = self.visible[own] == Killed
                    || (self.visible[own] == Dead && self.has(Planted::V5));
                return match (is_lost, thread, own) {
                    (false, ..) => self.end(thread, Answer::Inserted),
                    // Once more; it is enough to see that of one thread.
                    (true, A, 0) => self.claim(A, 2),
                    _ => self.end(thread, Answer::None),
                };
            }
        }
        self.at[thread] += 1;
    }

    fn remove(&mut self) {
        let on = self.on[R];
        match self.at[R] {
            0 => match self.live() {
                Some(slot) => (self.on[R], self.at[R]) = (slot, 1),
                None => {
                    self.settle(Planted::V7);
                    self.end(R, Answer::Absent);
                }
            },
            1 => (self.in_flight, self.at[R]) = (self.in_flight + 1, 2),
            2 if self.visible[on] == Live => (self.visible[on], self.at[R]) = (Dead, 3),
            // Somebody else was faster.
            2 => (self.in_flight, self.at[R]) = (self.in_flight - 1, 0),
            _ => {
                self.durable[on] = Dead;
                self.in_flight -= 1;
                self.end(R, Answer::Removed);
            }
        }
    }

    /// Another remove, in the place of A: it only looks whether there is something.
    fn look(&mut self) {
        match self.live() {
            None => {
                self.settle(Planted::V7);
                self.end(A, Answer::Absent);
            }
            Some(_) => self.end(A, Answer::Exists),
        }
    }

    /// Whether A is about to remove, and nobody inserts.
    fn is_about_removes(&self) -> bool {
        self.own[A] == OLD
    }
}

impl Protocol for Slots {
    const ACTORS: usize = EVICTS + SLOTS;

    fn step(&mut self, actor: usize) -> bool {
        if actor >= EVICTS {
            let slot = actor - EVICTS;
            let changes = self.durable[slot] != self.visible[slot];
            self.durable[slot] = self.visible[slot];
            return changes;
        }
        if self.has_ended(actor) {
            return false;
        }
        match actor {
            A if self.is_about_removes() => self.look(),
            A | B => self.insert(actor),
            _ => self.remove(),
        }
        true
    }

    fn wrong(&self) -> Option<String> {
        let count = |slots: &[Slot; SLOTS]| slots.iter().filter(|&&slot| slot == Live).count();
        if count(&self.durable) > 1 {
            return Some("two entries of one key after a crash".to_owned());
        }
        let is_absent = self.is_about_removes() && self.answers.contains(&Answer::Absent);
        if is_absent && count(&self.durable) > 0 {
            return Some("an entry that was told to be absent is there after a crash".to_owned());
        }
        let all = (0..3).all(|thread| self.has_ended(thread));
        let told = |answer| self.answers.iter().filter(|&&told| told == answer).count();
        let old = usize::from(self.visible[OLD] != Empty);
        if all && old + told(Answer::Inserted) != told(Answer::Removed) + count(&self.visible) {
            return Some("an insert happened twice, or not at all".to_owned());
        }
        None
    }

    fn has_ended(&self, actor: usize) -> bool {
        actor >= EVICTS || self.at[actor] == END
    }
}

/// What each of the traces is about, with its fault or without.
pub(crate) fn hunt(bug: Planted, flawed: bool) -> Hunt {
    let planted = flawed.then_some(bug);
    let slots = match bug {
        Planted::V5 => Slots::new(planted, Empty, [true, true, true]),
        Planted::V6 => Slots::new(planted, Live, [false, true, true]),
        _ => {
            let mut slots = Slots::new(planted, Live, [true, false, true]);
            slots.own[A] = OLD;
            slots
        }
    };
    interleaved::hunt(slots)
}
