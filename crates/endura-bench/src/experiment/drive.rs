//! Mixed work on a [`Subject`], by threads that start together.

use std::sync::Barrier;

use hdrhistogram::Histogram;

use super::subject::Subject;
use crate::figures::{Latency, Median, Pacing, timed};
use crate::keys::{key, value};
use crate::store::Client;
use crate::workload::{Choice, Part, Sampler, Timing, on_threads};
use crate::{Error, Result};

/// How many parts of the work are what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OperationMix {
    /// Lookups of keys that are there.
    pub get: u32,
    /// Inserts of keys that are not.
    pub insert: u32,
    /// Updates of keys that are there.
    pub update: u32,
    /// Removes: of what this thread inserted, the oldest first, then of what was loaded.
    pub remove: u32,
    /// Scans.
    pub scan: u32,
    /// Entries of a scan.
    pub scan_length: usize,
}

impl OperationMix {
    /// Lookups only.
    pub const GET: Self = Self { get: 1, ..Self::NONE };
    /// Inserts only.
    pub const INSERT: Self = Self { insert: 1, ..Self::NONE };
    /// Updates only.
    pub const UPDATE: Self = Self { update: 1, ..Self::NONE };
    /// Removes only.
    pub const REMOVE: Self = Self { remove: 1, ..Self::NONE };
    /// Half lookups, half updates.
    pub const HALVES: Self = Self { get: 1, update: 1, ..Self::NONE };
    /// Nothing: what others are made of.
    pub const NONE: Self =
        Self { get: 0, insert: 0, update: 0, remove: 0, scan: 0, scan_length: 0 };

    /// Scans of so many entries only.
    pub const fn scan(scan_length: usize) -> Self {
        Self { scan: 1, scan_length, ..Self::NONE }
    }
}

/// How much work, on how much.
#[derive(Debug, Clone, Copy)]
pub struct Work {
    /// Keys that were loaded: the first so many.
    pub keys: u64,
    /// Where new keys begin: beyond what was inserted before.
    pub next: u64,
    /// Loaded keys that are gone: the first so many.
    pub removed: u64,
    /// Operations, all threads together.
    pub operations: u64,
    /// Threads.
    pub threads: usize,
    /// Where the random numbers start.
    pub seed: u64,
    /// Which keys.
    pub choice: Choice,
}

/// How fast it went.
#[derive(Debug, Clone, Copy)]
pub struct Rate {
    /// Nanoseconds per operation, all threads together: of the time that they would have taken alone on
    /// their processors ([`Timing::alone_seconds`]); with one thread of its CPU time. Both are wall time on a
    /// machine that has nothing else to do, and nearly the same on a busy one.
    pub ns: f64,
    /// What single operations took.
    pub latency: Latency,
}

/// Inserts keys `from..to` in random order, one thread.
pub fn load(subject: &Subject, keys: std::ops::Range<u64>) -> Result<()> {
    let mut client = subject.client();
    keys.into_iter().try_for_each(|i| client.insert(key(i), value(i)))
}

/// Runs the mix once.
pub fn drive(subject: &Subject, mix: OperationMix, work: Work) -> Result<Rate> {
    let barrier = Barrier::new(work.threads);
    let sampler = work.choice.sampler(work.keys);
    let parts = on_threads(work.threads, |thread| {
        let mut client = subject.client();
        let plan = plan(mix, work, &sampler, thread as u64);
        barrier.wait();
        Part::time(plan.len() as u64, |latencies| perform(&mut *client, mix, &plan, latencies))
    })?;
    let timing = Timing::of(&parts);
    match parts.iter().map(|part| part.wrong).sum() {
        0 => {}
        wrong => {
            return Err(Error::Wrong {
                store: "endura",
                operation: format!("a mix on {}", subject.name),
                wrong,
                of: work.operations,
            });
        }
    }
    let seconds = if work.threads == 1 { timing.cpu_seconds } else { timing.alone_seconds };
    let ns = seconds * 1e9 / work.operations.max(1) as f64;
    Ok(Rate { ns, latency: Latency::of(&timing.latencies) })
}

