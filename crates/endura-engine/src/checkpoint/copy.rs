//! A round makes one checkpoint: it copies the pages that have changed since the last one out of an open pool.
//!
//! | step | what | writers |
//! | --- | --- | --- |
//! | K1 | reserve space in the file for what is noted | continue |
//! | K2 | while much is noted: take the notes, barrier, copy and write ([`ahead`]) | continue, or are slowed down |
//! | K3 | [`Space::hold`]: wait until no thread stores, for at most 2 ms (or 60 ms); else try again later | wait |
//! | K4 | length, superblock; take the notes, copy into memory (if above 64 MiB, into the file) | wait |
//! | K5 to K7 | write, sync, root, sync (the [file](super)) | continue |
//!
//! K3 waits for up to 60 ms if writers were kept out before it.
//!
//! A page that K2 copies while writers go on may be a mixture. But a thread that stores to the page notes it, and K4
//! copies it again: in the checkpoint each page is what it was during the hold. Pages 0 and 1 have the superblock, and
//! the number of the newest checkpoint. They are not copied, because the root has the superblock.
//!
//! A round that fails notes all pages again whose notes it took.

use std::cell::Cell;
use std::time::{Duration, SystemTime};

pub(crate) use crate::checkpoint::ahead::NoRound;
use crate::checkpoint::ahead::{self, Ahead, pages_of, read_page};
use crate::checkpoint::file::newest::CheckpointFile;
use crate::checkpoint::file::root::{Moment, SLOT};
use crate::checkpoint::file::round::Round;
use crate::media::{DIRTY_GRAIN, Mapped, Media};
use crate::os::disk;
use crate::os::door::DiskFile;
use crate::space::NEWEST_NUMBER;
use crate::space::Space;
use crate::space::Superblock;
use crate::{Error, Result};

/// The most pages that should be left for the hold: 64 MiB. The hold copies more only if single operations change more
/// than that.
const MOST_IN_HOLD: u64 = 16 << 10;
/// How many times a hold is tried, and after how many tries writers are slowed down for it.
const TRIES: u32 = 60;
const TRIES_AT_SPEED: u32 = 6;
/// The pause between two tries, at first and at most.
const PAUSES: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(100)];

const _: () = assert!(DIRTY_GRAIN == SLOT as u64);

/// Which pages a round looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pages {
    /// The pages that were noted.
    Noted,
    /// All pages: the notes of an earlier session were lost with it, or the file has no checkpoint.
    All,
}

/// When a round is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// While the pool is in use.
    Open,
    /// When the pool is closed, and will have `length` bytes.
    Closed {
        /// The length of the pool after the close.
        length: u64,
    },
}

/// What a round did.
#[derive(Debug, Clone, Copy, Default)]
pub struct RoundOutcome {
    /// How long writers were held: of several tries, the longest.
    pub(crate) held: Duration,
    /// How long writers were kept from beginning operations before the hold, so that the copier kept up with them.
    pub(crate) slowed: Duration,
    /// Pages that were copied in the hold.
    pub(crate) copied: u64,
    /// Bytes written.
    pub(crate) written: u64,
    /// Holds that were tried.
    pub(crate) tries: u32,
}

/// The copy that a hold has made.
struct Held {
    pages: Vec<u32>,
    /// The length of the pool.
    bytes: u64,
    /// The time at which no thread stored, in nanoseconds since 1970.
    made: u64,
}

/// Makes rounds of one pool.
#[derive(Debug)]
pub struct Copier {
    /// Memory for what a hold copies. It is kept, because touching fresh memory takes longer than copying to it.
    copied: Vec<u8>,
    /// The most pages that are copied into this memory.
    most: u64,
    /// The hash of the pool's path.
    path: u64,
}

impl Default for Copier {
    fn default() -> Self {
        Self { copied: Vec::new(), most: MOST_IN_HOLD, path: 0 }
    }
}

impl Copier {
    /// A copier for the pool whose path has this hash.
    pub(crate) fn of(path: u64) -> Self {
        Self { path, ..Self::default() }
    }

    /// This copier, with at most `most` pages in a hold.
    pub fn with_most_in_hold(self, most: u64) -> Self {
        Self { most, ..self }
    }

    /// Makes one checkpoint. `superblock` is that of the session, or the one that the close will write.
    pub fn round<F: DiskFile>(
        &mut self,
        space: &Space<Mapped>,
        file: &mut CheckpointFile<F>,
        superblock: &Superblock,
        (pages, when): (Pages, When),
    ) -> Result<RoundOutcome, NoRound> {
        let Some(noted) = space.media().dirty_pages() else {
            let what = "a checkpoint of a pool that notes no pages";
            return Err(NoRound::Pool(Error::Unsupported { what }));
        };
        let mut ahead = Ahead::new(space, noted, self.most);
        let made = self.try_round(space, file, &mut ahead, (superblock, pages, when));
        if made.is_err() {
            ahead.put_back();
        }
        made
    }

