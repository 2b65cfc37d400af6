//! The descent from the root to the place of a key, without locks.
//!
//! A node stores eight bytes of its prefix. If the prefix has more bytes below the parent, a lookup skips those bytes
//! optimistically, and the record at the end decides. An insert must be sure: it reads any record below the node,
//! because each of them has the whole prefix.

use crate::Result;
use crate::media::{Mark, Media};
use crate::space::{Guard, Space};

use crate::tree::records::fingerprint::Sought;
use crate::tree::records::record::Record;
use crate::tree::roart::nodes::array::Array;
use crate::tree::roart::nodes::node::{EOK, Node, Prefix, enter_child};
use crate::tree::roart::nodes::sample::{Reached, Sample};
use crate::tree::roart::nodes::word::{Link, LinkKind};
use crate::tree::roart::path::attempt::{Attempt, LockWords};
use crate::tree::roart::techniques::Techniques;
use crate::tree::roart::tree::Tree;

/// Where a key differs from the prefix of a node, and the byte that the keys below have there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fork {
    pub(crate) at: usize,
    pub(crate) byte: u8,
}

/// The contents of the place of a key.
pub(crate) enum Below<'g, M> {
    /// The key is not below the node: it differs from the node's prefix. The fork says where, if that is known.
    Elsewhere(Option<Fork>),
    /// It is not known whether the key belongs below the node: no record there could tell the whole prefix.
    Barren,
    /// An empty word.
    Nothing,
    /// A record, and whether it is that of the key.
    Record(Record<'g, M>, bool),
    /// An array, and the record of the key in it, if there is one.
    Array(Array<'g, M>, Option<Record<'g, M>>),
}

/// The last node on the path to a key, and the contents below it.
pub(crate) struct Spot<'g, M> {
    pub(crate) parent: Option<Node<'g, M>>,
    pub(crate) node: Node<'g, M>,
    pub(crate) below: Below<'g, M>,
    /// Whether part of a prefix on the path was not compared.
    pub(crate) in_hope: bool,
}

impl<'g, M: Media> Spot<'g, M> {
    /// The record of the key.
    #[inline]
    pub(crate) fn record(&self) -> Option<Record<'g, M>> {
        match self.below {
            Below::Record(record, true) => Some(record),
            Below::Array(_, found) => found,
            _ => None,
        }
    }

    /// The byte of the key on which the node branches; `None` if the key ends there.
    pub(crate) fn byte(&self, key: &Sought<'_>) -> Option<u8> {
        key.bytes.get(self.node.depth()).copied()
    }

    /// The byte of the key on which the parent branches.
    pub(crate) fn parent_byte(&self, key: &Sought<'_>) -> Option<u8> {
        key.bytes.get(self.parent?.depth()).copied()
    }

    /// The outcome of an attempt to make a change here. `done` says whether the change was made.
    #[inline]
    pub(crate) fn outcome(&self, done: bool) -> Attempt {
        if done { Attempt::Done } else { self.failed() }
    }

    #[cold]
    fn failed(&self) -> Attempt {
        let array = match &self.below {
            Below::Array(array, _) => Some(array),
            _ => None,
        };
        Attempt::Failed(LockWords::of(self.parent.as_ref(), &self.node, array))
    }

    /// Whether the key certainly belongs here, whether it is present or not.
    pub(crate) fn is_exact(&self) -> bool {
        !self.in_hope && !matches!(self.below, Below::Elsewhere(None))
    }
}

/// Whether a search must compare all prefixes on its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Care {
    /// The search skips the bytes that nodes do not store. This is enough for a key that is present.
    Hope,
    /// The search compares all bytes. This is needed to insert a key.
    Exact,
}

