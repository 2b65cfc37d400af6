//! Memory that crosses the border: slices, buffers, out-pointers, texts, arrays.
//!
//! All pointers of the program are read here. That a pointer which is not NULL points to what the header says, for as
//! long as the header says, is the program's promise, and what each `SAFETY` here rests on.

use std::ffi::{CStr, OsStr, c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::slice;

use crate::failure::{Failure, Outcome};
use crate::status::E_MEMORY;

/// Bytes of the program's, which are read during a call; or bytes that are lent to it.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Slice {
    /// The first byte; may be NULL if there are none.
    pub data: *const c_void,
    /// The number of bytes.
    pub len: usize,
}

impl Slice {
    /// The slice of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self { data: bytes.as_ptr().cast(), len: bytes.len() }
    }

    /// Its bytes, for the time of the call.
    #[inline]
    pub(crate) fn bytes<'a>(self, name: &str) -> Outcome<&'a [u8]> {
        match self.len {
            0 => Ok(&[]),
            len if !self.data.is_null() && len <= isize::MAX as usize => {
                // SAFETY: the program promises that so many bytes are there during the call.
                Ok(unsafe { slice::from_raw_parts(self.data.cast(), len) })
            }
            _ => Err(wrong_slice(self, name)),
        }
    }
}

#[cold]
fn wrong_slice(slice: Slice, name: &str) -> Failure {
    let flaw = if slice.data.is_null() { "its data is NULL" } else { "that is a negative length" };
    Failure::argument(format!("`{name}` has {} bytes, but {flaw}", slice.len))
}

/// A slice that may be missing.
#[inline]
pub(crate) fn bytes_or_none<'a>(slice: *const Slice, name: &str) -> Outcome<Option<&'a [u8]>> {
    // SAFETY: the program promises that what is not NULL is a slice.
    unsafe { slice.as_ref() }.map(|slice| slice.bytes(name)).transpose()
}

/// Memory that calls fill again and again. It is the C library's, and holds a 0 after its last byte.
#[repr(C)]
#[derive(Debug)]
pub struct Buf {
    /// The first byte; NULL before the first use.
    pub data: *mut c_char,
    /// The number of bytes.
    pub len: usize,
    /// The number of bytes that `data` has room for.
    pub room: usize,
}

/// The least room that is allocated.
const LEAST_ROOM: usize = 64;

impl Buf {
    pub(crate) fn set(&mut self, bytes: &[u8]) -> Outcome<()> {
        self.fill(bytes.len(), |room| room.copy_from_slice(bytes))
    }

    /// Makes room for `len` bytes, which `write` writes.
    #[inline]
    pub(crate) fn fill(&mut self, len: usize, write: impl FnOnce(&mut [u8])) -> Outcome<()> {
        if self.data.is_null() || self.room <= len {
            self.grow(len)?;
        }
        // SAFETY: there are `room` bytes, more than `len`; `calloc` and later calls have initialized them.
        let room = unsafe { slice::from_raw_parts_mut(self.data.cast::<u8>(), len + 1) };
        write(&mut room[..len]);
        room[len] = 0;
        self.len = len;
        Ok(())
    }

    #[cold]
    fn grow(&mut self, len: usize) -> Outcome<()> {
        let room = len.saturating_add(1).checked_next_power_of_two().unwrap_or(usize::MAX);
        let room = room.max(LEAST_ROOM);
        self.free();
        // SAFETY: `calloc` takes any two numbers.
        self.data = unsafe { libc::calloc(room, 1) }.cast();
        if self.data.is_null() {
            return Err(Failure::new(E_MEMORY, format!("no memory for {room} bytes: free some")));
        }
        self.room = room;
        Ok(())
    }

    fn free(&mut self) {
        // SAFETY: `data` is NULL, or from `calloc` and not freed, as the header asks of every buffer.
        unsafe { libc::free(self.data.cast()) };
        *self = Self { data: ptr::null_mut(), len: 0, room: 0 };
    }

    /// Whether some of these bytes are in the buffer.
    pub(crate) fn holds(&self, bytes: &[u8]) -> bool {
        overlap(self.data.cast(), self.room, bytes)
    }
}

