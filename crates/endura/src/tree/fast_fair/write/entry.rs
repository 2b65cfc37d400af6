//! Writes to one leaf: look the key up under the lock, then change one entry.

use crate::media::{Mark, Media};
use crate::pool::{Guard, Seat};

use crate::tree::fast_fair::nodes::lock_word::Primitive;
use crate::tree::fast_fair::nodes::locked::Locked;
use crate::tree::fast_fair::nodes::node::Node;
use crate::tree::fast_fair::nodes::search::Search;
use crate::tree::fast_fair::nodes::shift::{fast_delete, fast_insert};
use crate::tree::fast_fair::path::trail::Trail;
use crate::tree::fast_fair::tree::Tree;
use crate::tree::fast_fair::write::merge::sparse;
use crate::tree::{Change, Near};
use crate::{Error, Result};

impl<M: Media, const INNER: usize, const LEAF: usize, S: Search> Tree<M, INNER, LEAF, S> {
    /// Applies what `decide` makes of the present value of `key`, and returns that value.
    ///
    /// The lookup happens under the lock of the leaf, so a present key is never entered twice. `None`
    /// says that this is a child of a fork by now: nothing is stored any more, and the lock is the parent's.
    #[inline(always)]
    pub(crate) fn write(
        &self,
        mut near: Option<&mut Near>,
        key: u64,
        decide: &mut impl FnMut(Option<u64>) -> Option<Change>,
    ) -> Result<Option<u64>> {
        loop {
            if let Some(answer) = self.try_write(near.as_deref_mut(), key, decide)? {
                return Ok(answer);
            }
            self.open.map().pops().wait_for(&key);
        }
    }

    /// `None`: a pop has to come first. Nothing has changed.
    fn try_write(
        &self,
        near: Option<&mut Near>,
        key: u64,
        decide: &mut impl FnMut(Option<u64>) -> Option<Change>,
    ) -> Result<Option<Option<u64>>> {
        let guard = self.open.pin_mut()?;
        guard.media().mark(Mark::Begin);
        let mut trail = Trail::default();
        let at = match near.as_deref().and_then(|near| self.still_covering(&guard, near, key)) {
            Some(at) => at,
            None => self.descend_to_leaf(&guard, &mut trail, key)?,
        };
        let mut leaf = self.lock_leaf(&guard, &mut trail, at, key)?;
        let place = self.place(leaf.node(), key)?;
        let Some(change) = decide(place.value) else {
            leaf.leave_to_parent();
            return Err(Error::Forked);
        };
        let (mut split, mut is_sparse) = (None, false);
        match (change, place.value) {
            (Change::Keep, _) | (Change::Remove, None) => {}
            (Change::Put(value), Some(_)) => self.update(&guard, &mut leaf, place.slot, value),
            // Under the lock, in which a pop that is announced later finds the leaf; before anything is stored.
            (Change::Put(_), None) if !self.open.map().pops().admit(&key) => return Ok(None),
            (Change::Put(value), None) => {
                if place.count < Node::<M, LEAF>::CAP {
                    fast_insert(&guard, &mut leaf, &place, key, value);
                } else {
                    split = Some(self.fair_split(&guard, &mut leaf, &place, key, value)?);
                }
                self.count(key, 1);
            }
            (Change::Remove, Some(_)) => {
                fast_delete(&guard, &mut leaf, &place);
                is_sparse = place.count - 1 < sparse::<M, LEAF>();
                self.count(key, -1);
            }
        }
        if let Some(near) = near {
            let behind = split.filter(|split| key >= split.key).map(|split| split.child);
            near.0 = Seat::take(&guard, behind.unwrap_or(leaf.node().at()));
        }
        drop(leaf);
        // The operation is done and durable. What follows only improves the shape of the tree: if
        // it fails, the next writer that comes by does it.
        for separator in [split, trail.missing].into_iter().flatten() {
            let _ = self.post(&guard, separator);
        }
        if is_sparse {
            self.open.map().pops().is_out(&key);
            let _ = self.fair_merge(&guard, key, 0);
        }
        guard.media().mark(Mark::Acknowledged);
        Ok(Some(place.value))
    }

    /// The leaf of the last insert, if `key` belongs there too. Inside the pin it is as good as one that a search
    /// has come to: whoever locks it goes on from there if it has split, or gone, since.
    fn still_covering(&self, guard: &Guard<'_, M>, near: &Near, key: u64) -> Option<u64> {
        let &at = near.0.within(guard)?;
        let fences = Node::<M, LEAF>::enter(guard.media(), at, 0).ok()?.fences();
        (fences.low <= key && fences.is_below_high(key)).then_some(at)
    }

    /// Replaces one value: one store, one line.
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
        // Before the unlock: a reader that finds the leaf quiet does not flush.
        guard.media().drain();
    }
}
