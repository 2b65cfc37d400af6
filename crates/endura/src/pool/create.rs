//! Making a pool, so that a crash leaves either no pool or a whole one.
//!
//! The file has no name until everything in it is durable and it is locked; then it is linked
//! under its name, which fails if that name is taken. Where a file system has no nameless files, a
//! temporary name in the same folder does; a crash leaves that one behind, never the real one.

use std::fs::{self, File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, OFlags, RenameFlags, linkat, renameat_with};

use super::file::{Access, PoolFile};
use super::filesystem::Filesystem;
use super::layout::PAGE;
use super::lock::PoolLock;
use super::superblock::Superblock;
use super::{Space, identity};
use crate::media::{Domain, FlushInstruction, Mapped, Mapping, Media, Reservation, extend};
use crate::{Error, Result};

/// A pool that has not got its name yet.
struct Draft {
    file: File,
    /// Where it lies meanwhile, if anywhere.
    temporary: Option<PathBuf>,
}

impl PoolFile {
    /// Makes an empty pool at `path` and locks it for writing.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] with `AlreadyExists` if there is something at `path`; [`Error::Full`].
    pub(crate) fn create(path: &Path, access: Access) -> Result<Self> {
        if access.read_only {
            return Err(Error::ReadOnly);
        }
        let folder = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let doing = || format!("creating {}", path.display());
        let folder_file = File::open(folder).map_err(|error| Error::io(doing(), error))?;
        Filesystem::of(&folder_file, access.any_filesystem)?;
        if fs::symlink_metadata(path).is_ok() {
            return Err(Error::io(
                doing(),
                std::io::Error::from(std::io::ErrorKind::AlreadyExists),
            ));
        }
        let mut draft = Draft::new(folder, path).map_err(|error| Error::io(doing(), error))?;
        format(&draft.file)?;
        // Locked before it can be found, so that nobody comes in between.
        let lock = PoolLock::acquire(&draft.path(), false)?;
        let file = draft.file.try_clone().map_err(|error| Error::io(doing(), error))?;
        let made = Self::of_locked(file, lock, access)?;
        draft.publish(path).map_err(|error| Error::io(doing(), error))?;
        folder_file.sync_all().map_err(|error| {
            // Still locked: nobody has been able to use it.
            let _ = fs::remove_file(path);
            Error::io("syncing the pool's folder", error)
        })?;
        Ok(made)
    }
}

/// Writes an empty pool into an empty file, durably.
fn format(file: &File) -> Result<()> {
    extend::extend(file, 0, PAGE)?;
    let own = file.try_clone().map_err(|e| Error::io("formatting a pool", e))?;
    let reservation =
        Reservation::new(PAGE).map_err(|e| Error::io("reserving addresses to format a pool", e))?;
    let instruction = FlushInstruction::best().unwrap_or(FlushInstruction::Clflush);
    // All of it is synced before anybody finds the file.
    let domain = Domain::PageCache;
    let mapping = Mapping { read_only: false, direct: false, domain, instruction };
    let medium = Mapped::new(own, reservation, mapping)?;
    Space::format(&medium)?;
    medium.sync()?;
    Superblock::of_new_pool(identity::random()?).write(file)?;
    file.sync_all().map_err(|error| Error::io("syncing a new pool", error))
}

impl Draft {
    fn new(folder: &Path, path: &Path) -> std::io::Result<Self> {
        let nameless = OFlags::TMPFILE.bits() as i32;
        match OpenOptions::new().read(true).write(true).custom_flags(nameless).open(folder) {
            Ok(file) => Ok(Self { file, temporary: None }),
            Err(error) if is_unknown_flag(&error) => Self::named(folder, path),
            Err(error) => Err(error),
        }
    }

    fn named(folder: &Path, path: &Path) -> std::io::Result<Self> {
        let unique = identity::random().map_err(std::io::Error::other)?;
        let unique = u128::from_be_bytes(unique);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let temporary = folder.join(format!(".{name}.{unique:032x}.tmp"));
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&temporary)?;
        Ok(Self { file, temporary: Some(temporary) })
    }

    /// A path by which the file can be opened now.
    fn path(&self) -> PathBuf {
        self.temporary.clone().unwrap_or_else(|| self.path_by_descriptor())
    }

    fn path_by_descriptor(&self) -> PathBuf {
        format!("/proc/self/fd/{}", self.file.as_raw_fd()).into()
    }

    /// Gives the file its name, unless the name is taken.
    fn publish(&mut self, path: &Path) -> std::io::Result<()> {
        match &self.temporary {
            None => {
                let own = self.path_by_descriptor();
                linkat(CWD, &own, CWD, path, AtFlags::SYMLINK_FOLLOW)?;
            }
            Some(temporary) => {
                match renameat_with(CWD, temporary, CWD, path, RenameFlags::NOREPLACE) {
                    // A link does not replace either, but leaves the temporary name.
                    Err(rustix::io::Errno::INVAL) => fs::hard_link(temporary, path)?,
                    outcome => {
                        outcome?;
                        self.temporary = None;
                    }
                }
            }
        }
        Ok(())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            let _ = fs::remove_file(temporary);
        }
    }
}

fn is_unknown_flag(error: &std::io::Error) -> bool {
    let unknown = [libc::EOPNOTSUPP, libc::EISDIR, libc::EINVAL, libc::ENOENT];
    error.raw_os_error().is_some_and(|code| unknown.contains(&code))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The way that file systems without nameless files take.
    #[test]
    fn a_named_draft_neither_replaces_nor_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pool");
        let names = || fs::read_dir(folder.path()).unwrap().count();

        let mut draft = Draft::named(folder.path(), &path).unwrap();
        format(&draft.file).unwrap();
        draft.publish(&path).unwrap();
        drop(draft);
        assert_eq!(names(), 1);
        let first = fs::read(&path).unwrap();

        let mut second = Draft::named(folder.path(), &path).unwrap();
        let error = second.publish(&path).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::AlreadyExists);
        drop(second);
        assert_eq!(names(), 1);
        assert!(fs::read(&path).unwrap() == first);
    }
}
