//! How often keys were fetched of late: two counters for each key, as in a count-min sketch, both in one cache line.
//!
//! The counters are in memory, so a fetch writes nothing to the pool. A thread copies them there from time to time, a piece
//! after the other, and a start takes them from there. A key that is not
//! in the cache has counters as well. So a client that asks for a key again soon after it was evicted, and then stores it,
//! finds it worth more than a key that nobody has asked for. A key counts as often as the lesser of its counters says, which
//! is seldom too much, because few keys share both with keys that are asked for often.
//!
//! The table begins small, and becomes twice as long when there are too many items for it: its second half begins as a copy
//! of the first, so that each key finds at its new place what it has had at the old one.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use xxhash_rust::xxh3::xxh3_64;

/// The counters of a line.
const LINE: usize = 64;
/// The fewest lines, as a power of two.
const FIRST: usize = 8;
/// The most lines, as a power of two: 64 GiB of counters.
const LAST: usize = 30;
/// The table grows when it has fewer counters than this for each item.
const COUNTERS_AN_ITEM: usize = 8;
/// The lines of a piece, whose record fits into a chunk of 8 KiB.
const LINES_A_PIECE: u64 = 127;
/// The bits of a counter that count.
const COUNT: u8 = 0x7f;
/// The most that is counted. More would say little, and a counter that has it is only read.
const MOST: u8 = 15;
/// The bit of a counter that says whether a client has fetched the item since it was stored.
const FETCHED: u8 = 0x80;

/// The counters of a cache line.
#[derive(Debug)]
#[repr(align(64))]
struct Line([AtomicU8; LINE]);

impl Line {
    fn empty() -> Self {
        Self([const { AtomicU8::new(0) }; LINE])
    }

    /// A line with the same counters.
    fn copied(&self) -> Self {
        // Relaxed here and below, because the counters order nothing.
        Self(std::array::from_fn(|i| AtomicU8::new(self.0[i].load(Ordering::Relaxed))))
    }
}

/// A key, as the counters know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Print(u64);

impl Print {
    /// That of this key.
    #[inline]
    pub fn of(key: &[u8]) -> Self {
        Self(xxh3_64(key))
    }
}

/// How often keys were fetched of late.
#[derive(Debug)]
pub struct Fetches {
    /// Part 0 has the first lines, and each part after it as many as all before it.
    parts: [OnceLock<Box<[Line]>>; LAST - FIRST + 1],
    /// The number of lines less one.
    mask: AtomicU64,
    /// The line that is halved next.
    next: AtomicU64,
}

impl Default for Fetches {
    fn default() -> Self {
        let parts = [const { OnceLock::new() }; LAST - FIRST + 1];
        let first = OnceLock::from((0..1 << FIRST).map(|_| Line::empty()).collect::<Box<[_]>>());
        let mut parts: [OnceLock<Box<[Line]>>; LAST - FIRST + 1] = parts;
        parts[0] = first;
        Self { parts, mask: AtomicU64::new((1 << FIRST) - 1), next: AtomicU64::new(0) }
    }
}

impl Fetches {
    /// The line with this number, which is there.
    #[inline]
    fn line(&self, number: u64) -> Option<&Line> {
        let bits = (u64::BITS - number.leading_zeros()) as usize;
        let part = bits.saturating_sub(FIRST);
        let before = if part == 0 { 0 } else { 1 << (part - 1 + FIRST) };
        self.parts[part].get()?.get(number as usize - before)
    }

    /// The two counters of a key.
    #[inline]
    fn counters(&self, Print(hash): Print) -> Option<[&AtomicU8; 2]> {
        // Acquire pairs with the Release in `grow`: the part of a line that is counted is there.
        let line = self.line(hash & self.mask.load(Ordering::Acquire))?;
        let (first, other) = ((hash >> 58) as usize, (hash >> 52) as usize % (LINE - 1) + 1);
        Some([&line.0[first], &line.0[(first + other) % LINE]])
    }

