//! Why a checkpoint cannot be used, in words.

use std::io;
use std::path::Path;

use crate::checkpoint::lineage::Relation;
use crate::{CheckpointProblem, Error};

pub(crate) const FOREIGN: &str = "it is of another pool: move it away, or give the pool another file for its checkpoints \
     (`Checkpoints::in_file`)";
pub(crate) const STALE: &str = "the pool and this checkpoint are from different points in time (was one of them restored from a backup, or is \
     this another hard link of the pool?). If a session in between had another file for its checkpoints, choose that \
     (`Checkpoints::in_file`, `Checkpoints::beside_pool`). To keep the checkpoint's contents, move the pool file away and open \
     the pool again; to keep the pool's, move the checkpoint away";
pub(crate) const OLDER: &str = "the pool has made a newer checkpoint, which is missing (was this one restored from a backup?). Put the newest back, or \
     choose its file (`Checkpoints::in_file`, `Checkpoints::beside_pool`). Without it: to keep this checkpoint's contents, move \
     the pool file away and open the pool again; to keep the pool's, move this checkpoint away";
pub(crate) const LAGS: &str = "the pool's last close could not make a checkpoint, so this one lacks what was written before that close: restore a \
     backup; or, to go back to this checkpoint, move the pool file away and open its path again; or move the checkpoint \
     away, and verify and accept the pool with `endura check --accept`";
pub(crate) const OF_NO_POOL: &str = "its pool does not exist. Open the pool to restore it from this checkpoint, or remove the checkpoint";
pub(crate) const DAMAGE: &str = "it stays as it is, because this session met damage in the pool, and a newer one would have the damage too: close the \
     pool, and its next open goes back to this checkpoint (`endura check` on a copy tells what is damaged)";
pub(crate) const UNKNOWN: &str = "it stays as it is, because the pool was not closed before, and has a map of a kind that this build does not know, \
     so that it cannot be verified: open it with the version that made that map";
pub(crate) const UNVERIFIED: &str = "it stays as it is until the pool, which was not closed before, is verified, and other threads write faster than that \
     proceeds; it is tried again";
pub(crate) const OF_A_REMOVED_POOL: &str = "the pool file was removed, moved or replaced while it is open. No further checkpoints are made, because an open would \
     recreate the pool from one: put the file back, or close the pool";
pub(crate) const OF_ANOTHER_NAME: &str = "there is no pool here, and this checkpoint is of a pool at another path, so nothing is made of it: give each pool a \
     file of its own; if this pool was moved or renamed, restore it with `endura restore POOL --from CHECKPOINT` (`Pool::restore`)";
pub(crate) const EMPTY: &str = "it holds no checkpoint, and may be another program's file, so nothing is written to it: give another path \
     (`Checkpoints::in_file`), or move it away, and a pool that is whole gets a new one";
pub(crate) const DAMAGED: &str =
    "it is damaged: move it away, and a pool that is whole gets a new one";
pub(crate) const DAMAGED_BESIDE_A_WHOLE_POOL: &str =
    "it is damaged. The pool is whole: move the checkpoint away, and the next open makes a new one";
pub(crate) const OTHER_VERSION: &str = "it was written by another version of endura; use that one";
pub(crate) const NAME_TOO_LONG: &str = "its name has more than the 255 bytes that a file's name may have: give the pool a name of at most 244 bytes, or \
     choose a file for its checkpoints (`Checkpoints::in_file`)";
pub(super) const NO_FILE: &str = "it is no regular file; give another path";
pub(crate) const NOWHERE: &str = "it is a link to a file that does not exist, and nothing is made in its place: mount its disk, or remove the link";
pub(crate) const REPLACED: &str =
    "another file was put in its place while the pool was open; move that one away";
pub(super) const WRITTEN_OVER: &str = "another one was written over it while the pool was open, perhaps an older one of this pool: move it away, and the next round \
     makes a new one";
pub(super) const IN_USE: &str = "it is locked by another process (a program that makes backups, or a pool that was given the same file): wait for that \
     (`lock_timeout`), or give each pool a file of its own";

/// The error for a checkpoint that cannot be used.
pub(crate) fn bad(path: &Path, what: &'static str) -> Error {
    Error::BadCheckpoint { path: path.to_owned(), what }
}

/// Whether the error says that another pool, or another process, has locked the checkpoint.
pub(crate) fn is_in_use(error: &Error) -> bool {
    matches!(error, Error::BadCheckpoint { what: IN_USE, .. })
}

