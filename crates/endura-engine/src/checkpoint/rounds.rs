//! The rounds of one session: what may prevent them, and what is known of them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use super::found::{number_not_written, pages_within};
use super::stats::{Checkpoint, CheckpointFailure};
use crate::checkpoint::beside;
use crate::checkpoint::copy::{Copier, NoRound, Pages, RoundOutcome, When};
use crate::checkpoint::why;
use crate::checkpoint::{Kept, restore};
use crate::error::since;
use crate::media::{Mapped, Media};
use crate::os::own_file;
use crate::os::read_ahead::{self, ReadAhead};
use crate::space::{
    Blocks, BlocksWatch, Event, LeakRecoveryState, Newest, OwnPath, Schedule, Space, Superblock,
    own,
};
use crate::sync::Mutex;
use crate::{CheckpointProblem, Error, Result};

/// Bytes that are read between two checks whether the pool was closed.
const READ_IN: usize = 8 << 20;
/// A hold of writers that is longer than this is reported.
const LONG: Duration = Duration::from_millis(20);

/// What the rounds of a session share. A thread holds the lock of the `Maker` while it makes a round.
pub(super) struct Maker {
    pub(super) kept: Kept,
    pub(super) copier: Copier,
    /// What the pool records about the newest checkpoint.
    pub(super) newest: Option<Newest>,
}

/// What is known of rounds, for readers that must not wait for one.
#[derive(Clone)]
pub(super) struct Known {
    /// Which pages the next round must look at.
    pub(super) pages: Pages,
    pub(super) newest: Option<SystemTime>,
    pub(super) last: Option<Checkpoint>,
    pub(super) bytes: u64,
    pub(super) last_failure: Option<CheckpointFailure>,
    /// Rounds that have failed since the last success.
    pub(super) failures: u32,
    /// Whether the last round failed, for a reason that may pass.
    pub(super) fails: bool,
    /// Whether the disk has refused pages of the pool, or damage was met in it.
    pub(super) is_suspect: bool,
    /// Whether the file shares blocks with a copy.
    pub(super) blocks: Blocks,
    /// What prevents rounds, in words.
    pub(super) obstacle: Option<&'static str>,
    /// Why there is no checkpoint to go back to, or why the last round failed.
    pub(super) problem: Option<CheckpointProblem>,
}

impl Known {
    /// The sentence for a round that failed: why, and what there is to go back to. `None` if none has failed.
    pub(super) fn failure(&self) -> Option<String> {
        let newest = match self.newest {
            Some(made) => format!("the newest is of {} ago", since(made)),
            None => "there is none".into(),
        };
        match (self.obstacle, self.problem.as_ref()?) {
            (Some(what), _) => Some(format!("no checkpoint could be made, and {newest}: {what}")),
            (None, CheckpointProblem::NotMade { reason, .. }) => Some(format!(
                "no checkpoint could be made ({reason}); {newest}, and it is tried again"
            )),
            (None, problem) => Some(format!("{problem}; {newest}, and it is tried again")),
        }
    }
}

pub(super) struct SessionRounds {
    pub(super) space: Arc<Space<Mapped>>,
    pub(super) superblock: Superblock,
    pub(super) schedule: Schedule,
    pub(super) path: PathBuf,
    /// Whether the file of checkpoints is in memory.
    pub(super) in_memory: bool,
    /// Whether the pool had its checkpoints in a file of the user's choice before this session.
    pub(super) was_elsewhere: bool,
    /// The time from the open to the first round that looks at all pages.
    pub(super) first: Duration,
    pub(super) own_path: OwnPath,
    /// Whether the session found a pool that was not closed, and that has not been verified.
    pub(super) is_in_doubt: bool,
    pub(super) maker: Mutex<Maker>,
    pub(super) known: Mutex<Known>,
    /// `None` where files never share blocks.
    pub(super) watch: Option<Mutex<BlocksWatch>>,
}

