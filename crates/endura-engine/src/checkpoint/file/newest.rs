//! One file of checkpoints: opening it, and reading the newest checkpoint.

use std::collections::BTreeMap;

use crate::checkpoint::file::failure::Failure;
use crate::checkpoint::file::root::{Moment, NoRoot, ROOTS, Root, SLOT, at, can_hold_a_page};
use crate::checkpoint::file::runs::{self, slots_of};
use crate::checkpoint::file::slots::Slots;
use crate::checkpoint::file::table::{PageEntry, PagePlace, Table, hash_of, is_zeros};
use crate::os::door::DiskFile;

/// A file of checkpoints, of which the newest can be read. One thread at a time writes to it.
///
/// In memory it takes about 16 bytes for each page that is not zeros, and a bit for each slot of the file.
#[derive(Debug)]
pub struct CheckpointFile<F> {
    pub(super) file: F,
    /// The most pages that a pool with this checkpoint file can have.
    pub(super) most_pages: u32,
    /// The newest checkpoint, if there is one.
    pub(super) root: Option<Root>,
    pub(super) table: Table,
    pub(super) slots: Slots,
    /// Slots for which the file has space.
    pub(super) room: u32,
    /// The first root of the file gets the number after this one.
    pub(super) follows: u64,
    /// Whether the newest root was synced through this handle. A root that was only read may be in the page cache
    /// alone, if the process that wrote it was killed before the sync, or the sync failed.
    pub(super) is_durable: bool,
    /// Set after a failed sync, or a failed write of a root: it is not known what is durable, so no further round may
    /// begin.
    pub(super) is_given_up: bool,
}

impl<F: DiskFile> CheckpointFile<F> {
    /// Reads the newest root of a file, and all of its runs. A file without a root holds no checkpoint yet. Writes
    /// nothing.
    ///
    /// `most_pages` is the most pages of 4 KiB that a pool of this file can ever have, at its largest size. The memory
    /// that the open takes is also bounded by the length of the file, whatever the file contains.
    ///
    /// If one root is torn, there are two cases. A power loss may have ended the round that wrote it, and then the
    /// other root is the newest. Or the torn root was whole and has rotted, and then later rounds may have overwritten
    /// pages of the other root. So the other root is believed only after the hashes of all its pages were checked.
    ///
    /// O(pages of the pool); reads every page of the checkpoint if a root is torn.
    ///
    /// # Errors
    ///
    /// [`Failure::Damaged`] if the contents cannot have been written by a correct run; [`Failure::Version`];
    /// [`Failure::TooLarge`] if the pool has more than `most_pages` pages; [`Failure::Io`].
    pub fn open(file: F, most_pages: u32) -> Result<Self, Failure> {
        let length = file.length()?;
        let room = u32::try_from(length / SLOT as u64).map_err(|_| Failure::TooLarge)?;
        let newest = newest_of(read_roots(&file, length)?)?;
        // A bit for each slot takes memory. A file that consists almost only of holes must not make it large.
        if u64::from(room) / 8 > file.allocated()? {
            return Err(Failure::Damaged("a file of checkpoints that is almost empty"));
        }
        let mut found = Self {
            file,
            most_pages,
            root: None,
            table: Table::default(),
            slots: Slots::new(),
            room,
            follows: 0,
            is_durable: false,
            is_given_up: false,
        };
        if let Some((root, is_last)) = newest {
            found.read_runs(&root)?;
            found.root = Some(root);
            if !is_last {
                let mut bytes = [0; SLOT];
                found.pages().try_for_each(|page| found.read(page, &mut bytes))?;
            }
        }
        Ok(found)
    }

