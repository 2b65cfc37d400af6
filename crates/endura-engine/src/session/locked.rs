//! The first step of an open: locks the file of the pool, creates it, or makes it again from its checkpoint.

use std::path::Path;
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use super::options::Options;
use crate::checkpoint::Restored;
use crate::checkpoint::beside::{self, Beside, PATIENCE};
use crate::checkpoint::why;
use crate::checkpoint::{found, told};
use crate::media::Placement;
use crate::os::file_identity::FileId;
use crate::space::{PoolFile, own};
use crate::{Error, Result};

/// The shortest pause between two attempts to take a lock that another handle has.
const SHORTEST_PAUSE: Duration = Duration::from_micros(200);
/// The longest pause.
pub const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// A pool's file, locked by this open.
pub struct Locked<'o> {
    pub(super) options: &'o Options,
    pub(super) path: &'o Path,
    pub(super) origin: Origin<'o>,
    /// Declared after the origin, so that a file that this open created is removed while it is still locked: no other
    /// handle can have used it.
    pub(super) file: PoolFile,
}

/// Where the file came from.
pub(super) enum Origin<'o> {
    /// It existed before this open.
    Found,
    /// This open created it.
    Created(Unfinished<'o>),
    /// It was missing, and this open made it from its checkpoint.
    MadeAnew(Restored),
}

/// A file that this open created. It is removed when this is dropped, unless another file has been moved to its path
/// meanwhile.
pub(super) struct Unfinished<'o> {
    path: &'o Path,
    file: FileId,
}

impl Unfinished<'_> {
    /// Keeps the file: the open has succeeded.
    pub(super) fn finish(self) {
        std::mem::forget(self);
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if fs::symlink_metadata(self.path).is_ok_and(|facts| FileId::of(&facts) == self.file) {
            let _ = fs::remove_file(self.path);
        }
    }
}

impl<'o> Locked<'o> {
    /// The existing pool at `path`. If the pool is missing but its checkpoint exists, it is made again from that.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] with `NotFound` if neither the pool nor its checkpoint exists; those of `open_existing`.
    pub fn existing(options: &'o Options, path: &'o Path) -> Result<Self> {
        let of = |origin, file| Self { options, path, origin, file };
        match options.lock(path) {
            Err(error) if is_io(&error, io::ErrorKind::NotFound) => {
                match options.make_anew(path)? {
                    Some((file, restored)) => Ok(of(Origin::MadeAnew(restored), file)),
                    // Another process may have made the pool meanwhile.
                    None if fs::metadata(path).is_ok() => {
                        Ok(of(Origin::Found, options.lock(path)?))
                    }
                    None => Err(told::missing(path, options.checkpoints.as_ref(), error)),
                }
            }
            Err(error) => Err(told::explained(path, options.checkpoints.as_ref(), error)),
            Ok(file) => Ok(of(Origin::Found, file)),
        }
    }

    /// A new and empty pool at `path`.
    ///
    /// # Errors
    ///
    /// Those of `create_new`.
    pub fn new(options: &'o Options, path: &'o Path) -> Result<Self> {
        options.check_max_size()?;
        options.refuse_beside_a_checkpoint(path)?;
        let made = PoolFile::create(path, options.access());
        let file = made.map_err(|error| error.of_pool(path))?;
        let created = Unfinished { path, file: file.id() };
        Ok(Self { options, path, origin: Origin::Created(created), file })
    }
}

impl Options {
    /// Locks the pool's file. If another handle has it locked, waits for at most `lock_timeout`. Each attempt opens the
    /// path again, so that the caller never locks a file that was deleted meanwhile.
    pub(super) fn lock(&self, path: &Path) -> Result<PoolFile> {
        let (begun, mut pause) = (Instant::now(), SHORTEST_PAUSE);
        loop {
            match PoolFile::open(path, self.access()) {
                Err(Error::Locked) if begun.elapsed() < self.lock_timeout => {
                    thread::sleep(pause.min(self.lock_timeout.saturating_sub(begun.elapsed())));
                    pause = (2 * pause).min(LONGEST_PAUSE);
                }
                outcome => return outcome,
            }
        }
    }

