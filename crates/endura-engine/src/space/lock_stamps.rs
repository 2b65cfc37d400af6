//! The set of lock words that this session has set.
//!
//! A lock word carries the generation of the session that set it last. If the word is locked in the present generation,
//! a thread of this process holds the lock, and a writer may wait for it. But in a pool that no correct run has
//! written, a word may carry this generation from the start. (An example is a copy that was begun while the pool was
//! closed and ended when it was open.) No thread holds such a lock, and a writer would wait for ever.
//!
//! So a tree notes here each lock word that it is about to set for the first time in a session, or to make. A writer
//! that would have to wait looks here, and returns [`Error::Corrupt`](crate::Error::Corrupt) if the word was not noted.
//!
//! There is one bit for each line. The bits of a page are allocated when they are first needed, and take 1/512 of the
//! memory of the pages in which this session has written to nodes. A bit is never cleared.

use crate::media::LINE;
use crate::space::layout::PAGE;
use crate::sync::{AtomicU64, OnceLock, Ordering};

/// Words of the bits for the lines of a page.
const WORDS: usize = (PAGE / LINE / 64) as usize;
/// The number of buckets. Each bucket holds as many pages as all buckets before it together, and one more. 2^26 pages
/// are more than a pool can have.
const BUCKETS: usize = 27;

type Lines = [AtomicU64; WORDS];
type Bucket = Box<[OnceLock<Box<Lines>>]>;

/// The lines in which this session has set lock words.
#[derive(Debug)]
pub(crate) struct Stamps {
    buckets: [OnceLock<Bucket>; BUCKETS],
}

/// The bucket of a page, and the page's place in that bucket.
fn place(page: u64) -> (usize, usize) {
    let number = page.saturating_add(1);
    let bucket = number.ilog2();
    (bucket as usize, (number - (1 << bucket)) as usize)
}

/// The word of the line at `at`, and its bit.
fn bit(at: u64) -> (usize, u64) {
    let line = at % PAGE / LINE;
    ((line / 64) as usize, 1 << (line % 64))
}

impl Stamps {
    pub(crate) fn new() -> Self {
        Self { buckets: [const { OnceLock::new() }; BUCKETS] }
    }

    /// Notes that a word in the line at `at` is about to be set. It must be called before any other thread can see the
    /// word.
    pub(crate) fn note(&self, at: u64) {
        let (bucket, page) = place(at / PAGE);
        let (word, mask) = bit(at);
        let Some(pages) = self.buckets.get(bucket) else { return };
        let pages = pages.get_or_init(|| (0..1_u64 << bucket).map(|_| OnceLock::new()).collect());
        let Some(lines) = pages.get(page) else { return };
        let lines = lines.get_or_init(|| Box::new(std::array::from_fn(|_| AtomicU64::new(0))));
        // Relaxed: the lock word, or the word that leads to it, is stored or exchanged with Release afterwards. A
        // thread that sees that store sees the bit.
        if lines[word].load(Ordering::Relaxed) & mask == 0 {
            lines[word].fetch_or(mask, Ordering::Relaxed);
        }
    }

    /// Whether a word in the line at `at` was noted. It must be called after the lock word was loaded.
    pub(crate) fn has(&self, at: u64) -> bool {
        let (bucket, page) = place(at / PAGE);
        let (word, mask) = bit(at);
        let pages = self.buckets.get(bucket).and_then(OnceLock::get);
        let lines = pages.and_then(|pages| pages.get(page)).and_then(OnceLock::get);
        // Relaxed: the load of the lock word was Acquire.
        lines.is_some_and(|lines| lines[word].load(Ordering::Relaxed) & mask != 0)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_noted_and_no_other() {
        let stamps = Stamps::new();
        let places = [0, LINE, 63 * LINE, PAGE - LINE, PAGE, 6 * PAGE + 64 * LINE, 1 << 45];
        for (i, &at) in places.iter().enumerate() {
            assert!(places[i..].iter().all(|&at| !stamps.has(at)), "{at:#x}");
            stamps.note(at);
            stamps.note(at + 8);
            assert!(places[..=i].iter().all(|&at| stamps.has(at) && stamps.has(at + 56)));
        }
        // No page lies there: neither call does any harm.
        stamps.note(u64::MAX);
        assert!(!stamps.has(u64::MAX));
    }
}
