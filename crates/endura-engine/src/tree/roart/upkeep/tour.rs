//! A walk in key order through all nodes, arrays and records, some of them in each pin, while other threads change the
//! tree.
//!
//! # Why it meets every chunk that stays
//!
//! Consider first what happens inside one pin. A word was valid when it was loaded, and its target does not go away
//! before the pin ends. A node or array that is replaced keeps its words. A chunk that stays in the tree moves only
//! along its own path from the root: from a node that is replaced to its replacement, or from a node that is collapsed
//! to the one above it. If the tour has already loaded the word that leads to the node from which the chunk moves, it
//! still finds the chunk in that node.
//!
//! A later pin continues by key. The tour goes in key order: the key that ends at a node, then its children by their
//! bytes. It remembers the key of the last record met, and then skips all chunks that are entirely before that key. A
//! chunk that is entirely before the key now was also before it when the tour passed. Records and prefixes never
//! change, and a chunk that moves up in the tree covers more keys than before, not others. The chunks on the path of
//! the key itself are met again.
//!
//! # Why it ends
//!
//! The remembered key never decreases, and a step does not end before it has met a larger key. (If a damaged tree has
//! many nodes side by side without any record, the step ends, and the next one goes twice as far.) If a node does not
//! store all of its prefix, a record below the node says whether the node is before or after the key
//! ([`sample`](crate::tree::roart::nodes::sample)). If another thread has left the node meanwhile, the step ends
//! without progress, and the next step searches for the path again, in a pin of its own.

use std::cmp::Ordering as Order;
use std::ops::ControlFlow;

use crate::Result;
use crate::media::{LINE, Media};
use crate::space::{Guard, Seat, Space};
use crate::tree::records::record::Record;
use crate::tree::roart::nodes::array::Array;
use crate::tree::roart::nodes::node::{EOK, Node, Prefix, enter_child};
use crate::tree::roart::nodes::sample::{Reached, Sample};
use crate::tree::roart::nodes::word::{Link, LinkKind, NodeKind};

/// The number of strides by which a step without a new key is extended at first: far more than a sound tree has nodes
/// and arrays without a record side by side.
const BARREN: u64 = if cfg!(test) { 8 } else { 1 << 12 };

/// A record of this many bytes takes as long to read as a chunk takes to reach.
const LONG: u64 = 2048;

/// A chunk that a tour meets.
#[derive(Clone, Copy)]
pub(crate) enum Chunk<'m, M> {
    Node(Node<'m, M>),
    Array(Array<'m, M>),
    Record(Record<'m, M>),
}

impl<M: Media> Chunk<'_, M> {
    /// The offset of the chunk, and the number of bytes that were requested for it.
    pub(crate) fn place(&self) -> (u64, u64) {
        match self {
            Self::Node(node) => (node.at(), Node::<M>::bytes_of(node.kind())),
            Self::Array(array) => (array.at(), Array::<M>::bytes_of(array.kind())),
            Self::Record(record) => (record.at(), record.bytes()),
        }
    }
}

/// A node on the path of the tour, and its children that are still to come, last one first.
struct Frame {
    at: u64,
    kind: NodeKind,
    children: Vec<Link>,
}

/// The position of a tour.
#[derive(Default)]
pub(crate) struct Tour {
    path: Vec<Frame>,
    /// The seat is valid while the path can be used. Before the first step it is not valid.
    walked: Seat<()>,
    /// The key of the last record met.
    last: Option<Vec<u8>>,
    /// The number of steps in a row without a new key. Each such step doubles the extension of the next ([`BARREN`]).
    stretch: u32,
}

impl Tour {
    /// Continues the tour: passes about `bite` more chunks of the tree with this root to `visit`. Returns whether the
    /// tour has ended. A chunk may be met more than once.
    pub(crate) fn step<'g, M: Media>(
        &mut self,
        guard: &'g Guard<'_, M>,
        root: Node<'g, M>,
        visit: &mut dyn FnMut(Chunk<'g, M>) -> Result<()>,
        bite: usize,
    ) -> Result<bool> {
        let (media, space) = (guard.media(), guard.space());
        let mut strides = Strides { media, visit, left: bite, record: None, space };
        if self.walked.within(guard).is_none() {
            self.path.clear();
            self.walked.leave();
            if !strides.rejoin(&mut self.path, root, self.last.as_deref())? {
                return Ok(false);
            }
            self.walked = Seat::take(guard, ());
            // Chunks on the path were met before. The tour must not continue from one of their records, because that
            // would be a step back.
            (strides.left, strides.record) = (bite, None);
        }
        // The step does not end before it has a new key from which to continue: otherwise the next step might repeat
        // it.
        let mut barren = BARREN << self.stretch;
        while strides.left > 0 || (barren > 0 && !strides.is_beyond(self.last.as_deref())) {
            barren -= u64::from(strides.left == 0);
            if strides.stride(&mut self.path)?.is_break() {
                return Ok(true);
            }
        }
        match strides.record {
            Some(record) if strides.is_beyond(self.last.as_deref()) => {
                self.stretch = 0;
                let key = self.last.get_or_insert_default();
                key.clear();
                record.copy_key(key);
            }
            // If the next step cannot use the path, it repeats all this and has to go farther. In one pin each chunk of
            // a sound tree is met once, and none is reused. So a step that goes farther than the pool has space for
            // chunks shows damage.
            _ if BARREN << self.stretch > 2 * media.len() / LINE => {
                return Err(root.corrupt("nodes that are reached more than once"));
            }
            _ => self.stretch += 1,
        }
        Ok(false)
    }
}

/// The part of a tour in one pin.
struct Strides<'g, 'v, M: Media> {
    media: &'g M,
    visit: &'v mut dyn FnMut(Chunk<'g, M>) -> Result<()>,
    left: usize,
    record: Option<Record<'g, M>>,
    space: &'g Space<M>,
}

