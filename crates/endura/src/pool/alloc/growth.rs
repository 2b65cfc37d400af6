//! How far a pool may grow while part of its free space is not known.
//!
//! After an unclean end most free space is stranded until the collection has ended. Sessions that are killed
//! before that would each take new pages for what they write, and the pool would grow by that with each of
//! them, however little is in use. So the word GROW_TO says up to how many pages such a session goes on as
//! it is. Beyond, an operation that needs a page has the collection finished first
//! ([`Space::with_room`](super::super::Space::with_room)); from then on all free space is known, and what grows
//! is needed.
//!
//! | when | GROW_TO |
//! | --- | --- |
//! | a session grows that knows all free space; a collection has ended; a clean close with nothing stranded | twice what is in use, and [`SLACK`] |
//! | a session grows that does not | as it was |
//! | a pool of a build that did not know of it | 0: no limit, until one of the above |
//!
//! So a session takes pages beyond that only while it knows all free space, or where somebody stays inside an
//! operation while the collection waits for him, or from inside an operation. The word lies in the line of
//! NEXT_PAGE and is written with it. It is a measure and no claim: any value of it is safe, and nothing waits
//! for it to be durable.

use super::super::layout::{GROW_TO, NEXT_PAGE, PAGE};
use super::Pages;
use super::pages::Stock;
use crate::Result;
use crate::media::{LINE, Media, Ordering, Region};

/// Bytes by which a pool may grow beyond twice what is in use: a page for each of the sizes that most
/// programs use.
pub(super) const SLACK: u64 = 4 * PAGE;

// Flushed with it.
const _: () = assert!(GROW_TO / LINE == NEXT_PAGE / LINE);

/// Bytes in use, caches of threads and what waits in limbo among them; `loose` are free chunks.
pub(super) fn in_use(stock: &Stock, loose: u64) -> u64 {
    // The counts of other threads may be a little behind.
    ((stock.next - stock.free()) * PAGE).saturating_sub(loose)
}

/// Stores how far a session may grow that knows nothing but that so many bytes are in use. The caller
/// flushes a word of the line, or does not care.
pub(super) fn allow<M: Media>(media: &M, in_use: u64) -> Result<()> {
    let pages = in_use.saturating_mul(2).saturating_add(SLACK).div_ceil(PAGE);
    // Relaxed: nothing goes by it in this session, and the next open is alone.
    // equivalent mutant, without: costs space or time: the next session may grow further, or has to wait for its
    // collection sooner.
    Region::new(media, GROW_TO, 1)?.store(0, pages, Ordering::Relaxed);
    Ok(())
}

impl Pages {
    /// From now on the pool grows up to GROW_TO only.
    pub(crate) fn hold_back<M: Media>(&self, media: &M) -> Result<()> {
        // Relaxed: it was written by another session, or by this thread.
        let limit = Region::new(media, GROW_TO, 1)?.load(0, Ordering::Relaxed);
        self.stock.lock().limit = if limit == 0 { u64::MAX } else { limit };
        Ok(())
    }

    /// Whether the pool is held back: see [`hold_back`](Self::hold_back).
    pub(crate) fn is_held_back(&self) -> bool {
        self.stock.lock().limit != u64::MAX
    }

    /// Lets the pool grow as it must.
    pub(crate) fn let_grow(&self) {
        self.stock.lock().limit = u64::MAX;
    }

    /// Says that all free space is known in this session.
    pub(super) fn know_all(&self) {
        let mut stock = self.stock.lock();
        (stock.knows_all, stock.limit) = (true, u64::MAX);
    }

    /// Stores how far the next session may grow if this one, which knows all free space, ends here.
    pub(super) fn allow_growth<M: Media>(&self, media: &M) -> Result<()> {
        let stock = self.stock.lock();
        // Relaxed: a figure.
        allow(media, in_use(&stock, self.loose.load(Ordering::Relaxed)))
    }

    /// Counts bytes of chunks that came to be free in a page in use, or no longer are.
    pub(super) fn count_loose(&self, before: u64, after: u64) {
        // Relaxed: a figure.
        if after > before {
            self.loose.fetch_add(after - before, Ordering::Relaxed);
        } else if before > after {
            self.loose.fetch_sub(before - after, Ordering::Relaxed);
        }
    }
}
