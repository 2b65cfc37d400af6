//! Calls that run code of the caller, such as a closure. They say which pools the calling thread is inside of.
//!
//! A method that takes a closure or an iterator records its pool here for as long as it runs, whether or not it has a
//! pin meanwhile. A close and a verification wait for all operations to end, and a thread cannot wait for its own
//! operation. So both check here first, and refuse in every closure alike.

use std::cell::Cell;
use std::marker::PhantomData;

/// The deepest nesting of calls that is recorded. A thread that is inside more calls counts as inside every pool.
const DEEPEST: usize = 16;

/// The running calls of a thread, the outermost first.
struct Calls {
    depth: Cell<usize>,
    pools: [Cell<usize>; DEEPEST],
}

thread_local! {
    // It has no destructor, so it can also be used while the thread's other thread-locals are destroyed.
    static CALLS: Calls =
        const { Calls { depth: Cell::new(0), pools: [const { Cell::new(0) }; DEEPEST] } };
}

/// A running call. It ends when this is dropped, also by a panic, in the thread that began it.
pub struct Call {
    _not_send: PhantomData<*const ()>,
}

impl Call {
    /// Begins a call into the pool at this address. The pool must not move before the call ends.
    #[inline(always)]
    pub fn begin(pool: usize) -> Self {
        CALLS.with(|calls| {
            let depth = calls.depth.get();
            if let Some(own) = calls.pools.get(depth) {
                own.set(pool);
            }
            calls.depth.set(depth + 1);
        });
        Self { _not_send: PhantomData }
    }

    /// Whether the calling thread is inside a call into the pool at this address.
    pub(crate) fn is_inside(pool: usize) -> bool {
        CALLS.with(|calls| {
            let noted = calls.pools.get(..calls.depth.get());
            noted.is_none_or(|noted| noted.iter().any(|noted| noted.get() == pool))
        })
    }
}

impl Drop for Call {
    #[inline(always)]
    fn drop(&mut self) {
        CALLS.with(|calls| calls.depth.set(calls.depth.get() - 1));
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_inside_the_pools_that_its_calls_are_of() {
        let (a, b, c) = (1, 2, 3);
        let is_inside = || [a, b, c].map(Call::is_inside);
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
        let pool = 1;
        let _outer = Call::begin(2);
        let outcome = std::panic::catch_unwind(|| {
            let _calls = [Call::begin(pool), Call::begin(pool)];
            panic!("on purpose");
        });
        assert!(outcome.is_err() && !Call::is_inside(pool));
    }

    #[test]
    fn who_is_too_deep_to_tell_is_inside_everywhere() {
        let calls: Vec<_> = (0..=DEEPEST).map(|_| Call::begin(1)).collect();
        assert!(Call::is_inside(2));
        drop(calls);
        assert!(!Call::is_inside(1) && !Call::is_inside(2));
    }
}
