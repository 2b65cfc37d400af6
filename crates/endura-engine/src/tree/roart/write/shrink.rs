//! Cleanup after removes: empty arrays are unlinked, sparse ones are replaced with smaller ones, and a node with one
//! child is collapsed: the child takes its place.
//!
//! Each of these changes replaces one word of the parent, under the locks of the child and of the parent, taken in this
//! order. The changes affect only the shape of the tree.

use crate::Result;
use crate::media::{Mark, Media};
use crate::space::Guard;

use crate::tree::records::fingerprint::Sought;
use crate::tree::records::fresh::Fresh;
use crate::tree::records::record::Record;
use crate::tree::roart::nodes::array::Array;
use crate::tree::roart::nodes::node::{NewNode, Node, enter_child};
use crate::tree::roart::nodes::publish::{publish, unlink};
use crate::tree::roart::nodes::sample::any_record;
use crate::tree::roart::nodes::word::{ArrayKind, Link, LinkKind, NodeKind};
use crate::tree::roart::path::attempt::LockWords;
use crate::tree::roart::path::descend::{Below, Care, Spot};
use crate::tree::roart::techniques::Techniques;
use crate::tree::roart::tree::Tree;
use crate::tree::roart::write::arrays::create_array;

/// The number of records at or below which an array is replaced with a smaller one. It is half the capacity of the
/// smaller one, so that a key that is inserted and removed repeatedly does not replace the array each time. The
/// smallest array is unlinked when it is empty.
pub(crate) fn sparse(kind: ArrayKind) -> usize {
    kind.smaller().map_or(0, |smaller| smaller.capacity() / 2)
}

/// The largest number of changes of the shape that follow one remove, which stays pinned until they end. A sound tree
/// needs a few. Other threads may change the same place each time, and in a damaged tree a word may lead to a node that
/// no thread can lock.
const CHANGES: usize = 64;

