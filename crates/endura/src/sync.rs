//! The atomics and locks of volatile state: one door, through which they are those of `std`, or those of
//! `loom` where tests go through all executions of a few threads (`--cfg loom`). Persistent words
//! never come through here; they are words of a [`Media`]. Statics, which outlive an execution, use
//! `std` in every build.
//!
//! [`Media`]: crate::media::Media

pub(crate) mod plain;

use std::cell::Cell;
pub(crate) use std::sync::OnceLock;
pub(crate) use std::sync::atomic::compiler_fence;
use std::time::Duration;

#[cfg(all(test, loom))]
pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
#[cfg(not(all(test, loom)))]
pub(crate) use plain::{Mutex, MutexGuard};
#[cfg(not(all(test, loom)))]
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};

#[cfg(all(test, loom))]
pub(crate) mod modelled;
#[cfg(all(test, loom))]
pub(crate) use modelled::{Mutex, MutexGuard, fence};

/// A full fence right behind an exchange, or behind a `SeqCst` store: later loads come after it.
///
/// On x86-64 both are locked instructions, which are that fence themselves; `mfence` behind one would cost as
/// much as the rest of an insert. Elsewhere they are not (AArch64: `stlr`, and the store of `ldaxr`/`stlxr`, let
/// later plain loads overtake them), and it is a fence (`dmb ish`).
#[inline(always)]
pub(crate) fn fence_behind_exchange() {
    if cfg!(all(target_arch = "x86_64", not(all(test, loom)))) {
        compiler_fence(Ordering::SeqCst);
    } else {
        fence(Ordering::SeqCst);
    }
}

thread_local! {
    /// What the thread does instead of waiting. Read only where it has to wait.
    static WAITING: Cell<Option<fn()>> = const { Cell::new(None) };
}

/// From now on the calling thread calls `turn` wherever it would have to wait for another one, and
/// looks again when `turn` returns. `None`: it waits. Gives back what held before.
///
/// For schedulers that run many logical threads on one of the operating system's, where to block is
/// to block all: `turn` lets the others go on. See [`Worker`](crate::pool::Worker).
pub fn set_waiting(turn: Option<fn()>) -> Option<fn()> {
    WAITING.replace(turn)
}

/// Lets others run: for so long, or for a moment.
pub(crate) fn rest(pause: Option<Duration>) {
    match (WAITING.get(), pause) {
        (Some(turn), _) => turn(),
        (None, None) => std::thread::yield_now(),
        (None, Some(pause)) => std::thread::sleep(pause),
    }
}

/// Waiting for a short critical section of another thread: spins a little, then lets others run.
/// (Spinning on with more threads than cores is what gave RNTree a p99.9 of 31 ms.)
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    #[cfg_attr(all(test, loom), expect(dead_code, reason = "models do not spin"))]
    step: u32,
}

impl Backoff {
    #[cfg(not(all(test, loom)))]
    const SPINS: u32 = 6;

    pub(crate) fn wait(&mut self) {
        if let Some(turn) = WAITING.get() {
            return turn();
        }
        // A model that spins never ends.
        #[cfg(all(test, loom))]
        return loom::thread::yield_now();
        #[cfg(not(all(test, loom)))]
        self.spin_or_yield();
    }

    #[cfg(not(all(test, loom)))]
    fn spin_or_yield(&mut self) {
        if self.step < Self::SPINS {
            for _ in 0..1 << self.step {
                std::hint::spin_loop();
            }
            self.step += 1;
        } else {
            std::thread::yield_now();
        }
    }
}
