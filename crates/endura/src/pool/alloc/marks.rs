//! Marks: the chunks of an earlier session that are known to have an owner.

use crate::media::{LINE, Media};
use crate::pool::alloc::bitmap::Bitmap;
use crate::pool::alloc::class::{Class, run_of};
use crate::pool::alloc::events::LeakRecoveryState;
use crate::pool::alloc::header;
use crate::pool::alloc::header::PageKind;
use crate::pool::alloc::pages::Pages;
use crate::pool::layout::PAGE;
use crate::sync::{AtomicBool, AtomicU32, AtomicU64, OnceLock, Ordering};
use crate::{Error, Result};

/// How far the collection after an unclean end has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeakRecovery {
    /// Its phase.
    pub state: LeakRecoveryState,
    /// Pages that there were when the pool was opened, of 2 MiB: those that are looked at.
    pub pages: u64,
    /// Chunks in them that were found in use, or freed by their owners.
    pub chunks_marked: u64,
    /// Pages that were swept.
    pub pages_swept: u64,
    /// Bytes that were given back.
    pub bytes_freed: u64,
}

impl LeakRecovery {
    pub(crate) const NOT_NEEDED: Self = Self {
        state: LeakRecoveryState::NotNeeded,
        pages: 0,
        chunks_marked: 0,
        pages_swept: 0,
        bytes_freed: 0,
    };

    /// Whether nothing is left to do.
    pub fn is_done(&self) -> bool {
        matches!(self.state, LeakRecoveryState::NotNeeded | LeakRecoveryState::Complete)
    }
}

/// One bit for each chunk of the pages that were there when the pool was opened. A bit is set once
/// and for all. Takes between 1/2048 and 1/256 of the memory of a page, from the first mark in it on.
#[derive(Debug)]
pub(crate) struct Marks {
    /// By page; as many as there were.
    pages: Box<[OnceLock<PageMarks>]>,
    state: AtomicU32,
    is_claimed: AtomicBool,
    visits: AtomicU64,
    marked: AtomicU64,
    swept: AtomicU64,
    freed: AtomicU64,
}

#[derive(Debug)]
struct PageMarks {
    /// None: the page has but one bit (a run, or a page of the directory).
    class: Option<Class>,
    words: Box<[AtomicU64]>,
}

impl PageMarks {
    fn new(class: Option<Class>) -> Self {
        let words = class.map_or(1, Bitmap::words_of);
        Self { class, words: (0..words).map(|_| AtomicU64::new(0)).collect() }
    }

    /// Sets a bit; whether it was not set before.
    fn set(&self, bit: usize) -> bool {
        let mask = 1 << (bit % 64);
        let word = &self.words[bit / 64];
        // Relaxed: the sweeping thread waits for the ends of the pins in which bits are set.
        word.load(Ordering::Relaxed) & mask == 0
            && word.fetch_or(mask, Ordering::Relaxed) & mask == 0
    }
}

impl Marks {
    /// No mark in any of `pages` pages.
    pub(crate) fn new(pages: u64) -> Self {
        Self {
            pages: (0..pages).map(|_| OnceLock::new()).collect(),
            state: AtomicU32::new(LeakRecoveryState::Pending as u32),
            is_claimed: AtomicBool::new(false),
            visits: AtomicU64::new(0),
            marked: AtomicU64::new(0),
            swept: AtomicU64::new(0),
            freed: AtomicU64::new(0),
        }
    }

    /// The number of pages when the pool was opened: those from here on are new.
    pub(crate) fn limit(&self) -> u64 {
        self.pages.len() as u64
    }

    /// Marks a chunk of `bytes` bytes, as requested, that a map reaches.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] if there is no such chunk.
    pub(crate) fn reach<M: Media>(
        &self,
        media: &M,
        pages: &Pages,
        at: u64,
        bytes: u64,
    ) -> Result<()> {
        let page = at / PAGE;
        // Of new pages there may be any number while others write.
        if page >= self.limit() {
            return Ok(());
        }
        // Relaxed: a count.
        if self.visits.fetch_add(1, Ordering::Relaxed) > self.limit() * MOST_VISITS {
            return Err(Error::Corrupt { offset: at, what: "a map that does not end" });
        }
        let class = Class::of(bytes);
        let expected =
            class.map_or(PageKind::Large(run_of(bytes)), |class| PageKind::Slab(class.size()));
        let fits = page != 0 && header::read(media, page)? == expected;
        // A page that was free in between may have marks for chunks of another size.
        match fits && (self.set(at, class) || !pages.is_left_over(page)) {
            true => Ok(()),
            false => Err(Error::Corrupt { offset: at, what: "a reached chunk that is none" }),
        }
    }

