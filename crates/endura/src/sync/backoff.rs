//! Waiting for a short critical section.

use super::waiting::WAITING;

/// Waiting for a short critical section of another thread: spins a little, then lets others run.
/// (Spinning on with more threads than cores is what gave RNTree a p99.9 of 31 ms.)
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    #[cfg_attr(all(test, loom), expect(dead_code, reason = "models do not spin"))]
    step: u32,
}

impl Backoff {
    #[cfg(not(all(test, loom)))]
    const SPINS: u32 = 6;

    pub(crate) fn wait(&mut self) {
        if let Some(turn) = WAITING.get() {
            return turn();
        }
        // A model that spins never ends.
        #[cfg(all(test, loom))]
        return loom::thread::yield_now();
        #[cfg(not(all(test, loom)))]
        self.spin_or_yield();
    }

    #[cfg(not(all(test, loom)))]
    fn spin_or_yield(&mut self) {
        if self.step < Self::SPINS {
            for _ in 0..1 << self.step {
                std::hint::spin_loop();
            }
            self.step += 1;
        } else {
            std::thread::yield_now();
        }
    }
}
