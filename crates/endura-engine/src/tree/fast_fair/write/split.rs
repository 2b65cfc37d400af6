//! A full node becomes two (FAIR: section 4.1 of the paper, algorithm 2), for leaves and inner nodes alike.
//!
//! S1 the lock of the full node L is held; S2 the right half of L is written to a new node N, which is created locked
//! and is not linked yet; S3 three stores to one line of L hand the range over: `sib = N|SPLITTING`, `high = N.low`,
//! `sib = N|NORMAL`; S4 N is unlocked, and the new entry is inserted into L if it belongs there; S5 the caller posts
//! N's separator one level up.
//!
//! A new entry that belongs to the right half is written to N with that half, in S2, before any store that leads to N.
//! So the store of `high` commits the new entry as well, and no reader or crash finds N without the entry. A new entry
//! that belongs to L is inserted there last, in S4, when S3 is durable: this is an insert like any other.

use crate::Result;
use crate::media::{Mark, Media};
use crate::space::Guard;

use crate::tree::fast_fair::nodes::header::{Fences, Init, Sibling, Tag};
use crate::tree::fast_fair::nodes::lock_word::{LockWord, Primitive};
use crate::tree::fast_fair::nodes::locked::Locked;
use crate::tree::fast_fair::nodes::node::Node;
use crate::tree::fast_fair::nodes::search::Search;
use crate::tree::fast_fair::nodes::shift::{KeySlot, fast_insert};
use crate::tree::fast_fair::path::trail::Separator;
use crate::tree::fast_fair::tree::Tree;

impl<M: Media, const INNER: usize, const LEAF: usize, S: Search> Tree<M, INNER, LEAF, S> {
    /// Splits the full node `locked` and inserts `(key, value)`, durably. If it fails, usually because there is no
    /// space for another node, nothing has changed.
    pub(crate) fn fair_split<const W: usize>(
        &self,
        guard: &Guard<'_, M>,
        locked: &mut Locked<'_, M, W>,
        place: &KeySlot,
        key: u64,
        value: u64,
    ) -> Result<Separator> {
        let (left, media) = (*locked.node(), guard.media());
        let at = guard.alloc(Node::<M, W>::BYTES)?;
        let right = Node::<M, W>::fresh(media, at)?;
        let middle = split_point(place);
        let separator = left.key(middle);
        self.fill_right(guard, &left, &right, place, middle, (key, value))?;
        media.mark(Mark::Step("split.S2"));
        // Flushes all lines of N, with the new entry if it went there. The fence below completes the flush.
        right.flush();
        // The fence is before S3: what a durable link leads to must be durable.
        media.fence();
        let right = Locked::adopt(guard, right);

        // equivalent mutant, relaxed: not seen: one function begins all primitives, and the insert after a
        // split needs its order.
        locked.begin(Primitive::Header);
        left.set_sibling(Sibling { at, tag: Tag::Splitting });
        media.mark(Mark::Step("split.S3.sib"));
        left.set_high(separator);
        media.mark(Mark::Step("split.S3.high"));
        left.set_sibling(Sibling::normal(at));
        media.mark(Mark::Step("split.S3.tag"));
        // Flushes the line with all three stores of S3. The drain below completes the flush.
        left.flush_header();
        // The drain is before N is unlocked: otherwise a writer that reached N by the link could acknowledge a write in
        // a node that a crash can unlink (V8). The drain also makes the new entry durable if the entry is in N.
        media.drain();
        media.mark(Mark::Step("split.S3.durable"));
        drop(right);

        // equivalent mutant, without: costs time only: a wrong hint is noticed, and the slots are counted instead.
        left.set_hint(middle);
        if place.slot <= middle {
            media.mark(Mark::Step("split.S4"));
            let place = KeySlot { count: middle, slot: place.slot, value: None };
            fast_insert(guard, locked, &place, key, value);
        }
        Ok(Separator { key: separator, child: at, level: left.level() + 1 })
    }

    /// S2: writes the right node, which no other thread can reach yet.
    fn fill_right<const W: usize>(
        &self,
        guard: &Guard<'_, M>,
        left: &Node<'_, M, W>,
        right: &Node<'_, M, W>,
        place: &KeySlot,
        middle: usize,
        entry: (u64, u64),
    ) -> Result<()> {
        let takes_entry = place.slot > middle;
        let count = place.count - middle + usize::from(takes_entry);
        let init = Init {
            lock: LockWord::created_locked(guard, right.at()),
            fences: Fences { low: left.key(middle), high: left.high() },
            sibling: left.sibling()?.at,
            level: left.level(),
        };
        right.initialise(init, count);
        let mut to = 0;
        let mut put = |entry: (u64, u64)| {
            right.write_record(to, entry);
            to += 1;
        };
        for slot in middle..place.count {
            if takes_entry && slot == place.slot {
                put(entry);
            }
            put((left.key(slot), left.value(slot)));
        }
        if takes_entry && place.slot == place.count {
            put(entry);
        }
        Ok(())
    }
}

/// The first slot that moves. Usually it is in the middle. It is at the end if the new key is after all others, and at
/// the start if the new key is before all others, so that ascending and descending loads produce full nodes.
///
/// The separator is never MAX, which a dead key could also be: the last slot is chosen only if a larger key is inserted
/// after it.
fn split_point(place: &KeySlot) -> usize {
    match place.slot {
        slot if slot == place.count => place.count - 1,
        0 => 1,
        _ => place.count / 2,
    }
}
