//! Epochs: which threads are inside an operation, and since when. Memory is reclaimed by epochs, and a pin costs a
//! plain store.
//!
//! # Protocol
//!
//! There is one global epoch, and one *slot* per thread. A thread takes a *pin* when it enters an operation: it writes
//! the global epoch into its slot, leaves it there until the operation ends, and then clears the slot. The epoch moves
//! from `g` to `g + 1` only when every slot is clear or says `g`. The thread that unlinks a chunk *retires* it: it
//! issues a full fence, reads the global epoch `t`, and tags the chunk with `t`. The chunk may be reused when the
//! global epoch is at least `t + 2`.
//!
//! | step | pinning thread R | moving thread A | retiring thread W |
//! | --- | --- | --- | --- |
//! | 1 | `e = global` (Acquire) | `g = global` (Acquire) | unlink X |
//! | 2 | `slot = e` (Release) | heavy barrier | full fence |
//! | 3 | light barrier | all slots clear or `g` (Acquire) | `t = global` |
//! | 4 | use shared words | `global: g -> g + 1` (AcqRel) | wait for `global >= t + 2` |
//!
//! # Why no thread holds X when it is reused
//!
//! Let A be the move from `t + 1` to `t + 2`, and let R be inside one pin that reached X and has
//! not ended when A finishes. R reached X by a load that did not see the unlink. The barriers of R
//! and A (R3, A2) leave two cases.
//!
//! * *R's accesses see what A saw.* W read `t`, so it did that before the move to `t + 1`, and A has read the result of
//!   that move. So W's fence precedes A's barrier, and A, and with it R's load, sees the unlink. Contradiction.
//! * *A sees R's slot.* The pin has not ended, so A found `e` in it and continued only because `e = t + 1`. Then R
//!   itself read `t + 1` in R1, again after W's fence, and R1 is ordered before R's later loads (Acquire, or the fence
//!   of the symmetric pair): these loads see the unlink. Contradiction.
//!
//! A pin that has ended is no danger either. Its slot was cleared, or overwritten by the next pin, with Release. The
//! moving thread has read the slot with Acquire, and its move publishes the end of the pin to the thread that reuses X.
//!
//! A slot may get an old epoch, if the thread slept between R1 and R2. That only stops the epoch until the pin ends.
//! There is no fence and no store to a shared line on the path of a pin.
//!
//! # After a pin: stamps and seats
//!
//! A thread may remember a chunk that it reached in a pin, with an [`EpochStamp`]: the epoch `e` of its slot. W unlinks
//! the chunk with a tag `t >= e` (with a smaller one, R1 would have shown R the unlink), so no thread reuses it before
//! the global epoch is `e + 2`. So there are two ways to use the chunk later, and no others:
//!
//! * *in another pin*, as if it had been reached there: if the global epoch, read inside that pin, is still `e`. The
//!   slot of that pin then has at most `e`, and the move from `e + 1` sees it. (If the epoch were `e + 1`, a move that
//!   scanned the slots before the pin could still follow.) [`Epochs::protects`]
//! * *without a pin*, to verify that words were not overwritten: if the global epoch, loaded *after* the words, is at
//!   most `e + 1`. [`Epochs::still_covers`]
//!
//! The second rule needs both sides. Each load of the reader on which the rule depends is `Acquire`, or a fence follows
//! it. A thread that writes to a chunk which was in use before calls [`before_reuse`] first. Then a reader that loads a
//! word of the new contents also sees that the epoch has moved.
//!
//! A slot may be one less than the global epoch, for as long as its pin lasts. A stamp taken inside such a pin may be
//! invalid by both rules from the start. So a walk reads its entry under the pin that found it, and uses a stamp only
//! for the next entry.
//!
//! # Nested pins
//!
//! A slot counts readers' and writers' pins separately. It is a writer's slot only while the count of writers' pins is
//! not 0, so that a thread that waits for writers does not wait for a reader's pin around a writer's pin that has
//! ended. One rule says which pin passes a gate that was shut: *a pin inside another pin that may do at least as much*
//! ([`Slot::is_nested`]).
//!
//! # Parked writers
//!
//! Before a writer's pin runs a closure of the caller, its thread *parks*: until the closure ends, it holds no lock and
//! stores nothing that other threads can reach. Its slot has PARKED in place of WRITER. A thread that only needs that
//! no thread stores ([`Inside::Storing`]) does not wait for a parked one. A thread that needs that no operation is half
//! done ([`Inside::Writing`]) does wait for it. The pin still protects all that it has reached. The end of the closure
//! is like a new pin: the slot gets WRITER again, then comes the light barrier, then the gate. While a writer's pin is
//! nested in the closure, the slot is a storing writer's.
//!
//! # Claims
//!
//! While several changes at once are about, a writer's slot is CAREFUL, and says what it writes: [`claims`](super::claims).
//!
//! # The gate
//!
//! The *gate* is a word of bits that refuse pins (closed, poisoned ...). A pin reads it *after* it has written its slot
//! and issued a light barrier. A thread that sets a bit then issues the heavy barrier and scans the slots: every pin
//! has either seen the bit or is seen by that scan.

