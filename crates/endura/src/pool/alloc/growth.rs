//! The limit of growth while part of a pool's free space is not known.
//!
//! After an unclean end most free space is stranded until the collection has ended. Sessions that are killed
//! before that would each take new pages for their writes, and each would make the pool grow, however little is in use.
//! So the word GROW_TO limits the pages up to which such a session grows. An operation that needs a page beyond finishes
//! the collection first ([`Space::with_room`](super::super::Space::with_room)). From then on all free space is known,
//! and growth is needed.
//!
//! | when | GROW_TO |
//! | --- | --- |
//! | a session grows that knows all free space; a collection has ended; a clean close with nothing stranded | twice what is in use, and [`SLACK`] |
//! | a session grows that does not | as it was |
//! | a pool of a build that did not know of it | 0: no limit, until one of the above |
//!
//! So a session takes pages beyond that only in three cases: it knows all free space, the collection waits for a thread
//! that stays inside an operation, or the call comes from inside an operation. The word is in the line of NEXT_PAGE and
//! is written with it. It is a figure: any value of it is safe, and nothing waits for it to be durable.

use crate::Result;
use crate::media::{LINE, Media, Ordering, Region};
use crate::pool::layout::{GROW_TO, NEXT_PAGE, PAGE};

/// Bytes by which a pool may grow beyond twice what is in use: a page for each of the sizes that most
/// programs use.
pub(crate) const SLACK: u64 = 4 * PAGE;

// Flushed with it.
const _: () = assert!(GROW_TO / LINE == NEXT_PAGE / LINE);

/// Stores how far the next session may grow without knowing its free space, given the bytes in use now. The caller
/// flushes a word of the line if the value should survive.
pub(crate) fn allow<M: Media>(media: &M, in_use: u64) -> Result<()> {
    let pages = in_use.saturating_mul(2).saturating_add(SLACK).div_ceil(PAGE);
    // Relaxed: nothing goes by it in this session, and the next open is alone.
    // equivalent mutant, without: costs space or time: the next session may grow further, or has to wait for its
    // collection sooner.
    Region::new(media, GROW_TO, 1)?.store(0, pages, Ordering::Relaxed);
    Ok(())
}
