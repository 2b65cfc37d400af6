//! Voiding of old lock words. Lock words hold 20 bits of the generation. Before these bits wrap around, the open voids
//! every lock word of the earlier turn, so that none looks like one of this turn: once in 2^20 opens.
//!
//! A session word records for which turn that was done. A crash during the work leaves the word as it was, and the next
//! open starts again.

use super::table;
use crate::media::{Media, Ordering, Region};
use crate::space::{LOCK_TURN, Space};
use crate::{Error, Result};

/// Prepares the locks of a pool that has just been opened.
pub(crate) fn ready_locks<M: Media>(space: &Space<M>) -> Result<()> {
    if space.has_voided_locks()? {
        return Ok(());
    }
    if space.session().read_only {
        return Err(Error::NeedsRecovery);
    }
    let guard = space.pin_mut()?;
    for map in space.maps()? {
        table::of(&map)?.void_locks(&guard, &map)?;
    }
    // Before the word says that the work is done.
    space.media().fence();
    let word = Region::new(space.media(), LOCK_TURN, 1)?;
    word.store(0, space.lock_turn(), Ordering::Release);
    word.flush(0, 1);
    // Before the first lock of this turn is taken.
    space.media().fence();
    Ok(())
}
