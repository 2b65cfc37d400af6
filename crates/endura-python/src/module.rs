//! The module: its classes, and the functions that Python calls at a fork and at the end.

use pyo3::exceptions::PyImportError;
use pyo3::ffi;
use pyo3::prelude::*;

use crate::{pool, shared};

#[pymodule(gil_used = false)]
mod _endura {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::batch::{Parts, Run};
    #[pymodule_export]
    use crate::convert::expect_json;
    #[pymodule_export]
    use crate::error::in_python_words;
    #[pymodule_export]
    use crate::map::{Edit, Entries, Map};
    #[pymodule_export]
    use crate::pool::{Pool, end_events};

    #[pymodule_export]
    use super::after_fork;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::expect_main_interpreter(module.py())?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}

/// Fails in a subinterpreter. The threads of a pool attach to the main interpreter. If they had objects of a
/// subinterpreter, they would wait, when the subinterpreter ends, for a lock that the subinterpreter itself holds.
fn expect_main_interpreter(_attached: Python<'_>) -> PyResult<()> {
    // SAFETY: this thread is attached, so that it has an interpreter.
    match unsafe { ffi::PyInterpreterState_GetID(ffi::PyInterpreterState_Get()) } {
        0 => Ok(()),
        _ => Err(PyImportError::new_err(
            "endura cannot be imported in a subinterpreter: import it in the main one (mod_wsgi: `WSGIApplicationGroup %{GLOBAL}`)",
        )),
    }
}

/// Called by `os.register_at_fork` in the child.
#[pyfunction]
#[pyo3(name = "_after_fork")]
fn after_fork() {
    pool::forget_threads();
    shared::note_fork();
}
