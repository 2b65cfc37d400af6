//! RocksDB.

mod database;
mod ffi;

pub use database::RocksDbStore;
