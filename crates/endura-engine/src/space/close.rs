//! The end of a session.

use crate::media::Media;
use crate::runtime::epoch::Mode;
use crate::space::alloc::thread_cache::Bite;
use crate::space::directory::lengths;
use crate::space::drop_map::DropStep;
use crate::space::session::NO_STATE;
use crate::space::space::Space;
use crate::{Error, Result};

impl<M: Media> Space<M> {
    /// Closes the pool, if it is not closed yet, and records what the next session need not find out again: how many
    /// maps there are, how many entries each has, and what is free. All of it is durable on return, in the sense of the
    /// medium. The caller then marks the pool as closed, and [cuts](Media::cut) the medium to the number of bytes that
    /// this returns.
    ///
    /// # Errors
    ///
    /// [`Error::ReadOnly`], [`Error::Poisoned`] or [`Error::Corrupt`]: the pool must then not be marked as cleanly
    /// closed. Also the errors of [`close`](Self::close).
    pub fn save(&self) -> Result<u64> {
        if self.session.read_only {
            return Err(Error::ReadOnly);
        }
        self.close()?;
        // No operation is inside any more: every retired chunk has expired.
        let guard = self.enter(Mode::Writer, NO_STATE)?;
        while self.step_of_drops(&guard, u64::MAX, None)? == DropStep::Worked {}
        drop(guard);
        self.empty_all(u64::MAX, Bite::ALL)?;
        if self.is_poisoned() {
            return Err(self.doubt());
        }
        let maps = self.all_maps();
        for map in &maps {
            lengths::record(&self.media, map, self.session)?;
        }
        lengths::record_maps(&self.media, self.session, maps.len())?;
        // This call fences the lengths as well.
        self.allocator.save(&self.media, self.session.generation)
    }
}
