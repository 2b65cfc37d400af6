//! Waits for another thread: for the holder of a lock, the end of a pop, the end of an operation.
//!
//! | waits | how | why |
//! | --- | --- | --- |
//! | the first few | spin | a critical section is a few stores, and its holder runs on another processor |
//! | some more | yield | the holder was preempted, and other threads want its processor |
//! | all others | sleep, 50 µs first, up to 1 ms | a yield gives the processor only to threads of the same priority: if a real-time thread yields, an ordinary holder does not run |
//!
//! A sleep is never longer than [`SHORTEST`] plus all sleeps before it. So a waiter inside a pin stays pinned at most
//! about twice as long as the wait requires, and at most [`LONGEST`] longer.

#[cfg(not(all(test, loom)))]
use std::time::Duration;

use super::waiting::WAITING;

/// The first sleep: about the time that the system takes to switch to another thread and back.
#[cfg(not(all(test, loom)))]
const SHORTEST: Duration = Duration::from_micros(50);
/// The longest sleep. A waiter that checks a thousand times a second leaves the processor to the holder, and still
/// notices the end soon.
#[cfg(not(all(test, loom)))]
const LONGEST: Duration = Duration::from_millis(1);

const SPINS: u32 = 6;
const YIELDS: u32 = 32;

/// The state of one wait: each step takes longer than the one before.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    #[cfg_attr(all(test, loom), expect(dead_code, reason = "models do not spin"))]
    step: u32,
}

impl Backoff {
    /// How many steps of a wait do not sleep. A thread that must not sleep gives up after as many steps.
    pub(crate) const AWAKE: u32 = SPINS + YIELDS;

    /// A wait that sleeps from its first step on, for a thread that has spun and yielded already.
    pub(crate) fn asleep() -> Self {
        Self { step: Self::AWAKE }
    }

    /// Takes one step: lets other threads run, a little longer than the last time.
    pub(crate) fn wait(&mut self) {
        if let Some(turn) = WAITING.get() {
            return turn();
        }
        // A model whose threads spin never ends, and threads of a model cannot sleep.
        #[cfg(all(test, loom))]
        return loom::thread::yield_now();
        #[cfg(not(all(test, loom)))]
        self.spin_yield_or_sleep();
    }

    #[cfg(not(all(test, loom)))]
    fn spin_yield_or_sleep(&mut self) {
        match self.step {
            0..SPINS => (0..1 << self.step).for_each(|_| std::hint::spin_loop()),
            SPINS..Self::AWAKE => std::thread::yield_now(),
            _ => {
                let doublings = (self.step - Self::AWAKE).min(LONGEST.as_micros().ilog2());
                std::thread::sleep(LONGEST.min(SHORTEST * (1 << doublings)));
            }
        }
        self.step = self.step.saturating_add(1);
    }
}
