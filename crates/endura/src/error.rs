//! One error type for the whole library.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::kind::Kind;
use crate::types::Types;

/// The result of everything in this crate that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Any error of an encoding.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Why an operation failed.
///
/// A failed operation leaves the map as it was. Every variant carries the facts that a program
/// needs to react, and its text is a sentence that tells a person what to do next.
///
/// `{error}` prints the sentence. `{error:?}`, and a `main` that returns the error, print the variant and its fields: that
/// form is for logs and tests, which look for facts and not for wording.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The pool holds something that no correct run can have written.
    #[error(
        "the pool is damaged at byte {offset}: {what}; restore it from a backup, or see with \
         `endura check` on a copy what is damaged"
    )]
    Corrupt {
        /// Where in the pool, in bytes from its start.
        offset: u64,
        /// What was found there and should not be.
        what: &'static str,
    },
    /// Neither the pool nor the file system below it has room.
    ///
    /// A span of 16 KiB to 2 MiB holds chunks of one size, and can be used for another one only when all of
    /// them are free. So a pool can be full of free chunks where a few entries are left in each span:
    /// `Stats::sizes` says for which sizes there are some. Those entries have to go, or all of them to be
    /// written to a new pool.
    #[error(
        "no room for {need} bytes: a value of some {free} would fit, and free space in partly used spans is for \
         entries of the same size only; remove entries, raise `max_size` (`--max-size`) or the limit on the size \
         of files (`ulimit -f`), or free disk space"
    )]
    Full {
        /// How many bytes were asked for.
        need: u64,
        /// How many bytes the longest piece of free space has, or could have if the file grew as far as it can. A value
        /// that is 8 KiB shorter fits, under a key of up to 4,000 bytes: a page begins with a table of 4 KiB, and a record with
        /// its head and its key.
        /// Values of at most 16 KiB may fit also where this is 0, in free chunks of their size.
        free: u64,
    },
    /// Another process, or another handle of this process, has the pool open.
    #[error(
        "the pool is open elsewhere: close it there, wait for it (`lock_timeout`, `--wait`), or open it \
         read-only in every process"
    )]
    Locked,
    /// The process forked after the pool was opened, and this is the child.
    #[error("this process is a fork of the one that opened the pool: open the pool again here")]
    Forked,
    /// A read-only open met a pool that must be repaired by a writer first.
    #[error("the pool needs a repair that a read-only open may not do: open it for writing once")]
    NeedsRecovery,
    /// The machine went down, or the file was copied, while the pool was open, or nothing can tell that neither happened.
    #[error(
        "the pool may be torn ({reason}): restore it from a backup, or verify and accept it with \
         `endura check --accept`"
    )]
    NeedsRestore {
        /// What gave it away.
        reason: &'static str,
    },
    /// The checkpoint beside the pool, or the one that was given, cannot be used for it.
    #[error("the checkpoint {}: {what}", path.display())]
    BadCheckpoint {
        /// The file.
        path: PathBuf,
        /// Why, and what to do.
        what: &'static str,
    },
    /// The path by which the pool was opened leads to it no more: while it was open, the file was removed or moved, or another
    /// one was put in its place, or a file system was mounted over it. All of it is durable, and it was closed.
    #[error("the pool was closed, but {} leads to it no more: it was removed or moved while it was open, or something else is in its place; {}", path.display(), open_now(now.as_deref()))]
    Displaced {
        /// The path by which it was opened.
        path: PathBuf,
        /// Where the file is, if it has a name that is known.
        now: Option<Box<Path>>,
    },
    /// The file was written by another version of the format, or is not a pool.
    #[error("the pool has format {found}, this build reads format {want}: use a matching endura")]
    Version {
        /// The version found in the file.
        found: u32,
        /// The version that this build reads and writes.
        want: u32,
    },
    /// The pool uses features that came after this build.
    #[error("the pool uses features that this build does not know ({bits:#x}): use a newer endura")]
    UnknownFeatures {
        /// The features, one bit each.
        bits: u64,
    },
    /// The file does not start like a pool.
    #[error(
        "this is not an endura pool: {what}; give the path of a pool, or of a file that is not there yet"
    )]
    NotAPool {
        /// What was found in place of a pool.
        what: &'static str,
    },
    /// The file is shorter than the pool in it.
    #[error(
        "the file has {have} bytes but its pool needs {need}: it was cut short; restore it from a \
         backup"
    )]
    Truncated {
        /// The length of the file in bytes.
        have: u64,
        /// The bytes that the pool in it covers.
        need: u64,
    },
    /// A key is longer than the index can hold.
    #[error(
        "a key of {len} bytes is longer than the {max} that a map takes: shorten it, or keep its end in the value"
    )]
    KeyTooLong {
        /// The length asked for, in bytes.
        len: u64,
        /// The longest possible key, in bytes.
        max: u64,
    },
    /// A value is longer than the index can hold.
    #[error(
        "a value of {len} bytes is longer than the {max} that a map takes: split it over several keys"
    )]
    ValueTooLong {
        /// The length asked for, in bytes.
        len: u64,
        /// The longest possible value, in bytes.
        max: u64,
    },
    /// The map has other types than those it was opened with.
    #[error(
        "the map `{name}` is a {found}, not a {want}: open it with the types it has, or choose another name"
    )]
    WrongTypes {
        /// The name of the map.
        name: String,
        /// Its types.
        found: Box<Types>,
        /// Those asked for.
        want: Box<Types>,
    },
    /// The map is of another kind than the one asked for, or a map of these types cannot be of that kind.
    #[error("{}", wrong_kind(name, types, *found, *want))]
    WrongKind {
        /// The name of the map.
        name: String,
        /// Its types.
        types: Box<Types>,
        /// Its kind, if it is there already.
        found: Option<Kind>,
        /// The kind asked for.
        want: Kind,
    },
    /// The map has nodes of other sizes than those asked for.
    #[error(
        "the map `{name}` has other node sizes than those asked for: leave them out, or copy the map"
    )]
    OtherNodes {
        /// The name of the map.
        name: String,
    },
    /// A value does not encode: its `Serialize`, or its `encode`, says why.
    #[error(
        "a `{type_name}` cannot be encoded: {source}; nothing was written, store another value"
    )]
    Encode {
        /// The type, by its recorded name.
        type_name: String,
        /// Why.
        source: BoxError,
    },
    /// Stored bytes do not decode as the type that the map has.
    #[error(
        "an entry does not decode as `{type_name}`: {source}; was the type changed since it was written? Read \
         it with the type as it was, overwrite it with `put`, or remove it with `delete` or `pop_first_key`"
    )]
    Decode {
        /// The type, by its recorded name.
        type_name: String,
        /// Why.
        source: BoxError,
    },
    /// The closure of [`Map::insert_from`](crate::Map::insert_from) failed.
    #[error("writing a value: {0}; nothing was stored, so it may be tried again")]
    Write(#[source] io::Error),
    /// The closure of [`Map::insert_from`](crate::Map::insert_from) wrote less than it had announced.
    #[error(
        "a value of {len} bytes was announced, but only {written} were written: announce what will be written"
    )]
    ShortValue {
        /// Bytes announced.
        len: usize,
        /// Bytes written.
        written: usize,
    },
    /// The named map is of a kind, or has nodes of sizes, that this build does not know. It is left as it is; what else is in the
    /// pool can be used.
    #[error(
        "the map `{name}` is of a kind, or has node sizes or features, that this build does not know: `endura export` it with the version that made it, and import \
         that here; if no version did, restore a backup"
    )]
    UnknownNodes {
        /// The name of the map.
        name: String,
    },
    /// The name cannot be the name of a map.
    #[error("a map's name has 1 to 255 bytes of UTF-8 without NUL: choose another")]
    BadName,
    /// The name of a type cannot be recorded.
    #[error(
        "a type's name has 1 to 255 bytes without control characters, and `{}` does not: choose another",
        name.escape_debug()
    )]
    BadTypeName {
        /// The name.
        name: String,
    },
    /// There is no such map: a read-only pool cannot make one, and what is to be renamed must be there.
    #[error(
        "the pool has no map `{name}`: choose one that `Pool::maps` lists, or open the pool for writing to make it"
    )]
    NoSuchMap {
        /// The name asked for.
        name: String,
    },
    /// A map was to get a name that a map has.
    #[error("the pool has a map `{name}` already: drop that first, or choose another name")]
    MapExists {
        /// The name.
        name: String,
    },
    /// An earlier panic or I/O error left the pool in doubt.
    #[error("an earlier failure left the pool in doubt: close it and open it again")]
    Poisoned,
    /// The map of this handle was dropped.
    #[error("the map was dropped: open it again, which makes a new one")]
    Dropped,
    /// The pool of this handle was closed.
    #[error("the pool was closed: open it again, and its maps")]
    Closed,
    /// Memory cannot be reused because some thread has stayed inside an operation.
    #[error(
        "{waiting} bytes wait for a thread that stays inside one operation: let it finish, then \
         try again"
    )]
    ReclaimStalled {
        /// Bytes that would be free if that thread left.
        waiting: u64,
    },
    /// The closure of [`alter`](crate::Map::alter), [`update`](crate::Map::update) or
    /// [`retain`](crate::Map::retain) writes the key that it decides about, each time another value.
    #[error(
        "the closure of an update has written to the pool in each of {runs} runs, and each time the value of its key \
         had changed when it returned: let the closure return the new value, and not write it"
    )]
    RecursiveUpdate {
        /// How often it ran.
        runs: u32,
    },
    /// The call waits for all operations of the pool to end, and the calling thread is inside one: it was made in a
    /// closure that a method of a map runs, or an iterator that it was given.
    #[error("this thread is inside an operation of the pool: let it return, then try again")]
    InsideOperation,
    /// The call keeps writers out, and some have stayed inside one operation for as long as it waits.
    #[error(
        "{threads} threads stay inside an operation that writes, one of them thread {thread} of this \
         process: let them return, then try again"
    )]
    WritersStay {
        /// How many.
        threads: usize,
        /// The system's number of one of them; 0 if it is not known.
        thread: u64,
    },
    /// A write was asked of a pool that was opened read-only.
    #[error("the pool was opened read-only: open it for writing")]
    ReadOnly,
    /// The file system, the machine or the kernel lacks something that endura needs.
    #[error("not supported here: {what}")]
    Unsupported {
        /// What is missing, and what to do instead.
        what: &'static str,
    },
    /// The operating system refused.
    #[error("{doing}: {source}{}", act(doing, source.kind()))]
    Io {
        /// What was being done, with the path where one is involved.
        doing: String,
        /// What the operating system said.
        source: io::Error,
    },
}

