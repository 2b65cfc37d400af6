//! A medium under a test's direction: it stops a thread at a named step, refuses a chunk, and poisons
//! those that it does not refuse.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use endura_engine::Result;
use endura_engine::media::{Mark, Media, Ordering, Region};

use crate::pass_on;

/// Passes everything on to the medium inside, and stops a thread where the test wants it to stand.
///
/// A thread is known by its name ([`std::thread::Builder::name`]). It stands *before* what it was
/// stopped at: before the statement that follows a step, before the load or store counted.
///
/// # Examples
///
/// ```
/// use std::thread::{self, Builder};
/// use std::time::Duration;
/// use endura_engine::media::{Heap, Mark, Media};
/// use endura_variants::media::{Staged, Stop};
///
/// let medium = Staged::new(Heap::new(64));
/// thread::scope(|scope| {
///     let halt = medium.halt("writer", Stop::at("commit"));
///     Builder::new().name("writer".into()).spawn_scoped(scope, || medium.mark(Mark::Step("commit")))?;
///     assert!(halt.reached_within(Duration::from_secs(10)));
///     // Here the writer stands at the step, and other threads can be checked against it.
///     halt.release();
///     std::io::Result::Ok(())
/// })?;
/// # std::io::Result::Ok(())
/// ```
pub struct Staged<M> {
    inner: M,
    /// Halts that have not been met: while there is none, an access costs one load more.
    armed: AtomicU64,
    cues: Mutex<Vec<Arc<Cue>>>,
    recording: AtomicBool,
    steps: Mutex<BTreeMap<&'static str, u64>>,
    /// Chunks until one is refused; 0 = none will be.
    until_refusal: AtomicU64,
    /// Whether all further ones are refused from then on, and whether that has come.
    for_good: AtomicBool,
    refuses_all: AtomicBool,
    granted: AtomicU64,
    poisons: AtomicBool,
    is_sealed: AtomicBool,
}

/// What a chunk is overwritten with when it is handed out.
const POISON: u64 = 0xDEAD_C0DE_DEAD_C0DE;

/// Where a thread is to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stop {
    step: Option<&'static str>,
    visit: u64,
    then: Then,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    AtOnce,
    Loads(u64),
    Stores(u64),
}

impl Stop {
    /// At the first visit to `step`.
    pub fn at(step: &'static str) -> Self {
        Self { step: Some(step), visit: 1, then: Then::AtOnce }
    }

    /// Before load number `loads` that the thread makes from now on, counted from 1.
    pub fn at_load(loads: u64) -> Self {
        Self { step: None, visit: 1, then: Then::Loads(loads) }
    }

    /// Before store number `stores` that the thread makes from now on, counted from 1; exchanges
    /// count as stores.
    pub fn at_store(stores: u64) -> Self {
        Self { step: None, visit: 1, then: Then::Stores(stores) }
    }

    /// At visit number `visit`, counted from 1.
    pub fn visit(self, visit: u64) -> Self {
        Self { visit, ..self }
    }

    /// And from there on before load number `loads`, counted from 1.
    pub fn before_load(self, loads: u64) -> Self {
        Self { then: Then::Loads(loads), ..self }
    }

    /// And from there on before store number `stores`, counted from 1.
    pub fn before_store(self, stores: u64) -> Self {
        Self { then: Then::Stores(stores), ..self }
    }

    fn at_start(self) -> Progress {
        if self.step.is_none() { self.after_step() } else { Progress::Visits(self.visit) }
    }

