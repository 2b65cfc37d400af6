//! When items were used, and whether a client has fetched them: the flags `h` and `l` of the meta protocol, and `me`.
//!
//! This is in memory only, so that a fetch writes nothing to the pool. It begins when a client asks for it, because to note
//! each `get` costs a fifth of the commands that a server can do. A start has forgotten it, and so has an item whose place
//! another item has taken.

use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of the pool for each place, about those of a small item.
const BYTES_A_PLACE: u64 = 512;
const PLACES: std::ops::RangeInclusive<u64> = 1 << 10..=1 << 24;

/// The uses of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Uses {
    /// Whether a client has fetched the item since it was stored.
    pub(crate) was_fetched: bool,
    /// When it was stored or fetched, in seconds since 1970.
    pub(crate) last: u32,
}

/// The uses of all items, once a client has asked for those of one.
#[derive(Debug)]
pub(super) struct Seen {
    /// The places that there will be.
    places: u64,
    table: OnceLock<Table>,
}

impl Seen {
    /// Those of the items of a pool of at most `bytes` bytes.
    pub(super) fn new(bytes: u64) -> Self {
        let places = (bytes / BYTES_A_PLACE).clamp(*PLACES.start(), *PLACES.end());
        Self { places: places.next_power_of_two(), table: OnceLock::new() }
    }

    /// Notes that an item was stored.
    pub(super) fn stored(&self, key: &[u8], now: u32) {
        if let Some(table) = self.table.get() {
            table.note(key, u64::from(now));
        }
    }

    /// Notes that a client has fetched an item.
    pub(super) fn fetched(&self, key: &[u8], now: u32) {
        if let Some(table) = self.table.get() {
            table.note(key, FETCHED | u64::from(now));
        }
    }

    /// What is known of an item.
    pub(super) fn uses(&self, key: &[u8], now: u32) -> Uses {
        self.table.get_or_init(|| Table::new(self.places, now)).uses(key)
    }
}

/// A table with one group of places for each hash of a key.
#[derive(Debug)]
struct Table {
    groups: Box<[Group]>,
    hash: RandomState,
    /// When the table was made. An item of which nothing is known was not used since.
    since: u32,
}

/// Places of items with the same hash, in one cache line. A place has a tag of 31 bits, which are other bits of the hash,
/// then `was_fetched`, then `last`; 0 if it is free.
#[derive(Debug, Default)]
#[repr(align(32))]
struct Group([AtomicU64; 4]);

/// The bits of a place that are the tag.
const TAG: u64 = !0 << 33;
const FETCHED: u64 = 1 << 32;

impl Table {
    fn new(places: u64, now: u32) -> Self {
        let groups = (0..places / 4).map(|_| Group::default()).collect();
        Self { groups, hash: RandomState::new(), since: now }
    }

    /// The group of a key, its tag, and its place there if it has one.
    fn find(&self, key: &[u8]) -> (&Group, u64, Option<&AtomicU64>) {
        let hash = self.hash.hash_one(key);
        let group = &self.groups[hash as usize & (self.groups.len() - 1)];
        // Relaxed here and below, because the table only tells clients about the past, and orders nothing.
        let is_its = |place: &&AtomicU64| {
            let found = place.load(Ordering::Relaxed);
            found != 0 && found & TAG == hash & TAG
        };
        (group, hash & TAG, group.0.iter().find(is_its))
    }

    fn note(&self, key: &[u8], what: u64) {
        let (group, tag, place) = self.find(key);
        let age = |place: &&AtomicU64| place.load(Ordering::Relaxed) as u32;
        let Some(place) = place.or_else(|| group.0.iter().min_by_key(age)) else { return };
        // A cache line that many threads read is written once a second.
        if place.load(Ordering::Relaxed) != tag | what {
            place.store(tag | what, Ordering::Relaxed);
        }
    }

    /// What is known of an item.
    fn uses(&self, key: &[u8]) -> Uses {
        let (_, _, place) = self.find(key);
        let unknown = Uses { was_fetched: false, last: self.since };
        place.map_or(unknown, |place| {
            let found = place.load(Ordering::Relaxed);
            Uses { was_fetched: found & FETCHED != 0, last: found as u32 }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_forgets_the_fetches_before_it() {
        let seen = Seen::new(0);
        let uses = |was_fetched, last| Uses { was_fetched, last };
        seen.fetched(b"a", 4);
        assert_eq!(seen.uses(b"a", 5), uses(false, 5), "nobody had asked");
        seen.stored(b"a", 6);
        assert_eq!(seen.uses(b"a", 9), uses(false, 6));
        seen.fetched(b"a", 7);
        assert_eq!(seen.uses(b"a", 9), uses(true, 7));
        seen.stored(b"a", 8);
        assert_eq!(seen.uses(b"a", 9), uses(false, 8));
        assert_eq!(seen.uses(b"b", 9), uses(false, 5));
    }

    #[test]
    fn an_item_does_not_have_the_uses_of_another() {
        let seen = Seen::new(0);
        seen.uses(b"", 5);
        let keys = |prefix: &str| (0..5_000).map(|i| format!("{prefix}{i}")).collect::<Vec<_>>();
        keys("a").iter().for_each(|key| seen.fetched(key.as_bytes(), 9));
        let of_others = |key: &&String| seen.uses(key.as_bytes(), 9).was_fetched;
        let strange = keys("b").iter().filter(of_others).count();
        assert!(strange < 3, "{strange} of 5,000 items");
    }
}
