//! The lock of a pool's file: one writer or many readers.
//!
//! The lock is taken on an open file description of its own, not on that of the pool's mapping. A mapping keeps its
//! description alive, in a forked child too, so a lock on that description would outlive the process that took it.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{FlockOperation, OFlags, flock, fstat};
use rustix::io::Errno;

use super::claims::{Claim, Right};
use super::linux::file_identity::FileId;
use super::locked_file::LockedFile;
use super::own_file;
use crate::{Error, Result};

/// How many times an open is repeated while another process has a lease of the file, and the pause before each
/// repetition.
const TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(1);

/// The right to a pool's file. It ends when this value is dropped or the process ends. A forked child neither has the
/// right nor ends it.
#[derive(Debug)]
pub(crate) struct FileLock {
    /// Declared first, so that the claim ends before the lock: the next owner of the lock then finds no claim.
    _claim: Claim,
    held: LockedFile,
    file: FileId,
}

impl FileLock {
    /// Locks the file at `path`, for one writer or for many readers.
    ///
    /// # Errors
    ///
    /// [`Error::Locked`] if another open excludes this one, in this process or another;
    /// [`Error::Io`].
    pub(crate) fn acquire(path: &Path, read_only: bool) -> Result<Self> {
        let held = LockedFile::new(|| open(path, read_only))
            .map_err(|error| Error::opening(path, error))?;
        let Some(descriptor) = held.descriptor() else { return Err(Error::Forked) };
        let facts = fstat(descriptor).map_err(|e| Error::io("identifying the pool's file", e))?;
        let file = FileId { device: facts.st_dev, inode: facts.st_ino };
        lock(descriptor, read_only)?;
        // On some network file systems a lock belongs to the process, and does not exclude a second open by the same
        // process.
        let claim = Claim::new(Right::Open, file.device, file.inode, !read_only);
        Ok(Self { _claim: claim.ok_or(Error::Locked)?, held, file })
    }

    /// The file that is locked.
    pub(crate) fn file(&self) -> FileId {
        self.file
    }

    /// Whether this process has the lock: false in a forked child.
    pub(crate) fn is_held(&self) -> bool {
        self.held.descriptor().is_some()
    }
}

fn lock(descriptor: impl AsFd, read_only: bool) -> Result<()> {
    let operation = if read_only {
        FlockOperation::NonBlockingLockShared
    } else {
        FlockOperation::NonBlockingLockExclusive
    };
    loop {
        match flock(&descriptor, operation) {
            Ok(()) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(Errno::WOULDBLOCK) => return Err(Error::Locked),
            Err(errno) => return Err(Error::io("locking the pool's file", errno)),
        }
    }
}

/// Opens a pool's file. If there is a pipe in its place, the open does not wait.
pub(crate) fn open(path: &Path, read_only: bool) -> io::Result<File> {
    let flags = OFlags::NONBLOCK.bits() as i32;
    let mut options = OpenOptions::new();
    options.read(true).write(!read_only).custom_flags(flags);
    let mut tries = TRIES;
    loop {
        match own_file::open(&options, path) {
            // Another process has a lease of the file for a moment: see `linux/lease.rs`.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && tries > 0 => {
                tries -= 1;
                std::thread::sleep(PAUSE);
            }
            opened => return opened,
        }
    }
}
