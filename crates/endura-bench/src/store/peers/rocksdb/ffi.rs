//! The part of RocksDB's C interface (`rocksdb/c.h`) that a benchmark needs, with types that free what
//! they own. Declared here: the crates that bind the library compile a copy of it for half an hour.

#![expect(unsafe_code, reason = "a C library")]

use std::ffi::{CStr, CString, c_char, c_int, c_uchar};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::{self, NonNull};

use crate::store::peers::cache::CACHE;
use crate::{Error, Result};

#[repr(C)]
struct RawDb {
    _opaque: [u8; 0],
}

#[repr(C)]
struct RawOptions {
    _opaque: [u8; 0],
}

#[repr(C)]
struct RawWriteOptions {
    _opaque: [u8; 0],
}

#[repr(C)]
struct RawWriteBatch {
    _opaque: [u8; 0],
}

#[repr(C)]
struct RawReadOptions {
    _opaque: [u8; 0],
}

#[repr(C)]
struct RawIterator {
    _opaque: [u8; 0],
}

#[repr(C)]
struct RawSlice {
    _opaque: [u8; 0],
}

#[repr(C)]
struct RawTableOptions {
    _opaque: [u8; 0],
}

#[repr(C)]
struct RawFilterPolicy {
    _opaque: [u8; 0],
}

#[repr(C)]
struct RawCache {
    _opaque: [u8; 0],
}

#[link(name = "rocksdb")]
unsafe extern "C" {
    fn rocksdb_options_create() -> *mut RawOptions;
    fn rocksdb_options_destroy(options: *mut RawOptions);
    fn rocksdb_options_set_create_if_missing(options: *mut RawOptions, yes: c_uchar);
    fn rocksdb_options_set_compression(options: *mut RawOptions, kind: c_int);
    fn rocksdb_options_increase_parallelism(options: *mut RawOptions, threads: c_int);
    fn rocksdb_options_set_block_based_table_factory(
        options: *mut RawOptions,
        table: *mut RawTableOptions,
    );
    fn rocksdb_block_based_options_create() -> *mut RawTableOptions;
    fn rocksdb_block_based_options_destroy(table: *mut RawTableOptions);
    fn rocksdb_block_based_options_set_filter_policy(
        table: *mut RawTableOptions,
        policy: *mut RawFilterPolicy,
    );
    fn rocksdb_block_based_options_set_block_cache(
        table: *mut RawTableOptions,
        cache: *mut RawCache,
    );
    fn rocksdb_filterpolicy_create_bloom_full(bits_per_key: f64) -> *mut RawFilterPolicy;
    fn rocksdb_cache_create_lru(capacity: usize) -> *mut RawCache;
    fn rocksdb_cache_destroy(cache: *mut RawCache);
    fn rocksdb_writeoptions_create() -> *mut RawWriteOptions;
    fn rocksdb_writeoptions_destroy(options: *mut RawWriteOptions);
    fn rocksdb_readoptions_create() -> *mut RawReadOptions;
    fn rocksdb_readoptions_destroy(options: *mut RawReadOptions);
    fn rocksdb_open(
        options: *const RawOptions,
        name: *const c_char,
        error: *mut *mut c_char,
    ) -> *mut RawDb;
    fn rocksdb_flush_wal(db: *mut RawDb, sync: c_uchar, error: *mut *mut c_char);
    fn rocksdb_close(db: *mut RawDb);
    fn rocksdb_put(
        db: *mut RawDb,
        options: *const RawWriteOptions,
        key: *const c_char,
        key_length: usize,
        value: *const c_char,
        value_length: usize,
        error: *mut *mut c_char,
    );
    fn rocksdb_delete(
        db: *mut RawDb,
        options: *const RawWriteOptions,
        key: *const c_char,
        key_length: usize,
        error: *mut *mut c_char,
    );
    fn rocksdb_writebatch_create() -> *mut RawWriteBatch;
    fn rocksdb_writebatch_destroy(batch: *mut RawWriteBatch);
    fn rocksdb_writebatch_put(
        batch: *mut RawWriteBatch,
        key: *const c_char,
        key_length: usize,
        value: *const c_char,
        value_length: usize,
    );
    fn rocksdb_write(
        db: *mut RawDb,
        options: *const RawWriteOptions,
        batch: *mut RawWriteBatch,
        error: *mut *mut c_char,
    );
    fn rocksdb_get_pinned(
        db: *mut RawDb,
        options: *const RawReadOptions,
        key: *const c_char,
        key_length: usize,
        error: *mut *mut c_char,
    ) -> *mut RawSlice;
    fn rocksdb_pinnableslice_value(slice: *const RawSlice, length: *mut usize) -> *const c_char;
    fn rocksdb_pinnableslice_destroy(slice: *mut RawSlice);
    fn rocksdb_create_iterator(db: *mut RawDb, options: *const RawReadOptions) -> *mut RawIterator;
    fn rocksdb_iter_destroy(iterator: *mut RawIterator);
    fn rocksdb_iter_seek(iterator: *mut RawIterator, key: *const c_char, length: usize);
    fn rocksdb_iter_next(iterator: *mut RawIterator);
    fn rocksdb_iter_valid(iterator: *const RawIterator) -> c_uchar;
    fn rocksdb_iter_key(iterator: *const RawIterator, length: *mut usize) -> *const c_char;
    fn rocksdb_iter_value(iterator: *const RawIterator, length: *mut usize) -> *const c_char;
    fn rocksdb_iter_get_error(iterator: *const RawIterator, error: *mut *mut c_char);
    fn rocksdb_free(memory: *mut std::ffi::c_void);
}