use crate::os::barrier::Barriers;
use crate::sync::{AtomicU64, OnceLock, Ordering, fence};

/// How many slots exist from the start. Bucket `b` of the others has `FIRST << b` slots.
const FIRST: usize = if cfg!(all(test, loom)) { 4 } else { 16 };
/// These buckets are enough for 2^31 threads.
const BUCKETS: usize = 28;

const PINNED: u64 = 1;
pub(super) const WRITER: u64 = 2;
const PARKED: u64 = 4;
/// The owner has published a [claim](super::claims), which it takes off before or with this bit.
pub(super) const CAREFUL: u64 = 8;
const EPOCH_SHIFT: u32 = 4;

/// The bit at which the writers' count of a slot begins; the readers' count is below.
const WRITERS: u32 = 32;
/// The highest bit of each count. A count that reaches it consists of guards that were never dropped.
const TOO_MANY: u64 = 1 << (WRITERS - 1) | 1 << (2 * WRITERS - 1);

/// The purpose of a pin. The number is what one such pin adds to the counts of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub(crate) enum Mode {
    Reader = 1,
    Writer = 1 << WRITERS,
}

/// The pins for which a thread waits after it has set a bit of the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub(crate) enum Inside {
    /// All pins.
    Any = PINNED,
    /// Pins of operations that may write and have not ended, also parked ones.
    Writing = WRITER | PARKED,
    /// Pins that may store now.
    Storing = WRITER,
}

/// The epoch in which something was reached, for use after the pin: [`Epochs::protects`] and [`Epochs::still_covers`]
/// say whether it can still be used. For the default both return false.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct EpochStamp {
    /// The last epoch in which the thing cannot have been reused: the epoch after that of the pin.
    last: u64,
}

/// The epoch in which something was unlinked: the global epoch, read after a full fence that follows the unlink.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RetireTag {
    epoch: u64,
}

impl RetireTag {
    /// Whether, at epoch `now`, every pin has ended that began before the tag was read.
    #[inline]
    pub(crate) fn has_expired(self, now: u64) -> bool {
        self.epoch.saturating_add(2) <= now
    }

    /// A tag as if read at this epoch.
    #[cfg(test)]
    pub(crate) fn of(epoch: u64) -> Self {
        Self { epoch }
    }
}

/// To be called after a thread has learnt that a chunk may be reused, and before its first store to the chunk. If a
/// thread with a stamp of the old contents then loads a value of such a store, it also reads the epoch that ends the
/// stamp.
#[inline(always)]
pub(crate) fn before_reuse() {
    // Release: pairs with the Acquire loads of a thread that reads without a pin. (The new epoch was read with Acquire,
    // or its reader passed the chunk through the lock of a cache.)
    fence(Ordering::Release);
}

/// The state of one thread in a pool. Aligned to two lines, because processors fetch lines in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Slot<T> {
    /// 0 = not inside; else epoch, [`CAREFUL`], [`PARKED`], [`WRITER`], [`PINNED`].
    pub(super) word: AtomicU64,
    /// How many pins are nested: readers' in the lower half, writers' in the upper. Only the owner accesses it.
    depths: AtomicU64,
    /// How many writers' pins were ever nested in others. Only the owner accesses it.
    nested_writers: AtomicU64,
    /// What the owner may write, while the slot is [`CAREFUL`].
    pub(super) claim: AtomicU64,
    /// How many writers' pins were nested when the claim was made. Only the owner accesses it.
    pub(super) claimed_at: AtomicU64,
    /// Whether the owner applies the changes of its commit. Only the owner accesses it.
    pub(super) applies: AtomicU64,
    /// How often the owner has looked at marks as a reader. Only the owner accesses it.
    pub(super) looks: AtomicU64,
    /// The owner's own state in the pool.
    pub(crate) contents: T,
}

impl<T> Slot<T> {
    /// Whether the owner is inside an operation; meaningful to the owner.
    #[inline(always)]
    pub(crate) fn is_pinned(&self) -> bool {
        self.depths.load(Ordering::Relaxed) != 0
    }

