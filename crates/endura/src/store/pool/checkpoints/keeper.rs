//! Making checkpoints of an open pool: on demand, by a thread, and at the close.

use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::found::Plan;
use super::rounds::{Known, Maker, Shared};
use super::stats::{Checkpoint, CheckpointStats};
use crate::media::{Mapped, Media};
use crate::os::fork::ForkGuard;
use crate::pool::beside::{self, Beside};
use crate::pool::copy::{Copier, Pages, When};
use crate::pool::{Blocks, OwnPath, PoolFile, Schedule, Space, Superblock, Watch, restore};
use crate::sync::Mutex;
use crate::{Error, Result};

/// A pool that has no checkpoint yet, or one that must be compared, gets the first so long after the open: programs that
/// have it open for a moment do not pay for two.
const FIRST: Duration = Duration::from_secs(1);
/// Between two looks at how much has changed.
const LOOK: Duration = Duration::from_secs(1);

/// A thread, and what tells it to end when it is dropped.
struct Thread {
    end: SyncSender<()>,
    handle: JoinHandle<()>,
}

/// Makes the checkpoints of one session.
pub(in crate::store::pool) struct Keeper {
    shared: Arc<Shared>,
    birthplace: ForkGuard,
    /// Dropped only by `stop`: see `Background`.
    thread: Mutex<ManuallyDrop<Option<Thread>>>,
    has_no_thread: bool,
}

impl Keeper {
    /// Begins with what the session has found. The pages of the pool are noted from its first store on.
    ///
    /// A pool that `is_in_doubt`, because it was not closed, takes the place of the newest checkpoint only when the walks of
    /// its collection have found it sound: a page of it may have rotted that is whole in the checkpoint.
    pub(in crate::store::pool) fn begin(
        space: &Arc<Space<Mapped>>,
        file: &PoolFile,
        own_path: OwnPath,
        plan: Plan,
        is_in_doubt: bool,
    ) -> Self {
        let superblock = *file.superblock();
        let newest = plan.found.as_ref().and_then(|found| found.newest());
        let made = newest.filter(|_| !superblock.base_lags);
        let known = Known {
            pages: if plan.is_current { Pages::Noted } else { Pages::All },
            newest: made.map(|moment| beside::time_of(&moment)),
            last: None,
            bytes: plan.found.as_ref().map_or(0, |found| found.bytes()),
            last_failure: None,
            failures: 0,
            fails: false,
            is_suspect: false,
            blocks: Blocks::Own,
            obstacle: None,
        };
        let (schedule, path) = (plan.schedule, plan.path.clone());
        let was_elsewhere = plan.was_elsewhere;
        let newest_said = plan.newest;
        let copier = Copier::of(own_path.hash());
        let maker = Maker { kept: plan.kept(superblock.session), copier, newest: newest_said };
        let shared = Arc::new(Shared {
            space: Arc::clone(space),
            superblock,
            schedule,
            path,
            was_elsewhere,
            own_path,
            is_in_doubt,
            maker: Mutex::new(maker),
            known: Mutex::new(known),
            watch: Watch::on(file.filesystem()).map(Mutex::new),
        });
        Self {
            shared,
            birthplace: ForkGuard::here(),
            thread: Mutex::new(ManuallyDrop::new(None)),
            has_no_thread: false,
        }
    }

    /// Starts the thread, if the schedule wants one. After the collection has begun, for which a first round may wait.
    pub(in crate::store::pool) fn start(&mut self) {
        let Schedule { every, after_bytes, .. } = self.shared.schedule;
        if every.is_some() || after_bytes.is_some() {
            let (sender, end) = sync_channel(1);
            let shared = Arc::clone(&self.shared);
            let thread = std::thread::Builder::new().name("endura-checkpoint".to_owned());
            let thread = match thread.spawn(move || shared.run(&end)) {
                Ok(handle) => Some(Thread { end: sender, handle }),
                Err(error) => {
                    self.has_no_thread = true;
                    self.shared
                        .note_failure(&Error::io("starting the thread of checkpoints", error));
                    None
                }
            };
            self.thread = Mutex::new(ManuallyDrop::new(thread));
        }
    }

