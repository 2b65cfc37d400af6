//! The file of checkpoints beside a pool: finding, locking and creating it.
//!
//! A new file has no name until it holds a checkpoint ([`NewFile`]). Then it gets its name if nothing has that name, or
//! replaces a file of this session that was given up. A crash leaves the old file or the new one. So a file at the path
//! that holds no checkpoint belongs to another program, and is neither written nor removed.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use crate::checkpoint::file::failure::Failure;
use crate::checkpoint::file::newest::{CheckpointFile, newest_moment};
use crate::checkpoint::file::root::Moment;
use crate::checkpoint::lineage::{self, Relation, Said, relation};
use crate::checkpoint::restore;
use crate::checkpoint::why::{
    DAMAGED, EMPTY, FOREIGN, IN_USE, NAME_TOO_LONG, NO_FILE, OTHER_VERSION, REPLACED, WRITTEN_OVER,
    bad,
};
use crate::os::file_identity::FileId;
use crate::os::lock::{self, FileLock};
use crate::os::new_file::{NewFile, folder_of};
use crate::os::own_file::{self, OwnFile};
use crate::os::whereabouts;
use crate::space::Base;
use crate::space::Superblock;
use crate::{Error, Result};

/// The least time to wait for a lock. A process that is killed releases the lock of the pool before that of the
/// checkpoint, and a process that only looks holds the lock for a moment.
pub(crate) const PATIENCE: Duration = Duration::from_millis(200);
const PAUSE: Duration = Duration::from_millis(1);

/// What the path of a file leads to now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathTarget {
    /// The file itself.
    Own,
    /// Nothing.
    Nothing,
    /// Something else, or it cannot be found out.
    Other,
}

/// The file of checkpoints of one pool, locked.
///
/// An open reads the roots only. The rest is read when it is needed, which takes longer the larger the pool is.
#[derive(Debug)]
pub(crate) struct Beside {
    file: OwnFile,
    newest: Option<(Moment, u64)>,
    most_pages: u32,
    /// The whole file, once it was read.
    whole: Option<CheckpointFile<OwnFile>>,
    path: PathBuf,
    /// The file while it has no name yet, and the path that it will get, with all links resolved.
    draft: Option<(NewFile, PathBuf)>,
    /// The file that this one may replace.
    replaces: Option<FileId>,
    /// Whether the name of the file is durable.
    is_settled: bool,
    /// The lock on the file; `None` if the file was opened by [`peek`](Self::peek). The field is declared last, so that
    /// the lock is released after everything else.
    lock: Option<FileLock>,
}

impl Beside {
    /// Opens the file at `path`, and locks it for one writer or for many readers. Returns `None` if there is no file.
    /// If another process has the lock, waits for at most `patience`.
    ///
    /// # Errors
    ///
    /// [`Error::BadCheckpoint`] if the file holds no checkpoint that can be read; [`Error::Io`].
    pub(crate) fn open(
        path: &Path,
        most_pages: u32,
        (read_only, patience): (bool, Duration),
    ) -> Result<Option<Self>> {
        if !is_there(path)? {
            return Ok(None);
        }
        let (file, lock) = locked(path, read_only, patience)?;
        Self::found(path, file, most_pages, Some(lock)).map(Some)
    }

    /// Like [`open`](Self::open), for a pool of which `is_on` says whether it makes checkpoints. If it makes none, a
    /// name that no file can have is no error: there is no such file, and none will be made.
    ///
    /// # Errors
    ///
    /// As for [`open`](Self::open).
    pub(crate) fn open_if(
        is_on: bool,
        path: &Path,
        most_pages: u32,
        how: (bool, Duration),
    ) -> Result<Option<Self>> {
        match Self::open(path, most_pages, how) {
            Err(Error::BadCheckpoint { what: NAME_TOO_LONG, .. }) if !is_on => Ok(None),
            found => found,
        }
    }

    /// Opens the file at `path` without a lock: another process may be writing it. The newest checkpoint stays in the
    /// file until the next but one is made. Each later read of the checkpoint is checked, because it may be gone by
    /// then.
    ///
    /// # Errors
    ///
    /// As for [`open`](Self::open), and [`Error::Io`] with `NotFound` if there is no file.
    pub(crate) fn peek(path: &Path, most_pages: u32) -> Result<Self> {
        let failed = |error| Error::opening(path, error);
        if !is_there(path)? {
            return Err(failed(io::ErrorKind::NotFound.into()));
        }
        let file = lock::open(path, true).map_err(failed)?;
        Self::found(path, file, most_pages, None)
    }

    fn found(path: &Path, file: File, most_pages: u32, lock: Option<FileLock>) -> Result<Self> {
        let file = OwnFile::new(file).map_err(|error| Error::opening(path, error))?;
        let newest = newest_moment(&*file).map_err(|failure| told(path, failure))?;
        if newest.is_none() {
            return Err(bad(path, EMPTY));
        }
        let path = path.to_owned();
        Ok(Self {
            file,
            newest,
            most_pages,
            whole: None,
            path,
            draft: None,
            replaces: None,
            is_settled: true,
            lock,
        })
    }