/// The place of a key below `root`. What the result rests on is durable.
#[inline]
pub(crate) fn find<'g, M: Media>(
    guard: &'g Guard<'g, M>,
    root: Node<'g, M>,
    key: &Sought<'_>,
    care: Care,
) -> Result<Spot<'g, M>> {
    let (media, generation) = (guard.media(), guard.space().generation());
    let mut spot = Spot { parent: None, node: root, below: Below::Nothing, in_hope: false };
    let mut from = 0;
    loop {
        let node = spot.node;
        match (node.compare_prefix(key.bytes, from), care) {
            (Prefix::Matches, _) => {}
            (Prefix::MayMatch, Care::Hope) => spot.in_hope = true,
            (remembered, _) => {
                if let Some(below) = leaves(&spot, key, from, care, remembered, guard.space())? {
                    return Ok(Spot { below, ..spot });
                }
            }
        }
        let link = step(&node, key.bytes, generation)?;
        media.mark(Mark::Step("find.step"));
        if link.is_empty() {
            return Ok(spot);
        }
        let below = match link.kind()? {
            LinkKind::Node(kind) => {
                let next = key.bytes.get(node.depth() + 1);
                Node::prefetch_for_search(media, (link.at(), kind), next);
                spot.parent = Some(node);
                spot.node = enter_child(media, &node, link)?;
                from = node.depth() + 1;
                continue;
            }
            LinkKind::Array(kind) => {
                Array::prefetch_for_search(media, link.at(), kind);
                let array = Array::enter(media, link.at(), kind)?;
                let found = array.find(key.bytes, key.fingerprint, generation)?;
                Below::Array(array, found.map(|(_, record)| record))
            }
            LinkKind::Record => {
                let record = Record::enter(media, link.at())?;
                // If the hint does not match, the key need not be read.
                let is_it = link.admits(key.fingerprint) && record.is_of(key.bytes);
                Below::Record(record, is_it)
            }
        };
        return Ok(Spot { below, ..spot });
    }
}

/// The word for `key` in a node whose prefix the key has.
#[inline(always)]
pub(crate) fn step<M: Media>(node: &Node<'_, M>, key: &[u8], generation: u64) -> Result<Link> {
    if let Some(&byte) = key.get(node.depth()) {
        return Ok(node.child(byte, generation).map_or(Link::NONE, |(_, link)| link));
    }
    let eok = node.load(EOK);
    if eok.is_empty() || eok.kind()? == LinkKind::Record {
        Ok(eok)
    } else {
        Err(node.corrupt("a key that ends at a node and has no record"))
    }
}

/// How the key differs from the prefix of the spot's node, if it does. Called if the stored part of the prefix does not
/// prove a match.
#[cold]
fn leaves<'g, M: Media>(
    spot: &Spot<'g, M>,
    key: &Sought<'_>,
    from: usize,
    care: Care,
    remembered: Prefix,
    space: &Space<M>,
) -> Result<Option<Below<'g, M>>> {
    let remembers_all = spot.node.remembers_from() <= from;
    match (remembered, care) {
        (Prefix::LeavesAt(at, byte), _) if remembers_all => {
            Ok(Some(Below::Elsewhere(Some(Fork { at, byte }))))
        }
        (_, Care::Hope) => Ok(Some(Below::Elsewhere(None))),
        (_, Care::Exact) => compare_whole(spot, key, from, remembered, space),
    }
}

/// Compares the key with the whole prefix of the spot's node, which every record below has. `remembered` is the result
/// for the stored part.
fn compare_whole<'g, M: Media>(
    spot: &Spot<'g, M>,
    key: &Sought<'_>,
    from: usize,
    remembered: Prefix,
    space: &Space<M>,
) -> Result<Option<Below<'g, M>>> {
    let node = &spot.node;
    let above = spot.parent.as_ref().zip(spot.parent_byte(key));
    let record = match (Reached { node, above }).sample(space)? {
        Sample::Record(record) => record,
        Sample::Barren => return Ok(Some(Below::Barren)),
        Sample::Moved => return Ok(Some(Below::Elsewhere(None))),
    };
    let at = record.common_with(key.bytes, from);
    let leaves_at = match remembered {
        Prefix::LeavesAt(at, _) => at,
        _ => node.depth(),
    };
    match record.key_byte(at) {
        // The key leaves the prefix before the stored part, or where the comparison with the stored part says.
        Some(byte) if at < node.remembers_from() || at == leaves_at && at < node.depth() => {
            Ok(Some(Below::Elsewhere(Some(Fork { at, byte }))))
        }
        _ if at >= node.depth() && leaves_at == node.depth() => Ok(None),
        _ => Err(node.corrupt("a node whose prefix is not that of its keys")),
    }
}

impl<M: Media, T: Techniques> Tree<M, T> {
    /// The place of a key.
    pub(crate) fn find<'g>(
        &self,
        guard: &'g Guard<'g, M>,
        key: &Sought<'_>,
        care: Care,
    ) -> Result<Spot<'g, M>> {
        find(guard, self.root(guard)?, key, care)
    }
}
