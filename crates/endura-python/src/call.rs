//! Calls into Python from which a thread may not return.
//!
//! While the interpreter ends, a daemon thread that needs the interpreter's lock is stopped. Before Python 3.14 that is
//! done by `pthread_exit`, which unwinds the stack, and aborts the process if it comes to frames of Rust. So every call
//! of a function of the program goes through this file. A guard, which the unwinding reaches first, keeps the thread
//! where it is, without the lock, until the process ends. Python 3.14 keeps such a thread where it is by itself, and
//! PyO3 does so where a thread attaches. A thread that PyO3 attaches when the interpreter has ended has a state made for it
//! of what is no longer there; so [`detached`] keeps the one it has. Code that Python runs in other ways, such as the `__index__` of a number that
//! is not an `int`, or a `__del__`, is not guarded.

use std::hint::black_box;
use std::sync::atomic::AtomicPtr;
use std::{ptr, thread};

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyTuple};

/// Parks the thread for ever when its stack is unwound.
struct Stay;

impl Drop for Stay {
    fn drop(&mut self) {
        loop {
            thread::park();
        }
    }
}

/// What a thread had of the interpreter before others ran Python in its place. It stays with this thread.
pub(crate) struct Caller(*mut ffi::PyThreadState);

impl Caller {
    /// Calls `run` with the interpreter's lock. Never returns when the interpreter has ended, or is about to.
    pub(crate) fn attach<R>(&self, run: impl FnOnce(Python<'_>) -> R) -> R {
        struct Attached;
        impl Drop for Attached {
            fn drop(&mut self) {
                // SAFETY: this thread is attached, and nothing of Python is borrowed any more.
                unsafe { ffi::PyEval_SaveThread() };
            }
        }
        // SAFETY: the state is that of this thread, which is detached. If the interpreter has ended, the state is only compared
        // with that of the thread that ended it.
        unsafe { ffi::PyEval_RestoreThread(self.0) };
        let _attached = Attached;
        Python::attach(run)
    }
}

/// Lets other threads run Python while `run` runs, which may call functions of the program by its argument.
pub(crate) fn detached<R: Send>(py: Python<'_>, run: impl FnOnce(Caller) -> R + Send) -> R {
    // SAFETY: this thread is attached.
    let state = AtomicPtr::new(unsafe { ffi::PyThreadState_Get() });
    py.detach(|| run(Caller(state.into_inner())))
}

type Object = *mut ffi::PyObject;

// Declared as in `pyo3::ffi`, except that they may unwind.
unsafe extern "C-unwind" {
    fn PyObject_Call(function: Object, arguments: Object, named: Object) -> Object;
    fn PyIter_Next(iterator: Object) -> Object;
}

// PyO3 declares the same functions as ones that do not unwind, and the compiler may rely on either declaration. So they are
// called by a pointer that the compiler knows nothing of.
/// `function(*arguments)`.
pub(crate) fn call<'py>(
    function: &Bound<'py, PyAny>,
    arguments: impl IntoPyObject<
        'py,
        Target = PyTuple,
        Output = Bound<'py, PyTuple>,
        Error: Into<PyErr>,
    >,
) -> PyResult<Bound<'py, PyAny>> {
    let arguments = arguments.into_pyobject(function.py()).map_err(Into::into)?;
    let run = black_box(PyObject_Call as unsafe extern "C-unwind" fn(_, _, _) -> _);
    let stay = Stay;
    // SAFETY: this thread is attached, and both objects live as long as the borrows of them. There are no named arguments.
    let returned = unsafe { run(function.as_ptr(), arguments.as_ptr(), ptr::null_mut()) };
    std::mem::forget(stay);
    // SAFETY: the call returned a reference that this function owns, or null and an exception.
    unsafe { Bound::from_owned_ptr_or_err(function.py(), returned) }
}

/// `next(iterator)`, or `None` at its end.
pub(crate) fn next<'py>(iterator: &Bound<'py, PyIterator>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = iterator.py();
    let run = black_box(PyIter_Next as unsafe extern "C-unwind" fn(_) -> _);
    let stay = Stay;
    // SAFETY: this thread is attached, and the object, an iterator, lives as long as the borrow of it.
    let returned = unsafe { run(iterator.as_ptr()) };
    std::mem::forget(stay);
    // SAFETY: the call returned a reference that this function owns, or null. After null there is an exception, or the
    // iterator is at its end.
    match unsafe { Bound::from_owned_ptr_or_opt(py, returned) } {
        None => PyErr::take(py).map_or(Ok(None), Err),
        item => Ok(item),
    }
}
