//! The first and the last entry, at one moment.
//!
//! A descent along the edge of the tree notes everything on which the result rests. For each node, it notes which child
//! came next, or that none did. For each array, it notes the slots. For both it also notes the version, which it reads
//! first. Then the search checks all of this again. The version counts locks. If the version is the same, only a writer
//! that held the lock at the first look can have changed the chunk. The holder of one lock changes one word, once (or
//! only its tag). So a word that reads the same twice was the same all the time. At the moment between the two looks
//! all of it was true together, from the root on: the result is that of this moment.
//!
//! If the second look differs, a writer has taken a lock since the first look, or has stored a word under a lock. So
//! the search is lock-free, and does not wait for a writer that is suspended with a lock.
//!
//! # Pins
//!
//! The path down is followed in one pin, as in a search: it has at most as many nodes as a key has bytes, and each is
//! read twice. Beside that path an edge has few nodes and arrays without a key, but in a damaged map there may be any
//! number of them. So a pin ends after a fixed number of looks in addition to those along the path, as in
//! [`ends`](crate::tree::ends). The result then counts if none of the map's nodes and arrays was retired from the end
//! of the first pin on.
//!
//! A node that is met twice ends the search. If all that was seen was true at one moment, two words led to the node
//! then, and the map is damaged.

use std::ops::Range;

use crate::media::{Media, Region};
use crate::space::{Guard, Space};
use crate::tree::Bytes;
use crate::tree::ends::{BITE, Choice, Trust, Wait, lost};
use crate::tree::lock_word::IMPOSSIBLE;
use crate::{Error, Result};

use crate::tree::records::record::Record;
use crate::tree::roart::nodes::array::Array;
use crate::tree::roart::nodes::entered::{Entered, TWICE};
use crate::tree::roart::nodes::lock::LockWord;
use crate::tree::roart::nodes::node::{EOK, Node, enter_child};
use crate::tree::roart::nodes::sort::Sorted;
use crate::tree::roart::nodes::word::{DIRTY, Link, LinkKind, Slot};
use crate::tree::roart::path::lookup::lookup;
use crate::tree::roart::techniques::Techniques;
use crate::tree::roart::tree::Tree;

/// What was seen of a chunk, with the version read before.
enum Observation<'g, M> {
    /// The word of the key that ends at a node.
    Eok(Node<'g, M>, LockWord, Link),
    /// The next child of a node from a byte on.
    Child(Node<'g, M>, LockWord, u8, Option<(u8, Link)>),
    /// The slots of an array, in [`Edge::slots`].
    Array(Array<'g, M>, LockWord, Range<usize>),
}

/// A node on the path of the descent.
struct Frame<'g, M> {
    node: Node<'g, M>,
    version: LockWord,
    /// The byte from which on children are still to be visited.
    next: Option<u8>,
    /// Whether the key that ends at the node is still to be visited.
    eok: bool,
}

/// What a descent has seen of an edge of the tree.
struct Edge<'g, M: Media, T, const UP: bool> {
    tree: &'g Tree<M, T>,
    trust: Trust,
    /// The current pin.
    guard: Option<Guard<'g, M>>,
    /// The number of the map's nodes and arrays retired when the first pin was ended.
    retired: Option<u64>,
    /// The number of looks made before the current pin.
    before: usize,
    entered: Entered,
    seen: Vec<Observation<'g, M>>,
    slots: Vec<Slot>,
    /// Whether the search has given up waiting for a chunk to become quiet.
    is_held: bool,
    /// The order of the last array, if it was not stored.
    sorted: Option<Sorted>,
}

impl<M: Media, T: Techniques> Tree<M, T> {
    /// The result of `read` for the first entry, or, if `UP` is false, for the last entry.
    pub(crate) fn end<const UP: bool, R>(
        &self,
        trust: Trust,
        read: impl FnOnce(Bytes<'_>, Bytes<'_>) -> R,
    ) -> Result<Option<R>> {
        loop {
            let mut edge = Edge::<M, T, UP>::new(self, trust)?;
            let end = self.try_end(&mut edge).map_err(|error| self.open.space().noted(error))?;
            if let Some(record) = end {
                return Ok(record.map(|record| read(record.key(), record.value())));
            }
        }
    }

    /// Whether an entry is the first (the last, unless `smallest`), and all chunks up to it are [quiet](Trust::Quiet).
    pub(crate) fn is_end(&self, smallest: bool, key: &[u8], value: &[u8]) -> Result<Choice> {
        match smallest {
            true => self.is_end_of::<true>(key, value),
            false => self.is_end_of::<false>(key, value),
        }
    }

    fn is_end_of<const UP: bool>(&self, key: &[u8], value: &[u8]) -> Result<Choice> {
        let mut edge = Edge::<M, T, UP>::new(self, Trust::Quiet)?;
        let end = self.try_end(&mut edge)?.flatten();
        Ok(match end {
            Some(end) if end.key() == *key && end.value() == *value => Choice::End,
            None if edge.is_held => Choice::Held,
            _ => Choice::Another,
        })
    }

