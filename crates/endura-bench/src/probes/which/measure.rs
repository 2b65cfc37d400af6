//! Rounds of all operations on all candidates.

use std::collections::HashSet;
use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use super::keys::{KeySet, Keys};
use super::map::{Candidate, Medium, Work};
use crate::figures::Median;
use crate::figures::thread_cpu_time;
use crate::store::{Footprint, OrderedBytes, temporary};
use crate::workload::warm_bytes;
use crate::{Error, Result};

/// What is measured, in the order in which it is done to a map. Scans are of so many entries; `lent` are entries that a closure
/// looks at, `owned` those that the caller keeps.
pub const OPERATIONS: [&str; 11] = [
    "load",
    "get",
    "miss",
    "insert",
    "update",
    "lent 10",
    "lent 100",
    "owned 100",
    "down 100",
    "prefix 100",
    "remove",
];

/// What is stored, and where.
#[derive(Debug, Clone, Copy, serde::Serialize)]
pub struct Case {
    /// The keys.
    pub set: KeySet,
    /// Bytes of a value.
    pub value_bytes: usize,
    /// How many are loaded.
    pub entries: u64,
    /// What the pools lie on.
    pub medium: Medium,
}

/// What was measured of a candidate.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Figures {
    /// Which it is.
    pub candidate: Candidate,
    /// Nanoseconds of each of the [`OPERATIONS`].
    pub nanos: [Median; OPERATIONS.len()],
    /// How many times as fast as the first candidate of the same round it was.
    pub ratios: [Median; OPERATIONS.len()],
    /// Bytes in use for each entry after the load.
    pub used_bytes: f64,
    /// Bytes of the file for each entry after the load.
    pub file_bytes: f64,
}

/// Keys in the order in which they are used.
struct Plan {
    set: KeySet,
    value: Vec<u8>,
    load: Keys,
    get: Keys,
    miss: Keys,
    insert: Keys,
    update: Keys,
    scan: Keys,
}

impl Plan {
    fn of(case: Case) -> Self {
        let entries = case.entries as usize;
        let most = (entries / 5).clamp(1, 400_000);
        let mut taken = HashSet::with_capacity(entries + 2 * most);
        let mut different = |count, from| Keys::different(case.set, count, from, &mut taken);
        let (load, next) = different(entries, 0);
        let (miss, next) = different(most, next);
        let (insert, _) = different(most / 4 + 1, next);
        let (get, update) = (load.pick(most, 1), load.pick(most / 2 + 1, 2));
        let scan = load.pick(most / 20 + 1, 3);
        Self {
            set: case.set,
            value: vec![7; case.value_bytes],
            load,
            get,
            miss,
            insert,
            update,
            scan,
        }
    }

    /// As many bytes as a candidate is likely to take for what is entered.
    fn bytes(&self) -> u64 {
        let [load, insert] = [&self.load, &self.insert].map(|keys| {
            keys.iter().map(|key| 2 * (key.len() + self.value.len()) as u64 + 32).sum::<u64>()
        });
        load + insert
    }
}

/// The nanoseconds of one round, and what the map took up.
type Round = ([f64; OPERATIONS.len()], Footprint);

impl Work for &Plan {
    type Output = Round;

