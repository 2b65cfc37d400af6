//! Inserting a record of an absent key: into a node or array with space, beside another record, or by replacing a full
//! node or array with a larger one.

use crate::Result;
use crate::media::{Mark, Media};
use crate::space::Guard;

use crate::tree::records::fingerprint::Fingerprint;
use crate::tree::records::fingerprint::Sought;
use crate::tree::records::fresh::Fresh;
use crate::tree::records::record::Record;
use crate::tree::roart::nodes::array::Array;
use crate::tree::roart::nodes::lock::{LOCK, Locked};
use crate::tree::roart::nodes::node::{EOK, NewNode, Node};
use crate::tree::roart::nodes::publish::{announce, publish};
use crate::tree::roart::nodes::word::{Link, NodeKind, Slot};
use crate::tree::roart::path::attempt::Entered;
use crate::tree::roart::path::descend::Spot;
use crate::tree::roart::techniques::Techniques;
use crate::tree::roart::tree::Tree;
use crate::tree::roart::write::arrays::{array_for, create_array};
use crate::tree::roart::write::new_record::NewRecord;

impl<M: Media, T: Techniques> Tree<M, T> {
    /// Inserts a key into the array to which it belongs, which had no record of it.
    pub(crate) fn insert_into_array<'g>(
        &self,
        guard: &'g Guard<'g, M>,
        key: &Sought<'_>,
        spot: &Spot<'g, M>,
        array: Array<'g, M>,
        fresh: &mut Fresh<'g, M>,
        new: &NewRecord,
    ) -> Result<Entered> {
        let Some(mut lock) = self.lock_array(guard, &array)? else { return Ok(Entered::Moved) };
        // The array is searched again under the lock, because another thread may have inserted the key since the
        // search.
        if array.find(key.bytes, key.fingerprint, guard.space().generation())?.is_some() {
            lock.unchanged();
            return Ok(Entered::Moved);
        }
        if !self.admits(key) {
            lock.unchanged();
            return Ok(Entered::HeldUp);
        }
        let live = lock.live();
        if live < array.kind().capacity().min(T::LARGEST_ARRAY.max(1)) {
            let slot =
                array.vacancy(live).ok_or_else(|| array.corrupt("a full array with room"))?;
            let noted = array.note(slot, key.fingerprint);
            lock.set_live(live + 1);
            lock.set_ordered(false);
            lock.keep_metadata::<T>(noted);
            publish::<T, M>(&array.words(), array.place(slot), new.slot(key).0);
            fresh.linked();
            self.open.map().add(1);
            return Ok(Entered::Yes);
        }
        let Some(above) = self.lock_above(guard, &spot.node, spot.byte(key), array.at())? else {
            lock.unchanged();
            return Ok(Entered::Moved);
        };
        let mut slots = array.slots();
        slots.push(new.slot(key));
        let link = self.hold(guard, key, &spot.node, slots, fresh)?;
        guard.media().mark(Mark::Step("array.replaced"));
        publish::<T, M>(&spot.node.words(), above.i, link.under(above.link.byte()).0);
        fresh.linked();
        self.open.map().add(1);
        lock.retire();
        self.open.map().note_retired();
        guard.retire(array.at(), Array::<M>::bytes_of(array.kind()));
        Ok(Entered::Yes)
    }

    /// Inserts a key whose place has the record of another key. A new array gets both records (without leaf compaction,
    /// a new node gets them).
    pub(crate) fn pair<'g>(
        &self,
        guard: &'g Guard<'g, M>,
        key: &Sought<'_>,
        spot: &Spot<'g, M>,
        other: Record<'g, M>,
        fresh: &mut Fresh<'g, M>,
        new: &NewRecord,
    ) -> Result<Entered> {
        let Some(byte) = spot.byte(key) else {
            return Err(spot.node.corrupt("the record of a key that does not end here"));
        };
        let above = self.lock_above(guard, &spot.node, Some(byte), other.at())?;
        let Some(above) = above else { return Ok(Entered::Moved) };
        if !self.admits(key) {
            above.lock.unchanged();
            return Ok(Entered::HeldUp);
        }
        let mut bytes = Vec::new();
        other.copy_key(&mut bytes);
        let slots = vec![Slot::new(other.at(), Fingerprint::of(&bytes)), new.slot(key)];
        let link = self.hold(guard, key, &spot.node, slots, fresh)?;
        publish::<T, M>(&spot.node.words(), above.i, link.under(above.link.byte()).0);
        fresh.linked();
        self.open.map().add(1);
        Ok(Entered::Yes)
    }

    /// Inserts a key whose place is empty.
    pub(crate) fn insert_into_node<'g>(
        &self,
        guard: &'g Guard<'g, M>,
        key: &Sought<'_>,
        spot: &Spot<'g, M>,
        fresh: &mut Fresh<'g, M>,
        new: &NewRecord,
    ) -> Result<Entered> {
        let node = spot.node;
        let Some(mut lock) = self.lock_node(guard, &node)? else { return Ok(Entered::Moved) };
        let link = new.link(key, node.depth());
        let mut noted = LOCK;
        let place = match key.bytes.get(node.depth()) {
            None if !node.load(EOK).is_empty() => {
                lock.unchanged();
                return Ok(Entered::Moved);
            }
            None => Some(EOK),
            Some(&byte) => {
                let present = node.child(byte, guard.space().generation());
                if present.is_some_and(|(_, link)| !link.is_empty()) {
                    lock.unchanged();
                    return Ok(Entered::Moved);
                }
                node.vacancy(byte).inspect(|&i| noted = node.note(byte, i))
            }
        };
        if !self.admits(key) {
            lock.unchanged();
            return Ok(Entered::HeldUp);
        }
        let Some(i) = place else {
            return self.grow(guard, key, spot, lock, fresh, link);
        };
        lock.set_live(lock.live() + 1);
        lock.keep_metadata::<T>(noted);
        if i != EOK && node.kind() != NodeKind::N256 {
            announce::<T, M>(&node.words(), i, link);
        }
        publish::<T, M>(&node.words(), i, link.0);
        fresh.linked();
        self.open.map().add(1);
        Ok(Entered::Yes)
    }

    /// Replaces a full node with a larger one that also has the new child.
    fn grow<'g>(
        &self,
        guard: &'g Guard<'g, M>,
        key: &Sought<'_>,
        spot: &Spot<'g, M>,
        mut lock: Locked<'g, M>,
        fresh: &mut Fresh<'g, M>,
        link: Link,
    ) -> Result<Entered> {
        let node = spot.node;
        let Some(parent) = spot.parent else {
            return Err(node.corrupt("a full node without a parent"));
        };
        let Some(above) = self.lock_above(guard, &parent, spot.parent_byte(key), node.at())? else {
            lock.unchanged();
            return Ok(Entered::Moved);
        };
        let mut children = node.children();
        children.push(link);
        let larger = NewNode {
            kind: NodeKind::for_children(children.len()),
            prefix: &key.bytes[..node.depth()],
            eok: node.eok(),
            children: &children,
        };
        let at = fresh.alloc(Node::<M>::bytes_of(larger.kind))?;
        Node::create(guard, at, &larger)?;
        guard.media().mark(Mark::Step("node.grown"));
        lock.leave();
        publish::<T, M>(&parent.words(), above.i, Link::node(at, larger.kind, above.link.byte()).0);
        fresh.linked();
        self.open.map().add(1);
        lock.retire();
        self.open.map().note_retired();
        guard.retire(node.at(), Node::<M>::bytes_of(node.kind()));
        Ok(Entered::Yes)
    }

    /// Creates the child of `node` for these records, the last of which is that of `key`: an array if they fit into
    /// one, else a node.
    fn hold<'g>(
        &self,
        guard: &'g Guard<'g, M>,
        key: &Sought<'_>,
        node: &Node<'g, M>,
        slots: Vec<Slot>,
        fresh: &mut Fresh<'g, M>,
    ) -> Result<Link> {
        match array_for::<T>(slots.len()) {
            Some(kind) => create_array::<T, M>(guard, kind, &slots, fresh),
            None => self.split(guard, key, node.depth() + 1, &slots, fresh),
        }
    }
}
