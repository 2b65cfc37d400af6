//! A leaf: the part of a block that is kept in DRAM.
//!
//! The first line has one byte of each key (its *fingerprint*), so that a lookup reads only the line of the block that
//! holds its key. The last byte of that line says whether all fingerprints are present. The second line has the offset
//! of the block and the state of the leaf. The third line has the order of the keys, if a scan has sorted them. A leaf
//! and its block belong together for their whole life.
//!
//! # The states of a leaf
//!
//! | state | what may happen in the block | becomes |
//! | --- | --- | --- |
//! | UNREAD | nothing: the fingerprints of a block from an earlier session are not known yet | OPEN |
//! | OPEN | everything | SPLITTING, MERGING, CAPTURED |
//! | MERGING(R) | no slot is claimed any more; R may be absorbed | SPLITTING, if another change has closed R |
//! | SPLITTING | no slot is claimed any more | |
//! | CAPTURED(L) | no slot is claimed any more; L absorbs this leaf | |
//!
//! A leaf that is neither UNREAD nor OPEN is *closing*, and its claims are forgotten: a writer that reaches a closing
//! leaf completes the change first. When the `successor` of a leaf is set, the leaf is *replaced*, and its content
//! stays as it is for ever.

use crate::cpu::prefetch::prefetch;
use crate::sync::{AtomicU32, AtomicU64, Ordering};

use crate::tree::nbtree::blocks::claims::Claims;
use crate::tree::nbtree::keys::form::{Extent, KeyForm};
use crate::tree::nbtree::metadata::control::Control;
use crate::tree::nbtree::metadata::fingerprints::Fingerprints;
use crate::tree::nbtree::metadata::key_order::KeyOrder;

/// The initial fields of a new leaf.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Birth {
    /// The keys that the leaf covers.
    pub(crate) extent: Extent,
    pub(crate) block: u64,
    /// The leaf that this leaf replaces, and the leaf that was absorbed with that one; 0 = none.
    pub(crate) origin: u32,
    pub(crate) absorbed: u32,
    /// The second of two leaves that replace one leaf, if this is the first of the two; otherwise 0.
    pub(crate) twin: u32,
}

const COMMITTED: u32 = 1;
const SETTLED: u32 = 2;

#[derive(Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct Leaf {
    pub(crate) fingerprints: Fingerprints,
    control: AtomicU64,
    extent: [AtomicU64; 2],
    block: AtomicU64,
    /// The first of the leaves that replace this leaf; 0 = this leaf is current.
    successor: AtomicU32,
    /// The leaf that this one replaces, until no path leads to that leaf any more.
    origin: AtomicU32,
    absorbed: AtomicU32,
    twin: AtomicU32,
    /// Writers between a store that others can see and the fence that makes it durable.
    in_flight: AtomicU32,
    /// Claimed slots without an entry, approximately.
    gone: AtomicU32,
    /// [`COMMITTED`] once the block's replacement is durable, [`SETTLED`] once the block of the leaf that was absorbed
    /// with it has been retired.
    committed: AtomicU32,
    /// The third line.
    pub(crate) order: KeyOrder,
}

impl Leaf {
    /// Initializes a leaf, which no other thread uses, as UNREAD. The store that publishes the leaf publishes all its
    /// words.
    pub(crate) fn begin(&self, birth: Birth) {
        let set = |word: &AtomicU64, value| word.store(value, Ordering::Relaxed);
        self.fingerprints.clear();
        self.extent.iter().zip(birth.extent.0).for_each(|(word, value)| set(word, value));
        set(&self.block, birth.block);
        let set = |word: &AtomicU32, value| word.store(value, Ordering::Relaxed);
        set(&self.successor, 0);
        set(&self.origin, birth.origin);
        set(&self.absorbed, birth.absorbed);
        set(&self.twin, birth.twin);
        set(&self.in_flight, 0);
        set(&self.gone, 0);
        set(&self.committed, 0);
        self.order.clear();
        let stamp = self.control().stamp().wrapping_add(1);
        // Release orders this store after those of the other words of the new leaf: a thread that still refers to the
        // earlier leaf by its number sees that the stamp has changed.
        self.control.store(Control::unread(stamp).0, Ordering::Release);
    }

    /// Prefetches the lines that lookups and writers read: the first two.
    #[inline(always)]
    pub(crate) fn prefetch(&self) {
        self.fingerprints.prefetch();
        prefetch(&self.control);
    }

