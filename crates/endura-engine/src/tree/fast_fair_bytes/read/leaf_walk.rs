//! A walk over the records of the leaves, for [scans](crate::tree::records::scan).

use std::ops::Bound;

use crate::Result;
use crate::media::{Media, Ordering, Region};
use crate::space::{Guard, OpenMap};
use crate::sync::fence;
use crate::tree::fast_fair::nodes::lock_word::{Direction, LOCK, LockWord};
use crate::tree::fast_fair_bytes::nodes::contents::references_while_moving;
use crate::tree::fast_fair_bytes::nodes::leaf::record_at;
use crate::tree::fast_fair_bytes::nodes::node::{ByteNode, last_below};
use crate::tree::fast_fair_bytes::nodes::search::rank;
use crate::tree::fast_fair_bytes::path::aim::Aim;
use crate::tree::fast_fair_bytes::path::right::NOT_AHEAD;
use crate::tree::fast_fair_bytes::path::trail::Trail;
use crate::tree::fast_fair_bytes::read::lookup::LeafLookup;
use crate::tree::fast_fair_bytes::tree::Tree;
use crate::tree::key_word::KeyWord;
use crate::tree::records::record::Record;
use crate::tree::records::scan::noted::{Batch, Holds};
use crate::tree::records::scan::scan::{self, Walk, Walked};

/// The version of a leaf whose records were noted. A leaf in which a writer is at work has none that lasts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LeafVersion(Option<LockWord>);

impl<M: Media, const INNER: usize, const LEAF: usize, K: KeyWord> Holds<M, LeafVersion>
    for Tree<M, INNER, LEAF, K>
{
    #[inline]
    fn still_holds(&self, holder: &Region<'_, M>, version: LeafVersion, _: u64) -> bool {
        // The fence orders the loads before it before the load after it. It pairs with the Release of every store of a
        // primitive, as in `LockWord::is_confirmed`.
        fence(Ordering::Acquire);
        let now = LockWord(holder.load(LOCK, Ordering::Relaxed));
        version.0.is_some_and(|version| version == now.unlocked())
    }
}

/// A position in a scan in one direction. A new cursor starts at the bounds of its first call.
#[derive(Default)]
pub struct Cursor(pub(crate) scan::Cursor<LeafVersion>);

/// Where a walk goes on.
enum Next {
    /// At this leaf, with the bound of the walk.
    First(u64),
    /// At the leaf at this offset, or where its keys are by now.
    Leaf(u64),
    /// At the last leaf that begins below the key in `border`.
    Below,
    Nowhere,
}

/// A walk over records in key order.
pub(crate) struct LeafWalk<
    'g,
    'b,
    M: Media,
    const INNER: usize,
    const LEAF: usize,
    K,
    const UP: bool,
> {
    tree: &'g Tree<M, INNER, LEAF, K>,
    guard: &'g Guard<'g, M>,
    bound: Bound<&'b [u8]>,
    next: Next,
    /// With `UP`, the key at which the leaf that is noted last or now begins (empty for the first one); otherwise that of the
    /// leaf noted last.
    border: Vec<u8>,
}

