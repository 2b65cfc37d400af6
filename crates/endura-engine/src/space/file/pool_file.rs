//! The file of a pool, from the moment it is locked until it is marked clean.
//!
//! Nothing is written before everything was checked. A session that writes announces itself first: generation, boot,
//! file, session number and "not clean" are durable before its first store, so that the next open notices any end other
//! than a close. A close syncs the data, then writes "clean", then syncs that ([`sessions`](super::sessions)).
//!
//! # Pages that the disk refused
//!
//! If a page cannot be written back, the kernel reports that only once, considers the page written, and may read the
//! old contents back later. So a session that gets the report records it in the superblock
//! ([`suspect`](PoolFile::suspect)), and in the root of the checkpoint too, because the superblock's page may be the
//! refused one.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};
use std::path::Path;

use crate::error::A_FOLDER;
use crate::media::{Placement, STEP};
use crate::os::boot::Boot;
use crate::os::file_identity::{FileId, FileIdentity, Likeness};
use crate::os::filesystem::Filesystem;
use crate::os::lease::Writers;
use crate::os::lock::{self, FileLock};
use crate::os::mounted::{self, Mounted};
use crate::os::own_file::OwnFile;
use crate::os::session_mark::{self, Mark};
use crate::os::{disk, identity};
use crate::space::alloc::pages;
use crate::space::file::doubt::{Doubt, Here, doubt, silence};
use crate::space::file::end_mark::EndMark;
use crate::space::file::entrance;
use crate::space::file::schedule::{Base, Schedule};
use crate::space::file::superblock::Superblock;
use crate::space::layout::{LENGTH, NEWEST_NUMBER, NEXT_PAGE};
use crate::{Error, Result};

/// Bytes of the smallest pool.
const LEAST: u64 = STEP;

/// How a file is opened.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Access {
    /// Whether nothing may be written.
    pub(crate) read_only: bool,
    /// Whether a file system on which pools do not work is accepted all the same.
    pub(crate) any_filesystem: bool,
}

/// A locked file with a pool in it that this build can read.
#[derive(Debug)]
pub(crate) struct PoolFile {
    pub(super) file: OwnFile,
    pub(super) superblock: Superblock,
    pub(super) access: Access,
    pub(super) filesystem: Filesystem,
    /// Warnings for the user that were found while opening.
    pub(super) warnings: Vec<&'static str>,
    /// Whether other processes had the file open for writing before this one; `None` if that was not asked, or the pool
    /// was closed.
    pub(super) writers: Option<Writers>,
    /// The mark of the file at the open, if the pool was not closed.
    pub(super) seen: Option<Mark>,
    /// The lock is declared last, so that it is released after everything else.
    pub(super) lock: FileLock,
}

impl PoolFile {
    /// Locks the file at `path`, and checks all that can be checked without writing or mapping. If the pool is not
    /// closed, it first finds out which other processes have it open for writing: see
    /// [`expect_alone`](Self::expect_alone).
    pub(crate) fn open(path: &Path, access: Access) -> Result<Self> {
        let facts = fs::metadata(path).map_err(|error| Error::opening(path, error))?;
        refuse_other_than_file(&facts)?;
        let writers = if access.read_only { None } else { entrance::writers(path) };
        let lock = FileLock::acquire(path, access.read_only)?;
        let file =
            lock::open(path, access.read_only).map_err(|error| Error::opening(path, error))?;
        Ok(Self { writers, ..Self::of_named(path, file, lock, access)? })
    }

    /// Does what [`open`](Self::open) does, for a file that is open and locked, and that was at `path`. If the file has
    /// been deleted since, the lock was that of its last owner, and the file that is at the path now has another lock.
    fn of_named(path: &Path, file: File, lock: FileLock, access: Access) -> Result<Self> {
        let facts = file.metadata().map_err(|e| Error::io("asking for the file's names", e))?;
        // A file that never had a name is found by the name of its descriptor (`/proc/self/fd/`).
        let is_there =
            || fs::metadata(path).is_ok_and(|found| FileId::of(&found) == FileId::of(&facts));
        if facts.nlink() == 0 && !is_there() {
            return Err(Error::Locked);
        }
        Self::of_locked(file, lock, access)
    }

