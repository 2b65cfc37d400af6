//! A node as a whole: written anew, and given back.

use crate::Result;
use crate::media::Media;
use crate::space::Guard;
use crate::tree::fast_fair::nodes::lock_word::LOCK;
use crate::tree::fast_fair::nodes::node::{FWD, HIGH, HINT, META, SIB};
use crate::tree::fast_fair_bytes::nodes::node::{BOUNDS, ByteNode, DEAD, SLOTS, meta};
use crate::tree::fast_fair_bytes::nodes::texts::Texts;

/// The header of a new node.
pub(crate) struct Init {
    pub(crate) lock: u64,
    pub(crate) high: u64,
    pub(crate) sibling: u64,
    pub(crate) level: u64,
}

impl<M: Media, const W: usize> ByteNode<'_, M, W> {
    /// Writes a node that no other thread knows: its header, its texts, and its slots. Behind these all slots are dead.
    ///
    /// The stores are Relaxed: the store that links the node is `Release`, after a fence.
    pub(crate) fn initialise(
        &self,
        init: &Init,
        texts: &Texts<'_>,
        bounds: u64,
        slots: impl ExactSizeIterator<Item = (u64, u64)>,
    ) {
        let count = slots.len();
        for (word, value) in [
            (LOCK, init.lock),
            (BOUNDS, bounds),
            (HIGH, init.high),
            (SIB, init.sibling),
            (META, meta(W, init.level)),
            (HINT, count as u64),
            (FWD, 0),
        ] {
            self.write(word, value);
        }
        texts.write(self, bounds != 0);
        for (slot, (word, reference)) in slots.enumerate() {
            self.write(SLOTS + 2 * slot, word);
            self.write(SLOTS + 2 * slot + 1, reference);
        }
        for slot in count..Self::CAP {
            self.write(SLOTS + 2 * slot, DEAD);
            self.write(SLOTS + 2 * slot + 1, 0);
        }
    }

    /// Gives the chunks of a node that nothing leads to any more back, when all pins of now have ended.
    pub(crate) fn retire(&self, guard: &Guard<'_, M>) -> Result<()> {
        let bounds = self.bounds()?;
        guard.retire(self.at(), Self::BYTES);
        bounds.into_iter().for_each(|bounds| guard.retire(bounds.at(), bounds.bytes()));
        Ok(())
    }
}