impl<M: Media, T: Techniques> Tree<M, T> {
    /// Improves the shape of the tree along the path to `key`, from its end upwards. The next remove does what is left
    /// over.
    pub(crate) fn tidy<'g>(&self, guard: &'g Guard<'g, M>, key: &Sought<'_>) -> Result<()> {
        let generation = guard.space().generation();
        for _ in 0..CHANGES {
            let spot = self.find(guard, key, Care::Hope)?;
            // The count of a chunk that is not ready is not known: a later remove, which makes the chunk ready, checks
            // it.
            let changed = match (&spot.below, spot.parent) {
                (Below::Array(array, _), _)
                    if array
                        .version()
                        .live(generation)
                        .is_some_and(|n| n <= sparse(array.kind())) =>
                {
                    self.tidy_array(guard, &spot.node, array)?
                }
                (_, Some(parent)) => {
                    let live = spot.node.version().live(generation);
                    live.is_some_and(|n| n <= spot.node.kind().sparse().max(1))
                        && self.tidy_node(guard, &parent, &spot.node)?
                }
                _ => false,
            };
            if !changed {
                break;
            }
        }
        Ok(())
    }

    /// Unlinks an array or node that is empty, at or below `spot.node`: no record below that node can tell its whole
    /// prefix. Returns the chunks that this used. The caller then searches for the place of the key again.
    pub(crate) fn prune<'g>(
        &self,
        guard: &'g Guard<'g, M>,
        spot: &Spot<'g, M>,
    ) -> Result<LockWords> {
        let (mut parent, mut node) = (spot.parent, spot.node);
        guard.media().mark(Mark::Step("prune"));
        loop {
            let mut array = None;
            if let Some((_, _, link)) = node.next_child::<true>(0) {
                match link.kind()? {
                    LinkKind::Record => {}
                    LinkKind::Array(kind) => {
                        let found = Array::enter(guard.media(), link.at(), kind)?;
                        self.tidy_array(guard, &node, &found)?;
                        array = Some(found);
                    }
                    LinkKind::Node(_) => {
                        let child = enter_child(guard.media(), &node, link)?;
                        (parent, node) = (Some(node), child);
                        continue;
                    }
                }
            } else if let Some(parent) = parent {
                self.tidy_node(guard, &parent, &node)?;
            }
            return Ok(LockWords::of(parent.as_ref(), &node, array.as_ref()));
        }
    }

    /// Unlinks `array` from `node` if it is empty, and replaces it if it is sparse. Returns `false` if it is neither,
    /// and `true` also if another thread has changed the place: the caller then checks the place again.
    fn tidy_array<'g>(
        &self,
        guard: &'g Guard<'g, M>,
        node: &Node<'g, M>,
        array: &Array<'g, M>,
    ) -> Result<bool> {
        let Some(lock) = self.lock_array(guard, array)? else { return Ok(true) };
        let live = lock.live();
        if live > sparse(array.kind()) {
            lock.unchanged();
            return Ok(false);
        }
        let Some(mut above) = self.lock_above(guard, node, None, array.at())? else {
            lock.unchanged();
            return Ok(true);
        };
        guard.media().mark(Mark::Step("array.shrunk"));
        if live == 0 {
            unlink::<T, M>(&node.words(), above.i);
            above.lock.set_live(above.lock.live().saturating_sub(1));
        } else if let Some(kind) = ArrayKind::for_records(live + 1) {
            let mut fresh = Fresh::new(guard);
            let link = create_array::<T, M>(guard, kind, &array.slots(), &mut fresh)?;
            publish::<T, M>(&node.words(), above.i, link.under(above.link.byte()).0);
            fresh.linked();
        }
        lock.retire();
        self.open.map().note_retired();
        guard.retire(array.at(), Array::<M>::bytes_of(array.kind()));
        Ok(true)
    }

    /// Unlinks `node` from `parent` if it is empty, puts its only child or key in its place, or replaces it with a
    /// smaller one if it is sparse. The result means what that of [`tidy_array`](Self::tidy_array) means.
    fn tidy_node<'g>(
        &self,
        guard: &'g Guard<'g, M>,
        parent: &Node<'g, M>,
        node: &Node<'g, M>,
    ) -> Result<bool> {
        let Some(mut lock) = self.lock_node(guard, node)? else { return Ok(true) };
        if lock.live() > node.kind().sparse().max(1) {
            lock.unchanged();
            return Ok(false);
        }
        let Some(mut above) = self.lock_above(guard, parent, None, node.at())? else {
            lock.unchanged();
            return Ok(true);
        };
        let (children, eok, byte) = (node.children(), node.eok(), above.link.byte());
        let mut fresh = Fresh::new(guard);
        guard.media().mark(Mark::Step("node.shrunk"));
        let heir = match (&children[..], eok.is_empty()) {
            ([], true) => None,
            ([], false) => Some(eok),
            ([only], true) => Some(*only),
            _ => match self.smaller(guard, node, &children, eok, &mut fresh)? {
                None => {
                    above.lock.unchanged();
                    lock.unchanged();
                    return Ok(false);
                }
                smaller => smaller,
            },
        };
        lock.leave();
        if let Some(link) = heir {
            publish::<T, M>(&parent.words(), above.i, link.under(byte).0);
        } else {
            unlink::<T, M>(&parent.words(), above.i);
            above.lock.set_live(above.lock.live().saturating_sub(1));
        }
        fresh.linked();
        lock.retire();
        self.open.map().note_retired();
        guard.retire(node.at(), Node::<M>::bytes_of(node.kind()));
        Ok(true)
    }

    /// A smaller node with the same contents; `None` if there is no smaller kind.
    fn smaller<'g>(
        &self,
        guard: &'g Guard<'g, M>,
        node: &Node<'g, M>,
        children: &[Link],
        eok: Link,
        fresh: &mut Fresh<'g, M>,
    ) -> Result<Option<Link>> {
        let kind = NodeKind::for_children(children.len());
        // The node is locked, so it is not collapsed meanwhile.
        let sample = any_record(node)?;
        let Some(sample) = sample.filter(|_| kind < node.kind()) else { return Ok(None) };
        if sample.key_len() < node.depth() {
            return Err(node.corrupt("a node with a key shorter than its prefix"));
        }
        let mut prefix = Vec::new();
        Record::copy_key(&sample, &mut prefix);
        prefix.truncate(node.depth());
        let new = NewNode { kind, prefix: &prefix, eok, children };
        let at = fresh.alloc(Node::<M>::bytes_of(kind))?;
        Node::create(guard, at, &new)?;
        Ok(Some(Link::node(at, kind, 0)))
    }
}
