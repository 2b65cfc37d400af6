//! How many entries a map has, where that is known, and having them counted where it is not.
//!
//! Each tree says in its `upkeep/count.rs` which entries its writers count meanwhile, so that none is counted
//! twice or not at all.

use crate::Result;
use crate::media::Media;
use crate::pool::{Counted, OpenMap};
use crate::tree::index::Len;

/// The number of entries of the map that `tree` is made of. Where it is not known the first caller has
/// `count_all` count them, in a thread of its own.
///
/// O(1) but for the caller that there is no thread for: that one counts itself, O(n).
///
/// # Errors
///
/// Those of [`OpenMap::pin`]; of `count_all` where the caller counts.
pub(crate) fn len<M: Media, T: Clone + Send + 'static>(
    open: &OpenMap<M>,
    tree: &T,
    count_all: fn(&T) -> Result<()>,
) -> Result<Len> {
    drop(open.pin()?);
    let map = open.map();
    if map.counted() == Counted::All {
        return Ok(Len::Exact(map.sum()));
    }
    if map.claim_count() {
        let tree_of_thread = tree.clone();
        let thread = std::thread::Builder::new().name("endura-count".to_owned());
        // An error ends the count; the next operation on the map reports it.
        if thread.spawn(move || _ = count_all(&tree_of_thread)).is_err() {
            count_all(tree)?;
            return Ok(Len::Exact(map.sum()));
        }
    }
    Ok(Len::AtLeast(map.sum()))
}
