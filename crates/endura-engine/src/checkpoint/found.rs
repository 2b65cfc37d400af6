//! Opening a pool that has a checkpoint file: which checkpoint belongs to it, and whether to restore it.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use std::{fs, io};

use super::aside::set_aside;
use super::choice::Checkpoints;
use crate::checkpoint::beside::{self, Beside, PathTarget};
use crate::checkpoint::restore::{self, Writes};
use crate::checkpoint::why;
use crate::checkpoint::{Failure, Kept, Relation, Said};
use crate::media::Placement;
use crate::os::file_identity::FileId;
use crate::os::filesystem::Filesystem;
use crate::os::new_file::folder_of;
use crate::os::{own_file, whereabouts};
use crate::space::{Access, Doubt, Newest, PoolFile, Schedule, Superblock};
use crate::{Error, Result};

/// The plan of a session: when it makes checkpoints, in which file, and which one it found there.
#[derive(Debug)]
pub(crate) struct CheckpointPlan {
    pub(super) schedule: Schedule,
    pub(super) path: PathBuf,
    /// Whether the pool had its checkpoints in a file of the user's choice before this session.
    pub(super) was_elsewhere: bool,
    pub(super) found: Option<Beside>,
    /// Whether the checkpoint equals the pool's current contents.
    pub(super) is_current: bool,
    /// The folder of the file; `None` if it does not exist.
    pub(super) folder: Option<FileId>,
    /// Whether the folder is in memory.
    pub(super) in_memory: bool,
    /// What the pool records about the newest checkpoint.
    pub(super) newest: Option<Newest>,
    warnings: Vec<&'static str>,
}

/// How an open looks for a checkpoint.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Search {
    /// The most pages that the pool may have.
    pub(crate) most_pages: u32,
    /// Whether the pool may have more pages than a checkpoint can name.
    pub(crate) may_be_too_large: bool,
    /// How long to wait for a lock.
    pub(crate) patience: Duration,
    pub(crate) any_filesystem: bool,
    /// Whether a pool in doubt is opened as it is.
    pub(crate) accepts: bool,
}

/// What a restore did.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Restored {
    /// When the checkpoint was made.
    pub at: SystemTime,
    /// Bytes of the pool that had to be written.
    pub written_bytes: u64,
    /// Why the pool could not be trusted, in words; `None` if there was no pool, and it was created from the
    /// checkpoint.
    pub reason: Option<&'static str>,
    /// The path of a copy of the pool as it was found, if the pool may have been whole.
    pub kept: Option<PathBuf>,
}

impl Restored {
    fn to(at: SystemTime, pages: u64) -> Self {
        Self { at, written_bytes: pages * restore::PAGE_BYTES, reason: None, kept: None }
    }

    /// How long ago the checkpoint was made.
    pub(crate) fn age(&self) -> Duration {
        self.at.elapsed().unwrap_or_default()
    }
}

/// Whether an open without the checkpoint, which is not at `path`, is worth a warning.
///
/// # Errors
///
/// [`Error::BadCheckpoint`] if the pool was not closed and may need its checkpoint, which is in a file
/// of the user's choice.
fn lets_go_of_missing(
    path: &Path,
    pool: &PoolFile,
    comes_back: bool,
    accepts: bool,
) -> Result<bool> {
    let last = pool.superblock();
    let (had_one, may_need_it) = (newest_of(pool)?.is_some(), !last.clean);
    match last.schedule.is_elsewhere {
        true if had_one && may_need_it && !accepts => Err(why::bad(path, NOT_THERE)),
        is_elsewhere => Ok(had_one && (is_elsewhere && !comes_back || may_need_it)),
    }
}

