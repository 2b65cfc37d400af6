//! What the load is told.

use std::path::PathBuf;
use std::time::Duration;

use endura::{Checkpoints, Pool, PoolOptions};

/// Looks at the pool and writes to it until the power is cut: in the machine.
#[derive(clap::Args)]
pub(crate) struct LoadArgs {
    pub(super) pool: PathBuf,
    /// Milliseconds between checkpoints by time; 0: none
    #[arg(long, default_value_t = 0)]
    pub(super) every: u64,
    /// Milliseconds between checkpoints on demand; 0: none
    #[arg(long, default_value_t = 0)]
    pub(super) demand: u64,
    /// Have none at all
    #[arg(long)]
    pub(super) without_checkpoints: bool,
    /// Close the pool, check it with `endura check`, and open it again before the writers begin
    #[arg(long)]
    pub(super) close: bool,
    /// End after that
    #[arg(long)]
    pub(super) end: bool,
}

impl LoadArgs {
    /// How the pool is opened.
    pub(super) fn options(&self) -> PoolOptions {
        let checkpoints = match self.every {
            _ if self.without_checkpoints => Checkpoints::off(),
            0 => Checkpoints::on_demand(),
            every => Checkpoints::every(Duration::from_millis(every)),
        };
        Pool::options().max_size(1 << 30).checkpoints(checkpoints)
    }
}