impl<'g, M: Media, const INNER: usize, const LEAF: usize, K: KeyWord, const UP: bool>
    LeafWalk<'g, '_, M, INNER, LEAF, K, UP>
{
    /// What the walk aims at next.
    fn aim(&self) -> Aim<'_> {
        match (&self.next, self.bound) {
            (Next::Below, _) => Aim::Below(&self.border),
            (Next::Leaf(_), _) => Aim::At(&self.border),
            (_, Bound::Included(key) | Bound::Excluded(key)) => Aim::At(key),
            (_, Bound::Unbounded) if UP => Aim::At(&[]),
            (_, Bound::Unbounded) => Aim::End,
        }
    }

    /// Notes the records of the next leaf, and finds the one behind it.
    fn note_leaf(&mut self, batch: &mut Batch<LeafVersion>) -> Result<()> {
        if let Next::Leaf(at) = self.next {
            let leaf = ByteNode::<M, LEAF>::enter(self.guard.media(), at, 0)?;
            // So a scan runs in no circle of siblings.
            if leaf.compare_low(&self.border, 0)?.is_le() {
                return Err(leaf.corrupt(NOT_AHEAD));
            }
            self.border.clear();
            // `low` never changes, and the leaf was reached in this pin.
            leaf.copy_low(&mut self.border)?;
        }
        let (mut trail, start) = (Trail::default(), batch.len());
        let (aim, guard) = (self.aim(), self.guard);
        let at = match self.next {
            Next::First(at) | Next::Leaf(at) => at,
            Next::Below | Next::Nowhere => {
                let found = self.tree.descend(guard, &mut trail, aim, 0)?;
                found.ok_or_else(|| self.tree.no_leaf())?
            }
        };
        let seen = self.tree.read_leaf(guard, &mut trail, at, aim, |node, high, moving| {
            batch.keep_since(start, start..start);
            if moving.is_none() && note_settled::<K, M, LEAF, UP>(node, aim, batch)? {
                return Ok(true);
            }
            batch.keep_since(start, start..start);
            let direction = moving.unwrap_or(Direction::Right);
            let references = references_while_moving(node, high, direction);
            batch.extend(references.into_iter().map(record_at));
            Ok(false)
        })?;
        let LeafLookup { node, version, right, found } = seen;
        let is_settled = found?;
        if !UP {
            batch.since(start).reverse();
        }
        let outside = self.outside(&node, right, batch.since(start))?;
        batch.keep_since(start, start + outside..batch.len());
        batch.held_by(node.at(), LeafVersion(is_settled.then(|| version.unlocked())));
        if version.in_flight() && guard.media().needs_flush() {
            node.help_flush();
        }
        self.go_on(&node, right)
    }

    /// How many of the records noted in a leaf, the first ones, lie on the other side of the border. There are none if the
    /// leaf begins, or ends, at the border. Otherwise it was replaced by one with more keys. (Those before the bound of the
    /// walk are passed over when they are shown.)
    fn outside(&self, node: &ByteNode<'g, M, LEAF>, right: u64, noted: &[u64]) -> Result<usize> {
        let media = self.guard.media();
        let edge = match (&self.next, right) {
            (Next::Leaf(_), _) => Some(*node),
            (Next::Below, 0) => None,
            (Next::Below, right) => Some(ByteNode::enter(media, right, 0)?),
            _ => return Ok(0),
        };
        if let Some(edge) = edge
            && edge.compare_low(&self.border, 0)?.is_eq()
        {
            return Ok(0);
        }
        let mut outside = 0;
        for &at in noted {
            let is_below = Record::enter(media, at)?.compare(&self.border, 0).is_lt();
            if is_below != UP {
                break;
            }
            outside += 1;
        }
        Ok(outside)
    }

    /// Finds the leaf behind `node`, and prefetches it.
    fn go_on(&mut self, node: &ByteNode<'g, M, LEAF>, right: u64) -> Result<()> {
        if UP {
            self.guard.media().prefetch(right, 8 * LEAF as u64);
            self.next = if right == 0 { Next::Nowhere } else { Next::Leaf(right) };
        } else {
            self.border.clear();
            node.copy_low(&mut self.border)?;
            self.next = if self.border.is_empty() { Next::Nowhere } else { Next::Below };
        }
        Ok(())
    }
}

/// Notes the records of a leaf in which no entry is being moved: with `UP`, those from the aim on, otherwise those up to
/// it. Some with the same word as the aim's may lie before it. Returns `false` if an entry has two copies, or a dead slot
/// lies among the used ones: after a crash, until a writer locks the node.
fn note_settled<K: KeyWord, M: Media, const W: usize, const UP: bool>(
    node: &ByteNode<'_, M, W>,
    aim: Aim<'_>,
    batch: &mut Batch<LeafVersion>,
) -> Result<bool> {
    let (word, last) = (aim.word::<K, M, W>(node)?, last_below(node.peek_high()));
    let slots = if UP {
        let from = word.checked_sub(1).map_or(0, |before| rank(node, before.min(last)));
        from..rank(node, last)
    } else {
        0..rank(node, word.min(last))
    };
    batch.reserve(ByteNode::<M, W>::CAP);
    let (mut before, mut is_plain) = (0, true);
    batch.extend(slots.map(|slot| {
        let reference = node.peek_reference(slot);
        is_plain &= reference != 0 && reference != before;
        before = reference;
        record_at(reference)
    }));
    Ok(is_plain)
}

impl<M: Media, const INNER: usize, const LEAF: usize, K: KeyWord, const UP: bool> Walk<LeafVersion>
    for LeafWalk<'_, '_, M, INNER, LEAF, K, UP>
{
    fn has_moved(&self) -> bool {
        false
    }

    fn has_ended(&self) -> bool {
        matches!(self.next, Next::Nowhere)
    }

    fn note(&mut self, batch: &mut Batch<LeafVersion>, want: usize) -> Result<()> {
        let end = batch.len() + want;
        while batch.len() < end && !self.has_ended() {
            self.note_leaf(batch)?;
        }
        Ok(())
    }

    fn ask_ahead(&mut self, _: usize) -> Result<()> {
        // `go_on` has asked for the next leaf.
        Ok(())
    }
}

impl<M: Media, const INNER: usize, const LEAF: usize, K: KeyWord> Walked
    for Tree<M, INNER, LEAF, K>
{
    type Medium = M;
    type Version = LeafVersion;
    type Walk<'g, 'b, const UP: bool> = LeafWalk<'g, 'b, M, INNER, LEAF, K, UP>;

    #[inline(always)]
    fn open_map(&self) -> &OpenMap<M> {
        &self.open
    }

    fn walk<'g, 'b, const UP: bool>(
        &'g self,
        guard: &'g Guard<'g, M>,
        first: Bound<&'b [u8]>,
    ) -> Result<Self::Walk<'g, 'b, UP>> {
        let (next, border) = (Next::Nowhere, Vec::new());
        let mut walk = LeafWalk { tree: self, guard, bound: first, next, border };
        let at = self.descend(guard, &mut Trail::default(), walk.aim(), 0)?;
        walk.next = Next::First(at.ok_or_else(|| self.no_leaf())?);
        Ok(walk)
    }
}
