//! What an open finds beside the pool, and what follows from it.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use std::{fs, io};

use super::aside::set_aside;
use super::choice::Checkpoints;
use super::stats::CheckpointStats;
use crate::media::Placement;
use crate::pool::beside::{self, Beside};
use crate::pool::restore::{self, Writes};
use crate::pool::{Access, Doubt, Failure, PoolFile, Relation, Schedule, Superblock};
use crate::{Error, Result};

/// The plan of a session: when it makes checkpoints, in which file, and which one it found there.
#[derive(Debug)]
pub(in crate::store::pool) struct Plan {
    pub(super) schedule: Schedule,
    pub(super) path: PathBuf,
    pub(super) found: Option<Beside>,
    /// Whether what was found is what the pool is.
    pub(super) is_current: bool,
}

/// What a restore did.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Restored {
    /// When the checkpoint was made.
    pub at: SystemTime,
    /// Bytes of the pool that had to be written.
    pub written_bytes: u64,
    /// Why the pool could not be trusted, in words; `None` if there was none, and it was made anew.
    pub reason: Option<&'static str>,
    /// Where the pool is kept as it was found, if it may have been whole.
    pub kept: Option<PathBuf>,
}

impl Restored {
    fn to(at: SystemTime, pages: u64) -> Self {
        Self { at, written_bytes: pages * restore::PAGE_BYTES, reason: None, kept: None }
    }

    /// How long ago the checkpoint was made.
    pub(in crate::store::pool) fn age(&self) -> Duration {
        self.at.elapsed().unwrap_or_default()
    }
}

impl Plan {
    /// Looks for the checkpoint of the pool that was opened at `path`, as `choice` and the pool say. No plan where
    /// neither wants one.
    pub(in crate::store::pool) fn of(
        path: &Path,
        choice: Option<&Checkpoints>,
        last: &Superblock,
        most_pages: u32,
    ) -> Result<Option<Self>> {
        let schedule = choice.map_or(last.schedule, |choice| choice.schedule(last.schedule));
        if !schedule.is_on && !last.schedule.is_on {
            return Ok(None);
        }
        let chosen = choice.and_then(|choice| choice.file.clone());
        // The working directory may change while the pool is open.
        let chosen = chosen.map(|path| std::path::absolute(&path).unwrap_or(path));
        let path = chosen.unwrap_or_else(|| beside::default_path(path));
        if last.schedule.is_elsewhere && choice.is_none_or(|choice| choice.file.is_none()) {
            return Err(beside::bad(&path, ELSEWHERE));
        }
        let found = Beside::open(&path, most_pages, false)?;
        Ok(Some(Self { schedule, path, found, is_current: false }))
    }

    /// What was found, if it may take the pool back after a power loss.
    pub(in crate::store::pool) fn way_back(
        &mut self,
        last: &Superblock,
    ) -> Result<Option<&mut Beside>> {
        let Some(found) = &mut self.found else { return Ok(None) };
        match found.relation(last) {
            None => Ok(None),
            Some(Relation::Related { lags: false, .. }) => Ok(Some(found)),
            Some(Relation::Related { .. }) => Err(beside::bad(&self.path, beside::LAGS)),
            Some(Relation::Stale) => Err(beside::bad(&self.path, beside::STALE)),
            Some(Relation::Foreign) => Err(beside::bad(&self.path, beside::FOREIGN)),
        }
    }

    /// Whether the checkpoint says that stores of the session `last` may not have reached the disk.
    pub(in crate::store::pool) fn suspects(&self, last: &Superblock) -> bool {
        self.found.as_ref().is_some_and(|found| found.suspects(last))
    }

    /// Whether a pool that was closed, and whose checkpoint is that of the close, is not what that says.
    pub(in crate::store::pool) fn differs(&mut self, file: &PoolFile) -> Result<bool> {
        let is_current = |found: &&mut Beside| {
            let relation = found.relation(file.superblock());
            matches!(relation, Some(Relation::Related { is_current: true, .. }))
        };
        let current = self.found.as_mut().filter(is_current);
        current.map_or(Ok(false), |found| found.differs(file.file()))
    }

    /// Takes a pool in doubt back to the checkpoint, if there is one. What may be whole is kept beside the pool at `path`.
    pub(in crate::store::pool) fn go_back(
        &mut self,
        path: &Path,
        file: &mut PoolFile,
        doubt: Doubt,
        placement: &Placement,
    ) -> Result<Option<Restored>> {
        let Some(from) = self.way_back(file.superblock())? else { return Ok(None) };
        let kept = if doubt.may_be_whole() { Some(set_aside(file, path)?) } else { None };
        let restored = restore_in_place(file, from, placement, &mut quietly)?;
        Ok(Some(Restored { reason: Some(doubt.reason()), kept, ..restored }))
    }

    /// Says in the superblock-to-be what the session builds on.
    pub(in crate::store::pool) fn announce(&mut self, file: &mut PoolFile) -> Result<()> {
        let last = *file.superblock();
        let relation = self.found.as_ref().and_then(|found| found.relation(&last));
        self.is_current = match relation {
            Some(Relation::Foreign) => return Err(beside::bad(&self.path, beside::FOREIGN)),
            Some(Relation::Stale) => return Err(beside::bad(&self.path, beside::STALE)),
            Some(Relation::Related { is_current, .. }) => is_current,
            None => false,
        };
        let base = self.found.as_ref().and_then(|found| found.base(&last));
        file.plan(self.schedule, base.filter(|_| self.schedule.is_on));
        Ok(())
    }

