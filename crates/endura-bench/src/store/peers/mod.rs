//! The stores that people would use instead.

#[cfg(any(feature = "fjall", feature = "redb", feature = "rocksdb"))]
mod files;
#[cfg(feature = "fjall")]
mod fjall;
mod lmdb;
mod lmdb_bytes;
#[cfg(feature = "redb")]
mod redb;
#[cfg(feature = "rocksdb")]
mod rocksdb;
mod snapshot;

/// Bytes that each store may keep in a cache of its own, beside the page cache: redb's default, which the others get as
/// well.
#[cfg(any(feature = "fjall", feature = "redb", feature = "rocksdb"))]
const CACHE: usize = 1 << 30;

#[cfg(feature = "fjall")]
pub use fjall::FjallStore;
pub use lmdb::Lmdb;
pub use lmdb_bytes::LmdbBytes;
#[cfg(feature = "redb")]
pub use redb::{RedbStrings, RedbWords};
#[cfg(feature = "rocksdb")]
pub use rocksdb::RocksDbStore;
