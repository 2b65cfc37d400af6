//! The door to files that are written by hand. What goes through it can be run on a disk that loses power, in a simulation.

use std::fmt::Debug;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};

use crate::os::disk;

/// A file on a disk that may lose power.
///
/// What was written is durable when a later [`sync`](Self::sync) has returned without an error. Before that a power loss
/// leaves any part of it, in units of a sector, in any order. After an error of `sync` nobody knows what will be durable,
/// also if the next one succeeds: the kernel may have dropped what it could not write.
pub trait DiskFile: Debug + Send + Sync + 'static {
    /// Its length in bytes.
    ///
    /// # Errors
    ///
    /// What the system says; so for the others.
    fn length(&self) -> io::Result<u64>;

    /// How many bytes of the disk it takes: fewer than its length where it has holes.
    ///
    /// # Errors
    ///
    /// As for [`length`](Self::length).
    fn allocated(&self) -> io::Result<u64> {
        self.length()
    }

    /// Reads bytes, all of which the file has.
    ///
    /// # Errors
    ///
    /// `UnexpectedEof` if it does not have them.
    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()>;

    /// Writes bytes, which are read back at once.
    ///
    /// # Errors
    ///
    /// As for [`length`](Self::length). Some of the bytes may be written then.
    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()>;

    /// Makes the file at least `end` bytes long, and sees to it that writes to bytes `from..end` find room.
    ///
    /// # Errors
    ///
    /// `StorageFull`, `QuotaExceeded` or `FileTooLarge` where there is none.
    fn allocate(&self, from: u64, end: u64) -> io::Result<()>;

    /// Makes all that was written durable, and the length.
    ///
    /// # Errors
    ///
    /// As for [`length`](Self::length); see the trait.
    fn sync(&self) -> io::Result<()>;

    /// Has the system forget what it keeps of these bytes in memory, as far as it takes them for written: after a `sync` that
    /// failed, what is written there next is then surely written to the disk. Does nothing where there is no such memory.
    fn forget(&self, _at: u64, _length: u64) {}
}

impl DiskFile for File {
    fn length(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn allocated(&self) -> io::Result<u64> {
        Ok(self.metadata()?.blocks() * 512)
    }

    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        self.read_exact_at(bytes, at)
    }

    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        disk::refuse_beyond_limit(at + bytes.len() as u64)?;
        self.write_all_at(bytes, at)
    }

    fn allocate(&self, from: u64, end: u64) -> io::Result<()> {
        disk::allocate_blocks(self, from, end)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }

    fn forget(&self, at: u64, length: u64) {
        disk::forget_pages(self, at, length);
    }
}
