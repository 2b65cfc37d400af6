//! Structure modifications (the SMOs of the paper's section 4.2): the entries of a block, or of two, are copied to new
//! blocks.
//!
//! | step | what | who may do it |
//! | --- | --- | --- |
//! | S0 | complete the change that made this leaf; take two chunks; close the leaf | a thread that has claimed no slot |
//! | S1 | freeze every slot, and `next` | every thread; each slot is frozen once |
//! | S2 | nothing to do: S3 makes the copies durable, and no thread reaches a copy before S5 and S6; a reader of the frozen block checks for writers in flight | |
//! | S3 | copy the entries to new blocks, durably | every thread, to blocks of its own |
//! | S4 | set the first of the new leaves as `successor` | one thread; the others free their copies |
//! | S5.. | [`settle`](crate::tree::nbtree::write::settle) | every thread |
//!
//! The published tree continues to write to the old leaf while a thread copies it, marks the copied entries in two bits
//! of each value, and lets readers and writers repair the copy (sync-on-write, sync-on-read). That loses updates
//! (`docs/trees.md`). In this tree no thread writes to a leaf that is being copied: a writer helps to copy it, which
//! takes a few microseconds, and waits for no other thread.

use std::borrow::Cow;

use crate::media::{Mark, Media};
use crate::space::Guard;
use crate::{Error, Result};

use crate::tree::nbtree::blocks::block::Block;
use crate::tree::nbtree::blocks::chunks::{BesideChunk, Chunks};
use crate::tree::nbtree::design::Design;
use crate::tree::nbtree::keys::form::{Extent, KeyForm};
use crate::tree::nbtree::keys::key::Local;
use crate::tree::nbtree::metadata::control::Phase;
use crate::tree::nbtree::metadata::leaf::{Birth, slots};
use crate::tree::nbtree::read::lookup::Fence;
use crate::tree::nbtree::tree::Tree;
use crate::tree::nbtree::write::settle::Task;

/// The leaves of a change, and their entries.
struct Frozen<F> {
    left: u32,
    /// The right neighbour, if it is absorbed; otherwise 0.
    absorbed: u32,
    low: F,
    high: F,
    /// The extent in which the entries have their images: of one leaf.
    extent: Option<Extent>,
    /// The next block of the chain.
    next: u64,
    /// The entries, in key order.
    entries: Vec<(Local, u64)>,
    /// Whether the entries of each line were inserted in key order. The next insert then probably has the largest key.
    ascending: bool,
}

impl<M: Media, const W: usize, const FANOUT: usize, D: Design> Tree<M, W, FANOUT, D> {
    /// The first steps of a [`change`](Self::change), until no new search finds the leaf. Returns the leaf that was
    /// replaced (this leaf, or the one that absorbed it), or the task that has to be done first.
    pub(crate) fn advance(
        &self,
        guard: &Guard<'_, M>,
        partition: usize,
        mut number: u32,
    ) -> Result<Result<u32, Task>> {
        let mut chunks = None;
        loop {
            let leaf = self.meta.leaves.get(number);
            let control = leaf.control();
            match control.phase() {
                Phase::Captured(left) => number = left,
                _ if leaf.successor() != 0 => break,
                Phase::Unread => self.read_block(guard, leaf)?,
                Phase::Open => {
                    let origin = leaf.origin();
                    if origin != 0 {
                        self.link(guard, partition, origin)?;
                        return Ok(Err(Task::Detach(origin)));
                    }
                    // The chunks are allocated before anything is frozen: if there is no free space, the leaf stays as
                    // it is.
                    if chunks.is_none() {
                        let entries = leaf.entries::<D::Keys>(control);
                        let few = entries
                            .is_some_and(|count| count <= Block::<M, W, D::Keys>::CAPACITY / 2);
                        chunks = Some(self.chunks(guard, few)?);
                    }
                    guard.media().mark(Mark::Step("change.S0"));
                    // If the exchange fails, the next look at the phase shows why.
                    leaf.exchange_control(control, control.closing(Phase::Splitting));
                }
                Phase::Splitting => {
                    self.replace(guard, partition, (number, 0), chunks.take())?;
                    break;
                }
                Phase::Merging(right, stamp) => {
                    if self.capture(number, right, stamp) {
                        self.replace(guard, partition, (number, right), chunks.take())?;
                        break;
                    }
                }
            }
        }
        self.link(guard, partition, number)?;
        Ok(Ok(number))
    }

    /// M2: decides whether `left` absorbs `right`, and returns the decision. If `left` does not absorb `right`, `left`
    /// is no longer MERGING with it on return.
    pub(crate) fn capture(&self, left: u32, right: u32, stamp: u8) -> bool {
        let leaf = self.meta.leaves.get(right);
        loop {
            let control = leaf.control();
            match control.phase() {
                Phase::Captured(by) if by == left && control.stamp() == stamp => return true,
                Phase::Open if control.stamp() == stamp => {
                    let captured = control.closing(Phase::Captured(left));
                    if leaf.exchange_control(control, captured) {
                        return true;
                    }
                }
                _ => break,
            }
        }
        let leaf = self.meta.leaves.get(left);
        loop {
            let control = leaf.control();
            if control.phase() != Phase::Merging(right, stamp)
                || leaf.exchange_control(control, control.closing(Phase::Splitting))
            {
                return false;
            }
        }
    }

