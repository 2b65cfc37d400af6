//! The interface to files that are written by calls instead of through a mapping. Code that uses it can also run on a
//! simulated disk that loses power.

use std::fmt::Debug;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};

use crate::os::disk;

/// A file on a disk that may lose power.
///
/// Written bytes are durable once a later [`sync`](Self::sync) has returned without an error. Before that a power loss
/// may leave any of the sectors written, in any order. After an error of `sync` it is unknown what will be durable,
/// even if the next `sync` succeeds: the kernel may have dropped pages that it could not write.
pub trait DiskFile: Debug + Send + Sync + 'static {
    /// The file's length in bytes.
    ///
    /// # Errors
    ///
    /// The system's error. The other methods also fail with the system's error.
    fn length(&self) -> io::Result<u64>;

    /// How many bytes of the disk the file takes: fewer than its length where it has holes.
    ///
    /// # Errors
    ///
    /// As for [`length`](Self::length).
    fn allocated(&self) -> io::Result<u64> {
        self.length()
    }

    /// Fills `bytes` with the file's bytes from offset `at`.
    ///
    /// # Errors
    ///
    /// `UnexpectedEof` if the file ends before `bytes` is full.
    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()>;

    /// Writes `bytes` at offset `at`. A read that follows sees them, also before a sync.
    ///
    /// # Errors
    ///
    /// As for [`length`](Self::length). Some of the bytes may have been written.
    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()>;

    /// Makes the file at least `end` bytes long, and reserves disk space for bytes `from..end`.
    ///
    /// # Errors
    ///
    /// `StorageFull`, `QuotaExceeded` or `FileTooLarge` where there is no space.
    fn allocate(&self, from: u64, end: u64) -> io::Result<()>;

    /// Makes all written bytes and the length durable.
    ///
    /// # Errors
    ///
    /// As for [`length`](Self::length); see the trait.
    fn sync(&self) -> io::Result<()>;

    /// Makes the system drop its cached copy of these bytes, where it believes that they are on the disk. The method is
    /// called after a failed `sync`, so that the next write of these bytes reaches the disk. It does nothing where
    /// there is no such cache.
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
