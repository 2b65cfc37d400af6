//! Where the pages of a checkpoint lie.

use xxhash_rust::xxh3::xxh3_64;

use crate::pool::checkpoint::root::{ROOTS, Run, SLOT};

/// Bytes of an entry: page, slot (4 bytes each), hash of the page (8 bytes).
const ENTRY: usize = 16;

/// Where a page lies. Slot 0 stands for a page of zeros, which lies nowhere.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) slot: u32,
    pub(crate) hash: u64,
}

/// An entry of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) page: u32,
    pub(crate) place: Place,
}

/// The hash that an entry has of its page.
pub(crate) fn hash_of(page: &[u8]) -> u64 {
    xxh3_64(page)
}

/// Slots of a run of so many entries.
pub(crate) fn slots_of(entries: u32) -> u32 {
    entries.div_ceil((SLOT / ENTRY) as u32)
}

/// A run as it is written, in whole slots, and its hash.
pub(crate) fn encode(entries: &[Entry]) -> (Vec<u8>, u64) {
    let mut bytes = Vec::with_capacity(slots_of(entries.len() as u32) as usize * SLOT);
    for entry in entries {
        bytes.extend(entry.page.to_le_bytes());
        bytes.extend(entry.place.slot.to_le_bytes());
        bytes.extend(entry.place.hash.to_le_bytes());
    }
    let hash = xxh3_64(&bytes);
    bytes.resize(bytes.len().next_multiple_of(SLOT), 0);
    (bytes, hash)
}

/// The entries of a run that was read; none if they are not those that were written.
pub(crate) fn decode(run: Run, bytes: &[u8]) -> Option<Vec<Entry>> {
    let bytes = bytes.get(..run.entries as usize * ENTRY)?;
    let four = |entry: &[u8], at: usize| u32::from_le_bytes(std::array::from_fn(|i| entry[at + i]));
    let entry = |entry: &[u8]| Entry {
        page: four(entry, 0),
        place: Place {
            slot: four(entry, 4),
            hash: u64::from(four(entry, 8)) | u64::from(four(entry, 12)) << 32,
        },
    };
    (xxh3_64(bytes) == run.hash).then(|| bytes.chunks_exact(ENTRY).map(entry).collect())
}

/// Of each page, where it lies.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    places: Vec<Place>,
}

impl Table {
    /// All pages are zeros. `None` if there is no memory for so many.
    pub(crate) fn of(pages: u32) -> Option<Self> {
        let mut places = Vec::new();
        places.try_reserve_exact(pages as usize).ok()?;
        places.resize(pages as usize, Place::default());
        Some(Self { places })
    }

    /// Pages.
    pub(crate) fn len(&self) -> u32 {
        self.places.len() as u32
    }

    /// Where a page lies; zeros if there is no such page.
    pub(crate) fn get(&self, page: u32) -> Place {
        self.places.get(page as usize).copied().unwrap_or_default()
    }

    /// Says where a page lies from now on, and gives where it lay.
    pub(crate) fn set(&mut self, page: u32, place: Place) -> Place {
        let page = page as usize;
        self.places.resize(self.places.len().max(page + 1), Place::default());
        std::mem::replace(&mut self.places[page], place)
    }

    /// Has this number of pages from now on; gives where those lay that it has no more.
    pub(crate) fn resize(&mut self, pages: u32) -> Vec<Place> {
        let gone = self.places.split_off(self.places.len().min(pages as usize));
        self.places.resize(pages as usize, Place::default());
        gone
    }

    /// All pages that are not zeros.
    pub(crate) fn entries(&self) -> Vec<Entry> {
        let all = self.places.iter().enumerate();
        let entry = |(page, &place): (usize, &Place)| Entry { page: page as u32, place };
        all.map(entry).filter(|entry| entry.place.slot != 0).collect()
    }
}

/// Whether a slot can hold a page: it is none of the roots.
pub(crate) fn can_hold_a_page(slot: u32) -> bool {
    slot >= ROOTS
}