    /// Whether the owner is inside an operation that may write; meaningful to the owner.
    #[inline(always)]
    pub(crate) fn is_writer(&self) -> bool {
        self.writers() != 0
    }

    /// How many writers' pins of the owner are nested; meaningful to the owner.
    #[inline(always)]
    pub(super) fn writers(&self) -> u64 {
        self.depths.load(Ordering::Relaxed) >> WRITERS
    }

    /// Whether the owner's innermost pin, which has this mode, is inside another pin that may do at least as much.
    pub(crate) fn is_nested(&self, mode: Mode) -> bool {
        let depths = self.depths.load(Ordering::Relaxed);
        match mode {
            Mode::Reader => depths != mode as u64,
            Mode::Writer => depths >> WRITERS != 1,
        }
    }

    /// How many writers' pins of the owner have been nested in other pins so far.
    pub(crate) fn nested_writers(&self) -> u64 {
        self.nested_writers.load(Ordering::Relaxed)
    }

    /// The stamp of everything that the owner reaches now, inside a pin.
    #[inline(always)]
    pub(crate) fn stamp(&self) -> EpochStamp {
        // The slot has the epoch of the outermost pin, which may be less than the global epoch by now.
        EpochStamp { last: (self.word.load(Ordering::Relaxed) >> EPOCH_SHIFT) + 1 }
    }

    /// Acts as if the owner's pin had slept between reading the epoch and writing its slot, and the epoch had moved
    /// `epochs` times meanwhile.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn fall_behind(&self, epochs: u64) {
        let word = self.word.load(Ordering::Relaxed);
        self.word.store(word - (epochs << EPOCH_SHIFT), Ordering::Release);
    }

    /// Ends a pin of the calling thread, the slot's owner.
    #[inline(always)]
    pub(crate) fn unpin(&self, mode: Mode) {
        let depths = self.depths.load(Ordering::Relaxed).wrapping_sub(mode as u64);
        self.depths.store(depths, Ordering::Relaxed);
        if depths == 0 {
            // Release: pairs with the Acquire loads of `advance` and `inside`, so that the operation's reads and writes
            // come before any reuse.
            self.word.store(0, Ordering::Release);
        } else {
            self.end_nested(depths);
        }
    }

    /// This is a function of its own, because most pins are not nested.
    #[cold]
    #[inline(never)]
    fn end_nested(&self, depths: u64) {
        let mut word = self.word.load(Ordering::Relaxed);
        let (parked, writers) = (u64::from(word & PARKED != 0), depths >> WRITERS);
        if writers < self.claimed_at.load(Ordering::Relaxed) {
            // The claim was that of the pin that ends.
            word &= !CAREFUL;
        }
        if writers == parked {
            // A thread that waits for writers must not wait for the readers' pins around this one, or for the parked
            // one.
            word &= !(WRITER | CAREFUL);
        }
        // Release, as in `unpin`.
        self.word.store(word, Ordering::Release);
    }

    /// Takes the owner's claim off, and parks the owner, which is inside a writer's pin. Returns `false`, and does not
    /// park it, if it is inside more than one writer's pin.
    pub(crate) fn park(&self) -> bool {
        let is_only = self.writers() == 1;
        let word = self.word.load(Ordering::Relaxed) & !CAREFUL;
        let word = if is_only { word & !WRITER | PARKED } else { word };
        // Release: pairs with the Acquire of `inside` and of `claimed`, whose callers see all earlier stores.
        self.word.store(word, Ordering::Release);
        is_only
    }

    /// Whether the owner runs a closure in a writer's pin; meaningful to the owner.
    pub(crate) fn is_parked(&self) -> bool {
        self.word.load(Ordering::Relaxed) & PARKED != 0
    }

    /// Whether the owner is parked and inside exactly one further writer's pin, the innermost one. (If there are more,
    /// a hold waits for the pins around the innermost one.)
    pub(crate) fn is_nested_in_parked(&self) -> bool {
        self.is_parked() && self.writers() == 2
    }
}

/// Words that all threads read and few ever write, alone in their cache lines.
#[derive(Debug)]
#[repr(align(128))]
struct SharedWords {
    epoch: AtomicU64,
    gate: AtomicU64,
    barriers: Barriers,
}

/// The epochs of one pool, with a `T` for each thread that has entered it.
#[derive(Debug)]
pub(crate) struct Epochs<T> {
    shared: SharedWords,
    /// The slots of the first threads, which in most programs are all. They need no search for a bucket.
    first: Box<[Slot<T>; FIRST]>,
    buckets: [OnceLock<Box<[Slot<T>]>>; BUCKETS],
}

