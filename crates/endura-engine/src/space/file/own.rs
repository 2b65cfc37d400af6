//! Checks that an open pool still owns its file: that the file is at its path, and that no other program has written
//! it.
//!
//! Nothing keeps other programs from moving the file or from writing it: `mv`, `rm`, an older copy that is renamed over
//! the pool or copied into it, a folder that is replaced, a disk that is mounted over it. So a session looks before
//! each checkpoint, and at its close. The superblock is written only at the start and the end of a session, and only by
//! the session, so a program that overwrites the file from its start changes the superblock. The superblock is read
//! from the file and not through the mapping, which may reach beyond the end of the file.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

use crate::os::file_identity::FileId;
use crate::os::own_file::OwnFile;
use crate::os::whereabouts;
use crate::space::file::newest_number::Newest;
use crate::space::file::superblock::Superblock;
use crate::space::layout::SUPERBLOCK_A;
use crate::{Error, Result};

const OVERWRITTEN: &str = "another file was written over the pool while it was open, and nothing more is written to it: if its checkpoint is \
     to count, move the pool away and open its path, which makes it anew";
const CUT: &str = "the file was made shorter while the pool was open, and nothing more is written to it: if its checkpoint is to count, \
     move the pool away and open its path, which makes it anew";
const PUT_BACK: &str = "an older copy of the pool was written over it while it was open, and nothing more is written to it: if its checkpoint \
     is to count, move the pool away and open its path, which makes it anew";

/// The paths of a pool while it is open.
#[derive(Debug, Clone)]
pub(crate) struct OwnPath {
    /// The path by which the pool was opened; `None` if the file had no name then.
    given: Option<PathBuf>,
    /// The path without links.
    canonical: PathBuf,
    file: FileId,
}

impl OwnPath {
    /// The paths of a file that was opened as `path`.
    pub(crate) fn of(path: &Path, file: &File) -> io::Result<Self> {
        let file = FileId::of(&file.metadata()?);
        let canonical = canonical(path);
        // A path in these folders stands for a descriptor that the caller may close. Any other path is made absolute,
        // because the working directory may change.
        let given = match path.starts_with("/proc") || path.starts_with("/dev/fd") {
            true => Some(canonical.clone()).filter(|path| leads_to(path, file)),
            false => Some(std::path::absolute(path)?),
        };
        Ok(Self { given, canonical, file })
    }

    /// The hash of the path without links.
    pub(crate) fn hash(&self) -> u64 {
        hash_of_canonical(&self.canonical)
    }

    /// Whether an open of either path finds this file. If it does, a checkpoint brings no other pool back.
    pub(crate) fn is_found(&self) -> bool {
        self.given.as_ref().is_none_or(|given| leads_to(given, self.file))
            || leads_to(&self.canonical, self.file)
    }

    /// Fails unless the path by which the pool was opened still leads to it. `file` is the open pool.
    ///
    /// # Errors
    ///
    /// [`Error::Displaced`].
    pub(crate) fn expect(&self, file: &File) -> Result<()> {
        match &self.given {
            Some(path) if !leads_to(path, self.file) => {
                let now = whereabouts::name_of(file, self.file).map(PathBuf::into_boxed_path);
                Err(Error::Displaced { path: path.clone(), now })
            }
            _ => Ok(()),
        }
    }
}

/// Whether the path leads to this file. If a folder may no longer be searched, that is no proof that the path leads
/// elsewhere, so the answer is yes.
fn leads_to(path: &Path, file: FileId) -> bool {
    match whereabouts::at(path) {
        Ok(found) => found == file,
        Err(error) => {
            !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        }
    }
}

/// The path without links, even if no file is there.
fn canonical(path: &Path) -> PathBuf {
    let of_folder = || {
        let path = std::path::absolute(path).ok()?;
        Some(fs::canonicalize(path.parent()?).ok()?.join(path.file_name()?))
    };
    fs::canonicalize(path).ok().or_else(of_folder).unwrap_or_else(|| path.to_owned())
}

/// The hash by which a checkpoint records the path of its pool. It is never zero.
pub(crate) fn hash_of(path: &Path) -> u64 {
    hash_of_canonical(&canonical(path))
}

fn hash_of_canonical(path: &Path) -> u64 {
    xxh3_64(path.as_os_str().as_encoded_bytes()).max(1)
}

/// Fails if `file` is not what the session with this superblock has left, or has fewer than `length` bytes. With
/// `newest`, fails also if the file's record of the newest checkpoint is not `newest`.
///
/// # Errors
///
/// [`Error::Corrupt`] if the file is not what the session has left; [`Error::Io`], also if other code of this process
/// has [closed](OwnFile) it.
pub(crate) fn expect_own(
    file: &OwnFile,
    session: &Superblock,
    length: u64,
    newest: Option<Option<Newest>>,
) -> Result<()> {
    file.expect_own()?;
    let other = |what| Err(Error::Corrupt { offset: SUPERBLOCK_A, what });
    let failed = |error| Error::io("reading what the pool's file holds", error);
    if file.metadata().map_err(failed)?.len() < length {
        return other(CUT);
    }
    let Superblock { uuid, session, sequence, .. } = *session;
    match Superblock::read(file) {
        Ok(found) if found.uuid != uuid || found.session != session || found.clean => {
            return other(OVERWRITTEN);
        }
        Ok(found) if found.sequence < sequence => return other(PUT_BACK),
        Ok(_) => {}
        Err(error @ Error::Io { .. }) => return Err(error),
        Err(_) => return other(OVERWRITTEN),
    }
    match newest {
        Some(newest) if Newest::read(file).map_err(failed)? != newest => other(PUT_BACK),
        _ => Ok(()),
    }
}
