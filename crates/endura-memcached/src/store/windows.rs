//! Windows: stretches of the pool, of one size, side by side. A window is cleared when free space is needed that any item
//! can use. Chunks that are freed here and there are of use to items of their size only; those of a whole window are not.
//!
//! To clear some windows takes two rounds through the items. The first one finds how much of each window items have. The
//! second one finds the items of the chosen windows. These are then evicted all at once, so that few new ones come into the
//! window meanwhile. Items that are fetched often go too. Each of them costs one miss, and then it is stored again.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Bound, ControlFlow};

use endura::Result;

use super::evictions::{Evictions, PIECE};
use super::hand::{Chosen, evict};
use super::item::Item;
use super::items::Store;
use super::levels::{Levels, record_bytes};
use crate::eviction::{Print, Sample, Worth};

/// Bytes of a page, in which the longest spans lie, and from which on a size has spans of that length.
const PAGE: u64 = 2 << 20;
const LONG_SPANS: u64 = 16 << 20;
/// The fewest bytes of a window. The first span of a size takes up to a quarter of it, and lies wholly in it even if other
/// spans reach into it at both ends.
const SMALLEST: u64 = 256 << 10;

/// What items have of a window.
#[derive(Debug, Default, Clone, Copy)]
struct Share {
    /// Bytes of the chunks of all items.
    all: u64,
    /// Those of the items that are worth more than half of all items.
    warm: u64,
}

/// Windows that are being cleared.
#[derive(Debug)]
pub(super) struct Windows {
    /// Bytes of a window.
    size: u64,
    /// How many are cleared.
    count: usize,
    behind: Option<Vec<u8>>,
    shares: BTreeMap<u64, Share>,
    chosen: BTreeSet<u64>,
    items: Vec<Chosen>,
}

/// How far the clearing is.
pub(super) enum Progress {
    GoesOn,
    /// This many items were evicted.
    Over(usize),
}

impl Windows {
    /// Begins to clear windows that have `missing` bytes together, each with `each` bytes in one piece.
    pub(super) fn new(levels: &Levels, missing: u64, each: u64) -> Self {
        let has_long = levels.sizes.iter().any(|size| size.spans >= LONG_SPANS);
        let least = if has_long { PAGE } else { SMALLEST };
        let size = (each + each / 4).next_power_of_two().max(least);
        let count = missing.div_ceil(size).clamp(1, 8) as usize;
        let (shares, chosen) = (BTreeMap::new(), BTreeSet::new());
        Self { size, count, behind: None, shares, chosen, items: Vec::new() }
    }

    /// Looks at some items. `tried` has the windows that were cleared in vain, by their first bytes.
    pub(super) fn step(
        &mut self,
        store: &Store,
        evictions: &Evictions,
        sample: &Sample,
        tried: &mut BTreeSet<u64>,
    ) -> Result<Progress> {
        let levels = Levels::of(&store.pool().stats()?);
        let common = sample.below(0.5);
        let from = self.behind.take();
        let from = from.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let (mut seen, mut last, mut failed) = (0, None, None);
        let _ended = store.entries_behind(from, |key, bytes| {
            seen += 1;
            match store.place_of(key) {
                Ok(Some(place)) => self.meet(evictions, &levels, common, (key, bytes), place),
                Ok(None) => {}
                Err(error) => failed = Some(error),
            }
            if failed.is_some() || seen == PIECE {
                last = Some(key.to_vec());
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        })?;
        self.behind = last;
        match failed {
            Some(error) => Err(error),
            None if self.behind.is_some() => Ok(Progress::GoesOn),
            None if self.chosen.is_empty() => Ok(self.choose(tried)),
            None => self.clear(store, evictions),
        }
    }

    fn meet(
        &mut self,
        evictions: &Evictions,
        levels: &Levels,
        common: Worth,
        (key, bytes): (&[u8], &[u8]),
        place: u64,
    ) {
        let Some(item) = Item::of(bytes) else { return };
        let record = record_bytes(key.len(), bytes.len());
        // An item that begins in one window may end in another.
        let window = place / self.size;
        if self.chosen.is_empty() {
            let worth = Worth::new(evictions.fetches.count(Print::of(key)), item.cas);
            let share = self.shares.entry(window).or_default();
            let chunk = levels.chunk(record);
            share.all += chunk;
            share.warm += if worth < common { 0 } else { chunk };
        } else if self.chosen.contains(&window)
            || self.chosen.contains(&((place + record) / self.size))
        {
            self.items.push(Chosen { key: key.to_vec(), cas: item.cas, record });
        }
    }

    /// Chooses the windows. What no items have may be free, or nodes of the map, which stay; so those windows are best of
    /// which items have all, and which have few that are worth much.
    fn choose(&mut self, tried: &mut BTreeSet<u64>) -> Progress {
        let cost = |share: &Share| 2 * self.size.saturating_sub(share.all) + share.warm;
        let shares = self.shares.iter();
        let mut windows: Vec<(u64, u64)> = shares
            .filter(|(window, _)| !tried.contains(&(*window * self.size)))
            .map(|(&window, share)| (cost(share), window))
            .collect();
        windows.sort_unstable();
        self.chosen = windows.iter().take(self.count).map(|&(_, window)| window).collect();
        tried.extend(self.chosen.iter().map(|window| window * self.size));
        if self.chosen.is_empty() { Progress::Over(0) } else { Progress::GoesOn }
    }

    fn clear(&mut self, store: &Store, evictions: &Evictions) -> Result<Progress> {
        let mut gone = 0;
        for it in self.items.drain(..) {
            gone += usize::from(evict(store, evictions, &it.key, it.cas)?);
        }
        Ok(Progress::Over(gone))
    }
}