/// Whether `bytes` share memory with the `len` bytes at `data`.
pub(crate) fn overlap(data: *const c_void, len: usize, bytes: &[u8]) -> bool {
    let (begin, other) = (data.addr(), bytes.as_ptr().addr());
    begin < other.saturating_add(bytes.len()) && other < begin.saturating_add(len)
}

/// Frees the memory of a buffer, which is empty then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_buf_free(buf: *mut Buf) {
    // SAFETY: the program promises that what is not NULL is a buffer.
    if let Some(buf) = unsafe { buf.as_mut() } {
        buf.free();
    }
}

/// A place that the call writes.
#[inline]
pub(crate) fn out<'a, T>(place: *mut T, name: &str) -> Outcome<&'a mut T> {
    // SAFETY: the program promises that what is not NULL can be written during the call, and is used by no other thread.
    let place = if place.is_aligned() { unsafe { place.as_mut() } } else { None };
    place.ok_or_else(|| Failure::argument(format!("`{name}` is NULL, or not aligned")))
}

/// Writes to a place, if there is one.
#[inline(always)]
pub(crate) fn give<T>(place: *mut T, value: T) {
    // SAFETY: as for `out`.
    if let Some(place) = unsafe { place.as_mut() } {
        *place = value;
    }
}

/// What a place holds, if there is one.
#[inline(always)]
pub(crate) fn given<T: Copy>(place: *const T) -> Option<T> {
    // SAFETY: the program promises that what is not NULL can be read during the call.
    unsafe { place.as_ref() }.copied()
}

/// The bytes of a text, without its 0.
fn text_bytes<'a>(text: *const c_char, name: &str) -> Outcome<&'a [u8]> {
    if text.is_null() {
        return Err(Failure::argument(format!("`{name}` is NULL")));
    }
    // SAFETY: the program promises that a 0 ends what is not NULL.
    Ok(unsafe { CStr::from_ptr(text) }.to_bytes())
}

pub(crate) fn text<'a>(text: *const c_char, name: &str) -> Outcome<&'a str> {
    let text = str::from_utf8(text_bytes(text, name)?);
    text.map_err(|flaw| Failure::argument(format!("`{name}` is not UTF-8: {flaw}")))
}

pub(crate) fn text_or_none<'a>(pointer: *const c_char, name: &str) -> Outcome<Option<&'a str>> {
    if pointer.is_null() { Ok(None) } else { text(pointer, name).map(Some) }
}

pub(crate) fn path<'a>(path: *const c_char, name: &str) -> Outcome<&'a Path> {
    Ok(Path::new(OsStr::from_bytes(text_bytes(path, name)?)))
}

pub(crate) fn path_or_none<'a>(pointer: *const c_char, name: &str) -> Outcome<Option<&'a Path>> {
    if pointer.is_null() { Ok(None) } else { path(pointer, name).map(Some) }
}

/// Whether `n` things at `data` can be there.
fn can_be<T>(data: *const T, n: usize, name: &str) -> Outcome<()> {
    let bytes = n.checked_mul(size_of::<T>()).filter(|&bytes| bytes <= isize::MAX as usize);
    match bytes {
        Some(_) if !data.is_null() && data.is_aligned() => Ok(()),
        _ => {
            Err(Failure::argument(format!("`{name}` is NULL or not aligned, or {n} are too many")))
        }
    }
}

/// An array that the call reads.
pub(crate) fn array<'a, T>(data: *const T, n: usize, name: &str) -> Outcome<&'a [T]> {
    if n == 0 {
        return Ok(&[]);
    }
    can_be(data, n, name)?;
    // SAFETY: the program promises that there are `n`, which can be read during the call.
    Ok(unsafe { slice::from_raw_parts(data, n) })
}

/// An array that the call writes.
pub(crate) fn array_out<'a, T>(data: *mut T, n: usize, name: &str) -> Outcome<&'a mut [T]> {
    if n == 0 {
        return Ok(&mut []);
    }
    can_be(data, n, name)?;
    // SAFETY: the program promises that there are `n` places, which no other thread uses during the call.
    Ok(unsafe { slice::from_raw_parts_mut(data, n) })
}
