//! The extents of a file: which of its bytes have blocks, and which blocks it shares with copies of it.
//!
//! `FIEMAP` reports both in one walk, without a change to the file. It takes 0.12 µs an extent on ext4 and XFS, where
//! `fallocate` takes 0.4 to 0.5 µs and does not report shared blocks. (`SEEK_HOLE` is no alternative: it reports blocks
//! that were allocated and never written as a hole.)

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

/// The most extents that one call reports.
const MANY: usize = 256;
/// `FS_IOC_FIEMAP`, of `linux/fs.h`.
const FIEMAP: libc::Ioctl = 0xC020_660B_u32 as libc::Ioctl;
/// `FIEMAP_EXTENT_SHARED`, of `linux/fiemap.h`.
const SHARED: u32 = 0x2000;

/// A range of a file that is contiguous on the disk.
#[derive(Debug)]
pub(crate) struct Extent {
    /// The range in the file.
    pub(crate) bytes: Range<u64>,
    /// Whether another file has the same blocks.
    pub(crate) is_shared: bool,
}

/// `struct fiemap_extent`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Told {
    logical: u64,
    physical: u64,
    length: u64,
    reserved: [u64; 2],
    flags: u32,
    reserved_too: [u32; 3],
}

/// `struct fiemap`, and the extents after it.
#[repr(C)]
struct Question {
    start: u64,
    length: u64,
    flags: u32,
    mapped: u32,
    room: u32,
    reserved: u32,
    told: [Told; MANY],
}

/// The first extents among these bytes of the file, at most [`MANY`], in ascending order. Between two of them the file
/// has no blocks. An empty list means that the range has no further extent.
///
/// # Errors
///
/// The system's error, for example if the file system does not support `FIEMAP`.
pub(crate) fn extents(file: &File, bytes: Range<u64>) -> io::Result<Vec<Extent>> {
    let mut question = Question {
        start: bytes.start,
        length: bytes.end - bytes.start,
        flags: 0,
        mapped: 0,
        room: MANY as u32,
        reserved: 0,
        told: [Told::default(); MANY],
    };
    // SAFETY: the kernel reads the head, and writes the head and at most `room` extents, which is the length of `told`.
    let outcome = unsafe { libc::ioctl(file.as_raw_fd(), FIEMAP, &raw mut question) };
    if outcome != 0 {
        return Err(io::Error::last_os_error());
    }
    let told = question.told.iter().take(question.mapped as usize);
    let extents = told.map(|told| {
        let end = told.logical.saturating_add(told.length);
        let bytes = told.logical.max(bytes.start)..end.min(bytes.end);
        Extent { bytes, is_shared: told.flags & SHARED != 0 }
    });
    Ok(extents.filter(|extent| !extent.bytes.is_empty()).collect())
}

/// Gives the file blocks of its own for these bytes, and copies the contents there. Meanwhile a thread waits in the
/// kernel if it stores to these bytes, or to any other page of the file that is clean.
///
/// # Errors
///
/// `NOSPC` or `DQUOT` where there is no space, `OPNOTSUPP` where the file system has no such call.
pub(crate) fn unshare(file: &File, bytes: Range<u64>) -> Result<(), Errno> {
    loop {
        let len = bytes.end - bytes.start;
        match fallocate(file, FallocateFlags::UNSHARE_RANGE, bytes.start, len) {
            Err(Errno::INTR) => {}
            other => return other,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    #[test]
    fn holes_are_between_extents() {
        let file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        file.write_all_at(&[1; 65_536], 0).unwrap();
        file.write_all_at(&[1; 65_536], 1 << 20).unwrap();
        let found = match extents(&file, 4096..2 << 20) {
            Ok(found) => found,
            Err(error) => return println!("no extents are told here: {error}"),
        };
        let bytes: u64 = found.iter().map(|extent| extent.bytes.end - extent.bytes.start).sum();
        assert_eq!(bytes, 2 * 65_536 - 4096, "{found:?}");
        assert_eq!(found[0].bytes.start, 4096);
        assert!(found.iter().all(|extent| !extent.is_shared), "{found:?}");
        assert!(extents(&file, 2 << 20..3 << 20).unwrap().is_empty());
    }
}
