//! Locking the node that covers a key.

use crate::Result;
use crate::media::{Mark, Media};
use crate::space::Guard;

use crate::tree::fast_fair::nodes::locked::{Locked, Refusal};
use crate::tree::fast_fair::nodes::node::Node;
use crate::tree::fast_fair::nodes::search::Search;
use crate::tree::fast_fair::path::descend::check_ahead;
use crate::tree::fast_fair::path::trail::{Right, Trail};
use crate::tree::fast_fair::tree::Tree;
use crate::tree::lock_word::IMPOSSIBLE;

impl<M: Media, const INNER: usize, const LEAF: usize, S: Search> Tree<M, INNER, LEAF, S> {
    /// Locks the node of `level` that covers `key`, and repairs the node if it is locked for the first time since the
    /// pool was opened. The search continues from `at`. `None` if the tree no longer has this level.
    pub(crate) fn lock_covering<'g, const W: usize>(
        &self,
        guard: &'g Guard<'g, M>,
        trail: &mut Trail,
        mut at: u64,
        level: u64,
        key: u64,
    ) -> Result<Option<Locked<'g, M, W>>> {
        loop {
            let node = Node::<M, W>::enter(guard.media(), at, level)?;
            let mut locked = match Locked::acquire(guard, node) {
                Ok(locked) => locked,
                Err(Refusal::Damaged) => return Err(node.corrupt(IMPOSSIBLE)),
                Err(Refusal::Absorbed(next)) => {
                    trail.leave_obsolete(at)?;
                    at = match next {
                        0 => match self.descend(guard, trail, key, level)? {
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
            let fences = node.fences();
            if key < fences.low {
                return Err(node.corrupt("a search for a smaller key arrived here"));
            }
            if fences.is_below_high(key) {
                return Ok(Some(locked));
            }
            let right = Right { at: node.sibling()?.at, settled: Some(fences.high) };
            check_ahead(&node, right.at)?;
            drop(locked);
            at = self.note_right(guard, trail, right, level)?;
        }
    }

    /// Locks the leaf that covers `key`: the one at `at`, or one close to it.
    ///
    /// A leaf that needs no care is locked inline, because a call would return its result through memory.
    #[inline(always)]
    pub(crate) fn lock_leaf<'g>(
        &self,
        guard: &'g Guard<'g, M>,
        trail: &mut Trail,
        at: u64,
        key: u64,
    ) -> Result<Locked<'g, M, LEAF>> {
        let node = Node::<M, LEAF>::enter(guard.media(), at, 0)?;
        if let Some(locked) = Locked::try_acquire(guard, node) {
            guard.media().mark(Mark::Step("lock.taken"));
            let fences = node.peek_fences();
            if fences.low <= key && fences.is_below_high(key) {
                return Ok(locked);
            }
        }
        self.lock_leaf_near(guard, trail, at, key)
    }

    /// As [`lock_leaf`](Self::lock_leaf), for a leaf at `at` that is locked, was not locked before in this session, is
    /// obsolete, or does not cover `key`.
    #[cold]
    #[inline(never)]
    fn lock_leaf_near<'g>(
        &self,
        guard: &'g Guard<'g, M>,
        trail: &mut Trail,
        at: u64,
        key: u64,
    ) -> Result<Locked<'g, M, LEAF>> {
        self.lock_covering(guard, trail, at, 0, key)?.ok_or_else(|| self.no_leaf())
    }
}
