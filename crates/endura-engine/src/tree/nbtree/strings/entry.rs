//! The search and the change of a write ([`linking`](crate::tree::records::linking)).

use crate::Result;
use crate::media::Media;
use crate::space::{Guard, OpenMap, Turn};
use crate::sync::fence_behind_exchange;
use crate::tree::Change;
use crate::tree::key_word::KeyWord;
use crate::tree::records::linking::Linking;
use crate::tree::records::record::{Record, check_lengths};

use crate::tree::nbtree::design::Strings;
use crate::tree::nbtree::keys::strings::{ByteSought, record_at};
use crate::tree::nbtree::read::lookup::CurrentLeaf;
use crate::tree::nbtree::strings::tree::ByteTree;

/// The number of a leaf, and the offset of its block.
type Place = (u32, u64);

impl<M: Media, const W: usize, const FANOUT: usize, K: KeyWord> ByteTree<M, W, FANOUT, K> {
    /// The record of a key, if it is present; and the leaf in which it is, or would be.
    #[inline(always)]
    pub(crate) fn find_record<'g>(
        &self,
        guard: &'g Guard<'_, M>,
        place: &CurrentLeaf<'_, '_, M, W, Strings<K>>,
        key: ByteSought<'_>,
    ) -> Result<Option<Record<'g, M>>> {
        let slot = place.probe(key)?;
        // The value may be newer than the one that the probe has seen: that of the same key.
        let at = slot.map(|slot| record_at(place.block.value(slot)));
        place.settle_answer(guard.media(), key);
        at.map(|at| Record::enter(guard.media(), at)).transpose()
    }
}

impl<M: Media, const W: usize, const FANOUT: usize, K: KeyWord> Linking
    for ByteTree<M, W, FANOUT, K>
{
    type Medium = M;
    type Sought<'k> = ByteSought<'k>;
    type Place = Place;

    /// An insert compares its key with the records of others that are PENDING.
    const RIVALS_READ_RECORDS: bool = true;

    fn open_map(&self) -> &OpenMap<M> {
        &self.open
    }

    fn sought<'k>(&self, key: &'k [u8]) -> Result<ByteSought<'k>> {
        check_lengths(key.len(), 0)?;
        self.prepare(0)?;
        Ok(ByteSought::new::<K>(key))
    }

    fn bytes<'k>(key: Self::Sought<'k>) -> &'k [u8] {
        key.bytes
    }

    #[inline]
    fn find<'g>(
        &self,
        guard: &'g Guard<'_, M>,
        key: ByteSought<'_>,
    ) -> Result<(Place, Option<Record<'g, M>>)> {
        let place = self.place_to_write(guard, 0, key)?;
        let found = self.find_record(guard, &place, key)?;
        Ok(((place.number, place.block.offset()), found))
    }

    fn try_link(
        &self,
        guard: &Guard<'_, M>,
        key: ByteSought<'_>,
        (number, at): Place,
        turn: Option<&Turn<'_>>,
        expected: Option<u64>,
        change: Change,
    ) -> Result<Option<Option<u64>>> {
        let decide = &mut |old: Option<u64>| {
            Some(match change {
                Change::Put(at) if old.map(record_at) == expected => {
                    Change::Put(key.reference_to(at))
                }
                Change::Remove if old.map(record_at) == expected => Change::Remove,
                _ => Change::Keep,
            })
        };
        // The leaf may have been replaced since the search. Then it is frozen, and no change in it succeeds.
        let leaf = self.meta.leaves.get(number);
        let place = CurrentLeaf::of(guard.media(), number, leaf, at)?;
        let answer = match self.write_in(guard, (0, key), &place, turn, decide)? {
            Some(answer) => {
                // As in `acknowledge` of numbers.
                fence_behind_exchange();
                answer
            }
            None if self.open.map().pops().holds_up(&key) => return Ok(None),
            None => match self.write_within(guard, (0, key), turn, decide)? {
                Some(answer) => answer,
                None => return Ok(None),
            },
        };
        Ok(Some(answer.map(record_at)))
    }

    fn wait_for_pop(&self, key: ByteSought<'_>) {
        self.open.map().pops().wait_for(&key);
    }
}
