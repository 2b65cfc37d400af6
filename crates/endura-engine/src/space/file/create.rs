//! Creation of a pool. A crash leaves either no pool or a whole one.
//!
//! The file has no name until everything in it is durable and the file is locked ([`new_file`](crate::os::new_file)).

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::media::{Domain, FlushInstruction, Mapped, Mapping, Media, Reservation, STEP};
use crate::os::filesystem::Filesystem;
use crate::os::identity;
use crate::os::lock::FileLock;
use crate::os::new_file::{NewFile, folder_of};
use crate::os::own_file;
use crate::space::file::end_mark::EndMark;
use crate::space::file::pool_file::{Access, PoolFile};
use crate::space::file::schedule::Schedule;
use crate::space::file::superblock::Superblock;
use crate::space::space::Space;
use crate::{Error, Result};

impl PoolFile {
    /// Creates an empty pool at `path` and locks it for writing.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] with `AlreadyExists` if there is something at `path`; [`Error::Full`].
    pub(crate) fn create(path: &Path, access: Access) -> Result<Self> {
        Self::make(path, access, None, (format, |_: &mut Self| Ok(())))
    }

    /// Creates a pool with the contents that `fill` writes, durably, into an empty file. The file gets the mode and the
    /// owner of `like`, if that is given. `ready` is called when the file is locked, and before it has its name.
    ///
    /// # Errors
    ///
    /// As for [`create`](Self::create), and the errors of `fill` and `ready`.
    pub(crate) fn make(
        path: &Path,
        access: Access,
        like: Option<&File>,
        (fill, ready): (impl FnOnce(&File) -> Result<()>, impl FnOnce(&mut Self) -> Result<()>),
    ) -> Result<Self> {
        let draft = Draft::begin(path, access, like)?;
        fill(&draft.new.file)?;
        // The file is locked before it has a name, so that no other process can lock it first.
        let lock = FileLock::acquire(&draft.path(), false)?;
        let file =
            File::try_clone(&draft.new.file).map_err(|error| Error::creating(path, error))?;
        let mut made = Self::of_locked(file, lock, access)?;
        ready(&mut made)?;
        draft.publish(path)?;
        Ok(made)
    }
}

/// A pool that has no name yet.
#[derive(Debug)]
pub struct Draft {
    new: NewFile,
    folder: File,
}

impl Draft {
    /// An empty file for a pool at `path`.
    fn begin(path: &Path, access: Access, like: Option<&File>) -> Result<Self> {
        if access.read_only {
            return Err(Error::ReadOnly);
        }
        let failed = |error: io::Error| Error::creating(path, error);
        let folder = own_file::open_folder(folder_of(path)).map_err(failed)?;
        Filesystem::of(&folder, access.any_filesystem)?;
        if fs::symlink_metadata(path).is_ok() {
            return Err(failed(io::Error::from_raw_os_error(libc::EEXIST)));
        }
        let new = like.map_or_else(|| NewFile::new(path), |like| NewFile::like(like, path));
        Ok(Self { new: new.map_err(failed)?, folder })
    }

    /// An empty pool for `path`, closed, in a file with the mode and the owner of `like`.
    ///
    /// # Errors
    ///
    /// As for [`PoolFile::create`].
    pub(crate) fn of_pool(path: &Path, access: Access, like: &File) -> Result<Self> {
        let draft = Self::begin(path, access, Some(like))?;
        format(&draft.new.file)?;
        Ok(draft)
    }

    /// Records the schedule of checkpoints of the pool from which the draft was made. The checkpoints of the new pool
    /// will be kept beside it.
    pub fn keep_schedule(&self, of: Schedule) -> Result<()> {
        let schedule = Schedule { is_elsewhere: false, ..of };
        let mut superblock = Superblock::read(&self.new.file)?.with_schedule(schedule);
        let written = superblock.write(&self.new.file);
        written.and_then(|()| {
            self.new.file.sync_all().map_err(|error| Error::io("syncing a new pool", error))
        })
    }

    /// A path by which the draft can be opened now.
    pub fn path(&self) -> PathBuf {
        self.new.path()
    }

    /// Gives the pool, which is whole and durable, its name. The name is durable on return.
    ///
    /// # Errors
    ///
    /// [`Error::Io`], with `AlreadyExists` if something has that name. No pool is left then.
    pub fn publish(mut self, path: &Path) -> Result<()> {
        self.new.publish(path).map_err(|error| Error::creating(path, error))?;
        self.folder.sync_all().map_err(|error| {
            self.new.unpublish(path);
            Error::io("syncing the pool's folder", error)
        })
    }
}

/// Writes an empty pool into an empty file, durably. The file gets the length of an empty pool.
fn format(file: &File) -> Result<()> {
    let own = file.try_clone().map_err(|e| Error::io("formatting a pool", e))?;
    let reservation =
        Reservation::new(STEP).map_err(|e| Error::io("reserving addresses to format a pool", e))?;
    let instruction = FlushInstruction::best().unwrap_or(FlushInstruction::Clflush);
    // All of it is synced before the file has a name.
    let domain = Domain::PageCache;
    let mapping =
        Mapping { read_only: false, direct: false, domain, instruction, notes_pages: false };
    let medium = Mapped::new(own, reservation, mapping)?;
    Space::format(&medium)?;
    medium.sync()?;
    let mut superblock = Superblock::of_new_pool(identity::random()?);
    let mark = EndMark { closed: superblock.session, begins: [0; 16] };
    superblock.has_end_mark = mark.write(file, medium.len()).is_ok();
    superblock.write(file)?;
    file.sync_all().map_err(|error| Error::io("syncing a new pool", error))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The path for file systems without nameless files.
    #[test]
    fn a_named_draft_neither_replaces_nor_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pool");
        let names = || fs::read_dir(folder.path()).unwrap().count();

        let mut draft = NewFile::new_named(&path).unwrap();
        format(&draft.file).unwrap();
        draft.publish(&path).unwrap();
        drop(draft);
        assert_eq!(names(), 1);
        let first = fs::read(&path).unwrap();

        let mut second = NewFile::new_named(&path).unwrap();
        let error = second.publish(&path).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        drop(second);
        assert_eq!(names(), 1);
        assert!(fs::read(&path).unwrap() == first);
    }
}
