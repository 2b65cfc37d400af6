//! Copies of whole pools, and restores by hand.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::aside::set_aside;
use super::choice::Checkpoints;
use super::found::{self, Restored};
use super::told;
use crate::checkpoint::beside::{self, Beside};
use crate::checkpoint::restore::{self, Writes};
use crate::checkpoint::why;
use crate::checkpoint::{Relation, Said};
use crate::media::{Mapped, Media, Placement, Region};
use crate::os::{disk, lock};
use crate::space::{PoolFile, Space, Superblock};
use crate::{Error, Result};

/// Bytes that are copied at once.
const PIECE: usize = 1 << 20;
/// How long a copy of a pool without checkpoints waits for writers.
const PATIENCE: Duration = Duration::from_secs(1);
/// How many times a copy of a checkpoint is attempted if the checkpoint is replaced meanwhile.
const ATTEMPTS: u32 = 5;

/// The source of a copy.
pub(crate) enum Source<'s> {
    /// A checkpoint.
    Checkpoint(&'s mut Beside),
    /// The pool itself. Its writers wait while it is copied.
    Pool(&'s Space<Mapped>, &'s Superblock),
}

/// Finds out on what kind of storage a pool's file lies.
pub(crate) type PlacementOf<'p> = dyn Fn(&PoolFile) -> Result<Placement> + 'p;

/// Begins a session on a pool's file that only closes the pool.
pub(crate) type Mount<'m> = dyn Fn(&mut PoolFile) -> Result<Arc<Space<Mapped>>> + 'm;

/// Writes a closed pool with the contents of `source` to `to`, where no file is yet. `of` is the file of the pool from
/// which `source` comes. The copy gets its name when it is whole and durable.
pub(crate) fn write(
    to: &Path,
    (source, of): (Source<'_>, &File),
    any_filesystem: bool,
    (placement, mount): (&PlacementOf<'_>, &Mount<'_>),
    progress: &mut restore::Progress<'_>,
) -> Result<()> {
    let root = match &source {
        Source::Checkpoint(from) => found::newest(from)?.0,
        Source::Pool(_, superblock) => **superblock,
    };
    let fill = |file: &File| {
        match source {
            Source::Checkpoint(from) => {
                let written = from.restore(file, Writes::Differing, progress);
                written.map_err(|failure| beside::told(from.path(), failure))?;
            }
            Source::Pool(space, _) => copy_held(space, file, progress)?,
        }
        Superblock { clean: false, ..root }.write(file)
    };
    // The copy is closed like any pool. So it can be opened anywhere, even where nothing shows that the file is the one
    // that was written here.
    let close = |file: &mut PoolFile| {
        let placement = placement(file)?;
        file.restored(&root, &placement)?;
        file.plan(crate::space::Schedule { is_elsewhere: false, ..root.schedule }, None);
        let space = mount(file)?;
        let length = space.save()?;
        space.media().cut(length)?;
        file.mark_end(length);
        space.media().sync()?;
        file.end()
    };
    let access = crate::space::Access { read_only: false, any_filesystem };
    PoolFile::make(to, access, Some(of), (fill, close)).map(drop)
}

/// Copies a whole pool while its writers wait. No closure of the caller is called while they wait, because the closure
/// may write to the pool.
fn copy_held(space: &Space<Mapped>, to: &File, progress: &mut restore::Progress<'_>) -> Result<()> {
    let failed = |error| Error::io("writing a copy of the pool", error);
    let length = space.media().len();
    progress(0, length).map_err(failed)?;
    // The pin, or the hold, keeps a close waiting until all is copied.
    let (pin, hold) = match space.session().read_only {
        true => (Some(space.pin()?), None),
        false => (None, Some(space.hold(PATIENCE)?.ok_or_else(|| space.writers_stay())?)),
    };
    let (media, mut bytes) = (space.media(), vec![0; PIECE]);
    let length = media.len();
    for at in (2 * restore::PAGE_BYTES..length).step_by(PIECE) {
        let piece = &mut bytes[..PIECE.min((length - at) as usize)];
        Region::new(media, at, piece.len() / 8)?.read(0, piece);
        disk::refuse_beyond_limit(at + piece.len() as u64).map_err(failed)?;
        to.write_all_at(piece, at).map_err(failed)?;
    }
    drop((pin, hold));
    if let Some((offset, what)) = space.met_damage() {
        // Otherwise the copy would have the damage, and yet be marked as cleanly closed.
        return Err(Error::Corrupt { offset, what });
    }
    to.sync_all().map_err(failed)?;
    progress(length, length).map_err(failed)
}

/// The arguments of a restore by hand.
pub struct ByHand<'h> {
    /// The path of the pool.
    pub path: &'h Path,
    /// The checkpoint that the caller names.
    pub from: Option<&'h Path>,
    /// Whether the file as it was is kept beside it.
    pub keep_torn: bool,
}