    /// A new file for checkpoints of `pool`, which gets the name `path` once it holds a checkpoint. Until then the path
    /// may have the file `replaces`.
    pub(crate) fn create(
        path: &Path,
        pool: &File,
        most_pages: u32,
        replaces: Option<FileId>,
    ) -> Result<Self> {
        let failed = |error| Error::creating(path, error);
        let to = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let draft = NewFile::like(pool, &to).map_err(failed)?;
        let lock = FileLock::acquire(&draft.path(), false)?;
        Ok(Self {
            file: draft.file.try_clone().map_err(failed)?,
            newest: None,
            most_pages,
            whole: None,
            path: path.to_owned(),
            draft: Some((draft, to)),
            replaces,
            is_settled: false,
            lock: Some(lock),
        })
    }

    /// The whole file. Reads it if it was not read before, in O(pages of the pool).
    pub(crate) fn whole(&mut self) -> Result<&mut CheckpointFile<OwnFile>, Failure> {
        let whole = match self.whole.take() {
            Some(whole) => whole,
            None => CheckpointFile::open(self.file.try_clone()?, self.most_pages)?,
        };
        Ok(self.whole.insert(whole))
    }

    /// The moment of the newest checkpoint.
    pub(crate) fn newest(&self) -> Option<Moment> {
        self.newest_numbered().map(|(moment, _)| moment)
    }

    /// The moment of the newest checkpoint, and its number.
    pub(crate) fn newest_numbered(&self) -> Option<(Moment, u64)> {
        self.whole.as_ref().map_or(self.newest, |whole| whole.newest())
    }

    /// Makes the newest checkpoint durable, if another process may have left it in the page cache.
    pub(crate) fn secure(&mut self) -> Result<(), Failure> {
        self.whole()?.begin().map(drop)
    }

    /// Records that the pool has made `newest` checkpoints. The first checkpoint of an empty file then gets the next
    /// number.
    pub(crate) fn follow(&mut self, newest: u64) -> Result<()> {
        let whole = self.whole().map(|whole| whole.follow(newest));
        whole.map_err(|failure| told(&self.path, failure))
    }

    /// Makes `file` equal to the newest checkpoint: see [`restore`]. Returns the number of pages that were written.
    pub(crate) fn restore(
        &mut self,
        file: &File,
        writes: restore::Writes,
        progress: &mut restore::Progress<'_>,
    ) -> Result<u64, Failure> {
        restore::restore(file, self.whole()?, writes, progress)
    }

    /// Whether `file` differs from the newest checkpoint. Reads the table of the checkpoint and all of `file`.
    pub(crate) fn differs(&mut self, file: &File) -> Result<bool> {
        let done = self.whole().and_then(|whole| restore::differs(file, whole));
        done.map_err(|failure| told(&self.path, failure))
    }

    /// Writes a root which records that stores of the session `last` may not have reached the disk. The root has the
    /// pages of the newest checkpoint, so the checkpoint itself stays the same.
    pub(crate) fn suspect(&mut self, last: &Superblock) -> Result<(), Failure> {
        let file = self.whole()?;
        let Some((moment, _)) = file.newest() else { return Ok(()) };
        let Some(root) = Superblock::decode(&moment.superblock) else { return Ok(()) };
        let superblock = Superblock { suspect: last.half(), ..root }.encode();
        file.begin()?.commit(Moment { superblock, ..moment }).map(drop)
    }

    /// Whether the newest root records that stores of the session `last` may not have reached the disk.
    pub(crate) fn suspects(&self, last: &Superblock) -> bool {
        let root = self.newest().and_then(|moment| Superblock::decode(&moment.superblock));
        root.is_some_and(|root| root.uuid == last.uuid && root.suspects(last))
    }

    /// The file.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Bytes that the file takes on its disk.
    pub(crate) fn bytes(&self) -> u64 {
        self.file.metadata().map_or(0, |facts| facts.blocks() * 512)
    }

