//! Sequential reads of a mapped file, which bring its pages into the page cache.
//!
//! The mapping of a pool is advised `MADV_RANDOM`, so that a store makes 4 KiB dirty and a lookup reads as much. A walk over all of
//! it through the mapping then waits for the disk once a page. A sequential `pread` has the kernel's read-ahead. What it reads is
//! not used, for the mapping is the truth and is read word by word; only the pages are then there.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Bytes that are read at once.
const PIECE: u64 = 1 << 20;

/// How far a file was read.
#[derive(Debug)]
pub(crate) struct ReadAhead<'f> {
    /// None where nothing is read from a disk.
    file: Option<&'f File>,
    done: u64,
    bytes: Vec<u8>,
}

impl<'f> ReadAhead<'f> {
    /// Nothing yet; nothing at all where there is no file.
    pub(crate) fn of(file: Option<&'f File>) -> Self {
        Self { file, done: 0, bytes: Vec::new() }
    }

    /// Reads up to and including byte `at`, and some more.
    ///
    /// # Errors
    ///
    /// That of the disk, where a load through the mapping is a `SIGBUS`.
    pub(crate) fn reach(&mut self, at: u64) -> io::Result<()> {
        let Some(file) = self.file else { return Ok(()) };
        while self.done <= at {
            self.bytes.resize(PIECE as usize, 0);
            match file.read_at(&mut self.bytes, self.done) {
                // The end of the file.
                Ok(0) => {
                    self.file = None;
                    break;
                }
                Ok(more) => self.done += more as u64,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Bytes of memory that the machine has; none if it does not say.
pub(crate) fn memory() -> Option<u64> {
    // SAFETY: the call takes a number and gives one.
    let [pages, bytes] =
        [libc::_SC_PHYS_PAGES, libc::_SC_PAGESIZE].map(|name| unsafe { libc::sysconf(name) });
    u64::try_from(pages).ok()?.checked_mul(u64::try_from(bytes).ok()?)
}
