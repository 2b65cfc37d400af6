//! Lookups. A lookup waits for the leaf and for one line of the pool, both prefetched together, and for no other
//! thread.
//!
//! A lookup uses the leaf to which the inner nodes led it, even if the leaf is being replaced, or was replaced
//! meanwhile. Until a block is frozen, its words are current. A frozen block is current until a thread first writes to
//! a successor of its leaf. No thread reaches a successor before an inner node points to it (S6), and no inner node did
//! so when the lookup passed the inner nodes. So the content of a frozen block was current at a moment of the lookup. A
//! writer that reaches a frozen block cannot change it, and completes the change that froze it.

use std::marker::PhantomData;

use crate::Result;
use crate::media::{Mark, Media};
use crate::space::Guard;
use crate::sync::Ordering;

use crate::tree::nbtree::blocks::block::Block;
use crate::tree::nbtree::blocks::claims::Claims;
use crate::tree::nbtree::design::Design;
use crate::tree::nbtree::keys::form::KeyForm;
use crate::tree::nbtree::keys::key::split;
use crate::tree::nbtree::keys::numbers::NumberKeys;
use crate::tree::nbtree::keys::word::State;
use crate::tree::nbtree::metadata::leaf::{Leaf, slots};
use crate::tree::nbtree::metadata::links::Top;
use crate::tree::nbtree::tree::Tree;

/// A key that an operation on a tree of this design searches for.
pub(crate) type Sought<'k, D> = <<D as Design>::Keys as KeyForm>::Sought<'k>;

/// A fence of a tree of this design.
pub(crate) type Fence<D> = <<D as Design>::Keys as KeyForm>::Fence;

/// A leaf that was current when the inner nodes led to it.
pub(crate) struct CurrentLeaf<'t, 'm, M, const W: usize, D: Design> {
    pub(crate) number: u32,
    pub(crate) leaf: &'t Leaf,
    pub(crate) block: Block<'m, M, W, D::Keys>,
    pub(crate) design: PhantomData<D>,
}

impl<'t, 'm, M: Media, const W: usize, D: Design> CurrentLeaf<'t, 'm, M, W, D> {
    /// A leaf, and its block at `at`. If `at` is 0, the offset of the block is read from the leaf.
    #[inline(always)]
    pub(crate) fn of(media: &'m M, number: u32, leaf: &'t Leaf, at: u64) -> Result<Self> {
        let at = if at == 0 { leaf.block() } else { at };
        Ok(Self { number, leaf, block: Block::at(media, at)?, design: PhantomData })
    }

    /// The slot of the entry with this key.
    #[inline(always)]
    pub(crate) fn probe(&self, key: Sought<'_, D>) -> Result<Option<usize>> {
        if !D::HAS_TAGS {
            return self.find(self.matching(key), key);
        }
        let hash = D::Keys::hash(key);
        let home = Block::<M, W, D::Keys>::home(hash);
        let fingerprints = &self.leaf.fingerprints;
        if !D::Keys::TIES {
            return Ok(fingerprints.search(hash, home, |matching| self.find_live(matching, key)));
        }
        let mut failed = None;
        let found = fingerprints.search(hash, home, |matching| {
            self.find(matching, key).unwrap_or_else(|error| {
                failed = Some(error);
                None
            })
        });
        failed.map_or(Ok(found), Err)
    }

    /// Finds the slot with this key among the slots of `matching`.
    #[inline(always)]
    pub(crate) fn find(&self, matching: u64, key: Sought<'_, D>) -> Result<Option<usize>> {
        let mut left = matching;
        while let Some(slot) = self.find_live(left, key) {
            // The value is loaded after the word said LIVE, so that the pin protects the record to which it leads.
            let value = || self.block.value(slot);
            if !D::Keys::TIES || D::Keys::is_key_of(self.block.media(), value, key)? {
                return Ok(Some(slot));
            }
            // The slots behind this one.
            left &= u64::MAX << 1 << slot;
        }
        Ok(None)
    }

    /// Finds the first slot among those of `matching` that may be the entry of this key.
    #[inline(always)]
    fn find_live(&self, matching: u64, key: Sought<'_, D>) -> Option<usize> {
        slots(matching).find(|&slot| D::Keys::live_word(self.block.word(slot), key).is_some())
    }

    /// The fences of the leaf.
    pub(crate) fn fences(&self) -> Result<[Fence<D>; 2]> {
        let (media, extent, at) = (self.block.media(), self.leaf.extent(), self.block.offset());
        Ok([D::Keys::low(media, extent, at)?, D::Keys::high(media, extent, at)?])
    }

    /// The slots that may have this key.
    #[inline(always)]
    pub(crate) fn matching(&self, key: Sought<'_, D>) -> u64 {
        if !D::HAS_TAGS {
            let all = Block::<M, W, D::Keys>::ALL;
            return self.leaf.control().claims().map_or(all, Claims::slots::<D::Keys>);
        }
        let hash = D::Keys::hash(key);
        self.leaf.fingerprints.matching(hash, Block::<M, W, D::Keys>::home(hash))
    }

