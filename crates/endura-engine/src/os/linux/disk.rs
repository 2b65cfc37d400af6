//! Allocation of a file's blocks before the first access, because a store to a hole may end in `SIGBUS`. Also reads and
//! writes that do not trust the page cache.

use std::fs::File;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};

use rustix::fs::{FallocateFlags, SeekFrom, fallocate, fstatfs, seek};
use rustix::io::{Errno, ReadWriteFlags, pwritev2};
use xxhash_rust::xxh3::xxh3_64;

use crate::{Error, Result, SpaceLimit};

/// Whether the file lies on tmpfs.
pub(crate) fn is_tmpfs(file: &File) -> bool {
    // The kernel's numbers have 32 bits, which some platforms extend by sign.
    fstatfs(file).is_ok_and(|facts| facts.f_type as u32 == libc::TMPFS_MAGIC as u32)
}

/// Allocates disk space for the first byte after the end of a file of `end` bytes, and returns whether it did. If there
/// is no space, a later [`extend`] reports that.
pub(crate) fn sow(file: &File, end: u64) -> bool {
    may_have(end + 1) && allocate(file, end, end + 1).is_ok()
}

/// How many bytes of the file's disk are free for an unprivileged process.
pub(crate) fn free(file: &File) -> Option<u64> {
    let facts = fstatfs(file).ok()?;
    facts.f_bavail.checked_mul(u64::try_from(facts.f_bsize).ok()?)
}

/// The file's length.
pub(crate) fn length(file: &File) -> Result<u64> {
    let facts = file.metadata().map_err(|e| Error::io("asking for the file's length", e))?;
    Ok(facts.len())
}

/// Truncates the file to `end` bytes, if it is longer. The bytes after `end` must not be in use: they are a part of an
/// extension that failed, or the unused end of a pool that is being closed.
pub(crate) fn give_back(file: &File, end: u64) -> Result<()> {
    if length(file)? <= end {
        return Ok(());
    }
    file.set_len(end).map_err(|e| Error::io("shortening the pool's file", e))
}

/// Extends the file to `len` bytes, all of which get blocks. The first `have` bytes have blocks already. The caller
/// must ensure that there is one call at a time.
///
/// # Errors
///
/// [`Error::Full`] if the disk or the quota is full or the file would be too large; [`Error::Io`] for anything else.
/// The file is then as long as before.
pub(crate) fn extend(file: &File, have: u64, len: u64) -> Result<()> {
    let before = length(file)?;
    let is_allowed = len <= before || may_have(len);
    let allocated = if is_allowed { allocate(file, have, len) } else { Err(Errno::FBIG) };
    let outcome = match allocated {
        // This file system has no such call. Writing zeros allocates the blocks as well.
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => write_zeros(file, have, len),
        other => other,
    };
    outcome.map_err(|errno| {
        // A file system may have extended the file by a part. That part is freed, so that a smaller attempt can use its
        // space.
        if let Err(error) = give_back(file, before) {
            return error;
        }
        match limit(errno, is_allowed) {
            Some(limit) => Error::full(len - have, 0, limit),
            None => Error::io("extending the pool's file", errno),
        }
    })
}

/// The limit that an error names. `may_be_longer` says that the limit of the process allows the length.
fn limit(errno: Errno, may_be_longer: bool) -> Option<SpaceLimit> {
    match errno {
        Errno::NOSPC => Some(SpaceLimit::DiskFull),
        Errno::DQUOT => Some(SpaceLimit::Quota),
        Errno::FBIG if may_be_longer => Some(SpaceLimit::FileSystem),
        Errno::FBIG => Some(SpaceLimit::FileSizeLimit),
        _ => None,
    }
}

/// Allocates blocks for the holes among the first `len` bytes, and does not change the file's contents. Returns false
/// where the file system cannot do that.
///
/// # Errors
///
/// As for [`extend`].
pub(crate) fn fill_holes(file: &File, len: u64, missing: u64) -> Result<bool> {
    match allocate(file, 0, len) {
        Ok(()) => Ok(true),
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(false),
        Err(errno) => Err(match limit(errno, true) {
            Some(limit) => Error::full(missing, 0, limit),
            None => Error::io("filling the holes of the pool's file", errno),
        }),
    }
}