    /// Makes one now. Durable on return.
    pub(in crate::store::pool) fn checkpoint(&self) -> Result<Checkpoint> {
        self.shared.own_blocks();
        self.shared.round(&mut self.shared.maker.lock(), self.shared.superblock, When::Open)
    }

    /// Makes one, and gives it to `use_it` before another can be made.
    pub(in crate::store::pool) fn with_checkpoint<R>(
        &self,
        use_it: impl FnOnce(&mut Beside) -> Result<R>,
    ) -> Result<R> {
        let mut maker = self.shared.maker.lock();
        self.shared.round(&mut maker, self.shared.superblock, When::Open)?;
        let beside =
            maker.kept.file().ok_or_else(|| beside::bad(&self.shared.path, beside::EMPTY))?;
        use_it(beside)
    }

    /// Ends the thread, in the process that has it.
    pub(in crate::store::pool) fn stop(&self) {
        if self.birthplace.is_elsewhere() {
            return;
        }
        let thread = ManuallyDrop::into_inner(std::mem::take(&mut *self.thread.lock()));
        if let Some(Thread { end, handle }) = thread {
            drop(end);
            // A panic was reported, and has poisoned the pool where necessary. The round of the close comes all the same.
            let _ = handle.join();
        }
    }

    /// Finds out whether a closed pool may say so, which the next session takes for whole: finishes the walks that the first
    /// round has to wait for.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] if the session met damage; [`Error::BadCheckpoint`] if the pool could not be verified.
    pub(in crate::store::pool) fn vouch(&self) -> Result<()> {
        let vouched = self.shared.vouch(true);
        match self.shared.space.met_damage() {
            Some((offset, what)) => Err(Error::Corrupt { offset, what }),
            None => vouched,
        }
    }

    /// Makes the last one of the session, of a pool that is closed, synced, and will have `length` bytes. A failure leaves the
    /// pool as it is: closed, with an older checkpoint.
    pub(in crate::store::pool) fn close(
        &self,
        closed: Superblock,
        length: u64,
    ) -> Result<Checkpoint> {
        self.shared.round(&mut self.shared.maker.lock(), closed, When::Closed { length })
    }

    /// Whether a round found that the disk has refused pages of the pool, or that it is damaged.
    pub(in crate::store::pool) fn is_suspect(&self) -> bool {
        self.shared.known.lock().is_suspect
    }

    /// Whether the pool had its checkpoints elsewhere before this session, if the file of this one holds none: then there is no
    /// reason to ask for that at each open.
    pub(in crate::store::pool) fn was_elsewhere(&self) -> Option<bool> {
        let has_none = self.shared.maker.lock().kept.newest().is_none();
        has_none.then_some(self.shared.was_elsewhere)
    }

    /// Says that it is.
    pub(in crate::store::pool) fn suspect(&self) {
        self.shared.suspect(&mut self.shared.maker.lock());
    }

    /// Lets the file go, for the next session.
    pub(in crate::store::pool) fn let_go(&self) {
        self.shared.maker.lock().kept.let_go();
    }

    pub(in crate::store::pool) fn stats(&self) -> CheckpointStats {
        let (shared, known) = (&self.shared, self.shared.known.lock().clone());
        let media = shared.space.media();
        let changed = media.dirty_pages().map_or(0, |noted| noted.count(media.len()));
        CheckpointStats {
            path: shared.path.clone(),
            every: shared.schedule.every,
            after_bytes: shared.schedule.after_bytes,
            newest: known.newest,
            last: known.last,
            last_failure: known.last_failure,
            failures_in_a_row: known.failures,
            bytes: known.bytes,
            changed_bytes: changed * restore::PAGE_BYTES,
        }
    }

