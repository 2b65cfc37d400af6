//! A walk over the records of the leaves, for [scans](crate::tree::records::scan).
//!
//! A leaf is noted in the order of its keys, as a scan of numbers notes it. A noted record is in the map as long as its slot
//! is LIVE and leads to it; and no key has come in between as long as the control word of the leaf is the same, for then no
//! slot was claimed. So the version of a leaf is its control word, and beside each record its slot is noted. If a claimed
//! slot may still become an entry, the order of a leaf serves one call only, and the leaf has no version that lasts.

use std::ops::Bound;

use crate::media::{Media, Region};
use crate::space::{Guard, OpenMap};
use crate::sync::{Ordering, fence};
use crate::tree::key_word::KeyWord;
use crate::tree::records::scan::noted::{Batch, Holds, noted_in_slot, offset_of, slot_of};
use crate::tree::records::scan::scan::{self, Walk, Walked};
use crate::{Error, Result};

use crate::tree::nbtree::blocks::block::Block;
use crate::tree::nbtree::design::Strings;
use crate::tree::nbtree::keys::fences::ByteFence;
use crate::tree::nbtree::keys::form::KeyForm;
use crate::tree::nbtree::keys::strings::{ByteKeys, ByteSought, record_at};
use crate::tree::nbtree::metadata::control::Control;
use crate::tree::nbtree::read::lookup::CurrentLeaf;
use crate::tree::nbtree::read::order::Order;
use crate::tree::nbtree::strings::tree::ByteTree;

/// The version of a leaf whose records were noted: its number and control word. `None` if its order does not last.
pub(crate) type LeafVersion = Option<(u32, Control)>;

/// A position in a scan in one direction. A new cursor starts at the bounds of its first call.
#[derive(Default)]
pub struct ByteCursor(pub(crate) scan::Cursor<LeafVersion>);

/// Where a walk goes on.
enum Next {
    /// At the bound of the walk.
    First,
    /// At the leaf that begins at this fence, or ends there, or where its keys are by now.
    From(ByteFence),
    Nowhere,
}

/// A walk over records in key order.
pub(crate) struct LeafWalk<
    'g,
    'b,
    M: Media,
    const W: usize,
    const FANOUT: usize,
    K: KeyWord,
    const UP: bool,
> {
    tree: &'g ByteTree<M, W, FANOUT, K>,
    guard: &'g Guard<'g, M>,
    bound: Bound<&'b [u8]>,
    next: Next,
}

impl<'g, M: Media, const W: usize, const FANOUT: usize, K: KeyWord, const UP: bool>
    LeafWalk<'g, '_, M, W, FANOUT, K, UP>
{
    /// Notes the records of the next leaf, and finds where the one behind it begins, or ends.
    fn note_leaf(&mut self, batch: &mut Batch<LeafVersion>) -> Result<()> {
        let next = std::mem::replace(&mut self.next, Next::Nowhere);
        let aim = match (&next, self.bound) {
            (Next::From(fence), _) if UP => ByteKeys::<K>::at(fence),
            (Next::From(fence), _) => ByteKeys::<K>::below(fence),
            (_, Bound::Included(key) | Bound::Excluded(key)) => ByteSought::leaf_at(key),
            (_, Bound::Unbounded) if UP => ByteSought::leaf_at(&[]),
            (_, Bound::Unbounded) => ByteSought::last(),
        };
        let (media, tree) = (self.guard.media(), self.tree);
        let way = tree.meta.descend_to_block(media, tree.top(0)?, aim);
        tree.meta.leaves.get(way.0).prefetch();
        Block::<M, W, ByteKeys<K>>::prefetch(media, way.1);
        let place = tree.enter(self.guard, way)?;
        // The control word is read before the words of the slots: a later claim changes the control word.
        let (control, mut order) = (place.leaf.control(), Order::default());
        let is_decided = place.read_order(control, &mut order)?;
        if !UP {
            order.reverse();
        }
        // In a leaf that begins and ends at the fences of the one that was there, all entries are ahead.
        let [low, high] = place.fences()?;
        let is_ahead_of = |fence: &ByteFence| if UP { low == *fence } else { high == *fence };
        let edge = match &next {
            Next::From(fence) if is_ahead_of(fence) => None,
            Next::From(_) => Some(true),
            _ if matches!(self.bound, Bound::Unbounded) => None,
            _ => Some(false),
        };
        note_slots::<M, W, K, UP>(&place, &order, edge.map(|is_exact| (aim, is_exact)), batch)?;
        batch.held_by(place.block.offset(), is_decided.then_some((place.number, control)));
        if media.needs_flush() && place.leaf.is_in_flight() {
            // The result rests also on every slot that is not an entry.
            place.block.help_flush();
        }
        let onward = if UP { high } else { low };
        // Without this check, a scan of a damaged map might never end.
        if let Next::From(fence) = &next
            && if UP { onward <= *fence } else { onward >= *fence }
        {
            let what = "a block that does not come next";
            return Err(Error::Corrupt { offset: place.block.offset(), what });
        }
        if onward != (if UP { ByteKeys::<K>::end() } else { ByteKeys::<K>::first() }) {
            self.next = Next::From(onward);
        }
        Ok(())
    }
}

