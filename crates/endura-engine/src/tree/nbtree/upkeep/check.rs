//! A walk over all blocks that checks all their invariants.

use crate::Result;
use crate::media::Media;
use crate::space::{Guard, MapState};
use crate::sync::Ordering;
use crate::tree::{Repairs, TreeCheck};

use crate::tree::nbtree::blocks::block::{Block, State};
use crate::tree::nbtree::blocks::chunks::{RESERVE, reserve};
use crate::tree::nbtree::blocks::key::{Local, PARTITIONS, join};
use crate::tree::nbtree::restart::chain::{Chain, ChainBlock};

/// Checks the blocks of `W` words of `map`. Passes the offset and the bytes of each block to `visit`, and the key and the
/// value of each entry to `entry`. Exact only while no thread writes. O(n).
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
    let mut check = TreeCheck { height: 1, ..TreeCheck::default() };
    for partition in 0..PARTITIONS {
        let mut chain =
            Chain::begin(guard, crate::tree::nbtree::tree::head(map, partition), partition)?;
        // One pin is enough and delays nothing, because no thread writes and so nothing is retired.
        while !chain.step::<M, W>(guard, usize::MAX)? {}
        for (found, high) in chain.spans() {
            if found.signpost != 0 {
                visit(found.signpost, Block::<M, W>::BYTES);
                check.nodes += 1;
            }
            visit(found.at, Block::<M, W>::BYTES);
            check.nodes += 1;
            check.entries += entries::<M, W>(guard, (partition, found), high, entry)?;
            note(&mut check.repairs, found);
        }
    }
    let reserve = reserve(guard.media(), map)?;
    for at in (0..RESERVE).map(|i| reserve.load(i, Ordering::Acquire)).filter(|&at| at != 0) {
        visit(at, Block::<M, W>::BYTES);
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
    high: Local,
    entry: &mut dyn FnMut((u64, u64)) -> Result<()>,
) -> Result<u64> {
    let block = Block::<M, W>::at(guard.media(), found.at)?;
    let mut keys = Vec::with_capacity(Block::<M, W>::SLOTS);
    for slot in 0..Block::<M, W>::SLOTS {
        if let State::Live(key) = block.word(slot).state() {
            entry((join(partition, key), block.value(slot)))?;
            keys.push(key);
        }
    }
    if keys.iter().any(|key| !(found.low..high).contains(key)) {
        return Err(block.corrupt("a key outside of its block"));
    }
    keys.sort_unstable();
    if keys.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(block.corrupt("a key twice in a block"));
    }
    Ok(keys.len() as u64)
}
