//! A real-time thread and ordinary ones on one processor, for tests of waits: the ordinary threads run only if the
//! real-time thread lets them.
//!
//! The kernel gives real-time threads at most 95 % of each second of a processor
//! (`/proc/sys/kernel/sched_rt_runtime_us`). So a wait that never yields the processor does not hang, but takes up to a
//! second, which is four times [`TOO_LONG`].

use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// A correct wait for a holder that needs a few milliseconds is shorter than this, also while other programs run.
pub(crate) const TOO_LONG: Duration = Duration::from_millis(250);

/// Runs `hold` in an ordinary thread. Once `hold` has called its argument, runs `wait` in a real-time thread on the
/// same processor. Returns the result of `wait` and the time it took. Where the system does not allow real-time
/// threads, prints why and returns `None`.
pub(crate) fn beside<T: Send>(
    hold: impl FnOnce(&dyn Fn()) + Send,
    wait: impl FnOnce() -> T + Send,
) -> Option<(T, Duration)> {
    std::thread::scope(|scope| {
        let (tell, told) = channel();
        scope.spawn(move || {
            stay_on_one_processor();
            hold(&|| {
                let _ = tell.send(());
            });
        });
        let waiter = scope.spawn(move || {
            stay_on_one_processor();
            let _ = told.recv();
            let is_real_time = become_real_time();
            let begun = Instant::now();
            let outcome = (wait(), begun.elapsed());
            is_real_time.then_some(outcome)
        });
        let outcome = waiter.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        if outcome.is_none() {
            println!(
                "not tested: this process may not have real-time threads (CAP_SYS_NICE, or `ulimit -r`)"
            );
        }
        outcome
    })
}

/// Works until the calling thread has used `time` of processor time.
pub(crate) fn work_for(time: Duration) {
    let end = own_time() + time;
    while own_time() < end {
        std::hint::spin_loop();
    }
}

/// How much processor time the calling thread has used.
fn own_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes the two numbers and nothing else.
    let _ = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

/// Lets the calling thread run on the last processor that it may use, and on no other.
fn stay_on_one_processor() {
    // SAFETY: both calls read or write a set of this size, of which all zeros is the empty one; `CPU_ISSET` and
    // `CPU_SET` get numbers below its size.
    unsafe {
        let mut all: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of_val(&all), &raw mut all);
        let numbers = 0..libc::CPU_SETSIZE as usize;
        if let Some(last) = numbers.rev().find(|&number| libc::CPU_ISSET(number, &all)) {
            let mut one: libc::cpu_set_t = std::mem::zeroed();
            libc::CPU_SET(last, &mut one);
            libc::sched_setaffinity(0, size_of_val(&one), &raw const one);
        }
    }
}

/// Gives the calling thread the lowest real-time priority; returns whether the system allowed it.
fn become_real_time() -> bool {
    let lowest = libc::sched_param { sched_priority: 1 };
    // SAFETY: the call reads the number and nothing else.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const lowest) == 0 }
}
