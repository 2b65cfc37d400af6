//! Tests of the layer as a whole, by what could go wrong.

mod chunks;
mod directory;
mod lifetime;
mod pins;

use super::*;
use crate::media::{Heap, Media};

pub(super) const FRESH: Session = Session { generation: 1, clean: true, read_only: false };

/// A formatted, mounted pool of so many pages on the heap.
pub(super) fn pool(pages: u64) -> Space<Heap> {
    mounted(Heap::new(pages * PAGE))
}

pub(super) fn mounted<M: Media>(medium: M) -> Space<M> {
    Space::format(&medium).unwrap();
    Space::mount(medium, FRESH).unwrap()
}
