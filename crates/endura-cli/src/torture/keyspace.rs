//! The keys of a round, and the threads that own them.
//!
//! The remainder of a key selects the thread that owns it, so that each node has keys of all threads. Thirty-two *hot*
//! keys are shared. The value of a hot key is one word, in which each thread has a lane with a counter. Only the thread
//! itself changes its lane. Whatever the threads do to each other in such a word, a lane must show what its thread did.

use std::collections::BTreeMap;

/// The number of shared keys.
pub(crate) const HOT_KEYS: usize = 32;

/// The distance between two shared keys, and the first of them. They lie among the dense keys.
const HOT_DISTANCE: u64 = 1021;
const HOT_FIRST: u64 = 509;

/// The i-th shared key.
pub(crate) fn hot_key(i: usize) -> u64 {
    HOT_FIRST + HOT_DISTANCE * i as u64
}

/// The index of a shared key; `None` for another key.
pub(crate) fn hot_index(key: u64) -> Option<usize> {
    let i = key.checked_sub(HOT_FIRST)?;
    let is_hot = i.is_multiple_of(HOT_DISTANCE) && i / HOT_DISTANCE < HOT_KEYS as u64;
    is_hot.then_some((i / HOT_DISTANCE) as usize)
}

/// The thread that owns a key; `None` for a shared key.
pub(crate) fn owner(key: u64, threads: usize) -> Option<usize> {
    hot_index(key).is_none().then_some((key % threads as u64) as usize)
}

/// A key of `thread` near `key`: the one among the same `threads` consecutive keys, or a neighbour of that one if there
/// is none or it is shared.
pub(crate) fn own(key: u64, thread: usize, threads: usize) -> u64 {
    let (thread, threads) = (thread as u64, threads as u64);
    let floor = key - key % threads;
    let key = floor.checked_add(thread).unwrap_or_else(|| floor - threads + thread);
    // The distance of shared keys is larger than the number of threads, so the thread's next key is not shared.
    if hot_index(key).is_some() { key + threads } else { key }
}

/// One thread's counter in a shared word.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lane {
    shift: u32,
    mask: u64,
}

impl Lane {
    pub(crate) fn new(thread: usize, threads: usize) -> Self {
        let bits = 64 / threads as u32;
        Self { shift: bits * thread as u32, mask: u64::MAX >> (64 - bits) }
    }

    /// The counter of this lane in a word.
    pub(crate) fn of(self, word: u64) -> u64 {
        word >> self.shift & self.mask
    }

    /// The value that the lane shows for a count that exceeds its width.
    pub(crate) fn shown(self, count: u64) -> u64 {
        count & self.mask
    }

    /// The word with this counter incremented, modulo its width, and the others unchanged.
    pub(crate) fn bump(self, word: u64) -> u64 {
        let next = self.shown(self.of(word).wrapping_add(1));
        word & !(self.mask << self.shift) | next << self.shift
    }
}

/// The distribution of the keys of a round, and their number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    spread: Spread,
    /// The number of keys to which a thread's part grows.
    pub(crate) scale: u64,
}

#[derive(Debug, Clone, Copy)]
enum Spread {
    /// All keys from 0 up.
    Dense,
    /// Any keys.
    Random,
    /// A few clusters, at both ends of the range and between.
    Crowds,
}

impl Shape {
    /// The shape of a round. Small ones, in which the root changes often, are as frequent as large ones.
    pub(crate) fn of(seed: u64, round: u64) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed ^ round.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let spread = match rng.u8(..3) {
            0 => Spread::Dense,
            1 => Spread::Random,
            _ => Spread::Crowds,
        };
        let scale = [12, 40, 150, 600, 3_000, 20_000][rng.usize(..6)];
        Self { spread, scale }
    }

    /// A random key of any thread.
    pub(crate) fn draw(&self, rng: &mut fastrand::Rng) -> u64 {
        let near = rng.u64(..self.scale * 8);
        match self.spread {
            Spread::Dense => near,
            Spread::Random => rng.u64(..),
            Spread::Crowds => match rng.u8(..4) {
                0 => near,
                1 => u64::MAX - near,
                2 => (1 << 63) + near * 1_000_003,
                _ => (1 << 32) + near,
            },
        }
    }

    /// The approximate distance of neighbours.
    pub(crate) fn stride(&self, rng: &mut fastrand::Rng) -> u64 {
        match self.spread {
            Spread::Dense | Spread::Crowds => rng.u64(1..32),
            Spread::Random => rng.u64(1..1 << 52),
        }
    }
}

/// The entries of a map that one thread owns, and that thread's lanes of the shared keys.
pub(crate) fn part_of(
    entries: &BTreeMap<u64, u64>,
    thread: usize,
    threads: usize,
) -> (BTreeMap<u64, u64>, [u64; HOT_KEYS]) {
    let mine = entries.iter().filter(|&(&key, _)| owner(key, threads) == Some(thread));
    let lane = Lane::new(thread, threads);
    let count = |i| lane.of(entries.get(&hot_key(i)).copied().unwrap_or(0));
    (mine.map(|(&key, &value)| (key, value)).collect(), std::array::from_fn(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_belongs_to_one_thread_or_to_all() {
        for threads in 1..=16 {
            for key in [0, 1, 508, 509, 510, 1530, u64::MAX - 1, u64::MAX] {
                for thread in 0..threads {
                    assert_eq!(owner(own(key, thread, threads), threads), Some(thread));
                }
            }
        }
        assert_eq!(owner(hot_key(31), 4), None);
        assert_eq!(hot_index(hot_key(31) + HOT_DISTANCE), None);
    }

    #[test]
    fn lanes_go_round_without_touching_each_other() {
        for threads in 1..=16 {
            let lanes: Vec<_> = (0..threads).map(|t| Lane::new(t, threads)).collect();
            let mut word = 0;
            for _ in 0..300 {
                word = lanes[threads - 1].bump(word);
            }
            assert_eq!(lanes[threads - 1].of(word), 300 & lanes[0].mask);
            assert!(threads == 1 || lanes[0].of(word) == 0);
        }
    }
}
