//! The move to the right sibling.

use std::cmp::Ordering as Order;

use crate::Result;
use crate::media::Media;
use crate::space::Guard;
use crate::tree::fast_fair::nodes::lock_word::LockWord;
use crate::tree::fast_fair::path::trail::Detours;
use crate::tree::fast_fair_bytes::nodes::extent::Extent;
use crate::tree::fast_fair_bytes::nodes::node::{ByteNode, Link};
use crate::tree::fast_fair_bytes::path::trail::{Separator, Trail};

/// A move to the right sibling.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Right {
    pub(crate) at: u64,
    /// Whether the link is durable.
    is_settled: bool,
}

/// Moves to the right sibling, and remembers that the parent may lack the separator of the sibling.
pub(crate) fn note_right(trail: &mut Trail, right: Right, level: u64) -> u64 {
    if right.is_settled {
        trail.missing = Some(Separator { child: right.at, level: level + 1 });
    }
    right.at
}

/// The move right out of `node`, whose end was read after its lock word `version`; `None` if the node changed meanwhile.
pub(crate) fn right_of<M: Media, const W: usize>(
    node: &ByteNode<'_, M, W>,
    version: LockWord,
    extent: Extent,
) -> Result<Option<Right>> {
    if !node.is_still_to(extent) || !node.confirms(version) {
        return Ok(None);
    }
    if version.in_flight() && node.level() == 0 {
        // A result found further right must not vanish with the link that led there (V9).
        node.help_flush_header();
    }
    if extent.right == 0 {
        return Err(node.corrupt("a node with an upper fence and no right sibling"));
    }
    check_ahead(node, extent.right)?;
    // A crash can undo a link that is still being written, but not a separator that was posted over it.
    let is_settled = matches!(extent.link, Link::Right(_)) && !version.in_flight();
    Ok(Some(Right { at: extent.right, is_settled }))
}

/// The damage of a node that does not lie where its left sibling says.
pub(crate) const NOT_AHEAD: &str = "a right sibling that does not lie to the right";

/// Checks that the node at `right`, the right sibling of `node`, starts after `node`, and returns where it starts. The
/// `low` of a node never changes. So a search that checks every move right runs in no circle of siblings.
pub(crate) fn check_ahead<M: Media, const W: usize>(
    node: &ByteNode<'_, M, W>,
    right: u64,
) -> Result<Vec<u8>> {
    let ahead = ByteNode::<M, W>::enter(node.media(), right, node.level())?;
    let low = ahead.low_key()?;
    match node.compare_low(&low, 0)? {
        Order::Less => Ok(low),
        _ => Err(ahead.corrupt(NOT_AHEAD)),
    }
}

/// The node that begins where the node at `at` does, and was not replaced; `None` if it is being absorbed, or was.
pub(crate) fn newest<M: Media, const W: usize>(
    guard: &Guard<'_, M>,
    mut at: u64,
    level: u64,
) -> Result<Option<u64>> {
    let mut detours = Detours::default();
    loop {
        let node = ByteNode::<M, W>::enter(guard.media(), at, level)?;
        match node.link()? {
            Link::Replaced(new) => {
                node.help_replace();
                detours.leave_obsolete(at)?;
                at = new;
            }
            Link::Right(_) | Link::Splitting(_) => {
                let is_leaving = node.version().is_leaving(guard.space().generation());
                return Ok((!is_leaving).then_some(at));
            }
        }
    }
}
