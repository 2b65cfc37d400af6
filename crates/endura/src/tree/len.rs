//! How many entries a map has, where that is known, and having them counted where it is not.
//!
//! Each tree says in its `upkeep/count.rs` which entries its writers count meanwhile, so that none is counted
//! twice or not at all.

use std::time::Duration;

use crate::Result;
use crate::media::Media;
use crate::pool::{Counted, MapState, OpenMap};
use crate::sync;
use crate::tree::index::Len;

/// Between two looks at a count that another thread is at.
const SHORTEST_PAUSE: Duration = Duration::from_micros(50);
const LONGEST_PAUSE: Duration = Duration::from_millis(5);

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
    if map.claim_background_count() {
        let (tree_of_thread, open_of_thread) = (tree.clone(), open.clone());
        let thread = std::thread::Builder::new().name("endura-count".to_owned());
        let count = move || {
            let _claim = Claim(open_of_thread.map());
            // An error ends the count; who asks for an exact number counts then, and is told of it.
            let _ = count_all(&tree_of_thread);
        };
        if thread.spawn(count).is_err() {
            let _claim = Claim(map);
            count_all(tree)?;
            return Ok(Len::Exact(map.sum()));
        }
    }
    Ok(Len::AtLeast(map.sum()))
}

/// The same, counted first where it is not known: by the caller, unless another thread does it already. O(n) then.
///
/// # Errors
///
/// Those of [`OpenMap::pin`], and of `count_all`.
pub(crate) fn exact_len<M: Media, T>(
    open: &OpenMap<M>,
    tree: &T,
    count_all: fn(&T) -> Result<()>,
) -> Result<u64> {
    let map = open.map();
    let mut pause = SHORTEST_PAUSE;
    loop {
        // Where the map was dropped or the pool closed, nobody counts any more.
        drop(open.pin()?);
        if map.counted() == Counted::All {
            return Ok(map.sum());
        }
        if map.claim_count() {
            let _claim = Claim(map);
            count_all(tree)?;
        } else {
            // Who counts gets on: it pins a bite at a time, and gives the claim back when it fails.
            sync::rest(Some(pause));
            pause = (2 * pause).min(LONGEST_PAUSE);
        }
    }
}

/// The right to count, which is given back at the end, whatever that is.
struct Claim<'m>(&'m MapState);

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.0.give_back_count();
    }
}
