//! Makes sure that every byte of a pool's file has a block, and that no other file shares that block.
//!
//! A store to a mapped page that needs a block cannot fail as a call does: if the disk has no block left, the kernel
//! sends SIGBUS. A store needs a new block if it goes to a hole, or to a block that the file shares with a copy. (`cp`
//! on XFS makes such copies, at any moment, even of an open pool.) So an open for writing makes sure that the file has
//! neither holes nor shared blocks, and a [`BlocksWatch`] looks for shared blocks while the pool is open. A copy that
//! is made after one look shares blocks until the next look, and nothing is promised for that time.
//!
//! The number of a file's blocks proves nothing. On a disk it includes the blocks that describe the file (the tree of
//! its extents, its attributes), which may be as many as the holes lack. So the extents are examined. Only on tmpfs the
//! number is exact.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use rustix::io::Errno;

use crate::os::disk;
use crate::os::extents::{extents, unshare};
use crate::os::filesystem::Filesystem;
use crate::{Error, Result};

/// Extents that one look examines if none is shared: 60 µs.
const EXTENTS: usize = 512;
/// For how many bytes of the file the first call allocates blocks of their own.
const STEP: u64 = 1 << 20;
/// For how many bytes a later call allocates blocks, at least and at most.
const STEPS: Range<u64> = 64 << 10..64 << 20;
/// How long one such call should take. Threads that fault in the file wait meanwhile.
const SHORT: Duration = Duration::from_millis(10);
/// How long a look continues if blocks are shared. Other work of the thread waits meanwhile.
const LOOK: Duration = Duration::from_secs(1);

/// How many times an open tries to find free blocks.
const TRIES: u32 = 10;
/// The pause between two looks, at least and at most.
const PAUSES: [Duration; 2] = [Duration::from_millis(20), Duration::from_secs(1)];
/// Bytes a second: faster than any disk is filled.
const FILLED: u64 = 8 << 30;

const HOLES: &str = "the file may have holes, which this file system cannot fill: a full disk may \
                     kill the process";
const SEPARATING: &str = "giving the pool blocks of its own, in place of those that it shares with a copy \
                          (`cp` on XFS; another copy is made with `cp --reflink=never`)";

/// Gives each byte of the file a block of the file's own, before anything is stored. Returns a warning if the file
/// system cannot do that.
///
/// # Errors
///
/// [`Error::Full`] if the disk has no space for the holes, [`Error::Io`] (`StorageFull`) if it has none for the shared
/// blocks.
pub(super) fn make_sure(file: &File, filesystem: Filesystem) -> Result<Option<&'static str>> {
    let facts = file.metadata().map_err(|e| Error::io("counting the file's blocks", e))?;
    let (bytes, len) = (facts.blocks() * 512, facts.len());
    let found = match filesystem.blocks_tell_holes() {
        true => Extents { missing: len.saturating_sub(bytes), is_shared: false },
        // A file system that reports no extents may have holes.
        false => walk(file, len).unwrap_or(Extents { missing: len, is_shared: false }),
    };
    if found.missing > 0 && !disk::fill_holes(file, len, found.missing)? {
        return Ok(Some(HOLES));
    }
    if found.is_shared && filesystem.shares_blocks() {
        return Separation::default().all(file, len);
    }
    Ok(None)
}

/// What the extents of a file show.
struct Extents {
    /// Bytes without blocks.
    missing: u64,
    is_shared: bool,
}

fn walk(file: &File, len: u64) -> std::io::Result<Extents> {
    let (mut at, mut found) = (0, Extents { missing: 0, is_shared: false });
    while at < len {
        let told = extents(file, at..len)?;
        for extent in &told {
            found.missing += extent.bytes.start.saturating_sub(at);
            found.is_shared |= extent.is_shared;
            at = extent.bytes.end;
        }
        if told.is_empty() {
            found.missing += len - at;
            at = len;
        }
    }
    Ok(found)
}

/// Gives shared bytes blocks of their own, in steps that take about as long as they should.
struct Separation {
    step: u64,
}

impl Default for Separation {
    fn default() -> Self {
        Self { step: STEP }
    }
}

impl Separation {
    /// Takes one step from `at` on. Returns where it ended, and how long it took.
    fn step(&mut self, file: &File, at: u64, len: u64) -> Result<(u64, Duration), Errno> {
        let (begun, end) = (Instant::now(), len.min(at.saturating_add(self.step)));
        unshare(file, at..end)?;
        let took = begun.elapsed();
        let step = if took < SHORT / 2 { self.step * 2 } else { self.step };
        let step = if took > SHORT { self.step / 2 } else { step };
        self.step = step.clamp(STEPS.start, STEPS.end);
        Ok((end, took))
    }

