//! A file that has no name until it is complete.
//!
//! A new file has no name at first (`O_TMPFILE`). When it is complete, it is linked under its name through `/proc`, and
//! the link fails if the name is taken. Where the file system has no nameless files, or where `/proc` is missing, the
//! new file has a temporary name in the same folder. A crash may leave an incomplete file under its temporary name, but
//! never under its real one.
//!
//! A link replaces nothing. To replace an older file of the pool, the new file gets a temporary name, which is
//! exchanged with the name of the older file. The file that then has the temporary name is examined. If it is the
//! expected one, it is removed; if not, the names are exchanged back. The temporary name exists for a moment only.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, OFlags, RenameFlags, linkat, renameat_with};
use rustix::io::Errno;

use super::fork::ForkGuard;
use super::linux::file_identity::FileId;
use super::linux::identity;
use super::own_file::{self, OwnFile};

/// The most characters of a file's name that its temporary name repeats. A temporary name, like any name, may have 255
/// bytes.
const MOST_REPEATED: usize = 50;

/// A file that does not have its name yet.
#[derive(Debug)]
pub(crate) struct NewFile {
    pub(crate) file: OwnFile,
    /// The file's temporary path, if it has one.
    temporary: Option<PathBuf>,
    birthplace: ForkGuard,
}

/// The mode of a new file, before the umask.
const USUAL: u32 = 0o666;
/// The mode of a file made by [`NewFile::like`], until it gets the mode of the other file.
const PRIVATE: u32 = 0o600;

impl NewFile {
    /// A new file for `path`, with the mode that the umask leaves.
    pub(crate) fn new(path: &Path) -> io::Result<Self> {
        Self::with_mode(path, USUAL)
    }

    /// A new file for `path` that will hold the contents of `of`. It gets the mode and the group of `of`, and also the
    /// owner of `of` if this process may change owners. So the new file can be opened by the same users as `of`, and by
    /// no others.
    pub(crate) fn like(of: &File, path: &Path) -> io::Result<Self> {
        let new = Self::with_mode(path, PRIVATE)?;
        let (facts, own) = (of.metadata()?, new.file.metadata()?);
        let (user, group) = (Some(facts.uid()), Some(facts.gid()));
        let has_group = (facts.uid(), facts.gid()) == (own.uid(), own.gid())
            || fchown(&*new.file, user, group).is_ok()
            || facts.gid() == own.gid()
            || fchown(&*new.file, None, group).is_ok();
        let mode = facts.mode() & 0o777;
        // If the new file has another group than `of`, the members of that group get only the rights of all other
        // users.
        let mode = if has_group { mode } else { mode & !0o070 | (mode & 0o007) << 3 };
        // An error is ignored, because not every file system has modes.
        let _ = new.file.set_permissions(Permissions::from_mode(mode));
        Ok(new)
    }

    fn with_mode(path: &Path, mode: u32) -> io::Result<Self> {
        let (mut options, folder) = (OpenOptions::new(), folder_of(path));
        options.read(true).write(true).mode(mode).custom_flags(OFlags::TMPFILE.bits() as i32);
        match own_file::open(&options, folder) {
            Ok(file) => {
                let file = OwnFile::new(file)?;
                let new = Self { file, temporary: None, birthplace: ForkGuard::here() };
                if new.has_path() { Ok(new) } else { Self::named(path, mode) }
            }
            Err(error) if is_unknown_flag(&error) => Self::named(path, mode),
            Err(error) => Err(error),
        }
    }

    fn named(path: &Path, mode: u32) -> io::Result<Self> {
        let temporary = temporary(path)?;
        let mut options = OpenOptions::new();
        // With `create_new` the call opens neither an existing file of that name nor the target of a symbolic link.
        options.read(true).write(true).create_new(true).mode(mode);
        let file = OwnFile::new(own_file::open(&options, &temporary)?)?;
        Ok(Self { file, temporary: Some(temporary), birthplace: ForkGuard::here() })
    }

    /// Like [`new`](Self::new) on a file system without nameless files.
    #[cfg(test)]
    pub(crate) fn new_named(path: &Path) -> io::Result<Self> {
        Self::named(path, USUAL)
    }

    /// A path by which the file can be opened now.
    pub(crate) fn path(&self) -> PathBuf {
        self.temporary.clone().unwrap_or_else(|| self.path_by_descriptor())
    }

    /// Whether [`path`](Self::path) leads to the file.
    pub(crate) fn has_path(&self) -> bool {
        let found = fs::metadata(self.path()).map(|facts| FileId::of(&facts));
        found.is_ok_and(|found| found == self.file.id())
    }

    fn path_by_descriptor(&self) -> PathBuf {
        format!("/proc/self/fd/{}", self.file.as_raw_fd()).into()
    }

    fn link(&self, path: &Path) -> io::Result<()> {
        Ok(linkat(CWD, self.path_by_descriptor(), CWD, path, AtFlags::SYMLINK_FOLLOW)?)
    }

    /// Gives the file its name, unless the name is taken.
    ///
    /// # Errors
    ///
    /// `AlreadyExists` if it is taken; any other error of the system.
    pub(crate) fn publish(&mut self, path: &Path) -> io::Result<()> {
        let Some(temporary) = &self.temporary else { return self.link(path) };
        match renameat_with(CWD, temporary, CWD, path, RenameFlags::NOREPLACE) {
            // This file system does not support `NOREPLACE`. A link replaces nothing either, but it leaves the
            // temporary name.
            Err(Errno::INVAL) => fs::hard_link(temporary, path),
            outcome => {
                outcome?;
                self.temporary = None;
                Ok(())
            }
        }
    }

