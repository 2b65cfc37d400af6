//! The limit on how often a function of Python runs for one operation.

use pyo3::prelude::*;

use crate::error::failure;
use crate::shared::writes_of_this_thread;

/// The operation fails after this number of consecutive runs that were in vain and in which the function itself wrote.
const IN_VAIN: u32 = 1_000;

/// Counts the runs of a function of Python that were in vain, because the value had changed when the function returned.
///
/// Other threads may change the value any number of times: each time one of them makes progress. A function that writes to
/// its own key would compete with itself for ever.
#[derive(Default)]
pub(crate) struct Runs {
    before: u64,
    in_vain: u32,
}

impl Runs {
    pub(crate) fn begin(&mut self) {
        self.before = writes_of_this_thread();
    }

    /// Fails after too many runs in which the function itself wrote, or if the handler of a signal raises an exception.
    pub(crate) fn end(&mut self, py: Python<'_>) -> PyResult<()> {
        let wrote = writes_of_this_thread() != self.before;
        self.in_vain = if wrote { self.in_vain + 1 } else { 0 };
        if self.in_vain == IN_VAIN {
            return Err(failure(endura::Error::RecursiveUpdate { runs: self.in_vain }));
        }
        py.check_signals()
    }
}
