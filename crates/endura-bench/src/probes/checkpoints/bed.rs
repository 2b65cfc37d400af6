//! A pool on the disk in question, with one map of numbers.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use endura::{Checkpoints, Event, Kind, Map, MapOptions, Pool, PoolOptions};
use tempfile::TempDir;

use crate::Result;
use crate::keys::key;
use crate::store::temporary;

/// Where the pool lies.
#[derive(Debug, Clone, Copy)]
pub struct Place<'p> {
    /// The folder of the pool.
    pub pool: &'p Path,
    /// That of its checkpoint, if it is another one.
    pub checkpoint: Option<&'p Path>,
}

/// Told what is being done.
pub type Watch<'w> = dyn Fn(String) + 'w;

/// Bytes of a page, as checkpoints have them.
pub(super) const PAGE: u64 = endura_engine::media::DIRTY_GRAIN;
const MAP: &str = "map";

/// A closed pool whose map has so many keys. It is removed when this is dropped.
#[derive(Debug)]
pub struct Bed {
    folder: TempDir,
    /// Where the checkpoint is if it is elsewhere.
    elsewhere: Option<TempDir>,
    keys: u64,
    used_bytes: u64,
}

/// An open pool, its map, and how many checkpoints it made.
pub(super) struct Opened {
    pub(super) pool: Pool,
    pub(super) map: Map<u64, u64>,
    made: Arc<AtomicU64>,
    failed: Arc<AtomicU64>,
}

impl Opened {
    /// Checkpoints that were completed, and that failed.
    pub(super) fn checkpoints(&self) -> [u64; 2] {
        [&self.made, &self.failed].map(|count| count.load(Ordering::Relaxed))
    }

    /// Makes the first checkpoint since the pool had none, which has all pages, such that it is counted on return.
    pub(super) fn first_checkpoint(&self) -> Result<()> {
        self.pool.checkpoint()?;
        // The event comes from a thread of the pool's.
        let begun = Instant::now();
        while self.checkpoints()[0] == 0 && begun.elapsed() < Duration::from_secs(1) {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }
}

impl Bed {
    /// Keys in ascending order, until so many bytes are in use: neighbours are in the same page.
    pub fn of_bytes(place: Place<'_>, bytes: u64, watch: &Watch<'_>) -> Result<Self> {
        let mut bed = Self::empty(place)?;
        let Opened { pool, map, .. } = bed.open(Checkpoints::off())?;
        let step = (bytes / 1024).clamp(1 << 8, 1 << 16);
        while bed.used_bytes < bytes {
            (bed.keys..bed.keys + step).try_for_each(|key| map.put(key, !key).map(drop))?;
            bed.keys += step;
            bed.used_bytes = pool.stats()?.bytes_in_use;
            watch(format!("loading: {} of {} MiB", bed.used_bytes >> 20, bytes >> 20));
        }
        pool.close()?;
        Ok(bed)
    }

    /// So many keys of [`key`], which are scattered.
    pub fn of_keys(place: Place<'_>, keys: u64, watch: &Watch<'_>) -> Result<Self> {
        let mut bed = Self::empty(place)?;
        watch("loading".into());
        let Opened { pool, map, .. } = bed.open(Checkpoints::off())?;
        (0..keys).try_for_each(|i| map.put(key(i), i).map(drop))?;
        (bed.keys, bed.used_bytes) = (keys, pool.stats()?.bytes_in_use);
        pool.close()?;
        Ok(bed)
    }

    pub(super) fn empty(place: Place<'_>) -> Result<Self> {
        let (folder, elsewhere) =
            (temporary(place.pool)?, place.checkpoint.map(temporary).transpose()?);
        Ok(Self { folder, elsewhere, keys: 0, used_bytes: 0 })
    }

    /// Keys in the map.
    pub fn keys(&self) -> u64 {
        self.keys
    }

    /// Bytes that the pool has in use.
    pub fn used_bytes(&self) -> u64 {
        self.used_bytes
    }

    /// Pages that the pool has in use.
    pub(super) fn pages(&self) -> u64 {
        self.used_bytes.div_ceil(PAGE).max(1)
    }

    pub(super) fn path(&self) -> PathBuf {
        self.folder.path().join("pool")
    }

    pub(super) fn checkpoint_path(&self) -> PathBuf {
        self.elsewhere.as_ref().unwrap_or(&self.folder).path().join("pool.checkpoint")
    }

    pub(super) fn copy_path(&self) -> PathBuf {
        self.folder.path().join("copy")
    }

    /// How the pool is opened.
    pub(super) fn options(&self, how: Checkpoints) -> PoolOptions {
        let how = if self.elsewhere.is_some() { how.in_file(self.checkpoint_path()) } else { how };
        Pool::options().checkpoints(how).recovery_threads(0)
    }

    /// Opens the pool.
    pub(super) fn open(&self, how: Checkpoints) -> Result<Opened> {
        let [made, failed] = [(); 2].map(|()| Arc::new(AtomicU64::new(0)));
        let count = [&made, &failed].map(Arc::clone);
        let options = self.options(how).on_event(move |event| match event {
            Event::CheckpointEnded { .. } => _ = count[0].fetch_add(1, Ordering::Relaxed),
            Event::CheckpointFailed { .. } => _ = count[1].fetch_add(1, Ordering::Relaxed),
            _ => {}
        });
        let pool = options.open(self.path())?;
        let map = pool.map_with(MAP, MapOptions::new().kind(Kind::FastFair))?;
        Ok(Opened { pool, map, made, failed })
    }
}
