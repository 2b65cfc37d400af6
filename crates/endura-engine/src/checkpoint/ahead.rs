//! Step K2 of a round: pages are copied into the file of checkpoints while writers go on, before the hold.
//!
//! In the hold, writers wait while the pages that are left are copied into memory. So at most 64 MiB of pages should be
//! left for it. A *note* says that a page has changed. The copier takes the notes and copies the noted pages, again and
//! again, until no more than 64 MiB of pages are noted.
//!
//! The copier gets there only if writers change fewer pages during a pass than the pass copies. If a pass has not
//! halved the number of noted pages, writers are slowed down (`space/pins/slow.rs`): kept out for 40 ms, let in for 4,
//! and so on. If the next pass does not help either, they are let in for a shorter time. When they are kept out for the
//! last time, the hold follows without letting them in before. Writers are also slowed down after a hold has failed a
//! few times because one of many writers was always inside: a writer that is kept out for a while begins no operation
//! for which the hold would have to wait.
//!
//! Even then, too many pages may be left if single operations change more than the disk takes in 40 ms. In that case
//! the hold itself writes the remaining pages into the file.

use std::iter::Peekable;
use std::time::{Duration, Instant};
use std::vec::IntoIter;

use crate::checkpoint::file::bits::Bits;
use crate::checkpoint::file::failure::Failure;
use crate::checkpoint::file::root::SLOT;
use crate::checkpoint::file::round::Round;
use crate::media::{DIRTY_GRAIN, DirtyPages, Mapped, Media, Region};
use crate::os::door::DiskFile;
use crate::os::read_ahead::ReadAhead;
use crate::space::{Hold, Space};
use crate::{Error, Result};

/// The first page that is copied.
pub(crate) const FIRST: u32 = 2;
/// Pages that are copied and written at once.
const PIECE: usize = 256;
/// Pages of the pool that are read ahead at once if all are copied.
const SWEEP: u32 = 2 << 10;
/// How long writers are kept out at a time.
const OUT: Duration = Duration::from_millis(40);
/// How long writers are let in between two such times: at first, and after passes that did not help. (A verification
/// still gets its turn to keep writers out, because it looks for its turn more often.)
const IN: [Duration; 3] =
    [Duration::from_millis(4), Duration::from_millis(1), Duration::from_micros(500)];
/// How long a hold waits for the writers: usually, and if they were kept out before it.
const PATIENCE: [Duration; 2] = [Duration::from_millis(2), Duration::from_millis(60)];

/// Why a round made no checkpoint.
#[derive(Debug)]
pub enum NoRound {
    /// The pool is closed or poisoned, or a writer stayed inside.
    Pool(Error),
    /// The file of checkpoints failed.
    File(Failure),
    /// The disk below the pool has refused pages, and the copied pages may be older than what was stored.
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

/// The part of a round before its hold, and its state.
pub(super) struct Ahead<'s> {
    space: &'s Space<Mapped>,
    noted: &'s DirtyPages,
    /// The most pages that may be left for the hold.
    most: u64,
    /// The pages whose notes were taken.
    taken: Bits,
    /// How long writers are let in, as an index into [`IN`]; `None` while they are not slowed down.
    pace: Option<usize>,
    /// How long writers were kept out in total.
    pub(super) slowed: Duration,
}

impl<'s> Ahead<'s> {
    pub(super) fn new(space: &'s Space<Mapped>, noted: &'s DirtyPages, most: u64) -> Self {
        let (taken, slowed) = (Bits::default(), Duration::ZERO);
        Self { space, noted, most, taken, pace: None, slowed }
    }

    /// How many pages are noted.
    pub(super) fn left(&self) -> u64 {
        self.noted.count(self.space.media().len())
    }

    /// Notes again all pages whose notes were taken, because the round has failed.
    pub(super) fn put_back(&self) {
        self.noted.put_back(self.taken.iter());
    }

    /// Takes the notes while no thread stores. The hold, or the close, has waited for all threads that stored, and that
    /// wait serves as the barrier.
    pub(super) fn take_in_hold(&mut self) -> Vec<u32> {
        let taken = self.noted.take(self.space.media().len());
        let pages = taken.into_iter().map(|page| page as u32);
        pages.inspect(|&page| _ = self.taken.insert(page)).filter(|&page| page >= FIRST).collect()
    }

    /// Takes the notes. A page that is read from now on has all stores for which its note stood, or it is noted again.
    fn take(&mut self) -> Result<Vec<u32>> {
        let pages = self.take_in_hold();
        // Pairs with the light barrier in `DirtyPages::note`.
        match self.noted.barrier() {
            true => Ok(pages),
            false => Err(Error::Unsupported {
                what: "the kernel took membarrier(2) away after the pool was opened; allow it",
            }),
        }
    }

