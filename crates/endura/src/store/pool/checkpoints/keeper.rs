//! Making checkpoints of an open pool: on demand, by a thread, and at the close.

use std::mem::ManuallyDrop;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use super::found::{Plan, number_not_written, pages_within};
use super::stats::{Checkpoint, CheckpointStats};
use crate::media::{Mapped, Media};
use crate::os::fork::ForkGuard;
use crate::pool::beside::{self, Beside};
use crate::pool::copy::{Copier, NoRound, Outcome, Pages, When};
use crate::pool::{
    Blocks, Event, Kept, LeakRecoveryState, Newest, OwnPath, PoolFile, Schedule, Space, Superblock,
    Watch, own, restore,
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
    kept: Kept,
    copier: Copier,
    /// What the pool says of the newest checkpoint.
    newest: Option<Newest>,
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
    /// Whether the disk has refused pages of the pool, or damage was met in it.
    is_suspect: bool,
    /// Whether the file shares blocks with a copy.
    blocks: Blocks,
    /// What stands in the way of rounds.
    obstacle: Option<&'static str>,
}

struct Shared {
    space: Arc<Space<Mapped>>,
    superblock: Superblock,
    schedule: Schedule,
    path: PathBuf,
    own_path: OwnPath,
    /// Whether the session found a pool that was not closed, and that nobody has verified.
    is_in_doubt: bool,
    maker: Mutex<Maker>,
    known: Mutex<Known>,
    /// None where no file shares blocks.
    watch: Option<Mutex<Watch>>,
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
            fails: false,
            is_suspect: false,
            blocks: Blocks::Own,
            obstacle: None,
        };
        let (schedule, path) = (plan.schedule, plan.path.clone());
        let newest_said = plan.newest;
        let copier = Copier::of(own_path.hash());
        let maker = Maker { kept: plan.kept(superblock.session), copier, newest: newest_said };
        let shared = Arc::new(Shared {
            space: Arc::clone(space),
            superblock,
            schedule,
            path,
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
            let spawned = thread.spawn(move || shared.run(&end)).ok();
            self.has_no_thread = spawned.is_none();
            let thread = spawned.map(|handle| Thread { end: sender, handle });
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

    /// Whether a round found that the disk has refused pages of the pool, or that it is damaged.
    pub(in crate::store::pool) fn is_suspect(&self) -> bool {
        self.shared.known.lock().is_suspect
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
        let fails = fails.into_iter().chain(known.obstacle);
        damage.into_iter().chain(fails).chain(no_thread).chain(known.blocks.warning())
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
            if made.as_ref().is_err_and(ends) || self.space.met_damage().is_some() {
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
        let known = *self.known.lock();
        let is_first = known.pages == Pages::All && !known.fails;
        let first = is_first.then(|| FIRST.saturating_sub(since));
        let look = self.schedule.after_bytes.map(|_| LOOK);
        let least = [every, first, look, watch].into_iter().flatten().min();
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

    /// Gives the file blocks of its own, where a copy that was made meanwhile shares them: a store to one of those ends the
    /// process where the disk is full.
    fn own_blocks(&self) {
        if let Some(watch) = &self.watch {
            let goes_on = || !self.space.is_closed();
            let blocks = watch.lock().look(self.space.media().file(), goes_on);
            self.known.lock().blocks = blocks;
        }
    }

    fn round(&self, maker: &mut Maker, superblock: Superblock, when: When) -> Result<Checkpoint> {
        let mut made = self.try_round(maker, superblock, when);
        // What somebody else has written into the file is no damage of this pool.
        if !self.space.is_poisoned() {
            made = self.space.told(made).map_err(|error| match self.space.met_damage() {
                Some(_) => {
                    self.suspect(maker);
                    beside::bad(&self.path, beside::DAMAGE)
                }
                None => error,
            });
        }
        let mut known = self.known.lock();
        known.fails = made.is_err() && !matches!(made, Err(Error::Closed | Error::Poisoned));
        known.obstacle = match &made {
            Err(Error::BadCheckpoint { what, .. } | Error::Corrupt { what, .. }) => Some(*what),
            _ => None,
        };
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

    /// Says in the pool and in the checkpoint that the disk has refused pages of the pool, or that it is damaged. If the disk
    /// takes no more either, nothing is lost by that: what it has stays.
    fn suspect(&self, maker: &mut Maker) {
        if std::mem::replace(&mut self.known.lock().is_suspect, true) {
            return;
        }
        let file = self.space.media().file();
        if own::expect_own(file, &self.superblock, 0, None).is_err() {
            // It is somebody else's file now.
            return;
        }
        let suspect = self.superblock.half();
        let _ = Superblock { suspect, ..self.superblock }.write(file);
        if maker.kept.is_there()
            && let Some(kept) = maker.kept.file()
        {
            let _ = kept.suspect(&self.superblock);
        }
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
        // The file may be another session's already.
        if self.space.is_closed() && when == When::Open {
            return Err(Error::Closed);
        }
        self.expect_own_pool(maker.newest)?;
        self.vouch(when != When::Open)?;
        let most_pages = pages_within(self.space.media().limit());
        // The file of the newest may be gone.
        let number = maker.newest.map(|newest| newest.number).max(maker.kept.newest());
        let number = number.unwrap_or_default();
        if maker.kept.ready(most_pages, number)? {
            let newest = maker.kept.file().and_then(|file| file.newest());
            let mut known = self.known.lock();
            known.pages = Pages::All;
            known.newest = newest.map(|moment| beside::time_of(&moment));
        }
        self.secure_newest(maker)?;
        let pages = self.known.lock().pages;
        if number > 0 {
            self.say(maker, Newest::is_at_least(number))?;
        }
        let outcome = self.write_round(maker, superblock, (pages, when))?;
        self.settle(maker)?;
        let Outcome { held, copied, written, tries } = outcome;
        let Some(kept) = maker.kept.file() else { return Err(Error::Closed) };
        let at = kept.newest().map_or(SystemTime::UNIX_EPOCH, |moment| beside::time_of(&moment));
        let copied_bytes = copied * restore::PAGE_BYTES;
        let made = Checkpoint { at, held, copied_bytes, written_bytes: written, tries };
        Ok((made, kept.bytes()))
    }

    /// Fails unless the pool's file is the one that this session has left, and an open of its path finds it. What somebody
    /// else has written there must not come into a checkpoint.
    fn expect_own_pool(&self, newest: Option<Newest>) -> Result<()> {
        let media = self.space.media();
        let length = media.len();
        let own = own::expect_own(media.file(), &self.superblock, length, Some(newest));
        own.inspect_err(|error| {
            if matches!(error, Error::Corrupt { .. }) {
                self.space.poison_with(error);
            }
        })?;
        match self.own_path.is_found() {
            true => Ok(()),
            false => Err(beside::bad(&self.path, beside::OF_A_REMOVED_POOL)),
        }
    }

    /// What this session has found, or an earlier round could not end, is durable and has its name and number before another one
    /// is written: of the two that the file then has, the pool knows one.
    fn secure_newest(&self, maker: &mut Maker) -> Result<()> {
        let Some(file) = maker.kept.file() else { return Ok(()) };
        if file.newest().is_none() {
            return Ok(());
        }
        if let Err(failure) = file.secure() {
            maker.kept.fail(&failure);
            return Err(beside::told(&self.path, failure));
        }
        self.settle(maker)
    }

    fn write_round(
        &self,
        maker: &mut Maker,
        superblock: Superblock,
        how: (Pages, When),
    ) -> Result<Outcome> {
        let Maker { kept, copier, .. } = &mut *maker;
        let Some(file) = kept.file() else { return Err(Error::Closed) };
        let whole = file.whole().map_err(NoRound::File);
        match whole.and_then(|file| copier.round(&self.space, file, &superblock, how)) {
            Ok(outcome) => Ok(outcome),
            Err(NoRound::Pool(error)) => Err(error),
            Err(NoRound::Refused) => {
                self.space.poison();
                self.suspect(maker);
                let what = "writing the pool back to its disk, which refused pages of it";
                Err(Error::io(what, std::io::Error::from_raw_os_error(libc::EIO)))
            }
            Err(NoRound::File(failure)) => {
                // What is in the file stays.
                kept.fail(&failure);
                Err(beside::told(&self.path, failure))
            }
        }
    }

    /// Gives a file that is new its name, and the pool the number of the checkpoint in it.
    fn settle(&self, maker: &mut Maker) -> Result<()> {
        maker.kept.settle()?;
        match maker.kept.newest() {
            Some(number) => self.say(maker, Newest::is(number)),
            None => Ok(()),
        }
    }

    /// Writes into the pool which checkpoint is the newest.
    fn say(&self, maker: &mut Maker, newest: Newest) -> Result<()> {
        if maker.newest != Some(newest) {
            Newest::write(Some(newest), self.space.media().file()).map_err(number_not_written)?;
            maker.newest = Some(newest);
        }
        Ok(())
    }
}