    /// The path that the file has or will get.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the file its name, once it has its first checkpoint. The name is durable on return.
    ///
    /// # Errors
    ///
    /// [`Error::BadCheckpoint`] if by now the path has a file that this session has not made; [`Error::Io`].
    pub(crate) fn settle(&mut self) -> Result<()> {
        if self.is_settled {
            return Ok(());
        }
        let path = &self.path;
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::AlreadyExists => bad(path, REPLACED),
            _ => Error::creating(path, error),
        };
        // The lock on the old file is kept until the new file has its name.
        let replaced = self.lock_what_is_replaced()?;
        if let Some((draft, to)) = &mut self.draft {
            let named = match &replaced {
                Some(lock) => draft.replace(to, lock.file()),
                None => draft.publish(to),
            };
            named.map_err(failed)?;
            self.draft = None;
        }
        let folder =
            fs::canonicalize(path).and_then(|path| own_file::open_folder(folder_of(&path)));
        folder.and_then(|folder| folder.sync_all()).map_err(failed)?;
        self.is_settled = true;
        Ok(())
    }

    /// Locks the file that this one replaces. If two pools were given the same path, and no file was there, both make a
    /// new file, and the second must not replace the first. A file that was put there while the pool was open must not
    /// be replaced either. So only two files may be replaced: one that this session had, whatever it holds, and one
    /// that this session made.
    fn lock_what_is_replaced(&self) -> Result<Option<FileLock>> {
        if self.draft.is_none() || !self.path.is_file() {
            return Ok(None);
        }
        let (file, lock) = locked(&self.path, false, PATIENCE)?;
        if Some(lock.file()) == self.replaces {
            return Ok(Some(lock));
        }
        let root_of = |moment: Moment| Superblock::decode(&moment.superblock);
        let own = self.newest().and_then(root_of);
        let there = newest_moment(&file).ok().flatten().and_then(|(moment, _)| root_of(moment));
        match (own, there) {
            (Some(own), Some(there)) if own.uuid != there.uuid => Err(bad(&self.path, FOREIGN)),
            (Some(own), Some(there)) if own.session == there.session => Ok(Some(lock)),
            _ => Err(bad(&self.path, REPLACED)),
        }
    }

    /// Whether the path still leads to the file.
    pub(crate) fn place(&self) -> PathTarget {
        if let Some((draft, _)) = &self.draft {
            return if draft.has_path() { PathTarget::Own } else { PathTarget::Nothing };
        }
        match whereabouts::at(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => PathTarget::Nothing,
            Ok(found) if Some(found) == self.id() => PathTarget::Own,
            _ => PathTarget::Other,
        }
    }

    /// The identity of the file, if it is locked.
    pub(crate) fn id(&self) -> Option<FileId> {
        self.lock.as_ref().map(FileLock::file)
    }

    /// The session that made the newest checkpoint.
    pub(crate) fn session(&self) -> Option<[u8; 16]> {
        self.newest()
            .and_then(|moment| Superblock::decode(&moment.superblock))
            .map(|root| root.session)
    }

    /// Fails unless the newest checkpoint in the file is the one that this process has found or made there.
    ///
    /// # Errors
    ///
    /// [`Error::BadCheckpoint`] if another one was written over it; [`Error::Io`].
    pub(crate) fn expect_untouched(&self) -> Result<()> {
        self.file.expect_own()?;
        match newest_moment(&*self.file) {
            Ok(newest) if newest == self.newest_numbered() => Ok(()),
            Err(Failure::Io(error)) => Err(told(&self.path, Failure::Io(error))),
            _ => Err(bad(&self.path, WRITTEN_OVER)),
        }
    }

    /// How the newest checkpoint relates to a pool that records `said`; `None` if there is no checkpoint.
    pub(crate) fn relation(&self, said: Said<'_>) -> Option<Relation> {
        self.newest_numbered().map(|(moment, number)| relation(said, &moment, number))
    }

    /// How the next session of a pool that records `said` names the newest checkpoint.
    pub(crate) fn base(&self, said: Said<'_>) -> Option<Base> {
        self.newest_numbered().and_then(|(moment, number)| lineage::base(said, &moment, number))
    }
}

/// The file for checkpoints of the pool at `path`, unless another one is chosen.
pub(crate) fn default_path(path: &Path) -> PathBuf {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    with_suffix(&path, ".checkpoint")
}

/// The path with a suffix after its name.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Whether there is a file at `path`.
fn is_there(path: &Path) -> Result<bool> {
    match fs::metadata(path) {
        Ok(facts) if facts.is_file() => Ok(true),
        Ok(_) => Err(bad(path, NO_FILE)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) if error.kind() == io::ErrorKind::InvalidFilename => {
            Err(bad(path, NAME_TOO_LONG))
        }
        Err(error) => Err(Error::opening(path, error)),
    }
}

fn locked(path: &Path, read_only: bool, patience: Duration) -> Result<(File, FileLock)> {
    let begun = Instant::now();
    let lock = loop {
        match FileLock::acquire(path, read_only) {
            Err(Error::Locked) if begun.elapsed() < patience => std::thread::sleep(PAUSE),
            Err(Error::Locked) => return Err(bad(path, IN_USE)),
            outcome => break outcome?,
        }
    };
    let failed = |error| Error::opening(path, error);
    let file = lock::open(path, read_only).map_err(failed)?;
    let is_locked = FileId::of(&file.metadata().map_err(failed)?) == lock.file();
    // If they differ, another file was put there between the two opens.
    if is_locked { Ok((file, lock)) } else { Err(bad(path, IN_USE)) }
}

/// The time of a moment.
pub(crate) fn time_of(moment: &Moment) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_nanos(moment.made)
}

/// The error for a failure with the file at `path`.
pub(crate) fn told(path: &Path, failure: Failure) -> Error {
    match failure {
        Failure::Io(error) | Failure::GivenUp(error) => {
            Error::io(format!("the checkpoint {}", path.display()), error)
        }
        Failure::Pool(error) => {
            Error::io(format!("writing the pool of the checkpoint {}", path.display()), error)
        }
        Failure::Version(_) => bad(path, OTHER_VERSION),
        Failure::Damaged(_) => bad(path, DAMAGED),
        Failure::TooLarge => bad(
            path,
            "it has more pages than the pool may have (`max_size`), or than a checkpoint can name",
        ),
    }
}
