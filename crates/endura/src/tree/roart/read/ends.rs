//! The first entry and the last, at one moment.
//!
//! A descent along the edge of the tree notes all that the answer rests on: of each node which child came next,
//! or that none did, of each array its slots, and of both the version from before. Then all of it is looked
//! at again. The version counts locks; if it is the same, only a writer that held the lock at the first look
//! can have changed the chunk, and one lock changes one word, once (or only its tag): what reads the same twice was the
//! same all the time. So at the moment between the two looks all of it held together, from the root on:
//! the answer is that of this moment.
//!
//! A second look that differs was disturbed by a writer that took a lock since, or stored under one: lock-free, and no wait
//! for a writer that stands still with a lock.
//!
//! # Pins
//!
//! The way down is gone in one pin, as in a search: it has as many nodes as a key has bytes, at most, and each is
//! looked at twice. Beside it few nodes and arrays without a key lie at an edge, but a damaged map may have any
//! number. So a pin is given up after so many looks more than the way has, as [`ends`](crate::tree::ends) has it: what
//! was seen counts if none of the map's nodes and arrays was retired from the end of the first pin on.
//!
//! A node that is met twice ends the search: if all that was seen held at one moment, two words led to it then.

use std::ops::Range;

use crate::media::{Media, Region};
use crate::pool::{Guard, Space};
use crate::tree::Bytes;
use crate::tree::ends::{BITE, Choice, Trust, Wait, lost};
use crate::tree::lock_word::IMPOSSIBLE;
use crate::{Error, Result};

use crate::tree::roart::nodes::array::Array;
use crate::tree::roart::nodes::entered::{Entered, TWICE};
use crate::tree::roart::nodes::lock::LockWord;
use crate::tree::roart::nodes::node::{EOK, Node, enter_child};
use crate::tree::roart::nodes::order::remember;
use crate::tree::roart::nodes::record::Record;
use crate::tree::roart::nodes::sort::Sorted;
use crate::tree::roart::nodes::word::{DIRTY, Link, LinkKind, Slot};
use crate::tree::roart::path::lookup::lookup;
use crate::tree::roart::techniques::Techniques;
use crate::tree::roart::tree::Tree;

/// What was seen of a chunk that had this version before.
enum Seen<'g, M> {
    /// The word of the key that ends at a node.
    Eok(Node<'g, M>, LockWord, Link),
    /// The next child of a node from a byte on.
    Child(Node<'g, M>, LockWord, u8, Option<(u8, Link)>),
    /// The slots of an array, in [`Edge::slots`].
    Array(Array<'g, M>, LockWord, Range<usize>),
}

/// A node that the descent is inside of.
struct Frame<'g, M> {
    node: Node<'g, M>,
    version: LockWord,
    /// The byte from which on children are still to be looked at.
    next: Option<u8>,
    /// Whether the key that ends at the node is.
    eok: bool,
}

/// What lies at an edge of the tree, and before that, as a descent has seen it.
struct Edge<'g, M: Media, T, const UP: bool> {
    tree: &'g Tree<M, T>,
    trust: Trust,
    /// The present pin.
    guard: Option<Guard<'g, M>>,
    /// How many of the map's nodes and arrays were retired when the first pin was given up.
    retired: Option<u64>,
    /// How much was seen before the present pin.
    before: usize,
    entered: Entered,
    seen: Vec<Seen<'g, M>>,
    slots: Vec<Slot>,
    /// Whether a chunk was not quiet for as long as a look waits.
    is_held: bool,
    /// The order of the last array, if it was not remembered.
    sorted: Option<Box<Sorted>>,
}

impl<M: Media, T: Techniques> Tree<M, T> {
    /// What `read` makes of the first entry; for `UP` = false of the last.
    pub(crate) fn end<const UP: bool, R>(
        &self,
        trust: Trust,
        read: impl FnOnce(Bytes<'_>, Bytes<'_>) -> R,
    ) -> Result<Option<R>> {
        loop {
            let mut edge = Edge::<M, T, UP>::new(self, trust)?;
            if let Some(record) = self.try_end(&mut edge)? {
                return Ok(record.map(|record| read(record.key(), record.value())));
            }
        }
    }

    /// Whether an entry is the first (the last, unless `smallest`), and all is [quiet](Trust::Quiet) up to it.
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

