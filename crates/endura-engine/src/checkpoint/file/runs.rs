//! Runs in the file. They are written and read in pieces, so that no run is in memory as a whole.

use std::io;

use xxhash_rust::xxh3::Xxh3;

use crate::checkpoint::file::failure::Failure;
use crate::checkpoint::file::root::{Run, SLOT, at};
use crate::checkpoint::file::table::{PageEntry, PagePlace};
use crate::os::door::DiskFile;

/// Bytes of an entry: page, slot (4 bytes each), hash of the page (8 bytes).
pub(crate) const ENTRY: usize = 16;
/// Bytes that are written or read at once.
const PIECE: usize = 1 << 18;

const _: () = assert!(PIECE.is_multiple_of(SLOT) && SLOT.is_multiple_of(ENTRY));

/// Slots of a run of `entries` entries.
pub(crate) fn slots_of(entries: u32) -> u32 {
    entries.div_ceil((SLOT / ENTRY) as u32)
}

pub(crate) fn encode(entry: &PageEntry) -> [u8; ENTRY] {
    let mut bytes = [0; ENTRY];
    bytes[..4].copy_from_slice(&entry.page.to_le_bytes());
    bytes[4..8].copy_from_slice(&entry.place.slot.to_le_bytes());
    bytes[8..].copy_from_slice(&entry.place.hash.to_le_bytes());
    bytes
}

fn decode(bytes: &[u8; ENTRY]) -> PageEntry {
    let four = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
    let hash = u64::from_le_bytes(std::array::from_fn(|i| bytes[8 + i]));
    PageEntry { page: four(0), place: PagePlace { slot: four(4), hash } }
}

/// Writes a run into the slots from `slot` on. Returns its hash.
pub(crate) fn write(
    file: &impl DiskFile,
    slot: u32,
    entries: impl Iterator<Item = PageEntry>,
) -> io::Result<u64> {
    let (mut hash, mut to) = (Xxh3::new(), at(slot));
    let mut piece: Vec<u8> = Vec::new();
    for entry in entries {
        piece.extend(encode(&entry));
        if piece.len() == PIECE {
            hash.update(&piece);
            file.write_at(&piece, to)?;
            to += PIECE as u64;
            piece.clear();
        }
    }
    hash.update(&piece);
    if !piece.is_empty() {
        piece.resize(piece.len().next_multiple_of(SLOT), 0);
        file.write_at(&piece, to)?;
    }
    Ok(hash.digest())
}

/// Reads the entries of a run. Calls `each` before it is known whether the hash of the run is right.
///
/// # Errors
///
/// [`Failure::Damaged`] if the entries are not those that were written, [`Failure::Io`], and the errors of `each`.
pub(crate) fn read(
    file: &impl DiskFile,
    run: Run,
    mut each: impl FnMut(PageEntry) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let damaged = Failure::Damaged("a run of a checkpoint");
    let (mut hash, mut from) = (Xxh3::new(), at(run.slot));
    let mut missing = run.entries as usize * ENTRY;
    // Each round writes its pages in order, so a run has no page twice.
    let mut least = 0;
    let mut piece = vec![0; missing.min(PIECE)];
    while missing > 0 {
        piece.truncate(missing);
        file.read_at(&mut piece, from)?;
        hash.update(&piece);
        for bytes in piece.as_chunks::<ENTRY>().0 {
            let entry = decode(bytes);
            if u64::from(entry.page) < least {
                return Err(damaged);
            }
            least = u64::from(entry.page) + 1;
            each(entry)?;
        }
        missing -= piece.len();
        from += piece.len() as u64;
    }
    if hash.digest() == run.hash { Ok(()) } else { Err(damaged) }
}
