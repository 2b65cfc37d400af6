//! Writing the next checkpoint into a file.

use std::io;
use std::ops::Range;

use crate::checkpoint::file::bits::Bits;
use crate::checkpoint::file::failure::Failure;
use crate::checkpoint::file::newest::{CheckpointFile, most_entries};
use crate::checkpoint::file::root::{MOST_RUNS, Moment, ROOTS, Root, Run, SLOT, at};
use crate::checkpoint::file::runs::{self, slots_of};
use crate::checkpoint::file::table::{PageEntry, PagePlace, hash_of, is_zeros};
use crate::os::door::DiskFile;

/// The least number of slots by which the file grows.
const GROWTH: u32 = 64;

/// Where a page lay before the round: a [`PageEntry`] in 16 bytes.
#[derive(Debug)]
struct Before {
    page: u32,
    slot: u32,
    hash: u64,
}

const _: () = assert!(size_of::<Before>() == 16);

/// The next checkpoint, while its pages are written. The slots of the newest checkpoint are not touched before
/// [`commit`](Self::commit). A round that is dropped, or whose `commit` fails, changes nothing.
///
/// In memory it takes 16 to 40 bytes for each page that was added, and a bit for each page of the pool.
#[derive(Debug)]
pub struct Round<'f, F: DiskFile> {
    /// The file. Its table already has the pages that were added.
    file: &'f mut CheckpointFile<F>,
    /// Pages whose places this round has changed. Their slots are new, and belong to no root.
    changed: Bits,
    /// Where the changed pages lay before the round. Each page is listed once.
    before: Vec<Before>,
    /// Slots that are taken for the run. They belong to no root.
    run: Range<u32>,
    /// Bytes that were written.
    written: u64,
}

impl<F: DiskFile> CheckpointFile<F> {
    /// Begins the next checkpoint. A round that is dropped without [`commit`](Round::commit) is undone.
    ///
    /// The first round of a handle makes the newest checkpoint durable first, with one write of 4 KiB and a sync. In
    /// later rounds this does nothing.
    ///
    /// # Errors
    ///
    /// [`Failure::Io`] if the write fails; the newest checkpoint is unchanged. [`Failure::GivenUp`] if the sync fails,
    /// or the file was given up before: no further round can begin, but the newest checkpoint can still be read.
    pub fn begin(&mut self) -> Result<Round<'_, F>, Failure> {
        if self.is_given_up {
            return Err(Failure::GivenUp(io::Error::other("an earlier round failed at its end")));
        }
        self.secure_newest()?;
        let (changed, before) = (Bits::default(), Vec::new());
        Ok(Round { file: self, changed, before, run: 0..0, written: 0 })
    }

    /// Makes the newest root durable, if another process may have left it in the page cache only. This happens before
    /// any slot is written that the other root may name. The newest root is dropped from the page cache and written
    /// again, because after a failed sync the kernel considers it written. Each sector of its slot has the bytes of
    /// this root already, or those of an older one: a power loss leaves this root, or the other one, whole.
    fn secure_newest(&mut self) -> Result<(), Failure> {
        if let Some(root) = self.root.as_ref().filter(|_| !self.is_durable) {
            self.file.forget(at(root.slot()), SLOT as u64);
            self.file.write_at(&root.encode(), at(root.slot()))?;
            if let Err(error) = self.file.sync() {
                self.is_given_up = true;
                return Err(Failure::GivenUp(error));
            }
        }
        self.is_durable = true;
        Ok(())
    }

    /// Makes the file at least `end` slots long, and long enough for both roots. Otherwise a power loss could leave a
    /// part of the first root in a file that is too short for it.
    fn make_room(&mut self, end: u32) -> Result<(), Failure> {
        let end = end.max(ROOTS);
        if end > self.room {
            let end = end.checked_next_multiple_of(GROWTH).ok_or(Failure::TooLarge)?;
            self.file.allocate(at(self.room), at(end))?;
            self.room = end;
        }
        Ok(())
    }
}

