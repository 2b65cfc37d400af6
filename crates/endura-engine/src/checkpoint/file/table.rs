//! Where the pages of a checkpoint lie.

use xxhash_rust::xxh3::xxh3_64;

use crate::checkpoint::file::root::SLOT;
use crate::numbered::Numbered;

/// Where a page lies. Slot 0 stands for a page of zeros, which has no slot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct PagePlace {
    pub(crate) slot: u32,
    pub(crate) hash: u64,
}

impl PagePlace {
    pub(crate) fn is_of_zeros(&self) -> bool {
        self.slot == 0
    }
}

/// A page, and where it lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PageEntry {
    pub(crate) page: u32,
    pub(crate) place: PagePlace,
}

/// The hash of a page in its entry.
pub(crate) fn hash_of(page: &[u8]) -> u64 {
    xxh3_64(page)
}

pub(crate) fn is_zeros(page: &[u8]) -> bool {
    static ZEROS: [u8; SLOT] = [0; SLOT];
    page == ZEROS
}

/// The number of pages whose places share one piece of memory.
const CHUNK: usize = 256;

/// The place of each page. A chunk of pages that are all zeros takes no memory. So a table takes at most 4 KiB for each
/// page that has a slot of 4 KiB: no file can make it take more memory than the file is long. If the pages are close
/// together, it takes 16 bytes for each.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    chunks: Numbered<Box<[PagePlace; CHUNK]>>,
    count: u32,
}

impl Table {
    /// The number of pages that are not zeros.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// The number of chunks for which the table has memory.
    #[cfg(test)]
    pub(crate) fn chunks(&self) -> usize {
        self.chunks.len()
    }

    /// Where a page lies.
    pub(crate) fn get(&self, page: u32) -> PagePlace {
        let chunk = self.chunks.get(u64::from(page / CHUNK as u32));
        chunk.map_or(PagePlace::default(), |chunk| chunk[page as usize % CHUNK])
    }

    /// Sets where a page lies from now on. Returns where it lay before.
    pub(crate) fn set(&mut self, page: u32, place: PagePlace) -> PagePlace {
        let number = u64::from(page / CHUNK as u32);
        if !place.is_of_zeros() {
            self.chunks.get_or_insert_with(number, || Box::new([PagePlace::default(); CHUNK]));
        }
        let Some(chunk) = self.chunks.get_mut(number) else { return PagePlace::default() };
        let old = std::mem::replace(&mut chunk[page as usize % CHUNK], place);
        self.count += u32::from(!place.is_of_zeros());
        self.count -= u32::from(!old.is_of_zeros());
        old
    }

    /// All pages from `first` on that are not zeros, ascending.
    pub(crate) fn entries_from(&self, first: u32) -> impl Iterator<Item = PageEntry> {
        let from = u64::from(first / CHUNK as u32);
        let entries = self.chunks.range(from..).flat_map(|(number, chunk)| {
            let page = move |i| number as u32 * CHUNK as u32 + i;
            (0..).zip(chunk.iter()).map(move |(i, &place)| PageEntry { page: page(i), place })
        });
        entries.filter(move |entry| entry.page >= first && !entry.place.is_of_zeros())
    }

    /// All pages that are not zeros, ascending.
    pub(crate) fn entries(&self) -> impl Iterator<Item = PageEntry> {
        self.entries_from(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_takes_memory_for_pages_that_are_not_zeros() {
        let place = |slot| PagePlace { slot, hash: 7 };
        let mut table = Table::default();
        assert_eq!(table.set(1 << 20, PagePlace::default()), PagePlace::default());
        assert_eq!(table.chunks.len(), 0);
        assert_eq!(table.set(600, place(3)), PagePlace::default());
        assert_eq!(table.set(600, place(4)), place(3));
        assert_eq!(table.set(5, place(9)), PagePlace::default());
        assert_eq!(table.set(601, place(5)), PagePlace::default());
        assert_eq!(table.chunks.len(), 2);
        assert_eq!(table.set(5, PagePlace::default()), place(9));
        assert_eq!((table.get(5), table.get(600)), (PagePlace::default(), place(4)));
        assert_eq!(table.count(), 2);
        assert!(table.entries().map(|entry| entry.page).eq([600, 601]));
        assert!(table.entries_from(601).eq([PageEntry { page: 601, place: place(5) }]));
    }
}