/// The holes among the first `len` bytes of a file on tmpfs. There the read of a hole through a mapping allocates
/// memory, and is a `SIGBUS` if the file system has none left.
pub(crate) fn holes(file: &File, len: u64) -> Result<Vec<Range<u64>>> {
    let facts = file.metadata().map_err(|e| Error::io("counting the file's blocks", e))?;
    let mut found = Vec::new();
    // On tmpfs the number of blocks counts exactly the pages that the file has.
    let mut at = if facts.blocks() * 512 < facts.len() { 0 } else { len };
    while at < len {
        let failed = |errno| Error::io("looking for holes in the pool's file", errno);
        // The end of the file counts as a hole. If no data follows a hole, `seek` fails with `NXIO`.
        let hole = seek(file, SeekFrom::Hole(at)).map_err(failed)?.min(len);
        at = match seek(file, SeekFrom::Data(hole)) {
            Ok(data) => data.min(len),
            Err(Errno::NXIO) => len,
            Err(errno) => return Err(failed(errno)),
        };
        found.extend((hole < at).then_some(hole..at));
    }
    Ok(found)
}

/// Whether the process may make a file `len` bytes long (`ulimit -f`). Beyond that limit the kernel not only returns an
/// error but also sends a signal that ends the process.
fn may_have(len: u64) -> bool {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the call writes the two numbers and nothing else.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit) } == 0;
    !known || limit.rlim_cur == libc::RLIM_INFINITY || len <= limit.rlim_cur
}

/// Fails if byte `end` is beyond the limit on the size of files. It must be called before every write that ends at
/// `end`: the kernel enforces the limit, with its signal, also inside a file that is longer already.
pub(crate) fn refuse_beyond_limit(end: u64) -> std::io::Result<()> {
    if may_have(end) { Ok(()) } else { Err(Errno::FBIG.into()) }
}

/// Makes the file at least `end` bytes long, and allocates blocks for `from..end` where the file system has a call for
/// that.
pub(crate) fn allocate_blocks(file: &File, from: u64, end: u64) -> std::io::Result<()> {
    refuse_beyond_limit(end)?;
    match allocate(file, from, end) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) if file.metadata()?.len() < end => file.set_len(end),
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
        other => Ok(other?),
    }
}

fn allocate(file: &File, from: u64, to: u64) -> Result<(), Errno> {
    loop {
        match fallocate(file, FallocateFlags::empty(), from, to - from) {
            Err(Errno::INTR) => {}
            other => return other,
        }
    }
}

fn write_zeros(file: &File, from: u64, to: u64) -> Result<(), Errno> {
    let zeros = vec![0; 64 << 10];
    let mut at = from;
    while at < to {
        let bytes = (to - at).min(zeros.len() as u64) as usize;
        file.write_all_at(&zeros[..bytes], at)
            .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        at += bytes as u64;
    }
    Ok(())
}

/// Writes `bytes` and syncs them alone, not the whole file. After a crash of the process the file may have gigabytes of
/// other dirty pages, and an open should not wait for those.
pub(crate) fn write_durably(file: &File, bytes: &[u8], at: u64) -> std::io::Result<()> {
    let slice = [std::io::IoSlice::new(bytes)];
    match pwritev2(file, &slice, at, ReadWriteFlags::DSYNC) {
        Ok(written) if written == bytes.len() => Ok(()),
        Ok(_) | Err(Errno::INTR | Errno::OPNOTSUPP | Errno::NOSYS) => {
            file.write_all_at(bytes, at)?;
            file.sync_data()
        }
        Err(errno) => Err(errno.into()),
    }
}

