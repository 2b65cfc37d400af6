//! Lock words hold 20 bits of the generation. Before the bits start over, every lock word of an
//! earlier turn is made void, so that none looks like one of this turn: once in 2^20 opens.
//!
//! A session word says for which turn that was done. A crash on the way leaves it as it was, and
//! the next open starts again.

use crate::media::{Media, Ordering, Region};
use crate::pool::{LOCK_TURN, Space};
use crate::store::index::table;
use crate::{Error, Result};

/// Sessions in a turn, as a power of two.
const TURN: u32 = 20;

/// Readies the locks of a pool that has just been opened.
pub(super) fn ready_locks<M: Media>(space: &Space<M>) -> Result<()> {
    let turn = space.generation() >> TURN;
    let word = Region::new(space.media(), LOCK_TURN, 1)?;
    // Nobody else has the pool yet: the order of this load does not matter.
    if word.load(0, Ordering::Relaxed) == turn {
        return Ok(());
    }
    if space.session().read_only {
        return Err(Error::NeedsRecovery);
    }
    let guard = space.pin_mut()?;
    for map in space.maps()? {
        table::of(&map)?.void_locks(&guard, &map)?;
    }
    // Before the word says that it is done.
    space.media().fence();
    word.store(0, turn, Ordering::Release);
    word.flush(0, 1);
    // Before the first lock of this turn is taken.
    space.media().fence();
    Ok(())
}
