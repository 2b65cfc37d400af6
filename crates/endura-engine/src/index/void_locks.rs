//! Voiding of old lock words. A lock word holds the low 20 bits of the generation. Once in 2^20 opens these bits wrap
//! around, and a new *turn* begins. The open that begins it voids every lock word of the earlier turn, so that none
//! looks like a lock of the new turn.
//!
//! A session word records the turn for which the lock words were voided. A crash during the work leaves this word as it
//! was, and the next open starts again.

use super::table;
use crate::media::{Media, Ordering, Region};
use crate::space::{LOCK_TURN, Space};
use crate::{Error, Result};

/// Voids the lock words of a pool that has just been opened, if that is due.
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
    // The fence makes the voided locks durable before the word says that the work is done.
    space.media().fence();
    let word = Region::new(space.media(), LOCK_TURN, 1)?;
    word.store(0, space.lock_turn(), Ordering::Release);
    word.flush(0, 1);
    // The fence makes the word durable before the first lock of this turn is taken.
    space.media().fence();
    Ok(())
}
