//! Space and lifetime: what lies where in a pool, who may use a chunk, and when it is free again.

mod create;
mod file;
mod filesystem;
mod identity;
mod layout;
mod lock;
mod space;
#[doc(hidden)]
pub mod superblock;

pub(crate) use file::{Access, PoolFile};
pub use layout::PAGE;
pub use space::{Guard, Session, Space};