    /// Makes the lines durable on which the result for `key` rests. Called after the words were read, and before the
    /// operation returns.
    #[inline(always)]
    pub(crate) fn settle_answer(&self, media: &M, key: Sought<'_, D>) {
        if media.needs_flush() && self.leaf.is_in_flight() {
            slots(self.matching(key)).for_each(|slot| self.block.help_flush_slot(slot));
        }
    }
}

impl<M: Media, const W: usize, const FANOUT: usize, D: Design> Tree<M, W, FANOUT, D> {
    /// Makes the index of a partition, unless an operation of this session has made it. Called outside of pins, because
    /// it may take long.
    #[inline(always)]
    pub(crate) fn prepare(&self, partition: usize) -> Result<()> {
        match self.meta.roots[partition].load() {
            Top::NONE => self.restart(partition).map(drop),
            _ => Ok(()),
        }
    }

    /// The topmost body of a partition, which the caller has [prepared](Self::prepare).
    #[inline(always)]
    pub(crate) fn top(&self, partition: usize) -> Result<Top> {
        match self.meta.roots[partition].load() {
            Top::NONE => self.restart(partition),
            top => Ok(top),
        }
    }

    /// The leaf in which to look up `key`.
    #[inline(always)]
    pub(crate) fn place_to_read<'g>(
        &'g self,
        guard: &'g Guard<'_, M>,
        partition: usize,
        key: Sought<'_, D>,
    ) -> Result<CurrentLeaf<'g, 'g, M, W, D>> {
        self.place_below(guard, self.top(partition)?, key)
    }

    #[inline(always)]
    fn place_below<'g>(
        &'g self,
        guard: &'g Guard<'_, M>,
        top: Top,
        key: Sought<'_, D>,
    ) -> Result<CurrentLeaf<'g, 'g, M, W, D>> {
        let (number, at) = self.meta.descend_to_block(guard.media(), top, key);
        let leaf = self.meta.leaves.get(number);
        Self::ask_for(guard, (leaf, at), key, guard.media().needs_flush());
        self.enter_leaf(guard, (number, leaf, at))
    }

    /// Prefetches the leaf of `key`, and the home line of `key` in its block. A lookup needs only the fingerprints of
    /// the leaf. If it has to check for writers in flight, it needs `all_of_leaf`.
    #[inline(always)]
    pub(crate) fn ask_for_entry(
        &self,
        guard: &Guard<'_, M>,
        (leaf, at): (u32, u64),
        key: Sought<'_, D>,
        all_of_leaf: bool,
    ) {
        Self::ask_for(guard, (self.meta.leaves.get(leaf), at), key, all_of_leaf);
    }

    #[inline(always)]
    fn ask_for(
        guard: &Guard<'_, M>,
        (leaf, at): (&Leaf, u64),
        key: Sought<'_, D>,
        all_of_leaf: bool,
    ) {
        match all_of_leaf {
            true => leaf.prefetch(),
            false => leaf.fingerprints.prefetch(),
        }
        Block::<M, W, D::Keys>::prefetch_home(guard.media(), at, D::Keys::hash(key));
    }

    /// The place of a leaf that a lookup or a writer has reached. If the keys of its block are not known, the block is
    /// read first.
    #[inline(always)]
    pub(crate) fn enter<'g>(
        &'g self,
        guard: &'g Guard<'_, M>,
        (number, at): (u32, u64),
    ) -> Result<CurrentLeaf<'g, 'g, M, W, D>> {
        self.enter_leaf(guard, (number, self.meta.leaves.get(number), at))
    }

    #[inline(always)]
    fn enter_leaf<'g>(
        &'g self,
        guard: &'g Guard<'_, M>,
        (number, leaf, at): (u32, &'g Leaf, u64),
    ) -> Result<CurrentLeaf<'g, 'g, M, W, D>> {
        if !leaf.fingerprints.are_read() {
            self.ensure_read(guard, leaf)?;
        }
        guard.media().mark(Mark::Step("read.leaf"));
        CurrentLeaf::of(guard.media(), number, leaf, at)
    }

    /// Reads the keys of a leaf's block unless they are known.
    #[cold]
    pub(crate) fn ensure_read(&self, guard: &Guard<'_, M>, leaf: &Leaf) -> Result<()> {
        if leaf.control().is_unread() { self.read_block(guard, leaf) } else { Ok(()) }
    }

    /// Reads the keys of a block from an earlier session. Any number of threads may do so at once: all of them read the
    /// same keys, because no thread writes to the block before one of them opens the leaf.
    #[cold]
    pub(crate) fn read_block(&self, guard: &Guard<'_, M>, leaf: &Leaf) -> Result<()> {
        let block = Block::<M, W, D::Keys>::at(guard.media(), leaf.block())?;
        if !self.open.space().session().clean {
            // A killed process may leave stores that are visible but not durable.
            block.help_flush();
        }
        let (mut used, mut live) = (0_u64, 0);
        let images = D::Keys::images(leaf.extent());
        for slot in Block::<M, W, D::Keys>::FIRST..Block::<M, W, D::Keys>::SLOTS {
            match block.word(slot).state() {
                State::Empty => continue,
                // No search would look for this key here.
                State::Live(image) if !images.contains(&image) => {
                    return Err(block.corrupt("a key outside of its block"));
                }
                State::Live(image) => {
                    let hash = D::Keys::hash_of_entry(image, || block.value(slot));
                    let fingerprint = Block::<M, W, D::Keys>::fingerprint(hash, slot);
                    leaf.fingerprints.set(slot, fingerprint);
                    live += 1;
                }
                // An insert that was not decided does not count. It gets no fingerprint, so that no search meets it.
                State::Pending(_) | State::Dead | State::Killed => {}
            }
            used |= 1 << slot;
        }
        guard.media().mark(Mark::Step("read.fingerprints"));
        let claims = Claims::up_to::<D::Keys>(used);
        if leaf.open(claims, claims.total::<D::Keys>() - live) {
            self.meta.blocks_read.fetch_add(1, Ordering::Relaxed);
            if self.meta.recount {
                self.open.map().add(live as i64);
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn lookup_below(
        &self,
        guard: &Guard<'_, M>,
        top: Top,
        key: Sought<'_, D>,
    ) -> Result<Option<u64>> {
        let place = self.place_below(guard, top, key)?;
        let _held = D::before_read(place.number);
        let value = place.probe(key)?.map(|slot| place.block.value(slot));
        place.settle_answer(guard.media(), key);
        Ok(value)
    }
}

impl<M: Media, const W: usize, const FANOUT: usize, D: Design<Keys = NumberKeys>>
    Tree<M, W, FANOUT, D>
{
    /// The value of `key`.
    #[inline(always)]
    pub(crate) fn lookup(&self, key: u64) -> Result<Option<u64>> {
        let guard = self.open.pin()?;
        let (partition, local) = split(key);
        let top = self.meta.roots[partition].load();
        if top == Top::NONE {
            return self.first_lookup(guard, partition, key);
        }
        self.lookup_below(&guard, top, local).map_err(|error| guard.space().noted(error))
    }

    /// The value of `key`, inside the pin of the caller.
    #[inline(always)]
    pub(crate) fn lookup_within(&self, guard: &Guard<'_, M>, key: u64) -> Result<Option<u64>> {
        let (partition, local) = split(key);
        self.lookup_below(guard, self.top(partition)?, local)
    }

    #[cold]
    #[inline(never)]
    fn first_lookup(&self, guard: Guard<'_, M>, partition: usize, key: u64) -> Result<Option<u64>> {
        drop(guard);
        self.prepare(partition).map_err(|error| self.open.space().noted(error))?;
        self.lookup(key)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use crate::media::Heap;
    use crate::space::{PAGE, Session, Space};
    use crate::tree::nbtree::Tree;
    use crate::tree::nbtree::metadata::body::Child;
    use crate::tree::nbtree::metadata::links::Hold;
    use crate::tree::word_range::WordRange;
    use crate::tree::{Change, Index};

    /// The case of blocks beyond 256 GiB.
    #[test]
    fn where_a_body_does_not_know_the_blocks_the_leaves_are_asked() {
        let medium = Heap::new(16 * PAGE);
        Space::format(&medium).unwrap();
        let session = Session { generation: 1, clean: true, read_only: false };
        let space = std::sync::Arc::new(Space::mount(medium, session).unwrap());
        let tree = Tree::<_, 128, 64>::open(&space, "map").unwrap();
        let change = |key, change| tree.modify(key, |_| change).unwrap();
        let count = || {
            let mut all = WordRange::new(..);
            std::iter::from_fn(|| all.next(&tree)).count()
        };
        (0..1000).for_each(|key| assert_eq!(change(key, Change::Put(!key)), None));
        let meta = &tree.meta;
        let top = meta.roots[0].load();
        let guard = space.pin_mut().unwrap();
        for cell in meta.bodies.get(top.body()).children() {
            let cell = meta.cells.get(cell.number);
            let hold = cell.load();
            let known = meta.bodies.get(hold.body()).children();
            assert!(known.iter().all(|leaf| *leaf != Child::inner(leaf.low, leaf.number)));
            let unknown: Vec<_> =
                known.iter().map(|leaf| Child::inner(leaf.low, leaf.number)).collect();
            assert!(cell.exchange(hold, Hold::of(meta.new_body(&guard, 1, &unknown))));
        }
        drop(guard);
        assert_eq!(tree.get(7).unwrap(), Some(!7));
        assert_eq!(tree.get_many(&[1, 5000]).unwrap(), [Some(!1), None]);
        assert_eq!(change(8, Change::Put(1)), Some(!8));
        assert_eq!(change(8, Change::Remove), Some(1));
        assert_eq!(count(), 999);
        (1000..3000).for_each(|key| assert_eq!(change(key, Change::Put(!key)), None));
        assert_eq!(count(), 2999);
    }
}
