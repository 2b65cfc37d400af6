//! (stub: replaced by the allocator)
use crate::media::Media;
use crate::sync::{AtomicU64, Ordering};
use crate::{Error, Result};

/// How a pool was opened.
#[derive(Debug, Clone, Copy)]
pub struct Session {
    /// Counts the opens of the pool; locks of other generations do not count.
    pub generation: u64,
    /// Whether the last session closed the pool.
    pub clean: bool,
    /// Whether nothing may be written.
    pub read_only: bool,
}

/// An open pool over any medium: who may use which bytes, and until when.
pub struct Space<M> {
    media: M,
    session: Session,
    next: AtomicU64,
}

/// Proof that the calling thread is inside an operation: nothing it can reach is reused meanwhile.
pub struct Guard<'s, M> {
    space: &'s Space<M>,
}

impl<'s, M: Media> Guard<'s, M> {
    /// The pool.
    pub fn space(&self) -> &'s Space<M> {
        self.space
    }
    /// The medium.
    pub fn media(&self) -> &'s M {
        &self.space.media
    }
    /// A chunk of at least `bytes` bytes, contents arbitrary, reachable by nobody.
    pub fn alloc(&self, bytes: u64) -> Result<u64> {
        if !self.space.media.grant() {
            return Err(Error::Full { need: bytes, free: 0 });
        }
        let size = bytes.next_multiple_of(64).next_power_of_two();
        let at = self.space.next.fetch_add(size, Ordering::Relaxed);
        if at + size > self.space.media.len() {
            Err(Error::Full { need: size, free: 0 })
        } else {
            Ok(at)
        }
    }
    /// Gives back a chunk that was never linked.
    pub fn discard(&self, at: u64, bytes: u64) {
        let _ = (at, bytes);
    }
    /// Gives back a chunk whose unlink is durable, once nobody can hold it any more.
    pub fn retire(&self, at: u64, bytes: u64) {
        let _ = (at, bytes);
    }
}

impl<M: Media> Space<M> {
    /// Writes an empty pool (all but the superblocks) to a fresh medium.
    pub fn format(media: &M) -> Result<()> {
        // SAFETY: stub
        unsafe { media.store(super::layout::NEXT_PAGE, 1, Ordering::Release) };
        Ok(())
    }
    /// Takes a formatted medium into use.
    pub fn mount(media: M, session: Session) -> Result<Self> {
        Ok(Self { media, session, next: AtomicU64::new(super::PAGE) })
    }
    /// The medium.
    pub fn media(&self) -> &M {
        &self.media
    }
    /// The session's generation.
    pub fn generation(&self) -> u64 {
        self.session.generation
    }
    /// Enters an operation that reads.
    pub fn pin(&self) -> Result<Guard<'_, M>> {
        Ok(Guard { space: self })
    }
    /// Enters an operation that may write.
    pub fn pin_mut(&self) -> Result<Guard<'_, M>> {
        Ok(Guard { space: self })
    }
    /// Writes down what the next open needs (stub).
    pub fn save(&self) -> Result<()> {
        Ok(())
    }
    /// An operation panicked while it held a lock: nothing may be trusted until the next open.
    pub fn poison(&self) {}
}
