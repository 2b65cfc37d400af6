//! An enumeration, in steps, of all nodes of a tree that no thread uses any more, to free them.
//!
//! The enumeration goes level by level from the root down, and from left to right by `sib` alone. So it also meets
//! siblings that own nothing, which an interrupted split or merge leaves.

use crate::Result;
use crate::media::Media;
use crate::space::MapState;
use crate::tree::fast_fair::nodes::node::Node;
use crate::tree::fast_fair::path::root::Root;

/// The position of the enumeration.
#[derive(Debug, Clone, Copy)]
struct Position {
    level: u64,
    /// The next node, or 0 at the end of the level.
    at: u64,
    /// The first node of the level.
    first: u64,
}

/// The enumeration. By default it has not started.
#[derive(Debug, Default)]
pub(crate) struct Inventory(Option<Position>);

impl Inventory {
    /// Takes `bite` steps; each passes a node to `note`, or moves to the next level. Returns whether the enumeration
    /// has ended.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`](crate::Error::Corrupt) if a word leads to no node, or back to a node that was passed.
    pub(crate) fn step<M: Media, const INNER: usize, const LEAF: usize>(
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
                Position { level: root.level, at: root.at, first: root.at }
            }
        };
        for _ in 0..bite {
            if place.at != 0 {
                place.at = match place.level {
                    0 => pass::<M, LEAF>(media, place, note)?,
                    _ => pass::<M, INNER>(media, place, note)?,
                };
            } else if place.level == 0 {
                return Ok(true);
            } else {
                // The first record of an inner node is never moved: its key is the node's `low`.
                let child = Node::<M, INNER>::enter(media, place.first, place.level)?.value(0);
                place = Position { level: place.level - 1, at: child, first: child };
            }
        }
        self.0 = Some(place);
        Ok(false)
    }
}

/// Passes a node to `note`, and returns the next one.
fn pass<M: Media, const W: usize>(
    media: &M,
    place: Position,
    note: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<u64> {
    let node = Node::<M, W>::enter(media, place.at, place.level)?;
    if note(place.at, Node::<M, W>::BYTES) {
        Ok(node.sibling()?.at)
    } else {
        Err(node.corrupt("a node that is reached twice"))
    }
}