    /// Notes that a client has asked for a key. Two threads that do so at the same time may count once.
    #[inline]
    pub fn note(&self, print: Print, was_found: bool) {
        let Some(counters) = self.counters(print) else { return };
        let old = counters.map(|counter| counter.load(Ordering::Relaxed));
        let count = old.map(|old| old & COUNT);
        let least = count[0].min(count[1]);
        for i in 0..2 {
            let more = u8::from(count[i] == least && least < MOST);
            let new = (old[i] + more) | if was_found { FETCHED } else { 0 };
            // A cache line that many threads read is not written in vain.
            if new != old[i] {
                counters[i].store(new, Ordering::Relaxed);
            }
        }
    }

    /// Notes that a key has a new item, which nobody has fetched.
    pub fn begin(&self, print: Print) {
        for counter in self.counters(print).into_iter().flatten() {
            let old = counter.load(Ordering::Relaxed);
            if old & FETCHED != 0 {
                counter.store(old & COUNT, Ordering::Relaxed);
            }
        }
    }

    /// How often a client has asked for this key of late.
    pub fn count(&self, print: Print) -> u8 {
        let counters = self.counters(print).into_iter().flatten();
        counters.map(|counter| counter.load(Ordering::Relaxed) & COUNT).min().unwrap_or(0)
    }

    /// Whether a client has fetched the item of this key since it was stored.
    pub fn was_fetched(&self, print: Print) -> bool {
        let mut counters = self.counters(print).into_iter().flatten();
        counters.all(|counter| counter.load(Ordering::Relaxed) & FETCHED != 0)
    }

    /// Makes the table long enough for so many items. It is called by one thread at a time.
    pub fn grow(&self, items: usize) {
        self.extend((items.saturating_mul(COUNTERS_AN_ITEM) / LINE) as u64);
    }

    /// Makes the table at least so many lines long. It is called by one thread at a time.
    pub fn extend(&self, least: u64) {
        loop {
            let lines = self.lines();
            let part = lines.ilog2() as usize + 1 - FIRST;
            if lines >= least || part >= self.parts.len() {
                return;
            }
            let copied = (0..lines).map(|at| self.line(at).map_or_else(Line::empty, Line::copied));
            if self.parts[part].set(copied.collect()).is_err() {
                return;
            }
            self.mask.store(2 * lines - 1, Ordering::Release);
        }
    }

    /// The lines of the table.
    pub fn lines(&self) -> u64 {
        self.mask.load(Ordering::Relaxed) + 1
    }

    /// The counters of a piece of the table; none behind its end.
    pub fn piece(&self, number: u64) -> Vec<u8> {
        let first = number.saturating_mul(LINES_A_PIECE);
        let lines = (first..first.saturating_add(LINES_A_PIECE).min(self.lines()))
            .filter_map(|at| self.line(at));
        lines.flat_map(|line| &line.0).map(|counter| counter.load(Ordering::Relaxed)).collect()
    }

    /// Takes the counters of a piece from an earlier table of the same length. What was counted since stays if it is more.
    pub fn restore(&self, number: u64, counters: &[u8]) {
        let first = number.saturating_mul(LINES_A_PIECE);
        let lines = (first..self.lines()).filter_map(|at| self.line(at));
        for (line, old) in lines.zip(counters.as_chunks::<LINE>().0) {
            for (counter, &old) in line.0.iter().zip(old) {
                let new = counter.load(Ordering::Relaxed);
                let most = (new & COUNT).max(old & COUNT).min(MOST);
                counter.store(most | (new | old) & FETCHED, Ordering::Relaxed);
            }
        }
    }

    /// Halves the counters of some lines, the next ones: `part` of `whole` of all lines, rounded by chance.
    pub fn fade(&self, part: f64, chance: f64) {
        let all = self.mask.load(Ordering::Relaxed) + 1;
        let some = ((all as f64 * part + chance) as u64).min(all);
        let first = self.next.fetch_add(some, Ordering::Relaxed);
        for at in first..first + some {
            let Some(line) = self.line(at & (all - 1)) else { return };
            for counter in &line.0 {
                let old = counter.load(Ordering::Relaxed);
                let new = old & FETCHED | ((old & COUNT) / 2);
                if new != old {
                    counter.store(new, Ordering::Relaxed);
                }
            }
        }
    }

