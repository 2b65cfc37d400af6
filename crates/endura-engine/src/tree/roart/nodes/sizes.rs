//! The sizes of the chunks of a tree, besides records.

use crate::media::Mapped;
use crate::tree::roart::nodes::array::Array;
use crate::tree::roart::nodes::node::Node;
use crate::tree::roart::nodes::word::{ArrayKind, NodeKind};

/// Bytes of the nodes of each kind.
pub(crate) fn node_sizes() -> impl Iterator<Item = u64> {
    NodeKind::all().map(Node::<Mapped>::bytes_of)
}

/// Bytes of the arrays of each kind.
pub(crate) fn array_sizes() -> impl Iterator<Item = u64> {
    ArrayKind::all().map(Array::<Mapped>::bytes_of)
}

/// Into how many arrays the records of a full one are divided at the most, and the bytes of each: they are the smallest
/// ones then.
pub(crate) fn most_groups() -> (u64, usize) {
    let smallest = array_sizes().min().unwrap_or(0);
    (smallest, ArrayKind::MOST / 2)
}
