//! What can be said about the checkpoint of a pool without opening the pool for writing.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::choice::Checkpoints;
use super::found::{look_at_folder, newest_of, said};
use super::stats::CheckpointStats;
use crate::checkpoint::beside::{self, Beside, PATIENCE};
use crate::checkpoint::why;
use crate::media::Placement;
use crate::os::new_file::folder_of;
use crate::os::whereabouts;
use crate::space::{PoolFile, Schedule, Superblock, own};
use crate::{CheckpointProblem, Error, FoundCheckpoint, Result};

/// Opens a file of checkpoints.
type Opener<'o> = dyn Fn(&Path) -> Result<Option<Beside>> + 'o;

/// What a read-only session can report about the checkpoints of a pool.
pub(crate) fn facts(
    path: &Path,
    choice: Option<&Checkpoints>,
    pool: &PoolFile,
    placement: &Placement,
) -> Option<CheckpointStats> {
    let schedule = match gets_the_default(pool, placement) {
        true => Checkpoints::default().schedule,
        false => pool.superblock().schedule,
    };
    let Schedule { every, after_bytes, .. } = Some(schedule).filter(|schedule| schedule.is_on)?;
    let (path, found, made) = look(path, choice, pool, &opened);
    let surroundings = look_at_folder(&path, pool, true);
    let in_memory = surroundings.is_ok_and(|around| around.in_memory);
    let (newest, problem) = match made {
        Ok(made) => (Some(made), None),
        Err(problem) => (None, Some(problem)),
    };
    Some(CheckpointStats {
        path,
        in_memory: in_memory && !matches!(problem, Some(CheckpointProblem::NotNamed)),
        every,
        after_bytes,
        newest,
        problem,
        last: None,
        last_failure: None,
        failures_in_a_row: 0,
        bytes: found.map_or(0, |found| found.bytes()),
        changed_bytes: 0,
    })
}

/// Whether the pool gets the default checkpoints when it is opened for writing: it was made in memory, or copied from
/// one that was, and is on a disk for the first time.
pub(crate) fn gets_the_default(pool: &PoolFile, placement: &Placement) -> bool {
    let is_written_back = !placement.direct && !pool.filesystem().is_in_memory();
    pool.superblock().schedule.is_unchosen_off() && is_written_back
}

/// The checkpoint of a pool that may be torn; `None` if the pool makes none. This process may have the file locked.
pub(crate) fn way_back(
    path: &Path,
    choice: Option<&Checkpoints>,
    pool: &PoolFile,
) -> Option<Box<FoundCheckpoint>> {
    Some(pool.superblock().schedule).filter(|schedule| schedule.is_on)?;
    let (path, _, made) = look(path, choice, pool, &seen);
    Some(Box::new(FoundCheckpoint::new(path, made)))
}

/// The checkpoint beside a file that is no pool, if there is one that can be read.
pub(crate) fn beside_no_pool(
    path: &Path,
    choice: Option<&Checkpoints>,
) -> Option<Box<FoundCheckpoint>> {
    let chosen = choice.and_then(|choice| choice.file.clone());
    let is_chosen = chosen.is_some();
    let from = chosen.unwrap_or_else(|| beside::default_path(path));
    let moment = seen(&from).ok()??.newest()?;
    // A file that was chosen may be of a pool at another path.
    let is_own = !is_chosen || [0, own::hash_of(path)].contains(&moment.path);
    is_own.then(|| Box::new(FoundCheckpoint::new(from, Ok(beside::time_of(&moment)))))
}

/// The error of a pool whose file was cut short, with its checkpoint if that is good.
pub(crate) fn cut(
    path: &Path,
    choice: Option<&Checkpoints>,
    pool: &PoolFile,
    error: Error,
) -> Error {
    match error {
        Error::Truncated { have, need, checkpoint: None } => {
            let checkpoint = way_back(path, choice, pool).filter(|found| found.made.is_ok());
            Error::Truncated { have, need, checkpoint }
        }
        error => error,
    }
}

