//! When and where checkpoints are made, as a program chooses it.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use crate::space::Schedule;

/// How long after the last checkpoint the next one is made by default.
const INTERVAL: Duration = Duration::from_secs(30);

const NO_INTERVAL: &str = "not a number of seconds from 0.001 to 4,000,000, nor 0 (checkpoints on demand and at the close \
     only)";

/// When and where checkpoints of a pool are made: `PoolOptions::checkpoints`.
///
/// A checkpoint is the state of the whole pool at one moment, stored durably in a second file. On an ordinary disk a
/// power loss may tear the pool; the next open then restores it from the last checkpoint. (The end of the process alone
/// loses nothing.)
///
/// | | costs |
/// | --- | --- |
/// | space | the second file is as large as what the pool has in use, and up to twice that while many pages change |
/// | writing | each page of 4 KiB that has changed since the last checkpoint, once; plus 16 bytes for each |
/// | waiting | writes wait while changed pages are copied in memory, at most 64 MiB of them: milliseconds; see `held` and `slowed` in [`Checkpoint`](crate::Checkpoint) |
/// | after a power loss | the pool is read once, seconds for each GiB |
///
/// No checkpoint can be made of a pool above 16 TiB. If `max_size` allows a pool of that size, `Stats::warnings` says
/// so from the open on, and each round of a pool above 16 TiB fails with
/// [`Error::BadCheckpoint`](crate::Error::BadCheckpoint).
///
/// # Example
///
/// ```
/// use std::time::Duration;
/// use endura::{Checkpoints, Pool};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("data.endura");
/// let how = Checkpoints::every(Duration::from_secs(10)).after_bytes(256 << 20);
/// let pool = Pool::options().checkpoints(how).open(&path)?;
/// pool.map::<u64, u64>("visits")?.put(7, 1)?;
/// let made = pool.checkpoint()?; // now, beside those that come by themselves
/// assert!(made.written_bytes > 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoints {
    pub(crate) schedule: Schedule,
    pub(crate) file: Option<PathBuf>,
    /// Whether the pool's own schedule is used, if it has one.
    pub(crate) is_as_left: bool,
    /// Whether the checkpoints come back to the default file.
    pub(super) is_beside: bool,
    pub(crate) must_exist: bool,
}

impl Default for Checkpoints {
    /// Makes a checkpoint each 30 seconds, in a file beside the pool.
    fn default() -> Self {
        Self::every(INTERVAL)
    }
}

impl Checkpoints {
    /// Makes a checkpoint each `interval`, counted from the start of the last one, if anything was written meanwhile.
    /// Also makes one at each close. The interval is counted in milliseconds, from 1 ms to 49 days. A power loss costs
    /// at most what was written during the interval and one round. If a round takes longer than the interval, that is
    /// reported ([`Event::CheckpointSlow`](crate::Event::CheckpointSlow)), and the next round follows at once.
    #[must_use]
    pub fn every(interval: Duration) -> Self {
        // The pool records the interval in milliseconds, in 32 bits.
        let millis = interval.as_millis().clamp(1, u32::MAX.into()) as u64;
        let every = Some(Duration::from_millis(millis));
        Self::scheduled(Schedule { is_on: true, every, ..Schedule::OFF })
    }

    fn scheduled(schedule: Schedule) -> Self {
        let (is_as_left, is_beside, must_exist) = (false, false, false);
        Self { schedule, file: None, is_as_left, is_beside, must_exist }
    }

    /// Like [`every`](Self::every), but with an interval in seconds, from 0.001 to 4,000,000. With 0, checkpoints are
    /// made on demand and at each close only, as for [`on_demand`](Self::on_demand).
    ///
    /// ```
    /// use std::time::Duration;
    /// use endura::Checkpoints;
    ///
    /// assert_eq!(Checkpoints::every_seconds(0.5), Ok(Checkpoints::every(Duration::from_millis(500))));
    /// assert_eq!(Checkpoints::every_seconds(0.0), Ok(Checkpoints::on_demand()));
    /// assert!(Checkpoints::every_seconds(-1.0).is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// A message that says what is wrong with the number.
    pub fn every_seconds(interval: f64) -> Result<Self, String> {
        if interval == 0.0 {
            return Ok(Self::on_demand());
        }
        // The pool records the interval in milliseconds, in 32 bits.
        let fits = |every: &Duration| (1..=u128::from(u32::MAX)).contains(&every.as_millis());
        let every = Duration::try_from_secs_f64(interval).ok().filter(fits);
        every.map(Self::every).ok_or_else(|| NO_INTERVAL.into())
    }

