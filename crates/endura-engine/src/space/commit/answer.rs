//! Readers beside commits of several changes: R2 and R3 of readers of one key, and looks at an end of a map.

use crate::Result;
use crate::media::Media;
use crate::space::batch::intent::Plan;
use crate::space::batch::key::AnyKey;
use crate::space::open_map::OpenMap;
use crate::space::pins::guard::Guard;

/// What a commit does to a key, and the pin that keeps it readable.
pub(crate) struct Answer<'s, M: Media> {
    pub(crate) guard: Guard<'s, M>,
    /// The value, or the offset of its record; `None` if the key is removed.
    pub(crate) value: Option<u64>,
}

impl<M: Media> OpenMap<M> {
    /// Whether a reader of one key has to ask for an [answer](Self::answer) before it reads the map. It need not be asked
    /// inside a pin: if the bit is clear at this moment, the map then has what the reader finds, or has had it since.
    #[inline(always)]
    pub(crate) fn has_batches(&self) -> bool {
        self.space().has_batches()
    }

    /// What a committed flight that is being applied does to `key`. `None`: the map has the value.
    ///
    /// # Errors
    ///
    /// As for [`pin`](Self::pin).
    #[cold]
    pub(crate) fn answer(&self, key: AnyKey<'_>) -> Result<Option<Answer<'_, M>>> {
        self.space().note_look();
        self.note_in_view()?;
        // The pin comes before the look at the flight: the chunk of the intent is retired after the flight is free.
        let guard = self.pin()?;
        let entry = self.map().entry();
        let holder = self.space().holder_of(key.stripe(entry));
        let Some(holder) = holder.filter(|holder| holder.seen.is_committed()) else {
            return Ok(None);
        };
        let plan = self.space().plan_for(holder, entry, key)?;
        Ok(plan.and_then(Plan::outcome).map(|value| Answer { guard, value }))
    }

    /// Looks at the map between two commits, so that the look sees each of them whole or not at all. `look` gets a test
    /// whether it has done so up to now, and runs again if it returns `None`, because it has not.
    ///
    /// It waits for a commit that changes this map. A caller must not hold what a commit waits for.
    ///
    /// # Errors
    ///
    /// As for [`pin`](Self::pin), and those of `look`.
    #[inline]
    pub(crate) fn between_commits<R>(
        &self,
        mut look: impl FnMut(&dyn Fn() -> bool) -> Result<Option<R>>,
    ) -> Result<R> {
        if self.has_batches() {
            self.note_in_view()?;
        }
        loop {
            let begun = self.quiet_commits()?;
            if let Some(found) = look(&|| self.map().commits_begun() == begun)? {
                return Ok(found);
            }
        }
    }
}