impl Error {
    /// A name of the variant that programs may go by: it stays when texts change.
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
            Self::Closed => "closed",
            Self::ReclaimStalled { .. } => "reclaim_stalled",
            Self::RecursiveUpdate { .. } => "recursive_update",
            Self::InsideOperation => "inside_operation",
            Self::WritersStay { .. } => "writers_stay",
            Self::ReadOnly => "read_only",
            Self::Unsupported { .. } => "unsupported",
            Self::Io { .. } => "io",
        }
    }

    /// An I/O error together with what was being done when it came.
    pub fn io(doing: impl Into<String>, source: impl Into<io::Error>) -> Self {
        Self::Io { doing: doing.into(), source: source.into() }
    }

    /// The path that the caller gave could not be opened.
    pub(crate) fn opening(path: &Path, source: impl Into<io::Error>) -> Self {
        Self::io(format!("{OPENING}{}", named(path)), source)
    }

    /// Nothing could be made at the path that the caller gave.
    pub(crate) fn creating(path: &Path, source: impl Into<io::Error>) -> Self {
        Self::io(format!("{CREATING}{}", named(path)), source)
    }
}

/// What to do about a pool that is not where it was.
fn open_now(now: Option<&Path>) -> String {
    match now {
        Some(now) => format!("open it as {}, or move it back", now.display()),
        None => "if the file has another name, open it by that; else restore a backup".to_owned(),
    }
}