/// Notes the records of the slots of an order. Those on the other side of the `edge` are left out: all of them, if it
/// `is_exact`, otherwise those whose images say so. (Those before the bound of a scan are passed over when they are shown.)
fn note_slots<M: Media, const W: usize, K: KeyWord, const UP: bool>(
    place: &CurrentLeaf<'_, '_, M, W, Strings<K>>,
    order: &Order,
    edge: Option<(ByteSought<'_>, bool)>,
    batch: &mut Batch<LeafVersion>,
) -> Result<()> {
    let (media, extent) = (place.block.media(), place.leaf.extent());
    let edge = edge.map(|(key, is_exact)| (ByteKeys::<K>::image(|| extent, key), key, is_exact));
    batch.reserve(Block::<M, W, ByteKeys<K>>::CAPACITY);
    for slot in order.iter() {
        let Some(image) = place.block.word(slot).live_key() else { continue };
        // The value is loaded after the word said LIVE, so that the pin protects its record.
        let value = place.block.value(slot);
        let is_ahead = match edge {
            None => true,
            Some((edge, ..)) if image != edge => (image > edge) == UP,
            Some((_, _, false)) => true,
            Some((_, key, true)) => {
                ByteKeys::<K>::is_ahead::<M, UP>(media, extent, (image, || value), key)?
            }
        };
        if is_ahead {
            batch.push(noted_in_slot(record_at(value), slot));
        }
    }
    Ok(())
}

impl<M: Media, const W: usize, const FANOUT: usize, K: KeyWord, const UP: bool> Walk<LeafVersion>
    for LeafWalk<'_, '_, M, W, FANOUT, K, UP>
{
    fn has_moved(&self) -> bool {
        false
    }

    fn has_ended(&self) -> bool {
        matches!(self.next, Next::Nowhere)
    }

    fn note(&mut self, batch: &mut Batch<LeafVersion>, want: usize) -> Result<()> {
        let end = batch.len() + want;
        while batch.len() < end && !self.has_ended() {
            self.note_leaf(batch)?;
        }
        Ok(())
    }

    fn ask_ahead(&mut self, _: usize) -> Result<()> {
        Ok(())
    }
}

impl<M: Media, const W: usize, const FANOUT: usize, K: KeyWord> Holds<M, LeafVersion>
    for ByteTree<M, W, FANOUT, K>
{
    #[inline]
    fn still_holds(&self, holder: &Region<'_, M>, version: LeafVersion, noted: u64) -> bool {
        let Some((number, control)) = version else { return false };
        let (Some(leaf), Some(block)) = (
            self.meta.leaves.get_made(number),
            Block::<M, W, ByteKeys<K>>::within(holder.media(), holder.offset()),
        ) else {
            return false;
        };
        // The fence orders the loads before it before those behind it, which are Acquire.
        fence(Ordering::Acquire);
        let slot = slot_of(noted);
        let (word, value) = (block.word(slot), block.value(slot));
        // The two words of the leaf are read after the words of the slot.
        word.live_key().is_some()
            && record_at(value) == offset_of(noted)
            && !(holder.media().needs_flush() && leaf.is_in_flight())
            && leaf.control() == control
    }
}

impl<M: Media, const W: usize, const FANOUT: usize, K: KeyWord> Walked
    for ByteTree<M, W, FANOUT, K>
{
    type Medium = M;
    type Version = LeafVersion;
    type Walk<'g, 'b, const UP: bool> = LeafWalk<'g, 'b, M, W, FANOUT, K, UP>;

    #[inline(always)]
    fn open_map(&self) -> &OpenMap<M> {
        &self.open
    }

    fn walk<'g, 'b, const UP: bool>(
        &'g self,
        guard: &'g Guard<'g, M>,
        first: Bound<&'b [u8]>,
    ) -> Result<Self::Walk<'g, 'b, UP>> {
        Ok(LeafWalk { tree: self, guard, bound: first, next: Next::First })
    }
}
