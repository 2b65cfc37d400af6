//! The look into a leaf for [`ends`](crate::tree::ends).
//!
//! A leaf was empty throughout if it was empty in both checks and no primitive ran in between except the one that was
//! announced at the first check: one primitive cannot insert an entry and remove it. A leaf that was absorbed in
//! between is obsolete, which its version shows.

use crate::Result;
use crate::media::Media;
use crate::space::{Guard, MapState, Space};
use crate::tree::ends::{Leaves, Look, Trust, Wait};
use crate::tree::lock_word::IMPOSSIBLE;

use crate::tree::fast_fair::nodes::header::Fences;
use crate::tree::fast_fair::nodes::lock_word::{Direction, LockWord};
use crate::tree::fast_fair::nodes::node::Node;
use crate::tree::fast_fair::nodes::search::Search;
use crate::tree::fast_fair::path::trail::Trail;
use crate::tree::fast_fair::read::scan::{beyond, first_slot, has_copies, nearest_while_moving};
use crate::tree::fast_fair::tree::Tree;

/// A leaf, and the key from which on the look examined it.
pub(crate) struct Passed {
    key: u64,
    at: u64,
    version: LockWord,
    fences: Fences,
}

impl<M, const INNER: usize, const LEAF: usize, S, const UP: bool> Leaves<UP>
    for Tree<M, INNER, LEAF, S>
where
    M: Media,
    S: Search,
{
    type Medium = M;
    type Leaf = Passed;
    type Key = u64;
    type Entry = (u64, u64);

    fn begin() -> u64 {
        if UP { 0 } else { u64::MAX }
    }

    fn pin(&self, _: Trust) -> Result<Guard<'_, M>> {
        self.open.pin()
    }

    fn space(&self) -> &Space<M> {
        self.open.space()
    }

    fn map(&self) -> &MapState {
        self.open.map()
    }

    fn look(
        &self,
        guard: &Guard<'_, M>,
        key: u64,
        trust: Trust,
    ) -> Result<Look<Passed, u64, (u64, u64)>> {
        let mut trail = Trail::default();
        let at = self.descend_to_leaf(guard, &mut trail, key)?;
        let generation = guard.space().generation();
        let nearest = |node: &Node<'_, M, LEAF>, fences, moving| {
            let count = self.live(node);
            match moving {
                None if !has_copies(node, count, generation) => {
                    first_slot::<UP, M, LEAF, S>(node, fences, count, key).entry
                }
                moving => {
                    let moving = moving.unwrap_or(Direction::Right);
                    nearest_while_moving::<UP, M, LEAF>(node, fences, key, moving)
                }
            }
        };
        let mut seen = self.read_leaf(guard, &mut trail, at, key, nearest)?;
        // A writer that inserts a key locks the leaf before it looks for an announced pop, and holds the lock until the
        // key is in the leaf.
        let is_held = |version: LockWord| trust == Trust::Quiet && version.is_held(generation);
        let mut wait = Wait::default();
        while is_held(seen.version) && wait.goes_on() {
            seen = self.read_leaf(guard, &mut trail, seen.node.at(), key, nearest)?;
        }
        let is_quiet = !is_held(seen.version);
        if !is_quiet && !guard.space().has_set_lock(seen.node.at()) {
            return Err(seen.node.corrupt(IMPOSSIBLE));
        }
        if seen.version.in_flight() && guard.media().needs_flush() {
            seen.node.help_flush();
        }
        let (version, fences) = (seen.version, seen.fences);
        let leaf = Passed { key, at: seen.node.at(), version, fences };
        Ok(Look { entry: seen.found, beyond: beyond::<UP>(fences), leaf, is_quiet })
    }

    fn was_empty(&self, leaf: &Passed) -> bool {
        let &Passed { key, at, version, fences } = leaf;
        // The offset was inside the pool when the leaf was passed.
        let Ok(node) = Node::<M, LEAF>::fresh(self.open.space().media(), at) else { return false };
        match version.moving(self.open.space().generation()) {
            // No writer was at work at the first check. If none has begun since, nothing has changed.
            None => node.is_still(version.unlocked()),
            Some(moving) => {
                nearest_while_moving::<UP, M, LEAF>(&node, fences, key, moving).is_none()
                    && node.fences() == fences
                    && node.confirms(version)
            }
        }
    }

    fn is_lost(&self, leaf: &Passed, (key, value): (u64, u64)) -> Result<bool> {
        if self.lookup(key)? == Some(value) {
            return Ok(false);
        }
        let node = Node::<M, LEAF>::fresh(self.open.space().media(), leaf.at)?;
        let was_quiet = leaf.version.moving(self.open.space().generation()).is_none();
        Ok(was_quiet && node.is_still(leaf.version.unlocked()))
    }
}
