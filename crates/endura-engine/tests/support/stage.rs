//! Threads that stop where a test wants them, and tests that end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Builder, ScopedJoinHandle};
use std::time::{Duration, Instant};

use endura_variants::media::{Halt, Stop};

use super::sessions::{Contents, World};

/// More than any test here takes on a loaded machine.
const FOREVER: Duration = Duration::from_secs(300);

/// Runs `test`; if it hangs, says which test it was and ends the process.
pub(crate) fn ends(name: &str, test: impl FnOnce()) {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let end = Instant::now() + FOREVER;
            while !done.load(Ordering::Acquire) {
                if Instant::now() > end {
                    eprintln!("{name} hangs");
                    std::process::abort();
                }
                thread::park_timeout(Duration::from_millis(20));
            }
        });
        // Also when the test panics: else the scope waits for the watchdog for ever.
        struct Done<'d>(&'d AtomicBool);
        impl Drop for Done<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Release);
            }
        }
        let _done = Done(&done);
        test();
    });
}

/// Runs `work` in a thread of its own and `meanwhile` while that thread stands at `stop`, then
/// lets it go on. Whether it was stopped: `false` if `work` ended before it came to `stop`.
pub(crate) fn stopped<C: Contents>(
    world: &World<C>,
    stop: Stop,
    work: impl FnOnce(&C::Map) + Send,
    meanwhile: impl FnOnce(),
) -> bool {
    let halt = world.stage().halt("stopped", stop);
    thread::scope(|scope| {
        let thread = spawn(scope, "stopped", || work(world.map()));
        let stands = stands(&halt, &thread);
        if stands {
            meanwhile();
        }
        halt.release();
        join(thread);
        stands
    })
}

/// As [`stopped`], for work that may have to wait for a lock of the stopped thread: it runs in a
/// thread as well and goes on behind the first where it cannot go before it.
pub(crate) fn raced<C: Contents>(
    world: &World<C>,
    stop: Stop,
    first: impl FnOnce(&C::Map) + Send,
    second: impl FnOnce(&C::Map) + Send,
) -> bool {
    let halt = world.stage().halt("stopped", stop);
    thread::scope(|scope| {
        let one = spawn(scope, "stopped", || first(world.map()));
        let stands = stands(&halt, &one);
        let other = spawn(scope, "other", || second(world.map()));
        let end = Instant::now() + C::PATIENCE;
        while stands && !other.is_finished() && Instant::now() < end {
            thread::sleep(Duration::from_micros(50));
        }
        halt.release();
        join(one);
        join(other);
        stands
    })
}

pub(crate) fn spawn<'scope, 'env>(
    scope: &'scope thread::Scope<'scope, 'env>,
    name: &str,
    work: impl FnOnce() + Send + 'scope,
) -> ScopedJoinHandle<'scope, ()> {
    Builder::new().name(name.into()).spawn_scoped(scope, work).unwrap()
}

/// Waits until a thread stands; `false` if it ended before.
pub(crate) fn stands(halt: &Halt<'_>, thread: &ScopedJoinHandle<'_, ()>) -> bool {
    loop {
        if halt.reached_within(Duration::from_micros(200)) {
            return true;
        }
        if thread.is_finished() {
            return halt.is_reached();
        }
    }
}

pub(crate) fn join(thread: ScopedJoinHandle<'_, ()>) {
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

/// Calls `run` with every store of the thread under test as its stop, until it is no longer
/// stopped; gives how many there were. `run` answers whether it was.
pub(crate) fn at_every_store(mut run: impl FnMut(Stop) -> bool) -> u64 {
    let stops = (1..).take_while(|&n| run(Stop::at_store(n))).count() as u64;
    assert!(stops > 0, "the operation stores something");
    stops
}

/// The same for every load.
pub(crate) fn at_every_load(mut run: impl FnMut(Stop) -> bool) -> u64 {
    let stops = (1..).take_while(|&n| run(Stop::at_load(n))).count() as u64;
    assert!(stops > 0, "the operation loads something");
    stops
}