impl SessionRounds {
    pub(super) fn round(
        &self,
        maker: &mut Maker,
        superblock: Superblock,
        when: When,
    ) -> Result<Checkpoint> {
        let begun = Instant::now();
        let mut made = self.try_round(maker, superblock, when);
        // The damage that a poisoned pool has met does not count: what another program has written into the file is no
        // damage of this pool.
        if !self.space.is_poisoned() {
            made = self.space.told(made).map_err(|error| match self.space.met_damage() {
                Some(_) => {
                    self.suspect(maker);
                    why::bad(&self.path, why::DAMAGE)
                }
                None => error,
            });
        }
        match &mut made {
            Ok((checkpoint, bytes)) => {
                checkpoint.took = begun.elapsed();
                self.note_success(checkpoint, *bytes);
            }
            Err(error) => self.note_failure(error),
        }
        made.map(|(checkpoint, _)| checkpoint)
    }

    fn note_success(&self, made: &Checkpoint, bytes: u64) {
        let mut known = self.known.lock();
        let failed_before = std::mem::take(&mut known.failures);
        (known.fails, known.obstacle, known.problem) = (false, None, None);
        (known.pages, known.bytes) = (Pages::Noted, bytes);
        (known.newest, known.last) = (Some(made.at), Some(*made));
        drop(known);
        let Checkpoint { held, written_bytes, .. } = *made;
        if held > LONG {
            self.space.tell(|| Event::WritersHeld { held });
        }
        self.space.tell(|| Event::CheckpointEnded { held, written_bytes, failed_before });
        let took = made.took;
        if self.schedule.every.is_some_and(|every| took > every) {
            self.space.tell(|| Event::CheckpointSlow { took });
        }
    }

    /// Records that no checkpoint could be made.
    pub(super) fn note_failure(&self, error: &Error) {
        // This is no failure, because the close makes a checkpoint of its own.
        if matches!(error, Error::Closed { .. }) {
            return;
        }
        let (at, code, reason) = (SystemTime::now(), error.code(), error.to_string());
        let mut known = self.known.lock();
        known.fails = !matches!(error, Error::Poisoned);
        known.obstacle = match error {
            Error::BadCheckpoint { what, .. } | Error::Corrupt { what, .. } => Some(*what),
            _ => None,
        };
        known.problem = Some(why::problem_of(error));
        known.last_failure = Some(CheckpointFailure { at, code, reason });
        known.failures = known.failures.saturating_add(1);
        let in_a_row = known.failures;
        drop(known);
        self.space.tell(|| Event::CheckpointFailed { code, in_a_row });
    }

    /// Records in the pool and in the checkpoint that the disk has refused pages of the pool, or that the pool is
    /// damaged. If the disk refuses these writes as well, nothing more is lost: what the disk has stays.
    pub(super) fn suspect(&self, maker: &mut Maker) {
        if std::mem::replace(&mut self.known.lock().is_suspect, true) {
            return;
        }
        let Ok(file) = self.space.media().file() else { return };
        if own::expect_own(&file, &self.superblock, 0, None).is_err() {
            // The file belongs to another program now.
            return;
        }
        let suspect = self.superblock.half();
        let _ = Superblock { suspect, ..self.superblock }.write(&file);
        if maker.kept.is_there()
            && let Some(kept) = maker.kept.file()
        {
            let _ = kept.suspect(&self.superblock);
        }
    }

    /// Fails unless the contents of the pool may replace the newest checkpoint.
    pub(super) fn vouch(&self, is_closed: bool) -> Result<()> {
        let space = &self.space;
        let refused = |what| Err(why::bad(&self.path, what));
        if space.met_damage().is_none() && self.is_in_doubt && !space.is_walked(is_closed)? {
            let state = space.leak_recovery().state;
            if space.met_damage().is_none() {
                let is_unknown = state == LeakRecoveryState::Failed;
                return refused(if is_unknown { why::UNKNOWN } else { why::UNVERIFIED });
            }
        }
        if space.met_damage().is_some() { refused(why::DAMAGE) } else { Ok(()) }
    }

