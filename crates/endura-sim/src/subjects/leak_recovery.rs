//! The leak recovery of a recovered pool, beside the operations on it.

use std::sync::Arc;

use endura_engine::space::{LeakRecoverer, LeakStep, LeakWalk, Shares, Space};

use crate::sim::Sim;
use crate::subject::Finding;

/// Chunks that are marked between two operations: few, so that a leak recovery takes as long as they do.
const BITE: usize = 3;

/// The leak recovery of a pool.
pub struct Recovery(Arc<LeakRecoverer<Sim>>);

impl Recovery {
    pub(super) fn of(space: &Arc<Space<Sim>>, walks: Vec<Box<dyn LeakWalk<Sim>>>) -> Self {
        Self(LeakRecoverer::new(space, walks, BITE))
    }

    /// Does a little of it.
    pub fn step(&self) -> Result<LeakStep, Finding> {
        self.0.step().map_err(|error| format!("leak_recovery: {error:?}"))
    }

    /// Does an operation between two steps.
    pub(super) fn around<T>(
        &self,
        operation: impl FnOnce() -> Result<T, Finding>,
    ) -> Result<T, Finding> {
        self.step()?;
        let answer = operation();
        self.step()?;
        answer
    }

    /// Whether every byte of the pool has one owner: `chunks` are all that is reached. Of every second
    /// pool, by the places of its chunks, the leak recovery is finished first; of the others it goes on
    /// beside what comes next.
    ///
    /// # Errors
    ///
    /// The first byte that has two owners, or none when all is recovered.
    pub(super) fn check(&self, space: &Space<Sim>, chunks: &[(u64, u64)]) -> Result<(), Finding> {
        // Also before it is finished: whether what is reached is owned by nobody else.
        complete(space, chunks)?;
        let mixed = chunks.iter().fold(0, |sum: u64, chunk| sum.rotate_left(5) ^ (chunk.0 >> 5));
        match mixed.count_ones() % 2 == 0 && !space.leak_recovery().is_done() {
            true => self.finish(space, chunks).map(drop),
            false => Ok(()),
        }
    }

    /// Finishes the leak recovery of a pool that nobody else uses, and says how its bytes are divided.
    ///
    /// # Errors
    ///
    /// As for [`check`](Self::check).
    pub(crate) fn finish(
        &self,
        space: &Space<Sim>,
        chunks: &[(u64, u64)],
    ) -> Result<Shares, Finding> {
        if !self.0.finish().map_err(|error| format!("{error:?}"))?
            && !space.leak_recovery().is_done()
        {
            return Err(format!("leak recovery does not end: {:?}", space.leak_recovery()));
        }
        complete(space, chunks)
    }
}

fn shares(space: &Space<Sim>, chunks: &[(u64, u64)]) -> Result<Shares, Finding> {
    let told = |error| format!("{error:?}");
    let quiesced = space.quiesce().map_err(told)?;
    let mut check = quiesced.check().map_err(told)?;
    chunks.iter().try_for_each(|&(at, bytes)| check.reach(at, bytes)).map_err(told)?;
    check.finish().map_err(told)
}

/// How the bytes of the pool are divided: each has one owner, unless there is something to collect.
pub(super) fn complete(space: &Space<Sim>, chunks: &[(u64, u64)]) -> Result<Shares, Finding> {
    let shares = shares(space, chunks)?;
    match space.leak_recovery().is_done() && shares.leaked > 0 {
        true => Err(format!("chunks without an owner: {shares:?}, {:?}", space.leak_recovery())),
        false => Ok(shares),
    }
}
