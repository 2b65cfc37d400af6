//! NBTrees that lack one of the paper's techniques each, and the numbered steps of the protocol.
//!
//! | design | what it lacks |
//! | --- | --- |
//! | [`TwoLayers`](endura_engine::tree::nbtree::TwoLayers) | nothing: the product |
//! | [`SingleLayer`] | fingerprints in DRAM: a search reads all claimed slots of a block in the pool |
//! | [`LockedWriters`] | writers that do not wait: one at a time in a leaf |
//! | [`LockedReaders`] | besides, readers that do not wait: none in a leaf beside a writer |

use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use endura_engine::tree::nbtree::{Design, NumberKeys};

/// What the tree announces with [`Mark::Step`](endura_engine::media::Mark::Step), in the order of the alphabet; the
/// documentation of the modules says what each is. Tests stop threads there, and crash.
pub const STEPS: [&str; 24] = [
    "alter.durable",
    "alter.exchange",
    "change.S0",
    "change.S1",
    "change.S3",
    "change.S4",
    "insert.I2",
    "insert.I3",
    "insert.pending",
    "insert.I4",
    "insert.I5",
    "insert.durable",
    "merge.M1",
    "merge.M2",
    "read.leaf",
    "read.fingerprints",
    "reroute.cell",
    "reroute.frozen",
    "reroute.root",
    "settle.S5",
    "settle.S6",
    "settle.S7",
    "settle.S8",
    "settle.unlink",
];

/// Locks, which leaves share by their number: a conflict in some thousand is one that is none.
const LOCKS: usize = 4096;

static WRITERS: [Mutex<()>; LOCKS] = [const { Mutex::new(()) }; LOCKS];
static ALL: [RwLock<()>; LOCKS] = [const { RwLock::new(()) }; LOCKS];

fn place(leaf: u32) -> usize {
    // Neighbours are made one after the other.
    leaf.wrapping_mul(0x9e37_79b1) as usize >> 20 & (LOCKS - 1)
}

/// Leaves of one layer.
#[derive(Debug, Clone, Copy)]
pub struct SingleLayer;

impl Design for SingleLayer {
    type Keys = NumberKeys;
    const HAS_TAGS: bool = false;
    type Held = ();

    #[inline(always)]
    fn before_read(_: u32) {}

    #[inline(always)]
    fn before_write(_: u32) {}
}

/// Writers take a lock of their leaf.
#[derive(Debug, Clone, Copy)]
pub struct LockedWriters;

impl Design for LockedWriters {
    type Keys = NumberKeys;
    type Held = Option<MutexGuard<'static, ()>>;

    #[inline]
    fn before_read(_: u32) -> Self::Held {
        None
    }

    #[inline]
    fn before_write(leaf: u32) -> Self::Held {
        Some(WRITERS[place(leaf)].lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Readers and writers take a lock of their leaf.
#[derive(Debug, Clone, Copy)]
pub struct LockedReaders;

/// A lock of a leaf.
#[derive(Debug)]
pub enum Lock {
    /// Beside other readers.
    Read(RwLockReadGuard<'static, ()>),
    /// Alone.
    Write(RwLockWriteGuard<'static, ()>),
}

impl Design for LockedReaders {
    type Keys = NumberKeys;
    type Held = Lock;

    #[inline]
    fn before_read(leaf: u32) -> Lock {
        Lock::Read(ALL[place(leaf)].read().unwrap_or_else(PoisonError::into_inner))
    }

    #[inline]
    fn before_write(leaf: u32) -> Lock {
        Lock::Write(ALL[place(leaf)].write().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]
mod tests {
    use std::collections::BTreeMap;
    use std::thread;

    use endura_engine::media::Heap;
    use endura_engine::tree::nbtree::{Tree, TwoLayers};

    use super::*;
    use crate::handles::WordMap;
    use crate::sessions;

    /// A map with so few entries in a node that all changes of shape happen soon.
    fn tiny<D: Design<Keys = NumberKeys>>() -> WordMap<Tree<Heap, 8, 4, D>> {
        let space = sessions::first(Heap::new(32 << 20)).expect("a pool");
        WordMap::over(Tree::open_as(&space, "ablation").expect("a map"))
    }

    /// One thread does what is done to a model.
    fn is_a_map<D: Design<Keys = NumberKeys>>() {
        let (map, mut model) = (tiny::<D>(), BTreeMap::new());
        let mut random = fastrand::Rng::with_seed(7);
        for n in 0..20_000 {
            let key = random.u64(..200);
            match random.u8(..8) {
                0..3 => assert_eq!(map.insert(key, n).unwrap(), model.insert(key, n)),
                3 => {
                    let was = model.get_mut(&key).map(|value| std::mem::replace(value, n));
                    assert_eq!(map.update(key, n).unwrap(), was);
                }
                4..7 => assert_eq!(map.remove(key).unwrap(), model.remove(&key)),
                _ => assert_eq!(map.get(key).unwrap(), model.get(&key).copied()),
            }
        }
        let entries: Vec<_> = map.iter().map(Result::unwrap).collect();
        assert_eq!(entries, model.into_iter().collect::<Vec<_>>());
    }

    /// Threads that enter, count up, read and remove in the same leaves: nothing is lost.
    fn is_shared<D: Design<Keys = NumberKeys>>() {
        const THREADS: u64 = 4;
        const ROUNDS: u64 = 3_000;
        let map = tiny::<D>();
        (0..4).for_each(|counter| _ = map.insert(10 * counter, 0).unwrap());
        thread::scope(|scope| {
            for me in 0..THREADS {
                let map = &map;
                scope.spawn(move || {
                    for n in 0..ROUNDS {
                        let counter = 10 * (n % 4);
                        map.fetch_update(counter, |old| old.map(|old| old + 1)).unwrap();
                        let own = 10 * (n % 8) + 1 + me;
                        assert_eq!(map.insert(own, n).unwrap(), None);
                        assert_eq!(map.get(own).unwrap(), Some(n));
                        assert_eq!(map.remove(own).unwrap(), Some(n));
                    }
                });
            }
        });
        let sum: u64 = (0..4).map(|counter| map.get(10 * counter).unwrap().unwrap()).sum();
        assert_eq!((sum, map.iter().count()), (THREADS * ROUNDS, 4));
    }

    #[test]
    fn every_design_is_the_map_that_its_model_is() {
        is_a_map::<TwoLayers>();
        is_a_map::<SingleLayer>();
        is_a_map::<LockedWriters>();
        is_a_map::<LockedReaders>();
    }

    #[test]
    fn threads_share_every_design() {
        is_shared::<TwoLayers>();
        is_shared::<SingleLayer>();
        is_shared::<LockedWriters>();
        is_shared::<LockedReaders>();
    }
}
