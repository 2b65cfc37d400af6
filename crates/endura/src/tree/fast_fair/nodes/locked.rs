//! A node whose lock is held.

use crate::Result;
use crate::media::Media;
use crate::pool::Guard;
use crate::sync::fence_behind_exchange;
use crate::tree::lock_word::{self, IMPOSSIBLE, LOCKED, OBSOLETE, PanicWatch, Standing, Waiting};

use crate::tree::fast_fair::nodes::lock_word::{
    COUNT, COUNT_ONE, KIND, KIND_SHIFT, LOCK, LockWord, MERGING, Primitive,
};
use crate::tree::fast_fair::nodes::node::{FWD, Node};

/// Where readers of an obsolete node go on; 0: a new descent must find it.
///
/// # Errors
///
/// [`Error::Corrupt`](crate::Error::Corrupt) if it did not become obsolete in this session: nothing would lead out of a circle.
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
    /// It is obsolete: the node that took its entries over, 0 where a new descent must find it.
    Absorbed(u64),
    /// Its lock word is none that a correct run leaves.
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
    /// Waits for the lock of `node`. An obsolete node cannot be locked, and one whose lock word says of
    /// itself what cannot be is not waited for.
    pub(crate) fn acquire(guard: &'g Guard<'g, M>, node: Node<'g, M, W>) -> Result<Self, Refusal> {
        let mut waiting = Waiting::at(guard.space(), node.at());
        loop {
            let found = LockWord::read(node.words());
            let word = match waiting.may_take(found.0) {
                Ok(Some(Standing::Mine)) => found.0 | LOCKED,
                // What an earlier session was in the middle of is not durable before the repair:
                // readers must help, and the next session must repair, until then.
                Ok(Some(_)) => LockWord::created_locked(guard, node.at()) | found.0 & KIND,
                Ok(None) => continue,
                Err(lock_word::Refusal::Obsolete) => {
                    return Err(Refusal::Absorbed(node.load(FWD)));
                }
                Err(lock_word::Refusal::Damaged) => return Err(Refusal::Damaged),
            };
            // AcqRel: pairs with the Release of the last unlock.
            if node.words().compare_exchange(LOCK, found.0, word).is_ok() {
                return Ok(Self { node, guard, word, found, panics: PanicWatch::begin() });
            }
        }
    }

    /// Takes charge of a node that was created locked.
    pub(crate) fn adopt(guard: &'g Guard<'g, M>, node: Node<'g, M, W>) -> Self {
        let word = LockWord::created_locked(guard, node.at());
        Self { node, guard, word, found: LockWord(word), panics: PanicWatch::begin() }
    }

    /// The node.
    #[inline(always)]
    pub(crate) fn node(&self) -> &Node<'g, M, W> {
        &self.node
    }

    /// Whether this is the first lock of the node in this session: what a crash may have left in
    /// it must be repaired before anything else.
    pub(crate) fn is_first_of_session(&self) -> bool {
        !self.found.is_current(self.guard.space().generation())
    }

    /// Whether the last session ended in the middle of a primitive of this node.
    pub(crate) fn was_interrupted(&self) -> bool {
        self.is_first_of_session() && self.found.in_flight()
    }

    /// Begins a primitive. Readers that overlap it will notice.
    #[track_caller]
    pub(crate) fn begin(&mut self, kind: Primitive) {
        let count = (self.word + COUNT_ONE) & COUNT;
        self.word = (self.word & !(COUNT | KIND)) | count | (kind as u64) << KIND_SHIFT;
        // Release, and every store of the primitive is Release too: whoever sees one of them sees
        // this word when it reads it again.
        self.node.store(LOCK, self.word);
    }

    /// Tells posters that this node is about to leave.
    #[track_caller]
    pub(crate) fn set_merging(&mut self, merging: bool) {
        self.word = if merging { self.word | MERGING } else { self.word & !MERGING };
        self.node.store(LOCK, self.word);
    }

    /// Does not unlock: in a child of a fork, whose parent holds the lock.
    #[cold]
    pub(crate) fn leave_to_parent(self) {
        std::mem::forget(self);
    }

    /// Unlocks for good: whoever comes here goes on to `successor` (0: descends anew).
    pub(crate) fn retire_into(mut self, successor: u64) {
        // Relaxed: read by those who have seen the word that the drop stores with Release.
        // equivalent mutant, without: costs time only: whoever comes to the dead node descends anew instead of
        // going on from there.
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
        // Pairs with the Acquire of readers and of the next lock; and, as a full fence behind all that was
        // changed under the lock, with that of every other write: of two that returned, one's next lookup
        // sees the other. So no write returns before its last unlock.
        self.node.store_in_order(LOCK, self.word);
        fence_behind_exchange();
    }
}
