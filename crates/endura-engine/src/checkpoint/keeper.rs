//! Making checkpoints of an open pool: on demand, by a thread, and at the close.

use std::borrow::Cow;
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use super::found::CheckpointPlan;
use super::rounds::{Known, Maker, SessionRounds};
use super::stats::{Checkpoint, CheckpointStats};
use super::timing::first_after;
use crate::checkpoint::beside::{self, Beside};
use crate::checkpoint::copy::{Copier, Pages, When};
use crate::checkpoint::restore;
use crate::checkpoint::why;
use crate::media::{Mapped, Media};
use crate::os::fork::ForkGuard;
use crate::runtime::threads;
use crate::space::{Blocks, BlocksWatch, OwnPath, PoolFile, Schedule, Space, Superblock};
use crate::sync::Mutex;
use crate::{CheckpointProblem, Error, Result};

/// A thread, and a channel. The thread ends when the channel is dropped.
struct Thread {
    end: SyncSender<()>,
    handle: JoinHandle<()>,
}

/// Makes the checkpoints of one session.
pub(crate) struct Keeper {
    shared: Arc<SessionRounds>,
    birthplace: ForkGuard,
    /// The thread that makes checkpoints, if there is one. It is dropped only by `stop`: see `Background`.
    thread: Mutex<ManuallyDrop<Option<Thread>>>,
    has_no_thread: bool,
}

impl Keeper {
    /// Starts from the plan of the session. The pages of the pool are noted from its first store on.
    ///
    /// If the pool `is_in_doubt`, because it was not closed, a round replaces the newest checkpoint only after the
    /// walks of the leak recovery have found the pool sound: a page that is whole in the checkpoint may have rotted in
    /// the pool.
    pub(crate) fn begin(
        space: &Arc<Space<Mapped>>,
        file: &PoolFile,
        own_path: OwnPath,
        plan: CheckpointPlan,
        is_in_doubt: bool,
    ) -> Self {
        let superblock = *file.superblock();
        let newest = plan.found.as_ref().and_then(|found| found.newest());
        let made = newest.filter(|_| !superblock.base_lags).map(|moment| beside::time_of(&moment));
        let problem = match (newest, made) {
            (_, Some(_)) => None,
            (Some(_), None) => Some(CheckpointProblem::Outdated),
            (None, None) => Some(CheckpointProblem::NotYet),
        };
        // If the clock was set back, the checkpoint counts as new.
        let age = made.map(|made| made.elapsed().unwrap_or_default());
        let is_behind = !space.session().clean || superblock.base_lags;
        let first = first_after(&plan.schedule, age, is_behind);
        let known = Known {
            pages: if plan.is_current { Pages::Noted } else { Pages::All },
            newest: made,
            last: None,
            bytes: plan.found.as_ref().map_or(0, |found| found.bytes()),
            last_failure: None,
            failures: 0,
            fails: false,
            is_suspect: false,
            blocks: Blocks::Own,
            obstacle: None,
            problem,
        };
        let (schedule, path) = (plan.schedule, plan.path.clone());
        let (was_elsewhere, in_memory) = (plan.was_elsewhere, plan.in_memory);
        let newest_said = plan.newest;
        let copier = Copier::of(own_path.hash());
        let maker = Maker { kept: plan.kept(superblock.session), copier, newest: newest_said };
        let shared = Arc::new(SessionRounds {
            space: Arc::clone(space),
            superblock,
            schedule,
            path,
            in_memory,
            was_elsewhere,
            first,
            own_path,
            is_in_doubt,
            maker: Mutex::new(maker),
            known: Mutex::new(known),
            watch: BlocksWatch::on(file.filesystem()).map(Mutex::new),
        });
        Self {
            shared,
            birthplace: ForkGuard::here(),
            thread: Mutex::new(ManuallyDrop::new(None)),
            has_no_thread: false,
        }
    }