    /// Keeps the schedule with which the pool was left. If the pool had none, makes a checkpoint each 30 seconds. So
    /// [`in_file`](Self::in_file) can name the file without naming a schedule.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let (path, kept) = (folder.path().join("data.endura"), folder.path().join("kept"));
    /// use endura::{Checkpoints, Pool};
    ///
    /// let how = Checkpoints::on_demand().in_file(&kept);
    /// Pool::options().checkpoints(how).open(&path)?.close()?;
    /// let how = Checkpoints::as_left().in_file(&kept);
    /// let pool = Pool::options().checkpoints(how).open(&path)?;
    /// assert_eq!(pool.stats()?.checkpoints.expect("some").every, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn as_left() -> Self {
        Self { is_as_left: true, ..Self::every(INTERVAL) }
    }

    /// Makes checkpoints by `Pool::checkpoint` and at each close only.
    #[must_use]
    pub fn on_demand() -> Self {
        Self::scheduled(Schedule { is_on: true, ..Schedule::OFF })
    }

    /// Makes no checkpoints. If the pool had some, their file is removed. The pool may
    /// then be lost if the power fails while it is open.
    #[must_use]
    pub fn off() -> Self {
        Self::scheduled(Schedule::OFF)
    }

    /// Also makes a checkpoint when pages of `changed` bytes have changed since the last one. This is checked once a
    /// second.
    #[must_use]
    pub fn after_bytes(mut self, changed: u64) -> Self {
        self.schedule.after_bytes = (self.schedule.is_on).then_some(changed.max(1));
        self
    }

    /// Keeps the checkpoints in this file in place of `<pool>.checkpoint`, perhaps on another disk. The pool records
    /// that they are elsewhere, but not the path, which has to be given at each open. If the pool is on tmpfs, nothing
    /// of it is ever written back, and no store waits for a disk; after a reboot the open recreates the pool from this
    /// file.
    #[must_use]
    pub fn in_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.schedule.is_elsewhere = self.schedule.is_on;
        (self.file, self.is_beside) = (Some(path.into()), false);
        self
    }

    /// Keeps the checkpoints in `<pool>.checkpoint` again, after [`in_file`](Self::in_file) had put them elsewhere. The
    /// next round begins `<pool>.checkpoint`. The file elsewhere stays as it is, and is of no use any more: remove it.
    /// But a pool that was not closed may still need the file elsewhere. Such a pool is refused until it was opened
    /// with that file.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let (path, kept) = (folder.path().join("data.endura"), folder.path().join("kept"));
    /// use endura::{Checkpoints, Pool};
    ///
    /// Pool::options().checkpoints(Checkpoints::default().in_file(&kept)).open(&path)?.close()?;
    /// let how = Checkpoints::as_left().beside_pool();
    /// Pool::options().checkpoints(how).open(&path)?.close()?;
    /// assert!(folder.path().join("data.endura.checkpoint").exists());
    /// Pool::open(&path)?.close()?; // no file has to be given any more
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn beside_pool(mut self) -> Self {
        (self.file, self.is_beside) = (None, true);
        self.schedule.is_elsewhere = false;
        self
    }

    /// Makes an open fail, and create nothing, if it finds no checkpoint. Use it for every start but the first if the
    /// checkpoints are on a disk of their own: while that disk is not mounted, a pool on tmpfs would begin new and
    /// empty.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let (path, kept) = (folder.path().join("data.endura"), folder.path().join("kept"));
    /// use endura::{Checkpoints, Error, Pool};
    ///
    /// let how = Checkpoints::default().in_file(&kept);
    /// let later = Pool::options().checkpoints(how.clone().must_exist());
    /// assert!(matches!(later.open(&path), Err(Error::BadCheckpoint { .. })));
    /// Pool::options().checkpoints(how).open(&path)?.close()?;
    /// later.open(&path)?.close()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn must_exist(mut self) -> Self {
        self.must_exist = true;
        self
    }

    /// The schedule of a session of a pool that was left with the schedule `last`.
    pub(super) fn schedule(&self, last: Schedule) -> Schedule {
        let schedule = if self.is_as_left && last.is_on { last } else { self.schedule };
        let is_elsewhere = schedule.is_elsewhere || self.schedule.is_elsewhere;
        Schedule { is_elsewhere: is_elsewhere && !self.is_beside, is_chosen: true, ..schedule }
    }
}

/// Combines two choices: takes the file, and whether it must hold a checkpoint, from `file`, and the schedule from
/// `when`.
pub fn scheduled_as(file: Checkpoints, when: &Checkpoints) -> Checkpoints {
    let schedule = Schedule { is_elsewhere: file.schedule.is_elsewhere, ..when.schedule };
    Checkpoints { schedule, is_as_left: when.is_as_left, ..file }
}

impl FromStr for Checkpoints {
    type Err = String;

    /// Reads an interval in seconds, as [`every_seconds`](Self::every_seconds) takes it; or `off`.
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "off" => Ok(Self::off()),
            _ => Self::every_seconds(text.parse().map_err(|_| NO_INTERVAL)?),
        }
    }
}
