//! A pool of a test's own, and short forms of what C writes as literals.

use std::ffi::{CStr, CString};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::ptr;

use endura_c::*;
use tempfile::TempDir;

/// A call of a function of the header.
macro_rules! c {
    ($call:expr) => {{
        // SAFETY: the test passes pointers to its own variables, or NULL; they live longer than the call.
        #[allow(unused_unsafe)]
        unsafe {
            $call
        }
    }};
}
pub(crate) use c;

/// Expects a status, and shows the library's sentence if it is another one.
#[track_caller]
pub(crate) fn expect(status: Status, wanted: Status) {
    assert_eq!(status, wanted, "{}: {}", name(status), last_error());
}

/// Expects a status below 0, whose sentence has this in it.
#[track_caller]
pub(crate) fn expect_error(status: Status, wanted: Status, part: &str) {
    expect(status, wanted);
    assert!(last_error().contains(part), "`{}` has no `{part}`", last_error());
}

pub(crate) fn name(status: Status) -> &'static str {
    // SAFETY: names are constants.
    unsafe { CStr::from_ptr(endura_status_name(status)) }.to_str().unwrap()
}

/// The status with this name.
pub(crate) fn status(name: &str) -> Status {
    let found = statuses().find(|(_, known)| known.to_str() == Ok(name));
    found.unwrap_or_else(|| panic!("no status `{name}`")).0
}

pub(crate) fn last_error() -> String {
    // SAFETY: the text is this thread's, and stays until its next failure.
    unsafe { CStr::from_ptr(endura_last_error()) }.to_str().unwrap().to_owned()
}

pub(crate) fn path(path: &Path) -> CString {
    CString::new(path.to_str().unwrap()).unwrap()
}

pub(crate) fn slice(bytes: &[u8]) -> Slice {
    Slice::of(bytes)
}

/// What a slice shows.
pub(crate) fn shown(slice: Slice) -> Vec<u8> {
    if slice.len == 0 {
        return Vec::new();
    }
    // SAFETY: the library has lent so many bytes, until the next step.
    unsafe { std::slice::from_raw_parts(slice.data.cast::<u8>(), slice.len) }.to_vec()
}

pub(crate) const NOTHING: Slice = Slice { data: ptr::null(), len: 0 };

/// A buffer that frees itself.
pub(crate) struct Room(pub(crate) Buf);

impl Room {
    pub(crate) fn new() -> Self {
        Self(Buf { data: ptr::null_mut(), len: 0, room: 0 })
    }

    pub(crate) fn at(&mut self) -> *mut Buf {
        &raw mut self.0
    }

    pub(crate) fn text(&self) -> &str {
        str::from_utf8(self).unwrap()
    }
}

impl Deref for Room {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        if self.0.data.is_null() {
            return &[];
        }
        // SAFETY: the library has filled so many bytes, and one more.
        let bytes = unsafe { std::slice::from_raw_parts(self.0.data.cast::<u8>(), self.0.len + 1) };
        assert_eq!(bytes[self.0.len], 0, "a 0 behind the last byte");
        &bytes[..self.0.len]
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        c!(endura_buf_free(&raw mut self.0));
        assert!(self.0.data.is_null() && self.0.len == 0 && self.0.room == 0);
        c!(endura_buf_free(&raw mut self.0));
    }
}

/// A pool in a folder of its own.
pub(crate) struct Opened {
    folder: TempDir,
    pub(crate) pool: PoolHandle,
}

/// Options that keep a test short: no checkpoints while it runs.
pub(crate) fn quick() -> Options {
    Options { flags: CHECKPOINTS_OFF, ..Options::DEFAULT }
}

pub(crate) fn open_at(at: &Path, options: &Options) -> PoolHandle {
    let mut pool = PoolHandle::NONE;
    expect(c!(endura_open(path(at).as_ptr(), options, &mut pool)), OK);
    pool
}

impl Opened {
    pub(crate) fn new() -> Self {
        Self::with(&quick())
    }

    pub(crate) fn with(options: &Options) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let pool = open_at(&folder.path().join("pool"), options);
        Self { folder, pool }
    }

    /// A path beside the pool.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn map(&self, name: &str, key: &str, value: &str, kind: Option<&str>) -> MapHandle {
        let [name, key, value] = [name, key, value].map(|text| CString::new(text).unwrap());
        let kind = kind.map(|kind| CString::new(kind).unwrap());
        let kind = kind.as_ref().map_or(ptr::null(), |kind| kind.as_ptr());
        let mut map = MapHandle::NONE;
        let (name, key, value) = (name.as_ptr(), key.as_ptr(), value.as_ptr());
        expect(c!(endura_map_open(self.pool, name, key, value, kind, &mut map)), OK);
        map
    }

    pub(crate) fn close(&self) {
        expect(endura_close(self.pool), OK);
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        // A test may have closed it.
        let closed = endura_close(self.pool);
        if !std::thread::panicking() {
            assert!([OK, E_CLOSED].contains(&closed), "{}: {}", name(closed), last_error());
        }
    }
}

/// How often a test with threads repeats itself: `short` for a few hundred milliseconds, and `ENDURA_C_SECONDS` times as often.
pub(crate) fn rounds(short: u64) -> u64 {
    std::env::var("ENDURA_C_SECONDS").map_or(short, |times| times.parse::<u64>().unwrap() * short)
}
