//! Bodies: the inner nodes. What is in a body never changes after it was published; a change is a
//! new body in its place.

use crate::sync::{AtomicU32, AtomicU64, Ordering};
use crate::volatile::lines::{Lanes, Line};

use super::key::Local;

/// The most children that a body has room for.
pub(super) const ROOM: usize = 64;
/// Keys in a line.
const LINE: usize = 8;

/// A child with the smallest key that it covers.
pub(super) type Child = (Local, u32);

/// Up to [`ROOM`] children in key order. Every eighth key stands a second time in the first line, so
/// that a search waits for two lines of keys, not for nine.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Body {
    pivots: Line,
    keys: [Line; ROOM / LINE],
    children: [AtomicU32; ROOM],
    count: AtomicU32,
}

impl Default for Body {
    fn default() -> Self {
        Self {
            pivots: std::array::from_fn(|_| AtomicU64::new(0)),
            keys: std::array::from_fn(|_| std::array::from_fn(|_| AtomicU64::new(0))),
            children: std::array::from_fn(|_| AtomicU32::new(0)),
            count: AtomicU32::new(0),
        }
    }
}

impl Body {
    /// Fills a body that nobody else uses. Whoever publishes it (with Release) publishes all:
    /// hence all accesses here are Relaxed.
    pub(super) fn fill(&self, children: &[Child]) {
        debug_assert!(!children.is_empty() && children.len() <= ROOM);
        debug_assert!(children.is_sorted_by(|a, b| a.0 < b.0));
        for slot in 0..children.len().next_multiple_of(LINE) {
            // Behind the last child: above every key.
            let (key, child) = children.get(slot).copied().unwrap_or((Local(u64::MAX), 0));
            self.keys[slot / LINE][slot % LINE].store(key.0, Ordering::Relaxed);
            self.children[slot].store(child, Ordering::Relaxed);
        }
        for (line, pivot) in self.pivots.iter().enumerate() {
            let first = children.get(LINE * line).map_or(u64::MAX, |child| child.0.0);
            // Before the first child comes nothing.
            pivot.store(if line == 0 { 0 } else { first }, Ordering::Relaxed);
        }
        self.count.store(children.len() as u32, Ordering::Relaxed);
    }

    pub(super) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed) as usize
    }

    /// The number of the child that covers `key`; the first one if it lies before all.
    #[inline(always)]
    pub(super) fn rank(&self, lanes: impl Lanes, key: Local) -> usize {
        // The first pivot is 0.
        let line = lanes.words_up_to(&self.pivots, key.0).wrapping_sub(1) % (ROOM / LINE);
        let rank = LINE * line + lanes.words_up_to(&self.keys[line], key.0);
        rank.max(1) - 1
    }

    #[inline(always)]
    pub(super) fn child(&self, slot: usize) -> u32 {
        self.children[slot].load(Ordering::Relaxed)
    }

    /// The smallest key that child number `slot` covers.
    pub(super) fn key(&self, slot: usize) -> Local {
        Local(self.keys[slot / LINE][slot % LINE].load(Ordering::Relaxed))
    }

    /// Where child number `slot` ends, if not with the body.
    pub(super) fn end(&self, slot: usize) -> Option<Local> {
        (slot + 1 < self.count()).then(|| self.key(slot + 1))
    }

    /// All children.
    pub(super) fn children(&self) -> Vec<Child> {
        (0..self.count()).map(|slot| (self.key(slot), self.child(slot))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::volatile::lines::{Narrow, Wide};

    #[test]
    fn the_child_that_covers_a_key_is_found_for_every_count() {
        for count in 1..=ROOM as u64 {
            let body = Body::default();
            // What was there before must not matter.
            body.fill(&(0..ROOM as u64).map(|n| (Local(n), 9)).collect::<Vec<_>>());
            let children: Vec<Child> = (0..count).map(|n| (Local(10 * n), n as u32 + 1)).collect();
            body.fill(&children);
            assert_eq!(body.children(), children);
            for n in 0..count {
                for key in [10 * n, 10 * n + 1, 10 * n + 9] {
                    assert_eq!(body.child(body.rank(Narrow, Local(key))), n as u32 + 1);
                    if let Some(wide) = Wide::detect() {
                        assert_eq!(body.child(body.rank(wide, Local(key))), n as u32 + 1);
                    }
                }
                assert_eq!(body.end(n as usize), (n + 1 < count).then_some(Local(10 * n + 10)));
            }
            assert_eq!(body.child(body.rank(Narrow, Local(u64::MAX >> 3))), count as u32);
        }
    }
}
