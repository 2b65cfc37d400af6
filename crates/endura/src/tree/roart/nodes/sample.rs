//! What the keys below a node begin with, where the node does not remember all of it: any record below
//! tells, if the node is still where it was when the record was read.
//!
//! Records never change, nor do the depth and the prefix of a node. But an array moves up in the tree as
//! it is when the node above it gives way, and from then on takes keys that have nothing to do with that
//! node; whoever is inside the node comes to them as well. So what is read below a node counts only with
//! proof that the node had not given way, nor any copy of it, when it was read:
//!
//! * the node is not obsolete, read afterwards: whoever replaces a node or lets it give way says so in its
//!   lock word before he publishes the word that leads past it ([`Locked::leave`](crate::tree::roart::nodes::lock::Locked::leave));
//! * or the node above still leads to it, read afterwards, and is not obsolete itself, read after that: it
//!   is about to be left, and has not been.
//!
//! Whoever reads a foreign key in the array sees what came before that: the mark, if a copy of the node was
//! left; else the changed word above, or the mark of the node above. That the node is locked means nothing:
//! most holders change a record.
//!
//! Without proof the node has been left since it was reached: who looks for it from the root again does
//! not come to it. So whoever tries again waits for nobody, and fails again only if others have changed
//! the tree again.

use crate::Result;
use crate::media::Media;
use crate::pool::Space;

use crate::tree::roart::nodes::array::Array;
use crate::tree::roart::nodes::entered::{Entered, TWICE};
use crate::tree::roart::nodes::lock::check_obsolete;
use crate::tree::roart::nodes::node::{EOK, Node, enter_child};
use crate::tree::roart::nodes::record::Record;
use crate::tree::roart::nodes::word::LinkKind;

/// A node with the one above, through which it was reached, and the byte by which that one decided.
#[derive(Clone, Copy)]
pub(crate) struct Reached<'n, 'm, M> {
    pub(crate) node: &'n Node<'m, M>,
    /// None above the root, which never gives way; or where it is not known.
    pub(crate) above: Option<(&'n Node<'m, M>, u8)>,
}

/// What is known of the keys below a node.
pub(crate) enum Sample<'m, M> {
    /// A record whose key has the node's whole prefix.
    Record(Record<'m, M>),
    /// No key was below the node throughout the search.
    Barren,
    /// The node is no longer where it was.
    Moved,
}

impl<'m, M: Media> Reached<'_, 'm, M> {
    /// Some record below the node.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`](crate::Error::Corrupt) also where the node, or the one above, only seems to have been
    /// left: nobody did that in this session, so that whoever tries again would never find it otherwise.
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

    /// Whether all that was read below the node before this call had the node's prefix.
    #[inline]
    pub(crate) fn is_in_place(&self, generation: u64) -> bool {
        // Acquire, and after the Acquire loads of what was read below: pairs with the store of the mark,
        // which comes before the Release that lets foreign keys in.
        !self.node.version().is_obsolete(generation) || self.is_led_to(generation)
    }

    #[cold]
    fn is_led_to(&self, generation: u64) -> bool {
        let Some((above, byte)) = self.above else { return false };
        let leads =
            above.child(byte, generation).is_some_and(|(_, link)| link.at() == self.node.at());
        // After the word (Acquire): what is no part of the tree may lead anywhere.
        leads && !above.version().is_obsolete(generation)
    }
}

/// Some record below `node`. Others may take it out at any moment. Its key has the node's prefix if the
/// caller holds the node's lock, or has proof afterwards. O(nodes and arrays without a record before it).
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