    fn try_round(
        &self,
        maker: &mut Maker,
        superblock: Superblock,
        when: When,
    ) -> Result<(Checkpoint, u64)> {
        // The file may belong to another session already.
        if self.space.is_closed() && when == When::Open {
            return Err(Error::Closed { pool: None });
        }
        self.expect_own_pool(maker.newest)?;
        self.read_in();
        self.vouch(when != When::Open)?;
        let most_pages = pages_within(self.space.media().limit());
        // The pool's own number counts too, because the file with the newest checkpoint may be gone.
        let number = maker.newest.map(|newest| newest.number).max(maker.kept.newest());
        let number = number.unwrap_or_default();
        if maker.kept.ready(&*self.space.media().file()?, most_pages, number)? {
            let newest = maker.kept.file().and_then(|file| file.newest());
            let mut known = self.known.lock();
            known.pages = Pages::All;
            known.newest = newest.map(|moment| beside::time_of(&moment));
            if known.newest.is_none() {
                known.problem.get_or_insert(CheckpointProblem::NotYet);
            }
        }
        self.secure_newest(maker)?;
        let pages = self.known.lock().pages;
        if number > 0 {
            self.say(maker, Newest::is_at_least(number))?;
        }
        let outcome = self.write_round(maker, superblock, (pages, when))?;
        self.settle(maker)?;
        let RoundOutcome { held, slowed, copied, written, tries } = outcome;
        let Some(kept) = maker.kept.file() else { return Err(Error::Closed { pool: None }) };
        let at = kept.newest().map_or(SystemTime::UNIX_EPOCH, |moment| beside::time_of(&moment));
        let copied_bytes = copied * restore::PAGE_BYTES;
        let made = Checkpoint {
            at,
            took: Duration::ZERO,
            held,
            slowed,
            copied_bytes,
            written_bytes: written,
            tries,
        };
        Ok((made, kept.bytes()))
    }

    /// Reads a pool that has to be walked into the page cache, in the order in which a disk reads fast, if the pool
    /// fits into half of the memory. Pages that cannot be read are left to the walks.
    fn read_in(&self) {
        if !self.is_in_doubt || !self.space.has_walks_left() {
            return;
        }
        let media = self.space.media();
        let (file, length) = (media.file_on_disk(), media.len());
        let mut ahead = ReadAhead::of(file.as_deref().map(|file| &**file));
        if read_ahead::memory().is_none_or(|memory| length > memory / 2) {
            return;
        }
        for at in (0..length).step_by(READ_IN) {
            let end = length.min(at + READ_IN as u64);
            if self.space.is_closed() || ahead.reach(end - 1).is_err() {
                return;
            }
        }
    }

    /// Fails unless the pool's file is as this session has left it, and an open of its path finds that file. What
    /// another program has written there must not get into a checkpoint.
    fn expect_own_pool(&self, newest: Option<Newest>) -> Result<()> {
        let media = self.space.media();
        let length = media.len();
        let own = own::expect_own(&*media.file()?, &self.superblock, length, Some(newest));
        own.inspect_err(|error| {
            if matches!(error, Error::Corrupt { .. }) || own_file::is_lost(error) {
                self.space.poison_with(error);
            }
        })?;
        match self.own_path.is_found() {
            true => Ok(()),
            false => Err(why::bad(&self.path, why::OF_A_REMOVED_POOL)),
        }
    }

    /// Makes the newest checkpoint durable and gives it its name and number, before another one is written. The session
    /// may have found that checkpoint at its open, or an earlier round may have failed to finish it. So when another
    /// one is written, the pool already knows one of the two checkpoints that the file then has.
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
    ) -> Result<RoundOutcome> {
        let Maker { kept, copier, .. } = &mut *maker;
        let Some(file) = kept.file() else { return Err(Error::Closed { pool: None }) };
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
                // The contents of the file stay.
                kept.fail(&failure);
                Err(beside::told(&self.path, failure))
            }
        }
    }

    /// Gives a new file its name, and records in the pool the number of the checkpoint in it.
    fn settle(&self, maker: &mut Maker) -> Result<()> {
        maker.kept.settle()?;
        match maker.kept.newest() {
            Some(number) => self.say(maker, Newest::is(number)),
            None => Ok(()),
        }
    }

    /// Records in the pool which checkpoint is the newest.
    fn say(&self, maker: &mut Maker, newest: Newest) -> Result<()> {
        if maker.newest != Some(newest) {
            Newest::write(Some(newest), &*self.space.media().file()?)
                .map_err(number_not_written)?;
            maker.newest = Some(newest);
        }
        Ok(())
    }

    /// Gives the file blocks of its own if a copy that was made meanwhile shares them: on a full disk, a store to a
    /// shared block ends the process.
    pub(super) fn own_blocks(&self) {
        if let Some(watch) = &self.watch
            && let Ok(file) = self.space.media().file()
            && file.is_own()
        {
            let goes_on = || !self.space.is_closed();
            let blocks = watch.lock().look(&file, goes_on);
            self.known.lock().blocks = blocks;
        }
    }
}
