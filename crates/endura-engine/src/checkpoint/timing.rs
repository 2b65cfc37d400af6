//! When the thread of a session makes checkpoints.
//!
//! A round is due when the interval has passed since the start of the previous round, so that a power loss costs the
//! interval and the time of one round. For what a killed session has written, the interval counts from the newest
//! checkpoint: if that is older than the interval, the first round of the next session begins with the session. So a
//! checkpoint is made even if no session lasts as long as the interval.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::rounds::SessionRounds;
use crate::Error;
use crate::checkpoint::copy::{Pages, When};
use crate::checkpoint::restore;
use crate::media::Media;
use crate::space::Schedule;

/// If a pool has no checkpoint yet, or all its pages must be compared with the one it has, the first round begins this
/// long after the open, unless that is too late. So a program that has the pool open for a moment does not pay for two
/// rounds.
const FIRST: Duration = Duration::from_secs(1);
/// The pause between two looks at how much has changed.
const LOOK: Duration = Duration::from_secs(1);

/// The time from the open to the first round that looks at all pages. `age` is the age of the newest checkpoint, if
/// there is one to which the pool can be taken back. `is_behind` means that the pool may hold what that checkpoint does
/// not.
pub(super) fn first_after(schedule: &Schedule, age: Option<Duration>, is_behind: bool) -> Duration {
    if !is_behind {
        return FIRST;
    }
    let left = schedule.every.zip(age).map(|(every, age)| every.saturating_sub(age));
    left.unwrap_or_default().min(FIRST)
}

impl SessionRounds {
    /// The thread: makes checkpoints as scheduled, until `end` is dropped or the pool accepts no more of them.
    pub(super) fn run(&self, end: &Receiver<()>) {
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
                    Error::Closed { .. } | Error::Poisoned | Error::Forked | Error::Corrupt { .. }
                )
            };
            if made.as_ref().is_err_and(|error| ends(error) || self.space.met_damage().is_some()) {
                return;
            }
        }
    }

    /// How long to wait until something may be due.
    fn pause(&self, since: Duration) -> Duration {
        let watch = self.watch.as_ref().map(|watch| watch.lock().pause());
        let every = self.schedule.every.map(|every| match every.saturating_sub(since) {
            // A round took longer than the interval, and the next one follows.
            Duration::ZERO if !self.known.lock().fails && self.is_due(since) => Duration::ZERO,
            // If nothing has changed by then, the next look is after the interval or `LOOK`, whichever is shorter.
            Duration::ZERO => every.min(LOOK),
            left => left,
        });
        let first = self.is_first().then(|| self.first.saturating_sub(since));
        let look = self.schedule.after_bytes.map(|_| LOOK);
        let least = [every, first, look, watch].into_iter().flatten().min();
        // A round that failed is not repeated at once.
        least.unwrap_or(LOOK).max(Duration::from_millis(1))
    }

    /// Whether the next round looks at all pages, and the last attempt at a round has not failed.
    fn is_first(&self) -> bool {
        let known = self.known.lock();
        known.pages == Pages::All && !known.fails
    }

    fn is_due(&self, since: Duration) -> bool {
        if self.is_first() && since >= self.first {
            return true;
        }
        let pages = self.known.lock().pages;
        let media = self.space.media();
        let changed = || media.dirty_pages().map_or(0, |noted| noted.count(media.len()));
        // Changes of an earlier session are not noted.
        let has_changed =
            |most: u64| pages == Pages::All || changed() * restore::PAGE_BYTES >= most;
        let is_time = self.schedule.every.is_some_and(|every| since >= every);
        is_time && has_changed(1) || self.schedule.after_bytes.is_some_and(has_changed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_round_begins_when_the_newest_checkpoint_is_as_old_as_the_interval() {
        let [zero, short, long] = [0, 200, 3_600_000].map(Duration::from_millis);
        let every = |every| Schedule { is_on: true, every: Some(every), ..Schedule::default() };
        let by_bytes = Schedule { every: None, after_bytes: Some(1), ..every(short) };
        let half_hour = Duration::from_secs(1800);
        for (schedule, age, is_behind, after) in [
            (every(half_hour), None, false, FIRST),
            (every(half_hour), Some(long), false, FIRST),
            (every(half_hour), Some(long), true, zero),
            (every(half_hour), Some(half_hour), true, zero),
            (every(half_hour), Some(half_hour - short), true, short),
            (every(half_hour), Some(short), true, FIRST),
            (every(half_hour), None, true, zero),
            (by_bytes, Some(short), true, zero),
            (by_bytes, None, false, FIRST),
        ] {
            let found = first_after(&schedule, age, is_behind);
            assert_eq!(found, after, "{schedule:?}, {age:?}, {is_behind}");
        }
    }
}
