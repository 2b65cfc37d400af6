//! Marks: which chunks of earlier sessions are known to have an owner.

use crate::media::LINE;
use crate::space::alloc::bitmap::Bitmap;
use crate::space::alloc::class::Room;
use crate::space::alloc::events::LeakRecoveryState;
use crate::space::alloc::old_spans::{LeftOver, Old, OldSpan};
use crate::space::alloc::pages::Pages;
use crate::space::layout::{UNIT, UNITS};
use crate::sync::{AtomicBool, AtomicU32, AtomicU64, OnceLock, Ordering};
use crate::{Error, Result};

/// The progress of the leak recovery after an unclean end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeakRecovery {
    /// The phase of the leak recovery.
    pub state: LeakRecoveryState,
    /// Bytes of all spans that were in use when the pool was opened. The leak recovery looks at these spans.
    pub bytes: u64,
    /// Chunks in those spans that were found in use, or freed by their owners.
    pub chunks_marked: u64,
    /// Bytes of the spans that were swept.
    pub bytes_swept: u64,
    /// Bytes that were freed.
    pub bytes_freed: u64,
}

impl LeakRecovery {
    pub(crate) const NOT_NEEDED: Self = Self {
        state: LeakRecoveryState::NotNeeded,
        bytes: 0,
        chunks_marked: 0,
        bytes_swept: 0,
        bytes_freed: 0,
    };

    /// Whether nothing is left to do.
    pub fn is_done(&self) -> bool {
        matches!(self.state, LeakRecoveryState::NotNeeded | LeakRecoveryState::Complete)
    }
}

/// One bit for each chunk of the spans that were in use when the pool was opened. A bit is never cleared. The bits take
/// between 1/2048 and 1/256 of the memory of a span, from the first mark in it on.
#[derive(Debug)]
pub(crate) struct Marks {
    spans: LeftOver,
    /// The bits of each span, by the index of the span.
    words: Box<[OnceLock<Box<[AtomicU64]>>]>,
    state: AtomicU32,
    is_claimed: AtomicBool,
    /// Whether the walks over all maps have ended without finding damage.
    has_met_all: AtomicBool,
    visits: AtomicU64,
    marked: AtomicU64,
    swept: AtomicU64,
    freed: AtomicU64,
}

/// Chunks of a span.
fn chunks(span: OldSpan) -> usize {
    if let Old::Slab(class) = span.kind { class.chunks(span.units) } else { 1 }
}

/// The number that a chunk of this room at `at` has in this span; `None` if the span cannot have such a chunk there.
fn number(span: OldSpan, at: u64, room: Room) -> Option<usize> {
    let inside = at - span.first * UNIT;
    match (span.kind, room) {
        (Old::Slab(class), Room::Slab(wanted)) if class == wanted => {
            class.number(inside).filter(|&number| number < chunks(span))
        }
        (Old::Run, Room::Run(units)) => (units == span.units && inside == 0).then_some(0),
        (Old::Large, Room::Large(pages)) => {
            (pages.checked_mul(UNITS) == Some(span.units) && inside == LINE).then_some(0)
        }
        _ => None,
    }
}

impl Marks {
    /// Marks for these spans. No chunk is marked yet.
    pub(crate) fn new(spans: LeftOver) -> Self {
        Self {
            words: (0..spans.len()).map(|_| OnceLock::new()).collect(),
            spans,
            state: AtomicU32::new(LeakRecoveryState::Pending as u32),
            is_claimed: AtomicBool::new(false),
            has_met_all: AtomicBool::new(false),
            visits: AtomicU64::new(0),
            marked: AtomicU64::new(0),
            swept: AtomicU64::new(0),
            freed: AtomicU64::new(0),
        }
    }

    /// The spans that were in use when the pool was opened.
    pub(crate) fn spans(&self) -> &LeftOver {
        &self.spans
    }

    /// Marks a chunk of `bytes` bytes, as requested, that a map reaches.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] if there is no such chunk.
    pub(crate) fn reach(&self, pages: &Pages, at: u64, bytes: u64) -> Result<()> {
        let damage = |what| Err(Error::Corrupt { offset: at, what });
        let found = self.spans.at(at / UNIT);
        // Only visits of old spans count: new spans may have any number of chunks while others write. Relaxed: a count.
        let most = (self.spans.bytes() / 32).saturating_mul(MOST_VISITS);
        if found.is_some() && self.visits.fetch_add(1, Ordering::Relaxed) > most {
            return damage("a map that does not end");
        }
        let fits = found.is_some_and(|(index, span)| {
            number(span, at, Room::of(bytes)).is_some_and(|number| self.set(index, number))
        });
        // If the units were free since the open, they may be part of any newer span.
        match fits || !pages.is_left_over(at / UNIT) {
            true => Ok(()),
            false => damage("a reached chunk that is none"),
        }
    }

