//! A round: the pages that have changed since the last checkpoint, copied out of an open pool.
//!
//! | step | what | writers |
//! | --- | --- | --- |
//! | K1 | room in the file for what is noted | go on |
//! | K2 | while much is noted, and each pass halves it: take the notes, barrier, copy and write | go on |
//! | K3 | [`Space::hold`]: wait until nobody stores, for 2 ms at the most; else later again | wait |
//! | K4 | length, superblock; take the notes, copy into memory | wait |
//! | K5 to K7 | write, sync, root, sync (the [file](super)) | go on |
//!
//! A page that K2 copies beside writers is a mixture. But whoever stores to it notes it, and K4 copies it again: in
//! the checkpoint each page is what it was in the hold. Pages 0 and 1 have the superblock and nothing else, and are not copied:
//! the root has it.
//!
//! A round that fails notes all pages again that it took.

use std::cell::Cell;
use std::time::{Duration, Instant, SystemTime};

use crate::media::{DIRTY_GRAIN, DirtyPages, Mapped, Media, Region};
use crate::os::disk;
use crate::os::door::DiskFile;
use crate::os::read_ahead::ReadAhead;
use crate::pool::checkpoint::file::failure::Failure;
use crate::pool::checkpoint::file::newest::CheckpointFile;
use crate::pool::checkpoint::file::root::{Moment, SLOT};
use crate::pool::checkpoint::file::round::Round;
use crate::pool::file::superblock::Superblock;
use crate::pool::layout::NEWEST_NUMBER;
use crate::pool::space::Space;
use crate::{Error, Result};

/// The first page that is copied.
pub(crate) const FIRST: u32 = 2;
/// Pages that are copied and written at once where writers go on.
const PIECE: usize = 256;
/// Pages of a pool that are read ahead at once where all are copied.
const SWEEP: u32 = 2 << 10;
/// Pages that may wait for the hold: 64 MiB.
const MOST_IN_HOLD: u64 = 16 << 10;
/// How long a hold waits for the writers.
const PATIENCE: Duration = Duration::from_millis(2);
/// How often a hold is tried, and the pause between two tries at first and at most.
const TRIES: u32 = 60;
const PAUSES: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(100)];

const _: () = assert!(DIRTY_GRAIN == SLOT as u64);

/// Which pages a round looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pages {
    /// Those that were noted.
    Noted,
    /// All: the notes of an earlier session died with it, or the file has no checkpoint.
    All,
}

/// When a round is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// While the pool is in use.
    Open,
    /// When it is closed and will have so many bytes.
    Closed { length: u64 },
}

/// What a round did.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Outcome {
    /// For how long writers were held.
    pub(crate) held: Duration,
    /// Pages that were copied in the hold.
    pub(crate) copied: u64,
    /// Bytes written.
    pub(crate) written: u64,
    /// Holds that were tried.
    pub(crate) tries: u32,
}

/// Why a round made no checkpoint.
#[derive(Debug)]
pub(crate) enum NoRound {
    /// The pool: closed, poisoned, or a writer stayed inside.
    Pool(Error),
    /// The file.
    File(Failure),
    /// The disk below the pool: it has refused pages, and what was copied may be older than what was stored.
    Refused,
}

impl From<Failure> for NoRound {
    fn from(failure: Failure) -> Self {
        Self::File(failure)
    }
}

impl From<Error> for NoRound {
    fn from(error: Error) -> Self {
        Self::Pool(error)
    }
}

/// What a hold has copied.
struct Held {
    pages: Vec<u32>,
    /// The length of the pool.
    bytes: u64,
    /// When nobody stored, in nanoseconds since 1970.
    made: u64,
}

/// Makes rounds of one pool.
#[derive(Debug, Default)]
pub(crate) struct Copier {
    /// What is copied in a hold: kept, because fresh memory takes longer to fill than to copy to.
    copied: Vec<u8>,
    /// The notes that this round has taken.
    taken: Vec<u64>,
    /// The hash of the pool's path.
    path: u64,
}

impl Copier {
    /// Makes rounds of the pool whose path has this hash.
    pub(crate) fn of(path: u64) -> Self {
        Self { path, ..Self::default() }
    }

    /// Makes one checkpoint. `superblock` is that of the session, or the coming one of the close.
    pub(crate) fn round<F: DiskFile>(
        &mut self,
        space: &Space<Mapped>,
        file: &mut CheckpointFile<F>,
        superblock: &Superblock,
        (pages, when): (Pages, When),
    ) -> Result<Outcome, NoRound> {
        let Some(noted) = space.media().dirty_pages() else {
            let what = "a checkpoint of a pool that notes no pages";
            return Err(NoRound::Pool(Error::Unsupported { what }));
        };
        self.taken.clear();
        let made = self.try_round(space, file, noted, (superblock, pages, when));
        if made.is_err() {
            noted.put_back(&self.taken);
        }
        self.taken = Vec::new();
        self.copied.truncate(2 * MOST_IN_HOLD as usize * SLOT);
        self.copied.shrink_to(2 * MOST_IN_HOLD as usize * SLOT);
        made
    }