/// Copies the contents of a file to another one by reads and writes, so that they share no block, and syncs the copy.
pub(crate) fn write_all_of(file: &File, to: &File) -> std::io::Result<()> {
    let length = file.metadata()?.len();
    refuse_beyond_limit(length)?;
    let mut bytes = vec![0; 1 << 20];
    for at in (0..length).step_by(bytes.len()) {
        let piece = &mut bytes[..(length - at).min(1 << 20) as usize];
        file.read_exact_at(piece, at)?;
        to.write_all_at(piece, at)?;
    }
    to.sync_all()
}

/// Writes the contents of a file to it again, and verifies that the disk has them. Called after the kernel failed to
/// write back pages of the file. No process may have the file mapped.
///
/// # Errors
///
/// The system's error; `InvalidData` if the disk returns other bytes than were written.
pub(crate) fn write_again(file: &File) -> std::io::Result<()> {
    const PIECE: usize = 1 << 20;
    let length = file.metadata()?.len();
    refuse_beyond_limit(length)?;
    let mut bytes = vec![0; PIECE];
    let mut pass = |each: &mut dyn FnMut(&[u8], u64) -> std::io::Result<()>| {
        (0..length).step_by(PIECE).try_for_each(|at| {
            let piece = &mut bytes[..(length - at).min(PIECE as u64) as usize];
            file.read_exact_at(piece, at)?;
            each(piece, at)
        })
    };
    let mut hashes = Vec::new();
    pass(&mut |piece, at| {
        hashes.push(xxh3_64(piece));
        forget_pages(file, at, piece.len() as u64);
        file.write_all_at(piece, at)
    })?;
    file.sync_all()?;
    forget_pages(file, 0, length);
    let mut hashes = hashes.into_iter();
    pass(&mut |piece, _| match hashes.next() == Some(xxh3_64(piece)) {
        true => Ok(()),
        false => Err(std::io::ErrorKind::InvalidData.into()),
    })
}

/// Makes the kernel drop the cached pages that it believes to be written back, together with what it has cached about
/// their blocks. The next read comes from the disk. (While such a page is cached, ext4 regards a block whose write
/// failed as written. It reads zeros later, even if the page was written again.) Pages that are mapped stay.
pub(crate) fn forget_pages(file: &File, at: u64, length: u64) {
    let length = std::num::NonZero::new(length);
    let _ = rustix::fs::fadvise(file, at, length, rustix::fs::Advice::DontNeed);
}

/// Whether the kernel has failed to write back a page of the file. The function reports failures since its last call,
/// or since the last sync on this open file if that was later. Its first call reports failures that have not been
/// reported to anyone yet. `word` is the offset of eight bytes of the file that no other thread or process is writing.
///
/// The call writes nothing, and waits for one page at most. On overlayfs it does not reach the file system that knows
/// of the failure. There the function writes the word again, durably, and that write reports the failure.
pub(crate) fn were_pages_refused(file: &File, word: u64) -> bool {
    if fstatfs(file).is_ok_and(|facts| facts.f_type as u32 == libc::OVERLAYFS_SUPER_MAGIC as u32) {
        let mut bytes = [0; 8];
        let written = file.read_exact_at(&mut bytes, word);
        return written.and_then(|()| write_durably(file, &bytes, word)).is_err();
    }
    // SAFETY: the descriptor is open, and the call takes numbers.
    let told =
        unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 1, libc::SYNC_FILE_RANGE_WAIT_BEFORE) };
    // These codes do not come from the disk. All others do: a medium error, a lost path, a timeout.
    const NOT_OF_THE_DISK: [i32; 6] =
        [libc::EBADF, libc::EINVAL, libc::ESPIPE, libc::ENOSYS, libc::EPERM, libc::EACCES];
    let error = std::io::Error::last_os_error().raw_os_error();
    told != 0 && error.is_some_and(|code| !NOT_OF_THE_DISK.contains(&code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_claim_blocks_where_fallocate_is_missing() {
        let file = tempfile::tempfile().unwrap();
        write_zeros(&file, 0, 200_000).unwrap();
        assert_eq!(file.metadata().unwrap().len(), 200_000);
    }
}
