//! A pool that a command writes. If the command fails, what it has created is removed again.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use endura::{Error, MapOptions, Pool, PoolOptions};
use endura_console::interrupt::{self, Section};
use endura_console::outcome::{Failure, Result};

use crate::pool::checkpoint_args::{close, forget_checkpoints, tell_restored};
use crate::pool::uncounted::count_unknown;
use crate::values::map::{OpenMap, Schema};

/// An open pool and a map of it.
pub(crate) struct Writing {
    /// `None` once it is closed.
    pool: Option<Pool>,
    path: PathBuf,
    name: String,
    /// The file of the pool, if the command made it.
    made_pool: Option<Made>,
    made_map: bool,
    /// Held until the first entry is stored. While it is held, no signal ends the process before what was created for
    /// the entry is removed.
    section: Option<Section>,
}

/// A file that the command made, by device and inode.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Made([u64; 2]);

impl Made {
    /// The file at `path`; `None` if there is none.
    fn at(path: &Path) -> Option<Self> {
        fs::symlink_metadata(path).ok().map(|facts| Self([facts.dev(), facts.ino()]))
    }

    /// Removes the file at `path` if it is still this file; another one that was moved there meanwhile stays. Returns
    /// whether this file is gone from `path`.
    fn remove(self, path: &Path) -> bool {
        Self::at(path) != Some(self) || fs::remove_file(path).is_ok()
    }
}

impl Writing {
    /// Opens the map `name` with these types; creates the pool and the map if necessary.
    pub(crate) fn begin(
        options: &PoolOptions,
        path: &Path,
        name: &str,
        map_options: MapOptions,
        schema: &Schema,
    ) -> Result<(Self, OpenMap)> {
        let failure = |error: &Error| Failure::at(path, error);
        let (pool, made_pool, section) = match options.open_existing(path) {
            Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                let section = interrupt::section();
                match options.create_new(path) {
                    Ok(pool) => (pool, Made::at(path), section),
                    // Another process has created the pool meanwhile.
                    Err(Error::Io { source, .. })
                        if source.kind() == io::ErrorKind::AlreadyExists =>
                    {
                        drop(section);
                        let pool = options.open_existing(path).map_err(|error| failure(&error))?;
                        (pool, None, interrupt::section())
                    }
                    Err(error) => return Err(failure(&error)),
                }
            }
            Ok(pool) => (pool, None, interrupt::section()),
            Err(error) => return Err(failure(&error)),
        };
        tell_restored(path, &pool);
        let mut writing = Self {
            pool: Some(pool.clone()),
            path: path.into(),
            name: name.into(),
            made_pool,
            made_map: false,
            section: Some(section),
        };
        let maps = pool.maps().map_err(|error| failure(&error));
        writing.made_map = !maps?.iter().any(|map| map.name == name);
        let map =
            OpenMap::open_as(&pool, name, map_options, schema).map_err(|error| failure(&error));
        Ok((writing, map?))
    }

    /// The pool, until it is closed.
    pub(crate) fn pool(&self) -> Option<&Pool> {
        self.pool.as_ref()
    }

    /// Called when the first entry is stored: from now on a signal ends the process, and what is stored stays.
    pub(crate) fn begun(&mut self) {
        self.section = None;
    }

    /// Called when the command has done its work: the pool and the map stay.
    pub(crate) fn keep(&mut self) {
        (self.made_pool, self.made_map) = (None, false);
        self.section = None;
    }

    /// Closes the pool. To be called after the handle of the map is dropped.
    pub(crate) fn close(mut self) -> Result<()> {
        let is_removed = self.made_pool.is_some();
        self.undo();
        let Some(pool) = self.pool.take() else { return Ok(()) };
        let closed = match count_unknown(&pool).and_then(|()| close(&pool, &self.path)) {
            Err(Error::Displaced { .. }) if is_removed => Ok(()),
            closed => closed,
        };
        closed.map_err(|error| Failure::at(&self.path, &error))
    }

    /// Removes the map if the command created it, and likewise the pool; returns whether the map is gone. To be called
    /// after a failure, and after the handle of the map is dropped. Further failures in here are not reported.
    pub(crate) fn abandon(mut self) -> bool {
        let gone = self.undo();
        let _ = self.close();
        gone
    }

    /// Removes what a failed command has created, while the pool is still locked: no other process has been able to use
    /// it. Returns whether the map is gone.
    fn undo(&mut self) -> bool {
        if !self.made_map && self.made_pool.is_none() {
            return false;
        }
        let _section = self.section.take().unwrap_or_else(interrupt::section);
        let gone = match self.made_pool {
            Some(made) => {
                let gone = made.remove(&self.path);
                self.pool.iter().for_each(forget_checkpoints);
                gone
            }
            // A pool that cannot drop the map is full or broken, which has already been reported.
            None => self.pool.as_ref().is_some_and(|pool| pool.drop_map(&self.name).is_ok()),
        };
        (self.made_pool, self.made_map) = (None, false);
        gone
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        self.undo();
    }
}
