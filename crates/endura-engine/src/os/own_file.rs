//! Files that stay usable, whatever the rest of the process does with descriptors.
//!
//! A host may have closed its standard streams. The next file that is opened would get the number of such a stream, and
//! what the host prints would go into the file. So no file is opened under those numbers.
//!
//! A host may close all descriptors that it does not know, as programs do that become daemons. Their numbers then refer
//! to the files that it opens next. So each file is identified by its device and inode, and by the
//! [owner](super::number_owner) of its descriptor's number. They are checked before the file is used, and a descriptor
//! that belongs to another file or another handle by now is not closed.

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

/// The first descriptor that is not a standard stream.
const FIRST: i32 = 3;
const LOST: &str = "the pool's files were closed by other code of this process, as programs do that become daemons, and nothing more is written to \
     them: open the pool after that";

/// An open file, with what identifies it.
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

    /// The identity of the file.
    pub(crate) fn id(&self) -> FileId {
        self.id
    }

    /// Whether the descriptor still refers to the file. One system call.
    pub(crate) fn is_own(&self) -> bool {
        self.owner.is_current()
            && self.file.metadata().is_ok_and(|facts| FileId::of(&facts) == self.id)
    }

    /// Fails unless the descriptor [still refers](Self::is_own) to the file.
    ///
    /// # Errors
    ///
    /// An [`Error::Io`] for which [`is_lost`] is true.
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

/// Whether the error says that other code closed the descriptor of a file.
pub(crate) fn is_lost(error: &Error) -> bool {
    matches!(error, Error::Io { source, .. } if source.raw_os_error() == Some(libc::EBADF))
}

/// Opens a file under a number above the standard streams.
pub(crate) fn open(options: &OpenOptions, path: &Path) -> io::Result<File> {
    let _taken = take_standard();
    let file = options.open(path)?;
    match file.as_raw_fd() {
        FIRST.. => Ok(file),
        // Another thread closed a standard stream at this moment.
        _ => Ok(File::from(fcntl_dupfd_cloexec(&file, FIRST)?)),
    }
}

/// Opens a folder under a number above the standard streams.
pub(crate) fn open_folder(path: &Path) -> io::Result<File> {
    open(OpenOptions::new().read(true), path)
}

/// Occupies the descriptors of closed standard streams until the result is dropped. Nothing can be read or written
/// through them.
fn take_standard() -> Vec<OwnedFd> {
    // SAFETY: the command changes nothing.
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
        // SAFETY: both descriptors are open, and from here on the first is used and closed by its number alone.
        assert_eq!(unsafe { libc::dup2(other.as_raw_fd(), number) }, number);
        assert!(is_lost(&own.expect_own().unwrap_err()));
        drop(own);
        // SAFETY: no other value owns the descriptor.
        let left = unsafe { File::from_raw_fd(number) };
        assert!(left.metadata().is_ok());
        let own = OwnFile::new(left).unwrap();
        let (number, id) = (own.as_raw_fd(), own.id());
        drop(own);
        // Another test may have opened a file under that number by now.
        let found = std::fs::metadata(format!("/proc/self/fd/{number}"));
        assert!(found.map_or(true, |facts| FileId::of(&facts) != id), "what is its own is closed");
    }
}
