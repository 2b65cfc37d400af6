//! Several changes at once, beside the same changes one by one, and beside what other stores take for theirs.
//!
//! Words are stored under words. A round opens every store on an empty file, loads it, and then stores entries in turns:
//! some one by one, as many in batches of ten, as many in batches of a thousand. So a disturbance of the machine meets all
//! three. Times are those of the thread's own processor time.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use endura::{Kind, MediaChoice, Pool};

use crate::figures::{Median, thread_cpu_time};
use crate::keys::key;
#[cfg(feature = "fjall")]
use crate::store::FjallStore;
#[cfg(feature = "redb")]
use crate::store::RedbWords;
#[cfg(feature = "rocksdb")]
use crate::store::RocksDbStore;
use crate::store::{BatchStore, Client, EnduraStore, Lmdb, Shape, StoreOptions, Survives};
use crate::store::{measured_pool, temporary};
use crate::workload::warm_bytes;
use crate::{Error, Result};

/// How entries are stored: by how many at once.
pub const SIZES: [usize; 3] = [1, 10, 1_000];
/// Entries that are stored in one way before it is the turn of the next.
const TURN: usize = 2_000;
/// How often one thread and then two commit batches.
const TURNS_OF_THREADS: u32 = 3;
/// How often a thread beside commits a batch of ten.
const BESIDE: Duration = Duration::from_millis(1);

/// A store that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(into = "&'static str")]
pub enum Contestant {
    /// A map of ours.
    Ours(Kind),
    /// LMDB, one transaction a batch.
    Lmdb,
    /// redb, one transaction a batch.
    #[cfg(feature = "redb")]
    Redb,
    /// RocksDB's write batch.
    #[cfg(feature = "rocksdb")]
    RocksDb,
    /// fjall's batch.
    #[cfg(feature = "fjall")]
    Fjall,
}

impl From<Contestant> for &'static str {
    fn from(contestant: Contestant) -> Self {
        contestant.name()
    }
}

impl Contestant {
    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ours(kind) => kind.name(),
            Self::Lmdb => "LMDB",
            #[cfg(feature = "redb")]
            Self::Redb => "redb",
            #[cfg(feature = "rocksdb")]
            Self::RocksDb => "RocksDB",
            #[cfg(feature = "fjall")]
            Self::Fjall => "fjall",
        }
    }

    /// Those of this build: with caches that are lost with the power, ours alone.
    pub fn all(is_adr: bool) -> Vec<Self> {
        let ours = [Self::Ours(Kind::FastFair), Self::Ours(Kind::NbTree)];
        let peers = [
            Self::Lmdb,
            #[cfg(feature = "redb")]
            Self::Redb,
            #[cfg(feature = "rocksdb")]
            Self::RocksDb,
            #[cfg(feature = "fjall")]
            Self::Fjall,
        ];
        ours.into_iter().chain(peers.into_iter().filter(|_| !is_adr)).collect()
    }

    fn round(self, dir: &Path, plan: Plan) -> Result<Round> {
        let mut options = StoreOptions::new(dir.into(), Shape::WORDS, 8 * plan.entries);
        match self {
            Self::Ours(kind) => {
                if plan.is_adr {
                    options.pool = measured_pool().media(MediaChoice::Adr);
                }
                let mut stores = EnduraStore::words(self.name(), kind, &options)?;
                let store = stores.pop().ok_or(Error::Config("a pool without a map"))?;
                let mut round = plan.run(&store)?;
                round.beside = Some(plan.beside(&store, store.pool())?);
                Ok(round)
            }
            Self::Lmdb => plan.run(&Lmdb::open(dir, options.lmdb_map_size(), Survives::Kill)?),
            #[cfg(feature = "redb")]
            Self::Redb => plan.run(&RedbWords::open(dir, Survives::Kill)?),
            #[cfg(feature = "rocksdb")]
            Self::RocksDb => plan.run(&RocksDbStore::open(dir, Shape::WORDS, Survives::Kill)?),
            #[cfg(feature = "fjall")]
            Self::Fjall => plan.run(&FjallStore::open(dir, Shape::WORDS)?),
        }
    }
}

/// What is done to each store.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// How many entries are loaded.
    pub entries: u64,
    /// How many entries are then stored in each way.
    pub stored: usize,
    /// Whether every store of ours is written back and fenced.
    pub is_adr: bool,
}

