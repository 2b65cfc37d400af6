//! Making checkpoints of an open pool: on demand, by a thread, and at the close.

use std::mem::ManuallyDrop;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use super::found::{Plan, pages_within};
use super::stats::{Checkpoint, CheckpointStats};
use crate::media::{Mapped, Media};
use crate::os::fork::ForkGuard;
use crate::pool::beside::{self, Beside};
use crate::pool::copy::{Copier, NoRound, Outcome, Pages, When};
use crate::pool::{
    Event, Failure, LeakRecoveryState, PoolFile, Schedule, Space, Superblock, restore,
};
use crate::sync::Mutex;
use crate::{Error, Result};

/// A pool that has no checkpoint yet, or one that must be compared, gets the first so long after the open: programs that
/// have it open for a moment do not pay for two.
const FIRST: Duration = Duration::from_secs(1);
/// Between two looks at how much has changed.
const LOOK: Duration = Duration::from_secs(1);
/// A hold of writers that is told.
const LONG: Duration = Duration::from_millis(20);

/// What rounds of a session share. Whoever makes one holds the lock.
struct Maker {
    beside: Option<Beside>,
    copier: Copier,
}

/// What is known of rounds without waiting for one.
#[derive(Clone, Copy)]
struct Known {
    /// What the next round must look at.
    pages: Pages,
    newest: Option<SystemTime>,
    last: Option<Checkpoint>,
    bytes: u64,
    /// Whether the last round failed.
    fails: bool,
}