    /// Marks a chunk whose owner is about to free it, or to remove it from where it can be reached.
    #[inline]
    pub(crate) fn keep(&self, at: u64, bytes: u64) {
        // Also after a failure, because an operation that needs space may continue the recovery. Relaxed: a mark that is not
        // needed any more does no harm.
        if self.state.load(Ordering::Relaxed) != ENDED
            && let Some((index, span)) = self.spans.at(at / UNIT)
            && let Some(number) = number(span, at, Room::of(bytes))
        {
            // A chunk that does not fit belongs to a newer span, or the error shows when it is freed.
            self.set(index, number);
        }
    }

    /// Marks the span of the directory that begins at `at`.
    pub(crate) fn keep_directory(&self, at: u64) {
        if let Some((index, span)) = self.spans.at(at / UNIT)
            && span.kind == Old::Directory
        {
            self.set(index, 0);
        }
    }

    /// Marks the chunks of the span at `first` that are known to be free. Such chunks are handed out, and the sweep
    /// need not free them.
    pub(crate) fn keep_free(&self, first: u64, free: &Bitmap) {
        let Some((index, span)) = self.spans.at(first) else { return };
        for (marks, free) in self.words(index, span).iter().zip(free.words()) {
            marks.fetch_or(*free, Ordering::Relaxed);
        }
    }

    fn words(&self, index: usize, span: OldSpan) -> &[AtomicU64] {
        let new = || (0..Bitmap::words_of(chunks(span))).map(|_| AtomicU64::new(0)).collect();
        self.words[index].get_or_init(new)
    }

    /// Sets a bit. Returns `false` only if there is no span `index`.
    fn set(&self, index: usize, number: usize) -> bool {
        let Some(span) = self.spans.get(index) else { return false };
        let (word, mask) = (&self.words(index, span)[number / 64], 1 << (number % 64));
        // Relaxed: the sweeping thread waits for the ends of the pins in which bits are set.
        if word.load(Ordering::Relaxed) & mask == 0
            && word.fetch_or(mask, Ordering::Relaxed) & mask == 0
        {
            self.marked.fetch_add(1, Ordering::Relaxed);
        }
        true
    }

    /// Whether the span `index`, which has one chunk, is marked.
    pub(crate) fn has(&self, index: usize) -> bool {
        let words = self.words.get(index).and_then(OnceLock::get);
        words.is_some_and(|words| words[0].load(Ordering::Relaxed) != 0)
    }

    /// The chunks of the span at `first` that have no mark, as a bitmap in which they are free; `None` if no old span
    /// begins there.
    pub(crate) fn unmarked(&self, first: u64) -> Option<Bitmap> {
        let (index, span) = self.spans.at(first)?;
        let all = Bitmap::all_free(chunks(span));
        let Some(marks) = self.words[index].get() else { return Some(all) };
        let unmarked = |(all, marks): (&u64, &AtomicU64)| all & !marks.load(Ordering::Relaxed);
        let words = all.words().iter().zip(marks).map(unmarked).collect();
        Bitmap::from_words(all.chunks(), words)
    }

    /// Whether the caller is the first that wants to recover. A second sweep would free chunks that were handed out
    /// since the first.
    pub(crate) fn claim(&self) -> bool {
        // Relaxed: the leak recovery has its own lock.
        !self.is_claimed.swap(true, Ordering::Relaxed)
    }

    /// Records that the walks have met all that was in use at the open, and found it sound.
    pub(crate) fn end_walks(&self) {
        // Relaxed: no other data depends on it.
        self.has_met_all.store(true, Ordering::Relaxed);
    }

    /// Whether the walks have met all that was in use at the open.
    pub(crate) fn has_met_all(&self) -> bool {
        self.has_met_all.load(Ordering::Relaxed)
    }

    /// Enters a phase of the leak recovery. Returns whether the phase has changed.
    pub(crate) fn enter(&self, state: LeakRecoveryState) -> bool {
        // Release: a thread that sees the last phase sees the counts.
        self.state.swap(state as u32, Ordering::Release) != state as u32
    }

    /// Gives the leak recovery up: unmarked chunks are not freed in this session.
    pub(crate) fn give_up(&self) {
        let _ = self.enter(LeakRecoveryState::Failed);
    }

    /// Counts bytes of spans that were swept, and bytes that the sweep freed in them.
    pub(crate) fn note_swept(&self, swept: u64, freed: u64) {
        self.swept.fetch_add(swept, Ordering::Relaxed);
        self.freed.fetch_add(freed, Ordering::Relaxed);
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

    /// How far the leak recovery has come.
    pub(crate) fn progress(&self) -> LeakRecovery {
        LeakRecovery {
            state: self.state(),
            bytes: self.spans.bytes(),
            chunks_marked: self.marked.load(Ordering::Relaxed),
            bytes_swept: self.swept.load(Ordering::Relaxed),
            bytes_freed: self.freed.load(Ordering::Relaxed),
        }
    }
}

/// The most visits for each 32 bytes of old spans. Chunks that are met again count again. Walks make more visits only
/// if words lead to one place in many ways, and no correct run writes such words.
const MOST_VISITS: u64 = 1024;

/// From this state on, marks are no longer used.
const ENDED: u32 = LeakRecoveryState::Complete as u32;