    /// Starts the thread, if the schedule wants one. It must be called after the leak recovery has begun, because the
    /// first round may wait for the leak recovery.
    pub(crate) fn start(&mut self) {
        let Schedule { every, after_bytes, .. } = self.shared.schedule;
        if every.is_some() || after_bytes.is_some() {
            let (sender, end) = sync_channel(1);
            let shared = Arc::clone(&self.shared);
            let rounds = Box::new(move || shared.run(&end));
            let thread = match threads::start("endura-checkpoint", rounds) {
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

    /// Makes a checkpoint now. The checkpoint is durable on return.
    pub(crate) fn checkpoint(&self) -> Result<Checkpoint> {
        // This lock is taken before `own_blocks` looks at the file: a close, which cuts the file, waits for the lock.
        let mut maker = self.shared.maker.lock();
        self.shared.own_blocks();
        self.shared.round(&mut maker, self.shared.superblock, When::Open)
    }

    /// Makes a checkpoint, and calls `use_it` with it before another one can be made.
    pub(crate) fn with_checkpoint<R>(
        &self,
        use_it: impl FnOnce(&mut Beside) -> Result<R>,
    ) -> Result<R> {
        let mut maker = self.shared.maker.lock();
        self.shared.round(&mut maker, self.shared.superblock, When::Open)?;
        let beside = maker.kept.file().ok_or_else(|| why::bad(&self.shared.path, why::EMPTY))?;
        use_it(beside)
    }

    /// Ends the thread, if this process has it, and waits for rounds of other threads, which end soon in a closed pool.
    pub(crate) fn stop(&self) {
        if self.birthplace.is_elsewhere() {
            return;
        }
        let thread = ManuallyDrop::into_inner(std::mem::take(&mut *self.thread.lock()));
        if let Some(Thread { end, handle }) = thread {
            drop(end);
            // A panic was reported, and has poisoned the pool if necessary. The close makes its round all the same.
            let _ = handle.join();
        }
        // Waits for a round of another thread that began before the pool was closed: it reads pages that the end of the
        // close cuts off. A round that begins later finds the pool closed.
        drop(self.shared.maker.lock());
    }

    /// Finds out whether a pool that is being closed may be marked as closed. The next session takes a pool with that
    /// mark for whole. Completes the walks for which the first round has to wait.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] if the session met damage; [`Error::BadCheckpoint`] if the pool could not be verified.
    pub(crate) fn vouch(&self) -> Result<()> {
        let vouched = self.shared.vouch(true);
        match self.shared.space.met_damage() {
            Some((offset, what)) => Err(Error::Corrupt { offset, what }),
            None => vouched,
        }
    }

    /// Makes the last checkpoint of the session, of a pool that is closed and synced, and will have `length` bytes.
    /// After a failure the pool is still closed, with an older checkpoint.
    pub(crate) fn close(&self, closed: Superblock, length: u64) -> Result<Checkpoint> {
        self.shared.round(&mut self.shared.maker.lock(), closed, When::Closed { length })
    }

    /// Whether a round found that the disk has refused pages of the pool, or that it is damaged.
    pub(crate) fn is_suspect(&self) -> bool {
        self.shared.known.lock().is_suspect
    }

    /// Whether the pool had its checkpoints elsewhere before this session; `None` if the file of this session holds a
    /// checkpoint. If that file holds none, there is no reason to require it at each open.
    pub(crate) fn was_elsewhere(&self) -> Option<bool> {
        let has_none = self.shared.maker.lock().kept.newest().is_none();
        has_none.then_some(self.shared.was_elsewhere)
    }

    /// Records that the disk has refused pages of the pool, or that the pool is damaged.
    pub(crate) fn suspect(&self) {
        self.shared.suspect(&mut self.shared.maker.lock());
    }

    /// Releases the file for the next session.
    pub(crate) fn let_go(&self) {
        self.shared.maker.lock().kept.let_go();
    }

    pub(crate) fn stats(&self) -> CheckpointStats {
        let (shared, known) = (&self.shared, self.shared.known.lock().clone());
        let media = shared.space.media();
        let changed = media.dirty_pages().map_or(0, |noted| noted.count(media.len()));
        CheckpointStats {
            path: shared.path.clone(),
            every: shared.schedule.every,
            after_bytes: shared.schedule.after_bytes,
            newest: known.newest,
            problem: known.problem,
            in_memory: shared.in_memory,
            last: known.last,
            last_failure: known.last_failure,
            failures_in_a_row: known.failures,
            bytes: known.bytes,
            changed_bytes: changed * restore::PAGE_BYTES,
        }
    }

    /// Problems with checkpoints, in sentences for a person.
    pub(crate) fn warnings(&self) -> impl Iterator<Item = Cow<'static, str>> {
        let known = self.shared.known.lock().clone();
        let blocks = known.blocks;
        let took = known.last.map_or(Duration::ZERO, |last| last.took);
        let has_met_damage = self.shared.space.met_damage().is_some();
        let damage = has_met_damage.then_some(
            "this session met damage in the pool: it makes no checkpoint, and the newest one stays as it is: close the pool, and \
             its next open goes back to that (`endura check` on a copy tells what is damaged)",
        );
        let fails = (known.fails && !has_met_damage).then(|| known.failure()).flatten();
        let no_thread = self.has_no_thread.then_some(
            "the thread that makes checkpoints could not be started: there are those on demand and at the close only",
        );
        let is_slow = self.shared.schedule.every.is_some_and(|every| took > every);
        let slow = is_slow.then_some(
            "the last checkpoint took longer than the interval between two: a power loss costs the interval and as long as one takes; \
             choose a longer interval, or a faster disk for them",
        );
        let others = slow.into_iter().chain(no_thread).chain(blocks.warning());
        let damage = damage.into_iter().map(Cow::Borrowed);
        damage.chain(fails.map(Cow::Owned)).chain(others.map(Cow::Borrowed))
    }
}
