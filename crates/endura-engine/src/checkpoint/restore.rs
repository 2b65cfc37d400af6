//! Restoring a pool from a checkpoint.
//!
//! | step | a crash after it finds |
//! | --- | --- |
//! | R1 the pool's length, by its own words in the checkpoint; whether there is space | the torn pool |
//! | R2 read all pages of the file, and the slots of those that differ; if one is damaged, write nothing | the torn pool |
//! | R4 write those pages; the length; sync | the torn pool: its superblock is untouched |
//! | R5 superblock: this boot, not closed, the checkpoint's session as its base | what `kill -9` would have left |
//!
//! The caller does the rest: in R1 the lock and the [lineage](super::lineage); R3, which copies the torn file; and R5.
//! After R5 the pool is as if its writer had been killed at the checkpoint. After a crash before R5 the next open
//! starts again.
//!
//! The file is repaired in place: its owner, links and attributes stay. Only pages that differ, and those in short gaps
//! between them, are written. Several [`pieces`](super::pieces) are worked on at once.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::checkpoint::ahead::FIRST;
use crate::checkpoint::file::failure::Failure;
use crate::checkpoint::file::newest::CheckpointFile;
use crate::checkpoint::file::root::SLOT;
use crate::checkpoint::pieces::each_piece;
use crate::os::disk;
use crate::os::door::DiskFile;
use crate::space::check_length;
use crate::space::{LENGTH, NEXT_PAGE};

/// Bytes of a page.
pub const PAGE_BYTES: u64 = SLOT as u64;
/// Pages of one piece.
const PIECE: u32 = 256;
/// The longest gap, in pages that are right already, that is written together with the pages around it.
const GAP: u32 = 2;
/// Bytes that are written between two syncs, so that the disk works while the rest is read.
const SYNC_EACH: u64 = 32 << 20;

/// A function that is called with the bytes that are done and the bytes of the whole. An error that it returns ends the
/// work.
pub(crate) type Progress<'p> = dyn FnMut(u64, u64) -> io::Result<()> + 'p;

/// Which pages a restore writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writes {
    /// The pages that differ from the checkpoint.
    Differing,
    /// All pages: the disk has refused pages of the file, and what is read back may not be what the disk has.
    All,
}

/// Whether the file has a page that differs from the newest checkpoint of `from`, or is shorter than the pool in it.
/// Reads all of the file.
pub(crate) fn differs<F: DiskFile>(file: &File, from: &CheckpointFile<F>) -> Result<bool, Failure> {
    if from.newest().is_none() {
        return Ok(false);
    }
    let all = pages_of_pool(from)?;
    if file.metadata().map_err(Failure::Pool)?.len() < u64::from(all) * SLOT as u64 {
        return Ok(true);
    }
    let mut differs = false;
    each_piece(
        all.div_ceil(PIECE),
        &|piece| {
            let pages = piece * PIECE..all.min((piece + 1) * PIECE);
            let bytes = read_pages(file, pages.clone())?;
            let mut pages = pages.zip(&bytes);
            let first = pages.find(|&(page, bytes)| page >= FIRST && !from.has(page, bytes));
            Ok(first.map(|(page, _)| page).into_iter().collect())
        },
        &mut |found| {
            differs |= !found.is_empty();
            Ok(())
        },
    )?;
    Ok(differs)
}

/// Makes `file` equal to the newest checkpoint of `from`, except for the superblocks in its first two pages, and syncs
/// it. Returns the number of pages that were written.
///
/// # Errors
///
/// [`Failure::Damaged`] if a page that is needed is not what was written; nothing is changed then. [`Failure::Io`],
/// [`Failure::Pool`].
pub fn restore<F: DiskFile>(
    file: &File,
    from: &CheckpointFile<F>,
    writes: Writes,
    progress: &mut Progress<'_>,
) -> Result<u64, Failure> {
    let (pages, have) = (pages_of_pool(from)?, file.metadata().map_err(Failure::Pool)?.len());
    let length = u64::from(pages) * SLOT as u64;
    if disk::free(file).is_some_and(|free| length.saturating_sub(have) > free) {
        return Err(Failure::Pool(io::Error::from_raw_os_error(libc::ENOSPC)));
    }
    if writes == Writes::All {
        disk::forget_pages(file, 0, have);
    }
    let pieces = pages.div_ceil(PIECE);
    // R2
    let (mut differing, mut looked_at) = (Vec::new(), 0);
    each_piece(
        pieces,
        &|piece| {
            let pages = piece * PIECE..pages.min((piece + 1) * PIECE);
            pages_to_write(file, from, pages, writes)
        },
        &mut |found| {
            looked_at += u64::from(PIECE) * SLOT as u64;
            if !found.is_empty() {
                differing.push(found);
            }
            progress(looked_at.min(length), length).map_err(Failure::Pool)
        },
    )?;
    differing.sort_unstable();
    // R4
    if have < length {
        disk::allocate_blocks(file, have, length).map_err(Failure::Pool)?;
    }
    disk::refuse_beyond_limit(length).map_err(Failure::Pool)?;
    let (written, count) = (AtomicU64::new(0), differing.len() as u32);
    let write = |piece: u32| {
        write_pages(file, from, &differing[piece as usize], &written)?;
        Ok(Vec::new())
    };
    each_piece(count, &write, &mut |_| Ok(()))?;
    if have > length {
        file.set_len(length).map_err(Failure::Pool)?;
    }
    file.sync_all().map_err(Failure::Pool)?;
    if writes == Writes::All {
        // Only what the disk returns counts, not what the page cache has.
        disk::forget_pages(file, 0, length);
        if differs(file, from)? {
            return Err(Failure::Pool(io::ErrorKind::InvalidData.into()));
        }
    }
    Ok(written.into_inner())
}

