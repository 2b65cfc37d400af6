//! Whether a pool has a checkpoint to which it can go back, and why not.

use std::fmt;
use std::path::PathBuf;
use std::time::SystemTime;

use super::span::since;

/// Why a pool cannot go back to a checkpoint, or why none can be made.
///
/// `{problem}` prints a clause, such as `the checkpoint is of another pool`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CheckpointProblem {
    /// The pool has no checkpoints: its options said so, or it was made in memory.
    Off,
    /// None was made yet.
    NotYet,
    /// The pool had one, and it is not there.
    Missing,
    /// It is in a file that each open has to name (`Checkpoints::in_file`), and this open has not named it.
    NotNamed,
    /// It is of another pool.
    Foreign,
    /// It and the pool are from different points in time: one of the two was replaced by a backup.
    Stale,
    /// The pool has made a newer one, which is not there.
    Older,
    /// The pool was closed after it was made, so that it lacks what was written before that close.
    Outdated,
    /// It is damaged.
    Damaged,
    /// The file at its path is no checkpoint.
    NoCheckpoint,
    /// Another version of endura has written it.
    OtherVersion,
    /// Another process has locked its file.
    InUse,
    /// It is in memory (tmpfs), so that a power loss takes it too.
    InMemory,
    /// The name of its file would have more than 255 bytes.
    NameTooLong,
    /// The system does not let this process read it.
    Unreadable {
        /// The system's error, such as `Permission denied (os error 13)`.
        error: String,
    },
    /// Its file cannot be created, because this process may not write to the folder.
    FolderNotWritable,
    /// The last attempts to make one have failed.
    NotMade {
        /// [`Error::code`](crate::Error::code) of the reason.
        code: &'static str,
        /// The reason, in a sentence for a person.
        reason: String,
    },
}

impl CheckpointProblem {
    /// A name of the problem that programs can rely on: it does not change when texts do.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::NotYet => "not_yet",
            Self::Missing => "missing",
            Self::NotNamed => "not_named",
            Self::Foreign => "foreign",
            Self::Stale => "stale",
            Self::Older => "older",
            Self::Outdated => "outdated",
            Self::Damaged => "damaged",
            Self::NoCheckpoint => "no_checkpoint",
            Self::OtherVersion => "other_version",
            Self::InUse => "in_use",
            Self::InMemory => "in_memory",
            Self::NameTooLong => "name_too_long",
            Self::Unreadable { .. } => "unreadable",
            Self::FolderNotWritable => "folder_not_writable",
            Self::NotMade { .. } => "not_made",
        }
    }
}

impl fmt::Display for CheckpointProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Off => "the pool makes no checkpoints",
            Self::NotYet => "no checkpoint was made yet",
            Self::Missing => "the checkpoint is not there",
            Self::NotNamed => "the file of checkpoints was not named",
            Self::Foreign => "the checkpoint is of another pool",
            Self::Stale => "the checkpoint does not match the pool",
            Self::Older => "the newest checkpoint is missing",
            Self::Outdated => "the checkpoint is older than the pool",
            Self::Damaged => "the checkpoint is damaged",
            Self::NoCheckpoint => "the file holds no checkpoint",
            Self::OtherVersion => "the checkpoint has another format",
            Self::InUse => "the checkpoint is locked elsewhere",
            Self::InMemory => "the checkpoint is in memory",
            Self::NameTooLong => "the checkpoint's name is too long",
            Self::FolderNotWritable => "the checkpoint's folder is not writable",
            Self::Unreadable { error } => {
                return write!(f, "the checkpoint cannot be read: {error}");
            }
            Self::NotMade { reason, .. } => {
                return write!(f, "no checkpoint could be made: {reason}");
            }
        })
    }
}

/// The checkpoint of a pool that cannot be opened as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FoundCheckpoint {
    /// The path of the file of checkpoints; empty if it was not named.
    pub path: PathBuf,
    /// When the checkpoint was made, or why there is none to go back to.
    pub made: Result<SystemTime, CheckpointProblem>,
}

impl FoundCheckpoint {
    pub(crate) fn new(path: PathBuf, made: Result<SystemTime, CheckpointProblem>) -> Self {
        Self { path, made }
    }

    /// The last part of the text of [`Error::NotAPool`](crate::Error::NotAPool) and of similar errors.
    pub(super) fn instead(found: Option<&Self>, otherwise: &str) -> String {
        match found {
            Some(Self { path, made: Ok(made) }) => format!(
                "{} has the pool as of {} ago: move this file away, and open its path again",
                path.display(),
                since(*made)
            ),
            _ => otherwise.to_owned(),
        }
    }

    /// The last part of the text of [`Error::NeedsRestore`](crate::Error::NeedsRestore).
    pub(super) fn way_back(found: Option<&Self>) -> String {
        const ACCEPT: &str =
            "restore a backup, or verify and accept the pool with `endura check --accept`";
        match found {
            Some(Self { path, made: Ok(made) }) => format!(
                ": `endura restore` (`Pool::restore`) takes it back to {}, of {} ago",
                path.display(),
                since(*made)
            ),
            Some(Self {
                path,
                made: Err(CheckpointProblem::Missing | CheckpointProblem::NotYet),
            }) => {
                format!(
                    ", and there is no checkpoint {}: name its file if it is elsewhere (`Checkpoints::in_file`); else {ACCEPT}",
                    path.display()
                )
            }
            Some(Self { made: Err(CheckpointProblem::NotNamed), .. }) => {
                format!(
                    ", and its checkpoint is in another file: name that (`Checkpoints::in_file`); else {ACCEPT}"
                )
            }
            Some(Self {
                path,
                made:
                    Err(
                        CheckpointProblem::Stale
                        | CheckpointProblem::Older
                        | CheckpointProblem::Outdated,
                    ),
            }) => format!(
                ", and {path} does not match it: to go back to that checkpoint, move the pool file away and open its \
                 path again; else restore a backup, or move the checkpoint away, and verify and accept the pool \
                 with `endura check --accept`",
                path = path.display()
            ),
            Some(Self { path, made: Err(CheckpointProblem::Unreadable { error }) }) => format!(
                ", and its checkpoint {} cannot be read ({error}): check who may read it, then open the pool again; else \
                 restore a backup",
                path.display()
            ),
            Some(Self { path, made: Err(problem) }) => format!(
                ", and {path} cannot help ({problem}): restore a backup, or move {path} away, and verify and accept the \
                 pool with `endura check --accept`",
                path = path.display()
            ),
            None => format!(", and it has no checkpoint: {ACCEPT}"),
        }
    }
}
