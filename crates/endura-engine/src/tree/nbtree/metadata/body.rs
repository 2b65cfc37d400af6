//! Bodies: the inner nodes. A body never changes after it was published; a change publishes a new body in its place.

use crate::cpu::byte_search::{Halves, Lanes};
use crate::cpu::prefetch::prefetch;
use crate::media::LINE;
use crate::sync::{AtomicU32, AtomicU64, Ordering};

use crate::tree::nbtree::keys::form::KeyForm;
use crate::tree::nbtree::keys::key::{Local, Scale};

/// The most children of a body.
pub(crate) const ROOM: usize = 64;

/// A child of a body: a leaf, a cell or another body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Child {
    /// The smallest key that the child covers, if keys are numbers.
    pub(crate) low: Local,
    pub(crate) number: u32,
    /// The line at which the block of a leaf starts, so that a search need not read the leaf. 0 for other children, and
    /// for a line whose number does not fit into 32 bits (beyond 256 GiB).
    line: u32,
}

impl Child {
    pub(crate) fn inner(low: Local, number: u32) -> Self {
        Self { low, number, line: 0 }
    }

    pub(crate) fn leaf(low: Local, number: u32, block: u64) -> Self {
        Self { low, number, line: u32::try_from(block / LINE).unwrap_or(0) }
    }

    /// The number of a leaf, and the offset of its block; 0 if only the leaf itself records it.
    pub(crate) fn way(self) -> (u32, u64) {
        (self.number, u64::from(self.line) * LINE)
    }
}

/// Up to [`ROOM`] children in key order.
///
/// A search reads the head of each image ([`Scale`]): four cache lines after that of the scale, instead of eight for the
/// images, so that more bodies stay in the caches. Children with equal heads are told apart by their images, and children
/// with equal images by their blocks ([`rank`](super::rank)).
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Body<K: KeyForm> {
    heads: Heads,
    /// Number and line of each child.
    children: [AtomicU64; ROOM],
    /// The image of the smallest key that each child covers.
    images: [AtomicU64; ROOM],
    shared: K::Shared,
}

#[derive(Debug)]
#[repr(C, align(64))]
struct Heads {
    base: AtomicU64,
    shift: AtomicU32,
    count: AtomicU32,
    /// The array starts at a cache line, because a search compares whole lines.
    of: Halves,
}

impl<K: KeyForm> Default for Body<K> {
    fn default() -> Self {
        let words = || std::array::from_fn(|_| AtomicU64::new(0));
        let heads = Heads {
            base: AtomicU64::new(0),
            shift: AtomicU32::new(0),
            count: AtomicU32::new(0),
            of: Halves::default(),
        };
        Self { heads, children: words(), images: words(), shared: K::Shared::default() }
    }
}

impl<K: KeyForm> Body<K> {
    /// Fills a body that no other thread uses. The store that publishes the body (with Release) publishes all its
    /// words, so that all accesses here are Relaxed.
    pub(crate) fn fill(&self, children: &[Child], image: impl Fn(usize) -> Local) {
        let last = children.len() - 1;
        debug_assert!(last < ROOM);
        let scale = Scale::between(image(K::FIRST_COMPARED.min(last)), image(last));
        self.heads.base.store(scale.base, Ordering::Relaxed);
        self.heads.shift.store(scale.shift, Ordering::Relaxed);
        self.heads.count.store(children.len() as u32, Ordering::Relaxed);
        for (slot, &Child { number, line, .. }) in children.iter().enumerate() {
            let child = u64::from(line) << 32 | u64::from(number);
            let image = image(slot);
            self.heads.of.0[slot].store(scale.head(image), Ordering::Relaxed);
            self.children[slot].store(child, Ordering::Relaxed);
            self.images[slot].store(image.0, Ordering::Relaxed);
        }
        let behind = &self.heads.of.0[children.len()..];
        behind.iter().for_each(|head| head.store(Scale::BEYOND, Ordering::Relaxed));
        debug_assert!((1..=last).all(|slot| match K::TIES {
            false => self.image(slot - 1) < self.image(slot),
            true => self.image(slot - 1) <= self.image(slot),
        }));
    }

    /// Prefetches the lines that a search may read, except for the keys, which it needs only if heads are equal.
    #[inline(always)]
    pub(crate) fn prefetch(&self) {
        prefetch(&self.heads);
        prefetch(&self.children);
    }

    pub(crate) fn count(&self) -> usize {
        self.heads.count.load(Ordering::Relaxed) as usize
    }

    /// What the children have in common, as [`KeyForm::share`] has stored it.
    #[inline(always)]
    pub(crate) fn shared(&self) -> &K::Shared {
        &self.shared
    }

