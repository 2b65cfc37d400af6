//! Chunks that an operation has allocated and not linked yet.

use crate::Result;
use crate::media::Media;
use crate::space::Guard;

/// Chunks that may soon be linked. When this is dropped, it frees the chunks that were not linked.
pub(crate) struct Fresh<'g, M: Media> {
    guard: &'g Guard<'g, M>,
    /// The first chunk is kept apart from the others, because most operations allocate only one.
    first: Option<(u64, u64)>,
    others: Vec<(u64, u64)>,
    /// Whether other threads may be reading the chunks.
    are_seen: bool,
}

impl<'g, M: Media> Fresh<'g, M> {
    pub(crate) fn new(guard: &'g Guard<'g, M>) -> Self {
        Self { guard, first: None, others: Vec::new(), are_seen: false }
    }

    /// Allocates one more chunk.
    pub(crate) fn alloc(&mut self, bytes: u64) -> Result<u64> {
        let at = self.guard.alloc(bytes)?;
        match self.first {
            None => self.first = Some((at, bytes)),
            Some(_) => self.others.push((at, bytes)),
        }
        Ok(at)
    }

    /// Other threads may read the chunks from here on, though they are not linked: if they never will be, they are
    /// retired, and not reused at once.
    pub(crate) fn seen(&mut self) {
        self.are_seen = true;
    }

    /// Forgets all chunks, because they are linked now.
    pub(crate) fn linked(&mut self) {
        self.are_seen = false;
        self.first = None;
        self.others.clear();
    }

    /// Frees all chunks.
    #[cold]
    pub(crate) fn give_back(&mut self) {
        self.keep_first();
        let free = |(at, bytes)| match self.are_seen {
            true => self.guard.retire(at, bytes),
            false => self.guard.discard(at, bytes),
        };
        self.first.take().into_iter().for_each(free);
        self.are_seen = false;
    }

    /// Frees all chunks except the one at `at`, which is the first or none of them.
    #[cold]
    pub(crate) fn keep_only(&mut self, at: u64) {
        match self.first {
            Some((first, _)) if first == at => self.keep_first(),
            _ => self.give_back(),
        }
    }

    /// Frees all chunks except the first.
    pub(crate) fn keep_first(&mut self) {
        self.others.drain(..).for_each(|(at, bytes)| self.guard.discard(at, bytes));
    }
}

impl<M: Media> Drop for Fresh<'_, M> {
    #[inline]
    fn drop(&mut self) {
        if self.first.is_some() || !self.others.is_empty() {
            self.give_back();
        }
    }
}
