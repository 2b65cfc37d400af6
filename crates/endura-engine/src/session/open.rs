//! The open pool that all handles share, and its close.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::map_info::MapInfo;
use super::verify::{Report, verify};
use crate::checkpoint::keeper::Keeper;
use crate::checkpoint::{Checkpoint, CheckpointStats, Restored};
use crate::index::commit::{Operation, commit};
use crate::index::{Background, table};
use crate::media::{Mapped, Media, Placement};
use crate::os::fork::ForkGuard;
use crate::runtime::calls::Call;
use crate::space::{Event, MapState, OwnPath, PoolFile, Session, Space, own};
use crate::sync::Mutex;
use crate::{Error, Result};

/// The result of `Pool::close`.
///
/// # Example
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("data.endura");
/// let closed = endura::Pool::open(&path)?.close()?;
/// if let Some(error) = closed.checkpoint_error {
///     eprintln!("the pool is closed, but its checkpoint is an older one: {error}");
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Closed {
    /// The checkpoint that the close made. `None` if the pool has no checkpoints, if it was opened read-only, or if the
    /// checkpoint could not be made.
    pub checkpoint: Option<Checkpoint>,
    /// Why the checkpoint could not be made. The pool is closed and intact, but its newest checkpoint, if there is one,
    /// lacks the last writes. Until a later session makes another checkpoint, a power loss leaves a pool that is
    /// refused.
    pub checkpoint_error: Option<Error>,
}

/// An open pool. `Pool` is a shared reference to it.
pub struct Open {
    pub(super) space: Arc<Space<Mapped>>,
    pub(super) background: Background,
    /// Makes the pool's checkpoints, if it has any.
    pub(super) keeper: Option<Keeper>,
    pub(super) birthplace: ForkGuard,
    pub(super) placement: Placement,
    pub(super) session: Session,
    pub(super) facts: Facts,
    /// `None` once the pool is closed. This field is declared last, so that the lock outlives the mapping.
    pub(super) file: Mutex<Option<PoolFile>>,
}

/// The facts that do not change while a pool is open.
pub(super) struct Facts {
    pub(super) path: PathBuf,
    pub(super) uuid: [u8; 16],
    pub(super) filesystem: &'static str,
    /// Whether the file is in memory.
    pub(super) in_memory: bool,
    pub(super) warnings: Vec<&'static str>,
    pub(super) own_path: OwnPath,
    /// The checkpoints, as a read-only session found them.
    pub(super) told: Option<CheckpointStats>,
    pub(super) restored: Option<Restored>,
}

impl Open {
    /// The address that identifies the pool in [calls](Call).
    pub fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// The process that opened the pool.
    pub fn birthplace(&self) -> ForkGuard {
        self.birthplace
    }

    /// The space in which the maps are.
    pub fn space(&self) -> &Arc<Space<Mapped>> {
        &self.space
    }

    /// The path by which the pool was opened.
    pub fn path(&self) -> &Path {
        &self.facts.path
    }

    /// What the restore did, if the open took the pool back to a checkpoint or made it from one.
    pub fn restored(&self) -> Option<&Restored> {
        self.facts.restored.as_ref()
    }

    /// The error of a call that came after the close.
    pub(super) fn closed(&self) -> Error {
        Error::Closed { pool: self.space.name() }
    }

    /// Fails in a forked child, and if the calling thread is inside an operation of the pool.
    pub(crate) fn expect_outside(&self) -> Result<()> {
        // This check is first: a forked child inherits the calls of its parent's thread.
        if self.birthplace.is_elsewhere() {
            return Err(Error::Forked);
        }
        match Call::is_inside(self.address()) {
            true => Err(Error::InsideOperation),
            false => Ok(()),
        }
    }

    /// All maps, by name.
    pub fn maps(&self) -> Result<Vec<MapInfo>> {
        let maps = self.space.told(self.space.named_maps())?;
        Ok(maps.into_iter().map(|(name, map)| MapInfo::of(name, &map)).collect())
    }

    /// See `Pool::drop_map`.
    pub fn drop_map(&self, name: &str) -> Result<bool> {
        let inventory = |map: &MapState| Ok(table::of(map)?.inventory());
        self.space.told(self.space.drop_map(name, inventory))
    }

