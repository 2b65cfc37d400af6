//! The first entry and the last, at one moment.
//!
//! The answer is the nearest entry in the first leaf that has one. Seen from that end, empty leaves may lie
//! before it (a remove has not merged them yet), and what was empty when it was passed need not be when
//! the answer is read. So each of them is looked at again *after* the answer: a leaf that was empty twice, and in
//! which no more than the primitive that the first look announced has run, was empty all the time in between,
//! for one primitive does not enter an entry and take it out. That time has the moment in it at which the
//! answer's leaf was confirmed: the answer is that of this moment.
//!
//! A look that is in vain was disturbed by a writer that got on: lock-free, and no wait for a writer that stands
//! still. Each attempt has a pin of its own. Leaves that are passed are few, for removes merge them.

use crate::Result;
use crate::media::Media;
use crate::pool::Guard;

use super::Tree;
use super::read::Seen;
use super::route::Trail;
use super::scan::{beyond, first_slot, has_copies, nearest_while_moving};
use super::search::Search;
use super::version::Direction;

/// A leaf in which nothing was found from a key on.
struct Passed<'g, M: Media, const LEAF: usize> {
    key: u64,
    seen: Seen<'g, M, LEAF, Option<(u64, u64)>>,
}

impl<M: Media, const INNER: usize, const LEAF: usize, S: Search> Tree<M, INNER, LEAF, S> {
    /// The first entry; for `UP` = false the last.
    pub(super) fn end<const UP: bool>(&self) -> Result<Option<(u64, u64)>> {
        loop {
            let guard = self.pin()?;
            if let Some(answer) = self.try_end::<UP>(&guard)? {
                return Ok(answer);
            }
        }
    }

    /// `None`: a writer came between.
    fn try_end<const UP: bool>(&self, guard: &Guard<'_, M>) -> Result<Option<Option<(u64, u64)>>> {
        let (mut passed, mut answer) = (Vec::new(), None);
        let mut next = Some(if UP { 0 } else { u64::MAX });
        while let (Some(key), None) = (next, answer) {
            let seen = self.look_from::<UP>(guard, key)?;
            answer = seen.found;
            if answer.is_none() {
                next = beyond::<UP>(seen.fences);
                passed.push(Passed { key, seen });
            }
        }
        let is_one_moment = passed.iter().all(|leaf| self.is_still_empty::<UP>(leaf));
        Ok(is_one_moment.then_some(answer))
    }

    /// The entry nearest to `key` in the leaf that covers it.
    fn look_from<'g, const UP: bool>(
        &self,
        guard: &'g Guard<'_, M>,
        key: u64,
    ) -> Result<Seen<'g, M, LEAF, Option<(u64, u64)>>> {
        let mut trail = Trail::default();
        let at = self.descend_to_leaf(guard, &mut trail, key)?;
        let generation = guard.space().generation();
        let seen = self.read_leaf(guard, &mut trail, at, key, |node, fences, moving| {
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
        })?;
        if seen.version.in_flight() && guard.media().needs_flush() {
            seen.node.help_flush();
        }
        Ok(seen)
    }

    /// Whether nothing was in a leaf at any moment since it was passed.
    fn is_still_empty<const UP: bool>(&self, passed: &Passed<'_, M, LEAF>) -> bool {
        let Seen { node, version, fences, .. } = passed.seen;
        match version.moving(self.space().generation()) {
            // Nobody was at work: if nobody has begun since, nothing has changed.
            None => node.is_still(version.unlocked()),
            Some(moving) => {
                nearest_while_moving::<UP, M, LEAF>(&node, fences, passed.key, moving).is_none()
                    && node.fences() == fences
                    && node.confirms(version)
            }
        }
    }
}
