//! The file of a pool, from the moment it is locked until it is marked clean.
//!
//! Nothing is written before everything was checked. A session that writes announces itself first:
//! generation, boot, file, session number and "not clean" are durable before its first store, so that the next open
//! notices any other end than a close. It ends with the data synced, then "clean" written, then that synced
//! ([`sessions`](super::sessions)).
//!
//! # What the disk refused
//!
//! The kernel tells once that a page could not be written back, takes the page for written, and may read the old one back
//! later. So whoever hears of it says so in the superblock ([`suspect`](PoolFile::suspect)), and in the root of the checkpoint, for
//! the superblock's page may be the one that is refused.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};
use std::path::Path;

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
use crate::space::file::superblock::{Superblock, WITH_CHECKPOINTS};
use crate::space::layout::{LENGTH, NEWEST_NUMBER, NEXT_PAGE};
use crate::{Error, Result};

/// Bytes of the smallest pool.
const LEAST: u64 = STEP;

/// How a file is to be opened.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Access {
    /// Whether nothing may be written.
    pub(crate) read_only: bool,
    /// Whether file systems on which pools do not work are allowed all the same.
    pub(crate) any_filesystem: bool,
}

/// A locked file with a pool in it that this build can read.
#[derive(Debug)]
pub(crate) struct PoolFile {
    pub(super) file: OwnFile,
    pub(super) superblock: Superblock,
    pub(super) access: Access,
    pub(super) filesystem: Filesystem,
    /// Warnings for the user, found while opening.
    pub(super) warnings: Vec<&'static str>,
    /// Who had it open for writing before, if that was asked and it was not closed then.
    pub(super) writers: Option<Writers>,
    /// The mark that it had, if it was not closed.
    pub(super) seen: Option<Mark>,
    /// Declared last: released when everything else is gone.
    pub(super) lock: FileLock,
}

impl PoolFile {
    /// Locks the file at `path` and checks all that can be checked without writing or mapping. Before it has the file open for
    /// writing it asks who else has, if the pool is not closed: see [`expect_alone`](Self::expect_alone).
    pub(crate) fn open(path: &Path, access: Access) -> Result<Self> {
        let facts = fs::metadata(path).map_err(|error| Error::opening(path, error))?;
        refuse_other_than_file(&facts)?;
        let writers = if access.read_only { None } else { entrance::writers(path) };
        let lock = FileLock::acquire(path, access.read_only)?;
        let file =
            lock::open(path, access.read_only).map_err(|error| Error::opening(path, error))?;
        Ok(Self { writers, ..Self::of_named(path, file, lock, access)? })
    }

    /// The same for a file that is open and locked, and that was at `path`. Where it has been deleted meanwhile, the
    /// lock was that of its last owner, and what is at the path now has another one.
    fn of_named(path: &Path, file: File, lock: FileLock, access: Access) -> Result<Self> {
        let facts = file.metadata().map_err(|e| Error::io("asking for the file's names", e))?;
        // A file that never had a name is found by that of its descriptor (`/proc/self/fd/`).
        let is_there =
            || fs::metadata(path).is_ok_and(|found| FileId::of(&found) == FileId::of(&facts));
        if facts.nlink() == 0 && !is_there() {
            return Err(Error::Locked);
        }
        Self::of_locked(file, lock, access)
    }

