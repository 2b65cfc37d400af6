//! A crash, and what requests see of it: the pool is left as it is in the middle of the work, and mounted
//! anew as after SIGKILL. (The process lives on, so that the clock does; `endura torture` kills real ones.)

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use endura_engine::media::Media;
use endura_engine::space::{self, LeakRecoverer, Space};
use endura_engine::tree::roart::Tree;
use endura_variants::handles::ByteMap;
use endura_variants::sessions;

use crate::keys::{key, value};
use crate::store::{ByteTreeClient, Client, Shape};
use crate::workload::Zipf;
use crate::{Error, Result};

/// How long the parts of a [`Timeline`] are.
#[derive(Debug, Clone, Copy)]
pub struct CrashPlan {
    /// Keys in the map.
    pub keys: u64,
    /// Threads that send requests.
    pub threads: usize,
    /// Threads that find out, after the crash, what is not in use.
    pub collectors: usize,
    /// From the begin to the crash.
    pub before: Duration,
    /// From the crash to the restart: what it takes until somebody notices.
    pub down: Duration,
    /// From the restart to the end.
    pub after: Duration,
    /// How finely requests are counted.
    pub step: Duration,
}

/// Requests per time, through a crash.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Timeline {
    /// Middles of the steps, in seconds, with million requests per second.
    pub points: Vec<(f64, f64)>,
    /// When the crash was, in seconds.
    pub crash: f64,
    /// When the restart began.
    pub restart: f64,
    /// From there to the first answer, in milliseconds.
    pub first_answer_ms: f64,
    /// When all space was accounted for again; none if it was not by the end.
    pub collected: Option<f64>,
    /// Bytes that the crash had stranded.
    pub bytes_freed: u64,
}

/// What a restart takes.
#[derive(Debug, Clone, Copy, serde::Serialize)]
pub struct Restart {
    /// Keys in the map.
    pub keys: u64,
    /// From the mount to the first answer, in milliseconds.
    pub first_answer_ms: f64,
    /// Until all space is accounted for, by one thread that does nothing else.
    pub collection_ms: f64,
}

fn mount<M: Media>(medium: &Arc<M>, generation: u64) -> Result<Arc<Space<Arc<M>>>> {
    // The first session begins on a fresh pool; the second finds that it was not closed.
    Ok(sessions::begin(Arc::clone(medium), generation, generation == 1)?)
}

fn open<M: Media>(space: &Arc<Space<Arc<M>>>) -> Result<Tree<Arc<M>>> {
    Ok(Tree::open(space, "recovery")?)
}

fn client<M: Media>(tree: &Tree<Arc<M>>) -> ByteTreeClient<Tree<Arc<M>>> {
    ByteTreeClient::new(ByteMap::over(tree.clone()), Shape::STRINGS)
}

fn load<M: Media>(space: &Arc<Space<Arc<M>>>, keys: u64) -> Result<()> {
    let mut client = client(&open(space)?);
    (0..keys).try_for_each(|i| client.insert(key(i), value(i)))
}

/// Requests of several threads, counted by steps of time.
struct Traffic {
    begun: Instant,
    step: Duration,
    counts: Vec<AtomicU64>,
    zipf: Zipf,
    keys: u64,
}