    /// S1 to S4 for a leaf, and for the leaf that it absorbs (0: none).
    fn replace<'g, 's>(
        &'g self,
        guard: &'g Guard<'s, M>,
        partition: usize,
        (left, absorbed): (u32, u32),
        chunks: Option<Chunks<'g, 's, M>>,
    ) -> Result<()> {
        self.ask_for_surroundings(guard, partition, left);
        let mut chunks = match chunks {
            Some(chunks) => chunks,
            // Another thread has closed the leaf. It must not stay closed only because there is no second chunk.
            None => self.chunks(guard, true)?,
        };
        chunks.ask_for();
        self.freeze(guard, left)?;
        if absorbed != 0 {
            self.freeze(guard, absorbed)?;
        }
        guard.media().mark(Mark::Step("change.S1"));
        let Some(frozen) = self.collect(guard, left, absorbed)? else {
            return Ok(());
        };
        if frozen.entries.len() > Block::<M, W, D::Keys>::CAPACITY {
            // The two leaves fitted into one block when their merge began, but were filled before the right leaf was
            // captured.
            chunks.hold(2)?;
        }
        let first = self.copy(guard, partition, &frozen, &mut chunks)?;
        guard.media().mark(Mark::Step("change.S3"));
        if self.meta.leaves.get(left).replace_by(first) {
            guard.media().mark(Mark::Step("change.S4"));
            return Ok(());
        }
        // Another thread was faster. No other thread has seen the leaves that this thread has made.
        let twin = self.meta.leaves.get(first).twin();
        self.take_back(guard, &mut chunks, first)?;
        self.take_back(guard, &mut chunks, twin)
    }

    /// Takes back a new leaf (0: none) that no other thread has seen, with its block.
    fn take_back(
        &self,
        guard: &Guard<'_, M>,
        chunks: &mut Chunks<'_, '_, M>,
        leaf: u32,
    ) -> Result<()> {
        if leaf != 0 {
            let at = self.meta.leaves.get(leaf).block();
            if let Some((at, bytes)) = D::Keys::beside(guard.media(), at)? {
                guard.discard(at, bytes);
            }
            chunks.put_back(at);
            self.meta.leaves.discard(leaf);
        }
        Ok(())
    }

    /// Prefetches what a change reads: the whole block, so that the cache misses of the exchanges in its lines overlap,
    /// and the leaf and block before it (S7).
    fn ask_for_surroundings(&self, guard: &Guard<'_, M>, partition: usize, number: u32) {
        let leaf = self.meta.leaves.get(number);
        Block::<M, W, D::Keys>::prefetch(guard.media(), leaf.block());
        // The change itself reports a header that cannot be read.
        if let Ok(low) = D::Keys::low(guard.media(), leaf.extent(), leaf.block())
            && low > D::Keys::first()
        {
            let (before, at) = self.meta.way_before(guard.media(), partition, &low);
            self.meta.leaves.get(before).prefetch();
            Block::<M, W, D::Keys>::prefetch_header(guard.media(), at);
        }
    }

    /// Two chunks for new blocks, or one if that is enough.
    fn chunks<'g, 's>(
        &'g self,
        guard: &'g Guard<'s, M>,
        one_block_will_do: bool,
    ) -> Result<Chunks<'g, 's, M>> {
        Chunks::take(guard, self.open.map(), Block::<M, W, D::Keys>::BYTES, one_block_will_do)
    }

    /// S1: freezes the block of a leaf, so that nothing changes in it any more.
    fn freeze(&self, guard: &Guard<'_, M>, number: u32) -> Result<()> {
        let leaf = self.meta.leaves.get(number);
        let block = Block::<M, W, D::Keys>::at(guard.media(), leaf.block())?;
        // Empty slots are frozen too: the owner of a claimed slot may still write to it.
        let all = Block::<M, W, D::Keys>::FIRST..Block::<M, W, D::Keys>::SLOTS;
        all.for_each(|slot| block.freeze(slot));
        block.freeze_next();
        Ok(())
    }