    /// See `Pool::rename`.
    pub fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.space.told(self.space.rename_map(from, to))
    }

    /// Makes several changes at once, in maps of this pool.
    pub fn commit(&self, operations: &[Operation<'_, Mapped>]) -> Result<()> {
        self.space.told(commit(&self.space, operations))
    }

    /// Runs `look` until it has seen each commit in maps of this pool whole or not at all.
    pub fn view(&self, look: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        self.space.told(self.space.view(look))
    }

    /// Whether the calling thread is in such a closure.
    pub fn is_viewed(&self) -> bool {
        self.space.is_viewed()
    }

    /// See `Pool::verify`.
    pub fn verify(&self) -> Result<Report> {
        self.expect_outside()?;
        self.space.told(verify(&self.space))
    }

    /// See `Pool::recover_leaks`.
    pub fn recover_leaks(&self) -> Result<bool> {
        drop(self.space.pin_mut()?);
        if self.space.leak_recovery().is_done() {
            return Ok(true);
        }
        for map in self.space.maps()? {
            table::of::<Mapped>(&map)?;
        }
        self.space.told(self.background.finish())
    }

    /// See `Pool::checkpoint`.
    pub fn checkpoint(&self) -> Result<Checkpoint> {
        self.expect_outside()?;
        drop(self.space.pin_mut()?);
        match &self.keeper {
            Some(keeper) => keeper.checkpoint(),
            None => Err(Error::Unsupported {
                what: "the pool has no checkpoints: open it with `checkpoints` among its options",
            }),
        }
    }

    /// See `Pool::close`.
    pub fn close(&self) -> Result<Closed> {
        let closed = self.end_session();
        // The program may end as soon as this call has returned, so the listener hears of all events first. A drop of
        // the last handle does not wait, because there the listener may wait for a lock that the caller holds.
        if !matches!(closed, Err(Error::Closed { .. } | Error::Forked | Error::InsideOperation)) {
            self.space.wait_for_listener();
        }
        closed
    }

    fn end_session(&self) -> Result<Closed> {
        self.expect_outside()?;
        // The close fails if an operation may still be running; the pool then stays open, and locked. While the close
        // waits for operations, it holds no lock except the turn of closing.
        self.space.close()?;
        self.background.join();
        self.keeper.iter().for_each(Keeper::stop);
        // No operation is running any more. Another thread that closes the pool waits here until this one is done.
        let mut open = self.file.lock();
        let mut file = open.take().ok_or_else(|| self.closed())?;
        let ended = match self.session.read_only {
            true => Ok(Closed::default()),
            false => self.end(&mut file),
        };
        if ended.is_err() && self.keeper.as_ref().is_some_and(Keeper::is_suspect) {
            // The round that raised the suspicion may have failed to record it.
            let _ = file.suspect();
        }
        self.keeper.iter().for_each(Keeper::let_go);
        // The medium is released before the file is unlocked. No operation and no round is running, and later ones are
        // refused.
        self.space.media().release();
        ended
    }

    /// Makes the closed pool durable, and then records that it was closed.
    fn end(&self, file: &mut PoolFile) -> Result<Closed> {
        self.expect_own(file)?;
        // The keeper vouches before the free space is saved, because the walks of `vouch` read the free space.
        let vouched = self.keeper.as_ref().map_or(Ok(()), Keeper::vouch);
        let length = self.space.save()?;
        if length < self.space.media().len() {
            // The pool is closed whether or not the file can be shortened: no session reads beyond the recorded length.
            let _ = self.space.media().cut(length);
        }
        file.mark_end(length);
        // The data must be on the disk before the superblock says that the pool was closed.
        self.space.media().sync().inspect_err(|_| self.suspect(file))?;
        let made = match &self.keeper {
            Some(keeper) => Some(keeper.close(file.closed_superblock()?, length)),
            None => None,
        };
        // The file is checked again, because the last checkpoint may have found that it no longer belongs to the pool.
        self.expect_own(file)?;
        // The next session trusts a closed pool to be intact, and would replace the checkpoint by the pool's contents.
        let vouched = vouched.and_then(|()| self.keeper.as_ref().map_or(Ok(()), Keeper::vouch));
        if let Err(error) = vouched {
            // A pool that could not be verified is not recorded as closed either. Only known damage is recorded as
            // suspect.
            if matches!(error, Error::Corrupt { .. }) {
                self.suspect(file);
            }
            return Err(error);
        }
        // Everything except the superblock is on the disk, so even if the superblock cannot be written, the pool is
        // intact as long as the machine runs.
        let is_kept = !file.filesystem().is_in_memory();
        if let Some(was) = self.keeper.as_ref().and_then(Keeper::was_elsewhere) {
            file.record_elsewhere(was);
        }
        file.end()?;
        self.facts.own_path.expect(file.file())?;
        match made.transpose() {
            Ok(checkpoint) => Ok(Closed { checkpoint, checkpoint_error: None }),
            // The whole pool is on the disk, and there may be an older checkpoint.
            Err(error) if is_kept => Ok(Closed { checkpoint: None, checkpoint_error: Some(error) }),
            // The file is in memory: nothing except a checkpoint survives the end of the machine.
            Err(error) => Err(error),
        }
    }

    /// Records for the next open that the session met damage, or that the disk refused pages of the pool, which the
    /// kernel reports only once. If this cannot be written either, the checkpoint records it, or the next open sees
    /// that the file system was mounted again.
    fn suspect(&self, file: &mut PoolFile) {
        self.space.poison();
        self.keeper.iter().for_each(Keeper::suspect);
        let _ = file.suspect();
    }

    /// Fails unless the file is as this session has left it. A file that another program has written over is not the
    /// pool that this session has to close.
    fn expect_own(&self, file: &PoolFile) -> Result<()> {
        if self.space.is_poisoned() {
            return Err(self.space.doubt());
        }
        let length = self.space.media().len();
        own::expect_own(file.file(), file.superblock(), length, None)
            .inspect_err(|error| self.space.poison_with(error))
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        match self.end_session() {
            Ok(_) | Err(Error::Closed { .. } | Error::Forked) => {}
            // No caller can receive the error.
            Err(error) => self.space.tell(|| Event::CloseFailed { code: error.code() }),
        }
    }
}
