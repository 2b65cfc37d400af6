//! A pool without trees: its pages and chunks, its directory of maps, its sessions.
//!
//! Chunks are linked by words of a table, each by one durable store, as a tree links its nodes. What
//! every chunk holds says by whom it is linked, so that a second owner is noticed. Two threads take
//! turns: the fence of one does not order the flushes of the other.

pub mod histories;
mod open;
mod ops;
mod space;
mod walk;

pub use open::OpenPool;
pub use ops::{PoolModel, PoolOp, SIZES, SLOTS, UNIT};
pub use space::PoolSpace;