/// An open database with the options of its reads and writes: the log is written and not synced.
pub(super) struct Db {
    db: NonNull<RawDb>,
    options: NonNull<RawOptions>,
    reads: NonNull<RawReadOptions>,
    writes: NonNull<RawWriteOptions>,
}

// SAFETY: a database may be used by several threads at once without a lock (`rocksdb/db.h`), and the
// options are only read after `open` has made them.
unsafe impl Sync for Db {}
// SAFETY: no part of it belongs to the thread that made it.
unsafe impl Send for Db {}

const OUT_OF_MEMORY: Error = Error::Config("RocksDB is out of memory");

impl Db {
    /// Opens the database at `path`, which is made if it is not there.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let name = CString::new(path.as_os_str().as_bytes());
        let name = name.map_err(|_| Error::Config("a path holds no zero byte"))?;
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        // SAFETY: the create functions take nothing and give ownership; `options` is alive until
        // `drop`, `name` ends in a zero byte and lives through the call, `call` passes a valid place
        // for the error.
        unsafe {
            let made = |pointer| NonNull::new(pointer).ok_or(OUT_OF_MEMORY);
            let options = made(rocksdb_options_create())?;
            rocksdb_options_set_create_if_missing(options.as_ptr(), 1);
            rocksdb_options_set_compression(options.as_ptr(), 0);
            rocksdb_options_increase_parallelism(options.as_ptr(), threads as c_int);
            set_tables(options)?;
            let db = call(|error| rocksdb_open(options.as_ptr(), name.as_ptr(), error))?;
            Ok(Self {
                db: NonNull::new(db).ok_or(OUT_OF_MEMORY)?,
                options,
                reads: NonNull::new(rocksdb_readoptions_create()).ok_or(OUT_OF_MEMORY)?,
                writes: NonNull::new(rocksdb_writeoptions_create()).ok_or(OUT_OF_MEMORY)?,
            })
        }
    }

    /// Makes the log durable as far as it is written.
    pub(super) fn sync_log(&self) -> Result<()> {
        // SAFETY: the database lives as long as `self`.
        call(|error| unsafe { rocksdb_flush_wal(self.db.as_ptr(), 1, error) })
    }

    pub(super) fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        let (db, options) = (self.db.as_ptr(), self.writes.as_ptr());
        let (k, v) = (key.as_ptr().cast(), value.as_ptr().cast());
        // SAFETY: database and options live as long as `self`, and `key` and `value` through the
        // call with these lengths.
        call(|error| unsafe { rocksdb_put(db, options, k, key.len(), v, value.len(), error) })
    }

    pub(super) fn write(&self, batch: &WriteBatch) -> Result<()> {
        let (db, options) = (self.db.as_ptr(), self.writes.as_ptr());
        // SAFETY: as in `put`; the batch lives as long as the borrow.
        call(|error| unsafe { rocksdb_write(db, options, batch.0.as_ptr(), error) })
    }

    pub(super) fn delete(&self, key: &[u8]) -> Result<()> {
        let (db, options) = (self.db.as_ptr(), self.writes.as_ptr());
        // SAFETY: as in `put`.
        call(|error| unsafe {
            rocksdb_delete(db, options, key.as_ptr().cast(), key.len(), error);
        })
    }

    /// Shows the value of `key`, if there is one.
    pub(super) fn get<T>(&self, key: &[u8], show: impl FnOnce(&[u8]) -> T) -> Result<Option<T>> {
        let (db, options) = (self.db.as_ptr(), self.reads.as_ptr());
        // SAFETY: as in `put`.
        let slice = call(|error| unsafe {
            rocksdb_get_pinned(db, options, key.as_ptr().cast(), key.len(), error)
        })?;
        if slice.is_null() {
            return Ok(None);
        }
        let slice = Pinned(slice);
        let mut length = 0;
        // SAFETY: the slice is alive until the end of this function, and so are the `length` bytes
        // that it points to.
        let shown = unsafe {
            let value = rocksdb_pinnableslice_value(slice.0, &raw mut length);
            show(bytes(value, length))
        };
        Ok(Some(shown))
    }

    /// Shows up to `count` entries from `from` on.
    pub(super) fn scan(
        &self,
        from: &[u8],
        count: usize,
        mut each: impl FnMut(&[u8], &[u8]),
    ) -> Result<()> {
        // SAFETY: database and options live as long as `self`, longer than the iterator.
        let iterator =
            Iterator(unsafe { rocksdb_create_iterator(self.db.as_ptr(), self.reads.as_ptr()) });
        // SAFETY: the iterator is alive until the end of this function and used by this thread alone;
        // what key and value point to stays until the iterator moves, and is used before.
        unsafe {
            rocksdb_iter_seek(iterator.0, from.as_ptr().cast(), from.len());
            for _ in 0..count {
                if rocksdb_iter_valid(iterator.0) == 0 {
                    break;
                }
                let (mut key_length, mut length) = (0, 0);
                let key = rocksdb_iter_key(iterator.0, &raw mut key_length);
                let value = rocksdb_iter_value(iterator.0, &raw mut length);
                each(bytes(key, key_length), bytes(value, length));
                rocksdb_iter_next(iterator.0);
            }
            call(|error| rocksdb_iter_get_error(iterator.0, error))
        }
    }
}