    /// The same for a file that is open and locked, and may have no name yet.
    pub(crate) fn of_locked(file: File, lock: FileLock, access: Access) -> Result<Self> {
        let facts = file.metadata().map_err(|e| Error::io("asking for the file's length", e))?;
        if FileId::of(&facts) != lock.file() {
            // Between the two opens another file was put there, which has its own lock.
            return Err(Error::Locked);
        }
        refuse_other_than_file(&facts)?;
        let filesystem = Filesystem::of(&file, access.any_filesystem)?;
        if facts.len() == 0 {
            return Err(Error::NotAPool { what: "the file is empty" });
        }
        let superblock = Superblock::read(&file).map_err(|error| match error {
            // A copy that is cut in two is not torn.
            Error::Corrupt { .. } if facts.len() < LEAST => {
                Error::Truncated { have: facts.len(), need: LEAST }
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

    /// Which file it is.
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

    /// Whether the file is as long as the pages in use.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`], [`Error::Corrupt`].
    pub(crate) fn check_length(&self) -> Result<()> {
        check_length(&self.file, self.len()?)
    }

    /// Says which checkpoint the next session builds on, and when it makes others.
    pub(crate) fn plan(&mut self, schedule: Schedule, base: Option<Base>) {
        let with = if schedule.is_on { WITH_CHECKPOINTS } else { 0 };
        let writable_with = self.superblock.writable_with & !WITH_CHECKPOINTS | with;
        let Base { session: base, made: base_made, lags: base_lags } = base.unwrap_or_default();
        let last = self.superblock;
        self.superblock =
            Superblock { schedule, base, base_made, base_lags, writable_with, ..last };
    }

    /// Says whether the checkpoints are in a file that has to be given at each open, as the end of the session records it.
    pub(crate) fn record_elsewhere(&mut self, is_elsewhere: bool) {
        self.superblock.schedule.is_elsewhere = is_elsewhere;
    }

    /// Why the pool may be torn, if it may be: stores of the last session may have been lost in an order of the kernel's
    /// choice. `suspected` tells that the checkpoint says so.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] where the process is short of descriptors or memory, and cannot find out.
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

    /// What stands behind the end of a closed pool, and where. That the file is too short is told by
    /// [`check_length`](Self::check_length).
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

    /// Asks the kernel whether pages of a session that was not closed could not be written back: it tells once. If so, the
    /// superblock says so from now on.
    pub(crate) fn hear_of_refused_pages(&mut self) {
        if !self.superblock.clean && disk::were_pages_refused(&self.file, NEWEST_NUMBER) {
            // If this cannot be written either, it is known here, and what follows counts on that.
            let _ = self.suspect();
        }
    }

    /// Says that stores of this session, or of the last one, may not have reached the disk.
    pub(crate) fn suspect(&mut self) -> Result<()> {
        let last = self.superblock;
        // It may be somebody else's file by now.
        if !entrance::has(&self.file, &last)? {
            return Ok(());
        }
        self.superblock = Superblock { clean: false, suspect: last.half(), ..last };
        self.superblock.write(&self.file)
    }

    /// Says so of the `last` session, where the superblock of this one was written and the kernel then told of pages that it could not
    /// write back: those may be of the last session, which was not closed.
    pub(super) fn suspect_last(&mut self, last: &Superblock) {
        let own = self.superblock;
        // What was not written at all says nothing of other pages.
        if last.clean || !entrance::has(&self.file, &own).unwrap_or(false) {
            return;
        }
        self.superblock = Superblock { suspect: last.half(), sequence: own.sequence, ..*last };
        // If this cannot be written either, the file's pages in memory have it.
        let _ = self.superblock.write(&self.file);
    }

    /// Writes all that is read of the file again, and reads it back from the disk: that then has what the kernel only believed to
    /// be there.
    pub(crate) fn write_again(&self) -> Result<()> {
        let failed = |error| Error::io("writing the pool's file again", error);
        disk::write_again(&self.file).map_err(failed)
    }

    /// Fails if somebody else may have a pool in doubt open for writing, whom the lock does not show: before it is taken back,
    /// or accepted.
    ///
    /// # Errors
    ///
    /// [`Error::Locked`] if somebody has, or had a moment ago; [`Error::Unsupported`] where that cannot be seen.
    pub(crate) fn expect_alone(&self) -> Result<()> {
        let last = &self.superblock;
        match self.writers {
            _ if self.access.read_only || last.clean => Ok(()),
            Some(Writers::Somebody) | None => Err(Error::Locked),
            // Who came by this path has had the lock.
            _ if !self.filesystem.is_overlay() || self.is_file_of(last) => Ok(()),
            _ => Err(Error::Unsupported { what: entrance::IN_OVERLAY }),
        }
    }

    /// Whether it is the file in which the session of this superblock was.
    fn is_file_of(&self, last: &Superblock) -> bool {
        last.file.compare(&self.identity(), true) != Likeness::Other
            && Mark::of(&self.file).names(last.session) != Some(false)
    }

    /// Keeps writers out that the lock does not show, before the file is written over. The mark that it had.
    ///
    /// # Errors
    ///
    /// [`Error::Locked`] if one begins a session.
    pub(crate) fn shut(&mut self) -> Result<Mark> {
        let had = Mark::of(&self.file);
        entrance::shut(&self.file, identity::random()?, &self.superblock)?;
        self.seen = None;
        Ok(had)
    }

    /// Lets them in again, where nothing was written.
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
        Err(Error::NotAPool { what: "it is a folder; name a file in it" })
    } else if kind.is_char_device() && is_dax_device(facts.rdev()) {
        Err(Error::Unsupported {
            what: "a raw /dev/dax device; reconfigure it as fsdax, mount ext4 or xfs on it with \
                   `-o dax`, and put the pool there",
        })
    } else {
        Err(Error::NotAPool { what: "it is a device, a socket or a pipe, not a regular file" })
    }
}

fn is_dax_device(device: u64) -> bool {
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    fs::canonicalize(format!("/sys/dev/char/{major}:{minor}/subsystem"))
        .is_ok_and(|subsystem| subsystem.ends_with("dax"))
}

fn check_length(file: &File, have: u64) -> Result<()> {
    if have < LEAST {
        return Err(Error::Truncated { have, need: LEAST });
    }
    pages::check(have, word(file, NEXT_PAGE)?, word(file, LENGTH)?)
}

/// A session word.
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

    /// The next look at the path finds what is there now, or nothing.
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

    /// The kernel tells once, and an open that fails by that must not hide it from the next one.
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

    /// As long as it is open it can be opened again by the name of its descriptor.
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
