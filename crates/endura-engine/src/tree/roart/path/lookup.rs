//! Optimistic lookup: prefixes longer than eight bytes are skipped, and the key in the record decides.
//!
//! A lookup follows the same words as [`find`](crate::tree::roart::path::descend::find), and records nothing about its
//! path. The code is short because the processor starts the next lookup while this one waits for a line, as far as its
//! reorder window reaches.

use crate::Result;
use crate::media::{Mark, Media};
use crate::space::Guard;

use crate::tree::records::fingerprint::Fingerprint;
use crate::tree::records::record::Record;
use crate::tree::roart::nodes::array::Array;
use crate::tree::roart::nodes::node::{Node, Prefix};
use crate::tree::roart::nodes::word::{Link, LinkKind, NodeKind};
use crate::tree::roart::path::descend::step;

/// Where a search continues after a node.
#[derive(Clone, Copy)]
pub(crate) struct Continuation {
    /// The word to follow; empty if the key is not below the node.
    pub(crate) link: Link,
    /// The number of bytes of the key that have led here.
    pub(crate) from: usize,
}

/// One step of a search, through the node of this kind at `at`, to which the first `from` bytes of the key led (0 for
/// the root).
#[inline(never)]
pub(crate) fn through<M: Media>(
    media: &M,
    (at, kind): (u64, NodeKind),
    key: &[u8],
    from: usize,
    generation: u64,
) -> Result<Continuation> {
    let node = Node::enter(media, at, kind)?;
    match (from, node.depth()) {
        (0, 1..) => return Err(node.corrupt("a root with a prefix")),
        (from, depth) if depth < from => {
            return Err(node.corrupt("a node that is no deeper than its parent"));
        }
        _ => {}
    }
    let way = Continuation { link: Link::NONE, from: node.depth() + 1 };
    if let Prefix::LeavesAt(..) = node.compare_prefix(key, from) {
        return Ok(way);
    }
    let link = step(&node, key, generation)?;
    media.mark(Mark::Step("lookup.step"));
    Ok(Continuation { link, ..way })
}

/// The record of `key` below `root`. What the result rests on is durable, also if there is no record.
#[inline(always)]
pub(crate) fn lookup<'g, M: Media>(
    guard: &'g Guard<'_, M>,
    root: Link,
    key: &[u8],
) -> Result<Option<Record<'g, M>>> {
    let (media, generation) = (guard.media(), guard.space().generation());
    let Some((link, at)) = candidate(guard, root, key)? else { return Ok(None) };
    if let Some(value) = Record::value_for(media, at, key)? {
        return Record::of_lengths(media, at, key.len(), value).map(Some);
    }
    match link.kind()? {
        LinkKind::Array(kind) => behind(Array::enter(media, link.at(), kind)?, key, generation),
        _ => Ok(None),
    }
}

/// A word and an offset. The offset is that of the only record that may be that of `key`, or of the first record in an
/// array with the fingerprint of `key`. The word leads to that record, or to the array.
#[inline(always)]
fn candidate<M: Media>(
    guard: &Guard<'_, M>,
    root: Link,
    key: &[u8],
) -> Result<Option<(Link, u64)>> {
    let (media, generation) = (guard.media(), guard.space().generation());
    let mut way = Continuation { link: root, from: 0 };
    loop {
        // Most nodes of a large tree have 256 children and branch on the very next byte.
        while let Some(link) = Node::child_by_byte(media, way.link, key, way.from) {
            media.mark(Mark::Step("lookup.step"));
            way = Continuation { link, from: way.from + 1 };
        }
        let Continuation { link, from } = way;
        if link.is_empty() {
            return Ok(None);
        }
        match link.kind()? {
            // If the hint does not match, the key need not be read.
            LinkKind::Record if !link.admits(Fingerprint::of(key)) => return Ok(None),
            LinkKind::Record => return Ok(Some((link, link.at()))),
            LinkKind::Array(kind) => {
                Array::prefetch_for_search(media, link.at(), kind);
                let array = Array::enter(media, link.at(), kind)?;
                let first =
                    array.find_by(Fingerprint::of(key), generation, |_, at| Ok(Some(at)))?;
                return Ok(first.map(|at| (link, at)));
            }
            LinkKind::Node(kind) => {
                let node = (link.at(), kind);
                Node::prefetch_for_search(media, node, key.get(from));
                way = through(media, node, key, from, generation)?;
            }
        }
    }
}

/// The record of `key` in an array whose first record with the same fingerprint has another key.
#[cold]
fn behind<'g, M: Media>(
    array: Array<'g, M>,
    key: &[u8],
    generation: u64,
) -> Result<Option<Record<'g, M>>> {
    let found = array.find(key, Fingerprint::of(key), generation)?;
    Ok(found.map(|(_, record)| record))
}
