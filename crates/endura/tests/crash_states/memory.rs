//! A medium that remembers in which order words reached it, and what a crash may leave of them.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use endura::media::{Mark, Media, Ordering};
use endura::pool::PAGE;

/// The only bytes of a pool that these tests touch: session words, two directory entries, and the
/// start of each page. `(first byte, bytes)`; everything else reads as zero.
const SESSION_WORDS: (u64, u64) = (8192, 64);
const DIRECTORY: (u64, u64) = (12288, 1024);
const PAGE_START: u64 = 4096;
const PAGES: u64 = 12;
const WORDS: usize = ((SESSION_WORDS.1 + DIRECTORY.1 + (PAGES - 1) * PAGE_START) / 8) as usize;

/// The index of the word at byte `at` among those that are kept.
fn index(at: u64) -> Option<usize> {
    let (page, inside) = (at / PAGE, at % PAGE);
    let byte = match page {
        0 if (SESSION_WORDS.0..SESSION_WORDS.0 + SESSION_WORDS.1).contains(&at) => {
            at - SESSION_WORDS.0
        }
        0 if (DIRECTORY.0..DIRECTORY.0 + DIRECTORY.1).contains(&at) => {
            at - DIRECTORY.0 + SESSION_WORDS.1
        }
        1.. if inside < PAGE_START => {
            SESSION_WORDS.1 + DIRECTORY.1 + (page - 1) * PAGE_START + inside
        }
        _ => return None,
    };
    Some(byte as usize / 8)
}

/// What a medium was asked to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    Store(usize, u64),
    Flush(usize),
    Fence,
    Begin,
    Acknowledged,
}

/// Words as a crash may leave them.
pub(crate) type Image = Vec<u64>;

/// Visible words, and per line what of them is certainly durable.
#[derive(Debug, Clone)]
pub(crate) struct State {
    visible: Image,
    durable: Image,
    /// Per line: the stores that may or may not be durable, oldest first. Any prefix may be.
    pending: BTreeMap<usize, Vec<(usize, u64)>>,
    /// Lines flushed since the last fence, with how many of their stores the flush covers.
    flushed: BTreeMap<usize, usize>,
}

impl State {
    /// Everything durable.
    pub(crate) fn of(image: Image) -> Self {
        let durable = image.clone();
        Self { visible: image, durable, pending: BTreeMap::new(), flushed: BTreeMap::new() }
    }

    pub(crate) fn apply(&mut self, event: Event) {
        match event {
            Event::Store(word, value) if self.visible[word] != value => {
                self.visible[word] = value;
                self.pending.entry(word / 8).or_default().push((word, value));
            }
            Event::Flush(line) => {
                if let Some(stores) = self.pending.get(&line) {
                    self.flushed.insert(line, stores.len());
                }
            }
            Event::Fence => {
                for (line, count) in std::mem::take(&mut self.flushed) {
                    let stores = self.pending.get_mut(&line).unwrap();
                    stores.drain(..count).for_each(|(word, value)| self.durable[word] = value);
                }
                self.pending.retain(|_, stores| !stores.is_empty());
            }
            _ => {}
        }
    }

    /// What a load sees.
    pub(crate) fn visible(&self) -> &Image {
        &self.visible
    }

    /// The thread that ran so far never runs again; what it stored stays in the cache.
    pub(crate) fn stop(&mut self) {
        self.flushed.clear();
    }

    /// Per line that is not durable: how many of its stores a crash may leave, ascending. Cuts that
    /// differ only in words without a meaning after a crash count once.
    fn cuts(&self) -> Vec<(usize, Vec<usize>)> {
        let mut all = Vec::new();
        for (&line, stores) in &self.pending {
            let is_header = self.visible[8 * line + 4] >> 32 == 0xFA57_FA18;
            let means_nothing = |word: usize| is_header && [0, 5, 6].contains(&(word % 8));
            let mut cuts = vec![0];
            for (i, &(word, _)) in stores.iter().enumerate() {
                if means_nothing(word) && i > 0 {
                    *cuts.last_mut().unwrap() = i + 1;
                } else {
                    cuts.push(i + 1);
                }
            }
            all.push((line, cuts));
        }
        all
    }

    fn image(&self, cuts: &[(usize, usize)]) -> Image {
        let mut image = self.durable.clone();
        for &(line, cut) in cuts {
            for &(word, value) in &self.pending[&line][..cut] {
                image[word] = value;
            }
        }
        image
    }

