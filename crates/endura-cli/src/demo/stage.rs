//! The folder of a demo, and the lines that it prints.

use std::io::{Write, stdout};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use endura::{Error, Kind, PoolOptions};
use endura_console::interrupt::{self, Doomed};
use endura_console::outcome::{Failure, Result};
use endura_console::progress;
use endura_console::text::bold;
use tempfile::TempDir;

use super::maps::Maps;

/// The name of the pool in its folder.
pub(super) const POOL: &str = "demo.endura";

/// A folder with an empty pool in it.
pub(super) struct Stage {
    pub(super) folder: TempDir,
    pub(super) doomed: Doomed,
    /// The medium and the file system.
    pub(super) medium: String,
}

impl Stage {
    /// Creates a folder in `dir` on a file system that can hold a pool, with an empty pool in it.
    pub(super) fn set(dir: Option<&Path>, kinds: &[Kind], options: &PoolOptions) -> Result<Self> {
        let mut places = vec![dir.map_or_else(std::env::temp_dir, Path::to_path_buf)];
        if dir.is_none() {
            // In a container the temporary folder is often on an overlay, which cannot hold a pool.
            places.push(PathBuf::from("/dev/shm"));
        }
        let mut refused = None;
        for place in places {
            match Self::try_place(&place, kinds, options) {
                Err(Trouble::Unsupported(error)) => refused = Some(Failure::at(&place, &error)),
                Err(Trouble::Failure(failure)) => return Err(failure),
                Ok(stage) => return Ok(stage),
            }
        }
        Err(refused.unwrap_or_else(|| Failure::Usage("there is no folder for the pool".into())))
    }

    fn try_place(place: &Path, kinds: &[Kind], options: &PoolOptions) -> Result<Self, Trouble> {
        let section = interrupt::section();
        let folder =
            tempfile::Builder::new().prefix("endura-demo-").tempdir_in(place).map_err(|e| {
                Trouble::Failure(Failure::at_path(
                    "cannot make a folder in",
                    place,
                    // The error must not show the temporary name of the folder.
                    &e.kind().into(),
                ))
            })?;
        let doomed = interrupt::doomed(folder.path());
        drop(section);
        let create = || -> endura::Result<String> {
            let pool = options.create_new(folder.path().join(POOL))?;
            Maps::create(&pool, kinds)?;
            let stats = pool.stats()?;
            pool.close()?;
            Ok(format!("{} on {}", stats.domain, stats.filesystem))
        };
        match create() {
            Ok(medium) => Ok(Self { folder, doomed, medium }),
            Err(error @ Error::Unsupported { .. }) => Err(Trouble::Unsupported(error)),
            Err(error) => Err(Trouble::Failure(Failure::at(place, &error))),
        }
    }

    /// Deletes the folder if all went well. Otherwise keeps it, and prints where the pool is.
    pub(super) fn strike(self, went_well: bool) -> Result<()> {
        if went_well {
            let path = self.folder.path().to_path_buf();
            let deleted = self.folder.close();
            return deleted.map_err(|e| Failure::at_path("cannot delete", &path, &e));
        }
        self.doomed.keep();
        say(&format!("The pool is kept: {}", self.folder.keep().join(POOL).display()))
    }
}

enum Trouble {
    /// The folder cannot hold a pool. Another one may work.
    Unsupported(Error),
    Failure(Failure),
}

pub(super) fn say(line: &str) -> Result<()> {
    Ok(writeln!(stdout(), "{line}")?)
}

pub(super) fn step(number: u32, what: &str) -> Result<()> {
    say(&bold(&format!("{number}. {what}")))
}

pub(super) fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<(T, Duration)> {
    let spinner = progress::spinner();
    let begun = Instant::now();
    let result = work();
    let took = begun.elapsed();
    spinner.finish_and_clear();
    Ok((result?, took))
}
