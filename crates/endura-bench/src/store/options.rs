//! Where the maps of a store lie, and how large they may become.

use std::path::{Path, PathBuf};
use std::time::Duration;

use endura::{Checkpoints, NodeLayout, Pool, PoolOptions};

use super::shape::Shape;
use crate::{Error, Result};

/// How long before a power loss writes may be lost with [`Survives::PowerLossASecondLater`].
pub(super) const SECOND: Duration = Duration::from_secs(1);

/// What a write that returned survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub enum Survives {
    /// The end of the process. endura without checkpoints; peers without a sync.
    Kill,
    /// A power loss a second later. endura with a checkpoint each second, RocksDB with its log synced each second.
    PowerLossASecondLater,
    /// A power loss. LMDB and redb with a sync in each commit.
    PowerLoss,
}

/// Where the maps of a store lie, and how they are made. A store that is there is opened.
#[derive(Clone)]
pub struct StoreOptions {
    /// A folder of this store's own.
    pub dir: PathBuf,
    /// How many maps it has. A peer keeps each by itself.
    pub maps: usize,
    /// How long keys and values are.
    pub shape: Shape,
    /// The most entries that it will hold, all maps together.
    pub entries: u64,
    /// How endura's pools are made.
    pub pool: PoolOptions,
    /// What a write survives.
    pub survives: Survives,
    /// Sizes of FAST & FAIR's nodes; none means the default.
    pub layout: Option<NodeLayout>,
}

/// endura's pools as they are measured: what was acknowledged survives `kill -9`, as with its peers without a sync. They have
/// no checkpoints, because these have none.
pub fn measured_pool() -> PoolOptions {
    Pool::options().checkpoints(Checkpoints::off())
}

impl StoreOptions {
    /// One map of so many entries in `dir`.
    pub fn new(dir: PathBuf, shape: Shape, entries: u64) -> Self {
        let (pool, survives) = (measured_pool(), Survives::Kill);
        Self { dir, maps: 1, shape, entries, pool, survives, layout: None }
    }

    /// The same maps with writes that survive this.
    #[must_use]
    pub fn surviving(mut self, survives: Survives) -> Self {
        self.survives = survives;
        if survives == Survives::PowerLossASecondLater {
            self.pool = Pool::options().checkpoints(Checkpoints::every(SECOND));
        }
        self
    }

    /// The names of the maps in one pool.
    pub(super) fn map_names(&self) -> impl Iterator<Item = String> {
        (0..self.maps).map(|map| format!("bench-{map}"))
    }

    /// endura's pool.
    pub(crate) fn open_pool(&self) -> Result<Pool> {
        make(&self.dir)?;
        Ok(self.pool.clone().open(self.dir.join("pool"))?)
    }

    /// A folder for each map.
    pub(crate) fn folders(&self) -> Result<Vec<PathBuf>> {
        (0..self.maps)
            .map(|map| {
                let dir = self.dir.join(map.to_string());
                make(&dir)?;
                Ok(dir)
            })
            .collect()
    }

    /// Room for three times what LMDB needs; the file is sparse.
    pub(crate) fn lmdb_map_size(&self) -> u64 {
        let bytes = (1 << 30) + (200 + 4 * self.shape.mean_bytes() as u64) * self.entries;
        // Whole pages.
        bytes.next_multiple_of(1 << 20)
    }
}

fn make(dir: &Path) -> Result<()> {
    std::fs::create_dir_all(dir)
        .map_err(|source| Error::Io { doing: format!("cannot make {}", dir.display()), source })
}

/// A folder in `dir` that is deleted when it is dropped.
pub fn temporary(dir: &Path) -> Result<tempfile::TempDir> {
    tempfile::Builder::new().prefix("endura-bench-").tempdir_in(dir).map_err(|source| Error::Io {
        doing: format!("cannot make a folder in {}", dir.display()),
        source,
    })
}
