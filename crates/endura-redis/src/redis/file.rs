//! RDB files, rewritten append-only files, digests, and sections of INFO.

use std::ffi::CStr;
use std::slice;

use super::api::{RawDigest, RawIo, RawString, api};
use super::context::c_string;
use super::text::Text;

/// An RDB file, or the payload of DUMP.
#[derive(Debug)]
pub(crate) struct Rdb(*mut RawIo);

impl Rdb {
    /// # Safety
    ///
    /// `raw` is what Redis passed to the callback that is running.
    pub(crate) unsafe fn new(raw: *mut RawIo) -> Self {
        Self(raw)
    }

    // SAFETY of the blocks below: the file is open while the callback runs, as `new` was promised.

    pub(crate) fn save_number(&self, number: u64) {
        // SAFETY: see above.
        unsafe { (api().SaveUnsigned)(self.0, number) };
    }

    pub(crate) fn save_bytes(&self, bytes: &[u8]) {
        // SAFETY: see above.
        unsafe { (api().SaveStringBuffer)(self.0, bytes.as_ptr().cast(), bytes.len()) };
    }

    /// `None` if the file ends or cannot be read.
    pub(crate) fn load_number(&self) -> Option<u64> {
        // SAFETY: see above.
        let number = unsafe { (api().LoadUnsigned)(self.0) };
        (!self.has_failed()).then_some(number)
    }

    /// Passes bytes to `look`; `None` if the file ends or cannot be read.
    pub(crate) fn load_bytes<R>(&self, look: impl FnOnce(&[u8]) -> R) -> Option<R> {
        let mut len = 0;
        // SAFETY: see above. The module owns the buffer, and frees it once.
        unsafe {
            let from = (api().LoadStringBuffer)(self.0, &raw mut len);
            if from.is_null() {
                return None;
            }
            let result = look(slice::from_raw_parts(from.cast(), len));
            (api().Free)(from.cast());
            Some(result)
        }
    }

    pub(crate) fn has_failed(&self) -> bool {
        // SAFETY: see above.
        unsafe { (api().IsIOError)(self.0) != 0 }
    }

    /// The database and the name of the key that is being read; `None` if the server does not know both.
    pub(crate) fn key(&self) -> Option<(i32, Vec<u8>)> {
        // SAFETY: see above; the string stays while the callback runs.
        unsafe {
            let name = (api().GetKeyNameFromIO)(self.0).cast_mut();
            let database = (api().GetDbIdFromIO)(self.0);
            let is_known = !name.is_null() && database >= 0;
            is_known.then(|| (database, Text::borrowed(&name).bytes().to_vec()))
        }
    }
}

/// An append-only file that is being rewritten.
#[derive(Debug)]
pub(crate) struct Aof {
    raw: *mut RawIo,
    key: *mut RawString,
}

impl Aof {
    /// # Safety
    ///
    /// `raw` and `key` are what Redis passed to the callback that is running.
    pub(crate) unsafe fn new(raw: *mut RawIo, key: *mut RawString) -> Self {
        Self { raw, key }
    }

    /// Writes `command key first second`.
    pub(crate) fn emit(&self, command: &CStr, first: &[u8], second: &[u8]) {
        // SAFETY: the file is open while the callback runs. `s`: a string; `b`: bytes and their number.
        unsafe {
            (api().EmitAOF)(
                self.raw,
                command.as_ptr(),
                c"sbb".as_ptr(),
                self.key,
                first.as_ptr(),
                first.len(),
                second.as_ptr(),
                second.len(),
            );
        }
    }
}

/// A digest of a key, which does not depend on the order of its entries.
#[derive(Debug)]
pub(crate) struct Digest(*mut RawDigest);

impl Digest {
    /// # Safety
    ///
    /// `raw` is what Redis passed to the callback that is running.
    pub(crate) unsafe fn new(raw: *mut RawDigest) -> Self {
        Self(raw)
    }

    pub(crate) fn add(&self, field: &[u8], value: &[u8]) {
        // SAFETY: the digest is alive while the callback runs. The buffers have the lengths that are passed.
        unsafe {
            (api().DigestAddStringBuffer)(self.0, field.as_ptr().cast(), field.len());
            (api().DigestAddStringBuffer)(self.0, value.as_ptr().cast(), value.len());
            (api().DigestEndSequence)(self.0);
        }
    }
}

/// A section of INFO.
#[derive(Debug)]
pub(crate) struct InfoSection(*mut super::api::RawInfo);

impl InfoSection {
    /// # Safety
    ///
    /// `raw` is what Redis passed to the callback that is running.
    pub(crate) unsafe fn new(raw: *mut super::api::RawInfo) -> Option<Self> {
        // SAFETY: the caller's promise. A section without a name gets that of the module.
        let status = unsafe { (api().InfoAddSection)(raw, c"".as_ptr()) };
        status.is_ok().then_some(Self(raw))
    }

    /// Adds a field with a number. Returns whether the server accepted it.
    pub(crate) fn number(&self, field: &CStr, number: u64) -> bool {
        let number = i64::try_from(number).unwrap_or(i64::MAX);
        // SAFETY: the section is open while the callback runs.
        unsafe { (api().InfoAddFieldLongLong)(self.0, field.as_ptr(), number).is_ok() }
    }

    /// Adds a field with a text. Returns whether the server accepted it.
    pub(crate) fn text(&self, field: &CStr, text: impl Into<String>) -> bool {
        let text = c_string(text.into());
        // SAFETY: as above; Redis copies the text.
        unsafe { (api().InfoAddFieldCString)(self.0, field.as_ptr(), text.as_ptr()).is_ok() }
    }
}