impl<T: Default> Epochs<T> {
    /// Begins at epoch 1, without pins, with the given bits in the gate.
    pub(crate) fn new(barriers: Barriers, gate: u64) -> Self {
        let shared = SharedWords { epoch: AtomicU64::new(1), gate: AtomicU64::new(gate), barriers };
        let first = Box::new(std::array::from_fn(|_| Slot::default()));
        Self { shared, first, buckets: [const { OnceLock::new() }; BUCKETS] }
    }

    /// The slot of the thread with this number. A bucket is made on first use and is kept.
    #[inline(always)]
    pub(crate) fn slot(&self, thread: usize) -> &Slot<T> {
        if thread < FIRST { &self.first[thread] } else { self.later_slot(thread) }
    }

    /// The slot of the thread with this number, if its bucket exists.
    pub(crate) fn slot_if_made(&self, thread: usize) -> Option<&Slot<T>> {
        if thread < FIRST {
            return self.first.get(thread);
        }
        let bucket = (thread.ilog2() - FIRST.ilog2()) as usize;
        self.buckets.get(bucket)?.get()?.get(thread - (FIRST << bucket))
    }

    #[inline(never)]
    fn later_slot(&self, thread: usize) -> &Slot<T> {
        let bucket = (thread.ilog2() - FIRST.ilog2()) as usize;
        let slots = self.buckets[bucket].get_or_init(|| Self::bucket(bucket));
        &slots[thread - (FIRST << bucket)]
    }

    #[cold]
    fn bucket(bucket: usize) -> Box<[Slot<T>]> {
        (0..FIRST << bucket).map(|_| Slot::default()).collect()
    }
}

impl<T> Epochs<T> {
    /// Every slot that exists.
    pub(crate) fn slots(&self) -> impl Iterator<Item = &Slot<T>> {
        self.first.iter().chain(self.buckets.iter().filter_map(OnceLock::get).flatten())
    }

    /// The global epoch.
    pub(crate) fn now(&self) -> u64 {
        // Acquire: pairs with the move in `advance`, so that the pins of threads that left a chunk come before its
        // reuse.
        self.shared.epoch.load(Ordering::Acquire)
    }

    /// Enters an operation in the calling thread's own slot and returns the gate, read afterwards.
    #[inline(always)]
    pub(crate) fn pin(&self, slot: &Slot<T>, mode: Mode) -> u64 {
        let flags = if mode == Mode::Writer { PINNED | WRITER } else { PINNED };
        let depths = slot.depths.load(Ordering::Relaxed);
        // Acquire: R1 of the proof. On x86 this load and the store of the slot are plain moves.
        let word = match depths {
            0 => self.shared.epoch.load(Ordering::Acquire) << EPOCH_SHIFT | flags,
            // A nested pin keeps the epoch of the outer one, which protects longer.
            _ => {
                assert!(depths & TOO_MANY == 0, "2^31 guards of one thread");
                if mode == Mode::Writer {
                    let nested = slot.nested_writers.load(Ordering::Relaxed);
                    slot.nested_writers.store(nested.wrapping_add(1), Ordering::Relaxed);
                }
                slot.word.load(Ordering::Relaxed) | flags
            }
        };
        slot.depths.store(depths + mode as u64, Ordering::Relaxed);
        // Release: keeps the end of the previous pin visible through this store.
        slot.word.store(word, Ordering::Release);
        // The light barrier pairs with the heavy barriers of `advance` and `settle`.
        self.shared.barriers.light();
        self.shared.gate.load(Ordering::Acquire)
    }

    /// Ends the parking of the owner of this slot, and returns the gate, read afterwards.
    pub(crate) fn unpark(&self, slot: &Slot<T>) -> u64 {
        let word = slot.word.load(Ordering::Relaxed);
        // Release: keeps the end of earlier pins visible through this store, as in `pin`.
        slot.word.store(word & !PARKED | WRITER, Ordering::Release);
        // The light barrier pairs with the heavy barrier of `settle`.
        self.shared.barriers.light();
        self.shared.gate.load(Ordering::Acquire)
    }