    fn after_step(self) -> Progress {
        match self.then {
            Then::AtOnce => Progress::Standing,
            Then::Loads(n) | Then::Stores(n) => Progress::Accesses(n),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    Step(&'static str),
    Load,
    Store,
}

/// How near the thread is to its stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    Visits(u64),
    Accesses(u64),
    Standing,
    Released,
}

/// What a [`Halt`] and the medium share.
struct Cue {
    thread: String,
    stop: Stop,
    progress: Mutex<Progress>,
    changed: Condvar,
}

impl Cue {
    fn wait<'g>(&self, progress: MutexGuard<'g, Progress>) -> MutexGuard<'g, Progress> {
        self.changed.wait(progress).unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the thread through, or keeps it here until it is released.
    fn meet(&self, event: Event) {
        let mut progress = lock(&self.progress);
        let next =
            match (*progress, event) {
                (Progress::Visits(n), Event::Step(step)) if self.stop.step == Some(step) => {
                    if n == 1 { self.stop.after_step() } else { Progress::Visits(n - 1) }
                }
                (Progress::Accesses(n), event) if self.counts(event) => {
                    if n == 1 {
                        Progress::Standing
                    } else {
                        Progress::Accesses(n - 1)
                    }
                }
                (unchanged, _) => unchanged,
            };
        if next == *progress {
            return;
        }
        *progress = next;
        if next == Progress::Standing {
            self.changed.notify_all();
            while *progress == Progress::Standing {
                progress = self.wait(progress);
            }
        }
    }

    fn counts(&self, event: Event) -> bool {
        match self.stop.then {
            Then::AtOnce => false,
            Then::Loads(_) => event == Event::Load,
            Then::Stores(_) => event == Event::Store,
        }
    }
}

/// The promise that a thread stops somewhere. Dropping it lets the thread go.
#[must_use = "a dropped halt stops nobody"]
pub struct Halt<'m> {
    cue: Arc<Cue>,
    armed: &'m AtomicU64,
    cues: &'m Mutex<Vec<Arc<Cue>>>,
}

impl Halt<'_> {
    /// Whether the thread stands there now.
    pub fn is_reached(&self) -> bool {
        *lock(&self.cue.progress) == Progress::Standing
    }

    /// Waits for the thread to arrive; `false` if it did not within `limit`.
    pub fn reached_within(&self, limit: Duration) -> bool {
        let end = Instant::now() + limit;
        let mut progress = lock(&self.cue.progress);
        while *progress != Progress::Standing {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let woken = self.cue.changed.wait_timeout(progress, left);
            progress = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// Lets the thread go on; it does not stop again for this halt.
    pub fn release(self) {}
}

impl Drop for Halt<'_> {
    fn drop(&mut self) {
        lock(self.cues).retain(|cue| !Arc::ptr_eq(cue, &self.cue));
        self.armed.fetch_sub(1, Ordering::Relaxed);
        *lock(&self.cue.progress) = Progress::Released;
        self.cue.changed.notify_all();
    }
}

/// The value, also after a panic: a test that has failed need not fail twice.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<M> Staged<M> {
    /// A stage over `inner` on which nothing stops yet.
    pub fn new(inner: M) -> Self {
        Self {
            inner,
            armed: AtomicU64::new(0),
            cues: Mutex::new(Vec::new()),
            recording: AtomicBool::new(false),
            steps: Mutex::new(BTreeMap::new()),
            until_refusal: AtomicU64::new(0),
            for_good: AtomicBool::new(false),
            refuses_all: AtomicBool::new(false),
            granted: AtomicU64::new(0),
            poisons: AtomicBool::new(false),
            is_sealed: AtomicBool::new(false),
        }
    }

    /// The medium below.
    pub fn inner(&self) -> &M {
        &self.inner
    }

    /// Stops the thread called `thread` once, at `stop`.
    pub fn halt(&self, thread: &str, stop: Stop) -> Halt<'_> {
        let cue = Arc::new(Cue {
            thread: thread.to_owned(),
            stop,
            progress: Mutex::new(stop.at_start()),
            changed: Condvar::new(),
        });
        lock(&self.cues).push(Arc::clone(&cue));
        self.armed.fetch_add(1, Ordering::Relaxed);
        Halt { cue, armed: &self.armed, cues: &self.cues }
    }

    /// Counts the steps reached from now on.
    pub fn record_steps(&self) {
        self.recording.store(true, Ordering::Relaxed);
    }

    /// How often each step was reached since [`record_steps`](Self::record_steps).
    pub fn steps(&self) -> BTreeMap<&'static str, u64> {
        lock(&self.steps).clone()
    }

    /// Refuses the chunk that is asked for as number `n` from now on, counted from 1, and only
    /// that one; 0 refuses none.
    pub fn refuse_chunk(&self, n: u64) {
        self.until_refusal.store(n, Ordering::Relaxed);
        self.for_good.store(false, Ordering::Relaxed);
        self.refuses_all.store(false, Ordering::Relaxed);
    }

    /// Refuses the chunk that is asked for as number `n` from now on, counted from 1, and all after it, until
    /// [`refuse_chunk`](Self::refuse_chunk) is called.
    pub fn refuse_chunks_from(&self, n: u64) {
        self.refuse_chunk(n);
        self.for_good.store(true, Ordering::Relaxed);
    }

    /// Whether the refusal that was ordered last is still to come.
    pub fn refusal_pending(&self) -> bool {
        self.until_refusal.load(Ordering::Relaxed) != 0
    }

    /// From now on overwrites each chunk when it is handed out: whoever still reads what it was before
    /// comes upon words that mean nothing.
    pub fn poison_chunks(&self) {
        self.poisons.store(true, Ordering::Relaxed);
    }

    /// Whether from now on a store panics, an exchange that fails included: both would end the process where a
    /// file is mapped to be read only.
    pub fn set_sealed(&self, is_sealed: bool) {
        self.is_sealed.store(is_sealed, Ordering::Relaxed);
    }

    /// Chunks granted since the beginning.
    pub fn granted(&self) -> u64 {
        self.granted.load(Ordering::Relaxed)
    }

    #[track_caller]
    fn event(&self, event: Event) {
        let is_sealed = self.is_sealed.load(Ordering::Relaxed);
        assert!(!(is_sealed && event == Event::Store), "a store to a medium that is only read");
        if self.armed.load(Ordering::Relaxed) == 0 {
            return;
        }
        let thread = std::thread::current();
        let name = thread.name().unwrap_or_default();
        let mine = |cue: &&Arc<Cue>| cue.thread == name;
        // The list is left before standing still, so that the test can change it meanwhile.
        let cues: Vec<Arc<Cue>> = lock(&self.cues).iter().filter(mine).cloned().collect();
        for cue in cues {
            cue.meet(event);
        }
    }
}

