//! New nodes: where the records of a full array differ, and where a key differs from the prefix of a node.

use crate::media::{Mark, Media};
use crate::space::Guard;
use crate::{Error, Result};

use crate::tree::records::fingerprint::Sought;
use crate::tree::records::fresh::Fresh;
use crate::tree::records::record::Record;
use crate::tree::roart::nodes::node::{NewNode, Node};
use crate::tree::roart::nodes::publish::{in_order, publish};
use crate::tree::roart::nodes::word::{Link, NodeKind, Slot};
use crate::tree::roart::path::attempt::Entered;
use crate::tree::roart::path::descend::{Fork, Spot};
use crate::tree::roart::techniques::Techniques;
use crate::tree::roart::tree::Tree;
use crate::tree::roart::write::arrays::{array_for, create_array};
use crate::tree::roart::write::new_record::NewRecord;

impl<M: Media, T: Techniques> Tree<M, T> {
    /// Creates a node for records that agree in their first `from` bytes and are too many for one array; the last
    /// record is that of `key`. The node branches on the first byte in which the records differ, so that there are at
    /// least two groups, none of which is too large.
    pub(crate) fn split<'g>(
        &self,
        guard: &'g Guard<'g, M>,
        key: &Sought<'_>,
        from: usize,
        slots: &[Slot],
        fresh: &mut Fresh<'g, M>,
    ) -> Result<Link> {
        let mut records = Vec::with_capacity(slots.len());
        for slot in slots {
            records.push(Record::enter(guard.media(), slot.at())?);
        }
        // The bytes that every record shares with one of them are shared by all.
        let common = |record: &Record<'_, M>| record.common_with(key.bytes, from);
        let others = &records[..records.len() - 1];
        let depth = others.iter().map(common).min().unwrap_or(from);
        let mut eok = Link::NONE;
        let mut groups: Vec<(u8, Slot)> = Vec::with_capacity(slots.len());
        for (record, slot) in records.iter().zip(slots) {
            match record.key_byte(depth) {
                Some(byte) => groups.push((byte, *slot)),
                None if eok.is_empty() => eok = slot.link(0),
                None => {
                    return Err(Error::Corrupt {
                        offset: record.at(),
                        what: "a key in two places",
                    });
                }
            }
        }
        groups.sort_by_key(|&(byte, _)| byte);
        let mut children = Vec::new();
        for group in groups.chunk_by(|a, b| a.0 == b.0) {
            let byte = group[0].0;
            let slots: Vec<Slot> = group.iter().map(|&(_, slot)| slot).collect();
            let link = match (slots.len(), array_for::<T>(slots.len())) {
                (1, _) => slots[0].link(byte),
                (_, Some(kind)) => create_array::<T, M>(guard, kind, &slots, fresh)?,
                (_, None) => self.split_group(guard, depth + 1, &slots, fresh)?,
            };
            children.push(link.under(byte));
        }
        let node = NewNode {
            kind: NodeKind::for_children(children.len()),
            prefix: &key.bytes[..depth],
            eok,
            children: &children,
        };
        guard.media().mark(Mark::Step("split"));
        link_to_new::<T, M>(guard, &node, fresh)
    }

    /// Creates the child for a group that is itself too large for one array (without leaf compaction: two records).
    fn split_group<'g>(
        &self,
        guard: &'g Guard<'g, M>,
        from: usize,
        slots: &[Slot],
        fresh: &mut Fresh<'g, M>,
    ) -> Result<Link> {
        let mut key = Vec::new();
        Record::enter(guard.media(), slots[slots.len() - 1].at())?.copy_key(&mut key);
        self.split(guard, &Sought::new(&key), from, slots, fresh)
    }

    /// Inserts a key that differs from the prefix of `spot.node` at `fork`: a new node is inserted above that node. The
    /// old node is not changed, and need not be locked: the holder of its parent's lock decides what leads to it.
    pub(crate) fn split_prefix<'g>(
        &self,
        guard: &'g Guard<'g, M>,
        key: &Sought<'_>,
        spot: &Spot<'g, M>,
        fork: Fork,
        fresh: &mut Fresh<'g, M>,
        new: &NewRecord,
    ) -> Result<Entered> {
        let Some(parent) = spot.parent else {
            return Err(spot.node.corrupt("a root with a prefix"));
        };
        let above = self.lock_above(guard, &parent, spot.parent_byte(key), spot.node.at())?;
        let Some(above) = above else { return Ok(Entered::Moved) };
        if !self.admits(key) {
            above.lock.unchanged();
            return Ok(Entered::HeldUp);
        }
        let record = new.link(key, fork.at);
        let old = above.link.under(fork.byte);
        let ends = key.bytes.len() == fork.at;
        let node = NewNode {
            kind: NodeKind::N4,
            prefix: &key.bytes[..fork.at],
            eok: if ends { record } else { Link::NONE },
            children: if ends { &[old] } else { &[old, record] },
        };
        let link = link_to_new::<T, M>(guard, &node, fresh)?;
        guard.media().mark(Mark::Step("prefix.split"));
        publish::<T, M>(&parent.words(), above.i, link.under(above.link.byte()).0);
        fresh.linked();
        self.open.map().add(1);
        Ok(Entered::Yes)
    }
}

/// Writes a node that is not linked yet, and returns the word for it (under byte 0).
fn link_to_new<'g, T: Techniques, M: Media>(
    guard: &'g Guard<'g, M>,
    node: &NewNode<'_>,
    fresh: &mut Fresh<'g, M>,
) -> Result<Link> {
    let at = fresh.alloc(Node::<M>::bytes_of(node.kind))?;
    in_order::<T>(guard.media());
    Node::create(guard, at, node)?;
    Ok(Link::node(at, node.kind, 0))
}
