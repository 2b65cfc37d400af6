//! The nodes that a walk has entered. In a damaged tree several words may lead to one node. If they do so on every
//! level, the number of paths grows exponentially.
//!
//! In one pin, a walk in key order enters each node of a sound tree once. A node stays on the path of its keys. It
//! moves up when a node above it is collapsed, and down a level when a node is inserted above it. Both happen below the
//! word through which the walk has come, and the walk continues after that word. No chunk is reused before the pin
//! ends.

use crate::numbered::Numbers;

/// The number of nodes that are entered without being recorded. Nearly every walk enters fewer.
const UNNOTED: usize = 4096;

#[derive(Default)]
pub(crate) struct Entered {
    count: usize,
    noted: Numbers,
}

impl Entered {
    /// Records that the walk enters the node at `at`; returns whether this may be the first time. If the walk ends as
    /// soon as this returns `false`, it enters no node a third time, except nodes among the first [`UNNOTED`].
    #[inline]
    pub(crate) fn is_new(&mut self, at: u64) -> bool {
        self.count += 1;
        self.count <= UNNOTED || self.noted.insert(at, ()).is_none()
    }
}

/// The error for a node that was entered before.
pub(crate) const TWICE: &str = "a node that is reached twice";
