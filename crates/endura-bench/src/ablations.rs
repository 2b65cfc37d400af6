//! NBTrees that lack one of its techniques each, to see what that is worth: what the paper's Figures 6
//! and 8 compare.
//!
//! | design | what it lacks |
//! | --- | --- |
//! | [`TwoLayers`] | nothing: the product |
//! | [`SingleLayer`] | tags in DRAM: a search reads all claimed slots of a block in the pool |
//! | [`LockedWriters`] | writers that do not wait: one at a time in a leaf |
//! | [`LockedReaders`] | besides, readers that do not wait: none in a leaf beside a writer |

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread;
use std::time::{Duration, Instant};

use endura::Map;
use endura::lab::media::Heap;
use endura::lab::pool::{Session, Space};
use endura::lab::tree::nbtree::{Design, Tree, TwoLayers};

use crate::keys::{key, value};
use crate::{Error, Result};

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

/// Nanoseconds of wall time per operation.
#[derive(Debug, Clone, Copy, serde::Serialize)]
pub struct Row {
    /// Which design.
    pub design: &'static str,
    /// Inserts of `keys` uniform keys.
    pub insert: f64,
    /// Lookups of all of them.
    pub get: f64,
    /// Lookups of as many that are not there.
    pub miss: f64,
    /// Updates of all of them.
    pub update: f64,
    /// Updates of 64 keys in turn: threads meet in few leaves.
    pub hot_update: f64,
    /// Removes of all of them.
    pub remove: f64,
}

impl Row {
    /// The shorter of two times for each operation.
    fn best(self, other: &Self) -> Self {
        Self {
            design: self.design,
            insert: self.insert.min(other.insert),
            get: self.get.min(other.get),
            miss: self.miss.min(other.miss),
            update: self.update.min(other.update),
            hot_update: self.hot_update.min(other.hot_update),
            remove: self.remove.min(other.remove),
        }
    }
}

/// Measures all designs, on memory that nothing is flushed from, in so many rounds (at least one), in
/// each of which they take turns. The shortest time of each operation counts: what else the machine does
/// only makes it longer.
///
/// # Errors
///
/// Whatever a map says, and [`Error::Wrong`] where it does not find what it should.
pub fn compare(keys: u64, threads: u64, rounds: u64) -> Result<Vec<Row>> {
    let round = || -> Result<Vec<Row>> {
        Ok(vec![
            measure::<TwoLayers>("TwoLayers", keys, threads)?,
            measure::<SingleLayer>("SingleLayer", keys, threads)?,
            measure::<LockedWriters>("LockedWriters", keys, threads)?,
            measure::<LockedReaders>("LockedReaders", keys, threads)?,
        ])
    };
    let mut rows = round()?;
    for _ in 1..rounds {
        rows = rows.into_iter().zip(round()?).map(|(row, again)| row.best(&again)).collect();
    }
    Ok(rows)
}

/// Measures one design with so many threads.
///
/// # Errors
///
/// As for [`compare`].
pub fn measure<D: Design>(design: &'static str, keys: u64, threads: u64) -> Result<Row> {
    let medium = Heap::new((64 << 20) + 64 * keys);
    Space::format(&medium)?;
    let session = Session { generation: 1, clean: true, read_only: false };
    let space = Arc::new(Space::mount(medium, session)?);
    let map = Map::over(Tree::<_, 128, 64, D>::open_as(&space, "ablation")?);
    let run =
        |operation: &str, run: &(dyn Fn(u64) -> endura::Result<bool> + Sync)| -> Result<f64> {
            let (took, wrong) = timed(keys, threads, run)?;
            match wrong {
                0 => Ok(took.as_nanos() as f64 / keys.max(1) as f64),
                wrong => {
                    let operation = operation.into();
                    Err(Error::Wrong { store: design, operation, wrong, of: keys })
                }
            }
        };
    Ok(Row {
        design,
        insert: run("insert", &|i| map.insert_new(key(i), value(i)))?,
        get: run("get", &|i| Ok(map.get(key(i))? == Some(value(i))))?,
        miss: run("miss", &|i| Ok(map.get(key((1 << 48) + i))?.is_none()))?,
        update: run("update", &|i| Ok(map.update(key(i), i)?.is_some()))?,
        hot_update: run("update", &|i| Ok(map.update(key(i % 64 % keys), i)?.is_some()))?,
        remove: run("remove", &|i| Ok(map.remove(key(i))?.is_some()))?,
    })
}

/// Runs `operation` for all numbers below `keys`, divided among the threads; how long it took, and how
/// often it was not as it should be.
fn timed(
    keys: u64,
    threads: u64,
    operation: &(dyn Fn(u64) -> endura::Result<bool> + Sync),
) -> Result<(Duration, u64)> {
    let begun = Instant::now();
    let share = |thread: u64| -> Result<u64> {
        let mut wrong = 0;
        for i in (thread..keys).step_by(threads as usize) {
            wrong += u64::from(!operation(i)?);
        }
        Ok(wrong)
    };
    let wrong = thread::scope(|scope| {
        let others: Vec<_> =
            (1..threads).map(|thread| scope.spawn(move || share(thread))).collect();
        others.into_iter().try_fold(share(0)?, |sum, other| match other.join() {
            Ok(theirs) => Ok(sum + theirs?),
            Err(_) => Err(Error::Panicked),
        })
    })?;
    Ok((begun.elapsed(), wrong))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// A map with so few entries in a node that all changes of shape happen soon.
    fn tiny<D: Design>() -> Map<Tree<Heap, 8, 4, D>> {
        let medium = Heap::new(32 << 20);
        Space::format(&medium).expect("a pool");
        let session = Session { generation: 1, clean: true, read_only: false };
        let space = Arc::new(Space::mount(medium, session).expect("a pool"));
        Map::over(Tree::open_as(&space, "ablation").expect("a map"))
    }

    /// One thread does what is done to a model.
    fn is_a_map<D: Design>() {
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
    fn is_shared<D: Design>() {
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

    /// Each measurement looks at every answer.
    #[test]
    fn every_design_finds_what_was_entered() {
        for threads in [1, 3] {
            let rows = compare(20_000, threads, 1).expect("four maps");
            assert_eq!(rows.len(), 4);
            assert!(rows.iter().all(|row| row.get > 0.0 && row.hot_update > 0.0), "{rows:?}");
        }
    }
}