    /// Separates the whole file, to which no thread stores yet.
    fn all(mut self, file: &File, len: u64) -> Result<Option<&'static str>> {
        let (mut at, mut tries) = (0, TRIES);
        while at < len {
            let told = extents(file, at..len).map_err(|e| Error::io(SEPARATING, e))?;
            at = match told.iter().find(|extent| extent.is_shared) {
                Some(shared) => match self.step(file, shared.bytes.start, len) {
                    Ok((end, _)) => end,
                    Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(Some(CANNOT)),
                    Err(Errno::NOSPC) if tries > 0 => {
                        // XFS frees the blocks of removed files in the background, and sooner if it is asked for its
                        // free space.
                        disk::free(file);
                        std::thread::sleep(SHORT);
                        tries -= 1;
                        at
                    }
                    Err(errno) => return Err(Error::io(SEPARATING, errno)),
                },
                None => told.last().map_or(len, |last| last.bytes.end),
            };
        }
        Ok(None)
    }
}

/// The result of a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Blocks {
    /// The file shares no blocks.
    Own,
    /// The file shares blocks, and the look has given a part of it blocks of its own.
    Shared,
    /// The file shares blocks, and the disk has no space for blocks of the file's own.
    NoRoom,
    /// The file shares blocks, which this file system cannot separate.
    Stay,
}

const CANNOT: &str = "the file shares blocks with a copy, which this file system cannot separate: a full disk may kill the \
                      process";

impl Blocks {
    /// A warning for the user, if there is one.
    pub(crate) fn warning(self) -> Option<&'static str> {
        match self {
            Self::Own | Self::Shared => None,
            Self::NoRoom => Some(
                "the file shares blocks with a copy (`cp` on XFS), and the disk has no room for blocks of its own: the next \
                 store may kill the process; free space there, or remove the copy",
            ),
            Self::Stay => Some(CANNOT),
        }
    }
}

/// Looks for shared blocks of an open pool, in one part of the file at a time, because a copy shares nearly all of it.
pub(crate) struct BlocksWatch {
    at: u64,
    separation: Separation,
    blocks: Blocks,
    pause: Duration,
    is_over: bool,
}

impl BlocksWatch {
    /// A watch, or `None` on a file system whose files never share blocks, or always need new ones.
    pub(crate) fn on(filesystem: Filesystem) -> Option<Self> {
        filesystem.shares_blocks().then(|| Self {
            at: 0,
            separation: Separation::default(),
            blocks: Blocks::Own,
            pause: PAUSES[0],
            is_over: false,
        })
    }

    /// How long the next look may wait. The less space the disk has, the sooner it can be full.
    pub(crate) fn pause(&self) -> Duration {
        if self.is_over { Duration::MAX } else { self.pause }
    }

    /// Whether the disk can be full within a second. If so, steps are as large as possible, because the kernel
    /// allocates the blocks of a whole step first, and writes them afterwards.
    fn is_urgent(&self) -> bool {
        self.pause < PAUSES[1]
    }

    /// Looks for shared blocks, and replaces them by others as long as `goes_on` returns `true`, for a second at the
    /// most. The next look continues where this one ended.
    pub(crate) fn look(&mut self, file: &File, goes_on: impl Fn() -> bool) -> Blocks {
        if !self.is_over {
            let filled = disk::free(file).map_or(0, |free| free / (FILLED / 1_000));
            self.pause = Duration::from_millis(filled).clamp(PAUSES[0], PAUSES[1]);
            self.blocks = self.try_look(file, goes_on).unwrap_or_else(|errno| match errno {
                Errno::NOSPC | Errno::DQUOT => Blocks::NoRoom,
                _ => {
                    // Nothing can be found out about this file, or nothing can be changed in it.
                    self.is_over = true;
                    if self.blocks == Blocks::Own { Blocks::Own } else { Blocks::Stay }
                }
            });
        }
        self.blocks
    }

    fn try_look(&mut self, file: &File, goes_on: impl Fn() -> bool) -> Result<Blocks, Errno> {
        let told = |error: std::io::Error| Errno::from_io_error(&error).unwrap_or(Errno::IO);
        let len = file.metadata().map_err(told)?.len();
        let (begun, mut extents_left, mut bytes_left) = (Instant::now(), EXTENTS, len);
        while extents_left > 0 && bytes_left > 0 {
            self.at = if self.at < len { self.at } else { 0 };
            let found = extents(file, self.at..len).map_err(told)?;
            let Some(shared) = found.iter().find(|extent| extent.is_shared) else {
                let end = found.last().map_or(len, |last| last.bytes.end);
                bytes_left = bytes_left.saturating_sub(end - self.at);
                extents_left = extents_left.saturating_sub(found.len());
                self.at = end;
                continue;
            };
            self.blocks = Blocks::Shared;
            self.at = shared.bytes.start;
            if self.is_urgent() {
                self.separation.step = STEPS.end;
            }
            let (end, took) = self.separation.step(file, self.at, len)?;
            self.at = end;
            // Blocks were shared, so the whole file is examined again.
            (extents_left, bytes_left) = (usize::MAX, len);
            if !goes_on() || begun.elapsed() > LOOK {
                return Ok(Blocks::Shared);
            }
            if !self.is_urgent() {
                // Sleeps as long as the step took, so that threads which wait for their page faults come first.
                std::thread::sleep(took);
            }
        }
        Ok(Blocks::Own)
    }
}
