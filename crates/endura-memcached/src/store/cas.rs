//! Numbers of stores: each is given once, also across kills.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use endura::{Map, Result};

/// Numbers that are reserved at once.
const BLOCK: u64 = 1 << 20;
/// The entry that says up to which number all may have been given.
const RESERVED: &str = "cas reserved";

/// Gives numbers, ascending. The pool knows a number below which all may be given, so that after a kill it goes on from there.
#[derive(Debug)]
pub(super) struct CasNumbers {
    next: AtomicU64,
    reserved: AtomicU64,
    /// Held by the thread that reserves.
    facts: Mutex<Map<str, u64>>,
}

impl CasNumbers {
    pub(super) fn open(facts: Map<str, u64>) -> Result<Self> {
        let first = facts.get(RESERVED)?.unwrap_or(1);
        let [next, reserved] = [(); 2].map(|()| AtomicU64::new(first));
        Ok(Self { next, reserved, facts: Mutex::new(facts) })
    }

    /// The next number.
    pub(super) fn take(&self) -> Result<u64> {
        // Relaxed: a number orders nothing.
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        // Acquire: pairs with the Release below. What the pool says is durable before a number is used.
        if number >= self.reserved.load(Ordering::Acquire) {
            self.reserve(number)?;
        }
        Ok(number)
    }

    fn reserve(&self, number: u64) -> Result<()> {
        let facts = self.facts.lock().unwrap_or_else(PoisonError::into_inner);
        // Relaxed: it changes under the lock alone.
        if number >= self.reserved.load(Ordering::Relaxed) {
            let reserved = number + BLOCK;
            facts.put(RESERVED, reserved)?;
            self.reserved.store(reserved, Ordering::Release);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_number_is_given_twice() {
        let folder = tempfile::tempdir().unwrap();
        let pool = endura::Pool::open(folder.path().join("pool")).unwrap();
        let open = || CasNumbers::open(pool.map("facts").unwrap()).unwrap();
        let mut last = 0;
        for _ in 0..3 {
            // Dropped as a kill would.
            let numbers = open();
            for _ in 0..3 {
                let number = numbers.take().unwrap();
                assert!(number > last, "{number} after {last}");
                last = number;
            }
        }
        let numbers = open();
        numbers.next.fetch_add(3 * BLOCK, Ordering::Relaxed);
        let number = numbers.take().unwrap();
        assert!(open().take().unwrap() > number);
    }
}
