//! Keys of Redis, and the values of this module's type in them.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::api::{RawKey, RawType, Status, api};
use crate::store::{Failure, Outcome, Value};

/// The data type, once it is registered.
static TYPE: AtomicPtr<RawType> = AtomicPtr::new(ptr::null_mut());

pub(super) fn set_type(made: *mut RawType) {
    // Relaxed: only the thread that loads the module, and threads that it starts later, load this.
    TYPE.store(made, Ordering::Relaxed);
}

/// Gives a value to Redis, which passes it to `free` in the end.
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

/// The server refused to write to a key.
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
        // SAFETY: the key was opened, or is null, and is closed once.
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

    /// The map in this key; `None` if there is no such key. Fails if the key has another type.
    pub(crate) fn value(&self) -> Outcome<Option<&Value>> {
        // SAFETY: all three functions take an open key, and the pointer is not null. A value of this type is from
        // `into_raw`. Redis keeps the value while the key is open and not deleted, and deleting the key takes `self`
        // mutably.
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

    /// Like [`value`](Self::value), but a thread may keep the result.
    pub(crate) fn shared(&self) -> Outcome<Option<Arc<Value>>> {
        Ok(self.value()?.map(|value| {
            let raw: *const Value = value;
            // SAFETY: the value is inside an `Arc` that Redis holds, and the new `Arc` is counted.
            unsafe {
                Arc::increment_strong_count(raw);
                Arc::from_raw(raw)
            }
        }))
    }

    /// Sets the value of the key, and deletes what it held. Fails if the key is not open for writing; the value is then
    /// dropped.
    pub(crate) fn set(&mut self, value: Value) -> Result<(), NotWritten> {
        let made = TYPE.load(Ordering::Relaxed);
        if self.raw.is_null() {
            return Err(NotWritten);
        }
        let value = into_raw(value);
        // SAFETY: the key is open, and the type is registered. If the server refuses the value, it does not use it.
        unsafe {
            let set = (api().ModuleTypeSetValue)(self.raw, made, value);
            if !set.is_ok() {
                drop(from_raw(value));
            }
            written(set)
        }
    }

    /// Deletes the key, if it exists. Fails if the key is not open for writing.
    pub(crate) fn delete(&mut self) -> Result<(), NotWritten> {
        if self.raw.is_null() {
            return Err(NotWritten);
        }
        // SAFETY: the key is open.
        written(unsafe { (api().DeleteKey)(self.raw) })
    }

    /// The database of the key; `None` if there is no such key. Inside EXEC, Valkey 9.1 reports the database of the client
    /// as that of a context, but opens keys in the right one.
    pub(crate) fn database(&self) -> Option<i32> {
        // SAFETY: the key is open.
        (!self.raw.is_null()).then(|| unsafe { (api().GetDbIdFromModuleKey)(self.raw) })
    }

    /// When the key expires, in milliseconds since 1970; negative if it does not, or there is no such key.
    pub(crate) fn expires(&self) -> i64 {
        if self.raw.is_null() {
            return -1;
        }
        // SAFETY: the key is open.
        unsafe { (api().GetAbsExpire)(self.raw) }
    }

    /// Sets when the key expires. Fails if the key is not open for writing or does not exist, or if the time is negative.
    pub(crate) fn set_expires(&mut self, at: i64) -> Result<(), NotWritten> {
        if self.raw.is_null() {
            return Err(NotWritten);
        }
        // SAFETY: the key is open.
        written(unsafe { (api().SetAbsExpire)(self.raw, at) })
    }
}
