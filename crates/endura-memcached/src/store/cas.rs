//! The numbers of stores, which `gets` shows and `cas` compares. Each is given once, also across kills and power losses.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use endura::{Map, Result};

/// How many numbers one write to the pool reserves.
const BLOCK: u64 = 1 << 20;
/// How many numbers there are for each second since 1970. After a power loss the pool may be an older one, which does not
/// know all numbers that clients remember. A session therefore starts above every number that an earlier one can have
/// reached by then.
const PER_SECOND: u64 = 1 << 20;
/// The key under which the pool has the bound of the numbers: every number below that bound may have been given.
const RESERVED: u64 = 0;

/// Gives ascending numbers. The pool has an upper bound of the numbers that were given, from which the next session
/// continues.
#[derive(Debug)]
pub(super) struct CasNumbers {
    next: AtomicU64,
    reserved: AtomicU64,
    /// Held by the thread that reserves.
    facts: Mutex<Map<u64, u64>>,
}

impl CasNumbers {
    pub(super) fn open(facts: Map<u64, u64>, now: u32) -> Result<Self> {
        let first = facts.get(RESERVED)?.unwrap_or(1).max(u64::from(now) * PER_SECOND);
        let [next, reserved] = [(); 2].map(|()| AtomicU64::new(first));
        let numbers = Self { next, reserved, facts: Mutex::new(facts) };
        // From now on the entry exists, and can be changed in place even in a full pool.
        numbers.reserve(first)?;
        Ok(numbers)
    }

    /// The next number.
    pub(super) fn take(&self) -> Result<u64> {
        // Relaxed, because a number orders nothing.
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        // Acquire pairs with the Release in `reserve`: the bound is durable before a number below it is used.
        if number >= self.reserved.load(Ordering::Acquire) {
            self.reserve(number)?;
        }
        Ok(number)
    }

    fn reserve(&self, number: u64) -> Result<()> {
        let facts = self.facts.lock().unwrap_or_else(PoisonError::into_inner);
        // Relaxed, because the bound changes only under the lock, which this thread holds.
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
        let open = |now| CasNumbers::open(pool.map("facts").unwrap(), now).unwrap();
        let mut last = 0;
        // Each session ends as by a kill, and the clock of the last one is wrong.
        for now in [1_000, 1_000, 2_000, 0] {
            let numbers = open(now);
            for _ in 0..3 {
                let number = numbers.take().unwrap();
                assert!(number > last, "{number} after {last}");
                last = number;
            }
        }
        let numbers = open(0);
        numbers.next.fetch_add(3 * BLOCK, Ordering::Relaxed);
        let number = numbers.take().unwrap();
        assert!(open(0).take().unwrap() > number);
    }

    /// A power loss takes the pool back, but not what clients remember.
    #[test]
    fn an_older_pool_gives_new_numbers() {
        let folder = tempfile::tempdir().unwrap();
        let open = |name: &str, now| {
            let pool = endura::Pool::open(folder.path().join(name)).unwrap();
            CasNumbers::open(pool.map("facts").unwrap(), now).unwrap()
        };
        let numbers = open("newer", 1_000);
        numbers.next.fetch_add(3 * BLOCK, Ordering::Relaxed);
        let last = numbers.take().unwrap();
        assert!(open("older", 1_010).take().unwrap() > last);
    }
}