// SAFETY: every access goes to the inner medium, which keeps the contract; standing still adds
// nothing.
unsafe impl<M: Media> Media for Staged<M> {
    pass_on!(inner: len, grow, flush, fence, needs_flush, hears_flushes, prefetch, sync);

    unsafe fn load(&self, at: u64, order: Ordering) -> u64 {
        self.event(Event::Load);
        // SAFETY: the caller's promise, passed on.
        unsafe { self.inner.load(at, order) }
    }

    unsafe fn store(&self, at: u64, value: u64, order: Ordering) {
        self.event(Event::Store);
        // SAFETY: the caller's promise, passed on.
        unsafe { self.inner.store(at, value, order) }
    }

    unsafe fn compare_exchange(&self, at: u64, old: u64, new: u64) -> Result<u64, u64> {
        self.event(Event::Store);
        // SAFETY: the caller's promise, passed on.
        unsafe { self.inner.compare_exchange(at, old, new) }
    }

    unsafe fn compare_exchange_pair(
        &self,
        at: u64,
        old: [u64; 2],
        new: [u64; 2],
    ) -> Result<(), [u64; 2]> {
        self.event(Event::Store);
        // SAFETY: the caller's promise, passed on.
        unsafe { self.inner.compare_exchange_pair(at, old, new) }
    }

    unsafe fn stream(&self, at: u64, value: u64) {
        self.event(Event::Store);
        // SAFETY: the caller's promise, passed on.
        unsafe { self.inner.stream(at, value) }
    }

    fn drain(&self) {
        self.inner.drain();
    }

    fn grant(&self) -> bool {
        let one_less = |n: u64| n.checked_sub(1);
        let due = self.until_refusal.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less);
        if due == Ok(1) {
            let for_good = self.for_good.load(Ordering::Relaxed);
            self.refuses_all.store(for_good, Ordering::Relaxed);
            return false;
        }
        if self.refuses_all.load(Ordering::Relaxed) || !self.inner.grant() {
            return false;
        }
        self.granted.fetch_add(1, Ordering::Relaxed);
        true
    }

    fn mark(&self, mark: Mark) {
        if let Mark::Step(step) = mark {
            if self.recording.load(Ordering::Relaxed) {
                *lock(&self.steps).entry(step).or_default() += 1;
            }
            self.event(Event::Step(step));
        }
        if let Mark::Fresh { at, bytes } = mark
            && self.poisons.load(Ordering::Relaxed)
        {
            let words = (bytes / 8) as usize;
            // What does not lie inside is no chunk.
            if let Ok(chunk) = Region::new(&self.inner, at, words) {
                (0..words).for_each(|i| chunk.store(i, POISON, Ordering::Release));
            }
        }
        self.inner.mark(mark);
    }
}

#[cfg(test)]
mod tests;