    /// Does what [`open`](Self::open) does, for a file that is open and locked, and may have no name yet.
    pub(crate) fn of_locked(file: File, lock: FileLock, access: Access) -> Result<Self> {
        let facts = file.metadata().map_err(|e| Error::io("asking for the file's length", e))?;
        if FileId::of(&facts) != lock.file() {
            // Between the two opens another file was put at the path. That file has its own lock.
            return Err(Error::Locked);
        }
        refuse_other_than_file(&facts)?;
        let filesystem = Filesystem::of(&file, access.any_filesystem)?;
        if facts.len() == 0 {
            return Err(Error::NotAPool {
                pool: None,
                what: "the file is empty",
                checkpoint: None,
            });
        }
        let superblock = Superblock::read(&file).map_err(|error| match error {
            // A copy that was cut off is not torn.
            Error::Corrupt { .. } if facts.len() < LEAST => {
                Error::Truncated { have: facts.len(), need: LEAST, checkpoint: None }
            }
            other => other,
        })?;
        superblock.check(access.read_only)?;
        let warnings = filesystem.warning().into_iter().collect();
        let seen = (!superblock.clean).then(|| Mark::of(&file));
        let file = OwnFile::new(file);
        let file = file.map_err(|error| Error::io("asking for the file's identity", error))?;
        Ok(Self { file, superblock, access, filesystem, warnings, writers: None, seen, lock })
    }

    /// The identity of the file.
    pub(crate) fn id(&self) -> FileId {
        self.lock.file()
    }

    /// The file.
    pub(crate) fn file(&self) -> &OwnFile {
        &self.file
    }

    /// The file's length in bytes.
    pub(crate) fn len(&self) -> Result<u64> {
        let facts = self.file.metadata();
        Ok(facts.map_err(|error| Error::io("asking for the file's length", error))?.len())
    }

    /// The superblock as it was read, or last written.
    pub(crate) fn superblock(&self) -> &Superblock {
        &self.superblock
    }

    /// The file system below.
    pub(crate) fn filesystem(&self) -> Filesystem {
        self.filesystem
    }

    /// Warnings for the user.
    pub(crate) fn warnings(&self) -> &[&'static str] {
        &self.warnings
    }

    /// Warns if the memory below cannot report data loss.
    pub(crate) fn warn_of_silence(&mut self, placement: &Placement) -> Result<()> {
        let what = silence(&self.superblock, Boot::here()?, placement);
        what.into_iter().for_each(|what| self.warn(what));
        Ok(())
    }

    /// Adds a warning for the user, once.
    pub(crate) fn warn(&mut self, what: &'static str) {
        if !self.warnings.contains(&what) {
            self.warnings.push(what);
        }
    }

    /// Fails unless the file is long enough for the pages in use.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`], [`Error::Corrupt`].
    pub(crate) fn check_length(&self) -> Result<()> {
        check_length(&self.file, self.len()?)
    }

    /// Records in the next superblock which checkpoint the next session builds on, and when checkpoints are made.
    pub(crate) fn plan(&mut self, schedule: Schedule, base: Option<Base>) {
        let Base { session: base, made: base_made, lags: base_lags } = base.unwrap_or_default();
        let last = self.superblock.with_schedule(schedule);
        self.superblock = Superblock { base, base_made, base_lags, ..last };
    }

    /// Records whether checkpoints are in a file that has to be given at each open. The end of the session writes that.
    pub(crate) fn record_elsewhere(&mut self, is_elsewhere: bool) {
        self.superblock.schedule.is_elsewhere = is_elsewhere;
    }

    /// Why the pool may be torn; `None` if there is no reason to think so. In a torn pool, stores of the last session
    /// were lost in an order of the kernel's choice. `suspected` says that the checkpoint records that this may have
    /// happened.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the process has too few descriptors or too little memory to find out.
    pub(crate) fn doubt(&self, placement: &Placement, suspected: bool) -> Result<Option<Doubt>> {
        let here = Here {
            file: self.identity(),
            mark: Mark::of(&self.file),
            end: self.end_mark()?.map(|(mark, _)| mark),
            boot: Boot::here()?,
            mounted: Mounted::of(&self.file),
            has_stayed: mounted::has_stayed(&self.file),
            is_in_memory: self.filesystem.is_in_memory(),
        };
        Ok(doubt(&self.superblock, here, placement, suspected))
    }

    /// Whether this is another file than the one that the last session had open.
    pub(crate) fn has_moved(&self) -> bool {
        self.superblock.file.compare(&self.identity(), true) == Likeness::Other
    }

