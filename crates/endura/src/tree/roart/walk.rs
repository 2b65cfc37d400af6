//! A walk over records in key order, from a bound on.
//!
//! It compares prefixes with the bound only along the border, where keys on both sides of it lie;
//! inside, nothing is compared. It keeps its own stack: keys can be 64 KiB deep. Of a node it takes
//! several children at a time, and asks for all of them before it enters the first.

use std::cmp::Ordering as Order;
use std::ops::Bound;

use crate::Result;
use crate::media::{LINE, Media};

use super::array::Array;
use super::descend::{any_record, enter_child};
use super::lock::{Locked, Version};
use super::node::{EOK, Node, Prefix};
use super::record::Record;
use super::scan::{Entry, is_within};
use super::word::{Kind, Link};
use super::{Techniques, Tree};

/// A node that the walk is inside of.
struct Frame<'g, M> {
    node: Node<'g, M>,
    /// Of the node, when its children were taken.
    version: Version,
    /// Children that were taken, the next one last.
    taken: Vec<(u8, Link)>,
    /// The byte from which on children are still to be taken, if there may be any.
    next: Option<u8>,
    /// Whether the key that ends at the node is still to come.
    eok: bool,
    /// Whether keys on both sides of the bound may be below, under this byte.
    border: Option<u8>,
}

/// A walk over records in key order.
pub(super) struct Walk<'g, 'b, M: Media, T, const UP: bool> {
    tree: &'g Tree<M, T>,
    path: Vec<Frame<'g, M>>,
    bound: Bound<&'b [u8]>,
}

impl<'g, 'b, M: Media, T: Techniques, const UP: bool> Walk<'g, 'b, M, T, UP> {
    pub(super) fn new(
        tree: &'g Tree<M, T>,
        root: Node<'g, M>,
        bound: Bound<&'b [u8]>,
    ) -> Result<Self> {
        let mut walk = Self { tree, path: Vec::new(), bound };
        walk.enter(root, 0, !matches!(bound, Bound::Unbounded))?;
        Ok(walk)
    }