    fn run<M: OrderedBytes>(
        self,
        store: &'static str,
        map: &mut M,
        footprint: &dyn Fn() -> Result<Footprint>,
    ) -> Result<Round> {
        let (value, mut read) = (&self.value[..], self.value.clone());
        let newer = vec![8; value.len()];
        let mut nanos = [0.0; OPERATIONS.len()];
        let [load, get, miss, insert, update, scans @ .., remove] = &mut nanos;
        let time = |operation: &str, keys: &Keys, work: &mut dyn FnMut(&[u8]) -> Result<bool>| {
            let (mut wrong, begun) = (0, thread_cpu_time());
            for key in keys.iter() {
                wrong += u64::from(!work(key)?);
            }
            let took: Duration = thread_cpu_time() - begun;
            match wrong {
                0 => Ok(took.as_nanos() as f64 / keys.len() as f64),
                wrong => {
                    let (operation, of) = (operation.to_string(), keys.len() as u64);
                    Err(Error::Wrong { store, operation, wrong, of })
                }
            }
        };
        *load = time("load", &self.load, &mut |key| map.put(key, value).map(|()| true))?;
        let loaded = footprint()?;
        *get = time("get", &self.get, &mut |key| map.get(key, &mut read))?;
        *miss = time("miss", &self.miss, &mut |key| map.get(key, &mut read).map(|found| !found))?;
        *insert = time("insert", &self.insert, &mut |key| map.put(key, value).map(|()| true))?;
        *update = time("update", &self.update, &mut |key| map.replace(key, &newer))?;
        let mut sum = 0_u64;
        let mut see = |key: &[u8], value: &[u8]| {
            sum += u64::from(key[key.len() - 1]) + u64::from(value[value.len() / 2]);
        };
        let [ten, lent, owned, down, prefix] = scans;
        *ten = time("scan", &self.scan, &mut |key| map.scan(key, 10, &mut see).map(|()| true))?;
        *lent = time("scan", &self.scan, &mut |key| map.scan(key, 100, &mut see).map(|()| true))?;
        *owned = time("scan", &self.scan, &mut |key| {
            map.scan_owned(key, 100, |key, value| see(&key, &value)).map(|()| true)
        })?;
        *down =
            time("scan", &self.scan, &mut |key| map.scan_down(key, 100, &mut see).map(|()| true))?;
        *prefix = time("scan", &self.scan, &mut |key| {
            map.scan_prefix(self.set.prefix_of(key), 100, &mut see).map(|()| true)
        })?;
        black_box(sum);
        *remove = time("remove", &self.insert, &mut |key| map.remove(key))?;
        Ok((nanos, loaded))
    }
}

/// Measures the candidates of a case, in files in the folder `dir`. `progress` hears of each round of a candidate.
pub fn measure(
    case: Case,
    dir: &Path,
    rounds: u32,
    mut progress: impl FnMut(Candidate),
) -> Result<Vec<Figures>> {
    if case.entries == 0 {
        return Err(Error::Config("at least one entry"));
    }
    let (plan, candidates) = (Plan::of(case), Candidate::all(case.medium));
    let mut measured: Vec<Vec<Round>> = vec![Vec::new(); candidates.len()];
    for round in 0..rounds {
        let mut order: Vec<usize> = (0..candidates.len()).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for of in order {
            progress(candidates[of]);
            warm_bytes(dir, plan.bytes());
            let folder = temporary(dir)?;
            let place = (case.set, case.medium, case.entries);
            measured[of].push(candidates[of].with_map(folder.path(), place, &plan)?);
        }
    }
    let per_entry = |bytes: u64| bytes as f64 / case.entries as f64;
    let figures = candidates.iter().zip(&measured).map(|(&candidate, rounds)| Figures {
        candidate,
        nanos: medians(|operation| rounds.iter().map(|(nanos, _)| nanos[operation]).collect()),
        ratios: medians(|operation| {
            let pairs = measured[0].iter().zip(rounds);
            pairs.map(|((first, _), (nanos, _))| first[operation] / nanos[operation]).collect()
        }),
        used_bytes: rounds.last().map_or(0.0, |(_, loaded)| per_entry(loaded.used_bytes)),
        file_bytes: rounds.last().map_or(0.0, |(_, loaded)| per_entry(loaded.file_bytes)),
    });
    Ok(figures.collect())
}

fn medians(of: impl Fn(usize) -> Vec<f64>) -> [Median; OPERATIONS.len()] {
    std::array::from_fn(|operation| Median::of(of(operation)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_set_is_measured_on_every_medium() -> Result<()> {
        let dir = tempfile::tempdir().expect("a temporary folder");
        for set in KeySet::ALL {
            for medium in Medium::ALL {
                let case = Case { set, value_bytes: 10, entries: 500, medium };
                let mut rounds = 0;
                let figures = measure(case, dir.path(), 1, |_| rounds += 1)?;
                assert_eq!(figures.len(), rounds);
                for figures in figures {
                    assert!(figures.nanos.iter().all(|nanos| nanos.median > 0.0), "{figures:?}");
                    assert!(
                        figures.used_bytes > 18.0 && figures.file_bytes > figures.used_bytes / 2.0
                    );
                }
            }
        }
        Ok(())
    }
}
