//! A walk over all blocks that checks all their invariants.

use crate::Result;
use crate::media::Media;
use crate::space::{Guard, MapState};
use crate::sync::Ordering;
use crate::tree::{Repairs, TreeCheck};

use crate::tree::nbtree::blocks::block::Block;
use crate::tree::nbtree::blocks::chunks::{RESERVE, reserve};
use crate::tree::nbtree::keys::form::{Extent, KeyForm};
use crate::tree::nbtree::keys::key::join;
use crate::tree::nbtree::keys::numbers::NumberKeys;
use crate::tree::nbtree::keys::word::State;
use crate::tree::nbtree::restart::chain::{Chain, ChainBlock};

/// Checks the blocks of `W` words of `map`, whose keys are numbers. Passes the offset and the bytes of each block to
/// `visit`, and the key and the value of each entry to `entry`. Exact only while no thread writes. O(n).
///
/// # Errors
///
/// [`Error::Corrupt`](crate::Error::Corrupt) for the first check that fails.
pub(crate) fn check_tree<M: Media, const W: usize>(
    guard: &Guard<'_, M>,
    map: &MapState,
    visit: &mut dyn FnMut(u64, u64),
    entry: &mut dyn FnMut((u64, u64)) -> Result<()>,
) -> Result<TreeCheck> {
    check_blocks::<M, W, NumberKeys>(guard, map, visit, &mut |partition, found, extent, _| {
        entries::<M, W>(guard, (partition, found), extent, entry)
    })
}

/// What checks the entries of a block of this partition, with this extent, and returns their number.
type CheckEntries<'c> =
    &'c mut dyn FnMut(usize, &ChainBlock, Extent, &mut dyn FnMut(u64, u64)) -> Result<u64>;

/// Checks the chains of blocks of `map`, and their entries by `entries`. Passes the offset and the bytes of each block,
/// and of the chunk beside it, to `visit`.
pub(crate) fn check_blocks<M: Media, const W: usize, K: KeyForm>(
    guard: &Guard<'_, M>,
    map: &MapState,
    visit: &mut dyn FnMut(u64, u64),
    entries: CheckEntries<'_>,
) -> Result<TreeCheck> {
    let mut check = TreeCheck { height: 1, ..TreeCheck::default() };
    for partition in 0..K::PARTITIONS {
        let mut chain =
            Chain::begin(guard, crate::tree::nbtree::tree::head(map, partition), partition)?;
        // One pin is enough and delays nothing, because no thread writes and so nothing is retired.
        while !chain.step::<M, W, K>(guard, usize::MAX)? {}
        for (found, extent) in chain.extents::<K>() {
            for at in [found.signpost, found.at].into_iter().filter(|&at| at != 0) {
                visit(at, Block::<M, W, K>::BYTES);
                if let Some((at, bytes)) = K::beside(guard.media(), at)? {
                    visit(at, bytes);
                }
                check.nodes += 1;
            }
            check.entries += entries(partition, found, extent, visit)?;
            note(&mut check.repairs, found);
        }
    }
    let reserve = reserve(guard.media(), map)?;
    for at in (0..RESERVE).map(|i| reserve.load(i, Ordering::Acquire)).filter(|&at| at != 0) {
        visit(at, Block::<M, W, K>::BYTES);
    }
    Ok(check)
}

fn note(repairs: &mut Repairs, found: &ChainBlock) {
    repairs.unsettled_siblings += u64::from(found.signpost != 0);
    repairs.interrupted += u64::from(found.is_frozen);
}

/// Checks that the entries of a block are inside its bounds, and that no key occurs twice. Returns their number.
fn entries<M: Media, const W: usize>(
    guard: &Guard<'_, M>,
    (partition, found): (usize, &ChainBlock),
    extent: Extent,
    entry: &mut dyn FnMut((u64, u64)) -> Result<()>,
) -> Result<u64> {
    let block = Block::<M, W, NumberKeys>::at(guard.media(), found.at)?;
    let mut keys = Vec::with_capacity(Block::<M, W, NumberKeys>::SLOTS);
    for slot in 0..Block::<M, W, NumberKeys>::SLOTS {
        if let State::Live(key) = block.word(slot).state() {
            entry((join(partition, key), block.value(slot)))?;
            keys.push(key);
        }
    }
    if keys.iter().any(|key| !NumberKeys::images(extent).contains(key)) {
        return Err(block.corrupt("a key outside of its block"));
    }
    keys.sort_unstable();
    if keys.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(block.corrupt("a key twice in a block"));
    }
    Ok(keys.len() as u64)
}
