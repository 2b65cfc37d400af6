//! Who is inside an operation, and since when: epochs with a pin that costs a plain store.
//!
//! # Protocol
//!
//! There is one global epoch, and one *slot* per thread. A thread that enters an operation (a
//! *pin*) writes the global epoch into its slot, leaves it there until the operation ends, and then
//! clears the slot. The epoch moves from `g` to `g + 1` only when every slot is clear or says `g`.
//! Whoever makes a chunk unreachable *retires* it: he tags it with the global epoch `t`, read after
//! a full fence behind the unlink. It may be reused when the global epoch is at least `t + 2`.
//!
//! | step | pinning thread R | moving thread A | retiring thread W |
//! | --- | --- | --- | --- |
//! | 1 | `e = global` (Acquire) | `g = global` (Acquire) | unlink X |
//! | 2 | `slot = e` (Release) | heavy barrier | full fence |
//! | 3 | light barrier | all slots clear or `g` (Acquire) | `t = global` |
//! | 4 | use shared words | `global: g -> g + 1` (AcqRel) | wait for `global >= t + 2` |
//!
//! # Why nobody holds X when it is reused
//!
//! Let A be the move from `t + 1` to `t + 2`, and let R be inside one pin that reached X and has
//! not ended when A finishes. R reached X by a load that did not see the unlink. The barriers of R
//! and A (R3, A2) leave two cases.
//!
//! * *R's accesses see what A saw.* W read `t`, hence before the move to `t + 1`, which A has read:
//!   W's fence precedes A's barrier, so A, and with it R's load, sees the unlink. Contradiction.
//! * *A sees R's slot.* The pin has not ended, so A found `e` in it and went on only because
//!   `e = t + 1`. Then R itself read `t + 1` in R1, again after W's fence, and R1 is ordered before
//!   R's later loads (Acquire, or the fence of the symmetric pair): they see the unlink.
//!   Contradiction.
//!
//! A pin that has ended is no danger either: its slot was cleared, or overwritten by the next pin,
//! with Release; A read that with Acquire, and the move publishes it to whoever reuses X.
//!
//! A slot may take an old epoch (the thread slept between R1 and R2). That only stops the epoch
//! until the pin ends. There is no fence and no store to a shared line on the path of a pin.
//!
//! # The gate
//!
//! Beside the epoch stands a word of bits that turn pins away (closed, poisoned ...). A pin reads
//! it *after* its slot is written and a light barrier. Who sets a bit then issues the heavy barrier
//! and looks at the slots: every pin either saw the bit or is seen.

use super::barrier::Barriers;
use crate::sync::{AtomicU32, AtomicU64, OnceLock, Ordering};

/// Slots that are there from the start; bucket `b` of the others has `FIRST << b`.
const FIRST: usize = if cfg!(all(test, loom)) { 4 } else { 16 };
/// Enough for 2^31 threads.
const BUCKETS: usize = 28;

const PINNED: u64 = 1;
const WRITER: u64 = 2;
const EPOCH_SHIFT: u32 = 2;

/// What a pin is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Reader,
    Writer,
}

/// One thread's place in a pool. Aligned to two lines, for processors fetch lines in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Slot<T> {
    /// 0 = not inside; else epoch, [`WRITER`], [`PINNED`].
    word: AtomicU64,
    /// How many pins are nested. Only the owner touches it.
    depth: AtomicU32,
    /// What the owner keeps in the pool.
    pub(crate) contents: T,
}

impl<T> Slot<T> {
    /// Whether the owner is inside an operation; meaningful to the owner.
    #[inline(always)]
    pub(crate) fn is_pinned(&self) -> bool {
        self.depth.load(Ordering::Relaxed) != 0
    }

    /// Whether the owner is inside an operation that may write; meaningful to the owner.
    #[inline(always)]
    pub(crate) fn is_writer(&self) -> bool {
        self.word.load(Ordering::Relaxed) & WRITER != 0
    }

    /// The epoch that the owner's outermost pin took; meaningful to the owner, while he is inside. It may be
    /// older than the one that was global by then.
    #[inline(always)]
    pub(crate) fn epoch(&self) -> u64 {
        self.word.load(Ordering::Relaxed) >> EPOCH_SHIFT
    }

    /// Gives up the leave to write of a pin that was turned away inside a reader's pin: whoever
    /// waits for writers to leave must not wait for the reader around it.
    pub(crate) fn renounce(&self) {
        self.word.store(self.word.load(Ordering::Relaxed) & !WRITER, Ordering::Release);
    }

    /// Ends the innermost pin of the calling thread, the slot's owner.
    #[inline(always)]
    pub(crate) fn unpin(&self) {
        let depth = self.depth.load(Ordering::Relaxed);
        self.depth.store(depth - 1, Ordering::Relaxed);
        if depth == 1 {
            // Pairs with the Acquire loads of `advance` and `all`: what the operation read and
            // wrote comes before any reuse.
            self.word.store(0, Ordering::Release);
        }
    }
}

/// Words that all threads read and few ever write; alone in their lines.
#[derive(Debug)]
#[repr(align(128))]
struct Shared {
    epoch: AtomicU64,
    gate: AtomicU64,
    barriers: Barriers,
}

