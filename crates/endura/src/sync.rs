//! The atomics and locks of volatile state: one door, so that a build under a schedule explorer
//! can swap them all. Persistent words never come through here; they are words of a [`Media`].
//!
//! [`Media`]: crate::media::Media

#[cfg(test)]
pub(crate) mod schedule;

pub(crate) use std::sync::atomic::{
    AtomicBool, AtomicI64, AtomicPtr, AtomicU32, AtomicU64, Ordering, compiler_fence, fence,
};
use std::sync::{self, PoisonError};
pub(crate) use std::sync::{MutexGuard, OnceLock};

/// A mutex that hands the value out even after a panic: what poisons an operation poisons its
/// whole pool ([`Error::Poisoned`](crate::Error::Poisoned)), so that the lock need not tell.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        #[cfg(test)]
        while schedule::is_scheduled() {
            match self.try_lock() {
                Some(guard) => return guard,
                None => schedule::waiting(),
            }
        }
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value, if nobody holds the lock at this moment.
    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(sync::TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(sync::TryLockError::WouldBlock) => None,
        }
    }
}

/// Waiting for a short critical section of another thread: spins a little, then lets others run.
/// (Spinning on with more threads than cores is what gave RNTree a p99.9 of 31 ms.)
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    step: u32,
}

impl Backoff {
    const SPINS: u32 = 6;

    pub(crate) fn wait(&mut self) {
        #[cfg(test)]
        if schedule::is_scheduled() {
            return schedule::waiting();
        }
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
