//! endura's own structures, as subjects.

pub mod batches;
mod digits;
mod fast_fair;
mod first;
mod leak_recovery;
mod maps;
mod nbtree;
mod numbers;
mod op;
pub mod pool;
mod records;
mod roart;
mod spelled;

pub use fast_fair::FastFair;
pub use first::First;
pub use leak_recovery::Recovery;
pub use nbtree::{NbTree, OpenNbTree};
pub use numbers::{NumberTree, Numbers, OpenNumbers};
pub use op::{Key, LIMIT, MapOp};
pub use records::{FairBytes, FairRecords, NbBytes, NbRecords, RoartBytes, Spelling, WithRecords};
pub use roart::{ByteModel, ByteOp, OpenRoart, Roart};
pub use spelled::{SPELLINGS, Spelled, Spellings};
