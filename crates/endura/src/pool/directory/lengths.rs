//! How many entries each map has, as a clean close writes it down for the next session.

use crate::media::{Media, Ordering, Span};
use crate::pool::directory::map_state::{Counted, MapState};
use crate::pool::session::Session;
use crate::{Error, Result};

/// The first line of a directory entry.
type Header<'m, M> = Span<'m, M, 8>;

/// Words of it: the number, and the generation that wrote it.
const LEN: usize = 3;
const LEN_GENERATION: usize = 4;

/// An entry takes at least so many bytes of the pool: a key and a value, or a record of its own.
const LEAST_BYTES: u64 = 16;

/// The number of entries that the last session recorded in the directory entry at `entry`, if it was closed and knew it.
///
/// # Errors
///
/// [`Error::Corrupt`] if the pool has no room for so many. (Whether it is the true
/// number only a verification finds out.)
pub(crate) fn recorded<M: Media>(media: &M, entry: u64, session: Session) -> Result<Option<u64>> {
    let header = Header::new(media, entry)?;
    let is_recorded = session.clean
        && header.load(LEN_GENERATION, Ordering::Acquire) == session.generation.wrapping_sub(1);
    if !is_recorded {
        return Ok(None);
    }
    let len = header.load(LEN, Ordering::Acquire);
    if len > media.len() / LEAST_BYTES {
        let what = "a map with more entries than the pool has room for";
        return Err(Error::Corrupt { offset: entry, what });
    }
    Ok(Some(len))
}

/// Records how many entries a map has, if it knows. The caller fences.
pub(crate) fn record<M: Media>(media: &M, map: &MapState, session: Session) -> Result<()> {
    if map.counted() == Counted::All {
        let header = Header::new(media, map.entry())?;
        // Relaxed: read only if the superblock says that the pool was closed, which comes after
        // the caller's fence.
        header.store(LEN, map.sum(), Ordering::Relaxed);
        header.store(LEN_GENERATION, session.generation, Ordering::Relaxed);
        header.flush(LEN, 2);
    }
    Ok(())
}