/// The error of a pool that is missing, with its checkpoint if that is there.
pub(crate) fn missing(path: &Path, choice: Option<&Checkpoints>, error: Error) -> Error {
    match (error, beside_no_pool(path, choice).map(|found| *found)) {
        (Error::Io { source, .. }, Some(FoundCheckpoint { path: from, made: Ok(made) })) => {
            Error::missing_pool(path, (&from, made), source)
        }
        (error, _) => error,
    }
}

/// `error`, which was met before the pool was opened for writing, with the checkpoint to which its reader can turn.
pub(crate) fn explained(path: &Path, choice: Option<&Checkpoints>, error: Error) -> Error {
    let found = || beside_no_pool(path, choice);
    match error {
        Error::NotAPool { what, checkpoint: None, .. } => {
            let is_file = fs::metadata(path).is_ok_and(|facts| facts.is_file());
            let checkpoint = if is_file { found() } else { None };
            Error::NotAPool { pool: Some(path.into()), what, checkpoint }
        }
        Error::Truncated { have, need, checkpoint: None } => {
            Error::Truncated { have, need, checkpoint: found() }
        }
        error => error,
    }
}

/// The path of the file of checkpoints, the file, and when the checkpoint was made to which the pool can go back, or why
/// there is none.
fn look(
    path: &Path,
    choice: Option<&Checkpoints>,
    pool: &PoolFile,
    open: &Opener<'_>,
) -> (PathBuf, Option<Beside>, Result<SystemTime, CheckpointProblem>) {
    let chosen = choice.and_then(|choice| choice.file.clone());
    if chosen.is_none() && pool.superblock().schedule.is_elsewhere {
        return (PathBuf::new(), None, Err(CheckpointProblem::NotNamed));
    }
    let path = chosen.unwrap_or_else(|| beside::default_path(path));
    let found = match open(&path) {
        Ok(found) => found,
        Err(Error::Io { source, .. }) => {
            let error = why::words_of(&source);
            return (path, None, Err(CheckpointProblem::Unreadable { error }));
        }
        Err(error) => return (path, None, Err(why::problem_of(&error))),
    };
    let made = match &found {
        Some(found) => made(found, pool),
        None => Err(absence(&path, pool)),
    };
    (path, found, made)
}

/// When the checkpoint was made, or why the pool cannot go back to it.
fn made(found: &Beside, pool: &PoolFile) -> Result<SystemTime, CheckpointProblem> {
    let relation = said(pool, true).map(|said| found.relation(said));
    let relation = relation.map_err(|error| why::problem_of(&error))?;
    match (why::problem_with(relation), found.newest()) {
        (None, Some(moment)) => Ok(beside::time_of(&moment)),
        (problem, _) => Err(problem.unwrap_or(CheckpointProblem::NoCheckpoint)),
    }
}

/// Why there is no file of checkpoints at `path`.
fn absence(path: &Path, pool: &PoolFile) -> CheckpointProblem {
    if newest_of(pool).is_ok_and(|newest| newest.is_some()) {
        CheckpointProblem::Missing
    } else if !whereabouts::may_write(folder_of(path)) {
        CheckpointProblem::FolderNotWritable
    } else {
        CheckpointProblem::NotYet
    }
}

fn opened(path: &Path) -> Result<Option<Beside>> {
    Beside::open(path, u32::MAX, (true, PATIENCE))
}

/// Opens the file without a lock: it may be locked by this very open.
fn seen(path: &Path) -> Result<Option<Beside>> {
    match Beside::peek(path, u32::MAX) {
        Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

/// Whether the checkpoint of a pool that is only read records that stores of the session `last` may not have reached
/// the disk.
pub(crate) fn suspects(path: &Path, choice: Option<&Checkpoints>, last: &Superblock) -> bool {
    if last.clean || !last.schedule.is_on {
        return false;
    }
    let chosen = choice.and_then(|choice| choice.file.clone());
    let path = chosen.unwrap_or_else(|| beside::default_path(path));
    opened(&path).ok().flatten().is_some_and(|found| found.suspects(last))
}
