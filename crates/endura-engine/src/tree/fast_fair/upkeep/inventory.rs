//! An enumeration, in steps, of all nodes of a tree that no thread uses any more, and of its records, to free them.
//!
//! The enumeration goes level by level from the root down, and from left to right by `sib` alone. So it also meets
//! siblings that own nothing, which an interrupted split or merge leaves.

use crate::Result;
use crate::media::Media;
use crate::space::MapState;
use crate::tree::fast_fair::nodes::header::Tag;
use crate::tree::fast_fair::nodes::node::Node;
use crate::tree::fast_fair::path::root::Root;
use crate::tree::numbers::Values;
use crate::tree::record_tree::note_record;

/// The position of the enumeration.
#[derive(Debug, Clone, Copy)]
struct Position {
    level: u64,
    /// The next node, or 0 at the end of the level.
    at: u64,
    /// The first node of the level.
    first: u64,
    /// Whether the next node owns no entry: what its slots hold is also in other nodes.
    owns_nothing: bool,
}

/// The enumeration. By default it has not started.
#[derive(Debug, Default)]
pub(crate) struct Inventory(Option<Position>);

impl Inventory {
    /// Takes about `bite` steps; each passes a node or a record to `note`, or moves to the next level. Returns whether the
    /// enumeration has ended.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`](crate::Error::Corrupt) if a word leads to no node, or back to a node that was passed.
    pub(crate) fn step<M: Media, const INNER: usize, const LEAF: usize>(
        &mut self,
        media: &M,
        map: &MapState,
        values: Values,
        note: &mut dyn FnMut(u64, u64) -> bool,
        bite: usize,
    ) -> Result<bool> {
        let mut place = match self.0 {
            Some(place) => place,
            None => {
                let root = Root::read(media, map.root())?;
                Position { level: root.level, at: root.at, first: root.at, owns_nothing: false }
            }
        };
        let mut left = bite;
        while left > 0 {
            left -= 1;
            if place.at != 0 {
                if place.level == 0 && values == Values::Records && !place.owns_nothing {
                    let records = note_records::<M, LEAF>(media, place, note)?;
                    left = left.saturating_sub(records);
                }
                (place.at, place.owns_nothing) = match place.level {
                    0 => pass::<M, LEAF>(media, place, note)?,
                    _ => pass::<M, INNER>(media, place, note)?,
                };
            } else if place.level == 0 {
                return Ok(true);
            } else {
                // The first record of an inner node is never moved: its key is the node's `low`.
                let child = Node::<M, INNER>::enter(media, place.first, place.level)?.value(0);
                let level = place.level - 1;
                place = Position { level, at: child, first: child, owns_nothing: false };
            }
        }
        self.0 = Some(place);
        Ok(false)
    }
}

/// Passes the records of a leaf to `note`. Returns their number.
fn note_records<M: Media, const W: usize>(
    media: &M,
    place: Position,
    note: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<usize> {
    let node = Node::<M, W>::enter(media, place.at, 0)?;
    let (fences, cap) = (node.fences(), Node::<M, W>::CAP);
    let width = fences.last().wrapping_sub(fences.low);
    let is_live = |slot: usize| slot < cap && node.key(slot).wrapping_sub(fences.low) <= width;
    let mut records = 0;
    for slot in (0..cap).take_while(|&slot| is_live(slot)) {
        // Of two copies of an entry, the one on the right counts.
        if !is_live(slot + 1) || node.key(slot + 1) != node.key(slot) {
            note_record(media, node.value(slot), note)?;
            records += 1;
        }
    }
    Ok(records)
}

/// Passes a node to `note`. Returns the next one, and whether that owns no entry.
fn pass<M: Media, const W: usize>(
    media: &M,
    place: Position,
    note: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<(u64, bool)> {
    let node = Node::<M, W>::enter(media, place.at, place.level)?;
    if !note(place.at, Node::<M, W>::BYTES) {
        return Err(node.corrupt("a node that is reached twice"));
    }
    let (sibling, high) = (node.sibling()?, node.high());
    let other = || Node::<M, W>::enter(media, sibling.at, place.level);
    let owns_nothing = match sibling.tag {
        Tag::Normal => false,
        Tag::Splitting => other()?.low() != high,
        Tag::Merging => other()?.high() == high,
    };
    Ok((sibling.at, owns_nothing))
}