/// The median of several runs, each with new keys of its own to insert and to remove.
pub fn median(
    subject: &Subject,
    mix: OperationMix,
    work: Work,
    rounds: u32,
) -> Result<(Median, Latency)> {
    let mut rates = Vec::new();
    for round in 0..u64::from(rounds.max(1)) {
        let (seed, done) = (work.seed + round, round * work.operations);
        let (next, removed) = (work.next + done, work.removed + done);
        rates.push(drive(subject, mix, Work { seed, next, removed, ..work })?);
    }
    rates.sort_by(|a, b| a.ns.total_cmp(&b.ns));
    let latency = rates[rates.len() / 2].latency;
    Ok((Median::of(rates.iter().map(|rate| rate.ns).collect()), latency))
}

#[derive(Debug, Clone, Copy)]
enum Planned {
    Get(u64),
    Insert(u64),
    Update(u64),
    Remove(u64),
    Scan(u64),
}

/// What a thread will do, drawn before the clock runs.
fn plan(mix: OperationMix, work: Work, sampler: &Sampler, thread: u64) -> Vec<Planned> {
    let threads = work.threads as u64;
    let share = work.operations * (thread + 1) / threads - work.operations * thread / threads;
    let mut rng = fastrand::Rng::with_seed(work.seed ^ (thread + 1) << 48);
    let first = work.next + work.operations * thread / threads;
    let (mut inserted, mut removed) = (0, 0);
    let mut gone = work.removed + work.operations * thread / threads;
    let total = mix.get + mix.insert + mix.update + mix.remove + mix.scan;
    // A mix without removes may choose any loaded key; with them, none that may be gone.
    (0..share)
        .map(|_| {
            let any = sampler.draw(&mut rng);
            let mut at = rng.u32(..total.max(1));
            for (parts, kind) in [(mix.get, 0), (mix.insert, 1), (mix.update, 2), (mix.remove, 3)] {
                if at >= parts {
                    at -= parts;
                    continue;
                }
                return match kind {
                    0 => Planned::Get(any),
                    2 => Planned::Update(any),
                    1 => {
                        inserted += 1;
                        Planned::Insert(first + inserted - 1)
                    }
                    _ if removed < inserted => {
                        removed += 1;
                        Planned::Remove(first + removed - 1)
                    }
                    _ if mix.get + mix.update > 0 => Planned::Get(any),
                    _ => {
                        gone += 1;
                        Planned::Remove(gone - 1)
                    }
                };
            }
            Planned::Scan(any)
        })
        .collect()
}

fn perform(
    client: &mut dyn Client,
    mix: OperationMix,
    plan: &[Planned],
    latencies: &mut Histogram<u64>,
) -> Result<u64> {
    timed(plan.len(), Pacing::FREE, latencies, |i| match plan[i] {
        // What an update left is the number itself or its first value.
        Planned::Get(i) => Ok(client.get(key(i))?.is_some()),
        Planned::Insert(i) => client.insert(key(i), value(i)).map(|()| true),
        Planned::Update(i) => client.update(key(i), i),
        Planned::Remove(i) => client.remove(key(i)),
        Planned::Scan(i) => {
            let (seen, sum) = client.scan(key(i), mix.scan_length)?;
            std::hint::black_box(sum);
            Ok(seen > 0)
        }
    })
}

#[cfg(test)]
mod tests {
    use endura_engine::media::Heap;

    use super::*;

    #[test]
    fn a_mix_does_what_it_says_on_every_number_of_threads() {
        for threads in [1, 3] {
            let subject = Subject::nbtree(Heap::new(96 << 20)).expect("a map");
            load(&subject, 0..1000).expect("a load");
            let work = Work {
                keys: 1000,
                next: 1000,
                removed: 0,
                operations: 3000,
                threads,
                seed: 1,
                choice: Choice::Zipf(0.9),
            };
            let mix =
                OperationMix { get: 2, insert: 2, update: 1, remove: 1, scan: 1, scan_length: 5 };
            let (median, latency) = median(&subject, mix, work, 3).expect("a run");
            assert!(median.median > 0.0 && latency.samples > 0);
            let rate = drive(&subject, OperationMix::REMOVE, Work { operations: 1000, ..work });
            rate.expect("each loaded key is removed once");
            let mut client = subject.client();
            assert!((0..1000).all(|i| client.get(key(i)).expect("an answer").is_none()));
        }
    }
}
