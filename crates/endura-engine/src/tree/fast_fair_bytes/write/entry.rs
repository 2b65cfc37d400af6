//! The change of one entry of a leaf.

use crate::media::Media;
use crate::space::{Guard, Turn};
use crate::tree::Change;
use crate::tree::fast_fair::nodes::locked::Locked;
use crate::tree::fast_fair_bytes::nodes::contents::references;
use crate::tree::fast_fair_bytes::nodes::leaf::{KeySlot, find, reference_to, slot_of};
use crate::tree::fast_fair_bytes::nodes::node::ByteNode;
use crate::tree::fast_fair_bytes::nodes::search::used;
use crate::tree::fast_fair_bytes::nodes::shift::{Place, fast_delete, fast_insert, fast_update};
use crate::tree::fast_fair_bytes::path::trail::{Arrival, Separator, Signpost, Trail};
use crate::tree::fast_fair_bytes::tree::Tree;
use crate::tree::fast_fair_bytes::write::merge::sparse;
use crate::tree::fast_fair_bytes::write::replace::{Replaced, split_point};
use crate::tree::key_word::KeyWord;
use crate::tree::records::fingerprint::Sought;
use crate::tree::records::linking::Linking;
use crate::tree::records::record::{Record, check_lengths};
use crate::{Result, space::OpenMap};

impl<M: Media, const INNER: usize, const LEAF: usize, K: KeyWord> Linking
    for Tree<M, INNER, LEAF, K>
{
    type Medium = M;
    type Sought<'k> = Sought<'k>;
    type Place = Arrival;

    fn open_map(&self) -> &OpenMap<M> {
        &self.open
    }

    fn sought<'k>(&self, key: &'k [u8]) -> Result<Sought<'k>> {
        check_lengths(key.len(), 0)?;
        Ok(Sought::new(key))
    }

    fn bytes<'k>(key: Self::Sought<'k>) -> &'k [u8] {
        key.bytes
    }

    #[inline]
    fn find<'g>(
        &self,
        guard: &'g Guard<'_, M>,
        key: Sought<'_>,
    ) -> Result<(Arrival, Option<Record<'g, M>>)> {
        let mut trail = Trail::default();
        let leaf = self.descend_to_leaf(guard, &mut trail, key.bytes)?;
        let mut arrival = trail.arrive(leaf);
        let found = self.get_at(guard, &mut trail, leaf, &key, &mut arrival.word)?;
        Ok((arrival, found))
    }

    fn try_link(
        &self,
        guard: &Guard<'_, M>,
        key: Sought<'_>,
        place: Arrival,
        turn: Option<&Turn<'_>>,
        expected: Option<u64>,
        change: Change,
    ) -> Result<Option<Option<u64>>> {
        let mut trail = place.trail();
        let mut leaf = self.lock_leaf(guard, &mut trail, place, key.bytes)?;
        let node = ByteNode::of(leaf.node());
        let word = match place.word {
            Some(word) if node.at() == place.leaf => word,
            _ => node.word_of::<K>(key.bytes)?,
        };
        // In this pin the record that the search has found is that of no other key.
        let same = expected.and_then(|at| slot_of(&node, word, at));
        let found = match same {
            Some(found) => found,
            None => find::<K, M, LEAF>(&node, word, &key)?,
        };
        if found.record() != expected {
            return Ok(Some(found.record()));
        }
        let (mut split, mut is_sparse) = (None, false);
        match (change, found) {
            (Change::Keep, _) | (Change::Remove, KeySlot::Absent(_)) => {}
            (Change::Put(new), KeySlot::Found(slot, _)) => {
                fast_update(guard, &mut leaf, slot, reference_to::<K>(&key, new));
            }
            (Change::Remove, KeySlot::Found(slot, _)) => {
                let count = used(&node);
                fast_delete(guard, &mut leaf, Place { count, slot });
                is_sparse = count - 1 < sparse::<M, LEAF>();
                self.open.map().add(-1);
            }
            // The announced pops are asked under the lock, so that a pop that is announced later finds the leaf locked.
            // They are asked before anything is stored.
            (Change::Put(_), KeySlot::Absent(_)) if !self.open.map().pops().admit(key.bytes) => {
                return Ok(None);
            }
            (Change::Put(new), KeySlot::Absent(slot)) => {
                let (count, reference) = (used(&node), reference_to::<K>(&key, new));
                if count < ByteNode::<M, LEAF>::CAP {
                    fast_insert(guard, &mut leaf, Place { count, slot }, word, reference);
                } else if let Some(separator) =
                    self.fair_split(guard, &mut leaf, Place { count, slot }, (word, reference))?
                {
                    split = Some(separator);
                } else {
                    let replaced = self.split_leaf(guard, leaf, slot, reference)?;
                    self.finish(guard, &trail, (Some(replaced.signpost), replaced.separator));
                    return Ok(Some(expected));
                }
                self.open.map().add(1);
            }
        }
        drop(leaf);
        self.finish(guard, &trail, (None, split));
        if is_sparse {
            if let Some(turn) = turn {
                turn.is_out();
            }
            guard.upkeep(|| self.merge_from(guard, key.bytes, 0));
        }
        Ok(Some(expected))
    }

    fn wait_for_pop(&self, key: Sought<'_>) {
        self.open.map().pops().wait_for(key.bytes);
    }
}

impl<M: Media, const INNER: usize, const LEAF: usize, K: KeyWord> Tree<M, INNER, LEAF, K> {
    /// Replaces a full leaf by two, with a new entry at `slot`.
    #[cold]
    fn split_leaf<'g>(
        &self,
        guard: &'g Guard<'g, M>,
        leaf: Locked<'g, M, LEAF>,
        slot: usize,
        reference: u64,
    ) -> Result<Replaced> {
        let node = ByteNode::of(leaf.node());
        let mut all = references(&node)?;
        all.insert(slot, reference);
        let middle = split_point(all.len(), slot);
        let prepared = self.prepare(guard, &node, &all, Some(middle), node.link()?.at())?;
        // The unlocks follow the count: the last of them is the full fence of the operation.
        self.open.map().add(1);
        self.replace(guard, leaf, None, prepared)
    }

    /// The operation is done and durable. The rest only improves the shape of the tree: if it fails, a later writer does
    /// it. But damage is recorded.
    #[inline]
    fn finish(
        &self,
        guard: &Guard<'_, M>,
        trail: &Trail,
        own: (Option<Signpost>, Option<Separator>),
    ) {
        for (signpost, separator) in [own, (trail.signpost, trail.missing)] {
            if signpost.is_some() || separator.is_some() {
                self.tidy(guard, signpost, separator);
            }
        }
    }

    /// Settles a signpost, and posts a separator.
    #[cold]
    #[inline(never)]
    fn tidy(&self, guard: &Guard<'_, M>, signpost: Option<Signpost>, separator: Option<Separator>) {
        guard.upkeep(|| signpost.map_or(Ok(()), |signpost| self.settle(guard, signpost)));
        guard.upkeep(|| separator.map_or(Ok(()), |separator| self.post(guard, separator)));
    }
}
