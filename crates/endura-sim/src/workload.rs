//! Random histories of maps from `u64` to `u64`: what campaigns run.
//!
//! Histories come in bouts. Each fills, drains, mixes or pops, upwards, downwards or anywhere, so that a tree
//! of small nodes splits, merges and changes its height all the time. Uniform choices would do that
//! seldom.

use crate::choose::Random;
use crate::subjects::MapOp;

/// A history to be crashed, and one that comes before it.
#[derive(Debug, Clone)]
pub struct Workload {
    /// The keys that operations are about, ascending.
    pub keys: Vec<u64>,
    /// What makes the start.
    pub before: Vec<MapOp>,
    /// What is crashed.
    pub ops: Vec<MapOp>,
}

impl Workload {
    /// Workload `number`: `len` operations on about `count` keys, after at most twice as many. No two of
    /// different numbers leave the same images, for a key of its own holds the number.
    pub fn new(number: u64, count: u64, len: usize) -> Self {
        let mut random = Random::new(number);
        let keys = keys(count);
        let mut before = vec![MapOp::Put(NUMBER_KEY, number)];
        let grown = random.below(2 * len as u64) as usize;
        before.extend(history(&mut random, &keys, grown));
        let ops = history(&mut random, &keys, len);
        Self { keys, before, ops }
    }
}

/// The key under which a workload keeps its number; no operation is about it.
pub const NUMBER_KEY: u64 = 7;

/// `count` keys, and seven more: both ends of the key space and both sides of its middle, where trees
/// have borders.
pub fn keys(count: u64) -> Vec<u64> {
    let middle = 1 << 63;
    let borders = [0, middle - 10, middle - 1, middle, middle + 10, u64::MAX - 10, u64::MAX];
    let mut keys: Vec<u64> = (1..=count).map(|i| 10 * i).chain(borders).collect();
    keys.sort_unstable();
    keys
}

/// `len` operations on `keys`, bout after bout.
pub fn history(random: &mut Random, keys: &[u64], len: usize) -> Vec<MapOp> {
    let n = keys.len() as u64;
    let mut ops = Vec::with_capacity(len);
    while ops.len() < len {
        let (from, count) = (random.below(n), 3 + random.below(20));
        let (kind, way) = (random.below(4), random.below(3));
        for i in 0..count {
            let at = match way {
                0 => (from + i) % n,
                1 => (from + n * count - i) % n,
                _ => random.below(n),
            };
            let key = keys[at as usize];
            ops.push(match kind {
                0 => MapOp::Remove(key),
                // A queue, or a stack: entered here and there, taken out at one end.
                3 if random.one_in(2) => match way {
                    0 => MapOp::PopFirst,
                    1 => MapOp::PopLast,
                    _ => *random.pick(&[MapOp::PopFirst, MapOp::PopLast]),
                },
                // Few values: a tree must not take equal ones for the same entry.
                1 | 3 => MapOp::Put(key, random.below(4)),
                _ if random.one_in(2) => MapOp::Remove(key),
                _ => MapOp::Put(key, random.below(1_000)),
            });
        }
    }
    ops.truncate(len);
    ops
}