impl CheckpointPlan {
    /// Looks for the checkpoint of the pool that was opened at `path`, as `choice` and the pool say. Returns `None` if
    /// neither of the two wants checkpoints.
    ///
    /// A pool that was closed is whole without its checkpoint, and is opened with a warning. One that was not closed
    /// may have to go back to its checkpoint, and a session without the checkpoint would lose that possibility. So the
    /// open of such a pool fails if the checkpoint is missing and has a file of the user's choice, because the disk of
    /// that file may just not be mounted yet.
    pub(crate) fn of(
        path: &Path,
        choice: Option<&Checkpoints>,
        pool: &PoolFile,
        search: Search,
    ) -> Result<Option<Self>> {
        let last = pool.superblock();
        let schedule = choice.map_or(last.schedule, |choice| choice.schedule(last.schedule));
        if !schedule.is_on && !last.schedule.is_on {
            return Ok(None);
        }
        let chosen = choice.and_then(|choice| choice.file.clone());
        // The path is made absolute, because the working directory may change while the pool is open.
        let chosen = chosen.map(|path| std::path::absolute(&path).unwrap_or(path));
        let path = chosen.unwrap_or_else(|| beside::default_path(path));
        let comes_back = choice.is_some_and(|choice| choice.is_beside);
        if last.schedule.is_elsewhere
            && !comes_back
            && choice.is_none_or(|choice| choice.file.is_none())
        {
            return Err(why::bad(&path, ELSEWHERE));
        }
        let Surroundings { folder, in_memory, mut warnings } =
            look_at_folder(&path, pool, search.any_filesystem)?;
        let how = (false, search.patience);
        let found = Beside::open_if(schedule.is_on, &path, search.most_pages, how)?;
        let returns = comes_back && last.schedule.is_elsewhere && last.clean;
        let found = match found {
            Some(found) if returns && is_left_over(&found, pool)? && rename_old(&path).is_ok() => {
                warnings.push(RENAMED);
                None
            }
            found => found,
        };
        if schedule.is_on && found.is_none() {
            if choice.is_some_and(|choice| choice.must_exist) {
                return Err(why::bad(&path, MUST_EXIST));
            }
            if lets_go_of_missing(&path, pool, comes_back, search.accepts)? {
                warnings.push(IS_MISSING);
            }
        }
        if schedule.is_on && search.may_be_too_large {
            warnings.push(TOO_LARGE);
        }
        let is_beside = choice.is_none_or(|choice| choice.file.is_none());
        if schedule.is_on && is_beside && whereabouts::is_mounted_alone(pool.file()) {
            warnings.push(MOUNTED_ALONE);
        }
        Ok(Some(Self {
            schedule,
            path,
            was_elsewhere: last.schedule.is_elsewhere,
            found,
            is_current: false,
            folder,
            in_memory,
            newest: None,
            warnings,
        }))
    }

    /// The checkpoint that was found, if the pool may be restored from it after a power loss.
    pub(crate) fn way_back(&mut self, pool: &PoolFile) -> Result<Option<&mut Beside>> {
        let Some(found) = &mut self.found else { return Ok(None) };
        match found.relation(said(pool, true)?) {
            None => Ok(None),
            Some(Relation::Related { lags: false, .. }) => Ok(Some(found)),
            Some(Relation::Older) => Err(why::bad(&self.path, why::OLDER)),
            Some(Relation::Related { .. }) => Err(why::bad(&self.path, why::LAGS)),
            Some(Relation::Stale) => Err(why::bad(&self.path, why::STALE)),
            Some(Relation::Foreign) => Err(why::bad(&self.path, why::FOREIGN)),
        }
    }

    /// Whether the checkpoint records that stores of the session `last` may not have reached the disk.
    pub(crate) fn suspects(&self, last: &Superblock) -> bool {
        self.found.as_ref().is_some_and(|found| found.suspects(last))
    }

    /// Whether a closed pool differs from the checkpoint of its close. `false` if there is no such checkpoint.
    pub(crate) fn differs(&mut self, file: &PoolFile) -> Result<bool> {
        let said = said(file, false)?;
        let is_current = |found: &&mut Beside| {
            let relation = found.relation(said);
            matches!(relation, Some(Relation::Related { is_current: true, .. }))
        };
        let current = self.found.as_mut().filter(is_current);
        current.map_or(Ok(false), |found| found.differs(file.file()))
    }

