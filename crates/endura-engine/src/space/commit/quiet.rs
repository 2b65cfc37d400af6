//! The wait for commits that change a map.

use crate::Result;
use crate::media::Media;
use crate::space::open_map::OpenMap;
use crate::sync::Backoff;

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
        let mut backoff = Backoff::default();
        loop {
            // In a forked child no commit ends, and the pin fails.
            drop(self.pin()?);
            let [begun, ended] = self.map().commits();
            if begun == ended {
                return Ok(begun);
            }
            self.space().unless_poisoned()?;
            backoff.wait();
        }
    }
}
