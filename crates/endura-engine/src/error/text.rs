//! The texts of the errors: each is a sentence that tells a person what to do next.
//!
//! They are written by hand, because a derive would make every program that uses the library compile a parser of Rust
//! first.

use std::fmt;

use super::advice;
use super::checkpoint::FoundCheckpoint;
use super::error::Error;

impl fmt::Display for Error {
    #[expect(clippy::too_many_lines, reason = "one text for each variant, and no step besides")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Corrupt { offset, what } => write!(
                f,
                "the pool is damaged at byte {offset}: {what}; if it was open for writing, \
                 close it, and its next open goes back to its checkpoint; else move the file \
                 away and open its path again; without a checkpoint restore a backup \
                 (`endura check` on a copy tells what is damaged)"
            ),
            Self::Full { need, free, limit, pool } => {
                write!(f, "{}{}", advice::of(pool.as_deref()), advice::full(*need, *free, *limit))
            }
            Self::Locked => f.write_str(
                "the pool is open elsewhere: close it there, wait for it (`lock_timeout`), \
                 or open it read-only in every process",
            ),
            Self::Forked => f.write_str(
                "this process is a fork of the one that opened the pool: open the pool again \
                 here",
            ),
            Self::NeedsRecovery => f.write_str(
                "the pool needs a repair that a read-only open may not do: open it for \
                 writing once",
            ),
            Self::NeedsRestore { reason, checkpoint } => write!(
                f,
                "the pool may be torn ({reason}){}",
                FoundCheckpoint::way_back(checkpoint.as_deref())
            ),
            Self::BadCheckpoint { path, what } => {
                write!(f, "the checkpoint {}: {what}", path.display())
            }
            Self::Displaced { path, now } => write!(
                f,
                "the pool was closed, but {} leads to it no more: it was removed or moved \
                 while it was open, or something else is in its place; {}",
                path.display(),
                advice::open_now(now.as_deref())
            ),
            Self::Version { found, want } => write!(
                f,
                "the pool has format {found}, this build reads format {want}: use a matching \
                 endura"
            ),
            Self::UnknownFeatures { bits } => write!(
                f,
                "the pool uses features that this build does not know ({bits:#x}): use a \
                 newer endura"
            ),
            Self::NotAPool { pool, what, checkpoint } => write!(
                f,
                "{}this is not an endura pool: {what}; {}",
                advice::of(pool.as_deref()),
                FoundCheckpoint::instead(checkpoint.as_deref(), advice::not_a_pool(what))
            ),
            Self::Truncated { have, need, checkpoint } => write!(
                f,
                "the file has {have} bytes but its pool needs {need}: it was cut short; {}",
                FoundCheckpoint::instead(checkpoint.as_deref(), "restore it from a backup")
            ),
            Self::KeyTooLong { len, max } => write!(
                f,
                "a key of {len} bytes is longer than the {max} that a map takes: shorten it, \
                 or keep its end in the value"
            ),
            Self::ValueTooLong { len, max } => write!(
                f,
                "a value of {len} bytes is longer than the {max} that a map takes: split it \
                 over several keys"
            ),
            Self::WrongTypes { name, found, want } => write!(
                f,
                "the map `{name}` is a {found}, not a {want}: open it with the types it has, \
                 or choose another name"
            ),
            Self::WrongKind { name, types, found, want } => {
                write!(f, "{}", advice::wrong_kind(name, types, *found, *want))
            }
            Self::OtherNodes { name } => write!(
                f,
                "the map `{name}` has other node sizes than those asked for: leave them out, \
                 or copy the map"
            ),
            Self::Encode { type_name, source } => write!(
                f,
                "a `{type_name}` cannot be encoded: {source}; nothing was written, store \
                 another value"
            ),
            Self::Decode { type_name, source } => write!(
                f,
                "an entry does not decode as `{type_name}`: {source}; was the type changed \
                 since it was written? Read it with the type as it was, overwrite it with \
                 `put`, or remove it with `delete` or `pop_first_key`"
            ),
            Self::Write(source) => {
                write!(f, "writing a value: {source}; nothing was stored, so it may be tried again")
            }
            Self::ShortValue { len, written } => write!(
                f,
                "a value of {len} bytes was announced, but only {written} were written: \
                 announce what will be written"
            ),
            Self::UnknownNodes { name } => write!(
                f,
                "the map `{name}` is of a kind, or has node sizes or features, that this \
                 build does not know: `endura export` it with the version that made it, and \
                 import that here; if no version did, restore a backup"
            ),
            Self::BadName => {
                f.write_str("a map's name has 1 to 255 bytes of UTF-8 without NUL: choose another")
            }
            Self::BadTypeName { name } => write!(
                f,
                "a type's name has 1 to 255 bytes without control characters, and `{}` does \
                 not: choose another",
                name.escape_debug()
            ),
            Self::NoSuchMap { name } => write!(
                f,
                "the pool has no map `{name}`: choose one that `Pool::maps` lists, or open \
                 the pool for writing to make it"
            ),
            Self::MapExists { name } => write!(
                f,
                "the pool has a map `{name}` already: drop that first, or choose another name"
            ),
            Self::Poisoned => {
                f.write_str("an earlier failure left the pool in doubt: close it and open it again")
            }
            Self::Dropped => {
                f.write_str("the map was dropped: open it again, which makes a new one")
            }
            Self::Closed { pool } => write!(
                f,
                "{}the pool was closed: open it again, and its maps",
                advice::of(pool.as_deref())
            ),
            Self::ReclaimStalled { waiting } => write!(
                f,
                "{waiting} bytes wait for a thread that stays inside one operation: let it \
                 finish, then try again"
            ),
            Self::RecursiveUpdate { runs } => write!(
                f,
                "the closure of an update has written to the pool in each of {runs} runs, \
                 and each time the value of its key had changed when it returned: let the \
                 closure return the new value, and not write it"
            ),
            Self::Unmet { index } => write!(
                f,
                "nothing was changed, because part {index} of the batch (the first is 0) expects another \
                 value than its key has: read the keys again, and make a new batch"
            ),
            Self::BatchTooLarge { operations, bytes } => write!(
                f,
                "a batch of {operations} parts and {bytes} bytes: 1048576 parts and 1073741824 bytes are \
                 the most; make several smaller ones"
            ),
            Self::OtherPool => f.write_str(
                "the map belongs to another pool than the batch: make a batch for each pool",
            ),
            Self::Contended { runs } => write!(
                f,
                "other threads have changed what was read in each of {runs} runs: let them write less, \
                 then try again"
            ),
            Self::InsideOperation => f.write_str(
                "this thread is inside an operation of the pool: let it return, then try \
                 again",
            ),
            Self::WritersStay { threads, thread } => write!(
                f,
                "{threads} threads stay inside an operation that writes, one of them thread \
                 {thread} of this process: let them return, then try again"
            ),
            Self::ReadOnly => f.write_str("the pool was opened read-only: open it for writing"),
            Self::Unsupported { what } => write!(f, "not supported here: {what}"),
            Self::Io { doing, source } => {
                write!(f, "{doing}: {source}{}", advice::act(doing, source))
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Encode { source, .. } | Self::Decode { source, .. } => Some(source.as_ref()),
            Self::Write(source) | Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
