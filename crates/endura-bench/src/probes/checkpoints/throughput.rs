//! How much of the throughput checkpoints take away.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use endura::{Checkpoints, Map, Pool};

use super::bed::{Bed, Opened, Watch};
use crate::figures::Median;
use crate::keys::key;
use crate::workload::Zipf;
use crate::{Error, Result};

/// Requests that are drawn beforehand, so that no turn measures the drawing. They are sent again and again.
const DRAWN: usize = 1 << 20;
/// The interval of [`Pace::Rare`].
const RARE: Duration = Duration::from_secs(30);
/// The interval of [`Pace::Often`].
const OFTEN: Duration = Duration::from_secs(1);

/// When checkpoints are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub enum Pace {
    /// Never.
    Never,
    /// Each 30 s: one in the middle of a turn.
    Rare,
    /// A second after the last.
    Often,
}

impl Pace {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Never, Self::Rare, Self::Often];

    fn checkpoints(self) -> Checkpoints {
        match self {
            Self::Never => Checkpoints::off(),
            Self::Rare => Checkpoints::on_demand(),
            Self::Often => Checkpoints::every(OFTEN),
        }
    }
}

/// Half gets, half updates, zipfian with 0.99.
#[derive(Debug, Clone, Copy)]
pub struct ThroughputPlan {
    /// Threads that send requests.
    pub threads: usize,
    /// Turns of each pace.
    pub rounds: u32,
    /// How long a turn is.
    pub turn: Duration,
}

/// One turn.
#[derive(Debug, Clone, Copy, serde::Serialize)]
pub struct ThroughputTurn {
    /// Million requests a second.
    pub millions: f64,
    /// Checkpoints that were made meanwhile.
    pub checkpoints: u64,
    /// Checkpoints that failed.
    pub failed: u64,
}

/// What was measured.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Throughput {
    /// Keys in the map.
    pub keys: u64,
    /// Threads that sent requests.
    pub threads: usize,
    /// How long a turn was.
    pub turn_seconds: f64,
    /// The turns of each pace, as [`Pace::ALL`] has them.
    pub turns: [Vec<ThroughputTurn>; 3],
}

impl Throughput {
    /// Million requests a second in turns of this pace.
    pub fn median(&self, pace: Pace) -> Median {
        let turns = &self.turns[pace as usize];
        Median::of(turns.iter().map(|turn| turn.millions).collect())
    }

    /// The throughput at a pace to that without checkpoints in the same round: the median over the rounds. A turn at
    /// [`Pace::Rare`] has one checkpoint; what it lost is scaled to 30 s if the turn was not as long.
    pub fn ratio(&self, pace: Pace) -> Median {
        let scale = match pace {
            Pace::Rare => self.turn_seconds / RARE.as_secs_f64(),
            Pace::Never | Pace::Often => 1.0,
        };
        let [without, ..] = &self.turns;
        let pairs = self.turns[pace as usize].iter().zip(without);
        let ratios = pairs.map(|(with, without)| with.millions / without.millions);
        Median::of(ratios.map(|ratio| 1.0 - (1.0 - ratio) * scale).collect())
    }
}

/// Runs all paces in turn, in another order in each round.
pub fn throughput(bed: &Bed, plan: ThroughputPlan, watch: &Watch<'_>) -> Result<Throughput> {
    let requests: Vec<_> = (0..plan.threads as u64).map(|seed| draw(bed.keys(), seed)).collect();
    let mut turns = [const { Vec::new() }; 3];
    for round in 0..plan.rounds {
        for n in 0..Pace::ALL.len() {
            let pace = Pace::ALL[(n + round as usize) % Pace::ALL.len()];
            let (threads, rounds) = (plan.threads, plan.rounds);
            watch(format!("threads {threads}, round {} of {rounds}: {pace:?}", round + 1));
            turns[pace as usize].push(turn(bed, plan, pace, &requests)?);
        }
    }
    let (keys, turn_seconds) = (bed.keys(), plan.turn.as_secs_f64());
    Ok(Throughput { keys, threads: plan.threads, turn_seconds, turns })
}

/// Keys, each with whether it is updated.
pub(super) fn draw(keys: u64, seed: u64) -> Vec<(u64, bool)> {
    let (zipf, mut rng) = (Zipf::new(keys, Zipf::YCSB), fastrand::Rng::with_seed(seed + 1));
    // Neighbours in rank are no neighbours in the map.
    (0..DRAWN).map(|_| (key(zipf.draw(&mut rng)), rng.bool())).collect()
}

fn turn<'r>(
    bed: &Bed,
    plan: ThroughputPlan,
    pace: Pace,
    requests: &'r [Vec<(u64, bool)>],
) -> Result<ThroughputTurn> {
    let opened = bed.open(pace.checkpoints())?;
    let Opened { pool, map, .. } = &opened;
    // No request is the first to touch a page since the pool was opened.
    (0..bed.keys()).try_for_each(|i| map.put(key(i), i).map(drop))?;
    if pace != Pace::Never {
        opened.first_checkpoint()?;
    }
    let (before, stop) = (opened.checkpoints(), AtomicBool::new(false));
    let (sent, took) = std::thread::scope(|scope| {
        let begun = Instant::now();
        let stop = &stop;
        let send = |requests: &'r Vec<_>| scope.spawn(move || send(map, requests, stop));
        let senders: Vec<_> = requests.iter().map(send).collect();
        let waited = wait(pool, pace, plan.turn);
        stop.store(true, Ordering::Relaxed);
        let mut sent = 0;
        for sender in senders {
            sent += sender.join().map_err(|_| Error::Panicked)??;
        }
        waited.map(|()| (sent, begun.elapsed()))
    })?;
    let after = opened.checkpoints();
    pool.close()?;
    Ok(ThroughputTurn {
        millions: sent as f64 / took.as_secs_f64() / 1e6,
        checkpoints: after[0] - before[0],
        failed: after[1] - before[1],
    })
}

fn wait(pool: &Pool, pace: Pace, turn: Duration) -> Result<()> {
    let begun = Instant::now();
    if pace == Pace::Rare {
        std::thread::sleep(turn / 2);
        pool.checkpoint()?;
    }
    std::thread::sleep(turn.saturating_sub(begun.elapsed()));
    Ok(())
}

/// Sends requests until `stop`; returns how many.
fn send(map: &Map<u64, u64>, requests: &[(u64, bool)], stop: &AtomicBool) -> Result<u64> {
    let (mut sent, mut wrong) = (0, 0);
    for part in requests.chunks(64).cycle() {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        for &(key, updates) in part {
            let is_right = if updates { !map.put(key, sent)? } else { map.get(key)?.is_some() };
            wrong += u64::from(!is_right);
        }
        sent += part.len() as u64;
    }
    if wrong > 0 {
        let operation = "half updates, half gets".into();
        return Err(Error::Wrong { store: "endura", operation, wrong, of: sent });
    }
    Ok(sent)
}
