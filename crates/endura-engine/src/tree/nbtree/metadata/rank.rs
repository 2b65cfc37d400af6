//! The child of an inner node that covers a key.
//!
//! A body has the images of the smallest keys of its children. Of children with equal images, as byte strings can have, the
//! keys decide. They are in the headers of the blocks: that of a child is in the first block below it. So inner nodes own no
//! texts. A block is not reused while a thread that has reached an inner node above it stays in its pin, and its header
//! never changes.

use crate::Result;
use crate::cpu::byte_search::Lanes;
use crate::media::Media;

use crate::tree::nbtree::keys::form::KeyForm;
use crate::tree::nbtree::keys::key::Local;
use crate::tree::nbtree::metadata::body::{Body, Child};
use crate::tree::nbtree::metadata::shared::Metadata;

impl<K: KeyForm> Metadata<K> {
    /// The index of the child of a body of level `level` that covers `key`; 0 if `key` is below all children.
    #[inline(always)]
    pub(crate) fn rank<M: Media>(
        &self,
        media: &M,
        lanes: impl Lanes,
        (body, level): (&Body<K>, u32),
        key: K::Sought<'_>,
    ) -> usize {
        let image = K::image_in_body(body.shared(), key);
        body.rank(lanes, image, |slot| {
            let last = body.last_up_to(slot, image);
            if K::TIES {
                self.rank_among_ties(media, (body, level), last, image, key)
            } else {
                last
            }
        })
    }

    /// As [`rank`](Self::rank), if the children up to `last`, and no other ones, have images at or below that of `key`.
    #[cold]
    #[inline(never)]
    fn rank_among_ties<M: Media>(
        &self,
        media: &M,
        (body, level): (&Body<K>, u32),
        last: usize,
        image: Local,
        key: K::Sought<'_>,
    ) -> usize {
        // The child that is sought is `from` or one behind it, and not behind `to`.
        let (mut from, mut to) = (0, last);
        while from < to {
            let middle = (from + to).div_ceil(2);
            let begins_by = body.image(middle) < image
                || K::begins_by(media, self.first_block(body, level, middle), key);
            (from, to) = if begins_by { (middle, to) } else { (from, middle - 1) };
        }
        from
    }

    /// The offset of the first block below a child of a body of level `level`.
    fn first_block(&self, body: &Body<K>, level: u32, slot: usize) -> u64 {
        let (number, block) = body.leaf(slot);
        self.first_block_below(level, number, block)
    }

    /// The offset of the first block below the child with this number of a body of level `level`. `block` is that of a
    /// leaf, if it is known.
    fn first_block_below(&self, mut level: u32, mut number: u32, mut block: u64) -> u64 {
        while level > 1 {
            let body = if level == 2 { self.cells.get(number).load().body() } else { number };
            (number, block) = self.bodies.get(body).leaf(0);
            level -= 1;
        }
        if block == 0 { self.leaves.get(number).block() } else { block }
    }

    /// The smallest key that a child covers.
    pub(crate) fn low_of<M: Media>(
        &self,
        media: &M,
        (body, level): (&Body<K>, u32),
        slot: usize,
    ) -> Result<K::Fence> {
        K::low_of_child(media, body.image(slot), || self.first_block(body, level, slot))
    }

    /// Fills a body of level `level` that no other thread uses.
    pub(crate) fn fill<M: Media>(
        &self,
        media: &M,
        (body, level): (&Body<K>, u32),
        children: &[Child],
    ) {
        let last = children.len() - 1;
        let block = |slot: usize| {
            let (number, block) = children[slot].way();
            self.first_block_below(level, number, block)
        };
        if K::TIES {
            // The cache misses of the headers overlap.
            (1..=last).for_each(|slot| media.prefetch(block(slot), 1));
        }
        K::share(media, body.shared(), || [block(K::FIRST_COMPARED.min(last)), block(last)]);
        body.fill(children, |slot| match slot < K::FIRST_COMPARED {
            true => Local(0),
            false => K::image_of_child(media, body.shared(), children[slot].low, || block(slot)),
        });
    }
}