    /// Takes the file away where there are to be no checkpoints any more: the last step before the session begins, so that
    /// an open that fails leaves what it found.
    pub(in crate::store::pool) fn remove_unwanted(&mut self) -> Result<()> {
        if !self.schedule.is_on && self.found.is_some() {
            remove(&self.path)?;
            self.found = None;
        }
        Ok(())
    }

    /// Whether a session makes checkpoints.
    pub(in crate::store::pool) fn is_on(&self) -> bool {
        self.schedule.is_on
    }
}

const ELSEWHERE: &str = "the pool has its checkpoints in a file that is given at each open: give it (`Checkpoints::in_file`, \
     `--checkpoint-file`)";

fn remove(path: &Path) -> Result<()> {
    let folder = fs::File::open(beside::folder_of(path));
    fs::remove_file(path)
        .and_then(|()| folder?.sync_all())
        .map_err(|error| Error::io(format!("removing the checkpoint {}", path.display()), error))
}

/// Takes a pool that a power loss has torn back to a checkpoint.
pub(in crate::store::pool) fn restore_in_place(
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
            // If the disk refuses pages now, what is read back later is not what it has.
            let _ = file.suspect();
        }
        beside::told(from.path(), failure)
    })?;
    file.restored(&root, placement)?;
    Ok(Restored::to(at, pages))
}

/// Makes a pool anew from a checkpoint, where there is none.
pub(in crate::store::pool) fn make_anew(
    path: &Path,
    access: Access,
    from: &mut Beside,
    placement: impl Fn(&PoolFile) -> Result<Placement>,
    progress: &mut restore::Progress<'_>,
) -> Result<(PoolFile, Restored)> {
    let (root, at) = newest(from)?;
    let mut pages = 0;
    let fill = |file: &fs::File| {
        let restored = from.restore(file, Writes::Differing, progress);
        pages = restored.map_err(|failure| beside::told(from.path(), failure))?;
        Superblock { clean: false, ..root }.write(file)
    };
    let ready = |file: &mut PoolFile| {
        let placement = placement(file)?;
        file.restored(&root, &placement)
    };
    let made = PoolFile::make(path, access, fill, ready)?;
    Ok((made, Restored::to(at, pages)))
}

pub(super) fn newest(from: &Beside) -> Result<(Superblock, SystemTime)> {
    let moment = from.newest().ok_or_else(|| beside::bad(from.path(), beside::EMPTY))?;
    let root = Superblock::decode(&moment.superblock);
    let root = root.ok_or_else(|| beside::bad(from.path(), beside::FOREIGN))?;
    root.check(false)?;
    Ok((root, beside::time_of(&moment)))
}

/// What a session that only reads can tell of the checkpoints of a pool.
pub(in crate::store::pool) fn facts(
    path: &Path,
    choice: Option<&Checkpoints>,
    last: &Superblock,
) -> Option<CheckpointStats> {
    let Schedule { every, after_bytes, is_elsewhere, .. } =
        Some(last.schedule).filter(|schedule| schedule.is_on)?;
    let chosen = choice.and_then(|choice| choice.file.clone());
    let is_named = chosen.is_some() || !is_elsewhere;
    let path = chosen.unwrap_or_else(|| beside::default_path(path));
    let found = Beside::open(&path, u32::MAX, true).ok().flatten().filter(|_| is_named);
    let is_good = |found: &&Beside| {
        matches!(found.relation(last), Some(Relation::Related { lags: false, .. }))
    };
    let newest = found.as_ref().filter(is_good).and_then(|found| found.newest());
    Some(CheckpointStats {
        path: if is_named { path } else { PathBuf::new() },
        every,
        after_bytes,
        newest: newest.map(|moment| beside::time_of(&moment)),
        last: None,
        bytes: found.map_or(0, |found| found.bytes()),
        changed_bytes: 0,
    })
}

/// Whether the checkpoint of a pool that is only read says that stores of the session `last` may not have reached the disk.
pub(in crate::store::pool) fn suspects(
    path: &Path,
    choice: Option<&Checkpoints>,
    last: &Superblock,
) -> bool {
    if last.clean || !last.schedule.is_on {
        return false;
    }
    let chosen = choice.and_then(|choice| choice.file.clone());
    let path = chosen.unwrap_or_else(|| beside::default_path(path));
    let found = Beside::open(&path, u32::MAX, true).ok().flatten();
    found.is_some_and(|found| found.suspects(last))
}

/// Pages of a pool that may grow to so many bytes.
pub(in crate::store::pool) fn pages_within(bytes: u64) -> u32 {
    u32::try_from(bytes / restore::PAGE_BYTES).unwrap_or(u32::MAX)
}

/// No progress is shown.
pub(in crate::store::pool) fn quietly(_: u64, _: u64) -> io::Result<()> {
    Ok(())
}
