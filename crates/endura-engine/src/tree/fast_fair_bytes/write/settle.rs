//! The end of a REPLACE: nothing leads to the signpost any more.
//!
//! R3 the slot of the parent that leads to the signpost L leads to A; R4 so does the link of the left sibling. The thread
//! that makes the exchange of R4 retires L (for the leftmost node of a level there is no R4, and it is that of R3). R3 comes
//! first: otherwise L would have no left sibling under whose lock it is settled, and the parent would still lead to it. The
//! lock of the left sibling is held during both. Locks are taken by level from the leaves up.
//!
//! A crash between R3 and R4 leaves a signpost to which only the left sibling leads. No search comes through it, so it
//! stays until one of its two neighbours needs the link: the thread that replaces A, or that merges the left sibling with
//! A, settles L first.

use crate::Result;
use crate::media::{Mark, Media};
use crate::space::Guard;
use crate::tree::fast_fair::nodes::locked::Locked;
use crate::tree::fast_fair::path::root::Root;
use crate::tree::fast_fair_bytes::nodes::child::{child_at, reference_to_same};
use crate::tree::fast_fair_bytes::nodes::node::{ByteNode, Link};
use crate::tree::fast_fair_bytes::nodes::shift::fast_update;
use crate::tree::fast_fair_bytes::path::aim::Aim;
use crate::tree::fast_fair_bytes::path::right::newest;
use crate::tree::fast_fair_bytes::path::trail::{Signpost, Trail};
use crate::tree::fast_fair_bytes::tree::Tree;
use crate::tree::key_word::KeyWord;

impl<M: Media, const INNER: usize, const LEAF: usize, K: KeyWord> Tree<M, INNER, LEAF, K> {
    /// Leads everything past a signpost, unless another thread does, and retires it. If the node to which it leads has become
    /// a signpost meanwhile, then past that as well: its own thread may have come when nothing led to it yet. And if only
    /// another signpost leads to this one, then past that one first.
    ///
    /// The loop ends: a signpost that a search has met is in no circle, for then the search would have failed, nor is one
    /// that was [looked at](Self::signpost_at), and a signpost of this session leads to a new node.
    pub(crate) fn settle(&self, guard: &Guard<'_, M>, mut signpost: Signpost) -> Result<()> {
        loop {
            let next = match signpost.level {
                0 => self.settle_in::<LEAF>(guard, signpost)?,
                _ => self.settle_in::<INNER>(guard, signpost)?,
            };
            match next {
                Some(next) => signpost = next,
                None => return Ok(()),
            }
        }
    }

    /// One step of [`settle`](Self::settle). Returns the signpost that is settled next: the one to which this one led, or
    /// one that leads to this one.
    fn settle_in<const W: usize>(
        &self,
        guard: &Guard<'_, M>,
        signpost: Signpost,
    ) -> Result<Option<Signpost>> {
        let node = ByteNode::<M, W>::enter(guard.media(), signpost.old, signpost.level)?;
        // Otherwise a crash between R3 and R4 could leave two nodes of the level with the same keys.
        node.help_replace();
        let low = node.low_key()?;
        let is_mine = if low.is_empty() {
            self.lead_past_above(guard, signpost, &low)?
        } else {
            let Some(left) = self.lock_left_of::<W>(guard, signpost.level, &low)? else {
                return Ok(None);
            };
            let ahead = ByteNode::of(left.node()).link()?.at();
            if ahead != signpost.old {
                drop(left);
                // The signpost was settled, or is not the first one of a row.
                return self.signpost_at::<W>(guard, ahead, signpost.level, &low);
            }
            self.lead_past_above(guard, signpost, &low)?;
            // R4. The store is not announced as a primitive: the new link leads to every key to which the old link led, and to
            // the same separators, so that a reader, or a crash, may take either.
            ByteNode::of(left.node()).set_link(Link::Right(signpost.new));
            guard.media().mark(Mark::Step("settle.R4"));
            left.node().flush_header();
            // The unlink is durable before the chunk can be used again.
            guard.media().drain();
            true
        };
        if !is_mine {
            return Ok(None);
        }
        self.open.map().note_retired();
        node.retire(guard)?;
        let new = ByteNode::<M, W>::enter(guard.media(), signpost.new, signpost.level)?;
        Ok(match new.link()? {
            Link::Replaced(newer) => Some(Signpost { old: signpost.new, new: newer, ..signpost }),
            Link::Right(_) | Link::Splitting(_) => None,
        })
    }

