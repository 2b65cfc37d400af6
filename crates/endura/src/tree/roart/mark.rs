//! A walk over all nodes, arrays and records while others change the tree, for a collection.
//!
//! # Why it meets every chunk that stays
//!
//! Inside one pin: a word was right when it was loaded, and what it leads to does not go away before
//! the pin ends. A node or array that is replaced keeps the words that it had; a chunk that stays in
//! the tree moves only along its own way from the root, from a node to one that took its place or to
//! one above it, when the node between is replaced. Whoever has loaded the word of that one finds the
//! chunk in it still.
//!
//! A later pin goes on by key. The walk goes in key order: keys that end at a node, then its children by
//! their bytes. It remembers the key of a record met last, and then passes over what lies before that
//! key entirely. A chunk that does so now did so when the walk went by, for records and prefixes never
//! change, and what moves up in the tree stands for more keys than before, not for others. What the
//! way of the key itself leads through is met again.
//!
//! A word that is empty and marked as not durable counts as empty: its writer is inside a pin and will
//! retire what it led to, or was killed. The walk flushes all words that it has read, for those of a
//! killed process may not be durable.

use std::ops::ControlFlow;

use super::array::Array;
use super::descend::{any_record, enter_child};
use super::node::{EOK, Node, Prefix};
use super::record::Record;
use super::word::{Kind, Link, NodeKind};
use super::{Techniques, Tree};
use crate::Result;
use crate::media::{LINE, Media};
use crate::pool::{Guard, Seat, Walk};

/// More strides than any tree has nodes and arrays without a record side by side.
const MOST_BARREN: usize = 1 << 16;

/// A node that the walk is inside of, and its children that are still to come, last first.
struct Frame {
    at: u64,
    kind: NodeKind,
    children: Vec<Link>,
}

/// A walk over a tree.
struct Marking<M: Media, T> {
    tree: Tree<M, T>,
    path: Vec<Frame>,
    /// Until when the path can be gone on with; not at all before the first step.
    walked: Seat<()>,
    /// The key of the record met last.
    last: Option<Vec<u8>>,
}

impl<M: Media, T: Techniques> Tree<M, T> {
    /// A walk over all chunks, for a [`Collector`](crate::pool::Collector).
    pub fn marking(&self) -> Box<dyn Walk<M>> {
        Box::new(Marking {
            tree: self.clone(),
            path: Vec::new(),
            walked: Seat::default(),
            last: None,
        })
    }
}

impl<M: Media, T: Techniques> Walk<M> for Marking<M, T> {
    fn step(
        &mut self,
        guard: &Guard<'_, M>,
        visit: &mut dyn FnMut(u64, u64) -> Result<()>,
        bite: usize,
    ) -> Result<bool> {
        if self.tree.map().is_dropped() {
            return Ok(true);
        }
        let (media, generation) = (guard.media(), guard.space().generation());
        let mut strides = Strides { media, visit, left: bite, record: None, generation };
        if self.walked.within(guard).is_none() {
            self.path.clear();
            let root = self.tree.root(guard)?;
            strides.rejoin(&mut self.path, root, self.last.as_deref())?;
            self.walked = Seat::take(guard, ());
            // Those of the way were met before: to go on from one of them would be to go back.
            (strides.left, strides.record) = (bite, None);
        }
        // Not before there is a new key to go on with: else the next step might do the same again.
        let mut barren = MOST_BARREN;
        while strides.left > 0 || (barren > 0 && strides.record.is_none()) {
            barren -= usize::from(strides.left == 0);
            if strides.stride(&mut self.path)?.is_break() {
                return Ok(true);
            }
        }
        if let Some(record) = strides.record {
            let key = self.last.get_or_insert_default();
            key.clear();
            record.copy_key(key);
        }
        Ok(false)
    }
}

/// What one pin does of a walk.
struct Strides<'g, 'v, M> {
    media: &'g M,
    visit: &'v mut dyn FnMut(u64, u64) -> Result<()>,
    left: usize,
    record: Option<Record<'g, M>>,
    generation: u64,
}

impl<'g, M: Media> Strides<'g, '_, M> {
    fn met(&mut self, at: u64, bytes: u64) -> Result<()> {
        self.left = self.left.saturating_sub(1);
        (self.visit)(at, bytes)
    }

    fn record(&mut self, at: u64) -> Result<()> {
        let record = Record::enter(self.media, at)?;
        self.record = Some(record);
        self.met(at, record.bytes())
    }

    /// Goes into a node: meets it and the key that ends there, and notes its children.
    fn enter(&mut self, path: &mut Vec<Frame>, node: &Node<'g, M>) -> Result<()> {
        self.met(node.at(), Node::<M>::bytes_of(node.kind()))?;
        if self.media.needs_flush() {
            node.words().flush(EOK, node.places().end - EOK);
        }
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

    /// Goes on by a child.
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
            Kind::Record => self.record(link.at()),
            Kind::Array(kind) => {
                let array = Array::enter(self.media, link.at(), kind)?;
                self.met(array.at(), Array::<M>::bytes_of(kind))?;
                if self.media.needs_flush() {
                    array.words().flush(array.place(0), kind.capacity());
                }
                let slots: Vec<u64> = (0..kind.capacity())
                    .map(|i| array.peek(i).at())
                    .filter(|&at| at != 0)
                    .collect();
                // All misses at once.
                slots.iter().for_each(|&at| self.media.prefetch(at, LINE));
                slots.into_iter().try_for_each(|at| self.record(at))
            }
            Kind::Node(_) => self.enter(path, &enter_child(self.media, node, link)?),
        }
    }

    /// Makes the path of a walk that has come to the key `last`: only what lies before it entirely is
    /// left out.
    fn rejoin(
        &mut self,
        path: &mut Vec<Frame>,
        root: Node<'g, M>,
        last: Option<&[u8]>,
    ) -> Result<()> {
        let mut node = root;
        self.enter(path, &node)?;
        let Some(last) = last else { return Ok(()) };
        // The node's keys have its prefix in common with `last`.
        while let (Some(&byte), Some(frame)) = (last.get(node.depth()), path.last_mut()) {
            frame.children.retain(|link| link.byte() >= byte);
            let Some(link) = frame.children.pop_if(|link| link.byte() == byte) else { break };
            if !matches!(link.kind()?, Kind::Node(_)) {
                return self.child(path, &node, link);
            }
            let child = enter_child(self.media, &node, link)?;
            let from = node.depth() + 1;
            let leaves = match child.compare_prefix(last, from) {
                Prefix::Matches => None,
                Prefix::LeavesAt(at, byte) if child.remembers_from() <= from => {
                    Some(Some(byte) < last.get(at).copied())
                }
                _ => {
                    let sample = any_record(&child)?;
                    // Asked after it: from a node that has given way an array may have moved up, and taken others.
                    let is_below = child.version().is_quiet(self.generation);
                    let Some(sample) = sample.filter(|_| is_below) else {
                        // Nothing is known of its keys: all below is met.
                        return self.enter(path, &child);
                    };
                    let at = sample.common_with(last, from);
                    (at < child.depth()).then(|| sample.key_byte(at) < last.get(at).copied())
                }
            };
            match leaves {
                // All below it comes before `last`, or all after.
                Some(true) => return Ok(()),
                Some(false) => return self.enter(path, &child),
                None => {}
            }
            self.enter(path, &child)?;
            node = child;
        }
        Ok(())
    }
}
