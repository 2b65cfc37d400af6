//! An enumeration, in steps, of all blocks of a tree that no thread uses any more, and of its records, to free them.

use crate::Result;
use crate::media::{Media, Ordering, Region};
use crate::space::MapState;
use crate::tree::nbtree::blocks::block::Block;
use crate::tree::nbtree::blocks::chunks::{RESERVE, reserve};
use crate::tree::nbtree::keys::form::KeyForm;
use crate::tree::nbtree::keys::word::State;
use crate::tree::numbers::Values;
use crate::tree::record_tree::note_record;

/// The position of the enumeration.
#[derive(Debug, Default)]
pub(crate) struct Inventory {
    /// The number of chains that were started. All of them except the last are done.
    chains: usize,
    /// The next block of the current chain.
    at: u64,
}

impl Inventory {
    /// Takes about `bite` steps; each passes a block or a record to `note`, or starts the next chain. Returns whether the
    /// enumeration has ended.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`](crate::Error::Corrupt) if a word leads to no block, or back to a block that was passed.
    pub(crate) fn step<M: Media, const W: usize, K: KeyForm>(
        &mut self,
        media: &M,
        map: &MapState,
        values: Values,
        note: &mut dyn FnMut(u64, u64) -> bool,
        bite: usize,
    ) -> Result<bool> {
        let mut left = bite;
        while left > 0 {
            left -= 1;
            if self.at != 0 {
                let block = Block::<M, W, K>::at(media, self.at)?;
                if !note(self.at, Block::<M, W, K>::BYTES) {
                    return Err(block.corrupt("a block that is reached twice"));
                }
                if let Some((at, bytes)) = K::beside(media, self.at)? {
                    note(at, bytes);
                }
                // The entries of a signpost are those of the blocks to which it leads.
                if values == Values::Records && !block.next().is_forward() {
                    for slot in Block::<M, W, K>::FIRST..Block::<M, W, K>::SLOTS {
                        if let State::Live(_) = block.word(slot).state() {
                            note_record(media, K::record_at(block.value(slot)), note)?;
                            left = left.saturating_sub(1);
                        }
                    }
                }
                self.at = block.next().at();
            } else if self.chains < K::PARTITIONS {
                let head =
                    Region::new(media, crate::tree::nbtree::tree::head(map, self.chains), 1)?;
                // Acquire: pairs with the Release of the thread that replaced the first block.
                self.at = head.load(0, Ordering::Acquire);
                self.chains += 1;
            } else {
                let reserve = reserve(media, map)?;
                let kept = (0..RESERVE).map(|i| reserve.load(i, Ordering::Acquire));
                kept.filter(|&at| at != 0).for_each(|at| _ = note(at, Block::<M, W, K>::BYTES));
                return Ok(true);
            }
        }
        Ok(false)
    }
}