/// The number of pages of the pool in the newest checkpoint. It is found from the pool's own words about its length,
/// which are in a page that has a hash. The root may name more pages, because a file may be longer than the pool in it.
///
/// # Errors
///
/// [`Failure::Damaged`] if these words are not those of a pool, or the root names fewer pages.
fn pages_of_pool<F: DiskFile>(from: &CheckpointFile<F>) -> Result<u32, Failure> {
    let Some((moment, _)) = from.newest() else {
        return Err(Failure::Damaged("a file of checkpoints without one"));
    };
    let mut bytes = [0; SLOT];
    from.read((NEXT_PAGE / PAGE_BYTES) as u32, &mut bytes)?;
    let word = |at: u64| {
        let at = (at % PAGE_BYTES) as usize;
        u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]))
    };
    let (have, length) = (u64::from(moment.pages) * PAGE_BYTES, word(LENGTH));
    let damaged = Failure::Damaged("a checkpoint of a pool of another length");
    match check_length(have, word(NEXT_PAGE), length) {
        Ok(()) => u32::try_from(length / PAGE_BYTES).map_err(|_| damaged),
        Err(_) => Err(damaged),
    }
}

/// The pages that differ from the checkpoint, and those in short gaps between them; or all pages. Fails unless the
/// checkpoint has each of them whole.
fn pages_to_write<F: DiskFile>(
    file: &File,
    from: &CheckpointFile<F>,
    pages: Range<u32>,
    writes: Writes,
) -> Result<Vec<u32>, Failure> {
    let mut bytes = read_pages(file, pages.clone())?;
    let all = pages.zip(&bytes).filter(|&(page, _)| page >= FIRST);
    let is_written = |page, bytes| writes == Writes::All || !from.has(page, bytes);
    let differing = all.filter(|&(page, bytes)| is_written(page, bytes)).map(|(page, _)| page);
    let differing = with_short_gaps(differing);
    from.read_pages(&differing, &mut bytes)?;
    Ok(differing)
}

/// Adds the pages in short gaps between ascending pages, because a disk writes one piece sooner than two.
fn with_short_gaps(pages: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut all: Vec<u32> = Vec::new();
    for page in pages {
        match all.last() {
            Some(&last) if page - last <= GAP + 1 => all.extend(last + 1..=page),
            _ => all.push(page),
        }
    }
    all
}

/// Writes pages of the checkpoint, ascending, at most one piece.
fn write_pages<F: DiskFile>(
    file: &File,
    from: &CheckpointFile<F>,
    pages: &[u32],
    written: &AtomicU64,
) -> Result<(), Failure> {
    let mut bytes = vec![[0; SLOT]; pages.len()];
    from.read_pages(pages, &mut bytes)?;
    let mut rest = &bytes[..];
    for run in pages.chunk_by(|a, b| a + 1 == *b) {
        let (now, later) = rest.split_at(run.len());
        let at = u64::from(run[0]) * SLOT as u64;
        file.write_all_at(now.as_flattened(), at).map_err(Failure::Pool)?;
        rest = later;
    }
    // Relaxed: a count of pages orders nothing. The last sync, after all threads, covers everything.
    let before = written.fetch_add(pages.len() as u64, Ordering::Relaxed);
    let syncs = |pages: u64| pages * SLOT as u64 / SYNC_EACH;
    if syncs(before) < syncs(before + pages.len() as u64) {
        file.sync_data().map_err(Failure::Pool)?;
    }
    Ok(())
}

fn read_pages(file: &File, pages: Range<u32>) -> Result<Vec<[u8; SLOT]>, Failure> {
    let mut bytes = vec![[0; SLOT]; pages.len()];
    read_what_is_there(file, bytes.as_flattened_mut(), u64::from(pages.start) * SLOT as u64)
        .map_err(Failure::Pool)?;
    Ok(bytes)
}

/// Reads as many bytes as the file has, and fills the rest with zeros.
fn read_what_is_there(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    let mut have = 0;
    while have < bytes.len() {
        match FileExt::read_at(file, &mut bytes[have..], at + have as u64) {
            Ok(0) => break,
            Ok(more) => have += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes[have..].fill(0);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_gaps_are_written_too() {
        let found = |pages: &[u32]| with_short_gaps(pages.iter().copied());
        assert!(found(&[]).is_empty());
        assert_eq!(found(&[5, 6, 8, 11, 15]), [5, 6, 7, 8, 9, 10, 11, 15]);
    }
}
