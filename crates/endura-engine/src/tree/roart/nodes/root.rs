//! The root, which is never replaced.

use crate::media::{Media, Ordering, Region};
use crate::{Error, Result};

use crate::tree::roart::nodes::node::Node;
use crate::tree::roart::nodes::word::Link;

/// The link to the root node of the tree whose root word is at `root_at`.
pub(crate) fn root_link<M: Media>(media: &M, root_at: u64) -> Result<Link> {
    // Acquire: pairs with the Release of the thread that created the map. The root word never changes.
    let at = Region::new(media, root_at, 1)?.load(0, Ordering::Acquire);
    let nowhere = || Error::Corrupt { offset: root_at, what: "not where a root can be" };
    Link::root(at).ok_or_else(nowhere)
}

/// The root node of the tree whose root word is at `root_at`.
pub(crate) fn root_node<M: Media>(media: &M, root_at: u64) -> Result<Node<'_, M>> {
    Node::root(media, root_link(media, root_at)?.at())
}
