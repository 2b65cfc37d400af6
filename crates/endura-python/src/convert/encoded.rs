//! Encodings of objects, without a copy where the object has the bytes.

use std::ops::Deref;

use pyo3::buffer::PyUntypedBuffer;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::sync::PyOnceLock;

/// The encoding of an object.
pub(crate) enum Encoded<'a> {
    /// Bytes of a `str` or a `bytes`, which cannot change.
    Lent(&'a [u8]),
    /// A number of 8 bytes.
    Word([u8; 8]),
    Own(Vec<u8>),
    /// What the function of a codec returned.
    Text(PyBackedStr),
    Bytes(PyBackedBytes),
    Buffer(Buffer),
}

impl Encoded<'_> {
    /// Whether the bytes stay as they are while other threads run Python.
    pub(crate) fn is_constant(&self) -> bool {
        !matches!(self, Self::Buffer(_))
    }

    /// The same bytes, copied where others could change them.
    pub(crate) fn constant(self) -> Self {
        match self {
            Self::Buffer(buffer) => Self::Own(buffer.bytes().to_vec()),
            constant => constant,
        }
    }
}

impl Deref for Encoded<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Self::Lent(bytes) => bytes,
            Self::Word(bytes) => bytes,
            Self::Own(bytes) => bytes,
            Self::Text(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
            Self::Buffer(buffer) => buffer.bytes(),
        }
    }
}

/// The contiguous bytes of an object that is no `bytes`: a `bytearray`, a `memoryview`, an array.
pub(crate) struct Buffer(PyUntypedBuffer);

impl Buffer {
    /// The bytes of `object`, or `None` if it has no buffer, or one with gaps.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Option<Encoded<'static>>> {
        let Ok(buffer) = PyUntypedBuffer::get(object) else { return Ok(None) };
        if !buffer.is_c_contiguous() {
            return Ok(None);
        }
        let buffer = Self(buffer);
        Ok(Some(if threads_take_turns(object.py())? {
            Encoded::Buffer(buffer)
        } else {
            Encoded::Own(buffer.bytes().to_vec())
        }))
    }

    fn bytes(&self) -> &[u8] {
        let bytes = self.0.len_bytes();
        if bytes == 0 {
            return &[];
        }
        // SAFETY: the buffer is contiguous, and has so many bytes for as long as it is held. It may be written only by a
        // thread that is attached to the interpreter. This one is, and stays so while it has this reference
        // (`Encoded::is_constant`); where threads do not take turns, the reference lives for one copy.
        unsafe { std::slice::from_raw_parts(self.0.buf_ptr().cast_const().cast(), bytes) }
    }
}

/// Whether one thread at a time runs Python: not in a free-threaded build.
fn threads_take_turns(py: Python<'_>) -> PyResult<bool> {
    static TAKE_TURNS: PyOnceLock<bool> = PyOnceLock::new();
    let found = TAKE_TURNS.get_or_try_init(py, || {
        let sys = py.import("sys")?;
        match sys.getattr_opt("_is_gil_enabled")? {
            Some(is_enabled) => is_enabled.call0()?.is_truthy(),
            None => Ok(true),
        }
    });
    found.copied()
}