    /// `None`: a writer came between.
    fn try_end<'g, const UP: bool>(
        &'g self,
        edge: &mut Edge<'g, M, T, UP>,
    ) -> Result<Option<Option<Record<'g, M>>>> {
        let record = match edge.reach(Node::root(self.open.space().media(), self.root.at())?) {
            Ok(Reached::End(record)) => record,
            Ok(Reached::Moved) => return Ok(None),
            Ok(Reached::Twice(_)) if !edge.held()? => return Ok(None),
            Ok(Reached::Twice(node)) => return Err(node.corrupt(TWICE)),
            // What was not in its place any more was read as what it had been.
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

/// What a descent along the edge came to.
enum Reached<'g, M> {
    /// The first record, if there is one.
    End(Option<Record<'g, M>>),
    /// A node to which two words lead.
    Twice(Node<'g, M>),
    /// Others have changed the edge.
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

    /// Where enough was seen in this pin, beside a way through so many nodes, takes another one. `false`: what was
    /// seen has changed by now.
    fn breathe(&mut self, way: usize) -> Result<bool> {
        if self.seen.len() - self.before >= BITE + 2 * way {
            self.before = self.seen.len();
            if self.has_lost_some() {
                return Ok(false);
            }
            if self.retired.is_none() {
                // Before the second look: what it still finds in its place was not counted.
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
            // The key that ends at a node comes before all others below.
            if frame.eok && (UP || frame.next.is_none()) {
                frame.eok = false;
                let link = node.load(EOK);
                self.seen.push(Seen::Eok(node, version, link));
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
            self.seen.push(Seen::Child(node, version, from, child));
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

    /// The lock word of a chunk that is about to be looked at. `None`: it has to be quiet, and is not.
    fn version(&mut self, words: &Region<'g, M>) -> Result<Option<LockWord>> {
        let generation = self.space().generation();
        let mut version = LockWord::read(words);
        // Who enters a key has held the lock since before it looked for an announced pop.
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

    /// The first record of an array, whose keys share their first `from` bytes. (If the array has moved up
    /// meanwhile they need not: then the second look tells.)
    fn reach_in_array(
        &mut self,
        (array, version): (Array<'g, M>, LockWord),
        from: usize,
    ) -> Result<Option<Record<'g, M>>> {
        let (media, generation) = (self.space().media(), self.space().generation());
        let start = self.slots.len();
        self.slots.extend((0..array.kind().capacity()).map(|i| array.load(i)));
        self.seen.push(Seen::Array(array, version, start..self.slots.len()));
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
            let mut sorted = Box::new(Sorted::empty());
            sorted.take(&array, from)?;
            found = if UP { sorted.records().next() } else { sorted.records().last() };
            self.sorted = Some(sorted);
        }
        found.map(|at| Record::enter(media, at)).transpose()
    }

    /// Whether all that was seen held at one moment. The pin is then one in which the last of it was looked at.
    fn held(&mut self) -> Result<bool> {
        // What one pin has seen, one does again.
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
        // Behind the second look (Acquire): if a chunk was another one by then, its end was counted before.
        Ok(!self.has_lost_some())
    }

    /// Whether chunks were retired since the first pin was given up.
    fn has_lost_some(&self) -> bool {
        self.retired.is_some_and(|before| before != self.tree.open.map().retired())
    }

    /// Whether a search does not come to the record that was reached.
    fn is_lost(&self, record: &Record<'g, M>) -> Result<bool> {
        let Some(guard) = &self.guard else { return Ok(false) };
        let found = lookup(guard, self.tree.root, &record.key().to_vec())?;
        Ok(found.is_none_or(|found| found.at() != record.at()))
    }

    /// Whether what was seen has not changed since.
    fn is_unchanged(&self, seen: &Seen<'g, M>) -> bool {
        match *seen {
            Seen::Eok(node, version, link) => {
                is_same(node.load(EOK).0, link.0) && version.is_of_one_holder(&node.words())
            }
            Seen::Child(node, version, from, child) => {
                let again = node.next_child::<UP>(from).map(|(byte, _, link)| (byte, link.0));
                let is_same = match (child, again) {
                    (Some((byte, link)), Some(again)) => {
                        byte == again.0 && is_same(link.0, again.1)
                    }
                    (child, again) => child.is_none() && again.is_none(),
                };
                is_same && version.is_of_one_holder(&node.words())
            }
            Seen::Array(array, version, ref range) => {
                let slots = self.slots[range.clone()].iter().enumerate();
                { slots }.all(|(i, slot)| is_same(array.load(i).0, slot.0))
                    && version.is_of_one_holder(&array.words())
            }
        }
    }

    /// Leaves the order of the array that was sorted for the next one who comes.
    fn leave_order(&self) {
        if let (Some(sorted), Some(Seen::Array(array, version, _))) =
            (&self.sorted, self.seen.last())
        {
            remember(self.space(), array, *version, sorted);
        }
    }
}

/// Whether two readings of a word mean the same: with or without the tag, and empty is empty.
fn is_same(one: u64, other: u64) -> bool {
    (one ^ other) & !DIRTY == 0 || (Link(one).is_empty() && Link(other).is_empty())
}
