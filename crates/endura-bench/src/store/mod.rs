//! What is measured: a store, and a thread's session with it.

mod bytes;
mod contract;
mod dram;
mod ours;
mod peers;
mod place;
mod shape;

pub use bytes::{ByteSession, Numbers};
pub use contract::{Footprint, Session, Store};
#[cfg(feature = "congee")]
pub use dram::CongeeStore;
pub use dram::{BTreeBytes, BTreeStore};
pub use ours::{EnduraStore, RoartSession, RoartStore};
#[cfg(feature = "fjall")]
pub use peers::FjallStore;
#[cfg(feature = "redb")]
pub use peers::RedbStore;
#[cfg(feature = "rocksdb")]
pub use peers::RocksDbStore;
pub use peers::{Lmdb, LmdbBytes};
pub use place::Place;
pub(crate) use place::temporary;
pub use shape::Shape;
