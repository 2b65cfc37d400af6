//! A walk over records in key order, starting at a bound.
//!
//! The walk compares prefixes with the bound only along the border, where there are keys on both sides of the bound;
//! elsewhere it compares nothing. It has its own stack, because keys can be 64 KiB deep. It takes several children of a
//! node at a time, and prefetches all of them before it enters the first.

use std::cmp::Ordering as Order;
use std::ops::Bound;

use crate::Result;
use crate::media::{LINE, Media};

use crate::tree::records::bound::is_within;
use crate::tree::records::fingerprint::Fingerprint;
use crate::tree::records::record::Record;
use crate::tree::records::scan::noted::Batch;
use crate::tree::roart::nodes::array::Array;
use crate::tree::roart::nodes::entered::{Entered, TWICE};
use crate::tree::roart::nodes::lock::LockWord;
use crate::tree::roart::nodes::node::{EOK, Node, Prefix, enter_child};
use crate::tree::roart::nodes::sample::{Reached, Sample};
use crate::tree::roart::nodes::sort::Sorted;
use crate::tree::roart::nodes::word::{Link, LinkKind};
use crate::tree::roart::techniques::Techniques;
use crate::tree::roart::tree::Tree;

/// A node on the path of the walk.
struct Frame<'g, M> {
    node: Node<'g, M>,
    /// The version of the node when its children were taken.
    version: LockWord,
    /// The index of the node's first child among the children taken.
    first: usize,
    /// The byte from which on children are still to be taken, if there may be any.
    next: Option<u8>,
    /// Whether the key that ends at the node is still to be noted.
    eok: bool,
    /// The byte under which there may be keys on both sides of the bound.
    border: Option<u8>,
}

/// A walk over records in key order.
pub(crate) struct KeyWalk<'g, 'b, M: Media, T, const UP: bool> {
    tree: &'g Tree<M, T>,
    path: Vec<Frame<'g, M>>,
    /// The children taken from each node of the path; those of one node are in reverse order.
    taken: Vec<(u8, Link)>,
    bound: Bound<&'b [u8]>,
    entered: Entered,
    /// Whether another thread has replaced a node on the path to the bound, so that the walk has to start again.
    has_moved: bool,
    /// The buffer in which the records of an array are sorted.
    sorted: Sorted,
}

/// The position of the keys below a node relative to the bound.
enum Side {
    /// `Equal`: the keys agree with the bound in all bytes before the one on which the node branches. Otherwise all of
    /// them are before or after the bound.
    At(Order),
    /// There are no keys.
    Nowhere,
    /// Another thread has replaced or collapsed the node.
    Moved,
}

impl<'g, 'b, M: Media, T: Techniques, const UP: bool> KeyWalk<'g, 'b, M, T, UP> {
    pub(crate) fn new(
        tree: &'g Tree<M, T>,
        root: Node<'g, M>,
        bound: Bound<&'b [u8]>,
    ) -> Result<Self> {
        let (path, taken) = (Vec::with_capacity(4), Vec::with_capacity(32));
        let entered = Entered::default();
        let sorted = Sorted::default();
        let mut walk = Self { tree, path, taken, bound, entered, has_moved: false, sorted };
        let root = Reached { node: &root, above: None };
        walk.enter(root, 0, !matches!(bound, Bound::Unbounded))?;
        Ok(walk)
    }

    /// Whether another thread has changed the path to the bound meanwhile: then nothing was noted, and another walk has
    /// to start. This happens before the first entry is noted, or not at all.
    pub(crate) fn has_moved(&self) -> bool {
        self.has_moved
    }

    /// Whether all records were noted.
    pub(crate) fn has_ended(&self) -> bool {
        self.path.is_empty()
    }

