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
    /// Ticks that one look at the clock takes.
    look: u64,
}

/// Ticks before the end of a wait from which on the thread only watches the clock: a pause may take as long.
const CLOSE: u64 = 300;

impl Clock {
    pub(super) fn new(pace: Pace) -> Self {
        let (ticks_per_nano, look) = if pace == Pace::Wall { calibrated() } else { (1.0, 0) };
        Self { pace, begun: Instant::now(), ticks_per_nano, look }
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
            Pace::Wall => {
                // From the moment on which a look tells until the caller goes on takes a look on average:
                // half of one until the next begins, and the way out.
                let then = then.saturating_sub(self.look);
                loop {
                    let now = counter(self.begun);
                    if now >= then {
                        return;
                    }
                    if then - now > CLOSE {
                        std::hint::spin_loop();
                    }
                }
            }
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

/// Ticks per nanosecond, and ticks of a look at the clock, measured once in a process: the median and the
/// least of nine stretches of a millisecond, of which a busy machine may spoil some.
fn calibrated() -> (f64, u64) {
    static MEASURED: std::sync::OnceLock<(f64, u64)> = std::sync::OnceLock::new();
    *MEASURED.get_or_init(|| {
        const LOOKS: u64 = 256;
        let mut look = u64::MAX;
        let mut rates = [0.0; 9].map(|_: f64| {
            let begun = Instant::now();
            let from = counter(begun);
            let last = (0..LOOKS).fold(from, |_, _| counter(begun));
            look = look.min((last - from) / LOOKS);
            while begun.elapsed().as_micros() < 1000 {
                std::hint::spin_loop();
            }
            let (to, nanos) = (counter(begun), begun.elapsed().as_nanos());
            (to - from) as f64 / nanos as f64
        });
        rates.sort_by(f64::total_cmp);
        (rates[4], look)
    })
}