/// Nanoseconds an entry in one round: for keys that are there and for new ones, by [`SIZES`]; and for single ones beside a
/// thread that commits batches, with what they take without it.
#[derive(Debug, Clone, Copy, Default)]
struct Round {
    present: [f64; SIZES.len()],
    new: [f64; SIZES.len()],
    beside: Option<[f64; 2]>,
    /// How many batches of ten two threads commit in the time of one thread's one.
    two_threads: f64,
}

impl Plan {
    fn run<S: BatchStore>(self, store: &S) -> Result<Round> {
        let mut client = store.client()?;
        for from in (0..self.entries).step_by(1_000) {
            let to = self.entries.min(from + 1_000);
            let entries: Vec<(u64, u64)> = (from..to).map(|i| (key(i), i)).collect();
            store.insert_all(&mut client, &entries)?;
        }
        let mut spread = fastrand::Rng::with_seed(7);
        let present = turns(store, &mut client, self.stored, || spread.u64(..self.entries))?;
        let mut next = self.entries;
        let new = turns(store, &mut client, self.stored, || {
            next += 1;
            next
        })?;
        for i in [0, self.entries / 2, next] {
            if client.get(key(i))?.is_none() {
                let operation = "batches".to_string();
                return Err(Error::Wrong { store: store.name(), operation, wrong: 1, of: 3 });
            }
        }
        let two_threads = self.two_threads(store)?;
        Ok(Round { present, new, beside: None, two_threads })
    }

    /// How many batches of ten two threads commit in the time in which one commits one: of keys that are there, each thread of
    /// its own half.
    fn two_threads<S: BatchStore>(self, store: &S) -> Result<f64> {
        let commit = |thread: u64| -> Result<()> {
            let (mut client, half) = (store.client()?, self.entries.div_ceil(2));
            let mut spread = fastrand::Rng::with_seed(11 + thread);
            for _ in 0..self.stored.div_ceil(10) {
                let mut next = || thread * half + spread.u64(..half);
                let entries = [(); 10].map(|()| next()).map(|i| (key(i), i));
                store.insert_all(&mut client, &entries)?;
            }
            Ok(())
        };
        let mut took = [Duration::ZERO; 2];
        for _ in 0..TURNS_OF_THREADS {
            let begun = Instant::now();
            commit(0)?;
            took[0] += begun.elapsed();
            let begun = Instant::now();
            std::thread::scope(|scope| {
                let other = scope.spawn(|| commit(1));
                let own = commit(0);
                own.and(other.join().map_err(|_| Error::Config("a thread panicked"))?)
            })?;
            took[1] += begun.elapsed();
        }
        Ok(2.0 * took[0].as_secs_f64() / took[1].as_secs_f64())
    }

    /// Single entries with keys that are there: without another thread, and beside one that commits ten others each
    /// millisecond.
    fn beside<S: BatchStore>(self, store: &S, pool: &Pool) -> Result<[f64; 2]> {
        let mut client = store.client()?;
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let mut nanos = [Duration::ZERO; 2];
            let mut spread = fastrand::Rng::with_seed(9);
            let turns = self.stored.div_ceil(TURN);
            for turn in 0..2 * turns {
                let is_beside = turn % 2 == 1;
                stop.store(false, Ordering::Relaxed);
                let other = is_beside.then(|| scope.spawn(|| commit_now_and_then(pool, &stop)));
                if is_beside {
                    // The mode in which writers look for batches has begun.
                    std::thread::sleep(3 * BESIDE);
                }
                let begun = thread_cpu_time();
                for _ in 0..TURN {
                    let i = spread.u64(..self.entries);
                    client.insert(key(i), i)?;
                }
                nanos[usize::from(is_beside)] += thread_cpu_time() - begun;
                stop.store(true, Ordering::Relaxed);
                if let Some(other) = other {
                    other.join().map_err(|_| Error::Config("the thread beside panicked"))??;
                    // Without it the mode ends by itself.
                    std::thread::sleep(150 * BESIDE);
                    for i in 0..4_000 {
                        client.insert(key(i), i)?;
                    }
                }
            }
            Ok(nanos.map(|nanos| nanos.as_nanos() as f64 / (turns * TURN) as f64))
        })
    }
}

/// Commits ten entries of another map of the pool each millisecond, until it is to stop.
fn commit_now_and_then(pool: &Pool, stop: &AtomicBool) -> Result<()> {
    let map = pool.map::<u64, u64>("beside")?;
    let mut i = 0;
    while !stop.load(Ordering::Relaxed) {
        let mut batch = pool.batch();
        for _ in 0..10 {
            batch.put(&map, key(i % 100_000), i)?;
            i += 1;
        }
        batch.commit()?;
        std::thread::sleep(BESIDE);
    }
    Ok(())
}

