//! A walk over all nodes for a leak recovery, while other threads change the tree. The records have a
//! [walk of their own](crate::tree::records::record_walk).
//!
//! # Why it meets every node that stays
//!
//! The walk goes along each level that exists when it starts, from left to right by `sib` alone. Let X be a node that
//! existed before the walk started and that stays in the chain of its level. The walk misses X only if it moves from a node
//! P left of X to a node right of X. If P is in the level when its `sib` is read, `sib` is the successor of P there, which
//! is not beyond X. If P was taken out before, its `sib` is its replacement, or the successor that P had at that time. X was
//! in the level then, so that neither is beyond X. The node to which `sib` points was not retired before P was, and P was
//! reached inside this pin, so that the node is still intact. The walk also meets signposts, because `sib` leads through
//! them.
//!
//! A later pin continues by key, from the node that covers the `low` of the last node met, which may be met twice.
//! `low` never changes, and nodes never change their order. A level that was removed meanwhile, together with its root,
//! has no unmarked old node any more.
//!
//! The walk flushes the words that it follows, because words that a killed process stored may not be durable.

use crate::media::Media;
use crate::space::{Guard, LeakWalk};
use crate::tree::fast_fair::path::root::Root;
use crate::tree::fast_fair::path::trail::Detours;
use crate::tree::fast_fair_bytes::nodes::node::{ByteNode, Link};
use crate::tree::fast_fair_bytes::path::aim::Aim;
use crate::tree::fast_fair_bytes::path::trail::Trail;
use crate::tree::fast_fair_bytes::tree::Tree;
use crate::tree::key_word::KeyWord;
use crate::tree::records::record_walk::walk_over_records;
use crate::{Error, Result};

/// A walk over the nodes of a tree, level by level from the root down.
struct Marking<M: Media, const INNER: usize, const LEAF: usize, K> {
    tree: Tree<M, INNER, LEAF, K>,
    /// The current level; `None` before the first step.
    level: Option<u64>,
    /// The `low` of the last node met in this level.
    last: Option<Vec<u8>>,
}

impl<M: Media, const INNER: usize, const LEAF: usize, K: KeyWord> Tree<M, INNER, LEAF, K> {
    /// Walks over all nodes and over all records, for a [`LeakRecoverer`](crate::space::LeakRecoverer).
    pub fn marking(&self) -> Vec<Box<dyn LeakWalk<M>>> {
        let nodes = Marking { tree: self.clone(), level: None, last: None };
        vec![Box::new(nodes), walk_over_records(self)]
    }
}

impl<M: Media, const INNER: usize, const LEAF: usize, K: KeyWord> LeakWalk<M>
    for Marking<M, INNER, LEAF, K>
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
            None => Root::read(guard.media(), self.tree.open.map().root())?.level,
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
                self.last = None;
                level -= 1;
            }
            self.level = Some(level);
            if bite == 0 {
                return Ok(false);
            }
        }
    }
}

impl<M: Media, const INNER: usize, const LEAF: usize, K: KeyWord> Marking<M, INNER, LEAF, K> {
    /// Continues along a level; returns whether it reached the end.
    fn along<const W: usize>(
        &mut self,
        guard: &Guard<'_, M>,
        level: u64,
        visit: &mut dyn FnMut(u64, u64) -> Result<()>,
        bite: &mut usize,
    ) -> Result<bool> {
        let aim = Aim::At(self.last.as_deref().unwrap_or(&[]));
        let place = self.tree.descend(guard, &mut Trail::default(), aim, level)?;
        let Some(mut at) = place else { return Ok(true) };
        let (mut before, mut detours) = (None::<Vec<u8>>, Detours::default());
        let mut after_signpost = false;
        while at != 0 {
            let node = ByteNode::<M, W>::enter(guard.media(), at, level)?;
            let low = node.low_key()?;
            // A signpost and the node to which it leads begin at the same key.
            if before
                .as_ref()
                .is_some_and(|before| low < *before || low == *before && !after_signpost)
            {
                let what = "a level that is not in key order";
                return Err(Error::Corrupt { offset: at, what });
            }
            visit(at, ByteNode::<M, W>::BYTES)?;
            if let Some(bounds) = node.bounds()? {
                visit(bounds.at(), bounds.bytes())?;
            }
            if guard.media().needs_flush() {
                node.flush_header();
            }
            let link = node.link()?;
            after_signpost = matches!(link, Link::Replaced(_));
            if after_signpost {
                detours.leave_obsolete(at)?;
            }
            at = link.at();
            let is_new = self.last.as_ref().is_none_or(|last| low > *last);
            before = Some(low.clone());
            if is_new {
                self.last = Some(low);
                *bite = bite.saturating_sub(1);
                if *bite == 0 && at != 0 {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}