    /// Copies all pages, noted or not, in the order of the pool's file, which suits the read-ahead of the disk.
    pub(super) fn copy_all<F: DiskFile>(
        &mut self,
        round: &mut Round<'_, F>,
        compares: bool,
    ) -> Result<(), NoRound> {
        // The noted pages are copied with all others.
        self.take()?;
        let media = self.space.media();
        let all = pages_of(media.len())?;
        let file = media.file_on_disk();
        let mut ahead = ReadAhead::of(file.as_deref().map(|file| &**file));
        let goes_on = self.while_it_lasts();
        for from in (FIRST..all).step_by(SWEEP as usize).take_while(|_| goes_on()) {
            let end = all.min(from.saturating_add(SWEEP));
            let read = ahead.reach(u64::from(end) * DIRTY_GRAIN - 1);
            read.map_err(|error| Error::io("reading the pool for its checkpoint", error))?;
            copy(media, round, from..end, compares)?;
        }
        Ok(())
    }

    /// Copies the noted pages, until few are left, or their number no longer decreases.
    pub(super) fn copy_noted<F: DiskFile>(
        &mut self,
        round: &mut Round<'_, F>,
    ) -> Result<(), NoRound> {
        let mut left = self.left();
        while left > self.most {
            let pages = self.take()?;
            self.copy_taken(round, pages)?;
            let before = std::mem::replace(&mut left, self.left());
            let has_helped = match self.pace {
                None => left <= before / 2,
                Some(_) => left <= before - before / 8,
            };
            if !has_helped && !self.slow_down() {
                break;
            }
        }
        Ok(())
    }

    /// Makes the next pass keep writers out for more of the time. Returns `false` if that is not possible.
    pub(super) fn slow_down(&mut self) -> bool {
        let next = self.pace.map_or(0, |pace| pace + 1);
        let can = next < IN.len();
        if can {
            self.pace = Some(next);
        }
        can
    }

    /// Copies pages whose notes were taken.
    pub(super) fn copy_taken<F: DiskFile>(
        &mut self,
        round: &mut Round<'_, F>,
        pages: Vec<u32>,
    ) -> Result<(), NoRound> {
        let media = self.space.media();
        let Some(pace) = self.pace else {
            let goes_on = self.while_it_lasts();
            return copy(media, round, pages.into_iter().take_while(|_| goes_on()), false);
        };
        let mut pages = pages.into_iter().peekable();
        while pages.peek().is_some() {
            let slowed = self.space.slow_down()?;
            self.copy_for_a_while(round, &mut pages)?;
            drop(slowed);
            std::thread::sleep(IN[pace]);
        }
        Ok(())
    }

    /// Whether the pool is still open, if it was open before. A round that stops because of a close fails at its hold.
    fn while_it_lasts(&self) -> impl Fn() -> bool + use<'s> {
        let (space, was_closed) = (self.space, self.space.is_closed());
        move || was_closed || !space.is_closed()
    }

    /// Copies as many of these pages as there is time for while writers are kept out.
    fn copy_for_a_while<F: DiskFile>(
        &mut self,
        round: &mut Round<'_, F>,
        pages: &mut Peekable<IntoIter<u32>>,
    ) -> Result<(), NoRound> {
        let begun = Instant::now();
        let in_time = || pages.next_if(|_| begun.elapsed() < OUT);
        let done = copy(self.space.media(), round, std::iter::from_fn(in_time), false);
        self.slowed += begun.elapsed();
        done
    }

    /// K3: tries to hold the writers. Returns the hold, if it succeeded, and when the attempt began. If writers are
    /// slowed down, the noted pages are copied first, and no writer begins an operation between the copying and the
    /// hold.
    pub(super) fn hold<F: DiskFile>(
        &mut self,
        round: &mut Round<'_, F>,
    ) -> Result<(Option<Hold<'s, Mapped>>, Instant), NoRound> {
        if self.pace.is_none() {
            let begun = Instant::now();
            return Ok((self.space.hold(PATIENCE[0])?, begun));
        }
        let slowed = self.space.slow_down()?;
        let mut pages = self.take()?.into_iter().peekable();
        self.copy_for_a_while(round, &mut pages)?;
        // The rest is left for the hold.
        self.noted.put_back(pages);
        let begun = Instant::now();
        Ok((slowed.hold(PATIENCE[1])?, begun))
    }

    /// Lets the writers work after a hold that has failed: for `pause`, or less if they are slowed down.
    pub(super) fn pause(&self, pause: Duration) {
        std::thread::sleep(self.pace.map_or(pause, |pace| pause.min(IN[pace])));
    }
}

/// Copies pages into the file. With `compares`, leaves out the pages that the file has already.
pub(super) fn copy<F: DiskFile>(
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

pub(super) fn read_page(media: &Mapped, page: u32, out: &mut [u8]) -> Result<()> {
    Region::new(media, u64::from(page) * DIRTY_GRAIN, SLOT / 8)?.read(0, out);
    Ok(())
}

pub(super) fn pages_of(bytes: u64) -> Result<u32, Failure> {
    u32::try_from(bytes / DIRTY_GRAIN).map_err(|_| Failure::TooLarge)
}
