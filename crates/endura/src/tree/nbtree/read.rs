//! Lookups: they wait for the leaf and for one line of the pool, which are asked for at once, and for
//! nobody.
//!
//! A reader looks at `successor` before it looks at the block. If there is none, what the block says
//! is the truth then or later: while it is not frozen its words are current; when it is, they stay
//! the truth until somebody writes to a successor, and that is after `successor` was set.

use std::marker::PhantomData;

use crate::Result;
use crate::media::{Mark, Media};
use crate::pool::Guard;
use crate::sync::Ordering;

use super::Tree;
use super::block::{Block, State, Word};
use super::claims::Claims;
use super::design::Design;
use super::key::{Hash, Local, split};
use super::leaf::{Leaf, slots};
use super::route::Top;

/// A current leaf, or one that was when it was found.
pub(super) struct Place<'t, 'm, M, const W: usize, D> {
    pub(super) number: u32,
    pub(super) leaf: &'t Leaf,
    pub(super) block: Block<'m, M, W>,
    pub(super) design: PhantomData<D>,
}

impl<M: Media, const W: usize, D: Design> Place<'_, '_, M, W, D> {
    /// The slot of the entry with this key.
    #[inline(always)]
    pub(super) fn probe(&self, key: Local) -> Option<usize> {
        let wanted = Word::live(key);
        slots(self.matching(key)).find(|&slot| self.block.word(slot).thawed() == wanted)
    }

    /// The slots whose key may be this one.
    #[inline(always)]
    pub(super) fn matching(&self, key: Local) -> u64 {
        let all = (1 << Block::<M, W>::SLOTS) - 1;
        if !D::HAS_TAGS {
            return self.leaf.control().claims().map_or(all, Claims::slots);
        }
        self.leaf.matching(Hash::of(key).tag()) & all
    }

    /// Before an answer that rests on what was found in the block for `key` is given: makes it
    /// durable. To be called after the words were read.
    #[inline(always)]
    pub(super) fn settle_answer(&self, media: &M, key: Local) {
        if media.needs_flush() && self.leaf.is_in_flight() {
            slots(self.matching(key)).for_each(|slot| self.block.help_flush_slot(slot));
        }
    }
}

impl<M: Media, const W: usize, const FANOUT: usize, D: Design> Tree<M, W, FANOUT, D> {
    /// The topmost body of a partition, made if nobody needed it yet in this session.
    #[inline(always)]
    pub(super) fn top(&self, guard: &Guard<'_, M>, partition: usize) -> Result<Top> {
        match self.meta.roots[partition].load() {
            Top::NONE => self.restart(guard, partition),
            top => Ok(top),
        }
    }

    /// The leaf to read `key` from.
    #[inline(always)]
    pub(super) fn place_to_read<'g>(
        &'g self,
        guard: &'g Guard<'_, M>,
        partition: usize,
        key: Local,
    ) -> Result<Place<'g, 'g, M, W, D>> {
        let top = self.top(guard, partition)?;
        let (leaf, at) = self.meta.descend_to_block(top, key);
        Block::<M, W>::prefetch_home(guard.media(), at, Hash::of(key));
        self.current(guard, leaf, key)
    }

    /// The leaf that covers `key` now, found from one that does or did.
    #[inline(always)]
    pub(super) fn current<'g>(
        &'g self,
        guard: &'g Guard<'_, M>,
        mut number: u32,
        key: Local,
    ) -> Result<Place<'g, 'g, M, W, D>> {
        loop {
            let leaf = self.meta.leaves.get(number);
            if leaf.control().is_unread() {
                self.read_block(guard, leaf)?;
            }
            match leaf.successor() {
                0 => {
                    guard.media().mark(Mark::Step("read.leaf"));
                    let block = Block::at(guard.media(), leaf.block())?;
                    return Ok(Place { number, leaf, block, design: PhantomData });
                }
                first => number = self.heir(first, key),
            }
        }
    }

    /// Which of the leaves that replace one covers `key`: the first of them, or its twin.
    pub(super) fn heir(&self, first: u32, key: Local) -> u32 {
        let twin = self.meta.leaves.get(first).twin();
        if twin != 0 && key >= self.meta.leaves.get(twin).low() { twin } else { first }
    }

    /// Learns the keys of a block from an earlier session. Any number of threads may do so at once:
    /// they learn the same, for nobody writes before one of them opens the leaf.
    #[cold]
    pub(super) fn read_block(&self, guard: &Guard<'_, M>, leaf: &Leaf) -> Result<()> {
        let block = Block::<M, W>::at(guard.media(), leaf.block())?;
        if !self.space.session().clean {
            // A killed process leaves stores that are seen and not durable.
            block.help_flush();
        }
        let (mut used, mut live) = (0_u64, 0);
        for slot in 0..Block::<M, W>::SLOTS {
            match block.word(slot).state() {
                State::Empty => continue,
                State::Live(key) if (leaf.low()..leaf.high()).contains(&key) => {
                    leaf.set_tag(slot, Hash::of(key).tag());
                    live += 1;
                }
                // An insert that was not decided is none, and without a tag nobody meets it.
                State::Live(_) | State::Pending(_) | State::Dead | State::Killed => {}
            }
            used |= 1 << slot;
        }
        guard.media().mark(Mark::Step("read.tags"));
        let claims = Claims::up_to(used);
        if leaf.open(claims, claims.total() - live) {
            self.meta.blocks_read.fetch_add(1, Ordering::Relaxed);
            if self.meta.recount {
                self.map.add(live as i64);
            }
        }
        Ok(())
    }

    /// The value of `key`.
    #[inline(always)]
    pub(super) fn lookup(&self, key: u64) -> Result<Option<u64>> {
        let guard = self.pin()?;
        let (partition, key) = split(key);
        let place = self.place_to_read(&guard, partition, key)?;
        let _held = D::before_read(place.number);
        let value = place.probe(key).map(|slot| place.block.value(slot));
        place.settle_answer(guard.media(), key);
        Ok(value)
    }
}
