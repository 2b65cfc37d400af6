//! What depends on the kind of a map, where that is known when it runs only.

use crate::kind::Kind;
use crate::media::Media;
use crate::pool::{Guard, MapState};
use crate::store::{fast_fair, nbtree};
use crate::tree::{self, TreeCheck, roart};
use crate::{Error, Result};

/// Checks the tree of `map` and tells `visit` of every node: its offset and its bytes.
pub(crate) fn check_tree<M: Media>(
    guard: &Guard<'_, M>,
    map: &MapState,
    visit: &mut dyn FnMut(u64, u64),
) -> Result<TreeCheck> {
    match Kind::numbered(map.kind()) {
        Some(Kind::FastFair) => {
            let mut nodes = Vec::new();
            let mut note = |at, bytes| {
                nodes.push(at);
                visit(at, bytes);
            };
            let found = fast_fair::check_tree(guard, map, &mut note)?;
            nodes.into_iter().try_for_each(|at| tree::fast_fair::check_lock(guard, at))?;
            Ok(found)
        }
        Some(Kind::NbTree) if map.parameters() == nbtree::WORDS as u64 => {
            tree::nbtree::check_tree::<M, { nbtree::WORDS }>(guard, map, visit)
        }
        Some(Kind::Roart) if map.parameters() == roart::PARAMETERS => {
            let found = roart::check_tree(guard, map.root(), visit)?;
            Ok(TreeCheck { nodes: found.nodes + found.arrays, ..found })
        }
        _ => unknown(map),
    }
}

fn unknown<T>(map: &MapState) -> Result<T> {
    Err(Error::Corrupt { offset: map.entry(), what: "a map of an unknown kind" })
}

/// Tells of the chunks of a dropped map.
pub(crate) fn inventory<M: Media>()
-> impl FnMut(&M, &MapState, &mut dyn FnMut(u64, u64) -> bool, usize) -> Result<bool> {
    let mut fast_fair = tree::fast_fair::Inventory::default();
    let mut nbtree = tree::nbtree::Inventory::default();
    let mut roart = roart::Inventory::default();
    move |media, map, note, bite| match Kind::numbered(map.kind()) {
        Some(Kind::FastFair) => fast_fair::inventory(&mut fast_fair, media, map, note, bite),
        Some(Kind::NbTree) if map.parameters() == nbtree::WORDS as u64 => {
            nbtree.step::<M, { nbtree::WORDS }>(media, map, note, bite)
        }
        Some(Kind::Roart) if map.parameters() == roart::PARAMETERS => {
            roart.step(media, map, note, bite)
        }
        _ => unknown(map),
    }
}

/// Makes every lock word of a map void, as after a crash; the caller fences.
pub(crate) fn void_locks<M: Media>(guard: &Guard<'_, M>, map: &MapState) -> Result<()> {
    match Kind::numbered(map.kind()) {
        Some(Kind::FastFair) => {
            let mut nodes = Vec::new();
            fast_fair::check_tree(guard, map, &mut |at, _| nodes.push(at))?;
            nodes.into_iter().try_for_each(|at| tree::fast_fair::void_lock(guard, at))
        }
        // Has no locks.
        Some(Kind::NbTree) => Ok(()),
        Some(Kind::Roart) => roart::void_locks(guard, map.root()),
        None => unknown(map),
    }
}