    /// Collects the entries of frozen blocks; `None` if the blocks were replaced meanwhile.
    fn collect(
        &self,
        guard: &Guard<'_, M>,
        left: u32,
        absorbed: u32,
    ) -> Result<Option<Frozen<Fence<D>>>> {
        let media = guard.media();
        let leaf = self.meta.leaves.get(left);
        let last = self.meta.leaves.get(if absorbed == 0 { left } else { absorbed });
        let mut frozen = Frozen {
            left,
            absorbed,
            low: D::Keys::low(media, leaf.extent(), leaf.block())?,
            high: D::Keys::high(media, last.extent(), last.block())?,
            extent: (absorbed == 0).then(|| leaf.extent()),
            next: 0,
            entries: Vec::with_capacity(2 * Block::<M, W, D::Keys>::SLOTS),
            ascending: absorbed == 0,
        };
        for number in [left, absorbed].into_iter().filter(|&number| number != 0) {
            let leaf = self.meta.leaves.get(number);
            let block = Block::<M, W, D::Keys>::at(media, leaf.block())?;
            let next = block.next();
            if next.is_forward() {
                return Ok(None);
            }
            frozen.next = next.at();
            let (order, bits) = block.order(leaf.extent())?;
            let others = !bits & Block::<M, W, D::Keys>::ALL;
            if slots(others).any(|slot| block.word(slot).live_key().is_some()) {
                return Err(block.corrupt("a key outside of its block"));
            }
            // The keys of the left block come first. `ascends_in_lines` shows the order of the inserts, because the
            // slots of a line are claimed in their order.
            for slot in order.iter() {
                if let Some(key) = block.word(slot).live_key() {
                    frozen.entries.push((key, block.value(slot)));
                }
            }
            frozen.ascending &= order.ascends_in_lines();
        }
        if frozen.extent.is_some() {
            for pair in frozen.entries.windows(2) {
                let [before, at] = [pair[0], pair[1]];
                if before.0 == at.0 && D::Keys::compare(media, [before.1, at.1])?.is_eq() {
                    let what = "a key twice in a block";
                    return Err(Error::Corrupt { offset: leaf.block(), what });
                }
            }
        }
        Ok(Some(frozen))
    }

    /// S3. Copies the entries into one block if they fill at most half of it. Otherwise copies them into two blocks, if
    /// there are chunks for two. Returns the first leaf.
    fn copy(
        &self,
        guard: &Guard<'_, M>,
        partition: usize,
        frozen: &Frozen<Fence<D>>,
        chunks: &mut Chunks<'_, '_, M>,
    ) -> Result<u32> {
        let count = frozen.entries.len();
        let half = match frozen.ascending {
            true => count - (count / 8).max(1).min(count),
            false => count / 2,
        };
        let (mut first, mut twin, mut low) = (&frozen.entries[..], 0, D::Keys::first());
        let is_one_enough = count <= Block::<M, W, D::Keys>::CAPACITY && chunks.count() < 2;
        if count > Block::<M, W, D::Keys>::CAPACITY / 2 && half > 0 && !is_one_enough {
            let second;
            (first, second) = frozen.entries.split_at(half);
            low = D::Keys::fence_between(guard.media(), first[half - 1], second[0])?;
            if low <= frozen.low || low >= frozen.high {
                // The key in a record has rotted. Such a fence would lead searches astray in the whole map.
                let offset = self.meta.leaves.get(frozen.left).block();
                return Err(Error::Corrupt { offset, what: "a key outside of its block" });
            }
            let part = NewBlock {
                fences: (&low, &frozen.high),
                next: frozen.next,
                entries: second,
                twin: 0,
            };
            twin = self.new_leaf(guard, partition, frozen, chunks, &part)?;
        }
        let (high, next) = match twin {
            0 => (&frozen.high, frozen.next),
            twin => (&low, self.meta.leaves.get(twin).block()),
        };
        let part = NewBlock { fences: (&frozen.low, high), next, entries: first, twin };
        let made = self.new_leaf(guard, partition, frozen, chunks, &part);
        if made.is_err() {
            self.take_back(guard, chunks, twin)?;
        }
        // Makes all of the new blocks durable before anything leads to them. It is a drain, not a fence, because the
        // link that leads other threads to them is in DRAM, where no medium sees it.
        guard.media().drain();
        made
    }

    /// Makes a block and its leaf. Neither is reachable yet. The caller drains before it links them.
    fn new_leaf(
        &self,
        guard: &Guard<'_, M>,
        partition: usize,
        frozen: &Frozen<Fence<D>>,
        chunks: &mut Chunks<'_, '_, M>,
        part: &NewBlock<'_, Fence<D>>,
    ) -> Result<u32> {
        let media = guard.media();
        let extent = D::Keys::extent(part.fences.0, part.fences.1);
        let mut entries = Cow::Borrowed(part.entries);
        if D::Keys::TIES && frozen.extent != Some(extent) {
            for entry in entries.to_mut() {
                entry.0 = D::Keys::image_in(media, *entry, extent)?;
            }
        }
        let beside = BesideChunk::<M, D::Keys>::take(guard, part.fences)?;
        let header = D::Keys::header(media, partition, part.fences, beside.at())?;
        let at = chunks.next()?;
        let block = Block::<M, W, D::Keys>::at(media, at)?;
        let digest = block.initialise(&header, part.next, &entries);
        beside.linked();
        let number = self.meta.leaves.take(guard.space().now());
        let leaf = self.meta.leaves.get(number);
        leaf.begin(Birth {
            extent,
            block: at,
            origin: frozen.left,
            absorbed: frozen.absorbed,
            twin: part.twin,
        });
        leaf.fingerprints.set_all(&digest.fingerprints);
        leaf.open(digest.claims, 0);
        Ok(number)
    }
}

/// The entries of one new block.
struct NewBlock<'e, F> {
    fences: (&'e F, &'e F),
    next: u64,
    entries: &'e [(Local, u64)],
    /// The second of two leaves, if this is the first of them; otherwise 0.
    twin: u32,
}
