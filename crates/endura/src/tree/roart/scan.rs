//! Scans, in both directions, a few entries at a time.
//!
//! A refill walks the tree from the bound on and notes the records that come next, each with the
//! node or array that holds it and the version of that. A noted entry is given out if its holder is
//! still of that version: it was in the map at that moment. If not, the scan refills from the bound,
//! which the caller moves along with the keys it was given. So no key comes twice, and none that
//! stayed in the map is passed over. Between two calls nothing is pinned.
//!
//! The walk compares prefixes with the bound only along the border, where keys on both sides of it
//! lie; inside, nothing is compared. It keeps its own stack: keys can be 64 KiB deep.

use std::cmp::Ordering as Order;
use std::ops::Bound;

use crate::Result;
use crate::media::{LINE, Media, Region};
use crate::tree::Bytes;

use super::array::Array;
use super::descend::{any_record, enter_child};
use super::lock::Version;
use super::node::{EOK, Node, Prefix};
use super::record::Record;
use super::word::{Kind, Link};
use super::{Techniques, Tree};

/// Most entries that are noted at a time, but for the end of an array.
const AHEAD: usize = 64;

/// A place in a scan in one direction. Begins wherever the first call says.
#[derive(Default)]
pub struct Cursor {
    batch: Vec<Entry>,
    /// How many of them were given out.
    passed: usize,
    /// When they were noted.
    epoch: u64,
    /// How many to note next time: short scans stay cheap.
    want: usize,
}

/// A record, and what held it.
struct Entry {
    record: u64,
    holder: u64,
    version: Version,
}

/// Whether a key that agrees with the bound in its first `from` bytes is within it.
fn is_within<M: Media, const UP: bool>(
    record: &Record<'_, M>,
    bound: Bound<&[u8]>,
    from: usize,
) -> bool {
    let beyond = if UP { Order::Greater } else { Order::Less };
    match bound {
        Bound::Unbounded => true,
        Bound::Included(key) => [beyond, Order::Equal].contains(&record.compare(key, from)),
        Bound::Excluded(key) => record.compare(key, from) == beyond,
    }
}

impl<M: Media, T: Techniques> Tree<M, T> {
    /// The nearest entry within `bound`, which keys come after (`UP`) or before.
    pub(super) fn scan<const UP: bool, R>(
        &self,
        cursor: &mut Cursor,
        bound: Bound<&[u8]>,
        read: impl FnOnce(Bytes<'_>, Bytes<'_>) -> R,
    ) -> Result<Option<R>> {
        let guard = self.pin()?;
        let media = guard.media();
        let epoch = guard.space().epoch();
        // What was reachable in this epoch is not used again before this pin ends.
        while cursor.epoch == epoch
            && let Some(entry) = cursor.batch.get(cursor.passed)
        {
            cursor.passed += 1;
            if !entry.version.still_holds(&Region::new(media, entry.holder, 1)?) {
                break;
            }
            let record = Record::enter(media, entry.record)?;
            if is_within::<M, UP>(&record, bound, 0) {
                return Ok(Some(read(record.key(), record.value())));
            }
        }
        cursor.batch.clear();
        cursor.want = (2 * cursor.want).clamp(1, AHEAD);
        let mut walk = Walk::<M, UP>::new(self.root(&guard)?, bound)?;
        walk.note(&mut cursor.batch, cursor.want)?;
        (cursor.passed, cursor.epoch) = (1, epoch);
        let Some(first) = cursor.batch.first() else { return Ok(None) };
        let record = Record::enter(media, first.record)?;
        Ok(Some(read(record.key(), record.value())))
    }
}

/// A node that the walk is inside of.
struct Frame<'g, M> {
    node: Node<'g, M>,
    /// The byte of the next child, if there may be one.
    next: Option<u8>,
    /// Whether the key that ends at the node is still to come.
    eok: bool,
    /// Whether keys on both sides of the bound may be below, under this byte.
    border: Option<u8>,
}

/// A walk over records in key order.
struct Walk<'g, 'b, M, const UP: bool> {
    path: Vec<Frame<'g, M>>,
    bound: Bound<&'b [u8]>,
}

impl<'g, 'b, M: Media, const UP: bool> Walk<'g, 'b, M, UP> {
    fn new(root: Node<'g, M>, bound: Bound<&'b [u8]>) -> Result<Self> {
        let mut walk = Self { path: Vec::new(), bound };
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
        let all = Frame { node, next: Some(if UP { 0 } else { 255 }), eok: true, border: None };
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
    fn note(&mut self, out: &mut Vec<Entry>, want: usize) -> Result<()> {
        while out.len() < want
            && let Some(frame) = self.path.last_mut()
        {
            let (node, version) = (frame.node, frame.node.version());
            if frame.eok && (UP || frame.next.is_none()) {
                frame.eok = false;
                let eok = node.load(EOK);
                if !eok.is_empty() {
                    out.push(Entry { record: eok.at(), holder: node.at(), version });
                }
                continue;
            }
            let child = frame.next.and_then(|byte| node.next_child::<UP>(byte));
            let Some((byte, _, link)) = child else {
                frame.next = None;
                if !frame.eok {
                    self.path.pop();
                }
                continue;
            };
            frame.next = if UP { byte.checked_add(1) } else { byte.checked_sub(1) };
            let is_border = frame.border == Some(byte);
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
                self.note_array(&array, from, is_border, out)?;
            }
            Kind::Node(_) => self.enter(enter_child(media, node, link)?, from, is_border)?,
        }
        Ok(())
    }

    /// Notes the records of an array, in key order. Their keys agree in their first `from` bytes.
    fn note_array(
        &self,
        array: &Array<'g, M>,
        from: usize,
        is_border: bool,
        out: &mut Vec<Entry>,
    ) -> Result<()> {
        let (media, version) = (array.words().media(), array.version());
        let slots: Vec<u64> = (0..array.kind().capacity())
            .map(|i| array.load(i).at())
            .filter(|&at| at != 0)
            .collect();
        // All misses at once: each record is in a line of its own.
        slots.iter().for_each(|&at| media.prefetch(at, LINE));
        let mut records = Vec::with_capacity(slots.len());
        for at in slots {
            let record = Record::enter(media, at)?;
            if !is_border || is_within::<M, UP>(&record, self.bound, from) {
                records.push((record.sort_key(from), record));
            }
        }
        records.sort_unstable_by(|(a, one), (b, other)| {
            let order = a.cmp(b).then_with(|| one.compare_with(other, from));
            if UP { order } else { order.reverse() }
        });
        let holder = array.at();
        out.extend({ records }.iter().map(|(_, record)| Entry {
            record: record.at(),
            holder,
            version,
        }));
        Ok(())
    }
}
