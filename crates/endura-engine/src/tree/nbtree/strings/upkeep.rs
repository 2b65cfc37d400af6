//! What only walks over a whole tree of byte strings do: they check its records, and find them all.

use crate::Result;
use crate::media::Media;
use crate::space::{Guard, LeakWalk, MapState};
use crate::tree::TreeCheck;
use crate::tree::key_word::KeyWord;
use crate::tree::records::record::Record;
use crate::tree::records::record_walk::walk_over_records;

use crate::tree::nbtree::blocks::block::Block;
use crate::tree::nbtree::keys::fences::ByteFence;
use crate::tree::nbtree::keys::form::{Extent, KeyForm};
use crate::tree::nbtree::keys::strings::{ByteKeys, ByteSought, record_at};
use crate::tree::nbtree::strings::tree::ByteTree;
use crate::tree::nbtree::upkeep::check::check_blocks;

/// Checks the blocks of `W` words of `map`, and all records. Passes the offset and the bytes of every chunk to `visit`. Exact
/// only while no thread writes. O(n).
///
/// # Errors
///
/// [`Error::Corrupt`](crate::Error::Corrupt) for the first check that fails.
pub(crate) fn check_tree<M: Media, const W: usize, K: KeyWord>(
    guard: &Guard<'_, M>,
    map: &MapState,
    visit: &mut dyn FnMut(u64, u64),
) -> Result<TreeCheck> {
    let media = guard.media();
    check_blocks::<M, W, ByteKeys<K>>(guard, map, visit, &mut |_, found, extent, visit| {
        if let Some(at) = found.beside::<M, ByteKeys<K>>(media)? {
            Record::enter(media, at)?.check_sum()?;
        }
        let block = Block::<M, W, ByteKeys<K>>::at(media, found.at)?;
        check_records::<M, W, K>(&block, extent, visit)
    })
}

/// Checks that the keys of a block are inside its fences and have the images and fingerprints that their slots say, that
/// none occurs twice, and that records are sound. Returns their number.
fn check_records<M: Media, const W: usize, K: KeyWord>(
    block: &Block<'_, M, W, ByteKeys<K>>,
    extent: Extent,
    visit: &mut dyn FnMut(u64, u64),
) -> Result<u64> {
    let media = block.media();
    let fences = ByteKeys::<K>::fences(media, block.offset())?;
    let high = fences.high.unwrap_or(ByteFence::End);
    let mut keys = Vec::new();
    for slot in Block::<M, W, ByteKeys<K>>::FIRST..Block::<M, W, ByteKeys<K>>::SLOTS {
        let Some(image) = block.word(slot).live_key() else { continue };
        let reference = block.value(slot);
        let record = Record::enter(media, record_at(reference))?;
        record.check_sum()?;
        visit(record.at(), record.bytes());
        let key = record.key().to_vec();
        let sought = ByteSought::new::<K>(&key);
        if !sought.agrees_with(reference) {
            return Err(block.corrupt("a fingerprint that is not that of its key"));
        }
        let is_its = ByteKeys::<K>::image(|| extent, sought) == image;
        let fence = ByteFence::Key(key);
        if fence < fences.low || fence >= high {
            return Err(block.corrupt("a key outside of its block"));
        }
        if !is_its {
            return Err(block.corrupt("a word that is not that of its key"));
        }
        keys.push(fence);
    }
    keys.sort_unstable();
    if keys.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(block.corrupt("a key twice in a block"));
    }
    Ok(keys.len() as u64)
}

impl<M: Media, const W: usize, const FANOUT: usize, K: KeyWord> ByteTree<M, W, FANOUT, K> {
    /// Walks that cover all blocks and all records, for a [`LeakRecoverer`](crate::space::LeakRecoverer).
    pub fn marking_strings(&self) -> Vec<Box<dyn LeakWalk<M>>> {
        let mut walks = self.marking();
        walks.push(walk_over_records(self));
        walks
    }
}
