//! Maps in DRAM, which survive nothing: what a persistent one can hope for.

mod btree;
#[cfg(feature = "congee")]
mod congee;

pub use btree::{BTreeBytes, BTreeStore};
#[cfg(feature = "congee")]
pub use congee::CongeeStore;
