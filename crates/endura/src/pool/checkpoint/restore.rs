//! Taking a pool back to a checkpoint.
//!
//! | step | a crash after it finds |
//! | --- | --- |
//! | R2 read all pages of the file, and of those that differ their slots: if one of these is damaged, nothing is written | the torn pool |
//! | R4 write those pages; the length; sync | the torn pool: its superblock is untouched |
//! | R5 superblock: this boot, not closed, the checkpoint's session as its base | what `kill -9` would have left at the checkpoint |
//!
//! (R1, the lock and the [lineage](super::lineage), and R3, a copy of the torn file, are the caller's; so is R5.) After a crash
//! before R5 the next open begins again. The file is mended in place: its owner, links and attributes stay, and only
//! pages that differ are written.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::os::disk;
use crate::os::door::DiskFile;
use crate::pool::checkpoint::copy::FIRST;
use crate::pool::checkpoint::file::failure::Failure;
use crate::pool::checkpoint::file::newest::CheckpointFile;
use crate::pool::checkpoint::file::root::SLOT;

/// Bytes of a page.
pub(crate) const PAGE_BYTES: u64 = SLOT as u64;
/// Pages that are read at once.
const PIECE: u32 = 256;

/// Called with the bytes that are done, and with all; an error from it ends the work.
pub(crate) type Progress<'p> = dyn FnMut(u64, u64) -> io::Result<()> + 'p;

/// Makes `file` what the newest checkpoint of `from` is, but for the superblocks in its first two pages, and syncs it.
/// The pages that were written.
///
/// # Errors
///
/// [`Failure::Damaged`] if a page that is needed is not what was written; nothing is changed then. [`Failure::Io`].
pub(crate) fn restore<F: DiskFile>(
    file: &File,
    from: &CheckpointFile<F>,
    progress: &mut Progress<'_>,
) -> Result<u64, Failure> {
    let Some((moment, _)) = from.newest() else {
        return Err(Failure::Damaged("a file of checkpoints without one"));
    };
    let (pages, have) = (moment.pages, file.metadata()?.len());
    let length = u64::from(pages) * SLOT as u64;
    // R2
    let mut differing = Vec::new();
    let mut bytes = vec![0; PIECE as usize * SLOT];
    let mut page_bytes = [0; SLOT];
    for first in (0..pages).step_by(PIECE as usize) {
        let count = PIECE.min(pages - first);
        let piece = &mut bytes[..count as usize * SLOT];
        read_what_is_there(file, piece, u64::from(first) * SLOT as u64)?;
        for (page, bytes) in
            (first..).zip(piece.chunks_exact(SLOT)).filter(|&(page, _)| page >= FIRST)
        {
            page_bytes.copy_from_slice(bytes);
            if !from.has(page, &page_bytes) {
                from.read(page, &mut page_bytes)?;
                differing.push(page);
            }
        }
        progress(u64::from(first + count) * SLOT as u64, length)?;
    }
    // R4
    if have < length {
        disk::allocate_blocks(file, have, length)?;
    }
    for run in differing.chunk_by(|a, b| a + 1 == *b).flat_map(|run| run.chunks(PIECE as usize)) {
        for (&page, out) in run.iter().zip(bytes.chunks_exact_mut(SLOT)) {
            from.read(page, &mut page_bytes)?;
            out.copy_from_slice(&page_bytes);
        }
        disk::refuse_beyond_limit(length)?;
        file.write_all_at(&bytes[..run.len() * SLOT], u64::from(run[0]) * SLOT as u64)?;
    }
    if have > length {
        file.set_len(length)?;
    }
    file.sync_all()?;
    Ok(differing.len() as u64)
}

/// Reads as many bytes as the file has; the others are zeros.
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