/// The epochs of one pool, with a `T` for every thread that ever entered it.
#[derive(Debug)]
pub(crate) struct Epochs<T> {
    shared: Shared,
    /// For the first threads, which are all in most programs: no bucket to look for.
    first: Box<[Slot<T>; FIRST]>,
    buckets: [OnceLock<Box<[Slot<T>]>>; BUCKETS],
}

impl<T: Default> Epochs<T> {
    /// Epoch 1, nobody inside, `gate` as given.
    pub(crate) fn new(barriers: Barriers, gate: u64) -> Self {
        let shared = Shared { epoch: AtomicU64::new(1), gate: AtomicU64::new(gate), barriers };
        let first = Box::new(std::array::from_fn(|_| Slot::default()));
        Self { shared, first, buckets: [const { OnceLock::new() }; BUCKETS] }
    }

    /// The slot of the thread with this number. A bucket is made on first use and stays.
    #[inline(always)]
    pub(crate) fn slot(&self, thread: usize) -> &Slot<T> {
        if thread < FIRST { &self.first[thread] } else { self.later_slot(thread) }
    }

    #[inline(never)]
    fn later_slot(&self, thread: usize) -> &Slot<T> {
        let bucket = (thread.ilog2() - FIRST.ilog2()) as usize;
        let slots = self.buckets[bucket].get_or_init(|| Self::bucket(bucket));
        &slots[thread - (FIRST << bucket)]
    }

    #[cold]
    fn bucket(bucket: usize) -> Box<[Slot<T>]> {
        (0..FIRST << bucket)
            .map(|_| Slot {
                word: AtomicU64::new(0),
                depth: AtomicU32::new(0),
                contents: T::default(),
            })
            .collect()
    }
}

impl<T> Epochs<T> {
    /// Every slot there is.
    pub(crate) fn slots(&self) -> impl Iterator<Item = &Slot<T>> {
        self.first.iter().chain(self.buckets.iter().filter_map(OnceLock::get).flatten())
    }

    /// The global epoch.
    pub(crate) fn now(&self) -> u64 {
        // Pairs with the move in `advance`: chunks that may now be reused are really left.
        self.shared.epoch.load(Ordering::Acquire)
    }

    /// Enters an operation in the calling thread's own slot and returns the gate, read afterwards.
    #[inline(always)]
    pub(crate) fn pin(&self, slot: &Slot<T>, mode: Mode) -> u64 {
        let flags = if mode == Mode::Writer { PINNED | WRITER } else { PINNED };
        let depth = slot.depth.load(Ordering::Relaxed);
        // Acquire: R1 of the proof. On x86 both are plain moves.
        let word = match depth {
            0 => self.shared.epoch.load(Ordering::Acquire) << EPOCH_SHIFT | flags,
            // A nested pin keeps the epoch of the outer one, which protects longer.
            _ => slot.word.load(Ordering::Relaxed) | flags,
        };
        slot.depth.store(depth + 1, Ordering::Relaxed);
        // Release: keeps the end of the previous pin visible through this store.
        slot.word.store(word, Ordering::Release);
        // Pairs with the heavy barriers of `advance` and `all`.
        self.shared.barriers.light();
        self.shared.gate.load(Ordering::Acquire)
    }

    /// The tag of a chunk that the caller has just unlinked.
    pub(crate) fn tag(&self) -> u64 {
        // Pairs with the barriers of pins and moves: the unlink comes before the tag (W2).
        crate::sync::fence(Ordering::SeqCst);
        self.shared.epoch.load(Ordering::Relaxed)
    }

    /// Moves the epoch on if nobody is left behind; returns the epoch that holds now.
    pub(crate) fn advance(&self) -> u64 {
        let now = self.now();
        // Pairs with the light barrier of pins (A2).
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
        // AcqRel: hands on what was read in the slots; a failure means another thread moved it.
        let moved =
            self.shared.epoch.compare_exchange(now, now + 1, Ordering::AcqRel, Ordering::Acquire);
        match moved {
            Ok(_) => now + 1,
            Err(found) => found,
        }
    }

    /// The gate's bits now.
    pub(crate) fn gate(&self) -> u64 {
        self.shared.gate.load(Ordering::Acquire)
    }

    /// Sets bits of the gate; returns those that were set before.
    pub(crate) fn shut(&self, bits: u64) -> u64 {
        self.shared.gate.fetch_or(bits, Ordering::SeqCst)
    }

    /// Clears bits of the gate.
    pub(crate) fn open(&self, bits: u64) {
        // Release: a pin that gets through sees what the holder of the gate did.
        self.shared.gate.fetch_and(!bits, Ordering::AcqRel);
    }

    /// After [`shut`](Self::shut): makes every pin that missed the bits visible to
    /// [`is_empty_of`](Self::is_empty_of). `false` if the kernel refused the barrier.
    #[must_use]
    pub(crate) fn settle(&self) -> bool {
        // Pairs with the light barrier of pins.
        self.shared.barriers.heavy()
    }

    /// Whether no thread is inside (for [`Mode::Writer`]: inside with leave to write).
    pub(crate) fn is_empty_of(&self, mode: Mode) -> bool {
        let bit = if mode == Mode::Writer { WRITER } else { PINNED };
        // Pairs with the Release of `unpin`: what those threads did is visible to the caller.
        self.slots().all(|slot| slot.word.load(Ordering::Acquire) & bit == 0)
    }
}
