//! The policies whose items move when they are fetched: LRU, and memcached's segments.

use std::collections::BTreeMap;

use super::Cache;

/// The order of the items of a segment: by when they came into it.
type Order = BTreeMap<u64, u32>;

/// LRU.
pub(crate) struct Lru {
    order: Order,
    /// The bytes of each item that is there, and its place in the order.
    items: Vec<Option<(u64, u64)>>,
    room: u64,
    time: u64,
}

impl Lru {
    pub(crate) fn new(room: u64, keys: usize) -> Self {
        Self { order: Order::new(), items: vec![None; keys], room, time: 0 }
    }
}

impl Cache for Lru {
    fn ask(&mut self, key: u32, bytes: u64) -> bool {
        self.time += 1;
        let found = self.items[key as usize];
        if let Some((_, at)) = found {
            self.order.remove(&at);
        } else {
            while self.room < bytes
                && let Some((_, oldest)) = self.order.pop_first()
            {
                self.room += self.items[oldest as usize].take().map_or(0, |(bytes, _)| bytes);
            }
            self.room -= bytes;
        }
        self.items[key as usize] = Some((bytes, self.time));
        self.order.insert(self.time, key);
        found.is_some()
    }
}

/// The segments.
const HOT: usize = 0;
const WARM: usize = 1;
const COLD: usize = 2;

#[derive(Clone, Copy)]
struct Member {
    bytes: u64,
    /// Fetches since the item came into the segment, up to two. The first one after the store does not move it.
    fetches: u8,
}

/// memcached's: new items are hot, those that are fetched again are warm, and the others become cold and are evicted.
pub(crate) struct Segmented {
    orders: [Order; 3],
    bytes: [u64; 3],
    items: Vec<Option<Member>>,
    all: u64,
    time: u64,
}

impl Segmented {
    pub(crate) fn new(room: u64, keys: usize) -> Self {
        Self {
            orders: Default::default(),
            bytes: [0; 3],
            items: vec![None; keys],
            all: room,
            time: 0,
        }
    }

    fn enter(&mut self, key: u32, bytes: u64, which: usize, fetches: u8) {
        self.time += 1;
        self.orders[which].insert(self.time, key);
        self.bytes[which] += bytes;
        self.items[key as usize] = Some(Member { bytes, fetches });
    }

    /// Takes the oldest item of a segment.
    fn leave(&mut self, which: usize) -> Option<(u32, Member)> {
        let (_, key) = self.orders[which].pop_first()?;
        let item = self.items[key as usize].take()?;
        self.bytes[which] -= item.bytes;
        Some((key, item))
    }

    /// Moves the oldest items of a segment that has more than its share.
    fn balance(&mut self, which: usize, share: u64) {
        while self.bytes[which] > self.all * share / 100
            && let Some((key, item)) = self.leave(which)
        {
            // One that was fetched twice is warm. It has to be fetched again to stay so.
            let next = if item.fetches > 1 { WARM } else { COLD };
            self.enter(key, item.bytes, next, 1.min(item.fetches));
        }
    }
}

impl Cache for Segmented {
    fn ask(&mut self, key: u32, bytes: u64) -> bool {
        if let Some(item) = &mut self.items[key as usize] {
            item.fetches = (item.fetches + 1).min(2);
            return true;
        }
        while self.bytes.iter().sum::<u64>() + bytes > self.all {
            self.balance(HOT, 20);
            self.balance(WARM, 40);
            let from = if self.orders[COLD].is_empty() { HOT } else { COLD };
            if let Some((key, item)) = self.leave(from)
                && item.fetches > 1
            {
                self.enter(key, item.bytes, WARM, 1);
            }
        }
        self.enter(key, bytes, HOT, 0);
        false
    }
}