    /// What a power failure may leave: all of it where that is at most `most`; else everything old,
    /// everything new, each line alone old and alone new, and some at random.
    pub(crate) fn images(
        &self,
        most: usize,
        random: &mut Random,
    ) -> Vec<(Vec<(usize, usize)>, Image)> {
        let lines = self.cuts();
        let all = lines.iter().fold(1usize, |n, (_, cuts)| n.saturating_mul(cuts.len()));
        let pick = |choose: &mut dyn FnMut(usize, &[usize]) -> usize| {
            let of = |(i, (line, cuts)): (usize, &(usize, Vec<usize>))| (*line, choose(i, cuts));
            lines.iter().enumerate().map(of).collect::<Vec<_>>()
        };
        let newest = |cuts: &[usize]| *cuts.last().unwrap();
        let mut chosen = Vec::new();
        if all <= most {
            for mut n in 0..all {
                chosen.push(pick(&mut |_, cuts| {
                    let cut = cuts[n % cuts.len()];
                    n /= cuts.len();
                    cut
                }));
            }
        } else {
            chosen.push(pick(&mut |_, _| 0));
            chosen.push(pick(&mut |_, cuts| newest(cuts)));
            for line in 0..lines.len() {
                chosen.push(pick(&mut |i, cuts| if i == line { newest(cuts) } else { 0 }));
                chosen.push(pick(&mut |i, cuts| if i == line { 0 } else { newest(cuts) }));
            }
            while chosen.len() < most {
                chosen.push(pick(&mut |_, cuts| match random.below(10) {
                    0..3 => 0,
                    3..6 => newest(cuts),
                    _ => cuts[random.below(cuts.len() as u64) as usize],
                }));
            }
        }
        chosen.into_iter().map(|cuts| (cuts.clone(), self.image(&cuts))).collect()
    }
}

/// Numbers that only look random.
#[derive(Debug, Clone)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % n
    }
}

struct Inner {
    state: State,
    trace: Vec<Event>,
    step: &'static str,
    /// The word loaded last, and how often in a row.
    spinning: (u64, u32),
}

/// The medium.
pub(crate) struct Recorder(Mutex<Inner>);

/// Unwinds out of an operation that waits for a lock which nobody will release.
pub(crate) struct Blocked;

/// A kind of flush or fence: the step that was marked last before it, and what it is.
pub(crate) type Site = (&'static str, &'static str);

thread_local! {
    /// The site that this thread's media leave out, for finding out whether anyone notices.
    pub(crate) static LEFT_OUT: Cell<Option<Site>> = const { Cell::new(None) };
}

impl Recorder {
    pub(crate) fn new(state: State) -> Self {
        Self(Mutex::new(Inner { state, trace: Vec::new(), step: "", spinning: (0, 0) }))
    }

    /// Zeros.
    pub(crate) fn empty() -> Self {
        Self::new(State::of(vec![0; WORDS]))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn state(&self) -> State {
        self.lock().state.clone()
    }

    /// What happened since the last call.
    pub(crate) fn take_trace(&self) -> Vec<Event> {
        std::mem::take(&mut self.lock().trace)
    }
}

impl Inner {
    fn log(&mut self, event: Event) {
        self.state.apply(event);
        self.trace.push(event);
    }

    /// Whether this flush or fence is to be left out.
    fn leaves_out(&self, what: &'static str) -> bool {
        LEFT_OUT.get() == Some((self.step, what))
    }
}

// SAFETY: every access is one under a mutex, to a vector whose length never changes; offsets that
// are not kept are read as zero and never written.
unsafe impl Media for Recorder {
    fn len(&self) -> u64 {
        PAGES * PAGE
    }

    unsafe fn load(&self, at: u64, _: Ordering) -> u64 {
        let mut inner = self.lock();
        inner.spinning = if inner.spinning.0 == at { (at, inner.spinning.1 + 1) } else { (at, 0) };
        if inner.spinning.1 > 100 && !std::thread::panicking() {
            drop(inner);
            std::panic::resume_unwind(Box::new(Blocked));
        }
        index(at).map_or(0, |word| inner.state.visible[word])
    }

    unsafe fn store(&self, at: u64, value: u64, _: Ordering) {
        self.lock().log(Event::Store(index(at).expect("a word that is kept"), value));
    }

    unsafe fn compare_exchange(&self, at: u64, old: u64, new: u64) -> Result<u64, u64> {
        let word = index(at).expect("a word that is kept");
        let mut inner = self.lock();
        let found = inner.state.visible[word];
        if found != old {
            return Err(found);
        }
        inner.log(Event::Store(word, new));
        Ok(found)
    }

    unsafe fn flush(&self, at: u64, len: u64) {
        let mut inner = self.lock();
        if !inner.leaves_out("flush") {
            for line in at / 64..(at + len).div_ceil(64) {
                inner.log(Event::Flush(index(line * 64).expect("a word that is kept") / 8));
            }
        }
    }

    fn fence(&self) {
        let mut inner = self.lock();
        if !inner.leaves_out("fence") {
            inner.log(Event::Fence);
        }
    }

    fn drain(&self) {
        let mut inner = self.lock();
        if !inner.leaves_out("drain") {
            inner.log(Event::Fence);
        }
    }

    fn needs_flush(&self) -> bool {
        true
    }

    fn mark(&self, mark: Mark) {
        let mut inner = self.lock();
        match mark {
            Mark::Begin => {
                inner.step = "begin";
                inner.log(Event::Begin);
            }
            Mark::Acknowledged => inner.log(Event::Acknowledged),
            Mark::Step(step) => inner.step = step,
            _ => {}
        }
    }
}