/// Nanoseconds an entry, in each of the ways.
fn turns<'s, S: BatchStore>(
    store: &'s S,
    client: &mut S::Client<'s>,
    stored: usize,
    mut next: impl FnMut() -> u64,
) -> Result<[f64; SIZES.len()]> {
    let mut nanos = [Duration::ZERO; SIZES.len()];
    let turns = stored.div_ceil(TURN);
    for _ in 0..turns {
        for (size, nanos) in SIZES.iter().zip(&mut nanos) {
            let entries: Vec<(u64, u64)> = (0..TURN).map(|_| next()).map(|i| (key(i), i)).collect();
            let begun = thread_cpu_time();
            if *size == 1 {
                entries.iter().try_for_each(|&(key, value)| client.insert(key, value))?;
            } else {
                let mut batches = entries.chunks(*size);
                batches.try_for_each(|entries| store.insert_all(client, entries))?;
            }
            *nanos += thread_cpu_time() - begun;
        }
    }
    Ok(nanos.map(|nanos| nanos.as_nanos() as f64 / (turns * TURN) as f64))
}

/// What was measured of a store.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Figures {
    /// Which it is.
    pub contestant: Contestant,
    /// Nanoseconds an entry with a key that is there, by [`SIZES`].
    pub present: [Median; SIZES.len()],
    /// The same with a new key.
    pub new: [Median; SIZES.len()],
    /// How many times as long as one by one it took, in the same round, with keys that are there.
    pub present_ratios: [Median; SIZES.len()],
    /// The same with new keys.
    pub new_ratios: [Median; SIZES.len()],
    /// How many times as long a single entry took beside a thread that commits a batch each millisecond.
    pub beside: Option<Median>,
    /// How many batches of ten two threads commit, with keys of their own, in the time in which one commits one.
    pub two_threads: Median,
}

/// Measures all stores, in files in the folder `dir`. `progress` hears of each round of a store.
pub fn measure(
    plan: Plan,
    dir: &Path,
    rounds: u32,
    mut progress: impl FnMut(Contestant),
) -> Result<Vec<Figures>> {
    if plan.entries == 0 || plan.stored == 0 {
        return Err(Error::Config("at least one entry"));
    }
    let contestants = Contestant::all(plan.is_adr);
    let mut measured: Vec<Vec<Round>> = vec![Vec::new(); contestants.len()];
    for round in 0..rounds {
        let mut order: Vec<usize> = (0..contestants.len()).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for of in order {
            progress(contestants[of]);
            warm_bytes(dir, 64 * plan.entries);
            let folder = temporary(dir)?;
            measured[of].push(contestants[of].round(folder.path(), plan)?);
        }
    }
    Ok(contestants.into_iter().zip(&measured).map(|(of, rounds)| figures(of, rounds)).collect())
}

fn figures(contestant: Contestant, rounds: &[Round]) -> Figures {
    let all = |of: &dyn Fn(&Round, usize) -> f64| {
        std::array::from_fn(|size| Median::of(rounds.iter().map(|round| of(round, size)).collect()))
    };
    let beside: Vec<f64> = rounds
        .iter()
        .filter_map(|round| round.beside.map(|[alone, beside]| beside / alone))
        .collect();
    Figures {
        contestant,
        present: all(&|round, size| round.present[size]),
        new: all(&|round, size| round.new[size]),
        present_ratios: all(&|round, size| round.present[size] / round.present[0]),
        new_ratios: all(&|round, size| round.new[size] / round.new[0]),
        beside: (!beside.is_empty()).then(|| Median::of(beside)),
        two_threads: Median::of(rounds.iter().map(|round| round.two_threads).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_store_is_measured() -> Result<()> {
        let dir = tempfile::tempdir().expect("a temporary folder");
        for is_adr in [false, true] {
            let plan = Plan { entries: 3_000, stored: 2_000, is_adr };
            let mut rounds = 0;
            let figures = measure(plan, dir.path(), 1, |_| rounds += 1)?;
            assert_eq!((figures.len(), rounds), (Contestant::all(is_adr).len(), figures.len()));
            for figures in figures {
                let nanos = figures.present.iter().chain(&figures.new);
                assert!(nanos.into_iter().all(|nanos| nanos.median > 0.0), "{figures:?}");
                let is_ours = matches!(figures.contestant, Contestant::Ours(_));
                assert_eq!(figures.beside.is_some(), is_ours);
            }
        }
        Ok(())
    }
}
