//! Locks of nodes. The first lock of a node in a session repairs it.

use crate::Result;
use crate::media::{Mark, Media};
use crate::space::Guard;
use crate::tree::fast_fair::nodes::locked::{Locked, Refusal};
use crate::tree::fast_fair_bytes::nodes::node::{ByteNode, Link};
use crate::tree::fast_fair_bytes::path::aim::Aim;
use crate::tree::fast_fair_bytes::path::right::{note_right, right_of};
use crate::tree::fast_fair_bytes::path::trail::{Arrival, Signpost, Trail};
use crate::tree::fast_fair_bytes::tree::Tree;
use crate::tree::key_word::KeyWord;
use crate::tree::lock_word::IMPOSSIBLE;

impl<M: Media, const INNER: usize, const LEAF: usize, K: KeyWord> Tree<M, INNER, LEAF, K> {
    /// Locks the node of `level` at which the search aims, and repairs it if it is locked for the first time in this
    /// session. The search continues from `at`. `None` if the tree no longer has this level.
    pub(crate) fn lock_covering<'g, const W: usize>(
        &self,
        guard: &'g Guard<'g, M>,
        trail: &mut Trail,
        at: u64,
        level: u64,
        aim: Aim<'_>,
    ) -> Result<Option<Locked<'g, M, W>>> {
        self.lock_from(guard, trail, (at, None), level, aim)
    }

    /// Does what [`lock_covering`](Self::lock_covering) does. If a search of this pin has found that the node at `at` begins
    /// at or below the aim, `word` is that of the aim there.
    #[inline(always)]
    fn lock_from<'g, const W: usize>(
        &self,
        guard: &'g Guard<'g, M>,
        trail: &mut Trail,
        (mut at, mut word): (u64, Option<u64>),
        level: u64,
        aim: Aim<'_>,
    ) -> Result<Option<Locked<'g, M, W>>> {
        loop {
            let (node, word) = (ByteNode::<M, W>::enter(guard.media(), at, level)?, word.take());
            let mut locked = match Locked::acquire(guard, node.plain()) {
                Ok(locked) => locked,
                Err(Refusal::Damaged) => return Err(node.corrupt(IMPOSSIBLE)),
                Err(Refusal::Absorbed(next)) => {
                    trail.leave_obsolete(at)?;
                    at = match next {
                        0 => match self.descend(guard, trail, aim, level)? {
                            Some(again) => again,
                            None => return Ok(None),
                        },
                        next => next,
                    };
                    continue;
                }
            };
            guard.media().mark(Mark::Step("lock.taken"));
            if locked.is_first_of_session() {
                self.repair(guard, trail, &mut locked)?;
            }
            let link = node.link()?;
            if let Link::Replaced(new) = link {
                drop(locked);
                trail.pass(Signpost { old: at, new, level })?;
                at = new;
                continue;
            }
            if let (Some(word), Link::Right(_)) = (word, link)
                && word < node.high()
            {
                return Ok(Some(locked));
            }
            let (word, extent) = (aim.word::<K, M, W>(&node)?, node.extent::<K>(link)?);
            if !aim.reaches_with(&node, word)? {
                return Err(node.corrupt("a search for a smaller key arrived here"));
            }
            if !aim.is_beyond(&node, word, extent)? {
                return Ok(Some(locked));
            }
            drop(locked);
            // The node may have changed by now: then the next round sees what it leads to.
            if let Some(right) = right_of(&node, node.version(), extent)? {
                at = note_right(trail, right, level);
            }
        }
    }

    /// Locks the leaf that covers `key`: that at which the search has arrived, or one close to it.
    pub(crate) fn lock_leaf<'g>(
        &self,
        guard: &'g Guard<'g, M>,
        trail: &mut Trail,
        place: Arrival,
        key: &[u8],
    ) -> Result<Locked<'g, M, LEAF>> {
        let locked = self.lock_from(guard, trail, (place.leaf, place.word), 0, Aim::At(key))?;
        locked.ok_or_else(|| self.no_leaf())
    }

    /// Locks a node; `None` if it is obsolete, or was replaced. The first lock of a session repairs it.
    pub(crate) fn lock_known<'g, const W: usize>(
        &self,
        guard: &'g Guard<'g, M>,
        at: u64,
        level: u64,
    ) -> Result<Option<Locked<'g, M, W>>> {
        let node = ByteNode::<M, W>::enter(guard.media(), at, level)?;
        let mut locked = match Locked::acquire(guard, node.plain()) {
            Ok(locked) => locked,
            Err(Refusal::Absorbed(_)) => return Ok(None),
            Err(Refusal::Damaged) => return Err(node.corrupt(IMPOSSIBLE)),
        };
        if locked.is_first_of_session() {
            // A separator found missing here is posted by the next writer that moves right.
            self.repair(guard, &mut Trail::default(), &mut locked)?;
        }
        Ok(matches!(node.link()?, Link::Right(_)).then_some(locked))
    }
}