    /// Reads the runs, the newest first. So the first entry of a page counts, each slot that is found belongs to the
    /// checkpoint, and the table never takes more memory than the slots of the file.
    fn read_runs(&mut self, root: &Root) -> Result<(), Failure> {
        let damaged = |what| Err(Failure::Damaged(what));
        let (pages, room) = (root.moment.pages, self.room);
        if pages > self.most_pages {
            return Err(Failure::TooLarge);
        }
        let named = root.runs.iter().map(|run| u64::from(run.entries)).sum::<u64>();
        if named > most_entries(pages) {
            return damaged("more entries of a checkpoint than its pool has pages");
        }
        // The pages that were seen: one bit for each page, in words.
        let mut seen: BTreeMap<u64, u64> = BTreeMap::new();
        let (table, slots) = (&mut self.table, &mut self.slots);
        for &run in root.runs.iter().rev() {
            let end = u64::from(run.slot) + u64::from(slots_of(run.entries));
            if !can_hold_a_page(run.slot) || end > u64::from(room) {
                return damaged("a run of a checkpoint that lies nowhere");
            }
            if !(run.slot..end as u32).all(|slot| slots.claim(slot)) {
                return damaged("two runs of a checkpoint in one place");
            }
            runs::read(&self.file, run, |PageEntry { page, place }| {
                if page >= pages {
                    return damaged("a page of a checkpoint that the pool does not have");
                }
                let (word, bit) = (seen.entry(u64::from(page / 64)).or_default(), 1 << (page % 64));
                let is_seen = *word & bit != 0;
                *word |= bit;
                if is_seen || place.is_of_zeros() {
                    return Ok(());
                }
                if !can_hold_a_page(place.slot) || place.slot >= room || !slots.claim(place.slot) {
                    return damaged("a page of a checkpoint that lies nowhere");
                }
                table.set(page, place);
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Records that the pool has made `newest` checkpoints elsewhere. The first checkpoint of an empty file then gets
    /// the next number.
    pub(crate) fn follow(&mut self, newest: u64) {
        self.follows = newest;
    }

    /// The moment and the number of the newest checkpoint. O(1).
    ///
    /// A checkpoint that was found when the file was opened is durable only after a round was begun.
    pub fn newest(&self) -> Option<(Moment, u64)> {
        self.root.as_ref().map(|root| (root.moment, root.sequence))
    }

    /// Bytes of the file that the newest checkpoint takes, including both roots. The file may be longer. O(1).
    pub fn bytes(&self) -> u64 {
        self.slots.in_use() * SLOT as u64
    }

    /// The pages of the newest checkpoint that are not zeros, ascending. O(pages of the pool) for all.
    pub fn pages(&self) -> impl Iterator<Item = u32> {
        self.table.entries().map(|entry| entry.page)
    }

    /// Reads a page of the newest checkpoint, and checks its hash. A page that the checkpoint does not have is all
    /// zeros. One read of 4 KiB, or none for zeros.
    ///
    /// # Errors
    ///
    /// [`Failure::Damaged`] if the page is not what was written, [`Failure::Io`]. `bytes` may have changed then.
    pub fn read(&self, page: u32, bytes: &mut [u8; SLOT]) -> Result<(), Failure> {
        let place = self.table.get(page);
        if place.is_of_zeros() {
            bytes.fill(0);
            return Ok(());
        }
        self.file.read_at(bytes, at(place.slot))?;
        match hash_of(bytes) == place.hash {
            true => Ok(()),
            false => Err(Failure::Damaged("a page of a checkpoint")),
        }
    }

    /// Reads pages of the newest checkpoint, in the given order, as [`read`](Self::read) does. Pages whose slots are
    /// near each other are read together.
    ///
    /// # Errors
    ///
    /// As for [`read`](Self::read).
    pub(crate) fn read_pages(
        &self,
        pages: &[u32],
        bytes: &mut [[u8; SLOT]],
    ) -> Result<(), Failure> {
        let places: Vec<PagePlace> = pages.iter().map(|&page| self.table.get(page)).collect();
        let mut window = Vec::new();
        let mut rest = bytes;
        for near in places.chunk_by(are_near) {
            let (now, later) = rest.split_at_mut(near.len());
            rest = later;
            let first = near[0].slot;
            if near[0].is_of_zeros() {
                now.fill([0; SLOT]);
                continue;
            }
            window.resize((near[near.len() - 1].slot - first + 1) as usize, [0; SLOT]);
            self.file.read_at(window.as_flattened_mut(), at(first))?;
            for (place, bytes) in near.iter().zip(now) {
                let page = &window[(place.slot - first) as usize];
                if hash_of(page) != place.hash {
                    return Err(Failure::Damaged("a page of a checkpoint"));
                }
                bytes.copy_from_slice(page);
            }
        }
        Ok(())
    }

    /// Whether the newest checkpoint has a page with these bytes. Only the hashes, of 64 bits, are compared, and
    /// nothing is read.
    pub fn has(&self, page: u32, bytes: &[u8; SLOT]) -> bool {
        let place = self.table.get(page);
        match place.is_of_zeros() {
            true => is_zeros(bytes),
            false => place.hash == hash_of(bytes),
        }
    }
}

/// The moment and the number of the newest checkpoint of a file, by its roots alone. Only [`CheckpointFile::open`]
/// finds out whether all of the checkpoint can be read. O(1).
///
/// # Errors
///
/// As for [`CheckpointFile::open`].
pub(crate) fn newest_moment(file: &impl DiskFile) -> Result<Option<(Moment, u64)>, Failure> {
    let newest = newest_of(read_roots(file, file.length()?)?)?;
    Ok(newest.map(|(root, _)| (root.moment, root.sequence)))
}

/// The most entries in all runs of a checkpoint of `pages` pages.
pub(super) fn most_entries(pages: u32) -> u64 {
    u64::from(pages) + u64::from(slots_of(pages))
}

/// The distance in slots up to which two pages are read together, with what lies between them, rather than one by one.
const NEAR: u32 = 4;

/// Whether page `b` lies so shortly after page `a` that both are read together. Pages of zeros lie nowhere.
fn are_near(a: &PagePlace, b: &PagePlace) -> bool {
    match (a.is_of_zeros(), b.is_of_zeros()) {
        (true, true) => true,
        (false, false) => (a.slot + 1..=a.slot.saturating_add(NEAR)).contains(&b.slot),
        _ => false,
    }
}

type Roots = [Result<Root, NoRoot>; ROOTS as usize];

fn read_roots(file: &impl DiskFile, length: u64) -> Result<Roots, Failure> {
    let mut roots = [Err(NoRoot::Empty), Err(NoRoot::Empty)];
    if length >= at(ROOTS) {
        for (slot, root) in (0..).zip(&mut roots) {
            let mut bytes = [0; SLOT];
            file.read_at(&mut bytes, at(slot))?;
            *root = Root::decode(&bytes);
        }
    } else {
        // A failed allocation may leave a file this short, and then it is all zeros. A file with a root is longer.
        let mut bytes = vec![0; length as usize];
        file.read_at(&mut bytes, 0)?;
        if bytes.iter().any(|&byte| byte != 0) {
            return Err(Failure::Damaged("a file of checkpoints that was cut"));
        }
    }
    Ok(roots)
}

/// The newest root, and whether it is surely the last one that was written. `None` if no root was written.
fn newest_of(roots: Roots) -> Result<Option<(Root, bool)>, Failure> {
    for (slot, root) in (0..).zip(&roots) {
        match root {
            Err(NoRoot::Version(version)) => return Err(Failure::Version(*version)),
            Err(NoRoot::Wrong) => return Err(Failure::Damaged("a root of a checkpoint")),
            Ok(root) if root.slot() != slot => {
                return Err(Failure::Damaged("a root of a checkpoint in the place of another"));
            }
            _ => {}
        }
    }
    match roots {
        [Ok(a), Ok(b)] => {
            let (old, new) = if a.sequence < b.sequence { (a, b) } else { (b, a) };
            let is_last = old.sequence == new.previous;
            Ok(Some((new, is_last)))
        }
        // The other slot is empty until the second round.
        [Ok(root), Err(other)] | [Err(other), Ok(root)] => {
            let is_last = other == NoRoot::Empty && root.previous == 0;
            Ok(Some((root, is_last)))
        }
        // The second root is written only after the first one is durable, and the first one then stays whole.
        [Err(NoRoot::Torn), Err(NoRoot::Torn)] => {
            Err(Failure::Damaged("both roots of a checkpoint"))
        }
        [Err(_), Err(_)] => Ok(None),
    }
}
