//! Marks: which flight has the keys of a stripe.

use crate::sync::{AtomicU32, Ordering};

/// The number of stripes into which the keys of all maps are divided.
pub(crate) const STRIPES: usize = if cfg!(all(test, loom)) { 2 } else { 4_096 };

/// For each stripe the number of its flight, plus one; 0 = none.
#[derive(Debug)]
pub(crate) struct Marks(Box<[AtomicU32]>);

impl Default for Marks {
    fn default() -> Self {
        Self((0..STRIPES).map(|_| AtomicU32::new(0)).collect())
    }
}

impl Marks {
    /// The flight that has marked the stripe.
    pub(crate) fn owner(&self, stripe: u16) -> Option<usize> {
        // Acquire: pairs with the Release of `take_off`, so that who finds no mark finds what the flight has applied; and
        // with that of `set`, so that who finds one finds the flight's intent.
        self.0[usize::from(stripe)]
            .load(Ordering::Acquire)
            .checked_sub(1)
            .map(|flight| flight as usize)
    }

    /// Marks a stripe for this flight; returns `false` if another flight has it.
    pub(crate) fn set(&self, stripe: u16, flight: usize) -> bool {
        let mark = flight as u32 + 1;
        let mark = self.0[usize::from(stripe)].compare_exchange(
            0,
            mark,
            // Acquire: pairs with the Release of `take_off`, so that this flight comes after the one before.
            Ordering::AcqRel,
            Ordering::Relaxed,
        );
        mark.is_ok()
    }

    /// Takes the mark of the flight that has this stripe off.
    pub(crate) fn take_off(&self, stripe: u16) {
        self.0[usize::from(stripe)].store(0, Ordering::Release);
    }
}
