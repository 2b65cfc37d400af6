//! Holes of a file on tmpfs: a reader maps zeros in their place, a writer fills them.

use std::fs::File;
use std::ops::Range;

use crate::os::disk;
use crate::os::memory::{Folios, Reservation, Sharing};
use crate::{Error, Result};

/// The most holes over which a reader maps zeros. Each hole needs two mappings, and a process may have 65,530 by
/// default.
pub(super) const MOST_HOLES: usize = 8_192;

/// The holes among the first `len` bytes of a file on tmpfs, in whose place a reader maps zeros: tmpfs allocates memory
/// when a hole is read, and it may have none left. For a writer this function fills all holes and returns none.
pub(super) fn holes(file: &File, len: u64, read_only: bool) -> Result<Vec<Range<u64>>> {
    let holes = disk::holes(file, len)?;
    if !read_only && !holes.is_empty() {
        let missing = holes.iter().map(|hole| hole.end - hole.start).sum();
        disk::fill_holes(file, len, missing)?;
        return Ok(Vec::new());
    }
    if holes.len() > MOST_HOLES {
        return Err(Error::Unsupported {
            what: "thousands of holes in a file on tmpfs that is opened only to be read; open it for \
                   writing once, or copy it without holes (`cp --sparse=never`)",
        });
    }
    Ok(holes)
}

/// Maps bytes `0..to` of the file, and zeros in place of these holes. A hole of the file is never mapped, not even for
/// a moment: a process that locks all its future mappings (`mlockall`) would fill it.
///
/// # Safety
///
/// Nothing refers into the range, and no thread accesses bytes after the end of the file.
pub(super) unsafe fn map_around(
    holes: &[Range<u64>],
    file: &File,
    range: &Reservation,
    to: u64,
    (sharing, folios): (Sharing, Folios),
) -> std::io::Result<()> {
    let mut from = 0;
    for hole in holes.iter().chain([&(to..to)]) {
        // SAFETY: the caller's promise.
        unsafe {
            range.map(file, from, hole.start, sharing, folios)?;
            range.blank(hole)?;
        }
        from = hole.end;
    }
    Ok(())
}
