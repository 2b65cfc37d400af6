//! Sequential reads of a mapped file, which bring its pages into the page cache.
//!
//! The mapping of a pool is advised `MADV_RANDOM`, so that a store makes 4 KiB dirty and a lookup reads 4 KiB. A walk
//! over the whole pool through such a mapping would wait for the disk at each page. A sequential `pread` gets the
//! kernel's read-ahead. The bytes that it returns are discarded: the walk reads the words through the mapping, whose
//! pages are then in the cache.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Bytes of one read.
const PIECE: u64 = 1 << 20;

/// How far a file has been read.
#[derive(Debug)]
pub(crate) struct ReadAhead<'f> {
    /// `None` if there is nothing to read, or nothing more.
    file: Option<&'f File>,
    done: u64,
    bytes: Vec<u8>,
}

impl<'f> ReadAhead<'f> {
    /// Begins at byte 0. Without a file [`reach`](Self::reach) does nothing.
    pub(crate) fn of(file: Option<&'f File>) -> Self {
        Self { file, done: 0, bytes: Vec::new() }
    }

    /// Reads the file up to byte `at`, inclusive, in pieces of 1 MiB.
    ///
    /// # Errors
    ///
    /// The error of the disk; a load through the mapping would cause a `SIGBUS` there.
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

/// How many bytes of memory the machine has. `None` if the system does not say.
pub(crate) fn memory() -> Option<u64> {
    // SAFETY: the call takes a number and returns one.
    let [pages, bytes] =
        [libc::_SC_PHYS_PAGES, libc::_SC_PAGESIZE].map(|name| unsafe { libc::sysconf(name) });
    u64::try_from(pages).ok()?.checked_mul(u64::try_from(bytes).ok()?)
}