    /// The node at `at`, which was linked in this pin, if it begins at `low` and was replaced.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`](crate::Error::Corrupt) if it leads back to itself.
    pub(crate) fn signpost_at<const W: usize>(
        &self,
        guard: &Guard<'_, M>,
        at: u64,
        level: u64,
        low: &[u8],
    ) -> Result<Option<Signpost>> {
        if at == 0 {
            return Ok(None);
        }
        let node = ByteNode::<M, W>::enter(guard.media(), at, level)?;
        let Link::Replaced(new) = node.link()? else { return Ok(None) };
        newest::<M, W>(guard, at, level)?;
        Ok((node.low_key()? == low).then_some(Signpost { old: at, new, level }))
    }

    /// Locks the last node that begins below `low`. `None` if the tree has no such level.
    fn lock_left_of<'g, const W: usize>(
        &self,
        guard: &'g Guard<'g, M>,
        level: u64,
        low: &[u8],
    ) -> Result<Option<Locked<'g, M, W>>> {
        let (mut trail, aim) = (Trail::default(), Aim::Below(low));
        let Some(at) = self.descend(guard, &mut trail, aim, level)? else { return Ok(None) };
        self.lock_covering::<W>(guard, &mut trail, at, level, aim)
    }

    /// R3: leads the parent, or the root word, past a signpost. Returns whether it led to it.
    fn lead_past_above(
        &self,
        guard: &Guard<'_, M>,
        signpost: Signpost,
        low: &[u8],
    ) -> Result<bool> {
        loop {
            if self.root(guard)?.at == signpost.old {
                let _only_one = self.open.map().root_lock().lock();
                if self.root(guard)?.at == signpost.old {
                    guard.media().mark(Mark::Step("settle.root"));
                    self.set_root(guard, Root { at: signpost.new, level: signpost.level })?;
                    return Ok(true);
                }
            }
            if let Some(led) = self.lead_parent_past(guard, signpost, low)? {
                return Ok(led);
            }
            // There was no parent. The answer counts under the lock of the root. The thread that grows the tree asks under
            // that lock whether its child was replaced: without the lock it could ask before the replacement, and store a
            // root that leads to the signpost after it. If the root shrank meanwhile, the signpost may be the root.
            let _only_one = self.open.map().root_lock().lock();
            let root = self.root(guard)?;
            if root.level <= signpost.level && root.at != signpost.old {
                return Ok(false);
            }
        }
    }

    /// Leads the parent past a signpost. Returns whether it led to it; `None` if there is no parent.
    fn lead_parent_past(
        &self,
        guard: &Guard<'_, M>,
        signpost: Signpost,
        low: &[u8],
    ) -> Result<Option<bool>> {
        let (mut trail, aim, level) = (Trail::default(), Aim::At(low), signpost.level + 1);
        let Some(at) = self.descend(guard, &mut trail, aim, level)? else { return Ok(None) };
        let Some(mut parent) = self.lock_covering::<INNER>(guard, &mut trail, at, level, aim)?
        else {
            return Ok(None);
        };
        let node = ByteNode::of(parent.node());
        let leads =
            |slot: &usize| node.is_used(*slot) && child_at(node.reference(*slot)) == signpost.old;
        let slots = 0..ByteNode::<M, INNER>::CAP;
        let Some(slot) = { slots }.find(leads) else { return Ok(Some(false)) };
        // R3. Its drain comes before R4.
        let reference = reference_to_same(node.reference(slot), signpost.new);
        fast_update(guard, &mut parent, slot, reference);
        guard.media().mark(Mark::Step("settle.R3"));
        Ok(Some(true))
    }
}