    /// Restores a pool in doubt from the checkpoint, if there is one. If the pool may be whole, keeps a copy of it
    /// beside `path`.
    pub(crate) fn go_back(
        &mut self,
        path: &Path,
        file: &mut PoolFile,
        doubt: Doubt,
        placement: &Placement,
    ) -> Result<Option<Restored>> {
        let Some(from) = self.way_back(file)? else { return Ok(None) };
        let kept = if doubt.may_be_whole() { Some(set_aside(file, path)?) } else { None };
        let restored = restore_in_place(file, from, placement, &mut quietly)?;
        Ok(Some(Restored { reason: Some(doubt.reason()), kept, ..restored }))
    }

    /// Records in the next superblock which checkpoint this session is based on. `may_be_torn` says that the pool is
    /// used as it is although some of its pages may be old.
    pub(crate) fn announce(&mut self, file: &mut PoolFile, may_be_torn: bool) -> Result<()> {
        let said = said(file, may_be_torn)?;
        let relation = self.found.as_ref().and_then(|found| found.relation(said));
        self.is_current = match relation {
            Some(Relation::Older) => return Err(why::bad(&self.path, why::OLDER)),
            Some(Relation::Foreign) => return Err(why::bad(&self.path, why::FOREIGN)),
            Some(Relation::Stale) => return Err(why::bad(&self.path, why::STALE)),
            Some(Relation::Related { is_current, .. }) => is_current,
            None => false,
        };
        let base = self.found.as_ref().and_then(|found| found.base(said));
        file.plan(self.schedule, base.filter(|_| self.schedule.is_on));
        std::mem::take(&mut self.warnings).into_iter().for_each(|what| file.warn(what));
        Ok(())
    }

    /// Removes the checkpoint file if no more checkpoints are wanted. This is the last step of an open, so that the
    /// pool can still be restored after an open that fails or is killed. The session has begun by then, and records
    /// that the pool needs no checkpoint.
    pub(crate) fn remove_unwanted(&mut self, file: &mut PoolFile) -> Result<()> {
        if self.is_on() {
            return Ok(());
        }
        Newest::write(None, file.file()).map_err(number_not_written)?;
        if let Some(found) = self.found.take()
            && (found.place() != PathTarget::Own || remove(&self.path).is_err())
        {
            file.warn(NOT_REMOVED);
        }
        Ok(())
    }

    /// Writes into the pool the number of the checkpoint that the session is based on, before the superblock of the
    /// session names that checkpoint: see [`lineage`](crate::checkpoint). A checkpoint that a killed session left may
    /// not be durable, so for such a checkpoint the number before it is written as the least one.
    pub(crate) fn write_number(&mut self, file: &fs::File) -> Result<()> {
        if !self.is_on() {
            return Ok(());
        }
        let newest = match self.found.as_ref().and_then(Beside::newest_numbered) {
            Some((_, number)) if self.is_current => Some(Newest::is(number)),
            Some((_, number)) => Some(Newest::is_at_least(number - 1)),
            None => Newest::read(file).map_err(number_not_written)?,
        };
        Newest::write(newest, file).map_err(number_not_written)?;
        self.newest = newest;
        Ok(())
    }

    /// The file of the session's checkpoints, as the open found it.
    pub(super) fn kept(self, session: [u8; 16]) -> Kept {
        Kept::of(&self.path, self.folder, self.found, session)
    }

    /// Whether a session makes checkpoints.
    pub(crate) fn is_on(&self) -> bool {
        self.schedule.is_on
    }
}

/// How many names are tried for an old checkpoint.
const MOST_OLD: u32 = 100;

pub(crate) const MUST_EXIST: &str = "there is none, and it was said that there must be (`must_exist`): mount its disk, or leave that \
     out to begin without";
const NOT_THERE: &str = "the pool was not closed, and the checkpoint that it had is not there: mount its disk, or give the file that it had; to go on \
     without any, verify the pool and accept it (`accept_unclean`, or `endura check --accept`)";
const IS_MISSING: &str = "the checkpoint that the pool had is not there, as if its disk were not mounted: until the next one is made a power loss leaves no \
     way back, and the one that was there will then be refused";
