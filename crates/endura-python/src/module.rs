//! The module: its classes, and what Python calls at a fork and at the end.

use pyo3::prelude::*;

use crate::{pool, shared};

#[pymodule(gil_used = false)]
mod _endura {
    #[pymodule_export]
    use crate::map::{Edit, Entries, Map};
    #[pymodule_export]
    use crate::pool::{Pool, end_events};

    #[pymodule_export]
    use super::after_fork;
}

/// For `os.register_at_fork`, in the child.
#[pyfunction]
#[pyo3(name = "_after_fork")]
fn after_fork() {
    pool::forget_threads();
    shared::note_fork();
}