impl<'g, M: Media> Strides<'g, '_, M> {
    fn met(&mut self, chunk: Chunk<'g, M>) -> Result<()> {
        // A long record takes as long as many chunks, if it is read.
        let chunks = 1 + chunk.place().1 / LONG;
        self.left = self.left.saturating_sub(chunks as usize);
        (self.visit)(chunk)
    }

    fn record(&mut self, at: u64) -> Result<()> {
        let record = Record::enter(self.media, at)?;
        self.record = Some(record);
        self.met(Chunk::Record(record))
    }

    /// Whether the last record met is after the key `last`.
    fn is_beyond(&self, last: Option<&[u8]>) -> bool {
        self.record
            .is_some_and(|record| last.is_none_or(|last| record.compare(last, 0) == Order::Greater))
    }

    /// Enters a node: meets it and the key that ends there, and notes its children.
    fn enter(&mut self, path: &mut Vec<Frame>, node: &Node<'g, M>) -> Result<()> {
        self.met(Chunk::Node(*node))?;
        let eok = node.peek(EOK);
        if !eok.is_empty() {
            self.record(eok.at())?;
        }
        let present = node.places().map(|i| (i, node.peek(i))).filter(|(_, link)| !link.is_empty());
        let mut children: Vec<Link> =
            present.map(|(i, link)| link.under(node.byte_at(i, link))).collect();
        children.sort_unstable_by_key(|link| std::cmp::Reverse(link.byte()));
        path.push(Frame { at: node.at(), kind: node.kind(), children });
        Ok(())
    }

    /// Continues with the next child.
    fn stride(&mut self, path: &mut Vec<Frame>) -> Result<ControlFlow<()>> {
        let Some(frame) = path.last_mut() else { return Ok(ControlFlow::Break(())) };
        match frame.children.pop() {
            None => _ = path.pop(),
            Some(link) => {
                let node = Node::enter(self.media, frame.at, frame.kind)?;
                self.child(path, &node, link)?;
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn child(&mut self, path: &mut Vec<Frame>, node: &Node<'g, M>, link: Link) -> Result<()> {
        match link.kind()? {
            LinkKind::Record => self.record(link.at()),
            LinkKind::Array(kind) => {
                let array = Array::enter(self.media, link.at(), kind)?;
                self.met(Chunk::Array(array))?;
                let slots: Vec<u64> = (0..kind.capacity())
                    .map(|i| array.peek(i).at())
                    .filter(|&at| at != 0)
                    .collect();
                // The first lines of all records are prefetched at once, so that the misses overlap.
                slots.iter().for_each(|&at| self.media.prefetch(at, LINE));
                slots.into_iter().try_for_each(|at| self.record(at))
            }
            LinkKind::Node(_) => self.enter(path, &enter_child(self.media, node, link)?),
        }
    }

    /// Builds the path of a tour that has reached the key `last`, and skips only what is entirely before it. Returns
    /// `false` if another thread has changed the path meanwhile.
    fn rejoin(
        &mut self,
        path: &mut Vec<Frame>,
        root: Node<'g, M>,
        last: Option<&[u8]>,
    ) -> Result<bool> {
        let mut node = root;
        self.enter(path, &node)?;
        let Some(last) = last else { return Ok(true) };
        // The keys of the node share its prefix with `last`.
        while let (Some(&byte), Some(frame)) = (last.get(node.depth()), path.last_mut()) {
            frame.children.retain(|link| link.byte() >= byte);
            let Some(link) = frame.children.pop_if(|link| link.byte() == byte) else { break };
            if !matches!(link.kind()?, LinkKind::Node(_)) {
                self.child(path, &node, link)?;
                break;
            }
            let child = enter_child(self.media, &node, link)?;
            let reached = Reached { node: &child, above: Some((&node, byte)) };
            match self.side(&reached, last, node.depth() + 1)? {
                Some(Side::Before) => break,
                // A node without a key has no position: all its chunks are met.
                Some(Side::Behind) => {
                    self.enter(path, &child)?;
                    break;
                }
                Some(Side::Around) => self.enter(path, &child)?,
                None => return Ok(false),
            }
            node = child;
        }
        Ok(true)
    }

    /// The position of the keys below a node relative to `last`, with which they share the first `from` bytes; `None`
    /// if another thread has left the node meanwhile.
    fn side(&self, reached: &Reached<'_, 'g, M>, last: &[u8], from: usize) -> Result<Option<Side>> {
        let node = reached.node;
        let (at, byte) = match node.compare_prefix(last, from) {
            Prefix::Matches => return Ok(Some(Side::Around)),
            Prefix::LeavesAt(at, byte) if node.remembers_from() <= from => (at, Some(byte)),
            _ => match reached.sample(self.space)? {
                Sample::Moved => return Ok(None),
                Sample::Barren => return Ok(Some(Side::Behind)),
                Sample::Record(record) => {
                    let at = record.common_with(last, from);
                    if at >= node.depth() {
                        return Ok(Some(Side::Around));
                    }
                    (at, record.key_byte(at))
                }
            },
        };
        Ok(Some(if byte < last.get(at).copied() { Side::Before } else { Side::Behind }))
    }
}

/// The position of the keys below a node relative to a key.
enum Side {
    Before,
    /// The key may be one of the node's keys.
    Around,
    Behind,
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use super::{Chunk, Tour};
    use crate::Result;
    use crate::media::{Heap, Ordering, Region};
    use crate::space::{PAGE, Session, Space};
    use crate::tree::roart::Tree;
    use crate::tree::{ByteChange, ByteIndex};

    /// There are more nodes and arrays without a record, side by side, than one step passes, and each step has to start
    /// again at the record before them.
    #[test]
    fn a_tour_passes_any_number_of_nodes_without_a_record() -> Result<()> {
        let medium = Heap::new(16 * PAGE);
        Space::format(&medium)?;
        let session = Session { generation: 1, clean: true, read_only: false };
        let space = Arc::new(Space::mount(medium, session)?);
        let tree: Tree<_> = Tree::open(&space, "m")?;
        let keys = (0..20_000_u32).map(|n| [(n / 1000) as u8, (n / 20 % 50) as u8, (n % 20) as u8]);
        keys.clone().try_for_each(|key| tree.modify(&key, |_| ByteChange::Put(b"value".into())))?;
        let (mut records, mut others) = (BTreeSet::new(), Vec::new());
        let mut tour = Tour::default();
        let all = space.pin()?;
        let mut note = |chunk: Chunk<'_, _>| {
            match chunk {
                Chunk::Record(record) if matches!(record.key().to_vec()[0], 1..=18) => {
                    records.insert(record.at());
                }
                Chunk::Record(_) => {}
                chunk => others.push(chunk.place()),
            }
            Ok(())
        };
        while !tour.step(&all, tree.root(&all)?, &mut note, 100)? {}
        drop(all);
        for (at, bytes) in others {
            let words = Region::new(space.media(), at, bytes as usize / 8)?;
            for i in 0..words.words() {
                if records.contains(&(words.load(i, Ordering::Relaxed) & ((1 << 48) - 1))) {
                    words.store(i, 0, Ordering::Relaxed);
                }
            }
        }
        let (mut tour, mut last, mut steps) = (Tour::default(), Vec::new(), 0);
        loop {
            let pin = space.pin()?;
            let mut note = |chunk: Chunk<'_, _>| {
                if let Chunk::Record(record) = chunk {
                    last = record.key().to_vec();
                }
                Ok(())
            };
            if tour.step(&pin, tree.root(&pin)?, &mut note, 1)? {
                break;
            }
            drop(pin);
            // After this the path is not valid any more.
            (0..3).try_for_each(|_| space.relieve().map(drop))?;
            steps += 1;
            assert!(steps < 20_000, "a tour that does not come past {last:?}");
        }
        assert_eq!(last, [19, 49, 19]);
        Ok(())
    }
}
