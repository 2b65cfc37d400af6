//! The mutex of ordinary builds.

pub(crate) use std::sync::MutexGuard;
use std::sync::{self, PoisonError};

use super::waiting::WAITING;

/// A mutex without poisoning: it gives access to its value even after a panic. If a panic leaves an operation in doubt,
/// the whole pool is poisoned instead ([`Error::Poisoned`](crate::Error::Poisoned)).
#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(sync::Mutex::new(value))
    }

    #[inline]
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        match self.try_lock() {
            Some(guard) => guard,
            None => self.lock_contended(),
        }
    }

    #[cold]
    fn lock_contended(&self) -> MutexGuard<'_, T> {
        while let Some(turn) = WAITING.get() {
            turn();
            if let Some(guard) = self.try_lock() {
                return guard;
            }
        }
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the value, if no thread holds the lock at this moment.
    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(sync::TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(sync::TryLockError::WouldBlock) => None,
        }
    }
}
