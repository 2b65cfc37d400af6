//! Strings of Redis.

use std::ffi::c_char;
use std::slice;

use super::api::{RawContext, RawString, api};

/// An argument of a command, or the name of a key. Redis owns it, and keeps it as long as the call lasts.
#[repr(transparent)]
#[derive(Debug)]
pub(crate) struct Text(*mut RawString);

impl Text {
    /// # Safety
    ///
    /// The string outlives the result, and is not changed meanwhile.
    pub(crate) unsafe fn borrowed(raw: &*mut RawString) -> &Self {
        // SAFETY: `Text` is transparent over the pointer.
        unsafe { &*(&raw const *raw).cast() }
    }

    /// The arguments of a command.
    ///
    /// # Safety
    ///
    /// `raw` points to `len` strings that outlive `'a`.
    pub(crate) unsafe fn all<'a>(raw: *mut *mut RawString, len: usize) -> &'a [Self] {
        if len == 0 {
            // A module that is loaded without arguments gets a null pointer.
            return &[];
        }
        // SAFETY: `Text` is transparent over the pointer.
        unsafe { slice::from_raw_parts(raw.cast(), len) }
    }

    pub(super) fn all_raw(texts: &[Self]) -> &[*mut RawString] {
        // SAFETY: `Text` is transparent over the pointer.
        unsafe { slice::from_raw_parts(texts.as_ptr().cast(), texts.len()) }
    }

    pub(crate) fn raw(&self) -> *mut RawString {
        self.0
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        let mut len = 0;
        // SAFETY: the string is alive, and `len` has room.
        let from = unsafe { (api().StringPtrLen)(self.0, &raw mut len) };
        // SAFETY: Redis returned the number of bytes; they are valid as long as the string.
        unsafe { slice::from_raw_parts(from.cast(), len) }
    }
}

/// A string that this module has created.
#[derive(Debug)]
pub(crate) struct OwnText(Text);

impl OwnText {
    pub(crate) fn new(bytes: &[u8]) -> Self {
        let from = bytes.as_ptr().cast::<c_char>();
        let context: *mut RawContext = std::ptr::null_mut();
        // SAFETY: Redis copies the bytes; without a context the string is the module's to free.
        Self(Text(unsafe { (api().CreateString)(context, from, bytes.len()) }))
    }
}

impl std::ops::Deref for OwnText {
    type Target = Text;

    fn deref(&self) -> &Text {
        &self.0
    }
}

impl Drop for OwnText {
    fn drop(&mut self) {
        // SAFETY: the string was created without a context, so the module frees it, and it is not used again here. Redis
        // has counted its own references.
        unsafe { (api().FreeString)(std::ptr::null_mut(), self.0.0) };
    }
}