    fn bound_key(&self) -> &'b [u8] {
        match self.bound {
            Bound::Included(key) | Bound::Excluded(key) => key,
            Bound::Unbounded => &[],
        }
    }

    /// Enters a node. `is_border` says that the node's keys agree with the bound in their first `from` bytes, and may
    /// be on both sides of the bound.
    fn enter(&mut self, reached: Reached<'_, 'g, M>, from: usize, is_border: bool) -> Result<()> {
        let node = *reached.node;
        if !self.entered.is_new(node.at()) {
            return Err(node.corrupt(TWICE));
        }
        let next = Some(if UP { 0 } else { 255 });
        let version = node.version();
        let first = self.taken.len();
        let all = Frame { node, version, first, next, eok: true, border: None };
        if !is_border {
            self.path.push(all);
            return Ok(());
        }
        let (bound, inside) = (self.bound_key(), if UP { Order::Greater } else { Order::Less });
        match self.compare(&reached, from)? {
            Side::At(Order::Equal) => {}
            Side::At(order) if order == inside => {
                self.path.push(all);
                return Ok(());
            }
            // There is no key below, or all are outside.
            Side::At(_) | Side::Nowhere => return Ok(()),
            Side::Moved => {
                self.has_moved = true;
                self.path.clear();
                self.taken.clear();
                return Ok(());
            }
        }
        let eok_is_bound = matches!(self.bound, Bound::Included(_));
        match (bound.get(node.depth()), UP) {
            // The key that ends here is shorter than the bound: it is before the bound.
            (Some(&byte), true) => {
                self.path.push(Frame { next: Some(byte), eok: false, border: Some(byte), ..all });
            }
            (Some(&byte), false) => {
                self.path.push(Frame { next: Some(byte), border: Some(byte), ..all });
            }
            // The bound ends here: it equals the key that may end here, and is before all other keys below.
            (None, true) => self.path.push(Frame { eok: eok_is_bound, ..all }),
            (None, false) => self.path.push(Frame { next: None, eok: eok_is_bound, ..all }),
        }
        Ok(())
    }

    /// Compares the keys below a node with the bound.
    fn compare(&self, reached: &Reached<'_, 'g, M>, from: usize) -> Result<Side> {
        let (bound, node) = (self.bound_key(), reached.node);
        let (at, byte) = match node.compare_prefix(bound, from) {
            Prefix::Matches => return Ok(Side::At(Order::Equal)),
            Prefix::LeavesAt(at, byte) if node.remembers_from() <= from => (at, Some(byte)),
            _ => match reached.sample(self.tree.open.space())? {
                Sample::Barren => return Ok(Side::Nowhere),
                Sample::Moved => return Ok(Side::Moved),
                Sample::Record(record) => {
                    let at = record.common_with(bound, from);
                    if at >= node.depth() {
                        return Ok(Side::At(Order::Equal));
                    }
                    (at, record.key_byte(at))
                }
            },
        };
        Ok(Side::At(byte.cmp(&bound.get(at).copied())))
    }

    /// Notes at least `want` entries, unless there are fewer.
    pub(crate) fn note(&mut self, out: &mut Batch<LockWord>, want: usize) -> Result<()> {
        let end = out.len() + want;
        while out.len() < end
            && let Some(frame) = self.path.last_mut()
        {
            let has_none = self.taken.len() == frame.first;
            if frame.eok && (UP || frame.next.is_none() && has_none) {
                frame.eok = false;
                let version = frame.node.version();
                let eok = frame.node.load(EOK);
                if !eok.is_empty() {
                    out.push(eok.at());
                    out.held_by(frame.node.at(), version);
                }
                continue;
            }
            if has_none {
                frame.take_children::<UP>(end - out.len(), &mut self.taken)?;
            }
            if self.taken.len() == frame.first {
                if !frame.eok {
                    self.path.pop();
                }
                continue;
            }
            let Some((byte, link)) = self.taken.pop() else { continue };
            let (node, version, is_border) =
                (frame.node, frame.version, frame.border == Some(byte));
            self.note_child((&node, byte), version, link, is_border, out)?;
            debug_assert!(!self.has_moved || out.len() == 0, "the way to the bound comes first");
        }
        Ok(())
    }

    /// Prefetches what the next call of [`note`](Self::note) reads first.
    pub(crate) fn ask_ahead(&mut self, want: usize) -> Result<()> {
        match self.path.last_mut() {
            Some(frame) if self.taken.len() == frame.first => {
                frame.take_children::<UP>(want, &mut self.taken)
            }
            _ => Ok(()),
        }
    }

    fn note_child(
        &mut self,
        (node, byte): (&Node<'g, M>, u8),
        version: LockWord,
        link: Link,
        is_border: bool,
        out: &mut Batch<LockWord>,
    ) -> Result<()> {
        let (media, from) = (node.words().media(), node.depth() + 1);
        match link.kind()? {
            LinkKind::Record => {
                let record = link.at();
                if !is_border
                    || is_within::<M, UP>(&Record::enter(media, record)?, self.bound, from)
                {
                    out.push(record);
                    out.held_by(node.at(), version);
                }
            }
            LinkKind::Array(kind) => {
                let array = Array::enter(media, link.at(), kind)?;
                self.note_child_array(node, &array, is_border, out)?;
            }
            LinkKind::Node(_) => {
                let child = enter_child(media, node, link)?;
                let reached = Reached { node: &child, above: Some((node, byte)) };
                self.enter(reached, from, is_border)?;
            }
        }
        Ok(())
    }

    /// Notes the records of an array to which a word of `node` leads.
    ///
    /// If the node was collapsed, the array may have moved up, and may have got keys without the node's prefix
    /// ([`sample`](crate::tree::roart::nodes::sample)). Then the walk compares whole keys, their order must not be
    /// stored in the array, and only the first of the noted entries may be shown. The next walk finds the array in its
    /// new place. So the node is validated twice. The first time is after the array's version was read, because the
    /// stored order depends on that version. The second time is after the slots were read, because the first entry is
    /// shown whatever the version is by then.
    fn note_child_array(
        &mut self,
        node: &Node<'g, M>,
        array: &Array<'g, M>,
        is_border: bool,
        out: &mut Batch<LockWord>,
    ) -> Result<()> {
        let (start, generation) = (out.len(), self.tree.open.space().generation());
        let (mut version, mut from) = (array.version(), node.depth() + 1);
        let reached = Reached { node, above: None };
        let mut is_noted = reached.is_in_place(generation);
        if is_noted {
            version = self.note_array(array, version, from, out)?;
            is_noted = reached.is_in_place(generation);
        }
        if !is_noted {
            out.keep_since(start, start..start);
            (version, from) = (LockWord::NEVER, 0);
            self.note_array(array, version, from, out)?;
        }
        if is_border {
            self.leave_out(array, from, start, out)?;
        }
        out.held_by(array.at(), version);
        Ok(())
    }

    /// Notes the records of an array in key order. Their keys agree in their first `from` bytes. Returns the version in
    /// which the array has these records: `version`, or a new version if storing their order has begun one.
    fn note_array(
        &mut self,
        array: &Array<'g, M>,
        version: LockWord,
        from: usize,
        out: &mut Batch<LockWord>,
    ) -> Result<LockWord> {
        let (start, generation) = (out.len(), self.tree.open.space().generation());
        let mut now = version;
        out.reserve(array.kind().capacity());
        if !array.in_order(version, generation, |slot| out.push(slot.at()))? {
            out.keep_since(start, start..start);
            self.sorted.take(array, from)?;
            out.extend(self.sorted.records());
            now = self.tree.remember(array, version, &self.sorted);
        }
        if !UP {
            out.since(start).reverse();
        }
        Ok(now)
    }

    /// Drops those of the entries from `start` on that are not within the bound. The entries are in order, so the
    /// dropped ones are the first ones.
    fn leave_out(
        &self,
        array: &Array<'g, M>,
        from: usize,
        start: usize,
        out: &mut Batch<LockWord>,
    ) -> Result<()> {
        let (media, end) = (array.words().media(), out.len());
        // Most scans start at a key that is present, or after one: the fingerprints find its place, and no other record
        // has to be read.
        let key = self.bound_key();
        if let Some(record) = array.peek_for(key, Fingerprint::of(key))?
            && let Some(at) = out.since(start).iter().position(|&noted| noted == record)
        {
            let at = start + at + usize::from(matches!(self.bound, Bound::Excluded(_)));
            out.keep_since(start, at..end);
            return Ok(());
        }
        // The records are prefetched all at once, so that the binary search waits once and not at each step. Many of
        // them are shown soon anyway.
        out.since(start).iter().for_each(|&record| media.prefetch(record, LINE));
        let (mut low, mut high) = (start, end);
        while low < high {
            let middle = low.midpoint(high);
            let record = Record::enter(media, out.since(0)[middle])?;
            if is_within::<M, UP>(&record, self.bound, from) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        out.keep_since(start, low..end);
        Ok(())
    }
}

impl<M: Media> Frame<'_, M> {
    /// Takes the next children, until they may hold `want` entries, and prefetches them.
    fn take_children<const UP: bool>(
        &mut self,
        want: usize,
        taken: &mut Vec<(u8, Link)>,
    ) -> Result<()> {
        self.version = self.node.version();
        let Some(from) = self.next else { return Ok(()) };
        self.next = self.node.take_children::<UP>(from, want, taken)?;
        let media = self.node.words().media();
        for (_, link) in &taken[self.first..] {
            match link.kind()? {
                LinkKind::Array(kind) => Array::prefetch_all(media, link.at(), kind),
                LinkKind::Record | LinkKind::Node(_) => media.prefetch(link.at(), LINE),
            }
        }
        taken[self.first..].reverse();
        Ok(())
    }
}
