//! Writes to one leaf: the writer looks up the key under the lock, then changes one entry.

use crate::media::{Mark, Media};
use crate::space::{AnyKey, Guard, Seat, Turn};

use crate::tree::fast_fair::nodes::lock_word::Primitive;
use crate::tree::fast_fair::nodes::locked::Locked;
use crate::tree::fast_fair::nodes::node::Node;
use crate::tree::fast_fair::nodes::search::Search;
use crate::tree::fast_fair::nodes::shift::{fast_delete, fast_insert};
use crate::tree::fast_fair::path::trail::{Separator, Trail};
use crate::tree::fast_fair::tree::Tree;
use crate::tree::fast_fair::write::merge::sparse;
use crate::tree::{Change, Near};
use crate::{Error, Result};

impl<M: Media, const INNER: usize, const LEAF: usize, S: Search> Tree<M, INNER, LEAF, S> {
    /// Passes the current value of `key` to `decide`, applies the change that `decide` returns, and returns the value
    /// that was passed.
    ///
    /// The lookup is done under the lock of the leaf, so that a present key is never inserted twice. If `decide`
    /// returns `None`, this process is now the child of a fork. The child stores nothing more, because the parent holds
    /// the lock. A pop passes its `turn`.
    #[inline(always)]
    pub(crate) fn write(
        &self,
        mut near: Option<&mut Near>,
        key: u64,
        turn: Option<&Turn<'_>>,
        decide: &mut impl FnMut(Option<u64>) -> Option<Change>,
    ) -> Result<Option<u64>> {
        loop {
            if let Some(answer) = self.try_write(near.as_deref_mut(), key, turn, decide)? {
                return Ok(answer);
            }
            self.open.map().pops().wait_for(&key);
        }
    }

    /// Does what [`write`](Self::write) does. It is compiled once for all closures, so it is for those that are not on
    /// the path of an insert or a remove.
    #[inline(never)]
    pub(crate) fn write_dyn(
        &self,
        key: u64,
        turn: Option<&Turn<'_>>,
        decide: &mut dyn FnMut(Option<u64>) -> Option<Change>,
    ) -> Result<Option<u64>> {
        self.write(None, key, turn, &mut |old| decide(old))
    }

    /// One attempt of [`write`](Self::write). `None` if a pop has to come first; nothing has changed then.
    fn try_write(
        &self,
        near: Option<&mut Near>,
        key: u64,
        turn: Option<&Turn<'_>>,
        decide: &mut impl FnMut(Option<u64>) -> Option<Change>,
    ) -> Result<Option<Option<u64>>> {
        let guard = self.open.pin_mut_for(|| AnyKey::Number(key))?;
        guard.media().mark(Mark::Begin);
        self.write_within(&guard, near, key, turn, decide)
    }

    /// Does what [`try_write`](Self::try_write) does, inside the pin of the caller.
    #[inline(always)]
    pub(crate) fn write_within(
        &self,
        guard: &Guard<'_, M>,
        near: Option<&mut Near>,
        key: u64,
        turn: Option<&Turn<'_>>,
        decide: &mut impl FnMut(Option<u64>) -> Option<Change>,
    ) -> Result<Option<Option<u64>>> {
        let mut trail = Trail::default();
        let at = match near.as_deref().and_then(|near| self.still_covering(guard, near, key)) {
            Some(at) => at,
            None => self.descend_to_leaf(guard, &mut trail, key)?,
        };
        let mut leaf = self.lock_leaf(guard, &mut trail, at, key)?;
        let found @ (slot, old) = self.find(leaf.node(), key);
        let Some(change) = decide(old) else {
            leaf.leave_to_parent();
            return Err(Error::Forked);
        };
        let (mut split, mut is_sparse) = (None, false);
        match (change, old) {
            (Change::Keep, _) | (Change::Remove, None) => {}
            (Change::Put(value), Some(_)) => self.update(guard, &mut leaf, slot, value),
            // The announced pops are asked under the lock, so that a pop that is announced later finds the leaf locked.
            // They are asked before anything is stored.
            (Change::Put(_), None) if !self.open.map().pops().admit(&key) => return Ok(None),
            (Change::Put(value), None) => {
                let place = self.place(leaf.node(), found)?;
                if place.count < Node::<M, LEAF>::CAP {
                    fast_insert(guard, &mut leaf, &place, key, value);
                } else {
                    split = Some(self.fair_split(guard, &mut leaf, &place, key, value)?);
                }
                self.count(key, 1);
            }
            (Change::Remove, Some(_)) => {
                let place = self.place(leaf.node(), found)?;
                fast_delete(guard, &mut leaf, &place);
                is_sparse = place.count - 1 < sparse::<M, LEAF>();
                self.count(key, -1);
            }
        }
        if let Some(near) = near {
            let behind = split.filter(|split| key >= split.key).map(|split| split.child);
            near.0 = Seat::take(guard, behind.unwrap_or(leaf.node().at()));
        }
        drop(leaf);
        // The operation is done and durable. The rest only improves the shape of the tree: if it fails, a later writer
        // does it.
        for separator in [split, trail.missing].into_iter().flatten() {
            self.post_later(guard, separator);
        }
        if is_sparse {
            if let Some(turn) = turn {
                turn.is_out();
            }
            self.merge_later(guard, key);
        }
        guard.media().mark(Mark::Acknowledged);
        Ok(Some(old))
    }

    /// Posts a separator. The separator may stay missing, so a failure is ignored. But damage is recorded.
    #[inline(never)]
    fn post_later(&self, guard: &Guard<'_, M>, separator: Separator) {
        guard.upkeep(|| self.post(guard, separator));
    }

    /// Merges a sparse leaf. A failure is treated as in [`post_later`](Self::post_later).
    #[inline(never)]
    fn merge_later(&self, guard: &Guard<'_, M>, key: u64) {
        guard.upkeep(|| self.fair_merge(guard, key, 0));
    }

    /// The leaf of the last insert, if it covers `key` too. Inside the pin this leaf is as good as one that a search
    /// has reached: if it has split or was absorbed since, the writer that locks it continues from there.
    fn still_covering(&self, guard: &Guard<'_, M>, near: &Near, key: u64) -> Option<u64> {
        let &at = near.0.within(guard)?;
        let fences = Node::<M, LEAF>::enter(guard.media(), at, 0).ok()?.fences();
        (fences.low <= key && fences.is_below_high(key)).then_some(at)
    }

    /// Replaces one value, by one store to one line.
    fn update(
        &self,
        guard: &Guard<'_, M>,
        leaf: &mut Locked<'_, M, LEAF>,
        slot: usize,
        value: u64,
    ) {
        leaf.begin(Primitive::Update);
        leaf.node().set_value(slot, value);
        leaf.node().flush_slot(slot);
        // The drain is before the unlock: a reader that finds the leaf quiet does not flush.
        guard.media().drain();
    }
}
