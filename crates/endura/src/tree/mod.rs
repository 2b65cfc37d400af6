//! The papers' indexes, over any medium.