/// Bloom filters, and a cache as large as that of the other stores.
///
/// # Safety
///
/// `options` are alive.
unsafe fn set_tables(options: NonNull<RawOptions>) -> Result<()> {
    // SAFETY: the create functions take numbers and give ownership. The table's options take over the policy, and a
    // share of the cache; `options` take over a copy of the table's options, with its own shares. What is destroyed
    // here is destroyed once, and nothing uses it after that.
    unsafe {
        let made = NonNull::new(rocksdb_block_based_options_create());
        let table = made.ok_or(OUT_OF_MEMORY)?.as_ptr();
        let bloom = rocksdb_filterpolicy_create_bloom_full(10.0);
        rocksdb_block_based_options_set_filter_policy(table, bloom);
        let cache = rocksdb_cache_create_lru(CACHE);
        rocksdb_block_based_options_set_block_cache(table, cache);
        rocksdb_cache_destroy(cache);
        rocksdb_options_set_block_based_table_factory(options.as_ptr(), table);
        rocksdb_block_based_options_destroy(table);
    }
    Ok(())
}

impl Drop for Db {
    fn drop(&mut self) {
        // SAFETY: all four were made by `open`, are destroyed once, the database before its options,
        // and nothing that came from them is alive: iterators and slices end within their functions.
        unsafe {
            rocksdb_close(self.db.as_ptr());
            rocksdb_writeoptions_destroy(self.writes.as_ptr());
            rocksdb_readoptions_destroy(self.reads.as_ptr());
            rocksdb_options_destroy(self.options.as_ptr());
        }
    }
}

/// A value that RocksDB keeps in place.
struct Pinned(*mut RawSlice);

impl Drop for Pinned {
    fn drop(&mut self) {
        // SAFETY: from `rocksdb_get_pinned`, not null, destroyed once.
        unsafe { rocksdb_pinnableslice_destroy(self.0) }
    }
}

struct Iterator(*mut RawIterator);

impl Drop for Iterator {
    fn drop(&mut self) {
        // SAFETY: from `rocksdb_create_iterator`, destroyed once.
        unsafe { rocksdb_iter_destroy(self.0) }
    }
}

/// Calls a function that leaves a message if it fails.
fn call<T>(function: impl FnOnce(*mut *mut c_char) -> T) -> Result<T> {
    let mut message = ptr::null_mut();
    let result = function(&raw mut message);
    if message.is_null() {
        return Ok(result);
    }
    // SAFETY: RocksDB left a text that ends in a zero byte, which is ours to free, and frees it once.
    let what = unsafe {
        let what = CStr::from_ptr(message).to_string_lossy().into_owned();
        rocksdb_free(message.cast());
        what
    };
    Err(Error::Peer { store: "RocksDB", what })
}

/// # Safety
///
/// `start` points to `length` bytes that live as long as the caller uses the slice, or is null.
unsafe fn bytes<'a>(start: *const c_char, length: usize) -> &'a [u8] {
    if start.is_null() {
        return &[];
    }
    // SAFETY: promised by the caller.
    unsafe { std::slice::from_raw_parts(start.cast(), length) }
}

/// Changes that are made at once.
pub(super) struct WriteBatch(NonNull<RawWriteBatch>);

impl WriteBatch {
    pub(super) fn new() -> Result<Self> {
        // SAFETY: it has no conditions.
        let batch = unsafe { rocksdb_writebatch_create() };
        NonNull::new(batch).map(Self).ok_or(Error::Config("RocksDB gave no batch"))
    }

    /// Adds a copy of both.
    pub(super) fn put(&mut self, key: &[u8], value: &[u8]) {
        let (k, v) = (key.as_ptr().cast(), value.as_ptr().cast());
        // SAFETY: the batch lives as long as `self`, `key` and `value` through the call with these lengths.
        unsafe { rocksdb_writebatch_put(self.0.as_ptr(), k, key.len(), v, value.len()) };
    }
}

impl Drop for WriteBatch {
    fn drop(&mut self) {
        // SAFETY: `new` made it, and nobody else has it.
        unsafe { rocksdb_writebatch_destroy(self.0.as_ptr()) };
    }
}
