//! What an item is worth, and which worth is among the least.

/// What an item is worth: first how often clients have asked for its key of late, then how new it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Worth(u64);

/// The bits of a worth that tell how new the item is.
const AGE: u32 = 58;

impl Worth {
    /// That of an item whose key was asked for so often, and that was stored at this time, in any unit that ascends.
    pub fn new(count: u8, stored: u64) -> Self {
        Self(u64::from(count) << AGE | stored & ((1 << AGE) - 1))
    }

    /// More than any item is worth.
    pub const MOST: Self = Self(u64::MAX);
}

/// How many items are known.
const KNOWN: usize = 4096;
/// How many items are met between two looks at what is known.
const EACH: usize = 256;

/// The worth of some items from the whole cache, in order. From it the worth is known below which a share of all items lies.
/// (The items that lie side by side in key order may all be worth much, or all little. A comparison with these alone would
/// evict the best of some neighbours while other neighbours are worth less.)
#[derive(Debug, Default)]
pub struct Sample {
    known: Vec<Worth>,
    sorted: Vec<Worth>,
    met: usize,
    random: u64,
}

impl Sample {
    /// Adds an item that was met on the way through a cache of `items` items. A way through all of them renews the sample.
    pub fn meet(&mut self, worth: Worth, items: usize) {
        if self.known.len() < KNOWN {
            self.known.push(worth);
        } else {
            // The steps of a linear congruence are random enough to choose a place.
            self.random = self
                .random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let (which, place) =
                ((self.random >> 33) as usize, (self.random >> 20) as usize % KNOWN);
            if which % items.max(1) < KNOWN {
                self.known[place] = worth;
            }
        }
        self.met += 1;
        if self.met.is_multiple_of(EACH) || self.sorted.len() < EACH {
            self.sort();
        }
    }

    fn sort(&mut self) {
        self.sorted.clone_from(&self.known);
        self.sorted.sort_unstable();
    }

    /// The worth below which this share of all items lies.
    pub fn below(&self, share: f64) -> Worth {
        let place = (self.sorted.len() as f64 * share) as usize;
        self.sorted.get(place).copied().unwrap_or(Worth::MOST)
    }
}
