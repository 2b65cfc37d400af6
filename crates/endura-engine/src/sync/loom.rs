//! The locks and fences of models, and the functions that run a model.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::PoisonError;

pub(crate) use loom::sync::MutexGuard;
use loom::sync::atomic::Ordering;

/// Like the mutex of ordinary builds.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(loom::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.0.try_lock().ok()
    }
}

/// A fault that is planted in the code under a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Fences do nothing.
    NoFences,
    /// The fences inside [`fenced`] do nothing.
    NoFencesOfOne,
    /// Stores to persistent words are `Relaxed`.
    RelaxedStores,
    /// Loads of persistent words are `Relaxed`.
    RelaxedLoads,
}

thread_local! {
    /// The fault of the model that this thread checks. All threads of a model run on one thread of the operating
    /// system.
    static FAULT: Cell<Option<Fault>> = const { Cell::new(None) };
}

/// Whether the code runs with this fault.
pub(crate) fn has(fault: Fault) -> bool {
    FAULT.get() == Some(fault)
}

thread_local! {
    /// The thread of the model that is inside [`fenced`].
    static FENCED: Cell<Option<loom::thread::ThreadId>> = const { Cell::new(None) };
}

/// Runs `work`, a part of one thread of a model. A fault may disable its fences alone.
pub(crate) fn fenced<T>(work: impl FnOnce() -> T) -> T {
    FENCED.set(Some(loom::thread::current().id()));
    let done = work();
    FENCED.set(None);
    done
}

/// A fence, unless a fault disables it.
pub(crate) fn fence(order: Ordering) {
    let is_of_one = || FENCED.get() == Some(loom::thread::current().id());
    if !has(Fault::NoFences) && !(has(Fault::NoFencesOfOne) && is_of_one()) {
        loom::sync::atomic::fence(order);
    }
}

/// The size of the stack of a model's thread, in words. It is large, because a pool is built on the stack before it is
/// moved to the heap.
const STACK: usize = 64 << 10;

/// Starts a thread of a model.
pub(crate) fn spawn<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> loom::thread::JoinHandle<T> {
    let thread = loom::thread::Builder::new().stack_size(STACK).spawn(work);
    thread.unwrap_or_else(|error| panic!("{error}"))
}

/// Runs all executions of `model` with at most `preemptions` preemptions; without a limit if `None`.
pub(crate) fn check(preemptions: Option<usize>, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = preemptions;
    builder.max_branches = 100_000;
    let model = std::sync::Arc::new(model);
    // The stack of a model's first thread is too small, so the model runs in a second one.
    builder.check(move || {
        let model = std::sync::Arc::clone(&model);
        if spawn(move || model()).join().is_err() {
            panic!("the model's first thread panicked");
        }
    });
}

/// Asserts that at least one execution of `model` fails with the fault.
pub(crate) fn check_finds(
    fault: Fault,
    preemptions: Option<usize>,
    model: impl Fn() + Send + Sync + 'static,
) {
    FAULT.set(Some(fault));
    let found = catch_unwind(AssertUnwindSafe(|| check(preemptions, model)));
    FAULT.set(None);
    assert!(found.is_err(), "{fault:?} was not found");
}
