//! A hand that walks the items in key order, and evicts those that it finds worth least.

use endura_memcached::eviction::{Fetches, Print, Sample, Worth, faded};

use super::Cache;

/// The items in key order, and the hand.
struct Ring {
    /// The bytes of each item that is there, and when it was stored.
    items: Vec<Option<(u64, u64)>>,
    room: u64,
    count: usize,
    at: usize,
    stored: u64,
}

impl Ring {
    fn new(room: u64, keys: usize) -> Self {
        Self { items: vec![None; keys], room, count: 0, at: 0, stored: 0 }
    }

    fn store(&mut self, key: u32, bytes: u64) {
        self.stored += 1;
        self.items[key as usize] = Some((bytes, self.stored));
        self.count += 1;
        self.room -= bytes;
    }

    /// The next item.
    fn next(&mut self) -> (u32, u64) {
        loop {
            self.at = (self.at + 1) % self.items.len();
            if let Some((_, stored)) = self.items[self.at] {
                return (self.at as u32, stored);
            }
        }
    }

    fn evict(&mut self, key: u32) {
        if let Some((bytes, _)) = self.items[key as usize].take() {
            self.room += bytes;
            self.count -= 1;
        }
    }
}

/// What this crate does: it counts the fetches, and evicts what is among the least worth.
pub(crate) struct Hand {
    ring: Ring,
    fetches: Fetches,
    sample: Sample,
    /// The share of the items that the hand evicts.
    share: f64,
}

impl Hand {
    pub(crate) fn new(room: u64, keys: usize, share: f64) -> Self {
        let (ring, fetches) = (Ring::new(room, keys), Fetches::default());
        Self { ring, fetches, sample: Sample::default(), share }
    }
}

impl Cache for Hand {
    fn ask(&mut self, key: u32, bytes: u64) -> bool {
        let print = Print::of(&key.to_le_bytes());
        let is_hit = self.ring.items[key as usize].is_some();
        self.fetches.note(print, is_hit);
        if is_hit {
            return true;
        }
        while self.ring.room < bytes {
            let (victim, stored) = self.ring.next();
            let print = Print::of(&victim.to_le_bytes());
            let worth = Worth::new(self.fetches.count(print), stored);
            self.sample.meet(worth, 0, self.ring.count);
            if worth < self.sample.below(self.share) {
                self.ring.evict(victim);
                self.fetches.fade(faded(self.ring.count), fastrand::f64());
            }
        }
        self.fetches.grow(self.ring.count);
        self.ring.store(key, bytes);
        false
    }
}

/// A CLOCK in key order: it evicts what was not fetched since it was stored, or since the hand came by.
pub(crate) struct Bit {
    ring: Ring,
    was_fetched: Vec<bool>,
}

impl Bit {
    pub(crate) fn new(room: u64, keys: usize) -> Self {
        Self { ring: Ring::new(room, keys), was_fetched: vec![false; keys] }
    }
}

impl Cache for Bit {
    fn ask(&mut self, key: u32, bytes: u64) -> bool {
        if self.ring.items[key as usize].is_some() {
            self.was_fetched[key as usize] = true;
            return true;
        }
        while self.ring.room < bytes {
            let (victim, _) = self.ring.next();
            if !std::mem::take(&mut self.was_fetched[victim as usize]) {
                self.ring.evict(victim);
            }
        }
        self.ring.store(key, bytes);
        false
    }
}