    /// Makes a missing pool from its checkpoint. `None` if there is no checkpoint either.
    fn make_anew(&self, path: &Path) -> Result<Option<(PoolFile, Restored)>> {
        if self.read_only || !self.restore || fs::symlink_metadata(path).is_ok() {
            return Ok(None);
        }
        // This checks the path again once it has the checkpoint's lock, so that only one of several processes makes the
        // pool.
        let Some(mut from) = self.checkpoint_to_begin_from(path)? else { return Ok(None) };
        let placement = |file: &PoolFile| Placement::of(file.file(), true, self.media);
        let made = found::make_anew(path, self.access(), &mut from, placement, &mut found::quietly);
        match made {
            // Another process was faster: its pool exists now.
            Err(error) if is_io(&error, io::ErrorKind::AlreadyExists) => Err(Error::Locked),
            made => made.map(Some),
        }
    }

    /// The checkpoint of a missing pool, locked. `None` if the pool exists by now: another process, which has had the
    /// lock, may be making it.
    fn checkpoint_to_begin_from(&self, path: &Path) -> Result<Option<Beside>> {
        let begun = Instant::now();
        loop {
            let from = self.checkpoint_of(path, false);
            if fs::symlink_metadata(path).is_ok() {
                return Ok(None);
            }
            match from {
                Err(error) if why::is_in_use(&error) && begun.elapsed() < self.lock_timeout => {}
                from => return from,
            }
        }
    }

    /// The checkpoint of a missing pool.
    fn checkpoint_of(&self, path: &Path, read_only: bool) -> Result<Option<Beside>> {
        let choice = self.checkpoints.as_ref();
        let chosen = choice.and_then(|choice| choice.file.clone());
        let is_chosen = chosen.is_some();
        let from = chosen.unwrap_or_else(|| beside::default_path(path));
        let is_off = choice.is_some_and(|choice| !choice.schedule.is_on);
        let found = Beside::open_if(!is_off, &from, u32::MAX, (read_only, PATIENCE))?;
        match found.as_ref().and_then(Beside::newest) {
            None if choice.is_some_and(|choice| choice.must_exist) => {
                Err(why::bad(&from, found::MUST_EXIST))
            }
            None if fs::symlink_metadata(&from).is_ok() => Err(why::bad(&from, why::NOWHERE)),
            // A user may have given two pools the same file of checkpoints.
            Some(moment) if is_chosen && ![0, own::hash_of(path)].contains(&moment.path) => {
                Err(why::bad(&from, why::OF_ANOTHER_NAME))
            }
            _ => Ok(found),
        }
    }

    /// Refuses to create a pool at a path that has the checkpoint of an earlier pool.
    fn refuse_beside_a_checkpoint(&self, path: &Path) -> Result<()> {
        // The creation of the pool will refuse a path that exists.
        if fs::symlink_metadata(path).is_ok() {
            return Ok(());
        }
        match self.checkpoint_of(path, true)? {
            Some(found) => Err(why::bad(found.path(), why::OF_NO_POOL)),
            None => Ok(()),
        }
    }
}

/// Whether the system refused for this reason.
pub fn is_io(error: &Error, kind: io::ErrorKind) -> bool {
    matches!(error, Error::Io { source, .. } if source.kind() == kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_open_removes_what_it_created_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("pool"), folder.path().join("other"));
        let options = Options { any_filesystem: true, ..Options::default() };
        let created = Locked::new(&options, &path).unwrap();
        fs::write(&other, "precious").unwrap();
        fs::rename(&other, &path).unwrap();
        drop(created);
        assert_eq!(fs::read(&path).unwrap(), b"precious");
        fs::remove_file(&path).unwrap();
        drop(Locked::new(&options, &path).unwrap());
        assert!(!path.exists());
    }
}