const MOUNTED_ALONE: &str = "the pool's file is mounted by itself, without its folder: its checkpoint is beside the mount point, where the pool is not, and is lost \
     with that (with a container); mount the folder, or name a file for the checkpoint that stays";
const RENAMED: &str = "the checkpoint that was beside the pool before its checkpoints were in another file has `.old` behind its name now, and \
     counts no more: remove it";
const NOT_REMOVED: &str =
    "the checkpoint that the pool had could not be removed, and counts no more: remove it";
const TOO_LARGE: &str = "the pool may become larger than 16 TiB (`max_size`), of which no checkpoint can be made: beyond that a power loss \
     leaves no way back";
const IN_MEMORY: &str =
    "the checkpoint is in memory, and is gone after a reboot: give it a file on a disk";
const ON_OVERLAY: &str = "the checkpoint is on an overlayfs, which mostly goes with its container: give it a file on a volume of its own";
const NO_DISK: &str = "its folder is on a network file system, on FUSE or the like, on which neither its lock nor what was written last can be relied on: \
     give it a file on a local one (ext4, xfs), or insist with `allow_any_filesystem(true)`";
const INSISTED: &str = "the checkpoint is on a network file system, on FUSE or the like: neither its lock nor what was written last can be relied on there";

/// The surroundings of a file of checkpoints.
pub(super) struct Surroundings {
    /// The folder; `None` if it does not exist.
    folder: Option<FileId>,
    /// Whether it is in memory.
    pub(super) in_memory: bool,
    /// About its file system, unless the pool is on the same one.
    warnings: Vec<&'static str>,
}

/// Looks at the folder of the checkpoint at `path`.
pub(super) fn look_at_folder(
    path: &Path,
    pool: &PoolFile,
    any_filesystem: bool,
) -> Result<Surroundings> {
    let path_of_folder = folder_of(path);
    let of = |folder, in_memory, warning: Option<&'static str>| {
        let warnings = warning.into_iter().collect();
        Ok(Surroundings { folder, in_memory, warnings })
    };
    // If the folder does not exist, the first round reports that.
    let Ok(folder) = own_file::open_folder(path_of_folder) else {
        return of(whereabouts::at(path_of_folder).ok(), false, None);
    };
    let id_of = |file: &fs::File| file.metadata().map(|facts| FileId::of(&facts));
    let failed = |error| Error::opening(path_of_folder, error);
    let (id, own) = (id_of(&folder).map_err(failed)?, id_of(pool.file()).map_err(failed)?);
    let is_pool_in_memory = pool.filesystem().is_in_memory();
    if id.device == own.device {
        return of(Some(id), is_pool_in_memory, None);
    }
    let filesystem = match Filesystem::of(&folder, any_filesystem) {
        Err(Error::Unsupported { .. }) => return Err(why::bad(path, NO_DISK)),
        filesystem => filesystem?,
    };
    let in_memory = filesystem.is_in_memory();
    let warning = match filesystem.name() {
        "overlayfs" => Some(ON_OVERLAY),
        _ if in_memory && !is_pool_in_memory => Some(IN_MEMORY),
        _ if filesystem.is_refused() => Some(INSISTED),
        _ => None,
    };
    of(Some(id), in_memory, warning)
}

/// What the pool in this file records about its checkpoints.
pub(super) fn said(pool: &PoolFile, may_be_torn: bool) -> Result<Said<'_>> {
    Ok(Said { last: pool.superblock(), newest: newest_of(pool)?, may_be_torn })
}

pub(super) fn newest_of(pool: &PoolFile) -> Result<Option<Newest>> {
    let newest = Newest::read(pool.file());
    newest.map_err(|error| Error::io("reading the number of the newest checkpoint", error))
}

pub(super) fn number_not_written(error: io::Error) -> Error {
    Error::io("writing the number of the newest checkpoint to the pool", error)
}

const ELSEWHERE: &str = "the pool has its checkpoints in a file that is given at each open: give it (`Checkpoints::in_file`)";