    /// Problems, in sentences for a person.
    pub(in crate::store::pool) fn warnings(&self) -> impl Iterator<Item = &'static str> {
        let known = self.shared.known.lock();
        let (fails, obstacle, blocks) = (known.fails, known.obstacle, known.blocks);
        drop(known);
        let has_met_damage = self.shared.space.met_damage().is_some();
        let damage = has_met_damage.then_some(
            "this session met damage in the pool: it makes no checkpoint, and the newest one stays as it is; see with `endura check` \
             what is damaged, and take the pool back with `endura restore`",
        );
        let fails = (fails && !has_met_damage).then_some(
            "the last checkpoint could not be made (no room, or an error of the disk: see the event): an earlier one is kept, and \
             it is tried again",
        );
        let no_thread = self.has_no_thread.then_some(
            "the thread that makes checkpoints could not be started: there are those on demand and at the close only",
        );
        let fails = fails.into_iter().chain(obstacle);
        damage.into_iter().chain(fails).chain(no_thread).chain(blocks.warning())
    }
}

impl Shared {
    /// The thread: makes checkpoints as scheduled, until it is told to end or the pool takes no more.
    fn run(&self, end: &Receiver<()>) {
        let mut last = Instant::now();
        loop {
            let pause = self.pause(last.elapsed());
            match end.recv_timeout(pause) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(()) | Err(RecvTimeoutError::Disconnected) => return,
            }
            self.own_blocks();
            if !self.is_due(last.elapsed()) {
                continue;
            }
            last = Instant::now();
            let made = self.round(&mut self.maker.lock(), self.superblock, When::Open);
            let ends = |error: &Error| {
                matches!(
                    error,
                    Error::Closed | Error::Poisoned | Error::Forked | Error::Corrupt { .. }
                )
            };
            if made.as_ref().is_err_and(|error| ends(error) || self.space.met_damage().is_some()) {
                return;
            }
        }
    }

    /// How long until something may be due.
    fn pause(&self, since: Duration) -> Duration {
        let watch = self.watch.as_ref().map(|watch| watch.lock().pause());
        // Where nothing has changed until then, a pool that is not used is looked at no more often than any other.
        let every = self.schedule.every.map(|every| match every.saturating_sub(since) {
            Duration::ZERO => every.min(LOOK),
            left => left,
        });
        let is_first = self.is_first();
        let first = is_first.then(|| FIRST.saturating_sub(since));
        let look = self.schedule.after_bytes.map(|_| LOOK);
        let least = [every, first, look, watch].into_iter().flatten().min();
        // A round that failed is not tried again at once.
        least.unwrap_or(LOOK).max(Duration::from_millis(1))
    }

    /// Whether the next round is one that looks at all pages, and was not tried in vain.
    fn is_first(&self) -> bool {
        let known = self.known.lock();
        known.pages == Pages::All && !known.fails
    }

    fn is_due(&self, since: Duration) -> bool {
        if self.is_first() && since >= FIRST {
            return true;
        }
        let pages = self.known.lock().pages;
        let media = self.space.media();
        let changed = || media.dirty_pages().map_or(0, |noted| noted.count(media.len()));
        // What an earlier session has changed is not noted.
        let has_changed =
            |most: u64| pages == Pages::All || changed() * restore::PAGE_BYTES >= most;
        let is_time = self.schedule.every.is_some_and(|every| since >= every);
        is_time && has_changed(1) || self.schedule.after_bytes.is_some_and(has_changed)
    }

    /// Gives the file blocks of its own, where a copy that was made meanwhile shares them: a store to one of those ends the
    /// process where the disk is full.
    fn own_blocks(&self) {
        if let Some(watch) = &self.watch
            && let Ok(file) = self.space.media().file()
        {
            let goes_on = || !self.space.is_closed();
            let blocks = watch.lock().look(&file, goes_on);
            self.known.lock().blocks = blocks;
        }
    }
}