    /// The index of the last child whose image is at or below this one; 0 if there is none. If the last child with the
    /// same head is not it, or may not be it, `among_equals` decides, from that child on.
    #[inline(always)]
    pub(crate) fn rank(
        &self,
        lanes: impl Lanes,
        image: Local,
        among_equals: impl FnOnce(usize) -> usize,
    ) -> usize {
        let base = self.heads.base.load(Ordering::Relaxed);
        let head = Scale { base, shift: self.heads.shift.load(Ordering::Relaxed) }.head(image);
        let heads = &self.heads.of;
        // The first head is 0.
        let slot = lanes.halves_up_to(heads, head).wrapping_sub(1) % ROOM;
        match heads.0[slot].load(Ordering::Relaxed) == head {
            true => among_equals(slot),
            false => slot,
        }
    }

    /// The last child up to `slot` whose image is at or below this one; 0 if there is none.
    #[cold]
    pub(crate) fn last_up_to(&self, slot: usize, image: Local) -> usize {
        (1..=slot).rev().find(|&slot| self.image(slot) <= image).unwrap_or(0)
    }

    #[inline(always)]
    pub(crate) fn child(&self, slot: usize) -> u32 {
        self.leaf(slot).0
    }

    /// The number of a leaf, and the offset of its block; the offset is 0 if only the leaf itself records it.
    #[inline(always)]
    pub(crate) fn leaf(&self, slot: usize) -> (u32, u64) {
        let child = self.children[slot].load(Ordering::Relaxed);
        (child as u32, (child >> 32) * LINE)
    }

    /// The image of the smallest key that child number `slot` covers.
    pub(crate) fn image(&self, slot: usize) -> Local {
        Local(self.images[slot].load(Ordering::Relaxed))
    }

    /// All children.
    pub(crate) fn children(&self) -> Vec<Child> {
        let child = |slot| {
            let (number, block) = self.leaf(slot);
            Child::leaf(self.image(slot), number, block)
        };
        (0..self.count()).map(child).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::byte_search::{Narrow, Wide};
    use crate::tree::nbtree::keys::numbers::NumberKeys;

    fn filled(children: &[Child]) -> Body<NumberKeys> {
        let body = Body::default();
        fill(&body, children);
        body
    }

    fn fill(body: &Body<NumberKeys>, children: &[Child]) {
        body.fill(children, |slot| children[slot].low);
    }

    fn rank(body: &Body<NumberKeys>, lanes: impl Lanes, key: Local) -> usize {
        body.rank(lanes, key, |slot| body.last_up_to(slot, key))
    }

    #[test]
    fn the_child_that_covers_a_key_is_found_for_every_count() {
        for count in 1..=ROOM as u64 {
            // Earlier contents of the body must have no effect.
            let body =
                filled(&(0..ROOM as u64).map(|n| Child::inner(Local(n), 9)).collect::<Vec<_>>());
            let child = |n| Child::leaf(Local(10 * n), n as u32 + 1, n << 37);
            let children: Vec<Child> = (0..count).map(child).collect();
            fill(&body, &children);
            assert_eq!(body.children(), children);
            for n in 0..count {
                for key in [10 * n, 10 * n + 1, 10 * n + 9] {
                    assert_eq!(body.child(rank(&body, Narrow, Local(key))), n as u32 + 1);
                    if let Some(wide) = Wide::detect() {
                        assert_eq!(body.child(rank(&body, wide, Local(key))), n as u32 + 1);
                    }
                }
                assert_eq!(body.image(n as usize), Local(10 * n));
            }
            assert_eq!(body.child(rank(&body, Narrow, Local(u64::MAX >> 3))), count as u32);
        }
    }

    #[test]
    fn keys_with_one_head_are_told_apart() {
        let far = (1 << 61) - 1;
        let near = [0, 1, 2, 5, 6, 1 << 40, (1 << 40) + 1, far - 1, far];
        for first in 0..near.len() {
            let keys = &near[first..];
            let body =
                filled(&keys.iter().map(|&key| Child::inner(Local(key), 1)).collect::<Vec<_>>());
            for key in near.iter().flat_map(|&key| [key.saturating_sub(1), key, key + 1]) {
                let want = keys.iter().rposition(|&low| low <= key).unwrap_or(0);
                assert_eq!(rank(&body, Narrow, Local(key)), want, "{key} in {keys:?}");
                if let Some(wide) = Wide::detect() {
                    assert_eq!(rank(&body, wide, Local(key)), want, "{key} in {keys:?}");
                }
            }
        }
    }
}
