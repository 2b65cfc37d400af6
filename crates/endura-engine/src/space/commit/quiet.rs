//! The wait for commits that change a map.

use std::time::{Duration, Instant};

use crate::Result;
use crate::media::Media;
use crate::space::open_map::OpenMap;
use crate::sync::{AtomicU64, Backoff, Ordering};

/// How long commits that overlap may hold up a look between them. Then new ones wait.
const PATIENCE: Duration = Duration::from_millis(1);

/// New commits are kept out until this is dropped: one more is counted.
pub(super) struct KeptOut<'s>(&'s AtomicU64);

impl<'s> KeptOut<'s> {
    pub(super) fn begin(count: &'s AtomicU64) -> Self {
        // Relaxed: a commit that misses it makes the closure run, or the thread look, once more.
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for KeptOut<'_> {
    fn drop(&mut self) {
        // Relaxed: only the wait depends on it.
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl<M: Media> OpenMap<M> {
    /// Waits until no commit changes this map, outside of pins. Returns how many have begun.
    ///
    /// # Errors
    ///
    /// As for [`pin`](Self::pin).
    #[inline]
    pub(crate) fn quiet_commits(&self) -> Result<u64> {
        match self.map().commits() {
            [begun, ended] if begun == ended => Ok(begun),
            _ => self.wait_for_commits(),
        }
    }

    /// A commit ends, or has poisoned the pool.
    #[cold]
    #[inline(never)]
    fn wait_for_commits(&self) -> Result<u64> {
        let (begun_at, mut backoff, mut kept_out) = (Instant::now(), Backoff::default(), None);
        loop {
            // In a forked child no commit ends, and the pin fails.
            drop(self.pin()?);
            let [begun, ended] = self.map().commits();
            if begun == ended {
                return Ok(begun);
            }
            self.space().unless_poisoned()?;
            if kept_out.is_none() && begun_at.elapsed() > PATIENCE {
                kept_out = Some(KeptOut::begin(&self.space().batches().looks));
            }
            backoff.wait();
        }
    }
}