struct Shared {
    space: Arc<Space<Mapped>>,
    superblock: Superblock,
    schedule: Schedule,
    path: PathBuf,
    /// Whether the session found a pool that was not closed, and that nobody has verified.
    is_in_doubt: bool,
    maker: Mutex<Maker>,
    known: Mutex<Known>,
}

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
            fails: false,
        };
        let maker = Maker { beside: plan.found, copier: Copier::default() };
        let shared = Arc::new(Shared {
            space: Arc::clone(space),
            superblock,
            schedule: plan.schedule,
            path: plan.path,
            is_in_doubt,
            maker: Mutex::new(maker),
            known: Mutex::new(known),
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
            let spawned = thread.spawn(move || shared.run(&end)).ok();
            self.has_no_thread = spawned.is_none();
            let thread = spawned.map(|handle| Thread { end: sender, handle });
            self.thread = Mutex::new(ManuallyDrop::new(thread));
        }
    }

    /// Makes one now. Durable on return.
    pub(in crate::store::pool) fn checkpoint(&self) -> Result<Checkpoint> {
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
            maker.beside.as_mut().ok_or_else(|| beside::bad(&self.shared.path, beside::EMPTY))?;
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
            // A panic was reported, and has poisoned the pool where necessary.
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

    /// Lets the file go, for the next session.
    pub(in crate::store::pool) fn let_go(&self) {
        self.shared.maker.lock().beside = None;
    }

    pub(in crate::store::pool) fn stats(&self) -> CheckpointStats {
        let (shared, known) = (&self.shared, *self.shared.known.lock());
        let media = shared.space.media();
        let changed = media.dirty_pages().map_or(0, |noted| noted.count(media.len()));
        CheckpointStats {
            path: shared.path.clone(),
            every: shared.schedule.every,
            after_bytes: shared.schedule.after_bytes,
            newest: known.newest,
            last: known.last,
            bytes: known.bytes,
            changed_bytes: changed * restore::PAGE_BYTES,
        }
    }

    /// Problems, in sentences for a person.
    pub(in crate::store::pool) fn warnings(&self) -> impl Iterator<Item = &'static str> {
        let known = *self.shared.known.lock();
        let has_met_damage = self.shared.space.met_damage().is_some();
        let damage = has_met_damage.then_some(
            "this session met damage in the pool: it makes no checkpoint, and the newest one stays as it is; see with `endura check` \
             what is damaged, and take the pool back with `endura restore`",
        );
        let fails = (known.fails && !has_met_damage).then_some(
            "the last checkpoint could not be made (no room, or an error of the disk: see the event): an earlier one is kept, and \
             it is tried again",
        );
        let no_thread = self.has_no_thread.then_some(
            "the thread that makes checkpoints could not be started: there are those on demand and at the close only",
        );
        damage.into_iter().chain(fails).chain(no_thread)
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
        let every = self.schedule.every.map(|every| every.saturating_sub(since));
        let known = *self.known.lock();
        let is_first = known.pages == Pages::All && !known.fails;
        let first = is_first.then(|| FIRST.saturating_sub(since));
        let look = self.schedule.after_bytes.map(|_| LOOK);
        let least = [every, first, look].into_iter().flatten().min();
        // A round that failed is not tried again at once.
        least.unwrap_or(LOOK).max(Duration::from_millis(1))
    }

    fn is_due(&self, since: Duration) -> bool {
        let known = *self.known.lock();
        let is_first = known.pages == Pages::All && !known.fails;
        if is_first && since >= FIRST {
            return true;
        }
        let media = self.space.media();
        let changed = || media.dirty_pages().map_or(0, |noted| noted.count(media.len()));
        // What an earlier session has changed is not noted.
        let has_changed =
            |most: u64| known.pages == Pages::All || changed() * restore::PAGE_BYTES >= most;
        let is_time = self.schedule.every.is_some_and(|every| since >= every);
        is_time && has_changed(1) || self.schedule.after_bytes.is_some_and(has_changed)
    }

    fn round(&self, maker: &mut Maker, superblock: Superblock, when: When) -> Result<Checkpoint> {
        let made = self.space.told(self.try_round(maker, superblock, when));
        let made = made.map_err(|error| match self.space.met_damage() {
            Some(_) => beside::bad(&self.path, beside::DAMAGE),
            None => error,
        });
        let mut known = self.known.lock();
        known.fails = made.is_err() && !matches!(made, Err(Error::Closed | Error::Poisoned));
        match &made {
            Ok((checkpoint, bytes)) => {
                known.pages = Pages::Noted;
                known.newest = Some(checkpoint.at);
                known.last = Some(*checkpoint);
                known.bytes = *bytes;
                let Checkpoint { held, written_bytes, .. } = *checkpoint;
                if held > LONG {
                    self.space.tell(|| Event::WritersHeld { held });
                }
                self.space.tell(|| Event::CheckpointEnded { held, written_bytes });
            }
            Err(error) => self.space.tell(|| Event::CheckpointFailed { code: error.code() }),
        }
        made.map(|(checkpoint, _)| checkpoint)
    }

    /// Whether what the pool holds may take the place of the newest checkpoint.
    fn vouch(&self, is_closed: bool) -> Result<()> {
        let space = &self.space;
        let refused = |what| Err(beside::bad(&self.path, what));
        if space.met_damage().is_none() && self.is_in_doubt && !space.is_walked(is_closed)? {
            let state = space.collection().state;
            if space.met_damage().is_none() {
                let is_unknown = state == LeakRecoveryState::Failed;
                return refused(if is_unknown { beside::UNKNOWN } else { beside::UNVERIFIED });
            }
        }
        if space.met_damage().is_some() { refused(beside::DAMAGE) } else { Ok(()) }
    }

    fn try_round(
        &self,
        maker: &mut Maker,
        superblock: Superblock,
        when: When,
    ) -> Result<(Checkpoint, u64)> {
        let Maker { beside, copier } = maker;
        // The file may be another session's already.
        if self.space.is_closed() && when == When::Open {
            return Err(Error::Closed);
        }
        self.vouch(when != When::Open)?;
        if !self.space.media().has_name() {
            return Err(beside::bad(&self.path, beside::OF_A_REMOVED_POOL));
        }
        if let Some(kept) = beside
            && !kept.is_there()?
        {
            // It was removed: what would be written to it could not be found.
            *beside = None;
            self.known.lock().newest = None;
        }
        if beside.is_none() {
            *beside = Some(Beside::create(&self.path, pages_within(self.space.media().limit()))?);
            self.known.lock().pages = Pages::All;
        }
        let pages = self.known.lock().pages;
        let Some(kept) = beside.as_mut() else { return Err(Error::Closed) };
        let whole = kept.whole().map_err(NoRound::File);
        let round =
            whole.and_then(|file| copier.round(&self.space, file, &superblock, (pages, when)));
        let outcome = match round {
            Ok(outcome) => outcome,
            Err(NoRound::Pool(error)) => return Err(error),
            Err(NoRound::File(failure)) => {
                if !matches!(failure, Failure::Io(_)) {
                    // What is in it stays: the next round makes another file, with all pages.
                    *beside = None;
                }
                return Err(beside::told(&self.path, failure));
            }
        };
        kept.settle()?;
        let Outcome { held, copied, written, tries } = outcome;
        let newest = kept.newest();
        let at = newest.map_or(SystemTime::UNIX_EPOCH, |moment| beside::time_of(&moment));
        let copied_bytes = copied * restore::PAGE_BYTES;
        let made = Checkpoint { at, held, copied_bytes, written_bytes: written, tries };
        Ok((made, kept.bytes()))
    }
}
