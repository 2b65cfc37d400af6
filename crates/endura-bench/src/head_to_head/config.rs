//! What to measure of an index and one peer.

use std::path::PathBuf;

use endura::{Kind, NodeLayout, PoolOptions};

use super::operation::{Operation, Sizes};
use crate::contender::Contender;
use crate::store::Shape;
use crate::{Error, Result};

/// What to measure.
#[derive(Clone)]
pub struct Config {
    /// How many keys and operations.
    pub sizes: Sizes,
    /// What to run; a load comes first whether or not it is listed.
    pub operations: Vec<Operation>,
    /// Numbers of threads, each measured with stores of its own.
    pub threads: Vec<usize>,
    /// How often everything is repeated.
    pub rounds: u32,
    /// Where temporary files go.
    pub dir: PathBuf,
    /// How endura's pools are made.
    pub pool: PoolOptions,
    /// The index of endura's map.
    pub kind: Kind,
    /// Sizes of endura's nodes; none means the default.
    pub layout: Option<NodeLayout>,
    /// How long keys and values are where the index takes byte strings.
    pub shape: Shape,
    /// Who runs beside endura.
    pub peer: Option<Contender>,
    /// Numbers of threads with which ours runs alone all the same.
    pub alone: Vec<usize>,
    /// Where the random numbers start.
    pub seed: u64,
}

impl Config {
    pub(super) fn shape(&self) -> Shape {
        if self.kind == Kind::Roart { self.shape } else { Shape::WORDS }
    }

    pub(super) fn peer_at(&self, threads: usize) -> Option<Contender> {
        self.peer.filter(|_| !self.alone.contains(&threads))
    }
}

pub(super) fn check(config: &Config) -> Result<()> {
    if config.sizes.keys < 2 || config.sizes.keys > u64::from(u32::MAX) {
        return Err(Error::Config("the number of keys lies between 2 and 4294967295"));
    }
    if config.threads.is_empty() || config.threads.contains(&0) || config.rounds == 0 {
        return Err(Error::Config("threads and rounds are at least 1"));
    }
    if config.operations.contains(&Operation::Remove)
        && !config.operations.contains(&Operation::Insert)
    {
        return Err(Error::Config("`remove` removes what `insert` inserted: run both"));
    }
    Ok(())
}
