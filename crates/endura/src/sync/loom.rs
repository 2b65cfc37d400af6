//! The locks and fences of models, and how a model is run.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::PoisonError;

pub(crate) use loom::sync::MutexGuard;
use loom::sync::atomic::Ordering;

/// As that of ordinary builds.
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

/// A fault that is carried into the code under a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Fences do nothing.
    NoFences,
    /// Those in [`fenced`] do nothing.
    NoFencesOfOne,
    /// Stores to persistent words are `Relaxed`.
    RelaxedStores,
    /// Loads of persistent words are `Relaxed`.
    RelaxedLoads,
}

thread_local! {
    /// A model's threads all run on the thread of the operating system that checks it.
    static FAULT: Cell<Option<Fault>> = const { Cell::new(None) };
}

/// Whether the code runs with this fault.
pub(crate) fn has(fault: Fault) -> bool {
    FAULT.get() == Some(fault)
}

thread_local! {
    /// The thread of a model that is in [`fenced`].
    static FENCED: Cell<Option<loom::thread::ThreadId>> = const { Cell::new(None) };
}

/// Work of one thread of a model, whose fences a fault may take away while those of the others stay.
pub(crate) fn fenced<T>(work: impl FnOnce() -> T) -> T {
    FENCED.set(Some(loom::thread::current().id()));
    let done = work();
    FENCED.set(None);
    done
}

/// A fence, unless the fault is that there are none.
pub(crate) fn fence(order: Ordering) {
    let is_of_one = || FENCED.get() == Some(loom::thread::current().id());
    if !has(Fault::NoFences) && !(has(Fault::NoFencesOfOne) && is_of_one()) {
        loom::sync::atomic::fence(order);
    }
}

/// The stack of a thread of a model, in words: a pool is large before it is on the heap.
const STACK: usize = 64 << 10;

/// Starts a thread of a model.
pub(crate) fn spawn<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> loom::thread::JoinHandle<T> {
    let thread = loom::thread::Builder::new().stack_size(STACK).spawn(work);
    thread.unwrap_or_else(|error| panic!("{error}"))
}

/// Runs all executions of `model` with at most `preemptions` preemptions (all, if `None`).
pub(crate) fn check(preemptions: Option<usize>, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = preemptions;
    builder.max_branches = 100_000;
    let model = std::sync::Arc::new(model);
    // The first thread of a model has a stack that is too small.
    builder.check(move || {
        let model = std::sync::Arc::clone(&model);
        if spawn(move || model()).join().is_err() {
            panic!("the model's first thread panicked");
        }
    });
}

/// Says that some execution of `model` goes wrong with the fault.
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
