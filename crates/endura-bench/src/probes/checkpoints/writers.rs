//! Writers that never rest, and change a given share of a pool's pages again and again.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use endura::Map;

use super::bed::Bed;
use crate::{Error, Result};

/// Writers at a time.
const WRITERS: u64 = 2;
/// An update that takes longer than this is counted.
const LONG: Duration = Duration::from_millis(20);

/// Keys at even distances, one for each page that is to change. A key and its neighbours are in one page, because they
/// were put in in ascending order; an update stores a word in its place and nothing else.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spread {
    count: u64,
    stride: u64,
}

impl Spread {
    /// Keys of this share of the pool's pages.
    pub(super) fn of(bed: &Bed, share: f64) -> Self {
        let wanted = (bed.pages() as f64 * share).round() as u64;
        let count = wanted.clamp(1, bed.keys().max(1));
        Self { count, stride: (bed.keys() / count).max(1) }
    }

    /// Changes each page once, so that no update is the first to touch it since the pool was opened.
    pub(super) fn touch(self, map: &Map<u64, u64>) -> Result<()> {
        (0..self.count).try_for_each(|i| map.put(i * self.stride, i).map(drop))?;
        Ok(())
    }

    fn draw(self, rng: &mut fastrand::Rng) -> u64 {
        rng.u64(0..self.count) * self.stride
    }
}

/// What writers did.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Updates {
    pub(super) count: u64,
    /// The longest, by the clock.
    pub(super) longest: Duration,
    /// How many were longer than [`LONG`].
    pub(super) long: u64,
}

impl Updates {
    /// Updates until `stop`. From the end of one to the end of the next is what that one took: no time is left out.
    fn run(map: &Map<u64, u64>, spread: Spread, seed: u64, stop: &AtomicBool) -> Result<Self> {
        let mut updates = Self::default();
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut last = Instant::now();
        while !stop.load(Ordering::Relaxed) {
            map.put(spread.draw(&mut rng), updates.count)?;
            let now = Instant::now();
            let took = now - last;
            last = now;
            updates.count += 1;
            updates.longest = updates.longest.max(took);
            updates.long += u64::from(took > LONG);
        }
        Ok(updates)
    }

    fn add(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            longest: self.longest.max(other.longest),
            long: self.long + other.long,
        }
    }
}

/// Does `work` beside writers.
pub(super) fn beside_writers<T>(
    map: &Map<u64, u64>,
    spread: Spread,
    work: impl FnOnce() -> Result<T>,
) -> Result<(T, Updates)> {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let stop = &stop;
        let writer = |seed| scope.spawn(move || Updates::run(map, spread, seed, stop));
        let writers: Vec<_> = (1..=WRITERS).map(writer).collect();
        let done = work();
        stop.store(true, Ordering::Relaxed);
        let mut updates = Updates::default();
        for writer in writers {
            updates = updates.add(writer.join().map_err(|_| Error::Panicked)??);
        }
        Ok((done?, updates))
    })
}
