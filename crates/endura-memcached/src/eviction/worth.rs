//! What an item is worth, and which worth is among the least.

/// What an item is worth: first how often clients have asked for its key of late, then how new it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Worth(u64);

/// The bits of a worth that tell how new the item is. The numbers of stores have no more.
const AGE: u32 = 60;

impl Worth {
    /// No item is worth less.
    pub const LEAST: Self = Self(0);
    /// Each item is worth less.
    pub const MOST: Self = Self(u64::MAX);

    /// That of an item whose key was asked for so often, and that was stored at this time, in any unit that ascends.
    pub fn new(count: u8, stored: u64) -> Self {
        Self(u64::from(count.min(15)) << AGE | stored.min((1 << AGE) - 1))
    }
}

/// How many items are known.
const KNOWN: usize = 4096;
/// How many items are met between two looks at what is known.
const EACH: usize = 2048;

/// The worth of some items from the whole cache, and their sizes. From it the worth is known below which a share of all
/// items lies. (The items that lie side by side in key order may all be worth much, or all little. A comparison with these
/// alone would evict the best of some neighbours while other neighbours are worth less.)
#[derive(Debug, Default)]
pub struct Sample {
    known: Vec<(Worth, u64)>,
    sorted: Vec<Worth>,
    met: usize,
    /// The place of the next item among those that are known.
    next: usize,
}

impl Sample {
    /// Adds an item of so many bytes that was met on the way through a cache of `items` items: every so many-th, so that those
    /// that are known are spread evenly over the last way through all of them.
    pub fn meet(&mut self, worth: Worth, bytes: u64, items: usize) {
        if self.known.len() < KNOWN {
            self.known.push((worth, bytes));
        } else if self.met.is_multiple_of((items / KNOWN).max(1)) {
            self.known[self.next] = (worth, bytes);
            self.next = (self.next + 1) % KNOWN;
        }
        self.met += 1;
        if self.met.is_multiple_of(EACH) || self.met < EACH && self.met.is_power_of_two() {
            self.sorted.clear();
            self.sorted.extend(self.known.iter().map(|&(worth, _)| worth));
            self.sorted.sort_unstable();
        }
    }

    /// The worth below which this share of all items lies.
    pub fn below(&self, share: f64) -> Worth {
        at(&self.sorted, share)
    }

    /// The share of the items that have such sizes. All, if none is known.
    pub fn share_of(&self, is_such: impl Fn(u64) -> bool) -> f64 {
        if self.known.is_empty() {
            return 1.0;
        }
        let such = self.known.iter().filter(|(_, bytes)| is_such(*bytes)).count();
        such as f64 / self.known.len() as f64
    }
}

fn at(sorted: &[Worth], share: f64) -> Worth {
    sorted.get((sorted.len() as f64 * share) as usize).copied().unwrap_or(Worth::MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fetches_come_before_age() {
        assert!(Worth::new(0, 9) < Worth::new(1, 3) && Worth::new(1, 3) < Worth::new(1, 4));
        assert!(Worth::LEAST < Worth::new(0, 1) && Worth::new(255, u64::MAX - 1) <= Worth::MOST);
    }

    /// Neighbours that are all worth little do not hide that others are worth more, and the reverse.
    #[test]
    fn a_sample_is_of_the_whole_way() {
        let mut sample = Sample::default();
        assert_eq!((sample.below(0.5), sample.share_of(|_| false)), (Worth::MOST, 1.0));
        const ITEMS: u64 = 100_000;
        for n in 0..3 * ITEMS {
            let n = n % ITEMS;
            // The second half of the keys is worth more.
            sample.meet(Worth::new(u8::from(n >= ITEMS / 2), n), n / 1_000 % 3, ITEMS as usize);
        }
        let share = |worth: Worth| {
            (0..ITEMS).filter(|&n| Worth::new(u8::from(n >= ITEMS / 2), n) < worth).count()
        };
        for percent in [5, 25, 50, 75] {
            let found =
                share(sample.below(f64::from(percent) / 100.0)) as f64 / ITEMS as f64 * 100.0;
            assert!((found - f64::from(percent)).abs() < 6.0, "{found} in place of {percent}");
        }
        assert!((0.3..0.4).contains(&sample.share_of(|bytes| bytes == 1)));
        assert_eq!(sample.share_of(|bytes| bytes == 7), 0.0);
    }
}
