//! What time it is: by the processor's counter, or by a clock that only the model moves.

use std::time::Instant;

use super::thread::Thread;

/// Whether an emulated medium waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// It does, by watching the clock.
    Wall,
    /// It adds up what it would have waited. Time stands still between two accesses.
    Charged,
}

/// Ticks since some moment: of the time stamp counter, of nanoseconds where there is none, or of
/// nanoseconds charged.
pub(super) struct Clock {
    pace: Pace,
    begun: Instant,
    ticks_per_nano: f64,
    /// Ticks by which a wait is longer than asked for.
    late: u64,
}

/// Ticks before the end of a wait from which on the thread only watches the clock: a pause may take as long.
const CLOSE: u64 = 300;

impl Clock {
    pub(super) fn new(pace: Pace) -> Self {
        let (ticks_per_nano, late) = if pace == Pace::Wall { calibrated() } else { (1.0, 0) };
        Self { pace, begun: Instant::now(), ticks_per_nano, late }
    }

    pub(super) fn ticks(&self, nanos: f64) -> u64 {
        (nanos * self.ticks_per_nano).round() as u64
    }

    pub(super) fn nanos(&self, ticks: u64) -> u64 {
        (ticks as f64 / self.ticks_per_nano).round() as u64
    }

    #[inline]
    pub(super) fn now(&self, thread: &Thread) -> u64 {
        match self.pace {
            Pace::Charged => thread.charged_now(),
            Pace::Wall => counter(self.begun),
        }
    }

    /// Returns at `then`, or moves the thread's clock there.
    #[inline]
    pub(super) fn wait_until(&self, thread: &Thread, then: u64) {
        match self.pace {
            Pace::Charged => thread.charge_until(then),
            Pace::Wall => watch(self.begun, then.saturating_sub(self.late)),
        }
    }
}

/// Watches the counter until it says `then`.
#[inline]
fn watch(begun: Instant, then: u64) {
    loop {
        let now = counter(begun);
        if now >= then {
            return;
        }
        if then - now > CLOSE {
            std::hint::spin_loop();
        }
    }
}

/// The time stamp counter, which runs at one rate on every x86-64 of the last ten years.
#[cfg(target_arch = "x86_64")]
#[inline]
fn counter(_begun: Instant) -> u64 {
    // SAFETY: every x86-64 has the counter; reading it touches no memory.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn counter(begun: Instant) -> u64 {
    begun.elapsed().as_nanos() as u64
}

/// Ticks per nanosecond, and ticks by which a wait is longer than asked for, measured once in a process: the
/// median and the least of many, of which a busy machine may spoil some.
fn calibrated() -> (f64, u64) {
    static MEASURED: std::sync::OnceLock<(f64, u64)> = std::sync::OnceLock::new();
    *MEASURED.get_or_init(|| {
        let mut rates = [0.0; 9].map(|_: f64| {
            let begun = Instant::now();
            let from = counter(begun);
            while begun.elapsed().as_micros() < 1000 {
                std::hint::spin_loop();
            }
            let (to, nanos) = (counter(begun), begun.elapsed().as_nanos());
            (to - from) as f64 / nanos as f64
        });
        rates.sort_by(f64::total_cmp);
        (rates[4], lateness())
    })
}

/// Ticks from a look at the clock through a wait to the next such look, beyond those that were to be waited:
/// the looks themselves, and a branch that was predicted to stay in the loop.
fn lateness() -> u64 {
    const WAIT: u64 = 2 * CLOSE;
    const WAITS: u64 = 16;
    let begun = Instant::now();
    let of_waits = |_| {
        let from = counter(begun);
        (0..WAITS).for_each(|_| watch(begun, counter(begun) + WAIT));
        ((counter(begun) - from) / WAITS).saturating_sub(WAIT)
    };
    (0..64).map(of_waits).min().unwrap_or(0)
}
