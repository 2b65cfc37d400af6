//! The way back from a checkpoint after a power loss, beside a copy of the same file.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use endura::Checkpoints;
use endura_engine::space::superblock::Superblock;
use rustix::fs::{Advice, fadvise};

use super::bed::{Bed, Opened, PAGE, Watch};
use crate::figures::Median;
use crate::{Error, Result};

/// Keys that are looked for after a restore.
const VERIFIED: u64 = 1_000;

/// One restore.
#[derive(Debug, Clone, Copy, serde::Serialize)]
pub struct Restore {
    /// Whether the pool and its checkpoint were in the page cache; after a reboot they are not.
    pub is_cached: bool,
    /// `cp` of the torn pool, and a sync of the copy.
    pub copy_seconds: f64,
    /// From the call that opens the torn pool to its return.
    pub open_seconds: f64,
    /// Bytes that the restore wrote to the pool.
    pub written_bytes: u64,
    /// Bytes of the pool's file.
    pub file_bytes: u64,
}

impl Restore {
    /// The time of the open to that of the copy.
    pub fn ratio(&self) -> f64 {
        self.open_seconds / self.copy_seconds
    }

    /// The median of these ratios, with the page cache or without.
    pub fn median_ratio(all: &[Self], is_cached: bool) -> Median {
        let of = all.iter().filter(|restore| restore.is_cached == is_cached);
        Median::of(of.map(Self::ratio).collect())
    }
}

/// Tears the pool, copies its file, and opens it: so often without the page cache, and so often with it.
pub fn restore(bed: &Bed, rounds: u32, watch: &Watch<'_>) -> Result<Vec<Restore>> {
    watch("a checkpoint".into());
    let Opened { pool, .. } = bed.open(Checkpoints::on_demand())?;
    pool.checkpoint()?;
    pool.close()?;
    let mut found = Vec::new();
    for n in 0..rounds {
        for is_cached in [false, true] {
            let where_it_is = if is_cached { "in" } else { "not in" };
            watch(format!("round {} of {rounds}, {where_it_is} the page cache", n + 1));
            found.push(once(bed, n, is_cached)?);
        }
    }
    Ok(found)
}

fn once(bed: &Bed, round: u32, is_cached: bool) -> Result<Restore> {
    let path = bed.path();
    tear(&path, u64::from(round)).map_err(doing("tearing the pool"))?;
    let file_bytes = fs::metadata(&path).map_err(doing("looking at the pool"))?.len();
    let files = [path.clone(), bed.checkpoint_path()];
    let prepare = || files.iter().try_for_each(|path| settle(path, is_cached));
    prepare().map_err(doing("emptying the page cache"))?;
    let copy_seconds = copy(&path, &bed.copy_path()).map_err(doing("copying the pool"))?;
    prepare().map_err(doing("emptying the page cache"))?;
    let begun = Instant::now();
    let pool = bed.options(Checkpoints::as_left()).open_existing(&path)?;
    let open_seconds = begun.elapsed().as_secs_f64();
    let Some(restored) = pool.stats()?.restored else {
        return Err(Error::Config("the torn pool was opened without its checkpoint"));
    };
    pool.close()?;
    verify(bed)?;
    let written_bytes = restored.written_bytes;
    Ok(Restore { is_cached, copy_seconds, open_seconds, written_bytes, file_bytes })
}

fn doing(what: &str) -> impl Fn(std::io::Error) -> Error {
    move |source| Error::Io { doing: what.into(), source }
}

/// What a power loss leaves: the superblock of another boot, of a pool that was not closed, and garbage in a third of all
/// pages.
fn tear(path: &Path, seed: u64) -> std::io::Result<()> {
    let file = File::options().read(true).write(true).open(path)?;
    let mut superblock = Superblock::read(&file).map_err(std::io::Error::other)?;
    (superblock.clean, superblock.boot.id, superblock.is_marked) = (false, [0xEE; 16], false);
    superblock.write(&file).map_err(std::io::Error::other)?;
    let mut rng = fastrand::Rng::with_seed(seed);
    for page in 2..file.metadata()?.len() / PAGE {
        if rng.u8(0..3) == 0 {
            file.write_all_at(&[rng.u8(..); PAGE as usize], page * PAGE)?;
        }
    }
    file.sync_all()
}

/// Has all of a file on the disk, and in the page cache or not.
fn settle(path: &Path, is_cached: bool) -> std::io::Result<()> {
    let mut file = File::open(path)?;
    file.sync_all()?;
    if is_cached {
        std::io::copy(&mut file, &mut std::io::sink())?;
    } else {
        fadvise(&file, 0, None, Advice::DontNeed)?;
    }
    Ok(())
}

/// Seconds that `cp` and a sync take. The copy is removed.
fn copy(from: &Path, to: &Path) -> std::io::Result<f64> {
    let begun = Instant::now();
    let status = Command::new("cp").arg(from).arg(to).status()?;
    if !status.success() {
        return Err(std::io::Error::other(format!("cp: {status}")));
    }
    File::open(to)?.sync_all()?;
    let took = begun.elapsed().as_secs_f64();
    fs::remove_file(to)?;
    Ok(took)
}

/// Fails unless keys all over the map are there.
fn verify(bed: &Bed) -> Result<()> {
    let Opened { pool, map, .. } = bed.open(Checkpoints::as_left())?;
    let (of, step) = (VERIFIED.min(bed.keys()), (bed.keys() / VERIFIED).max(1));
    let mut wrong = 0;
    for key in (0..of).map(|i| i * step) {
        wrong += u64::from(map.get(key)?.is_none());
    }
    pool.close()?;
    match wrong {
        0 => Ok(()),
        _ => Err(Error::Wrong { store: "endura", operation: "a restore".into(), wrong, of }),
    }
}
