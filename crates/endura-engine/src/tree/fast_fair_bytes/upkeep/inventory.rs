//! An enumeration, in steps, of all nodes and records of a tree that no thread uses any more, to free them.
//!
//! The enumeration goes level by level from the root down, and from left to right by `sib` alone. So it also meets nodes
//! without a separator, and signposts, whose slots are passed over: what they lead to is also in other nodes.

use crate::Result;
use crate::media::Media;
use crate::space::MapState;
use crate::tree::fast_fair::path::root::Root;
use crate::tree::fast_fair_bytes::nodes::child::child_at;
use crate::tree::fast_fair_bytes::nodes::leaf::record_at;
use crate::tree::fast_fair_bytes::nodes::node::{ByteNode, Link};
use crate::tree::key_word::KeyWord;
use crate::tree::records::record::Record;

/// The position of the enumeration.
#[derive(Debug, Clone, Copy)]
struct Position {
    level: u64,
    /// The next node, or 0 at the end of the level.
    at: u64,
    /// The first child of the level's first node that is no signpost.
    below: Option<u64>,
    /// Whether the next node owns no entry: what its slots hold is also in other nodes, or was never committed.
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
    pub(crate) fn step<M: Media, const INNER: usize, const LEAF: usize, K: KeyWord>(
        &mut self,
        media: &M,
        map: &MapState,
        note: &mut dyn FnMut(u64, u64) -> bool,
        bite: usize,
    ) -> Result<bool> {
        let mut place = match self.0 {
            Some(place) => place,
            None => {
                let root = Root::read(media, map.root())?;
                Position { level: root.level, at: root.at, below: None, owns_nothing: false }
            }
        };
        let mut left = bite;
        while left > 0 {
            left -= 1;
            if place.at != 0 {
                let records = match place.level {
                    0 => pass::<M, LEAF, K>(media, &mut place, note)?,
                    _ => pass::<M, INNER, K>(media, &mut place, note)?,
                };
                left = left.saturating_sub(records);
            } else if let (Some(at), 1..) = (place.below, place.level) {
                place = Position { level: place.level - 1, at, below: None, owns_nothing: false };
            } else {
                return Ok(true);
            }
        }
        self.0 = Some(place);
        Ok(false)
    }
}

/// Passes a node, and the records of a leaf, to `note`, and moves on. Returns the number of records.
fn pass<M: Media, const W: usize, K: KeyWord>(
    media: &M,
    place: &mut Position,
    note: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<usize> {
    let node = ByteNode::<M, W>::enter(media, place.at, place.level)?;
    if !note(place.at, ByteNode::<M, W>::BYTES) {
        return Err(node.corrupt("a node that is reached twice"));
    }
    if let Some(bounds) = node.bounds()? {
        note(bounds.at(), bounds.bytes());
    }
    let link = node.link()?;
    let owned_nothing = place.owns_nothing;
    place.at = link.at();
    place.owns_nothing = match link {
        Link::Splitting(new) => !node.is_split_at::<K>(new)?,
        _ => false,
    };
    if owned_nothing || matches!(link, Link::Replaced(_)) {
        return Ok(0);
    }
    if place.level > 0 {
        // The first slot of an inner node is never moved: its child begins where the node does.
        place.below.get_or_insert(child_at(node.reference(0)));
        return Ok(0);
    }
    let slots = 0..ByteNode::<M, W>::CAP;
    let mut records = 0;
    for slot in slots.take_while(|&slot| node.is_used(slot)) {
        // Of two copies of an entry, the one on the right counts.
        let reference = node.reference(slot);
        if !node.is_used(slot + 1) || node.reference(slot + 1) != reference {
            let record = Record::enter(media, record_at(reference))?;
            note(record.at(), record.bytes());
            records += 1;
        }
    }
    Ok(records)
}
