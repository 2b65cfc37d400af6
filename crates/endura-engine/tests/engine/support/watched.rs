//! A medium that tells whether a thread has stored anything since its last locked instruction (such stores may
//! still be in its store buffer), and in which others come between any two loads of a thread.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::panic::Location;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use endura_engine::Result;
use endura_engine::media::{Heap, LINE, Media, Ordering};
use endura_engine::space::{PAGE, Space};
use endura_variants::pass_on;

thread_local! {
    /// Where the calling thread has stored since its last exchange.
    static WAITING: Cell<Option<&'static Location<'static>>> = const { Cell::new(None) };
    /// Where the locks are that it has taken, in the trees that have some.
    static LOCKS: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
    /// How many loads it has made.
    static LOADS: Cell<u64> = const { Cell::new(0) };
    /// At which of them something comes between, the last one first, and what.
    static BETWEEN: RefCell<Option<Plan>> = const { RefCell::new(None) };
}

type Plan = (Vec<u64>, Box<dyn FnMut()>);

/// What `work` gives, and how many loads it has made, when `act` comes between at these of them. (It is run by
/// the thread itself, whose next load then sees all of it.)
pub(crate) fn interrupted<R>(
    mut at: Vec<u64>,
    act: impl FnMut() + 'static,
    work: impl FnOnce() -> R,
) -> (R, u64) {
    at.sort_unstable_by(|a, b| b.cmp(a));
    LOADS.set(0);
    BETWEEN.set(Some((at, Box::new(act))));
    let result = work();
    BETWEEN.set(None);
    (result, LOADS.get())
}

/// How many epochs there are while `work` goes on, if they go on as far as its pins let them: a pin that was there
/// lets them by one. Not for work that has a lock of the pool's while it loads.
pub(crate) fn epochs_of<M: Media + 'static>(space: &Arc<Space<M>>, work: impl FnOnce()) -> usize {
    let seen = Rc::new(RefCell::new(BTreeSet::new()));
    let (inside, noted) = (Arc::clone(space), Rc::clone(&seen));
    let act = move || {
        // It may find that somebody stays inside: this very work.
        let _ = inside.relieve();
        noted.borrow_mut().insert(inside.now());
    };
    interrupted((0..2_000_000).step_by(50).collect(), act, work);
    seen.take().len()
}

fn come_between() {
    let now = LOADS.get();
    LOADS.set(now + 1);
    let is_due = |plan: &Plan| plan.0.last().is_some_and(|&at| at <= now);
    // Others would wait for its locks.
    if LOCKS.with_borrow(Vec::is_empty)
        && BETWEEN.with_borrow(|plan| plan.as_ref().is_some_and(is_due))
    {
        // Taken away meanwhile: what it does itself is not interrupted.
        if let Some((mut at, mut act)) = BETWEEN.take() {
            while at.pop_if(|at| *at <= now).is_some() {
                act();
            }
            LOADS.set(now + 1);
            BETWEEN.set(Some((at, act)));
        }
    }
}

/// The first store of the calling thread that no locked instruction has come behind, and forgets it. What
/// nobody sees yet does not count (it is stored `Relaxed`), nor what the pool keeps for itself: page 0, and
/// the header lines of pages.
pub(crate) fn unfenced() -> Option<&'static Location<'static>> {
    WAITING.take()
}

/// Memory on the heap, in the manner of `PageCache` or of `Adr`.
pub(crate) struct Watched {
    pub(crate) memory: Heap,
    /// Whether every exchange takes a lock, which a `SeqCst` store gives back.
    pub(crate) has_locks: bool,
    refuses: AtomicBool,
}

impl Watched {
    pub(crate) fn new(memory: Heap, has_locks: bool) -> Self {
        Self { memory, has_locks, refuses: AtomicBool::new(false) }
    }

    /// From now on there is no room, or there is again.
    pub(crate) fn refuse(&self, refuses: bool) {
        self.refuses.store(refuses, Ordering::Relaxed);
    }

    fn exchanged(&self, at: u64, is_done: bool) {
        WAITING.set(None);
        if is_done && self.has_locks {
            LOCKS.with_borrow_mut(|locks| locks.push(at));
        }
    }
}

// SAFETY: every access goes to the inner medium, which keeps the contract.
unsafe impl Media for Watched {
    pass_on!(memory: len, flush, fence, needs_flush);

    unsafe fn load(&self, at: u64, order: Ordering) -> u64 {
        come_between();
        // SAFETY: the caller's promise, passed on.
        unsafe { self.memory.load(at, order) }
    }

    #[track_caller]
    unsafe fn store(&self, at: u64, value: u64, order: Ordering) {
        let is_seen = order == Ordering::Release && at >= PAGE && at % PAGE >= LINE;
        if order == Ordering::SeqCst {
            WAITING.set(None);
            LOCKS.with_borrow_mut(|locks| locks.retain(|&lock| lock != at));
        } else if is_seen && WAITING.get().is_none() {
            WAITING.set(Some(Location::caller()));
        }
        // SAFETY: the caller's promise, passed on.
        unsafe { self.memory.store(at, value, order) }
    }

    unsafe fn compare_exchange(&self, at: u64, old: u64, new: u64) -> Result<u64, u64> {
        // SAFETY: the caller's promise, passed on.
        let result = unsafe { self.memory.compare_exchange(at, old, new) };
        self.exchanged(at, result.is_ok());
        result
    }

    unsafe fn compare_exchange_pair(
        &self,
        at: u64,
        old: [u64; 2],
        new: [u64; 2],
    ) -> std::result::Result<(), [u64; 2]> {
        // SAFETY: the caller's promise, passed on.
        let result = unsafe { self.memory.compare_exchange_pair(at, old, new) };
        self.exchanged(at, result.is_ok());
        result
    }

    fn grant(&self) -> bool {
        !self.refuses.load(Ordering::Relaxed)
    }
}