    fn try_round<F: DiskFile>(
        &mut self,
        space: &Space<Mapped>,
        file: &mut CheckpointFile<F>,
        ahead: &mut Ahead<'_>,
        (superblock, pages, when): (&Superblock, Pages, When),
    ) -> Result<RoundOutcome, NoRound> {
        let media = space.media();
        // A pool with more pages than a checkpoint can name gets none.
        pages_of(media.len())?;
        let is_new = file.newest().is_none();
        let mut round = file.begin()?;
        // K1
        round.reserve(ahead.left() as u32)?;
        // K2
        if pages == Pages::All {
            ahead.copy_all(&mut round, !is_new)?;
        }
        if when == When::Open {
            // Touching memory takes a while, in which further pages are noted. So it is done before K2.
            self.make_room_for(ahead.left());
            ahead.copy_noted(&mut round)?;
        }
        self.make_room_for(ahead.left());
        let mut outcome = RoundOutcome::default();
        let held = match when {
            When::Open => self.hold(space, &mut round, ahead, &mut outcome)?,
            When::Closed { length } => {
                let (made, taken) = (now(), ahead.take_in_hold());
                Held { pages: self.copy_in_hold(media, &mut round, taken)?, bytes: length, made }
            }
        };
        let Held { pages: in_hold, bytes, made } = held;
        outcome.slowed = ahead.slowed;
        // K5
        round.add(&in_hold, &self.copied[..in_hold.len() * SLOT])?;
        // K6, K7
        let pages = pages_of(bytes)?;
        let (superblock, path) = (superblock.encode(), self.path);
        let moment = Moment { pages, made, superblock, path };
        // A page that the disk refused may have left the memory, and have been read back with its old contents. The
        // kernel knows of that by now, and reports it. Damage that was met up to now may be in the copied pages as
        // well.
        let refused = Cell::new(false);
        let is_wrong = || {
            // The pool still has its file, because a round ends before the file is released.
            refused
                .set(media.file().is_ok_and(|file| disk::were_pages_refused(&file, NEWEST_NUMBER)));
            refused.get() || space.met_damage().is_some()
        };
        let written = round.commit_unless(moment, is_wrong);
        if refused.get() {
            return Err(NoRound::Refused);
        }
        outcome.written = written?;
        Ok(outcome)
    }

    /// Touches the memory that `pages` pages take, and a few more, before a hold copies to it.
    fn make_room_for(&mut self, pages: u64) {
        let room = (pages + pages / 8).min(self.most) as usize * SLOT;
        self.copied.resize(self.copied.len().max(room), 0);
    }

    /// Steps K3 and K4 of the round.
    fn hold<F: DiskFile>(
        &mut self,
        space: &Space<Mapped>,
        round: &mut Round<'_, F>,
        ahead: &mut Ahead<'_>,
        outcome: &mut RoundOutcome,
    ) -> Result<Held, NoRound> {
        let mut pause = PAUSES[0];
        loop {
            outcome.tries += 1;
            let (hold, begun) = ahead.hold(round)?;
            let Some(hold) = hold else {
                outcome.held = outcome.held.max(begun.elapsed());
                if outcome.tries == TRIES {
                    return Err(NoRound::Pool(space.writers_stay()));
                }
                if outcome.tries == TRIES_AT_SPEED {
                    ahead.slow_down();
                }
                ahead.pause(pause);
                pause = PAUSES[1].min(2 * pause);
                // Copies what was changed meanwhile.
                ahead.copy_noted(round)?;
                continue;
            };
            // The time is taken now: by a later time there may be stores which are not in the checkpoint.
            let made = now();
            let taken = ahead.take_in_hold();
            if taken.len() as u64 > self.most && ahead.slow_down() {
                drop(hold);
                outcome.held = outcome.held.max(begun.elapsed());
                ahead.copy_taken(round, taken)?;
                ahead.copy_noted(round)?;
                continue;
            }
            outcome.copied = taken.len() as u64;
            let pages = self.copy_in_hold(space.media(), round, taken);
            let bytes = space.media().len();
            drop(hold);
            outcome.held = outcome.held.max(begun.elapsed());
            return Ok(Held { pages: pages?, bytes, made });
        }
    }

    /// Copies pages into memory, and returns their numbers. If there are too many pages, writes them into the file at
    /// once, and returns no numbers.
    fn copy_in_hold<F: DiskFile>(
        &mut self,
        media: &Mapped,
        round: &mut Round<'_, F>,
        pages: Vec<u32>,
    ) -> Result<Vec<u32>, NoRound> {
        if pages.len() as u64 > self.most {
            ahead::copy(media, round, pages.into_iter(), false)?;
            return Ok(Vec::new());
        }
        self.copied.resize(self.copied.len().max(pages.len() * SLOT), 0);
        for (&page, out) in pages.iter().zip(self.copied.chunks_exact_mut(SLOT)) {
            read_page(media, page, out)?;
        }
        Ok(pages)
    }
}

/// Nanoseconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}
