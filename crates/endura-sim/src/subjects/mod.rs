//! endura's own structures, as subjects.

mod collect;
mod fast_fair;
mod first;
mod maps;
mod nbtree;
pub mod pool;
mod roart;
mod spelled;

pub use collect::Collection;
pub use fast_fair::{FastFair, LIMIT, MapOp, OpenTree};
pub use first::First;
pub use nbtree::{NbTree, OpenNbTree};
pub use roart::{ByteModel, ByteOp, OpenRoart, Roart};
pub use spelled::{OpenSpelled, SPELLINGS, Spelled, Spellings};