impl Traffic {
    /// Half lookups, half updates, zipfian, until `stop`.
    fn send(&self, client: &mut impl Client, seed: u64, stop: &AtomicBool) -> Result<()> {
        let mut rng = fastrand::Rng::with_seed(seed);
        while !stop.load(Ordering::Relaxed) {
            for _ in 0..64 {
                // Scattered: neighbours in rank are no neighbours in the map.
                let i = self.zipf.draw(&mut rng);
                let right = match rng.bool() {
                    true => client.get(key(i))?.is_some(),
                    false => client.update(key(i), i)?,
                };
                if !right {
                    let (store, operation) = ("endura", "a request after a crash".into());
                    return Err(Error::Wrong { store, operation, wrong: 1, of: self.keys });
                }
            }
            let step = self.begun.elapsed().as_nanos() / self.step.as_nanos().max(1);
            if let Some(count) = self.counts.get(step as usize) {
                count.fetch_add(64, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    /// So many threads send requests for so long.
    fn run<M: Media>(&self, tree: &Tree<Arc<M>>, threads: usize, time: Duration) -> Result<()> {
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let stop = &stop;
            let workers: Vec<_> = (0..threads as u64)
                .map(|seed| {
                    let mut client = client(tree);
                    scope.spawn(move || self.send(&mut client, seed, stop))
                })
                .collect();
            std::thread::sleep(time);
            stop.store(true, Ordering::Relaxed);
            workers.into_iter().try_for_each(|w| w.join().unwrap_or(Err(Error::Panicked)))
        })
    }
}

/// Runs requests on a fresh pool on `medium`, through a crash and a restart.
pub fn timeline<M: Media>(medium: M, plan: CrashPlan) -> Result<Timeline> {
    let medium = Arc::new(medium);
    Space::format(&medium)?;
    let space = mount(&medium, 1)?;
    load(&space, plan.keys)?;
    let steps = (plan.before + plan.down + plan.after).as_nanos() / plan.step.as_nanos().max(1);
    let requests = Traffic {
        begun: Instant::now(),
        step: plan.step,
        counts: std::iter::repeat_with(|| AtomicU64::new(0)).take(steps as usize).collect(),
        zipf: Zipf::new(plan.keys, Zipf::YCSB),
        keys: plan.keys,
    };
    let seconds = |then: Instant| (then - requests.begun).as_secs_f64();
    requests.run(&open(&space)?, plan.threads, plan.before)?;
    // Nothing is closed: what threads had in their hands is stranded.
    drop(space);
    let crash = Instant::now();
    std::thread::sleep(plan.down);
    let restart = Instant::now();
    let space = mount(&medium, 2)?;
    let tree = open(&space)?;
    client(&tree).get(key(0))?;
    let first_answer = restart.elapsed();
    let recoverer = LeakRecoverer::new(&space, vec![tree.marking()], LeakRecoverer::<Arc<M>>::BITE);
    let ended = std::thread::scope(|scope| -> Result<Option<Instant>> {
        let collecting: Vec<_> = (0..plan.collectors)
            .map(|_| {
                scope.spawn(|| {
                    recoverer.run();
                    Instant::now()
                })
            })
            .collect();
        requests.run(&tree, plan.threads, plan.after)?;
        let ends = collecting.into_iter().map(|one| one.join().map_err(|_| Error::Panicked));
        Ok(ends.collect::<Result<Vec<_>>>()?.into_iter().max())
    })?;
    let width = plan.step.as_secs_f64();
    let rate = |(step, count): (usize, &AtomicU64)| {
        ((step as f64 + 0.5) * width, count.load(Ordering::Relaxed) as f64 / width / 1e6)
    };
    Ok(Timeline {
        points: requests.counts.iter().enumerate().map(rate).collect(),
        crash: seconds(crash),
        restart: seconds(restart),
        first_answer_ms: first_answer.as_secs_f64() * 1e3,
        collected: ended.filter(|_| space.leak_recovery().is_done()).map(seconds),
        bytes_freed: space.leak_recovery().bytes_freed,
    })
}

/// What it takes to be back after a crash with so many keys.
pub fn restart<M: Media>(medium: M, keys: u64) -> Result<Restart> {
    let medium = Arc::new(medium);
    Space::format(&medium)?;
    let space = mount(&medium, 1)?;
    load(&space, keys)?;
    drop(space);
    let begun = Instant::now();
    let space = mount(&medium, 2)?;
    let tree = open(&space)?;
    let found = client(&tree).get(key(keys - 1))?;
    let first_answer = begun.elapsed();
    if found != Some(value(keys - 1)) {
        let (store, operation) = ("endura", "a lookup after a crash".into());
        return Err(Error::Wrong { store, operation, wrong: 1, of: 1 });
    }
    let begun = Instant::now();
    let walks = vec![tree.marking()];
    let recoverer = LeakRecoverer::new(&space, walks, LeakRecoverer::<Arc<M>>::BITE);
    while recoverer.step()? != space::LeakStep::Ended {}
    Ok(Restart {
        keys,
        first_answer_ms: first_answer.as_secs_f64() * 1e3,
        collection_ms: begun.elapsed().as_secs_f64() * 1e3,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::page_cache;

    #[test]
    fn requests_go_on_after_a_crash_and_all_space_is_found_again() {
        let ms = Duration::from_millis;
        let plan = CrashPlan {
            keys: 5_000,
            threads: 2,
            collectors: 1,
            before: ms(60),
            down: ms(20),
            after: ms(60),
            step: ms(10),
        };
        let dir = tempfile::tempdir().expect("a temporary folder");
        let medium = || page_cache(dir.path(), 256 << 20).expect("a medium");
        let timeline = timeline(medium(), plan).expect("a timeline");
        assert_eq!(timeline.points.len(), 14);
        assert!(timeline.crash < timeline.restart && timeline.collected.is_some(), "{timeline:?}");
        let sent: f64 = timeline.points.iter().map(|point| point.1).sum();
        assert!(sent > 0.0);
        let restart = restart(medium(), 5_000).expect("a restart");
        assert!(restart.first_answer_ms > 0.0 && restart.collection_ms > 0.0);
    }
}
