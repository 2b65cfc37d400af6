//! Locks of nodes and arrays. The first lock of a chunk in a session makes the chunk ready: it clears the tags of its
//! words, rebuilds its volatile words, and counts its records.
//!
//! Locks are taken from the leaves up.

use crate::Result;
use crate::media::{Mark, Media};
use crate::space::{Counted, Guard};

use crate::tree::records::fingerprint::Sought;
use crate::tree::roart::nodes::array::Array;
use crate::tree::roart::nodes::lock::{LockWord, Locked};
use crate::tree::roart::nodes::node::{EOK, Node};
use crate::tree::roart::nodes::publish::settle;
use crate::tree::roart::nodes::sort::Sorted;
use crate::tree::roart::nodes::word::{Link, LinkKind};
use crate::tree::roart::techniques::Techniques;
use crate::tree::roart::tree::Tree;

/// A locked node, and the word in it that leads to a certain child.
pub(crate) struct Holder<'g, M: Media> {
    pub(crate) lock: Locked<'g, M>,
    pub(crate) i: usize,
    pub(crate) link: Link,
}

impl<M: Media, T: Techniques> Tree<M, T> {
    /// Locks a node; `None` if it is obsolete. The first lock of a session makes it ready.
    pub(crate) fn lock_node<'g>(
        &self,
        guard: &'g Guard<'g, M>,
        node: &Node<'g, M>,
    ) -> Result<Option<Locked<'g, M>>> {
        guard.media().mark(Mark::Step("lock.node"));
        let Some(mut lock) = Locked::acquire(guard, node.words())? else { return Ok(None) };
        if !lock.is_ready() {
            settle(&node.words(), (EOK..=EOK).chain(node.places()));
            node.rebuild_index();
            guard.media().mark(Mark::Step("ready.node"));
            let mut links = node.children();
            links.extend(Some(node.eok()).filter(|eok| !eok.is_empty()));
            let mut records = 0;
            for link in &links {
                records += usize::from(link.kind()? == LinkKind::Record);
            }
            self.note_found(records);
            lock.make_ready(links.len());
        }
        Ok(Some(lock))
    }

    /// Locks an array; `None` if it is obsolete. The first lock of a session makes it ready.
    pub(crate) fn lock_array<'g>(
        &self,
        guard: &'g Guard<'g, M>,
        array: &Array<'g, M>,
    ) -> Result<Option<Locked<'g, M>>> {
        guard.media().mark(Mark::Step("lock.array"));
        let Some(mut lock) = Locked::acquire(guard, array.words())? else { return Ok(None) };
        self.make_array_ready(&mut lock, array);
        Ok(Some(lock))
    }

    /// Makes an array ready if this is its first lock of the session.
    fn make_array_ready(&self, lock: &mut Locked<'_, M>, array: &Array<'_, M>) {
        if !lock.is_ready() {
            settle(&array.words(), (0..array.kind().capacity()).map(|i| array.place(i)));
            array.rebuild_fingerprints();
            array.words().media().mark(Mark::Step("ready.array"));
            let live = array.slots().len();
            self.note_found(live);
            lock.make_ready(live);
        }
    }

    /// Stores the order of an array for later scans, if that disturbs no other operation. Returns the version in which
    /// the array has the records that were sorted: `seen`, or a new one if this was the first lock of the session.
    pub(crate) fn remember(
        &self,
        array: &Array<'_, M>,
        seen: LockWord,
        sorted: &Sorted,
    ) -> LockWord {
        // Fewer than two records need no stored order. And a thread that is already unwinding takes no lock for this.
        if sorted.numbers().len() < 2 || std::thread::panicking() {
            return seen;
        }
        let version = self.open.space().try_mut(|guard| {
            // A locked or obsolete array soon loses its order anyway.
            let mut lock = Locked::try_acquire(guard, array.words(), seen)?;
            self.make_array_ready(&mut lock, array);
            array.keep_order(&mut lock, sorted.numbers());
            Some(lock.after_unlock())
        });
        version.flatten().unwrap_or(seen)
    }

    /// Locks `node`, and finds the word that leads to the chunk at `child`; looks first under `byte`. `None` if the
    /// node is obsolete or no longer has this child. Locks are taken from the leaves up.
    pub(crate) fn lock_above<'g>(
        &self,
        guard: &'g Guard<'g, M>,
        node: &Node<'g, M>,
        byte: Option<u8>,
        child: u64,
    ) -> Result<Option<Holder<'g, M>>> {
        let Some(lock) = self.lock_node(guard, node)? else { return Ok(None) };
        let likely = byte.and_then(|byte| node.child(byte, guard.space().generation()));
        let mut words = likely.into_iter().chain(node.places().map(|i| (i, node.load(i))));
        let Some((i, link)) = words.find(|(_, link)| link.at() == child) else {
            lock.unchanged();
            return Ok(None);
        };
        Ok(Some(Holder { lock, i, link: link.under(node.byte_at(i, link)) }))
    }

    /// Counts records that an earlier session left in a chunk. Called under the first lock of the chunk in this
    /// session.
    fn note_found(&self, records: usize) {
        if self.open.map().counted() != Counted::All {
            self.open.map().add(records as i64);
        }
    }

    /// Whether no pop comes before an insert of `key`. The caller holds the lock of a chunk that stays on the path to
    /// the key while it is locked, so that a pop announced later finds this chunk locked. The caller has published
    /// nothing yet.
    #[inline(always)]
    pub(crate) fn admits(&self, key: &Sought<'_>) -> bool {
        self.open.map().pops().admit(key.bytes)
    }
}
