//! The copy of the counters of fetches in the pool. The thread that evicts writes some pieces of it each second, so that a
//! start after a kill knows what clients have asked for before. The copy may be seconds old, and old pieces may lie beside
//! new ones: it only decides what is evicted first.

use std::time::{Duration, Instant};

use endura::{Map, Result};

use super::evictions::Evictions;
use super::items::Store;

/// The time between two parts of the copy.
const EACH: Duration = Duration::from_secs(1);
/// The pieces of a part, which have 2 MiB.
const PIECES: u64 = 256;
/// The key of the number of lines that the table has.
const LINES: u64 = u64::MAX;

/// The copy.
#[derive(Debug)]
pub(super) struct Remembered {
    /// None if there is no space for it.
    copy: Option<Map<u64, [u8]>>,
    /// The lines that the copy has.
    lines: u64,
    next: u64,
    at: Instant,
}

impl Remembered {
    /// Takes the counters from the copy, if the pool has one.
    pub(super) fn load(store: &Store, evictions: &Evictions) -> Self {
        let copy = store.pool().map("memcached fetches").ok();
        let this = Self { copy, lines: 0, next: 0, at: Instant::now() };
        // Without the counters, items go in the order of their age.
        let _ = this.take(store, evictions);
        this
    }

    fn take(&self, store: &Store, evictions: &Evictions) -> Result<()> {
        let Some(copy) = &self.copy else { return Ok(()) };
        let Some(lines) = copy.get(LINES)? else { return Ok(()) };
        let lines = lines.first_chunk().map_or(0, |lines| u64::from_le_bytes(*lines));
        // No table takes more memory than an eighth of the pool, whatever the pool says.
        let most = store.pool().stats()?.max_bytes / 8 / 64;
        evictions.fetches.extend(lines.min(most));
        copy.range_with(..LINES, |number, counters| evictions.fetches.restore(number, counters))
    }

    /// Writes a part of the copy, if it is time.
    pub(super) fn save(&mut self, evictions: &Evictions) {
        if self.at.elapsed() < EACH {
            return;
        }
        self.at = Instant::now();
        // What finds no space is written later.
        let _ = self.save_part(evictions);
    }

    fn save_part(&mut self, evictions: &Evictions) -> Result<()> {
        let Some(copy) = &self.copy else { return Ok(()) };
        let lines = evictions.fetches.lines();
        if self.lines != lines {
            copy.put(LINES, &lines.to_le_bytes())?;
            self.lines = lines;
        }
        for _ in 0..PIECES {
            let piece = evictions.fetches.piece(self.next);
            if piece.is_empty() {
                self.next = 0;
                break;
            }
            copy.put(self.next, &piece)?;
            self.next += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use endura::Pool;

    use super::super::StoreOptions;
    use super::*;
    use crate::eviction::Print;

    #[test]
    fn a_start_knows_what_was_fetched_before() {
        let folder = tempfile::tempdir().unwrap();
        let open = || {
            let pool = Pool::options().max_size(32 << 20);
            let options = StoreOptions { pool, max_item: 1_000, evicts: true };
            Store::open(&folder.path().join("pool"), &options, 1).unwrap()
        };
        let print = |n: u32| Print::of(&n.to_le_bytes());
        let fetched = |evictions: &Evictions| {
            (0..40_000).filter(|&n| evictions.fetches.count(print(n)) == 3).count()
        };
        {
            let store = open();
            let evictions = store.evictions().unwrap();
            evictions.fetches.grow(50_000);
            (0..40_000).for_each(|n| (0..3).for_each(|_| evictions.fetches.note(print(n), true)));
            let mut remembered = Remembered::load(&store, evictions);
            remembered.save(evictions);
            assert_eq!(remembered.next, 0, "a second has not passed");
            for _ in 0..9 {
                remembered.at = Instant::now().checked_sub(EACH).unwrap();
                remembered.save(evictions);
            }
            assert!(fetched(evictions) > 30_000);
        }
        let store = open();
        let evictions = store.evictions().unwrap();
        assert_eq!(fetched(evictions), 0);
        Remembered::load(&store, evictions);
        assert!(fetched(evictions) > 30_000);
    }
}
