//! How often a function of Python runs for one operation.

use pyo3::prelude::*;

use crate::error::failure;
use crate::shared::writes_of_this_thread;

/// After so many runs of a function that itself wrote, and each time in vain, an operation fails.
const IN_VAIN: u32 = 1_000;

/// Runs of functions of Python that were in vain, because the value had changed when they returned.
///
/// Other threads may win any number of times, for each time one of them gets on. A function that writes its own key would
/// compete with itself for ever.
#[derive(Default)]
pub(crate) struct Runs {
    before: u64,
    in_vain: u32,
}

impl Runs {
    pub(crate) fn begin(&mut self) {
        self.before = writes_of_this_thread();
    }

    /// Fails after too many runs that wrote themselves, and if a signal asks for it.
    pub(crate) fn end(&mut self, py: Python<'_>) -> PyResult<()> {
        let wrote = writes_of_this_thread() != self.before;
        self.in_vain = if wrote { self.in_vain + 1 } else { 0 };
        if self.in_vain == IN_VAIN {
            return Err(failure(endura::Error::RecursiveUpdate { runs: self.in_vain }));
        }
        py.check_signals()
    }
}