    #[inline(always)]
    pub(crate) fn control(&self) -> Control {
        // The Acquire pairs with `exchange_control`.
        Control(self.control.load(Ordering::Acquire))
    }

    #[inline(always)]
    pub(crate) fn exchange_control(&self, old: Control, new: Control) -> bool {
        self.control.compare_exchange(old.0, new.0, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Opens the leaf with these slots claimed, `gone` of them without an entry; `false` if another thread has opened
    /// it.
    pub(crate) fn open(&self, claims: Claims, gone: usize) -> bool {
        let control = self.control();
        let opened = control.is_unread() && self.exchange_control(control, control.opened(claims));
        if opened {
            self.note_gone(gone as u32);
            // Only the thread that opened the leaf sets this bit, because its pin keeps the memory of the leaf from
            // being reused. Another thread might set the bit too late, in the next leaf in this memory.
            self.fingerprints.set_read();
        }
        opened
    }

    // The three words below are written once, before the leaf is published.

    #[inline(always)]
    pub(crate) fn extent(&self) -> Extent {
        Extent([0, 1].map(|i: usize| self.extent[i].load(Ordering::Relaxed)))
    }

    #[inline(always)]
    pub(crate) fn block(&self) -> u64 {
        self.block.load(Ordering::Relaxed)
    }

    /// The first of the leaves that replace this one; 0 if it is current.
    #[inline(always)]
    pub(crate) fn successor(&self) -> u32 {
        // The Acquire pairs with `replace_by`: a thread that sees the successor sees the content of the successor.
        self.successor.load(Ordering::Acquire)
    }

    /// Sets the leaf that replaces this one; `false` if another thread was faster.
    pub(crate) fn replace_by(&self, first: u32) -> bool {
        self.successor.compare_exchange(0, first, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    pub(crate) fn origin(&self) -> u32 {
        // The Acquire pairs with `leave`: a thread that reads 0 sees everything that was done before `leave`.
        self.origin.load(Ordering::Acquire)
    }

    /// Clears `origin`, the leaf that this leaf replaced; `false` if another thread has cleared it.
    pub(crate) fn leave(&self, origin: u32) -> bool {
        self.origin.compare_exchange(origin, 0, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    // The two words below are written once, before the leaf is published.

    pub(crate) fn absorbed(&self) -> u32 {
        self.absorbed.load(Ordering::Relaxed)
    }

    pub(crate) fn twin(&self) -> u32 {
        self.twin.load(Ordering::Relaxed)
    }

    pub(crate) fn is_committed(&self) -> bool {
        // The Acquire pairs with `set_committed`.
        self.committed.load(Ordering::Acquire) != 0
    }

    pub(crate) fn set_committed(&self) {
        // Release orders this after the fence that made the replacement durable. It is an exchange, so that it does not
        // overwrite SETTLED.
        let _ = self.committed.compare_exchange(0, COMMITTED, Ordering::Release, Ordering::Relaxed);
    }

    /// Whether the block of the leaf absorbed with this one was retired. If not, the pin of the caller protects that block.
    pub(crate) fn is_settled(&self) -> bool {
        // Acquire: pairs with `claim_absorbed`, before which the inner nodes stopped leading to the absorbed leaf.
        self.committed.load(Ordering::Acquire) == SETTLED
    }

    /// Whether the caller is the one that retires the block of the leaf absorbed with this one.
    pub(crate) fn claim_absorbed(&self) -> bool {
        // Acquire pairs with `set_committed`: the block is durably out of the chain.
        let claimed = self.committed.compare_exchange(
            COMMITTED,
            SETTLED,
            Ordering::AcqRel,
            Ordering::Relaxed,
        );
        claimed.is_ok()
    }

    /// Whether a writer may be between its store and its fence. The caller has loaded a word that such a writer may
    /// have stored. That load is `Acquire`, so that the load here comes later.
    #[inline(always)]
    pub(crate) fn is_in_flight(&self) -> bool {
        self.in_flight.load(Ordering::Acquire) != 0
    }

    /// Announces a store that others will see before it is durable. Returns whether another store was already
    /// announced.
    #[inline(always)]
    pub(crate) fn take_off(&self) -> bool {
        // This pairs with `is_in_flight`. AcqRel: the announcement precedes the store.
        self.in_flight.fetch_add(1, Ordering::AcqRel) != 0
    }

    #[inline(always)]
    pub(crate) fn land(&self) {
        // Release orders this after the fence.
        self.in_flight.fetch_sub(1, Ordering::Release);
    }

    /// Counts `slots` claimed slots that have lost their entry, or will never have one.
    pub(crate) fn note_gone(&self, slots: u32) {
        // Relaxed: the number is only a hint.
        self.gone.fetch_add(slots, Ordering::Relaxed);
    }

    /// The number of claimed slots, if the leaf's kept order for this number may be used: if the leaf is OPEN by its
    /// control word, and at most an eighth of the claimed slots have no entry.
    #[inline(always)]
    pub(crate) fn claims_in_order<K: KeyForm>(&self, control: Control) -> Option<usize> {
        let claimed = control.claims()?.total::<K>();
        (8 * self.gone.load(Ordering::Relaxed) as usize <= claimed).then_some(claimed)
    }

    /// The approximate number of entries, if the leaf is OPEN by its control word. Exact if no thread is writing, and
    /// none was stopped for ever in a write.
    pub(crate) fn entries<K: KeyForm>(&self, control: Control) -> Option<usize> {
        let claimed = control.claims()?.total::<K>();
        Some(claimed.saturating_sub(self.gone.load(Ordering::Relaxed) as usize))
    }
}

/// A store that others can see before it is durable.
pub(crate) struct Flight<'l>(&'l Leaf);

impl<'l> Flight<'l> {
    /// Announces a store. Returns also whether another store was already announced.
    #[inline(always)]
    pub(crate) fn begin(leaf: &'l Leaf) -> (Self, bool) {
        let others = leaf.take_off();
        (Self(leaf), others)
    }
}

impl Drop for Flight<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.land();
    }
}

/// The numbers of the bits that are set, lowest first.
pub(crate) fn slots(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let slot = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
        bits &= bits - 1;
        Some(slot)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::nbtree::keys::numbers::NumberKeys;
    use crate::tree::nbtree::metadata::control::Phase;

    const BIRTH: Birth =
        Birth { extent: Extent([0, 1 << 61]), block: 64, origin: 0, absorbed: 0, twin: 0 };

    #[test]
    fn the_tags_are_read_from_when_the_leaf_was_opened() {
        let leaf = Leaf::default();
        for _ in 0..2 {
            leaf.begin(BIRTH);
            (0..63).for_each(|slot| leaf.fingerprints.set(slot, 0xff));
            assert!(!leaf.fingerprints.are_read());
            assert!(leaf.open(Claims::none::<NumberKeys>(), 0) && leaf.fingerprints.are_read());
            assert!(!leaf.open(Claims::none::<NumberKeys>(), 0) && leaf.fingerprints.are_read());
        }
    }

    #[test]
    fn a_control_word_keeps_what_it_is_told() {
        let leaf = Leaf::default();
        leaf.begin(BIRTH);
        let (claims, fewer) =
            (Claims::up_to::<NumberKeys>(u64::MAX >> 2), Claims::up_to::<NumberKeys>(1));
        assert!(leaf.control().is_unread() && leaf.open(claims, 2) && !leaf.open(fewer, 0));
        let open = leaf.control();
        assert_eq!(
            (open.phase(), open.claims(), leaf.entries::<NumberKeys>(open)),
            (Phase::Open, Some(claims), Some(60))
        );
        let (full, slot) = open.with_claim(3, 63).unwrap();
        assert_eq!((full.stamp(), slot, full.with_claim(3, 63)), (open.stamp(), 62, None));
        for phase in [Phase::Splitting, Phase::Merging(u32::MAX, 255), Phase::Captured(7)] {
            let closing = open.closing(phase);
            assert_eq!((closing.phase(), closing.stamp()), (phase, open.stamp()));
            assert_eq!((closing.claims(), closing.with_claim(3, 63)), (None, None));
        }
        leaf.begin(BIRTH);
        assert_eq!(leaf.control().stamp(), open.stamp().wrapping_add(1));
    }

    #[test]
    fn a_lookup_reads_two_lines_of_a_leaf_and_a_scan_a_third() {
        assert_eq!((size_of::<Leaf>(), std::mem::offset_of!(Leaf, order)), (192, 128));
    }

    #[test]
    fn bits_are_counted_from_the_lowest() {
        assert_eq!(slots(0b1001_0010).collect::<Vec<_>>(), [1, 4, 7]);
        assert_eq!(slots(0).next(), None);
    }
}
