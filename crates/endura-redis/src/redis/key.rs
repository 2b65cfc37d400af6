//! Keys of Redis, and the values of this module's type in them.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::api::{RawKey, RawType, Status, api};
use crate::store::{Failure, Outcome, Value};

/// The data type, once it was made.
static TYPE: AtomicPtr<RawType> = AtomicPtr::new(ptr::null_mut());

pub(super) fn set_type(made: *mut RawType) {
    // Only the thread that loads the module, and those that it starts later, read it.
    TYPE.store(made, Ordering::Relaxed);
}

/// Hands a value to Redis, which gives it back to `free`.
pub(crate) fn into_raw(value: Value) -> *mut c_void {
    Arc::into_raw(Arc::new(value)).cast_mut().cast()
}

/// The value that Redis holds.
///
/// # Safety
///
/// `raw` is from [`into_raw`], and Redis still holds it.
pub(crate) unsafe fn lent<'a>(raw: *const c_void) -> &'a Value {
    // SAFETY: the caller's promise.
    unsafe { &*raw.cast() }
}

/// Takes a value back.
///
/// # Safety
///
/// `raw` is from [`into_raw`], and Redis does not use it any more.
pub(crate) unsafe fn from_raw(raw: *mut c_void) -> Arc<Value> {
    // SAFETY: the caller's promise.
    unsafe { Arc::from_raw(raw.cast()) }
}

/// The server has not written to a key.
#[derive(Debug)]
pub(crate) struct NotWritten;

impl From<NotWritten> for Failure {
    fn from(NotWritten: NotWritten) -> Self {
        Self::Says("ERR endura: the server does not write to this key")
    }
}

fn written(status: Status) -> Result<(), NotWritten> {
    if status.is_ok() { Ok(()) } else { Err(NotWritten) }
}

/// An open key.
#[derive(Debug)]
pub(crate) struct Key<'a> {
    raw: *mut RawKey,
    _context: PhantomData<&'a ()>,
}

impl Drop for Key<'_> {
    fn drop(&mut self) {
        // SAFETY: it was opened, and is closed once.
        unsafe { (api().CloseKey)(self.raw) };
    }
}

impl<'a> Key<'a> {
    pub(super) fn new(raw: *mut RawKey) -> Self {
        Self { raw, _context: PhantomData }
    }

    /// Whether there is such a key, of any type.
    pub(crate) fn is_there(&self) -> bool {
        // SAFETY: the key is open, or null.
        !self.raw.is_null() && unsafe { (api().KeyType)(self.raw) != 0 }
    }

    /// The map in it; `None` if there is no such key.
    pub(crate) fn value(&self) -> Outcome<Option<&Value>> {
        // SAFETY: all three take an open key, and the first a null as well; a value of the type is one of ours, and
        // Redis keeps it while the key is open and nothing deletes it: what does that takes `self` mutably.
        unsafe {
            if self.raw.is_null() || (api().KeyType)(self.raw) == 0 {
                return Ok(None);
            }
            if (api().ModuleTypeGetType)(self.raw) != TYPE.load(Ordering::Relaxed) {
                return Err(Failure::WrongType);
            }
            Ok(Some(lent((api().ModuleTypeGetValue)(self.raw))))
        }
    }

    /// The same, to be kept by a thread.
    pub(crate) fn shared(&self) -> Outcome<Option<Arc<Value>>> {
        Ok(self.value()?.map(|value| {
            let raw: *const Value = value;
            // SAFETY: it is inside an `Arc`, which Redis holds: one more holds it too.
            unsafe {
                Arc::increment_strong_count(raw);
                Arc::from_raw(raw)
            }
        }))
    }

    /// Puts a value in; whatever was there is deleted. `Err` if the key is not open for writing: then the value is gone.
    pub(crate) fn set(&mut self, value: Value) -> Result<(), NotWritten> {
        let made = TYPE.load(Ordering::Relaxed);
        if self.raw.is_null() {
            return Err(NotWritten);
        }
        let value = into_raw(value);
        // SAFETY: the key is open, and the type was made. A value that the server does not take is taken back.
        unsafe {
            let set = (api().ModuleTypeSetValue)(self.raw, made, value);
            if !set.is_ok() {
                drop(from_raw(value));
            }
            written(set)
        }
    }

    /// Deletes it, if it is there. `Err` if it is not open for writing.
    pub(crate) fn delete(&mut self) -> Result<(), NotWritten> {
        if self.raw.is_null() {
            return Err(NotWritten);
        }
        // SAFETY: the key is open.
        written(unsafe { (api().DeleteKey)(self.raw) })
    }

    /// When it expires, in milliseconds since 1970; negative if it does not, or there is no such key.
    pub(crate) fn expires(&self) -> i64 {
        if self.raw.is_null() {
            return -1;
        }
        // SAFETY: the key is open.
        unsafe { (api().GetAbsExpire)(self.raw) }
    }

    /// `Err` if the key is not open for writing, or there is none, or the time is negative.
    pub(crate) fn set_expires(&mut self, at: i64) -> Result<(), NotWritten> {
        if self.raw.is_null() {
            return Err(NotWritten);
        }
        // SAFETY: the key is open.
        written(unsafe { (api().SetAbsExpire)(self.raw, at) })
    }
}
