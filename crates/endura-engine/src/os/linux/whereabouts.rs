//! The path of an open file, and the file at a path.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, StatxFlags, accessat, statx};

use super::file_identity::FileId;

/// The file that a path leads to.
///
/// # Errors
///
/// The system's error: `NotFound` where the path leads nowhere.
pub(crate) fn at(path: &Path) -> std::io::Result<FileId> {
    fs::metadata(path).map(|facts| FileId::of(&facts))
}

/// The current name of an open file: the name by which it was opened, or what that name became by a rename. `None` if
/// the name was removed, or if there is no `/proc`.
pub(crate) fn name_of(file: &File, id: FileId) -> Option<PathBuf> {
    let name = fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()?;
    // After the name of a file that was removed, the kernel writes ` (deleted)`.
    at(&name).is_ok_and(|found| found == id).then_some(name)
}

/// Whether this process may create files in a folder.
pub(crate) fn may_write(folder: &Path) -> bool {
    accessat(CWD, folder, Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS).is_ok()
}

/// Whether the file itself is a mount point. The files beside it in its folder are then on another file system.
pub(crate) fn is_mounted_alone(file: &File) -> bool {
    /// `STATX_ATTR_MOUNT_ROOT`, Linux 5.8.
    const MOUNT_ROOT: u64 = 0x2000;
    let facts = statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::empty());
    facts.is_ok_and(|facts| facts.stx_attributes.bits() & MOUNT_ROOT != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_found_where_it_was_moved() {
        let folder = tempfile::tempdir().unwrap();
        let [path, moved] = ["a", "b"].map(|name| folder.path().join(name));
        let file = File::create(&path).unwrap();
        let id = at(&path).unwrap();
        fs::rename(&path, &moved).unwrap();
        assert!(at(&path).is_err() && !is_mounted_alone(&file));
        let moved = moved.canonicalize().unwrap();
        assert_eq!(name_of(&file, id), Some(moved.clone()));
        fs::remove_file(moved).unwrap();
        assert_eq!(name_of(&file, id), None);
    }
}
