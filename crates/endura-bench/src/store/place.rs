//! Where the maps of a store lie, and how large they may become.

use std::path::{Path, PathBuf};

use endura::{NodeLayout, Pool, PoolOptions};

use super::Shape;
use crate::{Error, Result};

/// Where the maps of a store lie, and how they are made. A store that is there is opened.
#[derive(Clone)]
pub struct Place {
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
    /// Sizes of FAST & FAIR's nodes; none means the default.
    pub layout: Option<NodeLayout>,
}

impl Place {
    /// One map of so many entries in `dir`.
    pub fn new(dir: PathBuf, shape: Shape, entries: u64) -> Self {
        Self { dir, maps: 1, shape, entries, pool: Pool::options(), layout: None }
    }

    /// The names of the maps in one pool.
    pub(super) fn map_names(&self) -> impl Iterator<Item = String> {
        (0..self.maps).map(|map| format!("bench-{map}"))
    }

    /// endura's pool.
    pub(super) fn open_pool(&self) -> Result<Pool> {
        make(&self.dir)?;
        Ok(self.pool.clone().open_or_create(self.dir.join("pool"))?)
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

#[cfg(any(feature = "fjall", feature = "redb", feature = "rocksdb"))]
/// What the files below `dir` take up: the blocks that are theirs, and their lengths.
pub(super) fn size_of_files(dir: &Path) -> Result<super::Footprint> {
    use std::os::unix::fs::MetadataExt;
    let failure =
        |source| Error::Io { doing: format!("cannot look into {}", dir.display()), source };
    let mut sum = super::Footprint { used_bytes: 0, file_bytes: 0 };
    for entry in std::fs::read_dir(dir).map_err(failure)? {
        let entry = entry.map_err(failure)?;
        // A background thread may have deleted it since.
        let Ok(data) = entry.metadata() else { continue };
        let part = if data.is_dir() {
            size_of_files(&entry.path())?
        } else {
            super::Footprint { used_bytes: data.blocks() * 512, file_bytes: data.len() }
        };
        sum.used_bytes += part.used_bytes;
        sum.file_bytes += part.file_bytes;
    }
    Ok(sum)
}