    /// The mark after the end of a closed pool, and where it is. A file that is too short counts as marked, because
    /// [`check_length`](Self::check_length) reports its length.
    pub(super) fn end_mark(&self) -> Result<Option<(EndMark, u64)>> {
        let last = &self.superblock;
        if !last.clean || !last.has_end_mark {
            return Ok(None);
        }
        let have = self.len()?;
        let length = if have < LEAST { LEAST } else { word(&self.file, LENGTH)? };
        if have < length {
            return Ok(Some((EndMark { closed: last.session, begins: [0; 16] }, length)));
        }
        EndMark::find(&self.file, length)
            .map_err(|error| Error::io("reading the end of the pool's file", error))
    }

    /// Asks the kernel whether it could not write back pages of a session that was not closed. The kernel reports that
    /// only once. If it does, this is recorded in the superblock.
    pub(crate) fn hear_of_refused_pages(&mut self) {
        if !self.superblock.clean && disk::were_pages_refused(&self.file, NEWEST_NUMBER) {
            // If this write fails too, `self` still has the record, and the next steps use that.
            let _ = self.suspect();
        }
    }

    /// Records that stores of this session, or of the last one, may not have reached the disk.
    pub(crate) fn suspect(&mut self) -> Result<()> {
        let last = self.superblock;
        // By now the file may belong to another session.
        if !entrance::has(&self.file, &last)? {
            return Ok(());
        }
        self.superblock = Superblock { clean: false, suspect: last.half(), ..last };
        self.superblock.write(&self.file)
    }

    /// Records that stores of the `last` session may not have reached the disk. The superblock of this session was
    /// written, and the kernel then reported pages that it could not write back: if the last session was not closed,
    /// they may be its pages.
    pub(super) fn suspect_last(&mut self, last: &Superblock) {
        let own = self.superblock;
        // If the superblock was not written at all, the error says nothing about other pages.
        if last.clean || !entrance::has(&self.file, &own).unwrap_or(false) {
            return;
        }
        self.superblock = Superblock { suspect: last.half(), sequence: own.sequence, ..*last };
        // If this write fails too, the file's pages in memory still have the record.
        let _ = self.superblock.write(&self.file);
    }

    /// Writes the file again with all that is read from it, and reads it back from the disk. The disk then has what the
    /// kernel only assumed to be there.
    pub(crate) fn write_again(&self) -> Result<()> {
        let failed = |error| Error::io("writing the pool's file again", error);
        disk::write_again(&self.file).map_err(failed)
    }

    /// Fails if another process, which the lock does not show, may have a pool in doubt open for writing. It must be
    /// called before the pool is restored or accepted.
    ///
    /// # Errors
    ///
    /// [`Error::Locked`] if a process has it open, or had a moment ago; [`Error::Unsupported`] where that cannot be
    /// seen.
    pub(crate) fn expect_alone(&self) -> Result<()> {
        let last = &self.superblock;
        match self.writers {
            _ if self.access.read_only || last.clean => Ok(()),
            Some(Writers::Somebody) | None => Err(Error::Locked),
            // A process that opened the pool by this path would have the lock.
            _ if !self.filesystem.is_overlay() || self.is_file_of(last) => Ok(()),
            _ => Err(Error::Unsupported { what: entrance::IN_OVERLAY }),
        }
    }

    /// Whether this is the file in which the session of the superblock `last` was.
    fn is_file_of(&self, last: &Superblock) -> bool {
        last.file.compare(&self.identity(), true) != Likeness::Other
            && Mark::of(&self.file).names(last.session) != Some(false)
    }

    /// Keeps out writers that the lock does not show, before the file is overwritten. Returns the mark that the file
    /// had.
    ///
    /// # Errors
    ///
    /// [`Error::Locked`] if a writer begins a session.
    pub(crate) fn shut(&mut self) -> Result<Mark> {
        let had = Mark::of(&self.file);
        entrance::shut(&self.file, identity::random()?, &self.superblock)?;
        self.seen = None;
        Ok(had)
    }

    /// Admits again the writers that [`shut`](Self::shut) keeps out, if nothing was written.
    pub(crate) fn open_again(&self, had: Mark) {
        session_mark::put_back(&self.file, had);
    }

    pub(super) fn identity(&self) -> FileIdentity {
        FileIdentity::of(&self.file, self.lock.file())
    }
}