    /// Bytes of memory of all counters.
    pub fn bytes(&self) -> u64 {
        self.lines() * LINE as u64
    }
}

/// How often as many items are evicted as there are before all counters are halved once.
const TURNS: f64 = 4.0;

/// The share of the counters that is halved for an item that is evicted from `items` items.
pub fn faded(items: usize) -> f64 {
    1.0 / TURNS / items.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_count_up_to_a_bound_and_fade() {
        let fetches = Fetches::default();
        let [a, b] = [&b"a"[..], b"b"].map(Print::of);
        (0..10).for_each(|_| fetches.note(a, true));
        assert_eq!((fetches.count(a), fetches.count(b)), (10, 0));
        assert!(fetches.was_fetched(a) && !fetches.was_fetched(b));
        (0..10).for_each(|_| fetches.note(a, true));
        assert_eq!(fetches.count(a), MOST);
        fetches.fade(1.0, 0.0);
        assert_eq!((fetches.count(a), fetches.was_fetched(a)), (MOST / 2, true));
        fetches.begin(a);
        assert_eq!((fetches.count(a), fetches.was_fetched(a)), (MOST / 2, false));
        fetches.note(b, false);
        assert_eq!((fetches.count(b), fetches.was_fetched(b)), (1, false));
        (0..4).for_each(|_| fetches.fade(0.25, 0.0));
        assert_eq!((fetches.count(a), fetches.count(b)), (MOST / 4, 0));
    }

    #[test]
    fn a_longer_table_knows_what_the_shorter_one_knew() {
        let fetches = Fetches::default();
        let prints: Vec<Print> = (0..1_000_u32).map(|n| Print::of(&n.to_le_bytes())).collect();
        prints.iter().take(500).for_each(|&print| fetches.note(print, true));
        let before: Vec<u8> = prints.iter().map(|&print| fetches.count(print)).collect();
        assert_eq!(fetches.bytes(), 16 << 10);
        fetches.grow(50_000);
        assert_eq!(fetches.bytes(), 512 << 10);
        fetches.grow(10);
        let after: Vec<u8> = prints.iter().map(|&print| fetches.count(print)).collect();
        assert_eq!(before, after);
        assert!(prints[..500].iter().all(|&print| fetches.count(print) > 0));
    }

    #[test]
    fn a_table_comes_back_from_its_pieces() {
        let [old, new] = [(); 2].map(|()| Fetches::default());
        old.grow(5_000);
        new.extend(old.lines());
        assert_eq!(new.lines(), old.lines());
        let prints: Vec<Print> = (0..3_000_u32).map(|n| Print::of(&n.to_le_bytes())).collect();
        prints.iter().for_each(|&print| old.note(print, true));
        (0..9).for_each(|_| new.note(prints[0], false));
        let pieces = (0..).map(|n| (n, old.piece(n))).take_while(|(_, piece)| !piece.is_empty());
        pieces.for_each(|(n, piece)| new.restore(n, &piece));
        for (n, &print) in prints.iter().enumerate() {
            assert!(new.was_fetched(print) && new.count(print) >= old.count(print), "{n}");
        }
        assert_eq!(new.count(prints[0]), 9);
        new.restore(0, &[0xff; 100]);
        new.restore(u64::MAX, &[1; LINE]);
        assert!(prints.iter().all(|&print| new.count(print) <= MOST));
    }

    #[test]
    fn few_keys_count_for_others() {
        let fetches = Fetches::default();
        fetches.grow(10_000);
        let print = |n: u32| Print::of(&n.to_le_bytes());
        (0..10_000).for_each(|n| fetches.note(print(n), true));
        let strange = (10_000..20_000).filter(|&n| fetches.count(print(n)) > 0).count();
        assert!(strange < 1_000, "{strange} of 10,000 keys that nobody has asked for");
    }
}
