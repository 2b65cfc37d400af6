//! The number of maps, and of the entries of each, as a clean close records them for the next session. The number of
//! maps reveals a directory entry that damage has turned into an empty one.

use crate::media::{LINE, Media, Ordering, Region, Span};
use crate::space::directory::map_state::{Counted, MapState};
use crate::space::layout::{DIRECTORY, MAPS, SAVED_FREE};
use crate::space::session::Session;
use crate::{Error, Result};

/// The first line of a directory entry.
type Header<'m, M> = Span<'m, M, 8>;

/// Words of that line: the number of entries, and the generation that wrote it.
const LEN: usize = 3;
const LEN_GENERATION: usize = 4;

// MAPS is flushed together with SAVED_FREE.
const _: () = assert!(MAPS / LINE == SAVED_FREE / LINE);

/// Half a word.
const MASK: u64 = u32::MAX as u64;

/// An entry takes at least this many bytes of the pool: a key and a value, or a record of its own.
const LEAST_BYTES: u64 = 16;

/// The number of entries that the last session recorded in the directory entry at `entry`, if it was closed and knew
/// it.
///
/// # Errors
///
/// [`Error::Corrupt`] if the pool cannot hold that many entries. (Only a verification finds out whether the number is
/// right.)
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

/// Fails if the last session was closed, and the number of maps that it recorded is not `found`.
///
/// # Errors
///
/// [`Error::Corrupt`].
pub(crate) fn check_maps<M: Media>(media: &M, session: Session, found: usize) -> Result<()> {
    let word = Region::new(media, MAPS, 1)?.load(0, Ordering::Acquire);
    let is_recorded = session.clean && word >> 32 == session.generation.wrapping_sub(1) & MASK;
    if is_recorded && word & MASK != found as u64 & MASK {
        let what = "a directory in which other maps are found than the last close has counted";
        return Err(Error::Corrupt { offset: DIRECTORY, what });
    }
    Ok(())
}

/// Records the number of maps. The caller flushes the line, with the list of free space, and fences.
pub(crate) fn record_maps<M: Media>(media: &M, session: Session, maps: usize) -> Result<()> {
    // Relaxed, as in `record`.
    let word = session.generation << 32 | maps as u64 & MASK;
    Region::new(media, MAPS, 1)?.store(0, word, Ordering::Relaxed);
    Ok(())
}

/// Records how many entries a map has, if that is known. The caller fences.
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
