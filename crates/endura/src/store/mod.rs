//! Pool and map handles as users see them.

mod any;
mod byte_map;
mod byte_range;
mod check;
mod collect;
pub(crate) mod fast_fair;
mod figures;
mod handle;
mod info;
pub mod keys;
mod kind;
mod map;
mod nbtree;
mod open;
mod options;
mod pool;
mod range;
mod roart;
mod turn;

pub use any::{AnyCursor, AnyIndex, AnyMap};
pub use byte_map::ByteMap;
pub use byte_range::{ByteEntry, ByteRange};
pub use fast_fair::{FastFair, FastFairIndex, NodeLayout};
pub use info::MapInfo;
pub use kind::Kind;
pub use map::{Map, OrderedMap};
pub use nbtree::{NbTree, NbTreeIndex};
pub use options::PoolOptions;
pub use pool::{Pool, Stats};
pub use range::Range;
pub use roart::{Roart, RoartIndex};

pub use crate::media::{Domain, MediaChoice, explain_bus_errors};
pub use crate::pool::{Collection, CollectionState, PartlyUsed, Types};
pub use crate::tree::{
    ByteChange, ByteIndex, Bytes, Change, Index, LONGEST_KEY, LONGEST_VALUE, Len,
};
pub use check::{MapReport, Report};