/// Whether the checkpoint beside a closed pool is from the time before the pool had its checkpoints in another file.
fn is_left_over(found: &Beside, pool: &PoolFile) -> Result<bool> {
    let relation = found.relation(said(pool, false)?);
    Ok(matches!(relation, Some(Relation::Stale | Relation::Older)))
}

/// Gives the file a name with `.old` at its end that no file has. Nothing is lost if the file was of use after all.
fn rename_old(path: &Path) -> io::Result<()> {
    let names = (1..MOST_OLD).map(|number| match number {
        1 => beside::with_suffix(path, ".old"),
        number => beside::with_suffix(path, &format!(".old-{number}")),
    });
    for name in names {
        match fs::hard_link(path, name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            linked => return linked.and_then(|()| remove(path)),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

fn remove(path: &Path) -> io::Result<()> {
    let folder = own_file::open_folder(folder_of(path));
    fs::remove_file(path).and_then(|()| folder?.sync_all())
}

/// Restores a pool that a power loss has torn, in place.
pub(crate) fn restore_in_place(
    file: &mut PoolFile,
    from: &mut Beside,
    placement: &Placement,
    progress: &mut restore::Progress<'_>,
) -> Result<Restored> {
    let (root, at) = newest(from)?;
    let last = *file.superblock();
    let is_suspect = last.suspects(&last) || from.suspects(&last);
    let writes = if is_suspect { Writes::All } else { Writes::Differing };
    let pages = from.restore(file.file(), writes, progress).map_err(|failure| {
        if matches!(failure, Failure::Pool(_)) {
            // If the disk refuses pages now, what is read back later may not be what the disk has.
            let _ = file.suspect();
        }
        beside::told(from.path(), failure)
    })?;
    write_number_of(from, file.file())?;
    file.restored(&root, placement)?;
    Ok(Restored::to(at, pages))
}

/// Creates a pool from a checkpoint, where there is none.
pub(crate) fn make_anew(
    path: &Path,
    access: Access,
    from: &mut Beside,
    placement: impl Fn(&PoolFile) -> Result<Placement>,
    progress: &mut restore::Progress<'_>,
) -> Result<(PoolFile, Restored)> {
    let (root, at) = newest(from)?;
    let like = from.file().try_clone();
    let like = like.map_err(|error| Error::opening(from.path(), error))?;
    let mut pages = 0;
    let fill = |file: &fs::File| {
        let restored = from.restore(file, Writes::Differing, progress);
        pages = restored.map_err(|failure| beside::told(from.path(), failure))?;
        write_number_of(from, file)?;
        Superblock { clean: false, ..root }.write(file)
    };
    let ready = |file: &mut PoolFile| {
        let placement = placement(file)?;
        file.restored(&root, &placement)
    };
    let made = PoolFile::make(path, access, Some(&like), (fill, ready))?;
    Ok((made, Restored::to(at, pages)))
}

/// Records in a pool that was just written from the checkpoint `from` that this checkpoint is the newest.
fn write_number_of(from: &Beside, file: &fs::File) -> Result<()> {
    let Some((_, number)) = from.newest_numbered() else { return Ok(()) };
    Newest::write(Some(Newest::is(number)), file).map_err(number_not_written)
}

pub(super) fn newest(from: &Beside) -> Result<(Superblock, SystemTime)> {
    let moment = from.newest().ok_or_else(|| why::bad(from.path(), why::EMPTY))?;
    let root = Superblock::decode(&moment.superblock);
    let root = root.ok_or_else(|| why::bad(from.path(), why::FOREIGN))?;
    root.check(false)?;
    Ok((root, beside::time_of(&moment)))
}

/// Bytes of the largest pool of which a checkpoint can be made.
pub(crate) const MOST_BYTES: u64 = u32::MAX as u64 * restore::PAGE_BYTES;

/// Pages of a pool that may grow to `bytes` bytes.
pub(crate) fn pages_within(bytes: u64) -> u32 {
    u32::try_from(bytes / restore::PAGE_BYTES).unwrap_or(u32::MAX)
}

/// Shows no progress.
pub fn quietly(_: u64, _: u64) -> io::Result<()> {
    Ok(())
}
