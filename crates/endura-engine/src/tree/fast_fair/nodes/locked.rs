//! A node whose lock is held.

use crate::Result;
use crate::media::Media;
use crate::space::Guard;
use crate::sync::fence_behind_exchange;
use crate::tree::lock_word::{self, IMPOSSIBLE, LOCKED, OBSOLETE, PanicWatch, Standing, Waiting};

use crate::tree::fast_fair::nodes::lock_word::{
    COUNT, COUNT_ONE, KIND, KIND_SHIFT, LOCK, LockWord, MERGING, Primitive,
};
use crate::tree::fast_fair::nodes::node::{FWD, Node};

/// The node at which readers of an obsolete node continue; 0 if they have to descend again.
///
/// # Errors
///
/// [`Error::Corrupt`](crate::Error::Corrupt) if the node did not become obsolete in this session. A search that
/// continued could then loop for ever.
#[cold]
pub(crate) fn onward<M: Media, const W: usize>(
    guard: &Guard<'_, M>,
    node: &Node<'_, M, W>,
) -> Result<u64> {
    match guard.space().has_set_lock(node.at()) {
        true => Ok(node.load(FWD)),
        false => Err(node.corrupt(IMPOSSIBLE)),
    }
}

/// Why a node was not locked.
pub(crate) enum Refusal {
    /// The node is obsolete. Holds the node that absorbed its entries, or 0 if the caller has to descend again.
    Absorbed(u64),
    /// No correct run leaves the node's lock word.
    Damaged,
}

/// A node whose lock this thread holds; dropping it unlocks.
pub(crate) struct Locked<'g, M: Media, const W: usize> {
    node: Node<'g, M, W>,
    guard: &'g Guard<'g, M>,
    word: u64,
    found: LockWord,
    panics: PanicWatch,
}

impl<'g, M: Media, const W: usize> Locked<'g, M, W> {
    /// Locks `node`; waits while another thread holds the lock. Refuses an obsolete node, and a node whose lock word has
    /// a value that only damage can explain.
    pub(crate) fn acquire(guard: &'g Guard<'g, M>, node: Node<'g, M, W>) -> Result<Self, Refusal> {
        let mut waiting = Waiting::at(guard.space(), node.at());
        loop {
            let found = LockWord::read(node.words());
            let word = match waiting.may_take(found.0) {
                Ok(Some(Standing::Mine)) => found.0 | LOCKED,
                // The new word keeps the kind of primitive that an earlier session was executing, because the stores of
                // that primitive may not be durable before the repair. Until then readers must help, and after a crash
                // the next session must repair.
                Ok(Some(_)) => LockWord::created_locked(guard, node.at()) | found.0 & KIND,
                Ok(None) => continue,
                Err(lock_word::Refusal::Obsolete) => {
                    return Err(Refusal::Absorbed(node.load(FWD)));
                }
                Err(lock_word::Refusal::Damaged) => return Err(Refusal::Damaged),
            };
            if let Some(locked) = Self::take(guard, node, found, word) {
                return Ok(locked);
            }
        }
    }

    /// Locks `node` if it is unlocked, in use, and was locked in this session before: the common case.
    #[inline(always)]
    pub(crate) fn try_acquire(guard: &'g Guard<'g, M>, node: Node<'g, M, W>) -> Option<Self> {
        let found = LockWord::read(node.words());
        if !found.is_current(guard.space().generation()) || found.0 & (LOCKED | OBSOLETE) != 0 {
            return None;
        }
        Self::take(guard, node, found, found.0 | LOCKED)
    }

    /// Replaces the lock word `found` by the locked `word`; `None` if another thread has changed it.
    #[inline(always)]
    fn take(
        guard: &'g Guard<'g, M>,
        node: Node<'g, M, W>,
        found: LockWord,
        word: u64,
    ) -> Option<Self> {
        // The exchange is AcqRel: it pairs with the Release of the last unlock.
        node.words().compare_exchange(LOCK, found.0, word).ok()?;
        Some(Self { node, guard, word, found, panics: PanicWatch::begin() })
    }

    /// Takes over the lock of a node that was created locked.
    pub(crate) fn adopt(guard: &'g Guard<'g, M>, node: Node<'g, M, W>) -> Self {
        let word = LockWord::created_locked(guard, node.at());
        Self { node, guard, word, found: LockWord(word), panics: PanicWatch::begin() }
    }

    /// The node.
    #[inline(always)]
    pub(crate) fn node(&self) -> &Node<'g, M, W> {
        &self.node
    }

    /// Whether the node is locked for the first time in this session. A crash may have interrupted a change of the
    /// node, so the node must be repaired before anything else.
    pub(crate) fn is_first_of_session(&self) -> bool {
        !self.found.is_current(self.guard.space().generation())
    }

    /// Whether the last session ended inside a primitive of this node.
    pub(crate) fn was_interrupted(&self) -> bool {
        self.is_first_of_session() && self.found.in_flight()
    }

    /// Starts a primitive, and announces it to readers that overlap it.
    #[track_caller]
    pub(crate) fn begin(&mut self, kind: Primitive) {
        let count = (self.word + COUNT_ONE) & COUNT;
        self.word = (self.word & !(COUNT | KIND)) | count | (kind as u64) << KIND_SHIFT;
        // This store is Release, and so is every store of the primitive: a reader that sees one of them sees this lock
        // word when it reads the lock word again.
        self.node.store(LOCK, self.word);
    }

    /// Marks the node as about to be absorbed, or removes the mark. Writers that post separators look for the mark.
    #[track_caller]
    pub(crate) fn set_merging(&mut self, merging: bool) {
        self.word = if merging { self.word | MERGING } else { self.word & !MERGING };
        self.node.store(LOCK, self.word);
    }

    /// Gives up the lock without an unlock: for the child of a fork, whose parent holds the lock.
    #[cold]
    pub(crate) fn leave_to_parent(self) {
        std::mem::forget(self);
    }

    /// Unlocks the node as obsolete, for ever: a search that reaches it continues at `successor` (0: descends again).
    pub(crate) fn retire_into(mut self, successor: u64) {
        // The store is Relaxed: only threads that have seen the lock word, which the drop stores with Release, read
        // `FWD`.
        // equivalent mutant, without: costs time only: a search that reaches the obsolete node descends again instead
        // of continuing from there.
        self.node.write(FWD, successor);
        self.word |= OBSOLETE;
    }
}

impl<M: Media, const W: usize> Drop for Locked<'_, M, W> {
    fn drop(&mut self) {
        if self.panics.end(self.guard.space()) && self.guard.space().is_elsewhere() {
            // As in `leave_to_parent`.
            return;
        }
        self.word &= !(LOCKED | KIND | MERGING);
        // The Release of this store pairs with the Acquire of readers and of the next lock. Together with the fence
        // behind it, the store is also a full fence after all changes under the lock. This full fence pairs with that
        // of every other write: of two threads that each write and then look up, at least one sees the write of the
        // other. So no write returns before its last unlock.
        self.node.store_in_order(LOCK, self.word);
        fence_behind_exchange();
    }
}
