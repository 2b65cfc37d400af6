//! A walk over all nodes for a leak recovery, while other threads change the tree.
//!
//! # Why it meets every node that stays
//!
//! The walk goes along each level that exists when it starts, from left to right by `sib` alone, whatever the tag and
//! the fences say. Let X be a node that existed before the walk started and that stays in the chain of its level. The
//! walk misses X only if it moves from a node P left of X to a node right of X. If P is in the level when its `sib` is
//! read, `sib` is the successor of P there, which is not beyond X. If P was taken out before, its `sib` is the
//! successor that P had at that time. X was in the level then, so that this successor is not beyond X either. The node
//! to which `sib` points was not retired before P was, and P was reached inside this pin, so that the node is still
//! intact. The walk also meets a sibling that owns nothing (after an interrupted split or merge), because `sib` leads
//! through it.
//!
//! A later pin continues by key, from the node that covers the `low` of the last node met, which may be met twice.
//! `low` never changes, and nodes never change their order. A level that was removed meanwhile, together with its root,
//! has no unmarked old node any more.
//!
//! The walk flushes the words that it follows, because words that a killed process stored may not be durable.
//! Separators need no flush: the separator of a node that was taken out was removed durably before.

use crate::media::Media;
use crate::space::{Guard, LeakWalk, Seat};
use crate::tree::fast_fair::nodes::node::Node;
use crate::tree::fast_fair::nodes::search::Search;
use crate::tree::fast_fair::path::root::Root;
use crate::tree::fast_fair::path::trail::Trail;
use crate::tree::fast_fair::tree::Tree;
use crate::{Error, Result};

/// A walk over the nodes of a tree, level by level from the root down.
pub(crate) struct Marking<M: Media, const INNER: usize, const LEAF: usize, S> {
    tree: Tree<M, INNER, LEAF, S>,
    /// The current level; `None` before the first step.
    level: Option<u64>,
    /// The node at which to continue.
    seat: Seat<u64>,
    /// The `low` of the last node met in this level.
    last: Option<u64>,
}

impl<M: Media, const INNER: usize, const LEAF: usize, S: Search> Tree<M, INNER, LEAF, S> {
    /// A walk over all nodes, for a [`LeakRecoverer`](crate::space::LeakRecoverer).
    pub fn marking(&self) -> Box<dyn LeakWalk<M>> {
        Box::new(Marking { tree: self.clone(), level: None, seat: Seat::default(), last: None })
    }
}

impl<M: Media, const INNER: usize, const LEAF: usize, S: Search> LeakWalk<M>
    for Marking<M, INNER, LEAF, S>
{
    fn step(
        &mut self,
        guard: &Guard<'_, M>,
        visit: &mut dyn FnMut(u64, u64) -> Result<()>,
        mut bite: usize,
    ) -> Result<bool> {
        if self.tree.open.map().is_dropped() {
            return Ok(true);
        }
        let mut level = match self.level {
            Some(level) => level,
            // The root word is durable: the open flushed the word that it found, and this session makes each later root
            // word durable.
            None => Root::read(guard.media(), self.tree.root_at())?.level,
        };
        loop {
            let ended = match level {
                0 => self.along::<LEAF>(guard, level, visit, &mut bite)?,
                _ => self.along::<INNER>(guard, level, visit, &mut bite)?,
            };
            if ended && level == 0 {
                return Ok(true);
            }
            if ended {
                (self.seat, self.last) = (Seat::default(), None);
                level -= 1;
            }
            self.level = Some(level);
            if bite == 0 {
                return Ok(false);
            }
        }
    }
}

impl<M: Media, const INNER: usize, const LEAF: usize, S: Search> Marking<M, INNER, LEAF, S> {
    /// Continues along a level; returns whether it reached the end.
    fn along<const W: usize>(
        &mut self,
        guard: &Guard<'_, M>,
        level: u64,
        visit: &mut dyn FnMut(u64, u64) -> Result<()>,
        bite: &mut usize,
    ) -> Result<bool> {
        let Some(mut at) = self.place(guard, level)? else { return Ok(true) };
        let mut before = None;
        while at != 0 {
            let node = Node::<M, W>::enter(guard.media(), at, level)?;
            let low = node.low();
            if before.is_some_and(|before| low <= before) {
                return Err(Error::Corrupt {
                    offset: at,
                    what: "a level that is not in key order",
                });
            }
            visit(at, Node::<M, W>::BYTES)?;
            if guard.media().needs_flush() {
                node.flush_header();
            }
            before = Some(low);
            at = node.sibling()?.at;
            if self.last.is_none_or(|last| low > last) {
                self.last = Some(low);
                *bite = bite.saturating_sub(1);
                if *bite == 0 && at != 0 {
                    self.seat = Seat::take(guard, at);
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// The node at which to continue; `None` if the level no longer exists.
    fn place(&self, guard: &Guard<'_, M>, level: u64) -> Result<Option<u64>> {
        match self.seat.within(guard) {
            Some(&at) => Ok(Some(at)),
            None => {
                let key = self.last.unwrap_or(0);
                self.tree.descend(guard, &mut Trail::default(), key, level)
            }
        }
    }
}
