//! How a writing session begins on a file whose lock does not exclude every other process.
//!
//! On overlayfs a process that opens a pool by a path in the overlay and one that opens it in the upper folder both get
//! the lock ([`lease`]). Both see the content of the file and its attributes. So a session begins in steps that show
//! whether another session begins at the same moment, and gives up before its first store to the mapping:
//!
//! | step | what | gives up if |
//! | --- | --- | --- |
//! | E1 | marks the file: a closed pool has no mark, and of two processes that create it one fails | another session began |
//! | E2 | reads the superblock again | it is another one than at the open |
//! | E3 | writes the superblock | |
//! | E4 | reads mark and superblock again | one of them is of another session |
//!
//! A session that gives up leaves what the other one has written. If a closed pool keeps a mark and its superblock does
//! not change, the mark is of a process that was killed between E1 and E3, or in its close: after a while the session
//! takes the mark over. On a file system without attributes E2 and E4 see only what came before them, and two sessions
//! that begin within microseconds may both continue.
//!
//! A pool that was not closed looks like a different file by each of the two paths ([`FileIdentity`]), and is refused
//! as a copy. Two things bypass that: a restore by hand, and an open that accepts what it has verified. Both first ask
//! whether another process has the file [open for writing](lease), and are refused in an overlay, where that cannot be
//! known. A restore also marks the file before it writes to it, so that a writer that begins meanwhile finds that its
//! mark was replaced.
//!
//! [`lease`]: crate::os::lease
//! [`FileIdentity`]: crate::os::file_identity::FileIdentity

use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::os::lease::{self, Writers};
use crate::os::lock;
use crate::os::session_mark::{self, Mark};
use crate::space::file::superblock::Superblock;
use crate::{Error, Result};

/// How long a mark of another session is watched before it is taken over.
const PATIENCE: Duration = Duration::from_millis(100);
const PAUSE: Duration = Duration::from_millis(1);
/// How long a restore waits for a writer that looked at the mark before the restore changed it.
const NOTICE: Duration = Duration::from_millis(50);

pub(crate) const IN_OVERLAY: &str = "the pool was last open by another path than this one in an overlay (a container), and from here nobody can see \
     whether it still is: do this by the path of the file outside of the overlay, in its upper folder, or copy the file to \
     another file system and do it there";

/// Whether other processes have the pool open for writing. This is asked before this process opens it for writing.
/// `None` if the pool is closed and needs no answer, or cannot be read.
pub(crate) fn writers(path: &Path) -> Option<Writers> {
    let (begun, is_file) =
        (Instant::now(), |file: &File| file.metadata().is_ok_and(|f| f.is_file()));
    let file = lock::open(path, true).ok().filter(is_file)?;
    loop {
        let last = Superblock::read(&file).ok()?;
        let writers = (!last.clean).then(|| lease::writers(&file));
        // A child that is about to execute another program still has, for a moment, the files that this process has
        // closed.
        if writers != Some(Writers::Somebody) || begun.elapsed() > NOTICE {
            return writers;
        }
        std::thread::sleep(PAUSE);
    }
}

/// Whether the file still has this superblock.
pub(crate) fn has(file: &File, last: &Superblock) -> Result<bool> {
    let now = Superblock::read(file)?;
    Ok((now.sequence, now.session, now.clean) == (last.sequence, last.session, last.clean))
}

/// E1: marks the file with the session `number`. Returns whether the file has the mark. `seen` is the mark that the
/// file had at the open.
///
/// # Errors
///
/// [`Error::Locked`] if another session begins.
pub(crate) fn mark(
    file: &File,
    number: [u8; 16],
    last: &Superblock,
    seen: Option<Mark>,
) -> Result<bool> {
    if !last.clean {
        if seen.is_some_and(|seen| seen != Mark::of(file)) {
            return Err(Error::Locked);
        }
        return Ok(session_mark::set(file, number, last.is_marked.then_some(last.session)));
    }
    let begun = Instant::now();
    loop {
        if let Some(is_marked) = session_mark::create(file, number) {
            return Ok(is_marked);
        }
        if !has(file, last)? {
            return Err(Error::Locked);
        }
        if begun.elapsed() > PATIENCE {
            return Ok(session_mark::set(file, number, None));
        }
        std::thread::sleep(PAUSE);
    }
}

/// E2: fails unless the file still has the superblock `last`.
///
/// # Errors
///
/// [`Error::Locked`] if another session has begun since the open. The mark is then that session's again.
pub(crate) fn expect_unchanged(file: &File, last: &Superblock) -> Result<()> {
    if has(file, last)? {
        return Ok(());
    }
    let other = Superblock::read(file)?;
    match other.is_marked && !other.clean {
        true => _ = session_mark::set(file, other.session, None),
        false => session_mark::clear(file),
    }
    Err(Error::Locked)
}

/// E4: fails unless mark and superblock are this session's.
///
/// # Errors
///
/// [`Error::Locked`] if another session has begun since E2.
pub(crate) fn expect_own(file: &File, own: &Superblock) -> Result<()> {
    let is_named = !own.is_marked || Mark::of(file).names(own.session) != Some(false);
    if is_named && has(file, own)? { Ok(()) } else { Err(Error::Locked) }
}

/// Marks a file that a restore is about to overwrite, with a number that is no session's.
///
/// # Errors
///
/// [`Error::Locked`] if a session begins. The mark is then what it was, or that session's.
pub(crate) fn shut(file: &File, number: [u8; 16], last: &Superblock) -> Result<()> {
    if !session_mark::set(file, number, None) {
        return Ok(());
    }
    std::thread::sleep(NOTICE);
    if Mark::of(file) != Mark::Numbers([number, [0; 16]]) {
        return Err(Error::Locked);
    }
    expect_unchanged(file, last)
}