    fn try_round<F: DiskFile>(
        &mut self,
        space: &Space<Mapped>,
        file: &mut CheckpointFile<F>,
        noted: &DirtyPages,
        (superblock, pages, when): (&Superblock, Pages, When),
    ) -> Result<Outcome, NoRound> {
        let media = space.media();
        let is_new = file.newest().is_none();
        let mut round = file.begin()?;
        let mut left = noted.count(media.len());
        // K1
        round.reserve(left as u32)?;
        if pages == Pages::All {
            // What they stand for is looked at with all others.
            let _ = self.take(noted, media.len())?;
            copy_all_ahead(media, &mut round, !is_new)?;
            left = noted.count(media.len());
        }
        // K2
        while when == When::Open && left > MOST_IN_HOLD {
            let took = self.take(noted, media.len())?;
            copy_ahead(media, &mut round, took, false)?;
            let before = std::mem::replace(&mut left, noted.count(media.len()));
            if left > before / 2 {
                break;
            }
        }
        // Touched before the hold.
        self.copied.resize(self.copied.len().max((left + left / 8) as usize * SLOT), 0);
        let mut outcome = Outcome::default();
        let Held { pages: in_hold, bytes, made } = match when {
            When::Open => self.hold(space, noted, &mut outcome)?,
            When::Closed { length } => {
                Held { made: now(), pages: self.copy_in_hold(media, noted)?, bytes: length }
            }
        };
        outcome.copied = in_hold.len() as u64;
        // K5
        round.add(&in_hold, &self.copied[..in_hold.len() * SLOT])?;
        // K6, K7
        let pages = pages_of(bytes)?;
        let (superblock, path) = (superblock.encode(), self.path);
        let moment = Moment { pages, made, superblock, path };
        // A page that the disk refused may have left the memory, and have been read back as it was before. The kernel
        // knows of that by then, and tells it. Damage that was met until then may be in what was copied as well.
        let refused = Cell::new(false);
        let is_wrong = || {
            // A round ends before the file is released.
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

    /// K3 and K4.
    fn hold(
        &mut self,
        space: &Space<Mapped>,
        noted: &DirtyPages,
        outcome: &mut Outcome,
    ) -> Result<Held, NoRound> {
        let mut pause = PAUSES[0];
        while outcome.tries < TRIES {
            outcome.tries += 1;
            let begun = Instant::now();
            if let Some(hold) = space.hold(PATIENCE)? {
                // A later time would be that of stores which are not in the checkpoint.
                let made = now();
                let pages = self.copy_in_hold(space.media(), noted);
                let bytes = space.media().len();
                drop(hold);
                outcome.held = begun.elapsed();
                return Ok(Held { pages: pages?, bytes, made });
            }
            std::thread::sleep(pause);
            pause = PAUSES[1].min(2 * pause);
        }
        Err(NoRound::Pool(space.writers_stay()))
    }

    fn copy_in_hold(&mut self, media: &Mapped, noted: &DirtyPages) -> Result<Vec<u32>, NoRound> {
        // The hold, or the close, has waited for all that stored: it is the barrier.
        let taken = noted.take(media.len());
        self.taken.extend_from_slice(&taken);
        let pages: Vec<u32> =
            taken.iter().map(|&page| page as u32).filter(|&page| page >= FIRST).collect();
        self.copied.resize(self.copied.len().max(pages.len() * SLOT), 0);
        for (&page, out) in pages.iter().zip(self.copied.chunks_exact_mut(SLOT)) {
            read_page(media, page, out)?;
        }
        Ok(pages)
    }

    /// Takes the notes, such that what is read from now on has all stores that they stood for, or is noted again.
    fn take(&mut self, noted: &DirtyPages, len: u64) -> Result<impl Iterator<Item = u32> + use<>> {
        let taken = noted.take(len);
        self.taken.extend_from_slice(&taken);
        // Pairs with the light barrier in `DirtyPages::note`.
        if !noted.barrier() {
            return Err(Error::Unsupported {
                what: "the kernel took membarrier(2) away after the pool was opened; allow it",
            });
        }
        Ok(taken.into_iter().map(|page| page as u32).filter(|&page| page >= FIRST))
    }
}

/// Copies all pages beside writers into the file, in the order of the pool's, whose read-ahead finds them on the disk.
fn copy_all_ahead<F: DiskFile>(
    media: &Mapped,
    round: &mut Round<'_, F>,
    compares: bool,
) -> Result<(), NoRound> {
    let all = pages_of(media.len())?;
    let file = media.file_on_disk();
    let mut ahead = ReadAhead::of(file.as_deref().map(|file| &**file));
    for from in (FIRST..all).step_by(SWEEP as usize) {
        let end = all.min(from.saturating_add(SWEEP));
        let read = ahead.reach(u64::from(end) * DIRTY_GRAIN - 1);
        read.map_err(|error| Error::io("reading the pool for its checkpoint", error))?;
        copy_ahead(media, round, from..end, compares)?;
    }
    Ok(())
}

/// Copies pages beside writers into the file, but those that it `has` already.
fn copy_ahead<F: DiskFile>(
    media: &Mapped,
    round: &mut Round<'_, F>,
    pages: impl Iterator<Item = u32>,
    compares: bool,
) -> Result<(), NoRound> {
    let (mut numbers, mut bytes) = (Vec::with_capacity(PIECE), vec![0; PIECE * SLOT]);
    for page in pages {
        let (pieces, _) = bytes.as_chunks_mut::<SLOT>();
        let out = &mut pieces[numbers.len()];
        read_page(media, page, out)?;
        if compares && round.has(page, out) {
            continue;
        }
        numbers.push(page);
        if numbers.len() == PIECE {
            round.add(&numbers, &bytes)?;
            numbers.clear();
        }
    }
    round.add(&numbers, &bytes[..numbers.len() * SLOT])?;
    Ok(())
}

fn read_page(media: &Mapped, page: u32, out: &mut [u8]) -> Result<()> {
    Region::new(media, u64::from(page) * DIRTY_GRAIN, SLOT / 8)?.read(0, out);
    Ok(())
}

fn pages_of(bytes: u64) -> Result<u32, Failure> {
    u32::try_from(bytes / DIRTY_GRAIN).map_err(|_| Failure::TooLarge)
}

/// Nanoseconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}
