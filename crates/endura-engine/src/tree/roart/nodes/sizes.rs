//! The sizes of the chunks of a tree, besides records.

use crate::media::Mapped;
use crate::tree::roart::nodes::array::Array;
use crate::tree::roart::nodes::node::Node;
use crate::tree::roart::nodes::word::{ArrayKind, NodeKind};

/// Bytes of the nodes of each kind.
pub(crate) fn node_sizes() -> impl Iterator<Item = u64> {
    NodeKind::all().map(Node::<Mapped>::bytes_of)
}

/// Bytes of the arrays of each kind, and into how many of that kind the records of a full array, and one more, can be
/// divided. A group of one record has no array.
pub(crate) fn arrays_of_groups() -> impl Iterator<Item = (u64, usize)> {
    let mut least = 2;
    ArrayKind::all().map(move |kind| {
        let groups = (ArrayKind::MOST + 1) / least;
        least = kind.capacity() + 1;
        (Array::<Mapped>::bytes_of(kind), groups)
    })
}

/// The most bytes of all arrays into which these records can be divided, whatever their kinds.
pub(crate) fn most_bytes_of_groups() -> u64 {
    let all = |(bytes, groups): (u64, usize)| bytes * (groups as u64 + 1);
    arrays_of_groups().map(all).max().unwrap_or(0)
}