    fn bound_key(&self) -> &'b [u8] {
        match self.bound {
            Bound::Included(key) | Bound::Excluded(key) => key,
            Bound::Unbounded => &[],
        }
    }

    /// Goes into a node; `is_border` if its keys agree with the bound in their first `from` bytes,
    /// and may lie on both sides of it.
    fn enter(&mut self, node: Node<'g, M>, from: usize, is_border: bool) -> Result<()> {
        let next = Some(if UP { 0 } else { 255 });
        let version = node.version();
        let all = Frame { node, version, taken: Vec::new(), next, eok: true, border: None };
        if !is_border {
            self.path.push(all);
            return Ok(());
        }
        let (bound, inside) = (self.bound_key(), if UP { Order::Greater } else { Order::Less });
        match self.compare(&node, from)? {
            Some(Order::Equal) => {}
            Some(order) if order == inside => {
                self.path.push(all);
                return Ok(());
            }
            // Nothing below, or all of it outside.
            _ => return Ok(()),
        }
        let eok_is_bound = matches!(self.bound, Bound::Included(_));
        match (bound.get(node.depth()), UP) {
            // The key that ends here is shorter than the bound, which goes on: before it.
            (Some(&byte), true) => {
                self.path.push(Frame { next: Some(byte), eok: false, border: Some(byte), ..all });
            }
            (Some(&byte), false) => {
                self.path.push(Frame { next: Some(byte), border: Some(byte), ..all });
            }
            // The bound ends here: it is the key that may end here, and before all others.
            (None, true) => self.path.push(Frame { eok: eok_is_bound, ..all }),
            (None, false) => self.path.push(Frame { next: None, eok: eok_is_bound, ..all }),
        }
        Ok(())
    }

    /// How the keys below a node compare with the bound; Equal: some agree with it that far. None:
    /// there are none.
    fn compare(&self, node: &Node<'g, M>, from: usize) -> Result<Option<Order>> {
        let bound = self.bound_key();
        let (at, byte) = match node.compare_prefix(bound, from) {
            Prefix::Matches => return Ok(Some(Order::Equal)),
            Prefix::LeavesAt(at, byte) if node.remembers_from() <= from => (at, Some(byte)),
            _ => {
                let Some(record) = any_record(node)? else { return Ok(None) };
                let at = record.common_with(bound, from);
                if at >= node.depth() {
                    return Ok(Some(Order::Equal));
                }
                (at, record.key_byte(at))
            }
        };
        Ok(Some(byte.cmp(&bound.get(at).copied())))
    }

    /// Notes at least `want` entries, as far as there are any.
    pub(super) fn note(&mut self, out: &mut Vec<Entry>, want: usize) -> Result<()> {
        while out.len() < want
            && let Some(frame) = self.path.last_mut()
        {
            if frame.eok && (UP || frame.next.is_none() && frame.taken.is_empty()) {
                frame.eok = false;
                let version = frame.node.version();
                let eok = frame.node.load(EOK);
                if !eok.is_empty() {
                    out.push(Entry { record: eok.at(), holder: frame.node.at(), version });
                }
                continue;
            }
            if frame.taken.is_empty() {
                frame.take_children::<UP>(want - out.len())?;
            }
            let Some((byte, link)) = frame.taken.pop() else {
                if !frame.eok {
                    self.path.pop();
                }
                continue;
            };
            let (node, version, is_border) =
                (frame.node, frame.version, frame.border == Some(byte));
            self.note_child(&node, version, link, is_border, out)?;
        }
        Ok(())
    }

    fn note_child(
        &mut self,
        node: &Node<'g, M>,
        version: Version,
        link: Link,
        is_border: bool,
        out: &mut Vec<Entry>,
    ) -> Result<()> {
        let (media, from) = (node.words().media(), node.depth() + 1);
        match link.kind()? {
            Kind::Record => {
                let record = link.at();
                if !is_border
                    || is_within::<M, UP>(&Record::enter(media, record)?, self.bound, from)
                {
                    out.push(Entry { record, holder: node.at(), version });
                }
            }
            Kind::Array(kind) => {
                let array = Array::enter(media, link.at(), kind)?;
                let start = out.len();
                self.note_array(&array, from, out)?;
                if is_border {
                    self.leave_out(media, from, start, out)?;
                }
            }
            Kind::Node(_) => self.enter(enter_child(media, node, link)?, from, is_border)?,
        }
        Ok(())
    }

    /// Notes the records of an array, in key order. Their keys agree in their first `from` bytes.
    fn note_array(&self, array: &Array<'g, M>, from: usize, out: &mut Vec<Entry>) -> Result<()> {
        let (version, holder, start) = (array.version(), array.at(), out.len());
        let entry = |record| Entry { record, holder, version };
        let generation = self.tree.space().generation();
        if !array.in_order(version, generation, |slot| out.push(entry(slot.at())))? {
            out.truncate(start);
            let sorted = sort(array, from)?;
            out.extend(sorted.iter().map(|(_, record, _)| entry(record.at())));
            self.remember(array, version, &sorted);
        }
        if !UP {
            out[start..].reverse();
        }
        Ok(())
    }

    /// Leaves the order for the next scan, if that disturbs nobody.
    fn remember(&self, array: &Array<'g, M>, seen: Version, sorted: &[Sorted<'g, M>]) {
        // One or none need no order. And a panic that is none of the pool's must not find it locked.
        if sorted.len() < 2 || std::thread::panicking() {
            return;
        }
        self.tree.space().try_mut(|guard| {
            // What is locked or gone has no order for long.
            if let Some(mut lock) = Locked::try_acquire(guard, array.words(), seen) {
                let numbers: Vec<u8> = sorted.iter().map(|&(_, _, number)| number).collect();
                array.keep_order(&mut lock, &numbers);
            }
        });
    }

    /// Leaves out those of the entries from `start` on, which are in order, that are not within the
    /// bound: the first ones.
    fn leave_out(
        &self,
        media: &'g M,
        from: usize,
        start: usize,
        out: &mut Vec<Entry>,
    ) -> Result<()> {
        // One wait for all of them in place of one for each step; half are shown soon anyway.
        out[start..].iter().for_each(|entry| media.prefetch(entry.record, LINE));
        let (mut low, mut high) = (start, out.len());
        while low < high {
            let middle = low.midpoint(high);
            let record = Record::enter(media, out[middle].record)?;
            if is_within::<M, UP>(&record, self.bound, from) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        out.drain(start..low);
        Ok(())
    }
}

impl<M: Media> Frame<'_, M> {
    /// Takes the next children, and asks for them: as many as may hold `want` entries.
    fn take_children<const UP: bool>(&mut self, want: usize) -> Result<()> {
        self.version = self.node.version();
        let Some(from) = self.next else { return Ok(()) };
        self.next = self.node.take_children::<UP>(from, want, &mut self.taken)?;
        let media = self.node.words().media();
        for (_, link) in &self.taken {
            match link.kind()? {
                Kind::Array(kind) => Array::prefetch_all(media, link.at(), kind),
                Kind::Record | Kind::Node(_) => media.prefetch(link.at(), LINE),
            }
        }
        self.taken.reverse();
        Ok(())
    }
}

/// A record with its number in the array, and the first bytes of its key that matter.
type Sorted<'g, M> = (u64, Record<'g, M>, u8);

/// The records of an array in key order. Their keys agree in their first `from` bytes.
fn sort<'g, M: Media>(array: &Array<'g, M>, from: usize) -> Result<Vec<Sorted<'g, M>>> {
    let media = array.words().media();
    let slots = (0..array.kind().capacity()).map(|i| (array.load(i), i as u8));
    let slots: Vec<_> = slots.filter(|(slot, _)| !slot.is_empty()).collect();
    // All misses at once.
    slots.iter().for_each(|(slot, _)| media.prefetch(slot.at(), LINE));
    let mut records = Vec::with_capacity(slots.len());
    for (slot, number) in slots {
        let record = Record::enter(media, slot.at())?;
        records.push((record.sort_key(from), record, number));
    }
    records.sort_unstable_by(|(a, one, _), (b, other, _)| {
        a.cmp(b).then_with(|| one.compare_with(other, from))
    });
    Ok(records)
}
