//! A file that has no name until it is whole.
//!
//! At the end it is linked under its name, which fails if the name is taken. On a file system without nameless files,
//! or without `/proc`, through which they are opened and linked, it has a temporary name in the same folder. A crash may
//! leave the temporary name, never the real one.

use std::fs::{self, File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, OFlags, RenameFlags, linkat, renameat_with};

use super::identity;

/// A file that has not got its name yet.
pub(crate) struct NewFile {
    pub(crate) file: File,
    /// Its temporary path, if it has one.
    temporary: Option<PathBuf>,
}

impl NewFile {
    pub(crate) fn new(folder: &Path, path: &Path) -> std::io::Result<Self> {
        let nameless = OFlags::TMPFILE.bits() as i32;
        match OpenOptions::new().read(true).write(true).custom_flags(nameless).open(folder) {
            Ok(file) => {
                let new = Self { file, temporary: None };
                if new.has_path() { Ok(new) } else { Self::named(folder, path) }
            }
            Err(error) if is_unknown_flag(&error) => Self::named(folder, path),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn named(folder: &Path, path: &Path) -> std::io::Result<Self> {
        let unique = identity::random().map_err(std::io::Error::other)?;
        let unique = u128::from_be_bytes(unique);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let temporary = folder.join(format!(".{name}.{unique:032x}.tmp"));
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&temporary)?;
        Ok(Self { file, temporary: Some(temporary) })
    }

    /// A path by which the file can be opened now.
    pub(crate) fn path(&self) -> PathBuf {
        self.temporary.clone().unwrap_or_else(|| self.path_by_descriptor())
    }

    /// Whether the path leads to the file.
    fn has_path(&self) -> bool {
        let facts = (self.file.metadata(), fs::metadata(self.path()));
        matches!(facts, (Ok(a), Ok(b)) if (a.dev(), a.ino()) == (b.dev(), b.ino()))
    }

    fn path_by_descriptor(&self) -> PathBuf {
        format!("/proc/self/fd/{}", self.file.as_raw_fd()).into()
    }

    /// Gives the file its name, unless the name is taken.
    pub(crate) fn publish(&mut self, path: &Path) -> std::io::Result<()> {
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

impl Drop for NewFile {
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
