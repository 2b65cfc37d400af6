//! Tests of this module as a whole, sorted by what could go wrong.

mod chunks;
mod directory;
mod lifetime;
mod pins;
mod rename;
mod sessions;
mod spans;
mod tails;

use super::*;
use crate::media::{Heap, Media, Ordering, Region};
use crate::space::layout::UNIT;

/// Bytes in use of a pool without maps and chunks: 12 units describe the pool.
const EMPTY: u64 = 12 * UNIT;

pub(crate) const FRESH: Session = Session { generation: 1, clean: true, read_only: false };

/// A formatted, mounted pool of `pages` pages on the heap.
pub(crate) fn pool(pages: u64) -> Space<Heap> {
    mounted(Heap::new(pages * PAGE))
}

pub(crate) fn mounted<M: Media>(medium: M) -> Space<M> {
    Space::format(&medium).unwrap();
    Space::mount(medium, FRESH).unwrap()
}

/// A copy of the words of a medium, as the next open finds them.
pub(crate) fn copy(medium: &Heap) -> Heap {
    let words = medium.len() as usize / 8;
    let target = Heap::new(medium.len());
    let from = Region::new(medium, 0, words).unwrap();
    let to = Region::new(&target, 0, words).unwrap();
    (0..words).for_each(|i| to.store(i, from.load(i, Ordering::Relaxed), Ordering::Relaxed));
    target
}
