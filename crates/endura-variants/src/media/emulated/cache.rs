//! Which lines are in the cache: set-associative, the least recently used goes. Threads share it
//! without locks: of two that meet in a set one may go unnoticed, which costs a miss, not an answer.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// One place for a line.
#[derive(Default)]
struct Way {
    /// Twice the line's number plus two, plus one if it is dirty; 0 = empty.
    word: AtomicU64,
    /// When the line will be there, in ticks; 0 = it is.
    ready: AtomicU64,
    /// The set's count when it was last used.
    used: AtomicU32,
}

fn tag(line: u64) -> u64 {
    2 * line + 2
}

const DIRTY: u64 = 1;

pub(super) struct Cache {
    ways: Vec<Way>,
    /// One count per set.
    uses: Vec<AtomicU32>,
    per_set: usize,
}

/// What a look into the cache finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// The line, which will be there at this tick; 0 = it is.
    Here(u64),
    Missing,
}

impl Cache {
    pub(super) fn new(lines: u64, ways: u64) -> Self {
        assert!(lines.is_power_of_two() && ways.is_power_of_two() && ways <= lines);
        let empty = std::iter::repeat_with(Way::default);
        let uses = std::iter::repeat_with(AtomicU32::default).take((lines / ways) as usize);
        Self {
            ways: empty.take(lines as usize).collect(),
            uses: uses.collect(),
            per_set: ways as usize,
        }
    }

    /// The set's number: of the line's number, mixed, for trees align their nodes.
    fn set(&self, line: u64) -> usize {
        let mixed = (line ^ (line >> 16)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 32) as usize & (self.uses.len() - 1)
    }

    fn ways(&self, set: usize) -> &[Way] {
        &self.ways[set * self.per_set..(set + 1) * self.per_set]
    }

    fn find(&self, line: u64) -> Option<(usize, &Way)> {
        let set = self.set(line);
        let is_it = |way: &&Way| way.word.load(Relaxed) & !DIRTY == tag(line);
        self.ways(set).iter().find(is_it).map(|way| (set, way))
    }

    fn use_now(&self, set: usize, way: &Way) {
        let now = self.uses[set].load(Relaxed).wrapping_add(1);
        self.uses[set].store(now, Relaxed);
        way.used.store(now, Relaxed);
    }

    /// Whether the line is there or on its way. Not a use.
    pub(super) fn holds(&self, line: u64) -> bool {
        self.find(line).is_some()
    }

    /// Uses the line, and dirties it if it is written.
    pub(super) fn look_up(&self, line: u64, write: bool) -> Found {
        let Some((set, way)) = self.find(line) else { return Found::Missing };
        self.use_now(set, way);
        if write {
            way.word.store(tag(line) | DIRTY, Relaxed);
        }
        Found::Here(way.ready.load(Relaxed))
    }

    /// Takes a line in that will be there at `ready`; says whether a dirty one had to go for it.
    pub(super) fn admit(&self, line: u64, dirty: bool, ready: u64) -> bool {
        let set = self.set(line);
        let count = self.uses[set].load(Relaxed);
        let age = |way: &&Way| match way.word.load(Relaxed) {
            0 => u32::MAX,
            _ => count.wrapping_sub(way.used.load(Relaxed)),
        };
        let Some(oldest) = self.ways(set).iter().max_by_key(age) else { return false };
        let left = oldest.word.load(Relaxed);
        oldest.word.store(tag(line) | if dirty { DIRTY } else { 0 }, Relaxed);
        oldest.ready.store(ready, Relaxed);
        self.use_now(set, oldest);
        left & DIRTY != 0
    }

    /// Notes that nobody has to wait for the line any more.
    pub(super) fn arrived(&self, line: u64) {
        if let Some((_, way)) = self.find(line) {
            way.ready.store(0, Relaxed);
        }
    }

    /// Notes that the line is written back; gives when it will have come, if it was dirty.
    pub(super) fn clean(&self, line: u64, evict: bool) -> Option<u64> {
        let (_, way) = self.find(line)?;
        let dirty = way.word.load(Relaxed) & DIRTY != 0;
        way.word.store(if evict { 0 } else { tag(line) }, Relaxed);
        dirty.then(|| way.ready.load(Relaxed))
    }

    /// Takes everything out; gives how many lines were dirty.
    pub(super) fn empty(&self) -> u64 {
        let was_dirty = |way: &&Way| way.word.swap(0, Relaxed) & DIRTY != 0;
        self.ways.iter().filter(was_dirty).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_full_set_the_line_used_longest_ago_goes() {
        // One set of four ways.
        let cache = Cache::new(4, 4);
        for line in 0..4 {
            assert!(!cache.admit(line, line == 1, 0));
        }
        assert_eq!(cache.look_up(0, false), Found::Here(0));
        assert!(cache.admit(4, false, 7), "line 1 was dirty");
        assert_eq!(cache.look_up(1, false), Found::Missing);
        assert_eq!(cache.look_up(4, false), Found::Here(7));
        cache.arrived(4);
        assert_eq!(cache.look_up(4, true), Found::Here(0));
        assert_eq!(cache.clean(4, false), Some(0));
        assert_eq!(cache.clean(4, true), None);
        assert!(!cache.holds(4) && cache.holds(0));
        cache.look_up(0, true);
        assert_eq!(cache.empty(), 1);
        assert!(!cache.holds(0));
    }

    #[test]
    fn a_larger_cache_misses_less() {
        let misses = |lines| {
            let (cache, mut misses) = (Cache::new(lines, 16), 0);
            for round in 0..4_u64 {
                for line in 0..1000 {
                    let line = line * 7 + round % 2;
                    if cache.look_up(line, false) == Found::Missing {
                        cache.admit(line, false, 0);
                        misses += 1;
                    }
                }
            }
            misses
        };
        assert_eq!(misses(64), 4000);
        assert!((2000..2300).contains(&misses(4096)), "{}", misses(4096));
    }
}