    /// Takes the present epoch for the pin of the slot's owner, which is parked, and inside no other pin. What the owner has
    /// reached in it, and no longer owns, may be reused from now on.
    pub(crate) fn renew(&self, slot: &Slot<T>) {
        let flags = slot.word.load(Ordering::Relaxed) & ((1 << EPOCH_SHIFT) - 1);
        // Acquire and Release, as in `pin`.
        let epoch = self.shared.epoch.load(Ordering::Acquire);
        slot.word.store(epoch << EPOCH_SHIFT | flags, Ordering::Release);
        // The light barrier pairs with the heavy barrier of `advance`.
        self.shared.barriers.light();
    }

    /// Whether the stamped thing can be used inside the current pin, as if it had been reached there.
    #[inline(always)]
    pub(crate) fn protects(&self, stamp: EpochStamp) -> bool {
        self.now() < stamp.last
    }

    /// Whether the stamped thing had not been reused when the caller read its words. The caller has read them before
    /// this call, with Acquire or with a fence after them.
    #[inline(always)]
    pub(crate) fn still_covers(&self, stamp: EpochStamp) -> bool {
        self.now() <= stamp.last
    }

    /// Invalidates all stamps, so that a thread that has one must pin again. Waits for all pins.
    pub(crate) fn end_stamps(&self, mut wait: impl FnMut()) {
        // A stamp that is taken now is valid up to the next epoch.
        let end = self.now() + 2;
        while self.advance() < end && self.settle() {
            wait();
        }
    }

    /// The tag of a chunk that the caller has just unlinked.
    pub(crate) fn tag(&self) -> RetireTag {
        // The fence pairs with the barriers of pins and moves: the unlink comes before the read of the tag (W2).
        fence(Ordering::SeqCst);
        RetireTag { epoch: self.shared.epoch.load(Ordering::Relaxed) }
    }

    /// A tag that expires no earlier than the tag of any chunk that is waiting already.
    pub(crate) fn latest_tag(&self) -> RetireTag {
        RetireTag { epoch: self.now() }
    }

    /// Moves the epoch if no pin has an older one. Returns the current epoch.
    pub(crate) fn advance(&self) -> u64 {
        let now = self.now();
        // The heavy barrier pairs with the light barrier of pins (A2).
        if !self.shared.barriers.heavy() {
            return now;
        }
        let behind = |slot: &Slot<T>| {
            // Pairs with the Release of `pin` and `unpin`.
            let word = slot.word.load(Ordering::Acquire);
            word != 0 && word >> EPOCH_SHIFT != now
        };
        if self.slots().any(behind) {
            return now;
        }
        // AcqRel: publishes what was read in the slots. A failure means that another thread has moved the epoch.
        let moved =
            self.shared.epoch.compare_exchange(now, now + 1, Ordering::AcqRel, Ordering::Acquire);
        match moved {
            Ok(_) => now + 1,
            Err(found) => found,
        }
    }

    /// The bits that are set in the gate now.
    #[inline(always)]
    pub(crate) fn gate(&self) -> u64 {
        self.shared.gate.load(Ordering::Acquire)
    }

    /// Sets bits of the gate; returns all bits that were set before.
    pub(crate) fn shut(&self, bits: u64) -> u64 {
        self.shared.gate.fetch_or(bits, Ordering::SeqCst)
    }

    /// Clears bits of the gate.
    pub(crate) fn open(&self, bits: u64) {
        // AcqRel: by its Release, a pin that passes the gate sees all stores of the thread that had shut it.
        self.shared.gate.fetch_and(!bits, Ordering::AcqRel);
    }

    /// Called after [`shut`](Self::shut): makes every pin that missed the bits visible to [`inside`](Self::inside).
    /// Returns `false` if the kernel refused the barrier.
    #[must_use]
    pub(crate) fn settle(&self) -> bool {
        // The heavy barrier pairs with the light barrier of pins.
        self.shared.barriers.heavy()
    }

    /// The numbers of the threads that are inside a pin of the kind `how`.
    pub(crate) fn inside(&self, how: Inside) -> impl Iterator<Item = usize> {
        // Acquire: pairs with the Release of `unpin` and `park`. The stores of all threads that are not returned are
        // visible to the caller.
        let is_inside = move |slot: &Slot<T>| slot.word.load(Ordering::Acquire) & how as u64 != 0;
        // A bucket begins at the number of slots before it.
        let buckets = self
            .buckets
            .iter()
            .enumerate()
            .filter_map(|(b, bucket)| bucket.get().map(|slots| (FIRST << b, &**slots)));
        std::iter::once((0, &self.first[..])).chain(buckets).flat_map(move |(from, slots)| {
            let inside = slots.iter().enumerate().filter(move |(_, slot)| is_inside(slot));
            inside.map(move |(i, _)| from + i)
        })
    }
}
