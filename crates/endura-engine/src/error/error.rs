//! The error type.

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::advice::{CREATING, HAS_CHECKPOINT, OPENING, OPENING_CHECKPOINT, named};
use super::checkpoint::FoundCheckpoint;
use super::limit::SpaceLimit;
use super::span::since;
use crate::kind::Kind;
use crate::types::Types;

/// The result of everything in this crate that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Any error of an encoding.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Why an operation failed.
///
/// An operation on one key that fails leaves the map as it was. `clear`, `remove_range`, `retain` and `extend` stop where
/// they are: what they have done until then stays. Every variant carries the facts that a program
/// needs to react, and its text is a sentence that tells a person what to do next.
///
/// `{error}` prints the sentence. `{error:?}`, and a `main` that returns the error, print the variant and its fields,
/// for logs and tests that depend on facts and not on wording.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The pool contains data that no correct run can have written.
    Corrupt {
        /// The place of the damage, in bytes from the start of the pool.
        offset: u64,
        /// What was found there and should not be.
        what: &'static str,
    },
    /// The pool has no space left, and cannot grow.
    ///
    /// A span of 16 KiB to 2 MiB holds chunks of one size. It can be used for another size only when all of its chunks
    /// are free. So a pool can be full although it has many free chunks, if a few entries are left in each span.
    /// [`Stats::sizes`](crate::Stats::sizes) lists the free chunks by size. Then remove the remaining entries, or copy
    /// all entries to a new pool.
    Full {
        /// How many bytes more the pool would have needed.
        need: u64,
        /// The size in bytes of the longest piece of free space, or of the longest that there would be if the file grew
        /// as far as it can. A value that is 8 KiB shorter fits, with a key of up to 4,000 bytes: a page begins with a
        /// table of 4 KiB, and a record begins with its head and its key. A value of at most 16 KiB may fit even if
        /// `free` is 0, in a free chunk of its size.
        free: u64,
        /// What kept the pool from growing.
        limit: SpaceLimit,
        /// The path by which the pool was opened, if it is known.
        pool: Option<Box<Path>>,
    },
    /// Another process, or another handle of this process, has the pool open.
    Locked,
    /// The process forked after the pool was opened, and this is the child.
    Forked,
    /// A read-only open found a pool that a writer must repair first.
    NeedsRecovery,
    /// The machine stopped, or the file was copied, while the pool was open. The error is also returned if one of these
    /// cannot be excluded.
    NeedsRestore {
        /// How this was detected.
        reason: &'static str,
        /// The checkpoint of the pool; `None` if the pool makes none.
        checkpoint: Option<Box<FoundCheckpoint>>,
    },
    /// The checkpoint beside the pool, or the chosen one, cannot be used for it.
    BadCheckpoint {
        /// The file of the checkpoint.
        path: PathBuf,
        /// Why it cannot be used, and what to do.
        what: &'static str,
    },
    /// The path by which the pool was opened no longer leads to it: while the pool was open, the file was removed,
    /// moved or replaced, or a file system was mounted over it. The pool was closed, and all of it is durable.
    Displaced {
        /// The path by which the pool was opened.
        path: PathBuf,
        /// The current path of the file, if it is known.
        now: Option<Box<Path>>,
    },
    /// The file has another version of the format.
    Version {
        /// The version found in the file.
        found: u32,
        /// The version that this build reads and writes.
        want: u32,
    },
    /// The pool uses features that this build does not know.
    UnknownFeatures {
        /// The features, one bit each.
        bits: u64,
    },
    /// The file does not start like a pool.
    NotAPool {
        /// The path that was to be opened, if it is known.
        pool: Option<Box<Path>>,
        /// What was found instead of a pool.
        what: &'static str,
        /// A good checkpoint beside the file, of the pool that was there before.
        checkpoint: Option<Box<FoundCheckpoint>>,
    },
    /// The file is shorter than the pool in it.
    Truncated {
        /// The length of the file in bytes.
        have: u64,
        /// The length in bytes that the pool in it needs.
        need: u64,
        /// A good checkpoint of the pool.
        checkpoint: Option<Box<FoundCheckpoint>>,
    },
    /// A key is longer than the index can hold.
    KeyTooLong {
        /// Its length in bytes.
        len: u64,
        /// The longest possible key, in bytes.
        max: u64,
    },
    /// A value is longer than the index can hold.
    ValueTooLong {
        /// Its length in bytes.
        len: u64,
        /// The longest possible value, in bytes.
        max: u64,
    },
    /// The map has other types than the requested ones.
    WrongTypes {
        /// The name of the map.
        name: String,
        /// Its types.
        found: Box<Types>,
        /// The requested types.
        want: Box<Types>,
    },
    /// The map is of another kind than the requested one, or a map of these types cannot be of that kind.
    WrongKind {
        /// The name of the map.
        name: String,
        /// Its types.
        types: Box<Types>,
        /// Its kind, if the map exists.
        found: Option<Kind>,
        /// The requested kind.
        want: Kind,
    },
    /// The map has nodes of other sizes than the requested ones.
    OtherNodes {
        /// The name of the map.
        name: String,
    },
    /// A value cannot be encoded. `source` is the error of its `Serialize` or `encode`.
    Encode {
        /// The type, by its recorded name.
        type_name: String,
        /// Why.
        source: BoxError,
    },
    /// Stored bytes do not decode as the map's type.
    Decode {
        /// The type, by its recorded name.
        type_name: String,
        /// Why.
        source: BoxError,
    },
    /// The closure of `Map::insert_from` failed.
    Write(io::Error),
    /// The closure of `Map::insert_from` wrote fewer bytes than `len`.
    ShortValue {
        /// Bytes announced.
        len: usize,
        /// Bytes written.
        written: usize,
    },
    /// This build does not know the map's kind, or the sizes or features of its nodes. The map is left as it is, and
    /// other maps of the pool can be used.
    UnknownNodes {
        /// The name of the map.
        name: String,
    },
    /// The name cannot be the name of a map.
    BadName,
    /// The name of a type cannot be recorded.
    BadTypeName {
        /// The name.
        name: String,
    },
    /// There is no such map, and the call cannot create it: the pool is read-only, the options forbid it, or the call
    /// renames the map.
    NoSuchMap {
        /// The requested name.
        name: String,
    },
    /// A map was to get a name that is taken.
    MapExists {
        /// The name.
        name: String,
    },
    /// An earlier panic or I/O error left the pool in doubt.
    Poisoned,
    /// The map of this handle was dropped.
    Dropped,
    /// The pool of this handle was closed.
    Closed {
        /// The path by which the pool was opened, if it is known.
        pool: Option<Box<Path>>,
    },
    /// Freed memory cannot be reused, because a thread stays inside an operation.
    ReclaimStalled {
        /// How many bytes would be free if that thread left.
        waiting: u64,
    },
    /// The closure of `alter`, `update` or `retain`
    /// writes the key that it decides about, with a different value each time.
    RecursiveUpdate {
        /// How many times the closure ran.
        runs: u32,
    },
    /// A commit has changed nothing, because a key does not have the value that one of its parts expects.
    Unmet {
        /// The number of the part, from 0, as the parts were added.
        index: usize,
    },
    /// A commit has too many parts, or too many bytes.
    BatchTooLarge {
        /// The number of its parts; 1,048,576 are the most.
        operations: usize,
        /// The bytes of its keys and values; 2^30 are the most.
        bytes: u64,
    },
    /// A commit has a map of another pool.
    OtherPool,
    /// Other threads have changed what `transact` or `read` looked at, in each of its runs.
    Contended {
        /// How many times the closure ran.
        runs: u32,
    },
    /// The calling thread is inside an operation of the pool, in a closure or an iterator that was passed to it. The call
    /// waits for all operations to end; or it is a commit, and the operation is a `read` that would have to begin again.
    InsideOperation,
    /// The call excludes writers, and some stayed inside one operation for as long as it waits.
    WritersStay {
        /// How many threads stayed.
        threads: usize,
        /// The operating system's id of one of them; 0 if it is not known.
        thread: u64,
    },
    /// The call writes, and the pool was opened read-only.
    ReadOnly,
    /// The file system, the machine or the kernel lacks something that endura needs.
    Unsupported {
        /// What is missing, and what to do instead.
        what: &'static str,
    },
    /// A call to the operating system failed.
    Io {
        /// What was being done, with the path where one is involved.
        doing: String,
        /// The error of the operating system.
        source: io::Error,
    },
}