/// How an error names a path: with where it leads, if it is a link that leads nowhere.
fn named(path: &Path) -> String {
    let shown = path.display();
    match fs::read_link(path) {
        Ok(to) if !path.exists() => format!(
            "{shown}, a symbolic link to {} where there is no file (no pool is made through a link)",
            to.display()
        ),
        _ => shown.to_string(),
    }
}

/// What was being done with a path that the caller gave begins like this.
const OPENING: &str = "opening ";
const CREATING: &str = "creating ";

/// What helps where the system refuses. Advice about a path is for a path that the caller gave: what else may be
/// missing or forbidden is not of the caller's choice.
fn act(doing: &str, kind: io::ErrorKind) -> &'static str {
    let is_callers_path = [OPENING, CREATING].iter().any(|begin| doing.starts_with(begin));
    match kind {
        io::ErrorKind::NotFound if is_callers_path => "; check the path",
        io::ErrorKind::AlreadyExists if is_callers_path => {
            "; open it as it is, or choose another path"
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem if is_callers_path => {
            "; check who may read and write there"
        }
        io::ErrorKind::ReadOnlyFilesystem => {
            "; the kernel's log says why it became read-only: solve that, then open the pool again"
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "; free space there",
        io::ErrorKind::FileTooLarge => {
            "; raise the limit on the size of files (`ulimit -f`), then try again"
        }
        io::ErrorKind::OutOfMemory => "; free memory or addresses, or ask for a smaller `max_size`",
        _ => "; solve that, then try again",
    }
}

fn wrong_kind(name: &str, types: &Types, found: Option<Kind>, want: Kind) -> String {
    match found {
        Some(found) => format!(
            "the map `{name}` is {}, not {}: leave the kind out, or copy the map",
            with_article(found),
            with_article(want)
        ),
        None => format!(
            "the map `{name}` cannot be {}, which holds keys and values of at most 8 bytes: make the {types} {}",
            with_article(want),
            with_article(Kind::Roart)
        ),
    }
}

fn with_article(kind: Kind) -> String {
    let article = if kind == Kind::NbTree { "an" } else { "a" };
    format!("{article} {kind}")
}

/// For `?` in functions of `std::io`.
impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Write(source) => source,
            Error::Io { source, doing } => Self::new(source.kind(), Error::Io { source, doing }),
            other => Self::other(other),
        }
    }
}

// It is part of every result, and moved with each.
const _: () = assert!(size_of::<Error>() <= 48);
// A variant that fills all of it leaves the number of the variant no byte of its own: then it is a word among the values of
// that variant, and each operation compares words that it has to load, some ten instructions more. Of the variants this is
// the largest.
const _: () = assert!(size_of::<(PathBuf, Option<Box<Path>>)>() < size_of::<Error>());