    /// Marks a chunk whose owner is about to free it, or to take it from where it can be reached.
    #[inline]
    pub(crate) fn keep(&self, at: u64, bytes: u64) {
        // Relaxed: a mark that is not needed any more does no harm.
        if at / PAGE < self.limit() && self.state.load(Ordering::Relaxed) < ENDED {
            // A chunk that does not fit is not of an old page, or the error shows when it is freed.
            self.set(at, Class::of(bytes));
        }
    }

    /// Marks a page that is of one piece.
    pub(crate) fn keep_page(&self, page: u64) {
        if page < self.limit() {
            self.set(page * PAGE + LINE, None);
        }
    }

    /// Marks the chunks of a page that are known to be free: to be handed out, not to be freed.
    pub(crate) fn keep_free(&self, class: Class, page: u64, free: &Bitmap) {
        let Some(page) = self.pages.get(page as usize) else { return };
        let marks = page.get_or_init(|| PageMarks::new(Some(class)));
        for (marks, free) in marks.words.iter().zip(free.words()) {
            marks.fetch_or(*free, Ordering::Relaxed);
        }
    }

    /// Sets the bit of a chunk in an old page; `false` if the page has no such chunk.
    fn set(&self, at: u64, class: Option<Class>) -> bool {
        let bit = match class {
            Some(class) => class.number(at % PAGE),
            None => (at % PAGE == LINE).then_some(0),
        };
        let (Some(bit), Some(page)) = (bit, self.pages.get((at / PAGE) as usize)) else {
            return false;
        };
        let marks = page.get_or_init(|| PageMarks::new(class));
        if marks.class != class {
            return false;
        }
        if marks.set(bit) {
            self.marked.fetch_add(1, Ordering::Relaxed);
        }
        true
    }

    /// Whether a page of one piece is marked.
    pub(crate) fn has_page(&self, page: u64) -> bool {
        let marks = self.pages.get(page as usize).and_then(OnceLock::get);
        marks.is_some_and(|marks| {
            marks.class.is_none() && marks.words[0].load(Ordering::Relaxed) != 0
        })
    }

    /// The chunks of a page of this class that have no mark, as free ones; `None` if there were marks
    /// of another class in it.
    pub(crate) fn unmarked(&self, class: Class, page: u64) -> Option<Bitmap> {
        let all = Bitmap::all_free(class);
        let Some(marks) = self.pages.get(page as usize).and_then(OnceLock::get) else {
            return Some(all);
        };
        if marks.class != Some(class) {
            return None;
        }
        let unmarked = |(all, marks): (&u64, &AtomicU64)| all & !marks.load(Ordering::Relaxed);
        let words = all.words().iter().zip(&marks.words).map(unmarked).collect();
        Bitmap::from_words(class, words)
    }

    /// Whether the caller is the first that wants to collect. A second sweep would free what was
    /// handed out since the first.
    pub(crate) fn claim(&self) -> bool {
        // Relaxed: the collection has its own lock.
        !self.is_claimed.swap(true, Ordering::Relaxed)
    }

    /// Whether that is another state than before.
    pub(crate) fn enter(&self, state: LeakRecoveryState) -> bool {
        // Release: a thread that sees that all is done sees the counts.
        self.state.swap(state as u32, Ordering::Release) != state as u32
    }

    /// Gives the collection up: unmarked chunks will not be freed.
    pub(crate) fn give_up(&self) {
        let _ = self.enter(LeakRecoveryState::Failed);
    }

    pub(crate) fn note_swept(&self, pages: u64, bytes: u64) {
        self.swept.fetch_add(pages, Ordering::Relaxed);
        self.freed.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn state(&self) -> LeakRecoveryState {
        let states = [
            LeakRecoveryState::NotNeeded,
            LeakRecoveryState::Pending,
            LeakRecoveryState::Marking,
            LeakRecoveryState::Waiting,
            LeakRecoveryState::Sweeping,
            LeakRecoveryState::Complete,
            LeakRecoveryState::Failed,
        ];
        states[self.state.load(Ordering::Acquire) as usize]
    }

    /// How far the collection has come.
    pub(crate) fn progress(&self) -> LeakRecovery {
        LeakRecovery {
            state: self.state(),
            pages: self.limit(),
            chunks_marked: self.marked.load(Ordering::Relaxed),
            pages_swept: self.swept.load(Ordering::Relaxed),
            bytes_freed: self.freed.load(Ordering::Relaxed),
        }
    }
}

/// How often walks come to chunks of an old page, at the most: a thousand times to each place. Those that are
/// met again count. More are met only where words lead to one place in many ways.
const MOST_VISITS: u64 = PAGE / 32 * 1024;

/// From this state on marks are not looked at any more.
const ENDED: u32 = LeakRecoveryState::Complete as u32;