    /// Removes the name `path` again. If another file has that name by now, that file keeps it.
    pub(crate) fn unpublish(&self, path: &Path) {
        if is_at(path, self.file.id()) {
            let _ = fs::remove_file(path);
        }
    }

    /// Gives the file the name `path`, and removes `old`, the file that had this name. No other file is removed.
    ///
    /// # Errors
    ///
    /// `AlreadyExists` if a file other than `old` has the name; any other error of the system. Nothing has changed
    /// then, except if the removal of `old` failed: then the new file has the name, and `old` has the temporary name.
    pub(crate) fn replace(&mut self, path: &Path, old: FileId) -> io::Result<()> {
        let temporary = match self.temporary.clone() {
            Some(temporary) => temporary,
            None => {
                let temporary = temporary(path)?;
                self.link(&temporary)?;
                self.temporary.insert(temporary).clone()
            }
        };
        let exchange = || renameat_with(CWD, &temporary, CWD, path, RenameFlags::EXCHANGE);
        let taken = || io::Error::from(io::ErrorKind::AlreadyExists);
        match exchange() {
            Ok(()) if is_at(&temporary, old) => fs::remove_file(&temporary)?,
            Ok(()) => {
                exchange()?;
                return Err(taken());
            }
            // Where names cannot be exchanged, another file could take the name between the check and the rename.
            Err(Errno::INVAL | Errno::NOSYS) if is_at(path, old) => fs::rename(&temporary, path)?,
            Err(Errno::INVAL | Errno::NOSYS) => return Err(taken()),
            Err(errno) => return Err(errno.into()),
        }
        self.temporary = None;
        Ok(())
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        // In a forked child the file is the parent's.
        if let Some(temporary) = self.temporary.as_ref().filter(|_| !self.birthplace.is_elsewhere())
            && is_at(temporary, self.file.id())
        {
            let _ = fs::remove_file(temporary);
        }
    }
}

/// A name in the folder of `path` that no file has.
fn temporary(path: &Path) -> io::Result<PathBuf> {
    let unique = u128::from_be_bytes(identity::random().map_err(io::Error::other)?);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name: String = name.chars().take(MOST_REPEATED).collect();
    Ok(folder_of(path).join(format!(".{name}.{unique:032x}.tmp")))
}

/// The folder of the file at `path`.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Whether `path` is a name of the file itself, and not a symbolic link to the file.
fn is_at(path: &Path, file: FileId) -> bool {
    fs::symlink_metadata(path).is_ok_and(|facts| FileId::of(&facts) == file)
}

fn is_unknown_flag(error: &io::Error) -> bool {
    let unknown = [libc::EOPNOTSUPP, libc::EISDIR, libc::EINVAL, libc::ENOENT];
    error.raw_os_error().is_some_and(|code| unknown.contains(&code))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    type Make = fn(&Path) -> io::Result<NewFile>;

    fn with_each(test: impl Fn(Make, &Path)) {
        for make in [NewFile::new as Make, NewFile::new_named] {
            for at in ["/dev/shm", env!("CARGO_MANIFEST_DIR")] {
                let Ok(folder) = tempfile::tempdir_in(at) else { continue };
                test(make, folder.path());
            }
        }
    }

    fn names(folder: &Path) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    fn id_at(path: &Path) -> FileId {
        FileId::of(&fs::symlink_metadata(path).unwrap())
    }

    #[test]
    fn a_new_file_takes_the_place_of_one_file_alone() {
        with_each(|make, folder| {
            let path = folder.join("name");
            fs::write(&path, "old").unwrap();
            let old = id_at(&path);
            // Held open, so that no other file gets its inode number.
            let _held = File::open(&path).unwrap();
            make(&path).unwrap().replace(&path, old).unwrap();
            assert_eq!((fs::read(&path).unwrap(), names(folder)), (vec![], 1));
            // The replacement is refused if the name belongs to another file, to a symbolic link, or to nothing.
            for other in ["file", "link", "nothing"] {
                fs::remove_file(&path).unwrap();
                match other {
                    "file" => fs::write(&path, "other").unwrap(),
                    "link" => symlink("nowhere", &path).unwrap(),
                    _ => {}
                }
                let refused = make(&path).unwrap().replace(&path, old);
                assert!(refused.is_err(), "{other}");
                assert_eq!(names(folder), usize::from(other != "nothing"), "{other}");
                if other == "file" {
                    assert_eq!(fs::read(&path).unwrap(), b"other");
                }
                assert_eq!(fs::symlink_metadata(&path).is_ok(), other != "nothing");
                fs::write(&path, "").unwrap_or_default();
                let _ = fs::remove_file(folder.join("nowhere"));
            }
        });
    }

    #[test]
    fn a_name_that_is_taken_is_left_alone() {
        with_each(|make, folder| {
            let path = folder.join("n".repeat(255));
            symlink("target", &path).unwrap();
            let error = make(&path).unwrap().publish(&path).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
            assert_eq!(names(folder), 1);
            fs::remove_file(&path).unwrap();
            make(&path).unwrap().publish(&path).unwrap();
            assert_eq!(names(folder), 1);
        });
    }
}
