//! How long the texts of a leaf are: for a commit that may divide it.

use crate::Result;
use crate::media::Media;
use crate::space::Guard;
use crate::tree::key_word::KeyWord;
use crate::tree::records::leaf_texts::LeafTexts;
use crate::tree::records::record::Record;

use crate::tree::nbtree::blocks::block::Block;
use crate::tree::nbtree::blocks::claims::Claims;
use crate::tree::nbtree::keys::fences::Edges;
use crate::tree::nbtree::keys::strings::{ByteKeys, ByteSought, record_at};
use crate::tree::nbtree::strings::tree::ByteTree;

impl<M: Media, const W: usize, const FANOUT: usize, K: KeyWord> ByteTree<M, W, FANOUT, K> {
    /// The leaf that covers a key.
    pub(crate) fn leaf_texts(&self, guard: &Guard<'_, M>, key: &[u8]) -> Result<LeafTexts> {
        let place = self.place_to_read(guard, 0, ByteSought::leaf_at(key))?;
        let at = place.block.offset();
        // A leaf that is being replaced has no more slots.
        let claims = place.leaf.control().claims();
        let free = claims.map_or(0, |claims| {
            Block::<M, W, ByteKeys<K>>::CAPACITY
                .saturating_sub(Claims::total::<ByteKeys<K>>(claims))
        });
        Ok(LeafTexts { at, free, fence: Edges::of(guard.media(), at)?.longest() })
    }

    /// The number of bytes of the longest key in the block at `at`. Records that cannot be read are left out.
    pub(crate) fn longest_key(&self, guard: &Guard<'_, M>, at: u64) -> Result<usize> {
        let block = Block::<M, W, ByteKeys<K>>::at(guard.media(), at)?;
        // The value is loaded after the word said LIVE, as in a lookup.
        let records = (Block::<M, W, ByteKeys<K>>::FIRST..Block::<M, W, ByteKeys<K>>::SLOTS)
            .filter(|&slot| block.word(slot).live_key().is_some())
            .filter_map(|slot| Record::enter(guard.media(), record_at(block.value(slot))).ok());
        Ok(records.map(|record| record.key_len()).max().unwrap_or(0))
    }
}