impl ByHand<'_> {
    fn checkpoint_path(&self) -> PathBuf {
        self.from.map_or_else(|| beside::default_path(self.path), Path::to_owned)
    }

    fn checkpoint(&self) -> Result<Beside> {
        let path = self.checkpoint_path();
        let found = Beside::open(&path, u32::MAX, (true, beside::PATIENCE))?;
        found.ok_or_else(|| Error::no_checkpoint(&path))
    }

    /// Fails unless the checkpoint may be used for a pool that records `said`.
    fn check(&self, from: &Beside, said: Said<'_>) -> Result<()> {
        let refused = |what| Err(why::bad(from.path(), what));
        match from.relation(said) {
            None => refused(why::EMPTY),
            Some(Relation::Foreign) => refused(why::FOREIGN),
            // The caller named this checkpoint, and so knows which one it is.
            _ if self.from.is_some() => Ok(()),
            Some(Relation::Stale) => refused(why::STALE),
            Some(Relation::Older) => refused(why::OLDER),
            Some(Relation::Related { lags: true, .. }) => refused(why::LAGS),
            Some(Relation::Related { .. }) => Ok(()),
        }
    }

    /// Restores the pool from a checkpoint.
    pub(crate) fn restore(
        &self,
        file: &mut PoolFile,
        placement: &Placement,
        progress: &mut restore::Progress<'_>,
    ) -> Result<Restored> {
        let last = *file.superblock();
        let is_torn = !matches!(file.doubt(placement, last.suspects(&last)), Ok(None));
        let explained = |error| why::explained(error, is_torn);
        let mut from = self.checkpoint().map_err(explained)?;
        self.check(&from, found::said(file, true)?).map_err(explained)?;
        file.hear_of_refused_pages();
        let suspected = from.suspects(file.superblock());
        let Some(doubt) = file.doubt(placement, suspected)? else {
            let choice = self.from.map(|from| Checkpoints::as_left().in_file(from));
            let told = |error| told::cut(self.path, choice.as_ref(), file, error);
            file.check_length().map_err(told)?;
            return Err(why::bad(from.path(), WHOLE));
        };
        file.expect_alone()?;
        let kept = if self.keep_torn { Some(set_aside(file, self.path)?) } else { None };
        let had = file.shut()?;
        let restored = found::restore_in_place(file, &mut from, placement, progress);
        // If the checkpoint is bad, nothing was written to the pool.
        if matches!(restored, Err(Error::BadCheckpoint { .. })) {
            file.open_again(had);
        }
        Ok(Restored { reason: Some(doubt.reason()), kept, ..restored? })
    }

    /// Calls `write` with the newest checkpoint of a pool that another process may be writing, and returns the time at
    /// which the checkpoint was made. If pages of the checkpoint are overwritten meanwhile, because newer ones were
    /// made, starts again with the newest checkpoint.
    pub(crate) fn copy_beside_a_writer(
        &self,
        write: &mut dyn FnMut(Source<'_>, &File) -> Result<()>,
    ) -> Result<SystemTime> {
        let path = self.checkpoint_path();
        for _ in 0..ATTEMPTS {
            let mut from = Beside::peek(&path, u32::MAX)?;
            // The pool is read after the checkpoint: a session that begins between the two reads names that checkpoint
            // as its base.
            let pool =
                lock::open(self.path, true).map_err(|error| Error::opening(self.path, error))?;
            // Further rounds may have been made since, so the number that the pool records says nothing.
            let last = Superblock::read(&pool)?;
            self.check(&from, Said { last: &last, newest: None, may_be_torn: true })?;
            let seen = from.newest();
            // From now on `from` names the moment of the pages that it has read.
            let whole = from.whole().map(drop);
            let whole = whole.map_err(|failure| beside::told(&path, failure));
            match whole.and_then(|()| write(Source::Checkpoint(&mut from), &pool)) {
                Ok(()) => return Ok(found::newest(&from)?.1),
                Err(Error::BadCheckpoint { .. })
                    if Beside::peek(&path, u32::MAX)?.newest() != seen => {}
                Err(error) => return Err(error),
            }
        }
        Err(why::bad(&path, TOO_FAST))
    }

    /// Creates a pool that does not exist from a checkpoint.
    pub(crate) fn make_anew(
        &self,
        any_filesystem: bool,
        placement: impl Fn(&PoolFile) -> Result<Placement>,
        progress: &mut restore::Progress<'_>,
    ) -> Result<Restored> {
        let access = crate::space::Access { read_only: false, any_filesystem };
        let made =
            found::make_anew(self.path, access, &mut self.checkpoint()?, placement, progress);
        made.map(|(_, restored)| restored)
    }
}

const TOO_FAST: &str = "it is replaced faster than it can be copied: have the program that has the pool open make the copy \
     (`Pool::backup`)";
const WHOLE: &str = "no power loss has torn the pool, so it stays as it is, with what was written after the checkpoint (`endura check` \
     tells whether it is damaged); to go back all the same, move the pool away and open its path again: it is made anew from \
     the checkpoint";
