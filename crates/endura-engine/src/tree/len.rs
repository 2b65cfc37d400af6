//! The number of entries of a map, and the count that determines this number if it is not known.
//!
//! The file `upkeep/count.rs` of each tree says which entries the writers of that tree count while a thread runs this
//! count, so that every entry is counted exactly once.

use std::time::Duration;

use crate::media::Media;
use crate::runtime::threads;
use crate::space::{Counted, MapState, OpenMap};
use crate::sync;
use crate::tree::index::Len;
use crate::{Error, Result};

/// The shortest pause between two looks at the count of another thread.
const SHORTEST_PAUSE: Duration = Duration::from_micros(50);
const LONGEST_PAUSE: Duration = Duration::from_millis(5);

/// The number of entries of the map of `tree`. If it is not known, the first caller starts a thread that runs
/// `count_all`.
///
/// O(1). If no thread can be started, the caller counts itself: O(n).
///
/// # Errors
///
/// Those of [`OpenMap::pin`]; those of `count_all` if the caller counts.
pub(crate) fn len<M: Media, T: Clone + Send + 'static>(
    open: &OpenMap<M>,
    tree: &T,
    count_all: fn(&T) -> Result<()>,
) -> Result<Len> {
    match known_or_claimed(open)? {
        Some(len) => Ok(len),
        None => {
            let (of_thread, open_of_thread) = (tree.clone(), open.clone());
            let count = Box::new(move || {
                let _claim = Claim(open_of_thread.map());
                // An error ends the count. A caller of `exact_len` then counts itself, and gets the error.
                open_of_thread.space().note_result(count_all(&of_thread));
            });
            let has_thread = threads::start("endura-count", count).is_ok();
            begun(open, has_thread, &|| count_all(tree))
        }
    }
}

/// The number of entries as it is known now. `None` if the caller has claimed the count.
fn known_or_claimed<M: Media>(open: &OpenMap<M>) -> Result<Option<Len>> {
    drop(open.pin()?);
    let map = open.map();
    if map.counted() == Counted::All {
        return Ok(Some(Len::Exact(map.sum())));
    }
    Ok(if map.claim_background_count() { None } else { Some(Len::AtLeast(map.sum())) })
}

/// The number of entries after a thread has begun to count them, if it `has_thread`; otherwise the caller counts.
fn begun<M: Media>(
    open: &OpenMap<M>,
    has_thread: bool,
    count_all: &dyn Fn() -> Result<()>,
) -> Result<Len> {
    let map = open.map();
    if has_thread {
        return Ok(Len::AtLeast(map.sum()));
    }
    let _claim = Claim(map);
    count_all().map_err(|error| open.space().noted(error))?;
    Ok(Len::Exact(map.sum()))
}

/// As [`len`], but if the number is not known, the entries are counted first: O(n), by the caller, unless another
/// thread is already counting.
///
/// # Errors
///
/// Those of [`OpenMap::pin`], and of `count_all`.
pub(crate) fn exact_len<M: Media, T>(
    open: &OpenMap<M>,
    tree: &T,
    count_all: fn(&T) -> Result<()>,
) -> Result<u64> {
    exact_len_dyn(open, &|| count_all(tree))
}

fn exact_len_dyn<M: Media>(open: &OpenMap<M>, count_all: &dyn Fn() -> Result<()>) -> Result<u64> {
    let map = open.map();
    let mut pause = SHORTEST_PAUSE;
    loop {
        // If the map was dropped or the pool closed, no thread counts any more.
        drop(open.pin()?);
        if map.counted() == Counted::All {
            return Ok(map.sum());
        }
        if map.claim_count() {
            let _claim = Claim(map);
            count_all().map_err(|error| open.space().noted(error))?;
        } else {
            // The counting thread makes progress: it pins for a bounded time, and releases its claim when it fails.
            sync::rest(Some(pause));
            pause = (2 * pause).min(LONGEST_PAUSE);
        }
    }
}

/// Compares the number of entries that a pass over the whole map has found with the known number. Compares them only in
/// read-only sessions: while writers run, the known number changes during the pass.
///
/// # Errors
///
/// [`Error::Corrupt`] if they differ.
pub(crate) fn check_len<M: Media>(open: &OpenMap<M>, found: u64) -> Result<()> {
    let map = open.map();
    let is_known = open.space().session().read_only && map.counted() == Counted::All;
    if !is_known || map.sum() == found {
        return Ok(());
    }
    let what = match found < map.sum() {
        true => "a map in which fewer entries are found than are recorded",
        false => "a map in which more entries are found than are recorded",
    };
    Err(open.space().noted(Error::Corrupt { offset: map.entry(), what }))
}

/// The right to count the entries of a map. The right is released when the claim is dropped, also after an error or a
/// panic.
struct Claim<'m>(&'m MapState);

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.0.give_back_count();
    }
}