/// What is wrong with a checkpoint, and the same with what to do where its pool may be torn: then the checkpoint is not
/// replaced by the next one, because no session begins.
const BESIDE_A_TORN_POOL: [(&str, &str); 5] = [
    (
        FOREIGN,
        "it is of another pool, and this pool may be torn: restore a backup, or move this checkpoint away, and verify and \
         accept the pool with `endura check --accept`",
    ),
    (
        STALE,
        "the pool, which may be torn, and this checkpoint are from different points in time (was one of them restored from \
         a backup, or is this another hard link of the pool?). If a session in between had another file for its checkpoints, \
         choose that (`Checkpoints::in_file`, `Checkpoints::beside_pool`). To go back to the checkpoint, move the pool file away and \
         open its path again; else restore a backup, or move the checkpoint away, and verify and accept the pool with \
         `endura check --accept`",
    ),
    (
        OLDER,
        "the pool, which may be torn, has made a newer checkpoint, which is missing (was this one restored from a backup?). \
         Put the newest back, or choose its file (`Checkpoints::in_file`, `Checkpoints::beside_pool`). Without it: to go \
         back to this checkpoint, move the pool file away and open its path again; else restore a backup, or move this \
         checkpoint away, and verify and accept the pool with `endura check --accept`",
    ),
    (
        EMPTY,
        "it holds no checkpoint, and the pool may be torn: choose the file of its checkpoints (`Checkpoints::in_file`); else \
         restore a backup, or move this file away, and verify and accept the pool with `endura check --accept`",
    ),
    (
        DAMAGED,
        "it is damaged, and the pool may be torn: restore a backup, or move the checkpoint away, and verify and accept the \
         pool with `endura check --accept`",
    ),
];

/// The error of a checkpoint that cannot be used, with what its pool needs: `torn` says whether the pool may be torn.
pub(crate) fn explained(error: Error, torn: bool) -> Error {
    let Error::BadCheckpoint { path, what } = error else { return error };
    let beside_a_torn_pool = BESIDE_A_TORN_POOL.into_iter().find(|(alone, _)| *alone == what);
    let what = match (torn, beside_a_torn_pool) {
        (true, Some((_, explained))) => explained,
        (false, _) if what == DAMAGED => DAMAGED_BESIDE_A_WHOLE_POOL,
        _ => what,
    };
    Error::BadCheckpoint { path, what }
}

/// The problem itself, without what its pool needs.
fn alone(what: &'static str) -> &'static str {
    let explained = BESIDE_A_TORN_POOL.into_iter().find(|(_, explained)| *explained == what);
    explained.map_or(what, |(alone, _)| alone)
}

/// The problem that an error of the checkpoint's file is for its pool.
pub(crate) fn problem_of(error: &Error) -> CheckpointProblem {
    match error {
        Error::BadCheckpoint { what, .. } => match alone(what) {
            FOREIGN => CheckpointProblem::Foreign,
            STALE => CheckpointProblem::Stale,
            OLDER => CheckpointProblem::Older,
            LAGS => CheckpointProblem::Outdated,
            DAMAGED | DAMAGED_BESIDE_A_WHOLE_POOL => CheckpointProblem::Damaged,
            EMPTY | NO_FILE => CheckpointProblem::NoCheckpoint,
            OTHER_VERSION => CheckpointProblem::OtherVersion,
            IN_USE => CheckpointProblem::InUse,
            NAME_TOO_LONG => CheckpointProblem::NameTooLong,
            what => CheckpointProblem::NotMade { code: error.code(), reason: what.to_owned() },
        },
        Error::Io { source, .. } => {
            let (code, reason) = (error.code(), words_of(source));
            CheckpointProblem::NotMade { code, reason }
        }
        _ => CheckpointProblem::NotMade { code: error.code(), reason: error.to_string() },
    }
}

/// The words of an error of the system, without its number.
pub(crate) fn words_of(error: &io::Error) -> String {
    let words = error.to_string();
    words.split(" (os error").next().unwrap_or_default().to_owned()
}

/// Why a pool cannot go back to a checkpoint that relates to it like this.
pub(crate) fn problem_with(relation: Option<Relation>) -> Option<CheckpointProblem> {
    match relation {
        None => Some(CheckpointProblem::NoCheckpoint),
        Some(Relation::Foreign) => Some(CheckpointProblem::Foreign),
        Some(Relation::Stale) => Some(CheckpointProblem::Stale),
        Some(Relation::Older) => Some(CheckpointProblem::Older),
        Some(Relation::Related { lags: true, .. }) => Some(CheckpointProblem::Outdated),
        Some(Relation::Related { lags: false, .. }) => None,
    }
}
