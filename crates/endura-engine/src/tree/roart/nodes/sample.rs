//! The full prefix of a node that does not store all of it. Any record below the node has the prefix, if the node was
//! still in its place when the record was read.
//!
//! Records never change, nor do the depth and the prefix of a node. But when a node is collapsed, the array below it
//! moves up unchanged. From then on the array may get keys that do not have the node's prefix, and a reader inside the
//! node sees them too. So a record read below a node counts only with proof that neither the node nor a copy of it had
//! been collapsed when the record was read. Either of these is proof:
//!
//! * The lock word of the node, read after the record, says that the node is not obsolete. A thread that replaces or
//!   collapses a node marks it as obsolete ([`Locked::leave`](crate::tree::roart::nodes::lock::Locked::leave)) before
//!   it publishes the word that leads past the node.
//! * The node above, read after the record, still leads to the node. Its lock word, read last, says that the node above
//!   is not obsolete itself. Then the node has not been left yet, even if it is about to be.
//!
//! A reader that sees a foreign key in the array also sees what happened before that key was inserted. If a copy of the
//! node was collapsed, the reader sees the mark of the node. Otherwise it sees the changed word above, or the mark of
//! the node above. A locked node proves nothing, because most holders of a lock change a record.
//!
//! If there is no proof, the node was left after the search reached it, and a new search from the root does not reach
//! it. So a retry waits for no other thread, and fails again only if another writer has changed the tree again.

use crate::Result;
use crate::media::Media;
use crate::space::Space;

use crate::tree::records::record::Record;
use crate::tree::roart::nodes::array::Array;
use crate::tree::roart::nodes::entered::{Entered, TWICE};
use crate::tree::roart::nodes::lock::check_obsolete;
use crate::tree::roart::nodes::node::{EOK, Node, enter_child};
use crate::tree::roart::nodes::word::LinkKind;

/// A node, the node above it through which the search reached it, and the byte under which the node above leads here.
#[derive(Clone, Copy)]
pub(crate) struct Reached<'n, 'm, M> {
    pub(crate) node: &'n Node<'m, M>,
    /// `None` for the root, which is never replaced, or if it is not known.
    pub(crate) above: Option<(&'n Node<'m, M>, u8)>,
}

/// What a search for a record below a node has found.
pub(crate) enum Sample<'m, M> {
    /// A record whose key has the node's whole prefix.
    Record(Record<'m, M>),
    /// No key stayed below the node during the whole search.
    Barren,
    /// The node is no longer in its place.
    Moved,
}

impl<'m, M: Media> Reached<'_, 'm, M> {
    /// Any record below the node.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`](crate::Error::Corrupt) also if the node, or the one above, only seems to have been left: no
    /// thread of this session has left it, and every retry would find the same.
    pub(crate) fn sample(&self, space: &Space<M>) -> Result<Sample<'m, M>> {
        let generation = space.generation();
        Ok(match any_record(self.node)? {
            None => Sample::Barren,
            Some(record) if self.is_in_place(generation) => {
                if record.key_len() < self.node.depth() {
                    return Err(self.node.corrupt("a node with a key shorter than its prefix"));
                }
                Sample::Record(record)
            }
            Some(_) => {
                check_obsolete(space, &self.node.words())?;
                self.above.map_or(Ok(()), |(above, _)| check_obsolete(space, &above.words()))?;
                Sample::Moved
            }
        })
    }

    /// Whether all records read below the node before this call had the node's prefix.
    #[inline]
    pub(crate) fn is_in_place(&self, generation: u64) -> bool {
        // The lock word is read with Acquire, and after the Acquire loads of the records below. The load pairs with the
        // store of the mark, which precedes the Release that lets foreign keys in.
        !self.node.version().is_obsolete(generation) || self.is_led_to(generation)
    }

    #[cold]
    fn is_led_to(&self, generation: u64) -> bool {
        let Some((above, byte)) = self.above else { return false };
        let leads =
            above.child(byte, generation).is_some_and(|(_, link)| link.at() == self.node.at());
        // The version is read after the word (Acquire), because the words of an obsolete node may lead anywhere.
        leads && !above.version().is_obsolete(generation)
    }
}

/// Any record below `node`. Another thread may remove it at any moment. Its key has the node's prefix if the caller
/// holds the node's lock, or has proof afterwards. O(nodes and arrays without a record before it).
pub(crate) fn any_record<'g, M: Media>(node: &Node<'g, M>) -> Result<Option<Record<'g, M>>> {
    let media = node.words().media();
    let (mut path, mut entered) = (vec![(*node, Some(0))], Entered::default());
    while let Some((node, next)) = path.last_mut() {
        let (here, byte) = (*node, *next);
        let eok = here.load(EOK);
        if !eok.is_empty() {
            return Record::enter(media, eok.at()).map(Some);
        }
        let Some((byte, _, link)) = byte.and_then(|byte| here.next_child::<true>(byte)) else {
            path.pop();
            continue;
        };
        *next = byte.checked_add(1);
        match link.kind()? {
            LinkKind::Record => return Record::enter(media, link.at()).map(Some),
            LinkKind::Array(kind) => {
                let array = Array::enter(media, link.at(), kind)?;
                let slots = (0..kind.capacity()).map(|i| array.load(i));
                if let Some(slot) = { slots }.find(|slot| !slot.is_empty()) {
                    return Record::enter(media, slot.at()).map(Some);
                }
            }
            LinkKind::Node(_) => {
                let child = enter_child(media, &here, link)?;
                if !entered.is_new(child.at()) {
                    return Err(child.corrupt(TWICE));
                }
                path.push((child, Some(0)));
            }
        }
    }
    Ok(None)
}
