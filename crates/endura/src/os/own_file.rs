//! Files that stay open, whatever else the process does with descriptors.
//!
//! A host may have closed its standard streams: the next file to be opened gets the number of one, and what the host
//! prints goes into it. So no file is opened there.
//!
//! A host may close all descriptors that it does not know, as programs do that become daemons: their numbers then stand
//! for the files that it opens next. So a file is known by its device and inode, and by who [owns](super::number_owner) the number of
//! its descriptor. It is looked at before it is relied on, and a descriptor that is another file's by now, or another handle's, is not
//! closed.

use std::fs::{File, OpenOptions};
use std::io;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::fcntl_dupfd_cloexec;

use super::door::DiskFile;
use super::linux::file_identity::FileId;
use super::number_owner::NumberOwner;
use crate::{Error, Result};

/// The first descriptor that is none of a standard stream.
const FIRST: i32 = 3;
const LOST: &str = "the pool's files were closed by other code of this process, as programs do that become daemons, and nothing more is written to \
     them: open the pool after that";

/// A file that is open, and known.
#[derive(Debug)]
pub(crate) struct OwnFile {
    file: ManuallyDrop<File>,
    id: FileId,
    owner: NumberOwner,
}

impl OwnFile {
    pub(crate) fn new(file: File) -> io::Result<Self> {
        let id = FileId::of(&file.metadata()?);
        let owner = NumberOwner::of(file.as_raw_fd());
        Ok(Self { file: ManuallyDrop::new(file), id, owner })
    }

    /// Which file it is.
    pub(crate) fn id(&self) -> FileId {
        self.id
    }

    /// Whether the descriptor still is that of the file. One system call.
    pub(crate) fn is_own(&self) -> bool {
        self.owner.is_current()
            && self.file.metadata().is_ok_and(|facts| FileId::of(&facts) == self.id)
    }

    /// Fails if it is not.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] that [says so](is_lost).
    pub(crate) fn expect_own(&self) -> Result<()> {
        let lost = || Error::io(LOST, io::Error::from_raw_os_error(libc::EBADF));
        if self.is_own() { Ok(()) } else { Err(lost()) }
    }

    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        Self::new(self.file.try_clone()?)
    }
}

impl Deref for OwnFile {
    type Target = File;

    fn deref(&self) -> &File {
        &self.file
    }
}

impl Drop for OwnFile {
    fn drop(&mut self) {
        if self.is_own() {
            // SAFETY: nothing uses the file after this.
            unsafe { ManuallyDrop::drop(&mut self.file) };
        }
    }
}

impl DiskFile for OwnFile {
    fn length(&self) -> io::Result<u64> {
        self.file.length()
    }

    fn allocated(&self) -> io::Result<u64> {
        self.file.allocated()
    }

    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        DiskFile::read_at(&*self.file, bytes, at)
    }

    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        DiskFile::write_at(&*self.file, bytes, at)
    }

    fn allocate(&self, from: u64, end: u64) -> io::Result<()> {
        DiskFile::allocate(&*self.file, from, end)
    }

    fn sync(&self) -> io::Result<()> {
        DiskFile::sync(&*self.file)
    }

    fn forget(&self, at: u64, length: u64) {
        self.file.forget(at, length);
    }
}

/// Whether the error is that the descriptor of a file was closed by somebody else.
pub(crate) fn is_lost(error: &Error) -> bool {
    matches!(error, Error::Io { source, .. } if source.raw_os_error() == Some(libc::EBADF))
}

/// Opens a file, above the standard streams.
pub(crate) fn open(options: &OpenOptions, path: &Path) -> io::Result<File> {
    let _taken = take_standard();
    let file = options.open(path)?;
    match file.as_raw_fd() {
        FIRST.. => Ok(file),
        // Another thread has closed one at this moment.
        _ => Ok(File::from(fcntl_dupfd_cloexec(&file, FIRST)?)),
    }
}

/// Opens a folder, above the standard streams.
pub(crate) fn open_folder(path: &Path) -> io::Result<File> {
    open(OpenOptions::new().read(true), path)
}

/// Takes the descriptors of standard streams that are closed, for a moment: nothing can be read or written by those that
/// stand there then.
fn take_standard() -> Vec<OwnedFd> {
    // SAFETY: the command only asks.
    let is_open = |descriptor: &i32| unsafe { libc::fcntl(*descriptor, libc::F_GETFD) } != -1;
    let closed = (0..FIRST).filter(|descriptor| !is_open(descriptor)).count();
    let take = |_| openat(CWD, c"/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok();
    (0..closed).map_while(take).collect()
}

#[cfg(test)]
mod tests {
    use std::os::fd::FromRawFd;

    use super::*;

    #[test]
    fn a_descriptor_that_is_another_files_is_not_closed() {
        let file = tempfile::tempfile().unwrap();
        let other = tempfile::tempfile().unwrap();
        let own = OwnFile::new(file).unwrap();
        assert!(own.expect_own().is_ok());
        let number = own.as_raw_fd();
        // SAFETY: both descriptors are open, and the first is closed by its number alone from here on.
        assert_eq!(unsafe { libc::dup2(other.as_raw_fd(), number) }, number);
        assert!(is_lost(&own.expect_own().unwrap_err()));
        drop(own);
        // SAFETY: nobody else has it.
        let left = unsafe { File::from_raw_fd(number) };
        assert!(left.metadata().is_ok());
        let own = OwnFile::new(left).unwrap();
        let (number, id) = (own.as_raw_fd(), own.id());
        drop(own);
        // Another test may have a file of that number by now.
        let found = std::fs::metadata(format!("/proc/self/fd/{number}"));
        assert!(found.map_or(true, |facts| FileId::of(&facts) != id), "what is its own is closed");
    }
}