impl<F: DiskFile> Round<'_, F> {
    /// K1: makes sure that the file has space for `pages` more pages, and for the run that will name them. Then
    /// [`add`](Self::add) of as many pages, in any number of calls, does not make the file grow, and neither does
    /// [`commit`](Self::commit). A page that is added again counts again, and so does a page of zeros.
    ///
    /// It may be called at any time in a round, and changes nothing but the length of the file. Takes a step for each
    /// 64 slots of the file, and one `fallocate` if the file must grow. Nothing is synced.
    ///
    /// # Errors
    ///
    /// [`Failure::Io`] if there is no space, [`Failure::TooLarge`]. The round can continue as if this had not been
    /// called.
    pub fn reserve(&mut self, pages: u32) -> Result<(), Failure> {
        // The run may have to name all pages.
        let named = self.changed.count().max(self.file.table.count().into()) + u64::from(pages);
        let length = slots_of(named.min(self.file.most_pages.into()) as u32);
        let old = self.run.clone();
        let done = self.reserve_run(length).and_then(|()| {
            let end = self.file.slots.room_for(pages).ok_or(Failure::TooLarge)?;
            self.file.make_room(end.max(self.run.end))
        });
        if done.is_err() {
            self.free_run();
            old.clone().for_each(|slot| _ = self.file.slots.claim(slot));
            self.run = old;
        }
        done
    }

    fn reserve_run(&mut self, length: u32) -> Result<(), Failure> {
        if self.run.end - self.run.start < length {
            self.free_run();
            self.run = self.file.slots.take_run(length).ok_or(Failure::TooLarge)?;
        }
        Ok(())
    }

    /// K2, K5: writes pages into free slots. `pages` are their numbers, ascending, and `bytes` has their contents, one
    /// after the other. A page may be added again in a later call, and then the later call counts.
    ///
    /// Hashes each page, and writes neighbours together. A call looks at each free gap of the file, so a few calls with
    /// many pages are better than many calls with few. Nothing is synced, and no page counts before the round is
    /// committed.
    ///
    /// # Errors
    ///
    /// [`Failure::Io`] if a write fails, or the file has to grow and cannot; [`Failure::TooLarge`] if a page lies
    /// beyond the last one that the file may have. The round then has what it had before the call, and can continue.
    ///
    /// # Panics
    ///
    /// If `bytes` does not have 4 KiB for each page.
    pub fn add(&mut self, pages: &[u32], bytes: &[u8]) -> Result<(), Failure> {
        assert_eq!(pages.len() * SLOT, bytes.len(), "the bytes of these pages");
        debug_assert!(pages.is_sorted_by(|a, b| a < b), "pages in order, each once");
        if pages.iter().any(|&page| page >= self.file.most_pages) {
            return Err(Failure::TooLarge);
        }
        let page = |i: usize| &bytes[i * SLOT..(i + 1) * SLOT];
        let filled: Vec<usize> = (0..pages.len()).filter(|&i| !is_zeros(page(i))).collect();
        let CheckpointFile { slots, room, .. } = &mut *self.file;
        let slots = slots.take(filled.len() as u32, *room).ok_or(Failure::TooLarge)?;
        let written = self
            .file
            .make_room(slots.last().map_or(0, |slot| slot + 1))
            .and_then(|()| Ok(self.write_pages(&slots, &filled, bytes)?));
        if written.is_err() {
            slots.iter().for_each(|&slot| self.file.slots.free(slot));
            return written;
        }
        self.written += (slots.len() * SLOT) as u64;
        let mut filled = filled.iter().zip(slots).peekable();
        for (i, &number) in pages.iter().enumerate() {
            let slot = filled.next_if(|&(&at, _)| at == i).map(|(_, slot)| slot);
            let place = slot.map(|slot| PagePlace { slot, hash: hash_of(page(i)) });
            self.replace(number, place.unwrap_or_default());
        }
        Ok(())
    }

    /// Whether the checkpoint would have this page with these bytes if the round ended now. See
    /// [`CheckpointFile::has`].
    pub fn has(&self, page: u32, bytes: &[u8; SLOT]) -> bool {
        self.file.has(page, bytes)
    }

    /// The rest of K5, then K6 and K7: writes the run, syncs, writes the root, syncs. `moment` says how many pages the
    /// pool has. Pages beyond them are no longer in the checkpoint, even if they were added in this round. Returns the
    /// bytes that were written in the whole round. On return the checkpoint is durable, and the newest.
    ///
    /// O(pages that were added); each 200th time, and when the pool became shorter, O(pages of the pool).
    ///
    /// # Errors
    ///
    /// The newest checkpoint stays what it was. [`Failure::Io`] if there is no space for the run or its write fails,
    /// and [`Failure::TooLarge`] if the pool has more pages than the file may have: another round can be tried.
    /// [`Failure::GivenUp`] if a sync or the write of the root fails: the next process may find the old or the new
    /// checkpoint.
    pub fn commit(self, moment: Moment) -> Result<u64, Failure> {
        self.commit_unless(moment, || false)
    }

    /// Does what [`commit`](Self::commit) does, and calls `is_wrong` once everything but the root is written. If
    /// `is_wrong` returns `true`, the root is not written, and no root names the pages.
    ///
    /// # Errors
    ///
    /// As for [`commit`](Self::commit); [`Failure::Io`] if `is_wrong` returned `true`.
    pub(crate) fn commit_unless(
        mut self,
        moment: Moment,
        is_wrong: impl FnOnce() -> bool,
    ) -> Result<u64, Failure> {
        if moment.pages > self.file.most_pages {
            return Err(Failure::TooLarge);
        }
        let done = self.finish(moment, is_wrong);
        self.file.is_given_up |= matches!(done, Err(Failure::GivenUp(_)));
        done.map(|()| self.written)
    }

    fn finish(&mut self, moment: Moment, is_wrong: impl FnOnce() -> bool) -> Result<(), Failure> {
        let behind = self.file.table.entries_from(moment.pages).map(|entry| entry.page);
        for page in behind.collect::<Vec<_>>() {
            self.replace(page, PagePlace::default());
        }
        // K5
        let (root, replaced) = self.write_run(moment)?;
        let CheckpointFile { file, slots, .. } = &mut *self.file;
        file.sync().map_err(Failure::GivenUp)?;
        if is_wrong() {
            return Err(Failure::Io(io::Error::other("what it would hold is in doubt")));
        }
        // K6. A write that fails may have reached the disk all the same, so what that root names must then stay as it
        // is.
        file.write_at(&root.encode(), at(root.slot())).map_err(Failure::GivenUp)?;
        file.sync().map_err(Failure::GivenUp)?;
        // K7
        std::mem::take(&mut self.before).iter().for_each(|before| slots.free(before.slot));
        for run in replaced {
            (run.slot..run.slot + slots_of(run.entries)).for_each(|slot| slots.free(slot));
        }
        self.run = 0..0;
        self.file.root = Some(root);
        self.written += SLOT as u64;
        Ok(())
    }

    /// Writes one more run, which says where the changed pages lie, or a run of all pages. Returns the root that names
    /// it, and the runs that the new run replaces.
    fn write_run(&mut self, moment: Moment) -> Result<(Root, Vec<Run>), Failure> {
        self.free_run();
        let old = self.file.root.as_ref();
        let previous = old.map_or(0, |root| root.sequence);
        let sequence = old.map_or(self.file.follows, |root| root.sequence) + 1;
        // The older runs may name pages that the pool no longer has, and may have again later.
        let shrinks = old.is_some_and(|root| moment.pages < root.moment.pages);
        let mut runs = old.map_or_else(Vec::new, |root| root.runs.clone());
        let named = runs.iter().map(|run| u64::from(run.entries)).sum::<u64>();
        let changed = self.changed_below(moment.pages).count() as u32;
        let is_full = shrinks
            || runs.len() == MOST_RUNS
            || named + u64::from(changed) > most_entries(moment.pages);
        let (entries, replaced) = match is_full {
            true => (self.file.table.count(), std::mem::take(&mut runs)),
            false => (changed, Vec::new()),
        };
        let length = slots_of(entries);
        if entries > 0 {
            self.run = self.file.slots.take_run(length).ok_or(Failure::TooLarge)?;
        }
        self.file.make_room(self.run.end)?;
        if entries > 0 {
            let (slot, CheckpointFile { file, table, .. }) = (self.run.start, &*self.file);
            let hash = match is_full {
                true => runs::write(file, slot, table.entries())?,
                false => runs::write(file, slot, self.changed_below(moment.pages))?,
            };
            runs.push(Run { slot, entries, hash });
            self.written += u64::from(length) * SLOT as u64;
        }
        Ok((Root { moment, sequence, previous, runs }, replaced))
    }

    /// The pages below `pages` that this round has changed, ascending.
    fn changed_below(&self, pages: u32) -> impl Iterator<Item = PageEntry> {
        let changed = self.changed.iter().take_while(move |&page| page < pages);
        changed.map(|page| PageEntry { page, place: self.file.table.get(page) })
    }

    /// Writes the pages that are not zeros, neighbours together.
    fn write_pages(&self, slots: &[u32], filled: &[usize], bytes: &[u8]) -> io::Result<()> {
        let mut from = 0;
        while from < slots.len() {
            let is_next =
                |&i: &usize| slots[i] == slots[i - 1] + 1 && filled[i] == filled[i - 1] + 1;
            let end =
                (from + 1..slots.len()).take_while(is_next).last().map_or(from + 1, |i| i + 1);
            let bytes = &bytes[filled[from] * SLOT..(filled[end - 1] + 1) * SLOT];
            self.file.file.write_at(bytes, at(slots[from]))?;
            from = end;
        }
        Ok(())
    }

    /// Changes where a page lies. If an earlier call of this round had moved the page, the slot from that call is free
    /// at once, because no root names it.
    fn replace(&mut self, page: u32, place: PagePlace) {
        let PagePlace { slot, hash } = self.file.table.set(page, place);
        match self.changed.insert(page) {
            true => {
                // The list grows by half of its length. While the old list is copied, both together take 40 bytes for
                // each page.
                if self.before.len() == self.before.capacity() {
                    self.before.reserve_exact((self.before.len() / 2).max(64));
                }
                self.before.push(Before { page, slot, hash });
            }
            false => self.file.slots.free(slot),
        }
    }

    fn free_run(&mut self) {
        std::mem::take(&mut self.run).for_each(|slot| self.file.slots.free(slot));
    }
}

impl<F: DiskFile> Drop for Round<'_, F> {
    /// Restores everything in memory to what it was before the round. After a commit nothing is left to do.
    fn drop(&mut self) {
        self.free_run();
        for Before { page, slot, hash } in std::mem::take(&mut self.before) {
            let new = self.file.table.set(page, PagePlace { slot, hash });
            self.file.slots.free(new.slot);
        }
    }
}
