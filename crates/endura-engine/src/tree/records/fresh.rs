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
}

impl<'g, M: Media> Fresh<'g, M> {
    pub(crate) fn new(guard: &'g Guard<'g, M>) -> Self {
        Self { guard, first: None, others: Vec::new() }
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

    /// Forgets all chunks, because they are linked now.
    pub(crate) fn linked(&mut self) {
        self.first = None;
        self.others.clear();
    }

    /// Frees all chunks.
    #[cold]
    pub(crate) fn give_back(&mut self) {
        self.keep_first();
        self.first.take().into_iter().for_each(|(at, bytes)| self.guard.discard(at, bytes));
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