    /// The end that the descent has reached, if all of it was true at one moment. `None` if a writer intervened.
    fn try_end<'g, const UP: bool>(
        &'g self,
        edge: &mut Edge<'g, M, T, UP>,
    ) -> Result<Option<Option<Record<'g, M>>>> {
        let record = match edge.reach(Node::root(self.open.space().media(), self.root.at())?) {
            Ok(Reached::End(record)) => record,
            Ok(Reached::Moved) => return Ok(None),
            Ok(Reached::Twice(_)) if !edge.held()? => return Ok(None),
            Ok(Reached::Twice(node)) => return Err(node.corrupt(TWICE)),
            // This may be no damage: a chunk that had left its place was read as what it had been.
            Err(Error::Corrupt { .. }) if edge.has_lost_some() => return Ok(None),
            Err(error) => return Err(error),
        };
        let is_lost = match &record {
            Some(record) if edge.trust == Trust::Checked => edge.is_lost(record)?,
            _ => false,
        };
        if !edge.held()? {
            return Ok(None);
        }
        if is_lost {
            return Err(lost(self.root.at()));
        }
        edge.leave_order();
        Ok(Some(record))
    }
}

/// The result of a descent along the edge.
enum Reached<'g, M> {
    /// The first record, if there is one.
    End(Option<Record<'g, M>>),
    /// A node to which two words lead.
    Twice(Node<'g, M>),
    /// Another thread has changed the edge.
    Moved,
}

impl<'g, M: Media, T: Techniques, const UP: bool> Edge<'g, M, T, UP> {
    fn new(tree: &'g Tree<M, T>, trust: Trust) -> Result<Self> {
        let (guard, seen) = (Some(tree.open.pin()?), Vec::with_capacity(8));
        let (slots, entered) = (Vec::new(), Entered::default());
        let (retired, before, sorted) = (None, 0, None);
        let is_held = false;
        Ok(Self { tree, trust, guard, retired, before, entered, seen, slots, is_held, sorted })
    }

    fn space(&self) -> &'g Space<M> {
        self.tree.open.space()
    }

    /// Ends the pin, then takes another one.
    fn renew(&mut self) -> Result<()> {
        self.guard = None;
        self.guard = Some(self.tree.open.pin()?);
        Ok(())
    }

    /// Takes another pin if this one has made enough looks in addition to those along a path through `way` nodes.
    /// Returns `false` if what was seen has changed.
    fn breathe(&mut self, way: usize) -> Result<bool> {
        if self.seen.len() - self.before >= BITE + 2 * way {
            self.before = self.seen.len();
            if self.has_lost_some() {
                return Ok(false);
            }
            if self.retired.is_none() {
                // The number is read before the look below: a chunk that this look still finds in its place is not
                // included in the number.
                self.retired = Some(self.tree.open.map().retired());
                if !self.seen.iter().all(|seen| self.is_unchanged(seen)) {
                    return Ok(false);
                }
            }
            self.renew()?;
        }
        Ok(true)
    }

    /// The first record below `root`.
    fn reach(&mut self, root: Node<'g, M>) -> Result<Reached<'g, M>> {
        let media = self.space().media();
        let begin = |version, node| Frame {
            version,
            node,
            next: Some(if UP { 0 } else { 255 }),
            eok: true,
        };
        let Some(version) = self.version(&root.words())? else { return Ok(Reached::Moved) };
        let mut path = vec![begin(version, root)];
        let found = |media, at| Record::enter(media, at).map(|record| Reached::End(Some(record)));
        while !path.is_empty() {
            if !self.breathe(path.len())? {
                return Ok(Reached::Moved);
            }
            let Some(frame) = path.last_mut() else { break };
            let (node, version) = (frame.node, frame.version);
            // In key order, the key that ends at a node precedes all others below it.
            if frame.eok && (UP || frame.next.is_none()) {
                frame.eok = false;
                let link = node.load(EOK);
                self.seen.push(Observation::Eok(node, version, link));
                if !link.is_empty() {
                    return found(media, link.at());
                }
                continue;
            }
            let Some(from) = frame.next else {
                path.pop();
                continue;
            };
            let child = node.next_child::<UP>(from).map(|(byte, _, link)| (byte, link));
            self.seen.push(Observation::Child(node, version, from, child));
            let Some((byte, link)) = child else {
                frame.next = None;
                continue;
            };
            frame.next = if UP { byte.checked_add(1) } else { byte.checked_sub(1) };
            match link.kind()? {
                LinkKind::Record => return found(media, link.at()),
                LinkKind::Array(kind) => {
                    let array = Array::enter(media, link.at(), kind)?;
                    let Some(version) = self.version(&array.words())? else {
                        return Ok(Reached::Moved);
                    };
                    if let Some(record) = self.reach_in_array((array, version), node.depth() + 1)? {
                        return Ok(Reached::End(Some(record)));
                    }
                }
                LinkKind::Node(_) => {
                    let child = enter_child(media, &node, link)?;
                    if !self.entered.is_new(child.at()) {
                        return Ok(Reached::Twice(child));
                    }
                    let Some(version) = self.version(&child.words())? else {
                        return Ok(Reached::Moved);
                    };
                    path.push(begin(version, child));
                }
            }
        }
        Ok(Reached::End(None))
    }

    /// The lock word of a chunk that is about to be read. `None` if the chunk has to be quiet and does not become so.
    fn version(&mut self, words: &Region<'g, M>) -> Result<Option<LockWord>> {
        let generation = self.space().generation();
        let mut version = LockWord::read(words);
        // A writer that inserts a key has held the lock since before it looked for an announced pop.
        let is_held = |version: LockWord| {
            self.trust == Trust::Quiet && version.is_locked() && version.is_mine(generation)
        };
        let mut wait = Wait::default();
        while is_held(version) && wait.goes_on() {
            version = LockWord::read(words);
        }
        if !is_held(version) {
            return Ok(Some(version));
        }
        match self.space().has_set_lock(words.offset()) {
            true => {
                self.is_held = true;
                Ok(None)
            }
            false => Err(Error::Corrupt { offset: words.offset(), what: IMPOSSIBLE }),
        }
    }

    /// The first record of an array, whose keys share their first `from` bytes. (If the array has moved up meanwhile
    /// they may not: then the second look notices.)
    fn reach_in_array(
        &mut self,
        (array, version): (Array<'g, M>, LockWord),
        from: usize,
    ) -> Result<Option<Record<'g, M>>> {
        let (media, generation) = (self.space().media(), self.space().generation());
        let start = self.slots.len();
        self.slots.extend((0..array.kind().capacity()).map(|i| array.load(i)));
        self.seen.push(Observation::Array(array, version, start..self.slots.len()));
        if self.slots[start..].iter().all(|slot| slot.is_empty()) {
            return Ok(None);
        }
        let mut found = None;
        let mut offer = |slot: Slot| {
            if !UP || found.is_none() {
                found = Some(slot.at());
            }
        };
        if !array.in_order(version, generation, &mut offer)? {
            let mut sorted = Sorted::default();
            sorted.take(&array, from)?;
            found = if UP { sorted.records().next() } else { sorted.records().last() };
            self.sorted = Some(sorted);
        }
        found.map(|at| Record::enter(media, at)).transpose()
    }

    /// Whether all that was seen was true at one moment. Afterwards the pin is the one in which the last part was
    /// checked.
    fn held(&mut self) -> Result<bool> {
        // What one pin has seen, one pin can check.
        let bite = if self.retired.is_none() { self.seen.len().max(1) } else { BITE };
        let mut from = 0;
        while let Some(rest) = self.seen.get(from..) {
            if !rest[..rest.len().min(bite)].iter().all(|seen| self.is_unchanged(seen)) {
                return Ok(false);
            }
            from += bite;
            if from < self.seen.len() {
                self.renew()?;
            }
        }
        // The number of retired chunks is read after the second look (Acquire). If the memory of a chunk belonged to
        // another chunk at the second look, the retirement of the earlier chunk had been counted before.
        Ok(!self.has_lost_some())
    }

    /// Whether chunks were retired since the first pin was ended.
    fn has_lost_some(&self) -> bool {
        self.retired.is_some_and(|before| before != self.tree.open.map().retired())
    }

    /// Whether a search does not find the record that was reached.
    fn is_lost(&self, record: &Record<'g, M>) -> Result<bool> {
        let Some(guard) = &self.guard else { return Ok(false) };
        let found = lookup(guard, self.tree.root, &record.key().to_vec())?;
        Ok(found.is_none_or(|found| found.at() != record.at()))
    }

    /// Whether a chunk is as it was seen.
    fn is_unchanged(&self, seen: &Observation<'g, M>) -> bool {
        match *seen {
            Observation::Eok(node, version, link) => {
                is_same(node.load(EOK).0, link.0) && version.is_of_one_holder(&node.words())
            }
            Observation::Child(node, version, from, child) => {
                let again = node.next_child::<UP>(from).map(|(byte, _, link)| (byte, link.0));
                let is_same = match (child, again) {
                    (Some((byte, link)), Some(again)) => {
                        byte == again.0 && is_same(link.0, again.1)
                    }
                    (child, again) => child.is_none() && again.is_none(),
                };
                is_same && version.is_of_one_holder(&node.words())
            }
            Observation::Array(array, version, ref range) => {
                let slots = self.slots[range.clone()].iter().enumerate();
                { slots }.all(|(i, slot)| is_same(array.load(i).0, slot.0))
                    && version.is_of_one_holder(&array.words())
            }
        }
    }

    /// Stores the order of the array that was sorted, for later scans.
    fn leave_order(&self) {
        if let (Some(sorted), Some(Observation::Array(array, version, _))) =
            (&self.sorted, self.seen.last())
        {
            self.tree.remember(array, *version, sorted);
        }
    }
}

/// Whether two readings of a word mean the same: the tag does not matter, and empty words are equal.
fn is_same(one: u64, other: u64) -> bool {
    (one ^ other) & !DIRTY == 0 || (Link(one).is_empty() && Link(other).is_empty())
}
