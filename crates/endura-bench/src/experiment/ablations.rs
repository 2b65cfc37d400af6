//! NBTrees that lack one of its techniques each, to see what that is worth: what the paper's Figures 6
//! and 8 compare.
//!
//! The designs are those of [`endura_variants::nbtree`]; [`TwoLayers`] lacks nothing.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use endura::lab::handles::WordMap;
use endura::lab::media::Heap;
use endura::lab::pool::{Session, Space};
use endura::lab::tree::nbtree::{Design, Tree, TwoLayers};
use endura_variants::nbtree::{LockedReaders, LockedWriters, SingleLayer};

use crate::keys::{key, value};
use crate::{Error, Result};

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
    let map = WordMap::over(Tree::<_, 128, 64, D>::open_as(&space, "ablation")?);
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
    use super::*;

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