fn refuse_other_than_file(facts: &fs::Metadata) -> Result<()> {
    let kind = facts.file_type();
    if kind.is_file() {
        Ok(())
    } else if kind.is_dir() {
        Err(Error::NotAPool { pool: None, what: A_FOLDER, checkpoint: None })
    } else if kind.is_char_device() && is_dax_device(facts.rdev()) {
        Err(Error::Unsupported {
            what: "a raw /dev/dax device; reconfigure it as fsdax, mount ext4 or xfs on it with \
                   `-o dax`, and put the pool there",
        })
    } else {
        Err(Error::NotAPool {
            pool: None,
            what: "it is a device, a socket or a pipe, not a regular file",
            checkpoint: None,
        })
    }
}

fn is_dax_device(device: u64) -> bool {
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    fs::canonicalize(format!("/sys/dev/char/{major}:{minor}/subsystem"))
        .is_ok_and(|subsystem| subsystem.ends_with("dax"))
}

fn check_length(file: &File, have: u64) -> Result<()> {
    if have < LEAST {
        return Err(Error::Truncated { have, need: LEAST, checkpoint: None });
    }
    pages::check(have, word(file, NEXT_PAGE)?, word(file, LENGTH)?)
}

/// Reads a session word from the file.
pub(super) fn word(file: &File, at: u64) -> Result<u64> {
    let mut word = [0; 8];
    let read = file.read_exact_at(&mut word, at).map(|()| u64::from_le_bytes(word));
    read.map_err(|error| Error::io("reading how long the pool is", error))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACCESS: Access = Access { read_only: false, any_filesystem: true };

    fn locked(path: &Path) -> (File, FileLock) {
        let lock = FileLock::acquire(path, false).unwrap();
        (lock::open(path, false).unwrap(), lock)
    }

    /// The next look at the path finds the file that is there now, or none.
    #[test]
    fn a_file_that_is_deleted_before_it_is_locked_is_not_opened() {
        let folder = tempfile::tempdir().unwrap();
        let (path, aside) = (folder.path().join("pool"), folder.path().join("aside"));
        drop(PoolFile::create(&path, ACCESS).unwrap());
        let open = |deleted: &dyn Fn()| {
            let (file, lock) = locked(&path);
            deleted();
            PoolFile::of_named(&path, file, lock, ACCESS)
        };
        assert!(open(&|| ()).is_ok());
        fs::hard_link(&path, &aside).unwrap();
        assert!(open(&|| fs::remove_file(&path).unwrap()).is_ok(), "it has another name");
        fs::rename(&aside, &path).unwrap();
        let outcome = open(&|| fs::remove_file(&path).unwrap());
        assert!(matches!(outcome, Err(Error::Locked)), "{outcome:?}");
        drop(PoolFile::create(&path, ACCESS).unwrap());
        let outcome = open(&|| {
            fs::remove_file(&path).unwrap();
            drop(PoolFile::create(&path, ACCESS).unwrap());
        });
        assert!(matches!(outcome, Err(Error::Locked)), "{outcome:?}");
    }

    /// The kernel reports once, and an open that fails because of the report must not hide it from the next open.
    #[test]
    fn what_a_session_hears_when_it_begins_is_said_of_the_last_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pool");
        for (clean, is_written) in [(false, true), (true, true), (false, false)] {
            let mut pool = PoolFile::create(&path, ACCESS).unwrap();
            let mut last = Superblock { session: [1; 16], clean, ..pool.superblock };
            last.write(&pool.file).unwrap();
            pool.superblock = Superblock { session: [2; 16], clean: false, ..last };
            if is_written {
                pool.superblock.write_first(&pool.file).unwrap();
            }
            pool.suspect_last(&last);
            let found = Superblock::read(&pool.file).unwrap();
            let says_so = !clean && is_written;
            assert_eq!(found.suspects(&last), says_so);
            let session = if clean { [2; 16] } else { [1; 16] };
            assert_eq!((found.session, found.clean), (session, false));
            drop(pool);
            fs::remove_file(&path).unwrap();
        }
    }

    /// While the file is open, it can be opened again by the name of its descriptor.
    #[test]
    fn a_file_that_never_had_a_name_is_opened() {
        use std::os::fd::AsRawFd;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pool");
        drop(PoolFile::create(&path, ACCESS).unwrap());
        let file = lock::open(&path, false).unwrap();
        fs::remove_file(&path).unwrap();
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        PoolFile::open(Path::new(&path), ACCESS).unwrap();
    }
}
