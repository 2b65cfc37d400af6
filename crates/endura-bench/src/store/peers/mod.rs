//! The stores that people would use instead.

#[cfg(any(feature = "fjall", feature = "redb", feature = "rocksdb"))]
mod cache;
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

#[cfg(feature = "fjall")]
pub use fjall::FjallStore;
pub use lmdb::Lmdb;
pub use lmdb_bytes::LmdbBytes;
#[cfg(feature = "redb")]
pub use redb::{RedbStrings, RedbWords};
#[cfg(feature = "rocksdb")]
pub use rocksdb::RocksDbStore;
