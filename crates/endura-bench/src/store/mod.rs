//! What is measured: a store, and what a thread does with it.

mod bytes;
mod contract;
mod dram;
mod options;
mod ours;
mod peers;
mod shape;

pub(crate) use bytes::first_entries;
pub use bytes::{ByteClient, Numbers, OrderedBytes};
pub use contract::{BatchStore, Client, Footprint, Store};
#[cfg(feature = "congee")]
pub use dram::CongeeStore;
pub use dram::{BTreeBytes, BTreeStore};
pub use options::{StoreOptions, Survives, measured_pool, temporary};
pub use ours::{ByteTreeClient, EnduraStore};
#[cfg(feature = "fjall")]
pub use peers::FjallStore;
#[cfg(feature = "rocksdb")]
pub use peers::RocksDbStore;
pub use peers::{Lmdb, LmdbBytes};
#[cfg(feature = "redb")]
pub use peers::{RedbStrings, RedbWords};
pub(crate) use shape::Buffers;
pub use shape::Shape;
