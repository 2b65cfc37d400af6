//! Who takes part, whose turn it is, and how far a run is.

use std::path::{Path, PathBuf};
use std::time::Duration;

use endura::{NodeLayout, PoolOptions};

use super::turn::Turn;
use crate::contender::Contender;
use crate::figures::Pacing;
use crate::store::{Shape, StoreOptions, measured_pool};
use crate::{Error, Result};

/// When the next store has its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turns {
    /// When the one before has gone through all stages: one store lives at a time, so that the background work of
    /// one is not paid by another.
    ByStore,
    /// After each stage, so that ratios are of what was measured seconds apart. All live at a time. Wall time, the
    /// 99.9th percentile and the size of files are told as well.
    ByStage,
}

/// Who takes part, where and how.
#[derive(Clone)]
pub struct Settings {
    /// The stores. One that takes no keys of a suite's shape is left out of it.
    pub contenders: Vec<Contender>,
    /// Numbers of threads, each measured by itself.
    pub threads: Vec<usize>,
    /// With more threads than so many only the first store takes part.
    pub alone_above: usize,
    /// When the next one has its turn.
    pub turns: Turns,
    /// How often everything is repeated.
    pub rounds: u32,
    /// A store whose stages of one round took longer is left out of the suite's later rounds; none means never.
    pub patience: Option<Duration>,
    /// Operations per second that arrive, all threads together; none means as many as it can do.
    pub rate: Option<f64>,
    /// One operation in so many is timed by itself. With a rate, each is.
    pub sampled: u64,
    /// Where the random numbers start.
    pub seed: u64,
    /// Where temporary files go.
    pub dir: PathBuf,
    /// How endura's pools are made.
    pub pool: PoolOptions,
    /// Sizes of FAST & FAIR's nodes; none means the default.
    pub layout: Option<NodeLayout>,
}

impl Settings {
    /// These stores, one thread, one round, on pools as they are by themselves.
    pub fn new(contenders: Vec<Contender>, dir: PathBuf, seed: u64) -> Self {
        Self {
            contenders,
            threads: vec![1],
            alone_above: usize::MAX,
            turns: Turns::ByStore,
            rounds: 1,
            patience: None,
            rate: None,
            sampled: 64,
            seed,
            dir,
            pool: measured_pool(),
            layout: None,
        }
    }

    pub(crate) fn check(&self) -> Result<()> {
        if self.contenders.is_empty() {
            return Err(Error::Config("no store takes part"));
        }
        if self.threads.is_empty() || self.threads.contains(&0) || self.rounds == 0 {
            return Err(Error::Config("threads and rounds are at least 1"));
        }
        if self.rate.is_some_and(|rate| !(rate > 0.0 && rate <= 1e9)) {
            return Err(Error::Config("a rate lies above 0 and at most at 1000000000 a second"));
        }
        Ok(())
    }

    /// Whose turn it is, in order: in each round and for each number of threads every contender,
    /// another one first in each round.
    pub(super) fn each_turn(&self) -> impl Iterator<Item = Turn> {
        let threads = |round| self.threads.iter().map(move |&threads| (round, threads));
        (0..self.rounds).flat_map(threads).flat_map(move |(round, threads)| {
            let (early, late) = self.contenders.split_at(round as usize % self.contenders.len());
            let all = late.iter().chain(early);
            let takes_part =
                move |c: &&Contender| threads <= self.alone_above || **c == self.contenders[0];
            all.filter(takes_part).map(move |&contender| Turn { round, threads, contender })
        })
    }

    pub(crate) fn pace(&self, threads: usize) -> Pacing {
        match self.rate {
            Some(rate) => Pacing::Due { every_ns: (threads as f64 * 1e9 / rate) as u64 },
            None => Pacing::Free { sampled: self.sampled },
        }
    }

    pub(crate) fn options(&self, dir: &Path, shape: Shape, entries: u64) -> StoreOptions {
        StoreOptions {
            pool: self.pool.clone(),
            layout: self.layout,
            ..StoreOptions::new(dir.join("store"), shape, entries)
        }
    }
}
