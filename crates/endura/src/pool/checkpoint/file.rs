//! One file of checkpoints: reading it, and writing the next one into it.

use std::io;

use crate::os::door::DiskFile;
use crate::pool::checkpoint::root::{MOST_RUNS, Moment, NoRoot, ROOTS, Root, Run, SLOT};
use crate::pool::checkpoint::slots::Slots;
use crate::pool::checkpoint::table::{
    Entry, Place, Table, can_hold_a_page, decode, encode, hash_of, slots_of,
};

/// Slots of a gap that is worth writing to, but for the last ones.
const LEAST_GAP: u32 = 16;
/// Slots of the file for each one in use, from which on every gap is.
const MOST_SPARSE: u64 = 2;

/// Why a file of checkpoints cannot be read or written.
#[derive(Debug)]
pub enum Failure {
    /// The system says so.
    Io(io::Error),
    /// It was written by another version of this program, with this number.
    Version(u32),
    /// What it says was never written.
    Damaged(&'static str),
    /// The pool has more pages than a file can name.
    TooLarge,
    /// It is not known what is durable: another file has to be made.
    GivenUp(io::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// A file of checkpoints, of which the newest is known. It belongs to one thread.
#[derive(Debug)]
pub struct CheckpointFile<F> {
    file: F,
    /// The newest checkpoint, if there is one.
    root: Option<Root>,
    /// The slot that the next root is written to.
    next: u32,
    table: Table,
    slots: Slots,
    /// Slots that the file has room for.
    room: u32,
    /// Whether the newest root was synced through this handle. One that was only read may be in the page cache alone: its
    /// process was killed before the sync, or the sync failed.
    is_durable: bool,
    /// It is not known what is durable.
    is_given_up: bool,
}

/// What a round has changed in DRAM, to be taken back if it fails.
#[derive(Default)]
struct Changes {
    /// What the table had before.
    before: Vec<Entry>,
    pages: u32,
    /// Slots that were free.
    taken: Vec<u32>,
    /// Slots that are free when the round is done.
    freed: Vec<u32>,
}

impl<F: DiskFile> CheckpointFile<F> {
    /// Reads the newest root of a file, and all of its runs. A file that has none holds no checkpoint yet. O(pages of the
    /// pool).
    ///
    /// # Errors
    ///
    /// [`Failure::Damaged`] if what the root says was not written so, [`Failure::Version`], [`Failure::Io`].
    pub fn open(file: F) -> Result<Self, Failure> {
        Self::open_within(file, u32::MAX)
    }

    /// As [`open`](Self::open), for a pool that cannot have more than `most` pages: so much memory a file can make it take,
    /// whoever wrote it.
    ///
    /// # Errors
    ///
    /// As there, and [`Failure::TooLarge`].
    pub fn open_within(file: F, most: u32) -> Result<Self, Failure> {
        let mut found = Self::without(file);
        let length = found.file.length()?;
        found.room = u32::try_from(length / SLOT as u64).map_err(|_| Failure::TooLarge)?;
        let mut slots = [Err(NoRoot::Empty), Err(NoRoot::Empty)];
        if found.room >= ROOTS {
            for (slot, root) in slots.iter_mut().enumerate() {
                let mut bytes = [0; SLOT];
                found.file.read_at(&mut bytes, (slot * SLOT) as u64)?;
                *root = Root::decode(&bytes);
            }
        } else {
            // An allocation that failed may leave so few bytes, but a root does not.
            let mut bytes = vec![0; length as usize];
            found.file.read_at(&mut bytes, 0)?;
            if bytes.iter().any(|&byte| byte != 0) {
                return Err(Failure::Damaged("a file of checkpoints that was cut"));
            }
        }
        for (i, slot) in slots.iter().enumerate() {
            match slot {
                Err(NoRoot::Version(version)) => return Err(Failure::Version(*version)),
                Err(NoRoot::Wrong) => return Err(Failure::Damaged("a root of a checkpoint")),
                // The first root is written to slot 1, and the others by turns.
                Ok(root) if root.sequence % 2 != i as u64 => {
                    return Err(Failure::Damaged("a root of a checkpoint in the place of another"));
                }
                _ => {}
            }
        }
        // Slot 0 is not written before slot 1 has a root, which stays whole.
        if slots[0] == Err(NoRoot::Torn) && slots[1].is_err() {
            return Err(Failure::Damaged("both roots of a checkpoint"));
        }
        let sequence = |slot: usize| slots[slot].as_ref().map_or(0, |root| root.sequence);
        let newest = usize::from(sequence(1) > sequence(0));
        found.next = 1 - newest as u32;
        if let Ok(root) = &slots[newest] {
            if root.moment.pages > most {
                return Err(Failure::TooLarge);
            }
            found.read_runs(root)?;
            found.root = Some(root.clone());
        }
        Ok(found)
    }

    fn without(file: F) -> Self {
        let (root, next) = (None, 0);
        let (table, slots) = (Table::default(), Slots::new());
        let (is_durable, is_given_up) = (false, false);
        Self { file, root, next, table, slots, room: 0, is_durable, is_given_up }
    }

    fn read_runs(&mut self, root: &Root) -> Result<(), Failure> {
        let damaged = Failure::Damaged;
        let slots = u64::from(self.room);
        let named = root.runs.iter().map(|run| u64::from(run.entries)).sum::<u64>();
        if named > most_entries(root.moment.pages) {
            return Err(damaged("more entries of a checkpoint than its pool has pages"));
        }
        self.table = Table::of(root.moment.pages).ok_or(Failure::TooLarge)?;
        for &run in &root.runs {
            let count = slots_of(run.entries);
            let end = u64::from(run.slot) + u64::from(count);
            if !can_hold_a_page(run.slot) || end > slots {
                return Err(damaged("a run of a checkpoint that lies nowhere"));
            }
            if !(run.slot..run.slot + count).all(|slot| self.slots.claim(slot)) {
                return Err(damaged("two runs of a checkpoint in one place"));
            }
            let mut bytes = vec![0; count as usize * SLOT];
            self.file.read_at(&mut bytes, at(run.slot))?;
            let entries = decode(run, &bytes).ok_or(damaged("a run of a checkpoint"))?;
            for entry in entries {
                if entry.page >= root.moment.pages {
                    return Err(damaged("a page of a checkpoint that the pool does not have"));
                }
                self.table.set(entry.page, entry.place);
            }
        }
        for entry in self.table.entries() {
            let slot = entry.place.slot;
            if !can_hold_a_page(slot) || u64::from(slot) >= slots || !self.slots.claim(slot) {
                return Err(damaged("a page of a checkpoint that lies nowhere"));
            }
        }
        Ok(())
    }

    /// The newest checkpoint: of what it is, and which one.
    pub fn newest(&self) -> Option<(Moment, u64)> {
        self.root.as_ref().map(|root| (root.moment, root.sequence))
    }

    /// Bytes of the file that the newest checkpoint takes.
    pub fn bytes(&self) -> u64 {
        self.slots.in_use() * SLOT as u64
    }

    /// Reads a page of the newest checkpoint.
    ///
    /// # Errors
    ///
    /// [`Failure::Damaged`] if it is not what was written, [`Failure::Io`].
    pub fn read(&self, page: u32, bytes: &mut [u8; SLOT]) -> Result<(), Failure> {
        let place = self.table.get(page);
        if place.slot == 0 {
            bytes.fill(0);
            return Ok(());
        }
        self.file.read_at(bytes, at(place.slot))?;
        match hash_of(bytes) == place.hash {
            true => Ok(()),
            false => Err(Failure::Damaged("a page of a checkpoint")),
        }
    }

    /// Whether the newest checkpoint has a page with these bytes.
    pub fn has(&self, page: u32, bytes: &[u8; SLOT]) -> bool {
        let place = self.table.get(page);
        match place.slot {
            0 => bytes.iter().all(|&byte| byte == 0),
            _ => place.hash == hash_of(bytes),
        }
    }

    /// Makes the next checkpoint: `pages` are the numbers of the pages that have changed since the last one, each once,
    /// and `bytes` what is in them, one after the other. Durable on return; the bytes that were written.
    ///
    /// After an error the newest checkpoint is what it was, and the round can be tried again, unless the file is
    /// [given up](Failure::GivenUp).
    ///
    /// # Errors
    ///
    /// [`Failure::Io`] where there is no room, or a write fails; [`Failure::TooLarge`]; [`Failure::GivenUp`] if a sync fails.
    pub fn write(&mut self, moment: Moment, pages: &[u32], bytes: &[u8]) -> Result<u64, Failure> {
        debug_assert_eq!(pages.len() * SLOT, bytes.len());
        // Such an entry would make the file one that is refused.
        assert!(
            pages.iter().all(|&page| page < moment.pages),
            "a page that the pool does not have"
        );
        if self.is_given_up {
            return Err(Failure::GivenUp(io::Error::other("an earlier round failed at its end")));
        }
        self.secure_newest()?;
        let mut changes = Changes { pages: self.table.len(), ..Changes::default() };
        let written = self.write_round(moment, (pages, bytes), &mut changes);
        match &written {
            Ok(_) => changes.freed.iter().for_each(|&slot| self.slots.free(slot)),
            Err(failure) => {
                self.is_given_up = matches!(failure, Failure::GivenUp(_));
                self.take_back(&changes);
            }
        }
        written
    }

    /// Before slots are written that the other root may name: makes the newest root durable if another process may have left
    /// it in the page cache. It is written again, because after a sync that failed the kernel takes it for written. Each of
    /// its sectors has these bytes already, or those of an older root: a power loss finds this root, or the other one whole.
    fn secure_newest(&mut self) -> Result<(), Failure> {
        if let Some(root) = self.root.as_ref().filter(|_| !self.is_durable) {
            self.file.write_at(&root.encode(), at(1 - self.next))?;
            if let Err(error) = self.file.sync() {
                self.is_given_up = true;
                return Err(Failure::GivenUp(error));
            }
        }
        self.is_durable = true;
        Ok(())
    }

    fn write_round(
        &mut self,
        moment: Moment,
        (pages, bytes): (&[u32], &[u8]),
        changes: &mut Changes,
    ) -> Result<u64, Failure> {
        let shrinks = moment.pages < self.table.len();
        let is_zero = |page: &&[u8]| page.iter().all(|&byte| byte == 0);
        let count = bytes.chunks_exact(SLOT).filter(|page| !is_zero(page)).count();
        // K1
        // Pages that stay for long may leave gaps everywhere that are all too short: then any will do.
        let is_sparse = u64::from(self.slots.end()) > MOST_SPARSE * self.slots.in_use();
        let least = if is_sparse { 1 } else { LEAST_GAP };
        let slots = u32::try_from(count).ok().and_then(|count| self.slots.take(count, least));
        let slots = slots.ok_or(Failure::TooLarge)?;
        changes.taken.extend(&slots);
        let gone = self.table.resize(moment.pages);
        let kept = moment.pages.min(changes.pages);
        changes.before.extend(gone.iter().enumerate().map(|(i, &place)| {
            changes.freed.push(place.slot);
            Entry { page: kept + i as u32, place }
        }));
        let (mut free, mut entries) = (slots.iter(), Vec::with_capacity(pages.len()));
        for (&page, bytes) in pages.iter().zip(bytes.chunks_exact(SLOT)) {
            let place = match free.as_slice().first().filter(|_| !is_zero(&bytes)) {
                Some(&slot) => {
                    free.next();
                    Place { slot, hash: hash_of(bytes) }
                }
                None => Place::default(),
            };
            let old = self.table.set(page, place);
            changes.before.push(Entry { page, place: old });
            changes.freed.push(old.slot);
            entries.push(Entry { page, place });
        }
        let (root, run_bytes) = self.next_root(moment, entries, shrinks, changes)?;
        let end = self.slots.end();
        if end > self.room {
            self.file.allocate(at(self.room), at(end))?;
            self.room = end;
        }
        // K5
        self.write_pages(&slots, bytes)?;
        if let (Some(run), false) = (root.runs.last(), run_bytes.is_empty()) {
            self.file.write_at(&run_bytes, at(run.slot))?;
        }
        self.file.sync().map_err(Failure::GivenUp)?;
        // K6. A write that fails may have written all the same, and what that root names must then stay as it is.
        self.file.write_at(&root.encode(), at(self.next)).map_err(Failure::GivenUp)?;
        self.file.sync().map_err(Failure::GivenUp)?;
        self.next = 1 - self.next;
        self.root = Some(root);
        changes.freed.retain(|&slot| can_hold_a_page(slot));
        Ok((count * SLOT + run_bytes.len() + SLOT) as u64)
    }

    /// The root with one more run, which says where the changed pages lie: or with one of all pages.
    fn next_root(
        &mut self,
        moment: Moment,
        entries: Vec<Entry>,
        shrinks: bool,
        changes: &mut Changes,
    ) -> Result<(Root, Vec<u8>), Failure> {
        let (mut runs, sequence) = match &self.root {
            Some(root) => (root.runs.clone(), root.sequence + 1),
            None => (Vec::new(), 1),
        };
        let named = runs.iter().map(|run| u64::from(run.entries)).sum::<u64>();
        let most = most_entries(moment.pages);
        // The older runs may name pages that the pool has no more, and may have again.
        let is_full = shrinks || runs.len() == MOST_RUNS || named + entries.len() as u64 > most;
        let entries = if is_full { self.table.entries() } else { entries };
        if is_full {
            for run in runs.drain(..) {
                changes.freed.extend(run.slot..run.slot + slots_of(run.entries));
            }
        }
        let mut bytes = Vec::new();
        if !entries.is_empty() {
            let count = entries.len() as u32;
            let slots = self.slots.take_run(slots_of(count)).ok_or(Failure::TooLarge)?;
            changes.taken.extend(slots.clone());
            let (encoded, hash) = encode(&entries);
            bytes = encoded;
            runs.push(Run { slot: slots.start, entries: count, hash });
        }
        Ok((Root { moment, sequence, runs }, bytes))
    }

    /// Writes the pages that are not zeros, neighbours at once.
    fn write_pages(&self, slots: &[u32], bytes: &[u8]) -> io::Result<()> {
        let is_zero = |page: &&[u8]| page.iter().all(|&byte| byte == 0);
        let pages = bytes.chunks_exact(SLOT).filter(|page| !is_zero(page));
        let mut piece: (u32, Vec<u8>) = (0, Vec::new());
        for (&slot, page) in slots.iter().zip(pages) {
            let is_next = piece.0 as usize + piece.1.len() / SLOT == slot as usize;
            if !is_next || piece.1.len() >= PIECE {
                self.write_piece(&piece)?;
                piece = (slot, Vec::new());
            }
            piece.1.extend(page);
        }
        self.write_piece(&piece)
    }

    fn write_piece(&self, (slot, bytes): &(u32, Vec<u8>)) -> io::Result<()> {
        if bytes.is_empty() { Ok(()) } else { self.file.write_at(bytes, at(*slot)) }
    }

    /// Puts everything in DRAM back as it was before a round.
    fn take_back(&mut self, changes: &Changes) {
        // Newest first, and the length before what lies behind it.
        let _ = self.table.resize(self.table.len().max(changes.pages));
        for entry in changes.before.iter().rev() {
            self.table.set(entry.page, entry.place);
        }
        let _ = self.table.resize(changes.pages);
        changes.taken.iter().for_each(|&slot| self.slots.free(slot));
    }
}

/// Entries of all runs of a checkpoint of so many pages.
fn most_entries(pages: u32) -> u64 {
    u64::from(pages) + u64::from(slots_of(pages))
}

/// Bytes that are written at once.
const PIECE: usize = 1 << 20;

/// Where a slot lies in the file.
fn at(slot: u32) -> u64 {
    u64::from(slot) * SLOT as u64
}

#[cfg(test)]
mod tests;