impl Error {
    /// A name of the variant that programs can rely on: it does not change when texts do.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Corrupt { .. } => "corrupt",
            Self::Full { .. } => "full",
            Self::Locked => "locked",
            Self::Forked => "forked",
            Self::NeedsRecovery => "needs_recovery",
            Self::NeedsRestore { .. } => "needs_restore",
            Self::BadCheckpoint { .. } => "bad_checkpoint",
            Self::Displaced { .. } => "displaced",
            Self::Version { .. } => "version",
            Self::UnknownFeatures { .. } => "unknown_features",
            Self::NotAPool { .. } => "not_a_pool",
            Self::Truncated { .. } => "truncated",
            Self::KeyTooLong { .. } => "key_too_long",
            Self::ValueTooLong { .. } => "value_too_long",
            Self::WrongTypes { .. } => "wrong_types",
            Self::WrongKind { .. } => "wrong_kind",
            Self::OtherNodes { .. } => "other_nodes",
            Self::Encode { .. } => "encode",
            Self::Decode { .. } => "decode",
            Self::Write(_) => "write",
            Self::ShortValue { .. } => "short_value",
            Self::UnknownNodes { .. } => "unknown_nodes",
            Self::BadName => "bad_name",
            Self::BadTypeName { .. } => "bad_type_name",
            Self::NoSuchMap { .. } => "no_such_map",
            Self::MapExists { .. } => "map_exists",
            Self::Poisoned => "poisoned",
            Self::Dropped => "dropped",
            Self::Closed { .. } => "closed",
            Self::ReclaimStalled { .. } => "reclaim_stalled",
            Self::RecursiveUpdate { .. } => "recursive_update",
            Self::Unmet { .. } => "unmet",
            Self::BatchTooLarge { .. } => "batch_too_large",
            Self::OtherPool => "other_pool",
            Self::Contended { .. } => "contended",
            Self::InsideOperation => "inside_operation",
            Self::WritersStay { .. } => "writers_stay",
            Self::ReadOnly => "read_only",
            Self::Unsupported { .. } => "unsupported",
            Self::Io { .. } => "io",
        }
    }

    /// An I/O error, with what was being done when it occurred.
    pub fn io(doing: impl Into<String>, source: impl Into<io::Error>) -> Self {
        Self::Io { doing: doing.into(), source: source.into() }
    }

    /// A lack of space in a pool that is not named yet: see [`of_pool`](Self::of_pool).
    pub(crate) fn full(need: u64, free: u64, limit: SpaceLimit) -> Self {
        Self::Full { need, free, limit, pool: None }
    }

    /// The error with the path of its pool, if it has a place for one that is empty.
    pub(crate) fn of_pool(mut self, path: &Path) -> Self {
        if let Self::Full { pool: pool @ None, .. }
        | Self::NotAPool { pool: pool @ None, .. }
        | Self::Closed { pool: pool @ None } = &mut self
        {
            *pool = Some(path.into());
        }
        self
    }

    /// The path that the caller gave could not be opened.
    pub(crate) fn opening(path: &Path, source: impl Into<io::Error>) -> Self {
        let source = source.into();
        Self::io(format!("{OPENING}{}", named(path, &source)), source)
    }

    /// There is no pool at the path that the caller gave, but a checkpoint of one.
    pub(crate) fn missing_pool(
        path: &Path,
        (from, made): (&Path, SystemTime),
        source: io::Error,
    ) -> Self {
        let (path, from, age) = (path.display(), from.display(), since(made));
        Self::io(format!("{OPENING}{path}{HAS_CHECKPOINT}{from}, of {age} ago"), source)
    }

    /// There is no checkpoint at the path where it was looked for.
    pub(crate) fn no_checkpoint(path: &Path) -> Self {
        let source = io::Error::from_raw_os_error(libc::ENOENT);
        Self::io(format!("{OPENING_CHECKPOINT}{}", path.display()), source)
    }

    /// A file could not be created at the path that the caller gave.
    pub(crate) fn creating(path: &Path, source: impl Into<io::Error>) -> Self {
        let source = source.into();
        Self::io(format!("{CREATING}{}", named(path, &source)), source)
    }
}

/// This conversion is for `?` in functions that return an `io::Result`.
impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Write(source) => source,
            Error::Io { source, doing } => Self::new(source.kind(), Error::Io { source, doing }),
            other => Self::other(other),
        }
    }
}

// Every result contains the error type and is moved with it, so it is small.
const _: () = assert!(size_of::<Error>() <= 48);
// If a variant filled the whole type, there would be no byte for the number of the variant. The compiler would store
// the number in unused values of a word of that variant, and each operation would have to load and compare words, about
// ten instructions more. The tuple here has the fields of the largest variant.
const _: () = assert!(size_of::<(PathBuf, Option<Box<Path>>)>() < size_of::<Error>());
