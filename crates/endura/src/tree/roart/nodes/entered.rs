//! The nodes that a walk has entered. In a damaged tree several words may lead to one node. If they do so on every
//! level, the number of paths grows exponentially.
//!
//! In one pin a walk in the order of the keys enters each node of a sound tree once. A node stays on the way of its
//! keys: it moves up when one above gives way to it, and a level down when another is put between, both
//! below the word that the walk has come by, and it goes on behind that. And nothing is used again before the pin ends.

use std::collections::BTreeSet;

/// Nodes that are entered without being noted: all, in nearly all walks.
const UNNOTED: usize = 4096;

#[derive(Default)]
pub(crate) struct Entered {
    count: usize,
    noted: BTreeSet<u64>,
}

impl Entered {
    /// Notes that the node at `at` is entered; whether that may be the first time. If the walk ends where it is
    /// not, no node is entered a third time, but for the first thousands.
    #[inline]
    pub(crate) fn is_new(&mut self, at: u64) -> bool {
        self.count += 1;
        self.count <= UNNOTED || self.noted.insert(at)
    }
}

/// What is said of a node that is not new.
pub(crate) const TWICE: &str = "a node that is reached twice";
