//! Calls that run code of the caller's: which pools the calling thread is in the middle of.
//!
//! A method that is given a closure or an iterator notes its pool here for as long as it runs, whether it has a pin
//! meanwhile or not. A close and a verification wait for all operations to end, and a thread cannot wait for its own:
//! they ask here first, so that they answer the same in every closure.

use std::cell::Cell;
use std::marker::PhantomData;

/// The deepest nesting of calls that is recorded. A thread that is inside more calls counts as inside every pool.
const DEEPEST: usize = 16;

thread_local! {
    // No destructor: it can also be used while the thread is torn down.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
    static POOLS: [Cell<usize>; DEEPEST] = const { [const { Cell::new(0) }; DEEPEST] };
}

/// A running call. It ends when it is dropped, also by a panic, in the thread that began it.
pub(crate) struct Call {
    _not_send: PhantomData<*const ()>,
}

impl Call {
    /// Begins a call into the pool at this address, which stays there meanwhile.
    #[inline(always)]
    pub(crate) fn begin<T: ?Sized>(pool: *const T) -> Self {
        let depth = DEPTH.get();
        POOLS.with(|pools| {
            if let Some(own) = pools.get(depth) {
                own.set(pool.addr());
            }
        });
        DEPTH.set(depth + 1);
        Self { _not_send: PhantomData }
    }

    /// Whether the calling thread is inside a call into the pool at this address.
    pub(crate) fn is_inside<T: ?Sized>(pool: *const T) -> bool {
        let depth = DEPTH.get();
        POOLS.with(|pools| {
            depth > DEEPEST || pools[..depth].iter().any(|noted| noted.get() == pool.addr())
        })
    }
}

impl Drop for Call {
    #[inline(always)]
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_inside_the_pools_that_its_calls_are_of() {
        let (a, b, c) = (&1, &2, &3);
        let is_inside = || [a, b, c].map(|pool| Call::is_inside(pool));
        let outer = Call::begin(a);
        let inner = Call::begin(b);
        assert_eq!(is_inside(), [true, true, false]);
        std::thread::scope(|scope| {
            assert!(!scope.spawn(|| Call::is_inside(a)).join().unwrap(), "another thread");
        });
        drop(inner);
        assert_eq!(is_inside(), [true, false, false]);
        let again = Call::begin(a);
        drop(again);
        assert_eq!(is_inside(), [true, false, false]);
        drop(outer);
        assert_eq!(is_inside(), [false; 3]);
    }

    #[test]
    fn a_panic_ends_its_calls() {
        let pool = &1;
        let _outer = Call::begin(&2);
        let outcome = std::panic::catch_unwind(|| {
            let _calls = [Call::begin(pool), Call::begin(pool)];
            panic!("on purpose");
        });
        assert!(outcome.is_err() && !Call::is_inside(pool));
    }

    #[test]
    fn who_is_too_deep_to_tell_is_inside_everywhere() {
        let pools = [1, 2];
        let calls: Vec<_> = (0..=DEEPEST).map(|_| Call::begin(&pools[0])).collect();
        assert!(Call::is_inside(&pools[1]));
        drop(calls);
        assert!(!Call::is_inside(&pools[0]) && !Call::is_inside(&pools[1]));
    }
}
